#include "rows.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "csv.h"
#include "json_text.h"

static void write_columns(Rows *rows) {
  for (size_t i = 0; rows->columns[i]; i++) {
    if (i) csv_raw(&rows->csv, ",");
    csv_raw(&rows->csv, rows->columns[i]);
  }
  csv_raw(&rows->csv, "\n");
}

rh_status rows_open(const char *const *columns, const char *csv, const char *json,
                    const Options *options, Rows *rows) {
  *rows = (Rows){.options = options, .json = json, .columns = columns};
  if (csv) {
    rh_status status = output_open(csv, options, &rows->csv);
    if (status != RH_OK) return status;
    rows->has_csv = true;
    write_columns(rows);
  }
  if (json) rows->list = cJSON_CreateArray();
  return RH_OK;
}

/* Returns the name of the next column. */
static const char *next_column(Rows *rows) {
  if (rows->next == 0 && rows->list) rows->row = json_add_item(rows->list);
  return rows->columns[rows->next];
}

static void end_value(Rows *rows) {
  bool is_last = !rows->columns[++rows->next];
  if (is_last) rows->next = 0;
  if (rows->has_csv && is_last) csv_raw(&rows->csv, "\n");
}

static void write_csv(Rows *rows, rh_text text) {
  if (!rows->has_csv) return;
  if (rows->next) csv_raw(&rows->csv, ",");
  csv_text(&rows->csv, text);
}

static void write_csv_word(Rows *rows, const char *word) {
  write_csv(rows, (rh_text){word, strlen(word)});
}

void rows_text(Rows *rows, rh_text text) {
  const char *column = next_column(rows);
  if (rows->list) json_add_known_text(rows->row, column, text);
  write_csv(rows, text);
  end_value(rows);
}

void rows_word(Rows *rows, const char *word) {
  rows_text(rows, (rh_text){word, word ? strlen(word) : 0});
}

void rows_int(Rows *rows, int64_t value, int64_t least) {
  const char *column = next_column(rows);
  char digits[24] = "";
  if (value >= least) snprintf(digits, sizeof digits, "%lld", (long long)value);
  if (rows->list) json_add_known_int(rows->row, column, value, least);
  write_csv_word(rows, digits);
  end_value(rows);
}

void rows_double(Rows *rows, double value) {
  const char *column = next_column(rows);
  char digits[40];
  snprintf(digits, sizeof digits, "%.17g", value);
  if (rows->list) cJSON_AddNumberToObject(rows->row, column, value);
  write_csv_word(rows, digits);
  end_value(rows);
}

void rows_bool(Rows *rows, bool value) {
  const char *column = next_column(rows);
  if (rows->list) cJSON_AddBoolToObject(rows->row, column, value);
  write_csv_word(rows, value ? "true" : "false");
  end_value(rows);
}

rh_status rows_close(Rows *rows, bool keep) {
  rh_status status = RH_OK;
  const cJSON *shown = rows->is_one && rows->list ? rows->list->child : rows->list;
  if (keep && rows->json) {
    status = output_write_json(shown ? cJSON_Print(shown) : NULL, rows->json, rows->options);
  }
  cJSON_Delete(rows->list);
  if (!rows->has_csv) return status;
  rh_status closed = output_close(&rows->csv, keep);
  return closed > status ? closed : status;
}
