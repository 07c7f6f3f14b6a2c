/* JSON as a tree whose nodes know their offsets in the text. It is for files that people edit, so
 * that errors are reported with their place. cJSON, which reads all other files, does not record
 * places. */
#ifndef REMAT_HLO_IR_JSON_TREE_H
#define REMAT_HLO_IR_JSON_TREE_H

#include "ir/arena.h"
#include "ir/diag.h"
#include "ir/ids.h"

typedef enum JsonKind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT,
} JsonKind;

typedef struct JsonNode {
  JsonKind kind;
  uint32_t offset; /* where the node begins in the text */
  Str text;        /* for a string its value in UTF-8; for a number its characters */
  Str key;         /* for a member of an object */
  uint32_t key_offset;
  struct JsonNode *first; /* the first element or member */
  struct JsonNode *next;  /* the next one in the same list */
} JsonNode;

/* Reads one value, after which only blanks may follow. The tree is in `out`. Returns RH_ERR_INPUT
 * with the place of the first error. The time is linear, except for the search for members with
 * equal keys. */
rh_status json_tree_parse(const char *text, size_t length, JsonNode **root, rh_diags *diags,
                          Arena *out);

/* Returns the member with this key, or NULL if there is none. The time is O(members). */
const JsonNode *json_member(const JsonNode *object, const char *key);

/* Reads an integer of 64 bits. Returns false for any other node. */
bool json_int64(const JsonNode *node, int64_t *value);

#endif
