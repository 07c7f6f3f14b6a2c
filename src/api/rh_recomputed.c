/* The public functions that sum up what was recomputed. */
#include "emit/report/recomputed.h"

#include "analysis/cost/cost.h"
#include "api/call.h"
#include "api/measure.h"

/* A summary and the arena in which it is allocated. */
typedef struct Handle {
  rh_recomputed recomputed;
  Arena *arena;
} Handle;

static rh_status make_recomputed(const rh_module *handle, int64_t default_trip_count,
                                 rh_recomputed **recomputed, rh_diags *diags) {
  const Module *module = handle->module;
  rh_status status = handle_check(handle, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(handle->arena));
  Arena *scratch = arena_new(arena_options(handle->arena));
  Handle *made = arena_zalloc(arena, sizeof *made);
  made->arena = arena;
  Arena *inner = arena_new(arena_options(handle->arena));
  CostTable table = cost_table_of(handle, NULL, default_trip_count, inner, scratch);
  double *runs = cost_runs(module, &table, NULL, default_trip_count, inner, scratch);
  ValueAnalysis values = value_analysis_build(module, inner, scratch);
  recomputed_fill(module, &values, handle->marks, runs, &made->recomputed, arena, scratch);
  arena_free(inner);
  arena_free(scratch);
  *recomputed = &made->recomputed;
  return RH_OK;
}

rh_status rh_recomputed_make(const rh_module *module, const rh_settings *settings,
                             int64_t default_trip_count, rh_recomputed **recomputed,
                             rh_diags *diags) {
  *recomputed = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_recomputed *made = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_recomputed(taken, default_trip_count, &made, diags);
  *recomputed = made;
  return call_close(call, status);
}

void rh_recomputed_free(rh_recomputed *recomputed) {
  if (recomputed) arena_free(((Handle *)recomputed)->arena);
}
