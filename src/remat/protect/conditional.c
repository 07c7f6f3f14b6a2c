/* Protection by conditionals: a group of clones becomes the branch that is always taken.
 *
 * The predicate is `(x | 1) != 0`, where x is one element of an array that is computed just before
 * the group, so that the group cannot run earlier. It is true for every x. XLA folds comparisons of
 * an integer with itself, comparisons of unsigned and of non-negative numbers with 0, and
 * operations on constants, but it does not know which bits are set
 * (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc). JAX once used a random number; that
 * would be a side effect and would cost a generator. The verifier recognizes the predicate by its
 * form (remat/verify/number_module.c).
 *
 * The other branch returns zeros through an opt-barrier: XLA turns a conditional into selects if
 * both branches contain only elementwise operations and data movement
 * (xla/service/conditional_simplifier.cc). */
#include "analysis/memory/liveness.h"
#include "remat/protect/protect_internal.h"

/* Adds the only parameter of a branch. */
static InstId add_parameter(Rewrite *rewrite, CompId comp, ShapeId shape) {
  InstId param =
      rewrite_add_helper(rewrite, comp, (InstSpec){.opcode = OPCODE_PARAMETER, .shape = shape});
  comp_push_param(rewrite->module, comp, param);
  return param;
}

static CompId add_branch(Rewrite *rewrite, const char *name, CompId caller) {
  Module *module = rewrite->module;
  CompId branch = module_add_comp(
      module, name_unique(&rewrite->comp_names, str_make(name, strlen(name))), NO_ID);
  comp_get(module, branch)->thread = comp_get(module, caller)->thread;
  return branch;
}

static InstId add_op(Rewrite *rewrite, CompId comp, Opcode opcode, ShapeId shape,
                     const InstId *operands, uint32_t num_operands) {
  InstSpec spec = {
      .opcode = opcode, .shape = shape, .operands = operands, .num_operands = num_operands};
  return rewrite_add_helper(rewrite, comp, spec);
}

static InstId add_constant(Rewrite *rewrite, CompId comp, ElementType type, int64_t value) {
  ShapeId shape = rewrite_scalar(rewrite, type);
  return rewrite_add_helper(rewrite, comp,
                            (InstSpec){.opcode = OPCODE_CONSTANT, .shape = shape, .index = value});
}

/* ---- groups for which a conditional is possible ---- */

/* Marks values that must share memory with a value that is no clone. In a branch, they would use
 * that memory while the operands of the conditional are still live. */
static void mark_sharing(const Rewrite *rewrite, const ValueAnalysis *analysis, bool *is_unfit) {
  const HloValue *values = analysis->flow.values.data;
  const HloBuffers *buffers = &analysis->buffers;
  for (BufferId id = 0; id < buffers->num_buffers; id++) {
    uint32_t begin = buffers->first_value[id], end = buffers->first_value[id + 1];
    bool is_bound = false;
    for (uint32_t i = begin; i < end; i++)
      is_bound |= rewrite_value_source(rewrite, values[buffers->values[i]].inst) == NO_ID;
    for (uint32_t i = begin; is_bound && i < end; i++)
      is_unfit[values[buffers->values[i]].inst] = true;
  }
}

/* Marks the instructions of computations that run asynchronously. An asynchronous computation holds
 * its memory until it is done, so the results of both branches would be in the same place. */
static void mark_asynchronous(const Module *module, const CallGraph *graph, bool *is_unfit,
                              Arena *scratch) {
  bool *is_async = arena_zarray(scratch, bool, module->comps.len);
  for (uint32_t i = graph->num_reachable; i-- > 0;) { /* callers before callees */
    CompId comp = graph->post_order[i];
    IdSpan callers = callers_of(graph, comp);
    for (uint32_t k = 0; k < callers.len; k++) {
      const Instruction *caller = inst_get(module, callers.ids[k]);
      is_async[comp] |= is_async[caller->parent] || opcode_is_async((Opcode)caller->opcode);
    }
    for (uint32_t k = 0; is_async[comp] && k < comp_num_insts(module, comp); k++)
      is_unfit[comp_inst(module, comp, k)] = true;
  }
}

