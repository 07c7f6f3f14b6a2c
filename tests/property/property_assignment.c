/* No two values have the same bytes at the same time, but where one takes the memory of another
 * that it reads for the last time; all lie in their allocations, and those add up. */
#include "analysis/memory/heap_model.h"
#include "buffers.h"
#include "property.h"

enum { ALIGNMENT = 64 };

typedef struct Judge {
  const Module *module;
  const ValueAnalysis *values;
  const LiveRanges *ranges;
  const BufferAssignment *assignment;
  const Sample *sample;
} Judge;

static const Allocation *allocation_of(const Judge *judge, ValueId value) {
  uint32_t index = judge->assignment->of[judge->values->buffers.of[value]];
  return &judge->assignment->allocations.data[index];
}

static Str name_of(const Judge *judge, ValueId value) {
  return inst_name(judge->module, judge->values->flow.values.data[value].inst);
}

/* Whether the definer of `later` reads something that holds `earlier`. */
static bool reads(const Judge *judge, ValueId later, ValueId earlier) {
  const Dataflow *flow = &judge->values->flow;
  InstId definer = flow->values.data[later].inst;
  for (uint32_t i = flow->first_position[earlier]; i < flow->first_position[earlier + 1]; i++) {
    if (has_operand(judge->module, definer, flow->positions[i].inst)) return true;
  }
  return false;
}

static bool may_overlap(const Judge *judge, ValueId a, ValueId b) {
  LiveRange x = judge->ranges->of[a], y = judge->ranges->of[b];
  if (x.start == NO_TIME || y.start == NO_TIME) return true;
  if (x.end < y.start || y.end < x.start) return true;
  if (x.end == y.start && reads(judge, b, a)) return true;
  return y.end == x.start && reads(judge, a, b);
}

static void check_pair(const Judge *judge, ValueId a, ValueId b) {
  const BufferAssignment *assignment = judge->assignment;
  if (judge->values->buffers.of[a] == judge->values->buffers.of[b]) {
    ck_assert_msg(assignment->offsets[a] == assignment->offsets[b], "one buffer in two places\n%s",
                  sample_shown(judge->sample));
    return;
  }
  if (allocation_of(judge, a) != allocation_of(judge, b)) return;
  int64_t a_end = assignment->offsets[a] + judge->values->flow.values.data[a].bytes;
  int64_t b_end = assignment->offsets[b] + judge->values->flow.values.data[b].bytes;
  bool is_same = assignment->offsets[a] < b_end && assignment->offsets[b] < a_end;
  Str x = name_of(judge, a), y = name_of(judge, b);
  ck_assert_msg(!is_same || may_overlap(judge, a, b), "%.*s and %.*s have the same bytes\n%s",
                (int)x.len, x.data, (int)y.len, y.data, sample_shown(judge->sample));
}

static void check_values(const Judge *judge) {
  uint32_t num_values = judge->values->flow.values.len;
  for (ValueId a = 0; a < num_values; a++) {
    const Allocation *allocation = allocation_of(judge, a);
    int64_t offset = judge->assignment->offsets[a];
    ck_assert_int_eq(offset % ALIGNMENT, 0);
    ck_assert_int_le(offset + judge->values->flow.values.data[a].bytes, allocation->bytes);
    for (ValueId b = a + 1; b < num_values; b++)
      check_pair(judge, a, b);
  }
}

static void check_sums(const Judge *judge, const rh_module *scheduled, int64_t limit_bytes) {
  const BufferAssignment *assignment = judge->assignment;
  int64_t most = 0;
  for (LogicalTime time = 0; time < judge->ranges->num_times; time++) {
    if (assignment->heap_bytes_at[time] > most) most = assignment->heap_bytes_at[time];
  }
  ck_assert_int_le(most, assignment->heap_bytes);
  ck_assert_int_le(assignment->heap_bytes, assignment->temp_bytes);
  rh_memory memory = RH_MEMORY_INIT;
  rh_settings settings = RH_SETTINGS_INIT;
  settings.heap_limit_bytes = limit_bytes;
  ck_assert_int_eq(rh_measure_memory(scheduled, &settings, "heap", &memory, NULL), RH_OK);
  ck_assert_int_eq(memory.temp_bytes, assignment->temp_bytes);
  ck_assert_int_eq(memory.total_bytes, memory.peak_bytes);
  /* Parameters and results that would share memory get copies in front of buffer assignment. */
  ck_assert_int_ge(memory.parameter_bytes, assignment->parameter_bytes);
  ck_assert_int_ge(memory.output_bytes, assignment->output_bytes - assignment->aliased_bytes);
}

/* No heap is above the limit but for a value that is; combined ones may reach it by padding. */
static void check_limit(const Judge *judge, int64_t limit_bytes) {
  const BufferAssignment *assignment = judge->assignment;
  uint32_t first = assignment->allocations.len - assignment->num_temps;
  int64_t temp_bytes = 0;
  for (uint32_t i = first; i < assignment->allocations.len; i++) {
    int64_t bytes = assignment->allocations.data[i].bytes, allowed = limit_bytes + ALIGNMENT;
    for (ValueId value = 0; value < judge->values->flow.values.len; value++) {
      int64_t size = judge->values->flow.values.data[value].bytes;
      if (assignment->of[judge->values->buffers.of[value]] == i && size > allowed) allowed = size;
    }
    ck_assert_msg(limit_bytes < 0 || bytes <= allowed, "a heap of %lld bytes, limit %lld\n%s",
                  (long long)bytes, (long long)limit_bytes, sample_shown(judge->sample));
    temp_bytes += bytes;
  }
  ck_assert_int_eq(temp_bytes, assignment->temp_bytes);
}

START_TEST(values_are_apart) {
  Sample sample = sample_make((uint64_t)_i, 150, GENERATE_ALL);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "postorder"};
  rh_module *scheduled = schedule_sample(&sample, schedulers[_i % 4]);
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  int64_t limit_bytes = _i % 3 ? -1 : ((int64_t)_i * 37) % 5000;
  scheduled->module->backend.heap_limit_bytes = limit_bytes;
  HeapAnalysis heap =
      heap_analysis_run(scheduled->module, &scheduled->schedule, HEAP_OFFSETS, arena, scratch);
  Judge judge = {scheduled->module, &heap.values, &heap.ranges, &heap.assignment, &sample};
  check_values(&judge);
  check_sums(&judge, scheduled, limit_bytes);
  check_limit(&judge, limit_bytes);
  HeapAnalysis sizes =
      heap_analysis_run(scheduled->module, &scheduled->schedule, HEAP_SIZES, arena, scratch);
  judge.assignment = &sizes.assignment;
  check_values(&judge);
  ck_assert_int_eq(sizes.assignment.heap_bytes, heap.assignment.heap_bytes);
  ck_assert_int_eq(sizes.assignment.temp_bytes, heap.assignment.temp_bytes);
  arena_free(scratch);
  arena_free(arena);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("assignment", values_are_apart, 1000);
}
