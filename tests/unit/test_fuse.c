#include "remat/rewrite/fuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether the fusion `p`, of which `first` is the body, is merged into the fusion q, of which
 * `second` is the body and `reader` the instruction. */
static const struct {
  const char *name, *first, *second, *reader;
  bool starts_kernels, drops_control, merges;
} readers[] = {
    {"several results", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n m = f32[8] negate(v)\n n = f32[8] abs(v)\n"
     " ROOT t = (f32[8], f32[8]) tuple(m, n)",
     "(f32[8], f32[8]) fusion(p), kind=kLoop", false, false, true},
    {"the value itself is a result", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n m = f32[8] negate(v)\n ROOT t = (f32[8], f32[8]) tuple(m, v)",
     "(f32[8], f32[8]) fusion(p), kind=kLoop", false, false, true},
    {"several results, a product meets a sum", "f32[8] multiply(a, b)",
     "v = f32[8] parameter(0)\n m = f32[8] add(v, v)\n n = f32[8] abs(v)\n"
     " ROOT t = (f32[8], f32[8]) tuple(m, n)",
     "(f32[8], f32[8]) fusion(p), kind=kLoop", false, false, false},
    {"a transposition", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n w = f32[2,4] bitcast(v)\n"
     " ROOT t = f32[4,2] transpose(w), dimensions={1,0}",
     "f32[4,2] fusion(p), kind=kInput", false, false, true},
    {"a sum", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT r = f32[] reduce(v, z), dimensions={0}, to_apply=sum",
     "f32[] fusion(p), kind=kInput", true, true, false},
    {"another code generator", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT m = f32[8] negate(v)", "f32[8] fusion(p), kind=kCustom", true,
     true, false},
    {"a result that shares an operand's memory", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT m = f32[8] negate(v)",
     "f32[8] fusion(p), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}", true, true, false},
    {"padded and put together", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n z = f32[] constant(0)\n w = f32[9] pad(v, z), padding=0_1\n"
     " ROOT c = f32[17] concatenate(w, v), dimensions={0}",
     "f32[17] fusion(p), kind=kLoop", false, false, true},
    {"through two views", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n w = f32[1,8] parameter(1)\n x = f32[8] bitcast(w)\n"
     " ROOT m = f32[8] multiply(v, x)",
     "f32[8] fusion(p, view), kind=kLoop", false, false, true},
    {"it waits for another instruction", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT m = f32[8] negate(v)",
     "f32[8] fusion(p), kind=kLoop, control-predecessors={j}", false, false, false},
    {"it waits, which restates the order", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT m = f32[8] negate(v)",
     "f32[8] fusion(p), kind=kLoop, control-predecessors={j}", false, true, true},
    {"few elements for many", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT w = f32[16,8] broadcast(v), dimensions={1}",
     "f32[16,8] fusion(p), kind=kLoop", true, false, true},
    {"few elements for many, where no kernel is started", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT w = f32[16,8] broadcast(v), dimensions={1}",
     "f32[16,8] fusion(p), kind=kLoop", false, false, false},
    {"few elements for not many", "f32[8] subtract(a, b)",
     "v = f32[8] parameter(0)\n ROOT w = f32[15,8] broadcast(v), dimensions={1}",
     "f32[15,8] fusion(p), kind=kLoop", true, false, false},
    {"few elements that are not simple", "f32[8] reverse(a), dimensions={0}",
     "v = f32[8] parameter(0)\n ROOT w = f32[16,8] broadcast(v), dimensions={1}",
     "f32[16,8] fusion(p), kind=kLoop", true, false, false},
};

static char *text_of_reader(int row) {
  char *text = malloc(4096);
  ck_assert_ptr_nonnull(text);
  snprintf(text, 4096,
           "HloModule m, is_scheduled=true\n"
           "sum {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y)\n}\n"
           "first {\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n ROOT f = %s\n}\n"
           "second {\n %s\n}\n"
           "ENTRY e {\n i = f32[8] parameter(0)\n j = f32[8] parameter(1)\n"
           " p = f32[8] fusion(i, j), kind=kLoop, calls=first\n"
           " %s ROOT q = %s, calls=second\n}\n",
           readers[row].first, readers[row].second,
           strstr(readers[row].reader, "view") ? "view = f32[1,8] bitcast(p)\n" : "",
           readers[row].reader);
  return text;
}

