/* Advice as JSON. */
#ifndef REMAT_HLO_ADVICE_PRINT_H
#define REMAT_HLO_ADVICE_PRINT_H

#include "ir/writer.h"

void advice_print(const rh_advice *advice, Writer *out);

#endif
