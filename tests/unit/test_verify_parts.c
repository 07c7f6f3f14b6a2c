/* rh_verify on parts of slices of a stack: each iteration of the first loop stacks what two steps
 * compute, `a` and `b`, and the second loop, which has two steps, too, takes each of them by
 * itself. Where the stack is computed again, it takes them of the slice. Rows replace pieces of the
 * text. */
#include "loop_texts.h"
#include "support.h"

#define INT(name, value) " " name " = s32[] constant(" value ")\n"
#define FORTH "(s32[], f32[4], f32[6,2,4], f32[6,4])"
#define BACK "(s32[], f32[4], f32[6,4], f32[6,2,4])"
#define STEPS                                                               \
  " m = f32[4] multiply(h, wr)\n a = f32[4] tanh(m)\n b = f32[4] sine(a)\n" \
  " ar = f32[1,4] reshape(a)\n br = f32[1,4] reshape(b)\n"                  \
  " ab = f32[2,4] concatenate(ar, br), dimensions={0}\n sl = f32[1,2,4] reshape(ab)\n"
#define WEIGHT(at)                      \
  " ws = f32[1,4] dynamic-slice(w, " at \
  ", z), dynamic_slice_sizes={1,4}\n"   \
  " wr = f32[4] reshape(ws)\n"
#define PART(name, of, start) \
  " " name " = f32[1,1,4] dynamic-slice(" of ", " start ", z), dynamic_slice_sizes={1,1,4}\n"

static const char *const steps[] = {
    "HloModule m\n"
    "fc { t = " FORTH " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" INT("n", "6")
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "fb { t = " FORTH " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " h = f32[4] get-tuple-element(t), index=1\n s = f32[6,2,4] get-tuple-element(t), index=2\n"
    " w = f32[6,4] get-tuple-element(t), index=3\n" INT("z", "0") INT("one", "1") WEIGHT("i") STEPS
    " sn = f32[6,2,4] dynamic-update-slice(s, sl, i, z, z)\n"
    " in = s32[] add(i, one)\n ROOT r = " FORTH " tuple(in, h, sn, w) }\n",
    "bc { t = " BACK " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n" INT("n", "6")
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "bb { t = " BACK " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " d = f32[4] get-tuple-element(t), index=1\n w = f32[6,4] get-tuple-element(t), index=2\n"
    " s = f32[6,2,4] get-tuple-element(t), index=3\n" INT("z", "0") INT("one", "1") INT("five", "5")
    " j = s32[] subtract(five, i)\n c0 = s32[] clamp(z, z, z)\n c1 = s32[] add(c0, one)\n"
    PART("second", "s", "j, c1") PART("first", "s", "j, c0")
    " fr = f32[4] reshape(first)\n sr = f32[4] reshape(second)\n"
    " da = f32[4] multiply(d, sr)\n dn = f32[4] divide(da, fr)\n"
    " in = s32[] add(i, one)\n ROOT r = " BACK " tuple(in, dn, w, s) }\n",
    "ENTRY e { h0 = f32[4] parameter(0)\n w = f32[6,4] parameter(1)\n d0 = f32[4] parameter(2)\n"
    INT("zero", "0") " fz = f32[] constant(0)\n s0 = f32[6,2,4] broadcast(fz), dimensions={}\n"
    " fi = " FORTH " tuple(zero, h0, s0, w)\n f = " FORTH " while(fi), condition=fc, body=fb\n"
    " hl = f32[4] get-tuple-element(f), index=1\n"
    " sa = f32[6,2,4] get-tuple-element(f), index=2\n"
    " bi = " BACK " tuple(zero, d0, w, sa)\n l = " BACK " while(bi), condition=bc, body=bb\n"
    " ROOT d = f32[4] get-tuple-element(l), index=1 }\n",
    NULL};

/* The second loop computes the slice again, from an `h` that it is given. */
#define AGAIN(at, steps, second, first)                                                           \
  {"tuple(zero, d0, w, sa)", "tuple(zero, d0, w, sa, hl)"},                                       \
      {BACK, "(s32[], f32[4], f32[6,4], f32[6,2,4], f32[4])"},                                    \
      {"tuple(in, dn, w, s)", "tuple(in, dn, w, s, h)"},                                          \
      {" d = f32[4] get-tuple-element(t), index=1\n",                                             \
       " d = f32[4] get-tuple-element(t), index=1\n h = f32[4] get-tuple-element(t), index=4\n"}, \
  {                                                                                               \
    PART("second", "s", "j, c1")                                                                  \
    PART("first", "s", "j, c0"),                                                                  \
        WEIGHT(at) steps PART("second", "sl", second) PART("first", "sl", first)                  \
  }

#define SWAPPED                                                             \
  " m = f32[4] multiply(h, wr)\n a = f32[4] tanh(m)\n b = f32[4] sine(a)\n" \
  " ar = f32[1,4] reshape(a)\n br = f32[1,4] reshape(b)\n"                  \
  " ab = f32[2,4] concatenate(br, ar), dimensions={0}\n sl = f32[1,2,4] reshape(ab)\n"
#define OTHER                                                                 \
  " m = f32[4] multiply(h, wr)\n a = f32[4] tanh(m)\n b = f32[4] cosine(a)\n" \
  " ar = f32[1,4] reshape(a)\n br = f32[1,4] reshape(b)\n"                    \
  " ab = f32[2,4] concatenate(ar, br), dimensions={0}\n sl = f32[1,2,4] reshape(ab)\n"

static const struct {
  const char *name;
  LoopEdit edits[MAX_LOOP_EDITS];
  bool differs;
} rows[] = {
    {"as it was", {{0}}, false},
    {"of the slice, at the same starts", {AGAIN("j", STEPS, "j, c1", "j, c0")}, false},
    {"of the slice, whose first start does not matter",
     {AGAIN("j", STEPS, "z, one", "five, z")},
     false},
    {"both the first part", {AGAIN("j", STEPS, "j, z", "j, z")}, true},
    {"both the second part", {AGAIN("j", STEPS, "j, one", "j, one")}, true},
    {"the parts exchanged", {AGAIN("j", STEPS, "j, z", "j, one")}, true},
    {"a part by the iteration", {AGAIN("j", STEPS, "j, j", "j, z")}, true},
    {"of another iteration", {AGAIN("i", STEPS, "j, one", "j, z")}, true},
    {"written in the other order", {AGAIN("j", SWAPPED, "j, one", "j, z")}, true},
    {"another value", {AGAIN("j", OTHER, "j, one", "j, z")}, true},
    {"the stack at another iteration",
     {{PART("second", "s", "j, c1"), PART("second", "s", "i, c1")}},
     true},
    {"the stack at another part",
     {{PART("second", "s", "j, c1"), PART("second", "s", "j, c0")}},
     true},
    {"the stack written at another iteration",
     {{"dynamic-update-slice(s, sl, i, z, z)", "dynamic-update-slice(s, sl, one, z, z)"}},
     true},
};

START_TEST(verdict_matches_table) {
  const char *any_reason = "";
  loop_check_verdict(rows[_i].name, steps, rows[_i].edits, rows[_i].differs ? any_reason : NULL);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_parts");
  TCase *tc = tcase_create("verify_parts");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
