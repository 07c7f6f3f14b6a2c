/* Draws the buffer assignment as boxes in time and bytes, each memory by itself. The allocations of
 * one kind are stacked in a space. Each value is a box in its allocation, from its definition until
 * it dies or another value takes its memory. */
#include "emit/report/memory_map.h"

#include <stdlib.h>

#include "analysis/memory/space_use.h"
#include "emit/report/describe.h"
#include "emit/human.h"
#include "ir/pointers.h"

/* The box of a value before the value is described. */
typedef struct Box {
  uint32_t space;
  LogicalTime begin, end; /* half-open range */
  int64_t offset;
  ValueId value;
} Box;

typedef struct Boxes {
  VEC(Box) list;
} Boxes;

/* The place of an allocation. */
typedef struct Stacked {
  uint32_t space; /* NO_ID: the allocation is not shown */
  int64_t offset;
} Stacked;

typedef struct Spaces {
  VEC(rh_memory_space) list;
} Spaces;

typedef struct Mapper {
  const rh_module *handle;
  const Module *module;
  HeapAnalysis heap;
  MemoryProfile profile; /* from the model `heap` */
  int64_t memory_space;  /* of the map that is being made, as in it */
  Spaces spaces;
  Stacked *stacked; /* by allocation */
  Boxes boxes;
  Arena *out;
  Arena *scratch;
} Mapper;

/* ---- spaces ---- */

static bool is_in_memory(const Mapper *mapper, const Allocation *allocation) {
  bool is_on_device = target_is_device_space(mapper->module->backend.target, allocation->color);
  if (mapper->memory_space == DEVICE_MEMORY_SPACE) return is_on_device;
  return !is_on_device && allocation->color == mapper->memory_space;
}

/* NULL for what is not shown. */
static const char *kind_of(const Mapper *mapper, const Allocation *allocation) {
  if (!is_in_memory(mapper, allocation)) return NULL;
  switch (allocation->kind) {
    case ALLOCATION_CONSTANT: return "constants";
    case ALLOCATION_PARAMETER: return "parameters";
    case ALLOCATION_THREAD_LOCAL: return NULL;
    default: return allocation->is_live_out ? "outputs" : "temporaries";
  }
}

static void stack(Mapper *mapper, const char *kind) {
  uint32_t first = mapper->spaces.list.len;
  for (uint32_t i = 0; i < mapper->heap.assignment.allocations.len; i++) {
    const Allocation *allocation = &mapper->heap.assignment.allocations.data[i];
    const char *own_kind = kind_of(mapper, allocation);
    if (!own_kind || strcmp(own_kind, kind) != 0) continue;
    int64_t color = strcmp(kind, "temporaries") == 0 ? allocation->color : 0;
    uint32_t space = first;
    while (space < mapper->spaces.list.len && mapper->spaces.list.data[space].color != color)
      space++;
    if (space == mapper->spaces.list.len) {
      *vec_push(mapper->out, &mapper->spaces.list) =
          (rh_memory_space){.kind = kind, .color = color};
    }
    int64_t *bytes = &mapper->spaces.list.data[space].bytes;
    mapper->stacked[i] = (Stacked){space, *bytes};
    *bytes += allocation->bytes;
  }
}

/* Before XLA assigns buffers, it adds copies of results that are parameters or that are returned
 * twice. The room for them is part of the space, without a value in it. */
static void widen(Mapper *mapper, const char *kind, int64_t bytes) {
  uint32_t space = 0;
  while (space < mapper->spaces.list.len && strcmp(mapper->spaces.list.data[space].kind, kind) != 0)
    space++;
  if (space == mapper->spaces.list.len) {
    if (bytes <= 0) return;
    *vec_push(mapper->out, &mapper->spaces.list) = (rh_memory_space){.kind = kind};
  }
  if (bytes > mapper->spaces.list.data[space].bytes) mapper->spaces.list.data[space].bytes = bytes;
}

static void stack_all(Mapper *mapper) {
  const MemoryProfile *profile = &mapper->profile;
  bool is_device = mapper->memory_space == DEVICE_MEMORY_SPACE;
  uint32_t num_allocations = mapper->heap.assignment.allocations.len;
  mapper->stacked = arena_array(mapper->scratch, Stacked, num_allocations);
  for (uint32_t i = 0; i < num_allocations; i++)
    mapper->stacked[i] = (Stacked){.space = NO_ID};
  stack(mapper, "constants");
  stack(mapper, "parameters");
  if (is_device) widen(mapper, "parameters", profile->parameter_bytes);
  stack(mapper, "outputs");
  if (is_device) widen(mapper, "outputs", profile->output_bytes - profile->aliased_bytes);
  stack(mapper, "temporaries");
}

/* ---- boxes ---- */

static LogicalTime end_of(const Mapper *mapper, ValueId value) {
  LogicalTime taken = mapper->heap.assignment.taken_at[value];
  LogicalTime end = mapper->heap.ranges.of[value].end, num_times = mapper->heap.ranges.num_times;
  if (taken != NO_TIME) return taken;
  return end < num_times ? end + 1 : num_times;
}

