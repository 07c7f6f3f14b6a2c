#include "csv_text.h"

#include <string.h>

void csv_write(Output *output, rh_text text) {
  bool needs_quotes = false;
  for (size_t i = 0; i < text.length; i++)
    needs_quotes |= strchr(",\"\n\r", text.data[i]) != NULL;
  if (needs_quotes) output_write(output, "\"", 1);
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"') output_write(output, "\"", 1);
    output_write(output, &text.data[i], 1);
  }
  if (needs_quotes) output_write(output, "\"", 1);
}

void csv_write_text(Output *output, const char *text) {
  csv_write(output, (rh_text){text, strlen(text)});
}
