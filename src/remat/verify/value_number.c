#include "remat/verify/value_number.h"

Numbering numbering_make(Arena *out) {
  Numbering numbering = {.arena = out};
  shape_table_init(&numbering.shapes, out);
  numbering.integer = shape_scalar(&numbering.shapes, TYPE_S64);
  return numbering;
}

ShapeId *numbering_import_shapes(Numbering *numbering, const Module *module, Arena *out) {
  uint32_t num_shapes = module->shapes.shapes.len;
  ShapeId *imported = arena_array(out, ShapeId, num_shapes);
  for (ShapeId id = 0; id < num_shapes; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    if (!shape_is_tuple(shape)) {
      ArraySpec spec = shape_spec(shape);
      imported[id] = shape_array(&numbering->shapes, &spec);
      continue;
    }
    ShapeId *elements = arena_array(out, ShapeId, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++)
      elements[i] = imported[shape->elements[i]];
    imported[id] = shape_tuple(&numbering->shapes, elements, shape->rank);
  }
  return imported;
}

ShapeId converted_part_shape(Numbering *numbering, const Shape *array, const Shape *part) {
  bool is_known = shape_is_array(array) && shape_is_array(part) && array->rank == part->rank &&
                  !array->has_dynamic && !part->has_dynamic;
  if (!is_known || array->type == part->type) return NO_ID;
  ArraySpec spec = shape_spec(array);
  spec.dims = part->dims;
  return shape_array(&numbering->shapes, &spec);
}

InstId before_layout_copies(const Module *module, InstId id) {
  while (inst_copies_layout(module, id))
    id = inst_operand(module, id, 0);
  return id;
}

ShapeId copied_part_shape(Numbering *numbering, const Module *module, InstId array,
                          const Shape *part) {
  InstId first = before_layout_copies(module, array);
  if (first == array) return NO_ID;
  ArraySpec spec = shape_spec(inst_shape(module, first));
  bool is_known = shape_is_array(part) && part->type == spec.type && part->rank == spec.rank &&
                  !part->has_dynamic;
  if (!is_known) return NO_ID;
  spec.dims = part->dims;
  return shape_array(&numbering->shapes, &spec);
}

uint32_t number_text(Numbering *numbering, Str text) {
  uint64_t hash = hash_str(text);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&numbering->text_table, hash); id_probe_next(&probe, &id);) {
    if (str_equal(numbering->texts.data[id], text)) return id;
  }
  id = numbering->texts.len;
  *vec_push(numbering->arena, &numbering->texts) =
      (Str){arena_strndup(numbering->arena, text.data, text.len), text.len};
  id_table_add(&numbering->text_table, numbering->arena, hash, id);
  return id;
}

uint32_t node_num_values(const Node *node) {
  switch (node->kind) {
    case NODE_PARAMETER:
    case NODE_STATE:
    case NODE_TIME:
    case NODE_OUTER: return 0;
    case NODE_TAGGED: return 1;
    case NODE_LINEAR: return (node->num_args - 2) / 3; /* ORDER number_linear */
    default: return node->num_args;
  }
}

uint32_t node_value_arg(const Node *node, uint32_t index) {
  return node->kind == NODE_LINEAR ? 2 + 3 * index : index;
}

/* Sets what the node depends on. Functions and systems are closed. */
static void set_dependence(const Numbering *numbering, Node *node, const ValueNumber *args) {
  switch (node->kind) {
    case NODE_PARAMETER: node->flags = NODE_HAS_PARAMETER; return;
    case NODE_OUTER: node->flags = NODE_HAS_FORMAL; return;
    case NODE_FUNCTION:
    case NODE_SYSTEM: return;
    case NODE_STATE:
    case NODE_TIME:
      node->depth = (uint16_t)args[0];
      if (args[0] == 0) node->flags = NODE_HAS_FORMAL;
      if (args[0] == 0 && node->kind == NODE_TIME) node->flags |= NODE_HAS_TIME;
      return;
    default: break;
  }
  uint32_t count = node_num_values(node);
  for (uint32_t i = 0; i < count; i++) {
    const Node *arg = numbered_node(numbering, args[node_value_arg(node, i)]);
    node->flags |= arg->flags;
    if (arg->depth > node->depth) node->depth = arg->depth;
  }
}

static bool is_node(const Numbering *numbering, ValueNumber id, const Node *node,
                    const ValueNumber *args) {
  const Node *other = &numbering->nodes.data[id];
  return other->kind == node->kind && other->shape == node->shape &&
         other->detail == node->detail && other->num_args == node->num_args &&
         (node->num_args == 0 ||
          memcmp(node_args(numbering, id), args, node->num_args * sizeof *args) == 0);
}

static ValueNumber find_or_add(Numbering *numbering, const Node *node, const ValueNumber *args) {
  uint64_t hash = hash_mix(HASH_SEED, (uint64_t)node->kind << 32 | node->shape);
  hash = hash_mix(hash, (uint64_t)node->detail << 32 | node->num_args);
  for (uint32_t i = 0; i < node->num_args; i++)
    hash = hash_mix(hash, args[i]);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&numbering->table, hash); id_probe_next(&probe, &id);) {
    if (is_node(numbering, id, node, args)) return id;
  }
  id = numbering->nodes.len;
  Node *added = vec_push(numbering->arena, &numbering->nodes);
  *added = *node;
  set_dependence(numbering, added, args);
  added->args = numbering->args.len;
  ValueNumber *room = vec_extend(numbering->arena, &numbering->args, node->num_args);
  if (node->num_args) memcpy(room, args, node->num_args * sizeof *args);
  id_table_add(&numbering->table, numbering->arena, hash, id);
  return id;
}

