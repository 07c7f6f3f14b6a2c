/* If cJSON fails, it does not say whether memory ran out or the text is not JSON. So a text that is
 * valid JSON is treated as a lack of memory. */
#include "ir/json_read.h"

#include <errno.h>
#include <stdlib.h>

#include "ir/json_tree.h"
#include "ir/vec.h"

enum { MAX_NUMBER_CHARS = 60 }; /* of cJSON */

static void delete_tree(void *tree) {
  cJSON_Delete(tree);
}

static uint32_t skip_digits(Str text, uint32_t at) {
  while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
    at++;
  return at;
}

/* RFC 8259, 6. */
static bool is_number(Str text) {
  uint32_t at = text.len && text.data[0] == '-', end = skip_digits(text, at);
  if (end == at || (end > at + 1 && text.data[at] == '0')) return false;
  if (end < text.len && text.data[end] == '.') {
    at = end + 1;
    end = skip_digits(text, at);
    if (end == at) return false;
  }
  if (end < text.len && (text.data[end] == 'e' || text.data[end] == 'E')) {
    at = end + 1;
    at += at < text.len && (text.data[at] == '+' || text.data[at] == '-');
    end = skip_digits(text, at);
    if (end == at) return false;
  }
  return end == text.len && text.len <= MAX_NUMBER_CHARS;
}

static bool is_json(const char *text, size_t length, Arena *scratch) {
  JsonNode *root;
  if (json_tree_parse(text, length, &root, NULL, scratch) != RH_OK) return false;
  VEC(const JsonNode *) open = {0};
  *vec_push(scratch, &open) = root;
  while (open.len) {
    const JsonNode *node = open.data[--open.len];
    if (node->kind == JSON_NUMBER && !is_number(node->text)) return false;
    for (const JsonNode *child = node->first; child; child = child->next)
      *vec_push(scratch, &open) = child;
  }
  return true;
}

const cJSON *json_read(const char *text, size_t length, const char **stop, Arena *out) {
  void **owned = arena_own(out, delete_tree);
  *owned = cJSON_ParseWithLengthOpts(text, length, stop, false);
  if (*owned) return *owned;
  ArenaMark mark = arena_mark(out);
  if (is_json(text, length, out)) arena_fail(out, length);
  arena_reset(out, mark);
  return NULL;
}

cJSON *json_new_object(Arena *out) {
  void **owned = arena_own(out, delete_tree);
  *owned = cJSON_CreateObject();
  if (!*owned) arena_fail(out, sizeof(cJSON));
  return *owned;
}

bool json_integer(const cJSON *item, int64_t *value) {
  if (cJSON_IsNumber(item)) {
    if (!(item->valuedouble > -0x1p63 && item->valuedouble < 0x1p63)) return false;
    *value = (int64_t)item->valuedouble;
    return (double)*value == item->valuedouble;
  }
  if (!cJSON_IsString(item)) return false;
  const char *digits = item->valuestring + (item->valuestring[0] == '-');
  if (*digits < '0' || *digits > '9') return false;
  char *end;
  errno = 0;
  *value = strtoll(item->valuestring, &end, 10);
  return *end == '\0' && errno == 0;
}
