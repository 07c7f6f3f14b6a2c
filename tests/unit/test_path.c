#include <stdlib.h>

#include "path_fixture.h"

#define K 1024

#define COND "cond { cp = f32[1] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define ROUND                                                                           \
  "q = f32[1] parameter(0)\n flat = f32[] reshape(q)\n x = f32[1024] broadcast(flat), " \
  "dimensions={}\n"

#define LOOP(body) \
  "p = f32[1] parameter(0)\n ROOT w = f32[1] while(p), condition=cond, body=" body "\n"
#define OUTER                         \
  "outer { o = f32[1] parameter(0)\n" \
  "i = f32[1] while(o), condition=cond, body=inner\n ROOT n = f32[1] negate(i) }\n"
#define BESIDE                                                                          \
  "p = f32[1] parameter(0)\n flat = f32[] reshape(p)\n"                                 \
  "h = f32[1024] broadcast(flat), dimensions={}\n a = f32[1] slice(h), slice={[0:1]}\n" \
  "w = f32[1] while(p), condition=cond, body=body\n"                                    \
  "b = f32[1] slice(h), slice={[1:2]}\n c = f32[1] add(a, b)\n ROOT d = f32[1] add(c, w)\n"
#define BRANCHES                                        \
  "p = f32[1] parameter(0)\n k = pred[] parameter(1)\n" \
  "ROOT c = f32[1] conditional(k, p, p), true_computation=large, false_computation=small\n"

static const Row rows[] = {
    /* bcast is live across the peak at concat1, which is 12 KiB + bcast. */
    {"one value",
     "",
     P BCAST AFTER("bcast"),
     {.limit_bytes = 14 * K},
     16388,
     12292,
     "e",
     "p bcast negate concat1 slice1 bcast.remat concat2 ROOT root"},
    {"within the budget",
     "",
     P BCAST AFTER("bcast"),
     {.limit_bytes = 16388},
     16388,
     16388,
     "e",
     "p bcast negate concat1 slice1 concat2 ROOT root"},
    /* If only tanh were recomputed, bcast would be live across the peak. */
    {"a path of two",
     "",
     P BCAST "x = f32[1024] tanh(bcast)\n" AFTER("x"),
     {.limit_bytes = 14 * K},
     16388,
     12292,
     "e",
     "p bcast x negate concat1 slice1 bcast.remat x.remat concat2 ROOT root"},
    {"a path of three",
     "",
     P BCAST "a = f32[1024] abs(bcast)\n x = f32[1024] tanh(a)\n" AFTER("x"),
     {.limit_bytes = 14 * K, .path_depth = 2},
     16388,
     12292,
     "e",
     "p bcast a x negate concat1 slice1 bcast.remat a.remat x.remat concat2 ROOT root"},
    /* Two steps back from x are too many for path_depth 1, and to keep a live across the peak
     * instead would free nothing. */
    {"a path that is too long",
     "",
     P BCAST "a = f32[1024] abs(bcast)\n x = f32[1024] tanh(a)\n" AFTER("x"),
     {.limit_bytes = 14 * K, .path_depth = 1},
     16388,
     16388,
     "e",
     "p bcast a x negate concat1 slice1 concat2 ROOT root"},
    /* The custom call runs once. The values computed from it could be recomputed, but that frees
     * nothing. */
    {"from a value that must be kept",
     "",
     P "cc = f32[1024] custom-call(p), custom_call_target=\"t\"\n x = f32[1024] tanh(cc)\n" AFTER(
         "x"),
     {.limit_bytes = 14 * K},
     16388,
     16388,
     "e",
     "p cc x negate concat1 slice1 concat2 ROOT root"},
    /* In a loop's body, with 4 bytes that the caller holds. */
    {"in a loop",
     COND "body {\n" ROUND AFTER("x") "}\n",
     "p = f32[1] parameter(0)\n ROOT w = f32[1] while(p), condition=cond, body=body\n",
     {.limit_bytes = 14 * K},
     16388,
     12296,
     "body",
     "q flat x negate concat1 slice1 x.remat concat2 ROOT root"},
    {"in a loop in a loop",
     COND "inner {\n" ROUND AFTER("x") "}\n" OUTER,
     LOOP("outer"),
     {.limit_bytes = 14 * K},
     16388,
     12296,
     "inner",
     "q flat x negate concat1 slice1 x.remat concat2 ROOT root"},
    /* 4 KiB are live beside the loop, which is too much only together with its body. */
    {"beside a loop",
     COND "body {\n" ROUND AFTER("x") "}\n",
     BESIDE,
     {.limit_bytes = 17 * K},
     20488,
     16388,
     "e",
     "p w flat.remat h.remat b a.remat c ROOT d"},
    {"beside a loop, and that is enough",
     COND "body {\n" ROUND AFTER("x") "}\n",
     BESIDE,
     {.limit_bytes = 17 * K},
     20488,
     16388,
     "body",
     "q flat x negate concat1 slice1 concat2 ROOT root"},
    {"beside a loop and in it",
     COND "body {\n" ROUND AFTER("x") "}\n",
     BESIDE,
     {.limit_bytes = 13 * K},
     20488,
     12296,
     "body",
     "q flat x negate concat1 slice1 x.remat concat2 ROOT root"},
    /* A model in which all computations share one time: the values beside the loop are live at the
     * same time as those in it. */
    {"beside a loop, by live ranges",
     COND "body {\n" ROUND AFTER("x") "}\n",
     BESIDE,
     {.limit_bytes = 17 * K, .memory_model = "liveness-once"},
     20488,
     16388,
     "e",
     "p w flat.remat h.remat b a.remat c ROOT d"},
    {"in one of two branches",
     "large {\n" ROUND AFTER("x") "}\n small {\n" ROUND
                                  "ROOT y = f32[1] slice(x), slice={[0:1]} }\n",
     BRANCHES,
     {.limit_bytes = 17 * K},
     20488,
     16396,
     "large",
     "q flat x negate concat1 slice1 x.remat concat2 ROOT root"},
    {"not in the other one",
     "large {\n" ROUND AFTER("x") "}\n small {\n" ROUND
                                  "ROOT y = f32[1] slice(x), slice={[0:1]} }\n",
     BRANCHES,
     {.limit_bytes = 17 * K},
     20488,
     16396,
     "small",
     "q flat x ROOT y"},
};

