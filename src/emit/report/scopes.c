/* Arranges the live set as a tree of scopes: the names of operations are paths,
 * `jit(step)/block_1/dot_general`. Transformations put words around a part,
 * `transpose(jvp(block_1))`, or around nothing, `jvp()`. They are removed, so the forward and the
 * backward pass of a layer are in the same scope. */
#include "emit/report/report.h"
#include "emit/report/scope_tree.h"
#include "ir/chars.h"
#include "ir/hash.h"
#include "ir/pointers.h"

/* ---- names ---- */

static bool is_word(char c) {
  return char_is_letter(c) || char_is_digit(c) || c == '_';
}

/* Returns the length of the part before the first `/` that is not in brackets. */
static uint32_t first_part(Str path) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < path.len; i++) {
    char c = path.data[i];
    if (c == '/' && depth == 0) return i;
    depth += c == '(' || c == '[';
    if ((c == ')' || c == ']') && depth) depth--;
  }
  return path.len;
}

/* Replaces `word(…)` by the text in the brackets. Returns false if the part has another form. */
static bool unwrap(Str *part) {
  uint32_t open = 0, depth = 0;
  while (open < part->len && is_word(part->data[open]))
    open++;
  if (open == 0 || open == part->len || part->data[open] != '(') return false;
  for (uint32_t i = open; i < part->len; i++) {
    depth += part->data[i] == '(';
    if (part->data[i] == ')' && --depth == 0) {
      if (i + 1 != part->len) return false;
      *part = (Str){part->data + open + 1, i - open - 1};
      return true;
    }
  }
  return false;
}

/* Splits `params['w'][0]` at its indices. Any other name is one part. */
static uint32_t split_argument(Str name, Str parts[MAX_SCOPE_DEPTH]) {
  uint32_t num_parts = 0, begin = 0;
  for (uint32_t i = 1; i <= name.len && num_parts < MAX_SCOPE_DEPTH; i++) {
    if (i < name.len && name.data[i] != '[') continue;
    parts[num_parts++] = (Str){name.data + begin, i - begin};
    begin = i;
  }
  return num_parts;
}

uint32_t scope_split(Str op_name, Str parts[MAX_SCOPE_DEPTH]) {
  enum { MAX_WRAPPERS = 16 };
  Str inner = op_name;
  if (first_part(op_name) == op_name.len && !unwrap(&inner)) return split_argument(op_name, parts);
  uint32_t num_parts = 0, num_pending = 0;
  Str pending[MAX_WRAPPERS + 1]; /* the text after the part that is being unwrapped */
  pending[num_pending++] = op_name;
  while (num_pending && num_parts < MAX_SCOPE_DEPTH) {
    Str *rest = &pending[num_pending - 1];
    if (rest->len == 0) {
      num_pending--;
      continue;
    }
    uint32_t len = first_part(*rest);
    Str part = {rest->data, len};
    uint32_t skip = len < rest->len ? len + 1 : len;
    *rest = (Str){rest->data + skip, rest->len - skip};
    if (num_pending <= MAX_WRAPPERS && unwrap(&part)) {
      pending[num_pending++] = part;
    } else if (part.len) {
      parts[num_parts++] = part;
    }
  }
  return num_parts;
}

uint32_t scope_of_value(const rh_live_value *value, Str parts[MAX_SCOPE_DEPTH]) {
  Str name = str_make(value->op_name.data, value->op_name.length);
  Str opcode = str_make(value->opcode.data, value->opcode.length);
  uint32_t num_parts = name.len ? scope_split(name, parts) : 0;
  if (num_parts) return num_parts;
  parts[0] = STR("(no op_name)");
  parts[1] = opcode;
  return 2;
}

Str scope_join(const Str *parts, uint32_t num_parts, Arena *out) {
  uint32_t len = 0;
  for (uint32_t i = 0; i < num_parts; i++)
    len += parts[i].len + 1;
  char *text = arena_array(out, char, len);
  len = 0;
  for (uint32_t i = 0; i < num_parts; i++) {
    if (i && parts[i].data[0] != '[') text[len++] = '/';
    memcpy(text + len, parts[i].data, parts[i].len);
    len += parts[i].len;
  }
  return (Str){text, len};
}

/* ---- operations ---- */

Operations report_operations(const rh_report *report, Arena *out) {
  Operations operations = {0};
  IdTable table = {0};
  VEC(const char *) keys = {0}; /* by operation: the data pointer of its name */
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    const char *key = value->op_name.length ? value->op_name.data : value->opcode.data;
    uint64_t hash = hash_mix(HASH_SEED, (uintptr_t)key);
    uint32_t id = NO_ID;
    IdProbe probe = id_table_probe(&table, hash);
    while (id_probe_next(&probe, &id) && keys.data[id] != key) {}
    if (id == NO_ID || keys.data[id] != key) {
      id = keys.len;
      *vec_push(out, &keys) = key;
      *vec_push(out, &operations) = (Operation){.value = value};
      id_table_add(&table, out, hash, id);
    }
    operations.data[id].bytes += value->bytes;
    operations.data[id].num_values++;
  }
  return operations;
}

/* ---- the tree ---- */

typedef struct Scopes {
  ScopeTree tree;
  VEC(uint64_t) num_values; /* by node */
  VEC(int64_t) bytes;       /* by node */
} Scopes;

static void add_operation(Scopes *scopes, const Operation *operation) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = scope_of_value(operation->value, parts), id = NO_ID;
  for (uint32_t depth = 0; depth < num_parts; depth++) {
    id = scope_tree_child(&scopes->tree, id, parts, depth);
    if (id == scopes->bytes.len) {
      *vec_push(scopes->tree.scratch, &scopes->bytes) = 0;
      *vec_push(scopes->tree.scratch, &scopes->num_values) = 0;
    }
    scopes->bytes.data[id] += operation->bytes;
    scopes->num_values.data[id] += operation->num_values;
    scopes->tree.nodes.data[id].weight = (double)scopes->bytes.data[id];
  }
}

void report_scopes(rh_report *report, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Scopes scopes = {.tree = {.out = out, .scratch = scratch}};
  Operations operations = report_operations(report, scratch);
  for (uint32_t i = 0; i < operations.len; i++)
    add_operation(&scopes, &operations.data[i]);
  uint32_t len = scopes.tree.nodes.len;
  rh_scope *list = arena_array(out, rh_scope, len);
  const uint32_t *order = scope_tree_preorder(&scopes.tree, scratch);
  for (uint32_t i = 0; i < len; i++) {
    const ScopeNode *node = &scopes.tree.nodes.data[order[i]];
    list[i] = (rh_scope){.path = {node->path.data, node->path.len},
                         .name = {node->name.data, node->name.len},
                         .depth = node->depth,
                         .bytes = scopes.bytes.data[order[i]],
                         .num_values = scopes.num_values.data[order[i]]};
  }
  report->scopes = pointers_to(list, len, sizeof *list, out);
  report->num_scopes = len;
  arena_reset(scratch, mark);
}
