#include "analysis/pack/improve.h"

#include "analysis/pack/improve.h"
#include "pack_fixture.h"

enum { RECTANGLE_TICKS = 40, RECTANGLE_BYTES = 1000 };

/* Cuts a rectangle of time and memory: buffers that leave nothing free, so the bound is reached. */
static void cut_rectangle(PackFixture *fixture, uint64_t seed, uint32_t count) {
  struct {
    PackRange range;
    int64_t bytes;
  } pieces[MAX_BUFFERS] = {{{0, RECTANGLE_TICKS}, RECTANGLE_BYTES}};
  for (uint32_t len = 1; len < count;) {
    uint32_t piece = next_random(&seed) % len;
    bool cuts_time = next_random(&seed) % 2;
    PackRange range = pieces[piece].range;
    int64_t length = cuts_time ? range.end - range.begin : pieces[piece].bytes;
    if (length < 2) continue;
    int64_t first = 1 + next_random(&seed) % (length - 1);
    pieces[len] = pieces[piece];
    if (cuts_time) {
      pieces[len].range.begin = pieces[piece].range.end = range.begin + first;
    } else {
      pieces[len].bytes = pieces[piece].bytes - first;
      pieces[piece].bytes = first;
    }
    len++;
  }
  for (uint32_t i = 0; i < count; i++)
    add_buffer(fixture, pieces[i].bytes, pieces[i].range.begin, pieces[i].range.end, 1);
}

static void add_random_buffers(PackFixture *fixture, uint64_t *state, bool is_mixed) {
  static const int64_t alignments[] = {1, 2, 4, 6};
  uint32_t count = 1 + next_random(state) % (MAX_BUFFERS - 1);
  for (uint32_t i = 0; i < count; i++) {
    int64_t begin = next_random(state) % count, bytes = next_random(state) % 20;
    int64_t alignment = is_mixed ? alignments[next_random(state) % 4] : 4;
    add_buffer(fixture, bytes, begin, begin + 1 + next_random(state) % count, alignment);
    if (next_random(state) % 4) continue;
    begin = next_random(state) % (2 * count);
    add_colocated(fixture, next_random(state) % 20, begin, begin + 1 + next_random(state) % count);
  }
}

/* Xla's packing of one part, improved by some rounds. */
static Packing eject(const PackProblem *problem, int64_t goal, uint32_t num_rounds,
                     PackBudget *budget, Arena *arena) {
  PackSections sections = pack_sections_build(problem, arena, arena);
  PackSpan whole = {0, sections.num_sections};
  Packing packing = run_packer(problem, "xla", -1, 0, arena);
  for (uint32_t round = 0; round < num_rounds; round++)
    pack_eject(&sections, whole, goal, round, budget, packing.offsets, arena);
  packing.height_bytes = pack_height(problem, packing.offsets);
  check_packing(problem, &packing, "eject");
  return packing;
}

static int64_t lower_bound_of(const PackProblem *problem, Arena *arena) {
  PackSections sections = pack_sections_build(problem, arena, arena);
  return pack_lower_bound(&sections);
}

START_TEST(result_is_right_and_never_worse) {
  Arena *arena = arena_new(NULL);
  uint64_t state = 100 + (uint64_t)_i;
  PackFixture fixture = {.problem = {0}};
  add_random_buffers(&fixture, &state, _i & 1);
  const PackProblem *problem = &fixture.problem;
  int64_t bound = lower_bound_of(problem, arena);
  Packing xla = run_packer(problem, "xla", -1, 0, arena);
  PackBudget first = {.max_steps = 200000}, second = first;
  Packing one = eject(problem, bound, 3, &first, arena);
  Packing other = eject(problem, bound, 3, &second, arena);
  ck_assert_int_le(one.height_bytes, xla.height_bytes);
  ck_assert_int_ge(one.height_bytes, bound);
  ck_assert_uint_eq(first.steps, second.steps);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    ck_assert_int_eq(one.offsets[i], other.offsets[i]);
  arena_free(arena);
}
END_TEST

/* A run that was begun has sorted the buffers, a turn that was begun is ended. */
START_TEST(steps_are_limited) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  cut_rectangle(&fixture, 7, MAX_BUFFERS);
  PackBudget budget = {.max_steps = (uint64_t)_i * 500};
  eject(&fixture.problem, 1, 100, &budget, arena); /* no packing is so low */
  ck_assert_uint_ge(budget.steps, budget.max_steps);
  ck_assert_uint_lt(budget.steps, budget.max_steps + 50 + (2 + 16) * MAX_BUFFERS);
  arena_free(arena);
}
END_TEST

START_TEST(goal_ends_it) {
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  cut_rectangle(&fixture, 257, 60);
  int64_t xla = run_packer(&fixture.problem, "xla", -1, 0, arena).height_bytes;
  PackBudget budget = {.max_steps = 100000};
  ck_assert_int_eq(eject(&fixture.problem, xla, 5, &budget, arena).height_bytes, xla);
  ck_assert_uint_eq(budget.steps, 0);
  arena_free(arena);
}
END_TEST

/* Best fit misses the bound, and the tree does not find it in ten times the steps. */
START_TEST(bound_is_reached_where_others_fail) {
  enum { STEPS = 2000 };
  Arena *arena = arena_new(NULL);
  PackFixture fixture = {.problem = {0}};
  cut_rectangle(&fixture, 257, 60);
  const PackProblem *problem = &fixture.problem;
  ck_assert_int_eq(lower_bound_of(problem, arena), RECTANGLE_BYTES);
  ck_assert_int_gt(run_packer(problem, "xla", -1, 0, arena).height_bytes, RECTANGLE_BYTES);

  PackSections sections = pack_sections_build(problem, arena, arena);
  PackSearch *search = pack_search_new(&sections, (PackSpan){0, sections.num_sections}, arena);
  int64_t offsets[MAX_BUFFERS];
  PackBudget of_tree = {.max_steps = 10 * STEPS};
  SearchEnd end = SEARCH_LIMIT;
  for (uint32_t variant = 0; end == SEARCH_LIMIT && of_tree.steps < of_tree.max_steps; variant++)
    end = pack_search_run(search, RECTANGLE_BYTES, variant, &of_tree, offsets);
  ck_assert_int_eq(end, SEARCH_LIMIT);
  pack_search_free(search);

  PackBudget budget = {.max_steps = STEPS};
  ck_assert_int_eq(eject(problem, RECTANGLE_BYTES, 1, &budget, arena).height_bytes,
                   RECTANGLE_BYTES);
  arena_free(arena);
}
END_TEST

/* Most of what was cut from a rectangle goes back into it. */
START_TEST(rectangles_are_filled) {
  uint32_t num_filled = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    Arena *arena = arena_new(NULL);
    PackFixture fixture = {.problem = {0}};
    cut_rectangle(&fixture, seed, 60);
    PackBudget budget = {.max_steps = 2000000};
    num_filled += eject(&fixture.problem, RECTANGLE_BYTES, 1000, &budget, arena).height_bytes ==
                  RECTANGLE_BYTES;
    arena_free(arena);
  }
  ck_assert_uint_gt(num_filled, 80);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("pack_eject");
  TCase *cases = tcase_create("eject");
  tcase_add_loop_test(cases, result_is_right_and_never_worse, 0, 100);
  tcase_add_loop_test(cases, steps_are_limited, 0, 10);
  tcase_add_test(cases, goal_ends_it);
  tcase_add_test(cases, bound_is_reached_where_others_fail);
  tcase_add_test(cases, rectangles_are_filled);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
