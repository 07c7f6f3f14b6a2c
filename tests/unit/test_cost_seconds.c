#include "cost_fixture.h"

#define ADD "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
#define HEAVY "heavy { a = f32[8] parameter(0)\n b = f32[8] tanh(a)\n ROOT c = f32[8] tanh(b) }\n"
#define WIDE "wide { a = f32[8] parameter(0)\n b = f32[8] add(a, a)\n ROOT c = f32[8] add(b, a) }\n"

/* ---- weighted totals ---- */

#define LOOP_OF(name, trips, inside)                                                          \
  name "_body { a = (s32[], f32[8]) parameter(0)\n b = s32[] get-tuple-element(a), index=0\n" \
       "c = s32[] constant(1)\n d = s32[] add(b, c)\n"                                        \
       "e = f32[8] get-tuple-element(a), index=1\n" inside                                    \
       "ROOT g = (s32[], f32[8]) tuple(d, f) }\n" name                                        \
       "_cond { a = (s32[], f32[8]) parameter(0)\n b = s32[] get-tuple-element(a), index=0\n" \
       "c = s32[] constant(" trips ")\n ROOT d = pred[] compare(b, c), direction=LT }\n"

#define RUN_LOOP(name)                                                                       \
  "i = s32[] constant(0)\n t = (s32[], f32[8]) tuple(i, e)\n w = (s32[], f32[8]) while(t), " \
  "condition=" name "_cond, body=" name "_body\n f = f32[8] get-tuple-element(w), index=1\n"

static WeightedCost weighted_of(const Analysed *analysed, const DeviceProfile *profile,
                                int64_t default_trips) {
  return cost_total_weighted(analysed->module, &analysed->table, profile, default_trips,
                             analysed->scratch);
}

START_TEST(loops_multiply) {
  Analysed analysed = analyse_body(
      LOOP_OF("inner", "10", "f = f32[8] tanh(e)\n") LOOP_OF("outer", "3", RUN_LOOP("inner")),
      "e = f32[8] parameter(0)\n" RUN_LOOP("outer") "ROOT x = f32[8] copy(f)\n");
  WeightedCost cost = weighted_of(&analysed, NULL, 1);
  ck_assert_double_eq(cost.transcendentals, 3 * 10 * 8);
  /* A turn of the inner loop has an addition and a comparison, one of the outer loop as well. */
  ck_assert_double_eq(cost.flops, 3 * (10 * 2 + 2));
  /* Addition 12, comparison 9, tanh 64, tuples 16; the copy at the end. */
  ck_assert_double_eq(cost.bytes, 3 * (10 * (12 + 9 + 64 + 16) + 12 + 9 + 16 + 16) + 16 + 64);
  check_cost(cost_total(analysed.module, &analysed.table),
             (Cost){4, 8, 101 + 12 + 9 + 16 + 16 + 16 + 64}, "each body once");
  finish(analysed);
}
END_TEST

START_TEST(unknown_trip_count_has_a_stand_in) {
  Analysed analysed = analyse_body(
      "body { a = (pred[], f32[8]) parameter(0)\n b = pred[] get-tuple-element(a), "
      "index=0\n e = f32[8] get-tuple-element(a), index=1\n f = f32[8] tanh(e)\n"
      "ROOT g = (pred[], f32[8]) tuple(b, f) }\n"
      "cond { a = (pred[], f32[8]) parameter(0)\n"
      "ROOT b = pred[] get-tuple-element(a), index=0 }\n",
      "p = (pred[], f32[8]) parameter(0)\n"
      "ROOT x = (pred[], f32[8]) while(p), condition=cond, body=body\n");
  ck_assert_int_eq(analysed.table.trip_counts[find_inst(analysed.module, "x")], -1);
  ck_assert_double_eq(weighted_of(&analysed, NULL, 1).transcendentals, 8);
  ck_assert_double_eq(weighted_of(&analysed, NULL, 50).transcendentals, 400);
  finish(analysed);
}
END_TEST

