#include "analysis/heap_packing.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* What a heap is asked for, a tick a word: `a10` takes, `-a` gives back, `c30=a` takes the place of
 * a. Intervals are numbered by their letters. */
static const struct {
  const char *name, *requests;
  HeapOrder order;
  int64_t alignment, bytes;
  const char *offsets;
} rows[] = {
    {"nothing", "", HEAP_BEST, 1, 0, ""},
    /* GlobalDecreasingSizeBestFitHeapTest */
    {"larger ones first", "a10 b30 c20 d40 -a -b -c -d", HEAP_SPATIAL, 1, 100,
     "a=90 b=40 c=70 d=0"},
    {"aligned", "a10 b20 c50 -a d40 -b -c -d", HEAP_SPATIAL, 20, 120, "a=60 b=100 c=0 d=60"},
    {"the smallest gap", "a10 b20 c40 -a d30 e50 -b -c -d -e", HEAP_SPATIAL, 1, 140,
     "a=90 b=120 c=50 d=90 e=0"},
    {"one place for two", "a40 -a b20 -b c40=a -c", HEAP_SPATIAL, 1, 40, "a=0 b=0 c=0"},
    {"another beside the second", "a40 -a b20 c40=a -c -b", HEAP_SPATIAL, 1, 60, "a=0 b=40 c=0"},
    {"a larger one beside the second", "a10 -a b30 c10=a -c -b", HEAP_SPATIAL, 1, 40,
     "a=30 b=0 c=30"},
    {"the second is smaller", "a40 -a b20 c30=a -c -b", HEAP_SPATIAL, 1, 60, "a=0 b=40 c=0"},
    {"the second is larger", "a40 -a b20 c50=a -c -b", HEAP_SPATIAL, 1, 70, "a=0 b=50 c=0"},
    /* by hand */
    {"of equal sizes what lives longer", "a10 b10 -a -b c10 -c", HEAP_SPATIAL, 1, 20,
     "a=0 b=10 c=0"},
    {"of equal durations the first in the list", "b10 a10 -b -a", HEAP_SPATIAL, 1, 20, "a=0 b=10"},
    {"long ones first", "a10 b30 -b c20 -c -a", HEAP_TEMPORAL, 1, 40, "a=0 b=10 c=10"},
    {"the time of all that have one place counts", "a10 -a b20 -b c20 -c d10=a -d", HEAP_TEMPORAL,
     1, 20, "a=0 b=0 c=0 d=0"},
    {"places of places", "a8 -a b8=a -b c8=b -c d4 -d", HEAP_SPATIAL, 1, 8, "a=0 b=0 c=0 d=0"},
    {"the better of both", "a30 b20 -a c20 -b -c", HEAP_BEST, 1, 50, "a=0 b=30 c=0"},
    {"gaps begin at multiples of any number", "a7 b7 c7 -b d5 -a -c -d", HEAP_SPATIAL, 6, 31,
     "a=0 b=24 c=12 d=24"},
    {"the lower of two equal gaps", "a12 b11 c10 d9 e8 -b -d f4 -a -c -e -f", HEAP_SPATIAL, 4, 56,
     "a=0 b=12 c=24 d=36 e=48 f=12"},
};

typedef struct Requests {
  HeapInterval list[26];
  uint32_t len;
} Requests;

static Requests read_requests(const char *text) {
  Requests requests = {0};
  uint32_t tick = 0;
  for (const char *word = text; *word; word += strspn(word, " "), tick++) {
    if (*word == '-') {
      requests.list[word[1] - 'a'].end = tick;
      word += 2;
      continue;
    }
    uint32_t index = (uint32_t)(*word - 'a');
    char *rest;
    requests.list[index] =
        (HeapInterval){.bytes = strtoll(word + 1, &rest, 10), .begin = tick, .with = NO_ID};
    if (*rest == '=') {
      requests.list[index].with = (uint32_t)(rest[1] - 'a');
      rest += 2;
    }
    if (index >= requests.len) requests.len = index + 1;
    word = rest;
  }
  return requests;
}

START_TEST(offsets_match_table) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  Requests requests = read_requests(rows[_i].requests);
  HeapPacking packing =
      heap_pack(requests.list, requests.len, rows[_i].order, rows[_i].alignment, arena, scratch);
  const char *text = NULL;
  for (uint32_t i = 0; i < requests.len; i++)
    text_add(arena, &text, "%c=%lld", 'a' + (int)i, (long long)packing.offsets[i]);
  check_text(text ? text : "", rows[_i].offsets, rows[_i].name);
  ck_assert_int_eq(packing.bytes, rows[_i].bytes);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* ---- against the plain way ---- */

