/* How XLA's pass chooses what to rematerialize. It considers all instructions placed so far, or
 * blocks of consecutive ones, and takes the one with the smallest cost = limit / bytes freed, in
 * integers. Of equal costs the first one is taken; compressing goes before offloading, offloading
 * before recomputing, and recomputing before narrowing. Compute time is not considered.
 * O(instructions * block size * uses). */
#include <assert.h>

#include "remat/algorithms/standard_index.h"

/* Whether an item can be part of a block: it is placed and not in progress. */
static bool is_finished(const Pass *pass, InstId id) {
  return id != NO_ID && pass_is_placed(pass, id) && id != pass->tracker.in_progress;
}

static bool has_placed_user(const Pass *pass, InstId id) {
  const Instruction *inst = inst_get(pass->tracker.module, id);
  for (uint32_t i = 0; i < inst->users.len; i++) {
    if (pass_is_placed(pass, inst_users(pass->tracker.module, id)[i])) return true;
  }
  return false;
}

static bool has_placed_successor(const Pass *pass, InstId id) {
  const Module *module = pass->tracker.module;
  IdList successors = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < successors.len; i++) {
    if (pass_is_placed(pass, id_list(module, successors)[i])) return true;
  }
  return false;
}

static bool is_in_block(const InstId *block, uint32_t len, InstId id) {
  for (uint32_t i = 0; i < len; i++) {
    if (block[i] == id) return true;
  }
  return false;
}

/* A block whose clones would be placed at the instruction in progress, for place_verdict(). */
typedef struct BlockPlace {
  const Pass *pass;
  const InstId *block;
  uint32_t len;
} BlockPlace;

static bool has_run(const void *context, InstId id) {
  return pass_is_placed(((const BlockPlace *)context)->pass, id);
}

static bool is_cloned(const void *context, InstId operand) {
  const BlockPlace *place = context;
  return is_in_block(place->block, place->len, operand);
}

/* Whether all users of the item's results can be redirected to a clone. */
static bool is_movable(const Pass *pass, InstId id) {
  const IdVec *defined = &item_get(&pass->list, id)->defined;
  for (uint32_t i = 0; i < defined->len; i++) {
    ValueUses uses = uses_of_tracked(tracked_buffer(&pass->tracker, defined->data[i]));
    if (uses_verdict(&uses) != KEEP_NONE) return false;
  }
  return true;
}

int64_t standard_bytes_freed(const Pass *pass, const InstId *block, uint32_t len) {
  int64_t reduced = tracker_bytes_reduced(&pass->tracker, block, len);
  if (reduced <= 0) return -1; /* for most blocks, so it is asked first */
  for (uint32_t i = 0; i < len; i++) {
    if (!is_movable(pass, block[i])) return -1;
  }
  BlockPlace at = {pass, block, len};
  ClonePlace place = {has_run, is_cloned, &at};
  bool is_move = true;
  for (uint32_t i = 0; i < len; i++) {
    if (has_placed_successor(pass, block[i])) return -1;
    if (place_verdict(pass->standard->job->legality, block[i], &place) != KEEP_NONE) return -1;
    is_move &= !has_placed_user(pass, block[i]);
  }
  return is_move ? INT64_MAX : reduced;
}

/* The cost of recomputing a block; -1 if the block cannot be recomputed or if that frees nothing.
 */
static int64_t recompute_cost(const Pass *pass, const InstId *block, uint32_t len) {
  int64_t freed = standard_bytes_freed(pass, block, len);
  if (freed < 0) return -1;
  return freed == INT64_MAX ? 0 : pass->cost_limit_bytes / freed;
}

/* Fills `block` with the first `min_size` items from `start` on; with fewer if an item is not
 * finished. */
static uint32_t initial_block(const Pass *pass, InstId start, uint32_t min_size, InstId *block) {
  uint32_t len = 0;
  for (InstId id = start; len < min_size && is_finished(pass, id);
       id = item_get(&pass->list, id)->next) {
    block[len++] = id;
  }
  return len;
}

