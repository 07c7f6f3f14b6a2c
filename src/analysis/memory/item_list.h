/* The schedule of one computation as a linked list that grows while it is walked
 * (xla/hlo/transforms/simplifiers/hlo_rematerialization_data_structures.h).
 *
 * A second, shorter list, the express lane, has only the instructions that are large enough to be
 * worth a look. Positions order the list: they rise along it, but an inserted item gets that of the
 * item behind it, so equal ones say nothing. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_ITEM_LIST_H
#define REMAT_HLO_ANALYSIS_MEMORY_ITEM_LIST_H

#include "ir/schedule.h"

typedef struct RematItem {
  InstId next, prev; /* NO_ID at the ends */
  InstId next_express, prev_express;
  SchedPos position;
  bool is_placed; /* its instruction has begun */
  bool is_move;   /* a clone whose original died */
  bool is_express;
  IdVec defined;    /* buffers of analysis/memory/tracker.h: that the instruction defines, */
  IdVec used;       /* that it reads, */
  uint32_t output;  /* that its result, an array, is in; NO_ID for a tuple */
  uint32_t counted; /* the buffer that counted this as a user last, + 1 */
} RematItem;

/* By InstId; one table serves all computations, whose instructions are disjoint. */
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

/* The list of a sequence; its express lane is empty. */
ItemList item_list_build(ItemTable *table, Sequence sequence, uint32_t num_insts);

/* An item that is in no list yet. */
void item_list_create(ItemList *list, InstId id);

/* Appends to the express lane; called in the order of the list. */
void item_list_promote(ItemList *list, InstId id);

/* Inserts an item immediately before the earliest of `before`, of which there is at least one. */
void item_list_insert_before(ItemList *list, InstId id, const IdVec *before);

/* The instructions in order, without removed ones. */
Sequence item_list_sequence(const ItemList *list, const Module *module, Arena *out);

#endif