const bool *unfit_for_branches(const Rewrite *rewrite, Arena *out, Arena *scratch) {
  const Module *module = rewrite->module;
  bool *is_unfit = arena_zarray(out, bool, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    bool is_collective =
        opcode_info(opcode)->flags & OPF_COLLECTIVE || opcode == OPCODE_COLLECTIVE_PERMUTE;
    is_unfit[id] =
        is_collective || inst_has_control(module, id) || inst_keeps_operand_memory(module, id);
  }
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis analysis = value_analysis_build(module, arena, scratch);
  mark_sharing(rewrite, &analysis, is_unfit);
  mark_asynchronous(module, &analysis.graph, is_unfit, arena);
  arena_free(arena);
  return is_unfit;
}

static bool is_static_array(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return shape_is_array(shape) && !shape->has_dynamic;
}

/* Whether the predicate can be computed from the array's first element. */
static bool is_fit_for_predicate(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return is_static_array(module, id) && shape->num_elements > 0 &&
         type_info((ElementType)shape->type)->class != TYPE_CLASS_COMPLEX;
}

/* The array that the predicate is computed from: the tie, or else an operand of the group. */
static InstId find_witness(const ProtectJob *job) {
  const Module *module = job->rewrite->module;
  if (job->tie != NO_ID && is_fit_for_predicate(module, job->tie)) return job->tie;
  for (uint32_t i = job->group->operands.len; i-- > 0;) {
    InstId operand = job->group->operands.data[i];
    bool is_constant = inst_get(module, operand)->opcode == OPCODE_CONSTANT;
    if (!is_constant && is_fit_for_predicate(module, operand)) return operand;
  }
  return NO_ID;
}

/* Whether a member is a result of the branch. A cheap member stays outside for its users there,
 * because as a result it would need memory. */
static bool is_result(const ProtectJob *job, InstId member) {
  return clone_group_exports(job->groups, member) && !clone_group_is_cheap(job->groups, member);
}

/* Whether a member reuses the memory of an operand from outside of the group. XLA keeps the
 * operands of a conditional live until it ends, so this would need a copy. */
static bool overwrites_operand(const ProtectJob *job, InstId member) {
  const Module *module = job->rewrite->module;
  InPlacePairs pairs = {0};
  in_place_pairs(module, member, &pairs, job->scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    InstId operand = inst_operand(module, member, pairs.list.data[i].operand);
    if (!clone_group_has(job->groups, operand)) return true;
  }
  return false;
}

static bool is_fit(const ProtectJob *job) {
  const Module *module = job->rewrite->module;
  const CloneGroup *group = job->group;
  bool is_small = (uint64_t)group->operands.len + group->members.len < MAX_SHAPE_PARTS;
  if (!is_small || comp_get(module, group->comp)->flags & COMP_NESTED) return false;
  for (uint32_t i = 0; i < group->operands.len; i++) {
    if (!is_static_array(module, group->operands.data[i])) return false;
  }
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    if (overwrites_operand(job, id)) return false;
    if (!is_result(job, id)) continue;
    bool shares_memory = inst_get(module, id)->opcode == OPCODE_BITCAST;
    if (shares_memory || !is_static_array(module, id)) return false;
  }
  return true;
}

/* ---- the branches ---- */

static ShapeId tuple_of(Module *module, const IdVec *elements, Arena *scratch) {
  ShapeId *shapes = arena_array(scratch, ShapeId, elements->len);
  for (uint32_t i = 0; i < elements->len; i++)
    shapes[i] = inst_get(module, elements->data[i])->shape;
  return shape_tuple(&module->shapes, shapes, elements->len);
}

/* Builds the branch that recomputes the group and moves the group into it. `exported` are the
 * members outside that the branch's results replace. */
