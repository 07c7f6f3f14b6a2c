/* A tree over the candidates in the order of the list, in which each node has the most bytes that a
 * candidate below it frees. Costs are limit / bytes in integers, so all that frees more than limit
 * / (least cost + 1) has the least cost, and the first of these is taken. */
#include "remat/algorithms/standard_index.h"

#include "ir/sort.h"

enum { FIRST_LEAVES = 1024 };

struct StandardIndex {
  VEC(InstId) placed; /* the candidates in the order of the list */
  int64_t *most;      /* by node: bytes, 0 = no candidate below can be recomputed */
  uint32_t num_leaves;
  IdVec stale;           /* instructions for which something has changed */
  InstId last_express;   /* the last candidate in the express lane */
  SortItem *overwritten; /* operands (id) by the instruction that overwrites their memory (key) */
  uint32_t num_overwritten;
};

/* ---- what has changed ---- */

static void mark_stale(Pass *pass, InstId id) {
  RematItem *item = item_get(&pass->list, id);
  if (item->is_stale || item->candidate == NO_ID) return;
  item->is_stale = true;
  *vec_push(pass->arena, &pass->index->stale) = id;
}

static void mark_definer(Pass *pass, TrackedId id) {
  mark_stale(pass, tracked_buffer(&pass->tracker, id)->definer);
}

/* The buffer begins or ends to live. One without bytes makes no difference to those that read it.
 */
static void mark_buffer(Pass *pass, TrackedId id) {
  const TrackedBuffer *buffer = tracked_buffer(&pass->tracker, id);
  mark_definer(pass, id);
  if (buffer->bytes == 0) return;
  for (uint32_t i = 0; i < buffer->uses.len; i++)
    mark_stale(pass, buffer->uses.data[i].user);
}

static void mark_used(Pass *pass, InstId id) {
  const IdVec *used = &item_get(&pass->list, id)->used;
  for (uint32_t i = 0; i < used->len; i++)
    mark_definer(pass, used->data[i]);
}

static void mark_readers(Pass *pass, InstId id) {
  const Module *module = pass->tracker.module;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++)
    mark_stale(pass, inst_users(module, id)[i]);
}

/* Those that read what the instruction has overwritten. */
static void mark_overwritten(Pass *pass, InstId id) {
  const StandardIndex *index = pass->index;
  uint32_t low = 0, high = index->num_overwritten;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (index->overwritten[middle].key < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < index->num_overwritten && index->overwritten[low].key == id; low++)
    mark_readers(pass, index->overwritten[low].id);
}

static void list_overwritten(Pass *pass) {
  StandardIndex *index = pass->index;
  const Legality *legality = pass->standard->job->legality;
  if (!legality->overwriters) return;
  uint32_t len = 0;
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next)
    len += legality_overwriter(legality, id) != NO_ID;
  index->overwritten = arena_array(pass->arena, SortItem, len);
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    InstId overwriter = legality_overwriter(legality, id);
    if (overwriter != NO_ID)
      index->overwritten[index->num_overwritten++] = (SortItem){overwriter, id};
  }
  sort_by_key(index->overwritten, len, pass->standard->scratch);
}

/* ---- the tree ---- */

static void set_bytes(StandardIndex *index, uint32_t at, int64_t bytes) {
  uint32_t node = index->num_leaves + at;
  index->most[node] = bytes;
  while (node /= 2) {
    int64_t left = index->most[2 * node], right = index->most[2 * node + 1];
    int64_t most = left > right ? left : right;
    if (index->most[node] == most) return;
    index->most[node] = most;
  }
}

static void make_tree(StandardIndex *index, uint32_t num_leaves, Arena *arena) {
  const int64_t *old = index->most;
  uint32_t num_old = index->num_leaves;
  index->num_leaves = num_leaves;
  index->most = arena_zarray(arena, int64_t, 2 * (size_t)num_leaves);
  for (uint32_t i = 0; i < num_old; i++)
    index->most[num_leaves + i] = old[num_old + i];
  for (uint32_t node = num_leaves; --node > 0;) {
    int64_t left = index->most[2 * node], right = index->most[2 * node + 1];
    index->most[node] = left > right ? left : right;
  }
}

