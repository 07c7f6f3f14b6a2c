#include "advice/framework.h"
#include "advice/layer_finder.h"
#include "remat/algorithms/forward_end.h"

static bool is_forward_name(Str name) {
  return str_contains(name, "jvp(") && !str_contains(name, "transpose(");
}

static SchedPos end_by_names(const Module *module, Sequence sequence) {
  int64_t num_backward = 0, best = -1, balance = 0;
  SchedPos end = NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    num_backward += str_contains(inst_op_name(module, sequence.ids[pos]), "transpose(");
  if (num_backward == 0) return NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    Str name = inst_op_name(module, sequence.ids[pos]);
    if (!name.len) continue;
    /* what an earlier advice computes again has the name that it has in the forward part */
    bool is_clone = inst_get(module, sequence.ids[pos])->flags & INST_REMAT;
    bool is_backward = is_clone || str_contains(name, "transpose(");
    balance += is_backward ? -1 : is_forward_name(name) ? 1 : 0;
    if (balance <= best) continue;
    best = balance;
    end = pos;
  }
  return end;
}

static SchedPos end_by_flow(const Module *module, Sequence sequence, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  SchedPos *positions = arena_zarray(arena, SchedPos, module->insts.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    positions[sequence.ids[pos]] = pos;
  bool *is_heavy = find_heavy(module, arena, scratch);
  SchedPos end =
      find_forward_end(module, sequence, positions, is_heavy, FORWARD_END_BY_BYTES, scratch);
  arena_free(arena);
  return end;
}

/* Whether a fusion that is named after the backward part has a part of the forward part in it. */
static bool has_forward_inside(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (is_forward_name(inst_op_name(module, comp_inst(module, comp, i)))) return true;
  }
  return false;
}

/* Whether an instruction is a product of what the forward part computes and of what is given. */
static bool is_product_of_weights(const Module *module, InstId id, const bool *is_early) {
  bool reads_early = inst_get(module, id)->opcode == OPCODE_DOT, reads_weights = false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands && reads_early; i++) {
    InstId operand = inst_operand(module, id, i);
    reads_early = is_early[operand];
    reads_weights |= layer_is_form_of_given(module, operand);
  }
  return reads_early && reads_weights;
}

/* The end, behind the products that directly follow and that XLA:CPU has left without names, such
 * as that of a layer with one output. The gradients of weights are products of no weights. */
static SchedPos with_last_products(const Module *module, Sequence sequence, SchedPos end,
                                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool *is_early = arena_zarray(scratch, bool, module->insts.len);
  for (SchedPos pos = 0; pos <= end; pos++)
    is_early[sequence.ids[pos]] = true;
  for (SchedPos pos = end + 1; pos + 1 < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (inst_op_name(module, id).len || !is_product_of_weights(module, id, is_early)) break;
    is_early[id] = true;
    end = pos;
  }
  arena_reset(scratch, mark);
  return end;
}

/* The turn: what directly follows the forward part, reads nothing but it and has a part of it
 * inside, such as the gradient of a loss, which XLA fuses with the sum that ends the last layer. */
static SchedPos end_of_turn(const Module *module, Sequence sequence, SchedPos end, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool *is_early = arena_zarray(scratch, bool, module->insts.len);
  for (SchedPos pos = 0; pos <= end; pos++)
    is_early[sequence.ids[pos]] = true;
  for (SchedPos pos = end + 1; pos + 1 < sequence.len; pos++) {
    const Instruction *inst = inst_get(module, sequence.ids[pos]);
    bool reads_early = has_forward_inside(module, sequence.ids[pos]);
    for (uint32_t i = 0; i < inst->num_operands && reads_early; i++)
      reads_early = is_early[inst_operand(module, sequence.ids[pos], i)];
    if (!reads_early) break;
    end = pos; /* what reads it is behind the turn */
  }
  arena_reset(scratch, mark);
  return end;
}

ForwardPart forward_part_of(const Module *module, Sequence sequence, Arena *scratch) {
  ForwardPart forward = {.module = module, .sequence = sequence};
  forward.end = end_by_names(module, sequence);
  bool has_names = forward.end != NO_ID;
  if (has_names) forward.end = with_last_products(module, sequence, forward.end, scratch);
  bool has_none = !has_names && framework_of(module) == FRAMEWORK_JAX;
  if (!has_names && !has_none) forward.end = end_by_flow(module, sequence, scratch);
  forward.turn = has_names ? end_of_turn(module, sequence, forward.end, scratch) : forward.end;
  return forward;
}
