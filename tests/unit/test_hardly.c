#include "remat/engine/hardly.h"

#include "support.h"

static const struct {
  const char *what;
  HardlyFigures figures;
  bool hardly_helps;
} rows[] = {
    {"-0.8 % for +38.7 %", {1000, 992, 600, 1, 1.387}, true},
    {"little for little time", {1000, 992, 600, 1, 1.001}, false},
    {"little for no time", {1000, 992, 600, 1, 1}, false},
    {"little, and faster", {1000, 992, 600, 1, 0.9}, false},
    {"a tenth of what is asked for", {1000, 960, 600, 1, 1.387}, false},
    {"less than a tenth of it", {1000, 961, 600, 1, 1.387}, true},
    {"the budget is met", {1000, 992, 992, 1, 1.387}, false},
    {"little, but little was asked for", {1000, 992, 990, 1, 1.387}, false},
    {"as low as is possible", {1000, 992, 0, 1, 1.387}, false},
    {"more memory", {1000, 1008, 600, 1, 1.387}, true},
    {"no time is known", {1000, 992, 600, 0, 0}, false},
};

START_TEST(hardly_helps_matches_table) {
  ck_assert_msg(hardly_helps(&rows[_i].figures) == rows[_i].hardly_helps, "%s", rows[_i].what);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("hardly");
  TCase *tc = tcase_create("hardly");
  tcase_add_loop_test(tc, hardly_helps_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
