#include "remat/rewrite/fuse.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* Whether the fusion `p` is merged into its readers. `first` computes p's value from the parameters
 * a and b; `second` is the body of the fusion q, which reads p as `v`, and `c`. */
static const struct {
  const char *name, *first, *second;
  bool reads_twice; /* a second fusion reads p, too */
  bool merges;
} rows[] = {
    {"nothing is contracted", "ROOT s = f32[8] subtract(a, b)", "ROOT m = f32[8] multiply(v, c)",
     false, true},
    {"a product meets a sum", "ROOT m = f32[8] multiply(a, b)", "ROOT s = f32[8] add(v, c)", false,
     false},
    {"a product meets a sum after a negation", "ROOT m = f32[8] multiply(a, b)",
     "n = f32[8] negate(v)\n ROOT s = f32[8] subtract(c, n)", false, false},
    {"a product meets a product", "ROOT m = f32[8] multiply(a, b)",
     "ROOT s = f32[8] multiply(v, c)", false, true},
    {"a sum of a product is contracted within one fusion",
     "m = f32[8] multiply(a, b)\n ROOT s = f32[8] add(m, b)", "ROOT s = f32[8] multiply(v, c)",
     false, true},
    {"elements are used several times", "ROOT s = f32[8] subtract(a, b)",
     "w = f32[4,8] broadcast(v), dimensions={1}\n z = f32[] constant(0)\n ROOT r = f32[8] "
     "reduce(w, z), "
     "dimensions={0}, to_apply=larger",
     false, false},
    {"two readers of what is cheap", "ROOT s = f32[8] subtract(a, b)",
     "ROOT m = f32[8] multiply(v, c)", true, true},
    {"two readers of what is not", "ROOT s = f32[8] exponential(a)",
     "ROOT m = f32[8] multiply(v, c)", true, false},
};

static char *text_of(int row) {
  char *text = malloc(4096);
  ck_assert_ptr_nonnull(text);
  snprintf(
      text, 4096,
      "HloModule m, is_scheduled=true\n"
      "larger {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT l = f32[] maximum(x, y)\n}\n"
      "first {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n %s\n}\n"
      "second {\n v = f32[8] parameter(0)\n c = f32[8] parameter(1)\n %s\n}\n"
      "third {\n v = f32[8] parameter(0)\n ROOT n = f32[8] negate(v)\n}\n"
      "ENTRY e {\n i = f32[8] parameter(0)\n j = f32[8] parameter(1)\n k = f32[8] parameter(2)\n"
      " p = f32[8] fusion(i, j), kind=kLoop, calls=first\n"
      " q = f32[8] fusion(p, k), kind=kLoop, calls=second\n"
      " t = f32[8] fusion(%s), kind=kLoop, calls=third\n"
      " ROOT r = (f32[8], f32[8]) tuple(q, t)\n}\n",
      rows[row].first, rows[row].second, rows[row].reads_twice ? "p" : "k");
  return text;
}

START_TEST(merges_where_no_bit_can_change) {
  char *text = text_of(_i);
  Fixture fixture = fixture_parse(text);
  InstId producer = find_inst(fixture.module, "p"), reader = find_inst(fixture.module, "q");
  Rewrite rewrite = rewrite_begin(fixture.module);
  IdVec changed = {0};
  bool merges = fuse_into_readers(&rewrite, producer, &changed, fixture.out, fixture.scratch);
  ck_assert_msg(merges == rows[_i].merges, "%s", rows[_i].name);
  ck_assert_uint_eq(changed.len, !merges ? 0 : rows[_i].reads_twice ? 2 : 1);
  ck_assert(!(inst_get(fixture.module, producer)->flags & INST_DEAD) == !merges);
  if (merges) ck_assert_uint_eq(inst_get(fixture.module, reader)->num_operands, 3);
  fixture_free(&fixture);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fuse");
  TCase *tc = tcase_create("fuse");
  tcase_add_loop_test(tc, merges_where_no_bit_can_change, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
