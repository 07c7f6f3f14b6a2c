#include "loop_texts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "remat/verify/verify.h"
#include "support.h"

const char *const loop_scan[] = {
    "HloModule m\n",
    "fc { t = " LOOP_FORTH
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " fn = s32[] constant(6)\n"
    " ROOT c = pred[] compare(i, fn), direction=LT }\n",
    "fb { t = " LOOP_FORTH
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4] get-tuple-element(t), index=1\n"
    " s = f32[6,4]{1,0} get-tuple-element(t), index=2\n"
    " w = f32[6,4] get-tuple-element(t), index=3\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " ws = f32[1,4] dynamic-slice(w, i, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] reshape(ws)\n"
    " m = f32[4] multiply(x, wr)\n"
    " y = f32[4] sine(m)\n"
    " yr = f32[1,4] reshape(y)\n"
    " sn = f32[6,4]{1,0} dynamic-update-slice(s, yr, i, z)\n"
    " xn = f32[4] add(x, y)\n"
    " fin = s32[] add(i, one)\n"
    " ROOT r = " LOOP_FORTH " tuple(fin, xn, sn, w) }\n",
    "bc { t = " LOOP_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " bn = s32[] constant(6)\n"
    " ROOT c = pred[] compare(i, bn), direction=LT }\n",
    "bb { t = " LOOP_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " dx = f32[4] get-tuple-element(t), index=1\n"
    " s = f32[6,4]{1,0} get-tuple-element(t), index=2\n"
    " w = f32[6,4] get-tuple-element(t), index=3\n"
    " acc = f32[6,4] get-tuple-element(t), index=4\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " five = s32[] constant(5)\n"
    " j = s32[] subtract(five, i)\n"
    " vs = f32[1,4] dynamic-slice(w, j, z), dynamic_slice_sizes={1,4}\n"
    " wj = f32[4] reshape(vs)\n"
    " ss = f32[1,4] dynamic-slice(s, j, z), dynamic_slice_sizes={1,4}\n"
    " y = f32[4] reshape(ss)\n"
    " d = f32[4] multiply(dx, y)\n"
    " dr = f32[1,4] reshape(d)\n"
    " an = f32[6,4] dynamic-update-slice(acc, dr, j, z)\n"
    " dw = f32[4] multiply(d, wj)\n"
    " dn = f32[4] add(dx, dw)\n"
    " bin = s32[] add(i, one)\n"
    " ROOT r = " LOOP_BACK " tuple(bin, dn, s, w, an) }\n",
    "ENTRY e {\n"
    " x0 = f32[4] parameter(0)\n"
    " w = f32[6,4] parameter(1)\n"
    " zero = s32[] constant(0)\n"
    " fz = f32[] constant(0)\n"
    " s0 = f32[6,4]{1,0} broadcast(fz), dimensions={}\n"
    " a0 = f32[6,4] broadcast(fz), dimensions={}\n"
    " fi = " LOOP_FORTH
    " tuple(zero, x0, s0, w)\n"
    " f = " LOOP_FORTH
    " while(fi), condition=fc, body=fb\n"
    " x = f32[4] get-tuple-element(f), index=1\n"
    " s = f32[6,4]{1,0} get-tuple-element(f), index=2\n"
    " bi = " LOOP_BACK
    " tuple(zero, x, s, w, a0)\n"
    " b = " LOOP_BACK
    " while(bi), condition=bc, body=bb\n"
    " dx = f32[4] get-tuple-element(b), index=1\n"
    " acc = f32[6,4] get-tuple-element(b), index=4\n"
    " ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc) }\n",
    NULL};

