/* Stores the state of a scan only at the beginning of every segment of k iterations.
 *
 * The forward loop of N iterations becomes a loop over N / k segments, around one over the
 * iterations of a segment; it stacks the state that each segment begins with. The backward loop
 * becomes a loop over the segments, which runs the forward iterations of the segment again, with
 * stacks of k slices, and then the backward iterations that read them. With k about sqrt(N) the
 * memory grows with sqrt(N) (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
 * The two inner loops are a scan again, whose values can be recomputed in the next round. */
#ifndef REMAT_HLO_REMAT_SCAN_SEGMENT_H
#define REMAT_HLO_REMAT_SCAN_SEGMENT_H

#include "remat/rewrite/rewrite.h"
#include "remat/scan/values.h"

/* Whether the loop of `values` can be cut into segments of some length, with the loop that alone
 * reads some of its stacks, in the order of the iterations or in the reverse order. Stacks that are
 * read elsewhere as well remain. */
bool scan_can_segment(const ScanValues *values);

/* The loop that is cut besides the one that writes the stacks: the one that most bytes are stacked
 * for alone. */
typedef struct ScanCut {
  const StackRead *read; /* one of its reads; NULL = there is no such loop */
  int64_t bytes;         /* of the stacks that only it reads, always in the same order */
} ScanCut;

ScanCut scan_cut_find(const ScanValues *values);

/* Whether the slices of a stack are computed again, segment by segment, for that loop. */
bool scan_is_cut(const ScanValues *values, const ScanCut *cut, uint32_t stack);

/* The divisor of the number of iterations that is closest to `wanted`, other than 1 and the number
 * itself; 0 if there is none. */
int64_t scan_segment_length(const ScanValues *values, double wanted);

/* Cuts the loop of `values`, and the loop that reads its stacks, into segments of `length`
 * iterations, which divides their number. `is_lean` is as for scan_recompute().
 *
 * updates: module and schedule. breaks: every analysis, that of the loops included. */
void scan_segment(Rewrite *rewrite, Schedule *schedule, const ScanValues *values, int64_t length,
                  bool is_lean, Arena *out, Arena *scratch);

#endif
