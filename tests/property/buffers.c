#include "buffers.h"

#include <stdlib.h>

uint32_t element_part(const Module *module, InstId tuple, int64_t index) {
  const Shape *shape = inst_shape(module, tuple);
  uint32_t part = 1;
  for (int64_t i = 0; i < index; i++) {
    part += shape_get(&module->shapes, shape->elements[i])->num_parts;
  }
  return part;
}

/* The element of a tuple that a part belongs to. */
static Place into_tuple(const Module *module, Place place) {
  uint32_t element = 0;
  while (element + 1 < inst_get(module, place.inst)->num_operands &&
         element_part(module, place.inst, element + 1) <= place.part) {
    element++;
  }
  return (Place){inst_operand(module, place.inst, element),
                 place.part - element_part(module, place.inst, element)};
}

Place place_source(const Module *module, Place place) {
  for (;;) {
    const Instruction *inst = inst_get(module, place.inst);
    InstId operand = inst->num_operands ? inst_operand(module, place.inst, 0) : NO_ID;
    switch (inst->opcode) {
      case OPCODE_TUPLE:
        if (place.part == 0) return place;
        place = into_tuple(module, place);
        break;
      case OPCODE_GET_TUPLE_ELEMENT:
        place = (Place){operand, place.part + element_part(module, operand, inst->index)};
        break;
      case OPCODE_BITCAST:
      case OPCODE_OPT_BARRIER: place.inst = operand; break;
      case OPCODE_COPY:
        if (place.part == 0) return place;
        place.inst = operand;
        break;
      default: return place;
    }
  }
}

ShapeId place_shape(const Module *module, Place place) {
  ShapeId shape = inst_get(module, place.inst)->shape;
  ShapeId *parts = malloc(inst_shape(module, place.inst)->num_parts * sizeof *parts);
  shape_list_parts(&module->shapes, shape, parts);
  shape = parts[place.part];
  free(parts);
  return shape;
}

int64_t place_bytes(const Module *module, Place place) {
  const Shape *shape = shape_get(&module->shapes, place_shape(module, place));
  if (shape->kind == SHAPE_TUPLE) return 8 * (int64_t)shape->rank;
  int64_t bytes = 4;
  switch (shape->type) {
    case TYPE_PRED: bytes = 1; break;
    case TYPE_BF16: bytes = 2; break;
    case TYPE_TOKEN: bytes = 0; break;
    default: break;
  }
  for (uint32_t i = 0; i < shape->rank; i++)
    bytes *= shape->dims[i];
  return bytes;
}

bool has_operand(const Module *module, InstId id, InstId operand) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (inst_operand(module, id, i) == operand) return true;
  }
  return false;
}
