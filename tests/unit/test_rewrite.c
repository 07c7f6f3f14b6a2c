#include "remat/rewrite/rewrite.h"

#include <stdlib.h>

#include "support.h"

/* A fixture and its rewrite. */
typedef struct Job {
  Fixture fixture;
  Module *module;
  Rewrite rewrite;
} Job;

static Job job_start(const char *comps, const char *body) {
  Job job = {.fixture = fixture_parse_body(comps, body)};
  job.module = job.fixture.module;
  job.rewrite = rewrite_begin(job.module);
  return job;
}

static InstId clone_of(Job *job, const char *name) {
  return rewrite_clone(&job->rewrite, find_inst(job->module, name), job->fixture.scratch);
}

static void check_listing(const Job *job, const char *wanted, const char *what) {
  check_text(listing_of(job->module, job->fixture.out), wanted, what);
}

/* Whatever was changed prints, and parses as what it is. */
static void job_finish(Job *job) {
  Schedule schedule = fixture_schedule(&job->fixture, "postorder");
  check_prints_and_parses(job->module, &schedule);
  fixture_free(&job->fixture);
}

static void check_name(const Job *job, InstId id, const char *wanted) {
  Str name = inst_name(job->module, id);
  ck_assert_msg(str_is(name, wanted), "%.*s, not %s", (int)name.len, name.data, wanted);
}

/* ---- clones ---- */

static const struct {
  const char *body; /* of `x` and others */
  const char *original;
  const char *names[3]; /* of its clones, one after the other */
} name_cases[] = {
    {"p = f32[] parameter(0)\n x = f32[] abs(p)\n", "x", {"x.remat", "x.remat.1", "x.remat.2"}},
    {"p = f32[] parameter(0)\n x.1 = f32[] abs(p)\n", "x.1", {"x.1.remat", "x.1.remat.1"}},
    {"p = f32[] parameter(0)\n x = f32[] abs(p)\n x.remat = f32[] sine(p)\n",
     "x",
     {"x.remat.1", "x.remat.2"}},
    {"p = f32[] parameter(0)\n x = f32[] abs(p)\n x.remat.1 = f32[] sine(p)\n",
     "x",
     {"x.remat", "x.remat.2"}},
    {"p = f32[] parameter(0)\n x.remat = f32[] abs(p)\n", "x.remat", {"x.remat2", "x.remat2.1"}},
    {"p = f32[] parameter(0)\n x.remat2 = f32[] abs(p)\n", "x.remat2", {"x.remat3"}},
    {"p = f32[] parameter(0)\n x.remat9 = f32[] abs(p)\n", "x.remat9", {"x.remat10"}},
    {"p = f32[] parameter(0)\n x.remat.1 = f32[] abs(p)\n", "x.remat.1", {"x.remat.1.remat"}},
    {"p = f32[] parameter(0)\n x.rematerialized = f32[] abs(p)\n",
     "x.rematerialized",
     {"x.rematerialized.remat"}},
    {"p = f32[] parameter(0)\n remat = f32[] abs(p)\n", "remat", {"remat.remat"}},
    {"p = f32[] parameter(0)\n x.remat.remat = f32[] abs(p)\n",
     "x.remat.remat",
     {"x.remat.remat2"}},
    {"p = f32[] parameter(0)\n x.remat2.y = f32[] abs(p)\n", "x.remat2.y", {"x.remat2.y.remat"}},
};

START_TEST(clones_are_named) {
  Job job = job_start("", name_cases[_i].body);
  for (int i = 0; i < 3 && name_cases[_i].names[i]; i++) {
    check_name(&job, clone_of(&job, name_cases[_i].original), name_cases[_i].names[i]);
  }
  job_finish(&job);
}
END_TEST

START_TEST(clones_of_clones_are_numbered) {
  Job job = job_start("", "p = f32[] parameter(0)\n ROOT x = f32[] abs(p)\n");
  InstId id = find_inst(job.module, "x");
  static const char *const names[] = {"x.remat", "x.remat2", "x.remat3", "x.remat4"};
  for (int i = 0; i < 4; i++) {
    id = rewrite_clone(&job.rewrite, id, job.fixture.scratch);
    check_name(&job, id, names[i]);
    ck_assert_uint_eq(inst_get(job.module, id)->origin, find_inst(job.module, "x"));
  }
  job_finish(&job);
}
END_TEST

