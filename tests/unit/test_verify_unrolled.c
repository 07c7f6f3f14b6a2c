/* rh_verify where loops have been written out: they are executed, and arrays that are put together
 * of others are compared piece by piece. */
#include "remat/verify/verify.h"

#include <stdlib.h>

#include "support.h"

/* Two iterations stack sine and cosine of x; behind the loop, the tangent follows. The 2nd to 5th
 * of these rows are read in two pairs: (1 2) and (3 4). */
#define LOOP                                                                                     \
  "HloModule m\n"                                                                                \
  "c { t = (s32[], f32[4], f32[2,2,4]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" \
  " n = s32[] constant(2)\n ROOT lt = pred[] compare(i, n), direction=LT }\n"                    \
  "b { t = (s32[], f32[4], f32[2,2,4]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" \
  " x = f32[4] get-tuple-element(t), index=1\n s = f32[2,2,4] get-tuple-element(t), index=2\n"   \
  " u = f32[4] sine(x)\n v = f32[4] cosine(u)\n ur = f32[1,4] reshape(u)\n"                      \
  " vr = f32[1,4] reshape(v)\n uv = f32[2,4] concatenate(ur, vr), dimensions={0}\n"              \
  " r = f32[1,2,4] reshape(uv)\n z = s32[] constant(0)\n one = s32[] constant(1)\n"              \
  " sn = f32[2,2,4] dynamic-update-slice(s, r, i, z, z)\n in = s32[] add(i, one)\n"              \
  " ROOT o = (s32[], f32[4], f32[2,2,4]) tuple(in, v, sn) }\n"                                   \
  "ENTRY e { p = f32[4] parameter(0)\n z = s32[] constant(0)\n f = f32[] constant(0)\n"          \
  " s0 = f32[2,2,4] broadcast(f), dimensions={}\n"                                               \
  " a = (s32[], f32[4], f32[2,2,4]) tuple(z, p, s0)\n"                                           \
  " w = (s32[], f32[4], f32[2,2,4]) while(a), condition=c, body=b\n"                             \
  " y = f32[4] get-tuple-element(w), index=1\n k = f32[2,2,4] get-tuple-element(w), index=2\n"   \
  " q = f32[4] tan(y)\n qr = f32[1,4] reshape(q)\n kr = f32[4,4] reshape(k)\n"                   \
  " all = f32[5,4] concatenate(kr, qr), dimensions={0}\n"                                        \
  " late = f32[4,4] slice(all), slice={[1:5], [0:4]}\n"

/* The same rows without a loop. */
#define STEPS                                                                           \
  "HloModule m\nENTRY e { p = f32[4] parameter(0)\n r0 = f32[4] sine(p)\n r1 = f32[4] " \
  "cosine(r0)\n"                                                                        \
  " r2 = f32[4] sine(r1)\n r3 = f32[4] cosine(r2)\n r4 = f32[4] tan(r3)\n"

#define PAIR                                                  \
  " h = f32[2,2,4] reshape(late)\n one = s32[] constant(1)\n" \
  " d = f32[1,2,4] dynamic-slice(h, one, z, z), dynamic_slice_sizes={1,2,4}\n"

typedef struct Row {
  const char *name, *before, *after, *why; /* NULL = equivalent */
} Row;

