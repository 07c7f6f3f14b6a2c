#include "remat/legality/legality.h"

#include "remat/rewrite/rewrite.h"
#include <stdio.h>

#include "support.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define ONE(name, inst) name " { q = f32[4] parameter(0)\n " inst " }\n"
#define GROUPS "replica_groups={{0,1}}"

enum { COLLECTIVES = 1, SMALL_16 = 2 };

/* The verdict on `x`; `p` is f32[4], and `s` is f32[]. */
static const struct {
  KeepReason reason;
  unsigned options;
  const char *comps, *insts;
} rows[] = {
    /* arithmetic and data movement */
    {KEEP_NONE, 0, "", "x = f32[4] abs(p)\n"},
    {KEEP_NONE, 0, "", "x = f32[4] broadcast(s), dimensions={}\n"},
    {KEEP_NONE, 0, "", "x = f32[4] iota(), iota_dimension=0\n"},
    {KEEP_NONE, 0, SUM, "x = f32[] reduce(p, s), dimensions={0}, to_apply=sum\n"},
    {KEEP_NONE, 0, ONE("f", "ROOT a = f32[4] abs(q)"),
     "x = f32[4] fusion(p), kind=kLoop, calls=f\n"},
    {KEEP_NONE, 0, "",
     "u = u64[2] constant({1, 2})\n"
     "x = (u64[2], u32[4]) rng-bit-generator(u), algorithm=rng_default\n"},
    {KEEP_NONE, 0, "", "x = (f32[4], f32[]) tuple(p, s)\n"},
    {KEEP_NONE, 0, "", "x = f32[2,2] bitcast(p)\n"},
    {KEEP_NONE, 0, "", "x = f32[4] opt-barrier(p)\n"},
    {KEEP_NONE, 0, "", "x = u32[] partition-id()\n"},
    /* instructions that cannot be recomputed at all */
    {KEEP_PARAMETER, 0, "", "x = f32[4] parameter(2)\n"},
    {KEEP_CONSTANT, 0, "", "x = f32[] constant(1)\n"},
    {KEEP_CUSTOM_CALL, 0, "", "x = f32[4] custom-call(p), custom_call_target=\"f\"\n"},
    {KEEP_CUSTOM_CALL, 0, "",
     "x = f32[4] custom-call(p), custom_call_target=\"f\", "
     "custom_call_has_side_effect=true\n"},
    {KEEP_CONTROL_FLOW, 0, ONE("f", "ROOT a = f32[4] abs(q)"), "x = f32[4] call(p), to_apply=f\n"},
    {KEEP_CONTROL_FLOW, 0,
     ONE("f", "ROOT a = f32[4] abs(q)") "c { cq = f32[4] parameter(0)\n ROOT t = pred[] "
                                        "constant(true) }\n",
     "x = f32[4] while(p), condition=c, body=f\n"},
    {KEEP_CONTROL_FLOW, 0, ONE("f", "ROOT a = f32[4] abs(q)") ONE("g", "ROOT b = f32[4] sine(q)"),
     "t = pred[] constant(true)\n"
     "x = f32[4] conditional(t, p, p), true_computation=f, false_computation=g\n"},
    {KEEP_CONTROL_FLOW, 0, ONE("f", "ROOT a = f32[4] abs(q)"),
     "x = f32[4] call(p), to_apply=f, frontend_attributes={xla_cpu_small_call=\"true\"}\n"},
    {KEEP_COMPILED_ALONE, 0, ONE("f", "x = f32[4] abs(q)\n ROOT a = f32[4] negate(x)"),
     "c = f32[4] call(p), to_apply=f, frontend_attributes={xla_cpu_small_call=\"true\"}\n"},
    {KEEP_NONE, 0, ONE("f", "x = f32[4] abs(q)\n ROOT a = f32[4] negate(x)"),
     "c = f32[4] call(p), to_apply=f\n"},
    /* copies */
    {KEEP_COPY, 0, "", "x = f32[4] copy(p)\n"},
    {KEEP_COPY, 0, "", "m = f32[2,2]{0,1} bitcast(p)\n x = f32[2,2]{0,1} copy(m)\n"},
    {KEEP_NONE, 0, "", "m = f32[2,2]{0,1} bitcast(p)\n x = f32[2,2]{1,0} copy(m)\n"},
    {KEEP_NONE, 0, "", "x = f32[4]{0:S(5)} copy(p)\n"},
    {KEEP_NONE, 0, "", "x = bf16[4] copy(p)\n"},
    {KEEP_NONE, 0, "", "x = f32[4]{0:T(8)} copy(p)\n"},
    /* side effects of the instruction itself or of its callee */
    {KEEP_SIDE_EFFECT, 0, "", "x = f32[4] rng(s, s), distribution=rng_uniform\n"},
    {KEEP_SIDE_EFFECT, 0, "", "x = u64[2] rng-get-and-update-state(), delta=1\n"},
    {KEEP_SIDE_EFFECT, 0, "", "t = token[] after-all()\n x = (f32[4], token[]) infeed(t)\n"},
    {KEEP_SIDE_EFFECT, 0, "", "t = token[] after-all()\n x = token[] outfeed(p, t)\n"},
    {KEEP_SIDE_EFFECT, 0,
     ONE("f",
         "z = f32[] constant(0)\n"
         "ROOT a = f32[4] rng(z, z), distribution=rng_uniform"),
     "x = f32[4] fusion(p), kind=kLoop, calls=f\n"},
    {KEEP_SIDE_EFFECT, 0,
     ONE("g",
         "ROOT a = f32[4] custom-call(q), custom_call_target=\"g\", "
         "custom_call_has_side_effect=true") "f { fq = f32[4] parameter(0)\n ROOT b = f32[4] "
                                             "fusion(fq), kind=kLoop, calls=g }\n",
     "x = f32[4] fusion(p), kind=kLoop, calls=f\n"},
    {KEEP_NONE, 0, ONE("f", "ROOT a = f32[4] custom-call(q), custom_call_target=\"g\""),
     "x = f32[4] fusion(p), kind=kLoop, calls=f\n"},
    /* collectives */
    {KEEP_COLLECTIVE, 0, SUM, "x = f32[4] all-reduce(p), " GROUPS ", to_apply=sum\n"},
    {KEEP_NONE, COLLECTIVES, SUM, "x = f32[4] all-reduce(p), " GROUPS ", to_apply=sum\n"},
    {KEEP_NONE, COLLECTIVES, SUM,
     "x = f32[4] all-reduce(p), channel_id=1, " GROUPS ", to_apply=sum\n"},
    {KEEP_COLLECTIVE, 0, "", "x = f32[8] all-gather(p), dimensions={0}, " GROUPS "\n"},
    {KEEP_NONE, COLLECTIVES, "", "x = f32[8] all-gather(p), dimensions={0}, " GROUPS "\n"},
    {KEEP_COLLECTIVE, 0, "", "x = f32[4] all-to-all(p), dimensions={0}, " GROUPS "\n"},
    {KEEP_NONE, COLLECTIVES, "", "x = f32[4] all-to-all(p), dimensions={0}, " GROUPS "\n"},
    {KEEP_COLLECTIVE, 0, SUM,
     "x = f32[2] reduce-scatter(p), dimensions={0}, " GROUPS ", to_apply=sum\n"},
    {KEEP_NONE, COLLECTIVES, SUM,
     "x = f32[2] reduce-scatter(p), dimensions={0}, " GROUPS ", to_apply=sum\n"},
    {KEEP_COLLECTIVE, 0, "", "x = f32[4] collective-broadcast(p), " GROUPS "\n"},
    {KEEP_NONE, COLLECTIVES, "", "x = f32[4] collective-broadcast(p), " GROUPS "\n"},
    {KEEP_COLLECTIVE, 0, "", "x = f32[4] collective-permute(p), source_target_pairs={{0,1}}\n"},
    {KEEP_NONE, COLLECTIVES, "", "x = f32[4] collective-permute(p), source_target_pairs={{0,1}}\n"},
    {KEEP_SIDE_EFFECT, COLLECTIVES, "",
     "x = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,1}}\n"},
    {KEEP_CONSTRAINED_LAYOUT, COLLECTIVES, SUM,
     "x = f32[4] all-reduce(p), " GROUPS ", constrain_layout=true, to_apply=sum\n"},
    {KEEP_CONSTRAINED_LAYOUT, COLLECTIVES, "",
     "x = f32[8] all-gather(p), dimensions={0}, " GROUPS ", constrain_layout=true\n"},
    /* halves of asynchronous pairs */
    {KEEP_ASYNC, COLLECTIVES, SUM, "x = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n"},
    {KEEP_ASYNC, COLLECTIVES, SUM,
     "st = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n"
     "x = f32[4] all-reduce-done(st)\n"},
    {KEEP_ASYNC, COLLECTIVES, "",
     "x = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n"},
    {KEEP_ASYNC, COLLECTIVES, "",
     "st = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n"
     "x = f32[8] all-gather-done(st)\n"},
    {KEEP_ASYNC, COLLECTIVES, "",
     "x = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}}\n"},
    {KEEP_ASYNC, COLLECTIVES, "",
     "st = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
     "x = f32[4] collective-permute-done(st)\n"},
    {KEEP_ASYNC, 0, "", "x = (f32[4], f32[4], u32[]) copy-start(p)\n"},
    {KEEP_ASYNC, 0, "", "st = (f32[4], f32[4], u32[]) copy-start(p)\n x = f32[4] copy-done(st)\n"},
    {KEEP_ASYNC, 0, ONE("f", "ROOT a = f32[4] abs(q)"),
     "x = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"},
    {KEEP_ASYNC, 0, ONE("f", "ROOT a = f32[4] abs(q)"),
     "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"
     "x = ((f32[4]), f32[4], u32[]) call-update(st)\n"},
    {KEEP_ASYNC, 0, ONE("f", "ROOT a = f32[4] abs(q)"),
     "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n x = f32[4] call-done(st)\n"},
    {KEEP_ASYNC, 0, "",
     "t = token[] after-all()\n"
     "x = (f32[4], u32[], token[]) send(p, t), channel_id=1\n"},
    {KEEP_ASYNC, 0, "",
     "t = token[] after-all()\n"
     "st = (f32[4], u32[], token[]) send(p, t), channel_id=1\n"
     "x = token[] send-done(st), channel_id=1\n"},
    {KEEP_ASYNC, 0, "",
     "t = token[] after-all()\n"
     "x = (f32[4], u32[], token[]) recv(t), channel_id=1\n"},
    {KEEP_ASYNC, 0, "",
     "t = token[] after-all()\n"
     "st = (f32[4], u32[], token[]) recv(t), channel_id=1\n"
     "x = (f32[4], token[]) recv-done(st), channel_id=1\n"},
    /* small results; for a tuple, the table of pointers counts */
    {KEEP_SMALL, SMALL_16, "", "x = f32[4] abs(p)\n"},
    {KEEP_SMALL, SMALL_16, "", "x = f32[] abs(s)\n"},
    {KEEP_NONE, SMALL_16, "", "x = f32[5] broadcast(s), dimensions={}\n"},
    {KEEP_SMALL, SMALL_16, "", "x = (f32[4], f32[4]) tuple(p, p)\n"},
    {KEEP_NONE, SMALL_16, "", "x = (f32[4], f32[4], f32[4]) tuple(p, p, p)\n"},
    {KEEP_COPY, SMALL_16, "", "x = f32[4] copy(p)\n"},
};

