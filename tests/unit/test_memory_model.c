#include "analysis/memory/memory_model.h"

#include "support.h"

#define K 1024

/* p 1 KiB, a 1 KiB, b 2 KiB, r 4 bytes. */
#define CHAIN                                         \
  "p = f32[256] parameter(0)\n a = f32[256] abs(p)\n" \
  "b = f32[512] concatenate(a, a), dimensions={0}\n"  \
  "ROOT r = f32[1] slice(b), slice={[0:1]}\n"
#define AWAY                                                      \
  "p = f32[256]{0:S(5)} parameter(0)\n a = f32[256] copy(p)\n"    \
  "h = f32[256]{0:S(5)} copy(a)\n b = f32[256]{0:S(5)} copy(h)\n" \
  "c = f32[256] copy(b)\n ROOT r = f32[1] slice(c), slice={[0:1]}\n"
#define ENTRY(body) "HloModule m, is_scheduled=true\nENTRY e {\n" body "}\n"
#define BARRIER(behind)                                                                  \
  ENTRY(                                                                                 \
      "p = f32[256] parameter(0)\n a = f32[256] reverse(p), dimensions={0}\n"            \
      "b = f32[256] reverse(a), dimensions={0}\n t = (f32[256], f32[256]) tuple(a, b)\n" \
      "u = (f32[256], f32[256]) opt-barrier(t)\n" behind                                 \
      "v = f32[256] get-tuple-element(x), index=0\n"                                     \
      "w = f32[256] get-tuple-element(x), index=1\n s = f32[256] subtract(v, w)\n"       \
      "ROOT r = f32[1] slice(s), slice={[0:1]}\n")
#define COND                                                                           \
  "cond { cp = f32[256] parameter(0)\n c = pred[8] constant({...})\n ROOT t = pred[] " \
  "constant(true) }\n"
#define BODY                                                                                       \
  "body { bp = f32[256] parameter(0)\n x = f32[512] concatenate(bp, bp), dimensions={0}\n ROOT n " \
  "= f32[256] slice(x), slice={[0:256]} }\n"
#define READ_BEHIND                                             \
  "HloModule m, is_scheduled=true\n" COND BODY                  \
  "ENTRY e { p = f32[256] parameter(0)\n i = f32[256] abs(p)\n" \
  "w = f32[256] while(i), condition=cond, body=body\n ROOT r = f32[256] add(w, i) }\n"
#define KEPT_PARAMETER                         \
  "HloModule m, is_scheduled=true\n" COND BODY \
  "ENTRY e { p = f32[256] parameter(0)\n"      \
  "w = f32[256] while(p), condition=cond, body=body\n ROOT r = f32[256] abs(w) }\n"
#define DONATED                                                                          \
  "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\n"     \
  "ENTRY e { p = f32[256] parameter(0)\n a = f32[256] abs(p)\n b = f32[256] add(a, p)\n" \
  "ROOT t = (f32[256], f32[256]) tuple(a, b) }\n"

typedef struct Row {
  const char *name, *model, *text;
  int64_t peak_bytes, parameter_bytes, output_bytes, aliased_bytes, constant_bytes;
  const char *peak_inst;
  const char *live; /* at the peak */
} Row;

