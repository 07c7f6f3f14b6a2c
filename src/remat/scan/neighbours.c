#include "remat/scan/neighbours.h"

#include "analysis/flow/alias.h"
#include "analysis/loop/count.h"

/* ---- what depends on what ---- */

typedef struct Walk {
  const Module *module;
  const Loop *loop;
  bool *is_met;      /* by element of the state */
  uint8_t *is_known; /* by InstId */
  IdVec work;
  Arena *arena;
} Walk;

static void add(Walk *walk, InstId id) {
  if (walk->is_known[id]) return;
  walk->is_known[id] = 1;
  *vec_push(walk->arena, &walk->work) = id;
}

/* Adds what the instruction reads, and what the iteration before made of the state. */
static void add_operands(Walk *walk, const Loops *loops, InstId id) {
  const Instruction *inst = inst_get(walk->module, id);
  bool is_state = inst->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                  inst_operand(walk->module, id, 0) == walk->loop->body_param;
  if (is_state) {
    uint32_t element = (uint32_t)inst->index;
    walk->is_met[element] = true;
    if (!walk->loop->is_invariant[element]) add(walk, loop_next(loops, walk->loop, element));
    return;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++)
    add(walk, inst_operand(walk->module, id, i));
}

bool neighbours_feed_back(const Loops *loops, const Loop *loop, uint32_t element, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Walk walk = {.module = loops->module,
               .loop = loop,
               .is_met = arena_zarray(arena, bool, loop->num_elements),
               .is_known = arena_zarray(arena, uint8_t, loops->module->insts.len),
               .arena = arena};
  add(&walk, loop_next(loops, loop, element));
  while (walk.work.len && !walk.is_met[element])
    add_operands(&walk, loops, walk.work.data[--walk.work.len]);
  bool feeds_back = walk.is_met[element];
  arena_free(arena);
  return feeds_back;
}

/* ---- stacks ---- */

static bool is_overwritten_by(const Module *module, InstId user, InstId value, Arena *scratch) {
  InPlacePairs pairs = {0};
  in_place_pairs(module, user, &pairs, scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    if (inst_operand(module, user, pairs.list.data[i].operand) == value) return true;
  }
  return false;
}

/* What only reads its operands, unless it is said to overwrite one. */
static bool only_reads(Opcode opcode) {
  switch (opcode) {
    case OPCODE_BROADCAST:
    case OPCODE_COPY:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_DOT:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_FUSION:
    case OPCODE_REDUCE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE: return true;
    default: return opcode_has(opcode, OPF_ELEMENTWISE);
  }
}

/* Whether nothing overwrites a value, nor hands on its memory, but the computation's result. */
static bool stays(const Module *module, InstId value, Arena *scratch) {
  for (uint32_t i = 0; i < inst_get(module, value)->users.len; i++) {
    InstId user = inst_users(module, value)[i];
    Opcode opcode = (Opcode)inst_get(module, user)->opcode;
    if (opcode == OPCODE_TUPLE && inst_is_root(module, user)) continue;
    if (!only_reads(opcode) || is_overwritten_by(module, user, value, scratch)) return false;
  }
  return true;
}

static bool is_linear(const Loops *loops, const Stack *stack) {
  int64_t first, step;
  return count_is_linear(stack->writes.data[0].slices, loops->list[stack->loop].trips, &first,
                         &step);
}

/* Whether each slice is one piece of memory. An array that is written across its tiles or rows, so
 * that what reads it as a whole is fast, would be slow to read slice by slice. */
static bool has_whole_slices(const Module *module, const Stack *stack) {
  uint32_t outer;
  return shape_outer_dim(shape_get(&module->shapes, stack->shape), &outer) && outer == stack->dim;
}

bool neighbours_may_read(const Stacks *stacks, const Stack *stack, Arena *scratch) {
  const Module *module = stacks->loops->module;
  InstId loop = stacks->loops->list[stack->loop].id;
  if (!has_whole_slices(module, stack) || stack->reads.len || stack->writes.len != 1 ||
      !is_linear(stacks->loops, stack))
    return false;
  for (uint32_t i = 0; i < inst_get(module, loop)->users.len; i++) {
    InstId element = inst_users(module, loop)[i];
    const Instruction *inst = inst_get(module, element);
    if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) return false;
    if (inst->index == stack->element && !stays(module, element, scratch)) return false;
  }
  return true;
}

/* ---- links ---- */

/* Whether another value is read from this one's stack, so that it has to be stored itself. */
static bool is_neighbour(const ScanValues *values, uint32_t index) {
  bool found = false;
  for (uint32_t i = 0; i < values->list.len; i++)
    found |= values->list.data[i].neighbour == index;
  return found;
}

/* Whether a value can do without a stack if its neighbour is stored. */
static bool may_be_shifted(const ScanValues *values, uint32_t index, uint32_t neighbour) {
  uint32_t stack = values->list.data[neighbour].stack;
  if (stack == NO_ID || values->list.data[index].must_store || is_neighbour(values, index))
    return false;
  return is_linear(values->stacks->loops, &values->stacks->list.data[stack]);
}

/* Whether one value of an iteration is computed from another one. */
static bool needs(const ScanValues *values, uint32_t value, uint32_t wanted, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_met = arena_zarray(arena, bool, values->list.len);
  IdVec work = {0};
  *vec_push(arena, &work) = value;
  while (work.len && !is_met[wanted]) {
    const ScanValue *next = &values->list.data[work.data[--work.len]];
    for (uint32_t i = 0; i < next->operands.len; i++) {
      uint32_t operand = next->operands.data[i];
      if (operand == NO_ID || is_met[operand]) continue;
      is_met[operand] = true;
      *vec_push(arena, &work) = operand;
    }
  }
  bool found = is_met[wanted];
  arena_free(arena);
  return found;
}

void neighbours_link(ScanValues *values, uint32_t before, uint32_t after, Arena *scratch) {
  ScanValue *first = &values->list.data[before], *next = &values->list.data[after];
  if (before == after || first->shape != next->shape) return;
  /* XLA:TPU ends the process at a fusion that compares a counter for what it reads (windowing_util,
   * "iteration_bounds.size() == rank"). */
  if (values->stacks->loops->module->backend.target->has_windows) return;
  if (first->neighbour != NO_ID || next->neighbour != NO_ID) return;
  /* Otherwise, what is handed on might be computed from less than has to be stored now. */
  if (!first->is_read && !needs(values, after, before, scratch)) return;
  /* Beside the stack of what is handed on, only the first value of the state is needed, which is
   * often a constant. */
  if (may_be_shifted(values, before, after)) {
    first->neighbour = after;
    first->shift = -1;
  } else if (may_be_shifted(values, after, before)) {
    next->neighbour = before;
    next->shift = 1;
  }
}
