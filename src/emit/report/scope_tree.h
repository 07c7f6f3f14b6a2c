/* Scopes as a tree: names of operations are paths, and each of their parts is a node. What is known
 * of a scope is kept beside the tree, by the id of its node. */
#ifndef REMAT_HLO_EMIT_REPORT_SCOPE_TREE_H
#define REMAT_HLO_EMIT_REPORT_SCOPE_TREE_H

#include "ir/hash.h"
#include "ir/vec.h"

typedef struct ScopeNode {
  Str path, name;
  uint32_t parent; /* NO_ID: at the top */
  uint32_t depth;
  double weight; /* what siblings are sorted by */
} ScopeNode;

typedef struct ScopeTree {
  VEC(ScopeNode) nodes; /* parents before children */
  IdTable table;        /* by parent and name */
  Arena *out;           /* for paths */
  Arena *scratch;       /* for all else */
} ScopeTree;

/* The node of parts[depth] below `parent`; the nodes for parts[0] to there are its path. */
uint32_t scope_tree_child(ScopeTree *tree, uint32_t parent, const Str *parts, uint32_t depth);

/* The ids of all nodes in preorder; siblings by weight, the heaviest first, then by name. */
uint32_t *scope_tree_preorder(const ScopeTree *tree, Arena *out);

#endif
