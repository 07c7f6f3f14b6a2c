/* Time as packing needs it: the moments at which most buffers live. Between two of them something
 * has ended and something else has begun; at all other times fewer buffers live than at one of
 * these. Two buffers share a section just when they live at the same time. */
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
  PackSpan *spans; /* of each buffer: apart from each other, in order; none when it has no bytes */
  uint32_t *first_span; /* by buffer, and one more */
  int64_t *live_bytes;  /* by section */
  int64_t granule;      /* of all offsets: what the alignments have in common, at least 1 */
  int64_t *taken_bytes; /* by section: what lives there, each rounded up to the granule */
} PackSections;

/* O(n log n) in the ranges. */
PackSections pack_sections_build(const PackProblem *problem, Arena *out, Arena *scratch);

/* No packing is lower: what lives at one time, at most, or what it takes when each but the highest
 * is rounded up to the granule. O(n). */
int64_t pack_lower_bound(const PackSections *sections);

/* The same for the buffers of one part. */
int64_t pack_part_bound(const PackSections *sections, PackSpan part);

/* Parts of time that no buffer crosses, in order; returns how many, written to `parts`, which has
 * room for as many as there are sections. */
uint32_t pack_sections_split(const PackSections *sections, PackSpan *parts, Arena *scratch);

/* False for buffers without bytes. */
static inline bool pack_is_in_part(const PackSections *sections, uint32_t buffer, PackSpan part) {
  uint32_t first = sections->first_span[buffer];
  if (first == sections->first_span[buffer + 1]) return false;
  return sections->spans[first].begin >= part.begin && sections->spans[first].begin < part.end;
}

#endif
