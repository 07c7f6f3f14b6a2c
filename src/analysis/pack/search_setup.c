/* Sets up a search for one part of time, and the orders in which its runs try the buffers. */
#include <stdlib.h>

#include "analysis/pack/search_internal.h"

/* Removes the buffer from the buffers that are left, or, with a sign of -1, puts it back. */
void pack_search_count(PackSearch *search, uint32_t buffer, int sign) {
  for (uint32_t k = search->first_span[buffer]; k < search->first_span[buffer + 1]; k++) {
    for (uint32_t s = search->spans[k].begin; s < search->spans[k].end; s++) {
      search->left_bytes[s] -= sign * search->bytes[buffer];
      search->num_left[s] -= (uint32_t)sign;
    }
  }
  uint32_t begin = hull_begin(search, buffer), end = hull_end(search, buffer);
  for (uint32_t s = begin + 1; s < end; s++)
    search->num_across[s] -= (uint32_t)sign;
  search->left_keys[begin] ^= search->key[buffer];
  search->is_placed[buffer] = sign > 0;
}

static void take_spans(PackSearch *search, const PackSections *sections, PackSpan part) {
  uint32_t num_spans = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (!pack_is_in_part(sections, i, part)) continue;
    search->num_buffers++;
    num_spans += sections->first_span[i + 1] - sections->first_span[i];
  }
  search->ids = arena_array(search->arena, uint32_t, search->num_buffers);
  search->spans = arena_array(search->arena, PackSpan, num_spans);
  search->first_span = arena_array(search->arena, uint32_t, (size_t)search->num_buffers + 1);
  uint32_t buffer = 0, span = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (!pack_is_in_part(sections, i, part)) continue;
    search->ids[buffer] = i;
    search->first_span[buffer++] = span;
    for (uint32_t k = sections->first_span[i]; k < sections->first_span[i + 1]; k++) {
      PackSpan whole = sections->spans[k];
      search->spans[span++] = (PackSpan){whole.begin - part.begin, whole.end - part.begin};
    }
  }
  search->first_span[buffer] = span;
  search->has_colocated = num_spans > search->num_buffers;
}

static void take_buffers(PackSearch *search, const PackProblem *problem) {
  uint32_t count = search->num_buffers;
  search->bytes = arena_array(search->arena, int64_t, count);
  search->true_bytes = arena_array(search->arena, int64_t, count);
  search->alignment = arena_array(search->arena, int64_t, count);
  search->low = arena_zarray(search->arena, int64_t, count);
  search->offset = arena_zarray(search->arena, int64_t, count);
  search->rank = arena_array(search->arena, uint32_t, count);
  search->key = arena_array(search->arena, uint64_t, count);
  search->is_placed = arena_zarray(search->arena, bool, count);
  for (uint32_t i = 0; i < count; i++) {
    const PackBuffer *buffer = &problem->buffers[search->ids[i]];
    search->bytes[i] = search->true_bytes[i] = buffer->bytes;
    search->alignment[i] = buffer->alignment;
    search->key[i] = hash_mix(HASH_SEED, i + 1);
    search->has_mixed_alignment |= buffer->alignment != search->alignment[0];
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!search->has_mixed_alignment) {
      search->bytes[i] = align_up(search->bytes[i], search->alignment[i]);
    }
    int64_t added = search->bytes[i] - search->true_bytes[i];
    if (added > search->padding) search->padding = added;
    search->unit = common_divisor(search->unit, search->bytes[i]);
  }
  if (search->has_mixed_alignment) search->unit = 1;
}

static void take_ticks(PackSearch *search, const PackProblem *problem) {
  uint64_t longest = 0;
  search->ticks = arena_zarray(search->arena, uint64_t, search->num_buffers);
  for (uint32_t i = 0; i < search->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[search->ids[i]];
    for (uint32_t k = 0; k < buffer->num_ranges; k++) {
      const PackRange *range = &problem->ranges[buffer->first_range + k];
      search->ticks[i] += ((uint64_t)range->end - (uint64_t)range->begin) / buffer->num_ranges;
    }
    if (search->ticks[i] > longest) longest = search->ticks[i];
  }
  for (; longest >> 40; longest /= 2) {
    for (uint32_t i = 0; i < search->num_buffers; i++)
      search->ticks[i] /= 2;
  }
}

