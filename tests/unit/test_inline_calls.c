#include "remat/rewrite/dce.h"
#include "remat/rewrite/inline_calls.h"
#include "support.h"

#define F "f { q = f32[4] parameter(0)\n a = f32[4] abs(q)\n ROOT b = f32[4] sine(a) }\n"
#define SAME "same { ROOT q = f32[4] parameter(0) }\n"
#define P "p = f32[4] parameter(0)\n"

static const struct {
  const char *name, *comps, *body, *left;
} rows[] = {
    {"a call", F,
     P "x = f32[4] tanh(p)\n c = f32[4] call(x), to_apply=f\n ROOT r = f32[4] negate(c)\n",
     "e{p#0 x(p) ROOT r(b) a(x) b(a)}"},
    {"the root", F, P "ROOT c = f32[4] call(p), to_apply=f\n", "e{p#0 a(p) ROOT b(a)}"},
    /* The last one takes the names over. */
    {"called twice", F,
     P "c = f32[4] call(p), to_apply=f\n d = f32[4] call(c), to_apply=f\n"
       "ROOT r = f32[4] add(c, d)\n",
     "e{p#0 ROOT r(b.inlined,b) a.inlined(p) b.inlined(a.inlined) a(b.inlined) b(a)}"},
    {"a call in a call",
     F
     "g { h = f32[4] parameter(0)\n i = f32[4] cosine(h)\n ROOT c = f32[4] call(i), to_apply=f }\n",
     P "ROOT d = f32[4] call(p), to_apply=g\n", "e{p#0 i(p) a(i) ROOT b(a)}"},
    {"nothing is computed", SAME,
     P "c = f32[4] call(p), to_apply=same\n ROOT r = f32[4] negate(c)\n", "e{p#0 ROOT r(p)}"},
    {"nothing at all is computed", SAME, P "ROOT c = f32[4] call(p), to_apply=same\n",
     "e{ROOT p#0}"},
    {"parameters in another order",
     "sub { l = f32[4] parameter(1)\n m = f32[4] parameter(0)\n ROOT s = f32[4] subtract(l, m) }\n",
     P "n = f32[4] negate(p)\n ROOT c = f32[4] call(p, n), to_apply=sub\n",
     "e{p#0 n(p) ROOT s(n,p)}"},
    {"in a loop",
     F "cond { cp = f32[4] parameter(0)\n ROOT t = pred[] constant(true) }\n"
       "body { bp = f32[4] parameter(0)\n ROOT c = f32[4] call(bp), to_apply=f }\n",
     P "ROOT w = f32[4] while(p), condition=cond, body=body\n",
     "cond{cp#0 ROOT t} body{bp#0 a(bp) ROOT b(a)} e{p#0 ROOT w(p)}"},
    {"a backend_config keeps it", F,
     P "ROOT c = f32[4] call(p), to_apply=f, backend_config=\"x\"\n",
     "f{q#0 a(q) ROOT b(a)} e{p#0 ROOT c(p)}"},
    {"XLA:CPU compiles it as one function", F,
     P "ROOT c = f32[4] call(p), to_apply=f, frontend_attributes={xla_cpu_small_call=\"true\"}\n",
     "f{q#0 a(q) ROOT b(a)} e{p#0 ROOT c(p)}"},
    {"Shardy looks for it",
     "xla.sdy.manual_computation_body.2 { q = f32[4] parameter(0)\n a = f32[4] abs(q)\n"
     "ROOT b = f32[4] sine(a) }\n",
     P "ROOT c = f32[4] call(p), to_apply=xla.sdy.manual_computation_body.2\n",
     "xla.sdy.manual_computation_body.2{q#0 a(q) ROOT b(a)} e{p#0 ROOT c(p)}"},
    {"another thread keeps it", "f { ROOT q = f32[4] parameter(0) }, execution_thread=\"t\"\n",
     P "ROOT c = f32[4] call(p), to_apply=f\n", "f{ROOT q#0} e{p#0 ROOT c(p)}"},
    {"an asynchronous operation keeps it", F,
     P "s = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n ROOT d = f32[4] call-done(s)\n",
     "f{q#0 a(q) ROOT b(a)} e{p#0 s(p) ROOT d(s)} "
     "async_wrapped{async_param#0 ROOT async_op(async_param)}"},
    {"a written asynchronous computation keeps it",
     F "g { h = f32[4] parameter(0)\n ROOT c = f32[4] call(h), to_apply=f }\n",
     P "s = ((f32[4]), f32[4], u32[]) async-start(p), calls=g\n ROOT d = f32[4] async-done(s)\n",
     "f{q#0 a(q) ROOT b(a)} g{h#0 ROOT c(h)} e{p#0 s(p) ROOT d(s)}"},
    {"fusions and reducers stay",
     F "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n",
     P "x = f32[4] fusion(p), kind=kLoop, calls=f\n z = f32[] constant(0)\n"
       "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n",
     "f{q#0 a(q) ROOT b(a)} sum{l#0 m#1 ROOT s(l,m)} e{p#0 x(p) z ROOT r(x,z)}"},
};