/* The first candidate that frees at least so many bytes; there must be one. */
static uint32_t first_with(const StandardIndex *index, int64_t bytes) {
  uint32_t node = 1;
  while (node < index->num_leaves) {
    node *= 2;
    if (index->most[node] < bytes) node++;
  }
  return node - index->num_leaves;
}

/* ---- the pass ---- */

void standard_index_open(Pass *pass) {
  pass->index = arena_zarray(pass->arena, StandardIndex, 1);
  pass->index->last_express = NO_ID;
  make_tree(pass->index, FIRST_LEAVES, pass->arena);
  list_overwritten(pass);
}

void standard_index_begin(Pass *pass, InstId id) {
  if (!pass->index) return;
  const Module *module = pass->tracker.module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
    mark_stale(pass, inst_operand(module, id, i));
  IdList predecessors = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < predecessors.len; i++)
    mark_stale(pass, id_list(module, predecessors)[i]);
  mark_used(pass, id);
  mark_overwritten(pass, id);
}

/* Whether a walk along the express lane reaches the item, which XLA does not link in some cases. */
static bool is_reached(const Pass *pass, InstId id) {
  InstId last = pass->index->last_express;
  if (!item_get(&pass->list, id)->is_express) return false;
  if (last == NO_ID) return pass->list.first_express == id;
  return item_get(&pass->list, last)->next_express == id;
}

void standard_index_end(Pass *pass, InstId id) {
  StandardIndex *index = pass->index;
  if (!index) return;
  const IdVec *used = &item_get(&pass->list, id)->used;
  for (uint32_t i = 0; i < used->len; i++) {
    bool has_died = tracked_buffer(&pass->tracker, used->data[i])->num_unfinished == 0;
    if (has_died) mark_buffer(pass, used->data[i]);
  }
  mark_used(pass, id);
  if (!is_reached(pass, id)) return;
  if (index->placed.len == index->num_leaves) make_tree(index, 2 * index->num_leaves, pass->arena);
  index->last_express = id;
  item_get(&pass->list, id)->candidate = index->placed.len;
  *vec_push(pass->arena, &index->placed) = id;
  mark_stale(pass, id);
}

/* The buffers of a recomputed instruction end to live, and operands that are dead live again. */
void standard_index_apply(Pass *pass, const Block *block) {
  if (!pass->index) return;
  for (uint32_t i = 0; i < block->len; i++) {
    const RematItem *item = item_get(&pass->list, block->items[i]);
    mark_stale(pass, block->items[i]);
    for (uint32_t k = 0; k < item->defined.len; k++)
      mark_buffer(pass, item->defined.data[k]);
    for (uint32_t k = 0; k < item->used.len; k++) {
      bool is_dead = tracked_buffer(&pass->tracker, item->used.data[k])->num_unfinished == 0;
      if (is_dead) mark_buffer(pass, item->used.data[k]);
    }
  }
}

static int64_t bytes_of(Pass *pass, InstId id) {
  if (inst_is_unread(pass->tracker.module, id)) return 0;
  if (!standard_may_take(pass->standard, id)) return 0;
  int64_t bytes = standard_bytes_freed(pass, &id, 1);
  return bytes > 0 ? bytes : 0;
}

static void bring_up_to_date(Pass *pass) {
  StandardIndex *index = pass->index;
  for (uint32_t i = 0; i < index->stale.len; i++) {
    RematItem *item = item_get(&pass->list, index->stale.data[i]);
    item->is_stale = false;
    set_bytes(index, item->candidate, bytes_of(pass, index->stale.data[i]));
  }
  index->stale.len = 0;
}

Block standard_index_pick(Pass *pass, Arena *out) {
  StandardIndex *index = pass->index;
  bring_up_to_date(pass);
  Block block = {.items = arena_array(out, InstId, 1)};
  int64_t most = index->most[1];
  if (most == 0) return block;
  int64_t limit = pass->cost_limit_bytes, least_cost = most > limit ? 0 : limit / most;
  block.items[0] = index->placed.data[first_with(index, limit / (least_cost + 1) + 1)];
  block.len = 1;
  block.strategy = STRATEGY_RECOMPUTE;
  return block;
}
