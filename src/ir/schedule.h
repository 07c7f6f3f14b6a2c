/* A schedule: the order in which the instructions of each computation run. */
#ifndef REMAT_HLO_IR_SCHEDULE_H
#define REMAT_HLO_IR_SCHEDULE_H

#include "ir/module.h"

typedef uint32_t SchedPos; /* a position in a sequence */

typedef struct Sequence {
  InstId *ids;
  uint32_t len;
} Sequence;

typedef struct Schedule {
  Sequence *of; /* by CompId; empty for a computation that is not scheduled, such as a fusion's */
  uint32_t num_comps;
} Schedule;

/* Returns a schedule without sequences, in `out`. */
Schedule schedule_new(const Module *module, Arena *out);

/* Returns a schedule in which every computation runs in the order in which its instructions were
 * created, which is their order in the text. It is the schedule of a module with
 * is_scheduled=true. */
Schedule schedule_in_text_order(const Module *module, Arena *out);

Schedule schedule_copy(const Schedule *schedule, const Module *module, Arena *out);

/* Checks that every sequence holds each instruction of its computation once, after its operands and
 * control predecessors. On failure, `*bad` is the instruction that is too early or missing. The
 * check shares no code with the schedulers. The time is O(instructions + edges). */
bool schedule_is_valid(const Module *module, const Schedule *schedule, InstId *bad, Arena *scratch);

#endif
