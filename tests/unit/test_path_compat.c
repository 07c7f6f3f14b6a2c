#include "path_fixture.h"

#define K 1024

/* Both a and b read bcast, and x reads both. */
#define DIAMOND                                          \
  P "half = f32[512] broadcast(p), dimensions={}\n"      \
    "a = f32[512] abs(half)\n b = f32[512] tanh(half)\n" \
    "x = f32[1024] concatenate(a, b), dimensions={0}\n" AFTER("x")
#define COND "cond { cp = f32[1] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define BODY                                                   \
  "body { q = f32[1] parameter(0)\n flat = f32[] reshape(q)\n" \
  "x = f32[1024] broadcast(flat), dimensions={}\n" AFTER("x") "}\n"
#define CALL(name) \
  "f32[1] custom-call(p), custom_call_target=\"" name "\", custom_call_has_side_effect=true\n"

static const Row rows[] = {
    {"what is at the limit stays",
     "",
     P BCAST AFTER("bcast"),
     {.limit_bytes = 12292},
     16388,
     12292,
     "e",
     "p bcast negate concat1 slice1 bcast.remat concat2 ROOT root"},
    /* Undoing begins below the limit, and ends above it. */
    {"the last undoing is not taken back",
     "",
     P BCAST AFTER("bcast"),
     {.limit_bytes = 12293},
     16388,
     16388,
     "e",
     "p bcast negate concat1 slice1 concat2 ROOT root"},
    {"a clone for every path",
     "",
     DIAMOND,
     {.limit_bytes = 12292},
     16388,
     12292,
     "e",
     "p half a b x negate concat1 slice1 half.remat a.remat half.remat.1 b.remat x.remat concat2 "
     "ROOT root"},
    {"two instructions deep",
     "",
     DIAMOND,
     {.limit_bytes = 12292 + 2 * K, .path_depth = 2},
     16388,
     12292 + 2 * K,
     "e",
     "p half a b x negate concat1 slice1 a.remat b.remat x.remat concat2 ROOT root"},
    /* A clone is made even if it does not help: a and b are live instead. */
    {"one instruction deep",
     "",
     DIAMOND,
     {.limit_bytes = 12292, .path_depth = 1},
     16388,
     16388,
     "e",
     "p half b a x.remat x negate concat1 slice1 concat2 ROOT root"},
    /* The search reaches both of y's users from x first. */
    {"what is no point",
     "",
     P "q = f32[] parameter(1)\n x = f32[1024] broadcast(p), dimensions={}\n"
       "y = f32[1024] broadcast(q), dimensions={}\n w = f32[1024] add(x, y)\n"
       "negate = f32[1024] negate(w)\n"
       "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n"
       "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"
       "concat2 = f32[1025] concatenate(y, slice1), dimensions={0}\n"
       "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n",
     {.limit_bytes = 12292},
     16388,
     16388,
     "e",
     "q p y x w negate concat1 slice1 concat2 ROOT root"},
    {"side effects keep their order",
     "",
     P BCAST "one = " CALL("one") "two = " CALL("two") "three = " CALL("three") AFTER("bcast"),
     {.limit_bytes = 12292},
     16388,
     12292,
     "e",
     "p one two three bcast negate concat1 slice1 bcast.remat concat2 ROOT root"},
    {"a loop's body, once",
     COND BODY,
     "p = f32[1] parameter(0)\n w = f32[1] while(p), condition=cond, body=body\n"
     "flat = f32[] reshape(w)\n h = f32[8192] broadcast(flat), dimensions={}\n"
     "ROOT n = f32[1] slice(h), slice={[0:1]}\n",
     {.limit_bytes = 1},
     32776,
     32776,
     "body",
     "q flat.remat flat x negate x.remat concat1 slice1 concat2 ROOT root"},
    {"a loop at the peak",
     COND BODY,
     "p = f32[1] parameter(0)\n w = f32[1] while(p), condition=cond, body=body\n"
     "ROOT n = f32[1] negate(w)\n",
     {.limit_bytes = 1},
     16388,
     16388,
     "body",
     "q flat x negate concat1 slice1 concat2 ROOT root"},
    {"a loop that nobody reads",
     COND BODY,
     "p = f32[1] parameter(0)\n ROOT w = f32[1] while(p), condition=cond, body=body\n",
     {.limit_bytes = 1},
     16388,
     16388,
     "body",
     "q flat x negate concat1 slice1 concat2 ROOT root"},
};

START_TEST(row_is_reached) {
  check_row(&rows[_i], "path-compat");
}
END_TEST

/* Two paths lead through each rung, which makes 2^30 paths in total. */
START_TEST(clones_are_bounded) {
  enum { NUM_RUNGS = 30 };
  Arena *arena = arena_new(NULL);
  const char *body = P "v0 = f32[1024] broadcast(p), dimensions={}\n";
  for (int i = 0; i < NUM_RUNGS; i++) {
    body = arena_printf(arena,
                        "%sa%d = f32[1024] abs(v%d)\n b%d = f32[1024] tanh(v%d)\n"
                        "v%d = f32[1024] add(a%d, b%d)\n",
                        body, i, i, i, i, i + 1, i, i);
  }
  body = arena_printf(arena, "%s" AFTER("v30"), body);
  Fixture fixture = fixture_parse_body("", body);
  RematSetup setup = {.algorithm = "path-compat", .limit_bytes = 1, .path_depth = 1000};
  ck_assert(fixture_remat(&fixture, &setup).stats.is_cut);
  fixture_free(&fixture);
  fixture = fixture_parse_body("", body);
  setup.path_depth = 8;
  ck_assert(!fixture_remat(&fixture, &setup).stats.is_cut);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("path_compat");
  TCase *tc = tcase_create("path_compat");
  tcase_add_loop_test(tc, row_is_reached, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, clones_are_bounded);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
