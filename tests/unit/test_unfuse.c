#include "remat/rewrite/dce.h"
#include "remat/rewrite/unfuse.h"
#include "support.h"

#define F "f { q = f32[4] parameter(0)\n a = f32[4] abs(q)\n ROOT b = f32[4] sine(a) }\n"
#define P "p = f32[4] parameter(0)\n"
#define FUSION(name, of, kind) name " = f32[4] fusion(" of "), kind=" kind ", calls=f\n"
#define NEGATED "ROOT r = f32[4] negate(x)\n"

static const struct {
  const char *name, *comps, *body;
  unsigned kinds;
  uint32_t num_fusions;
  const char *left, *order;
} rows[] = {
    {"a loop fusion", F, P FUSION("x", "p", "kLoop") NEGATED, UNFUSE_ALL, 1,
     "e{p#0 ROOT r(b) a(p) b(a)}", "p a b ROOT r"},
    {"not of this kind", F, P FUSION("x", "p", "kLoop") NEGATED, UNFUSE_INPUT | UNFUSE_OUTPUT, 0,
     "f{q#0 a(q) ROOT b(a)} e{p#0 x(p) ROOT r(x)}", "p x ROOT r"},
    {"an input fusion", F, P FUSION("x", "p", "kInput") NEGATED, UNFUSE_INPUT, 1,
     "e{p#0 ROOT r(b) a(p) b(a)}", "p a b ROOT r"},
    {"an output fusion", F, P FUSION("x", "p", "kOutput") NEGATED, UNFUSE_OUTPUT, 1,
     "e{p#0 ROOT r(b) a(p) b(a)}", "p a b ROOT r"},
    {"a custom fusion is what its configuration says", F, P FUSION("x", "p", "kCustom") NEGATED,
     UNFUSE_ALL, 0, "f{q#0 a(q) ROOT b(a)} e{p#0 x(p) ROOT r(x)}", "p x ROOT r"},
    {"the root", F, P "ROOT " FUSION("x", "p", "kLoop"), UNFUSE_ALL, 1, "e{p#0 a(p) ROOT b(a)}",
     "p a ROOT b"},
    {"a fusion in a fusion",
     F "g { h = f32[4] parameter(0)\n i = f32[4] tanh(h)\n ROOT x = f32[4] fusion(i), kind=kLoop, "
       "calls=f }\n",
     P "ROOT y = f32[4] fusion(p), kind=kLoop, calls=g\n", UNFUSE_ALL, 2,
     "e{p#0 i(p) a(i) ROOT b(a)}", "p i a ROOT b"},
    {"a fusion in a fusion that is kept",
     F "g { h = f32[4] parameter(0)\n x = f32[4] fusion(h), kind=kLoop, calls=f\n ROOT i = f32[4] "
       "tanh(x) }\n",
     P "ROOT y = f32[4] fusion(p), kind=kCustom, calls=g\n", UNFUSE_ALL, 0,
     "f{q#0 a(q) ROOT b(a)} g{h#0 x(h) ROOT i(x)} e{p#0 ROOT y(p)}", "p ROOT y"},
    {"several results",
     "f { q = f32[4] parameter(0)\n a = f32[4] abs(q)\n b = f32[4] sine(q)\n"
     "ROOT t = (f32[4], f32[4]) tuple(a, b) }\n",
     P "x = (f32[4], f32[4]) fusion(p), kind=kLoop, calls=f\n"
       "g = f32[4] get-tuple-element(x), index=1\n ROOT r = f32[4] negate(g)\n",
     UNFUSE_ALL, 1, "e{p#0 g(t)#1 ROOT r(g) a(p) b(p) t(a,b)}", "p a b t g ROOT r"},
    {"in a loop",
     F "cond { cp = f32[4] parameter(0)\n ROOT y = pred[] constant(true) }\n"
       "body { bp = f32[4] parameter(0)\n ROOT x = f32[4] fusion(bp), kind=kLoop, calls=f }\n",
     P "ROOT w = f32[4] while(p), condition=cond, body=body\n", UNFUSE_LOOP, 1,
     "cond{cp#0 ROOT y} body{bp#0 a(bp) ROOT b(a)} e{p#0 ROOT w(p)}", "p ROOT w"},
};

START_TEST(fusions_are_written_out) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  uint64_t meaning = module_meaning(module);
  Rewrite rewrite = rewrite_begin(module);
  uint32_t num_fusions = unfuse(&rewrite, &schedule, rows[_i].kinds, fixture.out, fixture.scratch);
  ck_assert_msg(num_fusions == rows[_i].num_fusions, "%s: %u fusions", rows[_i].name, num_fusions);
  dce_run(&rewrite, fixture.scratch);
  dce_update_schedule(module, &schedule, fixture.out);
  check_text(listing_of(module, fixture.out), rows[_i].left, rows[_i].name);
  check_text(scheduled_names(&fixture, &schedule, "e"), rows[_i].order, rows[_i].name);
  check_schedule(module, &schedule);
  ck_assert_msg(module_meaning(module) == meaning, "%s: another meaning", rows[_i].name);
  check_prints_and_parses(module, &schedule);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("unfuse");
  TCase *tc = tcase_create("unfuse");
  tcase_add_loop_test(tc, fusions_are_written_out, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
