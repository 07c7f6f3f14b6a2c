/* rh_verify on stacks that are read an iteration apart (remat/verify/edge.c): the first loop stacks
 * h before each step, `sa`, and after it, `sb`, and the second one reads one of them from the
 * other. Rows replace pieces of the text. */
#include "remat/verify/verify.h"

#include <stdlib.h>

#include "loop_texts.h"
#include "support.h"

#define INT(name, value) " " name " = s32[] constant(" value ")\n"
#define FORTH "(s32[], f32[4], f32[6,4], f32[6,4], f32[6,4])"
#define BACK "(s32[], f32[4], f32[6,4], f32[6,4], f32[4], f32[4])"

static const char *const recurrent[] = {
    "HloModule m\n"
    "fc { t = " FORTH " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" INT("n", "6")
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "fb { t = " FORTH " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " h = f32[4] get-tuple-element(t), index=1\n"
    " sa = f32[6,4] get-tuple-element(t), index=2\n"
    " sb = f32[6,4] get-tuple-element(t), index=3\n"
    " w = f32[6,4] get-tuple-element(t), index=4\n" INT("z", "0") INT("one", "1")
    " ws = f32[1,4] dynamic-slice(w, i, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] reshape(ws)\n m = f32[4] multiply(h, wr)\n hn = f32[4] tanh(m)\n"
    " hr = f32[1,4] reshape(h)\n an = f32[6,4] dynamic-update-slice(sa, hr, i, z)\n"
    " nr = f32[1,4] reshape(hn)\n bn = f32[6,4] dynamic-update-slice(sb, nr, i, z)\n"
    " in = s32[] add(i, one)\n ROOT r = " FORTH " tuple(in, hn, an, bn, w) }\n",
    "bc { t = " BACK " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" INT("n", "6")
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "bb { t = " BACK " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " d = f32[4] get-tuple-element(t), index=1\n"
    " sa = f32[6,4] get-tuple-element(t), index=2\n"
    " sb = f32[6,4] get-tuple-element(t), index=3\n"
    " first = f32[4] get-tuple-element(t), index=4\n"
    " last = f32[4] get-tuple-element(t), index=5\n" INT("z", "0") INT("one", "1")
    INT("five", "5") " j = s32[] subtract(five, i)\n"
    " as = f32[1,4] dynamic-slice(sa, j, z), dynamic_slice_sizes={1,4}\n"
    " a = f32[4] reshape(as)\n"
    " bs = f32[1,4] dynamic-slice(sb, j, z), dynamic_slice_sizes={1,4}\n"
    " b = f32[4] reshape(bs)\n"
    " da = f32[4] multiply(d, a)\n db = f32[4] divide(da, b)\n dn = f32[4] sine(db)\n"
    " in = s32[] add(i, one)\n ROOT r = " BACK " tuple(in, dn, sa, sb, first, last) }\n",
    "ENTRY e { h0 = f32[4] parameter(0)\n w = f32[6,4] parameter(1)\n d0 = f32[4] parameter(2)\n"
    " o0 = f32[4] parameter(3)\n" INT("zero", "0") " fz = f32[] constant(0)\n"
    " s0 = f32[6,4] broadcast(fz), dimensions={}\n"
    " fi = " FORTH " tuple(zero, h0, s0, s0, w)\n"
    " f = " FORTH " while(fi), condition=fc, body=fb\n"
    " hl = f32[4] get-tuple-element(f), index=1\n"
    " sa = f32[6,4] get-tuple-element(f), index=2\n"
    " sb = f32[6,4] get-tuple-element(f), index=3\n"
    " bi = " BACK " tuple(zero, d0, sa, sb, h0, hl)\n"
    " l = " BACK " while(bi), condition=bc, body=bb\n"
    " ROOT d = f32[4] get-tuple-element(l), index=1 }\n",
    NULL};

#define READ_A \
  " as = f32[1,4] dynamic-slice(sa, j, z), dynamic_slice_sizes={1,4}\n a = f32[4] reshape(as)\n"
#define READ_B \
  " bs = f32[1,4] dynamic-slice(sb, j, z), dynamic_slice_sizes={1,4}\n b = f32[4] reshape(bs)\n"