static void take_sections(PackSearch *search) {
  uint32_t count = search->num_sections;
  search->first_member = arena_zarray(search->arena, uint32_t, (size_t)count + 2);
  search->floor = arena_zarray(search->arena, int64_t, count);
  search->left_bytes = arena_zarray(search->arena, int64_t, count);
  search->num_left = arena_zarray(search->arena, uint32_t, count);
  search->num_options = arena_zarray(search->arena, uint32_t, count);
  search->num_across = arena_zarray(search->arena, uint32_t, (size_t)count + 1);
  search->left_keys = arena_zarray(search->arena, uint64_t, count);
  search->trouble = arena_zarray(search->arena, uint32_t, count);
  search->least_before = arena_array(search->arena, int64_t, (size_t)count + 1);
  search->least_after = arena_array(search->arena, int64_t, (size_t)count + 1);
  for (uint32_t i = 0; i < search->first_span[search->num_buffers]; i++) {
    for (uint32_t s = search->spans[i].begin; s < search->spans[i].end; s++)
      search->first_member[s + 2]++;
  }
  for (uint32_t s = 2; s < count + 2; s++)
    search->first_member[s] += search->first_member[s - 1];
  search->members = arena_array(search->arena, uint32_t, search->first_member[count + 1]);
  for (uint32_t i = 0; i < search->num_buffers; i++) {
    for (uint32_t k = search->first_span[i]; k < search->first_span[i + 1]; k++) {
      for (uint32_t s = search->spans[k].begin; s < search->spans[k].end; s++)
        search->members[search->first_member[s + 1]++] = i;
    }
  }
  for (uint32_t i = 0; i < search->num_buffers; i++)
    pack_search_count(search, i, -1);
}

PackSearch *pack_search_new(const PackSections *sections, PackSpan part, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  PackSearch *search = arena_zalloc(arena, sizeof *search);
  search->arena = arena;
  search->num_sections = part.end - part.begin;
  take_spans(search, sections, part);
  take_buffers(search, sections->problem);
  take_ticks(search, sections->problem);
  take_sections(search);
  search->failed = arena_zarray(arena, uint64_t, TABLE_LEN);
  return search;
}

bool pack_search_is_complete(const PackSearch *search) {
  return !search->has_mixed_alignment;
}

void pack_search_free(PackSearch *search) {
  arena_free(search->arena);
}

/* ---- orders ---- */

typedef struct Ranked {
  __uint128_t value;
  uint32_t buffer;
} Ranked;

static int by_value_then_buffer(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  if (a->value != b->value) return a->value > b->value ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static __uint128_t ranking_value(const PackSearch *search, uint32_t buffer, uint32_t ranking) {
  __uint128_t size = (uint64_t)search->bytes[buffer], ticks = search->ticks[buffer];
  __uint128_t width = 0;
  for (uint32_t k = search->first_span[buffer]; k < search->first_span[buffer + 1]; k++)
    width += search->spans[k].end - search->spans[k].begin;
  switch (ranking) {
    case 0: return size;
    case 1: return width * width * size;
    case 2: return ticks;
    case 3: return width << 62 | size;
    case 4: return width * size;
    default: return ticks * size;
  }
}

/* Orders by size, by how long a buffer lives, in ticks or in sections, and by products of them;
 * from the second round on each value is changed by up to `noise` 1024ths. */
void pack_search_rank(PackSearch *search, uint32_t variant, uint32_t noise) {
  uint32_t round = variant / NUM_RANKINGS;
  ArenaMark mark = arena_mark(search->arena);
  Ranked *list = arena_array(search->arena, Ranked, search->num_buffers);
  for (uint32_t i = 0; i < search->num_buffers; i++) {
    uint64_t factor = round ? 1024 - noise + hash_mix(search->key[i], variant) % (2 * noise) : 1024;
    list[i] = (Ranked){ranking_value(search, i, variant % NUM_RANKINGS) * factor, i};
  }
  if (search->num_buffers) {
    qsort(list, search->num_buffers, sizeof *list, by_value_then_buffer);
  }
  for (uint32_t i = 0; i < search->num_buffers; i++)
    search->rank[list[i].buffer] = i;
  arena_reset(search->arena, mark);
}
