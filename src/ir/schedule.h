/* A schedule: for each computation the order in which its instructions run. */
#ifndef REMAT_HLO_IR_SCHEDULE_H
#define REMAT_HLO_IR_SCHEDULE_H

#include "ir/module.h"

typedef uint32_t SchedPos; /* place in a sequence */

typedef struct Sequence {
  InstId *ids;
  uint32_t len;
} Sequence;

typedef struct Schedule {
  Sequence *of; /* by CompId; empty for a computation that is not scheduled (fusions) */
  uint32_t num_comps;
} Schedule;

/* A schedule without sequences, in `out`. */
Schedule schedule_new(const Module *module, Arena *out);

/* Every computation in the order in which its instructions were created, which is the text's: the
 * schedule of a module that says is_scheduled=true. */
Schedule schedule_in_text_order(const Module *module, Arena *out);

Schedule schedule_copy(const Schedule *schedule, const Module *module, Arena *out);

/* Checks that every sequence holds each instruction of its computation once, behind its operands
 * and control predecessors. On failure `*bad` is the instruction that stands too early or is
 * missing. Shares no code with the schedulers. O(instructions + edges). */
bool schedule_is_valid(const Module *module, const Schedule *schedule, InstId *bad, Arena *scratch);

#endif
