#include "remat/legality/needed.h"

#include "analysis/flow/traverse.h"
#include "analysis/loop/misaligned.h"

typedef struct Item {
  InstId inst;
  uint32_t element; /* NO_ID = the instruction itself: its operands */
} Item;

typedef struct Finder {
  Needed *needed;
  const Module *module;
  const CallGraph *graph;
  const SideEffects *effects;
  Loops loops;
  uint32_t *loop_of; /* by CompId: the loop whose body or condition it is; NO_ID = none */
  bool *is_entered;  /* by CompId */
  bool *is_begun;    /* by InstId: its operands are, or will be, needed */
  bool *is_whole;    /* by InstId: all elements are needed */
  VEC(Item) work;
  Arena *scratch;
} Finder;

/* ---- what other loops can compute for themselves ---- */

/* Whether an instruction gives its operand's values, or a part of them, in another order or under
 * another shape: a slice can be taken before that (remat/scan/layouts.h). */
static bool only_copies(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_COPY: return !inst_is_converting_copy(module, id);
    case OPCODE_BITCAST:
    case OPCODE_COPY_DONE:
    case OPCODE_COPY_START:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_RESHAPE:
    case OPCODE_TRANSPOSE: return true;
    default: return false;
  }
}

/* Whether an instruction, or a fusion apart from indices, only copies. */
static bool is_copy(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION) return only_copies(module, id);
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, inner)->opcode;
    bool is_index = shape_is_effective_scalar(inst_shape(module, inner));
    if (!is_index && opcode != OPCODE_PARAMETER && opcode != OPCODE_TUPLE &&
        !only_copies(module, inner))
      return false;
  }
  return true;
}

static void replace(Finder *finder, InstId id, IdVec *work) {
  if (finder->needed->is_replaceable[id]) return;
  finder->needed->is_replaceable[id] = true;
  *vec_push(finder->scratch, work) = id;
}

static void replace_elements(Finder *finder, InstId tuple, uint32_t element, IdVec *work) {
  const Module *module = finder->module;
  for (uint32_t i = 0; i < inst_get(module, tuple)->users.len; i++) {
    const InstId user = inst_users(module, tuple)[i];
    const Instruction *inst = inst_get(module, user);
    if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && inst->index == element)
      replace(finder, user, work);
  }
}

/* A slice is an element of a tuple: it is one in barriers and loops that hand the element on, too.
 */
static void replace_in_tuple(Finder *finder, InstId tuple, uint32_t element, IdVec *work) {
  const Module *module = finder->module;
  replace_elements(finder, tuple, element, work);
  for (uint32_t i = 0; i < inst_get(module, tuple)->users.len; i++) {
    InstId user = inst_users(module, tuple)[i];
    uint32_t index = finder->loops.of[user];
    if (inst_get(module, user)->opcode == OPCODE_OPT_BARRIER)
      replace_elements(finder, user, element, work);
    if (index == NO_ID || !finder->loops.list[index].is_invariant[element]) continue;
    replace_elements(finder, user, element, work);
    replace_elements(finder, finder->loops.list[index].body_param, element, work);
  }
}

/* Marks the operand of a fusion that is a stack of which it only writes a slice: the fusion can do
 * what else it does without the stack. */
static void mark_write(Needed *needed, const StackWrite *write) {
  const Module *module = needed->module;
  if (inst_get(module, write->inst)->opcode != OPCODE_FUSION) return;
  for (uint32_t i = 0; i < inst_get(module, write->update)->users.len; i++) {
    InstId user = inst_users(module, write->update)[i];
    if (inst_get(module, user)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) continue;
    InstId array = inst_without_bitcasts(module, inst_operand(module, user, 0));
    bool is_stack = inst_get(module, array)->opcode == OPCODE_PARAMETER &&
                    inst_operand(module, user, 1) == write->update;
    if (is_stack)
      needed->is_stack[needed->first_operand[write->inst] + inst_get(module, array)->index] = true;
  }
}

/* Marks the reads of stacks, and whatever copies a slice: an inner loop's stack that an outer loop
 * stacks in turn is itself read slice by slice. */
static void find_replaceable(Finder *finder, const Stacks *stacks) {
  const Module *module = finder->module;
  Needed *needed = finder->needed;
  IdVec work = {0};
  for (uint32_t i = 0; i < stacks->list.len; i++) {
    const Stack *stack = &stacks->list.data[i];
    for (uint32_t w = 0; stack->reads.len && w < stack->writes.len; w++)
      mark_write(needed, &stack->writes.data[w]);
  }
  for (uint32_t i = 0; i < stacks->reads.len; i++) {
    const StackRead *read = &stacks->reads.data[i];
    needed->is_stack[needed->first_operand[read->inst] + read->operand] = true;
    if (is_copy(module, read->inst)) replace(finder, read->inst, &work);
  }
  while (work.len) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_tuple = inst_get(module, user)->opcode == OPCODE_TUPLE;
      for (uint32_t k = 0; is_tuple && k < inst_get(module, user)->num_operands; k++) {
        if (inst_operand(module, user, k) == id) replace_in_tuple(finder, user, k, &work);
      }
      bool takes_part = inst_get(module, user)->opcode == OPCODE_GET_TUPLE_ELEMENT;
      if (takes_part || (!is_tuple && is_copy(module, user))) replace(finder, user, &work);
    }
  }
}

