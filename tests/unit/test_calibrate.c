/* Device profiles are fitted to measured times. */
#include "analysis/cost/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/cost/model_error.h"
#include "support.h"

/* Programs of one kind of work each, so that each figure is determined. */
static const InstWork works[] = {
    {.kind = WORK_KERNEL, .type = TYPE_F32, .bytes = 1e9},
    {.kind = WORK_KERNEL, .type = TYPE_F32, .bytes = 5e9},
    {.kind = WORK_KERNEL, .type = TYPE_F32, .is_matrix = true, .flops = 4e12, .bytes = 1},
    {.kind = WORK_KERNEL, .type = TYPE_F64, .is_matrix = true, .flops = 1e12, .bytes = 1},
    {.kind = WORK_KERNEL, .type = TYPE_F32, .flops = 1e11, .bytes = 1},
    {.kind = WORK_KERNEL, .type = TYPE_F32, .transcendentals = 2e10, .bytes = 1},
    {.kind = WORK_KERNEL, .type = TYPE_F32, .bytes = 1},
};
enum { NUM_WORKS = sizeof works / sizeof *works };

static DeviceProfile sample(void) {
  DeviceProfile profile = device_profile_default();
  profile.flops[TYPE_F64] /= 2;
  return profile;
}

/* The machine differs from the sample by another factor in each figure. */
static DeviceProfile machine(void) {
  DeviceProfile profile = sample();
  profile.memory_bandwidth /= 100;
  for (int type = 0; type < NUM_TYPES; type++) {
    profile.flops[type] /= 300;
    profile.vector_flops[type] /= 50;
  }
  profile.transcendentals /= 20;
  profile.kernel_seconds = 3e-6;
  return profile;
}

static void measure(const DeviceProfile *profile, WorkTerm terms[NUM_WORKS],
                    Measurement measurements[NUM_WORKS]) {
  for (uint32_t i = 0; i < NUM_WORKS; i++) {
    terms[i] = (WorkTerm){works[i], i == NUM_WORKS - 1 ? 1000 : 1};
    measurements[i].terms = (WorkTerms){&terms[i], 1};
    measurements[i].seconds = terms_seconds(measurements[i].terms, profile);
    measurements[i].group = i;
  }
}

static void check_near(double value, double expected) {
  ck_assert_double_lt(fabs(log(value / expected)), log(1.03));
}

