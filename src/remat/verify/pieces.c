/* Arrays that are made of pieces of others, by slices, concatenations, reshapes and updates at
 * known places. An array is a list of its elements in the order of their indices, and each of these
 * operations cuts lists and joins them. A piece is a range of the list of an array that is no such
 * operation. Values that have the same pieces are the same, whatever way they were made:
 *
 *     slice(concatenate(x, y)) = slice(dynamic-update-slice(dynamic-update-slice(s, x), y))
 *
 * Only cuts that take a contiguous range are followed; others stay operations. */
#include "ir/bytes.h"
#include "ir/text_buffer.h"
#include "remat/verify/terms.h"

typedef struct Pieces {
  VEC(Piece) list;
} Pieces;

/* An array of which the number of elements is known. */
static bool has_elements(const Shape *shape) {
  return shape_is_array(shape) && !shape->has_dynamic && shape->bytes >= 0;
}

static int64_t product(const int64_t *dims, uint32_t first, uint32_t end) {
  int64_t result = 1;
  for (uint32_t i = first; i < end; i++)
    result *= dims[i];
  return result;
}

static const Shape *shape_of(const Terms *terms, ValueNumber value) {
  return shape_get(&terms->numbering->shapes, numbered_node(terms->numbering, value)->shape);
}

/* ---- lists ---- */

static const PieceList *find_list(const Terms *terms, ValueNumber value) {
  uint32_t found;
  for (IdProbe probe = id_table_probe(&terms->piece_table, hash_mix(HASH_SEED, value));
       id_probe_next(&probe, &found);) {
    if (terms->piece_lists.data[found].value == value) return &terms->piece_lists.data[found];
  }
  return NULL;
}

/* Adds a piece; one that goes on where the last one ends becomes a part of it. */
static void add_piece(Terms *terms, Pieces *pieces, Piece piece) {
  if (piece.count == 0) return;
  Piece *last = pieces->list.len ? &pieces->list.data[pieces->list.len - 1] : NULL;
  if (last && last->leaf == piece.leaf && last->offset + last->count == piece.offset) {
    last->count += piece.count;
  } else {
    *vec_push(terms->scratch, &pieces->list) = piece;
  }
}

/* Adds the elements of a value from `offset` on. */
static void add_range(Terms *terms, Pieces *pieces, ValueNumber value, int64_t offset,
                      int64_t count) {
  const Numbering *numbering = terms->numbering;
  for (;;) {
    const Node *node = numbered_node(numbering, value);
    if (node->kind != NODE_BITCAST) break;
    const Shape *to = shape_get(&numbering->shapes, node->shape);
    const Shape *from = shape_get(&numbering->shapes, node->detail);
    bool keeps_order = has_elements(to) && has_elements(from) && to->type == from->type &&
                       to->num_elements == from->num_elements && elements_are_in_order(to) &&
                       elements_are_in_order(from);
    if (!keeps_order) break;
    value = node_args(numbering, value)[0];
  }
  const PieceList *known = find_list(terms, value);
  if (!known) {
    add_piece(terms, pieces, (Piece){value, offset, count});
    return;
  }
  int64_t begin = 0; /* of the piece, in the value */
  for (uint32_t i = 0; i < known->len; i++) {
    Piece piece = known->pieces[i];
    int64_t end = begin + piece.count;
    int64_t from = begin > offset ? begin : offset;
    int64_t to = end < offset + count ? end : offset + count;
    if (from < to)
      add_piece(terms, pieces, (Piece){piece.leaf, piece.offset + from - begin, to - from});
    begin = end;
  }
}

/* The value that consists of these pieces. */
static ValueNumber number_pieces(Terms *terms, ShapeId shape, const Pieces *pieces) {
  Numbering *numbering = terms->numbering;
  ShapeId compatible = shape_get(&numbering->shapes, shape)->compatible;
  uint32_t len = pieces->list.len;
  if (len == 1) {
    Piece piece = pieces->list.data[0];
    const Shape *whole = shape_of(terms, piece.leaf);
    if (piece.offset == 0 && piece.count == product(whole->dims, 0, whole->rank))
      return number_bitcast(numbering, compatible, whole->compatible, piece.leaf);
  }
  TextBuffer text = {.arena = terms->scratch};
  text_put(&text, "pieces(");
  ValueNumber *leaves = arena_array(terms->scratch, ValueNumber, len);
  for (uint32_t i = 0; i < len; i++) {
    Piece piece = pieces->list.data[i];
    leaves[i] = piece.leaf;
    text_put(&text, arena_printf(terms->scratch, "%lld+%lld ", (long long)piece.offset,
                                 (long long)piece.count));
  }
  ValueNumber value =
      number_operation(numbering, compatible, number_text(numbering, text_str(&text)), leaves, len);
  if (find_list(terms, value)) return value;
  PieceList list = {value, arena_array(terms->arena, Piece, len), len};
  if (len) memcpy(list.pieces, pieces->list.data, len * sizeof *list.pieces);
  id_table_add(&terms->piece_table, terms->arena, hash_mix(HASH_SEED, value),
               terms->piece_lists.len);
  *vec_push(terms->arena, &terms->piece_lists) = list;
  return value;
}

