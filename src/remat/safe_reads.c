#include "remat/safe_reads.h"

#include <stdarg.h>

#include "analysis/interference.h"
#include "ir/handle.h"

typedef struct Judge {
  const Rewrite *rewrite;
  const LiveRanges *ranges;
  LogicalTime overwritten; /* when the memory of the value that is looked at is taken */
  bool *is_kept;
  uint32_t num_insts;
  bool has_kept;
} Judge;

/* Keeps what a clone or copy stands for. */
static void blame(Judge *judge, InstId id) {
  bool is_new = false;
  for (InstId original = rewrite_stands_for(judge->rewrite, id); original != NO_ID;
       original = rewrite_stands_for(judge->rewrite, id)) {
    id = original;
    is_new = true;
  }
  id = rewrite_twin(judge->rewrite, id);
  if (!is_new || id >= judge->num_insts || judge->is_kept[id]) return;
  judge->is_kept[id] = true;
  judge->has_kept = true;
}

static void blame_late_reader(void *context, InstId user, HloPosition position) {
  Judge *judge = context;
  (void)position;
  LogicalTime time = judge->ranges->time_of[user];
  if (time != NO_TIME && time > judge->overwritten) blame(judge, user);
}

SafeReads safe_reads_judge(const Rewrite *rewrite, const Schedule *schedule, bool *is_kept,
                           uint32_t num_insts, Arena *scratch) {
  const Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Interferences found = interferences_find(module, &values, schedule, arena, scratch);
  Judge judge = {
      .rewrite = rewrite, .ranges = &found.ranges, .is_kept = is_kept, .num_insts = num_insts};
  for (uint32_t i = 0; i < found.list.len; i++) {
    Interference pair = found.list.data[i];
    blame(&judge, values.flow.values.data[pair.first].inst);
    blame(&judge, values.flow.values.data[pair.second].inst);
    judge.overwritten = found.ranges.of[pair.second].start;
    dataflow_visit_uses(module, &values.flow, pair.first, blame_late_reader, &judge);
  }
  SafeReads verdict = found.list.len == 0 ? READS_SAFE
                      : judge.has_kept    ? READS_UNSAFE
                                          : READS_HOPELESS;
  arena_free(arena);
  return verdict;
}

static void tell(rh_diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(rh_diags *diags, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(diags, RH_SEVERITY_NOTE, DIAG_NOWHERE, format, args);
  va_end(args);
}

rh_status safe_reads_verify(const Module *module, const Schedule *schedule, rh_diags *diags,
                            Arena *scratch) {
  enum { MAX_TOLD = 10 };
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Interferences found = interferences_find(module, &values, schedule, arena, scratch);
  uint32_t count = found.list.len;
  for (uint32_t i = 0; i < count && i < MAX_TOLD; i++) {
    Str first = inst_name(module, values.flow.values.data[found.list.data[i].first].inst);
    Str second = inst_name(module, values.flow.values.data[found.list.data[i].second].inst);
    tell(diags, "'%.*s' is read after '%.*s' has overwritten it", (int)first.len, first.data,
         (int)second.len, second.data);
  }
  if (count > MAX_TOLD) tell(diags, "and %u more", count - MAX_TOLD);
  arena_free(arena);
  return count ? RH_NO : RH_OK;
}

rh_copies copies_resolve(const rh_module *module, rh_copies copies, Arena *scratch) {
  if (copies != RH_COPIES_AUTO) return copies;
  bool is_free = is_free_of_interference(module->module, &module->schedule, scratch);
  return is_free ? RH_COPIES_INSERTED : RH_COPIES_PENDING;
}
