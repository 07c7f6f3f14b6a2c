/* rh_verify of stacks that XLA:GPU transposes as a whole between two loops, where the second loop
 * takes its slices before the transpose instead. Rows replace pieces of a text. */

#include "loop_texts.h"
#include "support.h"

/* What the first loop stacks, the same as its kernel sees it, and what the second loop is given. */
#define STACK "f32[6,4,4]{2,0,1}"
#define VIEW "f32[4,6,4]{2,1,0}"
#define TURNED "f32[6,4,4]{2,1,0}"
#define FORTH "(s32[], f32[4,4], " STACK ")"
#define BACK "(s32[], f32[4,4], " TURNED ")"

static const char *const gpu[] = {
    "HloModule m, is_scheduled=true, frontend_attributes={fingerprint_before_lhs=\"1\"}\n",
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n",
    "write { p = " STACK " parameter(0)\n b = " VIEW
    " bitcast(p)\n y = f32[4,4] parameter(1)\n r = f32[4,1,4] bitcast(y)\n"
    " i = s32[] parameter(2)\n z = s32[] constant(0)\n d = " VIEW
    " dynamic-update-slice(b, r, z, i, z)\n ROOT o = " STACK " bitcast(d) }\n",
    "turn { p = " STACK " parameter(0)\n b = " VIEW " bitcast(p)\n ROOT t = " TURNED
    " transpose(b), dimensions={1,0,2} }\n",
    "layer { x = f32[4,4] parameter(0)\n ROOT y = f32[4,4] sine(x) }\n"
    "layer2 { x = f32[4,4] parameter(0)\n ROOT y = f32[4,4] sine(x) }\n"
    "next { x = f32[4,4] parameter(0)\n y = f32[4,4] parameter(1)\n"
    " ROOT n = f32[4,4] maximum(x, y) }\n",
    "least { g = f32[4,4] parameter(0)\n p = " TURNED
    " parameter(1)\n i = s32[] parameter(2)\n five = s32[] constant(5)\n"
    " j = s32[] subtract(five, i)\n z = s32[] constant(0)\n"
    " s = f32[1,4,4] dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,4,4}\n"
    " y = f32[4,4] bitcast(s)\n ROOT n = f32[4,4] minimum(g, y) }\n",
    "grad { q = " TURNED
    " parameter(0)\n i = s32[] parameter(1)\n h = f32[4,4] parameter(2)\n"
    " five = s32[] constant(5)\n j = s32[] subtract(five, i)\n z = s32[] constant(0)\n"
    " s = f32[1,4,4] dynamic-slice(q, j, z, z), dynamic_slice_sizes={1,4,4}\n"
    " y = f32[4,4] bitcast(s)\n m = f32[4,4] multiply(h, y)\n o = f32[] constant(0)\n"
    " r = f32[4] reduce(m, o), dimensions={1}, to_apply=add\n"
    " ROOT n = f32[4,4] broadcast(r), dimensions={0} }\n",
    "fb { t = " FORTH
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4,4] get-tuple-element(t), index=1\n s = " STACK
    " get-tuple-element(t), index=2\n y = f32[4,4] fusion(x), kind=kLoop, calls=layer\n"
    " sn = " STACK
    " fusion(s, y, i), kind=kLoop, calls=write\n"
    " xn = f32[4,4] fusion(x, y), kind=kLoop, calls=next\n one = s32[] constant(1)\n"
    " in = s32[] add(i, one)\n ROOT r = " FORTH " tuple(in, xn, sn) }\n",
    "fc { t = " FORTH
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "bb { t = " BACK
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " g = f32[4,4] get-tuple-element(t), index=1\n s = " TURNED
    " get-tuple-element(t), index=2\n"
    " h = f32[4,4] fusion(g, s, i), kind=kLoop, calls=least\n"
    " gn = f32[4,4] fusion(s, i, h), kind=kInput, calls=grad\n one = s32[] constant(1)\n"
    " in = s32[] add(i, one)\n ROOT r = " BACK " tuple(in, gn, s) }\n",
    "bc { t = " BACK
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "ENTRY e { x0 = f32[4,4] parameter(0)\n s0 = " STACK
    " parameter(1)\n z = s32[] constant(0)\n ti = " FORTH " tuple(z, x0, s0)\n f = " FORTH
    " while(ti), condition=fc, body=fb\n g0 = f32[4,4] get-tuple-element(f), index=1\n sa = " STACK
    " get-tuple-element(f), index=2\n z2 = s32[] constant(0)\n st = " TURNED
    " fusion(sa), kind=kInput, calls=turn\n bi = " BACK " tuple(z2, g0, st)\n b = " BACK
    " while(bi), condition=bc, body=bb\n ROOT o = f32[4,4] get-tuple-element(b), index=1 }\n",
    NULL,
};

