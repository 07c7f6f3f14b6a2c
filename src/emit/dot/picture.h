/* The contents of a picture: the instructions and edges that are shown, the memory at each
 * instruction, and the boxes for all other instructions. This part is independent of graphviz. */
#ifndef REMAT_HLO_EMIT_DOT_PICTURE_H
#define REMAT_HLO_EMIT_DOT_PICTURE_H

#include "analysis/flow/call_graph.h"
#include "analysis/flow/points_to.h"
#include "analysis/memory/call_memory.h"
#include "emit/dot/dot.h"

typedef struct DotEdge {
  InstId from; /* the instruction that makes the buffers */
  InstId to;   /* the instruction that reads them */
  int64_t bytes;
  bool crosses_peak; /* from an instruction whose result is live at the peak to one that runs then
                        or later */
  bool is_path; /* `to` reads what instructions that are not shown make from the result of `from` */
} DotEdge;

/* A scope with a frame: a scope of op_names within one computation. */
typedef struct DotScope {
  Str path;        /* path below the enclosing scope */
  uint32_t parent; /* index in `scopes`; NO_ID: the computation itself */
  CompId comp;
  uint32_t num_insts, num_shown;
} DotScope;

/* Instructions that are not shown individually. They belong to one scope, or to several scopes
 * whose paths differ only in numbers, and run on one side of the peak. */
typedef struct DotBox {
  Str first_path, last_path; /* below `scope`; empty: its own instructions */
  uint32_t scope;            /* index in `scopes`; NO_ID: the computation itself */
  CompId comp;
  uint32_t num_scopes;
  uint32_t num_insts;
  int64_t live_bytes;    /* bytes that are live at the peak */
  int64_t largest_bytes; /* bytes of the largest result */
  SchedPos first, last;
  bool is_rest; /* the box of everything without a box of its own */
} DotBox;

typedef struct DotPicture {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *memory;
  CallMemory calls; /* its callers are the calls on the way to what is shown */
  CallGraph graph;
  PointsTo points_to;
  SchedPos *position;     /* by InstId; NO_ID for an instruction that runs in no sequence */
  int64_t *memory_at;     /* by InstId: bytes of the whole module while it runs */
  int64_t least_memory;   /* the smallest of memory_at */
  bool *is_shown;         /* by InstId */
  int64_t *live_bytes;    /* by InstId: bytes of its result that are live at the peak */
  int64_t all_live_bytes; /* the sum of live_bytes */
  bool *is_live_at_peak;  /* by InstId: some part of its result is live */
  InstId *original_of; /* by InstId: the instruction that a clone recomputes; NO_ID: not a clone, or
                          removed */
  uint32_t *num_left_out;  /* by InstId: number of readers of its buffers that are omitted for lack
                              of room */
  SchedPos *peak_position; /* by CompId: position of the peak, or of the call on the way to it; else
                              NO_ID */
  VEC(DotEdge) edges; /* grouped by `from`, which are in the order of their ids; then the paths */
  uint32_t num_shown;
  uint32_t num_insts;        /* number of instructions that run in sequences */
  int64_t shown_bytes;       /* for the default threshold: all buffers larger than this are shown */
  bool has_more_of_size;     /* only some buffers of this size are shown */
  uint32_t num_wanted;       /* with a filter: number of instructions that it selects */
  uint32_t num_wanted_shown; /* number of these that are shown */
  bool *is_wanted;           /* by InstId */
  bool is_about_peak;        /* the filter selects what is live at the peak */
  VEC(DotScope) scopes;      /* parents come before children; empty in a picture of everything */
  VEC(DotBox) boxes;
  uint32_t *scope_of; /* by InstId, for shown instructions: index in `scopes`, or NO_ID */
  bool has_paths;     /* false if paths were not searched because there are too many nodes */
} DotPicture;

/* Builds a picture. The time is O(parts of all results + readers · log readers). */
DotPicture dot_picture_build(const Module *module, const Schedule *schedule,
                             const MemoryProfile *memory, RematMarks marks,
                             const DotOptions *options, Arena *out, Arena *scratch);

/* ---- readers of buffers (edges.c) ---- */

typedef struct DotReader {
  SchedPos pos;
  InstId inst;
} DotReader;