START_TEST(row_is_reached) {
  check_row(&rows[_i], "path");
}
END_TEST

static const char *const samples[] = {
    "gpt_scan",  "gpt_unrolled", "lstm", "mlp_checkpoint",
    "mobilenet", "resnet",       "vgg",  "unet_donated",
};
enum { NUM_SAMPLES = sizeof samples / sizeof *samples };

/* The text of a result; frees the fixture. */
static char *remat_sample(const char *path, int percent, Arena *out) {
  Fixture fixture = fixture_parse_file(path);
  RematSetup setup = {.algorithm = "path",
                      .scheduler = strstr(path, "after") ? "input" : "default",
                      .limit_bytes = INT64_MAX / 2};
  int64_t before_bytes = fixture_remat(&fixture, &setup).before_bytes;
  setup.limit_bytes = before_bytes / 100 * percent;
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_msg(result.after_bytes <= before_bytes, "%s: more memory than before", path);
  char *text = print_or_fail(fixture.module, &result.schedule, PRINT_SCHEDULED, NULL);
  char *kept = arena_strndup(out, text, strlen(text));
  free(text);
  fixture_free(&fixture);
  return kept;
}

/* fixture_remat verifies the results; two runs must give the same text. */
START_TEST(samples_keep_their_meaning) {
  Arena *arena = arena_new(NULL);
  const char *stage = _i < NUM_SAMPLES ? "before" : "after";
  char *path =
      arena_printf(arena, "hlo_samples/%s.%s_optimizations.hlo", samples[_i % NUM_SAMPLES], stage);
  char *first = remat_sample(path, 70, arena);
  ck_assert_msg(strcmp(first, remat_sample(path, 70, arena)) == 0, "%s: two results", path);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("path");
  TCase *tc = tcase_create("path");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  tc = tcase_create("samples");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, samples_keep_their_meaning, 0, 2 * NUM_SAMPLES);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
