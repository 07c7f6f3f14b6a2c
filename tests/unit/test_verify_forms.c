/* rh_verify across loops in the forms that XLA:GPU and XLA:TPU give them: stacks seen through
 * bitcasts, fusions that are started asynchronously, slices that a fusion within a fusion reads,
 * fusions that stay whole and write into arrays with room for a few slices, control dependencies,
 * backend configurations. Rows replace pieces of two texts. */

#include "loop_texts.h"
#include "support.h"

/* ---- texts ---- */

#define STACK "f32[6,2,4]{1,2,0}"
#define VIEW "f32[6,4,2]{2,1,0}"
#define FORTH "(s32[], f32[4,2], " STACK ")"
#define BACK "(s32[], f32[4,2], " STACK ")"

/* As XLA:GPU writes it. The first loop stacks y = sine(x), under the layout of `VIEW` in a kernel
 * that runs asynchronously; the second one reads it from the last to the first one. */
static const char *const gpu[] = {
    "HloModule m, is_scheduled=true\n"
    "write { p = " STACK " parameter(0)\n b = " VIEW
    " bitcast(p)\n y = f32[4,2] parameter(1)\n"
    " r = f32[1,4,2] bitcast(y)\n i = s32[] parameter(2)\n z = s32[] constant(0)\n"
    " ROOT d = " VIEW " dynamic-update-slice(b, r, i, z, z) }\n",
    "read { p = " STACK
    " parameter(0)\n i = s32[] parameter(1)\n five = s32[] constant(5)\n"
    " j = s32[] subtract(five, i)\n v = " VIEW
    " bitcast(p)\n zr = s32[] constant(0)\n"
    " s = f32[1,4,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,4,2}\n"
    " ROOT r = f32[4,2] bitcast(s) }\n",
    "layer { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }\n"
    "layer2 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }\n"
    "next { x = f32[4,2] parameter(0)\n y = f32[4,2] parameter(1)\n"
    " ROOT n = f32[4,2] maximum(x, y) }\n"
    "grad { g = f32[4,2] parameter(0)\n y = f32[4,2] parameter(1)\n"
    " ROOT n = f32[4,2] minimum(g, y) }\n",
    "fb { t = " FORTH
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4,2] get-tuple-element(t), index=1\n s = " STACK
    " get-tuple-element(t), index=2\n"
    " y = f32[4,2] fusion(x), kind=kLoop, calls=layer\n"
    " st = ((" STACK ", f32[4,2], s32[]), " VIEW
    ", u32[]) fusion-start(s, y, i), kind=kLoop, "
    "calls=write\n"
    " xn = f32[4,2] fusion(x, y), kind=kLoop, calls=next\n"
    " sd = " VIEW
    " fusion-done(st)\n"
    " sn = " STACK
    " bitcast(sd)\n one = s32[] constant(1)\n"
    " in = s32[] add(i, one), control-predecessors={xn, y}\n"
    " ROOT r = " FORTH " tuple(in, xn, sn) }\n",
    "fc { t = " FORTH
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(6)\n"
    " ROOT c = pred[] compare(i, n), direction=LT, backend_config={\"flags\":[\", direction=GT\"]} "
    "}\n",
    "bb { t = " BACK
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " g = f32[4,2] get-tuple-element(t), index=1\n s = " STACK
    " get-tuple-element(t), index=2\n"
    " rs = ((" STACK
    ", s32[]), f32[4,2], u32[]) fusion-start(s, i), kind=kLoop, calls=read\n"
    " y = f32[4,2] fusion-done(rs)\n"
    " gn = f32[4,2] fusion(g, y), kind=kLoop, calls=grad\n one = s32[] constant(1)\n"
    " in = s32[] add(i, one)\n ROOT r = " BACK " tuple(in, gn, s) }\n",
    "bc { t = " BACK
    " parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "ENTRY e { x0 = f32[4,2] parameter(0)\n s0 = " STACK
    " parameter(1)\n z = s32[] constant(0)\n"
    " ti = " FORTH " tuple(z, x0, s0)\n f = " FORTH
    " while(ti), condition=fc, body=fb\n"
    " g0 = f32[4,2] get-tuple-element(f), index=1\n sa = " STACK
    " get-tuple-element(f), index=2\n"
    " z2 = s32[] constant(0)\n bi = " BACK
    " tuple(z2, g0, sa)\n"
    " b = " BACK
    " while(bi), condition=bc, body=bb\n"
    " ROOT o = f32[4,2] get-tuple-element(b), index=1 }\n",
    NULL,
};

#define TSTACK "f32[6,8,128]{2,1,0:T(8,128)}"
#define TSLICE "f32[1,8,128]{2,1,0:T(8,128)}"
#define TVALUE "f32[8,128]{1,0:T(8,128)}"
#define TINT "s32[]{:T(128)}"
#define TFORTH "(" TINT ", " TVALUE ", " TSTACK ")"

