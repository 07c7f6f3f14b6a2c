#include "ir/target.h"

#include <string.h>

#include "ir/bytes.h"

const Target known_targets[] = {
#define TARGET(id, summary, alignment, pads_tiles, has_dynamic_sizes, gpu_sharing) \
  {#id, summary, alignment, pads_tiles, has_dynamic_sizes, gpu_sharing},
#include "ir/targets.def"
};
const size_t num_known_targets = sizeof known_targets / sizeof *known_targets;

const Target *target_find(const char *name) {
  for (size_t i = 0; i < num_known_targets; i++) {
    if (strcmp(known_targets[i].name, name) == 0) return &known_targets[i];
  }
  return NULL;
}

/* Elements in whole tiles of the first tiling: its dimensions are those of the array that are the
 * minor-most in memory, the last one of the tile being the most minor. A tile of more dimensions
 * than the array has stands for an array with 1s in front. Later tilings only order what is in a
 * tile. */
static int64_t padded_elements(const Shape *shape) {
  const int64_t *tile = shape->extras->tile_words + 1;
  int64_t rank = shape->extras->tile_words[0], count = 1;
  for (int64_t i = 0; i < rank || i < shape->rank; i++) { /* from the most minor on */
    int64_t dim = 1;
    if (i < shape->rank) {
      dim = shape->dims[shape->minor_to_major ? shape->minor_to_major[i] : shape->rank - 1 - i];
    }
    if (i < rank) {
      int64_t of_tile = tile[rank - 1 - i];
      if (of_tile <= 0) return shape->num_elements; /* `*` and `d` have no fixed size */
      if (!mul_bytes(dim / of_tile + (dim % of_tile != 0), of_tile, &dim)) return -1;
    }
    if (!mul_bytes(count, dim, &count)) return -1;
  }
  return count;
}

int64_t target_bytes(const Target *target, const Shape *shape) {
  if (shape->kind != SHAPE_ARRAY || shape->bytes <= 0) return shape->bytes;
  int64_t bytes = shape->bytes;
  if (target->pads_tiles && shape->extras && shape->extras->num_tile_words) {
    int64_t count = padded_elements(shape);
    bytes = count < 0 ? -1 : shape_bytes_of_elements(shape, count);
  }
  if (bytes < 0 || !target->has_dynamic_sizes || !shape->has_dynamic) return bytes;
  return add_bytes(bytes, 4 * (int64_t)shape->rank, &bytes) ? bytes : -1;
}