/* `name` is slice `at` of `stack`, and `edge` where `form` is `number`. */
#define SHIFTED(name, stack, at, form, direction, number, sides)                                 \
  at " " stack "s = f32[1,4] dynamic-slice(" stack ", p, z), dynamic_slice_sizes={1,4}\n " stack \
     "r = f32[4] reshape(" stack                                                                 \
     "s)\n" INT("k", number) " q = pred[] compare(" form ", k), direction=" direction            \
                             "\n"                                                                \
                             " qb = pred[4] broadcast(q), dimensions={}\n " name                 \
                             " = f32[4] select(qb, " sides ")\n"
#define BEFORE " p = s32[] subtract(j, one)\n"
#define AFTER " p = s32[] add(j, one)\n"
#define BY_TWO INT("two", "2") " p = s32[] subtract(j, two)\n"
#define FROM_B(at, form, direction, number, sides) \
  { READ_A, SHIFTED("a", "sb", at, form, direction, number, sides) }
#define FROM_A(at, form, direction, number, sides) \
  { READ_B, SHIFTED("b", "sa", at, form, direction, number, sides) }

/* What is read of `a` in the last iteration is selected from elsewhere, in both modules. */
#define SELECTED(slice)                                                          \
  {                                                                              \
    READ_A,                                                                    \
        slice INT("k", "0") " q = pred[] compare(j, k), direction=EQ\n"        \
              " qb = pred[4] broadcast(q), dimensions={}\n"                    \
              " sr = f32[4] reshape(ss)\n a = f32[4] select(qb, last, sr)\n" \
  }
#define SLICE(stack, at) \
  " ss = f32[1,4] dynamic-slice(" stack ", " at ", z), dynamic_slice_sizes={1,4}\n"

