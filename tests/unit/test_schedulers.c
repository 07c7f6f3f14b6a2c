#include "schedule/scheduler.h"

#include "support.h"

#define P "p = f32[4] parameter(0)\n"
#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"

#define BACKWARDS                                                                                \
  P "c = f32[4] sine(p)\n d = f32[4] tanh(p)\n e = f32[4] cosine(p), control-predecessors={d}\n" \
    "ROOT r = (f32[4], f32[4]) tuple(e, c)\n"

/* XLA's tests (hlo_memory_scheduler_test.cc), with the whole order that follows from its rules. */
#define LAST_USE                                                    \
  "param = f32[42] parameter(0)\n ab = f32[42] abs(param)\n"        \
  "exp = f32[42] exponential(param)\n add = f32[42] add(ab, exp)\n" \
  "negate = f32[42] negate(exp)\n ROOT sub = f32[42] subtract(add, negate)\n"
#define ALIASING                                                                                \
  "param = s32[1000] parameter(0)\n p0 = s32[1000] copy(param)\n p1 = s32[1000] copy(param)\n"  \
  "t = (s32[1000], s32[1000]) tuple(p0, p1)\n"                                                  \
  "a = s32[1000] get-tuple-element(t), index=0\n b = s32[1000] get-tuple-element(t), index=1\n" \
  "c = s32[1000] add(a, b)\n d = s32[1000] add(c, b)\n e = s32[1000] add(c, c)\n"               \
  "f = s32[1000] add(e, e)\n"                                                                   \
  "ROOT result = (s32[1000], s32[1000], s32[1000]) tuple(d, e, f)\n"
#define WAVE(n)                                                          \
  "c" n " = f32[] constant(" n ")\n bcast" n " = f32[2,8] broadcast(c" n \
  "), dimensions={}\n"                                                   \
  "add" n " = f32[2,8] add(p0, bcast" n ")\n"
#define CALLEE "f { q = f32[4] parameter(0)\n ROOT w = f32[4,16] broadcast(q), dimensions={0} }\n"
#define CALL                                                                    \
  P "a = f32[4,16] call(p), to_apply=f\n b = f32[8] iota(), iota_dimension=0\n" \
    "ROOT t = (f32[4,16], f32[8]) tuple(a, b)\n"
#define REDUCE(n) "r" n " = f32[2] reduce(add" n ", c0), dimensions={1}, to_apply=sum\n"

