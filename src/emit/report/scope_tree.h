/* A tree of scopes. The name of an operation is a path, and each part of a path is a node:
 *
 *   step                    from step/block_1/dot and step/loss
 *     block_1
 *       dot
 *     loss
 *
 * Callers keep the data of a scope outside of the tree, in arrays by the id of its node. */
#ifndef REMAT_HLO_EMIT_REPORT_SCOPE_TREE_H
#define REMAT_HLO_EMIT_REPORT_SCOPE_TREE_H

#include "ir/hash.h"
#include "ir/vec.h"

typedef struct ScopeNode {
  Str path, name;
  uint32_t parent; /* NO_ID: a root */
  uint32_t depth;
  double weight; /* siblings are sorted by it */
} ScopeNode;

typedef struct ScopeTree {
  VEC(ScopeNode) nodes; /* parents come before children */
  IdTable table;        /* keys are parent and name */
  Arena *out;           /* for paths */
  Arena *scratch;       /* for everything else */
} ScopeTree;

/* Returns the node of parts[depth] below `parent`. Its path consists of parts[0] … parts[depth]. */
uint32_t scope_tree_child(ScopeTree *tree, uint32_t parent, const Str *parts, uint32_t depth);

/* Returns the ids of all nodes in preorder. Siblings are sorted by weight, the heaviest first, then
 * by name. */
uint32_t *scope_tree_preorder(const ScopeTree *tree, Arena *out);

#endif
