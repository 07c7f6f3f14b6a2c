/* The report of a peak: scopes, the live set, sums, and what differs between two. */
#include "emit/report/report.h"

#include <stdio.h>

#include "emit_fixture.h"
#include "ir/handle.h"

/* ---- scopes ---- */

static const struct {
  const char *op_name, *parts;
} scope_cases[] = {
    {"jit(step)/jvp(block)/dot_general", "step block dot_general"},
    {"jit(step)/transpose(jvp(block))/dot_general", "step block dot_general"},
    {"jit(step)/jvp()/add", "step add"},
    {"jit(step)/transpose(jvp(block/attention))/dot", "step block attention dot"},
    {"jit(f)/vmap(jit(g))/while/body/closed_call", "f g while body closed_call"},
    {"jit(f)/bqhd,bkhd->bhqk/dot", "f bqhd,bkhd->bhqk dot"},
    {"jit(f)", "f"},
    {"jit()", ""},
    {"//a//b/", "a b"},
    {"reduce_sum", "reduce_sum"},
    {"params['w'][0].x", "params ['w'] [0].x"},
    {"params['a/b']", "params ['a/b']"},
    {"state[0][1]", "state [0] [1]"},
    {"f(a)(b)/c", "f(a)(b) c"},
    {"f(a/b", "f(a/b"},
    {"a)/b", "a) b"},
    {"(a)/b", "(a) b"},
    {"", ""},
};

START_TEST(names_are_taken_apart) {
  Arena *arena = arena_new(NULL);
  Str parts[MAX_SCOPE_DEPTH];
  const char *name = scope_cases[_i].op_name, *joined = "";
  uint32_t num_parts = scope_split(str_make(name, strlen(name)), parts);
  for (uint32_t i = 0; i < num_parts; i++)
    text_add(arena, &joined, "%.*s", (int)parts[i].len, parts[i].data);
  check_text(joined, scope_cases[_i].parts, name);
  arena_free(arena);
}
END_TEST

START_TEST(long_names_end_somewhere) {
  enum { LEN = 100000 };
  Arena *arena = arena_new(NULL);
  char *name = arena_array(arena, char, LEN);
  Str parts[MAX_SCOPE_DEPTH];
  for (int i = 0; i < LEN; i++)
    name[i] = i % 2 ? '/' : 'a';
  ck_assert_uint_eq(scope_split((Str){name, LEN}, parts), MAX_SCOPE_DEPTH);
  for (int i = 0; i < LEN; i++)
    name[i] = i % 2 ? '[' : 'a';
  ck_assert_uint_le(scope_split((Str){name, LEN}, parts), MAX_SCOPE_DEPTH);
  for (int i = 0; i < LEN; i++)
    name[i] = i >= LEN / 3 * 2 ? ')' : i % 2 ? '(' : 'a';
  ck_assert_uint_le(scope_split((Str){name, LEN / 3 * 3}, parts), MAX_SCOPE_DEPTH);
  arena_free(arena);
}
END_TEST

START_TEST(parts_are_joined_as_they_were) {
  Arena *arena = arena_new(NULL);
  Str path[] = {STR("a"), STR("b"), STR("c")}, argument[] = {STR("p"), STR("['w']"), STR("[0]")};
  ck_assert(str_is(scope_join(path, 3, arena), "a/b/c"));
  ck_assert(str_is(scope_join(argument, 3, arena), "p['w'][0]"));
  ck_assert(str_is(scope_join(path, 0, arena), ""));
  arena_free(arena);
}
END_TEST

/* ---- reports ---- */

typedef struct Reported {
  char *text;
  rh_module *module, *scheduled;
  rh_report *report;
} Reported;

