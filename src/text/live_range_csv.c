/* Live ranges as CSV, in the format of google/minimalloc: a line with the names of the columns,
 * then one line per buffer. Nothing is quoted. A range includes the position in the column `end`,
 * but not the one in `upper`. */
#include "text/live_range_csv.h"

#include <inttypes.h>

#include "ir/vec.h"

typedef enum Column {
  COLUMN_ID,
  COLUMN_LOWER,
  COLUMN_UPPER,
  COLUMN_SIZE,
  COLUMN_ALIGNMENT,
  COLUMN_OFFSET,
  COLUMN_HEAP,
  COLUMN_HINT,
  COLUMN_GAPS,
  NUM_COLUMNS,
} Column;

static const struct {
  const char *name;
  Column column;
} column_names[] = {
    {"id", COLUMN_ID},         {"buffer", COLUMN_ID},
    {"buffer_id", COLUMN_ID},  {"lower", COLUMN_LOWER},
    {"begin", COLUMN_LOWER},   {"start", COLUMN_LOWER},
    {"upper", COLUMN_UPPER},   {"end", COLUMN_UPPER},
    {"size", COLUMN_SIZE},     {"alignment", COLUMN_ALIGNMENT},
    {"offset", COLUMN_OFFSET}, {"heap", COLUMN_HEAP},
    {"hint", COLUMN_HINT},     {"gaps", COLUMN_GAPS},
};

enum { NUM_NAMES = sizeof column_names / sizeof *column_names };

struct rh_live_ranges {
  Arena *arena;
  Str header;
  uint32_t result_fields; /* bits of the columns `offset` and `heap` if the text already has them */
  VEC(rh_live_range) list;
  VEC(Str) lines; /* by range */
};

typedef struct CsvReader {
  const char *begin, *next, *end;
  Column columns[NUM_COLUMNS]; /* by field */
  uint32_t num_fields;
  bool is_given[NUM_COLUMNS];
  bool is_end_included;
  uint32_t max_errors, num_errors;
  rh_live_ranges *ranges;
  rh_diags *diags;
} CsvReader;

static rh_status fail_at(CsvReader *reader, const char *at, const char *what, Str got) {
  reader->num_errors++;
  uint32_t shown = got.len < 60 ? got.len : 60;
  DiagPlace place = DIAG_AT((uint32_t)(at - reader->begin));
  if (!got.data) return diag_fail(reader->diags, RH_ERR_INPUT, place, "%s", what);
  return diag_fail(reader->diags, RH_ERR_INPUT, place, "%s, got '%.*s%s'", what, (int)shown,
                   got.data, got.len > shown ? "..." : "");
}

static const Str no_text = {NULL, 0};

/* ---- lines and fields ---- */

static Str next_line(CsvReader *reader) {
  const char *line = reader->next;
  const char *newline = memchr(line, '\n', (size_t)(reader->end - line));
  const char *end = newline ? newline : reader->end;
  reader->next = newline ? newline + 1 : end;
  if (end > line && end[-1] == '\r') end--;
  return str_make(line, (size_t)(end - line));
}

/* Reads the field at the beginning of `*rest`. Returns false after the last one. */
static bool next_field(Str *rest, Str *field) {
  if (!rest->data) return false;
  const char *comma = memchr(rest->data, ',', rest->len);
  uint32_t len = comma ? (uint32_t)(comma - rest->data) : rest->len;
  *field = (Str){rest->data, len};
  *rest = comma ? (Str){comma + 1, rest->len - len - 1} : no_text;
  return true;
}

/* ---- the header ---- */

static rh_status fail_column(CsvReader *reader, Str name) {
  const char *names[NUM_NAMES];
  char word[64];
  for (size_t i = 0; i < NUM_NAMES; i++)
    names[i] = column_names[i].name;
  uint32_t len = name.len < sizeof word ? name.len : (uint32_t)sizeof word - 1;
  memcpy(word, name.data, len);
  word[len] = 0;
  const char *meant = rh_closest_word(word, names, NUM_NAMES);
  reader->num_errors++;
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT((uint32_t)(name.data - reader->begin)),
                   "there is no column '%s'%s%s%s", word, meant ? "; did you mean '" : "",
                   meant ? meant : "", meant ? "'?" : "");
}

