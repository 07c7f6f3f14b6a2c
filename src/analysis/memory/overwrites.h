/* Reads of memory that holds another value by then.
 *
 * Values of one HloBuffer share memory. XLA inserts copies so that each of them is read for the
 * last time before the next one is written: into loops' carries, into what is updated in place,
 * into outputs that take over a parameter. After copy-insertion nothing more is inserted: a read of
 * a value whose memory another one has taken reads the other one, without a word. Before it there
 * may be such reads, which XLA will resolve.
 *
 * The module is walked once, in the order in which it runs. An instruction that defines a value
 * takes the value's memory away from all others; control flow takes none, it renames: a loop's
 * parameters and result are what the memory holds when they come to be. Branches of a conditional
 * exclude each other, so each one begins with the memory as it was before the conditional; after it
 * a piece of memory that any branch has written holds what one of the branches left there. What a
 * computation returns is read at its end, which proves by induction that a loop may go round again.
 * Parameters that no output takes over, and constants, are read when the module has ended.
 *
 * Example: w is donated to the output n, and n = multiply(w, c). A sine(w) after n is an
 * overwritten read: (reader sine, value w, holder n). In a conditional with n in one branch and the
 * sine in the other it is none.
 *
 * Not modelled is what XLA leaves without copies because it was told to: updates in disjoint
 * regions, loops with copies disabled (xla/service/copy_insertion.cc, frontend attributes). Reads
 * that are seen there are in the input, too, and keep their order.
 *
 * (XLA decides the same from dependencies and exclusive branches: HloOrdering and CopyRemover in
 * xla/hlo/analysis/hlo_ordering.cc, xla/service/copy_insertion.cc.) */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_H
#define REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_H

#include "analysis/memory/liveness.h"

typedef struct OverwrittenRead {
  InstId reader;  /* a caller for what its callee returns; NO_ID for constants and parameters, which
                     whoever runs the module wants to find unchanged, or to be there at all */
  ValueId value;  /* that it wants to read */
  ValueId holder; /* that the memory holds: one of several after a conditional */
} OverwrittenRead;

typedef struct OverwrittenReads {
  VEC(OverwrittenRead) list; /* in the order in which they happen, without repetitions in a row */
} OverwrittenReads;

/* `values` is of the module, whose call graph must be flat (remat/rewrite/flatten.h): a computation
 * that is called several times is taken for what the first caller makes of it. Linear in the parts
 * of all operands, but for conditionals: what a branch writes counts once for each conditional
 * around it.
 */
OverwrittenReads overwritten_reads_find(const Module *module, const ValueAnalysis *values,
                                        const Schedule *schedule, Arena *out, Arena *scratch);

/* Who takes memory over, for those who want to add a read. */
typedef struct Overwriters {
  InstId *of; /* by InstId: the first instruction of the same computation, after it in the order,
                 that overwrites memory of the instruction's result, itself or in what it calls;
                 NO_ID = none */
  uint32_t num_insts;
} Overwriters;

/* O(n log n), likewise. */
Overwriters overwriters_find(const Module *module, const ValueAnalysis *values,
                             const Schedule *schedule, Arena *out, Arena *scratch);

/* NO_ID also for instructions that were added later: nobody else has their memory yet. */
static inline InstId overwriter_of(const Overwriters *overwriters, InstId id) {
  return id < overwriters->num_insts ? overwriters->of[id] : NO_ID;
}

#endif
