/* Joins logs. All lines are sorted by input, so that the lines of one input are neighbours,
 * whatever log they are in. O(lines * log lines). */
#include "compare/merge.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare/files.h"
#include "compare/merge_job.h"
#include "messages.h"

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- messages ---- */

Input merge_log(const Merge *merge, const LogLine *line) {
  return (Input){.path = merge->options->files[line->log],
                 .form = (MessageForm)merge->options->diagnostics};
}

void merge_say(Merge *merge, const Input *place, rh_severity severity, const char *format, ...) {
  if (merge->num_said++ >= (size_t)merge->options->max_errors) return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  messages_say(place, severity, "%s", text);
}

void merge_say_hole(Merge *merge, const Input *place, const char *text) {
  merge_say(merge, place, RH_SEVERITY_ERROR, "%s", text);
  if (merge->worst < RH_OVER_LIMIT) merge->worst = RH_OVER_LIMIT;
}

static void say_rest(const Merge *merge) {
  size_t most = (size_t)merge->options->max_errors;
  if (merge->num_said <= most) return;
  fprintf(stderr, "remat-hlo: note: %zu more; --max-errors shows more\n", merge->num_said - most);
}

/* ---- reading ---- */

static rh_status read_log(Merge *merge, size_t log) {
  Input input;
  size_t length = 0;
  MessageForm form = (MessageForm)merge->options->diagnostics;
  rh_status status = input_read(merge->options->files[log], form, &input);
  if (status == RH_OK) status = log_lines_read(&input, log, &merge->merged->lines, &length);
  if (status == RH_OK && length < input.length) {
    messages_say(&input, RH_SEVERITY_WARNING, "the last line is not whole and is left out");
  }
  input_free(&input);
  return status;
}

static rh_status read_logs(Merge *merge) {
  rh_status worst = RH_OK;
  for (size_t i = 0; i < merge->options->num_files; i++) {
    rh_status status = read_log(merge, i);
    if (status > worst) worst = status;
  }
  log_lines_sort(&merge->merged->lines);
  return worst;
}

const char *merge_text(const LogLine *line, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line->json, key));
  return text ? text : "";
}

size_t merge_number(const LogLine *line, const char *key) {
  double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(line->json, key));
  return number >= 0 && number < 9e15 ? (size_t)number : 0;
}

/* ---- the inputs ---- */

static bool is_earlier(const LogLine *a, const LogLine *b) {
  return !b || a->log < b->log || (a->log == b->log && a->number < b->number);
}

static MergedInput input_of(const LogLine *begin, const LogLine *end) {
  MergedInput input = {.begin = begin, .end = end, .first = begin};
  for (const LogLine *line = begin; line < end; line++) {
    if (line->kind == LINE_PLAN) input.plan = line;
    if (line->kind == LINE_BEGIN) input.last = line;
    if (line->kind == LINE_RUN && is_earlier(line, input.earliest)) input.earliest = line;
    if (line->kind != LINE_PLAN) input.hash = merge_text(line, "input_hash");
  }
  if (input.last) input.hash = merge_text(input.last, "input_hash");
  if (input.plan) input.number = merge_number(input.plan, "number");
  return input;
}

static int by_place(const void *pa, const void *pb) {
  const MergedInput *a = pa, *b = pb;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  if (a->first->log != b->first->log) return a->first->log < b->first->log ? -1 : 1;
  if (a->first->number != b->first->number) return a->first->number < b->first->number ? -1 : 1;
  return 0;
}

/* Inputs of shards have the order of the whole list, others that of the logs. */
static rh_status find_inputs(Merge *merge) {
  const LogLines *lines = &merge->merged->lines;
  merge->inputs = calloc(lines->len + 1, sizeof *merge->inputs);
  if (!merge->inputs) return out_of_memory();
  for (size_t first = 0, end; first < lines->len; first = end) {
    end = first + 1;
    while (end < lines->len && strcmp(lines->list[end].input, lines->list[first].input) == 0)
      end++;
    merge->inputs[merge->num_inputs++] = input_of(lines->list + first, lines->list + end);
  }
  qsort(merge->inputs, merge->num_inputs, sizeof *merge->inputs, by_place);
  return RH_OK;
}

/* ---- one comparison ---- */

