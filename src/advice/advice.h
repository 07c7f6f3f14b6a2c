/* Advice: what to change in the program, from a scheduled module. Each kind of advice proposes
 * changes and simulates them (advisor.h); here they are ranked, and the least set that meets the
 * limit is found by taking the best one, and advising again on the module that it leads to. */
#ifndef REMAT_HLO_ADVICE_ADVICE_H
#define REMAT_HLO_ADVICE_ADVICE_H

#include "advice/advisor.h"

/* Fills `*advice`, whose parts are in `out`. An error of a simulation is returned. */
rh_status advice_make(const AdviceRequest *request, rh_advice *advice, Arena *out, rh_diags *diags);

#endif
