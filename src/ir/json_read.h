/* cJSON where memory may run out: a tree goes with an arena. */
#ifndef REMAT_HLO_IR_JSON_READ_H
#define REMAT_HLO_IR_JSON_READ_H

#include <cjson/cJSON.h>

#include "ir/arena.h"

/* Reads the value that the text begins with; it goes with the arena. `*stop` is behind it, or where
 * it is no JSON: the result is NULL then. `stop` may be NULL. */
const cJSON *json_read(const char *text, size_t length, const char **stop, Arena *out);

/* The same for an object that is to be written. */
cJSON *json_new_object(Arena *out);

#endif
