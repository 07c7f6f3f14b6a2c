#include "analysis/range/range_facts.h"

#include "analysis/flow/traverse.h"

/* Limits for the callees of one instruction: evaluated instructions, characters of literals per
 * step, nesting. */
enum { MAX_STEPS = 1024, CHARS_OF_STEP = 64, MAX_DEPTH = 4 };

RangeFacts range_facts_begin(const Module *module, Arena *out, Arena *scratch) {
  return (RangeFacts){.module = module,
                      .orders = arena_zarray(out, Sequence, module->comps.len),
                      .place = arena_zarray(out, uint32_t, module->insts.len),
                      .visited = arena_array(out, uint32_t, module->insts.len),
                      .out = out,
                      .scratch = scratch};
}

Sequence range_facts_order(RangeFacts *facts, CompId comp) {
  if (!facts->orders[comp].ids) {
    Sequence order =
        inst_post_order(facts->module, comp, facts->visited, facts->out, facts->scratch);
    for (uint32_t i = 0; i < order.len; i++)
      facts->place[order.ids[i]] = i;
    facts->orders[comp] = order;
  }
  return facts->orders[comp];
}

static ValueRange range_of_shape(const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  return shape_is_array(shape) ? range_of_type((ElementType)shape->type) : UNKNOWN_RANGE;
}

static RangeFact nothing_of(const RangeFacts *facts, InstId id) {
  return (RangeFact){.range = range_of_shape(facts->module, inst_get(facts->module, id)->shape)};
}

static bool spend(RangeFacts *facts, uint32_t steps) {
  if (steps > facts->steps) return false;
  facts->steps -= steps;
  return true;
}

static RangeFact fact_of(RangeFacts *facts, InstId id, const RangeFact *operands, Arena *out);

/* ---- called computations ---- */

static RangeFact fact_of_root(RangeFacts *facts, Sequence order, InstId root,
                              const RangeFact *params, uint32_t num_params) {
  const Module *module = facts->module;
  RangeFact *values = arena_array(facts->scratch, RangeFact, order.len);
  for (uint32_t i = 0; i < order.len; i++) {
    InstId id = order.ids[i];
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_PARAMETER && inst->index >= 0 && inst->index < num_params) {
      values[i] = params[inst->index];
      continue;
    }
    RangeFact *operands = arena_array(facts->scratch, RangeFact, inst->num_operands);
    for (uint32_t k = 0; k < inst->num_operands; k++)
      operands[k] = values[facts->place[inst_operand(module, id, k)]];
    values[i] = fact_of(facts, id, operands, facts->scratch);
  }
  return values[facts->place[root]];
}

static RangeFact fact_of_body(RangeFacts *facts, CompId comp, const RangeFact *params,
                              uint32_t num_params, Arena *out) {
  InstId root = comp_get(facts->module, comp)->root;
  const Shape *shape = inst_shape(facts->module, root);
  Sequence order = range_facts_order(facts, comp);
  if (facts->depth == MAX_DEPTH || !spend(facts, order.len)) return nothing_of(facts, root);
  ValueRange *elements = shape_is_tuple(shape) ? arena_array(out, ValueRange, shape->rank) : NULL;
  ArenaMark mark = arena_mark(facts->scratch);
  facts->depth++;
  RangeFact result = fact_of_root(facts, order, root, params, num_params);
  facts->depth--;
  if (result.elements && shape->rank) {
    memcpy(elements, result.elements, shape->rank * sizeof *elements);
    result.elements = elements;
  }
  arena_reset(facts->scratch, mark);
  return result;
}

/* ---- reductions ---- */

/* If `init` is 0 and the function adds: a range that contains the sum of any subset of the
 * elements. */
static ValueRange range_of_sum(const RangeFacts *facts, InstId id, const RangeFact *operands) {
  const Module *module = facts->module;
  CompId comp = inst_callees(module, id)[0];
  InstId root = comp_get(module, comp)->root;
  int64_t from = inst_shape(module, inst_operand(module, id, 0))->num_elements;
  int64_t to = inst_shape(module, id)->num_elements;
  ValueRange of = operands[0].range, init = operands[1].range;
  if (inst_get(module, root)->opcode != OPCODE_ADD || comp_get(module, comp)->params.len != 2 ||
      inst_operand(module, root, 0) == inst_operand(module, root, 1) || from < 0 || to <= 0 ||
      init.low != 0 || init.high != 0 || !range_is_known(of)) {
    return UNKNOWN_RANGE;
  }
  for (uint32_t i = 0; i < 2; i++) {
    if (inst_get(module, inst_operand(module, root, i))->opcode != OPCODE_PARAMETER) {
      return UNKNOWN_RANGE;
    }
  }
  ValueRange sum;
  bool fits = mul_bytes(of.low < 0 ? of.low : 0, from / to, &sum.low) &&
              mul_bytes(of.high > 0 ? of.high : 0, from / to, &sum.high);
  return fits ? sum : UNKNOWN_RANGE;
}

/* If the function, applied to values in the range of the elements and the initial values, returns
 * values in that range, then the result is in it, too, in whatever order the elements are reduced.
 * This covers maxima, minima, and arguments of maxima. */
