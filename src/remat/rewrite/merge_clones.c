#include "remat/rewrite/merge_clones.h"

#include "remat/rewrite/dce.h"

typedef struct Merger {
  Rewrite *rewrite;
  RematMarks marks;
  IdTable seen; /* the instructions that others can be merged with */
  uint32_t num_merged;
  Arena *scratch;
} Merger;

/* A clone has the attributes of its original. */
static Str expression_name(const Merger *merger, InstId id) {
  Str original = merger->marks[id].original;
  return original.len ? original : inst_name(merger->rewrite->module, id);
}

/* Whether opcode, shape, operands and index say all about such an instruction. */
static bool has_no_attributes(Opcode opcode) {
  return opcode == OPCODE_GET_TUPLE_ELEMENT || opcode == OPCODE_TUPLE || opcode == OPCODE_BITCAST ||
         opcode == OPCODE_OPT_BARRIER;
}

static bool is_same(const Merger *merger, InstId a, InstId b) {
  const Module *module = merger->rewrite->module;
  const Instruction *x = inst_get(module, a), *y = inst_get(module, b);
  if (x->opcode != y->opcode || x->parent != y->parent || x->shape != y->shape ||
      x->index != y->index || x->num_operands != y->num_operands ||
      x->num_callees != y->num_callees)
    return false;
  for (uint32_t i = 0; i < x->num_operands; i++) {
    if (inst_operand(module, a, i) != inst_operand(module, b, i)) return false;
  }
  for (uint32_t i = 0; i < x->num_callees; i++) {
    if (inst_callees(module, a)[i] != inst_callees(module, b)[i]) return false;
  }
  return has_no_attributes((Opcode)x->opcode) ||
         str_equal(expression_name(merger, a), expression_name(merger, b));
}

static uint64_t hash_of(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  uint64_t hash = hash_mix(HASH_SEED, inst->opcode);
  hash = hash_mix(hash, inst->shape);
  hash = hash_mix(hash, inst->parent);
  for (uint32_t i = 0; i < inst->num_operands; i++)
    hash = hash_mix(hash, inst_operand(module, id, i));
  return hash;
}

/* Makes the users of an instruction read an earlier one that is the same, if one of the two was
 * added. Else later ones can be merged with it. */
static void visit(Merger *merger, InstId id) {
  Module *module = merger->rewrite->module;
  const RematMark *mark = &merger->marks[id];
  uint64_t hash = hash_of(module, id);
  InstId same;
  for (IdProbe probe = id_table_probe(&merger->seen, hash); id_probe_next(&probe, &same);) {
    const RematMark *other = &merger->marks[same];
    if (mark->kind == REMAT_KIND_NONE && other->kind == REMAT_KIND_NONE) continue;
    if (!is_same(merger, id, same)) continue;
    merger->num_merged += mark->kind == REMAT_KIND_CLONE || other->kind == REMAT_KIND_CLONE;
    rewrite_replace_all_uses(merger->rewrite, id, same, merger->scratch);
    module_remove_inst(module, id);
    return;
  }
  id_table_add(&merger->seen, merger->scratch, hash, id);
}

static void drop_control(Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD)) module_drop_control(module, id);
  }
}

uint32_t merge_clones(Rewrite *rewrite, RematMarks marks, Arena *scratch) {
  Module *module = rewrite->module;
  Merger merger = {.rewrite = rewrite, .marks = marks, .scratch = scratch};
  drop_control(module);
  for (CompId comp = 0; marks && comp < module->comps.len; comp++) {
    if (comp_get(module, comp)->flags & COMP_DEAD) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      bool is_fixed = inst_get(module, id)->flags & INST_DEAD ||
                      inst_get(module, id)->opcode == OPCODE_PARAMETER;
      if (!is_fixed) visit(&merger, id);
    }
    module_sweep_comp(module, comp);
  }
  dce_run(rewrite, scratch);
  return merger.num_merged;
}
