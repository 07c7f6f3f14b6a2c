#include "cost_fixture.h"

static const CostCase cases[] = {
    /* inner values stay in registers */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[8,8] exponential(a)\n ROOT c = f32[8,8] add(b, "
     "a) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 64, 512}},
    /* two plain users share a read */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[8,8] exponential(a)\n c = f32[8,8] negate(a)\n "
     "ROOT d = f32[8,8] add(b, c) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {128, 64, 512}},
    /* a slice reads what it takes */
    {"fused { a = f32[8,8] parameter(0)\n ROOT b = f32[2,8] slice(a), slice={[0:2], [0:8]} }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[2,8] fusion(q0), kind=kLoop, calls=fused\n",
     {0, 0, 128}},
    /* two slices read twice */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[2,8] slice(a), slice={[0:2], [0:8]}\n c = "
     "f32[2,8] slice(a), slice={[2:4], [0:8]}\n ROOT d = f32[2,8] add(b, c) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[2,8] fusion(q0), kind=kLoop, calls=fused\n",
     {16, 0, 192}},
    /* slice and plain user */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[2,8] slice(a), slice={[0:2], [0:8]}\n c = "
     "f32[8,8] negate(a)\n ROOT d = (f32[2,8], f32[8,8]) tuple(b, c) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = (f32[2,8], f32[8,8]) fusion(q0), kind=kLoop, "
     "calls=fused\n",
     {64, 0, 640}},
    /* a dynamic slice and its index */
    {"fused { a = f32[8,8] parameter(0)\n i = s32[] parameter(1)\n ROOT b = f32[1,8] "
     "dynamic-slice(a, i, i), dynamic_slice_sizes={1,8} }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = s32[] parameter(1)\n ROOT x = f32[1,8] fusion(q0, q1), "
     "kind=kLoop, calls=fused\n",
     {0, 0, 68}},
    /* a dynamic-update-slice as root writes its update */
    {"fused { a = f32[8,8] parameter(0)\n u = f32[1,8] parameter(1)\n i = s32[] parameter(2)\n "
     "ROOT b = f32[8,8] dynamic-update-slice(a, u, i, i) }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = f32[1,8] parameter(1)\n q2 = s32[] parameter(2)\n ROOT x = "
     "f32[8,8] fusion(q0, q1, q2), kind=kLoop, calls=fused\n",
     {0, 0, 68}},
    /* a dynamic-update-slice in the root tuple */
    {"fused { a = f32[8,8] parameter(0)\n u = f32[1,8] parameter(1)\n i = s32[] parameter(2)\n b = "
     "f32[8,8] dynamic-update-slice(a, u, i, i)\n c = f32[1,8] negate(u)\n ROOT d = (f32[8,8], "
     "f32[1,8]) tuple(b, c) }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = f32[1,8] parameter(1)\n q2 = s32[] parameter(2)\n ROOT x = "
     "(f32[8,8], f32[1,8]) fusion(q0, q1, q2), kind=kLoop, calls=fused\n",
     {8, 0, 100}},
    /* behind a bitcast it is not seen */
    {"fused { a = f32[8,8] parameter(0)\n u = f32[1,8] parameter(1)\n i = s32[] parameter(2)\n b = "
     "f32[8,8] dynamic-update-slice(a, u, i, i)\n ROOT c = f32[64] bitcast(b) }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = f32[1,8] parameter(1)\n q2 = s32[] parameter(2)\n ROOT x = "
     "f32[64] fusion(q0, q1, q2), kind=kLoop, calls=fused\n",
     {0, 0, 292}},
    /* in a nested tuple it is not seen */
    {"fused { a = f32[8,8] parameter(0)\n u = f32[1,8] parameter(1)\n i = s32[] parameter(2)\n b = "
     "f32[8,8] dynamic-update-slice(a, u, i, i)\n c = (f32[8,8]) tuple(b)\n ROOT d = ((f32[8,8]), "
     "f32[1,8]) tuple(c, u) }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = f32[1,8] parameter(1)\n q2 = s32[] parameter(2)\n ROOT x = "
     "((f32[8,8]), f32[1,8]) fusion(q0, q1, q2), kind=kLoop, calls=fused\n",
     {0, 0, 324}},
    /* a parameter that is the update as well */
    {"fused { a = f32[8,8] parameter(0)\n i = s32[] parameter(1)\n ROOT b = f32[8,8] "
     "dynamic-update-slice(a, a, i, i) }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = s32[] parameter(1)\n ROOT x = f32[8,8] fusion(q0, q1), "
     "kind=kLoop, calls=fused\n",
     {0, 0, 260}},
    /* each broadcast reads by itself */
    {"fused { a = f32[8] parameter(0)\n b = f32[8,8] broadcast(a), dimensions={0}\n c = f32[8,8] "
     "broadcast(a), dimensions={1}\n ROOT d = f32[8,8] add(b, c) }\n",
     "q0 = f32[8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 0, 320}},
    /* so does each reshape */
    {"fused { a = f32[64] parameter(0)\n b = f32[8,8] reshape(a)\n c = f32[8,8] reshape(a)\n ROOT "
     "d = f32[8,8] add(b, c) }\n",
     "q0 = f32[64] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 0, 768}},
    /* nobody reads it */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[8,8] parameter(1)\n ROOT c = f32[8,8] negate(b) "
     "}\n",
     "q0 = f32[8,8] parameter(0)\n q1 = f32[8,8] parameter(1)\n ROOT x = f32[8,8] fusion(q0, q1), "
     "kind=kLoop, calls=fused\n",
     {64, 0, 512}},
    /* a large constant is read */
    {"fused { a = f32[3] parameter(0)\n b = f32[3] constant({1, 2, 3})\n ROOT c = f32[3] add(a, b) "
     "}\n",
     "q0 = f32[3] parameter(0)\n ROOT x = f32[3] fusion(q0), kind=kLoop, calls=fused\n",
     {3, 0, 36}},
    /* a small one is code */
    {"fused { a = f32[3] parameter(0)\n b = f32[] constant(1)\n c = f32[3] broadcast(b), "
     "dimensions={}\n ROOT d = f32[3] add(a, c) }\n",
     "q0 = f32[3] parameter(0)\n ROOT x = f32[3] fusion(q0), kind=kLoop, calls=fused\n",
     {3, 0, 24}},
    /* products inside */
    {"fused { a = f32[8,8] parameter(0)\n b = f32[8,8] dot(a, a), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}\n ROOT c = f32[8,8] tanh(b) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kOutput, calls=fused\n",
     {1024, 64, 512}},
    /* an element of a tuple parameter */
    {"fused { a = (f32[8,8], f32[8,8]) parameter(0)\n b = f32[8,8] get-tuple-element(a), index=0\n "
     "c = f32[8,8] get-tuple-element(a), index=1\n d = f32[1,8] slice(c), slice={[0:1], [0:8]}\n e "
     "= f32[8,8] negate(b)\n ROOT f = (f32[8,8], f32[1,8]) tuple(e, d) }\n",
     "q0 = (f32[8,8], f32[8,8]) parameter(0)\n ROOT x = (f32[8,8], f32[1,8]) fusion(q0), "
     "kind=kLoop, calls=fused\n",
     {64, 0, 576}},
    /* an element that nobody takes counts the table */
    {"fused { a = (f32[8,8], f32[8,8], f32[8,8]) parameter(0)\n b = f32[8,8] get-tuple-element(a), "
     "index=1\n ROOT c = f32[8,8] negate(b) }\n",
     "q0 = (f32[8,8], f32[8,8], f32[8,8]) parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, "
     "calls=fused\n",
     {64, 0, 560}},
    /* nested tuple parameter */
    {"fused { a = (f32[8,8], (f32[8,8], f32[8])) parameter(0)\n b = (f32[8,8], f32[8]) "
     "get-tuple-element(a), index=1\n c = f32[8] get-tuple-element(b), index=1\n ROOT d = f32[8] "
     "negate(c) }\n",
     "q0 = (f32[8,8], (f32[8,8], f32[8])) parameter(0)\n ROOT x = f32[8] fusion(q0), kind=kLoop, "
     "calls=fused\n",
     {8, 0, 96}},
    /* a nested fusion reads for its users */
    {"inner { a = f32[8,8] parameter(0)\n b = f32[2,8] slice(a), slice={[0:2], [0:8]}\n ROOT c = "
     "f32[2,8] negate(b) }\nfused { a = f32[8,8] parameter(0)\n b = f32[2,8] fusion(a), "
     "kind=kLoop, calls=inner\n ROOT c = f32[2,8] exponential(b) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[2,8] fusion(q0), kind=kLoop, calls=fused\n",
     {16, 16, 128}},
    /* a nested fusion as root reads nothing */
    {"inner { a = f32[8,8] parameter(0)\n ROOT c = f32[8,8] negate(a) }\nfused { a = f32[8,8] "
     "parameter(0)\n ROOT b = f32[8,8] fusion(a), kind=kLoop, calls=inner }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 0, 256}},
    /* a slice of a simple nested fusion is one of the parameter */
    {"inner { a = f32[8,8] parameter(0)\n ROOT c = f32[8,8] negate(a) }\nfused { a = f32[8,8] "
     "parameter(0)\n b = f32[8,8] fusion(a), kind=kLoop, calls=inner\n ROOT c = f32[2,8] slice(b), "
     "slice={[0:2], [0:8]} }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[2,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 0, 128}},
    /* of one that is not simple it is not */
    {"inner { a = f32[8,8] parameter(0)\n b = f32[8,8] exponential(a)\n ROOT c = f32[8,8] "
     "negate(b) }\nfused { a = f32[8,8] parameter(0)\n b = f32[8,8] fusion(a), kind=kLoop, "
     "calls=inner\n ROOT c = f32[2,8] slice(b), slice={[0:2], [0:8]} }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[2,8] fusion(q0), kind=kLoop, calls=fused\n",
     {64, 64, 320}},
    /* a custom fusion with a gather is that gather */
    {"fused { a = f32[8,8] parameter(0)\n i = s32[3,1] parameter(1)\n b = f32[8,8] "
     "exponential(a)\n ROOT c = f32[3,8] gather(b, i), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8} }\n",
     "q0 = f32[8,8] parameter(0)\n q1 = s32[3,1] parameter(1)\n ROOT x = f32[3,8] fusion(q0, q1), "
     "kind=kCustom, calls=fused\n",
     {0, 0, 204}},
    /* a custom fusion with a scatter is that scatter */
    {"add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\nfused { "
     "a = f32[8,8] parameter(0)\n i = s32[3,1] parameter(1)\n u = f32[3,8] parameter(2)\n b = "
     "f32[8,8] exponential(a)\n ROOT c = f32[8,8] scatter(b, i, u), update_window_dims={1}, "
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add "
     "}\n",
     "q0 = f32[8,8] parameter(0)\n q1 = s32[3,1] parameter(1)\n q2 = f32[3,8] parameter(2)\n ROOT "
     "x = f32[8,8] fusion(q0, q1, q2), kind=kCustom, calls=fused\n",
     {24, 0, 300}},
    /* a custom fusion without is like any other */
    {"fused { a = f32[8,8] parameter(0)\n ROOT b = f32[8,8] exponential(a) }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kCustom, calls=fused\n",
     {0, 64, 512}},
    /* a custom call inside */
    {"fused { a = f32[8,8] parameter(0)\n ROOT b = f32[8,8] custom-call(a), "
     "custom_call_target=\"x\" }\n",
     "q0 = f32[8,8] parameter(0)\n ROOT x = f32[8,8] fusion(q0), kind=kLoop, calls=fused\n",
     {-1, 0, 512}},
};

START_TEST(cost_matches_xla) {
  check_case(&cases[_i]);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cost_fusion");
  TCase *tc = tcase_create("cost_fusion");
  tcase_add_loop_test(tc, cost_matches_xla, 0, sizeof cases / sizeof *cases);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
