/* Checks fusions, and outputs that share memory with operands. */
#include <inttypes.h>

#include "analysis/lint/lint.h"
#include "analysis/flow/side_effect.h"

/* ---- fusions ---- */

static void lint_fused(Lint *lint, CompId comp) {
  const Module *module = lint->module;
  InstId root = comp_get(module, comp)->root;
  if (inst_get(module, root)->users.len) {
    lint_find_inst(lint, LINT_FUSION, root, "the root of a fusion is read by '%.*s'",
                   (int)inst_name(module, inst_users(module, root)[0]).len,
                   inst_name(module, inst_users(module, root)[0]).data);
  }
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    const Instruction *inst = inst_get(module, id);
    if (id == root || inst->users.len || inst_has_own_side_effect(module, id)) continue;
    lint_find_inst(lint, LINT_FUSION, id, "nobody in the fusion reads it");
  }
}

void lint_fusion(Lint *lint, InstId id) {
  const Module *module = lint->module;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return;
  CompId comp = inst_callees(module, id)[0];
  if (lint->callers[comp] != id) {
    Str name = inst_name(module, lint->callers[comp]);
    DiagPlace place = DIAG_FROM_TO(lint_place_attr(lint, id, ATTR_CALLS).offset,
                                   lint_place(lint, lint->callers[comp]).offset);
    lint_find_at(lint, LINT_FUSION, id, place, "its computation is that of '%.*s' too",
                 (int)name.len, name.data);
    return;
  }
  if (comp == module->entry) {
    lint_find_at(lint, LINT_FUSION, id, lint_place_attr(lint, id, ATTR_CALLS),
                 "its computation is the entry");
  }
  lint_fused(lint, comp);
}

/* ---- output_to_operand_aliasing ---- */

/* Whether a buffer b(T) may share the memory of a T. */
static bool ignores_buffers(const Lint *lint, InstId id) {
  if (inst_get(lint->module, id)->opcode != OPCODE_CUSTOM_CALL)
    return inst_get(lint->module, id)->opcode != OPCODE_FUSION;
  Str target = inst_attr_string(lint->module, id, ATTR_CUSTOM_CALL_TARGET);
  return str_is(target, "Pin") || str_is(target, "Unpin");
}

static bool may_share(const Lint *lint, InstId id, ShapeId a, ShapeId b) {
  const Shape *x = shape_get(&lint->module->shapes, a), *y = shape_get(&lint->module->shapes, b);
  if (lint_fits(lint, a, b)) return true;
  if (x->kind == y->kind || !shape_has_dims(x) || !shape_has_dims(y)) return false;
  return ignores_buffers(lint, id) && x->type == y->type && shape_same_dims(x, y);
}

/* Some operands of an async-start may be bound later, so those of its computation are counted. */
static uint32_t num_aliased(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (inst->opcode != OPCODE_ASYNC_START) return inst->num_operands;
  return comp_get(lint->module, inst_callees(lint->module, id)[0])->params.len;
}

static ShapeId aliased_shape(const Lint *lint, InstId id, uint32_t operand) {
  const Module *module = lint->module;
  if (inst_get(module, id)->opcode != OPCODE_ASYNC_START)
    return lint_operand_shape(lint, id, operand);
  IdList params = comp_get(module, inst_callees(module, id)[0])->params;
  return inst_get(module, id_list(module, params)[operand])->shape;
}

/* The shape that an output index refers to. An async-start's shape may lack operands and results of
 * its computation, so elements 0 and 1 are taken from the computation; then the first `*skipped`
 * numbers of the index are already used. */
static ShapeId output_base(const Lint *lint, InstId id, const AliasPair *pair, uint32_t *skipped) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  *skipped = 0;
  if (inst->opcode != OPCODE_ASYNC_START || pair->output_len == 0) return inst->shape;
  const Computation *comp = comp_get(module, inst_callees(module, id)[0]);
  if (pair->output[0] == 1) {
    *skipped = 1;
    return inst_get(module, comp->root)->shape;
  }
  bool is_param = pair->output[0] == 0 && pair->output_len > 1 && pair->output[1] >= 0 &&
                  pair->output[1] < comp->params.len;
  if (!is_param) return inst->shape;
  *skipped = 2;
  return inst_get(module, id_list(module, comp->params)[pair->output[1]])->shape;
}

/* An update forwards the context, which follows operands and result in a start's shape. */
static bool is_context(const AliasPair *pair) {
  return pair->operand == 0 && pair->input_len && pair->input[0] == 2 && pair->output_len &&
         pair->output[0] == 2;
}

static void lint_pair(Lint *lint, InstId id, const AliasPair *pair, DiagPlace place) {
  const ShapeTable *shapes = &lint->module->shapes;
  uint32_t num_operands = num_aliased(lint, id);
  if (pair->operand < 0 || pair->operand >= num_operands) {
    lint_find_at(lint, LINT_ALIASING, id, place, "it has %u operands, none of number %" PRId64,
                 num_operands, pair->operand);
    return;
  }
  if (inst_get(lint->module, id)->opcode == OPCODE_ASYNC_UPDATE && !is_context(pair)) {
    lint_find_at(lint, LINT_ALIASING, id, place,
                 "expected pairs of element {2} of its result and of operand 0");
    return;
  }
  ShapeId operand = aliased_shape(lint, id, (uint32_t)pair->operand);
  uint32_t in = shape_index_part(shapes, operand, pair->input, pair->input_len);
  uint32_t skipped;
  ShapeId result = output_base(lint, id, pair, &skipped);
  uint32_t out =
      shape_index_part(shapes, result, pair->output + skipped, pair->output_len - skipped);
  if (in == NO_ID || out == NO_ID) {
    lint_find_at(lint, LINT_ALIASING, id, place, "%s, %s, has no element of the index given",
                 in == NO_ID ? "its operand" : "its result",
                 lint_shown(lint, in == NO_ID ? operand : result));
    return;
  }
  ShapeId input = shape_part(shapes, operand, in), output = shape_part(shapes, result, out);
  if (may_share(lint, id, input, output)) return;
  lint_find_at(lint, LINT_ALIASING, id, place, "an output, %s, shares the memory of an operand, %s",
               lint_shown(lint, output), lint_shown(lint, input));
}

void lint_aliasing(Lint *lint, InstId id) {
  Opcode opcode = (Opcode)inst_get(lint->module, id)->opcode;
  if (opcode != OPCODE_FUSION && opcode != OPCODE_CUSTOM_CALL &&
      !opcode_gives_async_state(opcode)) {
    return;
  }
  IntSlice ints = inst_attr_ints(lint->module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
  /* The attributes of `custom-call-start(…)` belong to the custom-call. */
  if (ints.len == 0 || inst_implied_by(lint->module, id) != NO_ID) return;
  Str skip;
  if (lint_frontend(lint, id, "xla_skip_custom_call_alias_shape_check", &skip)) return;
  DiagPlace place = lint_place_attr(lint, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (uint32_t i = 0; i < ints.len;) {
    AliasPair pair;
    i += alias_pair_read(ints.data + i, &pair);
    lint_pair(lint, id, &pair, place);
  }
}
