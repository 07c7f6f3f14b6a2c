/* Writes diagnostics for programs, as one JSON object on each line. The manual page documents the
 * keys. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "messages.h"

/* The number of bytes of a line that are shown before and after the position. */
enum { SHOWN_BYTES = 500 };

static void add_place(cJSON *object, const Input *input, const Place *place) {
  if (!place) {
    static const char *const keys[] = {"line", "column", "offset", "source", "source_column"};
    for (int i = 0; i < 5; i++)
      cJSON_AddNullToObject(object, keys[i]);
    return;
  }
  cJSON_AddNumberToObject(object, "line", (double)place->line);
  cJSON_AddNumberToObject(object, "column", (double)place->column);
  cJSON_AddNumberToObject(object, "offset", (double)place->offset);
  size_t begin = place->line_begin, end = place->offset;
  if (end - begin > SHOWN_BYTES) begin = end - SHOWN_BYTES;
  while (end < input->length && end < place->offset + SHOWN_BYTES && input->text[end] != '\n')
    end++;
  bool is_whole = end == input->length || input->text[end] == '\n';
  if (is_whole && end > begin && input->text[end - 1] == '\r') end--;
  json_add_text(object, "source", input->text + begin, end - begin);
  cJSON_AddNumberToObject(object, "source_column", (double)(begin - place->line_begin + 1));
}

void messages_print_json(const Input *input, const rh_diag *diag, const Place *place,
                         const Place *opener, FILE *out) {
  cJSON *object = cJSON_CreateObject();
  json_add_text(object, "file", input->path, strlen(input->path));
  cJSON_AddStringToObject(object, "severity", severity_word(diag->severity));
  json_add_text(object, "message", diag->message, strlen(diag->message));
  if (diag->rule) cJSON_AddStringToObject(object, "rule", diag->rule);
  add_place(object, input, place);
  if (opener) {
    add_place(cJSON_AddObjectToObject(object, "opener"), input, opener);
  } else {
    cJSON_AddNullToObject(object, "opener");
  }
  char *text = cJSON_PrintUnformatted(object);
  if (text) fprintf(out, "%s\n", text);
  free(text);
  cJSON_Delete(object);
}
