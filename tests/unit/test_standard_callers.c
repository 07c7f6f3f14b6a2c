#include <stdlib.h>

#include "support.h"

#define K 1024

/* 20 KiB at `concat1`, or 15 KiB if `wide` is recomputed for concat2; then 16 KiB, or 12 KiB if
 * `thin` is recomputed for concat4. */
#define TWO_PEAKS(wide)                                                          \
  "p = f32[] parameter(0)\n wide = f32[1280] " wide                              \
  "\n"                                                                           \
  "negate = f32[1280] negate(wide)\n"                                            \
  "concat1 = f32[2560] concatenate(negate, negate), dimensions={0}\n"            \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                              \
  "concat2 = f32[1281] concatenate(wide, slice1), dimensions={0}\n"              \
  "slice2 = f32[1] slice(concat2), slice={[0:1]}\n r = f32[] reshape(slice2)\n"  \
  "thin = f32[1024] broadcast(r), dimensions={}\n sine = f32[1024] sine(thin)\n" \
  "concat3 = f32[2048] concatenate(sine, sine), dimensions={0}\n"                \
  "slice3 = f32[1] slice(concat3), slice={[0:1]}\n"                              \
  "concat4 = f32[1025] concatenate(thin, slice3), dimensions={0}\n"              \
  "slice4 = f32[1] slice(concat4), slice={[0:1]}\n ROOT s = f32[] reshape(slice4)\n"
#define BCAST "broadcast(p), dimensions={}"
#define WORK "work {\n" TWO_PEAKS(BCAST) "}\n"
#define COND "cond { c = f32[] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define HELD(name, elements) \
  name " = f32[" elements "] custom-call(p), custom_call_target=\"load\"\n"
#define USE(name, held) \
  name ".1 = f32[1] slice(" held "), slice={[0:1]}\n" name " = f32[] reshape(" name ".1)\n"
#define P "p = f32[] parameter(0)\n"
#define TWICE(first, second)                                            \
  P HELD("g", "1024") first USE("u", "g") HELD("h", "1408") second USE( \
      "v", "h") "x = f32[] add(a, b)\n y = f32[] add(u, v)\n ROOT z = f32[] add(x, y)\n"
#define CALL(name) name " = f32[] call(p), to_apply=work\n"
#define LOOP(name) name " = f32[] while(p), condition=cond, body=work\n"
#define COND_2                                                                          \
  "k = pred[] constant(true)\n a = f32[] conditional(k, p, p), true_computation=work, " \
  "false_computation=other\n"

/* KiB by the model xla-remat: before XLA's pass, after it, and after reducing again with what
 * callers hold. */
static const struct {
  const char *name, *algorithm, *comps, *body;
  int64_t limit_kib, before, once, per_caller;
} rows[] = {
    {"the second of two calls is tighter", "standard", WORK, TWICE(CALL("a"), CALL("b")), 21, 25,
     21, 20},
    {"the same by peaks", "peak-priority", WORK, TWICE(CALL("a"), CALL("b")), 21, 25, 21, 20},
    {"a call, then a loop", "standard", WORK COND, TWICE(CALL("a"), LOOP("b")), 21, 25, 21, 20},
    {"a fusion that gets computations of its own", "standard",
     "f { q = f32[] parameter(0)\n ROOT o = f32[1280] broadcast(q), dimensions={} }\n"
     "work {\n" TWO_PEAKS("fusion(p), kind=kLoop, calls=f") "}\n",
     TWICE(CALL("a"), CALL("b")), 21, 25, 21, 20},
    {"loops in loops", "standard",
     WORK COND "outer { p = f32[] parameter(0)\n" LOOP("i") "ROOT n = f32[] negate(i) }\n",
     TWICE(CALL("a"), "b = f32[] while(p), condition=cond, body=outer\n"), 21, 25, 21, 20},
    {"within the limit", "standard", WORK, TWICE(CALL("a"), CALL("b")), 26, 25, 25, 25},
    {"branches, each within what is left", "standard",
     WORK "other { p = f32[] parameter(0)\n w = f32[2048] broadcast(p), dimensions={}\n"
          "l = f32[1] slice(w), slice={[0:1]}\n ROOT r = f32[] reshape(l) }\n",
     P HELD("g", "1024") COND_2 USE("u", "g") "ROOT z = f32[] add(a, u)\n", 28, 32, 32, 27},
    {"one computation", "standard", "", TWO_PEAKS(BCAST), 13, 20, 15, 15},
};

static int64_t kib_after(int row, bool is_per_caller, int64_t *before) {
  Fixture fixture = fixture_parse_body(rows[row].comps, rows[row].body);
  RematSetup setup = {.algorithm = rows[row].algorithm,
                      .limit_bytes = rows[row].limit_kib * K,
                      .is_per_caller = is_per_caller};
  RematResult result = fixture_remat(&fixture, &setup);
  *before = result.before_bytes / K;
  fixture_free(&fixture);
  return result.after_bytes / K;
}

START_TEST(what_callers_hold_counts) {
  int64_t before;
  int64_t once = kib_after(_i, false, &before), per_caller = kib_after(_i, true, &before);
  ck_assert_msg(
      before == rows[_i].before && once == rows[_i].once && per_caller == rows[_i].per_caller,
      "%s: %d -> %d or %d KiB", rows[_i].name, (int)before, (int)once, (int)per_caller);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("standard_callers");
  TCase *tc = tcase_create("standard_callers");
  tcase_add_loop_test(tc, what_callers_hold_counts, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
