#include "analysis/flow/points_to.h"

#include "analysis/flow/alias.h"
#include "analysis/flow/traverse.h"

typedef struct Builder {
  const Module *module;
  PointsTo *points_to;
  Arena *out;
  Arena *scratch;
  ShapeId *part_shapes; /* of the current instruction */
  uint32_t *part_depths;
} Builder;

static void list_parts(Builder *builder, ShapeId shape) {
  const ShapeTable *shapes = &builder->module->shapes;
  uint32_t num_parts = shape_get(shapes, shape)->num_parts;
  builder->part_shapes = arena_array(builder->scratch, ShapeId, num_parts);
  builder->part_depths = arena_array(builder->scratch, uint32_t, num_parts);
  shape_list_parts(shapes, shape, builder->part_shapes);
  builder->part_depths[0] = 0;
  for (uint32_t part = 0; part < num_parts; part++) {
    const Shape *tuple = shape_get(shapes, builder->part_shapes[part]);
    for (uint32_t i = 0; shape_is_tuple(tuple) && i < tuple->rank; i++) {
      builder->part_depths[part + tuple->element_offsets[i]] = builder->part_depths[part] + 1;
    }
  }
}

static LogicalId define(Builder *builder, InstId id, uint32_t part, ShapeId shape, uint32_t depth) {
  PointsTo *points_to = builder->points_to;
  LogicalId buffer = points_to->buffers.len;
  *vec_push(builder->out, &points_to->buffers) = (LogicalBuffer){
      .inst = id,
      .part = part,
      .depth = depth,
      .shape = shape,
      .bytes = target_plain_device_bytes(builder->module->backend.target,
                                         shape_get(&builder->module->shapes, shape))};
  points_to->num_defined[id]++;
  return buffer;
}

/* Reserves the parts of `id`, which are still to be set. */
static LogicalId *add_parts(Builder *builder, InstId id, uint32_t num_parts) {
  PointsTo *points_to = builder->points_to;
  points_to->first_part[id] = points_to->parts.len;
  LogicalId *parts = vec_extend(builder->out, &points_to->parts, num_parts);
  memset(parts, 0xff, num_parts * sizeof *parts);
  return parts;
}

/* Sets `count` parts, beginning with `to`, to the operand's parts beginning with `from`. */
static void forward(Builder *builder, LogicalId *parts, uint32_t to, InstId operand, uint32_t from,
                    uint32_t count) {
  const LogicalId *source =
      builder->points_to->parts.data + builder->points_to->first_part[operand] + from;
  memcpy(parts + to, source, count * sizeof *parts);
}

static uint32_t num_parts_of(const Builder *builder, InstId id) {
  return inst_shape(builder->module, id)->num_parts;
}

/* The result's parts are the operand's parts beginning with `from`, so they need no list of their
 * own. */
static void share(Builder *builder, InstId id, InstId operand, uint32_t from) {
  builder->points_to->first_part[id] = builder->points_to->first_part[operand] + from;
}

static void forward_tuple(Builder *builder, InstId id, LogicalId *parts) {
  const Shape *shape = inst_shape(builder->module, id);
  for (uint32_t i = 0; i < inst_get(builder->module, id)->num_operands; i++) {
    InstId operand = inst_operand(builder->module, id, i);
    forward(builder, parts, shape->element_offsets[i], operand, 0, num_parts_of(builder, operand));
  }
}

/* Forwards the operands that output_to_operand_aliasing lists to their outputs. */
static void forward_aliases(Builder *builder, InstId id, LogicalId *parts) {
  ArenaMark mark = arena_mark(builder->scratch);
  InPlacePairs pairs = {0};
  annotated_alias_pairs(builder->module, id, &pairs, builder->scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    InPlacePair pair = pairs.list.data[i];
    InstId operand = inst_operand(builder->module, id, pair.operand);
    forward(builder, parts, pair.output_part, operand, pair.operand_part, 1);
  }
  arena_reset(builder->scratch, mark);
}

/* Part {0,i,…} of an async-start is operand i. */
static void forward_async_operands(Builder *builder, InstId id, LogicalId *parts) {
  const Module *module = builder->module;
  const Shape *shape = inst_shape(module, id);
  const Shape *params = shape_get(&module->shapes, shape->elements[0]);
  uint32_t base = shape->element_offsets[0];
  for (uint32_t i = 0; i < params->rank && i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    forward(builder, parts, base + params->element_offsets[i], operand, 0,
            num_parts_of(builder, operand));
  }
}

