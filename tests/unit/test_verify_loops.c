/* rh_verify across loops: what a loop stacks for another one is computed again there, or a loop is
 * cut into segments. The modules are texts of loop_texts.h, in which rows replace pieces. */
#include "remat/verify/verify.h"

#include <stdlib.h>

#include "loop_texts.h"
#include "support.h"

/* ---- edits ---- */

/* The second loop computes y again from x, which is stacked instead. */
#define REMAT LOOP_REMAT
#define READ "ss = f32[1,4] dynamic-slice(s, j, z)"
#define READ_AT(more, index) \
  { READ, more "\n ss = f32[1,4] dynamic-slice(s, " index ", z)" }
#define WRITE "sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, i, z)"
#define LAST "j = s32[] subtract(five, i)"
#define EFFECT                                                                                \
  {                                                                                           \
    " m = f32[4] multiply(x, wr)\n",                                                          \
        " m = f32[4] multiply(x, wr)\n u = f32[4] custom-call(x), custom_call_target=\"t\", " \
        "custom_call_has_side_effect=true\n"                                                  \
  }
#define NARROW(type, offset)                                                             \
  {                                                                                      \
    LAST, "i8 = " type "[] convert(i)\n q = " type "[] constant(" offset ")\n a = " type \
          "[] add(i8, q)\n b = s32[] convert(a)\n o = s32[] constant(" offset            \
          ")\n g = s32[] subtract(b, o)\n j = s32[] subtract(five, g)"                   \
  }
#define INT(name, value) name " = s32[] constant(" value ")\n"

/* A python index: from the end if it is negative. */
#define FROM_END                                                                \
  {                                                                             \
    LAST,                                                                       \
        "j0 = s32[] subtract(five, i)\n six = s32[] constant(6)\n j6 = s32[] "  \
        "add(j0, six)\n lt = pred[] compare(j0, z), direction=LT\n js = s32[] " \
        "select(lt, j6, j0)\n j = s32[] clamp(z, js, five)"                     \
  }

#define TWICE(name, of) " two = s32[] constant(2)\n " name " = s32[] multiply(" of ", two)\n"
#define EVERY_OTHER                                                                  \
  {"f32[6,4]{1,0}", "f32[12,4]"}, {" sn =", TWICE("ii", "i") " sn ="},               \
      {"dynamic-update-slice(s, yr, i, z)", "dynamic-update-slice(s, yr, ii, z)"}, { \
    READ, TWICE("jj", "j") " ss = f32[1,4] dynamic-slice(s, jj, z)"                  \
  }

/* The stack has more rows, of which each layer writes two; the second one is read. */
#define TWO_ROWS(rows, step, stacked, read)                                          \
  {"f32[6,4]{1,0}", "f32[" rows ",4]"},                                              \
      {" yr = f32[1,4] reshape(y)",                                                  \
       " xx = f32[2,4] broadcast(x), dimensions={1}\n yr = f32[2,4] " stacked        \
       "(xx)\n step = s32[] constant(" step ")\n ii = s32[] multiply(i, step)"},     \
      {"dynamic-update-slice(s, yr, i, z)", "dynamic-update-slice(s, yr, ii, z)"}, { \
    READ ", dynamic_slice_sizes={1,4}",                                              \
        " step = s32[] constant(" step                                               \
        ")\n jj = s32[] multiply(j, step)\n sj = f32[2,4] "                          \
        "dynamic-slice(s, jj, z), dynamic_slice_sizes={2,4}\n sr = f32[2,4] " read   \
        "(sj)\n ss = f32[1,4] slice(sr), slice={[1:2], [0:4]}"                       \
  }

/* The first loop writes its stack in a fusion. */
#define FUSED                                                                                 \
  {"HloModule m\n",                                                                           \
   "HloModule m\nf { s = f32[6,4] parameter(0)\n m = f32[4] parameter(1)\n i = s32[] "        \
   "parameter(2)\n z = s32[] constant(0)\n y = f32[4] sine(m)\n yr = f32[1,4] reshape(y)\n "  \
   "ROOT d = f32[6,4] dynamic-update-slice(s, yr, i, z) }\n"                                  \
   "g { s = f32[6,4] parameter(0)\n i = s32[] parameter(1)\n five = s32[] constant(5)\n j = " \
   "s32[] subtract(five, i)\n z = s32[] constant(0)\n ss = f32[1,4] dynamic-slice(s, j, z), " \
   "dynamic_slice_sizes={1,4}\n ROOT y = f32[4] bitcast(ss) }\n"},                            \
      {WRITE, "sn = f32[6,4] fusion(s, m, i), kind=kLoop, calls=f"}, {                        \
    " y = f32[4] reshape(ss)", " y = f32[4] fusion(s, i), kind=kLoop, calls=g"                \
  }

