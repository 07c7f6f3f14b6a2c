#include "remat/scan/slice_layouts.h"

enum { MAX_NESTED_FUSIONS = 8 };

/* Whether an instruction within a fusion is a copy whose computation nothing else calls. */
static bool is_own_copy(const Module *module, const CallGraph *graph, InstId id) {
  return inst_copies_layout(module, id) && only_caller_of(graph, inst_callees(module, id)[0]) == id;
}

/* The copy of which an instruction takes a slice, or writes one, if that is all that reads it;
 * NO_ID if it is no such instruction. */
static InstId copied_array(const Module *module, const CallGraph *graph, InstId id) {
  const Instruction *inst = inst_get(module, id);
  bool takes_slice = opcode_is_dynamic_slice((Opcode)inst->opcode) && !(inst->flags & INST_DEAD);
  InstId copy = takes_slice ? inst_operand(module, id, 0) : NO_ID;
  bool is_copy = copy != NO_ID && is_own_copy(module, graph, copy) &&
                 inst_get(module, copy)->users.len == 1 && !inst_is_root(module, copy) &&
                 inst_count_operand(module, id, copy) == 1;
  if (!is_copy) return NO_ID;
  const Shape *array = inst_shape(module, inst_operand(module, copy, 0));
  const Shape *part =
      inst_shape(module, inst->opcode == OPCODE_DYNAMIC_SLICE ? id : inst_operand(module, id, 1));
  bool is_known = shape_is_array(array) && shape_is_array(part) && array->type == part->type &&
                  array->rank == part->rank && !array->has_dynamic && !part->has_dynamic;
  return is_known ? copy : NO_ID;
}

/* Whether a fused computation, or one in it, has such instructions. */
static bool has_copies(const Module *module, const CallGraph *graph, CompId comp, int depth) {
  bool found = false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp) && !found; i++) {
    InstId id = comp_inst(module, comp, i);
    found = copied_array(module, graph, id) != NO_ID;
    if (depth && inst_get(module, id)->opcode == OPCODE_FUSION)
      found |= has_copies(module, graph, inst_callees(module, id)[0], depth - 1);
  }
  return found;
}

bool slice_layouts_hide_stack(const Loops *loops, const Loop *loop) {
  const Module *module = loops->module;
  for (uint32_t i = 0; i < comp_num_insts(module, loop->body); i++) {
    InstId id = comp_inst(module, loop->body, i);
    if (inst_get(module, id)->opcode == OPCODE_FUSION &&
        has_copies(module, loops->graph, inst_callees(module, id)[0], MAX_NESTED_FUSIONS))
      return true;
  }
  return false;
}

/* Has the fusion copy a value of one shape to another one. */
static void set_copy(Rewrite *rewrite, InstId copy, ShapeId from, ShapeId to) {
  Module *module = rewrite->module;
  CompId comp = inst_callees(module, copy)[0];
  InstId root = comp_get(module, comp)->root;
  rewrite_set_shape(rewrite, inst_operand(module, root, 0), from);
  rewrite_set_shape(rewrite, root, to);
  rewrite_set_shape(rewrite, copy, to);
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  inst_get(module, copy)->flags |= INST_NEW_OPERANDS;
}

/* The shape of a part of an array, in the layout of the array. */
static ShapeId shape_in_array(Module *module, InstId array, InstId part, Arena *scratch) {
  ArraySpec spec = shape_spec(inst_shape(module, array));
  int64_t *dims = arena_array(scratch, int64_t, spec.rank);
  memcpy(dims, inst_shape(module, part)->dims, spec.rank * sizeof *dims);
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

static void copy_part(Rewrite *rewrite, InstId id, InstId copy, Arena *scratch) {
  Module *module = rewrite->module;
  InstId array = inst_operand(module, copy, 0);
  bool is_read = inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE;
  InstId part = is_read ? id : inst_operand(module, id, 1);
  ShapeId in_array = shape_in_array(module, array, part, scratch);
  ShapeId computed = inst_get(module, part)->shape;
  rewrite_set_operand(rewrite, id, 0, array);
  inst_get(module, id)->flags |= INST_NEW_OPERANDS;
  if (is_read) {
    rewrite_replace_all_uses(rewrite, id, copy, scratch);
    rewrite_set_shape(rewrite, id, in_array);
    set_copy(rewrite, copy, in_array, computed);
    rewrite_set_operand(rewrite, copy, 0, id);
  } else {
    set_copy(rewrite, copy, computed, in_array);
    rewrite_set_operand(rewrite, copy, 0, part);
    rewrite_set_operand(rewrite, id, 1, copy);
  }
}

static void open_comp(Rewrite *rewrite, const CallGraph *graph, CompId comp, Schedule *schedule,
                      int depth, Arena *scratch) {
  Module *module = rewrite->module;
  bool has_changed = false;
  for (uint32_t i = 0, num_insts = comp_num_insts(module, comp); i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i), copy = copied_array(module, graph, id);
    if (copy != NO_ID) {
      copy_part(rewrite, id, copy, scratch);
      has_changed = true;
    } else if (depth && inst_get(module, id)->opcode == OPCODE_FUSION) {
      open_comp(rewrite, graph, inst_callees(module, id)[0], schedule, depth - 1, scratch);
    }
  }
  if (!has_changed) return;
  rewrite_order_expression(rewrite, comp, scratch);
  /* The text is in the order of the list now. */
  if (comp < schedule->num_comps) schedule->of[comp].len = 0;
}

void slice_layouts_open(Rewrite *rewrite, const CallGraph *graph, CompId body, Schedule *schedule,
                        Arena *scratch) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < comp_num_insts(module, body); i++) {
    InstId id = comp_inst(module, body, i);
    if (inst_get(module, id)->opcode == OPCODE_FUSION)
      open_comp(rewrite, graph, inst_callees(module, id)[0], schedule, MAX_NESTED_FUSIONS, scratch);
  }
}