/* ---- rewrites ---- */

/* The second loop is given the stack as it is. */
#define GIVEN                                                                           \
  {" st = " TURNED " fusion(sa), kind=kInput, calls=turn\n", ""},                       \
      {" bi = " BACK " tuple(z2, g0, st)\n", " bi = " BACK " tuple(z2, g0, sa)\n"},     \
      {"turn { p = " STACK " parameter(0)\n b = " VIEW " bitcast(p)\n ROOT t = " TURNED \
       " transpose(b), dimensions={1,0,2} }\n",                                         \
       ""},                                                                             \
      {BACK, FORTH}, {                                                                  \
    " s = " TURNED " get-tuple-element", " s = " STACK " get-tuple-element"             \
  }
/* The fusion without a sum takes a slice, and transposes it. */
#define TURNS(index, dims)                                                      \
  {"p = " TURNED " parameter(1)", "p = " STACK " parameter(1)"}, {              \
    " s = f32[1,4,4] dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,4,4}\n", \
        " b = " VIEW " bitcast(p)\n c = f32[4,1,4] dynamic-slice(b, z, " index  \
        ", z), dynamic_slice_sizes={4,1,4}\n s = f32[1,4,4] transpose(c), "     \
        "dimensions={" dims "}\n"                                               \
  }
/* The fusion with a sum takes its slice of an array that is the slice, which another one makes. */
#define BEFORE                                                                              \
  {"grad { q = " TURNED " parameter(0)",                                                    \
   "one { p = " STACK " parameter(0)\n i = s32[] parameter(1)\n b = " VIEW                  \
   " bitcast(p)\n five = s32[] constant(5)\n j = s32[] subtract(five, i)\n"                 \
   " z = s32[] constant(0)\n c = f32[4,1,4] dynamic-slice(b, z, j, z), "                    \
   "dynamic_slice_sizes={4,1,4}\n ROOT d = f32[1,4,4] transpose(c), dimensions={1,0,2} }\n" \
   "grad { q = f32[1,4,4]{2,1,0} parameter(0)"},                                            \
  {                                                                                         \
    " gn = f32[4,4] fusion(s, i, h)",                                                       \
        " a = f32[1,4,4] fusion(s, i), kind=kLoop, calls=one\n"                             \
        " gn = f32[4,4] fusion(a, i, h)"                                                    \
  }

static const struct {
  const char *name;
  LoopEdit edits[MAX_LOOP_EDITS];
  const char *why; /* see loop_check_verdict() */
} rows[] = {
    {"the same", {{0}}, NULL},
    {"slices are transposed", {GIVEN, TURNS("j", "1,0,2"), BEFORE}, NULL},
    /* what must be refused */
    {"the slice of another iteration", {GIVEN, TURNS("i", "1,0,2"), BEFORE}, "differ"},
    {"another transpose", {GIVEN, TURNS("j", "1,2,0"), BEFORE}, "differ"},
    {"another transpose for what adds up",
     {GIVEN,
      TURNS("j", "1,0,2"),
      BEFORE,
      {"ROOT d = f32[1,4,4] transpose(c), dimensions={1,0,2}",
       "ROOT d = f32[1,4,4] transpose(c), dimensions={1,2,0}"}},
     "differ"},
    {"what adds up transposes, too",
     {GIVEN,
      TURNS("j", "1,0,2"),
      {"grad { q = " TURNED " parameter(0)", "grad { q = " STACK " parameter(0)"},
      {" s = f32[1,4,4] dynamic-slice(q, j, z, z), dynamic_slice_sizes={1,4,4}\n",
       " b = " VIEW " bitcast(q)\n c = f32[4,1,4] dynamic-slice(b, z, j, z), "
       "dynamic_slice_sizes={4,1,4}\n s = f32[1,4,4] transpose(c), dimensions={1,0,2}\n"}},
     LOOP_ROUNDING},
    {"the memory of the stack, not its elements",
     {{" fusion(sa), kind=kInput, calls=turn\n", " bitcast(sa)\n"},
      {"turn { p = " STACK " parameter(0)\n b = " VIEW " bitcast(p)\n ROOT t = " TURNED
       " transpose(b), dimensions={1,0,2} }\n",
       ""}},
     "differ"},
    {"another transpose of the whole",
     {{"transpose(b), dimensions={1,0,2}", "transpose(b), dimensions={1,2,0}"}},
     "differ"},
    {"the second loop reads what was there before the first one",
     {GIVEN, TURNS("j", "1,0,2"), BEFORE, {"tuple(z2, g0, sa)", "tuple(z2, g0, s0)"}},
     "differ"},
};

START_TEST(verdict_matches_table) {
  loop_check_verdict(rows[_i].name, gpu, rows[_i].edits, rows[_i].why);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_layouts");
  TCase *tc = tcase_create("verify_layouts");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