/* Takes over `text`. */
static Reported report_bytes(char *text, size_t length, const char *model) {
  Reported reported = {.text = text};
  ck_assert_int_eq(rh_parse(text, length, NULL, &reported.module, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(reported.module, NULL, NULL, &reported.scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_report_make(reported.scheduled, NULL, model, &reported.report, NULL), RH_OK);
  return reported;
}

static Reported report_text(const char *text, const char *model) {
  size_t length = strlen(text);
  char *copy = malloc(length + 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, text, length + 1);
  return report_bytes(copy, length, model);
}

static Reported report_of_file(const char *name, const char *model) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size);
  ck_assert(text && fread(text, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  return report_bytes(text, (size_t)size, model);
}

static void reported_free(Reported *reported) {
  rh_report_free(reported->report);
  rh_module_free(reported->scheduled);
  rh_module_free(reported->module);
  free(reported->text);
}

/* Everything adds up to the peak. */
static void check_sums(const rh_report *report, const char *what) {
  int64_t bytes = 0, top_bytes = 0;
  for (size_t i = 0; i < report->num_live; i++) {
    ck_assert_int_gt(report->live[i]->bytes, 0);
    if (i) ck_assert_int_le(report->live[i]->bytes, report->live[i - 1]->bytes);
    bytes += report->live[i]->bytes;
  }
  bool is_held = strcmp(report->memory_model, "heap") == 0;
  if (is_held) ck_assert_int_ge(report->unused_bytes, 0);
  ck_assert_msg(is_held || bytes == report->memory->peak_bytes,
                "%s, %s: the live set has %lld bytes, not %lld", what, report->memory_model,
                (long long)bytes, (long long)report->memory->peak_bytes);
  for (int kind = 0; kind < RH_NUM_SUMS; kind++) {
    int64_t sum = 0;
    uint64_t num_values = 0;
    for (size_t i = 0; i < report->sums[kind].len; i++) {
      sum += report->sums[kind].list[i]->bytes;
      num_values += report->sums[kind].list[i]->num_values;
    }
    ck_assert_int_eq(sum, bytes);
    ck_assert_uint_eq(num_values, report->num_live);
  }
  for (size_t i = 0; i < report->num_scopes; i++) {
    const rh_scope *scope = report->scopes[i];
    if (scope->depth == 0) top_bytes += scope->bytes;
    if (i) ck_assert_uint_le(scope->depth, report->scopes[i - 1]->depth + 1);
  }
  ck_assert_int_eq(top_bytes, bytes);
}

static const char *const samples[] = {"gpt_scan",  "gpt_unrolled", "lstm",         "mlp_checkpoint",
                                      "mobilenet", "resnet",       "unet_donated", "vgg"};
enum { NUM_SAMPLES = sizeof samples / sizeof *samples };

START_TEST(live_sets_sum_up_to_the_peak) {
  static const char *const stages[] = {"before", "after"};
  for (int stage = 0; stage < 2; stage++) {
    for (size_t model = 0; model < num_memory_models; model++) {
      char name[200];
      snprintf(name, sizeof name, "hlo_samples/%s.%s_optimizations.hlo", samples[_i],
               stages[stage]);
      Reported reported = report_of_file(name, memory_models[model].name);
      check_sums(reported.report, name);
      ck_assert_int_lt(reported.report->peak_position, reported.report->num_positions);
      reported_free(&reported);
    }
  }
}
END_TEST

/* With `liveness`, values live where the peak is. */
START_TEST(lives_hold_the_peak) {
  char name[200];
  snprintf(name, sizeof name, "hlo_samples/%s.after_optimizations.hlo", samples[_i]);
  Reported reported = report_of_file(name, "liveness");
  const rh_report *report = reported.report;
  ck_assert_int_eq(report->liveness_peak_bytes, report->memory->peak_bytes);
  for (size_t i = 0; i < report->num_live; i++) {
    ck_assert_int_le(report->live[i]->begin, report->peak_position);
    ck_assert_int_ge(report->live[i]->end, report->peak_position);
  }
  reported_free(&reported);
}
END_TEST

/* Two branches that are counted together, the same computation twice. */
START_TEST(callees_count_as_often_as_they_are_called) {
  static const char text[] =
      "HloModule m, is_scheduled=true\n"
      "branch { b = f32[256] parameter(0)\n c = f32[256] negate(b)\n ROOT d = f32[256] abs(c) }\n"
      "ENTRY e {\n p = pred[] parameter(0)\n x = f32[256] parameter(1)\n"
      " ROOT r = f32[256] conditional(p, x, x), true_computation=branch,"
      " false_computation=branch\n}\n";
  Reported reported = report_text(text, "xla-remat");
  check_sums(reported.report, "two branches");
  ck_assert_int_eq(reported.report->live[0]->bytes, 2048);
  reported_free(&reported);
}
END_TEST

/* A figure that doubles with every level ends before it overflows. */
START_TEST(callees_of_callees_do_not_overflow) {
  enum { NUM_LEVELS = 80 };
  Arena *arena = arena_new(NULL);
  const char *text =
      "HloModule m, is_scheduled=true\n"
      "b0 { p = f32[256] parameter(0)\n c = f32[256] negate(p)\n"
      " ROOT d = f32[256] abs(c) }\n";
  for (int i = 1; i <= NUM_LEVELS; i++) {
    text_add(arena, &text,
             "%s { p = f32[256] parameter(0)\n k = pred[] constant(true)\n ROOT r = f32[256] "
             "conditional(k, p, p), true_computation=b%d, false_computation=b%d }\n",
             i == NUM_LEVELS ? "ENTRY e" : arena_printf(arena, "b%d", i), i - 1, i - 1);
  }
  Reported reported = report_text(text, "xla-remat");
  check_sums(reported.report, "nested conditionals");
  ck_assert_int_gt(reported.report->memory->peak_bytes, INT64_C(1) << 59);
  reported_free(&reported);
  arena_free(arena);
}
END_TEST

/* An output that is there twice, one that is a parameter, and tables of pointers. */
START_TEST(outputs_count_as_often_as_they_are_returned) {
  static const char text[] =
      "HloModule m, is_scheduled=true\n"
      "ENTRY e {\n p = f32[256] parameter(0)\n a = f32[256] negate(p)\n"
      " in = (f32[256], f32[256]) tuple(a, p)\n"
      " ROOT r = (f32[256], (f32[256], f32[256])) tuple(a, in)\n}\n";
  Reported reported = report_text(text, "xla-remat");
  const rh_report *report = reported.report;
  check_sums(report, "outputs");
  ck_assert_int_eq(report->memory->peak_bytes, 3 * 1024 + 2 * 16);
  ck_assert_uint_eq(report->num_live, 5);
  ck_assert_str_eq(report->live[0]->category, "parameter");
  ck_assert_str_eq(report->live[1]->category, "output");
  reported_free(&reported);
}
END_TEST

START_TEST(nothing_needs_nothing) {
  Reported reported =
      report_text("HloModule m, is_scheduled=true\nENTRY e { ROOT r = () tuple() }", "liveness");
  ck_assert_uint_eq(reported.report->num_live, 0);
  ck_assert_uint_eq(reported.report->num_scopes, 0);
  ck_assert_int_eq(reported.report->memory->peak_bytes, 0);
  reported_free(&reported);
}
END_TEST

static const rh_live_value *find_value(const rh_report *report, const char *name) {
  for (size_t i = 0; i < report->num_live; i++) {
    rh_text text = report->live[i]->name;
    if (str_is(str_make(text.data, text.length), name)) return report->live[i];
  }
  ck_abort_msg("%s does not live at the peak", name);
  return NULL;
}

static void check_value(const rh_report *report, const char *name, const char *category,
                        const char *op_name, const char *place, bool is_inherited) {
  const rh_live_value *value = find_value(report, name);
  char got[300];
  snprintf(got, sizeof got, "%s, %.*s, %.*s:%d", value->category, (int)value->op_name.length,
           value->op_name.data, (int)value->source_file.length, value->source_file.data,
           (int)value->source_line);
  char wanted[300];
  snprintf(wanted, sizeof wanted, "%s, %s, %s", category, op_name, place);
  check_text(got, wanted, name);
  ck_assert_msg(value->is_inherited == is_inherited, "%s", name);
}

START_TEST(values_are_described) {
  Reported reported = report_of_file("tests/golden/report/input.hlo", "liveness");
  const rh_report *report = reported.report;
  check_value(report, "w", "donated", "params['block_0']['w']", ":0", false);
  check_value(report, "batch", "parameter", "batch", ":0", false);
  check_value(report, "scores", "temporary", "jit(step)/jvp(block_0)/attention/dot_general",
              "model.py:12", false);
  check_value(report, "state{1}", "while carry", "jit(step)/while/body/add", "train.py:31", true);
  ck_assert_uint_eq(find_value(report, "batch")->num_aliases, 1);
  ck_assert_uint_gt(find_value(report, "state{1}")->num_aliases, 2);
  ck_assert_uint_eq(find_value(report, "w")->num_aliases, 2);
  ck_assert_int_eq(find_value(report, "batch")->end, report->num_positions);
  reported_free(&reported);
  reported = report_of_file("tests/golden/report/input.hlo", "xla-remat");
  check_value(reported.report, "kept", "while carry", "jit(step)/jvp(block_0)/scale", "model.py:20",
              true);
  check_value(reported.report, "loss", "output", "jit(step)/jvp()/reduce_sum", "train.py:41",
              false);
  reported_free(&reported);
}
END_TEST

/* Zeros that a loop fills with exponentials, with nothing but the loop to say where they are from;
 * a table that only its reader tells of; a copy of a fusion of a named root. */
static const char unnamed[] =
    "HloModule m, is_scheduled=true\n"
    "fill { fs = f32[4,256] parameter(0)\n fx = f32[1,256] parameter(1)\n fi = s32[] parameter(2)\n"
    " fz = s32[] constant(0)\n"
    " ROOT fu = f32[4,256] dynamic-update-slice(fs, fx, fi, fz),"
    " metadata={op_name=\"jit(f)/while/body/dynamic_update_slice\"} }\n"
    "named { np = f32[256] parameter(0)\n"
    " ROOT nn = f32[256] negate(np), metadata={op_name=\"jit(f)/neg\"} }\n"
    "body { p = (s32[], f32[256], f32[4,256]) parameter(0)\n"
    " i = s32[] get-tuple-element(p), index=0\n"
    " x = f32[256] get-tuple-element(p), index=1\n"
    " stack = f32[4,256] get-tuple-element(p), index=2\n"
    " e = f32[256] exponential(x), metadata={op_name=\"jit(f)/while/body/exp\"}\n"
    " wide = f32[1,256] reshape(e), metadata={op_name=\"jit(f)/while/body/reshape\"}\n"
    " filled = f32[4,256] fusion(stack, wide, i), kind=kLoop, calls=fill\n"
    " ROOT t = (s32[], f32[256], f32[4,256]) tuple(i, e, filled) }\n"
    "cond { q = (s32[], f32[256], f32[4,256]) parameter(0)\n"
    " j = s32[] get-tuple-element(q), index=0\n n = s32[] constant(3)\n"
    " ROOT less = pred[] compare(j, n), direction=LT }\n"
    "ENTRY e { a = f32[256] parameter(0)\n zero = s32[] constant(0)\n null = f32[] constant(0)\n"
    " zeros = f32[4,256] broadcast(null), dimensions={}\n"
    " table = f32[2048] iota(), iota_dimension=0\n"
    " fused = f32[256] fusion(a), kind=kLoop, calls=named\n copied = f32[256] copy(fused)\n"
    " init = (s32[], f32[256], f32[4,256]) tuple(zero, copied, zeros)\n"
    " loop = (s32[], f32[256], f32[4,256]) while(init), condition=cond, body=body,"
    " metadata={op_name=\"jit(f)/while\"}\n"
    " stacked = f32[4,256] get-tuple-element(loop), index=2\n"
    " both = f32[2048] negate(table), metadata={op_name=\"jit(f)/read\"}\n"
    " ROOT r = (f32[4,256], f32[2048]) tuple(stacked, both) }\n";

START_TEST(what_compilation_added_has_a_place) {
  Reported reported = report_text(unnamed, "xla-remat");
  check_value(reported.report, "loop{2}", "output", "jit(f)/while/body/exp", ":0", true);
  check_value(reported.report, "table", "temporary", "jit(f)/read", ":0", true);
  check_value(reported.report, "copied", "while carry", "jit(f)/neg", ":0", true);
  reported_free(&reported);
  reported = report_text(unnamed, "heap");
  check_value(reported.report, "zeros", "output", "jit(f)/while/body/exp", ":0", true);
  reported_free(&reported);
}
END_TEST

START_TEST(models_are_known) {
  Reported reported = report_text(
      "HloModule m, is_scheduled=true\nENTRY e { ROOT p = f32[2] parameter(0) }", "liveness");
  rh_report *report = NULL;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_report_make(reported.scheduled, NULL, "livenes", &report, diags),
                   RH_ERR_USAGE);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  ck_assert_ptr_null(report);
  rh_diags_free(diags);
  rh_report_free(NULL);
  reported_free(&reported);
}
END_TEST

/* ---- differences ---- */

static rh_sum sum_of(const char *name, int64_t line, int64_t bytes) {
  return (rh_sum){{name, strlen(name)}, line, bytes, 1};
}

typedef struct Listed {
  Arena *arena;
  const char *text;
} Listed;

static void list_change(void *context, const rh_change *change) {
  Listed *listed = context;
  text_add(listed->arena, &listed->text, "%.*s:%lld:%lld>%lld", (int)change->name.length,
           change->name.data, (long long)change->line, (long long)change->before_bytes,
           (long long)change->after_bytes);
}

START_TEST(differences_are_sorted) {
  const rh_sum before[] = {sum_of("a", 1, 100), sum_of("a", 2, 50), sum_of("gone", 0, 30),
                           sum_of("same", 0, 7)};
  const rh_sum after[] = {sum_of("a", 1, 90), sum_of("new", 0, 40), sum_of("same", 0, 7),
                          sum_of("a", 2, 80)};
  const rh_sum *befores[4], *afters[4];
  for (int i = 0; i < 4; i++) {
    befores[i] = &before[i];
    afters[i] = &after[i];
  }
  Listed listed = {arena_new(NULL), ""};
  rh_sums first = {befores, 4}, second = {afters, 4}, none = {NULL, 0};
  ck_assert_int_eq(rh_compare_sums(first, second, list_change, &listed, NULL), RH_OK);
  check_text(listed.text, "new:0:0>40 a:2:50>80 gone:0:30>0 a:1:100>90", "changes");
  ck_assert_int_eq(rh_compare_sums(none, none, list_change, &listed, NULL), RH_OK);
  arena_free(listed.arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("report");
  TCase *scopes = tcase_create("scopes");
  tcase_add_loop_test(scopes, names_are_taken_apart, 0,
                      (int)(sizeof scope_cases / sizeof *scope_cases));
  tcase_add_test(scopes, long_names_end_somewhere);
  tcase_add_test(scopes, parts_are_joined_as_they_were);
  suite_add_tcase(suite, scopes);
  TCase *reports = tcase_create("reports");
  tcase_set_timeout(reports, 120);
  tcase_add_loop_test(reports, live_sets_sum_up_to_the_peak, 0, NUM_SAMPLES);
  tcase_add_loop_test(reports, lives_hold_the_peak, 0, NUM_SAMPLES);
  tcase_add_test(reports, callees_count_as_often_as_they_are_called);
  tcase_add_test(reports, outputs_count_as_often_as_they_are_returned);
  tcase_add_test(reports, nothing_needs_nothing);
  tcase_add_test(reports, values_are_described);
  tcase_add_test(reports, what_compilation_added_has_a_place);
  tcase_add_test(reports, models_are_known);
  tcase_add_test(reports, differences_are_sorted);
  suite_add_tcase(suite, reports);
  TCase *slow = tcase_create("slow");
  tcase_set_tags(slow, "slow");
  tcase_set_timeout(slow, 120);
  tcase_add_test(slow, callees_of_callees_do_not_overflow);
  suite_add_tcase(suite, slow);
  return run_suite(suite);
}
