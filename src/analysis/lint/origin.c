/* Checks origin={…}, which names an original array for each array of the shape. Parentheses and
 * commas give the position of an element, as in a tuple's shape. Source: VerifyOriginalValue. */
#include "analysis/lint/lint.h"
#include "ir/vec.h"

typedef VEC(int64_t) Index;

/* The end of the quoted text or the braces that begin at `at`; `at` itself if neither begins
 * there. */
static uint32_t skip_group(const char *text, uint32_t at, uint32_t end) {
  uint32_t depth = 0;
  bool is_quoted = false;
  do {
    if (text[at] == '"') is_quoted = !is_quoted;
    if (is_quoted && text[at] == '\\') at++;
    if (!is_quoted) depth += (uint32_t)(text[at] == '{') - (uint32_t)(text[at] == '}');
    if (!is_quoted && depth == 0) break;
  } while (++at < end);
  return at;
}

/* Reads the next array that the text names, as an index into the shape, and sets `*at` to the place
 * after it. */
static bool next_array(Arena *scratch, const char *text, uint32_t *at, uint32_t end, Index *index) {
  for (; *at < end; ++*at) {
    switch (text[*at]) {
      case '(': *vec_push(scratch, index) = 0; break;
      case ')': index->len -= index->len > 0; break;
      case ',':
        if (index->len) index->data[index->len - 1]++;
        break;
      case '"': *at = skip_group(text, *at, end); break; /* part of a call hierarchy */
      case '{': *at = skip_group(text, *at, end) + 1; return true;
      default: break;
    }
  }
  return false;
}

static bool names_each_array(Lint *lint, InstId id, const Attr *attr) {
  const Module *module = lint->module;
  const char *text = module->source->text;
  ShapeId shape = inst_get(module, id)->shape;
  uint32_t num_parts = shape_get(&module->shapes, shape)->num_parts;
  ShapeId *parts = arena_array(lint->scratch, ShapeId, num_parts);
  bool *is_named = arena_zarray(lint->scratch, bool, num_parts);
  shape_list_parts(&module->shapes, shape, parts);
  Index index = {0};
  uint32_t at = attr->text.begin + 1;
  while (next_array(lint->scratch, text, &at, attr->text.end - 1, &index)) {
    uint32_t part = shape_index_part(&module->shapes, shape, index.data, index.len);
    if (part == NO_ID) return false;
    is_named[part] = true;
  }
  for (uint32_t part = 0; part < num_parts; part++) {
    if (is_named[part] == shape_is_tuple(shape_get(&module->shapes, parts[part]))) return false;
  }
  return true;
}

void lint_origin(Lint *lint, InstId id) {
  const Attr *attr = inst_attr(lint->module, id, ATTR_ORIGIN);
  if (!attr || lint->module->source->text[attr->text.begin + 1] == '[') return; /* synthetic_call */
  if (inst_get(lint->module, id)->flags & INST_IMPLIED) return; /* it is the start's origin */
  if (names_each_array(lint, id, attr)) return;
  lint_find_at(lint, LINT_ORIGIN, id, lint_place_attr(lint, id, ATTR_ORIGIN),
               "its origin does not name each array of its shape, %s",
               lint_shown(lint, inst_get(lint->module, id)->shape));
}
