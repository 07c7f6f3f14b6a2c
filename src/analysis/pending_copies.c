#include "analysis/pending_copies.h"

#include <stdlib.h>

typedef struct Splitter {
  const Module *module;
  const ValueAnalysis *values;
  LiveRanges ranges;  /* as they are before anything is made to follow each other */
  bool *is_read_only; /* by ValueId */
  BufferId *of;       /* by ValueId: the buffer that it goes into; NO_ID while that is open */
  uint32_t num_buffers;
  Arena *scratch;
} Splitter;

/* Constants, and parameters of the entry that no output takes over. */
static void mark_read_only(Splitter *splitter) {
  const Module *module = splitter->module;
  const Dataflow *flow = &splitter->values->flow;
  const Computation *entry = comp_get(module, module->entry);
  for (ValueId value = 0; value < flow->values.len; value++) {
    const Instruction *inst = inst_get(module, flow->values.data[value].inst);
    bool is_given = inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry;
    splitter->is_read_only[value] = is_given || inst->opcode == OPCODE_CONSTANT;
  }
  const ModuleHeader *header = &module->source->header;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    splitter->is_read_only[dataflow_value(flow, param, alias->param_part)] = false;
  }
}

static int by_end_then_start(const void *pa, const void *pb) {
  const RangedValue *a = pa, *b = pb;
  if (a->range.end != b->range.end) return a->range.end < b->range.end ? -1 : 1;
  if (a->range.start != b->range.start) return a->range.start < b->range.start ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

static bool needs_split(const Splitter *splitter, const RangedValues *values) {
  LogicalTime end = 0;
  for (uint32_t i = 0; i < values->len; i++) {
    LiveRange range = values->list[i].range;
    if (splitter->is_read_only[values->list[i].value] || end > range.start) return true;
    if (range.end > end) end = range.end;
  }
  return false;
}

/* Each value goes on in the buffer that was left last, or in a new one. The first one made is the
 * old one. */
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
      if (splitter->of[ended] == NO_ID) break; /* its range is this moment only */
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

/* Numbers them by their first values. */
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
  if (num_values == shared->num_buffers) return *shared;
  Arena *arena = arena_new(arena_options(scratch));
  Splitter splitter = {
      .module = module,
      .values = values,
      .ranges = live_ranges_raw(module, &values->graph, &values->flow, schedule, arena, scratch),
      .is_read_only = arena_array(arena, bool, num_values),
      .of = arena_array(arena, BufferId, num_values),
      .num_buffers = shared->num_buffers,
      .scratch = arena};
  mark_read_only(&splitter);
  memcpy(splitter.of, shared->of, num_values * sizeof *splitter.of);
  for (BufferId buffer = 0; buffer < shared->num_buffers; buffer++) {
    RangedValues sharing = live_ranges_sharing(&splitter.ranges, shared, buffer, arena);
    if (sharing.len < 2) continue;
    if (needs_split(&splitter, &sharing)) split(&splitter, buffer, &sharing);
  }
  bool is_same = splitter.num_buffers == shared->num_buffers;
  HloBuffers buffers = is_same ? *shared : list_buffers(&splitter, out);
  arena_free(arena);
  return buffers;
}
