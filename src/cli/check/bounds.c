/* The bounds on a peak that `check` enforces. */
#include <stdlib.h>
#include <string.h>

#include "check/job.h"
#include "memory.h"
#include "messages.h"

enum { MAX_SHOWN = 5 };

bool bounds_are_given(const Options *options) {
  return options->max_peak_bytes >= 0 || options->baseline || options->write_baseline;
}

/* ---- --max-peak ---- */

static void note_sources(const ReportJob *job) {
  rh_sums sums = job->report->sums[RH_BY_SOURCE];
  for (size_t i = 0; i < sums.len && i < MAX_SHOWN; i++) {
    char bytes[RH_FORMAT_CHARS];
    char *source = source_text(sums.list[i]->name, sums.list[i]->line);
    rh_format_bytes(sums.list[i]->bytes, bytes);
    messages_say(&job->loaded.input, RH_SEVERITY_NOTE, "%s of it from %s", bytes,
                 source ? source : "no known source line");
    free(source);
  }
}

static rh_status check_max_peak(const ReportJob *job) {
  int64_t limit = job->options->max_peak_bytes, peak = job->report->memory->peak_bytes;
  if (limit < 0 || peak <= limit) return RH_OK;
  char bytes[RH_FORMAT_CHARS], over[RH_FORMAT_CHARS], allowed[RH_FORMAT_CHARS];
  rh_text at = job->report->memory->peak_instruction;
  rh_format_bytes(peak, bytes);
  rh_format_bytes(peak - limit, over);
  rh_format_bytes(limit, allowed);
  messages_say(&job->loaded.input, RH_SEVERITY_ERROR,
               "the peak, %s at %.*s, is %s over --max-peak=%s", bytes, (int)at.length, at.data,
               over, allowed);
  note_sources(job);
  return RH_OVER_LIMIT;
}

static void print_peak(const ReportJob *job) {
  char bytes[RH_FORMAT_CHARS];
  rh_text at = job->report->memory->peak_instruction;
  rh_format_bytes(job->report->memory->peak_bytes, bytes);
  fprintf(check_summary(job->options), "%s: peak %s%s%.*s, memory model %s\n",
          job->loaded.input.path, bytes, at.length ? " at " : "", (int)at.length, at.data,
          job->report->memory_model);
}

static rh_status judge(const ReportJob *job, CheckedModule *module) {
  const Options *options = job->options;
  module->report = report_json(job, true);
  if (!module->report || !baseline_parse(module->report, strlen(module->report), &module->now)) {
    return input_out_of_memory(&job->loaded.input);
  }
  bool has_line = bounds_are_given(options) && !module->listed->chosen && !options->quiet;
  if (has_line) print_peak(job);
  rh_status status = check_max_peak(job);
  module->is_over_max_peak = status == RH_OVER_LIMIT;
  return status;
}

rh_status bounds_measure(const Loaded *loaded, const Options *options, CheckedModule *module) {
  const ListedModule *listed = module->listed;
  ReportJob job = {.options = options,
                   .loaded = *loaded,
                   .min_peak_bytes = module_min_peak(listed, options),
                   .stages = listed->stages,
                   .num_stages = listed->num_stages};
  job.loaded.diags = memory_need(rh_diags_new());
  rh_status status = report_explain(&job);
  if (status == RH_OK) status = judge(&job, module);
  rh_diags_free(job.loaded.diags);
  rh_report_free(job.report);
  rh_module_free(job.scheduled);
  return status;
}

/* ---- --baseline ---- */

static Input baseline_place(const CheckJob *job) {
  return (Input){.path = job->options->baseline, .form = (MessageForm)job->options->diagnostics};
}

static Input place_of(const CheckJob *job, const CheckedModule *module) {
  return (Input){.path = module->path, .form = (MessageForm)job->options->diagnostics};
}

typedef struct Growth {
  const Input *input;
  int num_shown;
} Growth;

static void note_growth(void *context, const rh_change *change) {
  Growth *growth = context;
  int64_t grown = change->after_bytes - change->before_bytes;
  if (grown <= 0 || growth->num_shown++ >= MAX_SHOWN) return;
  char bytes[RH_FORMAT_CHARS], before[RH_FORMAT_CHARS];
  rh_format_bytes(grown, bytes);
  rh_format_bytes(change->before_bytes, before);
  messages_say(growth->input, RH_SEVERITY_NOTE, "%s more from %.*s, %s%s", bytes,
               (int)change->name.length, change->name.data,
               change->before_num_values ? "it was " : "which is new",
               change->before_num_values ? before : "");
}

