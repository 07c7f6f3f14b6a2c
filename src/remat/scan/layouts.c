#include "remat/scan/layouts.h"

#include "analysis/flow/guess_target.h"
#include "analysis/flow/rounding.h"
#include "analysis/loop/stack_view.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/fuse.h"
#include "remat/scan/carry.h"
#include "remat/scan/narrow.h"
#include "remat/scan/slots.h"

/* An element of a loop's state that begins as a transposed array. */
typedef struct Transposed {
  uint32_t element;
  InstId array;     /* what is transposed, beside the loop */
  InstId transpose; /* in the fusion between both */
  uint32_t in_dim;  /* of the transpose's operand: along which the loop takes slices */
  uint32_t out_dim; /* the same dimension of its result */
} Transposed;

/* A slice that a fusion of the loop's body takes. */
typedef struct Cut {
  InstId fusion, gte; /* in the body; `gte` takes the array from the state */
  uint32_t operand;   /* of the fusion */
  uint32_t given_dim; /* of the operand */
  InstId slice;       /* the dynamic-slice in its computation */
  uint32_t dim;
  /* The fusion rounds otherwise if it transposes as well. It goes on to take the slice, but of an
   * array that is that slice. */
  bool is_fixed;
} Cut;

typedef struct Cuts {
  VEC(Cut) list;
} Cuts;

/* ---- what is there ---- */

static InstId before_bitcasts(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BITCAST && inst_get(module, id)->users.len <= 1)
    id = inst_operand(module, id, 0);
  return id;
}

/* Finds the array and the transpose of a value that a fusion of one array has transposed, and that
 * nothing else reads. */
static bool find_transpose(const Module *module, InstId value, Transposed *found) {
  InstId fusion = before_bitcasts(module, value);
  const Instruction *inst = inst_get(module, fusion);
  if (inst->opcode != OPCODE_FUSION || inst->num_operands != 1 || inst->users.len != 1 ||
      inst_is_root(module, fusion) ||
      inst_attr_int(module, fusion, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_CUSTOM)
    return false;
  InstId last = before_bitcasts(module, comp_get(module, inst_callees(module, fusion)[0])->root);
  if (inst_get(module, last)->opcode != OPCODE_TRANSPOSE) return false;
  InstId first = before_bitcasts(module, inst_operand(module, last, 0));
  found->array = before_bitcasts(module, inst_operand(module, fusion, 0));
  found->transpose = last;
  return inst_get(module, first)->opcode == OPCODE_PARAMETER;
}

InstId layouts_before(const Module *module, InstId value) {
  Transposed found;
  return find_transpose(module, value, &found) ? found.array : before_bitcasts(module, value);
}

/* Whether a dynamic-slice takes one slice along a dimension, and all of the others. */
static bool is_slice_along(const Module *module, InstId id, uint32_t dim) {
  const Shape *whole = inst_shape(module, inst_operand(module, id, 0));
  const Shape *slice = inst_shape(module, id);
  if (whole->rank < 2 || whole->rank != slice->rank || whole->type != slice->type) return false;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (slice->dims[i] != (i == dim ? 1 : whole->dims[i])) return false;
  }
  return true;
}