static void add_box(Mapper *mapper, ValueId value) {
  uint32_t index = mapper->heap.assignment.of[mapper->heap.values.buffers.of[value]];
  Stacked stacked = mapper->stacked[index];
  if (stacked.space == NO_ID || mapper->heap.values.flow.values.data[value].bytes <= 0) return;
  Box box = {.space = stacked.space,
             .end = mapper->heap.ranges.num_times,
             .offset = stacked.offset + mapper->heap.assignment.offsets[value],
             .value = value};
  if (mapper->heap.assignment.allocations.data[index].kind != ALLOCATION_CONSTANT) {
    if (mapper->heap.ranges.of[value].start == NO_TIME) return;
    box.begin = mapper->heap.ranges.of[value].start;
    box.end = end_of(mapper, value);
  }
  *vec_push(mapper->scratch, &mapper->boxes.list) = box;
}

static int by_offset_then_begin(const void *pa, const void *pb) {
  const Box *a = pa, *b = pb;
  if (a->space != b->space) return a->space < b->space ? -1 : 1;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

static int by_begin_then_offset(const void *pa, const void *pb) {
  const Box *a = pa, *b = pb;
  if (a->space != b->space) return a->space < b->space ? -1 : 1;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

/* If two values have the same memory one after the other, their boxes overlap at one position. It
 * is given to the later one. */
static void take_apart(Boxes *boxes) {
  Box *list = boxes->list.data;
  uint32_t len = boxes->list.len, num_kept = 0;
  if (len == 0) return;
  qsort(list, len, sizeof *list, by_offset_then_begin);
  for (uint32_t i = 0; i < len; i++) {
    Box box = list[i];
    bool has_next = i + 1 < len && list[i + 1].space == box.space;
    if (has_next && list[i + 1].offset == box.offset && list[i + 1].begin < box.end) {
      box.end = list[i + 1].begin;
    }
    if (box.begin < box.end) list[num_kept++] = box;
  }
  boxes->list.len = num_kept;
  qsort(list, num_kept, sizeof *list, by_begin_then_offset);
}

/* ---- descriptions of values ---- */

typedef struct Reads {
  const Mapper *mapper;
  VEC(int64_t) list;
} Reads;

static void note_read(void *context, InstId user, HloPosition position) {
  Reads *reads = context;
  (void)position;
  LogicalTime time = reads->mapper->heap.ranges.time_of[user];
  if (time != NO_TIME) *vec_push(reads->mapper->scratch, &reads->list) = time;
}

static int by_number(const void *pa, const void *pb) {
  const int64_t *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

static void list_reads(const Mapper *mapper, ValueId value, rh_placed_value *placed) {
  ArenaMark mark = arena_mark(mapper->scratch);
  Reads reads = {.mapper = mapper};
  dataflow_visit_uses(mapper->module, &mapper->heap.values.flow, value, note_read, &reads);
  int64_t *list = arena_array(mapper->out, int64_t, reads.list.len);
  if (reads.list.len) qsort(reads.list.data, reads.list.len, sizeof *list, by_number);
  for (uint32_t i = 0; i < reads.list.len; i++) {
    if (i && reads.list.data[i] == reads.list.data[i - 1]) continue;
    list[placed->num_reads++] = reads.list.data[i];
  }
  placed->reads = list;
  arena_reset(mapper->scratch, mark);
}

static rh_text scope_of(const rh_live_value *value, Arena *out) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = scope_of_value(value, parts);
  return text_of_str(scope_join(parts, num_parts, out));
}

static rh_placed_value describe(const Mapper *mapper, Describer *describer, const Box *box) {
  const HloValue *held = &mapper->heap.values.flow.values.data[box->value];
  LiveRange range = mapper->heap.ranges.of[box->value];
  LogicalTime time = mapper->heap.ranges.time_of[held->inst];
  rh_live_value *value = arena_alloc(mapper->out, sizeof *value);
  *value = describe_value(describer, held->inst, held->part);
  rh_placed_value placed = {.value = value,
                            .space = box->space,
                            .offset = box->offset,
                            .begin = box->begin,
                            .end = box->end,
                            .position = time == NO_TIME ? -1 : (int64_t)time};
  value->bytes = held->bytes;
  value->begin = range.start == NO_TIME ? box->begin : range.start;
  value->end = range.start == NO_TIME ? box->end : range.end;
  placed.scope = scope_of(value, mapper->out);
  placed.is_rematerialized =
      mapper->handle->marks && mapper->handle->marks[held->inst].kind == REMAT_KIND_CLONE;
  list_reads(mapper, box->value, &placed);
  return placed;
}

/* ---- the map ---- */

static int64_t *live_on_device(const Mapper *mapper, const rh_memory_map *map) {
  const BufferAssignment *assignment = &mapper->heap.assignment;
  LogicalTime num_times = mapper->heap.ranges.num_times;
  int64_t *live_bytes = arena_array(mapper->out, int64_t, num_times);
  int64_t held_bytes = assignment->temp_bytes - assignment->heap_bytes;
  for (size_t i = 0; i < map->num_spaces; i++) {
    if (strcmp(map->spaces[i]->kind, "temporaries") != 0) held_bytes += map->spaces[i]->bytes;
  }
  for (LogicalTime time = 0; time < num_times; time++)
    live_bytes[time] = held_bytes + assignment->heap_bytes_at[time];
  return live_bytes;
}

static const rh_text *name_positions(const Mapper *mapper) {
  LogicalTime num_times = mapper->heap.ranges.num_times;
  rh_text *names = arena_array(mapper->out, rh_text, num_times);
  for (LogicalTime time = 0; time < num_times; time++) {
    Str name = inst_name(mapper->module, mapper->heap.ranges.flat[time]);
    names[time] = text_of_str(human_utf8(name, mapper->out));
  }
  return names;
}

/* Fills in all but the positions and the frames. */
static void fill_values(Mapper *mapper, Describer *describer, rh_memory_map *map) {
  Arena *out = mapper->out;
  mapper->spaces = (Spaces){0};
  mapper->boxes = (Boxes){0};
  stack_all(mapper);
  for (ValueId value = 0; value < mapper->heap.values.flow.values.len; value++)
    add_box(mapper, value);
  take_apart(&mapper->boxes);
  rh_placed_value *values = arena_array(out, rh_placed_value, mapper->boxes.list.len);
  for (uint32_t i = 0; i < mapper->boxes.list.len; i++)
    values[i] = describe(mapper, describer, &mapper->boxes.list.data[i]);
  map->module = text_of_str(human_utf8(mapper->module->source->header.name, out));
  map->spaces =
      pointers_to(mapper->spaces.list.data, mapper->spaces.list.len, sizeof(rh_memory_space), out);
  map->num_spaces = mapper->spaces.list.len;
  map->values = pointers_to(values, mapper->boxes.list.len, sizeof *values, out);
  map->num_values = mapper->boxes.list.len;
  map->memory_space = mapper->memory_space;
  const char *name = target_space_name(mapper->module->backend.target, mapper->memory_space);
  map->memory_space_name = (rh_text){name, name ? strlen(name) : 0};
  for (size_t i = 0; i < map->num_spaces; i++)
    map->total_bytes += map->spaces[i]->bytes;
}

static void fill_positions(const Mapper *mapper, const rh_text *names, const int64_t *live_bytes,
                           rh_memory_map *map) {
  LogicalTime num_times = mapper->heap.ranges.num_times;
  map->peak_position = -1;
  for (LogicalTime time = 0; time < num_times; time++) {
    bool is_more = map->peak_position < 0 || live_bytes[time] > live_bytes[map->peak_position];
    if (is_more) map->peak_position = time;
  }
  map->num_positions = num_times;
  map->instructions = names;
  map->live_bytes = live_bytes;
}

/* Makes the maps of all memories but the device's. */
static void fill_others(Mapper *mapper, Describer *describer, rh_memory_map *map) {
  SpaceUses uses = {0};
  if (module_has_spaces(mapper->module))
    uses = space_uses(mapper->module, &mapper->heap, mapper->out, mapper->scratch);
  rh_memory_map *others = arena_zarray(mapper->out, rh_memory_map, uses.list.len);
  for (uint32_t i = 0; i < uses.list.len; i++) {
    mapper->memory_space = uses.list.data[i].space;
    fill_values(mapper, describer, &others[i]);
    fill_positions(mapper, map->instructions, uses.list.data[i].live_bytes, &others[i]);
  }
  map->others = pointers_to(others, uses.list.len, sizeof *others, mapper->out);
  map->num_others = uses.list.len;
  map->num_frames = describer->frames.list.len;
  map->frames = frame_table_list(&describer->frames);
  for (uint32_t i = 0; i < uses.list.len; i++) {
    others[i].num_frames = map->num_frames;
    others[i].frames = map->frames;
  }
}

MemoryProfile memory_map_fill(const rh_module *handle, rh_memory_map *map, Arena *out, Arena *inner,
                              Arena *scratch) {
  const Module *module = handle->module;
  Mapper mapper = {.handle = handle, .module = module, .out = out, .scratch = inner};
  mapper.heap = heap_analysis_run(module, &handle->schedule, HEAP_OFFSETS, inner, scratch);
  module = mapper.module = mapper.heap.module;
  mapper.profile = heap_profile(module, &mapper.heap, inner, scratch);
  Describer describer = describer_new(module, &mapper.heap.values, out, inner);
  fill_values(&mapper, &describer, map);
  fill_positions(&mapper, name_positions(&mapper), live_on_device(&mapper, map), map);
  fill_others(&mapper, &describer, map);
  return mapper.profile;
}
