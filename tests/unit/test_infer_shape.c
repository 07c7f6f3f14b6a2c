/* Shapes that are left out of the text, opcode by opcode; the expected ones are XLA's. */
#include "support.h"

#include <stdio.h>

#include "text/parse.h"

/* What the rows below call. */
static const char computations[] =
    "sum {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] add(a, b)\n"
    "}\n"
    "single {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT t = (f32[]) tuple(a)\n"
    "}\n"
    "pair {\n"
    "  a = f32[] parameter(0)\n"
    "  b = s32[] parameter(1)\n"
    "  c = f32[] parameter(2)\n"
    "  d = s32[] parameter(3)\n"
    "  ROOT t = (f32[], s32[]) tuple(c, d)\n"
    "}\n"
    "ge {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] parameter(1)\n"
    "  ROOT c = pred[] compare(a, b), direction=GE\n"
    "}\n"
    "none { ROOT t = () tuple() }\n"
    "far { ROOT c = f32[2,3]{0,1:S(5)} constant({...}) }\n"
    "far_tuple {\n"
    "  a = f32[] parameter(0)\n"
    "  ROOT t = (f32[2,3]{0,1:S(5)}, (s32[4])) custom-call(a), custom_call_target=\"x\"\n"
    "}\n"
    "dynamic_tuple {\n"
    "  a = f32[] parameter(0)\n"
    "  ROOT t = (f32[<=2,3], (s32[<=4])) custom-call(a), custom_call_target=\"x\"\n"
    "}\n"
    "wide { a = f32[] parameter(0)  ROOT b = f64[] convert(a) }\n"
    "to_row { a = f32[] parameter(0)  ROOT b = f32[3] broadcast(a), dimensions={} }\n"
    "to_row_twice {\n"
    "  a = f32[] parameter(0)\n"
    "  c = f32[] parameter(1)\n"
    "  ROOT b = f32[3] broadcast(a), dimensions={}\n"
    "}\n"
    "row { ROOT a = f32[3]{0:S(5)} parameter(0) }\n"
    "plane {\n"
    "  a = f32[3] parameter(0)\n"
    "  ROOT b = f32[3,<=4]{0,1:T(2)} custom-call(a), custom_call_target=\"x\"\n"
    "}\n"
    "scanned {\n"
    "  a = f32[3] parameter(0)\n"
    "  b = f32[3] parameter(1)\n"
    "  ROOT t = (f32[3], f32[3]{0:S(5)}) custom-call(a, b), custom_call_target=\"x\"\n"
    "}\n"
    "carry {\n"
    "  a = f32[3] parameter(0)\n"
    "  ROOT b = f32[3]{0:S(5)} parameter(1)\n"
    "}\n"
    "more {\n"
    "  a = (f32[2,3], s32[]) parameter(0)\n"
    "  ROOT b = pred[] constant(true)\n"
    "}\n"
    "step { ROOT a = (f32[2,3]{0,1}, s32[]) parameter(0) }\n";