START_TEST(verdict_matches_table) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\n%s\nENTRY e { p = f32[4] parameter(0)\n s = f32[] parameter(1)\n%s"
      "ROOT r = f32[] negate(s) }\n",
      rows[_i].comps, rows[_i].insts);
  Legality legality = {
      .module = fixture.module,
      .effects = side_effects_build(fixture.module, fixture.out, fixture.scratch),
      .allow_collectives = (rows[_i].options & COLLECTIVES) != 0,
      .small_node_bytes = rows[_i].options & SMALL_16 ? 16 : 0,
  };
  KeepReason reason = recompute_verdict(&legality, find_inst(fixture.module, "x"));
  ck_assert_msg(reason == rows[_i].reason, "%s: %s, not %s", rows[_i].insts,
                keep_reason_name(reason), keep_reason_name(rows[_i].reason));
  fixture_free(&fixture);
}
END_TEST

/* The verdict on a clone is that on its original, also if the clone calls a copy of a computation
 * that was made after the side effects were collected. */
START_TEST(clones_are_judged_like_originals) {
  Fixture fixture = fixture_parse_body(
      ONE("f", "ROOT a = f32[4] abs(q)")
          ONE("g", "z = f32[] constant(0)\n ROOT b = f32[4] rng(z, z), distribution=rng_uniform"),
      "p = f32[4] parameter(0)\n x = f32[4] fusion(p), kind=kLoop, calls=f\n"
      "y = f32[4] fusion(p), kind=kLoop, calls=g\n ROOT r = f32[4] add(x, y)\n");
  Module *module = fixture.module;
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, fixture.out, fixture.scratch)};
  Rewrite rewrite = rewrite_begin(module);
  InstId x = rewrite_clone(&rewrite, find_inst(module, "x"), fixture.scratch);
  InstId y = rewrite_clone(&rewrite, find_inst(module, "y"), fixture.scratch);
  ck_assert_int_eq(recompute_verdict(&legality, x), KEEP_NONE);
  ck_assert_int_eq(recompute_verdict(&legality, rewrite_clone(&rewrite, x, fixture.scratch)),
                   KEEP_NONE);
  ck_assert_int_eq(recompute_verdict(&legality, y), KEEP_SIDE_EFFECT);
  fixture_free(&fixture);
}
END_TEST

