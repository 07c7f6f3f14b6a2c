/* One run of an algorithm: what it leaves as it was, whether it says rightly that its goal is
 * reached, and that it runs again where a clone would read overwritten memory. */
#include "remat/engine/attempt.h"

#include <stdlib.h>

#include "analysis/memory/memory_model.h"
#include "ir/clock.h"
#include "ir/module_check.h"
#include "remat/engine/judge.h"
#include "support.h"
#include "text/print.h"

enum { NUM_LAYERS = 5 };

/* A network whose layers are kept for the way back. */
static char *network_text(void) {
  Arena *arena = arena_new(NULL);
  const char *text =
      "HloModule network, is_scheduled=true\n\nENTRY e {\n  x0 = f32[64] parameter(0)\n";
  for (int i = 0; i < NUM_LAYERS; i++)
    text_add(arena, &text, "  e%d = f32[64] exponential(x%d)\n  x%d = f32[64] negate(e%d)\n", i, i,
             i + 1, i);
  text_add(arena, &text, "  g%d = f32[64] sine(x%d)\n", NUM_LAYERS, NUM_LAYERS);
  for (int i = NUM_LAYERS; i-- > 0;)
    text_add(arena, &text, "  %sg%d = f32[64] multiply(g%d, e%d)\n", i ? "" : "ROOT ", i, i + 1, i);
  text_add(arena, &text, "}\n");
  char *copy = strdup(text);
  arena_free(arena);
  return copy;
}

/* `b` reads `a` late; to compute `a` again for that reads `m` after `w` was written into it. */
#define OVERWRITTEN                                                                     \
  "HloModule overwritten, is_scheduled=true\n\nENTRY e {\n  p = f32[64] parameter(0)\n" \
  "  i = s32[] constant(0)\n  v = f32[1] constant({3})\n  m = f32[64] copy(p)\n"        \
  "  a = f32[64] negate(m)\n  c = f32[64] exponential(a)\n  d = f32[64] sine(c)\n"      \
  "  k = f32[64] cosine(d)\n  w = f32[64] dynamic-update-slice(m, v, i)\n"              \
  "  h = f32[64] add(k, d)\n  l = f32[64] add(h, c)\n  b = f32[64] add(a, l)\n"         \
  "  ROOT t = (f32[64], f32[64]) tuple(w, b)\n}\n"

typedef struct AttemptFixture {
  rh_module *parsed, *input;
  rh_remat_options options;
  RematRequest request;
  Problem problem;
  Findings findings;
  Patience patience;
  Guide guide;
} AttemptFixture;

/* `percent`: of the peak of the input. */
static void begin(AttemptFixture *fixture, const char *text, const char *algorithm, int percent) {
  *fixture = (AttemptFixture){.options = RH_REMAT_OPTIONS_INIT};
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &fixture->parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(fixture->parsed, NULL, NULL, &fixture->input, NULL), RH_OK);
  const MemoryModel *model = memory_model_find("heap");
  fixture->options.limit_bytes = 1;
  fixture->options.small_node_bytes = 0;
  fixture->request = (RematRequest){.module = fixture->input,
                                    .options = &fixture->options,
                                    .algorithm = remat_algorithm_find(algorithm),
                                    .memory_model = model};
  patience_begin(&fixture->patience, &fixture->options, seconds_now());
  rh_status status = problem_prepare(&fixture->problem, &fixture->findings, &fixture->request,
                                     &fixture->patience, NULL);
  ck_assert_int_eq(status, RH_OK);
  int64_t peak_bytes = fixture->problem.before.peak_bytes;
  fixture->guide = (Guide){.memory_model = model,
                           .before_bytes = peak_bytes,
                           .peak_limit.bytes = peak_bytes / 100 * percent};
}

static void end(AttemptFixture *fixture) {
  problem_free(&fixture->problem);
  rh_module_free(fixture->input);
  rh_module_free(fixture->parsed);
}

static Attempt run(AttemptFixture *fixture) {
  Attempt attempt = attempt_new(&fixture->problem, fixture->request.algorithm, &fixture->guide);
  ck_assert_int_eq(attempt_run(&attempt, &fixture->problem, &fixture->findings), RH_OK);
  return attempt;
}

static uint64_t hash_of_input(const AttemptFixture *fixture) {
  return text_hash(fixture->input->module, &fixture->input->schedule, fixture->problem.scratch);
}

static int64_t peak_of(const AttemptFixture *fixture, const Attempt *attempt) {
  return problem_measure(&fixture->problem, attempt->guide.memory_model, attempt->rewrite.module,
                         &attempt->schedule)
      .peak_bytes;
}

