/* The exact search against the best of all lines of small random graphs. Tagged, because it needs
 * the library of CBC. */
#include "remat/exact/optimal.h"

#include "all_lines.h"

enum { NUM_GRAPHS = 500, NUM_OTHERS = 100 };

static const OptimalRules rules = {
    .most_columns = 10000, .num_nodes = 100000, .keeps_places = true, .num_rounds = 50};

/* Random graphs without dead code, for which a limit makes recomputation necessary. */
typedef struct Case {
  SearchGraph graph;
  Line line;
  double base; /* seconds of the line */
} Case;

static bool make_case(uint32_t seed, Case *made, Arena *arena) {
  Random random = {seed};
  made->graph = random_graph(&random, true, arena);
  made->line = line_of_graph(&made->graph, arena);
  made->base = line_measure(&made->line, arena).seconds;
  return line_of_originals(&made->line, arena).len == made->line.len;
}

/* The next limit at which the least time is another one, with this time; of those that make no
 * difference the lowest. */
static bool next_limit(const Trial *trial, int64_t *limit, double *least) {
  while (++*limit < MAX_PEAK) {
    if (trial->least[*limit] >= *least) continue;
    *least = trial->least[*limit];
    return *least > 0;
  }
  return false;
}

START_TEST(best_of_all_lines_is_found) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  uint32_t num_solved = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS; seed++) {
    Case made;
    arena_reset(arena, (ArenaMark){0});
    if (!make_case(seed, &made, arena)) continue;
    Trial trial = {
        .graph = &made.graph, .arena = arena, .reads_originals = true, .is_in_order = true};
    visit_all_lines(&trial);
    double least = INFINITY;
    for (int64_t limit = 0; next_limit(&trial, &limit, &least);) {
      ScoredLine known = scored_measure(&made.line, limit, arena);
      OptimalLine found = optimal_line(&made.line, &known, limit, &rules, NULL, arena, scratch);
      double added = found.scored.score.seconds - made.base;
      ck_assert_int_eq(found.status, OPTIMAL_FOUND);
      ck_assert(line_is_valid(&found.scored.line, scratch));
      int64_t peak = line_measure(&found.scored.line, arena).peak_bytes;
      ck_assert_msg(found.scored.score.is_met && peak <= limit, "graph %u, limit %d: peak %d", seed,
                    (int)limit, (int)peak);
      ck_assert_msg(added <= least * (1 + 1e-6),
                    "graph %u, limit %d: %g is added, but %g is enough", seed, (int)limit, added,
                    least);
      num_solved++;
    }
  }
  ck_assert_uint_gt(num_solved, 100);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

START_TEST(no_line_adds_less_than_the_bound) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  double sum_bounds = 0, sum_least = 0;
  for (uint32_t seed = NUM_GRAPHS; seed < 2 * NUM_GRAPHS; seed++) {
    Case made;
    arena_reset(arena, (ArenaMark){0});
    if (!make_case(seed, &made, arena)) continue;
    Trial trial = {.graph = &made.graph, .arena = arena, .reads_originals = true};
    visit_all_lines(&trial);
    double least = INFINITY;
    for (int64_t limit = 0; next_limit(&trial, &limit, &least);) {
      SolverEnd end;
      double bound = optimal_time_bound(&made.line, limit, &rules, NULL, &end, scratch);
      ck_assert_msg(bound <= least * (1 + 1e-9), "graph %u, limit %d: bound %g, but %g is enough",
                    seed, (int)limit, bound, least);
      sum_bounds += bound;
      sum_least += least;
    }
  }
  ck_assert_msg(sum_bounds > 0.95 * sum_least, "the bounds are %.2f of the least times on average",
                sum_bounds / sum_least);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* To compute a value later instead takes no time, so the best line is never slower. */
START_TEST(values_may_be_computed_later) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  OptimalRules later_rules = rules;
  later_rules.keeps_places = false;
  uint32_t num_faster = 0;
  for (uint32_t seed = 0; seed < NUM_OTHERS; seed++) {
    Case made;
    arena_reset(arena, (ArenaMark){0});
    if (!make_case(seed, &made, arena)) continue;
    int64_t limit = line_measure(&made.line, arena).peak_bytes - 1;
    ScoredLine known = scored_measure(&made.line, limit, arena);
    OptimalLine placed = optimal_line(&made.line, &known, limit, &rules, NULL, arena, scratch);
    OptimalLine later = optimal_line(&made.line, &known, limit, &later_rules, NULL, arena, scratch);
    ck_assert(line_is_valid(&later.scored.line, scratch));
    if (!placed.scored.score.is_met) continue;
    ck_assert(later.scored.score.is_met);
    ck_assert(later.scored.score.seconds <= placed.scored.score.seconds * (1 + 1e-6));
    num_faster += later.scored.score.seconds < placed.scored.score.seconds * (1 - 1e-6);
  }
  ck_assert_uint_gt(num_faster, 3);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* Without clones at all places, a line still fits and is no worse than what is known. */
START_TEST(smaller_programs_are_solved) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  OptimalRules small = rules;
  small.most_columns = 12;
  uint32_t num_met = 0, num_refused = 0;
  for (uint32_t seed = 0; seed < NUM_OTHERS; seed++) {
    Case made;
    arena_reset(arena, (ArenaMark){0});
    if (!make_case(seed, &made, arena)) continue;
    int64_t limit = line_measure(&made.line, arena).peak_bytes - 1;
    ScoredLine known = scored_measure(&made.line, limit, arena);
    OptimalLine found = optimal_line(&made.line, &known, limit, &small, NULL, arena, scratch);
    num_refused += found.status == OPTIMAL_TOO_LARGE;
    ck_assert(line_is_valid(&found.scored.line, scratch));
    ck_assert_int_le(found.scored.score.bytes, known.score.bytes);
    num_met += found.scored.score.is_met;
  }
  ck_assert_uint_gt(num_met, 0);
  ck_assert_uint_gt(num_refused, 0);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* No solver is asked: what is known is the result. */
START_TEST(large_lines_are_refused) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  OptimalRules small = rules;
  small.most_columns = 1;
  uint32_t num_refused = 0;
  for (uint32_t seed = 0; seed < 10; seed++) {
    Case made;
    arena_reset(arena, (ArenaMark){0});
    (void)make_case(seed, &made, arena);
    int64_t limit = line_measure(&made.line, arena).peak_bytes / 2;
    ScoredLine known = scored_measure(&made.line, limit, arena);
    OptimalLine found = optimal_line(&made.line, &known, limit, &small, NULL, arena, scratch);
    ck_assert_int_eq(found.scored.score.bytes, known.score.bytes);
    if (found.status == OPTIMAL_TOO_LARGE) {
      SolverEnd end;
      ck_assert(optimal_time_bound(&made.line, limit, &small, NULL, &end, scratch) == 0);
      num_refused++;
    }
  }
  ck_assert_uint_gt(num_refused, 5);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("optimal");
  TCase *usual = tcase_create("usual");
  tcase_add_test(usual, large_lines_are_refused);
  suite_add_tcase(suite, usual);
  TCase *tc = tcase_create("optimal");
  if (solver_is_there()) {
    tcase_set_tags(tc, "solver");
    tcase_add_test(tc, best_of_all_lines_is_found);
    tcase_add_test(tc, no_line_adds_less_than_the_bound);
    tcase_add_test(tc, values_may_be_computed_later);
    tcase_add_test(tc, smaller_programs_are_solved);
  }
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
