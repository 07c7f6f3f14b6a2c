/* Checks what the text says of where instructions and values come from. */
#include <inttypes.h>

#include "analysis/lint/lint.h"
#include "ir/vec.h"

/* ---- source locations ---- */

/* Checks the tables of source locations. XLA replaces a dangling id by 0, "nowhere", with a line in
 * its log. */

/* Ids begin with 1; 0 means nowhere. */
static bool is_id_in(int64_t id, uint32_t count) {
  return id >= 0 && id <= (int64_t)count;
}

static void lint_location(Lint *lint, uint32_t index) {
  const ModuleSource *source = lint->module->source;
  const FileLocation *location = &source->file_locations.data[index];
  DiagPlace place = DIAG_AT(location->offset);
  if (!is_id_in(location->file_name_id, source->file_names.len)) {
    lint_find(lint, LINT_STACK_FRAME, place, "there is no file name %" PRId32,
              location->file_name_id);
  }
  if (!is_id_in(location->function_name_id, source->function_names.len)) {
    lint_find(lint, LINT_STACK_FRAME, place, "there is no function name %" PRId32,
              location->function_name_id);
  }
}

/* The parent, 0 if there is none or if it is dangling. */
static uint32_t parent_of(const ModuleSource *source, uint32_t frame) {
  int64_t parent = source->stack_frames.data[frame - 1].parent_frame_id;
  return parent > 0 && parent <= (int64_t)source->stack_frames.len ? (uint32_t)parent : 0;
}

/* Follows parents from each frame to one that has been visited. If that was visited on the same
 * walk, there is a cycle. */
static void lint_cycles(Lint *lint) {
  const ModuleSource *source = lint->module->source;
  uint32_t *walk_of = arena_zarray(lint->tables, uint32_t, (size_t)source->stack_frames.len + 1);
  for (uint32_t start = 1; start <= source->stack_frames.len; start++) {
    uint32_t frame = start;
    while (frame && !walk_of[frame]) {
      walk_of[frame] = start;
      frame = parent_of(source, frame);
    }
    if (frame && walk_of[frame] == start) {
      lint_find(lint, LINT_STACK_FRAME, DIAG_AT(source->stack_frames.data[frame - 1].offset),
                "stack frame %" PRIu32 " is among its own parents", frame);
    }
  }
}

void lint_stack_frames(Lint *lint) {
  const ModuleSource *source = lint->module->source;
  for (uint32_t i = 0; i < source->file_locations.len; i++)
    lint_location(lint, i);
  for (uint32_t i = 0; i < source->stack_frames.len; i++) {
    const StackFrame *frame = &source->stack_frames.data[i];
    if (!is_id_in(frame->file_location_id, source->file_locations.len)) {
      lint_find(lint, LINT_STACK_FRAME, DIAG_AT(frame->offset),
                "there is no file location %" PRId32, frame->file_location_id);
    }
    if (frame->parent_frame_id > 0 && parent_of(source, i + 1) == 0) {
      lint_find(lint, LINT_STACK_FRAME, DIAG_AT(frame->offset),
                "there is no stack frame %" PRId32 " for a parent", frame->parent_frame_id);
    }
  }
  lint_cycles(lint);
}

/* The place of the id in the attribute. */
static DiagPlace frame_place(const Lint *lint, InstId id) {
  static const Str key = {"stack_frame_id", 14};
  DiagPlace place = lint_place_attr(lint, id, ATTR_METADATA);
  const Attr *attr = inst_attr(lint->module, id, ATTR_METADATA);
  for (uint32_t at = attr->text.begin; at + key.len < attr->text.end; at++) {
    if (bytes_equal(lint->module->source->text + at, key.data, key.len)) return DIAG_AT(at);
  }
  return place;
}

void lint_frame_of_inst(Lint *lint, InstId id) {
  const Metadata *metadata = inst_metadata(lint->module, id);
  uint32_t count = lint->module->source->stack_frames.len;
  if (!metadata || is_id_in(metadata->stack_frame_id, count)) return;
  if (inst_get(lint->module, id)->flags & INST_IMPLIED) return; /* the start has it, too */
  if (count == 0) {
    if (lint->is_extracted) return;
    if (lint->misses_frames) return; /* the table is missing: report it once */
    lint->misses_frames = true;
  }
  lint_find_at(lint, LINT_STACK_FRAME, id, frame_place(lint, id),
               count ? "there is no stack frame %" PRId32 ", the table has %" PRIu32
                     : "there is no stack frame %" PRId32 ", and no table of them",
               metadata->stack_frame_id, count);
}

/* ---- origins ---- */

/* Checks origin={…}, which names an original array for each array of the shape. Parentheses and
 * commas give the position of an element, as in a tuple's shape. Source: VerifyOriginalValue. */
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
