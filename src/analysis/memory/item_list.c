#include "analysis/memory/item_list.h"

#include <assert.h>

static RematItem *item_at(ItemTable *table, InstId id) {
  if (id >= table->items.len) {
    uint32_t missing = id + 1 - table->items.len;
    RematItem *room = vec_extend(table->arena, &table->items, missing);
    memset(room, 0, missing * sizeof *room);
  }
  return &table->items.data[id];
}

static const RematItem new_item = {.next = NO_ID,
                                   .prev = NO_ID,
                                   .next_express = NO_ID,
                                   .prev_express = NO_ID,
                                   .output = NO_ID,
                                   .candidate = NO_ID};

ItemList item_list_build(ItemTable *table, Sequence sequence, uint32_t num_insts) {
  ItemList list = {.table = table, .first = NO_ID, .first_express = NO_ID, .last_express = NO_ID};
  if (num_insts) item_at(table, num_insts - 1);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    RematItem *item = item_at(table, sequence.ids[pos]);
    *item = new_item;
    item->position = pos;
    item->prev = pos ? sequence.ids[pos - 1] : NO_ID;
    item->next = pos + 1 < sequence.len ? sequence.ids[pos + 1] : NO_ID;
  }
  if (sequence.len) list.first = sequence.ids[0];
  return list;
}

void item_list_create(ItemList *list, InstId id) {
  *item_at(list->table, id) = new_item;
}

void item_list_promote(ItemList *list, InstId id) {
  RematItem *item = item_get(list, id);
  item->is_express = true;
  item->prev_express = list->last_express;
  if (list->last_express == NO_ID) {
    list->first_express = id;
  } else {
    item_get(list, list->last_express)->next_express = id;
  }
  list->last_express = id;
}

static bool contains(const IdVec *ids, InstId id) {
  for (uint32_t i = 0; i < ids->len; i++) {
    if (ids->data[i] == id) return true;
  }
  return false;
}

/* XLA's InsertBefore. Where no express item follows, XLA does not link the last express item to the
 * new one, so later picks do not find the new one. Results depend on this, so it is the same
 * here. */
static void insert_before(ItemList *list, InstId id, InstId before) {
  RematItem *item = item_get(list, id);
  item->is_express = true;
  InstId cursor = before;
  while (cursor != NO_ID && !item_get(list, cursor)->is_express) {
    cursor = item_get(list, cursor)->next;
  }
  if (cursor == NO_ID) {
    item->prev_express = list->last_express;
    list->last_express = id;
  } else {
    item->prev_express = item_get(list, cursor)->prev_express;
    if (item->prev_express != NO_ID) item_get(list, item->prev_express)->next_express = id;
    item->next_express = cursor;
    item_get(list, cursor)->prev_express = id;
  }
  if (list->first_express == cursor) list->first_express = id;

  RematItem *next = item_get(list, before);
  item->prev = next->prev;
  item->next = before;
  item->position = next->position;
  if (item->prev == NO_ID) {
    list->first = id;
  } else {
    item_get(list, item->prev)->next = id;
  }
  next->prev = id;
}

void item_list_insert_before(ItemList *list, InstId id, const IdVec *before) {
  assert(before->len > 0 && "a clone has a user to stand before");
  InstId earliest = before->data[0];
  for (uint32_t i = 1; i < before->len; i++) {
    InstId other = before->data[i];
    if (item_get(list, other)->position < item_get(list, earliest)->position) earliest = other;
  }
  /* Other items of the list may have the same position. Search from the first of them. */
  for (;;) {
    const RematItem *item = item_get(list, earliest);
    if (item->prev == NO_ID || item_get(list, item->prev)->position != item->position) break;
    earliest = item->prev;
  }
  while (!contains(before, earliest))
    earliest = item_get(list, earliest)->next;
  insert_before(list, id, earliest);
}

Sequence item_list_sequence(const ItemList *list, const Module *module, Arena *out) {
  uint32_t len = 0;
  for (InstId id = list->first; id != NO_ID; id = item_get(list, id)->next)
    len++;
  Sequence sequence = {.ids = arena_array(out, InstId, len)};
  for (InstId id = list->first; id != NO_ID; id = item_get(list, id)->next) {
    if (!(inst_get(module, id)->flags & INST_DEAD)) sequence.ids[sequence.len++] = id;
  }
  return sequence;
}
