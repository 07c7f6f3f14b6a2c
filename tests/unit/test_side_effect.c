#include "analysis/flow/side_effect.h"

#include "remat/rewrite/rewrite.h"
#include "support.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define PURE "pure { q = f32[4] parameter(0)\n ROOT a = f32[4] abs(q) }\n"
#define NOISY                                                 \
  "noisy { n = f32[4] parameter(0)\n z = f32[] constant(0)\n" \
  "d = f32[4] rng(z, z), distribution=rng_uniform\n ROOT e = f32[4] add(n, d) }\n"
#define ALWAYS "always { w = f32[4] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define GROUPS "replica_groups={{0,1}}"

/* Of `x`: a side effect of its own, and one when what it calls counts too. */
static const struct {
  const char *comps, *insts;
  bool has_own, has_any;
} rows[] = {
    {"", "x = f32[4] abs(p)\n", false, false},
    {"", "x = f32[4] copy(p)\n", false, false},
    {"", "x = token[] after-all()\n", false, false},
    {"", "x = u32[] partition-id()\n", false, false},
    {"", "x = (f32[4], f32[4], u32[]) copy-start(p)\n", false, false},
    {"", "x = f32[4] custom-call(p), custom_call_target=\"f\"\n", false, false},
    {"", "x = f32[4] custom-call(p), custom_call_target=\"f\", custom_call_has_side_effect=false\n",
     false, false},
    {"", "x = f32[4] custom-call(p), custom_call_target=\"f\", custom_call_has_side_effect=true\n",
     true, true},
    {"", "x = f32[4] rng(s, s), distribution=rng_uniform\n", true, true},
    {"", "x = u64[2] rng-get-and-update-state(), delta=1\n", true, true},
    {"",
     "k = u64[2] constant({1, 2})\n x = (u64[2], u32[4]) rng-bit-generator(k), "
     "algorithm=rng_default\n",
     false, false},
    {"", "t = token[] after-all()\n x = (f32[4], token[]) infeed(t)\n", true, true},
    {"", "t = token[] after-all()\n x = token[] outfeed(p, t)\n", true, true},
    {"", "t = token[] after-all()\n x = (f32[4], u32[], token[]) send(p, t), channel_id=1\n", true,
     true},
    {"", "t = token[] after-all()\n x = (f32[4], u32[], token[]) recv(t), channel_id=1\n", true,
     true},
    /* collectives: a channel, or a fixed layout, ties them to other programs */
    {SUM, "x = f32[4] all-reduce(p), " GROUPS ", to_apply=sum\n", false, false},
    {SUM, "x = f32[4] all-reduce(p), channel_id=1, " GROUPS ", to_apply=sum\n", true, true},
    {SUM, "x = f32[4] all-reduce(p), " GROUPS ", constrain_layout=true, to_apply=sum\n", true,
     true},
    {"", "x = f32[8] all-gather(p), dimensions={0}, " GROUPS "\n", false, false},
    {"", "x = f32[8] all-gather(p), channel_id=1, dimensions={0}, " GROUPS "\n", true, true},
    {"", "x = f32[4] all-to-all(p), dimensions={0}, " GROUPS "\n", false, false},
    {"", "x = f32[4] all-to-all(p), channel_id=1, dimensions={0}, " GROUPS "\n", true, true},
    {SUM, "x = f32[2] reduce-scatter(p), dimensions={0}, " GROUPS ", to_apply=sum\n", false, false},
    {SUM, "x = f32[2] reduce-scatter(p), channel_id=1, dimensions={0}, " GROUPS ", to_apply=sum\n",
     true, true},
    {"", "x = f32[4] collective-permute(p), source_target_pairs={{0,1}}\n", false, false},
    {"", "x = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,1}}\n", true,
     true},
    {SUM, "x = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n", true, true},
    {"", "x = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n", true, true},
    /* what is called */
    {PURE, "x = f32[4] call(p), to_apply=pure\n", false, false},
    {PURE, "x = f32[4] fusion(p), kind=kLoop, calls=pure\n", false, false},
    {NOISY, "x = f32[4] call(p), to_apply=noisy\n", false, true},
    {NOISY, "x = f32[4] fusion(p), kind=kLoop, calls=noisy\n", false, true},
    {NOISY ALWAYS, "x = f32[4] while(p), condition=always, body=noisy\n", false, true},
    {PURE ALWAYS, "x = f32[4] while(p), condition=always, body=pure\n", false, false},
    {NOISY PURE,
     "t = pred[] constant(true)\n x = f32[4] conditional(t, p, p), "
     "true_computation=pure, false_computation=noisy\n",
     false, true},
    {NOISY, "x = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=noisy\n", false, true},
    {NOISY "mid { o = f32[4] parameter(0)\n ROOT c = f32[4] call(o), to_apply=noisy }\n",
     "x = f32[4] fusion(p), kind=kLoop, calls=mid\n", false, true},
};

