#include "ir/target.h"

#include <string.h>

#include "ir/bytes.h"

const Target known_targets[] = {
#define TARGET(id, summary, alignment, granule, pads_tiles, has_dynamic_sizes, gpu_sharing,    \
               removes_barriers, has_spaces, has_trip_counts, has_windows, excess)             \
  {#id,         summary,          alignment,  granule,         pads_tiles,  has_dynamic_sizes, \
   gpu_sharing, removes_barriers, has_spaces, has_trip_counts, has_windows, EXCESS_##excess},
#include "ir/targets.def"
};
const size_t num_known_targets = sizeof known_targets / sizeof *known_targets;

const Target *target_find(const char *name) {
  for (size_t i = 0; i < num_known_targets; i++) {
    if (strcmp(known_targets[i].name, name) == 0) return &known_targets[i];
  }
  return NULL;
}

/* Returns the number of elements in whole tiles of the first tiling. The tile's dimensions
 * correspond to the dimensions of the array that are minor-most in memory; the last dimension of
 * the tile is the most minor one. If a tile has more dimensions than the array, the array counts as
 * having dimensions of size 1 in front. Later tilings only order the elements within a tile. */
static int64_t padded_elements(const Shape *shape) {
  const int64_t *tile = shape->extras->tile_words + 1;
  int64_t rank = shape->extras->tile_words[0], count = 1;
  for (int64_t i = 0; i < rank || i < shape->rank; i++) { /* starts at the most minor dimension */
    int64_t dim = 1;
    if (i < shape->rank) {
      dim = shape->dims[shape_minor_dim(shape, i)];
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

bool target_is_device_space(const Target *target, int64_t space) {
  return target->has_spaces ? space == DEVICE_MEMORY_SPACE : space != HOST_MEMORY_SPACE;
}

int64_t target_memory_space(const Target *target, const Shape *shape) {
  int64_t space = shape_memory_space(shape);
  return target_is_device_space(target, space) ? DEVICE_MEMORY_SPACE : space;
}

/* Dumps of XLA:TPU have offsets in SMEM and in the memory of flags that are multiples of the word
 * of 4 bytes, and in VMEM such that are multiples of the granule. */
int64_t target_space_alignment(const Target *target, int64_t space) {
  enum { WORD_BYTES = 4 };
  if (target_is_device_space(target, space) || !target->has_spaces) return target->alignment;
  return space == VMEM_SPACE ? target->granule : WORD_BYTES;
}

static int64_t padded_bytes(const Target *target, const Shape *shape) {
  if (shape->kind != SHAPE_ARRAY || shape->bytes <= 0) return shape->bytes;
  int64_t bytes = shape->bytes;
  if (target->pads_tiles && shape->extras && shape->extras->num_tile_words) {
    int64_t count = padded_elements(shape);
    bytes = count < 0 ? -1 : shape_bytes_of_elements(shape, count);
  }
  if (bytes < 0 || !target->has_dynamic_sizes || !shape->has_dynamic) return bytes;
  return add_bytes(bytes, 4 * (int64_t)shape->rank, &bytes) ? bytes : -1;
}

int64_t target_bytes(const Target *target, const Shape *shape) {
  int64_t bytes = padded_bytes(target, shape);
  if (bytes <= 0 || target_memory_space(target, shape) != DEVICE_MEMORY_SPACE) return bytes;
  if (bytes > INT64_MAX - target->granule) return -1;
  return (bytes + target->granule - 1) / target->granule * target->granule;
}

int64_t target_plain_device_bytes(const Target *target, const Shape *shape) {
  return target_memory_space(target, shape) == DEVICE_MEMORY_SPACE ? shape->bytes : 0;
}

int64_t target_device_bytes(const Target *target, const Shape *shape) {
  if (target_memory_space(target, shape) != DEVICE_MEMORY_SPACE) return 0;
  int64_t bytes = target_bytes(target, shape);
  return bytes < 0 ? shape->bytes : bytes;
}

#define MIB(count) (INT64_C(count) << 20)

/* What a core has (vmem_capacity_bytes in jax/_src/tpu_info.py of JAX 0.12), the most that
 * buffer-assignment dumps have of it for values, and what XLA's errors on memory say is available.
 */
static const struct {
  const char *device;
  TpuMemory memory;
} tpu_memories[] = {
    {"tpu-v5e", {MIB(128), MIB(112), INT64_C(16911433728)}},
    {"tpu-v5p", {MIB(64), MIB(48), INT64_C(102789304811)}},
    {"tpu-v6e", {MIB(128), MIB(96), INT64_C(33543694581)}},
    {"tpu7x", {MIB(64), MIB(32), INT64_C(101726300405)}},
};

TpuMemory target_tpu_memory(const Target *target, const char *device) {
  TpuMemory most = {0};
  if (!target->has_spaces) return most;
  for (size_t i = 0; i < sizeof tpu_memories / sizeof *tpu_memories; i++) {
    TpuMemory memory = tpu_memories[i].memory;
    if (device && strcmp(device, tpu_memories[i].device) == 0) return memory;
    if (memory.vmem_bytes > most.vmem_bytes) most = memory;
  }
  return most;
}

const char *target_space_name(const Target *target, int64_t space) {
  if (space == HOST_MEMORY_SPACE) return "host";
  if (!target->has_spaces) return NULL;
  switch (space) {
    case DEVICE_MEMORY_SPACE: return "HBM";
    case VMEM_SPACE: return "VMEM";
    case 2: return "SMEM";
    case 4: return "host";
    default: return NULL;
  }
}

/* Fills `order` with the minor-to-major order `from`, changed so that `first` and `second` are the
 * minor-most dimensions. */
static void order_with_minor(const int64_t *from, uint32_t rank, int64_t first, int64_t second,
                             int64_t *order) {
  uint32_t len = 0;
  order[len++] = first;
  order[len++] = second;
  for (uint32_t i = 0; i < rank; i++) {
    if (from[i] != first && from[i] != second) order[len++] = from[i];
  }
}

ShapeId target_compact_shape(const Target *target, ShapeTable *table, ShapeId id) {
  enum { MAX_RANK = 16 }; /* every pair of dimensions is tried */
  const Shape *shape = shape_get(table, id);
  bool is_padded =
      target->pads_tiles && shape_is_array(shape) && shape->extras && shape->extras->num_tile_words;
  if (!is_padded || shape->rank < 2 || shape->rank > MAX_RANK) return id;
  int64_t from[MAX_RANK], best[MAX_RANK], best_bytes = target_bytes(target, shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    from[i] = shape_minor_dim(shape, i);
  }
  bool is_found = false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    for (uint32_t k = 0; k < shape->rank; k++) {
      if (i == k) continue;
      int64_t order[MAX_RANK];
      order_with_minor(from, shape->rank, from[i], from[k], order);
      Shape changed = *shape;
      changed.minor_to_major = order;
      int64_t bytes = target_bytes(target, &changed);
      if (bytes < 0 || bytes >= best_bytes) continue;
      best_bytes = bytes;
      memcpy(best, order, sizeof best);
      is_found = true;
    }
  }
  if (!is_found) return id;
  ArraySpec spec = shape_spec(shape);
  spec.minor_to_major = best;
  return shape_array(table, &spec);
}