static rh_status read_column(CsvReader *reader, Str name) {
  size_t i = 0;
  while (i < NUM_NAMES && !str_is(name, column_names[i].name))
    i++;
  if (i == NUM_NAMES) return fail_column(reader, name);
  Column column = column_names[i].column;
  if (reader->is_given[column]) {
    return fail_at(reader, name.data, "this column is given twice", name);
  }
  if (str_is(name, "end")) reader->is_end_included = true;
  if (column == COLUMN_OFFSET || column == COLUMN_HEAP) {
    reader->ranges->result_fields |= UINT32_C(1) << reader->num_fields;
  }
  reader->is_given[column] = true;
  reader->columns[reader->num_fields++] = column;
  return RH_OK;
}

static rh_status read_header(CsvReader *reader) {
  static const char *const required[] = {[COLUMN_ID] = "id",
                                         [COLUMN_LOWER] = "lower",
                                         [COLUMN_UPPER] = "upper",
                                         [COLUMN_SIZE] = "size"};
  Str line = next_line(reader), rest = line, name;
  reader->ranges->header = line;
  if (line.len == 0) {
    return fail_at(reader, line.data, "expected the names of the columns, id,lower,upper,size",
                   no_text);
  }
  while (next_field(&rest, &name)) {
    rh_status status = read_column(reader, name);
    if (status != RH_OK) return status;
  }
  for (int i = 0; i <= COLUMN_SIZE; i++) {
    if (reader->is_given[i]) continue;
    reader->num_errors++;
    return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT((uint32_t)(line.data - reader->begin)),
                     "there is no column '%s'", required[i]);
  }
  return RH_OK;
}

/* ---- rows ---- */

typedef enum NumberEnd { NUMBER_OK, NUMBER_NONE, NUMBER_RANGE } NumberEnd;

static NumberEnd read_number(Str field, int64_t *value) {
  bool is_negative = field.len && field.data[0] == '-';
  if (field.len == (uint32_t)is_negative) return NUMBER_NONE;
  int64_t number = 0;
  bool is_in_range = true;
  for (uint32_t i = is_negative; i < field.len; i++) {
    if (field.data[i] < '0' || field.data[i] > '9') return NUMBER_NONE;
    int digit = field.data[i] - '0';
    is_in_range = is_in_range && !__builtin_mul_overflow(number, 10, &number) &&
                  !__builtin_sub_overflow(number, digit, &number);
  }
  /* The sum is negative, because there is one more negative number than there are positive ones. */
  if (!is_negative && is_in_range) is_in_range = !__builtin_sub_overflow(0, number, &number);
  *value = number;
  return is_in_range ? NUMBER_OK : NUMBER_RANGE;
}

static rh_status read_field(CsvReader *reader, Column column, Str field, rh_live_range *range) {
  int64_t *place = column == COLUMN_LOWER       ? &range->lower
                   : column == COLUMN_UPPER     ? &range->upper
                   : column == COLUMN_SIZE      ? &range->bytes
                   : column == COLUMN_ALIGNMENT ? &range->alignment
                                                : NULL;
  if (column == COLUMN_GAPS && field.len) {
    return fail_at(reader, field.data, "gaps in live ranges are not supported", no_text);
  }
  if (!place) return RH_OK;
  NumberEnd end = read_number(field, place);
  if (end == NUMBER_NONE) return fail_at(reader, field.data, "expected an integer", field);
  if (end == NUMBER_RANGE) return fail_at(reader, field.data, "expected 64 bits at most", field);
  if (column == COLUMN_SIZE && *place < 0) {
    return fail_at(reader, field.data, "a size cannot be negative", field);
  }
  if (column == COLUMN_ALIGNMENT && *place < 1) {
    return fail_at(reader, field.data, "an alignment is at least 1", field);
  }
  if (column == COLUMN_UPPER && reader->is_end_included &&
      __builtin_add_overflow(*place, 1, place)) {
    return fail_at(reader, field.data, "expected 64 bits at most after the end", field);
  }
  return RH_OK;
}