static const Row rows[] = {
    {"a row of the stack",
     LOOP " l = f32[1,4] slice(late), slice={[1:2], [0:4]}\n ROOT x = f32[4] reshape(l) }\n",
     STEPS " ROOT x = f32[4] negate(r2) }\n", "the results differ"},
    {"a row of the stack, the right one",
     LOOP " l = f32[1,4] slice(late), slice={[1:2], [0:4]}\n ROOT x = f32[4] reshape(l) }\n",
     STEPS " y = f32[4] copy(r2)\n ROOT x = f32[4] copy(y) }\n", NULL},
    {"another row of the stack",
     LOOP " l = f32[1,4] slice(late), slice={[1:2], [0:4]}\n ROOT x = f32[4] reshape(l) }\n",
     STEPS " y = f32[4] copy(r3)\n ROOT x = f32[4] copy(y) }\n", "the results differ"},
    {"a row behind the loop",
     LOOP " l = f32[1,4] slice(late), slice={[3:4], [0:4]}\n ROOT x = f32[4] reshape(l) }\n",
     STEPS " y = f32[4] copy(r4)\n ROOT x = f32[4] copy(y) }\n", NULL},
    {"a pair that the loop and the rest have written",
     LOOP PAIR " ROOT x = f32[2,4] reshape(d) }\n",
     STEPS " a = f32[1,4] reshape(r3)\n b = f32[1,4] reshape(r4)\n"
           " ROOT x = f32[2,4] concatenate(a, b), dimensions={0} }\n",
     NULL},
    {"the pair in the wrong order", LOOP PAIR " ROOT x = f32[2,4] reshape(d) }\n",
     STEPS " a = f32[1,4] reshape(r4)\n b = f32[1,4] reshape(r3)\n"
           " ROOT x = f32[2,4] concatenate(a, b), dimensions={0} }\n",
     "the results differ"},
    {"a part of a row of the pair",
     LOOP PAIR " ROOT x = f32[1,1,2] slice(d), slice={[0:1], [1:2], [1:3]} }\n",
     STEPS " a = f32[2] slice(r4), slice={[1:3]}\n ROOT x = f32[1,1,2] reshape(a) }\n", NULL},
    {"another part of a row of the pair",
     LOOP PAIR " ROOT x = f32[1,1,2] slice(d), slice={[0:1], [1:2], [1:3]} }\n",
     STEPS " a = f32[2] slice(r4), slice={[2:4]}\n ROOT x = f32[1,1,2] reshape(a) }\n",
     "the results differ"},
    {"every other number of the pair, which is no range",
     LOOP PAIR " ROOT x = f32[1,2,2] slice(d), slice={[0:1], [0:2], [0:4:2]} }\n",
     STEPS " a = f32[1,4] reshape(r3)\n b = f32[1,4] reshape(r4)\n"
           " ab = f32[2,4] concatenate(a, b), dimensions={0}\n d = f32[1,2,4] reshape(ab)\n"
           " ROOT x = f32[1,2,2] slice(d), slice={[0:1], [0:2], [0:4:2]} }\n",
     NULL},
    {"columns side by side are no range",
     LOOP " ROOT x = f32[4,8] concatenate(late, late), dimensions={1} }\n",
     STEPS " a = f32[1,4] reshape(r1)\n b = f32[1,4] reshape(r2)\n c = f32[1,4] reshape(r3)\n"
           " d = f32[1,4] reshape(r4)\n n = f32[4,4] concatenate(a, b, c, d), dimensions={0}\n"
           " ROOT x = f32[4,8] concatenate(n, n), dimensions={1} }\n",
     NULL},
    {"columns side by side are not rows one after the other",
     LOOP " ROOT x = f32[4,8] concatenate(late, late), dimensions={1} }\n",
     STEPS " a = f32[1,4] reshape(r1)\n b = f32[1,4] reshape(r2)\n c = f32[1,4] reshape(r3)\n"
           " d = f32[1,4] reshape(r4)\n n = f32[8,4] concatenate(a, b, c, d, a, b, c, d), "
           "dimensions={0}\n ROOT x = f32[4,8] reshape(n) }\n",
     "the results differ"},
    {"the state after the loop", LOOP " ROOT x = f32[4] negate(y) }\n",
     STEPS " ROOT x = f32[4] negate(r3) }\n", NULL},
    {"the state after one iteration less", LOOP " ROOT x = f32[4] negate(y) }\n",
     STEPS " ROOT x = f32[4] negate(r1) }\n", "the results differ"},
    {"the counter after the loop", LOOP " ROOT x = s32[] get-tuple-element(w), index=0 }\n",
     "HloModule m\nENTRY e { p = f32[4] parameter(0)\n ROOT x = s32[] constant(2) }\n", NULL},
};

START_TEST(verdict_matches_table) {
  const Row *row = &rows[_i];
  Fixture before = fixture_parse(row->before), after = fixture_parse(row->after);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before.module, after.module, true, false, diags, after.scratch);
  char *notes = diags_as_text(diags, "", 0);
  ck_assert_msg(status == (row->why ? RH_NOT_EQUIVALENT : RH_OK), "%s: %d\n%s", row->name, status,
                notes);
  ck_assert_msg(row->why ? strstr(notes, row->why) != NULL : !*notes, "%s: %s", row->name, notes);
  free(notes);
  rh_diags_free(diags);
  fixture_free(&before);
  fixture_free(&after);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_unrolled");
  TCase *tc = tcase_create("verify_unrolled");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
