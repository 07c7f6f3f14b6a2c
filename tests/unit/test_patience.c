#include "remat/job/patience.h"

#include <pthread.h>

#include "ir/clock.h"
#include "support.h"

/* A caller who cancels at a certain question; 0 = never. */
typedef struct Caller {
  uint64_t num_questions, cancels_at;
  int64_t best_bytes;
} Caller;

static bool ask(void *context) {
  Caller *caller = context;
  return ++caller->num_questions == caller->cancels_at;
}

static void hear(void *context, const rh_progress *progress) {
  Caller *caller = context;
  caller->best_bytes = progress->best_bytes;
}

static rh_remat_options options_with(Caller *caller) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.cancel = ask;
  options.progress = hear;
  options.context = caller;
  return options;
}

/* ---- steps ---- */

START_TEST(steps_are_used_up_until_there_are_more) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Patience patience;
  patience_begin(&patience, &options, 0);
  patience.num_steps = 100;
  ck_assert(patience_spend(&patience, 60));
  ck_assert(patience_spend(&patience, 40));
  ck_assert(!patience_is_over(&patience));
  ck_assert(!patience_spend(&patience, 1));
  ck_assert(!patience_spend(&patience, 0));
  ck_assert(patience_is_over(&patience));
  ck_assert_uint_eq(patience_steps_left(&patience), 0);
  patience_renew(&patience, 50);
  ck_assert(!patience_is_over(&patience));
  ck_assert_uint_eq(patience_steps_left(&patience), 50);
  patience_renew(&patience, 20); /* more than that are left */
  ck_assert_uint_eq(patience_steps_left(&patience), 50);
  ck_assert(!patience_spend(&patience, 51));
  /* Those who do not count steps go on. */
  ck_assert(!patience_is_stopped(&patience));
}
END_TEST

/* The additional steps are those of the whole, whoever takes them. */
START_TEST(a_missed_budget_has_more_steps) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Patience patience;
  patience_begin(&patience, &options, 0);
  patience.num_steps = 100;
  patience.num_more = 70;
  Patience part = patience_part(&patience, 100);
  ck_assert(!patience_spend(&part, 101));
  ck_assert(patience_go_on(&part, 50));
  ck_assert(!patience_is_over(&part));
  ck_assert_uint_eq(patience_steps_left(&part), 50);
  ck_assert(patience_spend(&part, 50));
  patience_join(&patience, &part);
  ck_assert_uint_eq(patience_steps_left(&patience), 0);
  ck_assert(!patience_go_on(&patience, 21));
  ck_assert(patience_go_on(&patience, 20));
  ck_assert_uint_eq(patience_steps_left(&patience), 20);
  ck_assert(!patience_go_on(&patience, 1));
  ck_assert(!patience_go_on(NULL, 1));
}
END_TEST

/* What a search with additional steps has not spent is there for the next one, if there is time. */
START_TEST(steps_that_were_not_needed_are_given_back) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  for (int effort = 0; effort <= 3; effort++) {
    options.effort = effort;
    Patience patience;
    patience_begin(&patience, &options, 0);
    patience.num_steps = 100;
    patience.num_more = 70;
    Patience part = patience_part(&patience, 100);
    ck_assert(patience_go_on(&part, 50));
    ck_assert(patience_spend(&part, 20));
    patience_give_back(&part, 50, 20);
    ck_assert_uint_eq(patience.num_more, effort > 1 ? 50 : 20);
    ck_assert_uint_eq(patience_steps_left(&part), effort > 1 ? 100 : 130);
    patience_give_back(&part, 20, 30); /* it has spent its own ones, too */
    ck_assert_uint_eq(patience.num_more, effort > 1 ? 50 : 20);
  }
}
END_TEST

START_TEST(another_way_has_steps_again) {
  RematParameters parameters = parameters_default();
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  for (int effort = RH_EFFORT_BY_SIZE; effort <= 3; effort++) {
    options.effort = effort;
    Patience patience;
    patience_begin(&patience, &options, 0);
    patience.num_more = effort > 1 ? 0 : 1000000000000;
    patience_renew_shortly(&patience, 20000, &parameters);
    uint64_t own = effort > 1 ? 0 : patience_steps_of(effort, 20000, &parameters);
    ck_assert_uint_eq(patience_steps_left(&patience), own);
    ck_assert_uint_eq(patience.num_more, 2 * own);
  }
}
END_TEST

START_TEST(higher_efforts_have_fewer_rounds) {
  RematParameters parameters = parameters_default();
  for (int effort = RH_EFFORT_BY_SIZE; effort <= 9; effort++) {
    uint64_t own = patience_steps_of(effort, 20000, &parameters);
    uint64_t more = patience_more_steps_of(effort, 20000, &parameters);
    uint64_t ten = 10 * patience_steps_of(1, 20000, &parameters);
    uint64_t short_steps = effort > 1 ? ten < 3 * own ? ten : 3 * own : 0;
    ck_assert_uint_eq(patience_short_steps_of(effort, 20000, &parameters), short_steps);
    uint64_t rounds = effort > 1 ? 2 : (uint64_t)parameters.search_rounds;
    ck_assert_uint_eq(more, own * rounds + short_steps);
  }
  parameters.search_rounds = 0;
  ck_assert_uint_eq(patience_more_steps_of(5, 20000, &parameters), 0);
  ck_assert_uint_eq(patience_more_steps_of(1, 20000, &parameters), 0);
}
END_TEST

