#include "ir/written_shape.h"

#include "ir/bytes.h"

/* Whether the array is in device memory, and its layout has nothing but an order and tiles. */
static bool is_plain(const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  return shape_is_array(shape) && !shape->has_dynamic &&
         (!extras ||
          (!extras->num_split_words && extras->tail_padding == 1 && extras->memory_space == 0 &&
           extras->element_bits == 0 && extras->metadata_prefix == 0 && extras->index_type == 0 &&
           extras->pointer_type == 0));
}

static bool has_tiles(const LayoutExtras *extras) {
  return extras && extras->num_tile_words;
}

/* ---- scalars ---- */

/* The bytes of a scalar's tile; 0 if it has none, or not one. */
static int64_t bytes_of_tile(const Shape *scalar) {
  const LayoutExtras *extras = scalar->extras;
  int64_t bytes;
  bool has_one = has_tiles(extras) && extras->num_tile_words == 2 && extras->tile_words[0] == 1 &&
                 extras->tile_words[1] > 0;
  return has_one && mul_bytes(extras->tile_words[1], scalar->bytes, &bytes) ? bytes : 0;
}

WrittenShapes written_shapes_find(const Module *module, Arena *scratch) {
  WrittenShapes written = {.tile_bytes = 0};
  memset(written.scalars, 0xff, sizeof written.scalars);
  ArenaMark mark = arena_mark(scratch);
  uint32_t *count = arena_zarray(scratch, uint32_t, module->shapes.shapes.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (!(inst->flags & (INST_DEAD | INST_IMPLIED))) count[inst->shape]++;
  }
  ShapeId commonest = NO_ID;
  for (ShapeId id = 0; id < module->shapes.shapes.len; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    if (count[id] == 0 || !shape_is_scalar(shape) || !is_plain(shape)) continue;
    ShapeId *best = &written.scalars[shape->type];
    if (*best == NO_ID || count[id] > count[*best]) *best = id;
    if (commonest == NO_ID || count[id] > count[commonest]) commonest = id;
  }
  if (commonest != NO_ID) written.tile_bytes = bytes_of_tile(shape_get(&module->shapes, commonest));
  arena_reset(scratch, mark);
  return written;
}

ShapeId written_scalar(const WrittenShapes *written, ShapeTable *table, ElementType type) {
  if (written->scalars[type] != NO_ID) return written->scalars[type];
  int64_t bytes = (type_info(type)->bits + 7) / 8;
  int64_t tile = bytes ? written->tile_bytes / bytes : 0;
  if (tile == 0) return shape_scalar(table, type);
  const LayoutExtras extras = {
      .tail_padding = 1, .num_tile_words = 2, .tile_words = (const int64_t[]){1, tile}};
  return shape_array(table, &(ArraySpec){.type = type, .extras = &extras});
}

enum { CONTEXT_MEMORY_SPACE = 2 }; /* of XLA:TPU, the only backend that tiles scalars */

ShapeId written_context(const WrittenShapes *written, ShapeTable *table) {
  ShapeId plain = shape_scalar(table, TYPE_U32);
  return written->tile_bytes ? shape_in_memory_space(table, plain, CONTEXT_MEMORY_SPACE) : plain;
}

/* ---- arrays ---- */

static int64_t order_of(const int64_t *minor_to_major, uint32_t rank, uint32_t index) {
  return minor_to_major ? minor_to_major[index] : (int64_t)rank - 1 - index;
}

static bool has_same_kind(const Shape *shape, const ArraySpec *spec) {
  if (shape->type != spec->type || shape->rank != spec->rank) return false;
  for (uint32_t i = 0; i < spec->rank; i++) {
    int64_t dim = order_of(spec->minor_to_major, spec->rank, i);
    if (order_of(shape->minor_to_major, shape->rank, i) != dim) return false;
    if (i < 2 && shape->dims[dim] != spec->dims[dim]) return false;
  }
  return true;
}

ShapeId written_array(ShapeTable *table, const ArraySpec *spec) {
  for (ShapeId id = 0; has_tiles(spec->extras) && id < table->shapes.len; id++) {
    const Shape *shape = shape_get(table, id);
    bool is_found = is_plain(shape) && has_tiles(shape->extras) && has_same_kind(shape, spec);
    if (!is_found) continue;
    LayoutExtras extras = *spec->extras;
    extras.num_tile_words = shape->extras->num_tile_words;
    extras.tile_words = shape->extras->tile_words;
    ArraySpec written = *spec;
    written.extras = &extras;
    return shape_array(table, &written);
  }
  return shape_array(table, spec);
}
