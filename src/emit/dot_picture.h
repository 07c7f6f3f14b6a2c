/* What a picture shows: which instructions, which edges, how hot. Knows nothing of graphviz. */
#ifndef REMAT_HLO_EMIT_DOT_PICTURE_H
#define REMAT_HLO_EMIT_DOT_PICTURE_H

#include "analysis/call_graph.h"
#include "analysis/points_to.h"
#include "emit/dot.h"

typedef struct DotEdge {
  InstId from; /* makes the buffers */
  InstId to;   /* reads them */
  int64_t bytes;
  bool crosses_peak; /* from what is live at the peak to what runs then or later */
} DotEdge;

typedef struct DotPicture {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *memory;
  CallGraph graph;
  PointsTo points_to;
  SchedPos *position;      /* by InstId, NO_ID for what runs in no sequence */
  int64_t *memory_at;      /* by InstId: bytes of the whole module while it runs */
  int64_t least_memory;    /* the smallest of these */
  bool *is_shown;          /* by InstId */
  bool *is_live_at_peak;   /* by InstId: some part of its result */
  uint32_t *num_left_out;  /* by InstId: readers of its buffers that had no room */
  SchedPos *peak_position; /* by CompId: of the peak, or the call that leads to it; else NO_ID */
  VEC(DotEdge) edges;      /* grouped by `from`, those in the order of their ids */
  uint32_t num_shown;
  uint32_t num_insts;    /* that run in sequences */
  int64_t shown_bytes;   /* when the picture chose: all buffers over this are shown */
  bool has_more_of_size; /* and only some of this size; else all of it, too */
} DotPicture;

/* O(parts of all results + readers · log readers). */

DotPicture dot_picture_build(const Module *module, const Schedule *schedule,
                             const MemoryProfile *memory, RematMarks marks,
                             const DotOptions *options, Arena *out, Arena *scratch);

#endif
