/* XLA's HloRematerialization, decision by decision (xla/hlo/transforms/simplifiers/
 * hlo_rematerialization.cc, recompute mode, kAlwaysRemat).
 *
 * The instructions of a computation are placed one after the other. Where memory passes the limit,
 * of all instructions placed so far (or blocks of consecutive ones) the one is recomputed whose
 * limit / bytes freed is smallest, in integers, the first of equals; its clone goes before the
 * earliest use that is still to come. Computations that an instruction calls follow when that is
 * not enough. Compute time is not looked at, and nothing is undone. O(picks * instructions).
 *
 * Differences, all on the safe side: asynchronous operations are kept (remat/legality.h), and
 * computations below MAX_CALL_DEPTH calls are left alone. */
#include "analysis/remat_memory.h"
#include "remat/algorithm.h"
#include "remat/tracker.h"

enum { MAX_CALL_DEPTH = 200 };

typedef struct Standard {
  RematJob *job;
  Module *module;
  PointsTo points_to;
  ItemTable items;
  CompMemory *memory;   /* by CompId; only peak_bytes is kept up to date */
  bool *is_done;        /* by CompId */
  VEC(uint8_t) verdict; /* by InstId: KeepReason + 1, 0 = not known */
  RematStats *stats;
  Arena *out, *scratch;
} Standard;

/* The state of one computation. */
typedef struct Pass {
  Standard *standard;
  ItemList list;
  Tracker tracker;
  int64_t limit_bytes;
  Arena *arena; /* for this computation */
} Pass;

typedef struct Block {
  InstId *items;
  uint32_t len;
  double effort; /* evaluations that it took to find it */
} Block;

static bool may_recompute(Standard *standard, InstId id) {
  if (id >= standard->verdict.len) {
    uint32_t missing = id + 1 - standard->verdict.len;
    memset(vec_extend(standard->out, &standard->verdict, missing), 0, missing);
  }
  uint8_t *verdict = &standard->verdict.data[id];
  if (*verdict == 0) *verdict = (uint8_t)(recompute_verdict(standard->job->legality, id) + 1);
  return *verdict == KEEP_NONE + 1;
}

static bool is_placed(const Pass *pass, InstId id) {
  return item_get(&pass->list, id)->is_placed;
}

static bool vec_contains(const IdVec *ids, uint32_t id) {
  for (uint32_t i = 0; i < ids->len; i++) {
    if (ids->data[i] == id) return true;
  }
  return false;
}

/* ---- picking ---- */

/* Whether an item can be part of a block: placed, and not the one in progress. */
static bool is_finished(const Pass *pass, InstId id) {
  return id != NO_ID && is_placed(pass, id) && id != pass->tracker.in_progress;
}

static bool may_take(Pass *pass, InstId id) {
  return !item_get(&pass->list, id)->is_denied && may_recompute(pass->standard, id);
}

static bool has_placed_user(const Pass *pass, InstId id) {
  const Instruction *inst = inst_get(pass->tracker.module, id);
  for (uint32_t i = 0; i < inst->users.len; i++) {
    if (is_placed(pass, inst_users(pass->tracker.module, id)[i])) return true;
  }
  return false;
}

static bool has_placed_successor(const Pass *pass, InstId id) {
  const Module *module = pass->tracker.module;
  IdList successors = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < successors.len; i++) {
    if (is_placed(pass, id_list(module, successors)[i])) return true;
  }
  return false;
}

/* -1 when the block cannot be recomputed or that frees nothing. A block that nobody has read yet
 * only moves, at no cost. */
static int64_t recompute_cost(const Pass *pass, const InstId *block, uint32_t len) {
  int64_t reduced = tracker_bytes_reduced(&pass->tracker, block, len);
  if (reduced <= 0) return -1;
  bool is_move = true;
  for (uint32_t i = 0; i < len; i++) {
    if (has_placed_successor(pass, block[i])) return -1;
    is_move &= !has_placed_user(pass, block[i]);
  }
  return is_move ? 0 : pass->limit_bytes / reduced;
}

