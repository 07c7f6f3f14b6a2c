/* Orders that a module which has its copies already can run in: see analysis/memory/overwrites.h.
 */
#ifndef REMAT_HLO_REMAT_LEGALITY_SAFE_ORDER_H
#define REMAT_HLO_REMAT_LEGALITY_SAFE_ORDER_H

#include "analysis/memory/overwrites.h"
#include "schedule/scheduler.h"

/* The scheduler's order, with no read of overwritten memory that `own`, the module's own order,
 * does not have: where the scheduler's has one by itself, or where `own` has one, whoever writes
 * into the memory in question and whoever reads it stay in the order of `own`. `own` is NULL when
 * XLA will insert what copies it takes. */
void schedule_safely(const Scheduler *scheduler, Module *module, const Schedule *own,
                     Schedule *schedule, Arena *out, Arena *scratch);

/* A reader that comes before what overwrites its operand in one order, but need not in another. */
typedef struct OpenRead {
  InstId reader, operand, overwriter; /* all of one computation */
} OpenRead;

typedef struct OpenReads {
  VEC(OpenRead) list;
} OpenReads;

/* Those for which no path of operands and control dependencies leads from the overwriter back to
 * the reader, or none that is found by looking at `max_steps` instructions. O(reads of shared
 * memory * max_steps). */
OpenReads open_reads(const Module *module, const Schedule *schedule, uint32_t max_steps, Arena *out,
                     Arena *scratch);

/* Gives all of them a control dependency, so that the module can be handed on without its order. */
void close_reads(Module *module, const Schedule *schedule, Arena *scratch);

#endif