static void say_growth(const CheckJob *job, const CheckedModule *module) {
  const MeasuredModule *before = module->before, *now = module->now.modules;
  int64_t was = before->peak_bytes, is = now->peak_bytes;
  char was_text[RH_FORMAT_CHARS], is_text[RH_FORMAT_CHARS], over[RH_FORMAT_CHARS], percent[32] = "";
  if (was) {
    snprintf(percent, sizeof percent, " (%.1f %%)", 100.0 * (double)(is - was) / (double)was);
  }
  rh_format_bytes(was, was_text);
  rh_format_bytes(is, is_text);
  rh_format_bytes(is - was, over);
  ReportJob report = {.options = job->options, .loaded.input = place_of(job, module)};
  messages_say(&report.loaded.input, RH_SEVERITY_ERROR,
               "the peak, %s, is %s%s over the %s of %s, more than --tolerance allows", is_text,
               over, percent, was_text, job->options->baseline);
  Growth growth = {.input = &report.loaded.input};
  report_compare_sums(&report, (rh_sums){before->list, before->num_sums},
                      (rh_sums){now->list, now->num_sums}, note_growth, &growth);
}

static rh_status compare(const CheckJob *job, CheckedModule *module) {
  Input place = baseline_place(job);
  const MeasuredModule *now = module->now.modules;
  if (!baseline_has_same_settings(module->before, now, &place)) return RH_ERR_USAGE;
  int64_t was = module->before->peak_bytes;
  Budget tolerance = job->options->tolerance;
  int64_t allowance =
      tolerance.kind == BUDGET_PERCENT ? share_of(was, tolerance.amount) : tolerance.amount;
  module->allowed_bytes = was < INT64_MAX - allowance ? was + allowance : INT64_MAX;
  module->is_over_baseline = now->peak_bytes > module->allowed_bytes;
  if (!module->is_over_baseline) return RH_OK;
  say_growth(job, module);
  return RH_OVER_LIMIT;
}

/* ---- which module is which ---- */

typedef bool (*is_same_fn)(const MeasuredModule *was, const MeasuredModule *is);

static bool has_same_name_and_hash(const MeasuredModule *was, const MeasuredModule *is) {
  return was->module && baseline_has_same_name(was, is) && baseline_has_same_hash(was, is);
}

static bool is_any(const MeasuredModule *was, const MeasuredModule *is) {
  return was && is;
}

/* Returns the module with the largest peak among those that are the same and not taken yet. */
static MeasuredModule *find_same(const Baseline *baseline, const MeasuredModule *is,
                                 is_same_fn is_same) {
  MeasuredModule *best = NULL;
  for (size_t i = 0; i < baseline->len; i++) {
    MeasuredModule *was = &baseline->modules[i];
    if (was->is_taken || !is_same(was, is)) continue;
    if (!best || was->peak_bytes > best->peak_bytes) best = was;
  }
  return best;
}

static int by_peak_then_place(const void *pa, const void *pb) {
  const CheckedModule *a = *(CheckedModule *const *)pa, *b = *(CheckedModule *const *)pb;
  int64_t peak_a = a->now.modules->peak_bytes, peak_b = b->now.modules->peak_bytes;
  if (peak_a != peak_b) return peak_a > peak_b ? -1 : 1;
  return (a > b) - (a < b);
}

static void pair(CheckJob *job, CheckedModule **modules, size_t count, is_same_fn is_same) {
  for (size_t i = 0; i < count; i++) {
    if (modules[i]->before) continue;
    MeasuredModule *was = find_same(&job->baseline, modules[i]->now.modules, is_same);
    if (!was) continue;
    was->is_taken = true;
    modules[i]->before = was;
  }
}

/* Finds each module in the baseline: unchanged ones first, then those of the same name, of which
 * there can be several, by their peaks, then those that have another name and the same text. */
static void pair_all(CheckJob *job, CheckedModule **modules, size_t count) {
  if (count) qsort(modules, count, sizeof *modules, by_peak_then_place);
  pair(job, modules, count, has_same_name_and_hash);
  pair(job, modules, count, baseline_has_same_name);
  pair(job, modules, count, baseline_has_same_hash);
  bool is_one_each = count == 1 && job->baseline.len == 1;
  if (job->options->force && is_one_each) pair(job, modules, count, is_any);
}

