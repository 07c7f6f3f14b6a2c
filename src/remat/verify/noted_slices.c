#include "remat/verify/noted_slices.h"

#include "analysis/flow/call_graph.h"
#include "ir/vec.h"

NotedSlices noted_slices_find(const Module *module, Arena *out, Arena *scratch) {
  NotedSlices noted = {0};
  VEC(SliceNote) list = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    SliceNote note = slice_note_read(module, id, out);
    if (!note.is_there) continue;
    if (!noted.number_of) {
      noted.number_of = arena_zarray(out, uint32_t, module->insts.len);
      noted.are_in = arena_zarray(out, bool, module->comps.len);
    }
    *vec_push(out, &list) = note;
    noted.number_of[id] = list.len;
    noted.are_in[inst->parent] = true;
  }
  noted.list = list.data;
  if (noted.are_in) comps_mark_callers(module, noted.are_in, scratch);
  return noted;
}

const SliceNote *noted_slice(const NotedSlices *noted, InstId id) {
  uint32_t number = noted->number_of ? noted->number_of[id] : 0;
  return number ? &noted->list[number - 1] : NULL;
}

static bool has_plain_layout(const Shape *shape) {
  return shape->kind == SHAPE_ARRAY && shape->num_elements > 0 && shape->bytes > 0 &&
         (!shape->extras || (!shape->extras->num_tile_words && !shape->extras->element_bits));
}

/* Dimension number `place` from the most minor one on. */
static uint32_t minor_dim(const Shape *shape, uint32_t place) {
  return shape->minor_to_major ? (uint32_t)shape->minor_to_major[place] : shape->rank - 1 - place;
}

/* The form of a slice's start in a dimension, if it is in the array whatever the iteration is, so
 * that it is not clamped; of a dimension that is taken as a whole, it is 0. */
static bool start_in(const Numbering *numbering, const Shape *array, const Shape *part,
                     const ValueNumber *starts, uint32_t dim, Linear *start) {
  int64_t last = array->dims[dim] - part->dims[dim];
  *start = linear_constant(0);
  if (last > 0 && !linear_of_value(numbering, starts[dim], start)) return false;
  return last >= 0 && range_contains((ValueRange){0, last}, linear_range(numbering, start));
}

/* Whether the offset in bytes is the one that is noted. */
static bool has_offset(const SliceNote *note, const Numbering *numbering, const Shape *array,
                       const Shape *part, const ValueNumber *starts, const Linear *iteration) {
  if (!has_plain_layout(array)) return false;
  bool is_counted = note->has_loop && note->stride != 0;
  if (is_counted && !iteration) return false;
  Linear noted = linear_constant(note->offset), offset = linear_constant(0);
  if (is_counted && !linear_add(&noted, iteration, note->stride)) return false;
  int64_t bytes = array->bytes / array->num_elements;
  if (bytes * array->num_elements != array->bytes) return false;
  for (uint32_t place = 0; place < array->rank; place++) {
    uint32_t dim = minor_dim(array, place);
    Linear start;
    if (!start_in(numbering, array, part, starts, dim, &start)) return false;
    if (!linear_add(&offset, &start, bytes)) return false;
    bytes *= array->dims[dim];
  }
  return linear_equal(&noted, &offset);
}

static bool is_multiple(const Linear *form, int64_t of) {
  bool is = form->constant % of == 0;
  for (uint32_t i = 0; i < form->num_terms; i++)
    is &= form->terms[i].factor % of == 0;
  return is;
}

/* Whether a start has these bits. If it is no constant, it can only be shown to be smaller than a
 * power of two, and a multiple of another one. */
static bool has_bits(const KnownBits *known, const Numbering *numbering, const Linear *start) {
  uint64_t all = ((uint64_t)1 << known->width) - 1, zeroes = known->zeroes & all;
  if (start->num_terms == 0) {
    uint64_t value = (uint64_t)start->constant & all;
    return !(value & zeroes) && (value & known->ones) == known->ones;
  }
  uint64_t factor = 1, bound = 1;
  while (zeroes & factor)
    factor <<= 1;
  while (all & ~(bound - 1) & ~zeroes)
    bound <<= 1;
  bool are_these = (zeroes & ~(factor - 1) & (bound - 1)) == 0 && known->ones == 0;
  ValueRange range = linear_range(numbering, start);
  return are_these && range_is_known(range) &&
         range_contains((ValueRange){0, (int64_t)bound - 1}, range) &&
         is_multiple(start, (int64_t)factor);
}

bool noted_slice_holds(const SliceNote *note, const Numbering *numbering, const Shape *array,
                       const Shape *part, const ValueNumber *starts, const Linear *iteration) {
  if (!note->is_known || part->rank != array->rank || note->num_bits > array->rank) return false;
  for (uint32_t dim = 0; dim < note->num_bits; dim++) {
    Linear start;
    if (!note->bits[dim].zeroes && !note->bits[dim].ones) continue;
    if (!start_in(numbering, array, part, starts, dim, &start) ||
        !has_bits(&note->bits[dim], numbering, &start))
      return false;
  }
  return !note->has_offset || has_offset(note, numbering, array, part, starts, iteration);
}