/* Part {0} of an async-update that brings operands has those that its operand 0 has, and then
 * these.
 */
static void forward_bound(Builder *builder, InstId id, LogicalId *parts) {
  const Module *module = builder->module;
  InstId before = inst_operand(module, id, 0);
  const Shape *shape = inst_shape(module, id), *from = inst_shape(module, before);
  const Shape *params = shape_get(&module->shapes, shape->elements[0]);
  const Shape *bound = shape_get(&module->shapes, from->elements[0]);
  uint32_t num_operands = inst_get(module, id)->num_operands;
  for (uint32_t i = 0; shape_is_tuple(bound) && i < params->rank; i++) {
    uint32_t to = shape->element_offsets[0] + params->element_offsets[i];
    uint32_t count = shape_get(&module->shapes, params->elements[i])->num_parts;
    uint32_t own = i - bound->rank + 1;
    if (i < bound->rank && bound->elements[i] == params->elements[i]) {
      forward(builder, parts, to, before, from->element_offsets[0] + bound->element_offsets[i],
              count);
    } else if (i >= bound->rank && own < num_operands &&
               num_parts_of(builder, inst_operand(module, id, own)) == count) {
      forward(builder, parts, to, inst_operand(module, id, own), 0, count);
    }
  }
}

/* An async-update forwards the inputs and the result of its operation if their shapes are the
 * same. */
static void forward_async_update(Builder *builder, InstId id, LogicalId *parts) {
  const Module *module = builder->module;
  InstId before = inst_operand(module, id, 0);
  const Shape *shape = inst_shape(module, id), *from = inst_shape(module, before);
  for (uint32_t element = 0; element < 2; element++) {
    if (shape->elements[element] != from->elements[element]) continue;
    /* The tables of pointers at {0} and {1} are forwarded, too; only {} and the contexts are new.
     */
    forward(builder, parts, shape->element_offsets[element], before, from->element_offsets[element],
            shape_get(&module->shapes, shape->elements[element])->num_parts);
  }
  if (shape->elements[0] != from->elements[0]) forward_bound(builder, id, parts);
}

/* Forwards an instruction whose result consists of parts of an operand; false for other
 * instructions. */
static bool visit_alias(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t part = shared_operand_part(module, id);
  if (inst->opcode == OPCODE_ASYNC_DONE) {
    const Shape *state = inst_shape(module, inst_operand(module, id, 0));
    bool is_result = shape_compatible(&module->shapes, state->elements[1], inst->shape);
    if (is_result) part = state->element_offsets[1];
  }
  if (part != NO_ID) share(builder, id, inst_operand(module, id, 0), part);
  return part != NO_ID;
}

static void forward_known_parts(Builder *builder, InstId id, LogicalId *parts) {
  const Module *module = builder->module;
  const Shape *shape = inst_shape(module, id);
  switch (inst_get(module, id)->opcode) {
    case OPCODE_TUPLE: forward_tuple(builder, id, parts); break;
    case OPCODE_COPY: /* shallow */
      forward(builder, parts, 1, inst_operand(module, id, 0), 1, shape->num_parts - 1);
      break;
    case OPCODE_FUSION: forward_aliases(builder, id, parts); break;
    case OPCODE_COPY_START:
      forward(builder, parts, shape->element_offsets[1], inst_operand(module, id, 0), 0, 1);
      break;
    case OPCODE_SEND:
      forward(builder, parts, 1, inst_operand(module, id, 0), 0,
              num_parts_of(builder, inst_operand(module, id, 0)));
      break;
    case OPCODE_RECV_DONE:
      forward(builder, parts, 1, inst_operand(module, id, 0), 1,
              shape_get(&module->shapes, shape->elements[0])->num_parts);
      break;
    case OPCODE_ASYNC_START:
      forward_async_operands(builder, id, parts);
      forward_aliases(builder, id, parts);
      break;
    case OPCODE_ASYNC_UPDATE: forward_async_update(builder, id, parts); break;
    default: break;
  }
}

