/* Labels of values. XLA calls most values by what it did with them (`ynn_fusion.113`), so that
 * metadata says more about the program. */
#include "emit/label.h"

#include "ir/chars.h"
#include "ir/opcode.h"

/* Words in the names that XLA gives to what it made. */
static const char *const xla_words[] = {
    "arg",      "base",       "body",    "clone",   "command",    "computation", "cond",
    "cublas",   "cuda",       "cudnn",   "dilated", "duplicated", "fused",       "fusion",
    "gemm",     "horizontal", "inlined", "input",   "kernel",     "kind",        "kloop",
    "loop",     "main",       "onednn",  "output",  "p",          "param",       "parallel",
    "priority", "region",     "remat",   "sunk",    "triton",     "wrapped",     "ynn"};

/* Parts of an op_name that JAX adds for what it does, not for what the program says. */
static const char *const jax_parts[] = {"while",       "body",       "cond",
                                        "scan",        "checkpoint", "rematted_computation",
                                        "closed_call", "remat",      "remat2",
                                        "pjit",        "core_call",  "custom_jvp_call",
                                        "shard_map",   "vmap",       "custom_vjp_call",
                                        "eval_jaxpr"};

static bool is_word(rh_text text, const char *word) {
  return strlen(word) == text.length && memcmp(text.data, word, text.length) == 0;
}

static bool is_separator(char c) {
  return c == '_' || c == '-' || c == '.';
}

/* Takes the next word from `rest`; returns false after the last one. */
static bool next_word(rh_text *rest, rh_text *word) {
  while (rest->length > 0 && is_separator(*rest->data)) {
    rest->data++;
    rest->length--;
  }
  size_t length = 0;
  while (length < rest->length && !is_separator(rest->data[length]))
    length++;
  *word = (rh_text){rest->data, length};
  rest->data += length;
  rest->length -= length;
  return length > 0;
}

/* Returns `remat` for `remat2`, and nothing for a number. */
static rh_text without_number(rh_text word) {
  while (word.length > 0 && word.data[word.length - 1] >= '0' && word.data[word.length - 1] <= '9')
    word.length--;
  return word;
}

static bool has_word(rh_text text, rh_text wanted) {
  rh_text word;
  while (next_word(&text, &word)) {
    if (word.length == wanted.length && memcmp(word.data, wanted.data, word.length) == 0)
      return true;
  }
  return false;
}

static bool is_word_of_opcode(rh_text word) {
  for (int opcode = 0; opcode < NUM_OPCODES; opcode++) {
    const char *text = opcode_text((Opcode)opcode);
    if (has_word((rh_text){text, strlen(text)}, word)) return true;
  }
  return false;
}

static bool is_xla_word(rh_text word) {
  for (size_t i = 0; i < sizeof xla_words / sizeof *xla_words; i++) {
    if (is_word(word, xla_words[i])) return true;
  }
  return false;
}

/* ---- parts of an op_name ---- */

/* Takes the last part from `path`, at a slash that is in no brackets: one of `jvp(a/b)` is not. */
static rh_text last_part(rh_text *path) {
  size_t begin = path->length;
  int depth = 0;
  for (; begin > 0; begin--) {
    char c = path->data[begin - 1];
    depth += (c == ')' || c == ']') - (c == '(' || c == '[');
    if (c == '/' && depth <= 0) break;
  }
  rh_text part = {path->data + begin, path->length - begin};
  path->length = begin ? begin - 1 : 0;
  return part;
}

/* Returns what is in the innermost brackets of `transpose(jvp(block))`, or the part itself. */
static rh_text without_transformations(rh_text part) {
  while (part.length > 0 && part.data[part.length - 1] == ')') {
    const char *open = memchr(part.data, '(', part.length);
    if (!open) break;
    size_t skipped = (size_t)(open - part.data) + 1;
    part.data += skipped;
    part.length -= skipped + 1;
  }
  return part;
}

