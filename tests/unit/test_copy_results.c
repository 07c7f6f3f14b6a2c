#include "remat/scan/copy_results.h"

#include <stdlib.h>

#include "ir/module_check.h"
#include "support.h"

static const char text[] =
    "HloModule m, is_scheduled=true\n"
    "forward {\n a = f32[8] parameter(0)\n b = f32[2,4] parameter(1)\n"
    " c = f32[8] bitcast(b)\n n = f32[8] negate(a)\n"
    " ROOT t = (f32[8], f32[8], f32[8]) tuple(a, c, n)\n}\n"
    "ENTRY e {\n i = f32[8] parameter(0)\n j = f32[2,4] parameter(1)\n"
    " ROOT f = (f32[8], f32[8], f32[8]) fusion(i, j), kind=kLoop, calls=forward\n}\n";

/* Results that are parameters get copies where XLA:TPU's emitter needs an instruction for them. */
START_TEST(results_that_are_parameters) {
  static const char *const targets[] = {"tpu", "gpu", "cpu"};
  for (int i = 0; i < 3; i++) {
    Fixture fixture = fixture_parse(text);
    Module *module = fixture.module;
    module->backend.target = target_find(targets[i]);
    Rewrite rewrite = rewrite_begin(module);
    Schedule schedule = schedule_in_text_order(module, fixture.out);
    scan_copy_results(&rewrite, &schedule, fixture.scratch);
    InstId tuple = find_inst(module, "t");
    for (uint32_t k = 0; k < 3; k++) {
      Opcode opcode = (Opcode)inst_get(module, inst_operand(module, tuple, k))->opcode;
      ck_assert_int_eq(opcode == OPCODE_COPY, i == 0 && k < 2);
    }
    ck_assert_int_eq(module_check(module, NULL), RH_OK);
    fixture_free(&fixture);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("copy_results");
  TCase *tc = tcase_create("copy_results");
  tcase_add_test(tc, results_that_are_parameters);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