static RangeFact fact_of_reduction(RangeFacts *facts, InstId id, const RangeFact *operands,
                                   Arena *out) {
  const Module *module = facts->module;
  uint32_t count = inst_get(module, id)->num_operands / 2;
  if (count == 0 || inst_get(module, id)->num_callees == 0) return nothing_of(facts, id);
  const Shape *shape = inst_shape(module, id);
  const Shape *root = inst_shape(module, comp_get(module, inst_callees(module, id)[0])->root);
  bool is_tuple = shape_is_tuple(shape);
  bool fits = is_tuple ? shape_is_tuple(root) && shape->rank == count && root->rank == count
                       : count == 1; /* shapes may be wrong */
  if (!fits) return nothing_of(facts, id);
  ValueRange *ranges = arena_array(out, ValueRange, count);
  ArenaMark mark = arena_mark(facts->scratch);
  RangeFact *params = arena_zarray(facts->scratch, RangeFact, 2 * (size_t)count);
  for (uint32_t i = 0; i < count; i++) {
    ranges[i] = range_join(operands[i].range, operands[count + i].range);
    params[i].range = params[count + i].range = ranges[i];
  }
  RangeFact made =
      fact_of_body(facts, inst_callees(module, id)[0], params, 2 * count, facts->scratch);
  bool is_closed = !is_tuple || made.elements;
  for (uint32_t i = 0; i < count && is_closed; i++)
    is_closed = range_contains(ranges[i], is_tuple ? made.elements[i] : made.range);
  arena_reset(facts->scratch, mark);
  if (is_closed) return is_tuple ? (RangeFact){.elements = ranges} : (RangeFact){.range = *ranges};
  if (is_tuple || inst_get(module, id)->opcode != OPCODE_REDUCE) return nothing_of(facts, id);
  return (RangeFact){.range = range_of_sum(facts, id, operands)};
}

/* ---- one instruction ---- */

/* The fact about a tuple with these elements, unless its shape, which may be wrong, has another
 * number of them. */
static RangeFact fact_of_elements(const Module *module, InstId id, const RangeFact *operands,
                                  uint32_t count, Arena *out) {
  if (inst_shape(module, id)->rank != count) return (RangeFact){.range = UNKNOWN_RANGE};
  ValueRange *elements = arena_array(out, ValueRange, count);
  for (uint32_t i = 0; i < count; i++)
    elements[i] = operands[i].range;
  return (RangeFact){.range = UNKNOWN_RANGE, .elements = elements};
}

/* topk returns the largest elements of the last dimension, and their indices. */
static RangeFact fact_of_topk(const Module *module, InstId id, const RangeFact *operands,
                              Arena *out) {
  const Shape *of = inst_shape(module, inst_operand(module, id, 0));
  int64_t size = of->rank ? of->dims[of->rank - 1] : 0;
  RangeFact parts[2] = {operands[0], {.range = UNKNOWN_RANGE}};
  if (size > 0) parts[1].range = (ValueRange){0, size - 1};
  return fact_of_elements(module, id, parts, 2, out);
}

static RangeFact fact_of_operation(RangeFacts *facts, InstId id, const RangeFact *operands) {
  const Module *module = facts->module;
  uint32_t count = inst_get(module, id)->num_operands;
  ArenaMark mark = arena_mark(facts->scratch);
  ValueRange *ranges = arena_array(facts->scratch, ValueRange, count);
  for (uint32_t i = 0; i < count; i++)
    ranges[i] = operands[i].range;
  RangeFact fact = {.range = range_of_operation(module, id, ranges)};
  arena_reset(facts->scratch, mark);
  return fact;
}

static RangeFact fact_of_element(const Module *module, InstId id, RangeFact tuple) {
  int64_t index = inst_get(module, id)->index;
  return (RangeFact){.range = tuple.elements ? tuple.elements[index] : UNKNOWN_RANGE};
}

/* The length of a constant's text in steps. */
static uint32_t literal_steps(const Module *module, InstId id) {
  InstId origin = inst_get(module, id)->origin;
  if (origin >= module->source->insts.len) return 0;
  const InstSource *source = &module->source->insts.data[origin];
  return (source->close - source->paren) / CHARS_OF_STEP;
}

static RangeFact raw_fact_of(RangeFacts *facts, InstId id, const RangeFact *operands, Arena *out) {
  const Module *module = facts->module;
  const Instruction *inst = inst_get(module, id);
  bool is_tuple = shape_is_tuple(inst_shape(module, id));
  switch (inst->opcode) {
    case OPCODE_CALL:
    case OPCODE_FUSION:
      return fact_of_body(facts, inst_callees(module, id)[0], operands, inst->num_operands, out);
    case OPCODE_CONSTANT:
      if (is_tuple || !spend(facts, literal_steps(module, id))) return nothing_of(facts, id);
      return fact_of_operation(facts, id, operands);
    case OPCODE_GET_TUPLE_ELEMENT: return fact_of_element(module, id, operands[0]);
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW: return fact_of_reduction(facts, id, operands, out);
    case OPCODE_TOPK: return fact_of_topk(module, id, operands, out);
    case OPCODE_TUPLE: return fact_of_elements(module, id, operands, inst->num_operands, out);
    case OPCODE_SORT:
      if (is_tuple) return fact_of_elements(module, id, operands, inst->num_operands, out);
      return fact_of_operation(facts, id, operands);
    case OPCODE_OPT_BARRIER: return operands[0];
    default: return is_tuple ? nothing_of(facts, id) : fact_of_operation(facts, id, operands);
  }
}

/* Limits every fact to what the shape's type allows. */
static RangeFact fact_of(RangeFacts *facts, InstId id, const RangeFact *operands, Arena *out) {
  const Shape *shape = inst_shape(facts->module, id);
  if (shape->has_dynamic) return nothing_of(facts, id);
  RangeFact fact = raw_fact_of(facts, id, operands, out);
  bool is_array = shape_is_array(shape);
  fact.range = is_array ? range_fit((ElementType)shape->type, fact.range) : UNKNOWN_RANGE;
  return fact;
}

RangeFact range_fact_of(RangeFacts *facts, InstId id, const RangeFact *operands) {
  facts->steps = MAX_STEPS;
  facts->depth = 0;
  return fact_of(facts, id, operands, facts->out);
}
