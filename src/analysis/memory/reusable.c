#include "analysis/memory/reusable.h"

#include "ir/ids.h"

Reusable reusable_init(uint32_t room, Arena *out) {
  Reusable reusable = {.list = arena_array(out, uint32_t, room), .num_leaves = 1};
  while (reusable.num_leaves < room)
    reusable.num_leaves *= 2;
  reusable.offers = arena_zarray(out, Offer, 2 * (size_t)reusable.num_leaves);
  reusable.is_stale = arena_zarray(out, bool, reusable.num_leaves);
  return reusable;
}

static bool may_grant(const Offer *offer, const Wish *wish) {
  return (offer->sorts & wish->sorts) && free_time_may_hold(&offer->free_time, wish->longest);
}

static void bring_up_to_date(Reusable *reusable, uint32_t node) {
  const Offer *a = &reusable->offers[2 * node], *b = &reusable->offers[2 * node + 1];
  Offer *offer = &reusable->offers[node];
  FreeTime joined = free_time_join(&a->free_time, &b->free_time);
  bool is_same = free_time_equal(&joined, &offer->free_time);
  *offer = (Offer){joined, a->sorts | b->sorts};
  reusable->is_stale[node] = false;
  if (!is_same) reusable->is_stale[node / 2] = true;
}

uint32_t reusable_add(Reusable *reusable, uint32_t allocation, const Offer *offer) {
  uint32_t leaf = reusable->len++, node = reusable->num_leaves + leaf;
  reusable->list[leaf] = allocation;
  reusable->offers[node] = *offer;
  for (node /= 2; node; node /= 2)
    bring_up_to_date(reusable, node);
  return leaf;
}

void reusable_set(Reusable *reusable, uint32_t leaf, const Offer *offer) {
  uint32_t node = reusable->num_leaves + leaf;
  reusable->offers[node] = *offer;
  for (node /= 2; node; node /= 2)
    reusable->is_stale[node] = true;
}

/* A node whose leaves have all been passed has offered too much. */
uint32_t reusable_before(Reusable *reusable, uint32_t limit, const Wish *wish) {
  for (uint32_t node = reusable->num_leaves + limit;;) {
    for (; node % 2 == 0; node /= 2) {
      if (reusable->is_stale[node / 2] && may_grant(&reusable->offers[node / 2], wish))
        bring_up_to_date(reusable, node / 2);
    }
    if (node == 1) return NO_ID;
    for (node--;; node = 2 * node + 1) {
      if (!may_grant(&reusable->offers[node], wish)) break;
      if (node >= reusable->num_leaves) return node - reusable->num_leaves;
    }
  }
}
