#include "analysis/cost/elementary.h"

#include <math.h>

#include "support.h"

START_TEST(logarithms_and_exponentials) {
  for (int i = -2000; i <= 2000; i++) {
    double x = i * 0.31, value = exp(x);
    if (fabs(x) > 650) continue;
    ck_assert_double_le(fabs(steady_log(value) - x), 4e-15 * (1 + fabs(x)));
    ck_assert_double_le(fabs(steady_exp(x) / value - 1), 1e-13);
  }
  ck_assert(steady_log(1) == 0 && steady_exp(0) == 1);
}
END_TEST

START_TEST(powers_of_ten) {
  static const struct {
    double value;
    int exponent;
  } cases[] = {{1, 0},       {9.99, 0},   {10, 1},    {99999, 4},   {1e22, 22},  {0.1, -1},
               {0.0999, -2}, {0.001, -3}, {1e-7, -7}, {3e-12, -12}, {4.2e15, 15}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(exponent_of_ten(cases[i].value) == cases[i].exponent, "%g", cases[i].value);
  ck_assert(power_of_ten(0) == 1 && power_of_ten(22) == 1e22);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("elementary");
  TCase *tc = tcase_create("elementary");
  tcase_add_test(tc, logarithms_and_exponentials);
  tcase_add_test(tc, powers_of_ten);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