START_TEST(only_this_is_left) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Rewrite rewrite = rewrite_begin(fixture.module);
  ck_assert_int_eq(inline_calls(&rewrite, NULL, NULL, fixture.out, fixture.scratch), RH_OK);
  dce_run(&rewrite, fixture.scratch);
  check_text(listing_of(fixture.module, fixture.out), rows[_i].left, rows[_i].name);
  Schedule schedule = fixture_schedule(&fixture, "postorder");
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* In a scheduled module the copies stand where the call stood, in their computation's order. */
START_TEST(copies_take_the_call_s_place) {
  Fixture fixture = fixture_parse_body(
      "f { q = f32[4] parameter(0)\n z = f32[4] cosine(q)\n a = f32[4] abs(q)\n"
      "ROOT b = f32[4] add(a, z) }\n",
      P "c = f32[4] call(p), to_apply=f\n x = f32[4] tanh(p)\n ROOT r = f32[4] add(c, x)\n");
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  Rewrite rewrite = rewrite_begin(fixture.module);
  ck_assert_int_eq(inline_calls(&rewrite, &schedule, NULL, fixture.out, fixture.scratch), RH_OK);
  dce_run(&rewrite, fixture.scratch);
  dce_update_schedule(fixture.module, &schedule, fixture.out);
  check_schedule(fixture.module, &schedule);
  check_text(scheduled_names(&fixture, &schedule, "e"), "p z a b x ROOT r", "e");
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* What ran before the call runs before all of it, what waited for it waits for its end. */
START_TEST(control_dependencies_pass_to_the_copies) {
  Fixture fixture = fixture_parse_body(
      F, P
      "x = f32[4] tanh(p)\n c = f32[4] call(p), to_apply=f, control-predecessors={x}\n"
      "y = f32[4] cosine(p), control-predecessors={c}\n"
      "ROOT r = (f32[4], f32[4], f32[4]) tuple(x, c, y)\n");
  Module *module = fixture.module;
  Rewrite rewrite = rewrite_begin(module);
  ck_assert_int_eq(inline_calls(&rewrite, NULL, NULL, fixture.out, fixture.scratch), RH_OK);
  dce_run(&rewrite, fixture.scratch);
  static const char *const waiting[][2] = {{"a", "x"}, {"y", "x b"}, {"b", ""}, {"x", ""}};
  for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
    IdList list = inst_control(module, find_inst(module, waiting[i][0]))->predecessors;
    check_text(names_of(module, id_list(module, list), list.len, fixture.out), waiting[i][1],
               waiting[i][0]);
  }
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("inline_calls");
  TCase *tc = tcase_create("inline_calls");
  tcase_add_loop_test(tc, only_this_is_left, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, copies_take_the_call_s_place);
  tcase_add_test(tc, control_dependencies_pass_to_the_copies);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
