#include "bounds.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"

enum { MAX_SHOWN = 5 };

bool bounds_are_given(const Options *options) {
  return options->max_peak_bytes >= 0 || options->baseline || options->write_baseline;
}

rh_status bounds_check_options(const Options *options) {
  const char *option = options->baseline         ? "--baseline"
                       : options->write_baseline ? "--write-baseline"
                                                 : NULL;
  if (!option || options->num_files == 1) return RH_OK;
  fprintf(stderr, "remat-hlo: error: %s takes one file\n", option);
  return RH_ERR_USAGE;
}

FILE *bounds_summary(const Options *options) {
  return output_is_stdout(options->write_baseline) ? stderr : stdout;
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

/* ---- --baseline ---- */

typedef struct Baseline {
  cJSON *json;
  int64_t peak_bytes;
  rh_sum *sums;        /* sums by op_name */
  const rh_sum **list; /* addresses of the sums */
  size_t num_sums;
} Baseline;

/* Reads a whole number that is not negative. Doubles represent it exactly up to 2^53. */
static bool read_bytes(const cJSON *object, const char *key, int64_t *bytes) {
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0 && number->valuedouble < 9e18)) {
    return false;
  }
  *bytes = (int64_t)number->valuedouble;
  return (double)*bytes == number->valuedouble;
}

static bool read_sum(const cJSON *item, rh_sum *sum) {
  const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "op_name");
  int64_t num_values = 0;
  if (!cJSON_IsString(name) || !read_bytes(item, "bytes", &sum->bytes) ||
      !read_bytes(item, "values", &num_values)) {
    return false;
  }
  sum->name = (rh_text){name->valuestring, strlen(name->valuestring)};
  sum->num_values = (uint64_t)num_values;
  return true;
}

static bool read_baseline(const Input *input, Baseline *baseline) {
  const char *end = NULL;
  baseline->json = cJSON_ParseWithLengthOpts(input->text, input->length, &end, false);
  size_t num_after = end ? input->length - (size_t)(end - input->text) : 0;
  for (; num_after && strchr(" \t\r\n", *end) && *end; end++)
    num_after--;
  if (num_after) return false;
  const cJSON *model = cJSON_GetObjectItemCaseSensitive(baseline->json, "memory_model");
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(baseline->json, "by_op_name"), *item;
  if (!cJSON_IsString(model) || !cJSON_IsArray(list) ||
      !read_bytes(baseline->json, "peak_bytes", &baseline->peak_bytes)) {
    return false;
  }
  baseline->sums = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *baseline->sums);
  baseline->list = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *baseline->list);
  if (!baseline->sums || !baseline->list) return false;
  cJSON_ArrayForEach(item, list) {
    rh_sum *sum = &baseline->sums[baseline->num_sums];
    baseline->list[baseline->num_sums++] = sum;
    if (!read_sum(item, sum)) return false;
  }
  return true;
}

static bool has_same_limit(const Baseline *baseline, const rh_report *report, const Input *input) {
  int64_t was = -1, is = report->heap_limit_bytes;
  if (!read_bytes(baseline->json, "heap_limit_bytes", &was)) was = -1;
  if (was == is) return true;
  char before[RH_FORMAT_CHARS] = "none", now[RH_FORMAT_CHARS] = "none";
  if (was >= 0) rh_format_bytes(was, before);
  if (is >= 0) rh_format_bytes(is, now);
  messages_say(input, RH_SEVERITY_ERROR,
               "this baseline is of the heap limit %s, not %s; see --heap-limit", before, now);
  return false;
}

/* Checks that what a peak depends on besides the module is the same as in the baseline, as far as
 * the baseline records it. */
