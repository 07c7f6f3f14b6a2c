/* CSV: RFC 4180 with line feeds. */
#ifndef REMAT_HLO_CLI_CSV_H
#define REMAT_HLO_CLI_CSV_H

#include "output.h"
#include "remat_hlo.h"

void csv_raw(Output *output, const char *text);

/* A field, in quotes where it needs them. */
void csv_text(Output *output, rh_text text);

/* A comma and a field; nothing behind the comma for a number below `least`: not known. */
void csv_next_text(Output *output, rh_text text);
void csv_next_int(Output *output, int64_t value, int64_t least);
void csv_next_double(Output *output, double value);

#endif
