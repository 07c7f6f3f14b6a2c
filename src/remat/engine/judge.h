/* Measures and verifies the result of an attempt. The judged module is the printed text, parsed
 * again, because that is what other programs will read. */
#ifndef REMAT_HLO_REMAT_ENGINE_JUDGE_H
#define REMAT_HLO_REMAT_ENGINE_JUDGE_H

#include "remat/engine/attempt.h"

/* Prints the attempt's module, parses it again, and measures the figure that the budget bounds.
 * Fills the fields under "What came out". If the text is not a valid module, returns
 * RH_ERR_INTERNAL, or RH_ERR_INPUT if a plan was applied. */
rh_status judge_attempt(Attempt *attempt, const Problem *problem, const Findings *findings);

/* What the peak of a job's module is if that is printed, parsed and measured like a result, but for
 * what protects clones. A packing depends on the order of the text. */
int64_t judge_peak(const RematJob *job);

/* What the result comes to, time included, which is measured once. */
Score judge_score(Attempt *attempt, const Problem *problem);

/* Tells the caller what the best attempt so far comes to. */
void judge_report(Attempt *best, const Problem *problem);

/* Proves that the result computes what the input computes and rounds as it does, and that it reads
 * no overwritten memory that the input does not read. Sets `rounds_alike`. Returns the same errors
 * as judge_attempt. */
rh_status judge_verify(Attempt *attempt, const Problem *problem);

/* Whether judge_verify() succeeds, without a word: for results that are one of several, of which
 * those that the verifier cannot follow are left out. */
bool judge_can_prove(const Attempt *attempt, const Problem *problem);

#endif