START_TEST(machine_is_found) {
  WorkTerm terms[NUM_WORKS];
  Measurement measurements[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  DeviceProfile begin = sample(), real = machine();
  measure(&real, terms, measurements);
  DeviceProfile made = profile_fit(measurements, NUM_WORKS, NO_ID, &begin, arena);
  check_near(made.memory_bandwidth, real.memory_bandwidth);
  check_near(made.flops[TYPE_F32], real.flops[TYPE_F32]);
  check_near(made.flops[TYPE_F64], real.flops[TYPE_F64]);
  check_near(made.vector_flops[TYPE_F32], real.vector_flops[TYPE_F32]);
  check_near(made.transcendentals, real.transcendentals);
  check_near(made.kernel_seconds, real.kernel_seconds);
  ck_assert_double_eq(made.interconnect, begin.interconnect);
  arena_free(arena);
}
END_TEST

/* Without the program that says how slow transcendentals are, they keep their proportion to what is
 * slow in the median, and the measurement that is held out changes nothing. */
START_TEST(held_out_group_does_not_count) {
  WorkTerm terms[NUM_WORKS];
  Measurement measurements[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  DeviceProfile begin = sample(), real = machine();
  measure(&real, terms, measurements);
  DeviceProfile made = profile_fit(measurements, NUM_WORKS, 5, &begin, arena);
  measurements[5].seconds *= 1000;
  DeviceProfile again = profile_fit(measurements, NUM_WORKS, 5, &begin, arena);
  ck_assert_double_gt(fabs(log(made.transcendentals / real.transcendentals)), log(2));
  ck_assert_double_eq(made.transcendentals, again.transcendentals);
  ck_assert_double_eq(made.memory_bandwidth, again.memory_bandwidth);
  arena_free(arena);
}
END_TEST

START_TEST(figures_have_four_digits) {
  WorkTerm terms[NUM_WORKS];
  Measurement measurements[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  DeviceProfile begin = sample(), real = machine();
  measure(&real, terms, measurements);
  DeviceProfile made = profile_fit(measurements, NUM_WORKS, NO_ID, &begin, arena);
  const double figures[] = {made.memory_bandwidth, made.flops[TYPE_F32], made.kernel_seconds};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    char text[64];
    snprintf(text, sizeof text, "%.3e", figures[i]);
    ck_assert_double_eq(strtod(text, NULL), figures[i]);
  }
  arena_free(arena);
}
END_TEST

/* Work of the same kind is one term, and its time is that of cost_time(). */
START_TEST(terms_have_the_time_of_the_module) {
  static const char text[] =
      "HloModule m\n\nless {\n  s = (s32[], f32[64]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(7)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
      "turn {\n  t = (s32[], f32[64]) parameter(0)\n  j = s32[] get-tuple-element(t), index=0\n"
      "  one = s32[] constant(1)\n  k = s32[] add(j, one)\n"
      "  v = f32[64] get-tuple-element(t), index=1\n  w = f32[64] sine(v)\n"
      "  ROOT u = (s32[], f32[64]) tuple(k, w)\n}\n\n"
      "ENTRY e {\n  p = f32[64] parameter(0)\n  a = f32[64] negate(p)\n  b = f32[64] negate(a)\n"
      "  zero = s32[] constant(0)\n  init = (s32[], f32[64]) tuple(zero, b)\n"
      "  ROOT loop = (s32[], f32[64]) while(init), condition=less, body=turn, "
      "backend_config={\"known_trip_count\":{\"n\":\"7\"}}\n}\n";
  Module *module = parse_or_fail(text);
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  DeviceProfile profile = sample();
  profile.kernel_seconds = 1e-6;
  CostTable table = cost_analyze(module, arena, scratch);
  WorkTerms terms = work_terms(module, &table, &profile, 1, arena, scratch);
  double seconds = cost_total_weighted(module, &table, &profile, 1, scratch).seconds;
  ck_assert_uint_eq(terms.len, 4); /* the negations, the sine, the addition, the comparison */
  ck_assert_double_lt(fabs(terms_seconds(terms, &profile) / seconds - 1), 1e-12);
  arena_free(scratch);
  arena_free(arena);
  module_free(module);
}
END_TEST

START_TEST(sums_are_compared) {
  Arena *arena = arena_new(NULL);
  const double modelled[] = {1, 2, 3}, measured[] = {2, 2, 4};
  ck_assert_double_eq(model_error(modelled, measured, 3, arena).sum_ratio, 0.75);
  ck_assert(isnan(model_error(modelled, measured, 0, arena).sum_ratio));
  arena_free(arena);
}
END_TEST

/* What a compiler estimates, or prices of units, have no part in a profile that is fitted to
 * measured times. */
START_TEST(fitted_profile_is_a_roofline) {
  WorkTerm terms[NUM_WORKS];
  Measurement measurements[NUM_WORKS];
  Arena *arena = arena_new(NULL);
  DeviceProfile begin = sample(), real = machine();
  measure(&real, terms, measurements);
  begin.clock = 1e9;
  begin.has_units = true;
  begin.cycles = unit_prices_begin();
  DeviceProfile made = profile_fit(measurements, NUM_WORKS, NO_ID, &begin, arena);
  ck_assert(!made.has_units && made.clock <= 0);
  check_near(made.memory_bandwidth, real.memory_bandwidth);
  arena_free(arena);
}
END_TEST

START_TEST(errors_and_ranks) {
  static const struct {
    double modelled[4], measured[4];
    uint32_t count;
    double correlation, median, worst;
  } cases[] = {
      {{1, 2, 3}, {10, 20, 15}, 3, 0.5, 0.9, 0.9},
      {{3, 1, 3, 2}, {1, 2, 3, 4}, 4, -0.2108185, 0.5, 2}, /* equal values share their rank */
      {{4, 3, 2, 1}, {1, 2, 3, 4}, 4, -1, 0.625, 3},
      {{2}, {1}, 1, NAN, 1, 1},
      {{1, 1}, {1, 2}, 2, NAN, 0.25, 0.5},
      {{0}, {0}, 0, NAN, NAN, NAN},
  };
  Arena *arena = arena_new(NULL);
  ModelError error = model_error(cases[_i].modelled, cases[_i].measured, cases[_i].count, arena);
  const double found[] = {error.rank_correlation, error.median_error, error.worst_error};
  const double expected[] = {cases[_i].correlation, cases[_i].median, cases[_i].worst};
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(isnan(found[i]), isnan(expected[i]));
    if (!isnan(expected[i])) ck_assert_double_eq_tol(found[i], expected[i], 1e-6);
  }
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("calibrate");
  TCase *tcase = tcase_create("calibrate");
  tcase_add_test(tcase, machine_is_found);
  tcase_add_test(tcase, held_out_group_does_not_count);
  tcase_add_test(tcase, figures_have_four_digits);
  tcase_add_test(tcase, terms_have_the_time_of_the_module);
  tcase_add_loop_test(tcase, errors_and_ranks, 0, 6);
  tcase_add_test(tcase, sums_are_compared);
  tcase_add_test(tcase, fitted_profile_is_a_roofline);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
