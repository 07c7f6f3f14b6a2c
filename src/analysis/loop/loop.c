#include "analysis/loop/loop.h"

#include "analysis/cost/cost.h"
#include "analysis/loop/count.h"

enum { MAX_STEPS = 256 };

InstId copied_operand(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_COPY:
      return inst_is_converting_copy(module, id) ? NO_ID : inst_operand(module, id, 0);
    case OPCODE_COPY_DONE: {
      InstId start = inst_operand(module, id, 0);
      if (inst_get(module, start)->opcode != OPCODE_COPY_START) return NO_ID;
      return inst_operand(module, start, 0);
    }
    default: return NO_ID;
  }
}

bool loops_change_element(const Loops *loops, InstId tuple, uint32_t element) {
  const Module *module = loops->module;
  if (shape_is_effective_scalar(inst_shape(module, inst_operand(module, tuple, element))))
    return true;
  for (uint32_t i = 0; i < inst_get(module, tuple)->users.len; i++) {
    uint32_t loop = loops->of[inst_users(module, tuple)[i]];
    if (loop == NO_ID || !loops->list[loop].is_invariant[element]) return true;
  }
  return false;
}

/* ---- form ---- */

static bool is_read_by_element(const Module *module, InstId id) {
  if (inst_is_root(module, id)) return false;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    if (inst_get(module, inst_users(module, id)[i])->opcode != OPCODE_GET_TUPLE_ELEMENT)
      return false;
  }
  return true;
}

/* Whether the body hands the element on, possibly through copies. */
static bool is_handed_on(const Loops *loops, const Loop *loop, uint32_t element) {
  const Module *module = loops->module;
  InstId id = loop_next(loops, loop, element);
  for (InstId from; (from = copied_operand(module, id)) != NO_ID;)
    id = from;
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_GET_TUPLE_ELEMENT && inst->index == element &&
         inst_operand(module, id, 0) == loop->body_param;
}

static bool has_form(const Module *module, InstId id, Loop *loop) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_WHILE || inst->num_callees != 2 || inst->num_operands != 1)
    return false;
  *loop = (Loop){.id = id,
                 .parent = inst->parent,
                 .body = inst_callees(module, id)[0],
                 .condition = inst_callees(module, id)[1],
                 .init = inst_operand(module, id, 0)};
  const Computation *body = comp_get(module, loop->body);
  const Computation *condition = comp_get(module, loop->condition);
  if (loop->body == loop->condition || body->params.len != 1 || condition->params.len != 1)
    return false;
  loop->body_param = id_list(module, body->params)[0];
  loop->condition_param = id_list(module, condition->params)[0];
  loop->body_root = body->root;
  loop->num_elements = inst_shape(module, id)->rank;
  return shape_is_tuple(inst_shape(module, id)) &&
         inst_get(module, loop->init)->opcode == OPCODE_TUPLE &&
         inst_get(module, loop->body_root)->opcode == OPCODE_TUPLE &&
         inst_get(module, loop->body_root)->users.len == 0 &&
         is_read_by_element(module, loop->body_param) &&
         is_read_by_element(module, loop->condition_param) && is_read_by_element(module, id);
}

/* ---- finding ---- */

static void add_loop(Loops *loops, CountLists *lists, Loop *loop, Arena *out, Arena *scratch) {
  loop->is_invariant = arena_zarray(out, bool, loop->num_elements);
  loop->counts = arena_zarray(out, const int64_t *, loop->num_elements);
  for (uint32_t i = 0; i < loop->num_elements; i++)
    loop->is_invariant[i] = is_handed_on(loops, loop, i);
  loops->of[loop->id] = loops->len;
  loops->list[loops->len++] = *loop;
  loop_count(lists, &loops->list[loops->len - 1], out, scratch);
}

Loops loops_find(const Module *module, const CallGraph *graph, Arena *out, Arena *scratch) {
  uint32_t num_loops = 0;
  for (InstId id = 0; id < module->insts.len; id++)
    num_loops += inst_get(module, id)->opcode == OPCODE_WHILE;
  Loops loops = {.module = module,
                 .list = arena_array(out, Loop, num_loops),
                 .of = arena_array(out, uint32_t, module->insts.len),
                 .graph = graph};
  if (module->insts.len) memset(loops.of, 0xff, module->insts.len * sizeof *loops.of);
  if (num_loops == 0) return loops;
  Arena *arena = arena_new(arena_options(scratch));
  CountLists lists = count_lists_begin(&loops, arena);
  for (uint32_t c = 0; c < graph->num_reachable; c++) {
    CompId comp = graph->post_order[c];
    if (!comp_is_sequential(graph, comp)) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      Loop loop;
      if (inst_get(module, id)->opcode != OPCODE_WHILE || !has_form(module, id, &loop)) continue;
      if (only_caller_of(graph, loop.body) != id || only_caller_of(graph, loop.condition) != id)
        continue;
      loop.trips = while_trip_count(module, id);
      if (loop.trips < 1 || loop.trips > MAX_LISTED_TRIPS) continue;
      add_loop(&loops, &lists, &loop, out, scratch);
    }
  }
  arena_free(arena);
  return loops;
}

/* ---- origin ---- */

Origin loop_origin(const Loops *loops, InstId id) {
  const Module *module = loops->module;
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    const Instruction *inst = inst_get(module, id);
    InstId from = copied_operand(module, id);
    if (from != NO_ID) {
      id = from;
      continue;
    }
    if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) break;
    InstId tuple = inst_operand(module, id, 0);
    if (inst_get(module, tuple)->opcode == OPCODE_OPT_BARRIER)
      tuple = inst_operand(module, tuple, 0);
    uint32_t element = (uint32_t)inst->index;
    if (inst_get(module, tuple)->opcode == OPCODE_TUPLE) {
      id = inst_operand(module, tuple, element);
      continue;
    }
    uint32_t index = loops->of[tuple];
    if (index == NO_ID) break;
    const Loop *loop = &loops->list[index];
    if (!loop->is_invariant[element]) return (Origin){tuple, index, element};
    id = loop_init(loops, loop, element);
  }
  return (Origin){id, NO_ID, 0};
}

uint32_t loop_find_invariant(const Loops *loops, const Loop *loop, Origin origin) {
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    if (loop->is_invariant[e] &&
        loop_same_origin(loop_origin(loops, loop_init(loops, loop, e)), origin))
      return e;
  }
  return NO_ID;
}
