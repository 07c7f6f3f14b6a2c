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

/* ---- who reads whose buffers (edges.c) ---- */

typedef struct DotReader {
  SchedPos pos;
  InstId inst;
} DotReader;

/* What finds the readers of one buffer after the other. */
typedef struct DotReaders {
  const Module *module;
  const PointsTo *points_to;
  const SchedPos *position; /* by InstId, NO_ID for what runs in no sequence */
  LogicalId *stamp;         /* by InstId: one more than the last buffer that it was found to read */
  VEC(DotReader) list;
  Arena *scratch;
} DotReaders;

DotReaders dot_readers_new(const Module *module, const PointsTo *points_to,
                           const SchedPos *position, Arena *scratch);

/* Fills readers->list, in the order of the schedule, with who reads a buffer. The root of a
 * computation reads what the computation returns. */
void dot_readers_find(DotReaders *readers, LogicalId buffer);

/* True for a buffer that a picture may show: memory of what runs in a sequence. Tables of pointers
 * are none. */
bool dot_is_candidate(const Module *module, const PointsTo *points_to, const SchedPos *position,
                      LogicalId buffer);

typedef struct DotRead {
  InstId from; /* makes the buffers */
  InstId to;   /* reads them */
  int64_t bytes;
} DotRead;

/* All of a module, an edge for each pair of instructions. */
typedef struct DotReads {
  VEC(DotRead) list;      /* grouped by `from` */
  uint32_t *first, *num;  /* by InstId: its readers in `list`, by buffer and position */
  uint32_t *first_source; /* by InstId, one more: range in `sources` */
  uint32_t *sources;      /* indices of `list`, grouped by `to` */
} DotReads;

/* O(parts of all results + readers · log readers). */
DotReads dot_reads_build(const Module *module, const PointsTo *points_to, const SchedPos *position,
                         Arena *out, Arena *scratch);

/* ---- which instructions are shown (select.c) ---- */

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

/* ---- edges between them (edges.c) ---- */

/* From whoever makes a chosen buffer to who reads it and is shown; counts readers that are not. */
void dot_edges_add(DotChoice *choice, Arena *out);

/* Adds an edge from each shown instruction to each that reads, through instructions that are not
 * shown, what is made of its result; not where other edges lead there as well. A computation of
 * which very many are shown gets none. O(reads · shown of a computation / 64). */
void dot_paths_add(DotPicture *picture, const DotReads *reads, Arena *out, Arena *scratch);

/* ---- scopes of op_names as frames and boxes (scopes.c) ---- */

/* Fills scopes, boxes and scope_of of the picture: each instruction of a computation of which
 * something is shown is shown itself or counted in one box. A scope with a few shown instructions
 * gets a frame, unless they are more than half of those around it, or all in one scope below; at
 * most DOT_MAX_DEPTH frames stand in one another. All boxes but the DOT_MAX_BOXES that matter most,
 * and those of less than a hundredth of everything, become one a computation and side of the peak.
 * O(instructions · depth of scopes). */
enum { DOT_MAX_DEPTH = 3, DOT_MAX_BOXES = 16 };
void dot_scopes_find(DotPicture *picture, Places *places, Arena *out, Arena *scratch);

#endif