/* What all runs of a comparison have in common. */
static rh_status check_common(Merge *merge) {
  static const char *const keys[] = {"version", "memory_model", "limit_counts", "profile",
                                     "settings"};
  const LogLine *first = NULL;
  for (size_t i = 0; i < merge->merged->lines.len; i++) {
    const LogLine *line = &merge->merged->lines.list[i];
    if (line->kind != LINE_RUN) continue;
    if (!first) first = line;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
      if (strcmp(merge_text(first, keys[k]), merge_text(line, keys[k])) == 0) continue;
      Input place = merge_log(merge, line);
      messages_say(&place, RH_SEVERITY_ERROR,
                   "line %zu has the %s '%s', but line %zu of %s has '%s': they are of different "
                   "comparisons",
                   line->number, keys[k], merge_text(line, keys[k]), first->number,
                   merge->options->files[first->log], merge_text(first, keys[k]));
      return RH_ERR_INPUT;
    }
  }
  return RH_OK;
}

/* ---- the grid ---- */

/* Returns the value of a setting of the runs, or `otherwise`. */
static int64_t setting_of(const char *settings, const char *name, int64_t otherwise) {
  const char *found = strstr(settings, name);
  bool is_word = found && (found == settings || found[-1] == ' ');
  return is_word ? (int64_t)strtod(found + strlen(name), NULL) : otherwise;
}

static void read_options(const Merge *merge, const LogLine *run) {
  Options *options = &merge->merged->options;
  options->remat.memory_model = merge_text(run, "memory_model");
  options->remat.small_node_bytes =
      setting_of(merge_text(run, "settings"), "small_node_limit=", options->remat.small_node_bytes);
  merge->comparison->device = merge_text(run, "profile");
}

static rh_status make_grid(Merge *merge) {
  static const char *const keys[][2] = {
      {"budgets", "budget"}, {"schedulers", "scheduler"}, {"algorithms", "algorithm"}};
  Options *options = &merge->merged->options;
  const char **members[] = {&options->budgets, &options->schedulers, &options->algorithms};
  for (size_t i = 0; i < 3; i++) {
    merge->merged->names[i] = merge_names(merge, keys[i][0], keys[i][1]);
    if (!merge->merged->names[i]) return out_of_memory();
    /* Without any line the names are the default ones, which nothing uses. */
    if (*merge->merged->names[i]) *members[i] = merge->merged->names[i];
  }
  return compare_grid_read(options, &merge->comparison->grid);
}

/* ---- runs ---- */

static size_t index_of(const char **names, size_t count, const char *name) {
  size_t index = 0;
  while (index < count && strcmp(names[index], name) != 0)
    index++;
  return index;
}

static CompareRun *run_of(const Comparison *comparison, CompareFile *file, const CompareRow *row) {
  const CompareGrid *grid = &comparison->grid;
  size_t budget = index_of(grid->budgets, grid->num_budgets, row->budget);
  size_t scheduler = index_of(grid->schedulers, grid->num_schedulers, row->scheduler);
  size_t algorithm = index_of(grid->algorithms, grid->num_algorithms, row->algorithm);
  return &file->runs[(budget * grid->num_schedulers + scheduler) * grid->num_algorithms +
                     algorithm];
}

/* The processor time is not the same each time, all else is. */
static bool is_same_result(const CompareRow *a, const CompareRow *b) {
  return a->peak_after_bytes == b->peak_after_bytes && a->met == b->met &&
         a->seconds_after == b->seconds_after && a->instructions_after == b->instructions_after &&
         a->rematerialized == b->rematerialized && a->limit_bytes == b->limit_bytes;
}

typedef struct Repeats {
  size_t num_same, num_different, num_old;
  const LogLine *repeated; /* one of them */
} Repeats;

static rh_status take_run(Merge *merge, CompareFile *file, const LogLine *line, const char *hash,
                          Repeats *repeats) {
  CompareRow row = {0};
  Input place = merge_log(merge, line);
  if (!log_line_row(line, true, &row)) {
    messages_say(&place, RH_SEVERITY_ERROR, "line %zu is no run that --json has written",
                 line->number);
    return RH_ERR_INPUT;
  }
  if (strcmp(row.input_hash, hash) != 0) {
    repeats->num_old++;
    return RH_OK;
  }
  CompareRun *run = run_of(merge->comparison, file, &row);
  if (run->has_row) {
    bool is_same = is_same_result(&run->row, &row);
    *(is_same ? &repeats->num_same : &repeats->num_different) += 1;
    repeats->repeated = line;
    return RH_OK;
  }
  run->row = row;
  run->state = RUN_DONE;
  run->has_row = true;
  return RH_OK;
}

