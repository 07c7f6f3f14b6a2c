/* JSON as a tree that knows its places: for files that people edit, whose faults are shown where
 * they are. cJSON, which reads the others, keeps none. */
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
  uint32_t offset; /* where it begins in the text */
  Str text;        /* of a string what it stands for, in UTF-8; of a number its characters */
  Str key;         /* of an object's member */
  uint32_t key_offset;
  struct JsonNode *first; /* element or member */
  struct JsonNode *next;  /* behind it in the same list */
} JsonNode;

/* Reads one value, which nothing but blanks may follow; it lives in `out`. RH_ERR_INPUT with the
 * place of the first fault. Linear, but for the search for members with the same key. */
rh_status json_tree_parse(const char *text, size_t length, JsonNode **root, rh_diags *diags,
                          Arena *out);

/* The member of this key, NULL when there is none. O(members). */
const JsonNode *json_member(const JsonNode *object, const char *key);

/* A whole number of 64 bits; false for anything else. */
bool json_int64(const JsonNode *node, int64_t *value);

#endif
