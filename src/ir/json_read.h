/* cJSON with trees that are freed with an arena, and that runs out of memory as an arena does. */
#ifndef REMAT_HLO_IR_JSON_READ_H
#define REMAT_HLO_IR_JSON_READ_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

/* Reads the value at the beginning of the text. The tree is freed with the arena. `*stop` is the
 * end of the value. If the text is not JSON, the result is NULL and `*stop` is where it stops being
 * JSON. `stop` may be NULL. */
const cJSON *json_read(const char *text, size_t length, const char **stop, Arena *out);

/* Reads an integer. Protobuf writes one of 64 bits in quotes, people write it without. False if the
 * item is NULL or something else, or does not fit. */
bool json_integer(const cJSON *item, int64_t *value);

/* Returns a new object, which is to be written and is freed with the arena. */
cJSON *json_new_object(Arena *out);

#endif
