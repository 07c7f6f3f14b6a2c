#include "remat/protect/protect.h"

#include <stdio.h>
#include <stdlib.h>

#include "remat/verify/verify.h"
#include "support.h"

#define A "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n c = f32[4] tanh(b)\n"
#define U "ROOT u = f32[4] add(a, c)\n"
#define FUSED "f { q = f32[4] parameter(0)\n ROOT n = f32[4] negate(q) }\n"

/* Ends of listings. The helpers come after all original instructions; in a schedule, they come
 * before the clones. */
#define BARRIER(operands) \
  "tuple.remat(" operands ") opt-barrier.remat(tuple.remat) gte.remat(opt-barrier.remat)#0}"
#define CONDITIONAL(witness, operands, element)                                         \
  "slice.remat(" witness                                                                \
  ") reshape.remat(slice.remat) convert.remat(reshape.remat) constant.remat "           \
  "or.remat(convert.remat,constant.remat) constant.remat.1 "                            \
  "compare.remat(or.remat,constant.remat.1) tuple.remat(" operands                      \
  ") tuple.remat.1 conditional.remat(compare.remat,tuple.remat,tuple.remat.1) " element \
  "(conditional.remat)#0}"
#define NEVER                                                                      \
  " never{parameter.remat.1#0 constant.remat.2 broadcast.remat(constant.remat.2) " \
  "tuple.remat.3(broadcast.remat) ROOT opt-barrier.remat(tuple.remat.3)}"

