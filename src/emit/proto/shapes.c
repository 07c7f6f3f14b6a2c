#include "emit/proto/shapes.h"

#include "emit/proto/primitive_type.h"

static bool find_text(const ShapeMessages *shapes, Str text, Bytes *bytes) {
  uint32_t index;
  for (IdProbe p = id_table_probe(&shapes->table, hash_str(text)); id_probe_next(&p, &index);) {
    if (!str_equal(shapes->list.data[index].text, text)) continue;
    *bytes = shapes->list.data[index].bytes;
    return true;
  }
  return false;
}

void shapes_note(ShapeMessages *shapes, Str text, Bytes bytes) {
  Bytes known;
  if (find_text(shapes, text, &known)) return;
  id_table_add(&shapes->table, shapes->arena, hash_str(text), shapes->list.len);
  *vec_push(shapes->arena, &shapes->list) = (ShapeMessage){text, bytes};
}

/* Makes what Shape::ToProto makes of an array with a plain layout. Without a layout in its text,
 * the array may have none. */
static bool make_array(ShapeMessages *shapes, const Shape *array, Str text, Bytes *bytes) {
  if (!shape_is_array(array) || array->extras || array->has_dynamic || array->has_unbounded)
    return false;
  if (array->rank && text.data[text.len - 1] != '}') return false;
  uint32_t rank = array->rank;
  RematHlo__Layout layout = REMAT_HLO__LAYOUT__INIT;
  layout.n_minor_to_major = rank;
  layout.minor_to_major = arena_array(shapes->arena, int64_t, rank);
  for (uint32_t i = 0; i < rank; i++)
    layout.minor_to_major[i] = array->minor_to_major ? array->minor_to_major[i] : rank - 1 - i;
  layout.has_tail_padding_alignment_in_elements = true;
  layout.tail_padding_alignment_in_elements = 1;
  RematHlo__ArrayShape message = REMAT_HLO__ARRAY_SHAPE__INIT;
  message.has_element_type = true;
  message.element_type = primitive_type_of(array->type);
  message.layout = &layout;
  message.n_dimensions = message.n_is_dynamic_dimension = rank;
  message.dimensions = (int64_t *)(uintptr_t)array->dims;
  message.is_dynamic_dimension = arena_zarray(shapes->arena, protobuf_c_boolean, rank);
  *bytes = message_write(&message.base, shapes->arena);
  return true;
}

/* Shapes that were parsed are no deeper than the parser allows. */
static bool make_tuple(ShapeMessages *shapes, const ShapeTable *table, const Shape *tuple,
                       Bytes *bytes) {
  RematHlo__TupleShape message = REMAT_HLO__TUPLE_SHAPE__INIT;
  message.has_element_type = true;
  message.element_type = PRIMITIVE_TYPE_TUPLE;
  message.n_tuple_shapes = tuple->rank;
  message.tuple_shapes = arena_array(shapes->arena, Bytes, tuple->rank);
  for (uint32_t i = 0; i < tuple->rank; i++) {
    Str text = shape_text(table, tuple->elements[i], true, shapes->arena);
    if (!shapes_find(shapes, table, tuple->elements[i], text, &message.tuple_shapes[i]))
      return false;
  }
  *bytes = message_write(&message.base, shapes->arena);
  return true;
}

bool shapes_find(ShapeMessages *shapes, const ShapeTable *table, ShapeId shape, Str text,
                 Bytes *bytes) {
  if (find_text(shapes, text, bytes)) return true;
  const Shape *found = shape_get(table, shape);
  bool is_made = shape_is_tuple(found) ? make_tuple(shapes, table, found, bytes)
                                       : make_array(shapes, found, text, bytes);
  if (!is_made) return false;
  shapes_note(shapes, text, *bytes);
  return true;
}
