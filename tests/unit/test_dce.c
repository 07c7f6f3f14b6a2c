#include "remat/rewrite/dce.h"

#include "support.h"

/* A fusion of three results: `u` needs only operand 0, `w` only operand 2. */
#define THREE                                                                                \
  "three { q0 = f32[4] parameter(0)\n q1 = f32[4] parameter(1)\n q2 = f32[4] parameter(2)\n" \
  "u = f32[4] abs(q0)\n v = f32[4] add(q0, q1)\n w = f32[4] tanh(q2)\n"                      \
  "ROOT t = (f32[4], f32[4], f32[4]) tuple(u, v, w) }\n"
#define ABC "a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n c = f32[4] parameter(2)\n"
#define F3(rest) "f = (f32[4], f32[4], f32[4]) fusion(a, b, c), kind=kLoop, calls=three" rest "\n"
#define GTE(name, index, rest) name " = f32[4] get-tuple-element(f), index=" index rest "\n"
#define THREE_WHOLE "three{q0#0 q1#1 q2#2 u(q0) v(q0,q1) w(q2) ROOT t(u,v,w)}"

static const struct {
  const char *name, *comps, *body, *left;
} rows[] = {
    {"nothing is dead", "", "p = f32[] parameter(0)\n ROOT r = f32[] abs(p)\n", "e{p#0 ROOT r(p)}"},
    {"a chain", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n b = f32[] add(a, a)\n c = f32[] add(a, b)\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 ROOT r(p)}"},
    {"half a chain", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n b = f32[] sine(a)\n c = f32[] cosine(b)\n"
     "ROOT r = f32[] tanh(a)\n",
     "e{p#0 a(p) ROOT r(a)}"},
    {"dead behind the root", "",
     "p = f32[] parameter(0)\n ROOT r = f32[] abs(p)\n a = f32[] sine(r)\n", "e{p#0 ROOT r(p)}"},
    {"parameters of the entry stay", "",
     "p = f32[] parameter(0)\n q = f32[] parameter(1)\n a = f32[] abs(q)\n ROOT r = f32[] abs(p)\n",
     "e{p#0 q#1 ROOT r(p)}"},
    {"a control predecessor stays", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n b = f32[] sine(a)\n"
     "ROOT r = f32[] abs(p), control-predecessors={b}\n",
     "e{p#0 a(p) b(a) ROOT r(p)}"},
    {"a control successor stays", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n b = f32[] sine(p), control-predecessors={a}\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 a(p) b(p) ROOT r(p)}"},
    {"side effects stay", "",
     "p = f32[] parameter(0)\n t = token[] after-all()\n n = f32[4] rng(p, p), "
     "distribution=rng_uniform\n in = (f32[4], token[]) infeed(t)\n"
     "g = f32[4] get-tuple-element(in), index=0\n out = token[] outfeed(g, t)\n"
     "cc = f32[] custom-call(p), custom_call_target=\"x\", custom_call_has_side_effect=true\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 t n(p,p) in(t) g(in)#0 out(g,t) cc(p) ROOT r(p)}"},
    {"custom calls without go", "",
     "p = f32[] parameter(0)\n cc = f32[] custom-call(p), custom_call_target=\"x\"\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 ROOT r(p)}"},
    {"the sharding of a parameter stays", "",
     "p = f32[] parameter(0)\n cc = f32[] custom-call(p), custom_call_target=\"Sharding\"\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 cc(p) ROOT r(p)}"},
    {"the sharding of the root stays", "",
     "p = f32[] parameter(0)\n ROOT r = f32[] abs(p)\n"
     "cc = f32[] custom-call(r), custom_call_target=\"Sharding\"\n",
     "e{p#0 ROOT r(p) cc(r)}"},
    {"the sharding of what others read stays", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n"
     "cc = f32[] custom-call(a), custom_call_target=\"Sharding\"\n ROOT r = f32[] sine(a)\n",
     "e{p#0 a(p) cc(a) ROOT r(a)}"},
    {"the sharding of what nobody else reads goes", "",
     "p = f32[] parameter(0)\n a = f32[] abs(p)\n"
     "cc = f32[] custom-call(a), custom_call_target=\"Sharding\"\n ROOT r = f32[] sine(p)\n",
     "e{p#0 ROOT r(p)}"},
    {"other custom calls of parameters go", "",
     "p = f32[] parameter(0)\n cc = f32[] custom-call(p), custom_call_target=\"Shardings\"\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 ROOT r(p)}"},
    {"a dead loop goes with what it calls",
     "cond { cp = f32[] parameter(0)\n ROOT c = pred[] constant(true) }\n"
     "leaf { lp = f32[] parameter(0)\n ROOT l = f32[] abs(lp) }\n"
     "body { bp = f32[] parameter(0)\n ROOT bc = f32[] call(bp), to_apply=leaf }\n",
     "p = f32[] parameter(0)\n w = f32[] while(p), condition=cond, body=body\n"
     "ROOT r = f32[] abs(p)\n",
     "e{p#0 ROOT r(p)}"},
    {"a loop with a side effect two calls below stays",
     "cond { cp = f32[] parameter(0)\n ROOT c = pred[] constant(true) }\n"
     "leaf { lp = f32[] parameter(0)\n ROOT l = f32[] rng(lp, lp), distribution=rng_uniform }\n"
     "body { bp = f32[] parameter(0)\n ROOT bc = f32[] call(bp), to_apply=leaf }\n",
     "p = f32[] parameter(0)\n w = f32[] while(p), condition=cond, body=body\n"
     "ROOT r = f32[] abs(p)\n",
     "cond{cp#0 ROOT c} leaf{lp#0 ROOT l(lp,lp)} body{bp#0 ROOT bc(bp)} e{p#0 w(p) ROOT r(p)}"},
    {"dead code in called computations",
     "leaf { lp = f32[] parameter(0)\n x = f32[] sine(lp)\n ROOT l = f32[] abs(lp) }\n",
     "p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=leaf\n",
     "leaf{lp#0 ROOT l(lp)} e{p#0 ROOT r(p)}"},
    {"uncalled computations and what only they call",
     "leaf { lp = f32[] parameter(0)\n ROOT l = f32[] abs(lp) }\n"
     "shared { sp = f32[] parameter(0)\n ROOT s = f32[] abs(sp) }\n"
     "unused { up = f32[] parameter(0)\n uc = f32[] call(up), to_apply=shared\n"
     "ROOT u = f32[] call(uc), to_apply=leaf }\n",
     "p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=shared\n",
     "shared{sp#0 ROOT s(sp)} e{p#0 ROOT r(p)}"},
    /* multi-output fusions */
    {"all results taken", THREE,
     ABC F3("") GTE("g0", "0", "") GTE("g1", "1", "")
         GTE("g2", "2", "") "ROOT r = (f32[4], f32[4], f32[4]) tuple(g2, g1, g0)\n",
     THREE_WHOLE " e{a#0 b#1 c#2 f(a,b,c) g0(f)#0 g1(f)#1 g2(f)#2 ROOT r(g2,g1,g0)}"},
    {"two of three", THREE,
     ABC F3("") GTE("g0", "0", "") GTE("g2", "2", "")
         GTE("h2", "2", "") "s = f32[4] add(g0, g2)\n ROOT r = f32[4] add(s, h2)\n",
     "three{q0#0 q2#1 u(q0) w(q2) ROOT t(u,w)} "
     "e{a#0 b#1 c#2 f(a,c) g0(f)#0 g2(f)#1 h2(f)#1 s(g0,g2) ROOT r(s,h2)}"},
    {"the first of three", THREE, ABC F3("") GTE("g0", "0", "") "ROOT r = f32[4] sine(g0)\n",
     "three{q0#0 ROOT u(q0)} e{a#0 b#1 c#2 f(a) ROOT r(f)}"},
    {"the last of three, taken twice", THREE,
     ABC F3("") GTE("g", "2", "")
         GTE("h", "2", "") "s = f32[4] sine(g)\n ROOT r = f32[4] add(s, h)\n",
     "three{q2#0 ROOT w(q2)} e{a#0 b#1 c#2 f(c) s(f) ROOT r(s,f)}"},
    {"the one that is taken is the root", THREE, ABC F3("") GTE("ROOT g", "1", ""),
     "three{q0#0 q1#1 ROOT v(q0,q1)} e{a#0 b#1 c#2 ROOT f(a,b)}"},
    {"a repeated operand", THREE,
     "a = f32[4] parameter(0)\n f = (f32[4], f32[4], f32[4]) fusion(a, a, a), kind=kLoop, "
     "calls=three\n" GTE("g0", "0", "") GTE("g2", "2", "") "ROOT r = f32[4] add(g0, g2)\n",
     "three{q0#0 q2#1 u(q0) w(q2) ROOT t(u,w)} e{a#0 f(a,a) g0(f)#0 g2(f)#1 ROOT r(g0,g2)}"},
    {"operands that only a dropped result needed", THREE,
     ABC "x = f32[4] sine(b)\n f = (f32[4], f32[4], f32[4]) fusion(a, x, c), kind=kLoop, "
         "calls=three\n" GTE("g0", "0", "") GTE("g2", "2", "") "ROOT r = f32[4] add(g0, g2)\n",
     "three{q0#0 q2#1 u(q0) w(q2) ROOT t(u,w)} "
     "e{a#0 b#1 c#2 f(a,c) g0(f)#0 g2(f)#1 ROOT r(g0,g2)}"},
    {"one after the other",
     "first { p0 = f32[4] parameter(0)\n x = f32[4] abs(p0)\n y = f32[4] sine(p0)\n"
     "ROOT xy = (f32[4], f32[4]) tuple(x, y) }\n" THREE,
     ABC "d = (f32[4], f32[4]) fusion(c), kind=kLoop, calls=first\n"
         "d0 = f32[4] get-tuple-element(d), index=0\n d1 = f32[4] get-tuple-element(d), index=1\n"
         "f = (f32[4], f32[4], f32[4]) fusion(d0, b, d1), kind=kLoop, calls=three\n" GTE(
             "g1", "1", "") "ROOT r = f32[4] abs(g1)\n",
     "first{p0#0 ROOT x(p0)} three{q0#0 q1#1 ROOT v(q0,q1)} "
     "e{a#0 b#1 c#2 d(c) f(d,b) ROOT r(f)}"},
    {"a parameter is the result",
     "f1 { q0 = f32[4] parameter(0)\n q1 = f32[4] parameter(1)\n v = f32[4] abs(q0)\n"
     "ROOT t = (f32[4], f32[4]) tuple(v, q1) }\n",
     "a = f32[4] parameter(0)\n f = (f32[4], f32[4]) fusion(a, a), kind=kLoop, calls=f1\n" GTE(
         "g", "1", "") "ROOT r = f32[4] abs(g)\n",
     "f1{ROOT q1#0} e{a#0 f(a) ROOT r(f)}"},
    {"the same result at several places",
     "f1 { q0 = f32[4] parameter(0)\n v = f32[4] abs(q0)\n w = f32[4] sine(q0)\n"
     "ROOT t = (f32[4], f32[4], f32[4]) tuple(v, w, v) }\n",
     "a = f32[4] parameter(0)\n f = (f32[4], f32[4], f32[4]) fusion(a), kind=kLoop, calls=f1\n" GTE(
         "g", "1", "") GTE("h", "2", "") "ROOT r = f32[4] add(g, h)\n",
     "f1{q0#0 v(q0) w(q0) ROOT t(w,v)} e{a#0 f(a) g(f)#0 h(f)#1 ROOT r(g,h)}"},
    {"no result is taken", THREE, ABC F3("") GTE("g", "1", "") "ROOT r = f32[4] abs(a)\n",
     "e{a#0 b#1 c#2 ROOT r(a)}"},
    {"what waits for the element waits for the fusion", THREE,
     ABC F3("") GTE("g", "1", "") "x = f32[4] sine(a), control-predecessors={g}\n"
                                  "ROOT r = f32[4] add(g, x)\n",
     "three{q0#0 q1#1 ROOT v(q0,q1)} e{a#0 b#1 c#2 f(a,b) x(a) ROOT r(f,x)}"},
    {"an element that waits stays one", THREE,
     ABC F3("") "x = f32[4] sine(a)\n" GTE("g", "1",
                                           ", control-predecessors={x}") "ROOT r = f32[4] abs(g)\n",
     "three{q0#0 q1#1 v(q0,q1) ROOT t(v)} e{a#0 b#1 c#2 f(a,b) x(a) g(f)#0 ROOT r(g)}"},
    {"kept whole: the root", THREE, ABC "ROOT " F3("") GTE("g", "1", ""),
     THREE_WHOLE " e{a#0 b#1 c#2 ROOT f(a,b,c)}"},
    {"kept whole: read as a tuple", THREE,
     ABC F3("")
         GTE("g", "1", "") "o = (f32[4], f32[4], f32[4]) opt-barrier(f)\n"
                           "h = f32[4] get-tuple-element(o), index=1\n ROOT r = f32[4] add(g, h)\n",
     THREE_WHOLE " e{a#0 b#1 c#2 f(a,b,c) g(f)#1 o(f) h(o)#1 ROOT r(g,h)}"},
    {"kept whole: a control dependency", THREE,
     ABC "x = f32[4] sine(a)\n" F3(", control-predecessors={x}")
         GTE("g", "1", "") "ROOT r = f32[4] abs(g)\n",
     THREE_WHOLE " e{a#0 b#1 c#2 x(a) f(a,b,c) g(f)#1 ROOT r(g)}"},
    {"kept whole: results in operands' places", THREE,
     ABC F3(", output_to_operand_aliasing={{0}: (0, {})}")
         GTE("g", "1", "") "ROOT r = f32[4] abs(g)\n",
     THREE_WHOLE " e{a#0 b#1 c#2 f(a,b,c) g(f)#1 ROOT r(g)}"},
    {"kept whole: a custom fusion", THREE,
     ABC "f = (f32[4], f32[4], f32[4]) fusion(a, b, c), kind=kCustom, calls=three\n" GTE(
         "g", "1", "") "ROOT r = f32[4] abs(g)\n",
     THREE_WHOLE " e{a#0 b#1 c#2 f(a,b,c) g(f)#1 ROOT r(g)}"},
    {"a result with a side effect stays",
     "f2 { q0 = f32[] parameter(0)\n u = f32[] abs(q0)\n v = f32[] rng(q0, q0), "
     "distribution=rng_uniform\n w = f32[] sine(q0)\n ROOT t = (f32[], f32[], f32[]) tuple(u, v, "
     "w) }\n",
     "a = f32[] parameter(0)\n f = (f32[], f32[], f32[]) fusion(a), kind=kLoop, calls=f2\n"
     "g = f32[] get-tuple-element(f), index=0\n ROOT r = f32[] abs(g)\n",
     "f2{q0#0 u(q0) v(q0,q0) ROOT t(u,v)} e{a#0 f(a) g(f)#0 ROOT r(g)}"},
    {"a fusion in a fusion",
     "in { p0 = f32[4] parameter(0)\n x = f32[4] maximum(p0, p0)\n y = f32[4] minimum(p0, p0)\n"
     "ROOT xy = (f32[4], f32[4]) tuple(x, y) }\n"
     "outer { o0 = f32[4] parameter(0)\n n = (f32[4], f32[4]) fusion(o0), kind=kLoop, calls=in\n"
     "n0 = f32[4] get-tuple-element(n), index=0\n n1 = f32[4] get-tuple-element(n), index=1\n"
     "ROOT t = (f32[4], f32[4]) tuple(n0, n1) }\n",
     "a = f32[4] parameter(0)\n f = (f32[4], f32[4]) fusion(a), kind=kLoop, calls=outer\n" GTE(
         "g", "1", "") "ROOT r = f32[4] abs(g)\n",
     "in{p0#0 ROOT y(p0,p0)} outer{o0#0 ROOT n(o0)} e{a#0 f(a) ROOT r(f)}"},
    {"a fusion whose inner fusion may add up, and round otherwise in a smaller one",
     "in { p0 = f32[4] parameter(0)\n x = f32[4] abs(p0)\n y = f32[4] sine(p0)\n"
     "ROOT xy = (f32[4], f32[4]) tuple(x, y) }\n"
     "outer { o0 = f32[4] parameter(0)\n n = (f32[4], f32[4]) fusion(o0), kind=kLoop, calls=in\n"
     "n0 = f32[4] get-tuple-element(n), index=0\n n1 = f32[4] get-tuple-element(n), index=1\n"
     "ROOT t = (f32[4], f32[4]) tuple(n0, n1) }\n",
     "a = f32[4] parameter(0)\n f = (f32[4], f32[4]) fusion(a), kind=kLoop, calls=outer\n" GTE(
         "g", "1", "") "ROOT r = f32[4] abs(g)\n",
     "in{p0#0 x(p0) y(p0) ROOT xy(x,y)} outer{o0#0 n(o0) n0(n)#0 n1(n)#1 ROOT t(n0,n1)} e{a#0 "
     "f(a) g(f)#1 ROOT r(g)}"},
};

