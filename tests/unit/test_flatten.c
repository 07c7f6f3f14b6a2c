#include "remat/rewrite/dce.h"
#include "remat/rewrite/flatten.h"
#include "support.h"

#define COND "cond { cp = f32[4] parameter(0)\n ROOT t = pred[] constant(true) }\n"
#define BODY "body { bp = f32[4] parameter(0)\n ROOT n = f32[4] negate(bp) }\n"
#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define F "f { q = f32[4] parameter(0)\n ROOT a = f32[4] abs(q) }\n"
#define P "p = f32[4] parameter(0)\n"
#define LOOP(name, of) name " = f32[4] while(" of "), condition=cond, body=body\n"

static const struct {
  const char *name, *comps, *body;
  const char *caller, *callees; /* of the instruction that gets copies */
  const char *left;
} rows[] = {
    {"called once", COND BODY, P "ROOT " LOOP("w", "p"), "w", "body cond",
     "cond{cp#0 ROOT t} body{bp#0 ROOT n(bp)} e{p#0 ROOT w(p)}"},
    {"two loops", COND BODY, P LOOP("v", "p") "ROOT " LOOP("w", "v"), "w", "body.clone cond.clone",
     "cond{cp#0 ROOT t} body{bp#0 ROOT n(bp)} e{p#0 v(p) ROOT w(v)} "
     "cond.clone{cp.clone#0 ROOT t.clone} body.clone{bp.clone#0 ROOT n.clone(bp.clone)}"},
    {"two branches", F,
     P "k = pred[] parameter(1)\n"
       "ROOT c = f32[4] conditional(k, p, p), true_computation=f, false_computation=f\n",
     "c", "f f.clone",
     "f{q#0 ROOT a(q)} e{p#0 k#1 ROOT c(k,p,p)} f.clone{q.clone#0 ROOT a.clone(q.clone)}"},
    {"a copy's callees are copied",
     F "g { h = f32[4] parameter(0)\n ROOT d = f32[4] call(h), to_apply=f }\n",
     P "x = f32[4] call(p), to_apply=g\n ROOT y = f32[4] call(x), to_apply=g\n", "d.clone",
     "f.clone",
     "f{q#0 ROOT a(q)} g{h#0 ROOT d(h)} e{p#0 x(p) ROOT y(x)} g.clone{h.clone#0 ROOT "
     "d.clone(h.clone)} f.clone{q.clone#0 ROOT a.clone(q.clone)}"},
    {"reducers are shared", SUM,
     P "z = f32[] constant(0)\n x = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n"
       "y = f32[] reduce(p, x), dimensions={0}, to_apply=sum\n ROOT r = f32[] add(x, y)\n",
     "y", "sum", "sum{l#0 m#1 ROOT s(l,m)} e{p#0 z x(p,z) y(p,x) ROOT r(x,y)}"},
    {"what is also a reducer is not called", SUM,
     P "z = f32[] constant(0)\n x = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n"
       "ROOT y = f32[] call(x, z), to_apply=sum\n",
     "y", "sum.clone",
     "sum{l#0 m#1 ROOT s(l,m)} e{p#0 z x(p,z) ROOT y(x,z)} "
     "sum.clone{l.clone#0 m.clone#1 ROOT s.clone(l.clone,m.clone)}"},
    {"both halves of an asynchronous call are one caller", F,
     P "s = ((f32[4]), f32[4], u32[]) async-start(p), calls=f\n"
       "ROOT d = f32[4] async-done(s), calls=f\n",
     "d", "f", "f{q#0 ROOT a(q)} e{p#0 s(p) ROOT d(s)}"},
    {"the second half follows the first",
     F "g { h = f32[4] parameter(0)\n s = ((f32[4]), f32[4], u32[]) async-start(h), calls=f\n"
       "u = ((f32[4]), f32[4], u32[]) async-update(s), calls=f\n"
       "ROOT d = f32[4] async-done(u), calls=f\n }\n",
     P "x = f32[4] call(p), to_apply=g\n ROOT y = f32[4] call(x), to_apply=g\n", "d.clone",
     "f.clone",
     "f{q#0 ROOT a(q)} g{h#0 s(h) u(s) ROOT d(u)} e{p#0 x(p) ROOT y(x)} g.clone{h.clone#0 "
     "s.clone(h.clone) u.clone(s.clone) ROOT d.clone(u.clone)} f.clone{q.clone#0 ROOT "
     "a.clone(q.clone)}"},
    {"a fusion in what is copied has a copy of its own",
     F "g { h = f32[4] parameter(0)\n ROOT d = f32[4] fusion(h), kind=kLoop, calls=f }\n",
     P "x = f32[4] call(p), to_apply=g\n ROOT y = f32[4] call(x), to_apply=g\n", "d.clone",
     "f.clone",
     "f{q#0 ROOT a(q)} g{h#0 ROOT d(h)} e{p#0 x(p) ROOT y(x)} g.clone{h.clone#0 ROOT "
     "d.clone(h.clone)} f.clone{q.clone#0 ROOT a.clone(q.clone)}"},
};

START_TEST(each_caller_has_its_own) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Module *module = fixture.module;
  uint64_t meaning = module_meaning(module);
  Rewrite rewrite = rewrite_begin(module);
  ck_assert_int_eq(flatten_call_graph(&rewrite, NULL, NULL, fixture.scratch), RH_OK);
  check_text(listing_of(module, fixture.out), rows[_i].left, rows[_i].name);
  InstId caller = find_inst(module, rows[_i].caller);
  const char *callees = "";
  for (uint32_t i = 0; i < inst_get(module, caller)->num_callees; i++) {
    Str name = comp_name(module, inst_callees(module, caller)[i]);
    text_add(fixture.out, &callees, "%.*s", (int)name.len, name.data);
  }
  check_text(callees, rows[_i].callees, rows[_i].name);
  ck_assert_msg(module_meaning(module) == meaning, "%s: another meaning", rows[_i].name);
  Schedule schedule = fixture_schedule(&fixture, "postorder");
  check_prints_and_parses(module, &schedule);
  ck_assert_int_eq(flatten_call_graph(&rewrite, NULL, NULL, fixture.scratch), RH_OK);
  check_text(listing_of(module, fixture.out), rows[_i].left, "again");
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("flatten");
  TCase *tc = tcase_create("flatten");
  tcase_add_loop_test(tc, each_caller_has_its_own, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
