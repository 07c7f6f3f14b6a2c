/* Writes runs as JSON lines, each of which is complete and in the file as soon as its run is done,
 * and reads the lines that an interrupted sweep has left. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare_columns.h"
#include "json_text.h"
#include "messages.h"

static const char line_begin[] = "{\"input\":\"";

typedef struct CompareLine {
  cJSON *json;
  const char *input;
  size_t number;
} CompareLine;

struct CompareLines {
  CompareLine *list; /* sorted by input and number */
  size_t len;
};

/* ---- reading ---- */

static int by_input_then_number(const void *pa, const void *pb) {
  const CompareLine *a = pa, *b = pb;
  int order = strcmp(a->input, b->input);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

static size_t count_lines(const Input *input) {
  size_t count = 0;
  for (size_t i = 0; i < input->length; i++)
    count += input->text[i] == '\n';
  return count;
}

static rh_status fail_line(const Input *input, size_t number) {
  messages_say(input, RH_SEVERITY_ERROR, "line %zu is no run that --json has written", number);
  return RH_ERR_INPUT;
}

/* Reads lines up to the last complete one; `*length` is the offset of its end. */
static rh_status read_lines(const Input *input, CompareLines *lines, size_t *length) {
  size_t begin = 0;
  for (const char *end; begin < input->length; begin = (size_t)(end - input->text) + 1) {
    end = memchr(input->text + begin, '\n', input->length - begin);
    if (!end) break;
    size_t line_length = (size_t)(end - input->text) - begin, number = lines->len + 1;
    cJSON *json = cJSON_ParseWithLength(input->text + begin, line_length);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "input"));
    if (!name || !cJSON_GetObjectItemCaseSensitive(json, "peak_after_bytes")) {
      cJSON_Delete(json);
      return fail_line(input, number);
    }
    lines->list[lines->len++] = (CompareLine){json, name, number};
  }
  *length = begin;
  size_t rest = input->length - begin;
  if (rest > sizeof line_begin - 1) rest = sizeof line_begin - 1;
  bool is_ours = rest == 0 || memcmp(input->text + begin, line_begin, rest) == 0;
  return is_ours ? RH_OK : fail_line(input, lines->len + 1);
}

/* Reads the log, and cuts off a line that was being written when the program ended. */
static rh_status read_log(CompareLog *log) {
  Input input;
  size_t length = 0;
  rh_status status = input_read(log->path, log->form, &input);
  if (status == RH_OK) {
    log->lines->list = calloc(count_lines(&input) + 1, sizeof *log->lines->list);
    status =
        log->lines->list ? read_lines(&input, log->lines, &length) : input_out_of_memory(&input);
  }
  if (status == RH_OK && length < input.length) {
    messages_say(&input, RH_SEVERITY_NOTE, "the last line is not whole and is written again");
    if (truncate(log->path, (off_t)length) != 0) status = input_fail(&input, strerror(errno));
  }
  if (log->lines->len) {
    qsort(log->lines->list, log->lines->len, sizeof *log->lines->list, by_input_then_number);
  }
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
  return cJSON_IsNumber(value) && value->valuedouble == strtod(digits, NULL);
}

static bool is_of_run(const CompareRow *row, const cJSON *json) {
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
    const CompareColumn *column = &compare_columns[i];
    if (column->is_before && !is_equal(row, column, json)) return false;
  }
  return true;
}

static bool read_value(const cJSON *json, const CompareColumn *column, CompareRow *row) {
  void *member = (char *)row + column->member;
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, column->name);
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

static bool read_row(const cJSON *json, CompareRow *row) {
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
    const CompareColumn *column = &compare_columns[i];
    if (!column->is_before && !read_value(json, column, row)) return false;
  }
  return true;
}

bool compare_log_find(const CompareLog *log, CompareRow *row) {
  if (!log->lines) return false;
  size_t begin = 0, end = log->lines->len;
  const CompareLine *list = log->lines->list;
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    if (strcmp(list[middle].input, row->input) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  for (; begin < log->lines->len && strcmp(list[begin].input, row->input) == 0; begin++) {
    CompareRow found = *row;
    if (!is_of_run(row, list[begin].json) || !read_row(list[begin].json, &found)) continue;
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

rh_status compare_log_write(CompareLog *log, const CompareRow *row) {
  if (!log->path) return RH_OK;
  make_fresh(log);
  cJSON *json = cJSON_CreateObject();
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++)
    add_value(row, &compare_columns[i], json);
  char *text = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
  if (!text) return input_out_of_memory(&(Input){.path = log->path});
  bool is_written = fprintf(log->file, "%s\n", text) >= 0 && fflush(log->file) == 0;
  free(text);
  /* EPIPE: the reader has closed the pipe, which is not reported as an error. */
  if (is_written || errno == EPIPE) return RH_OK;
  return fail(log);
}

rh_status compare_log_close(CompareLog *log) {
  rh_status status = RH_OK;
  for (size_t i = 0; log->lines && i < log->lines->len; i++)
    cJSON_Delete(log->lines->list[i].json);
  if (log->lines) free(log->lines->list);
  free(log->lines);
  if (log->file && log->file != stdout && fclose(log->file) != 0) status = fail(log);
  return status;
}