/* The first `min_size` items from `start` on; fewer where something is not finished. */
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
    if (!may_take(pass, block[i])) return false;
  }
  return true;
}

/* The cheapest block of `min_size` to `max_size` items; len 0 when there is none. */
static Block pick(Pass *pass, uint32_t min_size, uint32_t max_size, Arena *out) {
  Block best = {.items = arena_array(out, InstId, max_size)};
  InstId *block = arena_array(out, InstId, (size_t)max_size + 1);
  int64_t best_cost = INT64_MAX;
  const Module *module = pass->tracker.module;
  for (InstId start = pass->list.first_express; start != NO_ID;
       start = item_get(&pass->list, start)->next_express) {
    if (inst_get(module, start)->users.len == 0 && !inst_is_root(module, start)) continue;
    uint32_t len = initial_block(pass, start, min_size, block);
    if (len < min_size) break; /* XLA's: also those behind the gap are not looked at */
    if (!may_take_all(pass, block, len)) continue;
    while (len <= max_size) {
      int64_t cost = recompute_cost(pass, block, len);
      best.effort++;
      if (cost >= 0 && cost < best_cost) {
        best_cost = cost;
        best.len = len;
        memcpy(best.items, block, len * sizeof *block);
      }
      InstId next = item_get(&pass->list, block[len - 1])->next;
      if (!is_finished(pass, next) || !may_take(pass, next)) break;
      block[len++] = next;
    }
  }
  return best;
}

/* ---- recomputing ---- */

/* What a use reads instead: the clone, an element of it, or a bitcast of either. */
static InstId operand_for_use(Pass *pass, InstId clone, BufferUse use, uint32_t element,
                              InstId *gte, IdVec *helpers) {
  Rewrite *rewrite = pass->standard->job->rewrite;
  const Module *module = rewrite->module;
  ShapeId wanted = inst_get(module, inst_operand(module, use.user, use.operand))->shape;
  InstId operand = clone;
  if (element != NO_ID && inst_get(module, operand)->shape != wanted) {
    if (*gte == NO_ID) {
      *gte = rewrite_add_get_tuple_element(rewrite, clone, element);
      *vec_push(pass->arena, helpers) = *gte;
    }
    operand = *gte;
  }
  if (inst_get(module, operand)->shape != wanted) {
    operand = rewrite_add_bitcast(rewrite, operand, wanted);
    *vec_push(pass->arena, helpers) = operand;
  }
  return operand;
}

/* Redirects every use that is still to come; returns the helpers that this took. */
static IdVec redirect_uses(Pass *pass, InstId original, InstId clone) {
  Rewrite *rewrite = pass->standard->job->rewrite;
  IdVec helpers = {0};
  const IdVec defined = item_get(&pass->list, original)->defined;
  for (uint32_t i = 0; i < defined.len; i++) {
    const TrackedBuffer *buffer = tracked_buffer(&pass->tracker, defined.data[i]);
    InstId gte = NO_ID;
    for (uint32_t k = 0; k < buffer->uses.len; k++) {
      BufferUse use = buffer->uses.data[k];
      if (is_placed(pass, use.user)) continue;
      if (inst_operand(rewrite->module, use.user, use.operand) == clone) continue;
      InstId operand = operand_for_use(pass, clone, use, buffer->element, &gte, &helpers);
      rewrite_set_operand(rewrite, use.user, use.operand, operand);
    }
  }
  for (uint32_t i = 0; i < helpers.len; i++) {
    item_list_create(&pass->list, helpers.data[i]);
    item_get(&pass->list, helpers.data[i])->is_denied = true;
  }
  return helpers;
}

/* The clone goes before its own users, but also before the users of what it reads, so that those
 * operands do not have to live longer, and before its control successors. */