/* The reasons against a clone to which users are redirected. There are more of them than reasons
 * against a clone with new users only. */
static const struct {
  const char *what, *body;
  KeepReason alone, redirected;
} clone_rows[] = {
    {"nothing", "x = f32[4] abs(p)\n", KEEP_NONE, KEEP_NONE},
    {"it waits", "w = f32[] negate(s)\n x = f32[4] abs(p), control-predecessors={w}\n", KEEP_NONE,
     KEEP_CONTROL_DEPENDENCY},
    {"it is waited for", "x = f32[4] abs(p)\n w = f32[] negate(s), control-predecessors={x}\n",
     KEEP_NONE, KEEP_CONTROL_DEPENDENCY},
    {"a bitcast", "x = f32[2,2] bitcast(p)\n", KEEP_NONE, KEEP_INDIRECT_USE},
    {"a tuple", "x = (f32[4]) tuple(p)\n", KEEP_NONE, KEEP_INDIRECT_USE},
    {"an optimization barrier", "x = f32[4] opt-barrier(p)\n", KEEP_NONE, KEEP_INDIRECT_USE},
    {"what holds at all comes first", "x = f32[4] constant({...}), control-predecessors={s}\n",
     KEEP_CONSTANT, KEEP_CONSTANT},
};

START_TEST(readers_of_clones_match_table) {
  Fixture fixture = fixture_parse_format(
      "HloModule m\nENTRY e { p = f32[4] parameter(0)\n s = f32[] parameter(1)\n%s"
      "ROOT r = f32[] negate(s) }\n",
      clone_rows[_i].body);
  Legality legality = {.module = fixture.module,
                       .effects = side_effects_build(fixture.module, fixture.out, fixture.scratch)};
  InstId x = find_inst(fixture.module, "x");
  ck_assert_msg(recompute_verdict(&legality, x) == clone_rows[_i].alone, "%s", clone_rows[_i].what);
  ck_assert_msg(clone_verdict(&legality, x) == clone_rows[_i].redirected, "%s: %s",
                clone_rows[_i].what, keep_reason_name(clone_verdict(&legality, x)));
  fixture_free(&fixture);
}
END_TEST

