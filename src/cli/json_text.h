/* What goes into JSON as it should. */
#ifndef REMAT_HLO_CLI_JSON_TEXT_H
#define REMAT_HLO_CLI_JSON_TEXT_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "remat_hlo.h"

/* Files and paths can be of any bytes, JSON is UTF-8 and cJSON's strings end in NUL: what does not
 * fit becomes `?`. */
void json_add_text(cJSON *object, const char *key, const char *text, size_t length);

/* null when there is none. */
void json_add_known_text(cJSON *object, const char *key, rh_text text);

/* As digits: doubles would round what is beyond 2^53. */
void json_add_int(cJSON *object, const char *key, int64_t value);

/* At the end of a list. */
void json_add_item_int(cJSON *list, int64_t value);

/* null for a number below `least`: it is not known. */
void json_add_known_int(cJSON *object, const char *key, int64_t value, int64_t least);

/* An object at the end of a list; NULL, which cJSON takes, without memory. */
cJSON *json_add_item(cJSON *list);

#endif
