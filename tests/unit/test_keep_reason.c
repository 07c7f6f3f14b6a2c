#include "remat/legality/keep_reason.h"

#include "support.h"

#define P "p = f32[] parameter(0)\n"
/* The peak is at concat1, where negate and concat1 are in use. */
#define PEAK(value)                                                   \
  "negate = f32[1024] negate(" value                                  \
  ")\n"                                                               \
  "concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "slice1 = f32[1] slice(concat1), slice={[0:1]}\n"
#define READ_LATER(value)                  \
  "concat2 = f32[1025] concatenate(" value \
  ", slice1), dimensions={0}\n"            \
  "ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define BCAST "x = f32[1024] broadcast(p), dimensions={}\n"
/* A loop w, which squares an array ten times, and what else its body computes of n. */
#define LOOP(more)                                                                         \
  "sum { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT s = f32[] add(l, r) }\n"   \
  "body { s = (s32[], f32[1024]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n" \
  " v = f32[1024] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"               \
  " j = s32[] add(i, one)\n n = f32[1024] multiply(v, v)\n" more                           \
  " ROOT t = (s32[], f32[1024]) tuple(j, n) }\n"                                           \
  "cond { s = (s32[], f32[1024]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n" \
  " end = s32[] constant(10)\n ROOT c = pred[] compare(i, end), direction=LT }\n"
/* The same loop, which ends when a value of its state says so. */
#define OPEN_LOOP                                                                                \
  "body { s = (pred[], f32[1024]) parameter(0)\n i = pred[] get-tuple-element(s), index=0\n"     \
  " v = f32[1024] get-tuple-element(s), index=1\n n = f32[1024] multiply(v, v)\n"                \
  " f = f32[1] slice(n), slice={[0:1]}\n r = f32[] reshape(f)\n"                                 \
  " j = pred[] compare(r, r), direction=NE\n ROOT t = (pred[], f32[1024]) tuple(j, n) }\n"       \
  "cond { s = (pred[], f32[1024]) parameter(0)\n ROOT c = pred[] get-tuple-element(s), index=0 " \
  "}\n"
#define RUN_LOOP_OF(count, first, control)                                        \
  P "b = f32[1024] broadcast(p), dimensions={}\n z = " count first " i = (" count \
    ", f32[1024]) tuple(z, b)\n w = (" count                                      \
    ", f32[1024]) while(i), condition=cond, body=body" control                    \
    "\n x = f32[1024] get-tuple-element(w), index=1\n"
#define RUN_LOOP RUN_LOOP_OF("s32[]", " constant(0)\n", "")
#define RUN_WAITING_LOOP RUN_LOOP_OF("s32[]", " constant(0)\n", ", control-predecessors={z}")
#define RUN_OPEN_LOOP RUN_LOOP_OF("pred[]", " constant(true)\n", "")