static const Row rows[] = {
    /* At b: a and b; and the result. */
    {"a chain", "xla-remat", ENTRY(CHAIN), 3 * K + 4, K, 4, 0, 0, "b", "b a"},
    /* At b: p, a and b. */
    {"a chain", "liveness", ENTRY(CHAIN), 4 * K, K, 4, 0, 0, "b", "b p a"},
    {"a chain", "liveness-once", ENTRY(CHAIN), 4 * K, K, 4, 0, 0, "b", "b p a"},
    /* p and r all the time, at b also a and b. */
    {"a chain", "heap", ENTRY(CHAIN), 4 * K + 4, K, 4, 0, 0, "b", "b p a r"},
    /* a lies where the result will be. */
    {"in the result's place", "heap",
     ENTRY("p = f32[256] parameter(0)\n a = f32[256] abs(p)\n ROOT r = f32[256] sine(a)\n"), 2 * K,
     K, K, 0, 0, "p", "p r"},
    /* b takes 100 bytes, a 92 behind it, at 128: 192 live in a block of 220. */
    {"a gap", "heap",
     ENTRY("p = f32[] parameter(0)\n b = f32[25] broadcast(p), dimensions={}\n"
           "a = f32[23] slice(b), slice={[0:23]}\n c = f32[23] reverse(a), dimensions={0}\n"
           "ROOT r = f32[] slice(c), slice={[0:1]}\n"),
     4 + 4 + 220, 4, 4, 0, 0, "a", "b a p r"},
    /* p, h and b are in the host's memory: a or c alone, and r. */
    {"on the host", "xla-remat", ENTRY(AWAY), K + 4, 0, 4, 0, 0, "a", "a"},
    {"on the host", "liveness", ENTRY(AWAY), K + 4, 0, 4, 0, 0, "ROOT r", "c r"},
    {"on the host", "heap", ENTRY(AWAY), K + 4, 0, 4, 0, 0, "a", "a r"},
    /* The parameter itself is the result. */
    {"nothing at all", "xla-remat", ENTRY("ROOT p = f32[256] parameter(0)\n"), K, K, K, 0, 0, NULL,
     ""},
    {"nothing at all", "liveness", ENTRY("ROOT p = f32[256] parameter(0)\n"), K, K, K, 0, 0,
     "ROOT p", "p"},
    {"nothing at all", "heap", ENTRY("ROOT p = f32[256] parameter(0)\n"), 2 * K, K, K, 0, 0,
     "ROOT p", "p"},
    /* At a the donated p and a, of which one is the other: sizes are the text's. */
    {"an alias", "xla-remat",
     "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e { p = f32[256] parameter(0)\n ROOT a = f32[256] abs(p) }\n",
     K, K, K, K, 0, NULL, ""},
    {"an alias", "heap",
     "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }\n"
     "ENTRY e { p = f32[256] parameter(0)\n ROOT a = f32[256] abs(p) }\n",
     K, K, K, K, 0, "p", "p"},
    /* a, b: XLA:CPU removes both barriers and the tuple that is read through them. */
    {"a barrier", "heap", BARRIER("x = (f32[256], f32[256]) opt-barrier(u)\n"), K + 4 + 2 * K, K, 4,
     0, 0, "b", "p a b r"},
    /* XLA's scheduler still sees them: p, a, b and s, which cannot lie where a does. */
    {"a barrier", "liveness", BARRIER("x = (f32[256], f32[256]) opt-barrier(u)\n"), 4 * K, K, 4, 0,
     0, "s", NULL},
    /* The constants of the loop's condition are counted (8 + 1), those of a reducer are not. */
    {"constants", "xla-remat",
     "HloModule m, is_scheduled=true\n" COND BODY
     "max { l = f32[] parameter(0)\n m = f32[] parameter(1)\n k = f32[] constant(7)\n"
     "ROOT s = f32[] maximum(l, k) }\n"
     "ENTRY e { p = f32[256] parameter(0)\n a = f32[256] abs(p)\n z = f32[16] constant({...})\n"
     "i = f32[] constant(0)\n w = f32[256] while(a), condition=cond, body=body\n"
     "ROOT r = f32[] reduce(w, i), dimensions={0}, to_apply=max }\n",
     /* While the loop runs: a (the loop's too), z and i die unread or are read later, and the peaks
      * of body (x 2 KiB) and condition (c 8; its result is the caller's); and the result of 4
      * bytes. */
     K + 4 + 2 * K + 8 + 4, K, 4, 0, 64 + 4 + 8 + 1, "x", "x a c i"},
};

/* What values lie together before and after XLA has inserted its copies. */
static const struct {
  CopyStage copies;
  Row row;
} stages[] = {
    /* Copies that XLA will insert: the loop's own buffer beside i, which is read behind it. 8 + 1
     * are the condition's constants; x is 2 KiB; i lies where the result will be. */
    {COPIES_PENDING,
     {"a value read behind the loop that took it", "heap", READ_BEHIND, K + K + K + 2 * K + 8 + 1,
      K, K, 0, 8 + 1, "x", "x bp p i c t"}},
    /* None: the loop lies where i does, which is where the result will be. */
    {COPIES_INSERTED,
     {"a value read behind the loop that has it", "heap", READ_BEHIND, K + K + 2 * K + 8 + 1, K, K,
      0, 8 + 1, "x", "x bp p c t"}},
    {COPIES_PENDING,
     {"a parameter that nobody gave away", "heap", KEPT_PARAMETER, K + K + 2 * K + 8 + 1, K, K, 0,
      8 + 1, "x", "x bp p c t"}},
    /* The loop lies where p does, r has memory of its own. */
    {COPIES_INSERTED,
     {"a parameter that the loop has all the same", "heap", KEPT_PARAMETER, K + K + 2 * K + 8 + 1,
      K, K, 0, 8 + 1, "x", "x bp r c t"}},
    {COPIES_PENDING,
     {"a donated parameter read behind the output that takes it over", "heap", DONATED,
      K + 2 * K + 16 - K + K, K, 2 * K + 16, K, 0, "a", NULL}},
    /* p is b's; a; and the table of pointers. */
    {COPIES_INSERTED,
     {"a donated parameter that the output has", "heap", DONATED, K + K + 16, K, 2 * K + 16, K, 0,
      "p", NULL}},
};