/* `p` and `z` are the parameters of the entry computation. */
static const struct {
  const char *what, *comps, *body;
  const char *clones; /* cloned in this order, before `u`, which reads the clones */
  rh_protect how;
  const char *wanted; /* the expected listing */
  uint32_t num_waits; /* the number of control predecessors of clones */
} rows[] = {
    {"nothing", "", A U, "a", RH_PROTECT_NONE,
     "e{p#0 z#1 a(p) b(a) c(b) ROOT u(a.remat,c) a.remat(p)}", 0},
    {"control dependencies", "", A U, "a", RH_PROTECT_CONTROL_DEPS,
     "e{p#0 z#1 a(p) b(a) c(b) ROOT u(a.remat,c) a.remat(p)}", 1},
    {"a barrier", "", A U, "a", RH_PROTECT_OPT_BARRIER,
     "e{p#0 z#1 a(p) b(a) c(b) ROOT u(a.remat,c) a.remat(gte.remat) " BARRIER("p,c"), 0},
    {"a group has one barrier", "", A "d = f32[4] negate(b)\n ROOT u = f32[4] add(b, d)\n", "a b",
     RH_PROTECT_OPT_BARRIER,
     "e{p#0 z#1 a(p) b(a) c(b) d(b) ROOT u(b.remat,d) a.remat(gte.remat) b.remat(a.remat) " BARRIER(
         "p,d"),
     0},
    {"constants fuse", "",
     "k = f32[4] constant({1,2,3,4})\n a = f32[4] add(p, k)\n c = f32[4] tanh(a)\n" U, "a",
     RH_PROTECT_OPT_BARRIER,
     "e{p#0 z#1 k a(p,k) c(a) ROOT u(a.remat,c) a.remat(gte.remat,k) " BARRIER("p,c"), 0},
    {"what reads only constants", "",
     "k = f32[4] constant({1,2,3,4})\n a = f32[4] sine(k)\n c = f32[4] tanh(a)\n" U, "a",
     RH_PROTECT_OPT_BARRIER,
     "e{p#0 z#1 k a(k) c(a) ROOT u(a.remat,c) a.remat(gte.remat) " BARRIER("k,c"), 0},
    {"what costs nothing", "", "a = f32[4] broadcast(z), dimensions={}\n c = f32[4] tanh(a)\n" U,
     "a", RH_PROTECT_OPT_BARRIER, "e{p#0 z#1 a(z) c(a) ROOT u(a.remat,c) a.remat(z)}", 0},
    {"nothing is fused any more", FUSED,
     "a = f32[4] broadcast(z), dimensions={}\n c = f32[4] fusion(a), kind=kLoop, calls=f\n" U, "a",
     RH_PROTECT_OPT_BARRIER,
     "f{q#0 ROOT n(q)} e{p#0 z#1 a(z) c(a) ROOT u(a.remat,c) a.remat(gte.remat) " BARRIER("z,c"),
     0},
    {"a conditional", "", A U, "a", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 a(p) b(a) c(b) ROOT u(gte.remat.1,c) " CONDITIONAL(
         "c", "p", "gte.remat.1") " recompute{parameter.remat#0 gte.remat(parameter.remat)#0 "
                                  "a.remat(gte.remat) ROOT tuple.remat.2(a.remat)}" NEVER,
     0},
    {"a group has one conditional", "", A "d = f32[4] negate(b)\n ROOT u = f32[4] add(b, d)\n",
     "a b", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 a(p) b(a) c(b) d(b) ROOT u(gte.remat.1,d) " CONDITIONAL(
         "d", "p",
         "gte.remat.1") " recompute{parameter.remat#0 gte.remat(parameter.remat)#0 "
                        "a.remat(gte.remat) b.remat(a.remat) ROOT tuple.remat.2(b.remat)}" NEVER,
     0},
    {"the predicate is of what is read, for want of something made just before", "",
     "a = c64[4] complex(p, p)\n c = c64[4] tanh(a)\n b = f32[4] real(a)\n d = c64[4] sine(c)\n"
     "e = f32[4] real(d)\n k = c64[4] cosine(d)\n u = c64[4] add(a, k)\n"
     "ROOT r = (c64[4], f32[4], f32[4]) tuple(u, b, e)\n",
     "a", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 a(p,p) c(a) b(a) d(c) e(d) k(d) u(gte.remat.1,k) ROOT r(u,b,e) " CONDITIONAL(
         "p", "p", "gte.remat.1") " recompute{parameter.remat#0 gte.remat(parameter.remat)#0 "
                                  "a.remat(gte.remat,gte.remat) ROOT tuple.remat.2(a.remat)}" NEVER,
     0},
    {"what costs nothing is inside and outside", "",
     "a = f32[4] broadcast(z), dimensions={}\n b = f32[4] add(a, p)\n c = f32[4] tanh(b)\n"
     "d = f32[4] subtract(c, a)\n u = (f32[4], f32[4]) tuple(a, b)\n"
     "ROOT r = ((f32[4], f32[4]), f32[4]) tuple(u, d)\n",
     "a b", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 a(z) b(a,p) c(b) d(c,a) u(a.remat,gte.remat.2) ROOT r(u,d) a.remat(z) " CONDITIONAL(
         "d", "z,p",
         "gte.remat.2") " recompute{parameter.remat#0 gte.remat(parameter.remat)#0 "
                        "gte.remat.1(parameter.remat)#1 a.remat(gte.remat) "
                        "b.remat(a.remat,gte.remat.1) ROOT tuple.remat.2(b.remat)}" NEVER,
     0},
    {"what waits", "",
     "a = f32[4] sine(p)\n b = f32[4] cosine(p), control-predecessors={a}\n c = f32[4] tanh(b)\n"
     "ROOT u = f32[4] add(b, c)\n",
     "b", RH_PROTECT_CONDITIONAL, "e{p#0 z#1 a(p) b(p) c(b) ROOT u(b.remat,c) b.remat(p)}", 2},
    {"a collective", "",
     "a = f32[4] collective-permute(p), source_target_pairs={{0,1}}\n c = f32[4] tanh(a)\n" U, "a",
     RH_PROTECT_CONDITIONAL, "e{p#0 z#1 a(p) c(a) ROOT u(a.remat,c) a.remat(p)}", 1},
    {"what works in place", "",
     "i = s32[] constant(0)\n v = f32[1] slice(p), slice={[0:1]}\n s = f32[4] sine(p)\n"
     "a = f32[4] dynamic-update-slice(s, v, i)\n c = f32[4] tanh(a)\n" U,
     "a", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 i v(p) s(p) a(s,v,i) c(a) ROOT u(a.remat,c) a.remat(s,v,i)}", 1},
    {"a bitcast goes behind", "",
     "a = f32[4] sine(p)\n b = f32[2,2] bitcast(a)\n c = f32[2,2] tanh(b)\n"
     "ROOT u = f32[2,2] add(b, c)\n",
     "a b", RH_PROTECT_CONDITIONAL,
     "e{p#0 z#1 a(p) b(a) c(b) ROOT u(b.remat,c) b.remat(gte.remat.1) " CONDITIONAL(
         "c", "p", "gte.remat.1") " recompute{parameter.remat#0 gte.remat(parameter.remat)#0 "
                                  "a.remat(gte.remat) ROOT tuple.remat.2(a.remat)}" NEVER,
     0},
};

