/* What pictures of memory are made of. */
#include "emit/picture/picture.h"

#include "emit/picture/svg.h"
#include "support.h"

START_TEST(marks_are_few_and_round) {
  static const struct {
    int64_t bytes, byte_step, count_step;
  } cases[] = {{0, 1, 1},
               {8, 1, 1},
               {9, 2, 2},
               {100, 16, 20},
               {1 << 20, 131072, 200000},
               {INT64_MAX, INT64_C(1) << 60, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(picture_byte_step(cases[i].bytes, 8), cases[i].byte_step);
    if (!cases[i].count_step) continue;
    ck_assert_int_eq(picture_count_step(cases[i].bytes, 8), cases[i].count_step);
  }
}
END_TEST

START_TEST(limits_stand_over_what_does_not_count) {
  const rh_memory memory = {.temp_bytes = 30, .output_bytes = 20, .total_bytes = 90};
  rh_memory_map map = {.total_bytes = 100, .memory = &memory};
  rh_picture picture = RH_PICTURE_INIT;
  ck_assert_int_eq(picture_limit(&picture, &map), -1);
  picture.limit_bytes = 25;
  ck_assert_int_eq(picture_limit(&picture, &map), 35); /* 10 are constants */
  picture.limit_counts = RH_COUNT_TEMP_OUTPUTS;
  ck_assert_int_eq(picture_limit(&picture, &map), 75);
  picture.limit_counts = RH_COUNT_TEMP;
  ck_assert_int_eq(picture_limit(&picture, &map), 95);
  picture.limit_bytes = INT64_MAX;
  ck_assert_int_eq(picture_limit(&picture, &map), -1);
}
END_TEST

START_TEST(places_do_not_overflow) {
  SvgPanel panel = {.left = 1000,
                    .right = 101000,
                    .top = 500,
                    .bottom = 60500,
                    .num_positions = UINT32_MAX,
                    .bytes = INT64_MAX};
  ck_assert_int_eq(svg_x(&panel, 0), 1000);
  ck_assert_int_eq(svg_x(&panel, UINT32_MAX), 101000);
  ck_assert_int_eq(svg_y(&panel, 0), 60500);
  ck_assert_int_eq(svg_y(&panel, INT64_MAX), 500);
  ck_assert_int_eq(svg_y(&panel, INT64_MAX / 2), 30501);
  panel.bytes = 0;
  ck_assert_int_eq(svg_y(&panel, 0), 60500);
}
END_TEST

START_TEST(every_category_has_its_colour) {
  static const char *const names[] = {"temporary", "copy",      "while carry", "output",
                                      "donated",   "parameter", "constant"};
  for (uint32_t i = 0; i < NUM_PICTURE_CATEGORIES; i++) {
    rh_live_value value = {.category = names[i]};
    ck_assert_uint_eq(picture_category(&value), i);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("picture");
  TCase *tcase = tcase_create("picture");
  tcase_add_test(tcase, marks_are_few_and_round);
  tcase_add_test(tcase, limits_stand_over_what_does_not_count);
  tcase_add_test(tcase, places_do_not_overflow);
  tcase_add_test(tcase, every_category_has_its_colour);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