const char *const loop_segments[] = {
    "HloModule m\n",
    "c1 { t = " LOOP_INNER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(3)\n"
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "b1 { t = " LOOP_INNER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4] get-tuple-element(t), index=1\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " base = s32[] get-tuple-element(t), index=3\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " at = s32[] add(base, i)\n"
    " ws = f32[1,4] dynamic-slice(w, at, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] reshape(ws)\n"
    " m = f32[4] multiply(x, wr)\n"
    " y = f32[4] sine(m)\n"
    " xn = f32[4] add(x, y)\n"
    " in = s32[] add(i, one)\n"
    " ROOT r = " LOOP_INNER " tuple(in, xn, w, base) }\n",
    "c2 { t = " LOOP_OUTER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(2)\n"
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "b2 { t = " LOOP_OUTER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4] get-tuple-element(t), index=1\n"
    " s = f32[2,4] get-tuple-element(t), index=2\n"
    " w = f32[6,4] get-tuple-element(t), index=3\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " k = s32[] constant(3)\n"
    " base = s32[] multiply(i, k)\n"
    " xr = f32[1,4] reshape(x)\n"
    " sn = f32[2,4] dynamic-update-slice(s, xr, i, z)\n"
    " a = " LOOP_INNER
    " tuple(z, x, w, base)\n"
    " l = " LOOP_INNER
    " while(a), condition=c1, body=b1\n"
    " xn = f32[4] get-tuple-element(l), index=1\n"
    " in = s32[] add(i, one)\n"
    " ROOT r = " LOOP_OUTER " tuple(in, xn, sn, w) }\n",
    "c3 { t = " LOOP_AGAIN
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(3)\n"
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "b3 { t = " LOOP_AGAIN
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4] get-tuple-element(t), index=1\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " base = s32[] get-tuple-element(t), index=3\n"
    " s = f32[3,4] get-tuple-element(t), index=4\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " at = s32[] add(base, i)\n"
    " ws = f32[1,4] dynamic-slice(w, at, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] reshape(ws)\n"
    " m = f32[4] multiply(x, wr)\n"
    " y = f32[4] sine(m)\n"
    " yr = f32[1,4] reshape(y)\n"
    " sn = f32[3,4] dynamic-update-slice(s, yr, i, z)\n"
    " xn = f32[4] add(x, y)\n"
    " in = s32[] add(i, one)\n"
    " ROOT r = " LOOP_AGAIN " tuple(in, xn, w, base, sn) }\n",
    "c4 { t = " LOOP_INNER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(3)\n"
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "b4 { t = " LOOP_INNER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " dx = f32[4] get-tuple-element(t), index=1\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " base = s32[] get-tuple-element(t), index=3\n"
    " s = f32[3,4] get-tuple-element(t), index=4\n"
    " acc = f32[6,4] get-tuple-element(t), index=5\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " last = s32[] constant(2)\n"
    " j = s32[] subtract(last, i)\n"
    " at = s32[] add(base, j)\n"
    " ws = f32[1,4] dynamic-slice(w, at, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] reshape(ws)\n"
    " ss = f32[1,4] dynamic-slice(s, j, z), dynamic_slice_sizes={1,4}\n"
    " y = f32[4] reshape(ss)\n"
    " d = f32[4] multiply(dx, y)\n"
    " dr = f32[1,4] reshape(d)\n"
    " an = f32[6,4] dynamic-update-slice(acc, dr, at, z)\n"
    " dw = f32[4] multiply(d, wr)\n"
    " dn = f32[4] add(dx, dw)\n"
    " in = s32[] add(i, one)\n"
    " ROOT r = " LOOP_INNER_BACK " tuple(in, dn, w, base, s, an) }\n",
    "c5 { t = " LOOP_OUTER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " n = s32[] constant(2)\n"
    " ROOT c = pred[] compare(i, n), direction=LT }\n",
    "b5 { t = " LOOP_OUTER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=0\n"
    " dx = f32[4] get-tuple-element(t), index=1\n"
    " s = f32[2,4] get-tuple-element(t), index=2\n"
    " w = f32[6,4] get-tuple-element(t), index=3\n"
    " acc = f32[6,4] get-tuple-element(t), index=4\n"
    " z = s32[] constant(0)\n"
    " one = s32[] constant(1)\n"
    " k = s32[] constant(3)\n"
    " last = s32[] constant(1)\n"
    " seg = s32[] subtract(last, i)\n"
    " base = s32[] multiply(seg, k)\n"
    " xs = f32[1,4] dynamic-slice(s, seg, z), dynamic_slice_sizes={1,4}\n"
    " x = f32[4] reshape(xs)\n"
    " fz = f32[] constant(0)\n"
    " s0 = f32[3,4] broadcast(fz), dimensions={}\n"
    " a = " LOOP_AGAIN
    " tuple(z, x, w, base, s0)\n"
    " l = " LOOP_AGAIN
    " while(a), condition=c3, body=b3\n"
    " ys = f32[3,4] get-tuple-element(l), index=4\n"
    " a2 = " LOOP_INNER_BACK
    " tuple(z, dx, w, base, ys, acc)\n"
    " l2 = " LOOP_INNER_BACK
    " while(a2), condition=c4, body=b4\n"
    " dn = f32[4] get-tuple-element(l2), index=1\n"
    " an = f32[6,4] get-tuple-element(l2), index=5\n"
    " i2 = s32[] add(i, one)\n"
    " ROOT r = " LOOP_OUTER_BACK " tuple(i2, dn, s, w, an) }\n",
    "ENTRY e {\n"
    " x0 = f32[4] parameter(0)\n"
    " w = f32[6,4] parameter(1)\n"
    " zero = s32[] constant(0)\n"
    " fz = f32[] constant(0)\n"
    " s0 = f32[2,4] broadcast(fz), dimensions={}\n"
    " a0 = f32[6,4] broadcast(fz), dimensions={}\n"
    " fi = " LOOP_OUTER
    " tuple(zero, x0, s0, w)\n"
    " f = " LOOP_OUTER
    " while(fi), condition=c2, body=b2\n"
    " x = f32[4] get-tuple-element(f), index=1\n"
    " s = f32[2,4] get-tuple-element(f), index=2\n"
    " bi = " LOOP_OUTER_BACK
    " tuple(zero, x, s, w, a0)\n"
    " b = " LOOP_OUTER_BACK
    " while(bi), condition=c5, body=b5\n"
    " dx = f32[4] get-tuple-element(b), index=1\n"
    " acc = f32[6,4] get-tuple-element(b), index=4\n"
    " ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc) }\n",
    NULL};