/* Operands, attributes and shape are the original's; users and control dependencies are not. */
START_TEST(clone_is_like_its_original) {
  Job job =
      job_start("",
                "p = f32[2,3] parameter(0)\n q = f32[2,3] abs(p)\n"
                "x = f32[3,2]{0,1} transpose(q), dimensions={1,0}, control-predecessors={p},"
                " metadata={op_name=\"jit(f)/t\" source_line=7}\n ROOT r = f32[3,2] sine(x)\n");
  InstId original = find_inst(job.module, "x"), clone = clone_of(&job, "x");
  const Instruction *inst = inst_get(job.module, clone);
  ck_assert_uint_eq(inst->opcode, OPCODE_TRANSPOSE);
  ck_assert_uint_eq(inst->shape, inst_get(job.module, original)->shape);
  ck_assert_uint_eq(inst->parent, job.module->entry);
  ck_assert_uint_eq(inst->users.len, 0);
  ck_assert(inst->flags & INST_REMAT);
  ck_assert(!(inst_get(job.module, original)->flags & INST_REMAT));
  ck_assert(!inst_has_control(job.module, clone));
  ck_assert_int_eq(inst_metadata(job.module, clone)->source_line, 7);
  ck_assert_int_eq(inst_attr_ints(job.module, clone, ATTR_DIMENSIONS).data[0], 1);
  InstId operand = find_inst(job.module, "q");
  check_text(names_of(job.module, inst_users(job.module, operand),
                      inst_get(job.module, operand)->users.len, job.fixture.out),
             "x x.remat", "users of q");
  check_listing(&job, "e{p#0 q(p) x(q) ROOT r(x) x.remat(q)}", "entry");
  job_finish(&job);
}
END_TEST

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"

/* Channels of all computations count; what has none gets none. */
START_TEST(channels_are_fresh) {
  Job job = job_start(
      SUM
      "f { fp = f32[4] parameter(0)\n"
      "ROOT ar = f32[4] all-reduce(fp), channel_id=41, replica_groups={}, to_apply=sum }\n",
      "p = f32[4] parameter(0)\n c = f32[4] call(p), to_apply=f\n"
      "ag = f32[8] all-gather(c), dimensions={0}, channel_id=3, replica_groups={{0,1}}\n"
      "bare = f32[8] all-gather(c), dimensions={0}, replica_groups={{0,1}}\n"
      "ROOT r = f32[8] add(ag, bare)\n");
  ck_assert_int_eq(inst_get(job.module, clone_of(&job, "ag"))->index, 42);
  ck_assert_int_eq(inst_get(job.module, clone_of(&job, "ag"))->index, 43);
  InstId bare = clone_of(&job, "bare");
  ck_assert(!(inst_get(job.module, bare)->flags & INST_HAS_CHANNEL));
  ck_assert_int_eq(inst_get(job.module, bare)->index,
                   inst_get(job.module, find_inst(job.module, "bare"))->index);
  ck_assert_int_eq(inst_get(job.module, find_inst(job.module, "ag"))->index, 3);
  job_finish(&job);
}
END_TEST

