/* Which instructions a picture shows, and whose buffers its edges are. Knows nothing of graphviz.
 */
#ifndef REMAT_HLO_EMIT_DOT_SELECT_H
#define REMAT_HLO_EMIT_DOT_SELECT_H

#include "emit/dot/picture.h"
#include "emit/dot/reads.h"
#include "emit/report/report.h"

/* What choosing needs and fills; the picture's is_shown and counts as well. */
typedef struct DotChoice {
  DotPicture *picture;
  const DotOptions *options;
  RematMarks marks;
  Places *places;
  DotReaders readers;
  VEC(LogicalId) buffers; /* that were chosen: edges are drawn for them */
  bool *is_chosen;        /* by LogicalId: is among them */
  Arena *scratch;
} DotChoice;

enum {
  DOT_MAX_READERS = 6,      /* that are shown of many */
  DOT_SHARE_OF_PEAK = 1000, /* smaller than this part of the peak, a buffer does not matter */
};

static inline void dot_show(DotPicture *picture, InstId id) {
  picture->num_shown += !picture->is_shown[id];
  picture->is_shown[id] = true;
}

static inline void dot_choose_buffer(DotChoice *choice, LogicalId buffer) {
  if (choice->is_chosen[buffer]) return;
  choice->is_chosen[buffer] = true;
  *vec_push(choice->scratch, &choice->buffers) = buffer;
}

/* DOT_FILTER_ALL: the peak, and of the whole module the largest buffers, or all over a threshold,
 * with who reads them. */
void dot_select_by_size(DotChoice *choice);

/* Any other filter: what it wants, largest first, up to three quarters of max_nodes; then what
 * produces and reads that, some hops away; then what it wants besides, as long as there is room.
 * The peak wants what lives then, but for parameters, and what was rematerialized with what that
 * stands for. Sets num_wanted and num_wanted_shown. O(reads · log reads). */
void dot_select(DotChoice *choice, const DotReads *reads);

#endif