START_TEST(calls_count_each_time_and_branches_once) {
  Analysed analysed = analyse_body(
      HEAVY WIDE,
      "p = f32[8] parameter(0)\n s = pred[] parameter(1)\n a = f32[8] call(p), to_apply=heavy\n"
      "b = f32[8] call(a), to_apply=heavy\n"
      "ROOT x = f32[8] conditional(s, b, b), true_computation=heavy, false_computation=wide\n");
  /* Without a profile the branch with the most flops: wide. */
  WeightedCost cost = weighted_of(&analysed, NULL, 1);
  ck_assert_double_eq(cost.transcendentals, 32);
  ck_assert_double_eq(cost.flops, 16);
  DeviceProfile profile = {.memory_bandwidth = 1e9, .transcendentals = 1};
  for (int type = 0; type < NUM_TYPES; type++)
    profile.vector_flops[type] = 1e3;
  cost = weighted_of(&analysed, &profile, 1);
  ck_assert_double_eq(cost.transcendentals, 48);
  ck_assert_double_eq(cost.flops, 0);
  ck_assert_double_eq(cost.seconds, 48);
  finish(analysed);
}
END_TEST

/* ---- seconds ---- */

static const DeviceProfile toy = {
    .memory_bandwidth = 100,
    .flops = {[TYPE_F32] = 1000, [TYPE_BF16] = 4000},
    .vector_flops = {[TYPE_F32] = 10, [TYPE_BF16] = 20, [TYPE_PRED] = 1},
    .transcendentals = 5,
    .host_to_device = 4,
    .device_to_host = 2,
    .interconnect = 8,
    .kernel_seconds = 1024, /* large and a power of two: the rest stays exact behind it */
};

