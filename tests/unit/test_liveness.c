#include "analysis/memory/liveness.h"

#include "live_fixture.h"

/* Bytes while each instruction of the program runs, parameters included. Where values share a
 * buffer and one hands over to the next, XLA counted both: the second column has such places
 * counted once, NULL where that makes no difference. */
static const struct {
  const char *name, *header, *comps, *body;
  const char *twice, *once;
  const char *peak[2]; /* the instruction */
} rows[] = {
    /* XLA's tests: MinimumMemoryForSequenceTest.MultiComputation, SubcomputationAccounting */
    {"a loop over two scalars",
     "",
     "cond { cond_param = (f32[], f32[]) parameter(0)\n"
     "cond_iter = f32[] get-tuple-element(cond_param), index=0\n"
     "cond_data = f32[] get-tuple-element(cond_param), index=1\n"
     "ROOT cond_lt = pred[] compare(cond_iter, cond_data), direction=LT }\n"
     "body { ROOT body_param = (f32[], f32[]) parameter(0) }\n",
     "iter = f32[] parameter(0)\n data = f32[] parameter(1)\n"
     "tuple = (f32[], f32[]) tuple(iter, data)\n"
     "ROOT while = (f32[], f32[]) while(tuple), condition=cond, body=body\n",
     "iter=8 data=8 tuple=24 cond_param=24 cond_iter=24 cond_data=24 cond_lt=25 body_param=25 "
     "while=24",
     NULL,
     {"cond_lt", "cond_lt"}},
    {"a loop, then larger values",
     "",
     "cond { cond_param = f32[4] parameter(0)\n slice = f32[1] slice(cond_param), slice={[0:1]}\n"
     "reshape = f32[] reshape(slice)\n zero = f32[] constant(0)\n"
     "ROOT cond_ne = pred[] compare(reshape, zero), direction=NE }\n"
     "body { body_param = f32[4] parameter(0)\n one = f32[4] constant({1, 1, 1, 1})\n"
     "ROOT subtract = f32[4] subtract(body_param, one) }\n",
     "init = f32[4] constant({1, 1, 1, 1})\n while = f32[4] while(init), condition=cond, "
     "body=body\n"
     "bcast = f32[2,4] broadcast(while), dimensions={1}\n"
     "matrix = f32[2,4] constant({{1, 2, 3, 4}, {1, 2, 3, 4}})\n"
     "transpose = f32[2,4] transpose(matrix), dimensions={0,1}\n"
     "ROOT add = f32[2,4] add(transpose, bcast)\n",
     "init=0 cond_param=16 slice=20 reshape=24 zero=20 cond_ne=21 body_param=33 one=16 subtract=32 "
     "while=32 bcast=48 matrix=32 transpose=64 add=64",
     "init=0 cond_param=16 slice=20 reshape=24 zero=20 cond_ne=21 body_param=17 one=16 subtract=16 "
     "while=16 bcast=48 matrix=32 transpose=64 add=64",
     {"transpose", "transpose"}},
    /* HeapSimulatorTest.MultiplyAdd */
    {"a sum in the product's place",
     "",
     "",
     "a = f32[] parameter(0)\n x = f32[4] parameter(1)\n y = f32[4] parameter(2)\n"
     "mul = f32[4] multiply(a, x)\n ROOT add = f32[4] add(mul, y)\n",
     "a=36 x=36 y=36 mul=52 add=52",
     NULL,
     {"mul", "mul"}},
    /* taking over an operand's memory */
    {"elementwise operations in a row",
     "",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n ROOT r = f32[4] tanh(b)\n",
     "p=16 a=32 b=32 r=32",
     NULL,
     {"a", "a"}},
    {"others do not",
     "",
     "",
     P "a = f32[4] abs(p)\n" REVERSE("b", "a") "ROOT r = f32[4] tanh(b)\n",
     "p=16 a=32 b=48 r=32",
     NULL,
     {"b", "b"}},
    {"nor does a copy",
     "",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] copy(a)\n ROOT r = f32[4] tanh(b)\n",
     "p=16 a=32 b=48 r=32",
     NULL,
     {"b", "b"}},
    {"nor what reads it through a bitcast",
     "",
     "",
     P "a = f32[4] abs(p)\n v = f32[2,2] bitcast(a)\n b = f32[2,2] sine(v)\n ROOT r = f32[2,2] "
       "tanh(b)\n",
     "p=16 a=32 v=32 b=48 r=32",
     NULL,
     {"b", "b"}},
    {"nor while somebody reads it later",
     "",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(a)\n ROOT r = f32[4] add(a, b)\n",
     "p=16 a=32 b=48 r=48",
     NULL,
     {"b", "b"}},
    {"of two operands the first",
     "",
     "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n c = f32[4] add(a, b)\n ROOT r = f32[4] tanh(c)\n",
     "p=16 a=32 b=48 c=48 r=32",
     NULL,
     {"b", "b"}},
    {"a dead value makes room",
     "",
     "",
     P
     "d = f32[8] concatenate(p, p), dimensions={0}\n a = f32[4] abs(p)\n ROOT r = f32[4] sine(a)\n",
     "p=16 d=48 a=32 r=32",
     NULL,
     {"d", "d"}},
    {"constants do not count",
     "",
     "",
     P "c = f32[4] constant({1,2,3,4})\n a = f32[4] add(c, p)\n ROOT r = f32[4] abs(a)\n",
     "p=16 c=16 a=32 r=32",
     NULL,
     {"a", "a"}},
    {"tables of pointers do",
     "",
     "",
     P "a = f32[4] abs(p)\n t = " PAIR
       " tuple(a, p)\n" GTE("g", "t", "0") "ROOT r = f32[4] sine(g)\n",
     "p=16 a=32 t=48 g=48 r=48",
     NULL,
     {"t", "t"}},
    /* in place */
    {"an update in place",
     "",
     "",
     P DUS_OPERANDS "a = f32[4] abs(p)\n x = f32[4] dynamic-update-slice(a, w, i)\n"
                    "ROOT r = f32[4] sine(x)\n",
     "p=16 w=16 i=16 a=32 x=48 r=48",
     "p=16 w=16 i=16 a=32 x=32 r=48",
     {"x", "r"}},
    {"a donated parameter",
     ", input_output_alias={ {}: (0, {}) }",
     "",
     P REVERSE("a", "p") REVERSE("b", "a") "ROOT r = f32[4] reverse(b), dimensions={0}\n",
     "p=16 a=32 b=32 r=32",
     NULL,
     {"a", "a"}},
    {"a donated parameter that is overwritten",
     ", input_output_alias={ {}: (0, {}) }",
     "",
     P DUS_OPERANDS "ROOT x = f32[4] dynamic-update-slice(p, w, i)\n",
     "p=16 w=16 i=16 x=32",
     "p=16 w=16 i=16 x=16",
     {"x", "p"}},
    /* calls */
    {"what a call computes lives beside its caller's values",
     "",
     G,
     P "a = f32[4] abs(p)\n x = f32[4] call(p), to_apply=g\n ROOT r = f32[4] add(a, x)\n",
     "p=16 a=32 gq=32 ga=48 x=48 r=48",
     NULL,
     {"ga", "ga"}},
    {"a loop's state",
     "",
     COND G,
     P "a = f32[4] abs(p)\n x = f32[4] while(a), condition=cond, body=g\n"
       "ROOT r = f32[4] reverse(x), dimensions={0}\n",
     "p=16 a=32 cp=48 ct=32 gq=48 ga=48 x=48 r=48",
     "p=16 a=32 cp=32 ct=32 gq=32 ga=32 x=32 r=48",
     {"cp", "r"}},
};

