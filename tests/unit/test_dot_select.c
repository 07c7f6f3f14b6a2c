#include "analysis/memory/liveness.h"
#include "emit/dot/picture.h"
#include "emit_fixture.h"

/* ---- what is a filter ---- */

static const struct {
  const char *text;
  DotFilterKind kind;
  const char *rest;
} kind_cases[] = {
    {"peak", DOT_FILTER_PEAK, ""},
    {"all", DOT_FILTER_ALL, ""},
    {"name:a", DOT_FILTER_NAME, "a"},
    {"name:%a", DOT_FILTER_NAME, "a"},
    {"name:%", DOT_FILTER_NAME, "%"},
    {"name:name:a", DOT_FILTER_NAME, "name:a"},
    {"regex:^a|b$", DOT_FILTER_REGEX, "^a|b$"},
    {"scope:a/b", DOT_FILTER_SCOPE, "a/b"},
    {"computation:%main.1", DOT_FILTER_COMPUTATION, "main.1"},
};

START_TEST(filters_are_told_apart) {
  DotFilter filter;
  Arena *arena = arena_new(NULL);
  ck_assert_int_eq(dot_filter_parse(kind_cases[_i].text, &filter, NULL, arena), RH_OK);
  ck_assert_int_eq(filter.kind, kind_cases[_i].kind);
  ck_assert_msg(str_is(filter.text, kind_cases[_i].rest), "%s", kind_cases[_i].text);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *text, *message;
} fault_cases[] = {
    {"", "a graph shows peak, all, name:NAME"},
    {"peaks", "not 'peaks'"},
    {"name", "not 'name'"},
    {"name:", "not 'name:'"},
    {"regex:", "not 'regex:'"},
    {"Scope:a", "not 'Scope:a'"},
    {"regex:(", "the regular expression '(': "},
    {"regex:[a", "the regular expression '[a': "},
    {"regex:(a)\\1", "back references are not supported"},
    {"regex:a{1001}", "it repeats too often"},
    {"regex:a{2,99999999999999999999}", "it repeats too often"},
    {"regex:((a{11}){10}){10}", "it repeats too often"},
};

START_TEST(faults_are_named) {
  rh_diags *diags = rh_diags_new();
  DotFilter filter;
  Arena *arena = arena_new(NULL);
  ck_assert_int_eq(dot_filter_parse(fault_cases[_i].text, &filter, diags, arena), RH_ERR_USAGE);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  check_has(rh_diags_get(diags, 0)->message, fault_cases[_i].message);
  rh_diags_free(diags);
  arena_free(arena);
}
END_TEST

START_TEST(long_expressions_are_refused) {
  char text[1100];
  DotFilter filter;
  Arena *arena = arena_new(NULL);
  memset(text, 'a', sizeof text);
  memcpy(text, "regex:", 6);
  text[6 + 1000] = '\0';
  ck_assert_int_eq(dot_filter_parse(text, &filter, NULL, arena), RH_OK);
  text[6 + 1000] = 'a';
  text[6 + 1001] = '\0';
  ck_assert_int_eq(dot_filter_parse(text, &filter, NULL, arena), RH_ERR_USAGE);
  arena_free(arena);
}
END_TEST

/* ---- what it wants ---- */

static const char filter_sample[] =
    "HloModule m\n"
    "f { p = f32[] parameter(0)\n"
    " ROOT n = f32[] negate(p), metadata={op_name=\"jit(step)/f/neg\"} }\n"
    "ENTRY main {\n"
    " x = f32[] parameter(0), metadata={op_name=\"params['w'][0]\"}\n"
    " a.1 = f32[] abs(x), metadata={op_name=\"jit(step)/jvp(net)/block_1/abs\"}\n"
    " a.11 = f32[] abs(a.1), metadata={op_name=\"jit(step)/transpose(jvp(net))/block_11/abs\"}\n"
    " c = f32[] copy(a.11)\n"
    " b = f32[] call(c), to_apply=f\n"
    " ROOT r = f32[] abs(b) }\n";

static const struct {
  const char *filter;
  const char *names;
} match_cases[] = {
    {"peak", ""},
    {"all", ""},
    {"name:a.1", "a.1"},
    {"name:a", ""},
    {"computation:f", "p n"},
    {"computation:main", "x a.1 a.11 c b r"},
    {"regex:^a[.]1", "a.1 a.11"},
    {"regex:^a[.]1$", "a.1"},
    {"regex:block_1/", "a.1"},
    {"regex:]|[[:digit:]]1", "x a.11 c"},
    {"regex:[]{999}]\\[0", "x"}, /* braces in brackets and escapes repeat nothing */
    {"regex:\\{1\\}", ""},
    {"regex:[^]]\\{999999", ""},
    {"scope:net", "a.1 a.11 c"}, /* a copy is where its operand is */
    {"scope:block_1", "a.1"},
    {"scope:net/block_1", "a.1"},
    {"scope:step/block_1", ""},
    {"scope:step/net/block_1/abs/more", ""},
    {"scope:params['w']", "x"},
    {"scope:['w'][0]", "x"},
    {"scope:/", ""},
};