/* Two fusions must not share a computation; what is called otherwise may be shared. */
START_TEST(fusions_get_their_own_computations) {
  Job job = job_start(
      SUM
      "inner { i0 = f32[4] parameter(0)\n z = f32[] constant(0)\n"
      "ROOT red = f32[] reduce(i0, z), dimensions={0}, to_apply=sum }\n"
      "outer { o0 = f32[4] parameter(0)\n fi = f32[] fusion(o0), kind=kLoop, calls=inner\n"
      "fj = f32[4] abs(o0), control-predecessors={fi}\n"
      "ROOT t = (f32[], f32[4]) tuple(fi, fj) }\n",
      "p = f32[4] parameter(0)\n f = (f32[], f32[4]) fusion(p), kind=kLoop, calls=outer\n"
      "ROOT g = f32[] get-tuple-element(f), index=0\n");
  InstId clone = clone_of(&job, "f");
  check_listing(&job,
                "sum{l#0 m#1 ROOT s(l,m)} inner{i0#0 z ROOT red(i0,z)} "
                "outer{o0#0 fi(o0) fj(o0) ROOT t(fi,fj)} e{p#0 f(p) ROOT g(f)#0 f.remat(p)} "
                "outer.clone{o0.clone#0 fi.clone(o0.clone) fj.clone(o0.clone) "
                "ROOT t.clone(fi.clone,fj.clone)} "
                "inner.clone{i0.clone#0 z.clone ROOT red.clone(i0.clone,z.clone)}",
                "a clone");
  const CompId *callees = inst_callees(job.module, clone);
  ck_assert(str_is(comp_name(job.module, callees[0]), "outer.clone"));
  InstId nested = find_inst(job.module, "fi.clone");
  ck_assert(str_is(comp_name(job.module, inst_callees(job.module, nested)[0]), "inner.clone"));
  InstId reduce = find_inst(job.module, "red.clone");
  ck_assert(str_is(comp_name(job.module, inst_callees(job.module, reduce)[0]), "sum"));
  InstId after = find_inst(job.module, "fj.clone");
  ck_assert_uint_eq(inst_control(job.module, after)->predecessors.len, 1);
  InstId num_old = find_inst(job.module, "f.remat");
  clone_of(&job, "f");
  clone_of(&job, "f.remat");
  find_comp(job.module, "outer.clone.1");
  find_comp(job.module, "outer.clone2");
  InstId again = find_inst(job.module, "red.clone2"), original = find_inst(job.module, "red");
  ck_assert_uint_eq(rewrite_inner_original(&job.rewrite, again, num_old), original);
  ck_assert_uint_eq(rewrite_inner_original(&job.rewrite, again, again), reduce);
  ck_assert_uint_eq(rewrite_inner_original(&job.rewrite, original, num_old), original);
  job_finish(&job);
}
END_TEST

/* ---- texts that are not plain lines ---- */

static const struct {
  const char *name, *comps, *body, *original, *user; /* that shall read the clone at operand 0 */
} text_cases[] = {
    {"nested in an operand", "",
     "p = f32[] parameter(0)\n y = f32[] add(f32[] multiply(p, p), p)\n ROOT r = f32[] abs(y)\n",
     "y", "r"},
    {"a nested reducer", "",
     "p = f32[4] parameter(0)\n z = f32[] constant(0)\n"
     "x = f32[] reduce(p, z), dimensions={0}, to_apply={ l = f32[] parameter(0)\n"
     " m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n ROOT r = f32[] abs(x)\n",
     "x", "r"},
    {"a nested fused computation", "",
     "p = f32[4] parameter(0)\n"
     "x = f32[4] fusion(p), kind=kLoop, calls={ l = f32[4] parameter(0)\n ROOT s = f32[4] abs(l) "
     "}\n"
     "ROOT r = f32[4] abs(x)\n",
     "x", "r"},
    {"a nested reducer in a fused computation",
     "f { fp = f32[4] parameter(0)\n z = f32[] constant(0)\n"
     "ROOT red = f32[] reduce(fp, z), dimensions={0}, to_apply={ l = f32[] parameter(0)\n"
     " m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) } }\n",
     "p = f32[4] parameter(0)\n x = f32[] fusion(p), kind=kLoop, calls=f\n"
     "ROOT r = f32[] abs(x)\n",
     "x", "r"},
    {"signatures, percent signs and comments",
     "%f (fp: f32[4]) -> f32[4] { // fused\n  %fp = f32[4]{0} parameter(0) /* 0 */\n"
     "  ROOT %fa = f32[4]{0} abs(f32[4]{0} %fp), metadata={op_name=\"%fp\"}\n}\n",
     "  %p = f32[4]{0} parameter(0)\n"
     "  %x = f32[4]{0} fusion(f32[4]{0} %p), kind=kLoop, calls=%f // x\n"
     "  ROOT %r = f32[4]{0} abs(f32[4]{0} /*index=0*/%x)\n",
     "x", "r"},
    {"a root in the middle", "",
     "p = f32[] parameter(0)\n x = f32[] abs(p)\n ROOT r = f32[] sine(x)\n y = f32[] cosine(r)\n",
     "x", "r"},
    {"all on one line", "", "p = f32[] parameter(0) x = f32[] abs(p) ROOT r = f32[] sine(x)", "x",
     "r"},
    {"control predecessors", "",
     "p = f32[] parameter(0)\n x = f32[] abs(p), control-predecessors={p}\n"
     "ROOT r = f32[] sine(x), control-predecessors={p, x}\n",
     "x", "r"},
};

