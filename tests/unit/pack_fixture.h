/* What tests of packing share: problems written in short, random ones, and the lowest height there
 * is, found by trying all orders. */
#ifndef REMAT_HLO_TESTS_PACK_FIXTURE_H
#define REMAT_HLO_TESTS_PACK_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "analysis/pack/packing.h"
#include "support.h"

enum { MAX_BUFFERS = 64 };

typedef struct PackFixture {
  PackBuffer buffers[MAX_BUFFERS];
  PackRange ranges[2 * MAX_BUFFERS];
  PackProblem problem;
} PackFixture;

static inline uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static inline void add_buffer(PackFixture *fixture, int64_t bytes, int64_t begin, int64_t end,
                              int64_t alignment) {
  PackProblem *problem = &fixture->problem;
  fixture->ranges[problem->num_ranges] = (PackRange){begin, end};
  fixture->buffers[problem->num_buffers++] = (PackBuffer){.bytes = bytes,
                                                          .first_bytes = bytes,
                                                          .alignment = alignment,
                                                          .first_range = problem->num_ranges++,
                                                          .num_ranges = 1};
  problem->buffers = fixture->buffers;
  problem->ranges = fixture->ranges;
}

/* Another value in the memory of the buffer that was added last. */
static inline void add_colocated(PackFixture *fixture, int64_t bytes, int64_t begin, int64_t end) {
  PackProblem *problem = &fixture->problem;
  PackBuffer *buffer = &fixture->buffers[problem->num_buffers - 1];
  fixture->ranges[problem->num_ranges++] = (PackRange){begin, end};
  buffer->num_ranges++;
  if (bytes > buffer->bytes) buffer->bytes = bytes;
}

/* What a heap is asked for, a tick a word, as XLA's HeapSimulator counts: `a10` takes, `-a` gives
 * back, `c30=a` takes the place of a. Ties are broken by the order in which letters first occur.
 * Values of one buffer must be added one after the other: first what is asked for is noted. */
static inline void read_requests(const char *text, int64_t alignment, PackFixture *fixture,
                                 char first_letters[MAX_BUFFERS]) {
  struct {
    int64_t bytes, begin, end;
    uint32_t buffer;
  } values[128] = {0};
  char letters[128] = "";
  uint32_t num_values = 0, num_buffers = 0, tick = 0;
  for (const char *word = text; *word; word += strspn(word, " "), tick++) {
    if (*word == '-') {
      values[(int)word[1]].end = tick + 1;
      word += 2;
      continue;
    }
    int letter = *word;
    char *rest;
    letters[num_values++] = (char)letter;
    values[letter].bytes = strtoll(word + 1, &rest, 10);
    values[letter].begin = tick;
    bool shares = *rest == '=';
    values[letter].buffer = shares ? values[(int)rest[1]].buffer : num_buffers;
    if (!shares) first_letters[num_buffers++] = (char)letter;
    word = rest + (shares ? 2 : 0);
  }
  for (uint32_t buffer = 0; buffer < num_buffers; buffer++) {
    for (const char *letter = letters; *letter; letter++) {
      int64_t bytes = values[(int)*letter].bytes, begin = values[(int)*letter].begin,
              end = values[(int)*letter].end;
      if (values[(int)*letter].buffer != buffer) continue;
      if (*letter == first_letters[buffer]) {
        add_buffer(fixture, bytes, begin, end, alignment);
      } else {
        add_colocated(fixture, bytes, begin, end);
      }
    }
  }
}

static inline bool live_together(const PackProblem *problem, uint32_t a, uint32_t b) {
  const PackBuffer *one = &problem->buffers[a], *other = &problem->buffers[b];
  for (uint32_t i = 0; i < one->num_ranges; i++) {
    PackRange left = problem->ranges[one->first_range + i];
    for (uint32_t k = 0; k < other->num_ranges; k++) {
      PackRange right = problem->ranges[other->first_range + k];
      if (left.begin < right.end && right.begin < left.end) return true;
    }
  }
  return false;
}

/* Fails unless the packing is one, by comparing all pairs; and the height is that of its heaps,
 * none of which is above the limit but for a buffer that is, or for what is colocated with a
 * smaller value. */
