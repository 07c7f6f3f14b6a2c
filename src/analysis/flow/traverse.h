/* The orders in which XLA visits instructions. Its results (buffer numbers, schedules) depend on
 * them, so the same orders are used here. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_TRAVERSE_H
#define REMAT_HLO_ANALYSIS_FLOW_TRAVERSE_H

#include "ir/schedule.h"

/* HloComputation::MakeInstructionPostOrder. From each instruction without users, in order, it goes
 * depth first through control predecessors (last first) and then operands. Operands come before
 * their users whatever the order of the instruction list is. O(instructions + edges).
 *
 * Example: for the list a, b, c = add(b, a), d = negate(b) the order is b, a, c, d.
 *
 * `visited`, by InstId, must be 0 for the instructions of this computation, and is not 0 on return:
 * one array, zeroed once, serves all computations of a module. */
Sequence inst_post_order(const Module *module, CompId comp, uint8_t *visited, Arena *out,
                         Arena *scratch);

/* All instructions of a computation, operands and control predecessors first: the schedule's order
 * if there is one, else the post order. */
Sequence topological_order(const Module *module, const Schedule *schedule, CompId comp,
                           uint8_t *visited, Arena *out, Arena *scratch);

#endif