/* The same text, whatever the goal. */
START_TEST(no_algorithm_changes_nothing) {
  AttemptFixture fixture;
  char *text = network_text();
  begin(&fixture, text, "none", 10);
  Attempt attempt = run(&fixture);
  ck_assert_uint_eq(text_hash(attempt.rewrite.module, &attempt.schedule, fixture.problem.scratch),
                    hash_of_input(&fixture));
  ck_assert(!attempt.is_unsafe && attempt.num_moved == 0 && attempt.stats.num_steps == 0);
  ck_assert(!attempt_has_reached_goal(&attempt, &fixture.problem));
  attempt_free(&attempt);
  end(&fixture);
  free(text);
}
END_TEST

static const char *const algorithms[] = {"path", "search", "standard", "checkpoint=memory"};

/* Whether the goal is reached follows from a new measurement, for goals that can be reached and
 * others. The input stays what it was, and a second attempt does the same as the first. */
START_TEST(goals_are_measured) {
  const char *algorithm = algorithms[_i / 5];
  int percent = 100 - 20 * (_i % 5);
  AttemptFixture fixture;
  char *text = network_text();
  begin(&fixture, text, algorithm, percent);
  uint64_t before = hash_of_input(&fixture);
  Attempt attempt = run(&fixture), again = run(&fixture);
  ck_assert(!attempt.is_unsafe);
  bool is_reached = peak_of(&fixture, &attempt) <= fixture.guide.peak_limit.bytes;
  ck_assert_msg(attempt_has_reached_goal(&attempt, &fixture.problem) == is_reached, "%s, %d %%",
                algorithm, percent);
  ck_assert(percent < 100 || is_reached);
  ck_assert_uint_eq(hash_of_input(&fixture), before);
  ck_assert_uint_eq(text_hash(attempt.rewrite.module, &attempt.schedule, fixture.problem.scratch),
                    text_hash(again.rewrite.module, &again.schedule, fixture.problem.scratch));
  InstId bad;
  ck_assert_int_eq(module_check(attempt.rewrite.module, NULL), RH_OK);
  ck_assert(
      schedule_is_valid(attempt.rewrite.module, &attempt.schedule, &bad, fixture.problem.scratch));
  ck_assert_int_eq(judge_attempt(&attempt, &fixture.problem, &fixture.findings), RH_OK);
  ck_assert(judge_can_prove(&attempt, &fixture.problem));
  attempt_free(&again);
  attempt_free(&attempt);
  end(&fixture);
  free(text);
}
END_TEST

/* A network of layers has something to recompute under 60 %. */
START_TEST(a_goal_is_reached_by_recomputation) {
  AttemptFixture fixture;
  char *text = network_text();
  begin(&fixture, text, "search", 60);
  Attempt attempt = run(&fixture);
  ck_assert(attempt_has_reached_goal(&attempt, &fixture.problem));
  ck_assert(attempt.stats.num_steps > 0);
  ck_assert(attempt.rewrite.module->insts.len > fixture.input->module->insts.len);
  attempt_free(&attempt);
  end(&fixture);
  free(text);
}
END_TEST

/* The module is past copy-insertion. Nothing that is recomputed reads what was overwritten before,
 * also where an algorithm tried that first. */
START_TEST(no_clone_reads_overwritten_memory) {
  AttemptFixture fixture;
  begin(&fixture, OVERWRITTEN, algorithms[_i / 4], 40 + 15 * (_i % 4));
  fixture.problem.has_copies = true;
  fixture.problem.known_reads =
      known_reads_of_input(fixture.input->module, &fixture.input->schedule, fixture.problem.arena,
                           fixture.problem.scratch);
  Attempt attempt = run(&fixture);
  if (!attempt.is_unsafe) {
    SafeReads reads = safe_reads_judge(&attempt.rewrite, &attempt.schedule,
                                       &fixture.problem.known_reads, fixture.findings.is_kept,
                                       fixture.input->module->insts.len, fixture.problem.scratch);
    ck_assert_int_eq(reads, READS_SAFE);
  }
  attempt_free(&attempt);
  end(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("attempt");
  TCase *tc = tcase_create("attempt");
  tcase_add_test(tc, no_algorithm_changes_nothing);
  tcase_add_loop_test(tc, goals_are_measured, 0, 20);
  tcase_add_test(tc, a_goal_is_reached_by_recomputation);
  tcase_add_loop_test(tc, no_clone_reads_overwritten_memory, 0, 16);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
