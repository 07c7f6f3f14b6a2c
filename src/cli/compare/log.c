/* Writes runs as JSON lines, each of which is complete and in the file as soon as its run is done,
 * and reads the lines that an interrupted sweep has left. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare/columns.h"
#include "compare/lines.h"
#include "json_text.h"
#include "messages.h"

/* Reads the log, and cuts off a line that was being written when the program ended. */
static rh_status read_log(CompareLog *log) {
  Input input;
  size_t length = 0;
  rh_status status = input_read(log->path, log->form, &input);
  if (status == RH_OK) {
    status = log_lines_read(&input, 0, log->lines, &length);
  }
  if (status == RH_OK && length < input.length) {
    messages_say(&input, RH_SEVERITY_NOTE, "the last line is not whole and is written again");
    if (truncate(log->path, (off_t)length) != 0) status = input_fail(&input, strerror(errno));
  }
  log_lines_sort(log->lines);
  input_free(&input);
  return status;
}

static bool is_equal(const CompareRow *row, const CompareColumn *column, const cJSON *json) {
  const void *member = (const char *)row + column->member;
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, column->name);
  if (column->kind == COLUMN_TEXT) {
    const char *text = cJSON_GetStringValue(value);
    return text && strcmp(text, *(const char *const *)member) == 0;
  }
  char digits[32];
  compare_digits(row, column, digits);
  if (!*digits) return cJSON_IsNull(value);
  return cJSON_IsNumber(value) && value->valuedouble == strtod(digits, NULL);
}

static bool is_of_run(const CompareRow *row, const cJSON *json) {
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
    const CompareColumn *column = &compare_columns[i];
    if (column->is_before && !is_equal(row, column, json)) return false;
  }
  return true;
}

