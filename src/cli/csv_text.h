/* Fields of CSV (RFC 4180). */
#ifndef REMAT_HLO_CLI_CSV_TEXT_H
#define REMAT_HLO_CLI_CSV_TEXT_H

#include "output.h"

/* A field, in quotes where it needs them. */
void csv_write(Output *output, rh_text text);
void csv_write_text(Output *output, const char *text);

#endif
