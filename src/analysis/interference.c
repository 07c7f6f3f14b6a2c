#include "analysis/interference.h"

static void find_in_buffer(const HloBuffers *buffers, BufferId buffer, Interferences *found,
                           Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  RangedValues values = live_ranges_sharing(&found->ranges, buffers, buffer, scratch);
  const RangedValue *list = values.list;
  uint32_t longest = 0;
  for (uint32_t i = 1; i < values.len; i++) {
    /* Who takes memory over may read it in the same step. */
    if (list[longest].range.end > list[i].range.start) {
      *vec_push(out, &found->list) = (Interference){list[longest].value, list[i].value};
    }
    if (list[i].range.end >= list[longest].range.end) longest = i;
  }
  arena_reset(scratch, mark);
}

Interferences interferences_find(const Module *module, const ValueAnalysis *values,
                                 const Schedule *schedule, Arena *out, Arena *scratch) {
  Interferences found = {
      .ranges = live_ranges_raw(module, &values->graph, &values->flow, schedule, out, scratch)};
  for (BufferId buffer = 0; buffer < values->buffers.num_buffers; buffer++) {
    find_in_buffer(&values->buffers, buffer, &found, out, scratch);
  }
  return found;
}

bool is_free_of_interference(const Module *module, const Schedule *schedule, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Interferences found = interferences_find(module, &values, schedule, arena, scratch);
  bool is_free = found.list.len == 0;
  arena_free(arena);
  return is_free;
}
