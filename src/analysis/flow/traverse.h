/* Orders in which XLA visits instructions. Results depend on them (buffer numbers, schedules), so
 * they are the same here. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_TRAVERSE_H
#define REMAT_HLO_ANALYSIS_FLOW_TRAVERSE_H

#include "ir/schedule.h"

/* HloComputation::MakeInstructionPostOrder: from each instruction without users, in order, depth
 * first through control predecessors (last first) and then operands. Operands come before their
 * users whatever the order of the instruction list. O(instructions + edges).
 *
 * `visited`, by InstId, is 0 for the instructions of this computation and is not when this returns:
 * one array, zeroed once, serves all computations of a module. */
Sequence inst_post_order(const Module *module, CompId comp, uint8_t *visited, Arena *out,
                         Arena *scratch);

/* The same set of instructions, operands and control predecessors first, taken from a schedule
 * where there is one, else in post order. */
Sequence topological_order(const Module *module, const Schedule *schedule, CompId comp,
                           uint8_t *visited, Arena *out, Arena *scratch);

#endif
