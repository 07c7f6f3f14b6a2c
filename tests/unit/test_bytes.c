#include "ir/bytes.h"

#include <inttypes.h>

#include "support.h"

static const struct {
  int64_t a, b;
  bool fits;
  int64_t result;
} products[] = {
    {0, INT64_MAX, true, 0},
    {INT64_MIN, 0, true, 0},
    {1, INT64_MIN, true, INT64_MIN},
    {-1, INT64_MIN, false, 0},
    {-1, INT64_MAX, true, -INT64_MAX},
    {3037000499, 3037000499, true, INT64_C(9223372030926249001)},
    {3037000500, 3037000500, false, 0},
    {INT64_C(1) << 32, INT64_C(1) << 30, true, INT64_C(1) << 62},
    {INT64_C(1) << 32, INT64_C(1) << 31, false, 0},
    {-(INT64_C(1) << 32), INT64_C(1) << 31, true, INT64_MIN},
    {7, 6, true, 42},
};

static const struct {
  int64_t a, b;
  bool fits;
  int64_t result;
} sums[] = {
    {0, 0, true, 0},
    {INT64_MAX, 0, true, INT64_MAX},
    {INT64_MAX, 1, false, 0},
    {INT64_MIN, -1, false, 0},
    {INT64_MIN, INT64_MAX, true, -1},
    {INT64_MAX - 5, 5, true, INT64_MAX},
    {40, 2, true, 42},
};

START_TEST(products_are_checked) {
  int64_t out = 99;
  bool fits = mul_bytes(products[_i].a, products[_i].b, &out);
  int64_t wanted = products[_i].fits ? products[_i].result : 99; /* untouched on overflow */
  ck_assert_msg(fits == products[_i].fits && out == wanted,
                "%" PRId64 " * %" PRId64 ": %d, %" PRId64, products[_i].a, products[_i].b, fits,
                out);
}
END_TEST

START_TEST(sums_are_checked) {
  int64_t out = 99;
  bool fits = add_bytes(sums[_i].a, sums[_i].b, &out);
  int64_t wanted = sums[_i].fits ? sums[_i].result : 99;
  ck_assert_msg(fits == sums[_i].fits && out == wanted, "%" PRId64 " + %" PRId64 ": %d, %" PRId64,
                sums[_i].a, sums[_i].b, fits, out);
}
END_TEST

START_TEST(result_may_be_an_operand) {
  int64_t value = 6;
  ck_assert(mul_bytes(value, 7, &value));
  ck_assert(add_bytes(value, value, &value));
  ck_assert_int_eq(value, 84);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("bytes");
  TCase *tc = tcase_create("bytes");
  tcase_add_loop_test(tc, products_are_checked, 0, sizeof products / sizeof *products);
  tcase_add_loop_test(tc, sums_are_checked, 0, sizeof sums / sizeof *sums);
  tcase_add_test(tc, result_may_be_an_operand);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