static const struct {
  const char *name, *scheduler, *comps, *body, *order;
} rows[] = {
    /* input */
    {"as it is", "input", "",
     P "a = f32[4] abs(p)\n q = f32[4] parameter(1)\n ROOT r = f32[4] add(a, q)\n", "p a q ROOT r"},
    /* postorder */
    {"depth first", "postorder", "",
     P "q = f32[4] parameter(1)\n a = f32[4] abs(p)\n b = f32[4] sine(q)\n"
       "ROOT r = f32[4] subtract(b, a)\n",
     "q b p a ROOT r"},
    /* dfs */
    {"most fan-out first", "dfs", "",
     P "a = f32[4] abs(p)\n b1 = f32[4] sine(p)\n b2 = f32[4] tanh(b1)\n b3 = f32[4] cosine(b1)\n"
       "b = f32[4] add(b2, b3)\n ROOT r = f32[4] add(a, b)\n",
     "p b1 b2 b3 b a ROOT r"},
    {"then most bytes", "dfs", "",
     P
     "a = f32[4] abs(p)\n b1 = f32[4] sine(p)\n b = f32[4] tanh(b1)\n ROOT r = f32[4] add(a, b)\n",
     "p b1 b a ROOT r"},
    {"then by name", "dfs", "",
     P "b = f32[4] abs(p)\n a10 = f32[4] sine(p)\n a9 = f32[4] tanh(p)\n"
       "ROOT r = f32[4] clamp(b, a9, a10)\n",
     "p a10 a9 b ROOT r"},
    {"control predecessors are sorted with operands", "dfs", "",
     P "z = f32[4] abs(p)\n a = f32[4] sine(p)\n m = f32[4] tanh(p)\n"
       "x = f32[4] negate(m), control-predecessors={z, a}\n ROOT r = (f32[4], f32[4], f32[4]) "
       "tuple(x, z, a)\n",
     "p a m z x ROOT r"},
    {"dead ones first, in the order of the text", "dfs", "",
     P "ROOT r = f32[4] abs(p)\n e = f32[4] sine(r)\n d = f32[4] tanh(p)\n", "p ROOT r e d"},
    {"what has a control successor is not dead", "dfs", "",
     P
     "d = f32[4] sine(p)\n a = f32[4] abs(p)\n ROOT r = f32[4] tanh(a), control-predecessors={d}\n",
     "p a d ROOT r"},
    {"parameters and constants weigh nothing", "dfs", "",
     "p = f32[1000] parameter(0)\n c = f32[1000] constant({...})\n q = f32[4] parameter(1)\n"
     "a = f32[4] abs(q)\n ROOT t = (f32[1000], f32[1000], f32[4]) tuple(p, c, a)\n",
     "q a c p ROOT t"},
    /* list */
    {"what became ready last first", "list", "", LAST_USE, "param exp negate ab add ROOT sub"},
    {"aliases are followed", "list", "", ALIASING, "param p1 p0 t b a c d e f ROOT result"},
    {"a tuple frees nothing", "list", "",
     "lit = f32[6] constant({1,1,1,1,1,1})\n abs_const = f32[6] abs(lit)\n"
     "abs_abs1 = f32[6] abs(abs_const)\n tuple = (f32[6]) tuple(abs_abs1)\n"
     "element = f32[6] get-tuple-element(tuple), index=0\n abs_abs2 = f32[6] abs(abs_const)\n"
     "ROOT add = f32[6] add(element, abs_abs2)\n",
     "lit abs_const abs_abs2 abs_abs1 tuple element ROOT add"},
    {"all results of a fusion count", "list",
     "f { q0 = f32[5] parameter(0)\n q1 = f32[5] parameter(1)\n q2 = f32[5] parameter(2)\n"
     "fa = f32[5] add(q0, q1)\n fm = f32[5] multiply(fa, q2)\n"
     "ROOT ft = (f32[5], f32[5]) tuple(fa, fm) }\n",
     "c1 = f32[5] constant({1,1,1,1,1})\n c2 = f32[5] constant({1,2,3,4,5})\n"
     "c3 = f32[5] constant({0,2,4,6,8})\n"
     "fusion = (f32[5], f32[5]) fusion(c1, c2, c3), kind=kLoop, calls=f\n"
     "element = f32[5] get-tuple-element(fusion), index=0\n exp = f32[5] exponential(c3)\n"
     "ROOT add = f32[5] add(element, exp)\n",
     "c3 c2 c1 exp fusion element ROOT add"},
    {"a send is done before anything large", "list", "",
     "p = f32[1000,1000] parameter(0)\n tok = token[] after-all()\n"
     "send = (f32[1000,1000], token[]) send(p, tok), channel_id=1, is_host_transfer=true\n"
     "n1 = f32[1000,1000] negate(p)\n n2 = f32[1000,1000] negate(n1)\n"
     "n3 = f32[1000,1000] negate(n2)\n"
     "ROOT send-done = token[] send-done(send), channel_id=1, is_host_transfer=true\n",
     "p tok send ROOT send-done n1 n2 n3"},
    /* 256 bytes are the call's to the one; to the other they are made in the callee. */
    {"a call defines its result", "list", CALLEE, CALL, "p b a ROOT t"},
    {"a call defines nothing", "list-values", CALLEE, CALL, "p a b ROOT t"},
    {"scalars at once", "list", "",
     P "a = f32[4] abs(p)\n s = f32[] constant(1)\n b = f32[1] constant({2})\n"
       "c = f32[4] add(a, a)\n d = f32[] negate(s)\n e = f32[1] negate(b)\n"
       "ROOT t = (f32[4], f32[], f32[1]) tuple(c, d, e)\n",
     "b e s d p a c ROOT t"},
    {"outfeeds early, infeeds late", "list", "",
     "tok = token[] after-all()\n in = (f32[4], token[]) infeed(tok), infeed_config=\"i\"\n"
     "big = f32[64] iota(), iota_dimension=0\n less = f32[8] slice(big), slice={[0:8]}\n"
     "out = token[] outfeed(less, tok), outfeed_shape=f32[8], outfeed_config=\"o\"\n"
     "n = f32[8] negate(less)\n g = f32[4] get-tuple-element(in), index=0\n"
     "ROOT t = (f32[8], f32[4]) tuple(n, g)\n",
     "tok big less out n in g ROOT t"},
    {"without a config they are like any other", "list", "",
     "tok = token[] after-all()\n in = (f32[4], token[]) infeed(tok)\n"
     "big = f32[64] iota(), iota_dimension=0\n less = f32[8] slice(big), slice={[0:8]}\n"
     "out = token[] outfeed(less, tok), outfeed_shape=f32[8]\n"
     "n = f32[8] negate(less)\n g = f32[4] get-tuple-element(in), index=0\n"
     "ROOT t = (f32[8], f32[4]) tuple(n, g)\n",
     "tok in g big less out n ROOT t"},
    {"control predecessors", "list", "",
     P "a = f32[4] abs(p)\n b = f32[4] sine(p), control-predecessors={a}\n"
       "ROOT r = f32[4] add(b, a)\n",
     "p a b ROOT r"},
    {"who frees more now is looked at again", "list", "",
     "p = f32[16] parameter(0)\n x = f32[16] abs(p)\n a1 = f32[8] slice(x), slice={[0:8]}\n"
     "a2 = f32[16] sine(x)\n v = f32[8] iota(), iota_dimension=0, control-predecessors={a1}\n"
     "ROOT t = (f32[8], f32[16], f32[8]) tuple(a1, a2, v)\n",
     "p x a1 a2 v ROOT t"},
    {"but not who reads it through a tuple", "list", "",
     "p = f32[16] parameter(0)\n x = f32[16] abs(p)\n y = (f32[16]) tuple(x)\n"
     "z = f32[16] get-tuple-element(y), index=0\n a1 = f32[8] slice(x), slice={[0:8]}\n"
     "a2 = f32[16] sine(z)\n v = f32[8] iota(), iota_dimension=0, control-predecessors={a1}\n"
     "ROOT t = (f32[8], f32[16], f32[8]) tuple(a1, a2, v)\n",
     "p x y z a1 v a2 ROOT t"},
    {"what the root returns is not freed", "list", "",
     "p = f32[16] parameter(0)\n ROOT x = f32[16] abs(p)\n"
     "y = f32[16] sine(p), control-predecessors={x}\n"
     "u = f32[8] slice(x), slice={[0:8]}, control-predecessors={y}\n"
     "v = f32[8] slice(y), slice={[0:8]}\n",
     "p ROOT x y v u"},
    /* bfs */
    {"an operand twice is one", "bfs", "", P "a = f32[4] add(p, p)\n ROOT r = f32[4] add(a, a)\n",
     "p a ROOT r"},
    {"wave by wave", "bfs", SUM,
     "p0 = f32[2,8] parameter(0)\n c0 = f32[] constant(0)\n" WAVE("1") WAVE("2") WAVE("3") WAVE("4")
         WAVE("5") REDUCE("1") REDUCE("2") REDUCE("3") REDUCE("4")
             REDUCE("5") "out0 = f32[2] add(r1, r2)\n out1 = f32[2] add(r3, r4)\n out2 = f32[2] "
                         "add(out0, out1)\n"
                         "ROOT out3 = f32[2] add(out2, r5)\n",
     "p0 c0 c1 c2 c3 c4 c5 bcast1 bcast2 bcast3 bcast4 bcast5 add1 add2 add3 add4 add5 "
     "r1 r2 r3 r4 r5 out0 out1 out2 ROOT out3"},
    {"users, then control successors", "bfs", "",
     P "a = f32[4] abs(p)\n c = f32[4] sine(p), control-predecessors={a}\n"
       "q = f32[4] parameter(1)\n d = f32[4] tanh(a)\n e = f32[4] cosine(q)\n"
       "ROOT r = (f32[4], f32[4], f32[4]) tuple(c, d, e)\n",
     "p q a e d c ROOT r"},
    /* A proto has d, e, c, so that the user d of p was made first. */
    {"users in the order of the text", "bfs", "", BACKWARDS, "p c d e ROOT r"},
    {"users in the order of the proto", "bfs-proto", "", BACKWARDS, "p d c e ROOT r"},
    /* default */
    {"dfs is best", "default", "", LAST_USE, "param exp ab add negate ROOT sub"},
};

