#include "tracked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *memory);

/* A set of addresses: open addressing, at most half full. */
static struct {
  void **slots;
  size_t num_slots, len; /* a power of two */
  bool is_on;
} tracked;

static size_t slot_of(const void *memory) {
  return (size_t)((uintptr_t)memory * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (tracked.num_slots - 1);
}

static void insert(void *memory) {
  size_t i = slot_of(memory);
  while (tracked.slots[i])
    i = (i + 1) & (tracked.num_slots - 1);
  tracked.slots[i] = memory;
}

static void grow(void) {
  void **old = tracked.slots;
  size_t num_old = tracked.num_slots;
  tracked.num_slots = num_old ? num_old * 2 : 1 << 12;
  tracked.slots = __real_calloc(tracked.num_slots, sizeof *tracked.slots);
  if (!tracked.slots) abort();
  for (size_t i = 0; i < num_old; i++) {
    if (old[i]) insert(old[i]);
  }
  __real_free(old);
}

static void *add(void *memory) {
  if (!tracked.is_on || !memory) return memory;
  if (tracked.len * 2 >= tracked.num_slots) grow();
  insert(memory);
  tracked.len++;
  return memory;
}

/* Those behind it move up, unless that were before the slot where they are looked for. */
static void take_out(const void *memory) {
  if (!tracked.is_on || !memory) return;
  size_t mask = tracked.num_slots - 1, gap = slot_of(memory);
  while (tracked.slots[gap] && tracked.slots[gap] != memory)
    gap = (gap + 1) & mask;
  if (!tracked.slots[gap]) return;
  for (size_t i = (gap + 1) & mask; tracked.slots[i]; i = (i + 1) & mask) {
    size_t wanted = slot_of(tracked.slots[i]);
    if (((i - wanted) & mask) < ((i - gap) & mask)) continue;
    tracked.slots[gap] = tracked.slots[i];
    gap = i;
  }
  tracked.slots[gap] = NULL;
  tracked.len--;
}

void *__wrap_malloc(size_t bytes) {
  return add(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return add(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes) {
  take_out(old);
  void *memory = __real_realloc(old, bytes);
  add(memory ? memory : old);
  return memory;
}

void __wrap_free(void *memory) {
  take_out(memory);
  __real_free(memory);
}

void tracked_begin(void) {
  if (!tracked.slots) grow();
  if (tracked.len) memset(tracked.slots, 0, tracked.num_slots * sizeof *tracked.slots);
  tracked.len = 0;
  tracked.is_on = true;
}

void tracked_end(void) {
  tracked.is_on = false;
}

void tracked_free_all(void) {
  tracked.is_on = false;
  for (size_t i = 0; i < tracked.num_slots; i++)
    __real_free(tracked.slots[i]);
  memset(tracked.slots, 0, tracked.num_slots * sizeof *tracked.slots);
  tracked.len = 0;
}