const char *const loop_cut[] = {
    "HloModule m\n",
    "next { p = s32[] parameter(0)\n"
    " q = s32[] constant(1)\n"
    " ROOT r = s32[] add(p, q) }\n"
    "same { p = s32[] parameter(0)\n"
    " ROOT r = s32[] copy(p) }\n"
    "inner_less { p = s32[] parameter(0)\n"
    " n = s32[] constant(3)\n"
    " ROOT r = pred[] compare(p, n), direction=LT }\n"
    "outer_less { p = s32[] parameter(0)\n"
    " n = s32[] constant(2)\n"
    " ROOT r = pred[] compare(p, n), direction=LT }\n"
    "again_less { p = s32[] parameter(0)\n"
    " n = s32[] constant(3)\n"
    " ROOT r = pred[] compare(p, n), direction=LT }\n"
    "layer { w = f32[6,4] parameter(0)\n"
    " i = s32[] parameter(1)\n"
    " x = f32[4] parameter(2)\n"
    " z = s32[] constant(0)\n"
    " ws = f32[1,4] dynamic-slice(w, i, z), dynamic_slice_sizes={1,4}\n"
    " wr = f32[4] bitcast(ws)\n"
    " m = f32[4] multiply(x, wr)\n"
    " ROOT y = f32[4] sine(m) }\n",
    "c1 { t = " LOOP_CUT_INNER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=3\n"
    " ROOT c = pred[] fusion(i), kind=kLoop, calls=inner_less }\n"
    "b1 { t = " LOOP_CUT_INNER
    " parameter(0)\n"
    " i0 = s32[] get-tuple-element(t), index=3\n"
    " i = s32[] copy(i0)\n"
    " in = s32[] fusion(i), kind=kLoop, calls=next\n"
    " j0 = s32[] get-tuple-element(t), index=0\n"
    " j = s32[] copy(j0)\n"
    " x0 = f32[4] get-tuple-element(t), index=1\n"
    " x = f32[4] copy(x0)\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " y = f32[4] fusion(w, j, x), kind=kLoop, calls=layer\n"
    " xn = f32[4] add(x, y)\n"
    " jn = s32[] fusion(j), kind=kLoop, calls=next\n"
    " ROOT r = " LOOP_CUT_INNER " tuple(jn, xn, w, in) }\n",
    "keep { s = f32[2,4] parameter(0)\n"
    " x = f32[4] parameter(1)\n"
    " xr = f32[1,4] bitcast(x)\n"
    " i = s32[] parameter(2)\n"
    " z = s32[] constant(0)\n"
    " ROOT r = f32[2,4] dynamic-update-slice(s, xr, i, z) }\n"
    "c2 { t = " LOOP_CUT_OUTER
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=3\n"
    " ROOT c = pred[] fusion(i), kind=kLoop, calls=outer_less }\n"
    "b2 { t = " LOOP_CUT_OUTER
    " parameter(0)\n"
    " i0 = s32[] get-tuple-element(t), index=3\n"
    " i = s32[] fusion(i0), kind=kLoop, calls=same\n"
    " j = s32[] get-tuple-element(t), index=0\n"
    " x = f32[4] get-tuple-element(t), index=1\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " s = f32[2,4] get-tuple-element(t), index=4\n"
    " sn = f32[2,4] fusion(s, x, i), kind=kLoop, calls=keep\n"
    " in = s32[] fusion(i), kind=kLoop, calls=next\n"
    " z = s32[] constant(0)\n"
    " zc = s32[] copy(z)\n"
    " a = " LOOP_CUT_INNER
    " tuple(j, x, w, zc)\n"
    " l = " LOOP_CUT_INNER
    " while(a), condition=c1, body=b1\n"
    " jn = s32[] get-tuple-element(l), index=0\n"
    " xn = f32[4] get-tuple-element(l), index=1\n"
    " wn = f32[6,4] get-tuple-element(l), index=2\n"
    " ROOT r = " LOOP_CUT_OUTER " tuple(jn, xn, wn, in, sn) }\n",
    "sum { i = s32[] parameter(0)\n"
    " k = s32[] copy(i)\n"
    " base = s32[] parameter(1)\n"
    " ROOT r = s32[] add(base, k) }\n"
    "row { y = f32[4] parameter(0)\n"
    " ROOT r = f32[1,4] bitcast(y) }\n"
    "write { s = f32[3,1,4] parameter(0)\n"
    " y = f32[1,4] parameter(1)\n"
    " yr = f32[1,1,4] bitcast(y)\n"
    " i = s32[] parameter(2)\n"
    " z = s32[] constant(0)\n"
    " ROOT r = f32[3,1,4] dynamic-update-slice(s, yr, i, z, z) }\n"
    "c3 { t = " LOOP_CUT_AGAIN
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=3\n"
    " ROOT c = pred[] fusion(i), kind=kLoop, calls=again_less }\n"
    "b3 { t = " LOOP_CUT_AGAIN
    " parameter(0)\n"
    " i0 = s32[] get-tuple-element(t), index=3\n"
    " i = s32[] copy(i0)\n"
    " in = s32[] fusion(i), kind=kLoop, calls=next\n"
    " base = s32[] get-tuple-element(t), index=0\n"
    " j0 = s32[] fusion(i, base), kind=kLoop, calls=sum\n"
    " j = s32[] copy(j0)\n"
    " s = f32[3,1,4] get-tuple-element(t), index=4\n"
    " x0 = f32[4] get-tuple-element(t), index=1\n"
    " x = f32[4] copy(x0)\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " y = f32[4] fusion(w, j, x), kind=kLoop, calls=layer\n"
    " yr = f32[1,4] fusion(y), kind=kLoop, calls=row\n"
    " sn = f32[3,1,4] fusion(s, yr, i), kind=kLoop, calls=write\n"
    " xn = f32[4] add(x, y)\n"
    " ROOT r = " LOOP_CUT_AGAIN " tuple(base, xn, w, in, sn) }\n",
    "turn { i = s32[] parameter(0)\n"
    " minus = s32[] constant(-1)\n"
    " m = s32[] multiply(i, minus)\n"
    " last = s32[] constant(2)\n"
    " ROOT r = s32[] add(m, last) }\n"
    "take { s = f32[3,1,4] parameter(0)\n"
    " i = s32[] parameter(1)\n"
    " z = s32[] constant(0)\n"
    " ss = f32[1,1,4] dynamic-slice(s, i, z, z), dynamic_slice_sizes={1,1,4}\n"
    " ROOT r = f32[1,4] bitcast(ss) }\n"
    "back { s = f32[1,4] parameter(0)\n"
    " dx = f32[4] parameter(1)\n"
    " y = f32[4] bitcast(s)\n"
    " ROOT d = f32[4] multiply(dx, y) }\n"
    "stack { acc = f32[6,4] parameter(0)\n"
    " d = f32[4] parameter(1)\n"
    " i = s32[] parameter(2)\n"
    " five = s32[] constant(5)\n"
    " j = s32[] subtract(five, i)\n"
    " dr = f32[1,4] bitcast(d)\n"
    " z = s32[] constant(0)\n"
    " ROOT an = f32[6,4] dynamic-update-slice(acc, dr, j, z) }\n"
    "down { w = f32[6,4] parameter(0)\n"
    " i = s32[] parameter(1)\n"
    " d = f32[4] parameter(2)\n"
    " dx = f32[4] parameter(3)\n"
    " five = s32[] constant(5)\n"
    " j = s32[] subtract(five, i)\n"
    " z = s32[] constant(0)\n"
    " vs = f32[1,4] dynamic-slice(w, j, z), dynamic_slice_sizes={1,4}\n"
    " wj = f32[4] bitcast(vs)\n"
    " dw = f32[4] multiply(d, wj)\n"
    " ROOT dn = f32[4] add(dx, dw) }\n",
    "c4 { t = " LOOP_CUT_INNER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=4\n"
    " ROOT c = pred[] fusion(i), kind=kLoop, calls=inner_less }\n"
    "b4 { t = " LOOP_CUT_INNER_BACK
    " parameter(0)\n"
    " i0 = s32[] get-tuple-element(t), index=4\n"
    " i = s32[] copy(i0)\n"
    " in = s32[] fusion(i), kind=kLoop, calls=next\n"
    " at = s32[] fusion(i), kind=kLoop, calls=turn\n"
    " s = f32[3,1,4] get-tuple-element(t), index=5\n"
    " j0 = s32[] get-tuple-element(t), index=0\n"
    " j = s32[] copy(j0)\n"
    " dx0 = f32[4] get-tuple-element(t), index=1\n"
    " dx = f32[4] copy(dx0)\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " acc = f32[6,4] get-tuple-element(t), index=3\n"
    " ss = f32[1,4] fusion(s, at), kind=kLoop, calls=take\n"
    " d = f32[4] fusion(ss, dx), kind=kLoop, calls=back\n"
    " an = f32[6,4] fusion(acc, d, j), kind=kLoop, calls=stack\n"
    " dn = f32[4] fusion(w, j, d, dx), kind=kLoop, calls=down\n"
    " jn = s32[] fusion(j), kind=kLoop, calls=next\n"
    " ROOT r = " LOOP_CUT_INNER_BACK " tuple(jn, dn, w, an, in, s) }\n",
    "turn_segment { i = s32[] parameter(0)\n"
    " minus = s32[] constant(-1)\n"
    " m = s32[] multiply(i, minus)\n"
    " end = s32[] constant(1)\n"
    " ROOT r = s32[] add(m, end) }\n"
    "begin { i = s32[] parameter(0)\n"
    " k = s32[] constant(3)\n"
    " ROOT r = s32[] multiply(i, k) }\n"
    "first { s = f32[2,4] parameter(0)\n"
    " i = s32[] parameter(1)\n"
    " z = s32[] constant(0)\n"
    " xs = f32[1,4] dynamic-slice(s, i, z), dynamic_slice_sizes={1,4}\n"
    " ROOT r = f32[4] bitcast(xs) }\n"
    "zeros { f = f32[] constant(0)\n"
    " ROOT r = f32[3,1,4] broadcast(f), dimensions={} }\n"
    "c5 { t = " LOOP_CUT_OUTER_BACK
    " parameter(0)\n"
    " i = s32[] get-tuple-element(t), index=4\n"
    " ROOT c = pred[] fusion(i), kind=kLoop, calls=outer_less }\n"
    "b5 { t = " LOOP_CUT_OUTER_BACK
    " parameter(0)\n"
    " i0 = s32[] get-tuple-element(t), index=4\n"
    " i = s32[] fusion(i0), kind=kLoop, calls=same\n"
    " seg = s32[] fusion(i), kind=kLoop, calls=turn_segment\n"
    " base = s32[] fusion(seg), kind=kLoop, calls=begin\n"
    " s = f32[2,4] get-tuple-element(t), index=5\n"
    " x = f32[4] fusion(s, seg), kind=kLoop, calls=first\n"
    " w = f32[6,4] get-tuple-element(t), index=2\n"
    " z = s32[] constant(0)\n"
    " zc = s32[] copy(z)\n"
    " s0 = f32[3,1,4] fusion(), kind=kLoop, calls=zeros\n"
    " a = " LOOP_CUT_AGAIN
    " tuple(base, x, w, zc, s0)\n"
    " l = " LOOP_CUT_AGAIN
    " while(a), condition=c3, body=b3\n"
    " j = s32[] get-tuple-element(t), index=0\n"
    " dx = f32[4] get-tuple-element(t), index=1\n"
    " acc = f32[6,4] get-tuple-element(t), index=3\n"
    " zb = s32[] copy(z)\n"
    " ys = f32[3,1,4] get-tuple-element(l), index=4\n"
    " a2 = " LOOP_CUT_INNER_BACK
    " tuple(j, dx, w, acc, zb, ys)\n"
    " l2 = " LOOP_CUT_INNER_BACK
    " while(a2), condition=c4, body=b4\n"
    " jn = s32[] get-tuple-element(l2), index=0\n"
    " dn = f32[4] get-tuple-element(l2), index=1\n"
    " wn = f32[6,4] get-tuple-element(l2), index=2\n"
    " an = f32[6,4] get-tuple-element(l2), index=3\n"
    " in = s32[] fusion(i), kind=kLoop, calls=next\n"
    " ROOT r = " LOOP_CUT_OUTER_BACK " tuple(jn, dn, wn, an, in, s) }\n",
    "ENTRY e {\n"
    " x0 = f32[4] parameter(0)\n"
    " w = f32[6,4] parameter(1)\n"
    " zero = s32[] constant(0)\n"
    " fz = f32[] constant(0)\n"
    " s0 = f32[2,4] broadcast(fz), dimensions={}\n"
    " a0 = f32[6,4] broadcast(fz), dimensions={}\n"
    " z1 = s32[] copy(zero)\n"
    " z2 = s32[] copy(zero)\n"
    " z3 = s32[] copy(zero)\n"
    " z4 = s32[] copy(zero)\n"
    " x1 = f32[4] copy(x0)\n"
    " fi = " LOOP_CUT_OUTER
    " tuple(z1, x1, w, z2, s0)\n"
    " f = " LOOP_CUT_OUTER
    " while(fi), condition=c2, body=b2\n"
    " x = f32[4] get-tuple-element(f), index=1\n"
    " s = f32[2,4] get-tuple-element(f), index=4\n"
    " dx1 = f32[4] copy(x)\n"
    " bi = " LOOP_CUT_OUTER_BACK
    " tuple(z3, dx1, w, a0, z4, s)\n"
    " b = " LOOP_CUT_OUTER_BACK
    " while(bi), condition=c5, body=b5\n"
    " dx = f32[4] get-tuple-element(b), index=1\n"
    " acc = f32[6,4] get-tuple-element(b), index=3\n"
    " ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc) }\n",
    NULL};