/* The state of a search for the readers of buffers, one buffer after the other. */
typedef struct DotReaders {
  const Module *module;
  const PointsTo *points_to;
  const SchedPos *position; /* by InstId; NO_ID for an instruction that runs in no sequence */
  LogicalId *stamp;         /* by InstId: the last buffer that it was found to read, plus one */
  VEC(DotReader) list;
  Arena *scratch;
} DotReaders;

DotReaders dot_readers_new(const Module *module, const PointsTo *points_to,
                           const SchedPos *position, Arena *scratch);

/* Fills readers->list with the readers of a buffer, in the order of the schedule. The root of a
 * computation counts as a reader of what the computation returns. */
void dot_readers_find(DotReaders *readers, LogicalId buffer);

/* Returns true for a buffer that a picture may show: the memory of an instruction that runs in a
 * sequence, but not a table of pointers. */
bool dot_is_candidate(const Module *module, const PointsTo *points_to, const SchedPos *position,
                      LogicalId buffer);

typedef struct DotRead {
  InstId from; /* the instruction that makes the buffers */
  InstId to;   /* the instruction that reads them */
  int64_t bytes;
} DotRead;

/* All reads of a module, with one edge for each pair of instructions. */
typedef struct DotReads {
  VEC(DotRead) list;      /* grouped by `from` */
  uint32_t *first, *num;  /* by InstId: its range in `list`, sorted by buffer and position */
  uint32_t *first_source; /* by InstId, with one more at the end: range in `sources` */
  uint32_t *sources;      /* indices in `list`, grouped by `to` */
} DotReads;

/* Collects all reads. The time is O(parts of all results + readers · log readers). */
DotReads dot_reads_build(const Module *module, const PointsTo *points_to, const SchedPos *position,
                         Arena *out, Arena *scratch);

/* ---- selection of instructions (select.c) ---- */

/* The input and the result of the selection. The selection also sets the picture's is_shown and
 * counts. */
typedef struct DotChoice {
  DotPicture *picture;
  const DotOptions *options;
  RematMarks marks;
  Places *places;
  DotReaders readers;
  VEC(LogicalId) buffers; /* the chosen buffers, for which edges are drawn */
  bool *is_chosen;        /* by LogicalId: it is in `buffers` */
  Arena *scratch;
} DotChoice;

enum {
  DOT_MAX_READERS = 6,      /* how many readers of a buffer are shown */
  DOT_SHARE_OF_PEAK = 1000, /* a buffer smaller than the peak divided by this is ignored */
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

/* Selects for DOT_FILTER_ALL: the instructions at the peak, and from the whole module the largest
 * buffers, or all buffers over a threshold, with their readers. */
void dot_select_by_size(DotChoice *choice);

/* Selects for any other filter: first what the filter selects, largest first, up to three quarters
 * of max_nodes; then the producers and readers of these, up to some hops away; then the rest of
 * what the filter selects, as long as there is room. The filter peak selects what is live at the
 * peak, without parameters, and what was rematerialized, with the originals. Sets num_wanted and
 * num_wanted_shown. The time is O(reads · log reads). */
void dot_select(DotChoice *choice, const DotReads *reads);

/* ---- edges between instructions (edges.c) ---- */

/* Adds an edge from the instruction that makes a chosen buffer to each of its readers that is
 * shown, and counts the other readers. */
void dot_edges_add(DotChoice *choice, Arena *out);

/* Adds an edge from each shown instruction to each one that reads what instructions which are not
 * shown make from its result. No edge is added if other edges lead there as well, or in a
 * computation with very many shown instructions. The time is O(reads · shown of a computation /
 * 64). */
void dot_paths_add(DotPicture *picture, const DotReads *reads, Arena *out, Arena *scratch);

/* ---- scopes of op_names as frames and boxes (scopes.c) ---- */

/* Fills scopes, boxes and scope_of of the picture. If an instruction of a computation is shown,
 * each of its instructions is shown or is counted in one box. A scope with a few shown instructions
 * gets a frame, unless they are more than half of those around it, or are all in one scope below.
 * At most DOT_MAX_DEPTH frames are nested. Only the DOT_MAX_BOXES most important boxes are kept,
 * and none with less than a hundredth of everything; the others are merged into one box for each
 * computation and side of the peak. The time is O(instructions · depth of scopes). */
enum { DOT_MAX_DEPTH = 3, DOT_MAX_BOXES = 16 };
void dot_scopes_find(DotPicture *picture, Places *places, Arena *out, Arena *scratch);

#endif
