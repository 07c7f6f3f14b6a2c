#include "remat/bound/lower_bound.h"

#include <stdlib.h>

#include "loop_texts.h"
#include "remat/job/algorithm.h"
#include "support.h"

#define K 1024

/* XLA's fixture: at concat1, negate (4 KiB) and the result of 8 KiB. */
#define CHAIN                                                         \
  "p = f32[1] parameter(0)\n reshape = f32[] reshape(p)\n"            \
  "bcast = f32[1024] broadcast(reshape), dimensions={}\n"             \
  "negate = f32[1024] negate(bcast)\n"                                \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(bcast, slice1), dimensions={0}\n"  \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define CALL(name, effect)                                                                        \
  "p = f32[1] parameter(0)\n" name " = f32[1024] custom-call(p), custom_call_target=\"t\"" effect \
  "\n negate = f32[1024] negate(" name                                                            \
  ")\n"                                                                                           \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n"                             \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                                               \
  "concat2 = f32[1025] concatenate(" name                                                         \
  ", slice1), dimensions={0}\n"                                                                   \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define COND "cond { cp = f32[1] parameter(0)\n ROOT t = pred[] constant(true) }\n"

static const struct {
  const char *name, *comps, *body;
  ConstantCount constants; /* of a model: xla-remat, liveness, heap */
  int64_t bytes;
  const char *inst; /* NULL = no single instruction */
} rows[] = {
    /* bcast can be recomputed, so it does not count at concat1. The result is 4 bytes. */
    {"a chain", "", CHAIN, CONSTANTS_LIVE, 4 * K + 8 * K + 4, "concat1"},
    /* Here a result may reuse its operand's memory, so only the larger one counts. p is live all
     * the time. */
    {"a chain with its parameters", "", CHAIN, CONSTANTS_APART, 8 * K + 4, "concat1"},
    {"nothing is computed", "", "ROOT p = f32[256] parameter(0)\n", CONSTANTS_LIVE, K, NULL},
    {"parameters and results", "",
     "p = f32[256] parameter(0)\n ROOT a = f32[512] concatenate(p, p), dimensions={0}\n",
     CONSTANTS_APART, K + 2 * K, NULL},
    /* The result of a custom call cannot be recomputed, so it is live at concat1, too. */
    {"a value that must be kept", "", CALL("cc", ""), CONSTANTS_LIVE, 4 * K + 4 * K + 8 * K + 4,
     "concat1"},
    /* xla-remat counts constants as memory (and the result is 4 bytes); the liveness models count
     * them separately. */
    {"a constant", "", "k = f32[1024] constant({...})\n ROOT r = f32[1] slice(k), slice={[0:1]}\n",
     CONSTANTS_LIVE, 4 * K + 4, "k"},
    {"a constant apart", "",
     "k = f32[1024] constant({...})\n ROOT r = f32[1] slice(k), slice={[0:1]}\n", CONSTANTS_APART,
     4, NULL},
    {"a constant as result", "", "ROOT k = f32[1024] constant({...})\n", CONSTANTS_APART, 0, NULL},
    {"constants that are held",
     COND "body { b = f32[1] parameter(0)\n"
          "k = f32[256] constant({...})\n s = f32[1] slice(k), slice={[0:1]}\n"
          "ROOT r = f32[1] add(b, s) }\n",
     "k = f32[1024] constant({...})\n d = f32[64] constant({...})\n"
     "s = f32[1] slice(k), slice={[0:1]}\n"
     "ROOT w = f32[1] while(s), condition=cond, body=body\n",
     CONSTANTS_HELD, 4 * K + K + 1 + 4, NULL},
    {"constants of what nobody needs",
     COND "body { b = f32[1] parameter(0)\n"
          "k = f32[256] constant({...})\n s = f32[1] slice(k), slice={[0:1]}\n"
          "ROOT r = f32[1] add(b, s) }\n",
     "q = f32[1] parameter(0)\n w = f32[1] while(q), condition=cond, body=body\n"
     "ROOT r = f32[1] abs(q)\n",
     CONSTANTS_HELD, 4 + 4, NULL},
    {"dead code does not count", "",
     "p = f32[1] parameter(0)\n d = f32[9999] broadcast(p), dimensions={0}\n"
     "ROOT r = f32[1] abs(p)\n",
     CONSTANTS_LIVE, 4, NULL},
    /* Each result of f may go away with what only it reads; those of g are computed together. */
    {"results that are bundled",
     "f { a = f32[1024] parameter(0)\n b = f32[1024] parameter(1)\n m = f32[1024] abs(a)\n"
     "n = f32[1024] abs(b)\n ROOT t = (f32[1024], f32[1024]) tuple(m, n) }\n",
     "p = f32[1] parameter(0)\n a = f32[1024] broadcast(p), dimensions={0}\n"
     "b = f32[1024] broadcast(p), dimensions={0}\n"
     "c = (f32[1024], f32[1024]) fusion(a, b), kind=kLoop, calls=f\n"
     "d = f32[1024] get-tuple-element(c), index=0\n e = f32[1024] get-tuple-element(c), index=1\n"
     "ROOT r = (f32[1024], f32[1024]) tuple(d, e)\n",
     CONSTANTS_APART, 8 * K + 4 + 16, NULL},
    /* Once m is gone, which nobody reads, a clone of f may only hand a on, and XLA's analysis does
     * not take that as a use of a. */
    {"a result that is handed on",
     "f { a = f32[1024] parameter(0)\n b = f32[512] parameter(1)\n m = f32[1024] abs(a)\n"
     "n = f32[512] abs(b)\n ROOT t = (f32[1024], f32[1024], f32[512]) tuple(m, a, n) }\n",
     "p = f32[1] parameter(0)\n a = f32[1024] broadcast(p), dimensions={0}\n"
     "b = f32[512] broadcast(p), dimensions={0}\n"
     "c = (f32[1024], f32[1024], f32[512]) fusion(a, b), kind=kLoop, calls=f\n"
     "d = f32[1024] get-tuple-element(c), index=1\n e = f32[512] get-tuple-element(c), index=2\n"
     "s = f32[1] slice(d), slice={[0:1]}\n t = f32[1] slice(e), slice={[0:1]}\n"
     "ROOT r = f32[1] add(s, t)\n",
     CONSTANTS_LIVE, 4 * K + 4 + 4, "s"},
    {"an operand that only dead code reads",
     "f { ROOT a = f32[1024] parameter(0)\n m = f32[1024] abs(a) }\n",
     "p = f32[1] parameter(0)\n a = f32[1024] broadcast(p), dimensions={0}\n"
     "c = f32[1024] fusion(a), kind=kLoop, calls=f\n ROOT s = f32[1] slice(c), slice={[0:1]}\n",
     CONSTANTS_LIVE, 4 * K + 4, "a"},
    {"dead code keeps a fusion from taking the memory of its operand",
     "f { a = f32[1024] parameter(0)\n m = f32[32] slice(a), slice={[0:32]}\n"
     "ROOT n = f32[1024] abs(a) }\n",
     "p = f32[1] parameter(0)\n a = f32[1024] broadcast(p), dimensions={0}\n"
     "c = f32[1024] fusion(a), kind=kLoop, calls=f\n ROOT s = f32[1] slice(c), slice={[0:1]}\n",
     CONSTANTS_APART, 4 * K + 4, "a"},
    {"results of one reduction",
     "h { i = f32[] parameter(0)\n j = f32[] parameter(1)\n k = f32[] parameter(2)\n"
     "l = f32[] parameter(3)\n x = f32[] add(i, k)\n y = f32[] add(j, l)\n"
     "ROOT t = (f32[], f32[]) tuple(x, y) }\n"
     "g { a = f32[1024] parameter(0)\n b = f32[1024] parameter(1)\n z = f32[] constant(0)\n"
     "ROOT u = (f32[], f32[]) reduce(a, b, z, z), dimensions={0}, to_apply=h }\n",
     "p = f32[1] parameter(0)\n a = f32[1024] broadcast(p), dimensions={0}\n"
     "b = f32[1024] broadcast(p), dimensions={0}\n"
     "c = (f32[], f32[]) fusion(a, b), kind=kInput, calls=g\n"
     "d = f32[] get-tuple-element(c), index=0\n e = f32[] get-tuple-element(c), index=1\n"
     "ROOT r = f32[] add(d, e)\n",
     CONSTANTS_APART, 8 * K + 4 + 8, "c"},
    /* The loop runs the chain; its own buffer of 4 bytes is the result. */
    {"in a loop", COND "body {\n" CHAIN "}\n",
     "q = f32[1] parameter(0)\n ROOT w = f32[1] while(q), condition=cond, body=body\n",
     CONSTANTS_LIVE, 12 * K + 4, "w"},
    /* The call reads 4 KiB, and its callee needs 12 KiB. */
    {"in a call", "f {\n" CHAIN "}\n",
     "q = f32[1] parameter(0)\n ROOT c = f32[1] call(q), to_apply=f\n", CONSTANTS_LIVE, 12 * K + 4,
     "c"},
};

