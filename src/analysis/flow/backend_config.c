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

BackendConfig backend_config_read(const Module *module, InstId id, const char *word) {
  Str text = inst_attr_text(module, id, ATTR_BACKEND_CONFIG);
  if (!str_contains(text, word)) return (BackendConfig){0};
  BackendConfig config = {.arena = arena_new(arena_options(module->arena))};
  const char *json = text.data;
  size_t length = text.len;
  if (json[0] != '{') {
    json = unescape(inst_attr_string(module, id, ATTR_BACKEND_CONFIG), config.arena, &length);
  }
  config.json = json_read(json, length, NULL, config.arena);
  return config;
}

void backend_config_free(BackendConfig *config) {
  arena_free(config->arena);
}

int64_t backend_config_trips(const Module *module, InstId loop) {
  BackendConfig config = backend_config_read(module, loop, "known_trip_count");
  const cJSON *known = cJSON_GetObjectItemCaseSensitive(config.json, "known_trip_count");
  int64_t count;
  bool is_given = json_integer(cJSON_GetObjectItemCaseSensitive(known, "n"), &count) &&
                  count >= 0 && count < INT64_MAX;
  backend_config_free(&config);
  return is_given ? count : -1;
}
