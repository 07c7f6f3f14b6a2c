/* Shardings of arrays against their rank. */
#include <inttypes.h>

#include "analysis/lint.h"

/* Where `word` begins in [begin, end) of the text, `end` when it does not. */
static uint32_t find_word(const char *text, uint32_t begin, uint32_t end, Str word) {
  for (; begin + word.len <= end; begin++) {
    if (bytes_equal(text + begin, word.data, word.len)) return begin;
  }
  return end;
}

/* One more than the commas before `close`. */
static uint32_t count_entries(const char *text, uint32_t begin, uint32_t end, char close) {
  uint32_t count = 1;
  for (; begin < end && text[begin] != close; begin++)
    count += text[begin] == ',';
  return count;
}

/* Dimensions of the tile assignment behind those of the array. */
static uint32_t num_subgroup_dims(const char *text, uint32_t begin, uint32_t end) {
  static const Str dims = {"last_tile_dims={", 16}, replicate = {"last_tile_dim_replicate", 23};
  uint32_t at = find_word(text, begin, end, dims);
  if (at < end) return count_entries(text, at + dims.len, end, '}');
  return find_word(text, begin, end, replicate) < end ? 1 : 0;
}

/* `{devices=[…]…}`; other forms, and shardings of tuples, are not looked at. */
void lint_sharding(Lint *lint, InstId id) {
  static const Str devices = {"{devices=[", 10};
  const Attr *attr = inst_attr(lint->module, id, ATTR_SHARDING);
  const Shape *shape = inst_shape(lint->module, id);
  const char *text = lint->module->source->text;
  if (!attr || shape->kind != SHAPE_ARRAY || shape->type == TYPE_TOKEN ||
      shape->type == TYPE_OPAQUE) {
    return;
  }
  uint32_t begin = attr->text.begin, end = attr->text.end;
  if (begin + devices.len > end || !bytes_equal(text + begin, devices.data, devices.len)) return;
  uint32_t num_dims = count_entries(text, begin + devices.len, end, ']');
  uint32_t num_others = num_subgroup_dims(text, begin, end);
  if (num_dims == shape->rank + num_others) return;
  lint_find_at(lint, LINT_SHARDING, id, lint_place_attr(lint, id, ATTR_SHARDING),
               "its sharding is for rank %" PRId64 ", its shape is %s",
               (int64_t)num_dims - (int64_t)num_others,
               lint_shown(lint, inst_get(lint->module, id)->shape));
}
