#include "ir/hash.h"

/* A table with fewer slots than SMALL_SLOTS grows fourfold, because the table of a computation's
 * names starts small. */
enum { FIRST_SLOTS = 16, SMALL_SLOTS = 1 << 16 };

static bool is_full(uint32_t num_slots, uint32_t len) {
  return len >= num_slots / 8 * 5;
}

static uint32_t place(IdTable *table, IdSlot entry) {
  uint32_t slot = entry.hash & table->mask;
  while (table->slots[slot].id != NO_ID)
    slot = (slot + 1) & table->mask;
  table->slots[slot] = entry;
  return slot;
}

/* `num_slots` of 0 means 2^32. */
static void enlarge(IdTable *table, Arena *arena, uint32_t num_slots) {
  IdTable old = *table;
  if (num_slots == 0) arena_array_bytes(arena, SIZE_MAX, 2);
  table->slots = arena_array(arena, IdSlot, num_slots);
  table->mask = num_slots - 1;
  memset(table->slots, 0xff, num_slots * sizeof *table->slots);
  if (!old.slots) return;
  for (uint32_t i = 0; i <= old.mask; i++) {
    if (old.slots[i].id != NO_ID) place(table, old.slots[i]);
  }
}

void id_table_reserve(IdTable *table, Arena *arena, uint32_t count) {
  uint32_t num_slots = table->slots ? table->mask + 1 : FIRST_SLOTS;
  while (num_slots && is_full(num_slots, count))
    num_slots *= 2;
  if (!table->slots || num_slots > table->mask + 1) enlarge(table, arena, num_slots);
}

uint32_t id_table_add(IdTable *table, Arena *arena, uint64_t hash, uint32_t id) {
  if (!table->slots) {
    enlarge(table, arena, FIRST_SLOTS);
  } else if (is_full(table->mask, table->len)) {
    uint32_t num_slots = table->mask + 1;
    enlarge(table, arena, num_slots < SMALL_SLOTS ? num_slots * 4 : num_slots * 2);
  }
  table->len++;
  return place(table, (IdSlot){.hash = (uint32_t)(hash >> 32), .id = id});
}

bool id_set_has(const IdTable *set, uint32_t id) {
  uint32_t known;
  for (IdProbe probe = id_table_probe(set, hash_mix(HASH_SEED, id));
       id_probe_next(&probe, &known);) {
    if (known == id) return true;
  }
  return false;
}

bool id_set_add(IdTable *set, Arena *arena, uint32_t id) {
  if (id_set_has(set, id)) return false;
  id_table_add(set, arena, hash_mix(HASH_SEED, id), id);
  return true;
}

void id_table_clear_slots(IdTable *table, const uint32_t *slots) {
  uint32_t count = table->len;
  for (uint32_t i = 0; i < count; i++)
    table->slots[slots[i]].id = NO_ID;
  table->len = 0;
}

void id_table_clear(IdTable *table) {
  if (table->slots) memset(table->slots, 0xff, ((size_t)table->mask + 1) * sizeof *table->slots);
  table->len = 0;
}

IdTable id_table_copy(const IdTable *table, Arena *arena) {
  IdTable copy = *table;
  if (!table->slots) return copy;
  copy.slots = arena_array(arena, IdSlot, (size_t)table->mask + 1);
  memcpy(copy.slots, table->slots, ((size_t)table->mask + 1) * sizeof *copy.slots);
  return copy;
}
