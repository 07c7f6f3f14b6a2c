/* Helpers for values that cJSON does not represent exactly. */
#ifndef REMAT_HLO_CLI_JSON_TEXT_H
#define REMAT_HLO_CLI_JSON_TEXT_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "remat_hlo.h"

/* Adds a text. Files and paths can contain any bytes, but JSON is UTF-8 and the strings of cJSON
 * end at a NUL, so bytes that do not fit become `?`. */
void json_add_text(cJSON *object, const char *key, const char *text, size_t length);

/* Adds a text, or null if there is none. */
void json_add_known_text(cJSON *object, const char *key, rh_text text);

/* Adds a list of texts. */
void json_add_texts(cJSON *object, const char *key, const rh_text *texts, size_t count);

/* Adds `lower_bound_within`: the list of what the lower bound takes as it is. */
void json_add_within(cJSON *object, const rh_memory *memory);

/* Adds `least_temp_bytes` and `most_temp_bytes` if XLA's temporaries cannot be known yet. */
void json_add_temp_range(cJSON *object, const rh_memory *memory);

/* Adds a number as digits, because a double would round values beyond 2^53. */
void json_add_int(cJSON *object, const char *key, int64_t value);

/* Appends a number to a list. */
void json_add_item_int(cJSON *list, int64_t value);

/* Adds a number, or null if it is below `least`, which means that it is not known. */
void json_add_known_int(cJSON *object, const char *key, int64_t value, int64_t least);

/* Appends an object to a list and returns it. Returns NULL if out of memory; cJSON accepts NULL. */
cJSON *json_add_item(cJSON *list);

#endif