static void visit_inst(Builder *builder, InstId id) {
  builder->points_to->first_buffer[id] = builder->points_to->buffers.len;
  if (visit_alias(builder, id)) return;
  uint32_t num_parts = num_parts_of(builder, id);
  LogicalId *parts = add_parts(builder, id, num_parts);
  forward_known_parts(builder, id, parts);
  ShapeId shape = inst_get(builder->module, id)->shape;
  if (num_parts == 1) {
    if (*parts == NO_ID) *parts = define(builder, id, 0, shape, 0);
    return;
  }
  ArenaMark mark = arena_mark(builder->scratch);
  list_parts(builder, shape);
  for (uint32_t part = 0; part < num_parts; part++) {
    if (parts[part] != NO_ID) continue;
    parts[part] = define(builder, id, part, builder->part_shapes[part], builder->part_depths[part]);
  }
  arena_reset(builder->scratch, mark);
}

static void build_aliases(Builder *builder) {
  const Module *module = builder->module;
  PointsTo *points_to = builder->points_to;
  uint32_t num_buffers = points_to->buffers.len, total = 0;
  points_to->first_alias = arena_zarray(builder->out, uint32_t, num_buffers + 1);
  for (int pass = 0; pass < 2; pass++) {
    uint32_t *next = points_to->first_alias;
    if (pass == 1) {
      for (LogicalId b = 0; b < num_buffers; b++)
        next[b + 1] += next[b];
      points_to->aliases = arena_array(builder->out, BufferAlias, total);
      next = arena_array(builder->scratch, uint32_t, num_buffers + 1);
      memcpy(next, points_to->first_alias, num_buffers * sizeof *next);
    }
    for (InstId id = 0; id < module->insts.len; id++) {
      if (points_to->first_part[id] == NO_ID) continue;
      uint32_t num_parts = num_parts_of(builder, id);
      for (uint32_t part = 0; part < num_parts; part++) {
        LogicalId buffer = points_to_part(points_to, id, part);
        if (pass == 0) {
          next[buffer + 1]++;
          total++;
        } else {
          points_to->aliases[next[buffer]++] = (BufferAlias){id, part};
        }
      }
    }
  }
}

PointsTo points_to_build(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  PointsTo points_to = {.first_part = arena_array(out, uint32_t, num_insts),
                        .first_buffer = arena_array(out, LogicalId, num_insts),
                        .num_defined = arena_zarray(out, uint32_t, num_insts)};
  memset(points_to.first_part, 0xff, num_insts * sizeof *points_to.first_part);
  /* Most results have one part, which is a new buffer. */
  vec_reserve(out, &points_to.buffers, num_insts);
  vec_reserve(out, &points_to.parts, num_insts);
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {.module = module, .points_to = &points_to, .out = out, .scratch = scratch};
  uint32_t *visited = arena_array(scratch, uint32_t, num_insts);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (comp_get(module, comp)->flags & COMP_DEAD) continue;
    ArenaMark comp_mark = arena_mark(scratch);
    Sequence order = inst_post_order(module, comp, visited, scratch, scratch);
    for (uint32_t i = 0; i < order.len; i++) {
      if (i + FETCH_AHEAD < order.len) inst_prefetch(module, order.ids[i + FETCH_AHEAD]);
      visit_inst(&builder, order.ids[i]);
    }
    arena_reset(scratch, comp_mark);
  }
  build_aliases(&builder);
  arena_reset(scratch, mark);
  return points_to;
}

/* Whether a buffer that a fused parameter defines is read inside the fusion. A nested fusion counts
 * as a read and is not followed. */
static bool is_read_inside(const Module *module, const PointsTo *points_to, InstId param,
                           uint32_t part) {
  LogicalId buffer = points_to_part(points_to, param, part);
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    IdList users = inst_get(module, alias.inst)->users;
    for (uint32_t k = 0; k < users.len; k++) {
      const Instruction *user = inst_get(module, id_list(module, users)[k]);
      /* A fusion inside a fusion does not occur after XLA's fusion passes; it counts as a read. */
      if (user->opcode == OPCODE_GET_TUPLE_ELEMENT && alias.part != 0) continue;
      return true;
    }
  }
  return false;
}

bool points_to_is_unused_by(const Module *module, const PointsTo *points_to, InstId operand,
                            uint32_t part, InstId user) {
  const Instruction *inst = inst_get(module, user);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && part != 0) return true;
  if (inst->opcode != OPCODE_FUSION ||
      inst_attr_int(module, user, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_LOOP) {
    return false;
  }
  const Computation *fused = comp_get(module, inst_callees(module, user)[0]);
  for (uint32_t i = 0; i < inst->num_operands && i < fused->params.len; i++) {
    if (inst_operand(module, user, i) != operand) continue;
    return !is_read_inside(module, points_to, id_list(module, fused->params)[i], part);
  }
  return false;
}