/* The nodes of the second module mostly come in the order in which those of the first did: the next
 * one is there without a lookup, which in a large table is a wait for memory. */
static ValueNumber number_node(Numbering *numbering, const Node *node, const ValueNumber *args) {
  ValueNumber expected = numbering->expected;
  bool is_next = expected < numbering->nodes.len && is_node(numbering, expected, node, args);
  ValueNumber id = is_next ? expected : find_or_add(numbering, node, args);
  numbering->expected = id + 1;
  return id;
}

ValueNumber number_parameter(Numbering *numbering, ShapeId shape, uint32_t number) {
  return number_node(numbering, &(Node){.kind = NODE_PARAMETER, .shape = shape, .detail = number},
                     NULL);
}

/* If the elements are all elements of one tuple in order, that tuple; otherwise NO_ID. */
static ValueNumber whole_tuple(const Numbering *numbering, ShapeId shape,
                               const ValueNumber *elements, uint32_t count) {
  ValueNumber whole = NO_ID;
  for (uint32_t i = 0; i < count; i++) {
    const Node *element = numbered_node(numbering, elements[i]);
    if (element->kind != NODE_ELEMENT || element->detail != i) return NO_ID;
    ValueNumber tuple = node_args(numbering, elements[i])[0];
    if (i > 0 && tuple != whole) return NO_ID;
    whole = tuple;
  }
  return whole != NO_ID && numbered_node(numbering, whole)->shape == shape ? whole : NO_ID;
}

ValueNumber number_tuple(Numbering *numbering, ShapeId shape, const ValueNumber *elements,
                         uint32_t count) {
  ValueNumber whole = whole_tuple(numbering, shape, elements, count);
  if (whole != NO_ID) return whole;
  return number_node(numbering, &(Node){.kind = NODE_TUPLE, .shape = shape, .num_args = count},
                     elements);
}

ValueNumber number_element(Numbering *numbering, ShapeId shape, ValueNumber tuple, uint32_t index) {
  const Node *node = numbered_node(numbering, tuple);
  if (node->kind == NODE_TUPLE && index < node->num_args) return node_args(numbering, tuple)[index];
  return number_node(numbering,
                     &(Node){.kind = NODE_ELEMENT, .shape = shape, .detail = index, .num_args = 1},
                     &tuple);
}

/* Consecutive bitcasts are combined. A bitcast back to the first shape gives the first operand. */
ValueNumber number_bitcast(Numbering *numbering, ShapeId shape, ShapeId from, ValueNumber operand) {
  const Node *node = numbered_node(numbering, operand);
  if (node->kind == NODE_BITCAST && node->shape == from) {
    from = node->detail;
    operand = node_args(numbering, operand)[0];
  }
  if (shape == from) return operand;
  return number_node(numbering,
                     &(Node){.kind = NODE_BITCAST, .shape = shape, .detail = from, .num_args = 1},
                     &operand);
}

ValueNumber number_operation(Numbering *numbering, ShapeId shape, uint32_t text,
                             const ValueNumber *args, uint32_t count) {
  return number_node(
      numbering, &(Node){.kind = NODE_OPERATION, .shape = shape, .detail = text, .num_args = count},
      args);
}

ValueNumber number_function(Numbering *numbering, uint32_t num_params, const ValueNumber *args,
                            uint32_t count) {
  return number_node(
      numbering,
      &(Node){.kind = NODE_FUNCTION, .shape = NO_ID, .detail = num_params, .num_args = count},
      args);
}

ValueNumber number_tagged(Numbering *numbering, ShapeId shape, uint32_t text,
                          const ValueNumber *args, uint32_t count) {
  return number_node(
      numbering, &(Node){.kind = NODE_TAGGED, .shape = shape, .detail = text, .num_args = count},
      args);
}

ValueNumber number_state(Numbering *numbering, ShapeId shape, uint32_t index, uint32_t depth) {
  return number_node(numbering,
                     &(Node){.kind = NODE_STATE, .shape = shape, .detail = index, .num_args = 1},
                     &depth);
}

ValueNumber number_time(Numbering *numbering, uint32_t depth, int64_t trips) {
  uint32_t args[] = {depth, (uint32_t)trips, (uint32_t)((uint64_t)trips >> 32)};
  return number_node(numbering,
                     &(Node){.kind = NODE_TIME, .shape = numbering->integer, .num_args = 3}, args);
}

int64_t time_trips(const Numbering *numbering, ValueNumber time) {
  const uint32_t *args = node_args(numbering, time);
  return (int64_t)((uint64_t)args[2] << 32 | args[1]);
}

ValueNumber number_outer(Numbering *numbering, ShapeId shape, uint32_t index) {
  return number_node(numbering, &(Node){.kind = NODE_OUTER, .shape = shape, .detail = index}, NULL);
}

ValueNumber number_of_kind(Numbering *numbering, NodeKind kind, ShapeId shape, uint32_t detail,
                           const ValueNumber *args, uint32_t count) {
  return number_node(
      numbering,
      &(Node){.kind = (uint8_t)kind, .shape = shape, .detail = detail, .num_args = count}, args);
}