char *loop_text_edited(const char *row, const char *const *parts, const LoopEdit *edits) {
  size_t len = 0;
  for (int i = 0; parts[i]; i++)
    len += strlen(parts[i]);
  char *result = calloc(len + 1, 1);
  for (int i = 0; parts[i]; i++)
    strcat(result, parts[i]);
  for (int i = 0; i < MAX_LOOP_EDITS && edits[i].old; i++) {
    size_t old_len = strlen(edits[i].old), new_len = strlen(edits[i].new), count = 0;
    for (const char *p = result; (p = strstr(p, edits[i].old)); p += old_len)
      count++;
    ck_assert_msg(count > 0, "%s: there is no '%s'", row, edits[i].old);
    char *changed = malloc(strlen(result) + count * new_len + 1), *to = changed;
    const char *from = result, *p;
    while ((p = strstr(from, edits[i].old))) {
      memcpy(to, from, (size_t)(p - from));
      to += p - from;
      memcpy(to, edits[i].new, new_len);
      to += new_len;
      from = p + old_len;
    }
    strcpy(to, from);
    free(result);
    result = changed;
  }
  return result;
}

void loop_check_verdict(const char *row, const char *const *parts, const LoopEdit *edits,
                        const char *why) {
  const LoopEdit none[MAX_LOOP_EDITS] = {{0}};
  char *text_before = loop_text_edited(row, parts, none);
  char *text_after = loop_text_edited(row, parts, edits);
  Fixture before = fixture_parse(text_before), after = fixture_parse(text_after);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before.module, after.module, true, true, diags, after.scratch);
  char *notes = diags_as_text(diags, "", 0);
  ck_assert_msg(status == (why ? RH_NOT_EQUIVALENT : RH_OK), "%s: %d\n%s", row, status, notes);
  bool is_rounding = why && strcmp(why, LOOP_ROUNDING) == 0;
  ck_assert_msg(!why || is_rounding || strstr(notes, why), "%s: %s", row, notes);
  if (why) {
    status = verify_modules(before.module, after.module, true, false, diags, after.scratch);
    ck_assert_msg((status == RH_OK) == is_rounding, "%s: %d without the rule", row, status);
  }
  free(notes);
  rh_diags_free(diags);
  fixture_free(&before);
  fixture_free(&after);
  free(text_before);
  free(text_after);
}
