/* What a picture shows: which instructions, which edges, how hot, and what stands for the rest.
 * Knows nothing of graphviz. */
#ifndef REMAT_HLO_EMIT_DOT_PICTURE_H
#define REMAT_HLO_EMIT_DOT_PICTURE_H

#include "analysis/flow/call_graph.h"
#include "analysis/flow/points_to.h"
#include "analysis/memory/call_memory.h"
#include "emit/dot/dot.h"

typedef struct DotEdge {
  InstId from; /* makes the buffers */
  InstId to;   /* reads them */
  int64_t bytes;
  bool crosses_peak; /* from what is live at the peak to what runs then or later */
  bool is_path;      /* `to` reads what others, that are not shown, make of them */
} DotEdge;

/* A scope that has a frame: of op_name, in a computation. */
typedef struct DotScope {
  Str path;        /* below the scope that it is in */
  uint32_t parent; /* index, NO_ID: the computation itself */
  CompId comp;
  uint32_t num_insts, num_shown;
} DotScope;

/* Instructions that are not shown one by one: of one scope, or of several whose paths differ in
 * numbers only, on one side of the peak. */
typedef struct DotBox {
  Str first_path, last_path; /* below `scope`; empty: its own instructions */
  uint32_t scope;            /* index, NO_ID: the computation itself */
  CompId comp;
  uint32_t num_scopes;
  uint32_t num_insts;
  int64_t live_bytes;    /* at the peak */
  int64_t largest_bytes; /* result */
  SchedPos first, last;
  bool is_rest; /* of all that had no box of its own */
} DotBox;

typedef struct DotPicture {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *memory;
  CallMemory calls; /* whose callers are those that lead to what is shown */
  CallGraph graph;
  PointsTo points_to;
  SchedPos *position;      /* by InstId, NO_ID for what runs in no sequence */
  int64_t *memory_at;      /* by InstId: bytes of the whole module while it runs */
  int64_t least_memory;    /* the smallest of these */
  bool *is_shown;          /* by InstId */
  int64_t *live_bytes;     /* by InstId: of its result, at the peak */
  int64_t all_live_bytes;  /* the sum */
  bool *is_live_at_peak;   /* by InstId: some part of its result */
  InstId *original_of;     /* by InstId: what a clone computes again; NO_ID: no clone, or gone */
  uint32_t *num_left_out;  /* by InstId: readers of its buffers that had no room */
  SchedPos *peak_position; /* by CompId: of the peak, or the call that leads to it; else NO_ID */
  VEC(DotEdge) edges;      /* grouped by `from`, those in the order of their ids; paths behind */
  uint32_t num_shown;
  uint32_t num_insts;        /* that run in sequences */
  int64_t shown_bytes;       /* when the picture chose: all buffers over this are shown */
  bool has_more_of_size;     /* and only some of this size; else all of it, too */
  uint32_t num_wanted;       /* by a filter: what it is about */
  uint32_t num_wanted_shown; /* of these */
  bool *is_wanted;           /* by InstId */
  bool is_about_peak;        /* it is what lives then */
  VEC(DotScope) scopes;      /* parents before children; none of a picture of all */
  VEC(DotBox) boxes;
  uint32_t *scope_of; /* by InstId, of what is shown: index, NO_ID: the computation itself */
  bool has_paths;     /* false when there were too many nodes to look for them */
} DotPicture;

/* O(parts of all results + readers · log readers). */

DotPicture dot_picture_build(const Module *module, const Schedule *schedule,
                             const MemoryProfile *memory, RematMarks marks,
                             const DotOptions *options, Arena *out, Arena *scratch);

#endif
