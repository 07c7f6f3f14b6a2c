#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void csv_raw(Output *output, const char *text) {
  output_write(output, text, strlen(text));
}

void csv_text(Output *output, rh_text text) {
  bool needs_quotes = false;
  for (size_t i = 0; i < text.length; i++)
    needs_quotes |= strchr(",\"\n\r", text.data[i]) != NULL;
  if (needs_quotes) csv_raw(output, "\"");
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"') csv_raw(output, "\"");
    output_write(output, &text.data[i], 1);
  }
  if (needs_quotes) csv_raw(output, "\"");
}

void csv_next_text(Output *output, rh_text text) {
  csv_raw(output, ",");
  csv_text(output, text);
}

void csv_next_int(Output *output, int64_t value, int64_t least) {
  char digits[24];
  snprintf(digits, sizeof digits, ",%" PRId64, value);
  csv_raw(output, value >= least ? digits : ",");
}

void csv_next_double(Output *output, double value) {
  char digits[40];
  snprintf(digits, sizeof digits, ",%.17g", value);
  csv_raw(output, digits);
}