static void say_repeats(Merge *merge, const MergedInput *input, const Repeats *repeats) {
  Input place = {.path = input->begin->input, .form = (MessageForm)merge->options->diagnostics};
  if (repeats->num_old) {
    merge_say(merge, &place, RH_SEVERITY_WARNING,
              "the file has changed between its runs: %zu runs of the earlier text are left out",
              repeats->num_old);
  }
  size_t count = repeats->num_same + repeats->num_different;
  if (count == 0) return;
  merge_say(
      merge, &place, RH_SEVERITY_WARNING,
      "%zu runs are there more than once, first in %s and again in %s%s; the first ones count",
      count, merge->options->files[input->earliest->log],
      merge->options->files[repeats->repeated->log],
      repeats->num_different ? ", and have other results there" : "");
}

static rh_status take_input(Merge *merge, const MergedInput *input, CompareFile *file) {
  Repeats repeats = {0};
  const char *why = input->last ? merge_text(input->last, "left_out") : "";
  file->is_small = strcmp(why, "small") == 0;
  file->is_bad = strcmp(why, "bad") == 0;
  rh_status worst = RH_OK;
  for (const LogLine *line = input->begin; line < input->end; line++) {
    if (line->kind != LINE_RUN) continue;
    rh_status status = take_run(merge, file, line, input->hash, &repeats);
    if (status > worst) worst = status;
  }
  say_repeats(merge, input, &repeats);
  return worst;
}

static rh_status make_files(Merge *merge) {
  Comparison *comparison = merge->comparison;
  ModuleList *list = &comparison->list;
  list->modules = calloc(merge->num_inputs + 1, sizeof *list->modules);
  if (!list->modules) return out_of_memory();
  for (size_t i = 0; i < merge->num_inputs; i++)
    list->modules[list->len++] = (ListedModule){.path = merge->inputs[i].begin->input};
  rh_status worst = compare_files_make(comparison);
  for (size_t i = 0; i < merge->num_inputs && worst != RH_ERR_MEMORY; i++) {
    rh_status status = take_input(merge, &merge->inputs[i], &comparison->files[i]);
    if (status > worst) worst = status;
  }
  return worst;
}

/* ---- all ---- */

static void note(Merge *merge, rh_status status) {
  if (status > merge->worst) merge->worst = status;
}

static const LogLine *first_run(const Merge *merge) {
  for (size_t i = 0; i < merge->num_inputs; i++) {
    if (merge->inputs[i].earliest) return merge->inputs[i].earliest;
  }
  return NULL;
}

static void note_min_peak(const Merge *merge) {
  for (size_t i = 0; i < merge->num_inputs; i++) {
    const LogLine *plan = merge->inputs[i].plan;
    if (!plan) continue;
    merge->merged->options.min_peak_bytes = (int64_t)merge_number(plan, "min_peak_bytes");
    if (merge->merged->options.min_peak_bytes) return;
  }
}

static void join_inputs(Merge *merge) {
  const LogLine *run = first_run(merge);
  if (run) read_options(merge, run);
  note_min_peak(merge);
  note(merge, make_grid(merge));
  if (merge->worst == RH_OK) note(merge, make_files(merge));
  merge->merged->is_joined = merge->worst == RH_OK;
  if (merge->worst == RH_OK) note(merge, merge_find_holes(merge));
  say_rest(merge);
}

rh_status compare_merge(const Options *options, Comparison *comparison, MergedLogs *merged) {
  *merged = (MergedLogs){.options = *options};
  comparison->options = &merged->options;
  Merge merge = {.options = options, .comparison = comparison, .merged = merged};
  note(&merge, read_logs(&merge));
  if (merge.worst == RH_OK) note(&merge, check_common(&merge));
  if (merge.worst == RH_OK) note(&merge, find_inputs(&merge));
  if (merge.worst == RH_OK) join_inputs(&merge);
  free(merge.inputs);
  return merge.worst;
}

void merged_logs_free(MergedLogs *merged) {
  log_lines_free(&merged->lines);
  for (size_t i = 0; i < sizeof merged->names / sizeof *merged->names; i++)
    free(merged->names[i]);
}