/* Returns the index of the first line of an input. */
static size_t first_line(const LogLines *lines, const char *input) {
  size_t begin = 0, end = lines->len;
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    if (strcmp(lines->list[middle].input, input) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool compare_log_find(const CompareLog *log, CompareRow *row) {
  if (!log->lines) return false;
  const LogLine *end = log->lines->list + log->lines->len;
  const LogLine *line = log->lines->list + first_line(log->lines, row->input);
  for (; line < end && strcmp(line->input, row->input) == 0; line++) {
    CompareRow found = *row;
    if (line->kind != LINE_RUN || !is_of_run(row, line->json)) continue;
    if (!log_line_row(line, false, &found)) continue;
    *row = found;
    return true;
  }
  return false;
}

/* ---- writing ---- */

static rh_status fail(const CompareLog *log) {
  Input place = {.path = output_is_stdout(log->path) ? "<stdout>" : log->path, .form = log->form};
  messages_say(&place, RH_SEVERITY_ERROR, "%s", strerror(errno));
  return RH_ERR_WRITE;
}

rh_status compare_log_open(const Options *options, CompareLog *log) {
  *log = (CompareLog){.path = options->json,
                      .is_fresh = !options->resume,
                      .form = (MessageForm)options->diagnostics};
  if (!log->path) return RH_OK;
  if (output_is_stdout(log->path)) {
    log->file = stdout;
    return RH_OK;
  }
  log->lines = calloc(1, sizeof *log->lines);
  if (!log->lines) return input_out_of_memory(&(Input){.path = log->path});
  struct stat kind;
  if (options->resume && stat(log->path, &kind) == 0 && S_ISREG(kind.st_mode)) {
    rh_status status = read_log(log);
    if (status != RH_OK) return status;
  }
  log->file = fopen(log->path, "ab");
  return log->file ? RH_OK : fail(log);
}

/* Removes the previous content of the file, which is kept until there is a line to replace it. */
static void make_fresh(CompareLog *log) {
  if (!log->is_fresh) return;
  log->is_fresh = false;
  bool is_regular = log->file != stdout && ftruncate(fileno(log->file), 0) == 0;
  if (is_regular) rewind(log->file);
}

static void add_value(const CompareRow *row, const CompareColumn *column, cJSON *json) {
  const void *member = (const char *)row + column->member;
  char digits[32];
  switch (column->kind) {
    case COLUMN_TEXT: {
      const char *text = *(const char *const *)member;
      json_add_text(json, column->name, text, strlen(text));
      break;
    }
    case COLUMN_BOOL: cJSON_AddBoolToObject(json, column->name, *(const bool *)member); break;
    case COLUMN_INT:
    case COLUMN_NUMBER:
      compare_digits(row, column, digits);
      cJSON_AddRawToObject(json, column->name, *digits ? digits : "null");
      break;
  }
}

/* Writes a line and frees the object. */
static rh_status write_line(CompareLog *log, cJSON *json) {
  make_fresh(log);
  char *text = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
  if (!text) return input_out_of_memory(&(Input){.path = log->path});
  bool is_written = fprintf(log->file, "%s\n", text) >= 0 && fflush(log->file) == 0;
  free(text);
  /* EPIPE: the reader has closed the pipe, which is not reported as an error. */
  if (is_written || errno == EPIPE) return RH_OK;
  return fail(log);
}

rh_status compare_log_write(CompareLog *log, const CompareRow *row) {
  if (!log->path) return RH_OK;
  cJSON *json = cJSON_CreateObject();
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++)
    add_value(row, &compare_columns[i], json);
  return write_line(log, json);
}

/* Writes a line about an input unless an interrupted sweep has written it; frees the object. */
static rh_status write_note(CompareLog *log, const char *input, cJSON *json) {
  const LogLine *end = log->lines ? log->lines->list + log->lines->len : NULL;
  const LogLine *line = log->lines ? log->lines->list + first_line(log->lines, input) : NULL;
  for (; line < end && strcmp(line->input, input) == 0; line++) {
    if (line->kind == LINE_RUN || !cJSON_Compare(line->json, json, true)) continue;
    cJSON_Delete(json);
    return RH_OK;
  }
  return write_line(log, json);
}

static void add_shard(cJSON *json, Shard shard) {
  char text[32];
  snprintf(text, sizeof text, "%u/%u", shard.index, shard.count);
  cJSON_AddStringToObject(json, "shard", text);
}

static void add_names(cJSON *json, const char *key, const char **names, size_t count) {
  cJSON *list = cJSON_AddArrayToObject(json, key);
  for (size_t i = 0; i < count; i++)
    cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
}

rh_status compare_log_plan(CompareLog *log, const Comparison *comparison, const CompareFile *file) {
  const CompareGrid *grid = &comparison->grid;
  const ListedModule *listed = file->listed;
  if (!log->path) return RH_OK;
  cJSON *json = cJSON_CreateObject();
  json_add_text(json, "input", listed->path, strlen(listed->path));
  add_shard(json, comparison->options->shard);
  cJSON_AddNumberToObject(json, "number", (double)listed->number);
  cJSON_AddNumberToObject(json, "inputs", (double)comparison->list.num_all);
  cJSON_AddNumberToObject(json, "min_peak_bytes",
                          (double)module_min_peak(listed, comparison->options));
  add_names(json, "budgets", grid->budgets, grid->num_budgets);
  add_names(json, "schedulers", grid->schedulers, grid->num_schedulers);
  add_names(json, "algorithms", grid->algorithms, grid->num_algorithms);
  return write_note(log, listed->path, json);
}

rh_status compare_log_begin(CompareLog *log, const Comparison *comparison,
                            const CompareFile *file) {
  const ListedModule *listed = file->listed;
  size_t num_runs = 0;
  if (!log->path) return RH_OK;
  for (size_t i = 0; i < comparison->runs_per_file; i++)
    num_runs += file->runs[i].state != RUN_SKIPPED;
  const char *left_out = file->is_small ? "small" : file->is_bad ? "bad" : NULL;
  cJSON *json = cJSON_CreateObject();
  json_add_text(json, "input", listed->path, strlen(listed->path));
  cJSON_AddStringToObject(json, "input_hash", file->hash);
  add_shard(json, comparison->options->shard);
  cJSON_AddNumberToObject(json, "runs", (double)num_runs);
  if (left_out) cJSON_AddStringToObject(json, "left_out", left_out);
  return write_note(log, listed->path, json);
}

void compare_log_clear(CompareLog *log) {
  if (log->path) make_fresh(log);
}

rh_status compare_log_close(CompareLog *log) {
  rh_status status = RH_OK;
  if (log->lines) log_lines_free(log->lines);
  free(log->lines);
  if (log->file && log->file != stdout && fclose(log->file) != 0) status = fail(log);
  return status;
}
