/* The public functions that explain a peak. */
#include "analysis/memory/buffer_assignment.h"
#include "emit/report/report.h"
#include "api/call.h"
#include "api/measure.h"

/* A report and the arena in which it is allocated. */
typedef struct Handle {
  rh_report report;
  Arena *arena;
} Handle;

/* Returns by how much the peak of `liveness` would be higher if each value had memory of its own
 * from its definition to its last read. */
static int64_t shared_bytes(const ReportInput *input, int64_t peak_bytes, Arena *scratch) {
  const Dataflow *flow = &input->values->flow;
  Arena *arena = arena_new(arena_options(scratch));
  LiveRanges ranges =
      live_ranges_raw(input->module, &input->values->graph, flow, input->schedule, arena, scratch);
  int64_t *change = arena_zarray(arena, int64_t, (size_t)ranges.num_times + 2);
  for (ValueId id = 0; id < flow->values.len; id++) {
    const HloValue *value = &flow->values.data[id];
    LiveRange range = ranges.of[id];
    bool is_constant = inst_get(input->module, value->inst)->opcode == OPCODE_CONSTANT;
    if (range.start == NO_TIME || is_constant) continue;
    change[range.start] += value->bytes;
    change[range.end + 1] -= value->bytes;
  }
  int64_t bytes = 0, most = 0;
  for (LogicalTime time = 0; time <= ranges.num_times; time++) {
    bytes += change[time];
    if (bytes > most) most = bytes;
  }
  arena_free(arena);
  return most > peak_bytes ? most - peak_bytes : 0;
}

static void fill(const rh_module *module, const MemoryModel *model, rh_report *report, Arena *out,
                 Arena *scratch) {
  Arena *arena = arena_new(arena_options(module->arena));
  LiveSet live;
  MemoryProfile profile = model->measure(module->module, &module->schedule, &live, arena, scratch);
  ValueAnalysis values = value_analysis_build(module->module, arena, scratch);
  Liveness liveness =
      liveness_run(module->module, &values, &module->schedule, COUNT_SHARED_TWICE, arena, scratch);
  ReportInput input = {.module = module->module,
                       .schedule = &module->schedule,
                       .profile = &profile,
                       .live = &live,
                       .values = &values,
                       .ranges = &liveness.ranges};
  rh_memory *memory = arena_alloc(out, sizeof *memory);
  *memory = memory_with_bound(module, &profile, scratch);
  report->memory = memory;
  report->module = text_of_str(module->module->source->header.name);
  report->memory_model = model->name;
  report->target = module->module->backend.target->name;
  report->packing = heap_packer(module->module)->name;
  report->heap_limit_bytes = module->module->backend.heap_limit_bytes;
  report->liveness_peak_bytes = liveness.peak_bytes;
  const MemoryModel *heap = memory_model_find("heap");
  MemoryProfile packed = profile;
  if (model != heap)
    packed = heap->measure(module->module, &module->schedule, NULL, arena, scratch);
  report->packed_temp_bytes = memory_profile_temp_bytes(&packed);
  report->fragmentation_bytes = packed.fragmentation_bytes;
  int64_t *heap_bytes = arena_array(out, int64_t, packed.num_heaps);
  if (packed.num_heaps)
    memcpy(heap_bytes, packed.heap_bytes, packed.num_heaps * sizeof *heap_bytes);
  report->heap_bytes = heap_bytes;
  report->num_heaps = packed.num_heaps;
  report->shared_bytes = shared_bytes(&input, liveness.peak_bytes, scratch);
  report->num_positions = liveness.ranges.num_times;
  report->peak_position = -1;
  if (profile.peak_inst != NO_ID && liveness.ranges.time_of[profile.peak_inst] != NO_TIME) {
    report->peak_position = liveness.ranges.time_of[profile.peak_inst];
  }
  report_live(&input, report, out, scratch);
  report->unused_bytes = profile.peak_bytes;
  for (size_t i = 0; i < report->num_live; i++)
    report->unused_bytes -= report->live[i]->bytes;
  report_sums(report, out, scratch);
  report_scopes(report, out, scratch);
  report_stacks(module, report, out, scratch);
  SpaceList spaces = spaces_of(module, out, scratch);
  report->spaces = spaces.list;
  report->num_spaces = spaces.len;
  arena_free(arena);
}

static rh_status make_report(const rh_module *module, const char *model_name, rh_report **report,
                             rh_diags *diags) {
  const MemoryModel *model;
  rh_status status = find_model(module, model_name, &model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  Handle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  fill(module, model, &handle->report, arena, scratch);
  arena_free(scratch);
  *report = &handle->report;
  return RH_OK;
}

rh_status rh_report_make(const rh_module *module, const rh_settings *settings, const char *model,
                         rh_report **report, rh_diags *diags) {
  *report = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_report *made = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_report(taken, model, &made, diags);
  *report = made;
  return call_close(call, status);
}

rh_status rh_compare_sums(rh_sums before, rh_sums after, rh_change_fn visit, void *context,
                          rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  ArenaOptions memory = call_memory(call, 0);
  Arena *scratch = arena_new(&memory);
  sums_compare(before, after, visit, context, scratch);
  arena_free(scratch);
  return call_close(call, RH_OK);
}

void rh_report_free(rh_report *report) {
  if (report) arena_free(((Handle *)report)->arena);
}
