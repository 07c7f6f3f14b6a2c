#include "remat/engine/judge.h"

#include "remat/engine/variant.h"
#include "remat/legality/safe_reads.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/mark_result.h"
#include "remat/verify/verify.h"
#include "text/reparse.h"

/* Fails with an internal error, or, if a plan was applied, with an input error: a plan can ask for
 * what no algorithm does, such as another order of side effects. */
static rh_status fail(const Problem *problem, const char *what) {
  if (!problem->plan) return fail_internally(problem->diags, what);
  return diag_fail(problem->diags, RH_ERR_INPUT, DIAG_NOWHERE, "with this plan %s", what);
}

static rh_status reparse(Attempt *attempt, const Problem *problem) {
  bool is_open = problem->options->emit == RH_EMIT_UNSCHEDULED;
  PrintOrder order = is_open ? PRINT_UNSCHEDULED : PRINT_SCHEDULED;
  Module *parsed = NULL;
  rh_status status = module_reparse(attempt->rewrite.module, &attempt->schedule, order, &parsed,
                                    problem->diags, problem->scratch);
  if (status != RH_OK) return status;
  rh_module *result = handle_new(parsed);
  result->schedule = schedule_in_text_order(parsed, result->arena);
  result->has_schedule = true;
  result->scheduler = problem->input->scheduler;
  attempt->result = result;
  return RH_OK;
}

rh_status judge_attempt(Attempt *attempt, const Problem *problem, const Findings *findings) {
  rh_status status = reparse(attempt, problem);
  if (status != RH_OK) return status;
  rh_module *result = attempt->result;
  uint32_t num_insts = problem->input->module->insts.len;
  bool *is_kept = arena_array(attempt->arena, bool, num_insts);
  for (InstId id = 0; id < num_insts; id++)
    is_kept[id] = findings->is_kept[id] || findings->is_refused[id];
  mark_result(&attempt->rewrite, is_kept, num_insts, result, attempt->arena);
  if (problem->steps) variant_keep_marks(problem->input, result, attempt->arena);
  if (handle_check(result, problem->diags) != RH_OK)
    return fail(problem, "the rewritten module contradicts itself");
  if (!problem_keeps_spaces(problem, result)) {
    if (problem->plan) return fail(problem, "VMEM or the like would have to hold more");
    rh_module_free(attempt->result);
    attempt->result = NULL;
    attempt->is_unsafe = true;
    return RH_OK;
  }
  /* Where there is no goal to look back at, the text is all that counts from here on. */
  if (attempt->guide.peak_limit.bytes == INT64_MAX && !attempt->plan) attempt_free_work(attempt);
  rh_memory after =
      problem_measure(problem, problem->request->memory_model, result->module, &result->schedule);
  int64_t counted_bytes = problem_counted_bytes(problem, &after);
  attempt->score = (Score){.is_met = counted_bytes <= problem->options->limit_bytes,
                           .bytes = counted_bytes,
                           .seconds = -1};
  return RH_OK;
}

int64_t judge_peak(const RematJob *job) {
  const Problem *problem = job->judge;
  Arena *scratch = problem->scratch, *arena = arena_new(arena_options(scratch));
  Rewrite rewrite = rewrite_begin(module_copy(job->rewrite->module));
  Schedule schedule = schedule_copy(job->schedule, rewrite.module, arena);
  dce_run(&rewrite, scratch);
  dce_update_schedule(rewrite.module, &schedule, arena);
  rewrite_write_out_elements(&rewrite, scratch);
  Module *parsed = NULL;
  int64_t peak_bytes = INT64_MAX;
  if (module_reparse(rewrite.module, &schedule, PRINT_SCHEDULED, &parsed, NULL, scratch) == RH_OK) {
    schedule = schedule_in_text_order(parsed, arena);
    rh_memory memory = problem_measure(problem, problem->request->memory_model, parsed, &schedule);
    peak_bytes = problem_counted_bytes(problem, &memory) + job->uncounted_bytes;
    module_free(parsed);
  }
  module_free(rewrite.module);
  arena_free(arena);
  return peak_bytes;
}

Score judge_score(Attempt *attempt, const Problem *problem) {
  if (attempt->score.seconds < 0)
    attempt->score.seconds = variant_seconds(problem, attempt->result);
  return attempt->score;
}

void judge_report(Attempt *best, const Problem *problem) {
  if (!patience_is_watched(problem->patience)) return;
  Score score = judge_score(best, problem);
  patience_report(problem->patience, score.bytes, score.is_met,
                  score.seconds - variant_seconds(problem, problem->original));
}

/* ---- verification ---- */

static const Module *module_that_was_parsed(const Module *module) {
  while (module->parent)
    module = module->parent;
  return module;
}

/* If the user chose another order for a scheduled module, side effects may change their order. */
static bool keeps_order(const rh_module *input) {
  return !input->scheduler || strcmp(input->scheduler, "input") == 0;
}

/* Checks reads of overwritten memory. XLA will choose the order if the module is written without a
 * schedule. */
static rh_status verify_reads(const rh_module *result, const Problem *problem, rh_diags *diags) {
  if (!problem->has_copies) return RH_OK;
  const rh_module *input = problem->original;
  bool is_scheduled = input->module->source->header.is_scheduled;
  OrderedModule before = {input->module, &input->schedule, !is_scheduled};
  bool is_open = problem->options->emit == RH_EMIT_UNSCHEDULED;
  OrderedModule after = {result->module, &result->schedule, is_open};
  return safe_reads_verify(&before, &after, diags, problem->scratch);
}

/* Proves that the values are the same, and finds out whether they round alike. They need not if
 * fusions were written out first, or if a parameter says so. */
static rh_status verify_values(const rh_module *result, const Problem *problem, rh_diags *diags,
                               bool *rounds_alike) {
  const rh_module *input = problem->original;
  const Module *before = module_that_was_parsed(input->module), *after = result->module;
  bool may_differ = input->preparation.unfuse || problem->parameters.fuse_any_rounding;
  rh_status status = verify_modules(before, after, keeps_order(input), true,
                                    may_differ ? NULL : diags, problem->scratch);
  *rounds_alike = status == RH_OK;
  if (status == RH_OK || !may_differ) return status;
  return verify_modules(before, after, keeps_order(input), false, diags, problem->scratch);
}

rh_status judge_verify(Attempt *attempt, const Problem *problem) {
  const rh_module *result = attempt->result;
  if (verify_values(result, problem, problem->diags, &attempt->rounds_alike) != RH_OK)
    return fail(problem, "the rewritten module computes something else");
  if (verify_reads(result, problem, problem->diags) != RH_OK)
    return fail(problem, "the rewritten module reads overwritten memory");
  return RH_OK;
}

bool judge_can_prove(const Attempt *attempt, const Problem *problem) {
  bool rounds_alike;
  return verify_values(attempt->result, problem, NULL, &rounds_alike) == RH_OK &&
         verify_reads(attempt->result, problem, NULL) == RH_OK;
}
