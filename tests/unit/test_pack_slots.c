#include "analysis/pack/slots.h"

#include "support.h"

enum { MAX_BUFFERS = 2000, NUM_SECTIONS = 200, MAX_SPANS = 3, NUM_CASES = 60 };

/* A small generator of our own: results must not depend on the C library's. */
static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

typedef struct Buffer {
  int64_t from, to;
  PackSpan spans[MAX_SPANS];
  uint32_t num_spans;
} Buffer;

static bool are_beside(const Buffer *a, const Buffer *b) {
  for (uint32_t i = 0; i < a->num_spans; i++) {
    for (uint32_t k = 0; k < b->num_spans; k++) {
      if (a->spans[i].begin < b->spans[k].end && b->spans[k].begin < a->spans[i].end) return true;
    }
  }
  return false;
}

/* The best fit among buffers that are sorted by offset, the slow way. */
static int64_t best_fit_among(const Buffer *list, uint32_t len, const Buffer *new, int64_t bytes,
                              int64_t alignment) {
  int64_t top = 0, best_length = INT64_MAX, best = 0;
  for (uint32_t i = 0; i < len; i++) {
    if (!are_beside(&list[i], new)) continue;
    int64_t start = align_up(top, alignment), length = list[i].from - start;
    if (length >= bytes && length < best_length) {
      best_length = length;
      best = start;
    }
    if (list[i].to > top) top = list[i].to;
  }
  return best_length < INT64_MAX ? best : align_up(top, alignment);
}

static void make_spans(Buffer *buffer, uint64_t *state) {
  uint32_t begin = next_random(state) % NUM_SECTIONS, most = next_random(state) % 2 ? 5 : 150;
  buffer->num_spans = 0;
  uint32_t wanted = 1 + (next_random(state) % 4 == 0 ? next_random(state) % MAX_SPANS : 0);
  while (buffer->num_spans < wanted && begin < NUM_SECTIONS) {
    uint32_t end = begin + 1 + next_random(state) % most;
    buffer->spans[buffer->num_spans++] = (PackSpan){begin, end};
    begin = end + 1 + next_random(state) % 4;
  }
}

static void insert(Buffer *list, uint32_t len, Buffer new) {
  for (; len && list[len - 1].from > new.from; len--)
    list[len] = list[len - 1];
  list[len] = new;
}

START_TEST(finds_what_the_slow_way_finds) {
  static const int64_t granules[] = {1, 8, 64};
  uint64_t state = 1 + (uint64_t)_i;
  int64_t granule = granules[_i % 3];
  uint32_t num_sizes = 1 + next_random(&state) % 20, num_wrong = 0;
  Arena *arena = arena_new(NULL);
  PackSlots *slots = pack_slots_new(arena);
  Buffer list[MAX_BUFFERS];
  /* Many buffers make searches long, which then remember what they find. */
  uint32_t num_buffers = _i % 4 ? 300 : MAX_BUFFERS;
  for (uint32_t len = 0; len < num_buffers; len++) {
    Buffer new;
    make_spans(&new, &state);
    int64_t bytes = (1 + next_random(&state) % num_sizes) * granule - (granule > 1 ? _i % 2 : 0);
    int64_t alignment = granule * (1 + next_random(&state) % 8 / 7);
    int64_t wanted = best_fit_among(list, len, &new, bytes, alignment);
    new.from = pack_slots_best(slots, new.spans, new.num_spans, bytes, alignment, granule);
    num_wrong += new.from != wanted;
    new.from = wanted;
    new.to = align_up(wanted + bytes, granule);
    ck_assert(pack_slots_take(slots, new.from, new.to, new.spans, new.num_spans));
    insert(list, len, new);
  }
  ck_assert_uint_eq(num_wrong, 0);
  arena_free(arena);
}
END_TEST

START_TEST(the_example_of_the_header) {
  Arena *arena = arena_new(NULL);
  PackSlots *slots = pack_slots_new(arena);
  ck_assert_int_eq(pack_slots_best(slots, &(PackSpan){0, 4}, 1, 32, 16, 16), 0);
  pack_slots_take(slots, 0, 32, &(PackSpan){0, 4}, 1);
  pack_slots_take(slots, 32, 48, &(PackSpan){0, 1}, 1);
  pack_slots_take(slots, 48, 80, &(PackSpan){2, 4}, 1);
  ck_assert_int_eq(pack_slots_best(slots, &(PackSpan){1, 3}, 1, 16, 16, 16), 32);
  ck_assert_int_eq(pack_slots_best(slots, &(PackSpan){1, 2}, 1, 16, 16, 16), 32);
  ck_assert_int_eq(pack_slots_best(slots, &(PackSpan){1, 3}, 1, 32, 16, 16), 80);
  ck_assert_int_eq(pack_slots_best(slots, &(PackSpan){0, 1}, 1, 16, 16, 16), 48);
  arena_free(arena);
}
END_TEST

/* A large buffer above very many small ones is put into as many slots. */
START_TEST(says_when_slots_do_not_pay) {
  Arena *arena = arena_new(NULL);
  PackSlots *slots = pack_slots_new(arena);
  bool pays = true;
  for (int64_t offset = 0; offset < 4096; offset++)
    pays &= pack_slots_take(slots, offset, offset + 1, &(PackSpan){0, 1}, 1);
  ck_assert(pays);
  for (uint32_t section = 1; section < 100; section++)
    pays &= pack_slots_take(slots, 0, 4096, &(PackSpan){section, section + 1}, 1);
  ck_assert(!pays);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pack_slots");
  TCase *cases = tcase_create("slots");
  tcase_add_loop_test(cases, finds_what_the_slow_way_finds, 0, NUM_CASES);
  tcase_add_test(cases, the_example_of_the_header);
  tcase_add_test(cases, says_when_slots_do_not_pay);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
