/* Memory as slots: the pieces between all offsets at which a placed buffer begins or ends. Each
 * slot knows when it is taken. Best fit wants the slots that are free during a whole span of time,
 * one after the other; slots that lie side by side and are all taken at some time of the span, or
 * all free, are passed together. So it does not matter how many buffers live in the span.
 *
 * Example: a at [0, 32) lives in sections [0, 4), b at [32, 48) in [0, 1), c at [48, 80) in [2, 4).
 * The slots begin at 0, 32 and 48. A buffer of 16 bytes that lives in [1, 3) goes to 32, one that
 * lives in [1, 2) goes there, too: the memory from 32 on is free, and above all others. */
#ifndef REMAT_HLO_ANALYSIS_PACK_SLOTS_H
#define REMAT_HLO_ANALYSIS_PACK_SLOTS_H

#include "analysis/pack/sections.h"

typedef struct PackSlots PackSlots;

PackSlots *pack_slots_new(Arena *out);

/* Takes the bytes [from, to) in some spans of time, which must be free there. O(log n) for each
 * slot that the bytes cover. Returns false when buffers have covered so many slots on average that
 * slots do not pay; they are of no use then. */
bool pack_slots_take(PackSlots *slots, int64_t from, int64_t to, const PackSpan *spans,
                     uint32_t num_spans);

/* The offset of best fit for a buffer that lives in these spans: the smallest gap that is large
 * enough, the lowest of equal ones, else above everything that is taken. `granule` divides all
 * offsets and alignments; no gap is better than one of `bytes` rounded up to it. */
int64_t pack_slots_best(PackSlots *slots, const PackSpan *spans, uint32_t num_spans, int64_t bytes,
                        int64_t alignment, int64_t granule);

#endif
