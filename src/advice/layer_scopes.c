/* Scopes with a number in their names, and which instruction of the forward part is in which. */
#include "advice/layer_finder.h"
#include "emit/report/report.h"
#include "ir/chars.h"

static bool has_number(Str part) {
  for (uint32_t i = 0; i < part.len; i++) {
    if (char_is_digit(part.data[i])) return true;
  }
  return false;
}

/* The text with `*` in place of each number. */
Str scope_starred(Str text, Arena *out) {
  char *result = arena_array(out, char, (size_t)text.len + 1);
  uint32_t len = 0;
  for (uint32_t i = 0; i < text.len; i++) {
    bool is_digit = char_is_digit(text.data[i]);
    if (is_digit && len && result[len - 1] == '*') continue;
    result[len++] = is_digit ? '*' : text.data[i];
  }
  return (Str){result, len};
}

/* The path of the scope that an instruction is in, down to the first part with a number and `below`
 * parts more. Empty if there is none. */
Str scope_numbered_path(const Module *module, InstId id, uint32_t below, Arena *out) {
  Str parts[MAX_SCOPE_DEPTH];
  Str name = inst_op_name(module, id);
  if (!str_contains(name, "/")) return (Str){0};
  uint32_t count = scope_split(name, parts), first = 0;
  while (first < count && !has_number(parts[first]))
    first++;
  uint32_t end = first + 1 + below;
  if (end >= count) return (Str){0};  /* the last part is the operation */
  uint32_t begin = first > 0 ? 1 : 0; /* the first part is the function that was compiled */
  return scope_join(parts + begin, end - begin, out);
}

/* The pattern `block_*` without its first star: what the first of several modules is called by
 * libraries that number from the second one on. */
static Str unnumbered(Str pattern, Arena *out) {
  char *text = arena_array(out, char, (size_t)pattern.len + 1);
  uint32_t len = 0;
  bool is_done = false;
  for (uint32_t i = 0; i < pattern.len; i++) {
    bool is_number =
        !is_done && i + 1 < pattern.len && pattern.data[i] == '_' && pattern.data[i + 1] == '*';
    is_done |= is_number;
    if (is_number) {
      i++;
    } else {
      text[len++] = pattern.data[i];
    }
  }
  return (Str){is_done ? text : NULL, is_done ? len : 0};
}

/* Whether an instruction is in a scope of exactly this path, behind the function that was compiled.
 */
static bool is_in_path(const Module *module, InstId id, Str path, Arena *scratch) {
  Str parts[MAX_SCOPE_DEPTH];
  Str name = inst_op_name(module, id);
  if (!path.len || !str_contains(name, "/")) return false;
  uint32_t count = scope_split(name, parts), depth = 1;
  for (uint32_t i = 0; i < path.len; i++)
    depth += path.data[i] == '/';
  return depth + 1 < count && str_equal(scope_join(parts + 1, depth, scratch), path);
}

static void add_scope(Finder *finder, uint32_t below, Str pattern) {
  const ForwardPart *forward = finder->forward;
  VEC(Str) paths = {0};
  Layers layers = {.scope = pattern,
                   .instance_of = layers_new_instances(finder),
                   .is_end = arena_zarray(finder->out, bool, forward->sequence.len)};
  Str first = unnumbered(pattern, finder->scratch);
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    InstId named = finder->named[id];
    Str path = scope_numbered_path(forward->module, named, below, finder->scratch);
    if (!finder->is_derived[id]) continue;
    if (is_in_path(forward->module, named, first, finder->scratch)) path = first;
    bool is_meant = path.len && (path.data == first.data ||
                                 str_equal(scope_starred(path, finder->scratch), pattern));
    if (!is_meant) continue;
    uint32_t number = 0;
    while (number < paths.len && !str_equal(paths.data[number], path))
      number++;
    if (number == paths.len) *vec_push(finder->scratch, &paths) = path;
    layers.instance_of[pos] = number;
  }
  layers.num_instances = paths.len;
  layers_add_nameless(finder, &layers);
  *vec_push(finder->out, &finder->found->list) = layers;
}

void layers_add_scopes(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  for (uint32_t below = 0; below <= 1; below++) {
    VEC(Str) patterns = {0};
    for (SchedPos pos = 0; pos <= forward->end && patterns.len < MAX_LAYERS; pos++) {
      InstId named = finder->named[forward->sequence.ids[pos]];
      Str path = scope_numbered_path(forward->module, named, below, finder->scratch);
      if (!path.len) continue;
      Str pattern = scope_starred(path, finder->out);
      bool is_new = true;
      for (uint32_t i = 0; i < patterns.len; i++)
        is_new &= !str_equal(patterns.data[i], pattern);
      if (!is_new) continue;
      *vec_push(finder->scratch, &patterns) = pattern;
      add_scope(finder, below, pattern);
    }
  }
}