typedef struct Placed {
  int64_t from, to;
} Placed;

static int by_from(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  return (a->from > b->from) - (a->from < b->from);
}

/* Best fit among all that is placed and lives beside `interval` or another of its place. */
static int64_t plain_offset(const HeapInterval *list, uint32_t len, uint32_t interval,
                            const uint32_t *leader, const int64_t *offsets, const int64_t *bytes,
                            int64_t alignment) {
  Placed used[1000];
  uint32_t num_used = 0;
  for (uint32_t i = 0; i < len; i++) {
    if (offsets[leader[i]] < 0) continue;
    bool is_beside = false;
    for (uint32_t k = 0; k < len; k++) {
      is_beside |=
          leader[k] == interval && list[k].begin <= list[i].end && list[i].begin <= list[k].end;
    }
    if (!is_beside) continue;
    int64_t end = offsets[leader[i]] + bytes[leader[i]];
    used[num_used++] = (Placed){offsets[leader[i]], (end + alignment - 1) / alignment * alignment};
  }
  qsort(used, num_used, sizeof *used, by_from);
  int64_t from = 0, best = -1, best_bytes = INT64_MAX;
  for (uint32_t i = 0; i < num_used; i++) {
    int64_t gap = used[i].from - from;
    if (gap >= bytes[interval] && gap < best_bytes) {
      best = from;
      best_bytes = gap;
    }
    if (used[i].to > from) from = used[i].to;
  }
  return best < 0 ? from : best;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Random intervals over many leaves of the tree, a third of them in others' places. */
static uint32_t make_intervals(HeapInterval *list, uint32_t len, uint64_t seed) {
  uint32_t *ticks = malloc(2 * len * sizeof *ticks);
  for (uint32_t i = 0; i < 2 * len; i++)
    ticks[i] = i;
  for (uint32_t i = 2 * len - 1; i > 0; i--) {
    /* Near ones only, so that few live at a time. */
    uint32_t range = i < 60 ? i + 1 : 60, k = i - next_random(&seed) % range;
    uint32_t tick = ticks[i];
    ticks[i] = ticks[k];
    ticks[k] = tick;
  }
  for (uint32_t i = 0; i < len; i++) {
    uint32_t a = ticks[2 * i], b = ticks[2 * i + 1];
    bool is_shared = i > 0 && next_random(&seed) % 3 == 0;
    list[i] = (HeapInterval){.bytes = 1 + next_random(&seed) % 100,
                             .begin = a < b ? a : b,
                             .end = a < b ? b : a,
                             .with = is_shared ? next_random(&seed) % i : NO_ID};
  }
  free(ticks);
  return len;
}

START_TEST(placing_is_best_fit) {
  enum { LEN = 400 };
  static const int64_t alignments[] = {1, 16, 12};
  int64_t alignment = alignments[_i % 3];
  HeapInterval list[LEN];
  make_intervals(list, LEN, (uint64_t)_i);
  uint32_t leader[LEN];
  int64_t bytes[LEN] = {0}, offsets[LEN];
  for (uint32_t i = 0; i < LEN; i++) {
    leader[i] = list[i].with == NO_ID ? i : leader[list[i].with];
    if (list[i].bytes > bytes[leader[i]]) bytes[leader[i]] = list[i].bytes;
    offsets[i] = -1;
  }
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  HeapPacking packing = heap_pack(list, LEN, HEAP_SPATIAL, alignment, arena, scratch);
  bool is_done[LEN] = {false};
  for (;;) {
    uint32_t next = NO_ID;
    for (uint32_t i = 0; i < LEN; i++) {
      if (leader[i] != i || is_done[i]) continue;
      const HeapInterval *a = &list[i], *b = next == NO_ID ? NULL : &list[next];
      if (!b || a->bytes > b->bytes ||
          (a->bytes == b->bytes && a->end - a->begin > b->end - b->begin)) {
        next = i;
      }
    }
    if (next == NO_ID) break;
    is_done[next] = true;
    offsets[next] = plain_offset(list, LEN, next, leader, offsets, bytes, alignment);
    ck_assert_msg(packing.offsets[next] == offsets[next], "seed %d: interval %u at %lld, not %lld",
                  _i, next, (long long)packing.offsets[next], (long long)offsets[next]);
  }
  for (uint32_t i = 0; i < LEN; i++)
    ck_assert_int_eq(packing.offsets[i], packing.offsets[leader[i]]);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("heap_packing");
  TCase *tc = tcase_create("heap_packing");
  tcase_add_loop_test(tc, offsets_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, placing_is_best_fit, 0, 12);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