START_TEST(matches_are_found) {
  Measured measured = measure_text(filter_sample, "liveness");
  Module *module = measured.module;
  ValueAnalysis values = value_analysis_build(module, measured.out, measured.scratch);
  Places places = places_new(module, &values, measured.out);
  DotFilter filter;
  ck_assert_int_eq(dot_filter_parse(match_cases[_i].filter, &filter, NULL, measured.out), RH_OK);
  const char *names = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!dot_filter_matches(&filter, &places, id, measured.scratch)) continue;
    Str name = inst_name(module, id);
    names =
        arena_printf(measured.out, "%s%s%.*s", names, *names ? " " : "", (int)name.len, name.data);
  }
  check_text(names, match_cases[_i].names, match_cases[_i].filter);
  measured_free(&measured);
}
END_TEST

/* ---- what a picture shows ---- */

/* Two layers forward and backward; a0 and a1 wait for their way back, and the peak is at m1. */
static const char layers[] =
    "HloModule m, is_scheduled=true\n"
    "ENTRY main {\n"
    " x = f32[1] parameter(0), metadata={op_name=\"x\"}\n"
    " i0 = f32[] reshape(x), metadata={op_name=\"jit(f)/jvp(layer_0)/norm/reshape\"}\n"
    " w0 = f32[64] broadcast(i0), dimensions={}, metadata={op_name=\"jit(f)/jvp(layer_0)/mlp/b\"}\n"
    " a0 = f32[64] exponential(w0), metadata={op_name=\"jit(f)/jvp(layer_0)/mlp/exp\"}\n"
    " o0 = f32[1] slice(a0), slice={[0:1]}, metadata={op_name=\"jit(f)/jvp(layer_0)/mlp/slice\"}\n"
    " i1 = f32[] reshape(o0), metadata={op_name=\"jit(f)/jvp(layer_1)/norm/reshape\"}\n"
    " w1 = f32[64] broadcast(i1), dimensions={}, metadata={op_name=\"jit(f)/jvp(layer_1)/mlp/b\"}\n"
    " a1 = f32[64] exponential(w1), metadata={op_name=\"jit(f)/jvp(layer_1)/mlp/exp\"}\n"
    " o1 = f32[1] slice(a1), slice={[0:1]}, metadata={op_name=\"jit(f)/jvp(layer_1)/mlp/slice\"}\n"
    " g1 = f32[] reshape(o1), metadata={op_name=\"jit(f)/transpose(jvp(layer_1))/mlp/reshape\"}\n"
    " h1 = f32[64] broadcast(g1), dimensions={}, metadata={op_name=\"jit(f)/layer_1/mlp/b\"}\n"
    " m1 = f32[64] multiply(h1, a1), metadata={op_name=\"jit(f)/layer_1/mlp/mul\"}\n"
    " t1 = f32[1] slice(m1), slice={[0:1]}, metadata={op_name=\"jit(f)/layer_1/norm/slice\"}\n"
    " g0 = f32[] reshape(t1), metadata={op_name=\"jit(f)/layer_0/mlp/reshape\"}\n"
    " h0 = f32[64] broadcast(g0), dimensions={}, metadata={op_name=\"jit(f)/layer_0/mlp/b\"}\n"
    " m0 = f32[64] multiply(h0, a0), metadata={op_name=\"jit(f)/layer_0/mlp/mul\"}\n"
    " ROOT t0 = f32[1] slice(m0), slice={[0:1]}, metadata={op_name=\"jit(f)/layer_0/norm/slice\"}\n"
    "}\n";

static DotPicture picture_of(Measured *measured, const char *filter, int64_t min_bytes,
                             uint32_t max_nodes, uint32_t num_hops) {
  DotOptions options = {.min_bytes = min_bytes,
                        .max_nodes = max_nodes,
                        .num_hops = num_hops,
                        .model = measured->model};
  ck_assert_int_eq(dot_filter_parse(filter, &options.filter, NULL, measured->out), RH_OK);
  return dot_picture_build(measured->module, &measured->schedule, &measured->memory,
                           measured->marks, &options, measured->out, measured->scratch);
}

