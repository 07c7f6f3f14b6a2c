#include "advice/narrow_inputs.h"

/* Whether a fusion within a fusion only changes the form of its operand. */
static bool is_form(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_BITCAST) return true;
  if (inst->opcode != OPCODE_FUSION || inst->num_operands != 1) return false;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_get(module, root)->opcode == OPCODE_BITCAST;
}

/* Whether an operation takes an f32 array as bf16, as a product does on a TPU, whose default
 * precision is one pass of bf16. */
static bool takes_bf16(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_DOT || inst->opcode == OPCODE_CONVOLUTION) return true;
  return inst->opcode == OPCODE_CONVERT && inst_shape(module, id)->type == TYPE_BF16;
}

static bool is_taken_as_bf16(const Module *module, InstId param) {
  for (uint32_t u = 0; u < inst_get(module, param)->users.len; u++) {
    InstId user = inst_users(module, param)[u];
    if (takes_bf16(module, user)) continue;
    if (!is_form(module, user)) return false;
    for (uint32_t i = 0; i < inst_get(module, user)->users.len; i++) {
      if (!takes_bf16(module, inst_users(module, user)[i])) return false;
    }
  }
  return true;
}

static bool reads_as_bf16(const Module *module, InstId user, InstId value) {
  if (inst_get(module, user)->opcode != OPCODE_FUSION) return takes_bf16(module, user);
  const Computation *comp = comp_get(module, inst_callees(module, user)[0]);
  for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
    if (inst_operand(module, user, i) != value) continue;
    if (!is_taken_as_bf16(module, id_list(module, comp->params)[i])) return false;
  }
  return true;
}

bool narrow_inputs(Cloning *cloning) {
  const CheckpointChoice *choice = &cloning->choice;
  const LateClones *clones = &choice->clones;
  Module *module = cloning->made->module;
  bool has_narrowed = false;
  if (strcmp(module->backend.target->name, "tpu") != 0) return false;
  for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
    InstId id = clones->sequence.ids[pos];
    const Shape *shape = inst_shape(module, id);
    bool is_kept = choice->values[pos].is_kept && !choice->values[pos].is_fixed &&
                   shape_is_array(shape) && shape->type == TYPE_F32;
    uint32_t num_late = 0;
    for (uint32_t i = 0; is_kept && i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_late = user >= clones->first_new || clones->positions[user] > clones->early_end;
      num_late += is_late;
      is_kept = !is_late || reads_as_bf16(module, user, id);
    }
    if (!is_kept || num_late == 0) continue;
    ArraySpec spec = shape_spec(shape);
    spec.type = TYPE_BF16;
    inst_get(module, id)->shape = shape_array(&module->shapes, &spec);
    has_narrowed = true;
  }
  return has_narrowed;
}
