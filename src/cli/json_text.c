#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "messages.h"
#include "terminal.h"

/* A copy of a text that JSON can have. */
static char *clean_copy(const char *text, size_t length) {
  char *copy = memory_need(malloc(length + 1));
  if (length) memcpy(copy, text, length);
  copy[length] = '\0';
  for (char *p = copy; p < copy + length;) {
    size_t bytes = *p ? utf8_length(p, copy + length) : 0;
    if (bytes == 0) *p = '?';
    p += bytes ? bytes : 1;
  }
  return copy;
}

void json_add_text(cJSON *object, const char *key, const char *text, size_t length) {
  char *copy = clean_copy(text, length);
  cJSON_AddStringToObject(object, key, copy);
  free(copy);
}

void json_add_texts(cJSON *object, const char *key, const rh_text *texts, size_t count) {
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (size_t i = 0; i < count; i++) {
    char *copy = clean_copy(texts[i].data, texts[i].length);
    cJSON_AddItemToArray(list, cJSON_CreateString(copy));
    free(copy);
  }
}

void json_add_within(cJSON *object, const rh_memory *memory) {
  cJSON *list = cJSON_AddArrayToObject(object, "lower_bound_within");
  unsigned within = memory->lower_bound_within;
  if (within & RH_WITHIN_FUSIONS) cJSON_AddItemToArray(list, cJSON_CreateString("fusions"));
  if (within & RH_WITHIN_CALLS) cJSON_AddItemToArray(list, cJSON_CreateString("calls"));
}

void json_add_temp_range(cJSON *object, const rh_memory *memory) {
  if (!has_temp_range(memory)) return;
  json_add_int(object, "least_temp_bytes", memory->temp_bytes - memory->temp_less_bytes);
  json_add_int(object, "most_temp_bytes", memory->temp_bytes + memory->temp_more_bytes);
}

void json_add_known_text(cJSON *object, const char *key, rh_text text) {
  if (text.length) {
    json_add_text(object, key, text.data, text.length);
  } else {
    cJSON_AddNullToObject(object, key);
  }
}

void json_add_int(cJSON *object, const char *key, int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRId64, value);
  cJSON_AddRawToObject(object, key, digits);
}

void json_add_item_int(cJSON *list, int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRId64, value);
  cJSON_AddItemToArray(list, cJSON_CreateRaw(digits));
}

void json_add_known_int(cJSON *object, const char *key, int64_t value, int64_t least) {
  if (value >= least) {
    json_add_int(object, key, value);
  } else {
    cJSON_AddNullToObject(object, key);
  }
}

cJSON *json_add_item(cJSON *list) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddItemToArray(list, item);
  return item;
}