START_TEST(any_number_of_steps_can_be_asked_for) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Patience patience;
  patience_begin(&patience, &options, 0);
  patience.num_steps = UINT64_MAX;
  ck_assert(patience_spend(&patience, UINT64_MAX - 1));
  ck_assert(!patience_spend(&patience, UINT64_MAX));
}
END_TEST

static const struct {
  int effort;
  uint32_t num_insts;
  int64_t parameter;
  uint64_t steps;
} step_cases[] = {
    {0, 0, 20, 960000}, /* those for 4,000 instructions: 12 bits */
    {9, 1, 20, 75663013125},
    {2, 4000, 20, 11760000},
    {0, 4001, 20, 960240},
    {1, 9000, 20, 8820000},
    {0, 10000, 20, 2800000}, /* 14 bits */
    {5, 10000, 20, 1470612500},
    {9, 10000, 20, 220683788279},
    {0, 1000000, 20, 400000000}, /* 20 bits */
    {1, 1000000, 20, 1400000000},
    {2, 1000000, 20, 1400000000},
    {5, 20000, 20, 1176480000}, /* four fifths of those for 10,000 instructions */
    {5, 1000000, 20, 1400000000},
    {9, 1000000, 20, 8570240000},
    {9, UINT32_MAX, 1000000, UINT64_C(481036337040000000)},
    {RH_EFFORT_BY_SIZE, 1, 20, 1155000}, /* those of effort 1 for 1,500 instructions: 11 bits */
    {RH_EFFORT_BY_SIZE, 9000, 20, 8820000},
    {RH_EFFORT_BY_SIZE, 20000, 20, 7840000},     /* four fifths of those for 10,000 instructions */
    {RH_EFFORT_BY_SIZE, 1000000, 20, 400000000}, /* those of effort 0 */
};

START_TEST(efforts_give_steps) {
  RematParameters parameters = parameters_default();
  parameters.search_steps = step_cases[_i].parameter;
  uint64_t steps = patience_steps_of(step_cases[_i].effort, step_cases[_i].num_insts, &parameters);
  ck_assert_uint_eq(steps, step_cases[_i].steps);
}
END_TEST

/* ---- the clock and the caller ---- */

START_TEST(small_modules_have_more_than_their_size_gives) {
  RematParameters parameters = parameters_default();
  for (uint32_t num_insts = 100; num_insts < 20000; num_insts *= 2) {
    uint64_t all = patience_steps_of(5, num_insts, &parameters);
    uint64_t own = patience_steps_by_size(5, num_insts, &parameters);
    if (num_insts < 4000) ck_assert_uint_lt(own, all);
    if (num_insts >= 4000) ck_assert_uint_eq(own, all);
  }
  parameters.search_steps = 20;
  ck_assert_uint_eq(patience_steps_by_size(0, 0, &parameters), 0);
  ck_assert_uint_eq(patience_steps_by_size(2, 1, &parameters), 245);
  ck_assert_uint_eq(patience_steps_by_size(1, 1600, &parameters), 1600 * 11 * 70);
}
END_TEST

START_TEST(the_caller_is_asked_now_and_then) {
  Caller caller = {.cancels_at = 3};
  rh_remat_options options = options_with(&caller);
  Patience patience;
  uint64_t spent = 0;
  patience_begin(&patience, &options, 0);
  patience.num_steps = UINT64_MAX;
  while (patience_spend(&patience, 1))
    spent++;
  ck_assert_uint_eq(spent, 2 * PATIENCE_STEPS_PER_QUESTION);
  ck_assert(patience_was_interrupted(&patience));
  ck_assert(!patience_was_timed_out(&patience));
  /* There is nothing more to ask. */
  ck_assert(patience_is_stopped(&patience));
  patience_renew(&patience, 50);
  ck_assert(!patience_spend(&patience, 1));
  ck_assert_uint_eq(caller.num_questions, 3);
}
END_TEST

START_TEST(those_without_steps_ask_at_once) {
  Caller caller = {.cancels_at = 2};
  rh_remat_options options = options_with(&caller);
  Patience patience;
  patience_begin(&patience, &options, 0);
  ck_assert(!patience_is_stopped(&patience));
  ck_assert(patience_is_stopped(&patience));
  ck_assert(patience_is_over(&patience));
  ck_assert(!patience_spend(&patience, 0));
}
END_TEST