START_TEST(order_matches_table) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  Schedule schedule = fixture_schedule(&fixture, rows[_i].scheduler);
  check_text(scheduled_names(&fixture, &schedule, "e"), rows[_i].order, rows[_i].name);
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* ---- peaks ---- */

static const struct {
  const char *name, *body, *scheduler;
  int64_t peak_bytes; /* MinimumMemoryForModule */
} peaks[] = {
    {"last use", LAST_USE, "list", 672},      {"last use", LAST_USE, "dfs", 504},
    {"last use", LAST_USE, "postorder", 504}, {"last use", LAST_USE, "default", 504},
    {"aliasing", ALIASING, "list", 16024},
};

static int64_t peak_of(const Fixture *fixture, const Schedule *schedule) {
  ValueAnalysis values = value_analysis_build(fixture->module, fixture->out, fixture->scratch);
  return liveness_run(fixture->module, &values, schedule, COUNT_SHARED_TWICE, fixture->out,
                      fixture->scratch)
      .peak_bytes;
}

START_TEST(peak_matches_table) {
  Fixture fixture = fixture_parse_body("", peaks[_i].body);
  Schedule schedule = fixture_schedule(&fixture, peaks[_i].scheduler);
  int64_t peak_bytes = peak_of(&fixture, &schedule);
  ck_assert_msg(peak_bytes == peaks[_i].peak_bytes, "%s, %s: %lld, not %lld", peaks[_i].name,
                peaks[_i].scheduler, (long long)peak_bytes, (long long)peaks[_i].peak_bytes);
  fixture_free(&fixture);
}
END_TEST

