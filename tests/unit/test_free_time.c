#include "analysis/pack/free_time.h"

#include "support.h"

enum { NUM_TIMES = 60, MAX_TAKEN = 12 };

/* A small generator of our own: results must not depend on the C library's. */
static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

/* What is taken, as a list. */
typedef struct Taken {
  PackSpan ranges[MAX_TAKEN];
  uint32_t len;
} Taken;

static PackSpan random_range(uint64_t *state) {
  uint32_t start = next_random(state) % NUM_TIMES;
  uint32_t length = next_random(state) % (next_random(state) % 2 ? 4 : NUM_TIMES - start);
  return (PackSpan){start, start + length < NUM_TIMES ? start + length : NUM_TIMES - 1};
}

static bool is_free(const Taken *taken, PackSpan wanted) {
  for (uint32_t i = 0; i < taken->len; i++) {
    PackSpan range = taken->ranges[i];
    if (wanted.begin < range.end && wanted.end > range.begin) return false;
  }
  return true;
}

static FreeTime random_free_time(Taken *taken, uint32_t len, uint64_t *state) {
  FreeTime free_time = free_time_all();
  for (taken->len = 0; taken->len < len; taken->len++) {
    taken->ranges[taken->len] = random_range(state);
    free_time_take(&free_time, taken->ranges[taken->len]);
  }
  return free_time;
}

START_TEST(what_is_free_is_never_refused) {
  uint64_t state = 1 + (uint64_t)_i;
  Taken a, b;
  FreeTime x = random_free_time(&a, next_random(&state) % MAX_TAKEN, &state);
  FreeTime y = random_free_time(&b, next_random(&state) % MAX_TAKEN, &state);
  FreeTime joined = free_time_join(&x, &y);
  uint32_t num_wrong = 0;
  for (uint32_t step = 0; step < 200; step++) {
    PackSpan wanted = random_range(&state);
    num_wrong += is_free(&a, wanted) && !free_time_may_hold(&x, wanted);
    num_wrong += is_free(&b, wanted) && !free_time_may_hold(&y, wanted);
    bool is_free_in_one = is_free(&a, wanted) || is_free(&b, wanted);
    num_wrong += is_free_in_one && !free_time_may_hold(&joined, wanted);
  }
  ck_assert_uint_eq(num_wrong, 0);
}
END_TEST

/* As long as there is room for all gaps, what is not free is refused. */
START_TEST(few_gaps_are_exact) {
  uint64_t state = 1000 + (uint64_t)_i;
  Taken taken;
  FreeTime free_time = random_free_time(&taken, next_random(&state) % MAX_GAPS, &state);
  uint32_t num_wrong = 0;
  for (uint32_t step = 0; step < 200; step++) {
    PackSpan wanted = random_range(&state);
    num_wrong += is_free(&taken, wanted) != free_time_may_hold(&free_time, wanted);
  }
  ck_assert_uint_eq(num_wrong, 0);
}
END_TEST

/* Many short gaps look like one that is long, but hold only what is short. */
START_TEST(many_short_gaps_hold_nothing_long) {
  FreeTime free_time = free_time_all();
  for (uint32_t time = 0; time < 1000; time += 10)
    free_time_take(&free_time, (PackSpan){time, time + 8});
  ck_assert(free_time_may_hold(&free_time, (PackSpan){508, 510}));
  ck_assert(!free_time_may_hold(&free_time, (PackSpan){500, 503}));
  ck_assert(!free_time_may_hold(&free_time, (PackSpan){100, 900}));
  ck_assert(free_time_may_hold(&free_time, (PackSpan){998, 5000}));
}
END_TEST

START_TEST(an_empty_offer_holds_nothing) {
  FreeTime nothing = {0}, all = free_time_all();
  ck_assert(!free_time_may_hold(&nothing, (PackSpan){5, 5}));
  FreeTime joined = free_time_join(&nothing, &all);
  ck_assert(free_time_may_hold(&joined, (PackSpan){5, 50}));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("free_time");
  TCase *cases = tcase_create("gaps");
  tcase_add_loop_test(cases, what_is_free_is_never_refused, 0, 200);
  tcase_add_loop_test(cases, few_gaps_are_exact, 0, 200);
  tcase_add_test(cases, many_short_gaps_hold_nothing_long);
  tcase_add_test(cases, an_empty_offer_holds_nothing);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