static inline void check_packing(const PackProblem *problem, const Packing *packing,
                                 const char *what) {
  uint32_t none[MAX_BUFFERS] = {0};
  const uint32_t *heaps = packing->heaps ? packing->heaps : none;
  int64_t heights[MAX_BUFFERS + 1] = {0}, largest[MAX_BUFFERS + 1] = {0}, total = 0;
  int64_t hidden[MAX_BUFFERS + 1] = {0};
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    int64_t offset = packing->offsets[i], end = offset + buffer->bytes;
    ck_assert_msg(offset >= 0 && offset % buffer->alignment == 0, "%s: %u", what, i);
    if (end > heights[heaps[i]]) heights[heaps[i]] = end;
    if (buffer->bytes > largest[heaps[i]]) largest[heaps[i]] = buffer->bytes;
    int64_t above = buffer->bytes - buffer->first_bytes;
    if (above > hidden[heaps[i]]) hidden[heaps[i]] = above;
    for (uint32_t k = 0; k < i && buffer->bytes; k++) {
      int64_t below = packing->offsets[k], top = below + problem->buffers[k].bytes;
      if (below == top || heaps[i] != heaps[k] || !live_together(problem, i, k)) continue;
      ck_assert_msg(end <= below || top <= offset, "%s: %u overlaps %u", what, i, k);
    }
  }
  for (uint32_t i = 0; i <= MAX_BUFFERS; i++) {
    int64_t limit = packing->heap_limit_bytes > largest[i] ? packing->heap_limit_bytes : largest[i];
    ck_assert_msg(!packing->heaps || heights[i] <= limit + hidden[i], "%s: heap %u", what, i);
    total += heights[i];
  }
  ck_assert_msg(total == packing->height_bytes, "%s: height", what);
}

static inline Packing run_packer(const PackProblem *problem, const char *name, int64_t capacity,
                                 uint64_t max_steps, Arena *arena) {
  PackBudget budget = {.max_steps = max_steps};
  Packing packing = {.offsets = arena_array(arena, int64_t, problem->num_buffers)};
  packer_find(name)->run(problem, capacity, &budget, &packing, arena);
  check_packing(problem, &packing, name);
  ck_assert(packing_check(problem, &packing, arena));
  return packing;
}

static inline Packing run_packer_into(const PackProblem *problem, const char *name,
                                      int64_t heap_limit_bytes, int64_t capacity,
                                      uint64_t max_steps, Arena *arena) {
  PackBudget budget = {.max_steps = max_steps};
  Packing packing = {.offsets = arena_array(arena, int64_t, problem->num_buffers),
                     .heaps = arena_array(arena, uint32_t, problem->num_buffers),
                     .heap_limit_bytes = heap_limit_bytes};
  packer_find(name)->run(problem, capacity, &budget, &packing, arena);
  check_packing(problem, &packing, name);
  ck_assert(packing_check(problem, &packing, arena));
  return packing;
}

/* The height when the buffers come in this order, each as low as it can lie. */
static inline int64_t lowest_in_order(const PackProblem *problem, const uint32_t *order) {
  int64_t offsets[MAX_BUFFERS], height = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[order[i]];
    int64_t offset = 0;
    for (uint32_t k = 0; k < i; k++) { /* again from the beginning after each move */
      int64_t below = offsets[order[k]], top = below + problem->buffers[order[k]].bytes;
      if (!live_together(problem, order[i], order[k])) continue;
      if (offset + buffer->bytes <= below || top <= offset) continue;
      offset = align_up(top, buffer->alignment);
      k = UINT32_MAX;
    }
    offsets[order[i]] = offset;
    if (offset + buffer->bytes > height) height = offset + buffer->bytes;
  }
  return height;
}

/* Over all orders: in that of the offsets of a lowest packing, no buffer lies higher than there. */
static inline int64_t lowest_height(const PackProblem *problem) {
  uint32_t order[MAX_BUFFERS], count[MAX_BUFFERS] = {0};
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    order[i] = i;
  int64_t best = lowest_in_order(problem, order);
  for (uint32_t i = 0; i < problem->num_buffers;) { /* Heap's permutations */
    if (count[i] == i) {
      count[i++] = 0;
      continue;
    }
    uint32_t with = i % 2 ? count[i] : 0, swapped = order[with];
    order[with] = order[i];
    order[i] = swapped;
    count[i]++;
    i = 0;
    int64_t height = lowest_in_order(problem, order);
    if (height < best) best = height;
  }
  return best;
}

#endif
