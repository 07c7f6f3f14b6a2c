#include "analysis/memory/timeline.h"

#include <stdlib.h>

#include "support.h"

/* A small generator of our own: results must not depend on the C library's. */
static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static const uint32_t lengths[] = {1, 2, 3, 7, 8, 9, 64, 100, 257};

START_TEST(timeline_agrees_with_an_array) {
  uint32_t len = lengths[_i];
  uint64_t state = 1 + (uint64_t)_i;
  Arena *arena = arena_new(NULL);
  int64_t *bytes = arena_zarray(arena, int64_t, len);
  for (uint32_t i = 0; i < len; i++)
    bytes[i] = next_random(&state) % 1000;
  Timeline timeline = timeline_build(bytes, len, arena);
  for (int step = 0; step < 500; step++) {
    uint32_t begin = next_random(&state) % len, last = next_random(&state) % len;
    int64_t change = (int64_t)(next_random(&state) % 2001) - 1000;
    timeline_add(&timeline, begin, last, change);
    for (uint32_t i = begin; i <= last && begin <= last; i++)
      bytes[i] += change;

    begin = next_random(&state) % len;
    last = begin + next_random(&state) % (len - begin);
    int64_t want = INT64_MIN, peak = INT64_MIN;
    uint32_t peak_pos = 0;
    for (uint32_t i = begin; i <= last; i++)
      want = bytes[i] > want ? bytes[i] : want;
    for (uint32_t i = 0; i < len; i++) {
      if (bytes[i] > peak) peak_pos = i, peak = bytes[i];
    }
    ck_assert_msg(timeline_max(&timeline, begin, last) == want, "length %u, step %d", len, step);
    SchedPos found = 0;
    ck_assert_int_eq(timeline_peak(&timeline, &found), peak);
    ck_assert_uint_eq(found, peak_pos);
  }
  arena_free(arena);
}
END_TEST

START_TEST(empty_ranges_change_nothing) {
  Arena *arena = arena_new(NULL);
  int64_t bytes[] = {5, 6, 7};
  Timeline timeline = timeline_build(bytes, 3, arena);
  timeline_add(&timeline, 2, 1, 100);
  ck_assert_int_eq(timeline_max(&timeline, 0, 2), 7);
  ck_assert_int_eq(timeline_max(&timeline, 2, 1), INT64_MIN);
  arena_free(arena);
}
END_TEST

START_TEST(what_was_tried_is_taken_back_unless_it_is_kept) {
  Arena *arena = arena_new(NULL);
  int64_t bytes[] = {5, 6, 7, 3};
  Timeline timeline = timeline_build(bytes, 4, arena);
  timeline_try(&timeline, 1, 2, 10);
  timeline_keep(&timeline); /* 5, 16, 17, 3 */
  timeline_try(&timeline, 0, 3, 100);
  timeline_try(&timeline, 3, 2, 1000);
  timeline_try(&timeline, 2, 3, -60);
  static const int64_t tried[] = {105, 116, 57, 43}, kept[] = {5, 16, 17, 3};
  for (SchedPos i = 0; i < 4; i++)
    ck_assert_int_eq(timeline_max(&timeline, i, i), tried[i]);
  for (int again = 0; again < 2; again++) {
    timeline_take_back(&timeline);
    for (SchedPos i = 0; i < 4; i++)
      ck_assert_int_eq(timeline_max(&timeline, i, i), kept[i]);
  }
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("timeline");
  TCase *cases = tcase_create("segment tree");
  tcase_add_loop_test(cases, timeline_agrees_with_an_array, 0, sizeof lengths / sizeof *lengths);
  tcase_add_test(cases, empty_ranges_change_nothing);
  tcase_add_test(cases, what_was_tried_is_taken_back_unless_it_is_kept);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