START_TEST(bound_matches_table) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Legality legality = {.module = fixture.module,
                       .effects = side_effects_build(fixture.module, fixture.out, fixture.scratch),
                       /* it does not matter whether recomputing pays */
                       .small_node_bytes = 1 << 30};
  LowerBoundRules rules = {.counts_params = rows[_i].constants != CONSTANTS_LIVE,
                           .keeps_apart = true,
                           .constants = rows[_i].constants};
  LowerBound bound = lower_bound(fixture.module, &legality, &rules, fixture.scratch);
  ck_assert_msg(bound.bytes == rows[_i].bytes, "%s: %lld bytes, not %lld", rows[_i].name,
                (long long)bound.bytes, (long long)rows[_i].bytes);
  Str name = bound.inst == NO_ID ? STR("") : inst_name(fixture.module, bound.inst);
  ck_assert_msg(str_is(name, rows[_i].inst ? rows[_i].inst : ""), "%s: at '%.*s'", rows[_i].name,
                (int)name.len, name.data);
  fixture_free(&fixture);
}
END_TEST

static int64_t bound_of(const Module *module, LowerBoundRules rules, Fixture *fixture) {
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, fixture->out, fixture->scratch)};
  return lower_bound(module, &legality, &rules, fixture->scratch).bytes;
}

