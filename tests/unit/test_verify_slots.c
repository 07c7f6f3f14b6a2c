/* rh_verify of kernels of XLA:GPU that read slices of a loop's stack, where what they read is
 * computed again: fusions that add up, which stay as they are and are given the slice as an array
 * of one, and fusions that add nothing up, which compute the value themselves. Rows replace pieces
 * of a text. */

#include "loop_texts.h"
#include "support.h"

#define STATE "(s32[], f32[4,2], f32[6,4,2])"

/* The first loop stacks y = sine(x). The second one reads it from the last to the first one, in a
 * fusion `least` that adds nothing up, and in a fusion `grad` that adds up the rows. */
#define REST                                                                                     \
  "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"         \
  "write { p = f32[6,4,2] parameter(0)\n y = f32[4,2] parameter(1)\n i = s32[] parameter(2)\n"   \
  " r = f32[1,4,2] bitcast(y)\n z = s32[] constant(0)\n"                                         \
  " ROOT d = f32[6,4,2] dynamic-update-slice(p, r, i, z, z) }\n"                                 \
  "layer { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }\n"                            \
  "layer2 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }\n"                           \
  "next { x = f32[4,2] parameter(0)\n y = f32[4,2] parameter(1)\n"                               \
  " ROOT n = f32[4,2] maximum(x, y) }\n"                                                         \
  "last { i = s32[] parameter(0)\n five = s32[] constant(5)\n"                                   \
  " ROOT j = s32[] subtract(five, i) }\n"                                                        \
  "take { p = f32[6,4,2] parameter(0)\n i = s32[] parameter(1)\n five = s32[] constant(5)\n"     \
  " j = s32[] subtract(five, i)\n z = s32[] constant(0)\n"                                       \
  " s = f32[1,4,2] dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,4,2}\n"                     \
  " ROOT r = f32[4,2] bitcast(s) }\n"                                                            \
  "least { g = f32[4,2] parameter(0)\n p = f32[6,4,2] parameter(1)\n i = s32[] parameter(2)\n"   \
  " five = s32[] constant(5)\n jl = s32[] subtract(five, i)\n z = s32[] constant(0)\n"           \
  " s = f32[1,4,2] dynamic-slice(p, jl, z, z), dynamic_slice_sizes={1,4,2}\n"                    \
  " yl = f32[4,2] bitcast(s)\n ROOT n = f32[4,2] minimum(g, yl) }\n"                             \
  "grad { p = f32[6,4,2] parameter(0)\n i = s32[] parameter(1)\n h = f32[4,2] parameter(2)\n"    \
  " five = s32[] constant(5)\n jg = s32[] subtract(five, i)\n z = s32[] constant(0)\n"           \
  " s = f32[1,4,2] dynamic-slice(p, jg, z, z), dynamic_slice_sizes={1,4,2}\n"                    \
  " yg = f32[4,2] bitcast(s)\n m = f32[4,2] multiply(h, yg)\n o = f32[] constant(0)\n"           \
  " r = f32[4] reduce(m, o), dimensions={1}, to_apply=add\n"                                     \
  " ROOT n = f32[4,2] broadcast(r), dimensions={0} }\n"                                          \
  "fb { t = " STATE                                                                              \
  " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"                                    \
  " x = f32[4,2] get-tuple-element(t), index=1\n s = f32[6,4,2] get-tuple-element(t), index=2\n" \
  " y = f32[4,2] fusion(x), kind=kLoop, calls=layer\n"                                           \
  " sn = f32[6,4,2] fusion(s, y, i), kind=kLoop, calls=write\n"                                  \
  " xn = f32[4,2] fusion(x, y), kind=kLoop, calls=next\n one = s32[] constant(1)\n"              \
  " in = s32[] add(i, one)\n ROOT r = " STATE                                                    \
  " tuple(in, xn, sn) }\n"                                                                       \
  "fc { t = " STATE                                                                              \
  " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"                                    \
  " n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n"                     \
  "bb { t = " STATE                                                                              \
  " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"                                    \
  " g = f32[4,2] get-tuple-element(t), index=1\n s = f32[6,4,2] get-tuple-element(t), index=2\n" \
  " h = f32[4,2] fusion(g, s, i), kind=kLoop, calls=least\n"                                     \
  " gn = f32[4,2] fusion(s, i, h), kind=kInput, calls=grad\n one = s32[] constant(1)\n"          \
  " in = s32[] add(i, one)\n ROOT r = " STATE                                                    \
  " tuple(in, gn, s) }\n"                                                                        \
  "bc { t = " STATE                                                                              \
  " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"                                    \
  " n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n"                     \
  "ENTRY e { x0 = f32[4,2] parameter(0)\n s0 = f32[6,4,2] parameter(1)\n"                        \
  " z = s32[] constant(0)\n ti = " STATE                                                         \
  " tuple(z, x0, s0)\n"                                                                          \
  " f = " STATE                                                                                  \
  " while(ti), condition=fc, body=fb\n"                                                          \
  " g0 = f32[4,2] get-tuple-element(f), index=1\n"                                               \
  " sa = f32[6,4,2] get-tuple-element(f), index=2\n z2 = s32[] constant(0)\n"                    \
  " bi = " STATE " tuple(z2, g0, sa)\n b = " STATE                                               \
  " while(bi), condition=bc, body=bb\n"                                                          \
  " ROOT o = f32[4,2] get-tuple-element(b), index=1 }\n"

