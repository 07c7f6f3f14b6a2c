#include "remat/job/clone_callees.h"

#include <stdlib.h>

#include "support.h"

#define K 1024

/* 16 KiB, and 12 KiB if `x` is recomputed for concat2. */
#define ROUND(p)                                                      \
  "x = f32[1024] broadcast(" p                                        \
  "), dimensions={}\n"                                                \
  "negate = f32[1024] negate(x)\n"                                    \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "concat2 = f32[1025] concatenate(x, slice1), dimensions={0}\n"      \
  "slice2 = f32[1] slice(concat2), slice={[0:1]}\n"
#define WORK "work { p = f32[] parameter(0)\n" ROUND("p") "ROOT r = f32[] reshape(slice2) }\n"
#define COND "cond { c = f32[] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define CALL(name, from) name " = f32[] call(" from "), to_apply=work\n"
#define LOOP(name, from) name " = f32[] while(" from "), condition=cond, body=work\n"
#define HELD(name, elements) \
  name " = f32[" elements "] custom-call(p), custom_call_target=\"load\"\n"
#define USE(name, held) name " = f32[1] slice(" held "), slice={[0:1]}\n"
#define P "p = f32[] parameter(0)\n"
#define TIGHT_LAST(call) \
  P HELD("h", "256") call("a", "p") USE("u", "h") HELD("g", "1024")         \
      call("b", "a") USE("v", "g") "s = f32[1] add(u, v)\n q = f32[] reshape(s)\n" \
      "ROOT e = f32[] add(q, b)\n"

/* The callees of each computation, with `+` after a computation that recomputes something. Custom
 * calls are never recomputed. */
static const struct {
  const char *name, *comps, *body;
  int64_t limit_bytes;
  const char *shared, *cloned;
} rows[] = {
    {"within the limit", WORK, TIGHT_LAST(CALL), 21 * K, "a:work b:work", "a:work b:work"},
    {"the second call is tight", WORK, TIGHT_LAST(CALL), 19 * K, "a:work+ b:work+",
     "a:work b:work.clone+"},
    {"both are", WORK, TIGHT_LAST(CALL), 16 * K, "a:work+ b:work+", "a:work+ b:work+"},
    {"loops", WORK COND, TIGHT_LAST(LOOP), 19 * K, "a:work+ b:work+", "a:work b:work.clone+"},
    {"the same room", WORK, P CALL("a", "p") "ROOT " CALL("b", "a"), 14 * K, "a:work+ b:work+",
     "a:work+ b:work+"},
    {"branches of one conditional", WORK,
     P "k = pred[] parameter(1)\n"
       "ROOT c = f32[] conditional(k, p, p), true_computation=work, false_computation=work\n",
     14 * K, "c:work+ c:work+", "c:work+ c:work+"},
    {"branches of two", WORK,
     P "k = pred[] parameter(1)\n" HELD(
         "h", "1024") "c = f32[] conditional(k, p, p), true_computation=work, "
                      "false_computation=work\n" USE("u", "h") "q = f32[] reshape(u)\n"
                                                               "d = f32[] conditional(k, q, c), "
                                                               "true_computation=work, "
                                                               "false_computation=work\n"
                                                               "ROOT e = f32[] add(q, d)\n",
     34 * K, "c:work+ c:work+ d:work+ d:work+", "c:work+ c:work+ d:work.clone d:work.clone"},
    {"callees of callees", WORK "outer { p = f32[] parameter(0)\n ROOT " CALL("i", "p") "}\n",
     P HELD("h", "1024") "a = f32[] call(p), to_apply=outer\n" USE(
         "u", "h") "q = f32[] reshape(u)\n"
                   "b = f32[] call(q), to_apply=outer\n ROOT e = f32[] add(a, b)\n",
     19 * K, "i:work+ a:outer b:outer", "i:work+ a:outer b:outer.clone i.clone:work.clone"},
    {"asynchronous", WORK "w2 { p = f32[] parameter(0)\n ROOT " CALL("i", "p") "}\n",
     P HELD("h", "1024") "s = ((f32[]), f32[], u32[]) async-start(p), calls=w2\n"
                         "a = f32[] async-done(s), calls=w2\n" USE(
                             "u",
                             "h") "q = f32[] reshape(u)\n"
                                  "z = ((f32[]), f32[], u32[]) async-start(q), calls=w2\n"
                                  "b = f32[] async-done(z), calls=w2\n ROOT e = f32[] add(a, b)\n",
     19 * K, "i:work+ s:w2 a:w2 z:w2 b:w2",
     "i:work+ s:w2 a:w2 z:w2.clone b:w2.clone i.clone:work.clone"},
};

