/* The schedule of one computation as a linked list that grows while it is walked
 * (xla/hlo/transforms/simplifiers/hlo_rematerialization_data_structures.h).
 *
 * A second, shorter list, the express lane, contains only the instructions that are large enough to
 * be candidates. Positions order the list: they increase along it. An inserted item gets the
 * position of the item that follows it, so the order of items with equal positions is known only
 * from the list. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_ITEM_LIST_H
#define REMAT_HLO_ANALYSIS_MEMORY_ITEM_LIST_H

#include "ir/schedule.h"

typedef struct RematItem {
  InstId next, prev; /* NO_ID at the ends */
  InstId next_express, prev_express;
  SchedPos position;
  bool is_placed; /* its instruction has begun */
  bool is_move;   /* a clone whose original is dead */
  bool is_express;
  bool is_stale;      /* what the index of candidates knows about it is out of date */
  IdVec defined;      /* the buffers (analysis/memory/tracker.h) that the instruction defines */
  IdVec used;         /* the buffers that it reads */
  uint32_t output;    /* the buffer of its result if that is an array; NO_ID for a tuple */
  uint32_t candidate; /* its number among the candidates for rematerialization; NO_ID = is none */
  uint32_t wide;      /* its number among the instructions with many operands, if it is one */
  uint32_t counted;   /* 1 + the last buffer that counted this instruction as a user */
} RematItem;

/* Items by InstId. One table serves all computations, whose instructions are disjoint. */
typedef struct ItemTable {
  VEC(RematItem) items;
  Arena *arena;
} ItemTable;

typedef struct ItemList {
  ItemTable *table;
  InstId first;
  InstId first_express, last_express;
} ItemList;

static inline RematItem *item_get(const ItemList *list, InstId id) {
  return &list->table->items.data[id];
}

/* The list of a sequence, with an empty express lane. */
ItemList item_list_build(ItemTable *table, Sequence sequence, uint32_t num_insts);

/* Creates an item that is in no list yet. */
void item_list_create(ItemList *list, InstId id);

/* Appends to the express lane. Must be called in the order of the list. */
void item_list_promote(ItemList *list, InstId id);

/* Inserts an item immediately before the earliest of `before`, which must not be empty. */
void item_list_insert_before(ItemList *list, InstId id, const IdVec *before);

/* The instructions in the order of the list, without removed ones. */
Sequence item_list_sequence(const ItemList *list, const Module *module, Arena *out);

#endif