static const char *shown_names(const DotPicture *picture, Arena *out) {
  const char *names = "";
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    if (!picture->is_shown[id]) continue;
    Str name = inst_name(picture->module, id);
    names = arena_printf(out, "%s%s%.*s", names, *names ? " " : "", (int)name.len, name.data);
  }
  return names;
}

/* `a>b` for a path from a to b. */
static const char *path_names(const DotPicture *picture, Arena *out) {
  const char *names = "";
  for (uint32_t i = 0; i < picture->edges.len; i++) {
    const DotEdge *edge = &picture->edges.data[i];
    if (!edge->is_path) continue;
    Str from = inst_name(picture->module, edge->from), to = inst_name(picture->module, edge->to);
    names = arena_printf(out, "%s%s%.*s>%.*s", names, *names ? " " : "", (int)from.len, from.data,
                         (int)to.len, to.data);
  }
  return names;
}

/* `first..last:instructions`, those of the rest with `*` instead of a path. */
static const char *box_names(const DotPicture *picture, Arena *out) {
  const char *names = "";
  for (uint32_t i = 0; i < picture->boxes.len; i++) {
    const DotBox *box = &picture->boxes.data[i];
    const char *path = box->is_rest ? "*"
                                    : arena_printf(out, "%.*s..%.*s", (int)box->first_path.len,
                                                   box->first_path.data, (int)box->last_path.len,
                                                   box->last_path.data);
    names = arena_printf(out, "%s%s%s:%u", names, *names ? " " : "", path, box->num_insts);
  }
  return names;
}

/* ---- what is chosen ---- */

static const struct {
  const char *filter;
  int64_t min_bytes;
  uint32_t max_nodes, num_hops;
  const char *shown, *paths;
} choice_cases[] = {
    {"peak", -1, 80, 0, "a0 a1 h1 m1", "a0>a1 a1>h1"},
    {"peak", -1, 80, 1, "w0 a0 o0 w1 a1 o1 g1 h1 m1 t1 m0", "o0>w1 t1>m0"},
    {"peak", 255, 80, 0, "a0 a1 h1 m1", "a0>a1 a1>h1"},
    {"peak", 256, 80, 0, "m1", ""},                   /* the peak itself */
    {"peak", -1, 4, 1, "a0 a1 h1 m1", "a0>a1 a1>h1"}, /* half of them live; then what is around */
    {"name:a0", -1, 80, 0, "a0", ""},
    {"name:a0", -1, 80, 1, "w0 a0 o0 m0", "o0>m0"},
    {"name:a0", -1, 80, 2, "i0 w0 a0 o0 i1 h0 m0 t0", "i1>h0"},
    {"name:a0", -1, 2, 1, "w0 a0", ""},
    {"name:none", -1, 80, 1, "", ""},
    {"regex:^m", -1, 80, 0, "m1 m0", "m1>m0"},
    {"regex:^[mi]", 100, 80, 0, "m1 m0", "m1>m0"},
    {"scope:layer_1/norm", -1, 80, 0, "i1 t1", "i1>t1"},
    {"computation:main", -1, 3, 0, "w0 a0 w1", "a0>w1"}, /* the largest */
};

START_TEST(filters_choose) {
  Measured measured = measure_text(layers, "xla-remat");
  DotPicture picture = picture_of(&measured, choice_cases[_i].filter, choice_cases[_i].min_bytes,
                                  choice_cases[_i].max_nodes, choice_cases[_i].num_hops);
  const char *what = choice_cases[_i].filter;
  check_text(shown_names(&picture, measured.out), choice_cases[_i].shown, what);
  check_text(path_names(&picture, measured.out), choice_cases[_i].paths, what);
  measured_free(&measured);
}
END_TEST

START_TEST(clones_and_originals_are_chosen) {
  Measured measured = measure_text(layers, "xla-remat");
  RematMark *mark = &measured.marks[find_inst(measured.module, "h0")];
  *mark = (RematMark){.kind = REMAT_KIND_CLONE, .original = STR("w0")};
  measured.marks[find_inst(measured.module, "g0")].kind = REMAT_KIND_MOVED;
  measured.marks[find_inst(measured.module, "i1")].kind = REMAT_KIND_HELPER;
  DotPicture picture = picture_of(&measured, "peak", 256, 80, 0);
  check_text(shown_names(&picture, measured.out), "w0 m1 g0 h0", "with marks");
  mark->original = STR("gone");
  picture = picture_of(&measured, "peak", 256, 80, 0);
  check_text(shown_names(&picture, measured.out), "m1 g0 h0", "original is gone");
  measured_free(&measured);
}
END_TEST