/* Where two are equally good the earlier one is taken: list, dfs, postorder. */
START_TEST(default_prefers_list) {
  Fixture fixture = fixture_parse_body(
      "", P "a = f32[4] abs(p)\n b = f32[4] sine(p)\n ROOT t = (f32[4], f32[4]) tuple(a, b)\n");
  Schedule list = fixture_schedule(&fixture, "list"), dfs = fixture_schedule(&fixture, "dfs");
  ck_assert_int_eq(peak_of(&fixture, &list), peak_of(&fixture, &dfs));
  ck_assert_str_ne(scheduled_names(&fixture, &list, "e"), scheduled_names(&fixture, &dfs, "e"));
  Schedule schedule = fixture_schedule(&fixture, "default");
  check_text(scheduled_names(&fixture, &schedule, "e"), scheduled_names(&fixture, &list, "e"),
             "default");
  fixture_free(&fixture);
}
END_TEST

/* ---- all of them ---- */

static const char *const samples[] = {
    "gpt_scan.before",
    "gpt_scan.after",
    "gpt_unrolled.before",
    "gpt_unrolled.after",
    "lstm.before",
    "lstm.after",
    "mlp_checkpoint.before",
    "mlp_checkpoint.after",
    "mobilenet.before",
    "mobilenet.after",
    "resnet.before",
    "resnet.after",
    "unet_donated.before",
    "unet_donated.after",
    "vgg.before",
    "vgg.after",
};