/* What XLA:TPU has placed in VMEM is not computed again, nor is what reads it, nor a loop in which
 * there is some of it. On other targets S(1) is no other memory. */
START_TEST(placed_instructions_are_kept) {
  static const struct {
    const char *name;
    KeepReason reason;
  } placed_rows[] = {{"a", KEEP_NONE},
                     {"v", KEEP_MEMORY_SPACE},
                     {"x", KEEP_MEMORY_SPACE},
                     {"w", KEEP_MEMORY_SPACE},
                     {"z", KEEP_NONE}};
  for (int is_tpu = 0; is_tpu < 2; is_tpu++) {
    Fixture fixture = fixture_parse(
        "HloModule m, is_scheduled=true\n"
        "body { b = (f32[4]) parameter(0)\n e = f32[4] get-tuple-element(b), index=0\n"
        "n = f32[4]{0:S(1)} negate(e)\n o = f32[4] abs(n)\n ROOT u = (f32[4]) tuple(o) }\n"
        "cond { c = (f32[4]) parameter(0)\n ROOT k = pred[] constant(false) }\n"
        "ENTRY e { p = f32[4] parameter(0)\n a = f32[4] abs(p)\n v = f32[4]{0:S(1)} negate(a)\n"
        "x = f32[4] sine(v)\n t = (f32[4]) tuple(x)\n w = (f32[4]) while(t), condition=cond, "
        "body=body\n y = f32[4] get-tuple-element(w), index=0\n z = f32[4] cosine(y)\n"
        "ROOT r = f32[4] add(z, x) }\n");
    Module *module = fixture.module;
    module->backend.target = target_find(is_tpu ? "tpu" : "gpu");
    Legality legality = {.module = module,
                         .effects = side_effects_build(module, fixture.out, fixture.scratch),
                         .placed = placed_build(module, fixture.out, fixture.scratch)};
    for (size_t i = 0; i < sizeof placed_rows / sizeof *placed_rows; i++) {
      InstId id = find_inst(module, placed_rows[i].name);
      KeepReason reason = repeat_verdict(&legality, id, fixture.scratch);
      ck_assert_msg(reason == (is_tpu ? placed_rows[i].reason : KEEP_NONE), "%s: %s",
                    placed_rows[i].name, keep_reason_name(reason));
      ck_assert(inst_is_placed(module, &legality.placed, id) ==
                (is_tpu && placed_rows[i].reason != KEEP_NONE));
    }
    fixture_free(&fixture);
  }
}
END_TEST

