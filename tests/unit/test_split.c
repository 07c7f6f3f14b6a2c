#include "remat/rewrite/split.h"

#include "remat/rewrite/dce.h"
#include "remat/verify/verify.h"
#include "support.h"

/* Two fusions of a, b and c, both of which compute `v`, after what they begin with. */
#define TWO(begin, first, second) TWO_OF("f32[2048]{0}", begin, first, second)
#define TWO_OF(shape, begin, first, second)                \
  "f {\n" PARAMS(shape) begin " ROOT r = " shape " " first \
                              "\n}\n"                      \
                              "g {\n" PARAMS(shape) begin " ROOT r = " shape " " second "\n}\n"
#define PARAMS(shape) \
  " a = " shape " parameter(0)\n b = " shape " parameter(1)\n c = " shape " parameter(2)\n"
#define BODY(rest)                                                                    \
  "x = f32[2048]{0} parameter(0)\n y = f32[2048]{0} parameter(1)\n z = f32[2048]{0} " \
  "parameter(2)\n "                                                                   \
  "p = f32[2048]{0} fusion(x, y, z), kind=kLoop, calls=f\n " rest
#define CALL_G(operands) "q = f32[2048]{0} fusion(" operands "), kind=kLoop, calls=g\n "
#define PAIR "ROOT t = (f32[2048]{0}, f32[2048]{0}) tuple(p, q)\n"
#define SUM " v = f32[2048]{0} add(a, b)\n"
#define PRODUCT " v = f32[2048]{0} multiply(a, b)\n"
#define FMA " m = f32[2048]{0} multiply(a, b)\n v = f32[2048]{0} add(m, c)\n"

static const struct {
  const char *name, *comps, *body;
  uint32_t num_cuts;
  const char *order;
  bool is_gpu;
} rows[] = {
    {"a sum", TWO(SUM, "tanh(v)", "multiply(v, c)"), BODY(CALL_G("x, y, z") PAIR), 1,
     "x y z p.remat p q ROOT t", false},
    {"a product and a sum", TWO(FMA, "tanh(v)", "multiply(v, c)"), BODY(CALL_G("x, y, z") PAIR), 1,
     "x y z p.remat p q ROOT t", false},
    {"the result of the one is computed in the other",
     TWO(SUM, "tanh(v)",
         "multiply(v, c)") "h {\n" PARAMS("f32[2048]{0}") " ROOT v = f32[2048]{0} add(a, b)\n}\n",
     BODY(CALL_G("x, y, z") "s = f32[2048]{0} fusion(x, y, z), kind=kLoop, calls=h\n "
                            "ROOT t = (f32[2048]{0}, f32[2048]{0}, f32[2048]{0}) tuple(p, q, s)\n"),
     1, "x y z s p q ROOT t", false},
    {"a product, which a sum is contracted with", TWO(PRODUCT, "tanh(v)", "add(v, c)"),
     BODY(CALL_G("x, y, z") PAIR), 0, "x y z p q ROOT t", false},
    {"a product that nothing is contracted with", TWO(PRODUCT, "tanh(v)", "add(v, c)"),
     BODY(CALL_G("x, y, z") PAIR), 1, "x y z p.remat p q ROOT t", true},
    {"of other arrays", TWO(SUM, "tanh(v)", "multiply(v, c)"), BODY(CALL_G("x, z, y") PAIR), 0,
     "x y z p q ROOT t", false},
    {"of one array", TWO(" v = f32[2048]{0} add(a, a)\n", "tanh(v)", "multiply(v, c)"),
     BODY(CALL_G("x, y, z") PAIR), 0, "x y z p q ROOT t", false},
    {"for one use", TWO(SUM " w = f32[2048]{0} tanh(v)\n", "negate(w)", "sine(w)"),
     BODY(CALL_G("x, y, z") PAIR), 0, "x y z p q ROOT t", false},
    {"with an order that must stay", TWO(SUM, "tanh(v)", "multiply(v, c)"),
     BODY(
         "q = f32[2048]{0} fusion(x, y, z), kind=kLoop, calls=g, control-predecessors={p}\n " PAIR),
     0, "x y z p q ROOT t", false},
    {"small arrays", TWO_OF("f32[8]{0}", " v = f32[8]{0} add(a, b)\n", "tanh(v)", "multiply(v, c)"),
     "x = f32[8]{0} parameter(0)\n y = f32[8]{0} parameter(1)\n z = f32[8]{0} parameter(2)\n"
     " p = f32[8]{0} fusion(x, y, z), kind=kLoop, calls=f\n"
     " q = f32[8]{0} fusion(x, y, z), kind=kLoop, calls=g\n ROOT t = (f32[8]{0}, f32[8]{0}) "
     "tuple(p, q)\n",
     0, "x y z p q ROOT t", false},
    {"in a custom fusion", TWO(SUM, "tanh(v)", "multiply(v, c)"),
     BODY("q = f32[2048]{0} fusion(x, y, z), kind=kCustom, calls=g\n " PAIR), 0, "x y z p q ROOT t",
     false},
};

START_TEST(shared_values_get_fusions) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Fixture before = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Module *module = fixture.module;
  Backend backend = module->backend;
  backend.excess = rows[_i].is_gpu ? EXCESS_NONE : EXCESS_PRODUCTS;
  module_set_backend(module, &backend);
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  Rewrite rewrite = rewrite_begin(module);
  uint32_t num_cuts = split_shared(&rewrite, &schedule, fixture.out, fixture.scratch);
  ck_assert_msg(num_cuts == rows[_i].num_cuts, "%s: %u", rows[_i].name, num_cuts);
  dce_run(&rewrite, fixture.scratch);
  dce_update_schedule(module, &schedule, fixture.out);
  check_text(scheduled_names(&fixture, &schedule, "e"), rows[_i].order, rows[_i].name);
  check_schedule(module, &schedule);
  check_prints_and_parses(module, &schedule);
  rh_status status =
      verify_modules(before.module, module, true, !rows[_i].is_gpu, NULL, fixture.scratch);
  ck_assert_msg(status == RH_OK, "%s: another meaning", rows[_i].name);
  fixture_free(&before);
  fixture_free(&fixture);
}
END_TEST

START_TEST(nothing_is_split_without_a_schedule) {
  Fixture fixture = fixture_parse_body(rows[0].comps, rows[0].body);
  Rewrite rewrite = rewrite_begin(fixture.module);
  ck_assert_uint_eq(split_shared(&rewrite, NULL, fixture.out, fixture.scratch), 0);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("split");
  TCase *tc = tcase_create("split");
  tcase_add_loop_test(tc, shared_values_get_fusions, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tc, nothing_is_split_without_a_schedule);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
