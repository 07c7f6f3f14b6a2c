#include "advice/fused_clones.h"

#include "ir/attribute.h"

static bool is_elementwise(Opcode opcode) {
  switch (opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_CONSTANT:
    case OPCODE_BROADCAST:
    case OPCODE_BITCAST:
    case OPCODE_RESHAPE:
    case OPCODE_COPY:
    case OPCODE_TRANSPOSE:
    case OPCODE_IOTA: return true;
    default: return opcode_has(opcode, OPF_ELEMENTWISE);
  }
}

/* Whether an instruction is a loop over the elements of one array. */
static bool is_loop(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (!shape_is_array(inst_shape(module, id))) return false;
  if (inst->opcode != OPCODE_FUSION) return opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE);
  if (inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_LOOP) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (!is_elementwise((Opcode)inst_get(module, comp_inst(module, comp, i))->opcode)) return false;
  }
  return true;
}

static bool reads(const Module *module, InstId reader, InstId value) {
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) == value) return true;
  }
  return false;
}

/* Whether a reader holds all that a clone reads of its own size, so that fusing both holds nothing
 * for longer. */
static bool holds_operands(const Module *module, InstId clone, InstId reader) {
  int64_t bytes = inst_shape(module, clone)->bytes;
  for (uint32_t i = 0; i < inst_get(module, clone)->num_operands; i++) {
    InstId operand = inst_operand(module, clone, i);
    bool is_large = !shape_is_array(inst_shape(module, operand)) ||
                    8 * inst_shape(module, operand)->bytes > bytes;
    if (is_large && !reads(module, reader, operand)) return false;
  }
  return true;
}

/* Whether XLA would fuse an instruction with its only reader. */
static bool is_fused(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->flags & INST_DEAD || inst->users.len != 1 || !is_loop(module, id)) return false;
  InstId reader = inst_users(module, id)[0];
  return is_loop(module, reader) &&
         inst_shape(module, id)->num_elements == inst_shape(module, reader)->num_elements &&
         holds_operands(module, id, reader);
}

/* Whether the backward part has read an instruction of the forward part, and reads its clone now.
 */
static bool has_lost_readers(const CheckpointChoice *choice, SchedPos pos) {
  const CheckpointValue *value = &choice->values[pos];
  return !value->is_kept && value->last_late != NO_ID && choice->origins[pos] == pos;
}

bool fused_is_shrunk(const Module *module, InstId id) {
  if (!is_loop(module, id) || inst_shape(module, id)->num_elements != 1) return false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    const Shape *shape = inst_shape(module, inst_operand(module, id, i));
    if (shape_is_array(shape) && shape->num_elements > 1) return true;
  }
  return false;
}

bool fused_clones_shrink(Cloning *cloning) {
  Module *module = cloning->made->module;
  const LateClones *clones = &cloning->choice.clones;
  bool has_changed = false;
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_meant = id >= clones->first_new;
    if (!is_meant) {
      SchedPos pos = clones->positions[id];
      is_meant = pos != NO_ID && pos <= clones->early_end && clones->sequence.ids[pos] == id &&
                 has_lost_readers(&cloning->choice, pos);
    }
    if (!is_meant || !is_fused(module, id)) continue;
    ElementType type = (ElementType)inst_shape(module, id)->type;
    inst_get(module, id)->shape = rewrite_scalar(&cloning->rewrite, type);
    has_changed = true;
  }
  return has_changed;
}
