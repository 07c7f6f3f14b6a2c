/* Hash functions, and the only hash table of the program. The table maps a hash to ids; the caller
 * compares the keys:
 *
 *     for (IdProbe p = id_table_probe(&table, hash); id_probe_next(&p, &id);)
 *       if (key_of(id) is the one) return id;
 *
 * The table holds no keys, so the same type serves names, shapes and value numbers. No function
 * iterates over the table, so results never depend on its order. */
#ifndef REMAT_HLO_IR_HASH_H
#define REMAT_HLO_IR_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ir/arena.h"
#include "ir/ids.h"

#define HASH_SEED UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  __uint128_t product = (__uint128_t)(hash ^ value) * UINT64_C(0xD6E8FEB86659FD93);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes eight bytes at a time. It never reads beyond `len`. */
static inline uint64_t hash_bytes(uint64_t hash, const char *data, size_t len) {
  uint64_t word;
  hash ^= len;
  for (; len >= 8; data += 8, len -= 8) {
    memcpy(&word, data, 8);
    hash = hash_mix(hash, word);
  }
  if (len >= 4) { /* two overlapping halves */
    uint32_t head, tail;
    memcpy(&head, data, 4);
    memcpy(&tail, data + len - 4, 4);
    return hash_mix(hash, (uint64_t)head << 32 | tail);
  }
  if (len > 0) {
    word = (uint64_t)(unsigned char)data[0] << 16 | (uint64_t)(unsigned char)data[len / 2] << 8 |
           (uint64_t)(unsigned char)data[len - 1];
    return hash_mix(hash, word);
  }
  return hash_mix(hash, 1);
}

static inline uint64_t hash_str(Str text) {
  return hash_bytes(HASH_SEED, text.data, text.len);
}

/* Hashes a name. Names that differ only in their last character, as numbered ones do, get
 * neighbouring slots in an IdTable: when one has been looked up, the others are in the caches. In a
 * module of a million instructions, most of the time of a lookup is the wait for its slot. */
static inline uint64_t hash_name(uint64_t hash, Str name) {
  enum { LAST_BITS = 4, FIRST_SLOT_BIT = 32 }; /* see id_table_probe */
  if (name.len == 0) return hash;
  unsigned char last = (unsigned char)name.data[name.len - 1];
  hash = hash_bytes(hash + (last >> LAST_BITS), name.data, name.len - 1);
  const uint64_t mask = ((UINT64_C(1) << LAST_BITS) - 1) << FIRST_SLOT_BIT;
  return (hash & ~mask) | ((uint64_t)last << FIRST_SLOT_BIT & mask);
}

typedef struct IdSlot {
  uint32_t hash;
  uint32_t id; /* NO_ID = free */
} IdSlot;

typedef struct IdTable {
  /* A power of two of them, at most five eighths in use, so that collision chains are short and
   * the processor predicts their length. */
  IdSlot *slots;
  uint32_t mask;
  uint32_t len;
} IdTable;

typedef struct IdProbe {
  const IdTable *table;
  uint32_t hash;
  uint32_t slot;
} IdProbe;

static inline IdProbe id_table_probe(const IdTable *table, uint64_t hash) {
  uint32_t folded = (uint32_t)(hash >> 32);
  return (IdProbe){.table = table, .hash = folded, .slot = folded};
}

/* Fetches the first slot of a hash into the caches. Where the table is larger than they are, a
 * lookup that was announced some others before waits less. */
static inline void id_table_prefetch(const IdTable *table, uint64_t hash) {
  if (table->slots) __builtin_prefetch(&table->slots[(uint32_t)(hash >> 32) & table->mask]);
}

/* Finds the next id that was added under this hash. Returns false if there are no more. */
static inline bool id_probe_next(IdProbe *probe, uint32_t *id) {
  const IdTable *table = probe->table;
  if (!table->slots) return false;
  for (;;) {
    const IdSlot *slot = &table->slots[probe->slot++ & table->mask];
    if (slot->id == NO_ID) return false;
    if (slot->hash == probe->hash) {
      *id = slot->id;
      return true;
    }
  }
}

/* Makes room for `count` ids in total. */
void id_table_reserve(IdTable *table, Arena *arena, uint32_t count);

/* Adds an id. Returns its slot, which is valid until the table grows. */
uint32_t id_table_add(IdTable *table, Arena *arena, uint64_t hash, uint32_t id);

/* An IdTable that is used as a set of ids. Nothing else may be added to it. id_set_add() returns
 * false if the set already holds the id. */
bool id_set_has(const IdTable *set, uint32_t id);
bool id_set_add(IdTable *set, Arena *arena, uint32_t id);

/* Removes all ids and keeps the slots. */
void id_table_clear(IdTable *table);

/* Removes all ids when few slots are used: `slots` are the slots of all ids. */
void id_table_clear_slots(IdTable *table, const uint32_t *slots);

/* Returns a copy whose slots are in `arena`. */
IdTable id_table_copy(const IdTable *table, Arena *arena);

#endif