static IdVec places_before(Pass *pass, InstId clone, const IdVec *helpers) {
  const Module *module = pass->tracker.module;
  IdVec places = {0};
  for (uint32_t h = 0; h <= helpers->len; h++) {
    InstId source = h == 0 ? clone : helpers->data[h - 1];
    for (uint32_t i = 0; i < inst_get(module, source)->users.len; i++) {
      InstId user = inst_users(module, source)[i];
      if (!vec_contains(helpers, user)) *vec_push(pass->arena, &places) = user;
    }
  }
  for (uint32_t k = 0; k < inst_get(module, clone)->num_operands; k++) {
    InstId operand = inst_operand(module, clone, k);
    for (uint32_t i = 0; i < inst_get(module, operand)->users.len; i++) {
      InstId user = inst_users(module, operand)[i];
      if (user != clone && !is_placed(pass, user)) *vec_push(pass->arena, &places) = user;
    }
  }
  IdList successors = inst_control(module, clone)->successors;
  for (uint32_t i = 0; i < successors.len; i++) {
    *vec_push(pass->arena, &places) = id_list(module, successors)[i];
  }
  return places;
}

/* Nobody reads it, looking through bitcasts and get-tuple-elements; as in XLA, also through those
 * that a control dependency keeps. */
static bool is_unread(const Module *module, InstId id, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  IdVec work = {0};
  *vec_push(scratch, &work) = id;
  bool is_unread = true;
  while (work.len && is_unread) {
    InstId source = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, source)->users.len; i++) {
      InstId user = inst_users(module, source)[i];
      is_unread &= opcode_is_pass_through((Opcode)inst_get(module, user)->opcode);
      *vec_push(scratch, &work) = user;
    }
  }
  arena_reset(scratch, mark);
  return is_unread;
}

static void recompute(Pass *pass, InstId original) {
  Standard *standard = pass->standard;
  InstId clone = rewrite_clone(standard->job->rewrite, original, standard->scratch);
  module_copy_control(standard->module, original, clone);
  item_list_create(&pass->list, clone);
  IdVec helpers = redirect_uses(pass, original, clone);
  tracker_add_clone(&pass->tracker, original, clone, &helpers);
  IdVec places = places_before(pass, clone, &helpers);
  item_list_insert_before(&pass->list, clone, &places);
  for (uint32_t i = 0; i < helpers.len; i++) {
    item_list_insert_before(&pass->list, helpers.data[i], &places);
  }
  if (is_unread(standard->module, original, standard->scratch)) {
    /* The clone of a clone that was a move, and is one itself: this could go on for ever. */
    RematItem *item = item_get(&pass->list, clone);
    if (item_get(&pass->list, original)->is_move) item->is_denied = true;
    item->is_move = true;
  }
  standard->stats->num_steps++;
}

static void recompute_block(Pass *pass, const Block *block) {
  for (uint32_t i = block->len; i-- > 0;) {
    if (tracker_has_unplaced_uses(&pass->tracker, block->items[i])) {
      recompute(pass, block->items[i]);
    }
  }
}

/* ---- computations ---- */

static int64_t callee_bytes(const Standard *standard, InstId id) {
  return remat_callee_bytes(standard->module, standard->memory, id);
}

/* Recomputes at the instruction in progress until memory is within the limit. */
static void reduce_here(Pass *pass, int64_t called_bytes) {
  const RematOptions *options = pass->standard->job->options;
  uint32_t min_size = 1, max_size = 1;
  double first_effort = 0, second_effort = 0;
  bool is_first_phase = true;
  while (pass->tracker.memory_bytes + called_bytes > pass->limit_bytes) {
    ArenaMark mark = arena_mark(pass->standard->scratch);
    Block block = pick(pass, min_size, max_size, pass->standard->scratch);
    *(is_first_phase ? &first_effort : &second_effort) += block.effort;
    if (block.len == 0) {
      min_size = max_size + 1;
      max_size *= 2;
      is_first_phase = false;
    } else {
      recompute_block(pass, &block);
      min_size = max_size = 1;
    }
    arena_reset(pass->standard->scratch, mark);
    if (max_size > options->block_size_limit ||
        second_effort > options->block_factor * first_effort) {
      break;
    }
  }
}

static void remat_computation(Standard *standard, CompId comp, int64_t limit_bytes, int depth);

