#include <stdlib.h>

#include "chain.h"

/* Peaks as a number of values that are live together, and the number of dots that are recomputed.
 */
static const struct {
  const char *name, *algorithm, *collection;
  int num_layers;
  bool has_backward, has_weights;
  int limit, before, after; /* after: at most this */
  uint32_t most_dots;
} rows[] = {
    /* 2 sqrt(2n): a layer saves two values, one of which is kept at a cut. */
    {"memory, 16 layers", "checkpoint=memory", NULL, 16, true, false, 0, 35, 11, 16},
    {"memory, 64 layers", "checkpoint=memory", NULL, 64, true, false, 0, 131, 22, 64},
    {"memory, 256 layers", "checkpoint=memory", NULL, 256, true, false, 0, 515, 46, 256},
    {"speed", "checkpoint=speed", NULL, 64, true, false, 0, 131, 68, 0},
    {"within the budget", "checkpoint=memory", NULL, 64, true, false, 131, 131, 131, 0},
    /* As many recomputations are undone as there is memory, those of dots first. */
    {"half of it", "checkpoint=memory", NULL, 64, true, false, 65, 131, 65, 9},
    {"speed, three quarters", "checkpoint=speed", NULL, 64, true, false, 97, 131, 97, 0},
    {"a collection of dots", "checkpoint=collection", "^h", 64, true, false, 0, 131, 68, 0},
    {"some layers", "checkpoint=collection", "^b.*[08]$", 64, true, false, 0, 131, 30, 64},
    {"an empty collection", "checkpoint=collection", NULL, 64, true, false, 0, 131, 131, 0},
    {"gradients wait for the end", "checkpoint=memory", NULL, 32, true, true, 0, 67, 35, 32},
    {"no backward part", "checkpoint=memory", NULL, 64, false, false, 0, 3, 3, 0},
};

static uint32_t count_dots_again(const Module *module) {
  uint32_t count = 0;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    count += inst->opcode == OPCODE_DOT && inst->flags & INST_REMAT && !(inst->flags & INST_DEAD);
  }
  return count;
}

START_TEST(row_is_reached) {
  Fixture fixture = chain_parse(rows[_i].num_layers, rows[_i].has_backward, rows[_i].has_weights);
  RematSetup setup = {.algorithm = rows[_i].algorithm,
                      .collection = rows[_i].collection,
                      .limit_bytes = (int64_t)rows[_i].limit * CHAIN_BYTES};
  RematResult result = fixture_remat(&fixture, &setup);
  int64_t before = result.before_bytes / CHAIN_BYTES, after = result.after_bytes / CHAIN_BYTES;
  uint32_t num_dots = count_dots_again(fixture.module);
  ck_assert_msg(
      before == rows[_i].before && after <= rows[_i].after && num_dots <= rows[_i].most_dots,
      "%s: %d -> %d values, %u dots", rows[_i].name, (int)before, (int)after, num_dots);
  bool is_done = result.after_bytes < result.before_bytes;
  ck_assert_msg(is_done == (result.stats.num_steps > 0), "%s: steps", rows[_i].name);
  ck_assert_int_eq(result.stats.xla_reported_after_bytes, -1);
  fixture_free(&fixture);
}
END_TEST

#define STATE "(" CHAIN_SHAPE ", " CHAIN_SHAPE ")"

/* A loop whose body is the chain, and whose state is `x` and `w`. */
static int64_t loop_peak(bool has_backward, int64_t *before) {
  ChainText text = {.arena = arena_new(NULL)};
  chain_add(&text, "cond { c = " STATE " parameter(0)\n ROOT t = pred[] constant(true) }\n");
  chain_add(&text, "body { s = " STATE " parameter(0)\n");
  chain_add(&text, "x = " CHAIN_SHAPE " get-tuple-element(s), index=0\n");
  chain_add(&text, "w = " CHAIN_SHAPE " get-tuple-element(s), index=1\n");
  chain_add_layers(&text, 32, has_backward, false);
  chain_add(&text, "ROOT next = " STATE " tuple(end, w) }\n");
  Fixture fixture =
      fixture_parse_body(chain_end(&text), "p = " STATE " parameter(0)\n ROOT loop = " STATE
                                           " while(p), condition=cond, body=body\n");
  RematSetup setup = {.algorithm = "checkpoint=memory"};
  RematResult result = fixture_remat(&fixture, &setup);
  *before = result.before_bytes / CHAIN_BYTES;
  fixture_free(&fixture);
  arena_free(text.arena);
  return result.after_bytes / CHAIN_BYTES;
}

START_TEST(bodies_with_both_parts_are_changed) {
  int64_t before, after = loop_peak(true, &before);
  ck_assert_msg(before > 60 && after < 30, "%d -> %d", (int)before, (int)after);
  after = loop_peak(false, &before);
  ck_assert_int_eq(after, before);
}
END_TEST

static const char *const samples[] = {
    "gpt_scan",  "gpt_unrolled", "lstm", "mlp_checkpoint",
    "mobilenet", "resnet",       "vgg",  "unet_donated",
};
enum { NUM_SAMPLES = sizeof samples / sizeof *samples };
static const char *const algorithms[] = {"checkpoint=speed", "checkpoint=memory",
                                         "checkpoint=collection"};
enum { NUM_ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* The text of a result; frees the fixture. */
static char *remat_sample(const char *path, const char *algorithm, Arena *out) {
  Fixture fixture = fixture_parse_file(path);
  RematSetup setup = {.algorithm = algorithm,
                      .collection = "dot|conv",
                      .scheduler = strstr(path, "after") ? "input" : "default"};
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_msg(result.after_bytes <= result.before_bytes, "%s: more memory than before", path);
  char *text = print_or_fail(fixture.module, &result.schedule, PRINT_SCHEDULED, NULL);
  char *kept = arena_strndup(out, text, strlen(text));
  free(text);
  fixture_free(&fixture);
  return kept;
}

/* fixture_remat verifies the results; two runs must give the same text. */
START_TEST(samples_keep_their_meaning) {
  Arena *arena = arena_new(NULL);
  const char *algorithm = algorithms[_i % NUM_ALGORITHMS];
  int sample = _i / NUM_ALGORITHMS;
  const char *stage = sample < NUM_SAMPLES ? "before" : "after";
  char *path = arena_printf(arena, "hlo_samples/%s.%s_optimizations.hlo",
                            samples[sample % NUM_SAMPLES], stage);
  char *first = remat_sample(path, algorithm, arena);
  ck_assert_msg(strcmp(first, remat_sample(path, algorithm, arena)) == 0, "%s: two results", path);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("checkpoint");
  TCase *tc = tcase_create("checkpoint");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, bodies_with_both_parts_are_changed);
  suite_add_tcase(suite, tc);
  tc = tcase_create("samples");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, samples_keep_their_meaning, 0, 2 * NUM_SAMPLES * NUM_ALGORITHMS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
