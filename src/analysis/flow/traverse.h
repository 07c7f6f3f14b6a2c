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
 * `visited`, by InstId, is space of the walk: what it holds for the instructions of this
 * computation is overwritten, and is not 0 on return. One array serves all computations of a
 * module. */
Sequence inst_post_order(const Module *module, CompId comp, uint32_t *visited, Arena *out,
                         Arena *scratch);

/* All instructions of a computation, operands and control predecessors first: the schedule's order
 * if there is one, else the post order. */
Sequence topological_order(const Module *module, const Schedule *schedule, CompId comp,
                           uint32_t *visited, Arena *out, Arena *scratch);

#endif
