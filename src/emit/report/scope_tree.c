#include "emit/report/scope_tree.h"

#include <stdlib.h>

#include "emit/report/report.h"

uint32_t scope_tree_child(ScopeTree *tree, uint32_t parent, const Str *parts, uint32_t depth) {
  Str name = parts[depth];
  uint64_t hash = hash_mix(hash_str(name), parent);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&tree->table, hash); id_probe_next(&probe, &id);) {
    const ScopeNode *node = &tree->nodes.data[id];
    if (node->parent == parent && str_equal(node->name, name)) return id;
  }
  id = tree->nodes.len;
  *vec_push(tree->scratch, &tree->nodes) =
      (ScopeNode){.path = scope_join(parts, depth + 1, tree->out),
                  .name = name,
                  .parent = parent,
                  .depth = depth};
  id_table_add(&tree->table, tree->scratch, hash, id);
  return id;
}

/* A node with the key by which siblings are sorted. */
typedef struct Sibling {
  const ScopeNode *node;
  uint32_t id;
} Sibling;

static int by_parent_then_weight(const void *pa, const void *pb) {
  const ScopeNode *a = ((const Sibling *)pa)->node, *b = ((const Sibling *)pb)->node;
  if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return str_compare(a->name, b->name);
}

uint32_t *scope_tree_preorder(const ScopeTree *tree, Arena *out) {
  uint32_t len = tree->nodes.len, depth = 0, num_ordered = 0;
  uint32_t *order = arena_array(out, uint32_t, len);
  if (len == 0) return order;
  Sibling *siblings = arena_array(tree->scratch, Sibling, len);
  /* The last element is for the roots. */
  uint32_t *first = arena_array(tree->scratch, uint32_t, (size_t)len + 1);
  uint32_t *stack = arena_array(tree->scratch, uint32_t, len);
  for (uint32_t id = 0; id < len; id++)
    siblings[id] = (Sibling){&tree->nodes.data[id], id};
  qsort(siblings, len, sizeof *siblings, by_parent_then_weight);
  memset(first, 0xff, ((size_t)len + 1) * sizeof *first);
  for (uint32_t i = len; i-- > 0;)
    first[siblings[i].node->parent == NO_ID ? len : siblings[i].node->parent] = i;
  stack[depth++] = first[len];
  while (depth) {
    uint32_t at = stack[--depth];
    order[num_ordered++] = siblings[at].id;
    bool has_next = at + 1 < len && siblings[at + 1].node->parent == siblings[at].node->parent;
    if (has_next) stack[depth++] = at + 1;
    if (first[siblings[at].id] != NO_ID) stack[depth++] = first[siblings[at].id];
  }
  return order;
}