static const char *bytes_text(const Fixture *fixture, const Liveness *liveness) {
  const char *text = NULL;
  for (LogicalTime time = 0; time < liveness->ranges.num_times; time++) {
    Str name = inst_name(fixture->module, liveness->ranges.flat[time]);
    text_add(fixture->out, &text, "%.*s=%lld", (int)name.len, name.data,
             (long long)liveness->bytes_at[time]);
  }
  return text;
}

START_TEST(bytes_match_table) {
  Fixture fixture = fixture_parse_format("HloModule m%s\n%s\nENTRY e {\n%s}\n", rows[_i].header,
                                         rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  ValueAnalysis values = value_analysis_build(module, fixture.out, fixture.scratch);
  static const SharedCount counts[] = {COUNT_SHARED_TWICE, COUNT_SHARED_ONCE};
  for (int i = 0; i < 2; i++) {
    Liveness liveness =
        liveness_run(module, &values, &schedule, counts[i], fixture.out, fixture.scratch);
    const char *wanted = i == 1 && rows[_i].once ? rows[_i].once : rows[_i].twice;
    check_text(bytes_text(&fixture, &liveness), wanted, rows[_i].name);
    int64_t peak_bytes = 0;
    for (LogicalTime time = 0; time < liveness.ranges.num_times; time++) {
      if (liveness.bytes_at[time] > peak_bytes) peak_bytes = liveness.bytes_at[time];
    }
    ck_assert_int_eq(liveness.peak_bytes, peak_bytes);
    Str peak = inst_name(module, liveness.peak_inst);
    ck_assert_msg(str_is(peak, rows[_i].peak[i]), "%s: peak at %.*s", rows[_i].name, (int)peak.len,
                  peak.data);
    ck_assert_uint_eq(liveness.ranges.flat[liveness.peak_time], liveness.peak_inst);
  }
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("liveness");
  TCase *tc = tcase_create("liveness");
  tcase_add_loop_test(tc, bytes_match_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
