#include "advice/shrink.h"

ShapeId shrink_array(Module *module, ShapeId array, int64_t factor) {
  const Shape *shape = shape_get(&module->shapes, array);
  uint32_t dim = 0;
  for (uint32_t i = 1; i < shape->rank; i++) {
    if (shape->dims[i] > shape->dims[dim]) dim = i;
  }
  for (uint32_t i = shape->rank; i-- > 0;) {
    if (shape->dims[i] >= factor && shape->dims[i] % factor == 0) dim = i;
  }
  if (shape->rank == 0 || factor < 1) return array;
  int64_t size = (shape->dims[dim] + factor - 1) / factor;
  return shape_with_dim(&module->shapes, array, dim, size, module->arena);
}

ShapeId shrink_type(Module *module, ShapeId array, ElementType type) {
  ArraySpec spec = shape_spec(shape_get(&module->shapes, array));
  spec.type = type;
  return shape_array(&module->shapes, &spec);
}

/* The new shape of each old one. Elements of a tuple are older than the tuple. */
static ShapeId *map_shapes(Module *module, ShrinkFn shrink, const void *context, Arena *out) {
  uint32_t count = module->shapes.shapes.len;
  ShapeId *map = arena_array(out, ShapeId, count);
  for (ShapeId id = 0; id < count; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    map[id] = id;
    if (shape_is_array(shape) && shape->num_elements > 0) {
      map[id] = shrink(module, id, context);
    } else if (shape_is_tuple(shape)) {
      ShapeId *elements = arena_array(out, ShapeId, shape->rank);
      bool is_changed = false;
      for (uint32_t i = 0; i < shape->rank; i++) {
        elements[i] = map[shape->elements[i]];
        is_changed |= elements[i] != shape->elements[i];
      }
      if (is_changed) map[id] = shape_tuple(&module->shapes, elements, shape->rank);
    }
  }
  return map;
}

rh_module *shrink_module(const Advisor *advisor, ShrinkFn shrink, const void *context) {
  rh_module *made = advisor_copy(advisor);
  Module *module = made->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  ShapeId *map = map_shapes(module, shrink, context, arena);
  for (InstId id = 0; id < module->insts.len; id++) {
    Instruction *inst = inst_get(module, id);
    if (map[inst->shape] != NO_ID) inst->shape = map[inst->shape];
  }
  arena_free(arena);
  return made;
}

/* The shape of a result with new shapes of its arrays. Parts come after the tuple that they are of,
 * so that the last tuple is made first. */
static ShapeId rebuild(Module *module, InstId id, ShrinkPartFn shrink, const void *context,
                       Arena *scratch) {
  ShapeId shape = inst_get(module, id)->shape;
  uint32_t num_parts = shape_get(&module->shapes, shape)->num_parts;
  ArenaMark mark = arena_mark(scratch);
  ShapeId *parts = arena_array(scratch, ShapeId, num_parts);
  shape_list_parts(&module->shapes, shape, parts);
  for (uint32_t part = num_parts; part-- > 0;) {
    const Shape *old = shape_get(&module->shapes, parts[part]);
    if (shape_is_array(old)) {
      parts[part] = shrink(module, id, part, parts[part], context);
    } else if (shape_is_tuple(old)) {
      ShapeId *elements = arena_array(scratch, ShapeId, old->rank);
      bool is_changed = false;
      for (uint32_t i = 0; i < old->rank; i++) {
        elements[i] = parts[part + old->element_offsets[i]];
        is_changed |= elements[i] != old->elements[i];
      }
      if (is_changed) parts[part] = shape_tuple(&module->shapes, elements, old->rank);
    }
  }
  shape = parts[0];
  arena_reset(scratch, mark);
  return shape;
}

rh_module *shrink_parts(const Advisor *advisor, ShrinkPartFn shrink, const void *context) {
  rh_module *made = advisor_copy(advisor);
  for (InstId id = 0; id < made->module->insts.len; id++) {
    if (!dataflow_covers(&advisor->values.flow, id)) continue;
    ShapeId shape = rebuild(made->module, id, shrink, context, advisor->scratch);
    if (shape != NO_ID) inst_get(made->module, id)->shape = shape;
  }
  return made;
}