/* The parts of the state in another order, and none that nobody reads. */
#define PERMUTED "(f32[6,4], s32[], f32[6,4], f32[4])"
#define PERMUTE                                                                                  \
  {LOOP_FORTH, PERMUTED}, {"tuple(fin, xn, sn, w)", "tuple(sn, fin, w, xn)"},                    \
      {"tuple(zero, x0, s0, w)\n", "tuple(s0, zero, w, x0)\n"},                                  \
      {"get-tuple-element(f), index=1", "get-tuple-element(f), index=3"},                        \
      {"get-tuple-element(f), index=2", "get-tuple-element(f), index=0"},                        \
      {"fc { t = " PERMUTED " parameter(0)\n i = s32[] get-tuple-element(t), index=0",           \
       "fc { t = " PERMUTED " parameter(0)\n i = s32[] get-tuple-element(t), index=1"},          \
  {                                                                                              \
    "fb { t = " PERMUTED                                                                         \
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n x = "                             \
    "f32[4] get-tuple-element(t), index=1\n s = f32[6,4]{1,0} get-tuple-element(t), index=2"     \
    "\n w = f32[6,4] get-tuple-element(t), index=3",                                             \
        "fb { t = " PERMUTED                                                                     \
        " parameter(0)\n i = s32[] get-tuple-element(t), index=1\n x = "                         \
        "f32[4] get-tuple-element(t), index=3\n s = f32[6,4]{1,0} get-tuple-element(t), index=0" \
        "\n w = f32[6,4] get-tuple-element(t), index=2"                                          \
  }

/* In the first loop. */
#define WAIT \
  { "xn = f32[4] add(x, y)\n", "xn = f32[4] add(x, y), control-predecessors={wr}\n" }

/* The first loop sends what it carries on round a ring of devices. */
#define RING(operand)                                                       \
  {                                                                         \
    "xn = f32[4] add(x, y)\n",                                              \
        "v = f32[4] add(x, y)\n cs = (f32[4], f32[4], u32[], u32[]) "       \
        "collective-permute-start(" operand                                 \
        "), channel_id=1, source_target_pairs={{0,1},{1,0}}\n xn = f32[4] " \
        "collective-permute-done(cs)\n"                                     \
  }

/* A segment stacks x, not y, when it is computed again. */
#define SEGMENT_REMAT                                                                 \
  {LOOP_STACK_X}, {                                                                   \
    " y = f32[4] reshape(ss)\n",                                                      \
        " x = f32[4] reshape(ss)\n m = f32[4] multiply(x, wr)\n y = f32[4] sine(m)\n" \
  }
#define OTHER_BASE                                                              \
  {"tuple(z, x, w, base, s0)", "tuple(z, x, w, other, s0)"}, {                  \
    "fz = f32[] constant(0)\n s0 = f32[3,4]",                                   \
        "other = s32[] multiply(i, k)\n fz = f32[] constant(0)\n s0 = f32[3,4]" \
  }

/* Each layer writes and reads a part of a column. */
#define NOT_WHOLE                                                                   \
  {"f32[6,4]{1,0}", "f32[5,6]"}, {"yr = f32[1,4]", "yr = f32[4,1]"},                \
      {"dynamic-update-slice(s, yr, i, z)", "dynamic-update-slice(s, yr, z, i)"}, { \
    READ ", dynamic_slice_sizes={1,4}",                                             \
        "ss = f32[4,1] dynamic-slice(s, one, j), dynamic_slice_sizes={4,1}"         \
  }

/* loop_cut with segments of two layers. */
#define CUT_BY_TWO                                                                                \
  {INT("n", "2"), INT("n", "@")}, {INT("n", "3"), INT("n", "2")}, {INT("k", "3"), INT("k", "2")}, \
      {INT("last", "2"), INT("last", "1")}, {                                                     \
    "[3,1,4]", "[2,1,4]"                                                                          \
  }
#define THREE_SEGMENTS                                                  \
  {INT("n", "@"), INT("n", "3")}, {INT("end", "1"), INT("end", "2")}, { \
    "f32[2,4]", "f32[3,4]"                                              \
  }

/* Two of them, and a loop for the two layers after them. */
#define CUT_AGAIN_OF_TWO "(s32[], f32[4], f32[6,4], s32[], f32[2,1,4])"
#define CUT_BACK_OF_TWO "(s32[], f32[4], f32[6,4], f32[6,4], s32[], f32[2,1,4])"
#define TWO_SEGMENTS_AND_A_REST(base)                                    \
  {INT("n", "@"), INT("n", "2")},                                        \
      {" x = f32[4] get-tuple-element(f), index=1\n",                    \
       " xm = f32[4] get-tuple-element(f), index=1\n"                    \
       " jm = s32[] get-tuple-element(f), index=0\n"                     \
       " rest = " LOOP_CUT_INNER                                         \
       " tuple(jm, xm, w, zero)\n"                                       \
       " fr = " LOOP_CUT_INNER                                           \
       " while(rest), condition=c1, body=b1\n"                           \
       " x = f32[4] get-tuple-element(fr), index=1\n"},                  \
      {"tuple(z3, dx1, w, a0, z4, s)", "tuple(jr, dr, w, ar, z4, s)"}, { \
    " bi =", " base = s32[] constant(" base                              \
             ")\n"                                                       \
             " ys0 = f32[2,1,4] fusion(), kind=kLoop, calls=zeros\n"     \
             " ra = " CUT_AGAIN_OF_TWO                                   \
             " tuple(base, xm, w, zero, ys0)\n"                          \
             " rl = " CUT_AGAIN_OF_TWO                                   \
             " while(ra), condition=c3, body=b3\n"                       \
             " ys = f32[2,1,4] get-tuple-element(rl), index=4\n"         \
             " rb = " CUT_BACK_OF_TWO                                    \
             " tuple(z3, dx1, w, a0, zero, ys)\n"                        \
             " rr = " CUT_BACK_OF_TWO                                    \
             " while(rb), condition=c4, body=b4\n"                       \
             " jr = s32[] get-tuple-element(rr), index=0\n"              \
             " dr = f32[4] get-tuple-element(rr), index=1\n"             \
             " ar = f32[6,4] get-tuple-element(rr), index=3\n bi ="      \
  }

/* Between the loops, another one computes dx from x. */
#define LOOP_BETWEEN(dx, index)                                                       \
  {"ENTRY e {\n",                                                                   \
   "cm { t = (f32[4], s32[]) parameter(0)\n i = s32[] get-tuple-element(t), "       \
   "index=1\n " INT("m", "4") " ROOT c = pred[] compare(i, m), direction=LT }\n"   \
   "bm { t = (f32[4], s32[]) parameter(0)\n x = f32[4] get-tuple-element(t), "      \
   "index=0\n i = s32[] get-tuple-element(t), index=1\n " INT("one", "1")          \
   " xn = f32[4] cosine(x)\n in = s32[] add(i, one)\n"                             \
   " ROOT r = (f32[4], s32[]) tuple(xn, in) }\nENTRY e {\n"},                       \
      {" bi =",                                                                     \
       " mi = (f32[4], s32[]) tuple(x, zero)\n"                                     \
       " ml = (f32[4], s32[]) while(mi), condition=cm, body=bm\n"                   \
       " xl = f32[4] get-tuple-element(ml), index=0\n bi ="}, { \
    dx, index                                                                         \
  }

/* Four iterations on two numbers that need each other. */
static const char *const two_numbers[] = {
    "HloModule m\n"
    "c { t = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(4)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
    "b { t = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " p = f32[] get-tuple-element(t), index=1\n q = f32[] get-tuple-element(t), index=2\n"
    " one = s32[] constant(1)\n j = s32[] add(i, one)\n a = f32[] sine(p)\n b = f32[] cosine(q)\n"
    " pn = f32[] add(a, q)\n qn = f32[] subtract(b, p)\n"
    " ROOT r = (s32[], f32[], f32[]) tuple(j, pn, qn) }\n",
    "ENTRY e { p0 = f32[] parameter(0)\n q0 = f32[] parameter(1)\n zero = s32[] constant(0)\n"
    " a = (s32[], f32[], f32[]) tuple(zero, p0, q0)\n"
    " l = (s32[], f32[], f32[]) while(a), condition=c, body=b\n"
    " p = f32[] get-tuple-element(l), index=1\n q = f32[] get-tuple-element(l), index=2\n"
    " ROOT r = (f32[], f32[]) tuple(p, q) }\n",
    NULL};

/* Twice two iterations, in nested loops. The inner loop gets `first` and `second`. */
#define NESTED(first, second)                                                                    \
  {"constant(4)", "constant(2)"}, {"condition=c, body=b", "condition=c, body=outer"}, {          \
    "ENTRY",                                                                                     \
        "outer { t = (s32[], f32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), "      \
        "index=0\n"                                                                              \
        " p = f32[] get-tuple-element(t), index=1\n q = f32[] get-tuple-element(t), index=2\n"   \
        " zero = s32[] constant(0)\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"          \
        " a = (s32[], f32[], f32[]) tuple(zero, " first ", " second                              \
        ")\n"                                                                                    \
        " l = (s32[], f32[], f32[]) while(a), condition=c, body=b\n"                             \
        " pn = f32[] get-tuple-element(l), index=1\n qn = f32[] get-tuple-element(l), index=2\n" \
        " ROOT r = (s32[], f32[], f32[]) tuple(j, pn, qn) }\nENTRY"                              \
  }

/* Twice two iterations, in one loop after the other. The second loop gets p and `second`. */
#define HALVES(second)                                                                            \
  {"constant(4)", "constant(2)"}, {                                                               \
    " p = f32[] get-tuple-element(l), index=1\n q = f32[] get-tuple-element(l), index=2\n ROOT",  \
        " pm = f32[] get-tuple-element(l), index=1\n qm = f32[] get-tuple-element(l), index=2\n"  \
        " other = f32[] sine(qm)\n am = (s32[], f32[], f32[]) tuple(zero, pm, " second            \
        ")\n"                                                                                     \
        " lm = (s32[], f32[], f32[]) while(am), condition=c, body=b\n"                            \
        " p = f32[] get-tuple-element(lm), index=1\n q = f32[] get-tuple-element(lm), index=2\n " \
        "ROOT"                                                                                    \
  }

/* ---- rows ---- */

static const struct {
  const char *name;
  const char *const *before, *const *after;
  LoopEdit edits_before[MAX_LOOP_EDITS], edits_after[MAX_LOOP_EDITS];
  const char *why; /* a part of the notes; NULL = the modules are equivalent */
} rows[] = {
    {"computed again from the carry", loop_scan, loop_scan, {{0}}, {REMAT}, NULL},
    {"and back", loop_scan, loop_scan, {REMAT}, {{0}}, NULL},
    {"read in the same order",
     loop_scan,
     loop_scan,
     {{LAST, "j = s32[] copy(i)"}},
     {REMAT, {LAST, "j = s32[] copy(i)"}},
     NULL},
    {"an index that might be negative", loop_scan, loop_scan, {FROM_END}, {REMAT}, NULL},
    {"in fusions", loop_scan, loop_scan, {FUSED}, {REMAT}, NULL},
    {"another layout of the state", loop_scan, loop_scan, {{0}}, {REMAT, PERMUTE}, NULL},
    {"without a stack: from the first x, once more",
     loop_scan,
     loop_scan,
     {{0}},
     {{LAST, LAST "\n" INT("zz", "0")}},
     NULL},
    {"counted from 3",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {INT("fn", "6"), INT("fn", "9")},
      {"tuple(zero, x0, s0, w)", "tuple(three, x0, s0, w)"},
      {INT("zero", "0"), INT("zero", "0") " " INT("three", "3")},
      {WRITE,
       "k3 = s32[] constant(3)\n i3 = s32[] subtract(i, k3)\n sn = f32[6,4]{1,0} "
       "dynamic-update-slice(s, yr, i3, z)"},
      {"dynamic-slice(w, i, z)", "dynamic-slice(w, i3, z)"},
      {" ws =", " k4 = s32[] constant(3)\n i4 = s32[] subtract(i, k4)\n ws ="},
      {"dynamic-slice(w, i3, z)", "dynamic-slice(w, i4, z)"}},
     NULL},
    {"counted down",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {INT("fn", "6"), INT("fn", "0")},
      {"compare(i, fn), direction=LT", "compare(i, fn), direction=GT"},
      {"fin = s32[] add(i, one)", "fin = s32[] subtract(i, one)"},
      {"tuple(zero, x0, s0, w)", "tuple(six, x0, s0, w)"},
      {INT("zero", "0"), INT("zero", "0") " " INT("six", "6")},
      {"dynamic-slice(w, i, z)", "dynamic-slice(w, i6, z)"},
      {" ws =", " k6 = s32[] constant(6)\n i6 = s32[] subtract(k6, i)\n ws ="},
      {WRITE, "sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, i6, z)"}},
     NULL},
    {"every other row", loop_scan, loop_scan, {EVERY_OTHER}, {REMAT, EVERY_OTHER}, NULL},
    {"two rows for each layer",
     loop_scan,
     loop_scan,
     {TWO_ROWS("12", "2", "sine", "copy")},
     {TWO_ROWS("12", "2", "copy", "sine")},
     NULL},
    {"with narrow counters that do not overflow",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, NARROW("s8", "100")},
     NULL},
    {"in two halves of a collective", loop_scan, loop_scan, {RING("v")}, {RING("v"), REMAT}, NULL},
    {"with a side effect that stays", loop_scan, loop_scan, {EFFECT}, {EFFECT}, NULL},
    {"in segments", loop_scan, loop_segments, {{0}}, {{0}}, NULL},
    {"segments of computed values", loop_scan, loop_segments, {REMAT}, {{0}}, NULL},
    {"segments that compute y a third time",
     loop_scan,
     loop_segments,
     {{0}},
     {SEGMENT_REMAT},
     NULL},
    {"cut into segments", loop_scan, loop_cut, {{0}}, {{0}}, NULL},
    {"segments joined", loop_cut, loop_scan, {{0}}, {{0}}, NULL},
    {"cut, and y computed again before", loop_scan, loop_cut, {REMAT}, {{0}}, NULL},
    {"cut, and y computed again in segments",
     loop_scan,
     loop_cut,
     {{0}},
     {LOOP_CUT_REMAT("j")},
     NULL},
    {"cut into three segments", loop_scan, loop_cut, {{0}}, {CUT_BY_TWO, THREE_SEGMENTS}, NULL},
    {"cut into two segments or three",
     loop_cut,
     loop_cut,
     {{0}},
     {CUT_BY_TWO, THREE_SEGMENTS},
     NULL},
    {"cut into two segments and a rest",
     loop_scan,
     loop_cut,
     {{0}},
     {CUT_BY_TWO, TWO_SEGMENTS_AND_A_REST("4")},
     NULL},
    {"cut around another loop",
     loop_scan,
     loop_cut,
     {LOOP_BETWEEN("tuple(zero, x, s, w, a0)", "tuple(zero, xl, s, w, a0)")},
     {LOOP_BETWEEN("tuple(z3, dx1, w, a0, z4, s)", "tuple(z3, xl, w, a0, z4, s)")},
     NULL},
    {"cut, with a control dependency", loop_scan, loop_cut, {WAIT}, {{0}}, NULL},
    {"two numbers in nested loops", two_numbers, two_numbers, {{0}}, {NESTED("p", "q")}, NULL},
    {"two numbers in one loop after the other",
     two_numbers,
     two_numbers,
     {{0}},
     {HALVES("qm")},
     NULL},
    {"two segments into three",
     loop_segments,
     loop_segments,
     {{0}},
     {{"constant(3)", "constant(@)"},
      {INT("n", "2"), INT("n", "3")},
      {INT("last", "1"), INT("last", "%")},
      {INT("last", "2"), INT("last", "1")},
      {"constant(%)", "constant(2)"},
      {"f32[3,4]", "f32[?,4]"},
      {"f32[2,4]", "f32[3,4]"},
      {"f32[?,4]", "f32[2,4]"},
      {"constant(@)", "constant(2)"}},
     NULL},

    {"a control dependency that stays", loop_scan, loop_scan, {WAIT}, {REMAT, PERMUTE, WAIT}, NULL},
    {"a control dependency in segments", loop_scan, loop_segments, {WAIT}, {{0}}, NULL},

    /* what must be refused */
    {"another operation",
     loop_scan,
     loop_scan,
     {{0}},
     {{LOOP_STACK_X},
      {" y = f32[4] reshape(ss)\n",
       " x = f32[4] "
       "reshape(ss)\n m = f32[4] multiply(x, wj)\n y = f32[4] cosine(m)\n"}},
     "'y'"},
    {"one layer too late",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, READ_AT("j1 = s32[] add(j, one)", "j1")},
     "differ"},
    {"one layer too early",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, READ_AT("j1 = s32[] subtract(j, one)", "j1")},
     "differ"},
    {"in the wrong direction", loop_scan, loop_scan, {{0}}, {REMAT, READ_AT("", "i")}, "differ"},
    {"weights of another layer",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, {"vs = f32[1,4] dynamic-slice(w, j, z)", "vs = f32[1,4] dynamic-slice(w, i, z)"}},
     "differ"},
    {"a stack that is written twice",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {WRITE,
       "sp = f32[6,4]{1,0} dynamic-update-slice(s, yr, i, z)\n sn = f32[6,4]{1,0} "
       "dynamic-update-slice(sp, ws, z, z)"}},
     "differ"},
    {"a stack that the second loop writes, too",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"tuple(bin, dn, s, w, an)", "tuple(bin, dn, sx, w, an)"},
      {"bin = s32[]", "sx = f32[6,4]{1,0} dynamic-update-slice(s, dr, z, z)\n bin = s32[]"}},
     "differ"},
    {"a slice that is read before it is written",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"xn = f32[4] add(x, y)",
       "old = f32[1,4] dynamic-slice(s, i, z), dynamic_slice_sizes={1,4}\n oldr = f32[4] "
       "reshape(old)\n xn = f32[4] add(x, oldr)"}},
     "differ"},
    {"fewer layers forth",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, {INT("fn", "6"), INT("fn", "5")}},
     "differ"},
    {"fewer layers back",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, {INT("bn", "6"), INT("bn", "5")}},
     "differ"},
    {"more layers than the stack has",
     loop_scan,
     loop_scan,
     {{"f32[6,4]{1,0}", "f32[5,4]"}},
     {REMAT, {"f32[6,4]{1,0}", "f32[5,4]"}},
     "differ"},
    {"weights that change",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"tuple(fin, xn, sn, w)", "tuple(fin, xn, sn, w2)"},
      {"fin = s32[]", "w2 = f32[6,4] add(w, w)\n fin = s32[]"}},
     "differ"},
    {"weights that change on the way back",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"tuple(bin, dn, s, w, an)", "tuple(bin, dn, s, w2, an)"},
      {"bin = s32[]", "w2 = f32[6,4] add(w, w)\n bin = s32[]"}},
     "differ"},
    {"slices that are not whole rows",
     loop_scan,
     loop_scan,
     {{"f32[6,4]{1,0}", "f32[6,5]"}, {READ, "ss = f32[1,4] dynamic-slice(s, j, one)"}},
     {REMAT, {"f32[6,4]{1,0}", "f32[6,5]"}, {READ, "ss = f32[1,4] dynamic-slice(s, j, one)"}},
     "differ"},
    {"two rows for each layer that overlap",
     loop_scan,
     loop_scan,
     {TWO_ROWS("7", "1", "sine", "copy")},
     {TWO_ROWS("7", "1", "copy", "sine")},
     "differ"},
    {"a stack that changes besides",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"sn = f32[6,4]{1,0} dynamic-update-slice(s, yr",
       "ss = f32[6,4] sine(s)\n sn = f32[6,4]{1,0} dynamic-update-slice(ss, yr"}},
     "differ"},
    {"a condition that overflows",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"compare(i, fn)", "compare(b, fn)"},
      {INT("fn", "6"), INT("fn", "131")},
      {" fn =",
       " i8 = s8[] convert(i)\n q = s8[] constant(125)\n a = s8[] add(i8, q)\n b = s32[] "
       "convert(a)\n fn ="}},
     "differ"},
    {"a counter that begins elsewhere",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"tuple(zero, x0, s0, w)", "tuple(zz, x0, s0, w)"},
      {INT("zero", "0"), INT("zero", "0") " " INT("zz", "1")}},
     "differ"},
    {"a counter with another step",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, {INT("one", "1"), INT("one", "2")}},
     "differ"},
    {"a collective of something else",
     loop_scan,
     loop_scan,
     {RING("v")},
     {RING("y"), REMAT},
     "differ"},
    {"a side effect that is gone", loop_scan, loop_scan, {EFFECT}, {{0}}, "differ"},
    {"a side effect that happens more often",
     loop_scan,
     loop_scan,
     {EFFECT},
     {EFFECT, {INT("fn", "6"), INT("fn", "7")}},
     "differ"},
    {"another first state",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT,
      {"tuple(zero, x0, s0, w)", "tuple(zero, x1, s0, w)"},
      {INT("zero", "0"), INT("zero", "0") " x1 = f32[4] sine(x0)\n"}},
     "differ"},
    {"a signed counter that overflows",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, NARROW("s8", "125")},
     "differ"},
    {"an unsigned counter that overflows",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, NARROW("u8", "253")},
     "differ"},
    {"a counter of 32 bits that overflows",
     loop_scan,
     loop_scan,
     {{0}},
     {REMAT, NARROW("s32", "2147483645")},
     "differ"},
    {"a control dependency that is lost",
     loop_scan,
     loop_scan,
     {WAIT},
     {REMAT, PERMUTE},
     "the control dependency of 'xn' on 'wr' is lost"},
    {"the wrong segment",
     loop_scan,
     loop_segments,
     {{0}},
     {{"dynamic-slice(s, seg, z)", "dynamic-slice(s, i, z)"}},
     "differ"},
    {"the wrong layers of a segment",
     loop_scan,
     loop_segments,
     {{0}},
     {{"base = s32[] multiply(seg, k)", "base = s32[] multiply(i, k)"}},
     "differ"},
    {"a segment from a later x",
     loop_scan,
     loop_segments,
     {{0}},
     {{"xr = f32[1,4] reshape(x)", "xs = f32[4] sine(x)\n xr = f32[1,4] reshape(xs)"}},
     "differ"},
    {"a segment computed again with the weights of another one",
     loop_scan,
     loop_segments,
     {{0}},
     {{"tuple(z, x, w, base, s0)", "tuple(z, x, w, other, s0)"},
      {"fz = f32[] constant(0)\n s0 = f32[3,4]",
       "other = s32[] multiply(i, k)\n fz = f32[] constant(0)\n s0 = f32[3,4]"}},
     "differ"},
    {"gradients of a segment with the weights of another one",
     loop_scan,
     loop_segments,
     {{0}},
     {{"tuple(z, dx, w, base, ys, acc)", "tuple(z, dx, w, other, ys, acc)"},
      {"fz = f32[] constant(0)\n s0 = f32[3,4]",
       "other = s32[] multiply(i, k)\n fz = f32[] constant(0)\n s0 = f32[3,4]"}},
     "differ"},
    {"only the last gradients start from the segment's own",
     loop_scan,
     loop_segments,
     {{0}},
     {{"acc = f32[6,4] get-tuple-element(t), index=4\n z = s32[] constant(0)\n one = s32[] "
       "constant(1)\n k =",
       "acc0 = f32[6,4] get-tuple-element(t), index=4\n acc = f32[6,4] add(acc0, acc0)\n z = s32[] "
       "constant(0)\n one = s32[] constant(1)\n k ="}},
     "differ"},
    {"x of a segment from other layers",
     loop_scan,
     loop_segments,
     {{0}},
     {SEGMENT_REMAT, OTHER_BASE},
     "differ"},
    {"x of a segment from other weights",
     loop_scan,
     loop_segments,
     {{0}},
     {SEGMENT_REMAT,
      {"tuple(z, x, w, base, s0)", "tuple(z, x, ww, base, s0)"},
      {"fz = f32[] constant(0)\n s0 = f32[3,4]",
       "ww = f32[6,4] add(w, w)\n fz = f32[] constant(0)\n s0 = f32[3,4]"}},
     "differ"},
    {"stacked gradients from gradients that change between segments",
     loop_scan,
     loop_segments,
     {{"tuple(x, dx, acc)", "tuple(x, x, acc)"}},
     {{"tuple(x, dx, acc)", "tuple(x, x, acc)"},
      {"tuple(i2, dn, s, w, an)", "tuple(i2, dm, s, w, an)"},
      {" i2 =", " dm = f32[4] sine(dn)\n i2 ="}},
     "differ"},
    {"two numbers that are exchanged between segments",
     two_numbers,
     two_numbers,
     {{0}},
     {NESTED("q", "p")},
     "differ"},
    {"one of two numbers that changes between loops",
     two_numbers,
     two_numbers,
     {{"tuple(p, q)", "tuple(p, p)"}},
     {{"tuple(p, q)", "tuple(p, p)"}, HALVES("other")},
     "differ"},
    {"columns that are not whole", loop_scan, loop_scan, {NOT_WHOLE}, {REMAT, NOT_WHOLE}, "differ"},
    {"segments that overlap",
     loop_scan,
     loop_segments,
     {{0}},
     {{INT("k", "3"), INT("k", "2")}},
     "differ"},
    {"a segment that is too short",
     loop_scan,
     loop_segments,
     {{0}},
     {{"c1 { t = " LOOP_INNER " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
       " " INT("n", "3"),
       "c1 { t = " LOOP_INNER " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
       " " INT("n", "2")}},
     "differ"},
    {"cut, and the segment begins at other layers",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("k", "3"), INT("k", "2")}},
     "differ"},
    {"cut, and the segment begins at the layers of the other one",
     loop_scan,
     loop_cut,
     {{0}},
     {{"fusion(seg), kind=kLoop, calls=begin", "fusion(i), kind=kLoop, calls=begin"}},
     "differ"},
    {"cut, and another row is read",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("last", "2"), INT("last", "1")}},
     "differ"},
    {"cut, and the rows are read forth",
     loop_scan,
     loop_cut,
     {{0}},
     {{"fusion(s, at), kind=kLoop, calls=take", "fusion(s, i), kind=kLoop, calls=take"}},
     "differ"},
    {"cut, and a row beyond the end is read",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("last", "2"), INT("last", "3")}},
     "differ"},
    {"cut, and the state of the other segment is read",
     loop_scan,
     loop_cut,
     {{0}},
     {{"fusion(s, seg), kind=kLoop, calls=first", "fusion(s, i), kind=kLoop, calls=first"}},
     "differ"},
    {"cut, and the segments come in another order",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("end", "1"), INT("end", "0")}},
     "differ"},
    {"cut, and the state is kept after the segment",
     loop_scan,
     loop_cut,
     {{0}},
     {{"fusion(s, x, i), kind=kLoop, calls=keep", "add(s, s)"},
      {" xn = f32[4] get-tuple-element(l), index=1\n",
       " xn = f32[4] get-tuple-element(l), index=1\n sk = f32[2,4] fusion(s, xn, i), kind=kLoop, "
       "calls=keep\n"},
      {"tuple(jn, xn, wn, in, sn)", "tuple(jn, xn, wn, in, sk)"}},
     "differ"},
    {"cut, and a segment begins with dx",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(base, x, w, zc, s0)", "tuple(base, dx, w, zc, s0)"},
      {" s0 = f32[3,1,4] fusion",
       " dx = f32[4] get-tuple-element(t), index=1\n s0 = f32[3,1,4] fusion"},
      {"index=0\n dx = f32[4] get-tuple-element(t), index=1\n acc = f32[6,4] get-tuple-element(t), "
       "index=3\n zb",
       "index=0\n acc = f32[6,4] get-tuple-element(t), index=3\n zb"}},
     "differ"},
    {"cut, and the first x is another one",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(z1, x1, w, z2, s0)", "tuple(z1, xx, w, z2, s0)"},
      {" fi =", " xx = f32[4] add(x1, x1)\n fi ="}},
     "differ"},
    {"cut into segments that are too few",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("n", "2"), INT("n", "1")}},
     "differ"},
    {"cut into segments that are too many",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("n", "2"), INT("n", "3")}},
     "differ"},
    {"cut into segments that are too short",
     loop_scan,
     loop_cut,
     {{0}},
     {{INT("n", "3"), INT("n", "2")}},
     "differ"},
    {"cut, and the segment is not computed to its end",
     loop_scan,
     loop_cut,
     {{0}},
     {{"again_less { p = s32[] parameter(0)\n n = s32[] constant(3)",
       "again_less { p = s32[] parameter(0)\n n = s32[] constant(2)"}},
     "differ"},
    {"cut, and the counter begins again",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(jn, xn, wn, in, sn)", "tuple(j, xn, wn, in, sn)"}},
     "differ"},
    {"cut, and the counter begins again on the way back",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(jn, dn, wn, an, in, s)", "tuple(j, dn, wn, an, in, s)"}},
     "differ"},
    {"cut, and the counter of a segment goes on",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(j, dx, w, acc, zb, ys)", "tuple(j, dx, w, acc, i, ys)"}},
     "differ"},
    {"cut, and the counter begins elsewhere",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(z3, dx1, w, a0, z4, s)", "tuple(q, dx1, w, a0, z4, s)"},
      {" bi =", " q = s32[] constant(1)\n bi ="}},
     "differ"},
    {"cut, and gradients begin again in each segment",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(jn, dn, wn, an, in, s)", "tuple(jn, dn, wn, acc, in, s)"}},
     "differ"},
    {"cut, and dx begins again in each segment",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(jn, dn, wn, an, in, s)", "tuple(jn, dx, wn, an, in, s)"}},
     "differ"},
    {"cut, and weights change between segments",
     loop_scan,
     loop_cut,
     {{0}},
     {{"tuple(jn, xn, wn, in, sn)", "tuple(jn, xn, w2, in, sn)"},
      {" wn = f32[6,4] get-tuple-element(l), index=2\n",
       " wn = f32[6,4] get-tuple-element(l), index=2\n w2 = f32[6,4] add(wn, wn)\n"}},
     "differ"},
    {"cut, and the rows of a segment are written in one place",
     loop_scan,
     loop_cut,
     {{0}},
     {{"fusion(s, yr, i), kind=kLoop, calls=write", "fusion(s, yr, one), kind=kLoop, calls=write"},
      {" yr = f32[1,4] fusion(y)", " one = s32[] constant(1)\n yr = f32[1,4] fusion(y)"}},
     "differ"},
    {"cut, and y is computed again with other weights",
     loop_scan,
     loop_cut,
     {{0}},
     {LOOP_CUT_REMAT("i")},
     "differ"},
    {"cut into two segments and a rest of other layers",
     loop_scan,
     loop_cut,
     {{0}},
     {CUT_BY_TWO, TWO_SEGMENTS_AND_A_REST("3")},
     "differ"},
    {"cut into two segments without their rest",
     loop_scan,
     loop_cut,
     {{0}},
     {CUT_BY_TWO, {INT("n", "@"), INT("n", "2")}},
     "differ"},
    {"cut around another loop that reads another x",
     loop_scan,
     loop_cut,
     {LOOP_BETWEEN("tuple(zero, x, s, w, a0)", "tuple(zero, xl, s, w, a0)")},
     {LOOP_BETWEEN("tuple(z3, dx1, w, a0, z4, s)", "tuple(z3, xl, w, a0, z4, s)"),
      {"tuple(x, zero)", "tuple(x0, zero)"}},
     "differ"},
    {"gradients from before the segment",
     loop_scan,
     loop_segments,
     {{0}},
     {{"tuple(i2, dn, s, w, an)", "tuple(i2, dx, s, w, an)"}},
     "differ"},
};

/* ---- the test ---- */

START_TEST(verdict_matches_table) {
  char *text_before = loop_text_edited(rows[_i].name, rows[_i].before, rows[_i].edits_before);
  char *text_after = loop_text_edited(rows[_i].name, rows[_i].after, rows[_i].edits_after);
  Fixture before = fixture_parse(text_before), after = fixture_parse(text_after);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before.module, after.module, true, false, diags, after.scratch);
  char *notes = diags_as_text(diags, "", 0);
  const char *why = rows[_i].why;
  ck_assert_msg(status == (why ? RH_NOT_EQUIVALENT : RH_OK), "%s: %d\n%s", rows[_i].name, status,
                notes);
  ck_assert_msg(why ? strstr(notes, why) != NULL : !*notes, "%s: %s", rows[_i].name, notes);
  free(notes);
  rh_diags_free(diags);
  fixture_free(&before);
  fixture_free(&after);
  free(text_before);
  free(text_after);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_loops");
  TCase *tc = tcase_create("verify_loops");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
