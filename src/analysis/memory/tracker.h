/* XLA's own bookkeeping of memory while it rematerializes (MemoryUsageTracker in
 * xla/hlo/transforms/simplifiers/hlo_rematerialization.cc): instructions of one computation are
 * placed one after the other, and a rematerialization changes what is still to come.
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
  int64_t bytes;    /* that count: 0 for parameters and live-outs */
  uint32_t depth;   /* of its place in the definer's result */
  uint32_t element; /* of the tuple, where depth is 1; NO_ID otherwise */
  bool is_live_out;
  bool has_indirect_uses;  /* through what is not inst_is_pass_through() */
  uint32_t num_unfinished; /* users that have not ended */
  BufferUses uses;
} TrackedBuffer;

typedef struct Tracker {
  Module *module;
  ItemList *list;
  VEC(TrackedBuffer) buffers;
  int64_t memory_bytes; /* live at this point */
  InstId in_progress;   /* begun and not ended; NO_ID between instructions */
  Arena *arena;
} Tracker;

/* Nothing is placed. `points_to` is of the module as it is now; the tracker does not need it later.
 */
Tracker tracker_build(Module *module, const PointsTo *points_to, ItemList *list, CompId comp,
                      Arena *out, Arena *scratch);

/* Allocates what the instruction defines. */
void tracker_begin(Tracker *tracker, InstId id);

/* Frees what nobody reads any more. */
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

/* Of those that somebody reads. */
int64_t tracker_read_bytes(const Tracker *tracker, InstId id);

/* Bytes freed now if these instructions, all of them placed and in order, were computed again
 * later; 0 or less when it does not pay, or one of them is in use. Whether users can be led to the
 * clones is not looked at: remat/legality/legality.h. */
int64_t tracker_bytes_reduced(const Tracker *tracker, const InstId *block, uint32_t len);

/* Bytes freed now if the result of `id`, which is placed, were kept in an array of `compact_bytes`
 * for its readers that are not; 0 or less when it cannot be done, as with a tuple. */
int64_t tracker_bytes_compressed(const Tracker *tracker, InstId id, int64_t compact_bytes);

/* Bytes of the result of `id`, which is placed, that go to the host's memory when its readers that
 * are not placed read it from there; 0 when it cannot be done, likewise. */
int64_t tracker_bytes_offloaded(const Tracker *tracker, InstId id);

bool tracker_has_unplaced_uses(const Tracker *tracker, InstId id);

/* Accounts for `clone`, which took over all uses of `original` that are not placed. `helpers` are
 * the new get-tuple-elements and bitcasts between it and its users. */
void tracker_add_clone(Tracker *tracker, InstId original, InstId clone, const IdVec *helpers);

/* Accounts for two copies: `compact` reads `original` and is placed, `back` reads `compact`, and
 * took over the uses of `original` that are not placed. */
void tracker_add_copies(Tracker *tracker, InstId original, InstId compact, InstId back);

/* Copies to the host's memory and back, in two halves each. */
typedef struct OffloadCopies {
  InstId leave, left; /* copy-start and copy-done */
  InstId enter, back;
} OffloadCopies;

/* Accounts for them: `leave` reads `original`, and `back` took over the uses of `original` that are
 * not placed. The first of them, in order, may be placed. */
void tracker_add_offload(Tracker *tracker, InstId original, const OffloadCopies *copies);

/* Whether an alias of a buffer holds the value that `definer` wrote there, for users that can be
 * led past it. Behind an instruction that works in place, say an element of a fusion with
 * output_to_operand_aliasing, XLA goes on with the old value; this does not. */
bool alias_is_pass_through(const Module *module, InstId definer, InstId alias);

#endif