static rh_status check_range(CsvReader *reader, Str upper, const rh_live_range *range) {
  int64_t duration;
  if (range->lower >= range->upper) {
    return fail_at(reader, upper.data, "the live range ends before it begins", no_text);
  }
  if (__builtin_sub_overflow(range->upper, range->lower, &duration)) {
    return fail_at(reader, upper.data, "the live range is longer than 2^63 - 1", no_text);
  }
  return RH_OK;
}

static rh_status read_row(CsvReader *reader, Str line) {
  rh_live_range range = {.alignment = 1};
  Str rest = line, field, upper = no_text;
  uint32_t num_fields = 0;
  for (; next_field(&rest, &field); num_fields++) {
    if (num_fields == reader->num_fields) {
      return fail_at(reader, field.data, "there are more fields than columns", no_text);
    }
    Column column = reader->columns[num_fields];
    if (column == COLUMN_UPPER) upper = field;
    rh_status status = read_field(reader, column, field, &range);
    if (status != RH_OK) return status;
  }
  if (num_fields < reader->num_fields) {
    return fail_at(reader, line.data + line.len, "there are fewer fields than columns", no_text);
  }
  rh_status status = check_range(reader, upper, &range);
  if (status != RH_OK) return status;
  *vec_push(reader->ranges->arena, &reader->ranges->list) = range;
  *vec_push(reader->ranges->arena, &reader->ranges->lines) = line;
  return RH_OK;
}

/* Empty lines are accepted only at the end. */
static rh_status read_rows(CsvReader *reader) {
  rh_status result = RH_OK;
  const char *empty = NULL;
  while (reader->next < reader->end && reader->num_errors < reader->max_errors) {
    Str line = next_line(reader);
    rh_status status = RH_OK;
    if (line.len == 0) {
      if (!empty) empty = line.data;
    } else if (empty) {
      status = fail_at(reader, empty, "there is an empty line before others", no_text);
      empty = NULL;
    } else {
      status = read_row(reader, line);
    }
    if (status != RH_OK) result = status;
  }
  return result;
}

rh_status live_ranges_read(const char *text, size_t length, uint32_t max_errors,
                           const ArenaOptions *memory, rh_live_ranges **ranges, rh_diags *diags) {
  if (length >= UINT32_MAX) {
    return diag_fail(diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_TOO_LARGE, NO_OFFSET),
                     "the text is longer than 4 GiB");
  }
  Arena *arena = arena_new(memory);
  rh_live_ranges *parsed = arena_zalloc(arena, sizeof *parsed);
  parsed->arena = arena;
  CsvReader reader = {.begin = text,
                      .next = text,
                      .end = text + length,
                      .max_errors = max_errors,
                      .ranges = parsed,
                      .diags = diags};
  rh_status status = read_header(&reader);
  if (status == RH_OK) status = read_rows(&reader);
  if (status == RH_OK) {
    *ranges = parsed;
  } else {
    arena_free(arena);
  }
  return status;
}

void rh_live_ranges_free(rh_live_ranges *ranges) {
  if (ranges) arena_free(ranges->arena);
}

size_t rh_live_ranges_len(const rh_live_ranges *ranges) {
  return ranges->list.len;
}

const rh_live_range *rh_live_ranges_data(const rh_live_ranges *ranges) {
  return ranges->list.data;
}

/* Writes the line without the fields in `skipped`, which has one bit for each field. */
static void write_fields(Writer *writer, Str line, uint32_t skipped) {
  if (skipped == 0) {
    write_str(writer, line);
    return;
  }
  Str rest = line, field;
  bool is_first = true;
  for (uint32_t i = 0; next_field(&rest, &field); i++) {
    if (skipped >> i & 1) continue;
    if (!is_first) write_text(writer, ",");
    write_str(writer, field);
    is_first = false;
  }
}

void live_ranges_write(const rh_live_ranges *ranges, const int64_t *offsets, const uint32_t *heaps,
                       Writer *writer) {
  write_fields(writer, ranges->header, ranges->result_fields);
  write_text(writer, heaps ? ",offset,heap\n" : ",offset\n");
  for (uint32_t i = 0; i < ranges->list.len; i++) {
    write_fields(writer, ranges->lines.data[i], ranges->result_fields);
    write_format(writer, ",%" PRId64, offsets[i]);
    if (heaps) write_format(writer, ",%" PRIu32, heaps[i]);
    write_text(writer, "\n");
  }
}