/* The stack is alive where both loops are, unless the second one computes what it reads of it. */
START_TEST(stacks_count_where_loops_stay) {
  const LoopEdit none[MAX_LOOP_EDITS] = {{0}};
  char *text = loop_text_edited("scan", loop_scan, none);
  Fixture fixture = fixture_parse(text);
  int64_t stack_bytes = 6 * 4 * 4;
  int64_t bytes = bound_of(fixture.module, (LowerBoundRules){0}, &fixture);
  int64_t bytes_of_loops =
      bound_of(fixture.module, (LowerBoundRules){.keeps_loops = true}, &fixture);
  ck_assert_int_eq(bytes_of_loops, bytes + stack_bytes);
  fixture_free(&fixture);
  free(text);
}
END_TEST

/* No algorithm gives a result below the bound; `standard` leaves loops as they are. */
static const char *const samples[] = {"gpt_scan", "lstm", "mlp_checkpoint", "mobilenet",
                                      "resnet",   "vgg",  "unet_donated"};

START_TEST(no_algorithm_gets_below) {
  Arena *arena = arena_new(NULL);
  const char *path = arena_printf(arena, "hlo_samples/%s.after_optimizations.hlo", samples[_i]);
  Fixture fixture = fixture_parse_file(path);
  LowerBoundRules rules = {.constants = CONSTANTS_LIVE, .keeps_loops = true};
  int64_t bytes = bound_of(fixture.module, rules, &fixture);
  RematSetup setup = {.algorithm = "standard", .limit_bytes = bytes};
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_msg(result.before_bytes >= bytes && result.after_bytes >= bytes,
                "%s: %lld -> %lld bytes, bound %lld", path, (long long)result.before_bytes,
                (long long)result.after_bytes, (long long)bytes);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lower_bound");
  TCase *tc = tcase_create("lower_bound");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, bound_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, stacks_count_where_loops_stay);
  tcase_add_loop_test(tc, no_algorithm_gets_below, 0, sizeof samples / sizeof *samples);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