/* By InstId: the instructions that have run, and those that are cloned as well. */
typedef struct Around {
  bool has_run[16], is_cloned[16];
} Around;

static bool around_has_run(const void *context, InstId id) {
  return ((const Around *)context)->has_run[id];
}

static bool around_is_cloned(const void *context, InstId operand) {
  return ((const Around *)context)->is_cloned[operand];
}

/* `u` works in place on `a`, so a clone of `x`, which reads `a`, must come before it. */
START_TEST(a_place_after_the_overwriter_is_none) {
  Fixture fixture = fixture_parse(
      "HloModule m, is_scheduled=true\nENTRY e { p = f32[4] parameter(0)\n"
      "z = s32[] constant(0)\n a = f32[4] abs(p)\n x = f32[4] negate(a)\n"
      "s = f32[1] slice(x), slice={[0:1]}\n"
      "u = f32[4] dynamic-update-slice(a, s, z)\n ROOT r = f32[4] add(u, x) }\n");
  Module *module = fixture.module;
  Arena *out = fixture.out, *scratch = fixture.scratch;
  Schedule schedule = schedule_in_text_order(module, out);
  ValueAnalysis values = value_analysis_build(module, out, scratch);
  Overwriters overwriters = overwriters_find(module, &values, &schedule, out, scratch);
  bool is_refused[16] = {0};
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, out, scratch),
                       .is_kept = (const bool[16]){false},
                       .num_kept = 16,
                       .is_refused = is_refused,
                       .overwriters = &overwriters};
  InstId a = find_inst(module, "a"), x = find_inst(module, "x"), u = find_inst(module, "u");
  Around around = {0};
  ClonePlace place = {around_has_run, around_is_cloned, &around};
  ck_assert_int_eq(place_verdict(&legality, x, &place), KEEP_NONE);
  ck_assert(!is_refused[x]);
  around.has_run[u] = true;
  around.is_cloned[a] = true; /* a clone of `a` has its own memory */
  ck_assert_int_eq(place_verdict(&legality, x, &place), KEEP_NONE);
  around.is_cloned[a] = false;
  ck_assert_int_eq(place_verdict(&legality, x, &place), KEEP_OVERWRITTEN);
  ck_assert(is_refused[x]);
  legality.overwriters = NULL; /* XLA will insert the copies that are needed */
  ck_assert_int_eq(place_verdict(&legality, x, &place), KEEP_NONE);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *what;
  ValueUses uses;
  KeepReason reason;
} uses_rows[] = {
    {"read later", {.is_read_later = true}, KEEP_NONE},
    {"nobody reads it later", {0}, KEEP_NO_LATER_USE},
    {"a result that is in use", {.is_result = true, .is_in_use = true}, KEEP_LIVE_OUT},
    {"an element of a nested tuple", {.is_nested = true, .is_read_later = true}, KEEP_NESTED_TUPLE},
    {"in use", {.is_in_use = true, .is_read_later = true}, KEEP_IN_USE},
    {"through a barrier",
     {.is_read_later = true, .by_alias = KEEP_INDIRECT_USE},
     KEEP_INDIRECT_USE},
    {"through a barrier, before", {.by_alias = KEEP_INDIRECT_USE}, KEEP_NO_LATER_USE},
};