START_TEST(clones_print_whatever_the_text_looks_like) {
  Job job = job_start(text_cases[_i].comps, text_cases[_i].body);
  uint64_t meaning = module_meaning(job.module);
  InstId user = find_inst(job.module, text_cases[_i].user);
  rewrite_set_operand(&job.rewrite, user, 0, clone_of(&job, text_cases[_i].original));
  ck_assert_msg(module_meaning(job.module) == meaning, "%s: another meaning", text_cases[_i].name);
  job_finish(&job);
}
END_TEST

/* An instruction that stands in its user's operand list has a name that the text does not show. */
START_TEST(nested_instructions_can_be_cloned) {
  Job job = job_start("",
                      "p = f32[] parameter(0)\n y = f32[] add(f32[] multiply(p, p), p)\n"
                      "ROOT r = f32[] add(y, p)\n");
  InstId y = find_inst(job.module, "y");
  InstId clone = rewrite_clone(&job.rewrite, inst_operand(job.module, y, 0), job.fixture.scratch);
  ck_assert(!(inst_get(job.module, clone)->flags & INST_NESTED));
  rewrite_set_operand(&job.rewrite, find_inst(job.module, "r"), 1, clone);
  job_finish(&job);
}
END_TEST

/* ---- operands ---- */

START_TEST(all_uses_are_replaced) {
  Job job = job_start("",
                      "p = f32[] parameter(0)\n x = f32[] abs(p)\n y = f32[] sine(p)\n"
                      "a = f32[] add(x, x)\n b = f32[] clamp(x, y, x)\n"
                      "ROOT r = f32[] add(a, b)\n");
  Module *module = job.module;
  InstId x = find_inst(module, "x"), y = find_inst(module, "y");
  rewrite_replace_all_uses(&job.rewrite, x, y, job.fixture.scratch);
  check_listing(&job, "e{p#0 x(p) y(p) a(y,y) b(y,y,y) ROOT r(a,b)}", "x by y");
  ck_assert_uint_eq(inst_get(module, x)->users.len, 0);
  check_text(
      names_of(module, inst_users(module, y), inst_get(module, y)->users.len, job.fixture.out),
      "b a", "users of y, each once");
  job_finish(&job);
}
END_TEST

START_TEST(a_replaced_root_is_the_root_no_more) {
  Job job = job_start("",
                      "p = f32[] parameter(0)\n x = f32[] abs(p)\n y = f32[] sine(x)\n"
                      "ROOT r = f32[] cosine(y)\n");
  rewrite_replace_all_uses(&job.rewrite, find_inst(job.module, "r"), find_inst(job.module, "x"),
                           job.fixture.scratch);
  check_listing(&job, "e{p#0 ROOT x(p) y(x) r(y)}", "r by x");
  job_finish(&job);
}
END_TEST

START_TEST(helpers_are_named) {
  Job job = job_start("",
                      "p = f32[2,2] parameter(0)\n t = (f32[2,2], f32[2,2]) tuple(p, p)\n"
                      "u = ((f32[2,2], f32[2,2])) tuple(t)\n"
                      "q = f32[4] parameter(1)\n ROOT r = f32[4] abs(q)\n");
  Module *module = job.module;
  InstId root = find_inst(module, "r");
  InstId outer = rewrite_add_get_tuple_element(&job.rewrite, find_inst(module, "u"), 0);
  InstId inner = rewrite_add_get_tuple_element(&job.rewrite, outer, 1);
  InstId bitcast = rewrite_add_bitcast(&job.rewrite, inner, inst_get(module, root)->shape);
  rewrite_add_bitcast(&job.rewrite, bitcast, inst_get(module, find_inst(module, "p"))->shape);
  rewrite_set_operand(&job.rewrite, root, 0, bitcast);
  check_listing(&job,
                "e{p#0 t(p,p) u(t) q#1 ROOT r(bitcast.remat) gte.remat(u)#0 "
                "gte.remat.1(gte.remat)#1 bitcast.remat(gte.remat.1) "
                "bitcast.remat.1(bitcast.remat)}",
                "helpers");
  ck_assert(inst_get(module, bitcast)->flags & INST_REMAT);
  job_finish(&job);
}
END_TEST

/* ---- compact get-tuple-elements ---- */

#define NESTED_TUPLE                                                                          \
  "p = f32[2] parameter(0)\n a = (f32[2], f32[2]) custom-call(p), custom_call_target=\"a\"\n" \
  "b = ((f32[2], f32[2]), f32[2]) custom-call(p), custom_call_target=\"b\"\n"

