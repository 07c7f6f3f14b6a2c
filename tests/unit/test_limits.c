/* Limits for lines, against a slow search that tries limits all over, one after the other. */
#include "remat/search/limits.h"

#include "ir/module_check.h"
#include "search_network.h"

enum { NUM_LIMITS = 4, NUM_TRIED = 8 };

typedef struct Searched {
  SearchFixture fixture;
  SearchJob job;
  EntrySearch entry;
  Patience patience;
  int64_t peak_bytes;
} Searched;

/* A search of a network under a share of its peak; with `num_steps` for it. */
static void begin(Searched *searched, int which, uint64_t num_steps) {
  static const char *const models[] = {"heap", "liveness"};
  SearchFixture *fixture = &searched->fixture;
  search_begin(fixture, make_network(), models[which % 2], NULL, true);
  searched->peak_bytes = remat_state_peak(&fixture->job, fixture->fixture.scratch);
  fixture->job.peak_limit.bytes = searched->peak_bytes / 100 * (95 - 18 * (which / 2));
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  patience_begin(&searched->patience, &options, 0);
  patience_renew(&searched->patience, num_steps);
  fixture->job.patience = &searched->patience;
  searched->job = job_of(fixture);
  searched->entry = (EntrySearch){.search = &searched->job,
                                  .before = remat_state_save(&fixture->job, fixture->fixture.out),
                                  .is_fresh = true};
}

static void end(Searched *searched) {
  result_free(&searched->entry.best);
  if (searched->job.found.arena) arena_free(searched->job.found.arena);
  arena_free(searched->job.arena);
  fixture_free(&searched->fixture.fixture);
}

/* The best result of searches under limits from the peak down. */
static Score slow_best(int which) {
  Searched searched;
  begin(&searched, which, UINT64_C(1) << 40);
  for (int64_t i = 1; i <= NUM_TRIED; i++)
    search_once(&searched.entry, (LineLimit){searched.peak_bytes / NUM_TRIED * i});
  Score best = searched.entry.best.figures.taken;
  end(&searched);
  return best;
}

static void check_limits(int which, bool is_first_too_high, Score slow) {
  Searched searched;
  begin(&searched, which, UINT64_C(1) << 40);
  RematJob *job = searched.job.job;
  LineLimit limit = limit_of_line(job->peak_limit, searched.job.difference_bytes);
  if (is_first_too_high) limit.bytes += limit.bytes / 4;
  search_limits(&searched.entry, limit);
  Score best = searched.entry.best.figures.taken;
  ck_assert_msg(best.is_met || !slow.is_met, "%lld are met with %lld, and missed with %lld",
                (long long)job->peak_limit.bytes, (long long)slow.bytes, (long long)best.bytes);
  ck_assert_msg(!best.is_met || best.seconds <= slow.seconds * 1.05, "%g, and by trying %g",
                best.seconds, slow.seconds);
  ck_assert(best.is_met == (best.bytes <= job->peak_limit.bytes));
  end(&searched);
}

/* The first limit may be too high, as where packing wastes more than in the order given. */
START_TEST(limits_lead_to_what_trying_them_all_leads_to) {
  Score slow = slow_best(_i);
  check_limits(_i, false, slow);
  check_limits(_i, true, slow);
}
END_TEST

START_TEST(the_best_is_what_the_module_comes_to) {
  Searched searched;
  begin(&searched, _i, UINT64_C(1) << 40);
  RematJob *job = searched.job.job;
  Arena *scratch = searched.fixture.fixture.scratch;
  search_limits(&searched.entry, limit_of_line(job->peak_limit, searched.job.difference_bytes));
  const Result *best = &searched.entry.best;
  search_job_restore(&searched.job, &best->state, best->num_steps);
  InstId bad;
  ck_assert_int_eq(remat_state_peak(job, scratch), best->figures.taken.bytes);
  ck_assert_int_eq(module_check(searched.fixture.fixture.module, NULL), RH_OK);
  ck_assert(schedule_is_valid(searched.fixture.fixture.module, job->schedule, &bad, scratch));
  /* Each search begins from the module as it was given. */
  search_entry_again(&searched.entry);
  ck_assert_int_eq(remat_state_peak(job, scratch), searched.peak_bytes);
  end(&searched);
}
END_TEST

START_TEST(without_steps_nothing_is_lost) {
  Searched searched;
  begin(&searched, _i, 100);
  RematJob *job = searched.job.job;
  search_limits(&searched.entry, limit_of_line(job->peak_limit, searched.job.difference_bytes));
  ck_assert_int_le(searched.entry.best.figures.taken.bytes, searched.peak_bytes);
  end(&searched);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("limits");
  TCase *tc = tcase_create("limits");
  tcase_add_loop_test(tc, limits_lead_to_what_trying_them_all_leads_to, 0, 2 * NUM_LIMITS);
  tcase_add_loop_test(tc, the_best_is_what_the_module_comes_to, 0, 2 * NUM_LIMITS);
  tcase_add_loop_test(tc, without_steps_nothing_is_lost, 0, 2 * NUM_LIMITS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
