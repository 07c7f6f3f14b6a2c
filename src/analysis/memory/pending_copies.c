#include "analysis/memory/pending_copies.h"

#include <stdlib.h>

#include "analysis/flow/copy_stage.h"
#include "analysis/memory/overwrites.h"

typedef struct Splitter {
  const Module *module;
  const ValueAnalysis *values;
  LiveRanges ranges;  /* raw: before values are made to follow each other */
  bool *is_read_only; /* by ValueId */
  BufferId *of;       /* by ValueId: its new buffer; NO_ID while that is not decided */
  uint32_t num_buffers;
  Arena *scratch;
} Splitter;

/* Marks constants, and parameters of the entry that no output takes over. */
static void mark_read_only(Splitter *splitter, Arena *out) {
  const Dataflow *flow = &splitter->values->flow;
  splitter->is_read_only = values_of_callers(splitter->module, flow, out);
  for (ValueId value = 0; value < flow->values.len; value++) {
    const Instruction *inst = inst_get(splitter->module, flow->values.data[value].inst);
    splitter->is_read_only[value] |= inst->opcode == OPCODE_CONSTANT;
  }
}

static int by_end_then_start(const void *pa, const void *pb) {
  const RangedValue *a = pa, *b = pb;
  if (a->range.end != b->range.end) return a->range.end < b->range.end ? -1 : 1;
  if (a->range.start != b->range.start) return a->range.start < b->range.start ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

/* By BufferId: some value in it is read after it was overwritten, or is read-only but shares the
 * buffer. */
static bool *find_splits(const Splitter *splitter, const Schedule *schedule, Arena *out) {
  const HloBuffers *buffers = &splitter->values->buffers;
  bool *is_split = arena_zarray(out, bool, buffers->num_buffers);
  OverwrittenReads reads =
      overwritten_reads_find(splitter->module, splitter->values, schedule, out, splitter->scratch);
  for (uint32_t i = 0; i < reads.list.len; i++)
    is_split[buffers->of[reads.list.data[i].value]] = true;
  for (ValueId value = 0; value < splitter->values->flow.values.len; value++)
    is_split[buffers->of[value]] |= splitter->is_read_only[value];
  return is_split;
}

/* Puts each value into the buffer that became free last, or into a new one. The first new buffer
 * keeps the old buffer's id. */
static void split(Splitter *splitter, BufferId buffer, const RangedValues *by_start) {
  uint32_t len = by_start->len, num_free = 0, num_ended = 0;
  RangedValue *by_end = arena_array(splitter->scratch, RangedValue, len);
  BufferId *free_buffers = arena_array(splitter->scratch, BufferId, len);
  memcpy(by_end, by_start->list, len * sizeof *by_end);
  qsort(by_end, len, sizeof *by_end, by_end_then_start);
  for (uint32_t i = 0; i < len; i++)
    splitter->of[by_start->list[i].value] = NO_ID;
  bool is_used = false;
  for (uint32_t i = 0; i < len; i++) {
    const RangedValue *value = &by_start->list[i];
    for (; num_ended < len && by_end[num_ended].range.end <= value->range.start; num_ended++) {
      ValueId ended = by_end[num_ended].value;
      if (splitter->of[ended] == NO_ID) break; /* its live range is only this time */
      if (!splitter->is_read_only[ended]) free_buffers[num_free++] = splitter->of[ended];
    }
    if (num_free && !splitter->is_read_only[value->value]) {
      splitter->of[value->value] = free_buffers[--num_free];
    } else {
      splitter->of[value->value] = is_used ? splitter->num_buffers++ : buffer;
      is_used = true;
    }
  }
}

/* Numbers the buffers by their first values. */
static HloBuffers list_buffers(Splitter *splitter, Arena *out) {
  uint32_t num_values = splitter->values->flow.values.len;
  HloBuffers buffers = {.of = arena_array(out, BufferId, num_values),
                        .first_value = arena_zarray(out, uint32_t, splitter->num_buffers + 1),
                        .values = arena_array(out, ValueId, num_values)};
  BufferId *number = arena_array(splitter->scratch, BufferId, splitter->num_buffers);
  memset(number, 0xff, splitter->num_buffers * sizeof *number);
  for (ValueId value = 0; value < num_values; value++) {
    BufferId *found = &number[splitter->of[value]];
    if (*found == NO_ID) *found = buffers.num_buffers++;
    buffers.of[value] = *found;
    buffers.first_value[*found + 1]++;
  }
  for (BufferId buffer = 0; buffer < buffers.num_buffers; buffer++)
    buffers.first_value[buffer + 1] += buffers.first_value[buffer];
  uint32_t *next = arena_array(splitter->scratch, uint32_t, buffers.num_buffers);
  memcpy(next, buffers.first_value, buffers.num_buffers * sizeof *next);
  for (ValueId value = 0; value < num_values; value++)
    buffers.values[next[buffers.of[value]]++] = value;
  return buffers;
}

HloBuffers buffers_after_copies(const Module *module, const ValueAnalysis *values,
                                const Schedule *schedule, Arena *out, Arena *scratch) {
  const HloBuffers *shared = &values->buffers;
  uint32_t num_values = values->flow.values.len;
  if (num_values == shared->num_buffers || copies_are_inserted(module)) return *shared;
  Arena *arena = arena_new(arena_options(scratch));
  Splitter splitter = {
      .module = module,
      .values = values,
      .ranges = live_ranges_raw(module, &values->graph, &values->flow, schedule, arena, scratch),
      .of = arena_array(arena, BufferId, num_values),
      .num_buffers = shared->num_buffers,
      .scratch = arena};
  mark_read_only(&splitter, arena);
  const bool *is_split = find_splits(&splitter, schedule, arena);
  memcpy(splitter.of, shared->of, num_values * sizeof *splitter.of);
  for (BufferId buffer = 0; buffer < shared->num_buffers; buffer++) {
    RangedValues sharing = live_ranges_sharing(&splitter.ranges, shared, buffer, arena);
    if (sharing.len < 2) continue;
    if (is_split[buffer]) split(&splitter, buffer, &sharing);
  }
  bool is_same = splitter.num_buffers == shared->num_buffers;
  HloBuffers buffers = is_same ? *shared : list_buffers(&splitter, out);
  arena_free(arena);
  return buffers;
}