static void run_dce(Fixture *fixture, Schedule *schedule) {
  Rewrite rewrite = rewrite_begin(fixture->module);
  dce_run(&rewrite, fixture->scratch);
  dce_update_schedule(fixture->module, schedule, fixture->out);
  check_schedule(fixture->module, schedule);
}

START_TEST(only_this_is_left) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  uint64_t meaning = module_meaning(fixture.module);
  run_dce(&fixture, &schedule);
  check_text(listing_of(fixture.module, fixture.out), rows[_i].left, rows[_i].name);
  ck_assert_msg(module_meaning(fixture.module) == meaning, "%s: another meaning", rows[_i].name);
  check_prints_and_parses(fixture.module, &schedule);
  run_dce(&fixture, &schedule);
  check_text(listing_of(fixture.module, fixture.out), rows[_i].left, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

/* `f#2` is the element's name: it follows. */
START_TEST(compact_elements_are_renamed) {
  Fixture fixture = fixture_parse_body(
      THREE, ABC F3("") "s = f32[4] add(f#0, f#2)\n ROOT r = f32[4] add(s, f#2)\n");
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  run_dce(&fixture, &schedule);
  check_text(listing_of(fixture.module, fixture.out),
             "three{q0#0 q2#1 u(q0) w(q2) ROOT t(u,w)} "
             "e{a#0 b#1 c#2 f(a,c) f#0(f)#0 f#1(f)#1 s(f#0,f#1) ROOT r(s,f#1)}",
             "f#2 is f#1");
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* A computation without a sequence gets one, in the order of its instructions. */
START_TEST(new_computations_are_scheduled) {
  Fixture fixture = fixture_parse_body(
      THREE, ABC F3("") GTE("g", "0", "") "x = f32[4] sine(a)\n ROOT r = f32[4] add(g, x)\n");
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  Rewrite rewrite = rewrite_begin(fixture.module);
  InstId clone = rewrite_clone(&rewrite, find_inst(fixture.module, "f"), fixture.scratch);
  rewrite_set_operand(&rewrite, find_inst(fixture.module, "g"), 0, clone);
  Sequence *entry = &schedule.of[fixture.module->entry];
  for (uint32_t i = 0; i < entry->len; i++) {
    if (entry->ids[i] == find_inst(fixture.module, "f")) entry->ids[i] = clone;
  }
  run_dce(&fixture, &schedule);
  check_text(scheduled_names(&fixture, &schedule, "e"), "a b c f.remat x ROOT r", "entry");
  check_text(scheduled_names(&fixture, &schedule, "three.clone"), "q0.clone ROOT u.clone", "clone");
  ck_assert_uint_eq(schedule.of[find_comp(fixture.module, "e") - 1].len, 0);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dce");
  TCase *tc = tcase_create("dce");
  tcase_add_loop_test(tc, only_this_is_left, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, compact_elements_are_renamed);
  tcase_add_test(tc, new_computations_are_scheduled);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