/* Marks what loops change; a loop of which nothing is known may change everything. */
static void find_changed(Finder *finder) {
  const Module *module = finder->module;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode != OPCODE_WHILE) continue;
    InstId init = inst_operand(module, id, 0);
    uint32_t loop = finder->loops.of[id], first = finder->needed->first_element[init];
    for (uint32_t e = 0; e < finder->needed->first_element[init + 1] - first; e++) {
      bool is_kept = loop != NO_ID && finder->loops.list[loop].is_invariant[e];
      finder->needed->is_changed[first + e] |= !is_kept;
    }
  }
}

/* Marks slices of what loops hand on, and copies of them. */
static void find_slices(Finder *finder) {
  const Module *module = finder->module;
  IdVec work = {0};
  for (uint32_t i = 0; i < finder->loops.len; i++) {
    const Loop *loop = &finder->loops.list[i];
    for (uint32_t k = 0; k < inst_get(module, loop->body_param)->users.len; k++) {
      InstId gte = inst_users(module, loop->body_param)[k];
      if (loop->is_invariant[inst_get(module, gte)->index]) *vec_push(finder->scratch, &work) = gte;
    }
  }
  while (work.len) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_tuple = shape_is_tuple(inst_shape(module, user));
      if (is_tuple || !is_copy(module, user) || finder->needed->is_slice[user]) continue;
      finder->needed->is_slice[user] = true;
      *vec_push(finder->scratch, &work) = user;
    }
  }
}

/* Whether an instruction is computed from constants only, given which operands are. */
static bool is_from_constants(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  const bool *is_constant = finder->needed->is_constant;
  const Instruction *inst = inst_get(module, id);
  uint32_t loop = finder->loop_of[inst->parent];
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId tuple = inst_operand(module, id, 0);
    uint32_t of_state = finder->loops.of[tuple];
    bool is_param = loop != NO_ID && inst_get(module, tuple)->opcode == OPCODE_PARAMETER;
    if (is_param) of_state = loop;
    if (of_state != NO_ID) {
      const Loop *known = &finder->loops.list[of_state];
      uint32_t element = (uint32_t)inst->index;
      return known->is_invariant[element] && is_constant[loop_init(&finder->loops, known, element)];
    }
    if (inst_get(module, tuple)->opcode == OPCODE_TUPLE)
      return is_constant[inst_operand(module, tuple, (uint32_t)inst->index)];
  }
  if (inst->opcode == OPCODE_PARAMETER || inst->opcode == OPCODE_CUSTOM_CALL ||
      finder->loops.of[id] != NO_ID || inst_has_side_effect(module, finder->effects, id))
    return false;
  bool all = true;
  for (uint32_t i = 0; i < inst->num_operands; i++)
    all &= is_constant[inst_operand(module, id, i)];
  return all;
}

static void find_constants(Finder *finder) {
  const Module *module = finder->module;
  Needed *needed = finder->needed;
  uint32_t *visited = arena_array(finder->scratch, uint32_t, module->insts.len);
  for (uint32_t c = finder->graph->num_reachable; c-- > 0;) { /* callers first */
    CompId comp = finder->graph->post_order[c];
    if (!comp_is_sequential(finder->graph, comp)) continue;
    Sequence order = inst_post_order(module, comp, visited, finder->scratch, finder->scratch);
    for (uint32_t i = 0; i < order.len; i++) {
      InstId id = order.ids[i];
      needed->is_constant[id] = is_from_constants(finder, id);
      needed->is_replaceable[id] |= needed->is_constant[id];
    }
  }
}

/* ---- what is needed ---- */

static uint32_t num_elements(const Needed *needed, InstId id) {
  return needed->first_element[id + 1] - needed->first_element[id];
}

static void need_element(Finder *finder, InstId id, uint32_t element) {
  Needed *needed = finder->needed;
  bool *flag = &needed->of_element[needed->first_element[id] + element];
  needed->of_inst[id] = true;
  if (*flag) return;
  *flag = true;
  *vec_push(finder->scratch, &finder->work) = (Item){id, element};
}

static void need_operands(Finder *finder, InstId id) {
  if (finder->is_begun[id]) return;
  finder->needed->of_inst[id] = finder->is_begun[id] = true;
  *vec_push(finder->scratch, &finder->work) = (Item){id, NO_ID};
}

