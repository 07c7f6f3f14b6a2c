#include "ir/library_files.h"

#include <string.h>

#include "ir/expression.h"

/* ---- without rules ---- */

static bool is_one_of(Str folder, const char *const *names) {
  for (; *names; names++) {
    if (str_equal(folder, str_make(*names, strlen(*names)))) return true;
  }
  return false;
}

/* Both separators count, because programs may have been traced on any system. */
static bool is_separator(char c) {
  return c == '/' || c == '\\';
}

bool library_file_by_name(Str file) {
  static const char *const folders[] = {"site-packages", "dist-packages", "flax",
                                        "optax",         "jax",           "jaxlib",
                                        "keras",         "tensorflow",    NULL};
  static const char *const python[] = {"lib", "lib64", "Lib", NULL};
  bool is_in_lib = false;
  if (str_begins_with(file, "<frozen ")) return true;
  for (uint32_t begin = 0, end = 0; end < file.len; end++) {
    if (!is_separator(file.data[end])) continue;
    Str folder = {file.data + begin, end - begin};
    if (folder.len && is_one_of(folder, folders)) return true;
    if (is_in_lib && str_begins_with(folder, "python")) return true;
    if (folder.len) is_in_lib = is_one_of(folder, python);
    begin = end + 1;
  }
  return false;
}

/* ---- rules ---- */

typedef struct Rule {
  const regex_t *expression;
  bool is_library;
} Rule;

typedef VEC(Rule) Rules;

static rh_status parse_rules(const char *text, Rules *rules, rh_diags *diags, Arena *arena) {
  rh_status status = RH_OK;
  for (const char *line = text; status == RH_OK && line && *line;) {
    size_t len = strcspn(line, "\n");
    bool is_library = *line != '!';
    const char *begin = is_library ? line : line + 1;
    Rule rule = {.is_library = is_library};
    size_t rest = len - (size_t)(begin - line);
    if (rest) {
      status = expression_new(arena_strndup(arena, begin, rest), &rule.expression, diags, arena);
      if (status == RH_OK) *vec_push(arena, rules) = rule;
    }
    line += line[len] ? len + 1 : len;
  }
  return status;
}

static bool judge(Str file, const Rules *rules, Arena *arena) {
  for (uint32_t i = rules->len; i-- > 0;) {
    if (expression_matches(rules->data[i].expression, file, arena))
      return rules->data[i].is_library;
  }
  return library_file_by_name(file);
}

rh_status library_files_find(const ModuleSource *source, const char *rules, const bool **is_library,
                             rh_diags *diags, Arena *out) {
  uint32_t num_files = source ? source->file_names.len : 0;
  bool *flags = num_files ? arena_array(out, bool, num_files) : NULL;
  ArenaMark mark = arena_mark(out);
  Rules parsed = {0};
  rh_status status = parse_rules(rules, &parsed, diags, out);
  for (uint32_t i = 0; i < num_files && status == RH_OK; i++) {
    Span name = source->file_names.data[i];
    flags[i] = judge((Str){source->text + name.begin, name.end - name.begin}, &parsed, out);
  }
  arena_reset(out, mark);
  *is_library = status == RH_OK ? flags : NULL;
  return status;
}