/* Adds what a fusion takes of its operand. False if that is anything but slices. */
static bool add_cuts(const Loops *loops, Cut cut, uint32_t dim, Cuts *cuts, Arena *scratch) {
  const Module *module = loops->module;
  StackViews views = {0};
  uint32_t first = cuts->list.len;
  cut.given_dim = dim;
  cut.is_fixed = !rounding_is_settled(module, cut.fusion, scratch);
  if (inst_attr_int(module, cut.fusion, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_CUSTOM ||
      !stack_views_find(module, loops->graph, cut.fusion, cut.operand, dim, &views, scratch))
    return false;
  for (uint32_t i = 0; i < views.len; i++) {
    cut.slice = views.data[i].inst;
    cut.dim = views.data[i].dim;
    if (inst_get(module, cut.slice)->parent != inst_callees(module, cut.fusion)[0]) return false;
    if (!views.data[i].is_cut) continue;
    if (!is_slice_along(module, cut.slice, cut.dim)) return false;
    *vec_push(scratch, &cuts->list) = cut;
  }
  return !cut.is_fixed || (cuts->list.len == first + 1 && slots_are_single(guess_target(module)));
}

/* Adds what fusions take of a value of the body, which is the array or a bitcast of it. */
static bool add_cuts_of(const Loops *loops, const Loop *loop, InstId gte, InstId value,
                        uint32_t dim, Cuts *cuts, Arena *scratch) {
  const Module *module = loops->module;
  for (uint32_t i = 0; i < inst_get(module, value)->users.len; i++) {
    InstId user = inst_users(module, value)[i];
    if (user == loop->body_root && value == gte) continue;
    Cut cut = {.fusion = user, .gte = gte, .operand = stack_only_operand(module, user, value)};
    uint32_t seen;
    bool is_known = false;
    if (inst_get(module, user)->opcode == OPCODE_FUSION && cut.operand != NO_ID)
      is_known = add_cuts(loops, cut, dim, cuts, scratch);
    if (inst_get(module, user)->opcode == OPCODE_BITCAST && value == gte)
      is_known = shape_dim_in_view(inst_shape(module, gte), dim, inst_shape(module, user), &seen) &&
                 add_cuts_of(loops, loop, gte, user, seen, cuts, scratch);
    if (!is_known) return false;
  }
  return true;
}

/* Finds all that the loop takes of an element of its state. False if that is not slices along this
 * dimension alone. */
static bool find_cuts(const Loops *loops, const Loop *loop, uint32_t element, uint32_t dim,
                      Cuts *cuts, Arena *scratch) {
  const Module *module = loops->module;
  const InstId states[] = {loop->id, loop->condition_param, loop->body_param};
  cuts->list.len = 0;
  for (size_t s = 0; s < sizeof states / sizeof *states; s++) {
    for (uint32_t i = 0; i < inst_get(module, states[s])->users.len; i++) {
      InstId gte = inst_users(module, states[s])[i];
      if (inst_get(module, gte)->opcode != OPCODE_GET_TUPLE_ELEMENT) return false;
      if (inst_get(module, gte)->index != element) continue;
      if (states[s] != loop->body_param || !add_cuts_of(loops, loop, gte, gte, dim, cuts, scratch))
        return false;
    }
  }
  return cuts->list.len > 0;
}

/* The dimension of the transpose's result that is a dimension of its operand. */
static uint32_t dim_after(const Module *module, InstId transpose, uint32_t in_dim) {
  IntSlice dims = inst_attr_ints(module, transpose, ATTR_DIMENSIONS);
  uint32_t dim = 0;
  while (dim < dims.len && dims.data[dim] != in_dim)
    dim++;
  return dim;
}

/* Whether an element of the state begins as a transposed stack of which the loop takes slices. */
static bool find_transposed(const Loops *loops, const Loop *loop, uint32_t element,
                            Transposed *found, Cuts *cuts, Arena *scratch) {
  const Module *module = loops->module;
  *found = (Transposed){.element = element};
  if (!loop->is_invariant[element] || inst_get(module, loop->init)->opcode != OPCODE_TUPLE)
    return false;
  InstId value = inst_operand(module, loop->init, element);
  if (!find_transpose(module, value, found) || loop_origin(loops, found->array).loop == NO_ID ||
      inst_count_operand(module, loop->init, value) != 1 || inst_get(module, value)->users.len != 1)
    return false;
  const Shape *array = inst_shape(module, found->array);
  const Shape *given = inst_shape(module, inst_operand(module, found->transpose, 0));
  const Shape *made = inst_shape(module, found->transpose);
  for (uint32_t dim = 0; dim < array->rank; dim++) {
    uint32_t read;
    if (!shape_dim_in_view(array, dim, given, &found->in_dim)) continue;
    found->out_dim = dim_after(module, found->transpose, found->in_dim);
    if (shape_dim_in_view(made, found->out_dim, inst_shape(module, value), &read) &&
        find_cuts(loops, loop, element, read, cuts, scratch))
      return true;
  }
  return false;
}

bool layouts_hide_stack(const Loops *loops, const Loop *loop, Arena *scratch) {
  Transposed found;
  Cuts cuts = {0};
  ArenaMark mark = arena_mark(scratch);
  bool hides = false;
  for (uint32_t e = 0; e < loop->num_elements && !hides; e++)
    hides = find_transposed(loops, loop, e, &found, &cuts, scratch);
  arena_reset(scratch, mark);
  return hides;
}

/* ---- what becomes of it ---- */

/* An instruction that is new in a loop's body, and what it comes before. */
typedef struct Placed {
  InstId inst, before;
} Placed;

typedef struct Opener {
  Rewrite *rewrite;
  Schedule *schedule;
  VEC(Placed) placed;
  Arena *scratch;
} Opener;

static InstId as_shape(Rewrite *rewrite, InstId id, ShapeId shape) {
  return inst_get(rewrite->module, id)->shape == shape ? id
                                                       : rewrite_add_bitcast(rewrite, id, shape);
}

/* The transposed slice of `array`, under the shape of the slice that it stands for. */
static InstId transpose_slice(Opener *opener, const Transposed *found, const Cut *cut,
                              InstId array) {
  Rewrite *rewrite = opener->rewrite;
  Module *module = rewrite->module;
  CompId comp = inst_get(module, cut->slice)->parent;
  InstId transpose = found->transpose;
  ShapeId shape = inst_get(module, inst_operand(module, transpose, 0))->shape;
  uint32_t rank = shape_get(&module->shapes, shape)->rank;
  InstId *operands = arena_array(opener->scratch, InstId, (size_t)rank + 1);
  /* XLA clamps the index of a dimension of which all is taken, so that any will do. */
  InstId other = inst_operand(module, cut->slice, 1 + (cut->dim == 0));
  operands[0] = as_shape(rewrite, array, shape);
  for (uint32_t i = 0; i < rank; i++)
    operands[1 + i] = i == found->in_dim ? inst_operand(module, cut->slice, 1 + cut->dim) : other;
  InstSpec slice = {.opcode = OPCODE_DYNAMIC_SLICE,
                    .shape = narrow_shape(module, shape, found->in_dim, 1, opener->scratch),
                    .operands = operands,
                    .num_operands = rank + 1};
  InstId part = rewrite_add_helper(rewrite, comp, slice);
  Str name = name_unique(&rewrite->inst_names, STR("transpose.remat"));
  InstId made = module_clone_inst(module, transpose, name, comp, &part);
  shape = inst_get(module, transpose)->shape;
  shape = narrow_shape(module, shape, found->out_dim, 1, opener->scratch);
  rewrite_set_shape(rewrite, made, shape);
  return as_shape(rewrite, made, inst_get(module, cut->slice)->shape);
}

/* Has a fusion take a slice of the array as it was before the transpose. */
static void transpose_in(Opener *opener, const Transposed *found, const Cut *cut) {
  Rewrite *rewrite = opener->rewrite;
  Module *module = rewrite->module;
  CompId comp = inst_callees(module, cut->fusion)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[cut->operand];
  rewrite_set_shape(rewrite, param, inst_get(module, found->array)->shape);
  InstId made = transpose_slice(opener, found, cut, param);
  rewrite_replace_all_uses(rewrite, cut->slice, made, opener->scratch);
  for (InstId id = cut->slice; id != param && inst_get(module, id)->users.len == 0;) {
    InstId before = inst_operand(module, id, 0);
    module_remove_inst(module, id);
    id = before;
  }
  rewrite_set_operand(rewrite, cut->fusion, cut->operand, cut->gte);
  inst_get(module, cut->fusion)->flags |= INST_NEW_OPERANDS;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  module_sweep_comp(module, comp);
  rewrite_order_expression(rewrite, comp, opener->scratch);
  /* The text is in the order of the list now. */
  if (comp < opener->schedule->num_comps) opener->schedule->of[comp].len = 0;
}

/* Has another fusion take and transpose the slice, and gives this one an array that is the slice.
 */
static void transpose_before(Opener *opener, const Transposed *found, const Cut *cut) {
  Rewrite *rewrite = opener->rewrite;
  Module *module = rewrite->module;
  InstId given = inst_operand(module, cut->fusion, cut->operand);
  InstId part =
      fuse_part_alone(rewrite, cut->fusion, cut->slice, opener->schedule, opener->scratch);
  *vec_push(opener->scratch, &opener->placed) = (Placed){part, cut->fusion};
  StackViews views = {0};
  (void)stack_views_find(module, NULL, cut->fusion, cut->operand, cut->given_dim, &views,
                         opener->scratch);
  for (uint32_t i = 0; i < views.len; i++) {
    InstId id = views.data[i].inst;
    if (views.data[i].is_cut) continue;
    rewrite_set_shape(
        rewrite, id,
        narrow_shape(module, inst_get(module, id)->shape, views.data[i].dim, 1, opener->scratch));
  }
  InstId array = as_shape(rewrite, part, inst_get(module, views.data[0].inst)->shape);
  if (array != part) *vec_push(opener->scratch, &opener->placed) = (Placed){array, cut->fusion};
  Cut alone = *cut;
  alone.fusion = part;
  alone.operand = stack_only_operand(module, part, given);
  alone.slice = comp_get(module, inst_callees(module, part)[0])->root;
  transpose_in(opener, found, &alone);
  rewrite_set_operand(rewrite, cut->fusion, cut->operand, array);
  inst_get(module, cut->fusion)->flags |= INST_NEW_OPERANDS;
  comp_get(module, inst_callees(module, cut->fusion)[0])->flags |= COMP_NEW_SIGNATURE;
}

/* Puts what is new in a body into its sequence. */
static void place_new(const Opener *opener, CompId body, Arena *out) {
  Schedule *schedule = opener->schedule;
  if (body >= schedule->num_comps || schedule->of[body].len == 0 || opener->placed.len == 0) return;
  Sequence old = schedule->of[body];
  Sequence sequence = {.ids = arena_array(out, InstId, (size_t)old.len + opener->placed.len)};
  for (uint32_t i = 0; i < old.len; i++) {
    for (uint32_t k = 0; k < opener->placed.len; k++) {
      if (opener->placed.data[k].before == old.ids[i])
        sequence.ids[sequence.len++] = opener->placed.data[k].inst;
    }
    sequence.ids[sequence.len++] = old.ids[i];
  }
  schedule->of[body] = sequence;
}

static void open_loop(Rewrite *rewrite, const Loops *loops, const Loop *loop, Schedule *schedule,
                      Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Opener opener = {.rewrite = rewrite, .schedule = schedule, .scratch = arena};
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    Transposed found;
    Cuts cuts = {0};
    if (!find_transposed(loops, loop, e, &found, &cuts, arena)) continue;
    for (uint32_t i = 0; i < cuts.list.len; i++) {
      const Cut *cut = &cuts.list.data[i];
      if (cut->is_fixed) {
        transpose_before(&opener, &found, cut);
      } else {
        transpose_in(&opener, &found, cut);
      }
    }
    carry_set_element(rewrite, loop, e, found.array);
  }
  place_new(&opener, loop->body, out);
  arena_free(arena);
}