/* XLA passes over computations on other threads. */
static bool runs_on_main(const Module *module, InstId caller, CompId callee) {
  Str thread = inst_attr_string(module, caller, ATTR_ASYNC_EXECUTION_THREAD);
  return (thread.len == 0 || str_is(thread, "main")) &&
         str_is(comp_get(module, callee)->thread, "main");
}

/* Gives the computations that an instruction calls what is left of the limit. */
static void reduce_callees(Pass *pass, InstId id, int depth) {
  Standard *standard = pass->standard;
  int64_t left = pass->limit_bytes - pass->tracker.memory_bytes;
  for (uint32_t i = 0; i < inst_get(standard->module, id)->num_callees; i++) {
    CompId callee = inst_callees(standard->module, id)[i];
    if (standard->is_done[callee] || !runs_on_main(standard->module, id, callee)) continue;
    remat_computation(standard, callee, left > 0 ? left : 0, depth + 1);
  }
}

static void promote_large(Pass *pass) {
  int64_t min_bytes = pass->standard->job->options->min_remat_bytes;
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    if (tracker_defined_bytes(&pass->tracker, id) >= min_bytes) item_list_promote(&pass->list, id);
  }
}

static void remat_computation(Standard *standard, CompId comp, int64_t limit_bytes, int depth) {
  if (standard->memory[comp].peak_bytes <= limit_bytes || depth > MAX_CALL_DEPTH) return;
  Module *module = standard->module;
  Pass pass = {.standard = standard,
               .limit_bytes = limit_bytes,
               .arena = arena_new(arena_options(standard->scratch))};
  pass.list =
      item_list_build(&standard->items, standard->job->schedule->of[comp], module->insts.len);
  pass.tracker =
      tracker_build(module, &standard->points_to, &pass.list, comp, pass.arena, standard->scratch);
  promote_large(&pass);
  int64_t peak_bytes = 0;
  for (InstId id = pass.list.first; id != NO_ID; id = item_get(&pass.list, id)->next) {
    bool calls = opcode_is_control_flow((Opcode)inst_get(module, id)->opcode);
    int64_t called_bytes = calls ? callee_bytes(standard, id) : 0;
    tracker_begin(&pass.tracker, id);
    if (tracker_defined_bytes(&pass.tracker, id) + called_bytes > 0) {
      reduce_here(&pass, called_bytes);
    }
    if (calls && pass.tracker.memory_bytes + called_bytes > limit_bytes) {
      reduce_callees(&pass, id, depth);
      called_bytes = callee_bytes(standard, id);
    }
    int64_t bytes = pass.tracker.memory_bytes + called_bytes;
    if (bytes > peak_bytes) peak_bytes = bytes;
    tracker_end(&pass.tracker);
  }
  standard->memory[comp].peak_bytes = peak_bytes;
  standard->job->schedule->of[comp] = item_list_sequence(&pass.list, module, standard->out);
  standard->is_done[comp] = true;
  arena_free(pass.arena);
}

void remat_standard(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  Module *module = job->rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  Standard standard = {.job = job,
                       .module = module,
                       .items = {.arena = arena},
                       .stats = stats,
                       .out = out,
                       .scratch = scratch};
  standard.points_to = points_to_build(module, arena, scratch);
  standard.is_done = arena_zarray(arena, bool, module->comps.len);
  RematMemory memory = remat_memory(module, job->schedule, arena, scratch);
  standard.memory = memory.of;
  /* The pass knows its own memory model only; under another one it gets as much less or more as the
   * two differ to begin with. */
  int64_t model_bytes =
      job->options->memory_model->measure(module, job->schedule, arena, scratch).peak_bytes;
  int64_t limit_bytes =
      job->options->limit_bytes - (model_bytes - memory.peak_bytes) - memory.output_bytes;
  remat_computation(&standard, module->entry, limit_bytes > 0 ? limit_bytes : 0, 0);
  stats->xla_reported_after_bytes = standard.memory[module->entry].peak_bytes + memory.output_bytes;
  arena_free(arena);
}