/* Of what is computed from constants, only the constants themselves stay for certain. */
static void need_constants(Finder *finder, InstId id) {
  if (finder->is_begun[id]) return;
  finder->is_begun[id] = true;
  bool is_leaf = inst_get(finder->module, id)->opcode == OPCODE_CONSTANT;
  finder->needed->of_inst[id] |= is_leaf;
  if (!is_leaf) *vec_push(finder->scratch, &finder->work) = (Item){id, NO_ID};
}

static void need(Finder *finder, InstId id) {
  uint32_t count = num_elements(finder->needed, id);
  if (finder->needed->is_constant[id]) {
    need_constants(finder, id);
    return;
  }
  if (finder->needed->is_replaceable[id] || finder->is_whole[id]) return;
  finder->is_whole[id] = true;
  for (uint32_t e = 0; e < count; e++)
    need_element(finder, id, e);
  if (count == 0) need_operands(finder, id);
}

/* The side effects of a computation that runs. */
static void need_effects(Finder *finder, CompId comp);

/* A loop that runs: its state is needed element by element. */
static void enter_loop(Finder *finder, uint32_t index) {
  const Loop *loop = &finder->loops.list[index];
  if (finder->is_entered[loop->body]) return;
  finder->is_entered[loop->body] = finder->is_entered[loop->condition] = true;
  bool *of_inst = finder->needed->of_inst;
  of_inst[loop->id] = of_inst[loop->init] = of_inst[loop->body_root] = true;
  need(finder, comp_get(finder->module, loop->condition)->root);
  need_effects(finder, loop->body);
  need_effects(finder, loop->condition);
}

static void enter(Finder *finder, CompId comp) {
  if (finder->is_entered[comp] || !comp_is_sequential(finder->graph, comp)) return;
  finder->is_entered[comp] = true;
  need(finder, comp_get(finder->module, comp)->root);
  need_effects(finder, comp);
}

static void need_effects(Finder *finder, CompId comp) {
  const Module *module = finder->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (!inst_has_side_effect(module, finder->effects, id)) continue;
    if (finder->loops.of[id] == NO_ID) {
      need(finder, id);
    } else {
      need_operands(finder, id);
    }
  }
}

static void follow_element(Finder *finder, InstId id, uint32_t element) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t loop = finder->loops.of[id];
  uint32_t of_body = finder->loop_of[inst->parent];
  if (inst->opcode == OPCODE_TUPLE) {
    need(finder, inst_operand(module, id, element));
  } else if (loop != NO_ID) {
    enter_loop(finder, loop);
    need_element(finder, finder->loops.list[loop].init, element);
    need_element(finder, finder->loops.list[loop].body_root, element);
  } else if (inst->opcode == OPCODE_PARAMETER && of_body != NO_ID) {
    need_element(finder, finder->loops.list[of_body].id, element);
  } else if (inst->opcode == OPCODE_OPT_BARRIER) {
    need_element(finder, inst_operand(module, id, 0), element);
  } else {
    need_operands(finder, id);
  }
}

/* The value of which a get-tuple-element that is from constants takes an element. */
static InstId constant_element(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  InstId tuple = inst_operand(module, id, 0);
  uint32_t element = (uint32_t)inst_get(module, id)->index;
  uint32_t loop = finder->loops.of[tuple];
  if (inst_get(module, tuple)->opcode == OPCODE_PARAMETER)
    loop = finder->loop_of[inst_get(module, id)->parent];
  if (loop != NO_ID) return loop_init(&finder->loops, &finder->loops.list[loop], element);
  bool is_tuple = inst_get(module, tuple)->opcode == OPCODE_TUPLE;
  return is_tuple ? inst_operand(module, tuple, element) : tuple;
}

static void follow_operands(Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  const Needed *needed = finder->needed;
  if (finder->loops.of[id] != NO_ID) {
    enter_loop(finder, finder->loops.of[id]);
    return;
  }
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && needed->is_constant[id]) {
    need(finder, constant_element(finder, id));
    return;
  }
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId tuple = inst_operand(module, id, 0);
    if (!needed->is_replaceable[tuple]) need_element(finder, tuple, (uint32_t)inst->index);
    return;
  }
  for (uint32_t k = 0; k < inst->num_operands; k++) {
    if (!needed->is_stack[needed->first_operand[id] + k]) need(finder, inst_operand(module, id, k));
  }
  for (uint32_t c = 0; c < inst->num_callees; c++)
    enter(finder, inst_callees(module, id)[c]);
}

static void find_needed(Finder *finder) {
  enter(finder, finder->module->entry);
  while (finder->work.len) {
    Item item = finder->work.data[--finder->work.len];
    if (item.element == NO_ID) {
      follow_operands(finder, item.inst);
    } else {
      follow_element(finder, item.inst, item.element);
    }
  }
}

