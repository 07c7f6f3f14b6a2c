/* Flattening of the call graph, which XLA's pipeline does before it schedules a module: afterwards
 * every computation that runs as a sequence has one caller. */
#ifndef REMAT_HLO_REMAT_REWRITE_FLATTEN_H
#define REMAT_HLO_REMAT_REWRITE_FLATTEN_H

#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* Gives each call, loop, conditional and asynchronous operation its own copy of every computation
 * that it calls (xla/service/flatten_call_graph.cc). If `schedule` is not NULL, no instruction in
 * it may be dead, and the instructions of each copy are in its order.
 *
 * Returns RH_ERR_INPUT when the copies would grow to more than a bounded number of instructions. */
rh_status flatten_call_graph(Rewrite *rewrite, const Schedule *schedule, rh_diags *diags,
                             Arena *scratch);

#endif
