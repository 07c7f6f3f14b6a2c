/* The cases of XLA's heap_simulator_test.cc, GlobalDecreasingSizeBestFitHeapTest, reckoned by its
 * clock: a tick for each allocation, sharing and release; ranges include their last tick. */
#include "analysis/pack_best_fit.h"
#include "pack_fixture.h"

static void check_offsets(const PackFixture *fixture, int64_t height, const int64_t *offsets,
                          const char *what) {
  Arena *arena = arena_new(NULL);
  Packing packing = run_packer(&fixture->problem, "xla", -1, 0, arena);
  ck_assert_msg(packing.height_bytes == height, "%s: %d", what, (int)packing.height_bytes);
  for (uint32_t i = 0; i < fixture->problem.num_buffers; i++) {
    ck_assert_msg(packing.offsets[i] == offsets[i], "%s: buffer %u at %d", what, i,
                  (int)packing.offsets[i]);
  }
  arena_free(arena);
}

START_TEST(decreasing_size) {
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 10, 0, 5, 1);
  add_buffer(&fixture, 30, 1, 6, 1);
  add_buffer(&fixture, 20, 2, 7, 1);
  add_buffer(&fixture, 40, 3, 8, 1);
  check_offsets(&fixture, 100, (const int64_t[]){90, 40, 70, 0}, "decreasing size");
}
END_TEST

START_TEST(decreasing_size_with_alignment) {
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 10, 0, 4, 20);
  add_buffer(&fixture, 20, 1, 6, 20);
  add_buffer(&fixture, 50, 2, 7, 20);
  add_buffer(&fixture, 40, 4, 8, 20);
  check_offsets(&fixture, 120, (const int64_t[]){60, 100, 0, 60}, "alignment");
}
END_TEST

START_TEST(best_fit_takes_the_smallest_gap) {
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 10, 0, 4, 1);
  add_buffer(&fixture, 20, 1, 7, 1);
  add_buffer(&fixture, 40, 2, 8, 1);
  add_buffer(&fixture, 30, 4, 9, 1);
  add_buffer(&fixture, 50, 5, 10, 1);
  check_offsets(&fixture, 140, (const int64_t[]){90, 120, 50, 90, 0}, "best fit");
}
END_TEST

START_TEST(colocation) {
  static const struct {
    int64_t b_begin, b_end, c_bytes, c_begin, c_end, height, b_offset;
  } rows[] = {
      {2, 4, 40, 4, 6, 40, 0},  /* b between a and c */
      {2, 6, 40, 3, 5, 60, 40}, /* b overlaps c */
      {2, 6, 30, 3, 5, 60, 40}, /* c is smaller than a */
      {2, 6, 50, 3, 5, 70, 50}, /* c is larger: so is the memory of a */
  };
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 40, 0, 2, 1);
  add_colocated(&fixture, rows[_i].c_bytes, rows[_i].c_begin, rows[_i].c_end);
  add_buffer(&fixture, 20, rows[_i].b_begin, rows[_i].b_end, 1);
  check_offsets(&fixture, rows[_i].height, (const int64_t[]){0, rows[_i].b_offset}, "colocation");
}
END_TEST

/* Largest first reaches 7; longest first puts the last one, which lives almost always, on 0. */
START_TEST(temporal_order_is_taken_where_it_is_lower) {
  PackFixture fixture = {.problem = {0}};
  add_buffer(&fixture, 3, 0, 2, 1);
  add_buffer(&fixture, 2, 2, 5, 1);
  add_buffer(&fixture, 2, 4, 7, 1);
  add_buffer(&fixture, 2, 0, 5, 1);
  check_offsets(&fixture, 6, (const int64_t[]){2, 2, 4, 0}, "temporal");
}
END_TEST

/* What XLA does, said in the shortest way: quadratic. */
static void best_fit_slowly(const PackProblem *problem, const uint32_t *order, int64_t *offsets) {
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[order[i]];
    int64_t best_length = INT64_MAX, best = -1, start = 0;
    offsets[order[i]] = 0;
    if (buffer->bytes == 0) continue;
    for (;;) { /* the lowest end of a gap above `start`, then the top of what is there */
      int64_t end = INT64_MAX, top = start;
      for (uint32_t k = 0; k < i; k++) {
        int64_t below = offsets[order[k]], above = below + problem->buffers[order[k]].bytes;
        if (below == above || !live_together(problem, order[i], order[k])) continue;
        if (below <= start && above > top) top = above;
        if (below > start && below < end) end = below;
      }
      if (top > start) {
        start = align_up(top, buffer->alignment);
        continue;
      }
      if (end - start >= buffer->bytes && (best < 0 || end - start < best_length)) {
        best = start;
        best_length = end - start;
      }
      if (end == INT64_MAX) break;
      start = end;
    }
    offsets[order[i]] = best;
  }
}

START_TEST(best_fit_agrees_with_the_definition) {
  enum { LARGE = 1200 };
  Arena *arena = arena_new(NULL);
  uint64_t state = 77 + (uint64_t)_i;
  uint32_t count = _i < 40 ? 1 + next_random(&state) % 60 : LARGE;
  PackBuffer *buffers = arena_array(arena, PackBuffer, count);
  PackRange *ranges = arena_array(arena, PackRange, 2 * (size_t)count);
  uint32_t *order = arena_array(arena, uint32_t, count);
  int64_t *offsets = arena_array(arena, int64_t, count),
          *wanted = arena_array(arena, int64_t, count);
  int64_t alignment = _i % 3 ? 1 : 8;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < 2; k++) {
      int64_t begin = next_random(&state) % 1000;
      ranges[2 * i + k] = (PackRange){begin, begin + 1 + next_random(&state) % (_i % 2 ? 20 : 900)};
    }
    int64_t bytes = next_random(&state) % 50;
    buffers[i] = (PackBuffer){bytes, bytes, alignment, 2 * i, 1 + next_random(&state) % 2};
    order[i] = i;
  }
  PackProblem problem = {buffers, ranges, count, 2 * count};
  PackSections sections = pack_sections_build(&problem, arena, arena);
  PackBudget budget = {0};
  best_fit(&sections, order, count, offsets, &budget, arena);
  best_fit_slowly(&problem, order, wanted);
  for (uint32_t i = 0; i < count; i++)
    ck_assert_msg(offsets[i] == wanted[i], "seed %d, buffer %u", _i, i);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pack_xla");
  TCase *cases = tcase_create("best fit");
  tcase_add_test(cases, decreasing_size);
  tcase_add_test(cases, decreasing_size_with_alignment);
  tcase_add_test(cases, best_fit_takes_the_smallest_gap);
  tcase_add_loop_test(cases, colocation, 0, 4);
  tcase_add_test(cases, temporal_order_is_taken_where_it_is_lower);
  tcase_add_loop_test(cases, best_fit_agrees_with_the_definition, 0, 42);
  tcase_set_timeout(cases, 240);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