static const char *const gpu[] = {
    "HloModule m, is_scheduled=true, frontend_attributes={fingerprint_before_lhs=\"1\"}\n", REST,
    NULL};
static const char *const cpu[] = {"HloModule m, is_scheduled=true\n", REST, NULL};

/* ---- rewrites ---- */

/* The first loop stacks x. */
#define STACK_X \
  { "fusion(s, y, i), kind=kLoop, calls=write", "fusion(s, x, i), kind=kLoop, calls=write" }
/* The second one computes y again, which the fusion without a sum is given. */
#define GIVEN                                                                            \
  {" h = f32[4,2] fusion(g, s, i), kind=kLoop, calls=least\n",                           \
   " xa = f32[4,2] fusion(s, i), kind=kLoop, calls=take\n"                               \
   " ya = f32[4,2] fusion(xa), kind=kLoop, calls=layer2\n yb = f32[1,4,2] bitcast(ya)\n" \
   " h = f32[4,2] fusion(g, ya), kind=kLoop, calls=least\n"},                            \
  {                                                                                      \
    " p = f32[6,4,2] parameter(1)\n i = s32[] parameter(2)\n five = s32[] constant(5)\n" \
    " jl = s32[] subtract(five, i)\n z = s32[] constant(0)\n"                            \
    " s = f32[1,4,2] dynamic-slice(p, jl, z, z), dynamic_slice_sizes={1,4,2}\n"          \
    " yl = f32[4,2] bitcast(s)\n",                                                       \
        " yl = f32[4,2] parameter(1)\n"                                                  \
  }
/* The fusion with a sum takes its slice of an array that is y alone. */
#define SLOT                                                                   \
  {"fusion(s, i, h), kind=kInput", "fusion(yb, i, h), kind=kInput"}, {         \
    "grad { p = f32[6,4,2] parameter(0)", "grad { p = f32[1,4,2] parameter(0)" \
  }
/* The fusion without a sum computes y again. */
#define COMPUTED                                                                          \
  {" h = f32[4,2] fusion(g, s, i), kind=kLoop, calls=least\n",                            \
   " xa = f32[4,2] fusion(s, i), kind=kLoop, calls=take\n"                                \
   " ya = f32[4,2] fusion(xa), kind=kLoop, calls=layer2\n yb = f32[1,4,2] bitcast(ya)\n"  \
   " h = f32[4,2] fusion(g, s, i), kind=kLoop, calls=least\n"},                           \
  {                                                                                       \
    " yl = f32[4,2] bitcast(s)\n", " xl = f32[4,2] bitcast(s)\n yl = f32[4,2] sine(xl)\n" \
  }
