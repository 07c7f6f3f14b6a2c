/* What pictures of memory are made of. */
#include "emit/picture/picture.h"

#include <stdio.h>

#include "emit/label.h"
#include "emit/picture/svg.h"
#include "support.h"

START_TEST(marks_are_few_and_round) {
  static const struct {
    int64_t bytes, byte_step, count_step;
  } cases[] = {{0, 1, 1},
               {8, 1, 1},
               {9, 2, 2},
               {100, 16, 20},
               {1 << 20, 131072, 200000},
               {INT64_MAX, INT64_C(1) << 60, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(picture_byte_step(cases[i].bytes, 8), cases[i].byte_step);
    if (!cases[i].count_step) continue;
    ck_assert_int_eq(picture_count_step(cases[i].bytes, 8), cases[i].count_step);
  }
}
END_TEST

START_TEST(limits_stand_over_what_does_not_count) {
  const rh_memory memory = {.temp_bytes = 30, .output_bytes = 20, .total_bytes = 90};
  rh_memory_map map = {.total_bytes = 100, .memory = &memory};
  rh_picture picture = RH_PICTURE_INIT;
  ck_assert_int_eq(picture_limit(&picture, &map), -1);
  picture.limit_bytes = 25;
  ck_assert_int_eq(picture_limit(&picture, &map), 35); /* 10 are constants */
  picture.limit_counts = RH_COUNT_TEMP_OUTPUTS;
  ck_assert_int_eq(picture_limit(&picture, &map), 75);
  picture.limit_counts = RH_COUNT_TEMP;
  ck_assert_int_eq(picture_limit(&picture, &map), 95);
  picture.limit_bytes = INT64_MAX;
  ck_assert_int_eq(picture_limit(&picture, &map), -1);
}
END_TEST

START_TEST(places_do_not_overflow) {
  SvgPanel panel = {.left = 1000,
                    .right = 101000,
                    .top = 500,
                    .bottom = 60500,
                    .num_positions = UINT32_MAX,
                    .bytes = INT64_MAX};
  ck_assert_int_eq(svg_x(&panel, 0), 1000);
  ck_assert_int_eq(svg_x(&panel, UINT32_MAX), 101000);
  ck_assert_int_eq(svg_y(&panel, 0), 60500);
  ck_assert_int_eq(svg_y(&panel, INT64_MAX), 500);
  ck_assert_int_eq(svg_y(&panel, INT64_MAX / 2), 30501);
  panel.bytes = 0;
  ck_assert_int_eq(svg_y(&panel, 0), 60500);
}
END_TEST

START_TEST(every_category_has_its_colour) {
  static const char *const names[] = {"temporary", "copy",      "while carry", "output",
                                      "donated",   "parameter", "constant"};
  for (uint32_t i = 0; i < NUM_PICTURE_CATEGORIES; i++) {
    rh_live_value value = {.category = names[i]};
    ck_assert_uint_eq(picture_category(&value), i);
  }
}
END_TEST

static rh_text text(const char *chars) {
  return (rh_text){chars, strlen(chars)};
}

static void assert_text(rh_text actual, const char *expected) {
  ck_assert_msg(
      actual.length == strlen(expected) && memcmp(actual.data, expected, actual.length) == 0,
      "'%.*s' is not '%s'", (int)actual.length, actual.data, expected);
}

static const struct {
  const char *name, *opcode, *op_name, *file, *argument;
  int64_t line;
  const char *label;
} labels[] = {
    /* names that say something */
    {"gelu.1", "tanh", "jit(f)/mlp/tanh", "m.py", "", 3, "gelu.1"},
    {"softmax_fusion.2", "fusion", "jit(f)/mlp/div", "m.py", "", 3, "softmax_fusion.2"},
    {"mlp1.2", "fusion", "jit(f)/a/add", "m.py", "", 3, "mlp1.2"},
    {"cross_entropy", "fusion", "", "", "", 0, "cross_entropy"},
    /* the end of the op_name */
    {"ynn_fusion.113", "fusion", "jit(f)/jvp(mlp)/dot_general", "m.py", "", 3, "mlp/dot_general"},
    {"loop_add_fusion", "fusion", "jit(f)/transpose(jvp(block/mlp))/add", "", "", 0,
     "block/mlp/add"},
    {"fusion.12", "fusion", "jit(f)/attn/while/body/closed_call/exp", "m.py", "", 3, "attn/exp"},
    {"fusion.12.remat2.1", "fusion", "jit(f)/attn/exp", "m.py", "", 3, "attn/exp"},
    {"broadcast_multiply_fusion.1.clone", "fusion", "jit(f)/a/mul", "", "", 0, "a/mul"},
    {"dot_general.7", "dot", "jit(f)/mlp/dot_general", "m.py", "", 3, "mlp/dot_general"},
    {"while.3{10}", "while", "jit(f)/mlp/while", "m.py", "", 3, "mlp/while"},
    /* the source position */
    {"ynn_fusion.1", "fusion", "jit(f)/jvp()/reduce_max", "/a/b/m.py", "", 30,
     "reduce_max m.py:30"},
    {"copy.1", "copy", "jit(f)/while/body/eval_jaxpr/add", "m.py", "", 0, "add m.py"},
    {"fusion", "fusion", "", "m.py", "", 30, "m.py:30"},
    {"fusion.1", "fusion", "jit(f)/add", "", "", 0, "add"},
    {"fusion.2", "fusion", "", "", "", 0, "fusion.2"},
    /* arguments */
    {"params__w__.1", "parameter", "params['w']", "", "params['w']", 0, "params['w']"},
    {"copy.5", "copy", "params['w']", "", "params['w']", 0, "copy params['w']"},
    {"param.1", "parameter", "jit(f)/mlp/add", "m.py", "", 3, "param.1"},
};

START_TEST(a_label_says_what_the_name_does_not) {
  rh_live_value value = {.name = text(labels[_i].name),
                         .opcode = text(labels[_i].opcode),
                         .op_name = text(labels[_i].op_name),
                         .source_file = text(labels[_i].file),
                         .source_line = labels[_i].line,
                         .argument = text(labels[_i].argument)};
  Arena *arena = arena_new(NULL);
  assert_text(value_label(&value, arena), labels[_i].label);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *label, *forms[4];
} forms[] = {
    {"mlp/dot_general", {"mlp/dot_general", "dot_general"}},
    {"dot_general m.py:3", {"dot_general m.py:3", "dot_general"}},
    {"gelu.1", {"gelu.1"}},
    {"s.params['a']['w']", {"s.params['a']['w']", "…['a']['w']", "…['w']"}},
    {"[0]", {"[0]"}},
    {"", {""}},
};

START_TEST(labels_have_shorter_forms) {
  Arena *arena = arena_new(NULL);
  rh_text form;
  uint32_t number = 0;
  for (; forms[_i].forms[number]; number++) {
    ck_assert(value_label_form(text(forms[_i].label), number, arena, &form));
    assert_text(form, forms[_i].forms[number]);
  }
  ck_assert(!value_label_form(text(forms[_i].label), number, arena, &form));
  arena_free(arena);
}
END_TEST

START_TEST(scopes_are_cut_at_their_parts) {
  static const struct {
    const char *scope;
    bool is_argument;
    int depth;
    const char *cut;
  } cases[] = {{"step/mlp/add", false, 1, "step"},
               {"step/mlp/add", false, 2, "step/mlp"},
               {"step/mlp/add", false, 9, "step/mlp/add"},
               {"step/f(a/b)/add", false, 2, "step/f(a/b)"},
               {"s.params['a/b'][0]", true, 1, "s"},
               {"s.params['a.b'][0]", true, 3, "s.params['a.b']"},
               {"", false, 1, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rh_text scope = text(cases[i].scope);
    scope.length = picture_scope_prefix(scope, cases[i].is_argument, cases[i].depth);
    assert_text(scope, cases[i].cut);
  }
}
END_TEST

/* A map of values that live side by side at the only position. */
enum { MAX_VALUES = 16 };
typedef struct Scene {
  rh_live_value values[MAX_VALUES];
  rh_placed_value placed[MAX_VALUES];
  const rh_placed_value *list[MAX_VALUES];
  rh_memory_map map;
} Scene;

static void add_value(Scene *scene, const char *scope, int64_t bytes, const char *argument) {
  size_t i = scene->map.num_values++;
  bool is_argument = argument[0] != '\0';
  scene->values[i] = (rh_live_value){.category = is_argument ? "parameter" : "temporary",
                                     .argument = text(argument),
                                     .bytes = bytes};
  scene->placed[i] = (rh_placed_value){.value = &scene->values[i], .scope = text(scope), .end = 1};
  scene->list[i] = &scene->placed[i];
  scene->map.values = scene->list;
}

static PictureGroups groups_of(const rh_picture *picture, Arena *out) {
  PictureMaps maps = picture_maps(picture, out);
  return picture_groups(&maps, out);
}

START_TEST(colours_are_of_the_depth_that_separates) {
  static const char *const scopes[] = {"f/model/a/add", "f/model/b/add", "f/model/c/add"};
  Scene scene = {.map = {.num_positions = 1}};
  for (size_t i = 0; i < 3; i++)
    add_value(&scene, scopes[i], 100, "");
  add_value(&scene, "", 1000, "params['w']");
  add_value(&scene, "", 1000, "params['b']");
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = &scene.map;
  Arena *arena = arena_new(NULL);
  PictureGroups groups = groups_of(&picture, arena);
  ck_assert(groups.by_scope);
  ck_assert_int_eq(groups.depth, 3); /* 4 separates no more */
  ck_assert_int_eq(groups.argument_depth, 2);
  assert_text(groups.groups[groups.of[0][0]].name, "f/model/a");
  assert_text(groups.groups[groups.of[0][3]].name, "params['w']");
  ck_assert_uint_eq(groups.of[0][3], NUM_COMPUTED_GROUPS + 1); /* equal ones go by name */
  arena_free(arena);
}
END_TEST

/* Where each value has a scope of its own, most would be grey. */
START_TEST(colours_leave_little_over) {
  Scene scene = {.map = {.num_positions = 1}};
  char scopes[MAX_VALUES][32];
  for (size_t i = 0; i < MAX_VALUES; i++) {
    snprintf(scopes[i], sizeof scopes[i], "f/%s/v%zu", i < 6 ? "a" : i < 11 ? "b" : "c", i);
    add_value(&scene, scopes[i], 100, "");
  }
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = &scene.map;
  Arena *arena = arena_new(NULL);
  ck_assert_int_eq(groups_of(&picture, arena).depth, 2);
  arena_free(arena);
}
END_TEST

START_TEST(colours_are_categories_without_scopes) {
  Scene scene = {.map = {.num_positions = 1}};
  add_value(&scene, "", 100, "");
  add_value(&scene, "", 100, "x");
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = &scene.map;
  Arena *arena = arena_new(NULL);
  PictureGroups groups = groups_of(&picture, arena);
  ck_assert(!groups.by_scope);
  assert_text(groups.groups[groups.of[0][1]].name, "parameter");
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("picture");
  TCase *tcase = tcase_create("picture");
  tcase_add_test(tcase, marks_are_few_and_round);
  tcase_add_test(tcase, limits_stand_over_what_does_not_count);
  tcase_add_test(tcase, places_do_not_overflow);
  tcase_add_test(tcase, every_category_has_its_colour);
  tcase_add_loop_test(tcase, a_label_says_what_the_name_does_not, 0,
                      sizeof labels / sizeof *labels);
  tcase_add_loop_test(tcase, labels_have_shorter_forms, 0, sizeof forms / sizeof *forms);
  tcase_add_test(tcase, scopes_are_cut_at_their_parts);
  tcase_add_test(tcase, colours_are_of_the_depth_that_separates);
  tcase_add_test(tcase, colours_leave_little_over);
  tcase_add_test(tcase, colours_are_categories_without_scopes);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
