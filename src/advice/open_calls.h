/* Takes loops out of the calls that hide them. XLA:CPU compiles small computations as functions of
 * their own, which are calls in its dumps, scans among them. A changed program is compiled anew, so
 * what such a function rounds does not matter to advice. */
#ifndef REMAT_HLO_ADVICE_OPEN_CALLS_H
#define REMAT_HLO_ADVICE_OPEN_CALLS_H

#include "advice/advisor.h"

/* A copy of a scheduled module in which computations with loops that are called once are part of
 * their callers, which the caller frees; NULL if there is none, or if calls would grow to too many
 * instructions. */
rh_module *advice_open_calls(const rh_module *input);

#endif
