/* Schedules for a module that is past copy-insertion: they must not read memory that has been
 * overwritten (analysis/memory/overwrites.h). For example, if a loop updates `x` in place, every
 * other reader of `x` must come before the loop. */
#ifndef REMAT_HLO_REMAT_LEGALITY_SAFE_ORDER_H
#define REMAT_HLO_REMAT_LEGALITY_SAFE_ORDER_H

#include "analysis/memory/overwrites.h"
#include "schedule/scheduler.h"

/* Schedules the module with `scheduler`, without any read of overwritten memory that `own`, the
 * module's own order, does not have. Where the scheduler's order has such a read, or where `own`
 * has one, the instructions that write or read the memory concerned keep their order in `own`. So
 * do those that XLA:TPU has placed in other memories (analysis/flow/placed.h). `own` is NULL if XLA
 * will insert the copies that are needed. */
void schedule_safely(const Scheduler *scheduler, Module *module, const Schedule *own,
                     Schedule *schedule, Arena *out, Arena *scratch);

/* A read that comes before the instruction that overwrites the operand in one order, but not
 * necessarily in every order. */
typedef struct OpenRead {
  InstId reader, operand, overwriter; /* all three are in one computation */
} OpenRead;

typedef struct OpenReads {
  VEC(OpenRead) list;
} OpenReads;

/* The reads for which no path of operands and control dependencies from the reader to the
 * overwriter is found within `max_steps` instructions. The path would keep the read in order.
 * O(reads of shared memory * max_steps). */
OpenReads open_reads(const Module *module, const Schedule *schedule, uint32_t max_steps, Arena *out,
                     Arena *scratch);

/* Whether no read is open: the module is safe in any order that its operands and control
 * dependencies allow. */
bool has_closed_reads(const Module *module, const Schedule *schedule, Arena *scratch);

/* Adds a control dependency for each open read, so that the module is safe without its schedule. */
void close_reads(Module *module, const Schedule *schedule, Arena *scratch);

#endif
