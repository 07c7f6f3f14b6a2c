#include "remat/scan/fused_slices.h"

#include "ir/written_shape.h"

enum { MAX_NESTED_FUSIONS = 8 };

/* What describes a part with the type and the layout of the array. */
static ArraySpec spec_in_array(const Module *module, InstId array, InstId part, Arena *scratch) {
  ArraySpec spec = shape_spec(inst_shape(module, array));
  int64_t *dims = arena_array(scratch, int64_t, spec.rank);
  memcpy(dims, inst_shape(module, part)->dims, spec.rank * sizeof *dims);
  spec.dims = dims;
  return spec;
}

/* ---- conversions ---- */

/* Whether a dynamic-slice or a dynamic-update-slice converts what it takes or writes. */
static bool converts_part(const Module *module, const CallGraph *graph, InstId id) {
  (void)graph;
  const Instruction *inst = inst_get(module, id);
  if (!opcode_is_dynamic_slice((Opcode)inst->opcode) || inst->flags & INST_DEAD) return false;
  bool is_read = inst->opcode == OPCODE_DYNAMIC_SLICE;
  const Shape *array = inst_shape(module, inst_operand(module, id, 0));
  const Shape *part = inst_shape(module, is_read ? id : inst_operand(module, id, 1));
  return shape_is_array(array) && shape_is_array(part) && array->rank == part->rank &&
         array->type != part->type && !array->has_dynamic && !part->has_dynamic;
}

static InstId add_convert(Rewrite *rewrite, CompId comp, InstId operand, ShapeId shape) {
  InstSpec convert = {
      .opcode = OPCODE_CONVERT, .shape = shape, .operands = &operand, .num_operands = 1};
  return rewrite_add_helper(rewrite, comp, convert);
}

/* Adds the convert before a write or behind a read. */
static void convert_part(Rewrite *rewrite, const CallGraph *graph, InstId id, Arena *scratch) {
  (void)graph;
  Module *module = rewrite->module;
  CompId comp = inst_get(module, id)->parent;
  bool is_read = inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE;
  InstId array = inst_operand(module, id, 0), part = is_read ? id : inst_operand(module, id, 1);
  ArraySpec spec = spec_in_array(module, array, part, scratch);
  ShapeId shape = written_array(&module->shapes, &spec);
  if (!is_read) {
    rewrite_set_operand(rewrite, id, 1, add_convert(rewrite, comp, part, shape));
    return;
  }
  InstId converted = add_convert(rewrite, comp, id, inst_get(module, id)->shape);
  rewrite_replace_all_uses(rewrite, id, converted, scratch);
  rewrite_set_operand(rewrite, converted, 0, id);
  rewrite_set_shape(rewrite, id, shape);
}

/* ---- copies ---- */

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

static bool is_of_copy(const Module *module, const CallGraph *graph, InstId id) {
  return copied_array(module, graph, id) != NO_ID;
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

static void copy_part(Rewrite *rewrite, const CallGraph *graph, InstId id, Arena *scratch) {
  Module *module = rewrite->module;
  InstId copy = copied_array(module, graph, id);
  InstId array = inst_operand(module, copy, 0);
  bool is_read = inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE;
  InstId part = is_read ? id : inst_operand(module, id, 1);
  ArraySpec spec = spec_in_array(module, array, part, scratch);
  ShapeId in_array = shape_array(&module->shapes, &spec);
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

/* ---- all ---- */

/* Something that is done with slices beside taking or writing them. */
typedef struct Kind {
  bool (*is_one)(const Module *module, const CallGraph *graph, InstId id);
  void (*open)(Rewrite *rewrite, const CallGraph *graph, InstId id, Arena *scratch);
} Kind;

static const Kind kinds[] = {{converts_part, convert_part}, {is_of_copy, copy_part}};
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* Whether a fused computation, or one in it, has such slices. */
static bool has_slices(const Module *module, const CallGraph *graph, const Kind *kind, CompId comp,
                       int depth) {
  bool found = false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp) && !found; i++) {
    InstId id = comp_inst(module, comp, i);
    found = kind->is_one(module, graph, id);
    if (depth && inst_get(module, id)->opcode == OPCODE_FUSION)
      found |= has_slices(module, graph, kind, inst_callees(module, id)[0], depth - 1);
  }
  return found;
}

bool fused_slices_hide_stack(const Loops *loops, const Loop *loop) {
  const Module *module = loops->module;
  for (uint32_t i = 0; i < comp_num_insts(module, loop->body); i++) {
    InstId id = comp_inst(module, loop->body, i);
    if (inst_get(module, id)->opcode != OPCODE_FUSION) continue;
    CompId comp = inst_callees(module, id)[0];
    for (int k = 0; k < NUM_KINDS; k++) {
      if (has_slices(module, loops->graph, &kinds[k], comp, MAX_NESTED_FUSIONS)) return true;
    }
  }
  return false;
}

static void open_comp(Rewrite *rewrite, const CallGraph *graph, const Kind *kind, CompId comp,
                      Schedule *schedule, int depth, Arena *scratch) {
  Module *module = rewrite->module;
  bool has_changed = false;
  for (uint32_t i = 0, num_insts = comp_num_insts(module, comp); i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    if (kind->is_one(module, graph, id)) {
      kind->open(rewrite, graph, id, scratch);
      has_changed = true;
    } else if (depth && inst_get(module, id)->opcode == OPCODE_FUSION) {
      CompId inner = inst_callees(module, id)[0];
      open_comp(rewrite, graph, kind, inner, schedule, depth - 1, scratch);
    }
  }
  if (!has_changed) return;
  module_sweep_comp(module, comp);
  rewrite_order_expression(rewrite, comp, scratch);
  /* The text is in the order of the list now. */
  if (comp < schedule->num_comps) schedule->of[comp].len = 0;
}

void fused_slices_open(Rewrite *rewrite, const CallGraph *graph, CompId body, Schedule *schedule,
                       Arena *scratch) {
  Module *module = rewrite->module;
  for (int k = 0; k < NUM_KINDS; k++) {
    for (uint32_t i = 0; i < comp_num_insts(module, body); i++) {
      InstId id = comp_inst(module, body, i);
      if (inst_get(module, id)->opcode == OPCODE_FUSION)
        open_comp(rewrite, graph, &kinds[k], inst_callees(module, id)[0], schedule,
                  MAX_NESTED_FUSIONS, scratch);
    }
  }
}