static bool is_jax_part(rh_text part) {
  for (size_t i = 0; i < sizeof jax_parts / sizeof *jax_parts; i++) {
    if (is_word(part, jax_parts[i])) return true;
  }
  return part.length == 0;
}

/* Returns the innermost scope of a path without its operation. The first part is the whole program,
 * which says nothing; the result is empty if there is no other scope. */
static rh_text innermost_scope(rh_text path) {
  while (path.length > 0) {
    rh_text part = without_transformations(last_part(&path));
    if (path.length > 0 && !is_jax_part(part)) return part;
  }
  return (rh_text){"", 0};
}

bool value_name_is_generic(const rh_live_value *value) {
  rh_text rest = value->name, path = value->op_name, word;
  rh_text operation = last_part(&path);
  const char *part = rest.length ? memchr(rest.data, '{', rest.length) : NULL;
  if (part) rest.length = (size_t)(part - rest.data);
  while (next_word(&rest, &word)) {
    rh_text stem = without_number(word);
    if (stem.length == 0 || is_xla_word(stem) || has_word(operation, word)) continue;
    if (!is_word_of_opcode(stem)) return false;
  }
  return true;
}

/* ---- the label ---- */

static rh_text join(rh_text first, const char *between, rh_text second, Arena *out) {
  size_t length = strlen(between);
  char *text = arena_array(out, char, first.length + length + second.length + 1);
  memcpy(text, first.data, first.length);
  memcpy(text + first.length, between, length);
  memcpy(text + first.length + length, second.data, second.length);
  return (rh_text){text, first.length + length + second.length};
}

static rh_text source_position(const rh_live_value *value, Arena *out) {
  rh_text file = value->source_file;
  for (size_t i = file.length; i-- > 0;) {
    if (file.data[i] != '/') continue;
    file = (rh_text){file.data + i + 1, file.length - i - 1};
    break;
  }
  if (value->source_line <= 0) return file;
  char room[DECIMAL_CHARS];
  Str line = decimal_text(value->source_line, room);
  return join(file, ":", (rh_text){line.data, line.len}, out);
}

rh_text value_label(const rh_live_value *value, Arena *out) {
  bool is_argument = is_word(value->opcode, "parameter");
  if (value->argument.length) {
    return is_argument ? value->argument : join(value->opcode, " ", value->argument, out);
  }
  if (is_argument) return value->name; /* its metadata is that of what reads it */
  if (!value_name_is_generic(value)) return value->name;
  rh_text path = value->op_name;
  rh_text operation = without_transformations(last_part(&path));
  rh_text scope = innermost_scope(path);
  if (operation.length && scope.length) return join(scope, "/", operation, out);
  rh_text position = value->source_file.length ? source_position(value, out) : (rh_text){"", 0};
  if (!operation.length) return position.length ? position : value->name;
  return position.length ? join(operation, " ", position, out) : operation;
}

static const char *last_slash(rh_text label) {
  for (size_t i = label.length; i-- > 0;) {
    if (label.data[i] == '/') return label.data + i;
  }
  return NULL;
}

/* Returns the bracket of this number, from 1 on, that begins after the first character. */
static const char *find_bracket(rh_text label, uint32_t number) {
  for (size_t i = 1; i < label.length; i++) {
    if (label.data[i] == '[' && --number == 0) return label.data + i;
  }
  return NULL;
}

bool value_label_form(rh_text label, uint32_t number, Arena *out, rh_text *form) {
  *form = label;
  if (number == 0) return true;
  const char *end = label.data + label.length, *at;
  if (label.length && memchr(label.data, '[', label.length)) {
    at = find_bracket(label, number);
    if (!at) return false;
    *form = join((rh_text){"", 0}, "…", (rh_text){at, (size_t)(end - at)}, out);
    return true;
  }
  if (number > 1) return false;
  at = last_slash(label);
  if (at) *form = (rh_text){at + 1, (size_t)(end - at) - 1};
  if (at || label.length == 0) return at != NULL;
  at = memchr(label.data, ' ', label.length);
  if (at) *form = (rh_text){label.data, (size_t)(at - label.data)};
  return at != NULL;
}