/* ---- shapes ---- */

/* The value that bitcasts give another shape and then its own again, if a rewrite added some of
 * them; NO_ID otherwise. */
static InstId undone_bitcasts(const Module *module, InstId id) {
  InstId from = id;
  bool is_new = false;
  while (inst_get(module, from)->opcode == OPCODE_BITCAST) {
    is_new |= inst_get(module, from)->flags & INST_REMAT;
    from = inst_operand(module, from, 0);
    if (is_new && inst_get(module, from)->shape == inst_get(module, id)->shape) return from;
  }
  return NO_ID;
}

/* Has what reads such a value read it directly: a loop is then given what another loop stacks, and
 * not a view of it. */
static void skip_bitcasts(Rewrite *rewrite, const CallGraph *graph, Arena *scratch) {
  Module *module = rewrite->module;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode != OPCODE_BITCAST || inst->flags & INST_DEAD || inst_is_root(module, id) ||
        !comp_is_sequential(graph, inst->parent))
      continue;
    InstId from = undone_bitcasts(module, id);
    if (from != NO_ID) rewrite_replace_all_uses(rewrite, id, from, scratch);
  }
}

void layouts_open(Rewrite *rewrite, Schedule *schedule, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(rewrite->module, arena, scratch);
  skip_bitcasts(rewrite, &graph, scratch);
  Loops loops = loops_find(rewrite->module, &graph, arena, scratch);
  for (uint32_t i = 0; i < loops.len; i++)
    open_loop(rewrite, &loops, &loops.list[i], schedule, out, scratch);
  dce_run(rewrite, scratch);
  arena_free(arena);
}