/* A module whose clones have been made, and its schedule. */
typedef struct Job {
  Fixture fixture;
  Rewrite rewrite;
  Schedule schedule;
  InstId *images; /* by InstId: the clone, or itself */
  InstId user;
} Job;

static void read_images(Job *job, InstId id) {
  for (uint32_t k = 0; k < inst_get(job->rewrite.module, id)->num_operands; k++) {
    InstId operand = inst_operand(job->rewrite.module, id, k);
    rewrite_set_operand(&job->rewrite, id, k, job->images[operand]);
  }
}

static void add_clone(Job *job, const char *name) {
  Module *module = job->rewrite.module;
  InstId original = find_inst(module, name);
  InstId clone = rewrite_clone(&job->rewrite, original, job->fixture.scratch);
  module_copy_control(module, original, clone);
  read_images(job, clone);
  job->images[original] = clone;
  CompId entry = module->entry;
  Sequence old = job->schedule.of[entry];
  Sequence *sequence = &job->schedule.of[entry];
  *sequence = (Sequence){.ids = arena_array(job->fixture.out, InstId, old.len + 1)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    if (old.ids[pos] == job->user) sequence->ids[sequence->len++] = clone;
    sequence->ids[sequence->len++] = old.ids[pos];
  }
}

static Job job_start(const char *comps, const char *body, const char *clones) {
  const char *text = NULL;
  Arena *arena = arena_new(NULL);
  text_add(arena, &text, "p = f32[4] parameter(0)\n z = f32[] parameter(1)\n%s", body);
  Job job = {.fixture = fixture_parse_body(comps, text)};
  Module *module = job.fixture.module;
  job.rewrite = rewrite_begin(module);
  job.schedule = schedule_in_text_order(module, job.fixture.out);
  job.user = find_inst(module, "u");
  job.images = arena_array(job.fixture.out, InstId, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++)
    job.images[id] = id;
  char *names = arena_strndup(arena, clones, strlen(clones)), *rest = names;
  for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
    add_clone(&job, name);
  read_images(&job, job.user);
  arena_free(arena);
  return job;
}

static uint32_t count_waits(const Rewrite *rewrite) {
  uint32_t count = 0;
  for (InstId id = 0; id < rewrite->module->insts.len; id++) {
    if (rewrite_value_source(rewrite, id) == NO_ID) continue;
    count += inst_control(rewrite->module, id)->predecessors.len;
  }
  return count;
}

/* Checks that the printed module is equivalent to the input. */
static void check_equivalent(const Job *job, const char *what) {
  const ModuleSource *source = job->rewrite.module->source;
  Module *before = parse_bytes_or_fail(source->text, source->length);
  size_t length;
  char *text = print_or_fail(job->rewrite.module, &job->schedule, PRINT_SCHEDULED, &length);
  Module *after = parse_bytes_or_fail(text, length);
  rh_diags *diags = rh_diags_new();
  rh_status status = verify_modules(before, after, true, false, diags, job->fixture.scratch);
  ck_assert_msg(status == RH_OK, "%s: %s\n%s", what, rh_diags_get(diags, 0)->message, text);
  rh_diags_free(diags);
  module_free(after);
  module_free(before);
  free(text);
}

