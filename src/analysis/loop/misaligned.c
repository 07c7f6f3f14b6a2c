#include "analysis/loop/misaligned.h"

/* The verifier executes loops of no more iterations (remat/verify/loop.c). */
enum { MAX_TRIPS = 64 };

/* ---- conditions ---- */

/* Whether copies of all instructions of a computation, and of those that it calls, may run. */
static bool may_repeat(const Module *module, const SideEffects *effects, CompId comp,
                       Arena *scratch) {
  bool *is_visited = arena_zarray(scratch, bool, module->comps.len);
  IdVec work = {0};
  *vec_push(scratch, &work) = comp;
  while (work.len) {
    comp = work.data[--work.len];
    if (is_visited[comp]) continue;
    is_visited[comp] = true;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      const OpcodeInfo *info = opcode_info((Opcode)inst_get(module, id)->opcode);
      if (info->flags & (OPF_COLLECTIVE | OPF_CHANNEL)) return false;
      if (inst_has_side_effect(module, effects, id)) return false;
      for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++)
        *vec_push(scratch, &work) = inst_callees(module, id)[c];
    }
  }
  return true;
}

static bool keeps_shapes(const Module *module, const Loop *loop) {
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    ShapeId shape = inst_shape(module, loop->id)->elements[e];
    if (inst_get(module, inst_operand(module, loop->init, e))->shape != shape) return false;
    if (inst_get(module, inst_operand(module, loop->body_root, e))->shape != shape) return false;
  }
  return true;
}

static bool has_control(const Module *module, const Loop *loop) {
  bool found = inst_has_control(module, loop->id) || inst_has_control(module, loop->init);
  for (uint32_t i = 0; i < comp_num_insts(module, loop->body); i++)
    found |= inst_has_control(module, comp_inst(module, loop->body, i));
  return found;
}

bool loop_may_unroll(const Loops *loops, const SideEffects *effects, uint32_t index,
                     Arena *scratch) {
  const Module *module = loops->module;
  const Loop *loop = &loops->list[index];
  if (loop->trips > MAX_TRIPS || has_control(module, loop) || !keeps_shapes(module, loop))
    return false;
  if (inst_is_compiled_alone(module, effects, loop->id)) return false;
  ArenaMark mark = arena_mark(scratch);
  bool result = may_repeat(module, effects, loop->body, scratch);
  arena_reset(scratch, mark);
  return result;
}

/* ---- which loops ---- */

/* The loop that writes the stack of which `id` is the whole, and which is read otherwise than slice
 * by slice; NO_ID if it is no such stack. */
static uint32_t writer_of(const Stacks *stacks, InstId id) {
  const Instruction *inst = inst_get(stacks->loops->module, id);
  if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) return NO_ID;
  uint32_t loop = stacks->loops->of[inst_operand(stacks->loops->module, id, 0)];
  if (loop == NO_ID) return NO_ID;
  for (uint32_t i = stacks->first_of[loop]; i < stacks->first_of[loop + 1]; i++) {
    const Stack *stack = &stacks->list.data[i];
    if (stack->element == inst->index && stack->is_read_whole) return loop;
  }
  return NO_ID;
}

/* The loops whose stacks an array is put together of. `visit` is another number in each call. */
static void find_writers(const Stacks *stacks, InstId array, uint32_t visit, uint32_t *visited,
                         bool *is_writer, Arena *scratch) {
  const Module *module = stacks->loops->module;
  ArenaMark mark = arena_mark(scratch);
  IdVec work = {0};
  *vec_push(scratch, &work) = array;
  while (work.len) {
    InstId id = work.data[--work.len];
    if (visited[id] == visit) continue;
    visited[id] = visit;
    uint32_t writer = writer_of(stacks, id);
    if (writer != NO_ID) is_writer[writer] = true;
    const Instruction *inst = inst_get(module, id);
    switch (inst->opcode) {
      case OPCODE_FUSION:
        *vec_push(scratch, &work) = comp_get(module, inst_callees(module, id)[0])->root;
        break;
      case OPCODE_PARAMETER: {
        InstId caller = only_caller_of(stacks->loops->graph, inst->parent);
        if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_FUSION) break;
        *vec_push(scratch, &work) = inst_operand(module, caller, (uint32_t)inst->index);
        break;
      }
      case OPCODE_COPY:
        if (inst_is_converting_copy(module, id)) break;
        *vec_push(scratch, &work) = inst_operand(module, id, 0);
        break;
      case OPCODE_BITCAST:
      case OPCODE_CONCATENATE:
      case OPCODE_RESHAPE:
      case OPCODE_SLICE:
        for (uint32_t i = 0; i < inst->num_operands; i++)
          *vec_push(scratch, &work) = inst_operand(module, id, i);
        break;
      default: break;
    }
  }
  arena_reset(scratch, mark);
}

static int64_t written_out(const Loops *loops, uint32_t loop) {
  return loops->list[loop].trips * comp_num_insts(loops->module, loops->list[loop].body);
}

IdVec loops_misaligned(const Stacks *stacks, const SideEffects *effects, int64_t max_insts,
                       Arena *out, Arena *scratch) {
  const Loops *loops = stacks->loops;
  IdVec found = {0};
  bool *is_found = arena_zarray(scratch, bool, loops->len);
  bool *is_writer = arena_array(scratch, bool, loops->len);
  uint32_t *visited = arena_zarray(scratch, uint32_t, loops->module->insts.len), visit = 0;
  int64_t num_insts = 0;
  for (uint32_t reader = 0; reader < loops->len; reader++) {
    const Loop *loop = &loops->list[reader];
    memset(is_writer, false, loops->len * sizeof *is_writer);
    for (uint32_t e = 0; e < loop->num_elements; e++) {
      Origin origin = loop_origin(loops, loop_init(loops, loop, e));
      if (loop->is_invariant[e] && origin.loop == NO_ID)
        find_writers(stacks, origin.inst, ++visit, visited, is_writer, scratch);
    }
    for (uint32_t writer = 0; writer < loops->len; writer++) {
      if (!is_writer[writer] || loops->list[writer].parent != loop->parent) continue;
      int64_t more = (is_found[reader] ? 0 : written_out(loops, reader)) +
                     (is_found[writer] ? 0 : written_out(loops, writer));
      bool fits = num_insts + more <= max_insts &&
                  loop_may_unroll(loops, effects, reader, scratch) &&
                  loop_may_unroll(loops, effects, writer, scratch);
      if (!fits) continue;
      num_insts += more;
      is_found[reader] = is_found[writer] = true;
    }
  }
  for (uint32_t i = 0; i < loops->len; i++) {
    if (is_found[i]) *vec_push(out, &found) = i;
  }
  return found;
}