static CompId build_taken(ProtectJob *job, ShapeId operands, ShapeId results,
                          const IdVec *exported) {
  Rewrite *rewrite = job->rewrite;
  Module *module = rewrite->module;
  const CloneGroup *group = job->group;
  CompId branch = add_branch(rewrite, "recompute", group->comp);
  InstId *images = protect_images(job);
  InstId param = add_parameter(rewrite, branch, operands);
  for (uint32_t i = 0; i < group->operands.len; i++) {
    InstId element = rewrite_add_get_tuple_element(rewrite, param, i);
    images[group->operands.data[i]] = element;
  }
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    bool stays = clone_group_is_cheap(job->groups, id) && !clone_group_reads(job->groups, id);
    if (stays) continue;
    uint32_t num_operands = inst_get(module, id)->num_operands;
    InstId *read = arena_array(job->scratch, InstId, num_operands);
    for (uint32_t k = 0; k < num_operands; k++)
      read[k] = images[inst_operand(module, id, k)];
    images[id] = rewrite_move(rewrite, id, branch, read);
  }
  InstId *elements = arena_array(job->scratch, InstId, exported->len);
  for (uint32_t i = 0; i < exported->len; i++)
    elements[i] = images[exported->data[i]];
  comp_get(module, branch)->root =
      add_op(rewrite, branch, OPCODE_TUPLE, results, elements, exported->len);
  return branch;
}

/* Adds an array of zeros, or of ones for F8E8M0, which has no zero. */
static InstId add_zeros(Rewrite *rewrite, CompId comp, ShapeId shape) {
  const Shape *array = shape_get(&rewrite->module->shapes, shape);
  ElementType type = (ElementType)array->type;
  InstId zero = add_constant(rewrite, comp, type, type == TYPE_F8E8M0FNU);
  return array->rank ? add_op(rewrite, comp, OPCODE_BROADCAST, shape, &zero, 1) : zero;
}

/* Builds the branch that is never taken. Its operand `nothing` is an empty tuple, because operands
 * would be live until the conditional ends. */