START_TEST(compact_elements_follow_their_operand) {
  Job job = job_start("", NESTED_TUPLE
                      "x = f32[2] add(a#1, a#1)\n y = f32[2] abs(a#1)\n"
                      "ROOT r = f32[2] add(x, b#0#1)\n");
  Module *module = job.module;
  InstId clone = clone_of(&job, "a");
  rewrite_set_operand(&job.rewrite, find_inst(module, "a#1"), 0, clone);
  InstId pair = find_inst(module, "b#0");
  rewrite_set_operand(&job.rewrite, pair, 0, clone_of(&job, "b"));
  check_listing(&job,
                "e{p#0 a(p) b(p) a.remat#1(a.remat)#1 x(a.remat#1,a.remat#1) y(a.remat#1) "
                "b.remat#0(b.remat)#0 b.remat#0#1(b.remat#0)#1 ROOT r(x,b.remat#0#1) "
                "a.remat(p) b.remat(p)}",
                "renamed");
  InstId element = find_inst(module, "b.remat#0#1");
  rewrite_set_tuple_index(&job.rewrite, element, 0);
  rewrite_set_tuple_index(&job.rewrite, find_inst(module, "a.remat#1"), 1);
  check_name(&job, element, "b.remat#0#0");
  job_finish(&job);
}
END_TEST

START_TEST(new_elements_are_compact_where_the_text_is) {
  Job job = job_start("", NESTED_TUPLE "ROOT r = f32[2] add(a#1, b#1)\n");
  InstId clone = clone_of(&job, "a");
  InstId element = rewrite_add_get_tuple_element(&job.rewrite, clone, 1);
  check_name(&job, element, "a.remat#1");
  rewrite_set_operand(&job.rewrite, find_inst(job.module, "r"), 0, element);
  check_name(&job, clone_of(&job, "a#1"), "a#1");
  job_finish(&job);
}
END_TEST

/* What a copy of the module becomes is nothing to the module. */
START_TEST(a_copy_changes_alone) {
  Job job = job_start(SUM "f { fp = f32[4] parameter(0)\n ROOT fa = f32[4] abs(fp) }\n",
                      "p = f32[4] parameter(0)\n x = f32[4] fusion(p), kind=kLoop, calls=f\n"
                      "ROOT r = f32[4] abs(x)\n");
  char *before = print_or_fail(job.module, NULL, PRINT_AS_READ, NULL);
  Module *copy = module_copy(job.module);
  Rewrite rewrite = rewrite_begin(copy);
  InstId clone = rewrite_clone(&rewrite, find_inst(copy, "x"), job.fixture.scratch);
  rewrite_replace_all_uses(&rewrite, find_inst(copy, "x"), clone, job.fixture.scratch);
  char *after = print_or_fail(job.module, NULL, PRINT_AS_READ, NULL);
  ck_assert_str_eq(before, after);
  ck_assert_str_eq(job.module->source->text, before);
  check_text(listing_of(copy, job.fixture.out),
             "sum{l#0 m#1 ROOT s(l,m)} f{fp#0 ROOT fa(fp)} e{p#0 x(p) ROOT r(x.remat) x.remat(p)} "
             "f.clone{fp.clone#0 ROOT fa.clone(fp.clone)}",
             "the copy");
  free(before);
  free(after);
  module_free(copy);
  job_finish(&job);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rewrite");
  TCase *tc = tcase_create("clone");
  tcase_add_loop_test(tc, clones_are_named, 0, sizeof name_cases / sizeof *name_cases);
  tcase_add_test(tc, clones_of_clones_are_numbered);
  tcase_add_test(tc, clone_is_like_its_original);
  tcase_add_test(tc, channels_are_fresh);
  tcase_add_test(tc, fusions_get_their_own_computations);
  tcase_add_test(tc, nested_instructions_can_be_cloned);
  tcase_add_loop_test(tc, clones_print_whatever_the_text_looks_like, 0,
                      sizeof text_cases / sizeof *text_cases);
  suite_add_tcase(suite, tc);
  tc = tcase_create("operands");
  tcase_add_test(tc, all_uses_are_replaced);
  tcase_add_test(tc, a_replaced_root_is_the_root_no_more);
  tcase_add_test(tc, helpers_are_named);
  tcase_add_test(tc, compact_elements_follow_their_operand);
  tcase_add_test(tc, new_elements_are_compact_where_the_text_is);
  tcase_add_test(tc, a_copy_changes_alone);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