static void check_row(const Row *row, CopyStage copies) {
  Fixture fixture = fixture_parse(row->text);
  fixture.module->backend.copies = copies;
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  const MemoryModel *model = memory_model_find(row->model);
  LiveSet live;
  MemoryProfile profile =
      model->measure(fixture.module, &schedule, &live, fixture.out, fixture.scratch);
  const char *peak_inst = "";
  if (profile.peak_inst != NO_ID) {
    peak_inst = names_of(fixture.module, &profile.peak_inst, 1, fixture.out);
  }
  const char *got = arena_printf(
      fixture.out, "peak %lld at %s, parameters %lld, outputs %lld, aliased %lld, constants %lld",
      (long long)profile.peak_bytes, peak_inst, (long long)profile.parameter_bytes,
      (long long)profile.output_bytes, (long long)profile.aliased_bytes,
      (long long)profile.constant_bytes);
  const char *wanted = arena_printf(
      fixture.out, "peak %lld at %s, parameters %lld, outputs %lld, aliased %lld, constants %lld",
      (long long)row->peak_bytes, row->peak_inst ? row->peak_inst : "",
      (long long)row->parameter_bytes, (long long)row->output_bytes, (long long)row->aliased_bytes,
      (long long)row->constant_bytes);
  check_text(got, wanted, arena_printf(fixture.out, "%s, %s", row->name, row->model));

  if (row->live) {
    const char *names = "";
    for (uint32_t i = 0; i < live.len; i++) {
      Str name = inst_name(fixture.module, live.list[i].inst);
      text_add(fixture.out, &names, "%.*s", (int)name.len, name.data);
    }
    check_text(names, row->live, row->name);
  }
  fixture_free(&fixture);
}

START_TEST(figures_match_table) {
  check_row(&rows[_i], COPIES_OPEN);
}
END_TEST

START_TEST(figures_before_and_after_copies_match_table) {
  check_row(&stages[_i].row, stages[_i].copies);
}
END_TEST

/* By instruction; what runs in no sequence has -1. */
START_TEST(bytes_while_each_runs) {
  static const struct {
    const char *model;
    int64_t a, b, r;
  } at[] = {{"xla-remat", K, 3 * K, 2 * K},
            {"liveness", 2 * K, 4 * K, 3 * K + 4},
            {"heap", 2 * K + 4, 4 * K + 4, 3 * K + 4}};
  Fixture fixture = fixture_parse(
      "HloModule m, is_scheduled=true\nf { ROOT q = f32[] parameter(0) }\n"
      "ENTRY e {\n" CHAIN "}\n");
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    MemoryProfile profile =
        memory_model_find(at[i].model)
            ->measure(fixture.module, &schedule, NULL, fixture.out, fixture.scratch);
    ck_assert_int_eq(profile.bytes_at[find_inst(fixture.module, "a")], at[i].a);
    ck_assert_int_eq(profile.bytes_at[find_inst(fixture.module, "b")], at[i].b);
    ck_assert_int_eq(profile.bytes_at[find_inst(fixture.module, "r")], at[i].r);
    ck_assert_int_eq(profile.bytes_at[find_inst(fixture.module, "q")], -1);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(live_sets_are_sorted) {
  LiveBuffer list[] = {
      {5, 0, 10, 0, 0}, {3, 1, 20, 0, 0}, {3, 0, 20, 0, 0}, {1, 0, 20, 0, 0}, {9, 0, 30, 0, 0}};
  LiveSet live = {list, 5};
  live_set_sort(&live);
  static const InstId order[] = {9, 1, 3, 3, 5};
  for (int i = 0; i < 5; i++)
    ck_assert_uint_eq(list[i].inst, order[i]);
  ck_assert_uint_eq(list[2].part, 0);
  ck_assert_uint_eq(list[3].part, 1);
  live_set_sort(&(LiveSet){NULL, 0});
}
END_TEST

START_TEST(models_are_found_by_name) {
  for (size_t i = 0; i < num_memory_models; i++) {
    ck_assert_ptr_eq(memory_model_find(memory_models[i].name), &memory_models[i]);
    ck_assert_uint_gt(strlen(memory_models[i].summary), 0);
  }
  ck_assert_ptr_nonnull(memory_model_find("xla-remat"));
  ck_assert_ptr_null(memory_model_find("xla-rema"));
  ck_assert_ptr_null(memory_model_find(""));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory_model");
  TCase *tc = tcase_create("memory_model");
  tcase_add_loop_test(tc, figures_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, figures_before_and_after_copies_match_table, 0,
                      sizeof stages / sizeof *stages);
  tcase_add_test(tc, bytes_while_each_runs);
  tcase_add_test(tc, live_sets_are_sorted);
  tcase_add_test(tc, models_are_found_by_name);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