/* A kernel of its own computes which slice that is. */
#define NUMBER                                                                             \
  {" h = f32[4,2] fusion(g, s, i), kind=kLoop, calls=least\n",                             \
   " k = s32[] fusion(i), kind=kLoop, calls=last\n"                                        \
   " h = f32[4,2] fusion(g, s, k), kind=kLoop, calls=least\n"},                            \
  {                                                                                        \
    " i = s32[] parameter(2)\n five = s32[] constant(5)\n jl = s32[] subtract(five, i)\n", \
        " jl = s32[] parameter(2)\n"                                                       \
  }

static const struct {
  const char *name;
  const char *const *text;
  LoopEdit edits[MAX_LOOP_EDITS];
  const char *why; /* see loop_check_verdict() */
} rows[] = {
    {"the same", gpu, {{0}}, NULL},
    {"an array of one slice", gpu, {STACK_X, GIVEN, SLOT}, NULL},
    {"an array of one slice, and another kernel computes the value",
     gpu,
     {STACK_X, COMPUTED, SLOT},
     NULL},
    {"a number by a kernel of its own", gpu, {NUMBER}, NULL},
    {"the same on a CPU", cpu, {{0}}, NULL},
    /* what must be refused */
    {"an array of one slice on a CPU", cpu, {STACK_X, GIVEN, SLOT}, LOOP_ROUNDING},
    {"without a slice",
     gpu,
     {STACK_X,
      GIVEN,
      {"fusion(s, i, h), kind=kInput", "fusion(ya, h), kind=kInput"},
      {"grad { p = f32[6,4,2] parameter(0)\n i = s32[] parameter(1)\n h = f32[4,2] parameter(2)\n"
       " five = s32[] constant(5)\n jg = s32[] subtract(five, i)\n z = s32[] constant(0)\n"
       " s = f32[1,4,2] dynamic-slice(p, jg, z, z), dynamic_slice_sizes={1,4,2}\n"
       " yg = f32[4,2] bitcast(s)\n",
       "grad { yg = f32[4,2] parameter(0)\n h = f32[4,2] parameter(1)\n"}},
     LOOP_ROUNDING},
    {"what adds up computes the value itself",
     gpu,
     {STACK_X,
      COMPUTED,
      {" yg = f32[4,2] bitcast(s)\n", " xg = f32[4,2] bitcast(s)\n yg = f32[4,2] sine(xg)\n"}},
     LOOP_ROUNDING},
    {"the factor is computed by what adds up",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {"fusion(yb, i, h), kind=kInput", "fusion(yb, i, g, ya), kind=kInput"},
      {" h = f32[4,2] parameter(2)\n",
       " hg = f32[4,2] parameter(2)\n hy = f32[4,2] parameter(3)\n h = f32[4,2] minimum(hg, "
       "hy)\n"}},
     LOOP_ROUNDING},
    {"the sum by another code generator",
     gpu,
     {STACK_X, GIVEN, SLOT, {"kind=kInput", "kind=kCustom"}},
     LOOP_ROUNDING},
    {"the slice of x", gpu, {STACK_X, GIVEN, SLOT, {"bitcast(ya)", "bitcast(xa)"}}, "differ"},
    {"the slice of another iteration",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {"fusion(s, i), kind=kLoop, calls=take", "fusion(s, k), kind=kLoop, calls=take"},
      {" xa = ", " k = s32[] fusion(i), kind=kLoop, calls=last\n xa = "}},
     "differ"},
    {"the second of three slices",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {"grad { p = f32[1,4,2]", "grad { p = f32[3,4,2]"},
      {" gn = f32[4,2] fusion(yb",
       " w = f32[1,4,2] bitcast(g)\n c = f32[3,4,2] concatenate(w, yb, w), dimensions={0}\n"
       " gn = f32[4,2] fusion(c"}},
     "differ"},
    {"another function of x",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {"layer2 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }",
       "layer2 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] cosine(x) }"}},
     "differ"},
    {"a product with another factor",
     gpu,
     {STACK_X, GIVEN, SLOT, {"fusion(yb, i, h), kind=kInput", "fusion(yb, i, g), kind=kInput"}},
     "differ"},
    {"columns are added up",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {" r = f32[4] reduce(m, o), dimensions={1}", " r = f32[2] reduce(m, o), dimensions={0}"},
      {"broadcast(r), dimensions={0}", "broadcast(r), dimensions={1}"}},
     "differ"},
    {"the sum begins with one",
     gpu,
     {STACK_X, GIVEN, SLOT, {" o = f32[] constant(0)\n", " o = f32[] constant(1)\n"}},
     "differ"},
    {"a half of the slice",
     gpu,
     {STACK_X,
      GIVEN,
      SLOT,
      {"grad { p = f32[1,4,2]", "grad { p = f32[1,8,2]"},
      {" gn = f32[4,2] fusion(yb",
       " w = f32[1,4,2] bitcast(g)\n c = f32[1,8,2] concatenate(yb, w), dimensions={1}\n"
       " gn = f32[4,2] fusion(c"},
      {"dynamic-slice(p, jg, z, z)", "dynamic-slice(p, jg, i, z)"}},
     "differ"},
    {"the array of the iteration before",
     gpu,
     {STACK_X,
      GIVEN,
      {"grad { p = f32[6,4,2] parameter(0)", "grad { p = f32[1,4,2] parameter(0)"},
      {"fusion(s, i, h), kind=kInput", "fusion(gs, i, h), kind=kInput"},
      {" gn = ", " gs = f32[1,4,2] bitcast(g)\n gn = "}},
     "differ"},
    {"the wrong function in the reader",
     gpu,
     {STACK_X, COMPUTED, SLOT, {" yl = f32[4,2] sine(xl)\n", " yl = f32[4,2] cosine(xl)\n"}},
     "differ"},
    {"the function twice in the reader",
     gpu,
     {STACK_X,
      COMPUTED,
      SLOT,
      {" yl = f32[4,2] sine(xl)\n", " x2 = f32[4,2] sine(xl)\n yl = f32[4,2] sine(x2)\n"}},
     "differ"},
    {"the reader computes nothing",
     gpu,
     {STACK_X, COMPUTED, SLOT, {"sine(xl)", "copy(xl)"}},
     "differ"},
    {"the reader takes another slice",
     gpu,
     {STACK_X, COMPUTED, SLOT, {"dynamic-slice(p, jl, z, z)", "dynamic-slice(p, i, z, z)"}},
     "differ"},
    {"the reader's operands are exchanged",
     gpu,
     {STACK_X,
      COMPUTED,
      SLOT,
      {"ROOT n = f32[4,2] minimum(g, yl)", "ROOT n = f32[4,2] minimum(g, xl)"}},
     "differ"},
    {"the reader rounds in between",
     gpu,
     {STACK_X,
      COMPUTED,
      SLOT,
      {" yl = f32[4,2] sine(xl)\n",
       " ys = f32[4,2] sine(xl)\n yh = bf16[4,2] convert(ys)\n yl = f32[4,2] convert(yh)\n"}},
     "differ"},
    {"the number counts in the other direction",
     gpu,
     {NUMBER, {" ROOT j = s32[] subtract(five, i) }", " ROOT j = s32[] add(five, i) }"}},
     "differ"},
    {"the number is off by one",
     gpu,
     {NUMBER,
      {"last { i = s32[] parameter(0)\n five = s32[] constant(5)",
       "last { i = s32[] parameter(0)\n five = s32[] constant(4)"}},
     "differ"},
    {"the number of the next iteration",
     gpu,
     {NUMBER,
      {" k = s32[] fusion(i)",
       " e = s32[] constant(1)\n i2 = s32[] add(i, e)\n k = s32[] fusion(i2)"}},
     "differ"},
};

START_TEST(verdict_matches_table) {
  loop_check_verdict(rows[_i].name, rows[_i].text, rows[_i].edits, rows[_i].why);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_slots");
  TCase *tc = tcase_create("verify_slots");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