/* One instruction, behind parameters p0, p1, … of the shapes in `params`. */
static const struct {
  const char *params; /* separated by semicolons */
  const char *inst;
  const char *shape;
} shape_cases[] = {
    /* unary: the operand's shape, layout and all */
    {"f32[2,3]{0,1:T(2,1)S(5)}", "abs(p0)", "f32[2,3]{0,1:T(2,1)S(5)}"},
    {"s32[2]", "abs(p0)", "s32[2]{0}"},
    {"c64[2,3]{0,1}", "abs(p0)", "f32[2,3]{0,1}"},
    {"c128[<=4]", "abs(p0)", "f64[<=4]{0}"},
    {"f32[2,3]{0,1}", "acos(p0)", "f32[2,3]{0,1}"},
    {"f32[2,3]{0,1}", "acosh(p0)", "f32[2,3]{0,1}"},
    {"f32[2,3]{0,1}", "asin(p0)", "f32[2,3]{0,1}"},
    {"f32[2,3]{0,1}", "asinh(p0)", "f32[2,3]{0,1}"},
    {"f32[2,3]{0,1}", "atanh(p0)", "f32[2,3]{0,1}"},
    {"bf16[<=5,?]", "cbrt(p0)", "bf16[<=5,?]{1,0}"},
    {"f64[]", "ceil(p0)", "f64[]"},
    {"s4[3]{0:E(4)}", "count-leading-zeros(p0)", "s4[3]{0:E(4)}"},
    {"c64[2]", "cosine(p0)", "c64[2]{0}"},
    {"f8e5m2[0]", "cosh(p0)", "f8e5m2[0]{0}"},
    {"f16[7]{0:L(4)}", "erf(p0)", "f16[7]{0:L(4)}"},
    {"f32[2]", "exponential(p0), result_accuracy={mode=highest}", "f32[2]{0}"},
    {"c64[]", "exponential-minus-one(p0)", "c64[]"},
    {"f32[3]", "floor(p0)", "f32[3]{0}"},
    {"c64[2,3]{0,1:S(1)}", "imag(p0)", "f32[2,3]{0,1:S(1)}"},
    {"f32[2,3]{0,1}", "imag(p0)", "f32[2,3]{0,1}"},
    {"f4e2m1fn[4]{0:E(4)}", "is-finite(p0)", "pred[4]{0}"},
    {"f32[2,3]{0,1}", "is-finite(p0)", "pred[2,3]{0,1}"},
    {"f32[2,2]{0,1:T(2,*)}", "log(p0)", "f32[2,2]{0,1:T(2,*)}"},
    {"f32[2]", "log-plus-one(p0)", "f32[2]{0}"},
    {"f32[2]", "logistic(p0)", "f32[2]{0}"},
    {"u8[2]", "negate(p0)", "u8[2]{0}"},
    {"c64[2]", "negate(p0)", "c64[2]{0}"},
    {"f32[2,3]{0,0}", "negate(p0)", "f32[2,3]{0,0}"},
    {"pred[2]", "not(p0)", "pred[2]{0}"},
    {"u32[2]{0:S(2)}", "not(p0)", "u32[2]{0:S(2)}"},
    {"s64[2]", "popcnt(p0)", "s64[2]{0}"},
    {"c128[2]{0:M(8)}", "real(p0)", "f64[2]{0:M(8)}"},
    {"bf16[2]", "real(p0)", "bf16[2]{0}"},
    {"f32[2]", "round-nearest-afz(p0)", "f32[2]{0}"},
    {"f32[2]", "round-nearest-even(p0)", "f32[2]{0}"},
    {"f32[2]", "rsqrt(p0)", "f32[2]{0}"},
    {"s8[2]", "sign(p0)", "s8[2]{0}"},
    {"c64[2]", "sign(p0)", "c64[2]{0}"},
    {"f32[2]", "sine(p0)", "f32[2]{0}"},
    {"f32[2]", "sinh(p0)", "f32[2]{0}"},
    {"f32[2]", "sqrt(p0)", "f32[2]{0}"},
    {"c64[2]", "tan(p0)", "c64[2]{0}"},
    {"f6e3m2fn[2]{0:E(8)}", "tanh(p0)", "f6e3m2fn[2]{0:E(8)}"},
    {"f32[2,3]{0,1:T(2)}", "copy(p0)", "f32[2,3]{0,1:T(2)}"},
    {"(f32[2], (token[], b(s32[3])))", "copy(p0)", "(f32[2]{0}, (token[], b(s32[3]{0})))"},
    {"f32[2]{0:S(5)}",
     "domain(p0), domain={kind=\"sharding\", entry={maximal device=0}, exit={replicated}}",
     "f32[2]{0:S(5)}"},
    /* binary: the first operand's layout, the more precise type */
    {"f32[2,3]{0,1:S(3)}; f32[2,3]", "add(p0, p1)", "f32[2,3]{0,1:S(3)}"},
    {"bf16[2]{0:T(4)}; f32[2]", "add(p0, p1)", "f32[2]{0:T(4)}"},
    {"f32[2]; bf16[2]{0:T(4)}", "add(p0, p1)", "f32[2]{0}"},
    {"f16[2]; bf16[2]", "add(p0, p1)", "bf16[2]{0}"},
    {"f8e4m3fn[2]; f8e5m2[2]", "add(p0, p1)", "f8e5m2[2]{0}"},
    {"f8e8m0fnu[2]; f16[2]", "add(p0, p1)", "f8e8m0fnu[2]{0}"},
    {"f32[4]{0:E(4)}; f32[4]", "add(p0, p1)", "f32[4]{0}"},
    {"s4[4]{0:E(4)}; s4[4]", "add(p0, p1)", "s4[4]{0:E(4)}"},
    {"f6e2m3fn[4]{0:E(6)}; f6e2m3fn[4]", "add(p0, p1)", "f6e2m3fn[4]{0}"},
    {"f32[<=2,3]; f32[2,<=3]", "add(p0, p1)", "f32[<=2,<=3]{1,0}"},
    {"pred[2]; pred[2]", "add(p0, p1)", "pred[2]{0}"},
    /* binary: different shapes give the default layout */
    {"f32[]; f32[2,3]{0,1}", "add(p0, p1)", "f32[2,3]{1,0}"},
    {"f32[2,<=3]{0,1:S(1)}; bf16[]", "add(p0, p1)", "f32[2,<=3]{1,0}"},
    {"f32[?]{0:S(1)}; f32[]", "add(p0, p1)", "f32[?]{0}"},
    {"f32[1,3]{0,1}; f32[2,1]{0,1}", "add(p0, p1)", "f32[2,3]{1,0}"},
    {"f32[1,3]; f32[<=2,?]", "add(p0, p1)", "f32[<=2,3]{1,0}"},
    {"f32[?,4]; f32[2,4]", "add(p0, p1)", "f32[2,4]{1,0}"},
    {"f32[?]; f32[<=2]", "add(p0, p1)", "f32[<=2]{0}"},
    {"f32[?]{0:S(1)}; f32[?]{0:S(1)}", "add(p0, p1)", "f32[?]{0}"},
    {"f32[<=2,1]; f32[2,5]", "add(p0, p1)", "f32[<=2,5]{1,0}"},
    /* binary: every opcode */
    {"s32[2]; s32[2]", "and(p0, p1)", "s32[2]{0}"},
    {"c64[2]; c64[2]", "atan2(p0, p1)", "c64[2]{0}"},
    {"f32[2]{0:S(1)}; f32[2]", "complex(p0, p1)", "c64[2]{0:S(1)}"},
    {"f64[]; f64[3]", "complex(p0, p1)", "c128[3]{0}"},
    {"s32[2,2]{0,1}; s32[2,2]", "divide(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "maximum(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "minimum(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "mulhi(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "multiply(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "power(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "remainder(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "shift-left(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "shift-right-arithmetic(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "shift-right-logical(p0, p1)", "s32[2,2]{0,1}"},
    {"s32[2,2]{0,1}; s32[2,2]", "subtract(p0, p1)", "s32[2,2]{0,1}"},
    {"pred[2]; pred[]", "or(p0, p1)", "pred[2]{0}"},
    {"u16[2]; u16[2]", "xor(p0, p1)", "u16[2]{0}"},
    {"f32[2]{0:T(8)}; bf16[2]", "compare(p0, p1), direction=LT", "pred[2]{0:T(8)}"},
    {"c64[]; c64[4]", "compare(p0, p1), direction=EQ", "pred[4]{0}"},
    {"s4[2]{0:E(4)}; s4[2]", "compare(p0, p1), direction=NE", "pred[2]{0}"},
    /* clamp, select */
    {"f32[]; f32[2,3]{0,1:S(1)}; f32[]", "clamp(p0, p1, p2)", "f32[2,3]{0,1:S(1)}"},
    {"f32[2]; bf16[2]{0:S(1)}; f16[]", "clamp(p0, p1, p2)", "bf16[2]{0:S(1)}"},
    {"s32[3]; s32[?]; s32[<=3]", "clamp(p0, p1, p2)", "s32[?]{0}"},
    {"f32[]; f32[]; f32[]", "clamp(p0, p1, p2)", "f32[]"},
    {"pred[2,3]{0,1:S(4)}; f32[2,3]; f32[2,3]", "select(p0, p1, p2)", "f32[2,3]{0,1:S(4)}"},
    {"pred[]; f32[2,3]{0,1:S(4)}; f32[2,3]", "select(p0, p1, p2)", "f32[2,3]{0,1:S(4)}"},
    {"pred[2]; bf16[2]; f32[2]", "select(p0, p1, p2)", "f32[2]{0}"},
    {"pred[4]; s4[4]{0:E(4)}; s4[4]", "select(p0, p1, p2)", "s4[4]{0:E(4)}"},
    {"pred[4]{0:E(1)}; f32[4]; f32[4]", "select(p0, p1, p2)", "f32[4]{0}"},
    {"pred[<=4]; f32[4]; f32[4]", "select(p0, p1, p2)", "f32[<=4]{0}"},
    {"pred[]; f32[?,?]; f32[4,<=5]", "select(p0, p1, p2)", "f32[4,<=5]{1,0}"},
    {"pred[?]; f32[4]; f32[4]", "select(p0, p1, p2)", "f32[?]{0}"},
    /* tuples */
    {"", "tuple()", "()"},
    {"f32[2]{0:S(1)}; (s32[], ())", "tuple(p0, p1)", "(f32[2]{0:S(1)}, (s32[], ()))"},
    {"f32[2,3]{0,0}", "tuple(p0)", "(f32[2,3]{0,0})"},
    {"(f32[2]{0:T(2)}, (s32[], pred[3]))", "get-tuple-element(p0), index=0", "f32[2]{0:T(2)}"},
    {"(f32[2], (s32[], pred[3]))", "get-tuple-element(p0), index=1", "(s32[], pred[3]{0})"},
    {"f32[2,3]{0,1:T(2)}", "sort(p0), dimensions={9}, to_apply=sum", "f32[2,3]{0,1:T(2)}"},
    {"f32[2,<=3]{0,1}; s32[2,3]{1,0:S(1)}", "sort(p0, p1), dimensions={0}, to_apply=pair",
     "(f32[2,<=3]{0,1}, s32[2,3]{1,0:S(1)})"},
    {"", "sort(), dimensions={0}, to_apply=sum", "()"},
    {"(token[])", "sort(p0), dimensions={0}, to_apply=sum", "(token[])"},
    {"b(f32[2]); b(s32[?])", "sort(p0, p1), dimensions={0}, to_apply=pair",
     "(b(f32[2]{0}), b(s32[?]{0}))"},
    /* moves */
    {"f32[]", "broadcast(p0)", "f32[]"},
    {"f32[3]{0:S(5)}", "broadcast(p0), dimensions={2}", "f32[2,3]{1,0}"},
    {"f32[<=3]", "broadcast(p0), dimensions={0,4}", "f32[0,4,<=3]{2,1,0}"},
    {"f32[2,3]{0,1}", "broadcast(p0), dimensions={}", "f32[2,3]{1,0}"},
    {"f32[2,3]{0,1}; bf16[2,4]", "concatenate(p0, p1), dimensions={1}", "f32[2,7]{1,0}"},
    {"f8e5m2[2]; f32[3]; f16[4]", "concatenate(p0, p1, p2), dimensions={0}", "f16[9]{0}"},
    {"f32[2]{0:S(1)}", "concatenate(p0), dimensions={0}", "f32[2]{0}"},
    {"f32[<=2,3]; f32[4,3]", "concatenate(p0, p1), dimensions={0}", "f32[<=6,3]{1,0}"},
    {"f32[?,3]; f32[4,<=3]", "concatenate(p0, p1), dimensions={0}", "f32[?,<=3]{1,0}"},
    {"f32[2,?]; f32[4,3]", "concatenate(p0, p1), dimensions={0}", "f32[6,3]{1,0}"},
    {"f32[2,?]; f32[4,?]", "concatenate(p0, p1), dimensions={0}", "f32[6,?]{1,0}"},
    {"f32[0]; f32[<=0]", "concatenate(p0, p1), dimensions={0}", "f32[<=0]{0}"},
    {"f32[2,3]", "get-dimension-size(p0), dimensions={1}", "s32[]"},
    {"b(f32[?])", "get-dimension-size(p0), dimensions={0}", "s32[]"},
    {"f32[2,3]{0,1:S(1)}; s32[]", "set-dimension-size(p0, p1), dimensions={1}",
     "f32[2,<=3]{0,1:S(1)}"},
    {"b(f32[2]); s32[]", "set-dimension-size(p0, p1), dimensions={0}", "b(f32[<=2]{0})"},
    {"f32[?]; b(s32[])", "set-dimension-size(p0, p1), dimensions={0}", "f32[?]{0}"},
    {"f32[2,3]{0,1}; f32[]", "pad(p0, p1), padding=1_2x0_0", "f32[5,3]{1,0}"},
    {"f32[4]; f32[]", "pad(p0, p1), padding=-1_-2", "f32[1]{0}"},
    {"f32[4]; bf16[]", "pad(p0, p1), padding=0_0_2", "f32[10]{0}"},
    {"f32[0]; f32[]", "pad(p0, p1), padding=1_0_5", "f32[1]{0}"},
    {"bf16[?,<=4]; f32[]", "pad(p0, p1), padding=1_1x-4_0_1", "f32[?,<=3]{1,0}"},
    {"f32[2,3]{0,1:S(1)}", "reverse(p0), dimensions={1}", "f32[2,3]{0,1:S(1)}"},
    {"f32[2,?]", "reverse(p0), dimensions={1,0}", "f32[2,?]{1,0}"},
    {"f32[2,3,4]", "transpose(p0), dimensions={2,0,1}", "f32[4,2,3]{0,2,1}"},
    {"f32[2,<=3,?]{0,2,1:T(2,4)S(1)}", "transpose(p0), dimensions={1,2,0}",
     "f32[<=3,?,2]{2,1,0:T(2,4)S(1)}"},
    {"f32[]", "transpose(p0), dimensions={}", "f32[]"},
    {"f32[2,3]{0,0}", "transpose(p0), dimensions={1,0}", "f32[3,2]{1,1}"},
    {"bf16[4,<=9]{0,1:S(1)}", "topk(p0), k=3", "(bf16[4,3]{1,0}, s32[4,3]{1,0})"},
    {"f32[<=4,9]", "topk(p0), k=9, largest=false", "(f32[<=4,9]{1,0}, s32[<=4,9]{1,0})"},
    {"s32[9]", "topk(p0), k=0", "(s32[0]{0}, s32[0]{0})"},
    /* calls */
    {"f32[]; f32[]", "call(p0, p1), to_apply=sum", "f32[]"},
    {"", "call(), to_apply=far", "f32[2,3]{0,1:S(5)}"},
    {"(f32[2,3]{1,0:S(2)}, s32[])", "while(p0), condition=more, body=step",
     "(f32[2,3]{1,0:S(2)}, s32[])"},
    {"(f32[2,3], s32[])", "while(p0), body=step, condition=more", "(f32[2,3]{1,0}, s32[])"},
    {"pred[]; f32[]; f32[]",
     "conditional(p0, p1, p2), true_computation=far_tuple, false_computation=dynamic_tuple",
     "(f32[<=2,3]{0,1:S(5)}, (s32[<=4]{0}))"},
    {"pred[]; f32[]; f32[]",
     "conditional(p0, p1, p2), false_computation=far_tuple, true_computation=dynamic_tuple",
     "(f32[<=2,3]{1,0}, (s32[<=4]{0}))"},
    {"s32[]; f32[]", "conditional(p0, p1), branch_computations={far_tuple}",
     "(f32[2,3]{0,1:S(5)}, (s32[4]{0}))"},
    {"f32[2]{0:S(1)}", "map(p0), dimensions={0}, to_apply=wide", "f64[2]{0}"},
    {"f32[2,<=3]; f32[2,3]", "map(p0, p1), dimensions={0,1}, to_apply=sum", "f32[2,<=3]{1,0}"},
    {"f32[]; f32[4]", "map(p0, p1), dimensions={0}, to_apply=sum", "f32[4]{0}"},
    {"f32[4]; bf16[]", "map(p0, p1), dimensions={0}, to_apply=sum", "f32[4]{0}"},
    {"f32[]", "map(p0), dimensions={}, to_apply=wide", "f64[]"},
    /* reductions */
    {"f32[2,3,4]{0,1,2}; f32[]", "reduce(p0, p1), dimensions={1}, to_apply=sum", "f32[2,4]{1,0}"},
    {"f32[2,<=3]; f32[]", "reduce(p0, p1), dimensions={0}, to_apply=sum", "f32[<=3]{0}"},
    {"f32[2,3]; f32[]", "reduce(p0, p1), dimensions={1,0}, to_apply=sum", "f32[]"},
    {"f32[2,3]; f32[]", "reduce(p0, p1), dimensions={}, to_apply=sum", "f32[2,3]{1,0}"},
    {"bf16[2,3]; f16[]", "reduce(p0, p1), dimensions={0}, to_apply=sum", "f32[3]{0}"},
    {"f32[2,3]; s32[2,3]; f32[]; s32[]", "reduce(p0, p1, p2, p3), dimensions={0}, to_apply=pair",
     "(f32[3]{0}, s32[3]{0})"},
    {"b(f32[5]); f32[]", "reduce(p0, p1), dimensions={}, to_apply=sum", "f32[5]{0}"},
    {"f32[?,3]; s32[2,3]; f32[]; s32[]", "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=pair",
     "(f32[?]{0}, s32[?]{0})"},
    {"f32[2]; f32[]", "reduce(p0, p1), dimensions={0}, to_apply=single", "(f32[])"},
    {"f32[4,3]; f32[3]", "scan(p0, p1), dimensions={0}, num_carries=1, to_apply=scanned",
     "(f32[4,3]{1,0}, f32[3]{0:S(5)})"},
    {"f32[3,4]; f32[3]", "scan(p0, p1), dimensions={1}, num_carries=1, to_apply=scanned",
     "(f32[3,4]{1,0}, f32[3]{0:S(5)})"},
    {"f32[4,3]", "scan(p0), dimensions={0}, num_carries=0, to_apply=row", "f32[4,3]{1,0}"},
    {"f32[3,4]", "scan(p0), dimensions={1}, num_carries=0, to_apply=row", "f32[3,4]{1,0}"},
    {"f32[3,2,4]", "scan(p0), dimensions={1}, num_carries=0, to_apply=plane", "f32[3,2,4]{0,2,1}"},
    {"f32[4,3]; f32[3]", "scan(p0, p1), dimensions={0}, num_carries=1, to_apply=carry",
     "f32[3]{0:S(5)}"},
    /* windows */
    {"f32[8,9]{0,1}; f32[]",
     "reduce-window(p0, p1), window={size=2x3 stride=2x1 pad=0_1x1_0}, to_apply=sum",
     "f32[4,8]{1,0}"},
    {"f32[8]; f32[]",
     "reduce-window(p0, p1), window={size=3 lhs_dilate=2 rhs_dilate=3}, to_apply=sum", "f32[9]{0}"},
    {"f32[2]; f32[]", "reduce-window(p0, p1), window={size=3}, to_apply=sum", "f32[0]{0}"},
    {"f32[0]; f32[]", "reduce-window(p0, p1), window={size=1}, to_apply=sum", "f32[0]{0}"},
    {"f32[?,<=9]; bf16[]", "reduce-window(p0, p1), window={size=2x2}, to_apply=sum",
     "bf16[?,<=8]{1,0}"},
    {"f32[]; f32[]", "reduce-window(p0, p1), to_apply=sum", "f32[]"},
    {"f32[8]; f32[]; f32[8]; f32[]", "reduce-window(p0, p1, p2, p3), window={size=2}, to_apply=sum",
     "f32[7]{0}"},
    {"f32[9]; f32[]", "reduce-window(p0, p1), window={size=2 pad=-3_-4}, to_apply=sum",
     "f32[1]{0}"},
    {"f32[4,4]{0,1:S(1)}; f32[2,2]; f32[]",
     "select-and-scatter(p0, p1, p2), window={size=2x2 stride=2x2}, select=ge, scatter=sum",
     "f32[4,4]{0,1:S(1)}"},
    {"bf16[4]; f32[?]; f32[]",
     "select-and-scatter(p0, p1, p2), scatter=sum, select=ge, window={size=3}", "bf16[4]{0}"},
    {"f32[2,8,8,4]; f32[3,3,4,5]",
     "convolution(p0, p1), window={size=3x3}, dim_labels=b01f_01io->b01f", "f32[2,6,6,5]{3,2,1,0}"},
    {"f32[2,8,8,4]{0,1,2,3}; f32[3,3,4,5]",
     "convolution(p0, p1), window={size=3x3 stride=2x1 pad=1_1x0_2 rhs_dilate=2x1}, "
     "dim_labels=b01f_01io->f01b",
     "f32[5,3,8,2]{3,2,1,0}"},
    {"f32[2,6]; bf16[3,8]", "convolution(p0, p1), dim_labels=bf_io->fb, feature_group_count=2",
     "f32[8,2]{1,0}"},
    {"bf16[4,6]; f32[6,8]", "convolution(p0, p1), dim_labels=bf_io->bf, batch_group_count=2",
     "f32[2,8]{1,0}"},
    {"f32[<=2,?,4]; f32[3,4,5]", "convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
     "f32[<=2,?,5]{2,1,0}"},
    {"f32[2,4]; f32[4,5]", "convolution(p0, p1), dim_labels=?f_?o->bf, convolution_kind=dgrad",
     "f32[2,5]{1,0}"},
    {"s8[2,4]; s32[4,5]", "convolution(p0, p1), dim_labels=bf_io->bf", "s32[2,5]{1,0}"},
    /* dot products */
    {"f32[2,3]{0,1}; f32[3,4]", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "f32[2,4]{1,0}"},
    {"f32[5,2,3]; bf16[5,3,4]",
     "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}",
     "f32[5,2,4]{2,1,0}"},
    {"f32[2]; f32[3]", "dot(p0, p1)", "f32[2,3]{1,0}"},
    {"f32[?,<=3]; f32[4,<=5]", "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "f32[<=3,<=5]{1,0}"},
    {"s8[3]; s32[3]", "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "s32[]"},
    {"s32[3]; f8e5m2[3]", "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "f8e5m2[]"},
    {"c64[2]; f64[3]", "dot(p0, p1)", "c64[2,3]{1,0}"},
    {"u32[2]; s32[3]", "dot(p0, p1)", "s32[2,3]{1,0}"},
    {"f32[2,3]; f32[3,4]; token[]",
     "dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,4]{1,0}"},
    {"f8e4m3fn[2,8]; f8e8m0fnu[2,1]; f8e4m3fn[4,8]; f8e8m0fnu[4,1]",
     "scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "f8e4m3fn[2,4]{1,0}"},
    {"bf16[2]; token[]; f32[3]; ()", "scaled-dot(p0, p1, p2, p3)", "f32[2,3]{1,0}"},
    {"f32[11,5]; f32[3,5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "f32[11,7]{1,0}"},
    {"f32[11,5]; f32[5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}",
     "f32[3,11,7]{2,1,0}"},
    {"f32[2,11,5]; f32[2,5,7]; s32[<=3]",
     "ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}, lhs_ragged_dims={0}",
     "f32[2,11,7]{2,1,0}"},
    {"f32[2,11,5]; f32[2,5,7]; s32[2,<=3]",
     "ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}, lhs_ragged_dims={2}",
     "f32[<=3,2,11,7]{3,2,1,0}"},
    {"f32[2,11,5]; f32[3,2,5,7]; s32[2,3]",
     "ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0}",
     "f32[2,11,7]{2,1,0}"},
    /* gather, scatter */
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "f32[7,40]{1,0}"},
    {"f32[50,40]; s64[10,9,2]",
     "gather(p0, p1), offset_dims={2,3}, collapsed_slice_dims={}, start_index_map={1,0}, "
     "index_vector_dim=2, slice_sizes={30,20}",
     "f32[10,9,30,20]{3,2,1,0}"},
    {"f32[50,40]; u8[2,9,7]",
     "gather(p0, p1), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={0,1}, "
     "index_vector_dim=0, slice_sizes={3,1}",
     "f32[3,9,7]{2,1,0}"},
    {"f32[<=5,<=4]; s32[<=7,1]",
     "gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={5,3}",
     "f32[<=7,<=5,3]{2,1,0}"},
    {"f32[3,40]; s32[3,6,1]",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,8}",
     "f32[3,6,8]{2,1,0}"},
    {"f32[?,4]; s32[?,1]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,4}",
     "f32[?,4]{1,0}"},
    {"f32[4]; s32[]",
     "gather(p0, p1), offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, "
     "index_vector_dim=0, slice_sizes={2}",
     "f32[2]{0}"},
    {"f32[50,40]{0,1:S(1)}; s32[7]; f32[7,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "f32[50,40]{0,1:S(1)}"},
    {"f32[50]; s32[50]; s32[7,1]; f32[7]; s32[7]",
     "scatter(p0, p1, p2, p3, p4), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pair",
     "(f32[50]{0}, s32[50]{0})"},
    {"bf16[3,40]; s32[3,6,1]; f32[3,6,8]",
     "scatter(p0, p1, p2), update_window_dims={2}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=sum",
     "bf16[3,40]{1,0}"},
    {"f32[5,4]; s32[?,1]; f32[3,4]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "f32[5,4]{1,0}"},
    {"s32[1]",
     "scatter(p0), update_window_dims={}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=none",
     "()"},
    /* algorithms */
    {"f32[2,3,4]{0,1,2}; bf16[3]; f32[3]",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "(f32[2,3,4]{0,1,2}, f32[3]{0}, f32[3]{0})"},
    {"f32[2,<=3]; f32[3]; f32[?]", "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "(f32[2,<=3]{1,0}, f32[<=3]{0}, f32[<=3]{0})"},
    {"bf16[2,3]{0,1:S(1)}; f32[3]; f32[3]; f32[3,9]; f32[?]",
     "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
     "bf16[2,3]{0,1:S(1)}"},
    {"f32[2,3]{0,1}; f32[2]; f32[2]; f32[2]; bf16[2,?]",
     "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=0",
     "(f32[2,3]{0,1}, f32[2]{0}, f32[2]{0})"},
    {"f32[5,3,3]{0,1,2:S(1)}", "cholesky(p0), lower=true", "f32[5,3,3]{0,1,2:S(1)}"},
    {"c64[3,?]", "cholesky(p0)", "c64[3,?]{1,0}"},
    {"b(f64[3,3])", "cholesky(p0)", "b(f64[3,3]{1,0})"},
    {"f32[3,3]; f32[3,4]{0,1:S(1)}",
     "triangular-solve(p0, p1), left_side=true, transpose_a=NO_TRANSPOSE", "f32[3,4]{0,1:S(1)}"},
    {"c64[5,3,3]; c64[5,4,3]", "triangular-solve(p0, p1), transpose_a=ADJOINT",
     "c64[5,4,3]{2,1,0}"},
    {"b(f32[3,3]); b(f32[?,3])", "triangular-solve(p0, p1), transpose_a=TRANSPOSE",
     "b(f32[?,3]{1,0})"},
    {"c64[4,8]{0,1:S(1)}", "fft(p0), fft_type=FFT, fft_length={7}", "c64[4,8]{0,1:S(1)}"},
    {"c128[4,8]", "fft(p0), fft_type=IFFT, fft_length={4,8}", "c128[4,8]{1,0}"},
    {"f32[4,8]{0,1:S(1)}", "fft(p0), fft_type=RFFT, fft_length={8}", "c64[4,5]{0,1:S(1)}"},
    {"f64[4,<=9]", "fft(p0), fft_type=RFFT, fft_length={4,9}", "c128[4,<=5]{1,0}"},
    {"f32[?]", "fft(p0), fft_type=RFFT, fft_length={9}", "c64[5]{0}"},
    {"f32[0]", "fft(p0), fft_type=RFFT, fft_length={0}", "c64[0]{0}"},
    {"c64[4,5]{0,1:S(1)}", "fft(p0), fft_type=IRFFT, fft_length={8}", "f32[4,8]{0,1:S(1)}"},
    {"c128[4,<=5]", "fft(p0), fft_type=IRFFT, fft_length={4,9}", "f64[4,<=9]{1,0}"},
    {"c64[0]", "fft(p0), fft_type=IRFFT, fft_length={0}", "f32[0]{0}"},
    {"c64[?]", "fft(p0), fft_type=IRFFT, fft_length={8}", "f32[8]{0}"},
    {"b(c64[4])", "fft(p0), fft_type=FFT, fft_length={4}", "b(c64[4]{0})"},
    /* not inferred, but known */
    {"", "after-all()", "token[]"},
    {"f32[2]{0:S(1)}; token[]", "add-dependency(p0, p1)", "f32[2]{0:S(1)}"},
    {"", "partition-id()", "u32[]"},
    {"", "replica-id()", "u32[]"},
};

/* The message holds `fragment`. */
static const struct {
  const char *params;
  const char *inst;
  const char *fragment;
} failure_cases[] = {
    /* elementwise */
    {"f32[2]", "opt-barrier(p0)", "write it before the opcode"},
    {"(f32[2])", "abs(p0)", "operand 0 is (f32[2]), not an array"},
    {"b(f32[2])", "negate(p0)", "operand 0 is b(f32[2]), not an array"},
    {"token[]", "sine(p0)", "not an array"},
    {"pred[2]", "negate(p0)", "pred, which is not integer, floating or complex"},
    {"u32[2]", "abs(p0)", "u32, which is not signed"},
    {"s32[2]", "exponential(p0)", "s32, which is not floating or complex"},
    {"c64[2]", "floor(p0)", "c64, which is not floating"},
    {"f32[2]", "popcnt(p0)", "f32, which is not integer"},
    {"f32[2]", "not(p0)", "which is not pred or integer"},
    {"s32[2]", "real(p0)", "floating or complex"},
    {"c64[2]", "cbrt(p0)", "not floating"},
    {"f32[2]; s32[2]", "add(p0, p1)", "f32 and s32"},
    {"f32[2]; f32[3]", "add(p0, p1)", "f32[2] and f32[3]"},
    {"f32[2]; f32[2,2]", "add(p0, p1)", "f32[2] and f32[2,2]"},
    {"f32[2]; (f32[2])", "add(p0, p1)", "operand 1 is (f32[2])"},
    {"f8e5m2[2]; f8e5m2fnuz[2]", "add(p0, p1)", "neither of f8e5m2 and f8e5m2fnuz"},
    {"f8e4m3[2]; f8e4m3fnuz[2]", "maximum(p0, p1)", "more precise"},
    {"pred[2]; pred[2]", "subtract(p0, p1)", "pred"},
    {"f32[2]; f32[2]", "and(p0, p1)", "pred or integer"},
    {"s32[2]; s32[2]", "atan2(p0, p1)", "floating or complex"},
    {"f32[2]; f64[2]", "complex(p0, p1)", "not both f32 or both f64"},
    {"f16[2]; f16[2]", "complex(p0, p1)", "f16"},
    {"f32[<=1,?]; f32[2,3,4]", "add(p0, p1)", "its operands are"},
    {"f32[4294967296,4294967296]; f32[]", "add(p0, p1)", "overflows"},
    {"f32[2]; f32[2]; s32[2]", "clamp(p0, p1, p2)", "f32[2], f32[2] and s32[2]"},
    {"f32[2]; f32[3]; f32[]", "clamp(p0, p1, p2)", "its operands are"},
    {"f32[2]; f32[?]; f32[3]", "clamp(p0, p1, p2)", "its operands are"},
    {"s32[2]; f32[2]; f32[2]", "select(p0, p1, p2)", "s32, not pred"},
    {"pred[2]; f32[2]; f32[3]", "select(p0, p1, p2)", "its operands are"},
    {"pred[3]; f32[2]; f32[2]", "select(p0, p1, p2)", "its operands are"},
    {"pred[2]; f32[]; f32[]", "select(p0, p1, p2)", "its operands are"},
    /* tuples */
    {"f32[2]", "get-tuple-element(p0), index=0", "f32[2], not a tuple"},
    {"f32[2]; s32[3]", "sort(p0, p1), dimensions={0}, to_apply=pair", "differ"},
    {"f32[2]; token[]", "sort(p0, p1), dimensions={0}, to_apply=pair", "operand 1 is token[]"},
    {"f32[2,3]{0,0}; f32[2,3]", "sort(p0, p1), dimensions={0}, to_apply=pair", "no permutation"},
    {"f32[2]{0:T(0)}; f32[2]", "sort(p0, p1), dimensions={0}, to_apply=pair", "tile"},
    {"f32[2]{0:SC(0:2)}; f32[2]", "sort(p0, p1), dimensions={0}, to_apply=pair", "split points"},
    {"f32[2]{0:E(-1)}; f32[2]", "sort(p0, p1), dimensions={0}, to_apply=pair", "element size"},
    {"f32[2]{0:#(u32)}; f32[2]", "sort(p0, p1), dimensions={0}, to_apply=pair", "sparse"},
    /* moves */
    {"f32[?]", "broadcast(p0), dimensions={2}", "unbounded"},
    {"f32[]", "broadcast(p0), dimensions={-1}", "negative"},
    {"f32[2]", "broadcast(p0), dimensions={9223372036854775807}", "overflows"},
    {"", "concatenate(), dimensions={0}", "no operands"},
    {"f32[2]; f32[2]", "concatenate(p0, p1), dimensions={1}", "no dimension 1"},
    {"f32[2]; s32[2]", "concatenate(p0, p1), dimensions={0}", "operand 1 is s32[2]"},
    {"f32[2,3]; f32[2,4]", "concatenate(p0, p1), dimensions={0}",
     "dimension 1 has the sizes 3 and 4"},
    {"f32[2]; f32[2,2]", "concatenate(p0, p1), dimensions={0}", "operand 1 is f32[2,2]"},
    {"f32[1,?]; f32[1,3]; f32[1,4]", "concatenate(p0, p1, p2), dimensions={0}", "sizes 3 and 4"},
    {"f32[2]", "get-dimension-size(p0), dimensions={1}", "no dimension 1"},
    {"f32[2147483648]", "get-dimension-size(p0), dimensions={0}", "beyond 32 bits"},
    {"(f32[2])", "get-dimension-size(p0), dimensions={0}", "not an array"},
    {"f32[2]; s64[]", "set-dimension-size(p0, p1), dimensions={0}", "s64[], not s32[]"},
    {"f32[2]; s32[1]", "set-dimension-size(p0, p1), dimensions={0}", "not s32[]"},
    {"f32[2]; f32[2]", "pad(p0, p1), padding=0_0", "padding value is f32[2]"},
    {"f32[2]; s32[]", "pad(p0, p1), padding=0_0", "s32[]"},
    {"f32[2]; f32[]", "pad(p0, p1), padding=0_0x0_0", "rank 1, its padding 2"},
    {"f32[2]; f32[]", "pad(p0, p1), padding=-2_-1", "negative size"},
    {"f32[4]; f32[]", "pad(p0, p1), padding=0_0_9223372036854775807", "overflows"},
    {"f32[2]", "reverse(p0), dimensions={1}", "not below 1"},
    {"f32[2]", "reverse(p0), dimensions={0,0}", "twice"},
    {"f32[2,3]", "transpose(p0), dimensions={0,0}", "no permutation"},
    {"f32[2,3]", "transpose(p0), dimensions={0}", "no permutation"},
    {"f32[2,3]{5,7}", "transpose(p0), dimensions={1,0}", "layout"},
    {"f32[4]", "topk(p0), k=5", "k is 5"},
    {"f32[?]", "topk(p0), k=1", "k is 1"},
    {"f32[4]", "topk(p0), k=-1", "negative"},
    /* calls */
    {"f32[]", "call(p0), to_apply=sum", "takes 2 parameters, not 1"},
    {"f32[]; s32[]", "call(p0, p1), to_apply=sum",
     "operand 1 is s32[], the computation's parameter f32[]"},
    {"f32[]", "while(p0), condition=sum, body=far_tuple", "its condition takes 2"},
    {"(f32[2,3], s32[])", "while(p0), condition=more, body=sum", "its body takes 2"},
    {"(f32[2,3], s32[])", "while(p0), condition=step, body=step", "not pred[]"},
    {"(f32[2,4], s32[])", "while(p0), condition=more, body=step", "its operand is"},
    {"pred[]; f32[]; f32[]",
     "conditional(p0, p1, p2), true_computation=far_tuple, false_computation=sum",
     "branch 1 takes 2 parameters"},
    {"pred[]; s32[]; f32[]",
     "conditional(p0, p1, p2), true_computation=far_tuple, false_computation=far_tuple",
     "branch 0 takes f32[], its operand is s32[]"},
    {"pred[]; f32[]; f32[]",
     "conditional(p0, p1, p2), true_computation=far_tuple, false_computation=wide",
     "branch 1 returns"},
    {"", "map(), dimensions={}, to_apply=wide", "no operands"},
    {"f32[2]", "map(p0), to_apply=wide", "dimensions"},
    {"f32[2]", "map(p0), dimensions={}, to_apply=wide", "all dimensions"},
    {"f32[2]; f32[3]", "map(p0, p1), dimensions={0}, to_apply=sum", "operand 1 is f32[3]"},
    {"s32[2]", "map(p0), dimensions={0}, to_apply=wide", "parameter 0"},
    {"f32[2]", "map(p0), dimensions={0}, to_apply=to_row", "returns f32[3]"},
    {"f32[2]", "map(p0), dimensions={0}, to_apply=sum", "takes 2 parameters"},
    /* reductions */
    {"", "reduce(), dimensions={}, to_apply=none", "no operands"},
    {"f32[2]; f32[]", "reduce(p0, p1), dimensions={1}, to_apply=sum", "not below 1"},
    {"f32[2]; f32[]", "reduce(p0, p1), dimensions={0,0}, to_apply=sum", "twice"},
    {"f32[2]; s32[]", "reduce(p0, p1), dimensions={0}, to_apply=sum", "the initial value is s32[]"},
    {"s32[2]; f32[]", "reduce(p0, p1), dimensions={0}, to_apply=sum", "elements of type s32"},
    {"f32[2]; f32[]", "reduce(p0, p1), dimensions={0}, to_apply=pair", "two for each of 1 inputs"},
    {"f32[2]; s32[3]; f32[]; s32[]", "reduce(p0, p1, p2, p3), dimensions={0}, to_apply=pair",
     "operand 1 is s32[3]"},
    {"f32[2]; f32[]", "reduce(p0, p1), dimensions={0}, to_apply=to_row_twice", "returns f32[3]"},
    {"(f32[2]); f32[]", "reduce(p0, p1), dimensions={0}, to_apply=sum", "not an array"},
    {"f32[4,3]; f32[3]", "scan(p0, p1), dimensions={2}, num_carries=1, to_apply=scanned",
     "no dimension 2"},
    {"f32[4]; f32[3]", "scan(p0, p1), dimensions={0}, num_carries=2, to_apply=scanned",
     "nothing to scan"},
    {"f32[4,3,2]; f32[3]", "scan(p0, p1), dimensions={2}, num_carries=1, to_apply=scanned",
     "no place for dimension 2"},
    /* windows */
    {"f32[8,9]; f32[]", "reduce-window(p0, p1), window={size=2}, to_apply=sum",
     "1 dimensions, not 2"},
    {"f32[8]; f32[]", "reduce-window(p0, p1), window={size=0}, to_apply=sum", "not positive"},
    {"f32[8]; f32[]", "reduce-window(p0, p1), window={size=2 stride=0}, to_apply=sum",
     "not positive"},
    {"f32[8]; f32[]", "reduce-window(p0, p1), window={size=2 pad=-9_0}, to_apply=sum",
     "less than nothing"},
    {"f32[8]; f32[]",
     "reduce-window(p0, p1), window={size=2 lhs_dilate=9223372036854775807}, to_apply=sum",
     "overflows"},
    {"f32[8]; f32[8]; f32[]; f32[]", "reduce-window(p0, p1, p2, p3), window={size=2}, to_apply=sum",
     "the initial value is f32[8]"},
    {"f32[4]; f32[2]; f32[]",
     "select-and-scatter(p0, p1, p2), window={size=2}, select=ge, scatter=sum",
     "one element per place"},
    {"f32[4]; f32[3]; f32[]",
     "select-and-scatter(p0, p1, p2), window={size=2}, select=sum, scatter=sum",
     "map two elements to pred[]"},
    {"s32[4]; s32[3]; s32[]",
     "select-and-scatter(p0, p1, p2), window={size=2}, select=ge, scatter=sum",
     "elements of type s32"},
    {"f32[2,4]; f32[3,5]", "convolution(p0, p1), dim_labels=bf_io->bf", "3 input features"},
    {"f32[2,4]; f32[4,5,1]", "convolution(p0, p1), dim_labels=bf_io->bf", "operands of rank 2"},
    {"f32[2,4]; f32[4,5]", "convolution(p0, p1), dim_labels=b?_io->bf", "name each dimension once"},
    {"f32[2,4]; f32[4,5]", "convolution(p0, p1), dim_labels=bf_io->bf, feature_group_count=0",
     "not positive"},
    {"f32[2,4]; f32[2,4]",
     "convolution(p0, p1), dim_labels=bf_io->bf, feature_group_count=2, batch_group_count=2",
     "feature groups and batch groups"},
    {"f32[2,4]; f32[4,5]", "convolution(p0, p1), dim_labels=bf_io->bf, batch_group_count=2",
     "do not divide"},
    {"f32[2,8,4]; f32[3,4,5]", "convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f",
     "differs from its kernel"},
    {"f32[2,8,4]; f32[3,4,5]", "convolution(p0, p1), dim_labels=b0f_0io->b0f",
     "0 dimensions, not 1"},
    {"f32[2,4]; f32[4,<=5]", "convolution(p0, p1), dim_labels=bf_io->bf", "dynamic"},
    /* dot products */
    {"f32[2,3]; f32[4,5]", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "contracting dimensions 1 and 0 differ"},
    {"f32[2,3]; f32[4,3]", "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}",
     "batch dimensions 0 and 0 differ"},
    {"f32[2]; f32[2]", "dot(p0, p1), lhs_contracting_dims={0}", "1 and 0 contracting"},
    {"f32[2]; f32[2]", "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "no dimension 1"},
    {"f32[2]; f32[2]",
     "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_batch_dims={0}, "
     "rhs_batch_dims={0}",
     "named twice"},
    {"pred[2]; u1[2]", "dot(p0, p1)", "neither of pred and u1"},
    {"f32[2]; f32[2]; (f32[2]); f32[2]", "scaled-dot(p0, p1, p2, p3)", "operand 2"},
    {"f32[11,5]; f32[5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "one ragged dimension"},
    {"f32[11,5]; f32[5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={0}",
     "0 group dimensions, not 1"},
    {"f32[11,5]; f32[2,5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "2 groups, the group sizes name 3"},
    {"f32[11,5]; f32[5,7]; s32[]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={1}",
     "group sizes are s32[]"},
    {"f32[11,5]; f32[5,7]; s32[3]",
     "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "no free dimension 0"},
    /* gather, scatter */
    {"f32[50,40]; f32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "no integers"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=2, slice_sizes={1,40}",
     "index_vector_dim is 2"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "offset_dims"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1,0}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "rising order"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "start_index_map has 2 entries"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={2}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "start_index_map has an entry"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1}",
     "1 slice sizes for 2"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,41}",
     "slice size 41"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={2,40}",
     "is collapsed"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,40}",
     "do not cover"},
    {"f32[50,40]; s32[7]",
     "gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "operand_batching_dims={0}, index_vector_dim=1, slice_sizes={1,40}",
     "have 1 and 0 entries"},
    {"f32[50,40]; s32[7]; f32[8,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "do not fit"},
    {"f32[50,40]; s32[7]; f32[7,41]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "do not fit"},
    {"f32[50,40]; s32[7]; f32[7]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "do not fit"},
    {"f32[50,?]; s32[7]; f32[7,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "do not fit"},
    {"f32[50,40]; s32[7]; s32[7,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "elements of type s32"},
    {"f32[50,40]; s32[7]; f32[7,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pair",
     "two for each of 1 inputs"},
    {"f32[50,40]; s32[7]; f32[7,40]",
     "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={2}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "inserted_window_dims has an entry"},
    /* algorithms */
    {"s32[2,3]; s32[3]; s32[3]", "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "not floating"},
    {"f32[2,3]; f32[3]; f32[3]", "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=2",
     "no dimension 2"},
    {"f32[2,3]; f32[2]; f32[3]", "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
     "operand 1 is f32[2]"},
    {"f32[2,3]{0,0}; f32[3]; f32[3]",
     "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1", "no permutation"},
    {"f32[2,3]; f32[3]; f32[3]; s32[3]; f32[3]",
     "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1",
     "operand 3 is s32[3]"},
    {"f32[2,3]; f32[3]; f32[3]; f32[3]; f32[2,4]",
     "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.1, feature_index=1", "the gradient f32[2,4]"},
    {"s32[3,3]", "cholesky(p0)", "square matrices"},
    {"f32[3,4]", "cholesky(p0)", "square matrices"},
    {"f32[3]", "cholesky(p0)", "square matrices"},
    {"f32[3,3]; f32[3,4]", "triangular-solve(p0, p1), left_side=true", "transpose_a"},
    {"f32[3,3]; f32[4,4]", "triangular-solve(p0, p1), transpose_a=ADJOINT", "its operands are"},
    {"f32[3,3]; f64[3,3]", "triangular-solve(p0, p1), transpose_a=ADJOINT", "its operands are"},
    {"f32[4]", "fft(p0), fft_type=FFT, fft_length={4}", "a complex one"},
    {"c64[4]", "fft(p0), fft_type=RFFT, fft_length={4}", "f32 or f64"},
    {"c64[4]", "fft(p0), fft_type=FFT, fft_length={4,4}", "rank 2, its operand 1"},
    {"f32[4]", "fft(p0), fft_type=RFFT, fft_length={5}", "contradicts"},
    {"c64[4]", "fft(p0), fft_type=IRFFT, fft_length={8}", "contradicts"},
    {"b(f32[4])", "fft(p0), fft_type=RFFT, fft_length={4}", "not an array"},
    {"c64[4,4,4,4]", "fft(p0), fft_type=FFT, fft_length={4,4,4,4}", "rank 4"},
};

enum { TEXT_BYTES = 8192 };

static void put_module(char *text, const char *params, const char *inst) {
  int length = snprintf(text, TEXT_BYTES, "HloModule m\n%sENTRY e {\n", computations);
  for (int i = 0; *params; i++) {
    int shape_length = (int)strcspn(params, ";");
    length += snprintf(text + length, TEXT_BYTES - (size_t)length, "p%d = %.*s parameter(%d)\n", i,
                       shape_length, params, i);
    params += shape_length;
    params += strspn(params, "; ");
  }
  snprintf(text + length, TEXT_BYTES - (size_t)length, "ROOT r = %s\n}\n", inst);
}

START_TEST(shape_matches_table) {
  char text[TEXT_BYTES];
  put_module(text, shape_cases[_i].params, shape_cases[_i].inst);
  Module *module = parse_or_fail(text);
  Str shape = shape_text(&module->shapes, inst_get(module, find_inst(module, "r"))->shape, true,
                         module->arena);
  ck_assert_msg(str_is(shape, shape_cases[_i].shape), "%s of %s: %.*s, not %s",
                shape_cases[_i].inst, shape_cases[_i].params, (int)shape.len, shape.data,
                shape_cases[_i].shape);
  module_free(module);
}
END_TEST

START_TEST(failure_matches_table) {
  char text[TEXT_BYTES];
  put_module(text, failure_cases[_i].params, failure_cases[_i].inst);
  Module *module;
  rh_diags *diags = rh_diags_new();
  rh_status status = text_parse(text, strlen(text), NULL, &module, diags);
  ck_assert_msg(status == RH_ERR_INPUT, "%s of %s is accepted", failure_cases[_i].inst,
                failure_cases[_i].params);
  const char *message = rh_diags_get(diags, rh_diags_len(diags) - 1)->message;
  ck_assert_msg(
      strstr(message, "cannot be inferred: ") && strstr(message, failure_cases[_i].fragment),
      "%s of %s: '%s', not '%s'", failure_cases[_i].inst, failure_cases[_i].params, message,
      failure_cases[_i].fragment);
  rh_diags_free(diags);
}
END_TEST

/* Tuples of tuples double with every line; the table must not. */
START_TEST(too_large_tuple_is_refused) {
  char text[TEXT_BYTES];
  int length = snprintf(text, TEXT_BYTES, "HloModule m\nENTRY e {\nt0 = f32[] parameter(0)\n");
  for (int i = 1; i <= 40; i++) {
    length += snprintf(text + length, TEXT_BYTES - (size_t)length, "t%d = tuple(t%d, t%d)\n", i,
                       i - 1, i - 1);
  }
  snprintf(text + length, TEXT_BYTES - (size_t)length, "}\n");
  Module *module;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(text_parse(text, strlen(text), NULL, &module, diags), RH_ERR_INPUT);
  const char *message = rh_diags_get(diags, rh_diags_len(diags) - 1)->message;
  ck_assert_msg(strstr(message, "parts") != NULL, "%s", message);
  rh_diags_free(diags);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("infer_shape");
  TCase *tc = tcase_create("infer_shape");
  tcase_add_loop_test(tc, shape_matches_table, 0, sizeof shape_cases / sizeof *shape_cases);
  tcase_add_loop_test(tc, failure_matches_table, 0, sizeof failure_cases / sizeof *failure_cases);
  tcase_add_test(tc, too_large_tuple_is_refused);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
