#include "analysis/flow/backend_config.h"

/* The text between the quotes, without its escapes. JSON text has no other escapes than these. */
static char *unescape(Str quoted, Arena *scratch, size_t *length) {
  char *text = arena_alloc(scratch, quoted.len);
  size_t len = 0;
  for (uint32_t i = 0; i < quoted.len; i++) {
    if (quoted.data[i] == '\\' && i + 1 < quoted.len) {
      i++;
      text[len++] = quoted.data[i] == 'n' || quoted.data[i] == 't' ? ' ' : quoted.data[i];
    } else {
      text[len++] = quoted.data[i];
    }
  }
  *length = len;
  return text;
}

cJSON *backend_config(const Module *module, InstId id, const char *word) {
  Str text = inst_attr_text(module, id, ATTR_BACKEND_CONFIG);
  if (!str_contains(text, word)) return NULL;
  if (text.data[0] == '{') return cJSON_ParseWithLength(text.data, text.len);
  Arena *scratch = arena_new(arena_options(module->arena));
  size_t length;
  char *json = unescape(inst_attr_string(module, id, ATTR_BACKEND_CONFIG), scratch, &length);
  cJSON *config = cJSON_ParseWithLength(json, length);
  arena_free(scratch);
  return config;
}
