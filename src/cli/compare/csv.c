/* Writes runs as CSV (RFC 4180 with line feeds), with all columns. */
#include <string.h>

#include "compare/columns.h"
#include "csv.h"

static void write_word(Output *output, const char *word) {
  csv_text(output, (rh_text){word, strlen(word)});
}

static void write_value(const CompareRow *row, const CompareColumn *column, Output *output) {
  const void *member = (const char *)row + column->member;
  char digits[32];
  switch (column->kind) {
    case COLUMN_TEXT: write_word(output, *(const char *const *)member); break;
    case COLUMN_BOOL: write_word(output, *(const bool *)member ? "true" : "false"); break;
    case COLUMN_INT:
    case COLUMN_NUMBER:
      compare_digits(row, column, digits);
      output_write(output, digits, strlen(digits));
      break;
  }
}

void compare_write_csv(const Comparison *comparison, Output *output) {
  for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
    if (i) output_write(output, ",", 1);
    write_word(output, compare_columns[i].name);
  }
  output_write(output, "\n", 1);
  for (size_t k = 0; k < compare_num_runs(comparison); k++) {
    const CompareRun *run = &comparison->runs[k];
    if (!run->has_row) continue;
    for (size_t i = 0; i < NUM_COMPARE_COLUMNS; i++) {
      if (i) output_write(output, ",", 1);
      write_value(&run->row, &compare_columns[i], output);
    }
    output_write(output, "\n", 1);
  }
}
