/* Asynchronous forms of other opcodes. For example,
 *
 *   s = ((f32[], f32[]), f32[]) add-start(a, b)
 *   r = f32[] add-done(s)
 *
 * is short for an async-start that calls a computation with one add of its parameters, and an
 * async-done; there is also `add-update`. The computation has no text. Source:
 * HloParserImpl::CreateAsyncWrappedComputation, UpdateAsyncWrappedComputation. */
#include "text/parser.h"

bool parse_async_check_shape(Parser *parser, ShapeId id, uint32_t place) {
  const Shape *shape = shape_get(&parser->module->shapes, id);
  if (shape_is_tuple(shape) && shape->rank >= 2 &&
      shape_is_tuple(shape_get(&parser->module->shapes, shape->elements[0]))) {
    return true;
  }
  return parse_fail(parser, place,
                    "the shape of an async start is ((operand shapes…), result shape, …)");
}

/* Adds a parameter to the open computation. */
static InstId add_param(Parser *parser, uint32_t index, ShapeId shape) {
  char *name = arena_printf(parser->arena, index ? "async_param.%u" : "async_param", index);
  return parser_add_inst(parser, &(NewInst){.name = str_make(name, strlen(name)),
                                            .opcode = OPCODE_PARAMETER,
                                            .shape = shape,
                                            .index = index,
                                            .flags = INST_IMPLIED});
}

/* ---- the start ---- */

/* Returns the computation that a wrapped call or fusion calls. It defines the parameters, however
 * many operands are bound already. */
static CompId called_by(const Parser *parser, Opcode wrapped, const NewInst *start) {
  bool has_one = wrapped == OPCODE_CALL || wrapped == OPCODE_FUSION;
  return has_one ? parser->callees.data[start->first_callee] : NO_ID;
}

/* Returns the shape of a parameter: the one in the shape of the start if that operand is bound, or
 * else the one in the called computation. Without either it is an arbitrary shape. */
static ShapeId param_shape(Parser *parser, ShapeId bound, CompId called, uint32_t index) {
  Module *module = parser->module;
  const Shape *params = shape_get(&module->shapes, bound);
  if (index < params->rank) return params->elements[index];
  if (called != NO_ID) {
    return inst_get(module, id_list(module, comp_get(module, called)->params)[index])->shape;
  }
  return shape_array(&module->shapes,
                     &(ArraySpec){.type = TYPE_F32, .rank = 1, .dims = (int64_t[]){1}});
}

/* HloOpcodeArity. It is 2 for dot, although the parser accepts more operands (sparsity
 * metadata). */
static int arity_of(Opcode opcode) {
  return opcode == OPCODE_DOT ? 2 : opcode_info(opcode)->arity;
}

/* Adds at least as many parameters as the opcode needs, and pushes them as operands. */
static uint32_t add_params(Parser *parser, Opcode wrapped, ShapeId bound, const NewInst *start) {
  int arity = arity_of(wrapped);
  uint32_t num_params = shape_get(&parser->module->shapes, bound)->rank;
  if (arity > 0 && (uint32_t)arity > num_params) num_params = (uint32_t)arity;
  CompId called = called_by(parser, wrapped, start);
  uint32_t num_called = called == NO_ID ? 0 : comp_get(parser->module, called)->params.len;
  if (num_called > num_params) num_params = num_called;
  for (uint32_t i = 0; i < num_params; i++) {
    InstId param = add_param(parser, i, param_shape(parser, bound, called, i));
    parser_push_operand(parser, param, 0);
  }
  return num_params;
}

bool parse_async_wrapper(Parser *parser, const OpcodeText *op, const NewInst *start,
                         CompId *wrapper) {
  const Shape *state = shape_get(&parser->module->shapes, start->shape);
  ShapeId bound = state->elements[0], result = state->elements[1];
  OpenComp open = parser_open_comp(parser, STR("async_wrapped"), COMP_IMPLIED);
  uint32_t first = parser->operands.len;
  uint32_t num_params = add_params(parser, op->wrapped, bound, start);
  NewInst root = *start; /* the root has the attributes of the start */
  root.name = STR("async_op");
  root.opcode = op->wrapped;
  root.shape = result;
  root.num_operands = num_params;
  root.flags |= INST_IMPLIED;
  root.source = (InstSource){.attrs = start->source.attrs, .num_attrs = start->source.num_attrs};
  Candidate candidate = {.opcode = op->wrapped,
                         .has_shape = true,
                         .shape = result,
                         .operands = parser->operands.data + first,
                         .num_operands = num_params,
                         .attrs = parser->source->attrs.data + start->source.attrs,
                         .num_attrs = start->source.num_attrs,
                         .callees = parser->callees.data + start->first_callee,
                         .num_callees = start->num_callees,
                         .wrapped = NUM_OPCODES,
                         .is_implied = true,
                         .offset = op->place};
  if (!parse_check_opcode(parser, &candidate)) {
    /* This makes the error final: what was added cannot be removed, so no operand may be
     * dropped. */
    parser->depth = MAX_NESTING + 1;
    return false;
  }
  InstId id = parser_add_inst(parser, &root);
  *wrapper = open.id;
  return parser_close_comp(parser, open, id);
}

