/* The allocations that a buffer may be put into, oldest first, as the leaves of a tree, so that
 * those are not asked that certainly have no room.
 *
 * Memory that is taken stays taken, so a node that is out of date only offers too much, and it is
 * brought up to date when a search below it has failed. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_REUSABLE_H
#define REMAT_HLO_ANALYSIS_MEMORY_REUSABLE_H

#include "analysis/pack/free_time.h"
#include "ir/arena.h"

/* What a buffer needs of an allocation. */
typedef struct Wish {
  PackSpan longest; /* the longest of its live ranges */
  uint64_t sorts;   /* the bit of the allocations that it may be in */
} Wish;

/* What the allocations below a node of the tree have. */
typedef struct Offer {
  FreeTime free_time; /* when one of them is free */
  uint64_t sorts;     /* the bits of what they are */
} Offer;

/* Node n is above nodes 2n and 2n + 1. */
typedef struct Reusable {
  uint32_t *list; /* the allocations */
  Offer *offers;  /* by node; a leaf without an allocation offers nothing */
  bool *is_stale; /* by node above the leaves: something below has changed */
  uint32_t len, num_leaves;
} Reusable;

/* There is room for `room` allocations. */
Reusable reusable_init(uint32_t room, Arena *out);

/* Returns the number of the leaf. */
uint32_t reusable_add(Reusable *reusable, uint32_t allocation, const Offer *offer);

/* A leaf offers less than before. */
void reusable_set(Reusable *reusable, uint32_t leaf, const Offer *offer);

/* Returns the newest leaf before `limit` whose allocation may have room; NO_ID when there is none.
 * All from `limit` on must have been refused. */
uint32_t reusable_before(Reusable *reusable, uint32_t limit, const Wish *wish);

#endif
