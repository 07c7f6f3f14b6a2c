/* Which line take_first_met() takes, against a slow search that applies and measures one line after
 * the other. */
#include "remat/search/job.h"

#include "ir/module_check.h"
#include "search_network.h"

enum { NUM_LIMITS = 8 };

static Score measured(const SearchJob *job, const ScoredLine *line) {
  int64_t bytes = remat_state_peak(job->job, job->scratch);
  return (Score){bytes <= job->job->peak_limit.bytes, bytes, line->score.seconds};
}

/* What the lines come to, one after the other, up to the first that meets the budget: the best one
 * of these. The module is as before. */
static Score slow_best(SearchJob *job, const FoundLines *found) {
  Arena *arena = arena_new(NULL);
  RematState before = remat_state_save(job->job, arena);
  Score best = {0};
  for (uint32_t i = 0; i < found->len && !best.is_met; i++) {
    const ScoredLine *line = &found->list[i];
    take_line(job, job->job->rewrite->module->entry, line);
    Score score = measured(job, line);
    if (i == 0 || score_is_better(score, best)) best = score;
    search_job_restore(job, &before, 0);
  }
  arena_free(arena);
  return best;
}

START_TEST(no_line_that_was_found_is_better) {
  static const char *const models[] = {"heap", "liveness"};
  SearchFixture search;
  search_begin(&search, make_network(), models[_i % 2], NULL, true);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  SearchJob job = job_of(&search);
  int64_t peak_bytes = remat_state_peak(&search.job, scratch);
  search.job.peak_limit.bytes = peak_bytes / 100 * (95 - 9 * (_i / 2));
  LineLimit limit = limit_of_line(search.job.peak_limit, job.difference_bytes);
  SearchGraph graph = search_graph_build(&job.context, search.fixture.module->entry, out, scratch);
  Line line = line_of_graph(&graph, out);
  FoundLines found = search_line(&line, limit.bytes, &job.rules, NULL, out, scratch);
  Score slow = slow_best(&job, &found);
  take_first_met(&job, &found, out);
  Score taken = job.entry.taken;
  ck_assert_msg(!score_is_better(slow, taken), "%d %lld %g is taken, and %d %lld %g was found",
                taken.is_met, (long long)taken.bytes, taken.seconds, slow.is_met,
                (long long)slow.bytes, slow.seconds);
  ck_assert_int_eq(remat_state_peak(&search.job, scratch), taken.bytes);
  ck_assert(taken.is_met == (taken.bytes <= search.job.peak_limit.bytes));
  ck_assert(!found.list[0].score.is_met || taken.bytes < peak_bytes);
  InstId bad;
  ck_assert_int_eq(module_check(search.fixture.module, NULL), RH_OK);
  ck_assert(schedule_is_valid(search.fixture.module, &search.schedule, &bad, scratch));
  arena_free(job.arena);
  fixture_free(&search.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("take");
  TCase *tc = tcase_create("take");
  tcase_add_loop_test(tc, no_line_that_was_found_is_better, 0, 2 * NUM_LIMITS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
