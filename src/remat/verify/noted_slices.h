/* What compilers have noted of slices (analysis/flow/slice_note.h), and whether it holds where a
 * slice is evaluated. */
#ifndef REMAT_HLO_REMAT_VERIFY_NOTED_SLICES_H
#define REMAT_HLO_REMAT_VERIFY_NOTED_SLICES_H

#include "analysis/flow/slice_note.h"
#include "remat/verify/linear.h"

typedef struct NotedSlices {
  SliceNote *list;
  uint32_t *number_of; /* by InstId: one more than the index in the list, 0 = no note; NULL = the
                          module has no notes */
  bool *are_in;        /* by CompId: it has notes, or one that it calls has */
} NotedSlices;

NotedSlices noted_slices_find(const Module *module, Arena *out, Arena *scratch);

/* The note of an instruction; NULL = it has none. */
const SliceNote *noted_slice(const NotedSlices *noted, InstId id);

/* Whether the note is true of a slice of the size of `part` that has these starts, one for each
 * dimension of `array`. `iteration` is that of the loop that the note counts
 * by; NULL = it is not known. */
bool noted_slice_holds(const SliceNote *note, const Numbering *numbering, const Shape *array,
                       const Shape *part, const ValueNumber *starts, const Linear *iteration);

#endif
