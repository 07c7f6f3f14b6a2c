/* The public functions that rematerialize. */
#include "api/call.h"
#include "api/measure.h"
#include "api/module.h"
#include "api/arguments.h"
#include "api/sized.h"
#include "ir/diag.h"
#include "remat/engine/engine.h"
#include "remat/plan/plan.h"

static rh_text *texts_of(const PlanRefs *refs, Arena *out) {
  rh_text *texts = arena_array(out, rh_text, refs->list.len);
  for (uint32_t i = 0; i < refs->list.len; i++)
    texts[i] = text_of_str(refs->list.data[i].name);
  return texts;
}

/* The record of what was done with loops' stacks, as part of the result's handle. */
static void add_scans(rh_module *result, rh_remat_result *info) {
  const ScanSteps *steps = result->scans;
  if (!steps) return;
  uint32_t count = steps->list.len;
  const rh_scan **scans = arena_array(result->arena, const rh_scan *, count);
  for (uint32_t i = 0; i < count; i++) {
    const ScanStep *step = &steps->list.data[i];
    rh_scan *scan = arena_alloc(result->arena, sizeof *scan);
    *scan = (rh_scan){.round = step->round,
                      .loop = text_of_str(step->loop.name),
                      .source_file = text_of_str(step->source_file),
                      .source_line = step->source_line,
                      .readers = texts_of(&step->readers, result->arena),
                      .num_readers = step->readers.list.len,
                      .stored = texts_of(&step->stored, result->arena),
                      .num_stored = step->stored.list.len,
                      .segment = step->segment,
                      .num_segments = step->num_segments,
                      .num_freed = step->num_freed,
                      .freed_bytes = step->freed_bytes,
                      .stored_bytes = step->stored_bytes,
                      .unrolled = step->num_iterations};
    scans[i] = scan;
  }
  info->scans = scans;
  info->num_scans = count;
}

/* Finds the algorithm and the models that the options name, and runs the engine with them. */
static rh_status run_engine(const rh_module *module, const Plan *plan,
                            const rh_remat_options *options, rh_module **result,
                            rh_remat_result *result_info, rh_diags *diags) {
  const RematAlgorithm *algorithm =
      plan ? &plan_algorithm : remat_algorithm_find(options->algorithm);
  if (!algorithm) return fail_unknown_name(RH_ALGORITHMS, options->algorithm, diags);
  const MemoryModel *model;
  rh_status status = find_model(module, options->memory_model, &model, diags);
  if (status != RH_OK) return status;
  RematRequest request = {.module = module,
                          .options = options,
                          .algorithm = algorithm,
                          .plan = plan,
                          .memory_model = model,
                          .device = options->profile ? profile_of(options->profile) : NULL};
  rh_remat_result info = {0};
  status = remat_engine_run(&request, result, &info, diags);
  if (status != RH_OK) return status;
  add_scans(*result, &info);
  *result_info = info;
  return info.is_met ? RH_OK : RH_OVER_LIMIT;
}

/* Reads the settings. If they do not determine whether copies are inserted, the plan does. */
static rh_status settings_of_plan(const rh_settings *given, const rh_plan *plan,
                                  rh_settings *settings, rh_diags *diags) {
  rh_status status = settings_read(given, settings, diags);
  if (plan && settings->copies == RH_COPIES_AUTO) settings->copies = plan->plan.copies;
  return status;
}

static rh_status check_limits(const rh_remat_options *options, rh_diags *diags) {
  DiagPlace place = DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET);
  if (options->effort < RH_EFFORT_BY_SIZE || options->effort > 9) {
    return diag_fail(diags, RH_ERR_USAGE, place, "effort is a number from 0 to 9, not %d",
                     options->effort);
  }
  /* The comparison is false for NaN, too. */
  if (options->time_limit_seconds >= 0) return RH_OK;
  return diag_fail(diags, RH_ERR_USAGE, place, "time_limit_seconds is not negative");
}

static rh_status read_options(const rh_remat_options *given, rh_remat_options *options,
                              rh_diags *diags) {
  *options = (rh_remat_options)RH_REMAT_OPTIONS_INIT;
  rh_status status = sized_read(options, sizeof *options, given, "rh_remat_options", diags);
  const struct {
    const char *what;
    int value, count;
  } choices[] = {{"limit_counts", (int)options->limit_counts, RH_COUNT_TOTAL + 1},
                 {"emit", (int)options->emit, RH_EMIT_UNSCHEDULED + 1},
                 {"protect", (int)options->protect, RH_PROTECT_CONDITIONAL + 1}};
  for (size_t i = 0; status == RH_OK && i < sizeof choices / sizeof *choices; i++)
    status = check_choice(choices[i].value, choices[i].count, choices[i].what, diags);
  return status == RH_OK ? check_limits(options, diags) : status;
}

static rh_status remat_or_apply(const rh_module *module, const rh_settings *given_settings,
                                const rh_plan *plan, const rh_remat_options *given,
                                rh_module **result, rh_remat_result *result_info, rh_diags *diags) {
  *result = NULL;
  CALL_OPEN(call, diags, plan ? RH_CODE_PLAN : RH_CODE_INTERNAL);
  call_warn_about(call, RH_CODE_NO_MATCH);
  rh_settings settings;
  rh_remat_options options;
  rh_remat_result info = {0};
  const rh_module *taken = NULL;
  rh_module *made = NULL;
  rh_status status = sized_clear(result_info, "rh_remat_result", diags);
  if (status == RH_OK) status = read_options(given, &options, diags);
  if (status == RH_OK) status = settings_of_plan(given_settings, plan, &settings, diags);
  if (status == RH_OK) status = call_take(call, module, &settings, &taken);
  if (status == RH_OK && plan) status = handle_check_scheduled(taken, diags);
  if (status == RH_OK && plan)
    plan_warn_of_module(&plan->plan, taken->module, &taken->schedule, diags);
  if (status == RH_OK) {
    status = run_engine(taken, plan ? &plan->plan : NULL, &options, &made, &info, diags);
  }
  if (made) {
    sized_write(result_info, &info, sizeof info);
    *result = module_finish(made);
  }
  return call_close(call, status);
}

rh_status rh_remat(const rh_module *module, const rh_settings *settings,
                   const rh_remat_options *options, rh_module **result,
                   rh_remat_result *result_info, rh_diags *diags) {
  return remat_or_apply(module, settings, NULL, options, result, result_info, diags);
}

rh_status rh_apply_plan(const rh_module *module, const rh_settings *settings, const rh_plan *plan,
                        const rh_remat_options *options, rh_module **result,
                        rh_remat_result *result_info, rh_diags *diags) {
  return remat_or_apply(module, settings, plan, options, result, result_info, diags);
}
