#include "analysis/flow/copy_need.h"

/* XLA inserts no copies for loops with this attribute (kXlaDisableWhileLoopCopies in
 * xla/frontend_attributes.h; a dot replaces the first underscore in its other form). */
static bool may_lack_copies(const Module *module, InstId loop) {
  Str text = inst_attr_text(module, loop, ATTR_FRONTEND_ATTRIBUTES);
  return text.len && str_contains(text, "disable_while_loop_copies");
}

static bool is_taken_over(const Module *module, InstId param) {
  const ModuleHeader *header = &module->source->header;
  int64_t number = inst_get(module, param)->index;
  for (uint32_t i = 0; i < header->aliases.len; i++)
    if (header->aliases.data[i].param == number) return true;
  return false;
}

/* An array in memory that nothing may write. Parts of parameters that are tuples are left out: few
 * programs have any, and each part may be donated on its own. */
static bool is_read_only(const Module *module, InstId id) {
  id = inst_without_bitcasts(module, id);
  const Instruction *inst = inst_get(module, id);
  if (shape_is_tuple(inst_shape(module, id))) return false;
  if (inst->opcode == OPCODE_CONSTANT) return true;
  return inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry &&
         !is_taken_over(module, id);
}

/* Whether a computation returns a read-only value: outside of the entry a constant. */
static bool returns_read_only(const Module *module, CompId comp) {
  InstId root = comp_get(module, comp)->root;
  const Instruction *inst = inst_get(module, root);
  if (inst->opcode != OPCODE_TUPLE) return is_read_only(module, root);
  for (uint32_t i = 0; i < inst->num_operands; i++)
    if (is_read_only(module, inst_operand(module, root, i))) return true;
  return false;
}

/* Whether the result is a value of its own for certain, neither an operand's nor a part of one. */
static bool is_new_value(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode_has(opcode, OPF_ELEMENTWISE) || opcode == OPCODE_DYNAMIC_UPDATE_SLICE ||
         opcode == OPCODE_DOT || opcode == OPCODE_FUSION || opcode == OPCODE_REDUCE ||
         opcode == OPCODE_CONCATENATE;
}

/* A loop that begins with a read-only value and changes it, or whose body returns a constant. (What
 * a loop hands through unchanged stays the value that it was.) */
static bool loop_needs_copy(const Module *module, InstId loop) {
  InstId init = inst_operand(module, loop, 0);
  CompId body = inst_callees(module, loop)[0];
  if (returns_read_only(module, body)) return true;
  InstId root = comp_get(module, body)->root;
  const Instruction *from = inst_get(module, init), *to = inst_get(module, root);
  if (from->opcode != OPCODE_TUPLE || to->opcode != OPCODE_TUPLE) return false;
  for (uint32_t i = 0; i < from->num_operands && i < to->num_operands; i++) {
    if (is_read_only(module, inst_operand(module, init, i)) &&
        is_new_value(module, inst_operand(module, root, i)))
      return true;
  }
  return false;
}

/* A branch that returns a constant: the conditional's result is this constant or the value of
 * another branch. */
static bool branch_needs_copy(const Module *module, InstId conditional) {
  const Instruction *inst = inst_get(module, conditional);
  for (uint32_t i = 0; inst->num_callees > 1 && i < inst->num_callees; i++) {
    if (returns_read_only(module, inst_callees(module, conditional)[i])) return true;
  }
  return false;
}

/* An update in place of a read-only value, in the entry: elsewhere it may be part of an expression,
 * which has no memory. */
static bool update_needs_copy(const Module *module, InstId id) {
  return inst_get(module, id)->parent == module->entry && inst_get(module, id)->num_operands &&
         is_read_only(module, inst_operand(module, id, 0));
}

static const char *need_of(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_WHILE:
      return loop_needs_copy(module, id) ? "a loop changes a constant or a parameter in place"
                                         : NULL;
    case OPCODE_CONDITIONAL:
      return branch_needs_copy(module, id) ? "a branch returns a constant without a copy" : NULL;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      return update_needs_copy(module, id) ? "a constant or a parameter is updated in place" : NULL;
    default: return NULL;
  }
}

/* What runs on other threads goes through passes of its own. */
static bool is_on_main_thread(const Module *module, InstId id) {
  return str_is(comp_get(module, inst_get(module, id)->parent)->thread, "main");
}

const char *needs_copy(const Module *module) {
  const char *found = NULL;
  if (returns_read_only(module, module->entry))
    found = "it returns a constant or a parameter that is not donated";
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
    if (inst_get(module, id)->flags & INST_DEAD || !is_on_main_thread(module, id)) continue;
    if (is_loop && may_lack_copies(module, id)) return NULL;
    if (!found) found = need_of(module, id);
  }
  return found;
}