/* fixture_schedule checks validity; the same comes out again; default is the best of three. */
START_TEST(samples_are_scheduled) {
  Arena *arena = arena_new(NULL);
  Fixture fixture =
      fixture_parse_file(arena_printf(arena, "hlo_samples/%s_optimizations.hlo", samples[_i]));
  int64_t least_bytes = INT64_MAX, default_bytes = 0;
  for (size_t s = 0; s < num_schedulers; s++) {
    const char *name = schedulers[s].name;
    Schedule schedule = fixture_schedule(&fixture, name);
    Schedule again = fixture_schedule(&fixture, name);
    for (CompId comp = 0; comp < schedule.num_comps; comp++) {
      size_t bytes = schedule.of[comp].len * sizeof(InstId);
      ck_assert_msg(schedule.of[comp].len == again.of[comp].len &&
                        memcmp(schedule.of[comp].ids, again.of[comp].ids, bytes) == 0,
                    "%s, %s: two results", samples[_i], name);
    }
    int64_t peak_bytes = peak_of(&fixture, &schedule);
    bool is_candidate =
        strcmp(name, "list") == 0 || strcmp(name, "dfs") == 0 || strcmp(name, "postorder") == 0;
    if (is_candidate && peak_bytes < least_bytes) least_bytes = peak_bytes;
    if (strcmp(name, "default") == 0) default_bytes = peak_bytes;
  }
  ck_assert_int_eq(default_bytes, least_bytes);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

/* Both figures of DFSMemoryScheduler count shared ancestors once per path; here that is 2^200. */
START_TEST(figures_do_not_overflow) {
  const char *body = P "x0 = f32[4] abs(p)\n";
  Arena *arena = arena_new(NULL);
  for (int i = 0; i < 200; i++) {
    body = arena_printf(arena,
                        "%sa%d = f32[4] abs(x%d)\n b%d = f32[4] sine(x%d)\n"
                        "x%d = f32[4] add(a%d, b%d)\n",
                        body, i, i, i, i, i + 1, i, i);
  }
  Fixture fixture = fixture_parse_body("", body);
  for (size_t s = 0; s < num_schedulers; s++)
    fixture_schedule(&fixture, schedulers[s].name);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

START_TEST(computations_are_scheduled_except_fusions) {
  Fixture fixture = fixture_parse_body(
      SUM
      "f { q = f32[4] parameter(0)\n z = f32[] constant(0)\n fa = f32[4] abs(q)\n"
      "ROOT fr = f32[] reduce(fa, z), dimensions={0}, to_apply=sum }\n"
      "g { gq = f32[4] parameter(0)\n ROOT gf = f32[] fusion(gq), kind=kLoop, calls=f }\n",
      P "ROOT r = f32[] call(p), to_apply=g\n");
  const Module *module = fixture.module;
  CompList list = computations_to_schedule(module, fixture.out, fixture.scratch);
  ck_assert_uint_eq(list.len, 3);
  ck_assert_uint_eq(list.ids[0], find_comp(module, "sum"));
  ck_assert_uint_eq(list.ids[1], find_comp(module, "g"));
  ck_assert_uint_eq(list.ids[2], module->entry);
  for (size_t s = 0; s < num_schedulers; s++) {
    Schedule schedule = fixture_schedule(&fixture, schedulers[s].name);
    check_text(scheduled_names(&fixture, &schedule, "f"), "q z fa ROOT fr", schedulers[s].name);
    ck_assert_uint_eq(schedule.of[find_comp(module, "sum")].len, 3);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(schedulers_are_found) {
  static const char *const names[] = {"input", "postorder", "dfs",    "list",
                                      "bfs",   "bfs-proto", "default"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ck_assert_ptr_nonnull(scheduler_find(names[i]));
    ck_assert_str_eq(scheduler_find(names[i])->name, names[i]);
    ck_assert_uint_gt(strlen(scheduler_find(names[i])->summary), 0);
  }
  ck_assert_ptr_null(scheduler_find("lists"));
  ck_assert_ptr_null(scheduler_find(""));
}
END_TEST

/* ---- the judge ---- */

/* Sequences of the entry that are no schedule, and the instruction that says so. */
static const struct {
  const char *name, *order, *bad;
} broken[] = {
    {"an operand later", "p b a c r", "b"},
    {"a control predecessor later", "p c a b r", "c"},
    {"twice", "p a b c a r", "a"},
    {"one is missing", "p a b r", "c"},
    {"the root is missing", "p a b c", "r"},
    {"somebody else's", "p a b q r", "q"},
    {"only that", "r", "r"},
};

static Sequence sequence_of(const Module *module, const char *names, Arena *out) {
  Sequence sequence = {.ids = arena_array(out, InstId, strlen(names))};
  for (const char *name = names; *name;) {
    size_t len = strcspn(name, " ");
    sequence.ids[sequence.len++] = find_inst(module, arena_strndup(out, name, len));
    name += len + (name[len] == ' ');
  }
  return sequence;
}

START_TEST(broken_schedules_are_refused) {
  Fixture fixture = fixture_parse_body(
      "f { q = f32[4] parameter(0)\n ROOT fa = f32[4] abs(q) }\n", P
      "a = f32[4] call(p), to_apply=f\n b = f32[4] sine(a)\n"
      "c = f32[4] tanh(p), control-predecessors={b}\n ROOT r = f32[4] add(b, p)\n");
  Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  check_schedule(module, &schedule);
  schedule.of[module->entry] = sequence_of(module, broken[_i].order, fixture.out);
  InstId bad = NO_ID;
  ck_assert_msg(!schedule_is_valid(module, &schedule, &bad, fixture.scratch), "%s",
                broken[_i].name);
  ck_assert_msg(bad == find_inst(module, broken[_i].bad), "%s: not %s but %u", broken[_i].name,
                broken[_i].bad, bad);
  fixture_free(&fixture);
}
END_TEST

/* Any two neighbours of which one reads the other, exchanged. */
START_TEST(exchanged_neighbours_are_refused) {
  Fixture fixture = fixture_parse_file("hlo_samples/mlp_checkpoint.after_optimizations.hlo");
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  Sequence entry = schedule.of[module->entry];
  uint32_t num_exchanged = 0;
  for (uint32_t i = 0; i + 1 < entry.len; i++) {
    InstId first = entry.ids[i], second = entry.ids[i + 1], bad = NO_ID;
    if (inst_count_operand(module, second, first) == 0) continue;
    entry.ids[i] = second;
    entry.ids[i + 1] = first;
    ck_assert(!schedule_is_valid(module, &schedule, &bad, fixture.scratch));
    ck_assert_uint_eq(bad, second);
    entry.ids[i] = first;
    entry.ids[i + 1] = second;
    num_exchanged++;
  }
  ck_assert_uint_gt(num_exchanged, 10);
  check_schedule(module, &schedule);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schedulers");
  TCase *tc = tcase_create("schedulers");
  tcase_add_loop_test(tc, order_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, peak_matches_table, 0, sizeof peaks / sizeof *peaks);
  tcase_add_test(tc, default_prefers_list);
  tcase_add_test(tc, figures_do_not_overflow);
  tcase_add_test(tc, computations_are_scheduled_except_fusions);
  tcase_add_test(tc, schedulers_are_found);
  suite_add_tcase(suite, tc);
  tc = tcase_create("judge");
  tcase_add_loop_test(tc, broken_schedules_are_refused, 0, sizeof broken / sizeof *broken);
  tcase_add_test(tc, exchanged_neighbours_are_refused);
  suite_add_tcase(suite, tc);
  tc = tcase_create("samples");
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, samples_are_scheduled, 0, sizeof samples / sizeof *samples);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