START_TEST(readers_of_all_kinds) {
  char *text = text_of_reader(_i);
  Fixture fixture = fixture_parse(text);
  InstId producer = find_inst(fixture.module, "p"), reader = find_inst(fixture.module, "q");
  Rewrite rewrite = rewrite_begin(fixture.module);
  rewrite.starts_kernels = readers[_i].starts_kernels;
  rewrite.drops_control = readers[_i].drops_control;
  IdVec changed = {0};
  bool merges = fuse_into_readers(&rewrite, producer, &changed, fixture.out, fixture.scratch);
  ck_assert_msg(merges == readers[_i].merges, "%s", readers[_i].name);
  ck_assert_uint_eq(changed.len, merges ? 1 : 0);
  for (uint32_t i = 0; merges && i < inst_get(fixture.module, reader)->num_operands; i++)
    ck_assert(inst_operand(fixture.module, reader, i) < producer); /* the parameters i and j */
  fixture_free(&fixture);
  free(text);
}
END_TEST

/* Whether p gets into its readers. */
static bool merges_on(const char *target, const char *text) {
  Fixture fixture = fixture_parse(text);
  fixture.module->backend.target = target_find(target);
  Rewrite rewrite = rewrite_begin(fixture.module);
  IdVec changed = {0};
  InstId producer = find_inst(fixture.module, "p");
  bool merges = fuse_into_readers(&rewrite, producer, &changed, fixture.out, fixture.scratch);
  fixture_free(&fixture);
  return merges;
}

/* What shifts elements gets into no other fusion on XLA:TPU, which needs one window for all of it.
 */
START_TEST(what_shifts_elements) {
  static const struct {
    const char *target, *first;
    bool merges;
  } shifts[] = {
      {"tpu", "reverse(a), dimensions={0}", false},
      {"tpu", "negate(a)", true},
      {"gpu", "reverse(a), dimensions={0}", true},
      {"cpu", "reverse(a), dimensions={0}", true},
  };
  char text[1024];
  snprintf(text, sizeof text,
           "HloModule m, is_scheduled=true\n"
           "first {\n a = f32[8] parameter(0)\n ROOT f = f32[8] %s\n}\n"
           "second {\n v = f32[8] parameter(0)\n ROOT n = f32[8] negate(v)\n}\n"
           "ENTRY e {\n i = f32[8] parameter(0)\n p = f32[8] fusion(i), kind=kLoop, calls=first\n"
           " ROOT q = f32[8] fusion(p), kind=kLoop, calls=second\n}\n",
           shifts[_i].first);
  ck_assert_int_eq(merges_on(shifts[_i].target, text), shifts[_i].merges);
}
END_TEST

/* On XLA:TPU, a bitcast between both fusions is one in the merged fusion, whose windows must be
 * those of both arrays. */
START_TEST(views_on_tpu) {
  static const struct {
    const char *array, *view;
    bool merges;
  } views[] = {
      {"f32[1,1,8,128]{3,2,1,0:T(8,128)}", "f32[8,128]{1,0:T(8,128)}", true},
      {"f32[1,1024,1]{1,2,0:T(1,128)}", "f32[1024]{0:T(1024)}", false},
      {"f32[8,128]{1,0:T(8,128)}", "f32[128,8]{0,1:T(8,128)}", true},
      {"f32[16,128]{1,0:T(8,128)}", "f32[2,8,128]{2,1,0:T(8,128)}", false},
  };
  const char *array = views[_i].array, *view = views[_i].view;
  char text[2048];
  snprintf(text, sizeof text,
           "HloModule m, is_scheduled=true\n"
           "first {\n a = %s parameter(0)\n ROOT f = %s negate(a)\n}\n"
           "second {\n v = %s parameter(0)\n ROOT n = %s negate(v)\n}\n"
           "ENTRY e {\n i = %s parameter(0)\n p = %s fusion(i), kind=kLoop, calls=first\n"
           " w = %s bitcast(p)\n ROOT q = %s fusion(w), kind=kLoop, calls=second\n}\n",
           array, array, view, view, array, array, view, view);
  ck_assert_int_eq(merges_on("tpu", text), views[_i].merges);
}
END_TEST