START_TEST(clones_are_protected) {
  Job job = job_start(rows[_i].comps, rows[_i].body, rows[_i].clones);
  Module *module = job.rewrite.module;
  protect_clones(&job.rewrite, &job.schedule, rows[_i].how, job.fixture.out, job.fixture.scratch);
  check_text(listing_of(module, job.fixture.out), rows[_i].wanted, rows[_i].what);
  ck_assert_msg(count_waits(&job.rewrite) == rows[_i].num_waits, "%s: %u waits", rows[_i].what,
                count_waits(&job.rewrite));
  check_schedule(module, &job.schedule);
  check_equivalent(&job, rows[_i].what);
  fixture_free(&job.fixture);
}
END_TEST

/* Control dependencies that hold an order of the instructions of a body, beside `p`. */
static const struct {
  const char *what, *body, *order, *moved; /* NULL: all are held */
  const char *edges;
} held[] = {
    {"what has not moved is free", "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n", "a b", "", ""},
    {"it waits, and is waited for",
     "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n c = f32[4] tanh(p)\n", "a c b", "c", "a>c c>b"},
    {"operands hold it, too", "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n c = f32[4] tanh(a)\n",
     "a c b", "c", "c>b"},
    {"through what takes no time",
     "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n"
     "v = f32[2,2] bitcast(a)\n c = f32[2,2] tanh(v)\n",
     "a v c b", "c", "c>b"},
    {"neighbours that have moved",
     "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n c = f32[4] tanh(p)\n"
     "d = f32[4] negate(p)\n",
     "a c d b", "c d", "a>c c>d d>b"},
    {"all of them", "a = f32[4] sine(p)\n b = f32[4] cosine(p)\n c = f32[4] tanh(b)\n", "a b c",
     NULL, "a>b c>u"},
};

static void order_as(Job *job, const char *order) {
  const Module *module = job->rewrite.module;
  Sequence *sequence = &job->schedule.of[module->entry];
  char *words = arena_strndup(job->fixture.out, order, strlen(order)), *rest = words;
  uint32_t next = 2; /* behind the parameters */
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    sequence->ids[next++] = find_inst(module, word);
}

START_TEST(moves_are_held) {
  char body[512];
  snprintf(body, sizeof body, "%sROOT u = f32[4] add(a, b)\n", held[_i].body);
  Job job = job_start("", body, "");
  Module *module = job.rewrite.module;
  Arena *out = job.fixture.out;
  bool *is_moved = arena_zarray(out, bool, module->insts.len);
  for (InstId id = 0; held[_i].moved && id < module->insts.len; id++)
    is_moved[id] = strchr(held[_i].moved, inst_name(module, id).data[0]);
  order_as(&job, held[_i].order);
  protect_order(&job.rewrite, &job.schedule, held[_i].moved ? is_moved : NULL, job.fixture.scratch);
  const char *edges = "";
  Sequence sequence = job.schedule.of[module->entry];
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    IdList before = inst_control(module, sequence.ids[pos])->predecessors;
    for (uint32_t k = 0; k < before.len; k++)
      text_add(out, &edges, "%c>%c", inst_name(module, id_list(module, before)[k]).data[0],
               inst_name(module, sequence.ids[pos]).data[0]);
  }
  check_text(edges, held[_i].edges, held[_i].what);
  fixture_free(&job.fixture);
}
END_TEST

START_TEST(auto_goes_by_the_form_of_the_result) {
  ck_assert_int_eq(protect_resolve(RH_PROTECT_AUTO, RH_EMIT_SCHEDULED), RH_PROTECT_NONE);
  ck_assert_int_eq(protect_resolve(RH_PROTECT_AUTO, RH_EMIT_UNSCHEDULED), RH_PROTECT_CONTROL_DEPS);
  ck_assert_int_eq(protect_resolve(RH_PROTECT_OPT_BARRIER, RH_EMIT_SCHEDULED),
                   RH_PROTECT_OPT_BARRIER);
  ck_assert_int_eq(protect_resolve(RH_PROTECT_NONE, RH_EMIT_UNSCHEDULED), RH_PROTECT_NONE);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("protect");
  TCase *tcase = tcase_create("protect");
  tcase_add_loop_test(tcase, clones_are_protected, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tcase, moves_are_held, 0, (int)(sizeof held / sizeof *held));
  tcase_add_test(tcase, auto_goes_by_the_form_of_the_result);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
