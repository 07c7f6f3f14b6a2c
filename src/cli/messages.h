/* Diagnostics as people read them. */
#ifndef REMAT_HLO_CLI_MESSAGES_H
#define REMAT_HLO_CLI_MESSAGES_H

#include "input.h"

/* Writes `file:line:column: error: …` with the line and a caret to stderr, one diagnostic after the
 * other. */
void messages_print(const Input *input, const rh_diags *diags);

#endif
