#include "analysis/flow/slice_note.h"

#include "analysis/flow/backend_config.h"

#define OFFSET_KEY "dynamic_slice_config"
#define BITS_KEY "index_known_bits"

bool slice_has_note(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  bool may_have =
      opcode_is_dynamic_slice((Opcode)inst->opcode) && !(inst->flags & INST_STALE_CONFIG);
  if (!may_have) return false;
  Str config = inst_attr_text(module, id, ATTR_BACKEND_CONFIG);
  return str_contains(config, OFFSET_KEY) || str_contains(config, BITS_KEY);
}

/* ---- XLA:GPU ---- */

/* Where a number is left out, it is 0. */
static bool read_number(const cJSON *object, const char *name, int64_t *value) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  *value = 0;
  return !item || json_integer(item, value);
}

static bool has_only(const cJSON *object, const char *const *names) {
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    const char *const *name = names;
    while (*name && strcmp(*name, item->string) != 0)
      name++;
    if (!*name) return false;
  }
  return true;
}

static bool read_line(const cJSON *object, SliceNote *note) {
  return read_number(object, "byte_offset", &note->offset) &&
         read_number(object, "byte_stride", &note->stride);
}

/* The offset stands in the note itself, or, in JAX 0.12, in its member `linear`, beside which the
 * note's own numbers are 0. */
static bool read_offset(const cJSON *json, SliceNote *note) {
  static const char *const names[] = {"loop_index", "byte_offset", "byte_stride", "linear", NULL};
  static const char *const names_of_line[] = {"byte_offset", "byte_stride", NULL};
  const cJSON *line = cJSON_GetObjectItemCaseSensitive(json, "linear");
  note->has_offset = true;
  note->has_loop = cJSON_GetObjectItemCaseSensitive(json, "loop_index");
  if (!cJSON_IsObject(json) || !has_only(json, names)) return false;
  if (!read_number(json, "loop_index", &note->loop) || note->loop < 0) return false;
  if (!read_line(json, note)) return false;
  if (!line) return true;
  bool is_empty = note->offset == 0 && note->stride == 0;
  return is_empty && cJSON_IsObject(line) && has_only(line, names_of_line) && read_line(line, note);
}

/* ---- XLA:TPU ---- */

static bool read_mask(const cJSON *object, const char *name, uint64_t *mask) {
  int64_t value;
  if (!read_number(object, name, &value) || value < 0) return false;
  *mask = (uint64_t)value;
  return true;
}

static bool read_bits(const cJSON *json, SliceNote *note, Arena *out) {
  if (!cJSON_IsArray(json)) return false;
  note->bits = arena_zarray(out, KnownBits, (size_t)cJSON_GetArraySize(json));
  const cJSON *item;
  cJSON_ArrayForEach(item, json) {
    KnownBits *bits = &note->bits[note->num_bits++];
    if (!read_mask(item, "zeroes", &bits->zeroes) || !read_mask(item, "ones", &bits->ones) ||
        !read_number(item, "bitwidth", &bits->width) || bits->width <= 0 || bits->width > 62)
      return false;
  }
  return true;
}

SliceNote slice_note_read(const Module *module, InstId id, Arena *out) {
  SliceNote note = {.is_there = slice_has_note(module, id)};
  if (!note.is_there) return note;
  BackendConfig config = backend_config_read(module, id, "config");
  const cJSON *offset = cJSON_GetObjectItemCaseSensitive(config.json, OFFSET_KEY);
  const cJSON *indices = cJSON_GetObjectItemCaseSensitive(config.json, "indices_config");
  const cJSON *bits = cJSON_GetObjectItemCaseSensitive(indices, BITS_KEY);
  note.is_known = offset || bits;
  if (offset) note.is_known &= read_offset(offset, &note);
  if (bits) note.is_known &= read_bits(bits, &note, out);
  backend_config_free(&config);
  return note;
}
