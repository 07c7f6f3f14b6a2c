/* What becomes of a module when XLA chooses its order. */
#ifndef REMAT_HLO_REMAT_ENGINE_RESCHEDULE_H
#define REMAT_HLO_REMAT_ENGINE_RESCHEDULE_H

#include "ir/handle.h"
#include "remat/engine/problem.h"

/* The order of the input that moves are counted from: its own, that is, that of the scheduler asked
 * for. The scheduler `search` is no scheduler of XLA's: it moves instructions, too, compared with
 * the text of a scheduled module, or with what XLA's default scheduler makes of another one. */
Schedule order_without_us(const Problem *problem, Arena *out);

/* The bytes that the budget bounds, if the module runs in the order that `scheduler`, a name of
 * RH_SCHEDULERS, gives it. Operands and control dependencies are all that holds the order then. */
int64_t rescheduled_bytes(const Problem *problem, const Module *module, const char *scheduler);

/* What remains of a result of the engine if XLA compiles it from the start, through StableHLO: it
 * has yet to optimize the module, and merges what it can. Sets `num_merged` and, if the result is
 * not scheduled, the bytes for both orders; see rh_remat_result. */
void count_compiled_again(const Problem *problem, const rh_module *result, rh_remat_result *info);

/* Whether the module takes no more in the orders of XLA's schedulers, that of GPUs and that of
 * CPUs, than in this one. It is judged by its text, as XLA will read it, because these orders
 * depend on the order of ids and of users, which a text does not keep; and by one model, whatever
 * the model that judges the result. A plan therefore gives the same text as what it was made from.
 *
 * requires: rewrite_write_out_elements() was called, so that the module can be printed. */
bool reschedule_keeps_peak(const Problem *problem, const Module *module, const Schedule *schedule);

#endif