static bool has_clones(const Module *module, CompId comp) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (inst_get(module, comp_inst(module, comp, i))->flags & INST_REMAT) return true;
  }
  return false;
}

static const char *calls_of(Fixture *fixture) {
  const Module *module = fixture->module;
  const char *text = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    for (uint32_t i = 0; i < inst->num_callees; i++) {
      CompId callee = inst_callees(module, id)[i];
      Str name = inst_name(module, id), of_callee = comp_name(module, callee);
      if (str_is(of_callee, "cond")) continue;
      text_add(fixture->out, &text, "%.*s:%.*s%s", (int)name.len, name.data, (int)of_callee.len,
               of_callee.data, has_clones(module, callee) ? "+" : "");
    }
  }
  return text;
}

static void check_row(int row, bool clones_callees, const char *algorithm, const char *wanted) {
  Fixture fixture = fixture_parse_body(rows[row].comps, rows[row].body);
  RematSetup setup = {.algorithm = algorithm,
                      .limit_bytes = rows[row].limit_bytes,
                      .is_per_caller = true,
                      .clones_callees = clones_callees};
  RematResult result = fixture_remat(&fixture, &setup);
  ck_assert_int_le(result.after_bytes, result.before_bytes);
  check_text(calls_of(&fixture), wanted, rows[row].name);
  fixture_free(&fixture);
}

START_TEST(only_who_has_no_room_pays) {
  check_row(_i, false, "path", rows[_i].shared);
  check_row(_i, true, "path", rows[_i].cloned);
  check_row(_i, true, "peak-priority", rows[_i].cloned);
}
END_TEST

/* Every caller holds one array more than the previous one. */
START_TEST(clones_are_bounded) {
  enum { NUM_CALLERS = 1100, MAX_CLONES = 1000 };
  Arena *arena = arena_new(NULL);
  const char *text = "x0 = f32[8] parameter(0)\n";
  for (int i = 1; i <= NUM_CALLERS; i++)
    text_add(arena, &text, "x%d = f32[8] call(x%d), to_apply=f\n", i, i - 1);
  text_add(arena, &text, "y%d = f32[8] sine(x%d)\n", NUM_CALLERS, NUM_CALLERS);
  for (int i = NUM_CALLERS - 1; i > 0; i--)
    text_add(arena, &text, "y%d = f32[8] add(y%d, x%d)\n", i, i + 1, i);
  text_add(arena, &text, "ROOT e = f32[8] sine(y1)\n");
  Fixture fixture = fixture_parse_body(
      "f { p = f32[8] parameter(0)\n a = f32[8] sine(p)\n ROOT r = f32[8] sine(a) }\n", text);
  uint32_t num_comps = fixture.module->comps.len;
  RematSetup setup = {.algorithm = "none", .limit_bytes = 0, .clones_callees = true};
  (void)fixture_remat(&fixture, &setup);
  ck_assert_uint_eq(fixture.module->comps.len - num_comps, MAX_CLONES);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("clone_callees");
  TCase *tc = tcase_create("clone_callees");
  tcase_add_loop_test(tc, only_who_has_no_room_pays, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, clones_are_bounded);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
