/* What an attempt is worth. Judged is its text, read again, as others will read it. */
#ifndef REMAT_HLO_REMAT_ENGINE_JUDGE_H
#define REMAT_HLO_REMAT_ENGINE_JUDGE_H

#include "remat/engine/attempt.h"

/* Prints the attempt's module, reads it again and counts what the budget bounds: fills "what came
 * out". RH_ERR_SYSTEM, or RH_ERR_INPUT where a plan was applied, when the text contradicts itself.
 */
rh_status judge_attempt(Attempt *attempt, const Problem *problem, const Findings *findings);

/* Proves that the result computes what the module does that was parsed first, and that it reads no
 * overwritten memory that the input does not. The same errors. */
rh_status judge_verify(const Attempt *attempt, const Problem *problem);

#endif
