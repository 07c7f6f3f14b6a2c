#include "analysis/memory/memory_model.h"

#include <stddef.h>
#include <stdlib.h>

#include "analysis/flow/call_graph.h"
#include "analysis/memory/remat_memory.h"
#include "ir/bytes.h"
#include "ir/target.h"
#include "remat_hlo.h"

const MemoryModel memory_models[] = {
#define MODEL(id, name, traits, summary) {name, summary, measure_##id, traits},
#include "analysis/memory/models.def"
};

const size_t num_memory_models = sizeof memory_models / sizeof *memory_models;

ShapeId live_buffer_shape(const Module *module, const LiveBuffer *buffer) {
  return shape_part(&module->shapes, inst_get(module, buffer->inst)->shape, buffer->part);
}

const MemoryModel *memory_model_find(const char *name) {
  for (size_t i = 0; i < num_memory_models; i++) {
    if (strcmp(memory_models[i].name, name) == 0) return &memory_models[i];
  }
  return NULL;
}

/* ---- sizes ---- */

static int64_t plain_part_bytes(const Module *module, ShapeId part) {
  return target_plain_device_bytes(module->backend.target, shape_get(&module->shapes, part));
}

static int64_t sum_of_parts(const Module *module, ShapeId shape,
                            int64_t (*of_part)(const Module *module, ShapeId part)) {
  int64_t bytes = 0;
  for (uint32_t part = 0; part < shape_get(&module->shapes, shape)->num_parts; part++) {
    int64_t more = of_part(module, shape_part(&module->shapes, shape, part));
    if (!add_bytes(bytes, more, &bytes)) return INT64_MAX;
  }
  return bytes;
}

static int64_t plain_total_bytes(const Module *module, ShapeId shape) {
  if (!module->backend.target->has_spaces) return shape_get(&module->shapes, shape)->device_bytes;
  return sum_of_parts(module, shape, plain_part_bytes);
}

const ShapeSizes plain_sizes = {plain_part_bytes, plain_total_bytes};

static int64_t target_part_bytes(const Module *module, ShapeId part) {
  return target_device_bytes(module->backend.target, shape_get(&module->shapes, part));
}

static int64_t target_total_bytes(const Module *module, ShapeId shape) {
  return sum_of_parts(module, shape, target_part_bytes);
}

const ShapeSizes target_sizes = {target_part_bytes, target_total_bytes};

static int64_t inst_bytes(const Module *module, InstId id, const ShapeSizes *sizes) {
  return sizes->of_all(module, inst_get(module, id)->shape);
}

/* ---- profiles ---- */

static int64_t aliased_bytes(const Module *module, const ShapeSizes *sizes) {
  const ModuleHeader *header = &module->source->header;
  ShapeId result = inst_get(module, comp_get(module, module->entry)->root)->shape;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID ||
        alias->output_part >= shape_get(&module->shapes, result)->num_parts) {
      continue;
    }
    bytes += sizes->of_part(module, shape_part(&module->shapes, result, alias->output_part));
  }
  return bytes;
}

static int64_t constant_bytes(const Module *module, const ShapeSizes *sizes, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, scratch, inner);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (!comp_is_sequential(&graph, comp)) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      if (inst_get(module, id)->opcode != OPCODE_CONSTANT) continue;
      bytes += inst_bytes(module, id, sizes);
    }
  }
  arena_free(inner);
  arena_reset(scratch, mark);
  return bytes;
}

MemoryProfile memory_profile_outside(const Module *module, const ShapeSizes *sizes) {
  const Computation *entry = comp_get(module, module->entry);
  MemoryProfile profile = {.peak_inst = NO_ID,
                           .output_bytes = inst_bytes(module, entry->root, sizes),
                           .aliased_bytes = aliased_bytes(module, sizes)};
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    profile.parameter_bytes += inst_bytes(module, param, sizes);
  }
  return profile;
}

void memory_profile_init(MemoryProfile *profile, const Module *module, const ShapeSizes *sizes,
                         Arena *out, Arena *scratch) {
  *profile = memory_profile_outside(module, sizes);
  profile->bytes_at = arena_array(out, int64_t, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++)
    profile->bytes_at[id] = -1;
  profile->constant_bytes = constant_bytes(module, sizes, scratch);
}

int64_t memory_profile_temp_bytes(const MemoryProfile *profile) {
  int64_t held = profile->output_bytes;
  if (profile->counts_params) held += profile->parameter_bytes - profile->aliased_bytes;
  if (profile->constants == CONSTANTS_HELD) held += profile->constant_bytes;
  return profile->peak_bytes > held ? profile->peak_bytes - held : 0;
}

int64_t memory_profile_total_bytes(const MemoryProfile *profile) {
  int64_t apart = profile->constants == CONSTANTS_LIVE ? 0 : profile->constant_bytes;
  return profile->parameter_bytes + profile->output_bytes - profile->aliased_bytes + apart +
         memory_profile_temp_bytes(profile);
}

static int by_bytes_then_inst(const void *pa, const void *pb) {
  const LiveBuffer *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->inst != b->inst) return a->inst < b->inst ? -1 : 1;
  return (a->part > b->part) - (a->part < b->part);
}

void live_set_sort(LiveSet *live) {
  if (live->len) qsort(live->list, live->len, sizeof *live->list, by_bytes_then_inst);
}

rh_memory memory_of_profile(const MemoryProfile *profile) {
  return (rh_memory){
      .struct_size = sizeof(rh_memory),
      .peak_bytes = profile->peak_bytes,
      .temp_bytes = memory_profile_temp_bytes(profile),
      .parameter_bytes = profile->parameter_bytes,
      .output_bytes = profile->output_bytes,
      .aliased_bytes = profile->aliased_bytes,
      .constant_bytes = profile->constant_bytes,
      .total_bytes = memory_profile_total_bytes(profile),
      .temp_more_bytes = profile->temp_more_bytes,
      .temp_less_bytes = profile->temp_less_bytes,
  };
}

/* A struct of a program that was built with an older header ends before the field. */
int64_t memory_temp_more_bytes(const rh_memory *memory) {
  bool has_field =
      memory->struct_size >= offsetof(rh_memory, temp_more_bytes) + sizeof memory->temp_more_bytes;
  return has_field ? memory->temp_more_bytes : 0;
}

int64_t memory_counted_bytes(const rh_memory *memory, rh_limit_counts counts) {
  int64_t more_bytes = memory_temp_more_bytes(memory);
  switch (counts) {
    case RH_COUNT_TEMP: return memory->temp_bytes + more_bytes;
    case RH_COUNT_TEMP_OUTPUTS: return memory->temp_bytes + more_bytes + memory->output_bytes;
    case RH_COUNT_TOTAL: return memory->total_bytes + more_bytes;
  }
  return 0;
}