static CompId build_other(ProtectJob *job, ShapeId nothing, ShapeId results) {
  Rewrite *rewrite = job->rewrite;
  Module *module = rewrite->module;
  CompId branch = add_branch(rewrite, "never", job->group->comp);
  add_parameter(rewrite, branch, nothing);
  const Shape *shape = shape_get(&module->shapes, results);
  InstId *zeros = arena_array(job->scratch, InstId, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    zeros[i] = add_zeros(rewrite, branch, shape->elements[i]);
  InstId tuple = add_op(rewrite, branch, OPCODE_TUPLE, results, zeros, shape->rank);
  comp_get(module, branch)->root = add_op(rewrite, branch, OPCODE_OPT_BARRIER, results, &tuple, 1);
  return branch;
}

/* ---- the conditional ---- */

/* The first element of an array, as a scalar. */
static InstId add_first_element(ProtectJob *job, InstId array) {
  Rewrite *rewrite = job->rewrite;
  Module *module = rewrite->module;
  CompId comp = job->group->comp;
  const Shape *shape = inst_shape(module, array);
  if (shape->rank == 0) return array;
  ArraySpec spec = shape_spec(shape);
  int64_t *ones = arena_array(job->scratch, int64_t, spec.rank);
  for (uint32_t i = 0; i < spec.rank; i++)
    ones[i] = 1;
  spec.dims = ones;
  ShapeId scalar = rewrite_scalar(rewrite, spec.type);
  InstId slice =
      add_op(rewrite, comp, OPCODE_SLICE, shape_array(&module->shapes, &spec), &array, 1);
  InstId element = add_op(rewrite, comp, OPCODE_RESHAPE, scalar, &slice, 1);
  protect_push(job, slice);
  protect_push(job, element);
  return element;
}

static InstId add_predicate(ProtectJob *job, InstId witness) {
  Rewrite *rewrite = job->rewrite;
  CompId comp = job->group->comp;
  InstId number = add_first_element(job, witness);
  ShapeId s32 = rewrite_scalar(rewrite, TYPE_S32);
  if (inst_shape(rewrite->module, number)->type != TYPE_S32) {
    number = add_op(rewrite, comp, OPCODE_CONVERT, s32, &number, 1);
    protect_push(job, number);
  }
  InstId one = add_constant(rewrite, comp, TYPE_S32, 1);
  InstId odd = add_op(rewrite, comp, OPCODE_OR, s32, (InstId[]){number, one}, 2);
  InstId zero = add_constant(rewrite, comp, TYPE_S32, 0);
  InstSpec spec = {.opcode = OPCODE_COMPARE,
                   .shape = rewrite_scalar(rewrite, TYPE_PRED),
                   .operands = (InstId[]){odd, zero},
                   .num_operands = 2,
                   .index = DIRECTION_NE};
  InstId predicate = rewrite_add_helper(rewrite, comp, spec);
  const InstId all[] = {one, odd, zero, predicate};
  for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
    protect_push(job, all[i]);
  return predicate;
}

/* Redirects the users of the group to elements of the conditional, and removes members that have no
 * users left. */
static void replace_group(ProtectJob *job, InstId conditional, const IdVec *exported) {
  Rewrite *rewrite = job->rewrite;
  for (uint32_t i = 0; i < exported->len; i++) {
    InstId element = rewrite_add_get_tuple_element(rewrite, conditional, i);
    protect_push(job, element);
    rewrite_replace_all_uses(rewrite, exported->data[i], element, job->scratch);
  }
  for (uint32_t i = job->group->members.len; i-- > 0;) {
    InstId id = job->group->members.data[i];
    bool is_read = inst_get(rewrite->module, id)->users.len || inst_is_root(rewrite->module, id);
    if (!is_read) module_remove_inst(rewrite->module, id);
  }
}

static InstId add_conditional(ProtectJob *job, InstId predicate, const IdVec *results) {
  Rewrite *rewrite = job->rewrite;
  Module *module = rewrite->module;
  const CloneGroup *group = job->group;
  ShapeId operand_shape = tuple_of(module, &group->operands, job->scratch);
  ShapeId result_shape = tuple_of(module, results, job->scratch);
  InstId tuple = add_op(rewrite, group->comp, OPCODE_TUPLE, operand_shape, group->operands.data,
                        group->operands.len);
  ShapeId nothing_shape = shape_tuple(&module->shapes, NULL, 0);
  InstId nothing = add_op(rewrite, group->comp, OPCODE_TUPLE, nothing_shape, NULL, 0);
  CompId branches[] = {build_taken(job, operand_shape, result_shape, results),
                       build_other(job, nothing_shape, result_shape)};
  InstSpec spec = {.opcode = OPCODE_CONDITIONAL,
                   .shape = result_shape,
                   .operands = (InstId[]){predicate, tuple, nothing},
                   .num_operands = 3,
                   .callees = branches,
                   .num_callees = 2};
  InstId conditional = rewrite_add_helper(rewrite, group->comp, spec);
  protect_push(job, tuple);
  protect_push(job, nothing);
  protect_push(job, conditional);
  return conditional;
}

bool protect_with_conditional(ProtectJob *job) {
  const CloneGroup *group = job->group;
  InstId witness = find_witness(job);
  if (witness == NO_ID || !is_fit(job)) return false;
  IdVec results = {0};
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    if (is_result(job, id)) *vec_push(job->scratch, &results) = id;
  }
  if (results.len == 0) return false;
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    bool stays = clone_group_is_cheap(job->groups, id) && clone_group_exports(job->groups, id);
    if (stays) protect_push(job, id);
  }
  InstId predicate = add_predicate(job, witness);
  replace_group(job, add_conditional(job, predicate, &results), &results);
  return true;
}