START_TEST(uses_match_table) {
  KeepReason reason = uses_verdict(&uses_rows[_i].uses);
  ck_assert_msg(reason == uses_rows[_i].reason, "%s: %s", uses_rows[_i].what,
                keep_reason_name(reason));
}
END_TEST

/* A convolution by cuDNN may be repeated in another loop; nobody clones it within a sequence. */
START_TEST(known_calls_may_be_repeated) {
  static const struct {
    const char *target, *attributes;
    KeepReason reason;
    const char *platform;
  } calls[] = {
      {"__cudnn$convForward", "", KEEP_NONE, "gpu"},
      {"__cudnn$convBiasActivationForward", "", KEEP_NONE, "gpu"},
      {"__cudnn$convForward", ", custom_call_has_side_effect=true", KEEP_SIDE_EFFECT, "gpu"},
      {"__cudnn$convBackwardFilter", "", KEEP_CUSTOM_CALL, "gpu"},
      {"__cudnn$convBackwardInput", "", KEEP_CUSTOM_CALL, "gpu"},
      {"__cudnn$convForwardOther", "", KEEP_CUSTOM_CALL, "gpu"},
      {"Cholesky", "", KEEP_NONE, "tpu"},
      {"Cholesky", "", KEEP_CUSTOM_CALL, "gpu"},
      {"InvertDiagBlocksLowerTriangular", "", KEEP_NONE, "tpu"},
      {"tpu_custom_call", "", KEEP_CUSTOM_CALL, "gpu"},
      {"__cublas$gemm", "", KEEP_CUSTOM_CALL, "gpu"},
      {"mine", "", KEEP_CUSTOM_CALL, "gpu"},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n p = f32[4] parameter(0)\n"
             " ROOT x = (f32[4], u8[0]) custom-call(p), custom_call_target=\"%s\"%s\n}\n",
             calls[i].target, calls[i].attributes);
    Fixture fixture = fixture_parse(text);
    fixture.module->backend.target = target_find(calls[i].platform);
    SideEffects effects = side_effects_build(fixture.module, fixture.out, fixture.scratch);
    Legality legality = {.module = fixture.module, .effects = effects};
    InstId id = find_inst(fixture.module, "x");
    ck_assert_msg(repeat_verdict(&legality, id, fixture.scratch) == calls[i].reason, "%s%s",
                  calls[i].target, calls[i].attributes);
    ck_assert(recompute_verdict(&legality, id) != KEEP_NONE);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(reasons_have_names) {
  for (int a = 0; a < NUM_KEEP_REASONS; a++) {
    ck_assert_uint_gt(strlen(keep_reason_sentence((KeepReason)a)), 0);
    for (int b = 0; b < a; b++) {
      ck_assert_str_ne(keep_reason_name((KeepReason)a), keep_reason_name((KeepReason)b));
    }
  }
  ck_assert_str_eq(keep_reason_name(KEEP_NONE), "none");
  ck_assert_str_eq(keep_reason_name(KEEP_OPERANDS_LARGER), "operands-larger");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("legality");
  TCase *tc = tcase_create("legality");
  tcase_add_loop_test(tc, verdict_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, clones_are_judged_like_originals);
  tcase_add_loop_test(tc, readers_of_clones_match_table, 0, sizeof clone_rows / sizeof *clone_rows);
  tcase_add_test(tc, placed_instructions_are_kept);
  tcase_add_test(tc, a_place_after_the_overwriter_is_none);
  tcase_add_loop_test(tc, uses_match_table, 0, sizeof uses_rows / sizeof *uses_rows);
  tcase_add_test(tc, known_calls_may_be_repeated);
  tcase_add_test(tc, reasons_have_names);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
