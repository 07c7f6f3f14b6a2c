#include "analysis/flow/copy_stage.h"

static InstId skip_elements(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT ||
         inst_get(module, id)->opcode == OPCODE_BITCAST) {
    id = inst_operand(module, id, 0);
  }
  return id;
}

static bool is_copy(const Module *module, InstId id) {
  return opcode_is_copy((Opcode)inst_get(module, id)->opcode);
}

static bool is_donated(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  const ModuleHeader *header = &module->source->header;
  if (inst->opcode != OPCODE_PARAMETER || inst->parent != module->entry) return false;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    if (header->aliases.data[i].param == inst->index) return true;
  }
  return false;
}

/* Whether a value is a copy, or a tuple with an element that is a copy. */
static bool has_copy(const Module *module, InstId id) {
  id = skip_elements(module, id);
  if (is_copy(module, id)) return true;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_TUPLE) return false;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (is_copy(module, skip_elements(module, inst_operand(module, id, i)))) return true;
  }
  return false;
}

static bool is_past_copies(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (is_copy(module, id)) {
    return is_donated(module, skip_elements(module, inst_operand(module, id, 0)));
  }
  /* Frameworks set backend_config on custom calls only. On any other instruction XLA's backends set
   * it. */
  if (inst->opcode != OPCODE_CUSTOM_CALL && inst_attr(module, id, ATTR_BACKEND_CONFIG)) return true;
  if (inst->opcode != OPCODE_WHILE && inst->opcode != OPCODE_CONDITIONAL) return false;
  if (inst->opcode == OPCODE_WHILE && has_copy(module, inst_operand(module, id, 0))) return true;
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    if (has_copy(module, comp_get(module, inst_callees(module, id)[i])->root)) return true;
  }
  return false;
}

bool copies_are_inserted(const Module *module) {
  if (module->backend.copies != COPIES_OPEN) return module->backend.copies == COPIES_INSERTED;
  if (module->source->header.is_scheduled || module_has_fusions(module)) return true;
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    if (!is_dead && is_past_copies(module, id)) return true;
  }
  return false;
}
