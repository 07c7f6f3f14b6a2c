/* Overwritten reads: reads of a value whose memory holds another value by then.
 *
 * Values of one HloBuffer share memory. XLA inserts copies (into the values that loops carry, into
 * what is updated in place, into outputs that take over a parameter) so that each of them is read
 * for the last time before the next one is written. After copy-insertion no more copies are
 * inserted: a read of a value whose memory another one has taken silently reads the other one.
 * Before copy-insertion a module may contain such reads, which XLA will resolve.
 *
 * Example: w is donated to the output n, and n = multiply(w, c). If n runs before s = sine(w), then
 * s is an overwritten read: (reader s, value w, holder n). In a conditional with n in one branch
 * and s in the other there is none.
 *
 * The module is walked once, in the order in which it runs. An instruction that defines a value
 * takes the value's memory away from all other values. Control flow does not write; it renames:
 * when a loop's parameters and its result are defined, they are the names of what the memory holds.
 * Branches of a conditional exclude each other, so each branch begins with the memory as it was
 * before the conditional. After the conditional, memory that any branch has written holds what one
 * of the branches left there. What a computation returns is read at its end, which proves by
 * induction that a loop may run another iteration. Constants, and parameters that no output takes
 * over, are read when the module has ended.
 *
 * Copies that XLA omits because the input asks for it are not modelled: updates of disjoint
 * regions, loops with copies disabled (xla/service/copy_insertion.cc, frontend attributes). Reads
 * found there are in the input, too, and keep their order.
 *
 * (XLA decides the same from dependencies and exclusive branches: HloOrdering and CopyRemover in
 * xla/hlo/analysis/hlo_ordering.cc, xla/service/copy_insertion.cc.) */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_H
#define REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_H

#include "analysis/memory/liveness.h"

typedef struct OverwrittenRead {
  InstId reader;  /* the caller if its callee returns the value; NO_ID for constants and parameters,
                     which must be present, and unchanged when the module has ended */
  ValueId value;  /* the value that it reads */
  ValueId holder; /* the value that the memory holds: one of several after a conditional */
} OverwrittenRead;

typedef struct OverwrittenReads {
  VEC(OverwrittenRead) list; /* in execution order, without consecutive repetitions */
} OverwrittenReads;

/* `values` is the analysis of the module, whose call graph must be flat (remat/rewrite/flatten.h):
 * a computation that is called several times is analysed for its first caller only. Linear in the
 * parts of all operands, except that what a branch writes counts once for each conditional around
 * it. */
OverwrittenReads overwritten_reads_find(const Module *module, const ValueAnalysis *values,
                                        const Schedule *schedule, Arena *out, Arena *scratch);

/* The instructions that overwrite memory, for passes that want to add a read. */
typedef struct Overwriters {
  InstId *of; /* by InstId: the first later instruction of the same computation that, itself or in
                 its callees, overwrites memory of the instruction's result; NO_ID = none */
  uint32_t num_insts;
} Overwriters;

/* O(n log n). `values` as for overwritten_reads_find(). */
Overwriters overwriters_find(const Module *module, const ValueAnalysis *values,
                             const Schedule *schedule, Arena *out, Arena *scratch);

/* NO_ID also for instructions that were added later: no other value shares their memory yet. */
static inline InstId overwriter_of(const Overwriters *overwriters, InstId id) {
  return id < overwriters->num_insts ? overwriters->of[id] : NO_ID;
}

/* As Overwriters, but for each memory of a result, which matters where the order is still open: of
 * two overwriters of one tuple the second one may then run before the first. */
typedef struct AllOverwriters {
  InstId *ids;
  uint32_t *first; /* by InstId: its overwriters are ids[first[id]] .. ids[first[id + 1] - 1], each
                      once. A later overwriter of the same memory is one of the earlier one. */
} AllOverwriters;

/* O(n log n) in the parts of all results. `values` as for overwritten_reads_find(). */
AllOverwriters all_overwriters_find(const Module *module, const ValueAnalysis *values,
                                    const Schedule *schedule, Arena *out, Arena *scratch);

static inline IdSpan all_overwriters_of(const AllOverwriters *overwriters, InstId id) {
  uint32_t first = overwriters->first[id], len = overwriters->first[id + 1] - first;
  return (IdSpan){len ? overwriters->ids + first : NULL, len};
}

#endif