START_TEST(what_is_wanted_is_counted) {
  Measured measured = measure_text(layers, "xla-remat");
  DotPicture picture = picture_of(&measured, "regex:^[am]", -1, 2, 1);
  ck_assert_uint_eq(picture.num_wanted, 4);
  ck_assert_uint_eq(picture.num_wanted_shown, 2);
  ck_assert(picture.is_wanted[find_inst(measured.module, "m0")]);
  ck_assert(!picture.is_wanted[find_inst(measured.module, "w0")]);
  picture = picture_of(&measured, "peak", -1, 80, 0);
  ck_assert_uint_eq(picture.num_wanted, 4);
  ck_assert_int_eq(picture.all_live_bytes, 4 * 256);
  measured_free(&measured);
}
END_TEST

/* A parameter that is all of the peak but a little: what is a hundredth of the rest is shown. */
START_TEST(parameters_do_not_hide_values) {
  Arena *arena = arena_new(NULL);
  const char *body = " p = f32[1000000] parameter(0)\n a = f32[] constant(0)\n";
  const char *operands = "p";
  for (int i = 0; i < 20; i++) {
    body = arena_printf(arena, "%s y%d = f32[64] broadcast(a), dimensions={}\n", body, i);
    operands = arena_printf(arena, "%s, y%d", operands, i);
  }
  char *text = arena_printf(
      arena,
      "HloModule m\nENTRY e {\n%s ROOT r = () custom-call(%s), custom_call_target=\"t\"\n}\n", body,
      operands);
  Measured measured = measure_text(text, "liveness");
  DotPicture picture = picture_of(&measured, "peak", -1, 80, 0);
  ck_assert_uint_eq(picture.num_wanted, 20);
  ck_assert(!picture.is_shown[find_inst(measured.module, "p")]);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

/* One value that everything reads; of many readers some are shown, the last among them. */
START_TEST(not_all_of_many_neighbours) {
  Arena *arena = arena_new(NULL);
  const char *body = " a = f32[] parameter(0)\n x = f32[64] broadcast(a), dimensions={}\n";
  for (int i = 0; i < 30; i++)
    body = arena_printf(arena, "%s y%d = f32[64] negate(x)\n", body, i);
  char *text = arena_printf(arena, "HloModule m\nENTRY e {\n%s ROOT r = f32[64] abs(x)\n}\n", body);
  Measured measured = measure_text(text, "liveness");
  DotPicture picture = picture_of(&measured, "name:x", -1, 80, 1);
  check_text(shown_names(&picture, measured.out), "a x y0 y1 y2 y3 y4 r", "of many");
  ck_assert_uint_eq(picture.num_left_out[find_inst(measured.module, "x")], 25);
  measured_free(&measured);
  arena_free(arena);
}
END_TEST

/* Calls come on top; the peak is in the loop. */
START_TEST(calls_lead_to_what_is_shown) {
  Measured measured = measure_text(emit_sample, "xla-remat");
  DotPicture picture = picture_of(&measured, "name:y", -1, 1, 0);
  check_text(shown_names(&picture, measured.out), "y loop", "in a loop");
  picture = picture_of(&measured, "peak", INT64_MAX, 80, 0);
  check_text(shown_names(&picture, measured.out), "n loop", "the peak");
  measured_free(&measured);
}
END_TEST

/* ---- paths ---- */

/* A diamond: what goes through b needs no path past it, what goes through hidden ones does. */
START_TEST(paths_are_not_drawn_twice) {
  Measured measured = measure_text(
      "HloModule m\nENTRY e {\n a = f32[8] parameter(0)\n u = f32[8] abs(a)\n"
      " b = f32[8] negate(u)\n v = f32[8] abs(b)\n w = f32[8] sine(u)\n"
      " c = f32[8] add(v, w)\n d = f32[8] add(c, a)\n ROOT r = f32[8] add(d, w)\n}\n",
      "liveness");
  DotPicture picture = picture_of(&measured, "regex:^[abcr]$", -1, 80, 0);
  check_text(path_names(&picture, measured.out), "a>b b>c c>r", "past b");
  picture = picture_of(&measured, "regex:^[acd]$", -1, 80, 0);
  check_text(path_names(&picture, measured.out), "a>c", "beside an edge");
  measured_free(&measured);
}
END_TEST

/* ---- scopes and boxes ---- */

static const struct {
  const char *filter;
  const char *boxes;
} box_cases[] = {
    {"name:none", ""},
    {"name:m1", /* the peak divides */
     "..:1 f/layer_0..f/layer_0:4 f/layer_1/norm..f/layer_1/norm:1 f/layer_1/mlp..f/layer_1/mlp:5 "
     "f/layer_1/norm..f/layer_1/norm:1 f/layer_0..f/layer_0:4"},
    {"name:x", "f..f:11 f..f:5"},
};

START_TEST(boxes_are_scopes) {
  Measured measured = measure_text(layers, "xla-remat");
  DotPicture picture = picture_of(&measured, box_cases[_i].filter, -1, 80, 0);
  check_text(box_names(&picture, measured.out), box_cases[_i].boxes, box_cases[_i].filter);
  measured_free(&measured);
}
END_TEST

START_TEST(scopes_with_some_have_frames) {
  Measured measured = measure_text(layers, "xla-remat");
  DotPicture picture = picture_of(&measured, "regex:^[wahim]", -1, 80, 0);
  ck_assert_uint_eq(picture.scopes.len, 2);
  for (uint32_t i = 0; i < 2; i++) {
    ck_assert(str_is(picture.scopes.data[i].path, i == 0 ? "f/layer_0" : "f/layer_1"));
    ck_assert_uint_eq(picture.scopes.data[i].num_shown, 5);
    ck_assert_uint_eq(picture.scopes.data[i].num_insts, 8);
    ck_assert_uint_eq(picture.scopes.data[i].parent, NO_ID);
  }
  ck_assert_uint_eq(picture.scope_of[find_inst(measured.module, "i1")], 1);
  ck_assert_uint_eq(picture.scope_of[find_inst(measured.module, "m0")], 0);
  measured_free(&measured);
}
END_TEST

static const char *const files[] = {
    "hlo_samples/gpt_scan.after_optimizations.hlo",
    "hlo_samples/gpt_unrolled.before_optimizations.hlo",
    "hlo_samples/lstm.after_optimizations.hlo",
    "hlo_samples/unet_donated.after_optimizations.hlo",
};
static const char *const filters[] = {"peak", "regex:dot", "scope:while", "name:none"};

/* Nothing is lost: what is not shown is in a box, or in a computation of which nothing is shown. */
START_TEST(everything_is_counted_once) {
  Measured measured = measure_file(files[_i / 4], "liveness");
  DotPicture picture = picture_of(&measured, filters[_i % 4], -1, 40, 1);
  const Module *module = measured.module;
  uint32_t num_boxed = 0, num_left = 0;
  int64_t live_bytes = 0;
  for (uint32_t i = 0; i < picture.boxes.len; i++) {
    num_boxed += picture.boxes.data[i].num_insts;
    live_bytes += picture.boxes.data[i].live_bytes;
  }
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!comp_is_sequential(&picture.graph, comp)) continue;
    Sequence sequence = measured.schedule.of[comp];
    uint32_t num_shown = 0;
    int64_t hidden_bytes = 0;
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      num_shown += picture.is_shown[sequence.ids[pos]];
      if (!picture.is_shown[sequence.ids[pos]]) {
        hidden_bytes += picture.live_bytes[sequence.ids[pos]];
      }
    }
    if (num_shown) num_left += sequence.len - num_shown;
    if (num_shown) live_bytes -= hidden_bytes;
  }
  ck_assert_uint_eq(num_boxed, num_left);
  ck_assert_int_eq(live_bytes, 0);
  ck_assert_uint_le(picture.boxes.len, DOT_MAX_BOXES + 2 * module->comps.len);
  measured_free(&measured);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dot_select");
  TCase *tc = tcase_create("dot_select");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, filters_are_told_apart, 0, sizeof kind_cases / sizeof *kind_cases);
  tcase_add_loop_test(tc, faults_are_named, 0, sizeof fault_cases / sizeof *fault_cases);
  tcase_add_test(tc, long_expressions_are_refused);
  tcase_add_loop_test(tc, matches_are_found, 0, sizeof match_cases / sizeof *match_cases);
  tcase_add_loop_test(tc, filters_choose, 0, sizeof choice_cases / sizeof *choice_cases);
  tcase_add_test(tc, clones_and_originals_are_chosen);
  tcase_add_test(tc, what_is_wanted_is_counted);
  tcase_add_test(tc, parameters_do_not_hide_values);
  tcase_add_test(tc, not_all_of_many_neighbours);
  tcase_add_test(tc, calls_lead_to_what_is_shown);
  tcase_add_test(tc, paths_are_not_drawn_twice);
  tcase_add_loop_test(tc, boxes_are_scopes, 0, sizeof box_cases / sizeof *box_cases);
  tcase_add_test(tc, scopes_with_some_have_frames);
  tcase_add_loop_test(tc, everything_is_counted_once, 0, 16);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
