/* The candidates of XLA's pass, with what recomputing each of them would free. Without the index
 * each pick asks all placed instructions again; with it only those for which something has changed.
 * It serves picks of single instructions that can only be recomputed, in a pass that places the
 * instructions once, in the order of the list. The index chooses what standard_pick() would.
 *
 * What recomputing frees, and whether it is possible, changes for an instruction when it is placed,
 * when one of its readers, of its control successors or of the overwriters of its operands is
 * placed, when a buffer that it defines or reads begins or ends to live, and while the instruction
 * in progress reads a buffer that it defines. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_STANDARD_INDEX_H
#define REMAT_HLO_REMAT_ALGORITHMS_STANDARD_INDEX_H

#include "remat/algorithms/standard_pass.h"

/* Gives the pass an index. Nothing must have been placed. */
void standard_index_open(Pass *pass);

/* These report what happens to the tracker, and do nothing in a pass without an index. The first is
 * called when an instruction has begun, the second when it has ended, and the last one before a
 * block is rematerialized. */
void standard_index_begin(Pass *pass, InstId id);
void standard_index_end(Pass *pass, InstId id);
void standard_index_apply(Pass *pass, const Block *block);

/* As standard_pick() for blocks of one instruction, except that the effort is not counted.
 * O(log n) for each instruction for which something has changed. */
Block standard_index_pick(Pass *pass, Arena *out);

#endif