static const struct {
  const char *comps;
  const char *body;
  double seconds; /* without the kernel; -1: nothing runs */
} second_cases[] = {
    {"", "ROOT x = f32[8] parameter(0)\n", -1},
    {"", "ROOT x = f32[3] constant({1, 2, 3})\n", -1},
    {"", "p = f32[8] parameter(0)\n ROOT x = (f32[8]) tuple(p)\n", -1},
    {"", "p = (f32[8]) parameter(0)\n ROOT x = f32[8] get-tuple-element(p), index=0\n", -1},
    {"", "p = f32[8] parameter(0)\n ROOT x = f32[2,4] bitcast(p)\n", -1},
    {"", "p = f32[8] parameter(0)\n ROOT x = f32[8] opt-barrier(p)\n", -1},
    {"", "p = f32[2,3] parameter(0)\n ROOT x = f32[3,2]{0,1} transpose(p), dimensions={1,0}\n", -1},
    {"", "p = (f32[8], f32[8], u32[]) parameter(0)\n ROOT x = f32[8] copy-done(p)\n", -1},
    {HEAVY, "p = f32[8] parameter(0)\n ROOT x = f32[8] call(p), to_apply=heavy\n", -1},
    /* bytes, flops or transcendentals, whichever takes longest */
    {"", "p = f32[100] parameter(0)\n ROOT x = f32[100] copy(p)\n", 8},
    {"", "p = f32[100] parameter(0)\n ROOT x = f32[100] negate(p)\n", 10},
    {"", "p = f32[100] parameter(0)\n ROOT x = f32[100] tanh(p)\n", 20},
    /* by the type of the operand: a comparison is not done in pred */
    {"", "p = bf16[100] parameter(0)\n ROOT x = bf16[100] negate(p)\n", 5},
    {"", "p = f32[100] parameter(0)\n ROOT x = pred[100] compare(p, p), direction=LT\n", 10},
    {"",
     "s = pred[100] parameter(0)\n p = f32[100] parameter(1)\n"
     "ROOT x = f32[100] select(s, p, p)\n",
     13},
    /* products have a rate of their own, also inside a fusion that mostly is one */
    {"",
     "p = f32[20,20] parameter(0)\n"
     "ROOT x = f32[20,20] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     48},
    {"",
     "p = bf16[200,200] parameter(0)\n"
     "ROOT x = bf16[200,200] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     4000},
    {"fused { p = f32[200,200] parameter(0)\n a = f32[200,200] dot(p, p), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT b = f32[200,200] negate(a) }\n",
     "p = f32[200,200] parameter(0)\n"
     "ROOT x = f32[200,200] fusion(p), kind=kOutput, calls=fused\n",
     16040},
    {"fused { p = f32[200] parameter(0)\n a = f32[] dot(p, p), lhs_contracting_dims={0}, "
     "rhs_contracting_dims={0}\n b = f32[200] broadcast(a), dimensions={}\n c = f32[200] add(b, "
     "b)\n"
     "d = f32[200] add(c, c)\n e = f32[200] add(d, d)\n ROOT f = f32[200] add(e, p) }\n",
     "p = f32[200] parameter(0)\n ROOT x = f32[200] fusion(p), kind=kLoop, calls=fused\n", 120},
    /* what is not known does at least this */
    {"", "p = f32[100] parameter(0)\n ROOT x = f32[100] custom-call(p), custom_call_target=\"y\"\n",
     8},
    /* links */
    {ADD,
     "p = f32[100] parameter(0)\n ROOT x = f32[100] all-reduce(p), replica_groups={}, "
     "to_apply=add\n",
     50},
    {"", "p = f32[100] parameter(0)\n ROOT x = f32[100]{0:S(5)} copy(p)\n", 200},
    {"", "p = f32[100]{0:S(5)} parameter(0)\n ROOT x = f32[100] copy(p)\n", 100},
    {"", "p = f32[100]{0:S(5)} parameter(0)\n ROOT x = f32[100]{0:S(5)} copy(p)\n", 8},
    {"",
     "p = f32[100] parameter(0)\n"
     "ROOT x = (f32[100]{0:S(5)}, f32[100], u32[]) copy-start(p)\n",
     200},
};

START_TEST(seconds_are_a_roofline) {
  Analysed analysed = analyse_body(second_cases[_i].comps, second_cases[_i].body);
  InstId root = comp_get(analysed.module, analysed.module->entry)->root;
  double wanted = second_cases[_i].seconds < 0 ? 0 : second_cases[_i].seconds + toy.kernel_seconds;
  double seconds = cost_seconds(analysed.module, &analysed.table, &toy, root);
  ck_assert_msg(seconds == wanted, "%s: %g, not %g", second_cases[_i].body, seconds, wanted);
  finish(analysed);
}
END_TEST

START_TEST(helper_made_from_nothing_moves_its_bytes) {
  Analysed analysed = analyse_body("", "ROOT f = f32[8] parameter(0)\n");
  Module *module = analysed.module;
  InstId operand = find_inst(module, "f");
  InstId copy = module_add_inst(module, module->entry,
                                &(InstSpec){.opcode = OPCODE_COPY,
                                            .name = STR("copy"),
                                            .shape = inst_get(module, operand)->shape,
                                            .operands = &operand,
                                            .num_operands = 1});
  check_cost(cost_in(&analysed, "copy"), (Cost){0, 0, 64}, "copy");
  ck_assert_double_eq(cost_seconds(module, &analysed.table, &toy, copy), 0.64 + 1024);
  finish(analysed);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cost_seconds");
  TCase *tc = tcase_create("cost_seconds");
  tcase_add_test(tc, loops_multiply);
  tcase_add_test(tc, unknown_trip_count_has_a_stand_in);
  tcase_add_test(tc, calls_count_each_time_and_branches_once);
  tcase_add_loop_test(tc, seconds_are_a_roofline, 0, sizeof second_cases / sizeof *second_cases);
  tcase_add_test(tc, helper_made_from_nothing_moves_its_bytes);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
