/* The bound against the best of all lines of small random graphs. */
#include "remat/bound/line_bound.h"

#include "all_lines.h"

enum { NUM_GRAPHS = 300 };

START_TEST(no_line_adds_less) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  double sum_bounds = 0, sum_least = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS; seed++) {
    Random random = {seed};
    SearchGraph graph = random_graph(&random, false, arena);
    Trial trial = {.graph = &graph, .arena = arena};
    visit_all_lines(&trial);
    Line line = line_of_graph(&graph, arena);
    double least = INFINITY;
    for (int64_t limit = 0; limit < MAX_PEAK; limit++) {
      if (trial.least[limit] < least) least = trial.least[limit];
      double bound = line_time_bound(&line, limit, NULL, scratch);
      ck_assert_msg(bound <= least * (1 + 1e-12), "graph %u, limit %d: bound %g, but %g is enough",
                    seed, (int)limit, bound, least);
      if (least == 0 || isinf(least)) continue;
      sum_bounds += bound;
      sum_least += least;
    }
    arena_reset(arena, (ArenaMark){0});
  }
  /* It means something, too. */
  ck_assert_msg(sum_bounds > 0.65 * sum_least, "the bounds are %.2f of the least times on average",
                sum_bounds / sum_least);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("bound");
  TCase *tc = tcase_create("bound");
  tcase_add_test(tc, no_line_adds_less);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