static void number_operands(Needed *needed, Arena *out) {
  const Module *module = needed->module;
  uint32_t num_insts = module->insts.len, num_parts = 0, num_operands = 0;
  needed->first_element = arena_array(out, uint32_t, (size_t)num_insts + 1);
  needed->first_operand = arena_array(out, uint32_t, (size_t)num_insts + 1);
  for (InstId id = 0; id < num_insts; id++) {
    const Shape *shape = inst_shape(module, id);
    needed->first_element[id] = num_parts;
    needed->first_operand[id] = num_operands;
    if (shape_is_tuple(shape)) num_parts += shape->rank;
    num_operands += inst_get(module, id)->num_operands;
  }
  needed->first_element[num_insts] = num_parts;
  needed->first_operand[num_insts] = num_operands;
  needed->of_inst = arena_zarray(out, bool, num_insts);
  needed->is_replaceable = arena_zarray(out, bool, num_insts);
  needed->is_constant = arena_zarray(out, bool, num_insts);
  needed->is_slice = arena_zarray(out, bool, num_insts);
  needed->of_element = arena_zarray(out, bool, num_parts);
  needed->is_changed = arena_zarray(out, bool, num_parts);
  needed->is_stack = arena_zarray(out, bool, num_operands);
}

Needed needed_find(const Module *module, const CallGraph *graph, const SideEffects *effects,
                   Arena *out, Arena *scratch) {
  Needed needed = {.module = module};
  Arena *arena = arena_new(arena_options(scratch));
  Finder finder = {.needed = &needed,
                   .module = module,
                   .graph = graph,
                   .effects = effects,
                   .loops = loops_find(module, graph, arena, scratch),
                   .scratch = arena};
  if (finder.loops.len > 1) {
    Stacks stacks = stacks_find(&finder.loops, arena, scratch);
    needed.covers_loops = stacks.reads.len > 0;
    needed.unrolls = loops_misaligned(&stacks, effects, INT64_MAX, arena, arena).len > 0;
    if (needed.covers_loops) {
      uint32_t num_insts = module->insts.len, num_comps = module->comps.len;
      number_operands(&needed, out);
      finder.loop_of = arena_array(arena, uint32_t, num_comps);
      memset(finder.loop_of, 0xff, num_comps * sizeof *finder.loop_of);
      for (uint32_t i = 0; i < finder.loops.len; i++) {
        const Loop *loop = &finder.loops.list[i];
        finder.loop_of[loop->body] = finder.loop_of[loop->condition] = i;
      }
      finder.is_entered = arena_zarray(arena, bool, num_comps);
      finder.is_begun = arena_zarray(arena, bool, num_insts);
      finder.is_whole = arena_zarray(arena, bool, num_insts);
      find_changed(&finder);
      find_replaceable(&finder, &stacks);
      find_constants(&finder);
      find_slices(&finder);
      find_needed(&finder);
    }
  }
  arena_free(arena);
  return needed;
}

/* ---- questions ---- */

bool needed_part(const Needed *needed, InstId id, uint32_t part) {
  const Shape *shape = inst_shape(needed->module, id);
  if (!needed->covers_loops || part == 0 || !shape_is_tuple(shape)) return true;
  return needed->of_element[needed->first_element[id] + shape_element_of_part(shape, part)];
}

/* Whether a value must be in memory as an element of a tuple: what a loop changes begins in memory
 * of its own, even if it begins as a constant. */
static bool is_element_held(const Needed *needed, InstId tuple, uint32_t element) {
  uint32_t index = needed->first_element[tuple] + element;
  InstId operand = inst_operand(needed->module, tuple, element);
  if (!needed->of_element[index]) return false;
  return !needed->is_replaceable[operand] ||
         (needed->is_constant[operand] && needed->is_changed[index]);
}

bool needed_reads(const Needed *needed, InstId operand, uint32_t part, InstId user) {
  const Module *module = needed->module;
  if (!needed->covers_loops) return true;
  if (inst_get(module, operand)->opcode == OPCODE_TUPLE && part > 0) {
    uint32_t element = shape_element_of_part(inst_shape(module, operand), part);
    if (!is_element_held(needed, operand, element)) return false;
  }
  if (inst_get(module, user)->opcode == OPCODE_FUSION && needed->is_slice[operand]) return false;
  bool is_tuple = inst_get(module, user)->opcode == OPCODE_TUPLE;
  for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
    if (inst_operand(module, user, k) != operand) continue;
    if (is_tuple ? is_element_held(needed, user, k)
                 : !needed->is_stack[needed->first_operand[user] + k] &&
                       !needed->is_replaceable[operand])
      return needed_part(needed, operand, part);
  }
  return false;
}