static const struct {
  const char *what, *model, *comps, *body;
  int64_t small_node_bytes;
  const char *reasons; /* of the live buffers, the largest first */
  bool repeats_loops;
} rows[] = {
    {"may be recomputed", "xla-remat", "", P BCAST PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=none negate=in-use", false},
    {"small", "xla-remat", "", P BCAST PEAK("x") READ_LATER("x"), 4096,
     "concat1=in-use x=small negate=in-use", false},
    {"a small collective", "xla-remat",
     "sum { l = f32[] parameter(0)\n r = f32[] parameter(1)\n ROOT s = f32[] add(l, r) }\n",
     P "b = f32[1024] broadcast(p), dimensions={}\n"
       "x = f32[1024] all-reduce(b), replica_groups={}, to_apply=sum\n" PEAK("x") READ_LATER("x"),
     4096, "concat1=in-use x=collective+small negate=in-use", false},
    {"one of several results", "xla-remat",
     "f { q = f32[] parameter(0)\n n = f32[1024] broadcast(q), dimensions={}\n"
     " ROOT t = (f32[1024], f32[]) tuple(n, q) }\n",
     P "f = (f32[1024], f32[]) fusion(p), kind=kLoop, calls=f\n"
       "x = f32[1024] get-tuple-element(f), index=0\n" PEAK("x") READ_LATER("x"),
     64, "concat1=in-use f=small-tuple negate=in-use", false},
    {"from what would take as much", "xla-remat", "",
     P "c = f32[1024] custom-call(p), custom_call_target=\"t\"\n"
       "x = f32[1024] negate(c)\n" PEAK("x") READ_LATER("x"),
     0, "concat1=in-use x=operands-larger negate=in-use", false},
    {"from small values that would take as much", "xla-remat", "",
     P "b = f32[512] broadcast(p), dimensions={}\n n = f32[512] negate(b)\n"
       "x = f32[1024] concatenate(b, n), dimensions={0}\n" PEAK("x") READ_LATER("x"),
     2048, "concat1=in-use x=operands-larger+small-operands negate=in-use", false},
    {"from small values that may be recomputed", "xla-remat", "",
     P "b = f32[512] broadcast(p), dimensions={}\n n = f32[512] negate(b)\n"
       "x = f32[1024] concatenate(b, n), dimensions={0}\n" PEAK("x") READ_LATER("x"),
     0, "concat1=in-use x=none negate=in-use", false},
    {"not that small", "xla-remat", "", P BCAST PEAK("x") READ_LATER("x"), 4095,
     "concat1=in-use x=none negate=in-use", false},
    {"a parameter", "liveness", "", P BCAST PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=none negate=in-use p=parameter", false},
    {"a constant", "xla-remat", "", "x = f32[1024] constant({...})\n" PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=constant negate=in-use", false},
    {"a custom call", "xla-remat", "",
     P "x = f32[1024] custom-call(p), custom_call_target=\"t\"\n" PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=custom-call negate=in-use", false},
    {"random numbers", "xla-remat", "",
     P "x = f32[1024] rng(p, p), distribution=rng_uniform\n" PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=side-effect negate=in-use", false},
    {"a copy", "xla-remat", "", P BCAST "y = f32[1024] copy(x)\n" PEAK("y") READ_LATER("y"), 0,
     "concat1=in-use y=copy negate=in-use", false},
    {"a call", "xla-remat",
     "f { q = f32[] parameter(0)\n ROOT b = f32[1024] broadcast(q), dimensions={} }\n",
     P "x = f32[1024] call(p), to_apply=f\n" PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use x=control-flow negate=in-use", false},
    {"what a loop begins with", "xla-remat", LOOP(""), RUN_LOOP PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use b=indirect-use negate=in-use", false},
    {"a loop", "liveness-once", LOOP(""), RUN_LOOP PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use w=loop negate=in-use p=parameter", false},
    {"a loop, where loops may run again", "liveness-once", LOOP(""),
     RUN_LOOP PEAK("x") READ_LATER("x"), 0, "concat1=in-use w=loop-tried negate=in-use p=parameter",
     true},
    {"a loop with a collective", "liveness-once",
     LOOP(" g = f32[1024] all-reduce(n), to_apply=sum\n"), RUN_LOOP PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use w=inner-collective negate=in-use p=parameter", true},
    {"a loop that waits", "liveness-once", LOOP(""), RUN_WAITING_LOOP PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use w=control-dependency negate=in-use p=parameter", true},
    {"a loop that runs as long as its argument says", "liveness-once", OPEN_LOOP,
     RUN_OPEN_LOOP PEAK("x") READ_LATER("x"), 0,
     "concat1=in-use w=loop-trips negate=in-use p=parameter", .repeats_loops = true},
    {"something waits for it", "xla-remat", "",
     P BCAST PEAK("x") "w = f32[] negate(p), control-predecessors={x}\n" READ_LATER("x"), 0,
     "concat1=in-use x=control-dependency negate=in-use", false},
    {"a result", "liveness", "",
     P BCAST PEAK("x") "concat2 = f32[1025] concatenate(x, slice1), dimensions={0}\n"
                       "ROOT t = (f32[1024], f32[1]) tuple(x, slice1)\n",
     0, "concat1=in-use x=live-out negate=in-use p=parameter", false},
    {"through a barrier", "xla-remat", "",
     P BCAST PEAK("x") "o = f32[1024] opt-barrier(x)\n" READ_LATER("o"), 0,
     "concat1=in-use x=indirect-use negate=in-use", false},
    {"through a tuple", "xla-remat", "",
     P BCAST PEAK("x") "t = (f32[1024]) tuple(x)\n y = f32[1024] get-tuple-element(t), "
                       "index=0\n" READ_LATER("y"),
     0, "concat1=in-use x=none negate=in-use", false},
    {"changed in place", "xla-remat",
     "f { q = f32[1024] parameter(0)\n n = f32[1024] negate(q)\n ROOT t = (f32[1024]) tuple(n) }\n",
     P BCAST PEAK("x") "f = (f32[1024]) fusion(x), kind=kLoop, "
                       "output_to_operand_aliasing={{0}: (0, {})}, calls=f\n"
                       "y = f32[1024] get-tuple-element(f), index=0\n" READ_LATER("y"),
     0, "concat1=in-use x=indirect-use negate=in-use", false},
    {"through a bitcast", "xla-remat", "",
     P "b = f32[1024,1] broadcast(p), dimensions={}\n x = f32[1024] bitcast(b)\n" PEAK("x")
         READ_LATER("x"),
     0, "concat1=in-use b=none negate=in-use", false},
    {"through a bitcast that waits", "xla-remat", "",
     P "w = f32[] negate(p)\n b = f32[1024,1] broadcast(p), dimensions={}\n"
       "x = f32[1024] bitcast(b), control-predecessors={w}\n" PEAK("x") READ_LATER("x"),
     0, "concat1=in-use b=control-dependency negate=in-use", false},
    {"through a bitcast that is waited for", "xla-remat", "",
     P "b = f32[1024,1] broadcast(p), dimensions={}\n x = f32[1024] bitcast(b)\n"
       "w = f32[] negate(p), control-predecessors={x}\n" PEAK("x") READ_LATER("x"),
     0, "concat1=in-use b=control-dependency negate=in-use", false},
    {"through a get-tuple-element that waits", "xla-remat", "",
     P BCAST PEAK("x") "w = f32[] negate(p)\n t = (f32[1024]) tuple(x)\n"
                       "y = f32[1024] get-tuple-element(t), index=0, "
                       "control-predecessors={w}\n" READ_LATER("y"),
     0, "concat1=in-use x=control-dependency negate=in-use", false},
};

START_TEST(reasons_match_table) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  const MemoryModel *model = memory_model_find(rows[_i].model);
  LiveSet live;
  MemoryProfile profile = model->measure(module, &schedule, &live, fixture.out, fixture.scratch);
  ck_assert(str_is(inst_name(module, profile.peak_inst), "concat1"));
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, fixture.out, fixture.scratch),
                       .small_node_bytes = rows[_i].small_node_bytes};
  KeepReasons *reasons = arena_array(fixture.out, KeepReasons, live.len);
  KeepRules rules = {.legality = &legality, .repeats_loops = rows[_i].repeats_loops};
  find_keep_reasons(module, &schedule, &rules, &profile, &live, reasons, fixture.scratch);
  const char *text = "";
  for (uint32_t i = 0; i < live.len; i++) {
    Str name = inst_name(module, live.list[i].inst);
    char all[200] = "";
    for (uint32_t k = 0; k < reasons[i].len; k++) {
      strcat(all, k ? "+" : "");
      strcat(all, keep_reason_name(reasons[i].list[k]));
    }
    text_add(fixture.out, &text, "%.*s=%s", (int)name.len, name.data, all);
  }
  check_text(text, rows[_i].reasons, rows[_i].what);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("keep_reason");
  TCase *tc = tcase_create("keep_reason");
  tcase_add_loop_test(tc, reasons_match_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