/* As XLA:TPU writes it. One fusion stacks y, a sum of products, and returns a sum with x; the
 * second loop reads the stack in a fusion within a fusion. */
static const char *const tpu[] = {
    "HloModule m, is_scheduled=true\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
    "both { p = " TSTACK " parameter(0)\n i = " TINT " parameter(1)\n x = " TVALUE
    " parameter(2)\n"
    " w = " TVALUE " parameter(3)\n a = " TVALUE " multiply(x, w)\n q = " TVALUE
    " multiply(x, x)\n"
    " y = " TVALUE " add(a, q)\n r = " TSLICE " bitcast(y)\n z = " TINT
    " constant(0)\n"
    " d = " TSTACK " dynamic-update-slice(p, r, i, z, z)\n n = " TVALUE
    " maximum(y, x)\n"
    " ROOT t = (" TSTACK ", " TVALUE ") tuple(d, n) }\n",
    "cut { p = " TSTACK " parameter(0)\n j = " TINT " parameter(1)\n z = " TINT
    " constant(0)\n"
    " s = " TSLICE
    " dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,8,128}\n"
    " ROOT r = " TVALUE
    " bitcast(s) }\n"
    "grad { p = " TSTACK " parameter(0)\n j = " TINT " parameter(1)\n g = " TVALUE
    " parameter(2)\n"
    " y = " TVALUE " fusion(p, j), kind=kLoop, calls=cut\n a = " TVALUE
    " multiply(g, y)\n"
    " b = " TVALUE " multiply(y, y)\n ROOT n = " TVALUE " add(a, b) }\n",
    "fb { t = " TFORTH " parameter(0)\n i = " TINT
    " get-tuple-element(t), index=0\n"
    " x = " TVALUE " get-tuple-element(t), index=1\n s = " TSTACK
    " get-tuple-element(t), index=2\n"
    " m = (" TSTACK ", " TVALUE
    ") fusion(s, i, x, x), kind=kLoop, calls=both\n"
    " sn = " TSTACK
    " get-tuple-element(m), index=0\n"
    " xn = " TVALUE " get-tuple-element(m), index=1\n one = " TINT
    " constant(1)\n"
    " in = " TINT " add(i, one)\n ROOT r = " TFORTH " tuple(in, xn, sn) }\n",
    "fc { t = " TFORTH " parameter(0)\n i = " TINT
    " get-tuple-element(t), index=0\n"
    " n = " TINT " constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "bb { t = " TFORTH " parameter(0)\n i = " TINT
    " get-tuple-element(t), index=0\n"
    " g = " TVALUE " get-tuple-element(t), index=1\n s = " TSTACK
    " get-tuple-element(t), index=2\n"
    " five = " TINT " constant(5)\n j = " TINT
    " subtract(five, i)\n"
    " gn = " TVALUE " fusion(s, j, g), kind=kLoop, calls=grad\n one = " TINT
    " constant(1)\n"
    " in = " TINT " add(i, one)\n ROOT r = " TFORTH " tuple(in, gn, s) }\n",
    "bc { t = " TFORTH " parameter(0)\n i = " TINT
    " get-tuple-element(t), index=0\n"
    " n = " TINT " constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "ENTRY e { x0 = " TVALUE " parameter(0)\n s0 = " TSTACK
    " parameter(1)\n"
    " z = " TINT
    " constant(0)\n"
    " ti = " TFORTH " tuple(z, x0, s0)\n f = " TFORTH
    " while(ti), condition=fc, body=fb\n"
    " g0 = " TVALUE " get-tuple-element(f), index=1\n sa = " TSTACK
    " get-tuple-element(f), index=2\n"
    " z2 = " TINT " constant(0)\n bi = " TFORTH
    " tuple(z2, g0, sa)\n"
    " b = " TFORTH
    " while(bi), condition=bc, body=bb\n"
    " ROOT o = " TVALUE " get-tuple-element(b), index=1 }\n",
    NULL,
};

#define CSTACK "bf16[6,8,128]{2,1,0:T(8,128)(2,1)}"
#define CSLICE "bf16[1,8,128]{2,1,0:T(8,128)(2,1)}"
#define CREAD                                                                               \
  " s = " CSLICE " dynamic-slice(p, j, o, o), dynamic_slice_sizes={1,8,128}\n sc = " TSLICE \
  " convert(s)\n w = " TVALUE " bitcast(sc)\n"
#define CFORTH "(" TINT ", " TVALUE ", " CSTACK ")"

/* As XLA:TPU writes it: what is stacked is converted by the instruction that writes it. */
static const char *const converting[] = {
    "HloModule m, is_scheduled=true\n"
    "write { p = " CSTACK " parameter(0)\n i = " TINT " parameter(1)\n z = " TVALUE
    " parameter(2)\n f = f32[] convert(i)\n b = " TVALUE
    " broadcast(f), dimensions={}\n"
    " a = " TVALUE " add(b, z)\n y = " TVALUE " sine(a)\n r = " TSLICE " bitcast(y)\n o = " TINT
    " constant(0)\n"
    " ROOT d = " CSTACK " dynamic-update-slice(p, r, i, o, o) }\n",
    "grad { p = " CSTACK " parameter(0)\n j = " TINT " parameter(1)\n g = " TVALUE
    " parameter(2)\n o = " TINT " constant(0)\n" CREAD " ROOT n = " TVALUE " maximum(g, w) }\n",
    "fb { t = " CFORTH " parameter(0)\n i = " TINT " get-tuple-element(t), index=0\n z = " TVALUE
    " get-tuple-element(t), index=1\n s = " CSTACK " get-tuple-element(t), index=2\n sn = " CSTACK
    " fusion(s, i, z), kind=kLoop, calls=write\n one = " TINT " constant(1)\n in = " TINT
    " add(i, one)\n ROOT r = " CFORTH " tuple(in, z, sn) }\n",
    "fc { t = " CFORTH " parameter(0)\n i = " TINT " get-tuple-element(t), index=0\n n = " TINT
    " constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "bb { t = " CFORTH " parameter(0)\n i = " TINT " get-tuple-element(t), index=0\n g = " TVALUE
    " get-tuple-element(t), index=1\n s = " CSTACK " get-tuple-element(t), index=2\n five = " TINT
    " constant(5)\n j = " TINT " subtract(five, i)\n gn = " TVALUE
    " fusion(s, j, g), kind=kLoop, calls=grad\n one = " TINT " constant(1)\n in = " TINT
    " add(i, one)\n ROOT r = " CFORTH " tuple(in, gn, s) }\n",
    "bc { t = " CFORTH " parameter(0)\n i = " TINT " get-tuple-element(t), index=0\n n = " TINT
    " constant(6)\n ROOT c = pred[] compare(i, n), direction=LT }\n",
    "ENTRY e { z0 = " TVALUE " parameter(0)\n s0 = " CSTACK " parameter(1)\n g0 = " TVALUE
    " parameter(2)\n z = " TINT " constant(0)\n ti = " CFORTH " tuple(z, z0, s0)\n f = " CFORTH
    " while(ti), condition=fc, body=fb\n sa = " CSTACK " get-tuple-element(f), index=2\n z2 = " TINT
    " constant(0)\n bi = " CFORTH " tuple(z2, g0, sa)\n b = " CFORTH
    " while(bi), condition=bc, body=bb\n ROOT o = " TVALUE " get-tuple-element(b), index=1 }\n",
    NULL,
};

/* ---- rewrites ---- */

/* The second loop computes y again from x, which is stacked instead. */
#define STACK_X \
  { "fusion-start(s, y, i)", "fusion-start(s, x, i)" }
#define AGAIN                                                                                  \
  {                                                                                            \
    " y = f32[4,2] fusion-done(rs)\n",                                                         \
        " xa = f32[4,2] fusion-done(rs)\n y = f32[4,2] fusion(xa), kind=kLoop, calls=layer2\n" \
  }
#define SYNC_WRITE                                                  \
  {" st = ((" STACK ", f32[4,2], s32[]), " VIEW                     \
   ", u32[]) fusion-start(s, x, i), kind=kLoop, "                   \
   "calls=write\n",                                                 \
   ""},                                                             \
  {                                                                 \
    " sd = " VIEW " fusion-done(st)\n",                             \
        " sd = " VIEW " fusion(s, x, i), kind=kLoop, calls=write\n" \
  }
#define SYNC_READ                                                                              \
  {" rs = ((" STACK ", s32[]), f32[4,2], u32[]) fusion-start(s, i), kind=kLoop, calls=read\n", \
   ""},                                                                                        \
  {                                                                                            \
    "fusion-done(rs)", "fusion(s, i), kind=kLoop, calls=read"                                  \
  }

/* A clone of the whole fusion, which writes into an array of one slice. The first loop stacks x. */
#define TSLOTS "f32[1,8,128]{2,1,0:T(8,128)}"
#define TBACK "(" TINT ", " TVALUE ", " TSTACK ", " TSLOTS ")"
#define WHOLE_AGAIN(cut, index)                                                                 \
  "keep { p = " TSTACK " parameter(0)\n i = " TINT " parameter(1)\n x = " TVALUE                \
  " parameter(2)\n r = " TSLICE " bitcast(x)\n z = " TINT " constant(0)\n ROOT d = " TSTACK     \
  " dynamic-update-slice(p, r, i, z, z) }\n"                                                    \
  "take { p = " TSTACK " parameter(0)\n j = " TINT " parameter(1)\n z = " TINT                  \
  " constant(0)\n"                                                                              \
  " s = " TSLICE " dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,8,128}\n ROOT r = " TVALUE \
  " bitcast(s) }\n"                                                                             \
  "both2 { p = " TSLOTS " parameter(0)\n i = " TINT " parameter(1)\n x = " TVALUE               \
  " parameter(2)\n w = " TVALUE " parameter(3)\n a = " TVALUE " multiply(x, w)\n q = " TVALUE   \
  " multiply(x, x)\n y = " TVALUE " add(a, q)\n r = " TSLICE " bitcast(y)\n z = " TINT          \
  " constant(0)\n d = " TSLOTS " dynamic-update-slice(p, r, i, z, z)\n n = " TVALUE             \
  " maximum(y, x)\n ROOT t = (" TSLOTS ", " TVALUE                                              \
  ") tuple(d, n) }\n"                                                                           \
  "cut { p = " TSLOTS " parameter(0)\n j = " TINT " parameter(1)\n z = " TINT                   \
  " constant(0)\n"                                                                              \
  " s = " TSLICE " dynamic-slice(p, " cut                                                       \
  ", z, z), dynamic_slice_sizes={1,8,128}\n"                                                    \
  " ROOT r = " TVALUE                                                                           \
  " bitcast(s) }\n"                                                                             \
  "grad { p = " TSLOTS " parameter(0)\n j = " TINT " parameter(1)\n g = " TVALUE " parameter(2)\n"
#define WHOLE                                                                                \
  {"cut { p = " TSTACK " parameter(0)\n j = " TINT " parameter(1)\n z = " TINT               \
   " constant(0)\n"                                                                          \
   " s = " TSLICE                                                                            \
   " dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,8,128}\n"                             \
   " ROOT r = " TVALUE                                                                       \
   " bitcast(s) }\n"                                                                         \
   "grad { p = " TSTACK " parameter(0)\n j = " TINT " parameter(1)\n g = " TVALUE            \
   " parameter(2)\n",                                                                        \
   WHOLE_AGAIN("j", "i")},                                                                   \
      {" sn = " TSTACK " get-tuple-element(m), index=0\n",                                   \
       " sn = " TSTACK " fusion(s, i, x), kind=kLoop, calls=keep\n"},                        \
      {"bb { t = " TFORTH " parameter(0)\n", "bb { t = " TBACK " parameter(0)\n"},           \
      {"bc { t = " TFORTH " parameter(0)\n", "bc { t = " TBACK " parameter(0)\n"},           \
      {" gn = " TVALUE " fusion(s, j, g), kind=kLoop, calls=grad\n",                         \
       " k = " TSLOTS                                                                        \
       " get-tuple-element(t), index=3\n"                                                    \
       " xa = " TVALUE                                                                       \
       " fusion(s, j), kind=kLoop, calls=take\n"                                             \
       " ma = (" TSLOTS ", " TVALUE                                                          \
       ") fusion(k, j, xa, xa), kind=kLoop, calls=both2\n"                                   \
       " kn = " TSLOTS                                                                       \
       " get-tuple-element(ma), index=0\n"                                                   \
       " gn = " TVALUE " fusion(kn, j, g), kind=kLoop, calls=grad\n"},                       \
      {"ROOT r = " TFORTH " tuple(in, gn, s)", "ROOT r = " TBACK " tuple(in, gn, s, kn)"}, { \
    " bi = " TFORTH " tuple(z2, g0, sa)\n b = " TFORTH " while(",                            \
        " zero = f32[]{:T(128)} constant(0)\n k0 = " TSLOTS                                  \
        " broadcast(zero), dimensions={}\n"                                                  \
        " bi = " TBACK " tuple(z2, g0, sa, k0)\n b = " TBACK " while("                       \
  }

/* The second loop is given z instead of the stack, and computes the value again as `y`. */
#define CBACK "(" TINT ", " TVALUE ", " TVALUE ")"
#define AGAIN_CONVERTED(convert)                                                          \
  {"grad { p = " CSTACK " parameter(0)\n", "grad { z = " TVALUE " parameter(0)\n"},       \
      {" o = " TINT " constant(0)\n" CREAD,                                               \
       " f = f32[] convert(j)\n b = " TVALUE " broadcast(f), dimensions={}\n a = " TVALUE \
       " add(b, z)\n yw = " TVALUE " sine(a)\n yr = " TSLICE " bitcast(yw)\n" convert     \
       " w = " TVALUE " bitcast(sc)\n"},                                                  \
      {"bb { t = " CFORTH " parameter(0)", "bb { t = " CBACK " parameter(0)"},            \
      {" s = " CSTACK " get-tuple-element(t), index=2\n five",                            \
       " z1 = " TVALUE " get-tuple-element(t), index=2\n five"},                          \
      {"fusion(s, j, g)", "fusion(z1, j, g)"},                                            \
      {"ROOT r = " CFORTH " tuple(in, gn, s)", "ROOT r = " CBACK " tuple(in, gn, z1)"},   \
      {"bc { t = " CFORTH " parameter(0)", "bc { t = " CBACK " parameter(0)"}, {          \
    " bi = " CFORTH " tuple(z2, g0, sa)\n b = " CFORTH " while(",                         \
        " bi = " CBACK " tuple(z2, g0, z0)\n b = " CBACK " while("                        \
  }
#define CONVERTED_AGAIN " s = " CSLICE " convert(yr)\n sc = " TSLICE " convert(s)\n"

/* Edits after the first ones, in their order; see loop_text_edited(). `why` is NULL for texts that
 * are equivalent, or else as loop_check_verdict() has it. */
static const struct {
  const char *name;
  const char *const *text;
  LoopEdit edits[MAX_LOOP_EDITS];
  const char *why;
} rows[] = {
    {"gpu: the same", gpu, {{0}}, NULL},
    {"gpu: x is stacked, and y computed again", gpu, {STACK_X, AGAIN}, NULL},
    {"gpu: the write is no longer asynchronous", gpu, {STACK_X, AGAIN, SYNC_WRITE}, NULL},
    {"gpu: nothing is asynchronous", gpu, {STACK_X, AGAIN, SYNC_WRITE, SYNC_READ}, NULL},
    {"gpu: what waited for another instruction does not exist any more",
     gpu,
     {{" in = s32[] add(i, one), control-predecessors={xn, y}\n",
       " inc = s32[] add(i, one), control-predecessors={xn, y}\n"},
      {"tuple(in, xn, sn)", "tuple(inc, xn, sn)"}},
     NULL},
    {"gpu: what was waited for is another instruction",
     gpu,
     {{" y = f32[4,2] fusion(x), kind=kLoop, calls=layer\n",
       " y2 = f32[4,2] fusion(x), kind=kLoop, calls=layer\n"},
      {"fusion-start(s, y, i)", "fusion-start(s, y2, i)"},
      {"fusion(x, y), kind=kLoop, calls=next", "fusion(x, y2), kind=kLoop, calls=next"},
      {"control-predecessors={xn, y}", "control-predecessors={xn, y2}"}},
     NULL},
    {"gpu: a configuration of another instruction",
     gpu,
     {{"direction=LT, backend_config={\"flags\":[\", direction=GT\"]}", "direction=LT"}},
     NULL},
    {"gpu: x is stacked and taken for y", gpu, {STACK_X}, "differ"},
    {"gpu: y is stacked and taken for x", gpu, {AGAIN}, "differ"},
    {"gpu: the first loop counts otherwise",
     gpu,
     {{"direction=LT, backend_config={\"flags\":[\", direction=GT\"]}",
       "direction=LE, backend_config={\"flags\":[\", direction=LT\"]}"}},
     "differ"},
    {"gpu: a direction that is only in a configuration",
     gpu,
     {{"direction=LT, backend_config={\"flags\":[\", direction=GT\"]}",
       "direction=GT, backend_config={\"flags\":[\", direction=LT\"]}"}},
     "differ"},
    {"gpu: a dependency is lost",
     gpu,
     {{", control-predecessors={xn, y}", ", control-predecessors={xn}"}},
     "control dependency of 'in' on 'y' is lost"},
    {"gpu: all dependencies are lost",
     gpu,
     {STACK_X, AGAIN, {", control-predecessors={xn, y}", ""}},
     "is lost"},
    {"gpu: a dependency of another instruction",
     gpu,
     {{" in = s32[] add(i, one), control-predecessors={xn, y}\n",
       " in = s32[] add(i, one)\n sn2 = " STACK " bitcast(sd), control-predecessors={xn, y}\n"},
      {"tuple(in, xn, sn)", "tuple(in, xn, sn2)"}},
     "is lost"},
    {"gpu: written to the next place",
     gpu,
     {STACK_X,
      AGAIN,
      {"dynamic-update-slice(b, r, i, z, z)", "dynamic-update-slice(b, r, i1, z, z)"},
      {" z = s32[] constant(0)\n ROOT d",
       " z = s32[] constant(0)\n o = s32[] constant(1)\n i1 = s32[] add(i, o)\n ROOT d"}},
     "differ"},
    {"gpu: written to one place",
     gpu,
     {STACK_X,
      AGAIN,
      {"dynamic-update-slice(b, r, i, z, z)", "dynamic-update-slice(b, r, z, z, z)"}},
     "differ"},
    {"gpu: read in the order of the first loop",
     gpu,
     {STACK_X, AGAIN, {"dynamic-slice(v, j, zr, zr)", "dynamic-slice(v, i, zr, zr)"}},
     "differ"},
    {"gpu: read from another last place",
     gpu,
     {STACK_X, AGAIN, {"five = s32[] constant(5)", "five = s32[] constant(4)"}},
     "differ"},
    {"gpu: written without the transposition, read with it",
     gpu,
     {{" b = " VIEW " bitcast(p)\n", " b = f32[6,2,4]{2,1,0} bitcast(p)\n"},
      {"r = f32[1,4,2] bitcast(y)", "r = f32[1,2,4] bitcast(y)"},
      {"ROOT d = " VIEW " dynamic", "ROOT d = f32[6,2,4]{2,1,0} dynamic"},
      {", " VIEW ", u32[]) fusion-start(s, y, i)",
       ", f32[6,2,4]{2,1,0}, u32[]) fusion-start(s, y, i)"},
      {"sd = " VIEW " fusion-done", "sd = f32[6,2,4]{2,1,0} fusion-done"},
      {" y = f32[4,2] fusion(x), kind=kLoop, calls=layer\n",
       " y = f32[4,2] fusion(x), kind=kLoop, calls=layer\n"},
      {" r = f32[1,2,4] bitcast(y)\n",
       " w = f32[2,4] transpose(y), dimensions={1,0}\n"
       " r = f32[1,2,4] bitcast(w)\n"}},
     "differ"},
    {"gpu: read with rows and columns exchanged",
     gpu,
     {{" v = " VIEW " bitcast(p)\n", " v = f32[6,2,4]{2,1,0} bitcast(p)\n"},
      {" s = f32[1,4,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,4,2}\n"
       " ROOT r = f32[4,2] bitcast(s)",
       " s = f32[1,2,4] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,2,4}\n"
       " q = f32[2,4] bitcast(s)\n ROOT r = f32[4,2] transpose(q), dimensions={1,0}"}},
     "differ"},
    {"gpu: slices along another dimension",
     gpu,
     {{" s = f32[1,4,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,4,2}\n"
       " ROOT r = f32[4,2] bitcast(s)",
       " s = f32[4,1,2] dynamic-slice(v, zr, j, zr), dynamic_slice_sizes={4,1,2}\n"
       " ROOT r = f32[4,2] bitcast(s)"}},
     "differ"},
    {"gpu: a view of fewer and larger slices",
     gpu,
     {{" v = " VIEW " bitcast(p)\n", " v = f32[3,8,2] bitcast(p)\n"},
      {" s = f32[1,4,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,4,2}\n",
       " s8w = f32[1,8,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,8,2}\n"
       " s = f32[1,4,2] slice(s8w), slice={[0:1],[0:4],[0:2]}\n"}},
     "differ"},
    {"gpu: a view of more and smaller slices",
     gpu,
     {{" v = " VIEW " bitcast(p)\n", " v = f32[12,2,2] bitcast(p)\n"},
      {" s = f32[1,4,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={1,4,2}\n",
       " s = f32[2,2,2] dynamic-slice(v, j, zr, zr), dynamic_slice_sizes={2,2,2}\n"}},
     "differ"},
    {"gpu: another fusion is started",
     gpu,
     {STACK_X,
      AGAIN,
      {"kind=kLoop, calls=layer2", "kind=kLoop, calls=layer3"},
      {"layer2 {", "layer3 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] cosine(x) }\nlayer2 {"}},
     "differ"},
    {"gpu: an operand of the start is another one",
     gpu,
     {STACK_X,
      AGAIN,
      {"fusion-start(s, i), kind=kLoop, calls=read",
       "fusion-start(s, one), kind=kLoop, calls=read"},
      {" rs = ", " one = s32[] constant(1)\n rs = "},
      {"calls=grad\n one = s32[] constant(1)\n", "calls=grad\n"}},
     "differ"},
    {"gpu: x of the next layer is stacked",
     gpu,
     {AGAIN,
      {" st = ((" STACK ", f32[4,2], s32[]), " VIEW
       ", u32[]) fusion-start(s, y, i), kind=kLoop, calls=write\n",
       ""},
      {" sd = " VIEW " fusion-done(st)\n",
       " sd = " VIEW " fusion(s, xn, i), kind=kLoop, calls=write\n"}},
     "differ"},
    {"gpu: y is computed again twice",
     gpu,
     {STACK_X,
      AGAIN,
      {"fusion(g, y), kind=kLoop, calls=grad\n", "fusion(g, yy), kind=kLoop, calls=grad\n"},
      {" gn = ", " yy = f32[4,2] fusion(y), kind=kLoop, calls=layer4\n gn = "},
      {"layer2 {", "layer4 { x = f32[4,2] parameter(0)\n ROOT y = f32[4,2] sine(x) }\nlayer2 {"}},
     "differ"},
    {"gpu: another initial x",
     gpu,
     {STACK_X,
      AGAIN,
      {"tuple(z, x0, s0)", "tuple(z, x1, s0)"},
      {" ti = ", " x1 = f32[4,2] negate(x0)\n ti = "}},
     "differ"},
    {"gpu: the second loop begins later",
     gpu,
     {STACK_X, AGAIN, {"z2 = s32[] constant(0)", "z2 = s32[] constant(1)"}},
     "differ"},
    {"gpu: the first loop ends sooner",
     gpu,
     {STACK_X,
      AGAIN,
      {"n = s32[] constant(6)\n ROOT c = pred[] compare(i, n), direction=LT, back",
       "n = s32[] constant(5)\n ROOT c = pred[] compare(i, n), direction=LT, back"}},
     "differ"},
    {"gpu: the stack of before the loop",
     gpu,
     {STACK_X, AGAIN, {"tuple(z2, g0, sa)", "tuple(z2, g0, s0)"}},
     "differ"},
    {"tpu: the same", tpu, {{0}}, NULL},
    {"tpu: the whole fusion again", tpu, {WHOLE}, NULL},
    {"tpu: whole, the slice is read at another place of the array of one",
     tpu,
     {WHOLE, {"fusion(kn, j, g)", "fusion(kn, i, g)"}},
     NULL},
    {"tpu: a stack that nothing reads has fewer slices",
     tpu,
     {WHOLE,
      {"ROOT r = " TBACK " tuple(in, gn, s, kn)", "ROOT r = " TBACK " tuple(in, gn, s, kn) "}},
     NULL},
    {"tpu: whole, but of the array of before",
     tpu,
     {WHOLE, {"fusion(kn, j, g)", "fusion(k, j, g)"}},
     "differ"},
    {"tpu: whole, from x of another iteration",
     tpu,
     {WHOLE, {"fusion(s, j), kind=kLoop, calls=take", "fusion(s, i), kind=kLoop, calls=take"}},
     "differ"},
    {"tpu: whole, and y is stacked for x",
     tpu,
     {WHOLE,
      {"fusion(s, i, x), kind=kLoop, calls=keep", "fusion(s, i, xn0), kind=kLoop, calls=keep"},
      {" sn = ", " xn0 = " TVALUE " get-tuple-element(m), index=1\n sn = "}},
     "differ"},
    {"tpu: whole, with another second factor",
     tpu,
     {WHOLE, {"fusion(k, j, xa, xa)", "fusion(k, j, xa, g)"}},
     "differ"},
    {"tpu: whole, and another result is read",
     tpu,
     {WHOLE,
      {" gn = " TVALUE " fusion(kn, j, g)",
       " other = " TVALUE " get-tuple-element(ma), index=1\n os = " TSLOTS
       " bitcast(other)\n gn = " TVALUE " fusion(os, j, g)"}},
     "differ"},
    {"tpu: whole, without the product",
     tpu,
     {WHOLE,
      {" y = " TVALUE " add(a, q)\n r = " TSLICE " bitcast(y)\n z = " TINT
       " constant(0)\n d = " TSLOTS " dynamic",
       " y = " TVALUE " add(a, w)\n r = " TSLICE " bitcast(y)\n z = " TINT
       " constant(0)\n d = " TSLOTS " dynamic"}},
     "differ"},
    {"tpu: a part of the fusion, which rounds alike there",
     tpu,
     {WHOLE,
      {" d = " TSLOTS " dynamic-update-slice(p, r, i, z, z)\n n = " TVALUE
       " maximum(y, x)\n ROOT t = (" TSLOTS ", " TVALUE ") tuple(d, n) }\n",
       " ROOT d = " TSLOTS " dynamic-update-slice(p, r, i, z, z) }\n"},
      {" ma = (" TSLOTS ", " TVALUE ") fusion", " kn = " TSLOTS " fusion"},
      {" kn = " TSLOTS " get-tuple-element(ma), index=0\n", ""}},
     NULL},
    {"tpu: the reader without its slice, which rounds alike there",
     tpu,
     {
         {" y = " TVALUE " fusion(p, j), kind=kLoop, calls=cut\n a",
          " y = " TVALUE " bitcast(p)\n a"},
         {"grad { p = " TSTACK, "grad { p = " TSLICE},
         {" gn = " TVALUE " fusion(s, j, g)",
          " sl = " TSLICE " fusion(s, j), kind=kLoop, calls=cut2\n gn = " TVALUE
          " fusion(sl, j, g)"},
         {" ROOT r = " TVALUE " bitcast(s) }\n",
          " ROOT r = " TVALUE " bitcast(s) }\ncut2 { p = " TSTACK " parameter(0)\n j = " TINT
          " parameter(1)\n z = " TINT " constant(0)\n ROOT s = " TSLICE
          " dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,8,128} }\n"},
     },
     NULL},
    {"tpu: the inner fusion reads another slice",
     tpu,
     {{"fusion(p, j), kind=kLoop, calls=cut", "fusion(p, z0), kind=kLoop, calls=cut"},
      {" y = " TVALUE " fusion(p, z0)",
       " z0 = " TINT " constant(0)\n y = " TVALUE " fusion(p, z0)"}},
     "differ"},
    {"tpu: an array in which only the last slice is",
     tpu,
     {{"bb { t = " TFORTH, "bb { t = " TFORTH},
      {"tuple(z2, g0, sa)", "tuple(z2, g0, sb)"},
      {" bi = ", " first = " TSLICE " slice(sa), slice={[5:6],[0:8],[0:128]}\n sb = " TSTACK
                 " broadcast(flat), dimensions={1,2}\n bi = "},
      {" sb = ", " flat = " TVALUE " bitcast(first)\n sb = "}},
     "differ"},
    {"tpu: a dimension that a tile covers",
     tpu,
     {{" s = " TSLICE " dynamic-slice(p, j, z, z), dynamic_slice_sizes={1,8,128}\n",
       " v = f32[48,128]{1,0:T(8,128)} bitcast(p)\n e = f32[8,128]{1,0:T(8,128)} "
       "dynamic-slice(v, j, z), dynamic_slice_sizes={8,128}\n s = " TSLICE " bitcast(e)\n"}},
     "differ"},
    {"tpu: the sums of another loop",
     tpu,
     {WHOLE, {"tuple(z2, g0, sa, k0)", "tuple(z2, x0, sa, k0)"}},
     "differ"},
    {"tpu: the counter is stacked with a gap",
     tpu,
     {WHOLE,
      {"fusion(s, i, x), kind=kLoop, calls=keep", "fusion(s, i2, x), kind=kLoop, calls=keep"},
      {" sn = ", " i2 = " TINT " add(i, i)\n sn = "}},
     "differ"},
    {"tpu: the first loop is handed an array of zeros",
     tpu,
     {WHOLE,
      {"tuple(z, x0, s0)", "tuple(z, xz, s0)"},
      {" ti = ", " xz = " TVALUE " subtract(x0, x0)\n ti = "}},
     "differ"},
    {"tpu: the second loop writes into the stack",
     tpu,
     {WHOLE,
      {"ROOT r = " TBACK " tuple(in, gn, s, kn)", "ROOT r = " TBACK " tuple(in, gn, sw, kn)"},
      {" kn = ", " sw = " TSTACK " negate(s)\n kn = "}},
     "differ"},
    {"tpu: an update that converts", converting, {{0}}, NULL},
    {"tpu: the convert is written out",
     converting,
     {{"r = " TSLICE " bitcast(y)\n", "r = " TSLICE " bitcast(y)\n rc = " CSLICE " convert(r)\n"},
      {"dynamic-update-slice(p, r,", "dynamic-update-slice(p, rc,"}},
     NULL},
    {"tpu: the second loop computes what was converted again",
     converting,
     {AGAIN_CONVERTED(CONVERTED_AGAIN)},
     LOOP_ROUNDING},
    {"tpu: it is not converted",
     converting,
     {AGAIN_CONVERTED(" sc = " TSLICE " copy(yr)\n")},
     "differ"},
    {"tpu: it is converted to other digits in between",
     converting,
     {AGAIN_CONVERTED(" sh = f16[1,8,128]{2,1,0:T(8,128)(2,1)} convert(yr)\n s = " CSLICE
                      " convert(sh)\n sc = " TSLICE " convert(s)\n")},
     "differ"},
    {"tpu: the slice is converted as it is read",
     converting,
     {{CREAD,
       " sc = " TSLICE " dynamic-slice(p, j, o, o), dynamic_slice_sizes={1,8,128}\n w = " TVALUE
       " bitcast(sc)\n"}},
     NULL},
    {"tpu: another slice is converted as it is read",
     converting,
     {{CREAD,
       " sc = " TSLICE " dynamic-slice(p, o, o, o), dynamic_slice_sizes={1,8,128}\n w = " TVALUE
       " bitcast(sc)\n"}},
     "differ"},
    {"tpu: another value is converted",
     converting,
     {{"r = " TSLICE " bitcast(y)\n", "r = " TSLICE " bitcast(a)\n rc = " CSLICE " convert(r)\n"},
      {"dynamic-update-slice(p, r,", "dynamic-update-slice(p, rc,"}},
     "differ"},
    {"tpu: the iteration is another one",
     converting,
     {AGAIN_CONVERTED(CONVERTED_AGAIN), {"fusion(z1, j, g)", "fusion(z1, i, g)"}},
     "differ"},
    {"tpu: the stack has other digits",
     converting,
     {{"r = " TSLICE " bitcast(y)\n",
       "yh = f16[8,128]{1,0:T(8,128)(2,1)} convert(y)\n rh = f16[1,8,128]{2,1,0:T(8,128)(2,1)} "
       "bitcast(yh)\n"},
      {"dynamic-update-slice(p, r,", "dynamic-update-slice(p, rh,"}},
     "differ"},
};

/* ---- the test ---- */

START_TEST(verdict_matches_table) {
  loop_check_verdict(rows[_i].name, rows[_i].text, rows[_i].edits, rows[_i].why);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("verify_forms");
  TCase *tc = tcase_create("verify_forms");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
