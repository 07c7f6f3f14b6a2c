/* Measured times are found by name. */
#include "ir/times.h"

#include "support.h"

static const TimedInst insts[] = {{{"copy", 4}, 1, 1},
                                  {{"dot.1", 5}, 2, 3},
                                  {{"tanh.3", 6}, 3, 3},
                                  {{"tanh.3.remat4", 13}, 4, 3}};
static const TimedModule module = {.name = {"jit_f", 5}, .insts = insts, .num_insts = 4};
static const Times times = {.modules = &module, .num_modules = 1};

static const struct {
  const char *name;
  double seconds;
} cases[] = {
    {"copy", 1},
    {"dot.1", 2},
    {"dot", -1},
    {"dot.10", -1},
    {"tanh.3.remat", 3},
    {"tanh.3.remat2", 3},
    {"tanh.3.remat4", 4},
    {"tanh.3.remat.remat2", 3},
    {"dot.1.remat.7", 2},
    {".remat", -1},
    {"", -1},
    {"remat", -1},
};

START_TEST(clones_are_like_their_originals) {
  Str name = str_make(cases[_i].name, strlen(cases[_i].name));
  ck_assert_double_eq(times_find(&module, name), cases[_i].seconds);
}
END_TEST

START_TEST(modules_have_names) {
  ck_assert_ptr_eq(times_find_module(&times, str_make("jit_f", 5)), &module);
  ck_assert_ptr_null(times_find_module(&times, str_make("jit_g", 5)));
  ck_assert_ptr_null(times_find_module(NULL, str_make("jit_f", 5)));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("times");
  TCase *tc = tcase_create("times");
  tcase_add_loop_test(tc, clones_are_like_their_originals, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, modules_have_names);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