/* ---- cuts ---- */

/* Where a part of an array begins in the list of elements, if the part is a range of it: below the
 * first dimension in which it has more than one index, it must have all. */
static bool find_range(const Shape *whole, const Shape *part, const int64_t *starts,
                       int64_t *offset) {
  if (whole->rank != part->rank) return false;
  bool must_be_whole = false;
  *offset = 0;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (must_be_whole && part->dims[i] != whole->dims[i]) return false;
    must_be_whole |= part->dims[i] != 1;
    *offset += starts[i] * product(whole->dims, i + 1, whole->rank);
  }
  return true;
}

/* The numbers where a dynamic slice begins, clamped as XLA does. */
static bool find_starts(const Terms *terms, const Shape *whole, const Shape *part,
                        const ValueNumber *args, int64_t *starts) {
  for (uint32_t i = 0; i < whole->rank; i++) {
    Linear form;
    int64_t last = whole->dims[i] - part->dims[i];
    starts[i] = 0;
    if (last == 0) continue;
    if (!linear_of_value(terms->numbering, args[i], &form) || form.num_terms) return false;
    starts[i] = form.constant < 0 ? 0 : form.constant > last ? last : form.constant;
  }
  return true;
}

static bool cut(Terms *terms, ShapeId shape, ValueNumber operand, const int64_t *starts,
                Pieces *pieces) {
  const Shape *part = shape_get(&terms->numbering->shapes, shape);
  int64_t offset;
  if (!find_range(shape_of(terms, operand), part, starts, &offset)) return false;
  add_range(terms, pieces, operand, offset, product(part->dims, 0, part->rank));
  return true;
}

static bool update(Terms *terms, const ValueNumber *args, const int64_t *starts, Pieces *pieces) {
  const Shape *whole = shape_of(terms, args[0]), *part = shape_of(terms, args[1]);
  int64_t count = product(part->dims, 0, part->rank), offset;
  if (!find_range(whole, part, starts, &offset)) return false;
  add_range(terms, pieces, args[0], 0, offset);
  add_range(terms, pieces, args[1], 0, count);
  add_range(terms, pieces, args[0], offset + count,
            product(whole->dims, 0, whole->rank) - offset - count);
  return true;
}

/* The dimension in `concatenate(, dimensions={0}`; -1 if it is not seen. */
static int64_t read_dimension(Str text) {
  static const char begin[] = "concatenate(, dimensions={";
  uint32_t pos = sizeof begin - 1;
  if (text.len < pos + 2 || memcmp(text.data, begin, pos) != 0) return -1;
  bool is_digit = text.data[pos] >= '0' && text.data[pos] <= '9' && text.data[pos + 1] == '}';
  return is_digit ? text.data[pos] - '0' : -1;
}

static bool join(Terms *terms, uint32_t text, const ValueNumber *args, uint32_t count,
                 Pieces *pieces) {
  int64_t dimension = read_dimension(terms->numbering->texts.data[text]);
  if (dimension < 0) return false;
  for (uint32_t i = 0; i < count; i++) {
    const Shape *shape = shape_of(terms, args[i]);
    if (!has_elements(shape) || dimension >= shape->rank) return false;
    if (product(shape->dims, 0, (uint32_t)dimension) != 1) return false;
    add_range(terms, pieces, args[i], 0, product(shape->dims, 0, shape->rank));
  }
  return true;
}

ValueNumber fold_pieces(Terms *terms, Opcode opcode, ShapeId shape, uint32_t text,
                        const ValueNumber *args, uint32_t count, const int64_t *slice_starts) {
  const Shape *result = shape_get(&terms->numbering->shapes, shape);
  if (count == 0 || !has_elements(result) || !has_elements(shape_of(terms, args[0]))) return NO_ID;
  ArenaMark mark = arena_mark(terms->scratch);
  int64_t *starts = arena_array(terms->scratch, int64_t, result->rank);
  const Shape *whole = shape_of(terms, args[0]);
  Pieces pieces = {0};
  bool is_known = false;
  switch (opcode) {
    case OPCODE_CONCATENATE: is_known = join(terms, text, args, count, &pieces); break;
    case OPCODE_SLICE: is_known = cut(terms, shape, args[0], slice_starts, &pieces); break;
    case OPCODE_DYNAMIC_SLICE:
      is_known = whole->rank == result->rank && count == 1 + whole->rank &&
                 find_starts(terms, whole, result, args + 1, starts) &&
                 cut(terms, shape, args[0], starts, &pieces);
      break;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      is_known = count == 2 + whole->rank && has_elements(shape_of(terms, args[1])) &&
                 shape_of(terms, args[1])->rank == whole->rank &&
                 find_starts(terms, whole, shape_of(terms, args[1]), args + 2, starts) &&
                 update(terms, args, starts, &pieces);
      break;
    default: /* a reshape */
      add_range(terms, &pieces, args[0], 0, product(whole->dims, 0, whole->rank));
      is_known = true;
  }
  ValueNumber value = is_known ? number_pieces(terms, shape, &pieces) : NO_ID;
  arena_reset(terms->scratch, mark);
  return value;
}