/* Of an array there may be few readers, of a number many. */
START_TEST(many_readers) {
  for (int is_number = 0; is_number < 2; is_number++) {
    const char *shape = is_number ? "s32[]" : "s32[8]";
    char text[4096];
    int length = snprintf(text, sizeof text,
                          "HloModule m, is_scheduled=true\n"
                          "first {\n a = %s parameter(0)\n ROOT f = %s negate(a)\n}\n",
                          shape, shape);
    for (int i = 0; i < 6; i++)
      length +=
          snprintf(text + length, sizeof text - (size_t)length,
                   "c%d {\n v = %s parameter(0)\n ROOT r%d = %s abs(v)\n}\n", i, shape, i, shape);
    length += snprintf(text + length, sizeof text - (size_t)length,
                       "ENTRY e {\n i = %s parameter(0)\n p = %s fusion(i), kind=kLoop, "
                       "calls=first\n",
                       shape, shape);
    for (int i = 0; i < 6; i++)
      length += snprintf(text + length, sizeof text - (size_t)length,
                         " q%d = %s fusion(p), kind=kLoop, calls=c%d\n", i, shape, i);
    snprintf(text + length, sizeof text - (size_t)length,
             " ROOT t = (%s, %s, %s, %s, %s, %s) tuple(q0, q1, q2, q3, q4, q5)\n}\n", shape, shape,
             shape, shape, shape, shape);
    Fixture fixture = fixture_parse(text);
    Rewrite rewrite = rewrite_begin(fixture.module);
    IdVec changed = {0};
    InstId producer = find_inst(fixture.module, "p");
    ck_assert(fuse_into_readers(&rewrite, producer, &changed, fixture.out, fixture.scratch) ==
              (is_number != 0));
    ck_assert_uint_eq(changed.len, is_number ? 6 : 0);
    fixture_free(&fixture);
  }
}
END_TEST

/* XLA:GPU makes kernels of some hundreds of instructions, into which more may be merged. */
START_TEST(large_readers) {
  static const struct {
    int num_insts;
    bool merges;
  } sizes[] = {{450, true}, {1100, false}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    char *text = malloc(1 << 16);
    ck_assert_ptr_nonnull(text);
    int length = snprintf(text, 1 << 16,
                          "HloModule m, is_scheduled=true\n"
                          "first {\n a = f32[8] parameter(0)\n ROOT f = f32[8] sine(a)\n}\n"
                          "second {\n v0 = f32[8] parameter(0)\n");
    for (int i = 1; i <= sizes[k].num_insts; i++)
      length += snprintf(text + length, (1 << 16) - (size_t)length, " v%d = f32[8] negate(v%d)\n",
                         i, i - 1);
    snprintf(text + length, (1 << 16) - (size_t)length,
             "}\nENTRY e {\n i = f32[8] parameter(0)\n"
             " p = f32[8] fusion(i), kind=kLoop, calls=first\n"
             " ROOT q = f32[8] fusion(p), kind=kLoop, calls=second\n}\n");
    ck_assert_int_eq(merges_on("gpu", text), sizes[k].merges);
    free(text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fuse");
  TCase *tc = tcase_create("fuse");
  tcase_add_loop_test(tc, merges_where_no_bit_can_change, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tc, readers_of_all_kinds, 0, (int)(sizeof readers / sizeof *readers));
  tcase_add_loop_test(tc, what_shifts_elements, 0, 4);
  tcase_add_loop_test(tc, views_on_tpu, 0, 4);
  tcase_add_test(tc, many_readers);
  tcase_add_test(tc, large_readers);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
