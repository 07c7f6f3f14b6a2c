/* Sections: time as packing needs it. A section is a moment at which the set of live buffers is
 * maximal: between two sections some buffer has ended and another one has begun, and at every other
 * time the live buffers are a part of those of a section. Two buffers share a section if and only
 * if they live at the same time.
 *
 * Example: a lives in ticks [0, 2), b in [1, 4), c in [2, 5), d in [3, 5).
 *   tick       0    1    2    3    4
 *   live       a    ab   bc   bcd  cd
 *   section         0         1
 * a has the span [0, 1), b [0, 2), c [1, 2), d [1, 2). */
#ifndef REMAT_HLO_ANALYSIS_PACK_SECTIONS_H
#define REMAT_HLO_ANALYSIS_PACK_SECTIONS_H

#include "analysis/pack/packing.h"

/* Sections [begin, end). */
typedef struct PackSpan {
  uint32_t begin, end;
} PackSpan;

typedef struct PackSections {
  const PackProblem *problem;
  uint32_t num_sections;
  PackSpan *
      spans; /* the spans of each buffer: in order, not touching; none for a buffer without bytes */
  uint32_t *first_span; /* by buffer, one entry more: range in `spans` */
  int64_t *live_bytes;  /* by section */
  int64_t granule;      /* common divisor of the alignments, and so of all offsets; at least 1 */
  int64_t *taken_bytes; /* by section: live bytes, each buffer rounded up to the granule */
} PackSections;

/* O(n log n) in the number of ranges. */
PackSections pack_sections_build(const PackProblem *problem, Arena *out, Arena *scratch);

/* A lower bound of the height of any packing: the largest number of bytes that live at one time,
 * or, with each buffer but the highest rounded up to the granule, that they take. O(n). */
int64_t pack_lower_bound(const PackSections *sections);

/* pack_lower_bound() of the buffers of one part. */
int64_t pack_part_bound(const PackSections *sections, PackSpan part);

/* Splits time into parts that no buffer crosses, in order. Writes them to `parts`, which has room
 * for as many as there are sections; returns their number. */
uint32_t pack_sections_split(const PackSections *sections, PackSpan *parts, Arena *scratch);

/* False for buffers without bytes. */
static inline bool pack_is_in_part(const PackSections *sections, uint32_t buffer, PackSpan part) {
  uint32_t first = sections->first_span[buffer];
  if (first == sections->first_span[buffer + 1]) return false;
  return sections->spans[first].begin >= part.begin && sections->spans[first].begin < part.end;
}

#endif
