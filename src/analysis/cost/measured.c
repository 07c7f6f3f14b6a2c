/* Measured times of a module's instructions. */
#include "analysis/cost/cost_internal.h"
#include "ir/times.h"

const double *cost_find_measured(const Module *module, Arena *out) {
  Str name = module->source->header.name;
  const TimedModule *timed = times_find_module(module->backend.times, name);
  if (!timed) return NULL;
  double *seconds = arena_array(out, double, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++)
    seconds[id] = times_find(timed, inst_name(module, id));
  return seconds;
}

/* The weights are those of the modelled times, so that a loop counts as often as it runs. */
double cost_unmeasured_scale(const Module *module, const CostTable *table,
                             const DeviceProfile *profile, int64_t default_trip_count,
                             Arena *scratch) {
  if (!table->measured_seconds) return 1;
  CostTable modelled_table = *table;
  modelled_table.measured_seconds = NULL;
  Arena *inner = arena_new(arena_options(scratch));
  const double *runs = cost_runs(module, table, profile, default_trip_count, inner, inner);
  double measured = 0, modelled = 0;
  for (InstId id = 0; id < table->num_insts; id++) {
    CompId comp = inst_get(module, id)->parent;
    if (table->measured_seconds[id] < 0 || comp == NO_ID || runs[comp] == 0) continue;
    double seconds = cost_seconds(module, &modelled_table, profile, id);
    if (seconds <= 0) continue;
    measured += table->measured_seconds[id] * runs[comp];
    modelled += seconds * runs[comp];
  }
  arena_free(inner);
  return measured > 0 && modelled > 0 ? measured / modelled : 1;
}
