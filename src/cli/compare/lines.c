#include "compare/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/columns.h"
#include "messages.h"

static const char line_begin[] = "{\"input\":\"";

/* ---- lines ---- */

static rh_status fail_line(const Input *input, size_t number) {
  messages_say(input, RH_SEVERITY_ERROR, "line %zu is no run that --json has written", number);
  return RH_ERR_INPUT;
}

static bool has(const cJSON *json, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(json, key) != NULL;
}

/* Returns false if the line is none of a comparison. */
static bool kind_of(const cJSON *json, LogLineKind *kind) {
  bool is_shard = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "shard"));
  *kind = has(json, "peak_after_bytes") ? LINE_RUN : has(json, "inputs") ? LINE_PLAN : LINE_BEGIN;
  return *kind == LINE_RUN || (is_shard && (*kind == LINE_PLAN || has(json, "runs")));
}

static rh_status add_line(const Input *input, LogLine line, LogLines *lines) {
  if (lines->len == lines->room) {
    size_t room = lines->room ? lines->room * 2 : 64;
    LogLine *larger = realloc(lines->list, room * sizeof *larger);
    if (!larger) {
      cJSON_Delete(line.json);
      return input_out_of_memory(input);
    }
    lines->list = larger;
    lines->room = room;
  }
  lines->list[lines->len++] = line;
  return RH_OK;
}

rh_status log_lines_read(const Input *input, size_t log, LogLines *lines, size_t *length) {
  size_t begin = 0, number = 1;
  for (const char *end; begin < input->length; begin = (size_t)(end - input->text) + 1, number++) {
    end = memchr(input->text + begin, '\n', input->length - begin);
    if (!end) break;
    size_t line_length = (size_t)(end - input->text) - begin;
    cJSON *json = cJSON_ParseWithLength(input->text + begin, line_length);
    LogLine line = {.json = json, .log = log, .number = number};
    line.input = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "input"));
    if (!line.input || !kind_of(json, &line.kind)) {
      cJSON_Delete(json);
      return fail_line(input, number);
    }
    rh_status status = add_line(input, line, lines);
    if (status != RH_OK) return status;
  }
  *length = begin;
  size_t rest = input->length - begin;
  if (rest > sizeof line_begin - 1) rest = sizeof line_begin - 1;
  bool is_ours = rest == 0 || memcmp(input->text + begin, line_begin, rest) == 0;
  return is_ours ? RH_OK : fail_line(input, number);
}

static int by_input_then_number(const void *pa, const void *pb) {
  const LogLine *a = pa, *b = pb;
  int order = strcmp(a->input, b->input);
  if (order) return order;
  if (a->log != b->log) return a->log < b->log ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

void log_lines_sort(LogLines *lines) {
  if (lines->len) qsort(lines->list, lines->len, sizeof *lines->list, by_input_then_number);
}

void log_lines_free(LogLines *lines) {
  for (size_t i = 0; i < lines->len; i++)
    cJSON_Delete(lines->list[i].json);
  free(lines->list);
  *lines = (LogLines){0};
}

/* ---- the columns of a run ---- */

static bool read_text(const cJSON *value, const char **member) {
  *member = cJSON_GetStringValue(value);
  return *member != NULL;
}

static bool read_value(const cJSON *json, const CompareColumn *column, CompareRow *row) {
  void *member = (char *)row + column->member;
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, column->name);
  if (column->kind == COLUMN_TEXT) return read_text(value, member);
  if (column->kind == COLUMN_BOOL) {
    *(bool *)member = cJSON_IsTrue(value);
    return cJSON_IsBool(value);
  }
  double number = cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
  if (column->kind == COLUMN_NUMBER) {
    *(double *)member = number;
    return value != NULL;
  }
  bool is_whole = number > -9e15 && number < 9e15 && number == (double)(int64_t)number;
  if (is_whole) *(int64_t *)member = (int64_t)number;
  return is_whole;
}

bool log_line_row(const LogLine *line, bool with_before, CompareRow *row) {
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
    const CompareColumn *column = &compare_columns[i];
    bool is_wanted = with_before || !column->is_before;
    if (is_wanted && !read_value(line->json, column, row)) return false;
  }
  return true;
}