static bool may_take_all(Pass *pass, const InstId *block, uint32_t len) {
  for (uint32_t i = 0; i < len; i++) {
    if (!standard_may_take(pass->standard, block[i])) return false;
  }
  return true;
}

/* The best block found so far. */
typedef struct Choice {
  Block block;
  int64_t cost;
  bool may_narrow;
} Choice;

/* Whether a cost is better. Narrowing, which XLA does not do, loses if costs are equal: with a very
 * small limit all costs are 0, and the first candidate frees the least. */
static bool is_better(const Choice *choice, int64_t cost, Strategy strategy) {
  if (cost != choice->cost) return cost < choice->cost;
  return choice->may_narrow && strategy == STRATEGY_RECOMPUTE &&
         choice->block.strategy == STRATEGY_COMPRESS;
}

/* Takes the block if its cost is better. A cost of -1 means that the strategy is not possible. */
static void consider(Choice *choice, int64_t cost, Strategy strategy, const InstId *block,
                     uint32_t len) {
  choice->block.effort++;
  if (cost < 0 || !is_better(choice, cost, strategy)) return;
  choice->cost = cost;
  choice->block.strategy = strategy;
  choice->block.len = len;
  memcpy(choice->block.items, block, len * sizeof *block);
}

static int64_t cost_of_bytes(const Pass *pass, int64_t reduced) {
  return reduced > 0 ? pass->cost_limit_bytes / reduced : -1;
}

static Block pick_among_all(Pass *pass, uint32_t min_size, uint32_t max_size, Arena *out) {
  unsigned modes = pass->standard->job->modes;
  Choice choice = {.block = {.items = arena_array(out, InstId, (size_t)max_size + 1)},
                   .cost = INT64_MAX,
                   .may_narrow = modes & RH_REMAT_NARROW};
  InstId *block = arena_array(out, InstId, (size_t)max_size + 1);
  for (InstId start = pass->list.first_express; start != NO_ID;
       start = item_get(&pass->list, start)->next_express) {
    if (inst_is_unread(pass->tracker.module, start)) continue;
    uint32_t len = initial_block(pass, start, min_size, block);
    if (len < min_size) break; /* as in XLA, items after the gap are not considered either */
    bool may_go = len == 1 && standard_may_compress(pass->standard, start);
    if (modes & (RH_REMAT_COMPRESS | RH_REMAT_NARROW) && may_go) {
      int64_t cost = cost_of_bytes(pass, compress_bytes_reduced(pass, start));
      consider(&choice, cost, STRATEGY_COMPRESS, block, len);
    }
    if (pass->standard->seconds && may_go) {
      int64_t cost = cost_of_bytes(pass, offload_bytes_reduced(pass, start));
      consider(&choice, cost, STRATEGY_OFFLOAD, block, len);
    }
    if (!may_take_all(pass, block, len)) continue;
    while (modes & RH_REMAT_RECOMPUTE && len <= max_size) {
      consider(&choice, recompute_cost(pass, block, len), STRATEGY_RECOMPUTE, block, len);
      InstId next = item_get(&pass->list, block[len - 1])->next;
      if (!is_finished(pass, next) || !standard_may_take(pass->standard, next)) break;
      block[len++] = next;
    }
  }
  return choice.block;
}

/* The first instruction of a block, NO_ID if there is no block. */
static InstId first_of(Block block) {
  return block.len ? block.items[0] : NO_ID;
}

Block standard_pick(Pass *pass, uint32_t min_size, uint32_t max_size, Arena *out) {
  if (!pass->index) return pick_among_all(pass, min_size, max_size, out);
  Block block = standard_index_pick(pass, out);
  InstId picked = first_of(block);
  (void)picked;
  assert(picked == first_of(pick_among_all(pass, 1, 1, out)) && "the index knows all candidates");
  return block;
}