START_TEST(effects_match_table) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\n%s\nENTRY e { p = f32[4] parameter(0)\n s = f32[] parameter(1)\n%s"
      "ROOT r = f32[] negate(s) }\n",
      rows[_i].comps, rows[_i].insts);
  SideEffects effects = side_effects_build(fixture.module, fixture.out, fixture.scratch);
  InstId id = find_inst(fixture.module, "x");
  bool has_own = inst_has_own_side_effect(fixture.module, id);
  bool has_any = inst_has_side_effect(fixture.module, &effects, id);
  ck_assert_msg(has_own == rows[_i].has_own && has_any == rows[_i].has_any, "%s: own %d, any %d",
                rows[_i].insts, has_own, has_any);
  fixture_free(&fixture);
}
END_TEST

/* Over several partitions everybody runs the same program: a channel alone is no side effect. */
START_TEST(channels_of_one_program_are_pure) {
  Fixture fixture =
      fixture_parse("HloModule m, num_partitions=2\n" SUM
                    "ENTRY e { p = f32[4] parameter(0)\n"
                    "x = f32[4] all-reduce(p), channel_id=1, " GROUPS
                    ", to_apply=sum\n"
                    "y = f32[4] collective-permute(p), channel_id=2, source_target_pairs={{0,1}}\n"
                    "ROOT z = f32[4] all-reduce(p), channel_id=3, " GROUPS
                    ", constrain_layout=true, to_apply=sum }\n");
  ck_assert(!inst_has_own_side_effect(fixture.module, find_inst(fixture.module, "x")));
  ck_assert(!inst_has_own_side_effect(fixture.module, find_inst(fixture.module, "y")));
  ck_assert(inst_has_own_side_effect(fixture.module, find_inst(fixture.module, "z")));
  fixture_free(&fixture);
}
END_TEST

/* Computations: what nobody calls counts as noisy, a later copy as its origin. */
START_TEST(computations_have_effects) {
  Fixture fixture = fixture_parse_body(
      PURE NOISY "unused { u = f32[4] parameter(0)\n ROOT v = f32[4] abs(u) }\n",
      "p = f32[4] parameter(0)\n f = f32[4] fusion(p), kind=kLoop, calls=pure\n"
      "g = f32[4] fusion(p), kind=kLoop, calls=noisy\n ROOT r = f32[4] add(f, g)\n");
  Module *module = fixture.module;
  SideEffects effects = side_effects_build(module, fixture.out, fixture.scratch);
  ck_assert(!effects.of_comp[find_comp(module, "pure")]);
  ck_assert(effects.of_comp[find_comp(module, "noisy")]);
  ck_assert(effects.of_comp[find_comp(module, "unused")]);
  ck_assert(effects.of_comp[module->entry]);
  Rewrite rewrite = rewrite_begin(module);
  InstId f = rewrite_clone(&rewrite, find_inst(module, "f"), fixture.scratch);
  InstId g = rewrite_clone(&rewrite, find_inst(module, "g"), fixture.scratch);
  ck_assert(!inst_has_side_effect(module, &effects, f));
  ck_assert(inst_has_side_effect(module, &effects, g));
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("side_effect");
  TCase *tc = tcase_create("side_effect");
  tcase_add_loop_test(tc, effects_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, channels_of_one_program_are_pure);
  tcase_add_test(tc, computations_have_effects);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
