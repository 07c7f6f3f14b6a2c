#include "remat/legality/given_memory.h"

#include <stdlib.h>

#include "analysis/memory/memory_model.h"

static int largest_first(const void *pa, const void *pb) {
  int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  return (a < b) - (a > b);
}

static void sort_sizes(Sizes *sizes) {
  if (sizes->len) qsort(sizes->data, sizes->len, sizeof *sizes->data, largest_first);
}

/* The size of the allocation of a part: that of the largest value in it. */
static int64_t bytes_of(const Module *module, const PointsTo *points_to, InstId id, uint32_t part) {
  const LogicalBuffer *buffer = &points_to->buffers.data[points_to_part(points_to, id, part)];
  ShapeId shape = shape_part(&module->shapes, inst_get(module, id)->shape, part);
  int64_t of_part = target_sizes.of_part(module, shape);
  int64_t of_buffer = target_sizes.of_part(module, buffer->shape);
  return of_part > of_buffer ? of_part : of_buffer;
}

GivenMemory given_memory_find(const Module *module, const PointsTo *points_to, Arena *out) {
  MemoryProfile outside = memory_profile_outside(module, &target_sizes);
  GivenMemory given = {.held_bytes =
                           outside.parameter_bytes + outside.output_bytes - outside.aliased_bytes};
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  uint32_t num_parts = inst_shape(module, entry->root)->num_parts;
  int64_t *of_outputs = vec_extend(out, &given.allocations, num_parts);
  for (uint32_t part = 0; part < num_parts; part++)
    of_outputs[part] = bytes_of(module, points_to, entry->root, part);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    int64_t bytes = bytes_of(module, points_to, param, alias->param_part);
    /* an output that takes over a parameter is in the parameter's allocation */
    bool is_output = alias->output_part < num_parts;
    int64_t *taken =
        is_output ? &given.allocations.data[alias->output_part] : vec_push(out, &given.allocations);
    *taken = is_output && *taken > bytes ? *taken : bytes;
  }
  sort_sizes(&given.allocations);
  return given;
}

int64_t given_memory_leaves(const GivenMemory *given, Sizes *sizes) {
  sort_sizes(sizes);
  int64_t left = 0;
  uint32_t num_large = 0, num_filled = 0; /* allocations of at least this size; with a value */
  for (uint32_t i = 0; i < sizes->len; i++) {
    const Sizes *allocations = &given->allocations;
    while (num_large < allocations->len && allocations->data[num_large] >= sizes->data[i])
      num_large++;
    if (num_filled < num_large) {
      num_filled++;
    } else {
      left += sizes->data[i];
    }
  }
  return left;
}
