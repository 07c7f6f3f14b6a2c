/* CSV output as in RFC 4180, but with line feeds as line ends. */
#ifndef REMAT_HLO_CLI_CSV_H
#define REMAT_HLO_CLI_CSV_H

#include "output.h"
#include "remat_hlo.h"

void csv_raw(Output *output, const char *text);

/* Writes a field, with quotes if it needs them. */
void csv_text(Output *output, rh_text text);

/* Each of these writes a comma and a field. The field is empty if the value is not known, which a
 * number below `least` means. */
void csv_next_text(Output *output, rh_text text);
void csv_next_int(Output *output, int64_t value, int64_t least);
void csv_next_double(Output *output, double value);

#endif