/* ---- instructions that continue the start ---- */

InstId parse_async_start_of(const Parser *parser, InstId id) {
  switch (inst_get(parser->module, id)->opcode) {
    case OPCODE_ASYNC_START: return id;
    case OPCODE_ASYNC_UPDATE: return parser->async_starts.data[id];
    default: return NO_ID;
  }
}

void parse_async_note_update(Parser *parser, InstId id) {
  while (parser->async_starts.len <= id) {
    *vec_push(parser->tables, &parser->async_starts) = NO_ID;
  }
  if (inst_get(parser->module, id)->num_operands == 0) return;
  InstId operand = inst_operand(parser->module, id, 0);
  parser->async_starts.data[id] = parse_async_start_of(parser, operand);
}

/* Adds an operand to an instruction that was added before. */
static void append_operand(Parser *parser, InstId id, InstId operand) {
  Module *module = parser->module;
  uint32_t count = inst_get(module, id)->num_operands;
  uint32_t begin = module->ids.len, offsets = parser->source->operand_offsets.len;
  uint32_t *room = vec_extend(parser->arena, &module->ids, count + 1);
  memcpy(room, inst_operands(module, id), count * sizeof *room);
  room[count] = operand;
  room = vec_extend(parser->arena, &parser->source->operand_offsets, count + 1);
  memset(room, 0, (count + 1) * sizeof *room);
  inst_get(module, id)->operands = begin;
  inst_get(module, id)->num_operands = count + 1;
  parser->source->insts.data[id].operand_offsets = offsets;
}

/* Adds a parameter to an implied computation that is closed. It is added before the root, which
 * reads it. */
static void append_param(Parser *parser, CompId wrapper, uint32_t index, ShapeId shape) {
  Module *module = parser->module;
  CompId outer = parser->comp;
  parser->comp = wrapper;
  InstId param = add_param(parser, index, shape);
  parser->comp = outer;
  parser->comp_insts.len--;
  Computation *comp = comp_get(module, wrapper);
  IdList insts = comp->insts, params = comp->params;
  id_list_push(module, &insts, comp->root);
  module->ids.data[insts.begin + insts.len - 2] = param;
  id_list_push(module, &params, param);
  comp = comp_get(module, wrapper);
  comp->insts = insts;
  comp->params = params;
  append_operand(parser, comp->root, param);
}

static void set_shape(Module *module, InstId id, ShapeId shape) {
  Instruction *inst = inst_get(module, id);
  if (!shape_compatible(&module->shapes, inst->shape, shape)) inst->shape = shape;
}

bool parse_async_follow(Parser *parser, const Candidate *candidate) {
  Module *module = parser->module;
  InstId start = parse_async_start_of(parser, candidate->operands[0]);
  if (start == NO_ID) return true;
  CompId wrapper = inst_callees(module, start)[0];
  if (!(comp_get(module, wrapper)->flags & COMP_IMPLIED)) return true;
  bool is_done = candidate->opcode == OPCODE_ASYNC_DONE;
  ShapeId state = is_done ? inst_get(module, start)->shape : candidate->shape;
  const Shape *parts = shape_get(&module->shapes, state);
  const Shape *bound = shape_get(&module->shapes, parts->elements[0]);
  ShapeId result = is_done ? candidate->shape : parts->elements[1];
  for (uint32_t i = 0; i < bound->rank; i++) {
    if (i < comp_get(module, wrapper)->params.len) {
      set_shape(module, id_list(module, comp_get(module, wrapper)->params)[i], bound->elements[i]);
    } else {
      append_param(parser, wrapper, i, bound->elements[i]);
    }
  }
  set_shape(module, comp_get(module, wrapper)->root, result);
  return true;
}