START_TEST(the_deadline_ends_it) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Patience patience;
  options.time_limit_seconds = 1000;
  patience_begin(&patience, &options, seconds_now());
  patience.num_steps = 10;
  ck_assert(!patience_is_stopped(&patience) && patience_spend(&patience, 1));
  patience_begin(&patience, &options, seconds_now() - 1001);
  patience.num_steps = 10;
  ck_assert(!patience_is_over(&patience));
  ck_assert(!patience_spend(&patience, 1));
  ck_assert(patience_was_timed_out(&patience));
  ck_assert(!patience_was_interrupted(&patience));
}
END_TEST

/* Less memory is better until the budget is met, then less time, then less memory. */
static const struct {
  int64_t bytes;
  bool is_met;
  double seconds;
  int64_t heard_bytes;
} reports[] = {
    {5000, false, 0, 5000},  {6000, false, 0, 5000},   {5000, false, -1, 5000},
    {4096, true, 0.5, 4096}, {4096, true, 0.5, 4096},  {3000, false, 0.1, 4096},
    {4000, true, 0.5, 4000}, {4000, true, 0.75, 4000}, {4050, true, 0.25, 4050},
};

START_TEST(the_caller_hears_of_the_best) {
  Caller caller = {0};
  rh_remat_options options = options_with(&caller);
  Patience patience;
  patience_begin(&patience, &options, 0);
  ck_assert(patience_is_watched(&patience));
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
    patience_report(&patience, reports[i].bytes, reports[i].is_met, reports[i].seconds);
    ck_assert_int_eq(caller.best_bytes, reports[i].heard_bytes);
  }
  options.progress = NULL;
  patience_begin(&patience, &options, 0);
  ck_assert(!patience_is_watched(&patience));
  patience_report(&patience, 1, true, 0);
  ck_assert_int_eq(caller.best_bytes, 4050);
}
END_TEST

START_TEST(nobody_is_patient_forever) {
  ck_assert(patience_spend(NULL, UINT64_MAX));
  ck_assert(!patience_is_stopped(NULL) && !patience_is_over(NULL));
  ck_assert(!patience_was_interrupted(NULL) && !patience_was_timed_out(NULL));
  ck_assert(!patience_is_watched(NULL));
  ck_assert_int_eq(patience_effort(NULL), 5);
  patience_report(NULL, 0, false, 0);
}
END_TEST

/* ---- threads ---- */

START_TEST(parts_have_steps_of_their_own) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Patience whole;
  patience_begin(&whole, &options, 0);
  whole.num_steps = 100;
  Patience first = patience_part(&whole, 30), second = patience_part(&whole, 70);
  ck_assert(patience_spend(&first, 30));
  ck_assert(!patience_spend(&first, 1));
  ck_assert(patience_spend(&second, 10));
  ck_assert_uint_eq(patience_steps_left(&whole), 100);
  patience_join(&whole, &first);
  patience_join(&whole, &second);
  ck_assert_uint_eq(patience_steps_left(&whole), 60);
  ck_assert_int_eq(patience_effort(&first), 5);
}
END_TEST

typedef struct Worker {
  pthread_t thread;
  Patience part;
} Worker;

static void *work(void *context) {
  Worker *worker = context;
  while (patience_spend(&worker->part, PATIENCE_STEPS_PER_QUESTION)) {}
  return NULL;
}

/* The caller counts without a lock: two questions at the same time would lose one. */
START_TEST(one_cancellation_ends_all_parts) {
  enum { NUM_WORKERS = 4 };
  Caller caller = {.cancels_at = 2000};
  rh_remat_options options = options_with(&caller);
  Patience whole;
  Worker workers[NUM_WORKERS];
  patience_begin(&whole, &options, 0);
  whole.num_steps = UINT64_MAX;
  for (int i = 0; i < NUM_WORKERS; i++) {
    workers[i].part = patience_part(&whole, UINT64_MAX);
    ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < NUM_WORKERS; i++)
    pthread_join(workers[i].thread, NULL);
  ck_assert(patience_was_interrupted(&whole) && patience_is_over(&whole));
  ck_assert_uint_eq(caller.num_questions, 2000);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("patience");
  TCase *tc = tcase_create("patience");
  tcase_add_test(tc, steps_are_used_up_until_there_are_more);
  tcase_add_test(tc, a_missed_budget_has_more_steps);
  tcase_add_test(tc, steps_that_were_not_needed_are_given_back);
  tcase_add_test(tc, another_way_has_steps_again);
  tcase_add_test(tc, higher_efforts_have_fewer_rounds);
  tcase_add_test(tc, any_number_of_steps_can_be_asked_for);
  tcase_add_loop_test(tc, efforts_give_steps, 0, sizeof step_cases / sizeof *step_cases);
  tcase_add_test(tc, small_modules_have_more_than_their_size_gives);
  tcase_add_test(tc, the_caller_is_asked_now_and_then);
  tcase_add_test(tc, those_without_steps_ask_at_once);
  tcase_add_test(tc, the_deadline_ends_it);
  tcase_add_test(tc, the_caller_hears_of_the_best);
  tcase_add_test(tc, nobody_is_patient_forever);
  tcase_add_test(tc, parts_have_steps_of_their_own);
  tcase_add_test(tc, one_cancellation_ends_all_parts);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