static const struct {
  const char *name;
  LoopEdit before[MAX_LOOP_EDITS], after[MAX_LOOP_EDITS];
  bool differs;
} rows[] = {
    {"before a step from after it", {{0}}, {FROM_B(BEFORE, "j", "EQ", "0", "first, sbr")}, false},
    {"after a step from before it", {{0}}, {FROM_A(AFTER, "j", "EQ", "5", "last, sar")}, false},
    {"the other way round", {FROM_B(BEFORE, "j", "EQ", "0", "first, sbr")}, {{0}}, false},
    {"where it is not the first", {{0}}, {FROM_B(BEFORE, "j", "NE", "0", "sbr, first")}, false},
    {"by the start itself", {{0}}, {FROM_B(BEFORE, "p", "EQ", "-1", "first, sbr")}, false},
    {"by the other counter", {{0}}, {FROM_B(BEFORE, "i", "EQ", "5", "first, sbr")}, false},
    {"with a start that is clamped",
     {{0}},
     {FROM_B(" p0 = s32[] subtract(j, one)\n p = s32[] clamp(z, p0, five)\n", "j", "EQ", "0",
             "first, sbr")},
     false},
    {"where nobody reads the first",
     {SELECTED(SLICE("sa", "j"))},
     {SELECTED(BEFORE SLICE("sb", "p"))},
     false},
    {"not shifted", {{0}}, {FROM_B(" p = s32[] copy(j)\n", "j", "EQ", "0", "first, sbr")}, true},
    {"shifted the other way", {{0}}, {FROM_B(AFTER, "j", "EQ", "0", "first, sbr")}, true},
    {"shifted by two", {{0}}, {FROM_B(BY_TWO, "j", "EQ", "0", "first, sbr")}, true},
    {"in the reading loop's order",
     {{0}},
     {FROM_B(" p = s32[] subtract(i, one)\n", "j", "EQ", "0", "first, sbr")},
     true},
    {"from the same stack",
     {{0}},
     {{READ_A, SHIFTED("a", "sa", BEFORE, "j", "EQ", "0", "first, sar")}},
     true},
    {"the last value first", {{0}}, {FROM_B(BEFORE, "j", "EQ", "0", "last, sbr")}, true},
    {"another value first", {{0}}, {FROM_B(BEFORE, "j", "EQ", "0", "d, sbr")}, true},
    {"the first value second", {{0}}, {FROM_B(BEFORE, "j", "EQ", "1", "first, sbr")}, true},
    {"the first value last", {{0}}, {FROM_B(BEFORE, "j", "EQ", "5", "first, sbr")}, true},
    {"the first value never", {{0}}, {FROM_B(BEFORE, "j", "EQ", "-1", "first, sbr")}, true},
    {"both exchanged", {{0}}, {FROM_B(BEFORE, "j", "EQ", "0", "sbr, first")}, true},
    {"everywhere but there", {{0}}, {FROM_B(BEFORE, "j", "NE", "0", "first, sbr")}, true},
    {"only the slice, where the first is read",
     {{0}},
     {{READ_A, BEFORE SLICE("sb", "p") " a = f32[4] reshape(ss)\n"}},
     true},
    {"where nobody reads the second",
     {SELECTED(SLICE("sa", "j"))},
     {SELECTED(BY_TWO SLICE("sb", "p"))},
     true},
    {"after a step, not shifted",
     {{0}},
     {FROM_A(" p = s32[] copy(j)\n", "j", "EQ", "5", "last, sar")},
     true},
    {"after a step, from two later",
     {{0}},
     {FROM_A(INT("two", "2") " p = s32[] add(j, two)\n", "j", "EQ", "5", "last, sar")},
     true},
    {"after a step, the first value last",
     {{0}},
     {FROM_A(AFTER, "j", "EQ", "5", "first, sar")},
     true},
    {"after a step, the last value before",
     {{0}},
     {FROM_A(AFTER, "j", "EQ", "4", "last, sar")},
     true},
    {"another first value of the loop",
     {{0}},
     {FROM_B(BEFORE, "j", "EQ", "0", "first, sbr"), {"sa, sb, h0, hl", "sa, sb, o0, hl"}},
     true},
    {"another last value",
     {{0}},
     {FROM_A(AFTER, "j", "EQ", "5", "last, sar"), {"sa, sb, h0, hl", "sa, sb, h0, o0"}},
     true},
    {"a stack of something else",
     {{" nr = f32[1,4] reshape(hn)\n", " ns = f32[4] sine(hn)\n nr = f32[1,4] reshape(ns)\n"}},
     {{" nr = f32[1,4] reshape(hn)\n", " ns = f32[4] sine(hn)\n nr = f32[1,4] reshape(ns)\n"},
      FROM_B(BEFORE, "j", "EQ", "0", "first, sbr")},
     true},
    {"a state that is changed before it is handed on",
     {{"tuple(in, hn, an, bn, w)", "tuple(in, hs, an, bn, w)"},
      {" nr = f32", " hs = f32[4] sine(hn)\n nr = f32"}},
     {{"tuple(in, hn, an, bn, w)", "tuple(in, hs, an, bn, w)"},
      {" nr = f32", " hs = f32[4] sine(hn)\n nr = f32"},
      FROM_B(BEFORE, "j", "EQ", "0", "first, sbr")},
     true},
    {"a stack that is written from the end",
     {{" bn = f32", INT("last", "5") " e = s32[] subtract(last, i)\n bn = f32"},
      {"dynamic-update-slice(sb, nr, i, z)", "dynamic-update-slice(sb, nr, e, z)"},
      {"dynamic-slice(sb, j, z)", "dynamic-slice(sb, i, z)"}},
     {{" bn = f32", INT("last", "5") " e = s32[] subtract(last, i)\n bn = f32"},
      {"dynamic-update-slice(sb, nr, i, z)", "dynamic-update-slice(sb, nr, e, z)"},
      {"dynamic-slice(sb, j, z)", "dynamic-slice(sb, i, z)"},
      FROM_B(BEFORE, "j", "EQ", "0", "first, sbr")},
     true},
};

START_TEST(verdict_matches_table) {
  char *text_before = loop_text_edited(rows[_i].name, recurrent, rows[_i].before);
  char *text_after = loop_text_edited(rows[_i].name, recurrent, rows[_i].after);
  Fixture before = fixture_parse(text_before), after = fixture_parse(text_after);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before.module, after.module, true, false, diags, after.scratch);
  char *notes = diags_as_text(diags, "", 0);
  ck_assert_msg(status == (rows[_i].differs ? RH_NOT_EQUIVALENT : RH_OK), "%s: %d\n%s",
                rows[_i].name, status, notes);
  free(notes);
  rh_diags_free(diags);
  fixture_free(&before);
  fixture_free(&after);
  free(text_before);
  free(text_after);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_neighbours");
  TCase *tc = tcase_create("verify_neighbours");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
