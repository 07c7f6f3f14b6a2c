#include "emit/dot/paths.h"

/* Sets of shown instructions of a computation, as bits in the order of the schedule. */
typedef struct Paths {
  DotPicture *picture;
  const DotReads *reads;
  InstId *shown;
  uint32_t num_shown;
  uint32_t num_words;
  uint32_t *index;    /* by InstId: in `shown` */
  uint64_t **reached; /* by InstId: from which shown ones it can be reached through others */
  uint64_t **above;   /* by index: all that lead to it */
  Arena *out, *scratch;
} Paths;

enum { MAX_SHOWN = 4096 };

static bool has_bit(const uint64_t *set, uint32_t bit) {
  return set[bit / 64] >> bit % 64 & 1;
}

static void add_bit(uint64_t *set, uint32_t bit) {
  set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void unite(uint64_t *set, const uint64_t *other, uint32_t num_words) {
  for (uint32_t i = 0; i < num_words; i++)
    set[i] |= other[i];
}

/* Which shown instructions something reads: `direct` itself, `hidden` through others. */
static void find_sources(const Paths *paths, InstId id, uint64_t *direct, uint64_t *hidden) {
  const DotReads *reads = paths->reads;
  for (uint32_t i = reads->first_source[id]; i < reads->first_source[id + 1]; i++) {
    InstId from = reads->list.data[reads->sources[i]].from;
    if (paths->picture->is_shown[from]) {
      add_bit(direct, paths->index[from]);
    } else if (paths->reached[from]) {
      unite(hidden, paths->reached[from], paths->num_words);
    }
  }
}

static void pass_on(Paths *paths, InstId id) {
  uint64_t *set = arena_zarray(paths->scratch, uint64_t, paths->num_words);
  find_sources(paths, id, set, set);
  paths->reached[id] = set;
}

/* Edges to a shown instruction: from what reaches it, but for what other predecessors come after.
 */
static void connect(Paths *paths, InstId id) {
  uint32_t num_words = paths->num_words;
  uint64_t *direct = arena_zarray(paths->scratch, uint64_t, num_words);
  uint64_t *hidden = arena_zarray(paths->scratch, uint64_t, num_words);
  uint64_t *above = arena_zarray(paths->scratch, uint64_t, num_words);
  find_sources(paths, id, direct, hidden);
  for (uint32_t i = 0; i < paths->index[id]; i++) {
    if (has_bit(direct, i) || has_bit(hidden, i)) unite(above, paths->above[i], num_words);
  }
  for (uint32_t i = 0; i < paths->index[id]; i++) {
    if (!has_bit(hidden, i) || has_bit(direct, i) || has_bit(above, i)) continue;
    *vec_push(paths->out, &paths->picture->edges) =
        (DotEdge){.from = paths->shown[i], .to = id, .is_path = true};
  }
  unite(above, direct, num_words);
  unite(above, hidden, num_words);
  paths->above[paths->index[id]] = above;
}

static void connect_computation(Paths *paths, Sequence sequence) {
  ArenaMark mark = arena_mark(paths->scratch);
  paths->num_shown = 0;
  paths->shown = arena_array(paths->scratch, InstId, sequence.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (!paths->picture->is_shown[id]) continue;
    paths->index[id] = paths->num_shown;
    paths->shown[paths->num_shown++] = id;
  }
  if (paths->num_shown > MAX_SHOWN) paths->picture->has_paths = false;
  if (paths->num_shown > 1 && paths->num_shown <= MAX_SHOWN) {
    paths->num_words = (paths->num_shown + 63) / 64;
    paths->above = arena_zarray(paths->scratch, uint64_t *, paths->num_shown);
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      if (paths->picture->is_shown[id]) {
        connect(paths, id);
      } else {
        pass_on(paths, id);
      }
    }
  }
  arena_reset(paths->scratch, mark);
}

void dot_paths_add(DotPicture *picture, const DotReads *reads, Arena *out, Arena *scratch) {
  uint32_t num_insts = picture->module->insts.len;
  ArenaMark mark = arena_mark(scratch);
  Paths paths = {.picture = picture,
                 .reads = reads,
                 .index = arena_array(scratch, uint32_t, num_insts),
                 .reached = arena_zarray(scratch, uint64_t *, num_insts),
                 .out = out,
                 .scratch = scratch};
  picture->has_paths = true;
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) {
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    connect_computation(&paths, picture->schedule->of[comp]);
  }
  arena_reset(scratch, mark);
}
