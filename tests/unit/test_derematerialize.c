#include "remat/algorithms/derematerialize.h"

#include <math.h>

#include "support.h"

#define K 1024

/* XLA's fixture: 16388 bytes at concat1 as it is, and 12296 bytes if bcast is recomputed before
 * concat2. */
#define CHAIN                                                         \
  "p = f32[1] parameter(0)\n reshape = f32[] reshape(p)\n"            \
  "bcast = f32[1024] broadcast(reshape), dimensions={}\n"             \
  "negate = f32[1024] negate(bcast)\n"                                \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(bcast, slice1), dimensions={0}\n"  \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
/* Two values are live across a peak of 20 KiB; a is expensive, b is cheap. */
#define TWO                                                              \
  "p = f32[] parameter(0)\n w = f32[1024] broadcast(p), dimensions={}\n" \
  "a = f32[1024] exponential(w)\n b = f32[1024] negate(w)\n"             \
  "c = f32[2048] concatenate(a, b), dimensions={0}\n"                    \
  "s = f32[] custom-call(c), custom_call_target=\"t\"\n"                 \
  "ROOT r = f32[] custom-call(s, a, b), custom_call_target=\"t\"\n"

static const struct {
  const char *name, *body;
  const char *clones[2], *user; /* instructions to recompute, directly before the user */
  bool is_path;                 /* the second clone is an operand of the first one */
  int64_t limit_bytes;
  const char *order;
} rows[] = {
    {"the budget allows it",
     CHAIN,
     {"bcast"},
     "concat2",
     false,
     16388,
     "p reshape bcast negate concat1 slice1 concat2 ROOT root"},
    {"the budget does not",
     CHAIN,
     {"bcast"},
     "concat2",
     false,
     16387,
     "p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"},
    /* The budget is exceeded in any case, so only clones that do not raise the peak are undone. At
     * the peak, reshape's clone takes 4 bytes less than reshape. The peak with both clones is
     * 12292. */
    {"there is no budget to keep",
     CHAIN,
     {"bcast", "reshape"},
     "concat2",
     true,
     1,
     "p reshape bcast negate concat1 slice1 reshape.remat bcast.remat concat2 ROOT root"},
    {"one of two",
     CHAIN,
     {"bcast", "reshape"},
     "concat2",
     true,
     12296,
     "p reshape bcast negate concat1 slice1 bcast.remat concat2 ROOT root"},
    /* With both values kept, c needs 16 KiB and 4 bytes for the result, which is the peak in any
     * case. */
    {"no peak is passed", TWO, {"a", "b"}, "r", false, 16 * K + 4, "p w a b c s ROOT r"},
};

/* Recomputes an instruction for one of its users, directly before the user. */
static InstId recompute_for(Rewrite *rewrite, Schedule *schedule, InstId original, InstId user,
                            Fixture *fixture) {
  Module *module = fixture->module;
  InstId clone = rewrite_clone(rewrite, original, fixture->scratch);
  for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
    if (inst_operand(module, user, k) == original) rewrite_set_operand(rewrite, user, k, clone);
  }
  Sequence *sequence = &schedule->of[module->entry];
  InstId *ids = arena_array(fixture->out, InstId, sequence->len + 1);
  uint32_t len = 0;
  for (uint32_t i = 0; i < sequence->len; i++) {
    if (sequence->ids[i] == user) ids[len++] = clone;
    ids[len++] = sequence->ids[i];
  }
  *sequence = (Sequence){ids, len};
  return clone;
}

static void run(Fixture *fixture, Rewrite *rewrite, Schedule *schedule, const CostTable *costs,
                int64_t limit_bytes) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  Legality legality = {
      .module = fixture->module,
      .effects = side_effects_build(fixture->module, fixture->out, fixture->scratch)};
  RematParameters parameters = parameters_default();
  RematJob job = {.rewrite = rewrite,
                  .schedule = schedule,
                  .options = &options,
                  .parameters = &parameters,
                  .peak_limit.bytes = limit_bytes,
                  .memory_model = memory_model_find("xla-remat"),
                  .legality = &legality,
                  .costs = costs};
  derematerialize(&job, fixture->out, fixture->scratch);
}

START_TEST(only_needless_clones_go) {
  Fixture fixture = fixture_parse_body("", rows[_i].body);
  Module *module = fixture.module;
  uint64_t meaning = module_meaning(module);
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  CostTable costs = cost_analyze(module, fixture.out, fixture.scratch);
  Rewrite rewrite = rewrite_begin(module);
  InstId user = find_inst(module, rows[_i].user);
  for (int i = 0; i < 2 && rows[_i].clones[i]; i++) {
    InstId clone =
        recompute_for(&rewrite, &schedule, find_inst(module, rows[_i].clones[i]), user, &fixture);
    if (rows[_i].is_path) user = clone;
  }
  check_schedule(module, &schedule);
  run(&fixture, &rewrite, &schedule, &costs, rows[_i].limit_bytes);
  check_text(scheduled_names(&fixture, &schedule, "e"), rows[_i].order, rows[_i].name);
  check_schedule(module, &schedule);
  ck_assert_msg(module_meaning(module) == meaning, "%s: another meaning", rows[_i].name);
  check_prints_and_parses(module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* (flops + 10 transcendentals) / (bytes accessed + 2); operands and result have 16 bytes each. */
START_TEST(keys_say_what_recomputing_costs) {
  Fixture fixture = fixture_parse_body(
      "",
      "p = f32[4] parameter(0)\n sum = f32[4] add(p, p)\n exp = f32[4] exponential(sum)\n"
      "ROOT r = f32[4] copy(exp)\n");
  const Module *module = fixture.module;
  CostTable costs = cost_analyze(module, fixture.out, fixture.scratch);
  Rewrite rewrite = rewrite_begin(fixture.module);
  RematParameters parameters = parameters_default();
  RematJob job = {.rewrite = &rewrite, .parameters = &parameters, .costs = &costs};
  static const struct {
    const char *name;
    double key;
  } keys[] = {{"sum", 4.0 / (48 + 2)}, {"exp", 40.0 / (32 + 2)}, {"r", 0}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    double key = recompute_key(&job, find_inst(module, keys[i].name));
    ck_assert_msg(fabs(key - keys[i].key) < 1e-12, "%s: %g", keys[i].name, key);
  }
  InstId clone = rewrite_clone(&rewrite, find_inst(module, "exp"), fixture.scratch);
  ck_assert_double_eq(recompute_key(&job, clone), recompute_key(&job, find_inst(module, "exp")));
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("derematerialize");
  TCase *tc = tcase_create("derematerialize");
  tcase_add_loop_test(tc, only_needless_clones_go, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, keys_say_what_recomputing_costs);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