/* ---- modules without a partner ---- */

static const char *hash_text(const MeasuredModule *module) {
  return module->hash ? module->hash : "not recorded";
}

static rh_status refuse(const CheckJob *job, const CheckedModule *module) {
  Input place = baseline_place(job);
  const MeasuredModule *now = module->now.modules;
  if (job->baseline.len == 1) {
    const MeasuredModule *was = &job->baseline.modules[0];
    messages_say(&place, RH_SEVERITY_ERROR,
                 "this baseline is of the module %s (fingerprint %s), not of %s (fingerprint %s) "
                 "in %s; --force compares them anyway",
                 was->module, hash_text(was), now->module, hash_text(now), module->path);
  } else {
    messages_say(&place, RH_SEVERITY_ERROR,
                 "this baseline has no module %s (fingerprint %s), which is in %s", now->module,
                 hash_text(now), module->path);
  }
  return RH_ERR_USAGE;
}

/* A module of a folder may be new or missing, which is said; --strict makes it an error. */
static rh_status say_difference(const CheckJob *job, const Input *place,
                                const MeasuredModule *module, const char *what) {
  bool is_strict = job->options->strict;
  char bytes[RH_FORMAT_CHARS];
  rh_format_bytes(module->peak_bytes, bytes);
  messages_say(place, is_strict ? RH_SEVERITY_ERROR : RH_SEVERITY_WARNING, "the module %s, %s, %s",
               module->module ? module->module : "without a name", bytes, what);
  return is_strict ? RH_OVER_LIMIT : RH_OK;
}

static rh_status say_new(const CheckJob *job, const CheckedModule *module) {
  Input place = place_of(job, module);
  if (!module->listed->chosen) {
    return job->options->force ? RH_OK : refuse(job, module);
  }
  if (check_is_small(module, job->options)) return RH_OK;
  return say_difference(job, &place, module->now.modules, "is new: the baseline does not have it");
}

static rh_status say_missing(const CheckJob *job) {
  Input place = baseline_place(job);
  rh_status worst = RH_OK;
  for (size_t i = 0; i < job->baseline.len; i++) {
    const MeasuredModule *was = &job->baseline.modules[i];
    if (!check_is_missing(job, was)) continue;
    rh_status status = say_difference(job, &place, was, "is missing: only the baseline has it");
    if (status > worst) worst = status;
  }
  return worst;
}

/* Without one common module, the folder is not the one of the baseline. */
static rh_status refuse_folder(const CheckJob *job, CheckedModule **modules, size_t count) {
  Input place = baseline_place(job);
  for (size_t i = 0; i < count; i++) {
    if (modules[i]->before || !modules[i]->listed->chosen) return RH_OK;
  }
  if (count == 0 || job->options->force) return RH_OK;
  if (job->baseline.len == 1 && count == 1) return refuse(job, modules[0]);
  messages_say(&place, RH_SEVERITY_ERROR,
               "this baseline is of other modules, such as %s (fingerprint %s), not of %s "
               "(fingerprint %s); --force takes all as new",
               job->baseline.modules[0].module, hash_text(&job->baseline.modules[0]),
               modules[0]->now.modules->module, hash_text(modules[0]->now.modules));
  return RH_ERR_USAGE;
}

rh_status bounds_compare(CheckJob *job) {
  if (!job->options->baseline) return RH_OK;
  CheckedModule **modules = calloc(job->list.len + 1, sizeof *modules);
  if (!modules) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  size_t count = 0;
  for (size_t i = 0; i < job->list.len; i++) {
    if (job->modules[i].now.len) modules[count++] = &job->modules[i];
  }
  pair_all(job, modules, count);
  rh_status worst = refuse_folder(job, modules, count);
  bool is_refused = worst != RH_OK;
  for (size_t i = 0; i < count && !is_refused; i++) {
    rh_status status = modules[i]->before ? compare(job, modules[i]) : say_new(job, modules[i]);
    if (status > worst) worst = status;
    if (status == RH_ERR_USAGE) break;
  }
  if (worst != RH_ERR_USAGE) {
    rh_status status = say_missing(job);
    if (status > worst) worst = status;
  }
  free(modules);
  return worst;
}
