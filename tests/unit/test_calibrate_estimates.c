/* Prices of units are fitted to estimates. */
#include "analysis/cost/calibrate_estimates.h"

#include <math.h>

#include "support.h"

enum { NUM_WORKS = 60 };

static const CostUnit fitted[] = {UNIT_KERNEL, UNIT_READ, UNIT_WRITE, UNIT_STAGED};

/* Instructions of several sizes, each of some of the units, whose cycles follow from the prices. */
static void make_works(const UnitPrices *prices, EstimatedWork works[NUM_WORKS]) {
  for (uint32_t i = 0; i < NUM_WORKS; i++) {
    InstWork work = {.kind = WORK_KERNEL};
    float size = (float)(10 << i % 8);
    work.units.of[UNIT_KERNEL] = 1;
    work.units.of[UNIT_READ] = size;
    work.units.of[UNIT_WRITE] = i % 3 ? size : 0;
    work.units.of[UNIT_STAGED] = i % 4 == 1 ? 2 * size : 0;
    UnitBound ignored;
    work.cycles = units_cycles(&work.units, prices, &ignored);
    works[i] = (EstimatedWork){work, i % 5};
  }
}

static UnitPrices machine(void) {
  UnitPrices prices = unit_prices_begin();
  prices.of[UNIT_KERNEL] = 900;
  prices.of[UNIT_READ] = 3;
  prices.of[UNIT_WRITE] = 20;
  prices.of[UNIT_STAGED] = 1;
  return prices;
}

START_TEST(prices_are_found) {
  UnitPrices real = machine(), begin = unit_prices_begin();
  EstimatedWork works[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  make_works(&real, works);
  UnitPrices made = prices_fit(works, NUM_WORKS, NO_ID, &begin, arena);
  for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++) {
    double ratio = made.of[fitted[i]] / real.of[fitted[i]];
    ck_assert_msg(fabs(log(ratio)) < 0.03, "%s: %g, not %g", unit_key(fitted[i]),
                  made.of[fitted[i]], real.of[fitted[i]]);
  }
  /* Nothing says anything about the others. */
  ck_assert_double_eq(made.of[UNIT_ANGLE], begin.of[UNIT_ANGLE]);
  ck_assert_double_eq(made.of[UNIT_PRODUCT_VECTOR], begin.of[UNIT_PRODUCT_VECTOR]);
  arena_free(arena);
}
END_TEST

/* A group whose estimates are all wrong changes nothing when it is held out. */
START_TEST(held_out_group_does_not_count) {
  UnitPrices real = machine(), begin = unit_prices_begin();
  EstimatedWork works[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  make_works(&real, works);
  UnitPrices expected = prices_fit(works, NUM_WORKS, 2, &begin, arena);
  for (uint32_t i = 0; i < NUM_WORKS; i++) {
    if (works[i].group == 2) works[i].work.cycles *= 100;
  }
  UnitPrices made = prices_fit(works, NUM_WORKS, 2, &begin, arena);
  for (int unit = 0; unit < NUM_UNITS; unit++)
    ck_assert_double_eq(made.of[unit], expected.of[unit]);
  arena_free(arena);
}
END_TEST

/* A few estimates that are far off move the prices less than the many that fit. */
START_TEST(outliers_weigh_little) {
  UnitPrices real = machine(), begin = unit_prices_begin();
  EstimatedWork works[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  make_works(&real, works);
  works[7].work.cycles *= 50;
  works[22].work.cycles *= 50;
  UnitPrices made = prices_fit(works, NUM_WORKS, NO_ID, &begin, arena);
  for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++)
    ck_assert_double_lt(fabs(log(made.of[fitted[i]] / real.of[fitted[i]])), 0.15);
  arena_free(arena);
}
END_TEST

/* Of equal instructions one is taken, and of those without an estimate none. */
START_TEST(equal_work_counts_once) {
  static const char text[] =
      "HloModule m\nENTRY e {\n p = f32[8,128]{1,0} parameter(0)\n"
      " a = f32[8,128]{1,0} negate(p), "
      "backend_config={\"window_config\":{\"estimated_cycles\":\"9\"}}\n"
      " b = f32[8,128]{1,0} negate(a), "
      "backend_config={\"window_config\":{\"estimated_cycles\":\"9\"}}\n"
      " c = f32[8,128]{1,0} tanh(b), "
      "backend_config={\"window_config\":{\"estimated_cycles\":\"9\"}}\n"
      " ROOT d = f32[8,128]{1,0} tanh(c)\n}\n";
  Module *module = parse_or_fail(text);
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  CostTable table = cost_analyze(module, arena, scratch);
  EstimatedWork *works;
  ck_assert_uint_eq(estimated_works(module, &table, 3, &works, arena, scratch), 2);
  ck_assert_uint_eq(works[0].group, 3);
  ck_assert_double_eq(works[1].work.cycles, 9);
  arena_free(scratch);
  arena_free(arena);
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("calibrate_estimates");
  TCase *tc = tcase_create("calibrate_estimates");
  tcase_add_test(tc, prices_are_found);
  tcase_add_test(tc, held_out_group_does_not_count);
  tcase_add_test(tc, outliers_weigh_little);
  tcase_add_test(tc, equal_work_counts_once);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
