#include "emit/proto/shapes.h"

enum { TUPLE_TYPE = 13 }; /* PrimitiveType in xla/xla_data.proto */

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
  *vec_push(shapes->arena, &shapes->list) = (struct ShapeMessage){text, bytes};
}

/* Shapes that were parsed are no deeper than the parser allows. */
static bool make_tuple(ShapeMessages *shapes, const ShapeTable *table, const Shape *tuple,
                       Bytes *bytes) {
  RematHlo__TupleShape message = REMAT_HLO__TUPLE_SHAPE__INIT;
  message.has_element_type = true;
  message.element_type = TUPLE_TYPE;
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
  if (!shape_is_tuple(found) || !make_tuple(shapes, table, found, bytes)) return false;
  shapes_note(shapes, text, *bytes);
  return true;
}
