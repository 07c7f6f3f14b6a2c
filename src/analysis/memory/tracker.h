/* XLA's own bookkeeping of memory while it rematerializes (MemoryUsageTracker in
 * xla/hlo/transforms/simplifiers/hlo_rematerialization.cc). The instructions of one computation are
 * placed one after the other, and a rematerialization changes the instructions that are not placed
 * yet.
 *
 * Example: a is placed and has the users b, which is placed, and c, which is not. Cloning a for c
 * frees a's buffer now: tracker_add_clone() leaves the use by b to a's buffer, and gives the use by
 * c to the clone's.
 *
 * The plain recount of a finished schedule is analysis/memory/remat_memory.h. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_TRACKER_H
#define REMAT_HLO_ANALYSIS_MEMORY_TRACKER_H

#include "analysis/flow/points_to.h"
#include "analysis/memory/item_list.h"

typedef uint32_t TrackedId;

/* One position at which an instruction reads a buffer, possibly through aliases of its definer. */
typedef struct BufferUse {
  InstId user;
  uint32_t operand;
} BufferUse;

typedef VEC(BufferUse) BufferUses;

typedef struct TrackedBuffer {
  InstId definer;
  ShapeId shape;
  int64_t bytes;    /* as counted: 0 for parameters and live-outs */
  uint32_t depth;   /* of its part of the definer's result: 0 the whole result, 1 an element of a
                       tuple, … */
  uint32_t element; /* the tuple element if depth is 1; NO_ID otherwise */
  bool is_live_out;
  bool has_indirect_uses;  /* some uses go through an alias that is not inst_is_pass_through() */
  uint32_t num_unfinished; /* users that have not ended */
  BufferUses uses;
} TrackedBuffer;

typedef struct Tracker {
  Module *module;
  ItemList *list;
  VEC(TrackedBuffer) buffers;
  int64_t memory_bytes; /* live at the current instruction */
  InstId in_progress;   /* has begun and has not ended; NO_ID between instructions */
  Arena *arena;
} Tracker;

/* The new tracker has placed nothing. `points_to` is the analysis of the module as it is now; the
 * tracker does not need it later. */
Tracker tracker_build(Module *module, const PointsTo *points_to, ItemList *list, CompId comp,
                      Arena *out, Arena *scratch);

/* Allocates what the instruction defines. */
void tracker_begin(Tracker *tracker, InstId id);

/* Frees the buffers that have no more readers. */
void tracker_end(Tracker *tracker);

static inline TrackedBuffer *tracked_buffer(const Tracker *tracker, TrackedId id) {
  return &tracker->buffers.data[id];
}

static inline bool tracker_is_live(const Tracker *tracker, TrackedId id) {
  const TrackedBuffer *buffer = tracked_buffer(tracker, id);
  return buffer->num_unfinished > 0 && item_get(tracker->list, buffer->definer)->is_placed;
}

/* Bytes of all buffers that an instruction defines. */
int64_t tracker_defined_bytes(const Tracker *tracker, InstId id);

/* Bytes of those buffers among them that have a user. */
int64_t tracker_read_bytes(const Tracker *tracker, InstId id);

/* Bytes freed now if these instructions, all of them placed and in order, were recomputed later. 0
 * or less when that does not pay, or when one of the buffers is in use. Whether the users can be
 * redirected to the clones is not checked here: remat/legality/legality.h. */
int64_t tracker_bytes_reduced(const Tracker *tracker, const InstId *block, uint32_t len);

/* Bytes freed now if the result of `id`, which is placed, were kept in an array of `compact_bytes`
 * for its users that are not placed. 0 or less when that does not pay or is not possible, as with a
 * tuple. */
int64_t tracker_bytes_compressed(const Tracker *tracker, InstId id, int64_t compact_bytes);

/* Bytes of the result of `id`, which is placed, that move to the host's memory when the users that
 * are not placed read it from there. 0 when that is not possible, as with a tuple. */
int64_t tracker_bytes_offloaded(const Tracker *tracker, InstId id);

bool tracker_has_unplaced_uses(const Tracker *tracker, InstId id);

/* Accounts for `clone`, which took over all uses of `original` by instructions that are not placed.
 * `helpers` are the new get-tuple-elements and bitcasts between the clone and its users. */
void tracker_add_clone(Tracker *tracker, InstId original, InstId clone, const IdVec *helpers);

/* Accounts for two copies: `compact` reads `original` and is placed; `back` reads `compact` and
 * took over the uses of `original` by instructions that are not placed. */
void tracker_add_copies(Tracker *tracker, InstId original, InstId compact, InstId back);

/* The asynchronous copies to the host's memory and back, each a copy-start and a copy-done. */
typedef struct OffloadCopies {
  InstId leave, left; /* start and done of the copy to the host */
  InstId enter, back;
} OffloadCopies;

/* Accounts for these copies: `leave` reads `original`, and `back` took over the uses of `original`
 * by instructions that are not placed. A prefix of the four instructions may be placed already. */
void tracker_add_offload(Tracker *tracker, InstId original, const OffloadCopies *copies);

/* Whether an alias of a buffer holds the value that `definer` wrote there, so that users of the
 * alias can read `definer` instead. After an instruction that works in place, such as an element of
 * a fusion with output_to_operand_aliasing, XLA still assumes the old value; this function does
 * not. */
bool alias_is_pass_through(const Module *module, InstId definer, InstId alias);

#endif