static bool has_same_settings(const Baseline *baseline, const rh_report *report,
                              const Input *input) {
  const struct {
    const char *key, *what, *option, *is;
  } settings[] = {
      {"memory_model", "memory model", "--memory-model", report->memory_model},
      {"target", "target", "--target", report->target},
      {"packing", "packing", "--packing", report->packing},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const char *was =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(baseline->json, settings[i].key));
    if (!was || strcmp(was, settings[i].is) == 0) continue;
    messages_say(input, RH_SEVERITY_ERROR, "this baseline is of the %s %s, not %s; see %s",
                 settings[i].what, was, settings[i].is, settings[i].option);
    return false;
  }
  return has_same_limit(baseline, report, input);
}

static rh_status load_baseline(const ReportJob *job, Baseline *baseline) {
  const Options *options = job->options;
  Input input;
  rh_status status = input_read(options->baseline, (MessageForm)options->diagnostics, &input);
  if (status == RH_OK) {
    if (!read_baseline(&input, baseline)) {
      status = input_fail(&input, "this is no baseline: JSON as --write-baseline writes it");
    } else if (!has_same_settings(baseline, job->report, &input)) {
      status = RH_ERR_USAGE;
    }
  }
  input_free(&input);
  return status;
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

static rh_status compare(const ReportJob *job, const Baseline *baseline) {
  int64_t was = baseline->peak_bytes, is = job->report->memory->peak_bytes;
  Budget tolerance = job->options->tolerance;
  int64_t allowance =
      tolerance.kind == BUDGET_PERCENT ? share_of(was, tolerance.amount) : tolerance.amount;
  if (is <= was || is - was <= allowance) return RH_OK;
  char before[RH_FORMAT_CHARS], after[RH_FORMAT_CHARS], over[RH_FORMAT_CHARS], percent[32] = "";
  if (was) {
    snprintf(percent, sizeof percent, " (%.1f %%)", 100.0 * (double)(is - was) / (double)was);
  }
  rh_format_bytes(was, before);
  rh_format_bytes(is, after);
  rh_format_bytes(is - was, over);
  messages_say(&job->loaded.input, RH_SEVERITY_ERROR,
               "the peak, %s, is %s%s over the %s of %s, more than --tolerance allows", after, over,
               percent, before, job->options->baseline);
  Growth growth = {.input = &job->loaded.input};
  rh_sums sums = {baseline->list, baseline->num_sums};
  report_compare_sums(job, sums, job->report->sums[RH_BY_OP_NAME], note_growth, &growth);
  return RH_OVER_LIMIT;
}

static rh_status check_baseline(const ReportJob *job) {
  if (!job->options->baseline) return RH_OK;
  Baseline baseline = {0};
  rh_status status = load_baseline(job, &baseline);
  if (status == RH_OK) status = compare(job, &baseline);
  free(baseline.list);
  free(baseline.sums);
  cJSON_Delete(baseline.json);
  return status;
}

/* ---- both bounds ---- */

static void print_peak(const ReportJob *job) {
  char bytes[RH_FORMAT_CHARS];
  rh_text at = job->report->memory->peak_instruction;
  rh_format_bytes(job->report->memory->peak_bytes, bytes);
  fprintf(bounds_summary(job->options), "%s: peak %s%s%.*s, memory model %s\n",
          job->loaded.input.path, bytes, at.length ? " at " : "", (int)at.length, at.data,
          job->report->memory_model);
}

rh_status bounds_check(const Loaded *loaded, const Options *options) {
  ReportJob job = {.options = options, .loaded = *loaded};
  job.loaded.diags = rh_diags_new();
  rh_status status = report_explain(&job);
  if (status == RH_OK) {
    if (!options->quiet) print_peak(&job);
    status = check_max_peak(&job);
    rh_status other = check_baseline(&job);
    if (other > status) status = other;
  }
  if (status == RH_OK && options->write_baseline) {
    status = output_write_json(report_json(&job, true), options->write_baseline, options);
  }
  rh_diags_free(job.loaded.diags);
  rh_report_free(job.report);
  rh_module_free(job.scheduled);
  return status;
}
