/* Every public function that allocates, with memory that runs out at each place in turn: it says
 * RH_ERR_MEMORY, its result is NULL, and nothing is lost. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#ifdef REMAT_HLO_PROTO
#include "module_proto.h"
#include "text_proto.h"
#endif
#include "refuse.h"
#include "remat_hlo.h"
#include "sample.h"
#include "support.h"

/* What functions are given; all is there before memory runs out. */
typedef struct World {
  rh_module *spaces_parsed, *with_spaces; /* with values in the host's memory */
  rh_module *parsed, *scheduled, *result;
  rh_module *estimated;
  rh_profile *profile, *clocked;
  rh_plan *plan;
  rh_live_ranges *ranges;
  rh_report *report;
  rh_memory_map *map;
  rh_settings settings;
  rh_known_cost costs[2];
  char *plan_text;
  size_t plan_length;
#ifdef REMAT_HLO_PROTO
  Arena *proto_arena;
  Bytes proto; /* that of `parsed` */
  Bytes text_proto;
#endif
} World;

static World world;

/* What was wrong with a result. Check itself must not be asked for it: it allocates. */
static const char *fault;

static void expect(bool is_so, const char *what) {
  if (!is_so) fault = what;
}

/* ---- what is called ---- */

static int discard(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 0;
}

static void ignore_way(void *context, const rh_way *way) {
  (void)context, (void)way;
}

static void ignore_live(void *context, const rh_live_buffer *buffer) {
  (void)context, (void)buffer;
}

static void ignore_change(void *context, const rh_change *change) {
  (void)context, (void)change;
}

static rh_remat_options remat_options(const char *algorithm) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.limit_bytes = 1;
  options.small_node_bytes = 0;
  options.keep_plan = true;
  options.clone_callees = true;
  return options;
}

#define CASE_WITH_RESULT(name, type, free_it, call) \
  static rh_status name(rh_diags *diags) {          \
    type *made = (type *)(void *)&world;            \
    rh_status status = call;                        \
    if (status > RH_NOT_EQUIVALENT) {               \
      expect(!made, "there is a result");           \
    } else {                                        \
      expect(made != NULL, "there is no result");   \
      free_it(made);                                \
    }                                               \
    return status;                                  \
  }

CASE_WITH_RESULT(parse, rh_module, rh_module_free,
                 rh_parse(SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1, NULL, &made, diags))
CASE_WITH_RESULT(parse_nothing, rh_module, rh_module_free,
                 rh_parse("HloModule m\nENTRY e { ROOT p = f32[2 parameter(0) }", 49, NULL, &made,
                          diags))
CASE_WITH_RESULT(schedule, rh_module, rh_module_free,
                 rh_schedule(world.parsed, &world.settings, NULL, &made, diags))
CASE_WITH_RESULT(report, rh_report, rh_report_free,
                 rh_report_make(world.scheduled, &world.settings, "heap", &made, diags))
CASE_WITH_RESULT(advice, rh_advice, rh_advice_free,
                 rh_advice_make(world.scheduled, &world.settings, NULL, &made, diags))
CASE_WITH_RESULT(map, rh_memory_map, rh_memory_map_free,
                 rh_memory_map_make(world.scheduled, NULL, &made, diags))
CASE_WITH_RESULT(recomputed, rh_recomputed, rh_recomputed_free,
                 rh_recomputed_make(world.result, &world.settings, 1, &made, diags))
CASE_WITH_RESULT(profile, rh_profile, rh_profile_free,
                 rh_profile_parse(SAMPLE_PROFILE, sizeof SAMPLE_PROFILE - 1, NULL, &made, diags))
CASE_WITH_RESULT(profile_named, rh_profile, rh_profile_free,
                 rh_profile_named("cpu", NULL, &made, diags))
CASE_WITH_RESULT(profile_unknown, rh_profile, rh_profile_free,
                 rh_profile_named("gpu", NULL, &made, diags))
CASE_WITH_RESULT(cost_report, rh_cost_report, rh_cost_report_free,
                 rh_cost_report_make(world.scheduled, &world.settings, world.profile, 1, &made,
                                     diags))
static const double seconds[] = {1, 2};
CASE_WITH_RESULT(calibration, rh_calibration, rh_calibration_free,
                 rh_calibrate((const rh_module *[]){world.scheduled, world.result}, seconds, 2,
                              &world.settings, world.profile, NULL, &made, diags))
CASE_WITH_RESULT(estimates, rh_calibration, rh_calibration_free,
                 rh_calibrate_estimates((const rh_module *const *)&world.estimated, 1, NULL,
                                        world.clocked, NULL, &made, diags))
CASE_WITH_RESULT(times, rh_times, rh_times_free,
                 rh_times_parse(SAMPLE_TRACE, sizeof SAMPLE_TRACE - 1, &made, diags))
CASE_WITH_RESULT(scaled, rh_profile, rh_profile_free,
                 rh_profile_scaled(world.profile, world.scheduled, &world.settings, 1, &made,
                                   diags))

static rh_status find_hlo(rh_diags *diags) {
  const char *hlo;
  size_t length;
  static const char space[] = "\x0a\x10\x12\x0e/host:metadata";
  rh_status status = rh_times_find_hlo(space, sizeof space - 1, NULL, &hlo, &length, diags);
  expect(!hlo && length == 0, "there is no module");
  return status;
}

CASE_WITH_RESULT(plan, rh_plan, rh_plan_free,
                 rh_plan_parse(world.plan_text, world.plan_length, &made, diags))
CASE_WITH_RESULT(ranges, rh_live_ranges, rh_live_ranges_free,
                 rh_live_ranges_parse(SAMPLE_RANGES, sizeof SAMPLE_RANGES - 1, NULL, &made, diags))

static rh_status schedule_anew(rh_diags *diags) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = "default";
  options.ignore_schedule = true;
  options.unfuse = RH_UNFUSE_ALL;
  options.fuse = true;
  rh_module *made = NULL;
  rh_status status = rh_schedule(world.parsed, &world.settings, &options, &made, diags);
  expect(status == RH_OK || !made, "the result does not fit the status");
  rh_module_free(made);
  return status;
}

CASE_WITH_RESULT(split, rh_module, rh_module_free,
                 rh_split_fusions(world.scheduled, &world.settings, &made, diags))

static rh_status remat(const char *algorithm, rh_diags *diags) {
  rh_remat_options options = remat_options(algorithm);
  options.collection = "bcast\nneg";
  options.pin = "^slice";
  options.never = "fused|nothing";
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_module *made = world.scheduled;
  rh_status status = rh_remat(world.scheduled, &world.settings, &options, &made, &info, diags);
  expect(status == RH_OVER_LIMIT || (!made && info.counted_bytes == 0),
         "the result does not fit the status");
  rh_module_free(made);
  return status;
}

static rh_status remat_by_path(rh_diags *diags) {
  return remat("path", diags);
}

static rh_status remat_by_standard(rh_diags *diags) {
  return remat("standard", diags);
}

static rh_status remat_by_checkpoint(rh_diags *diags) {
  return remat("checkpoint=collection", diags);
}

static rh_status apply_plan(rh_diags *diags) {
  rh_remat_options options = remat_options("path");
  rh_module *made = world.scheduled;
  rh_status status = rh_apply_plan(world.scheduled, NULL, world.plan, &options, &made, NULL, diags);
  expect(status == RH_OVER_LIMIT || !made, "the result does not fit the status");
  rh_module_free(made);
  return status;
}

static rh_status check(rh_diags *diags) {
  return rh_check(world.parsed, diags);
}

static rh_status check_settings(rh_diags *diags) {
  return rh_check_settings(&world.settings, diags);
}

static rh_status lint(rh_diags *diags) {
  return rh_lint(world.parsed, NULL, NULL, diags);
}

static rh_status print(rh_diags *diags) {
  return rh_print(world.result, discard, NULL, diags);
}

static rh_status format(rh_diags *diags) {
  return rh_format(world.result, NULL, discard, NULL, diags);
}

static rh_status measure_memory(rh_diags *diags) {
  rh_memory memory = RH_MEMORY_INIT;
  rh_status status = rh_measure_memory(world.scheduled, &world.settings, "heap", &memory, diags);
  expect((status == RH_OK) == (memory.peak_bytes != 0), "the result does not fit the status");
  return status;
}

static rh_status compare_seconds(rh_diags *diags) {
  rh_model_error error = RH_MODEL_ERROR_INIT;
  return rh_compare_seconds(seconds, seconds, 2, &error, diags);
}

static rh_status print_profile(rh_diags *diags) {
  return rh_profile_print(world.profile, discard, NULL, diags);
}

static rh_status measure_cost(rh_diags *diags) {
  rh_cost cost = RH_COST_INIT;
  return rh_measure_cost(world.scheduled, &world.settings, world.profile, 1, &cost, diags);
}

static rh_status visit_live(rh_diags *diags) {
  rh_remat_options options = remat_options("path");
  return rh_visit_live(world.result, NULL, "heap", &options, ignore_live, NULL, diags);
}

static void ignore_space(void *context, const rh_space *space) {
  (void)context;
  (void)space;
}

static rh_status visit_spaces(rh_diags *diags) {
  return rh_visit_spaces(world.with_spaces, NULL, ignore_space, NULL, diags);
}

static rh_status visit_ways(rh_diags *diags) {
  rh_remat_options options = remat_options("path");
  rh_remat_result missed = RH_REMAT_RESULT_INIT;
  options.limit_bytes = 1 << 10;
  return rh_visit_ways(world.scheduled, world.result, NULL, &options, &missed, ignore_way, NULL,
                       diags);
}

static rh_status compare_sums(rh_diags *diags) {
  rh_sums sums = world.report->sums[RH_BY_OPCODE], none = {NULL, 0};
  return rh_compare_sums(sums, none, ignore_change, NULL, diags);
}

static rh_status plan_preparation(rh_diags *diags) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  return rh_plan_preparation(world.plan, &options, diags);
}

static rh_status emit_plan(rh_diags *diags) {
  return rh_emit_plan(world.result, NULL, world.profile, 1, discard, NULL, diags);
}

#ifdef REMAT_HLO_PROTO
static rh_status patch_proto(rh_diags *diags) {
  return rh_patch_proto(world.parsed, world.result, world.proto.data, world.proto.len, NULL,
                        discard, NULL, diags);
}

static rh_status print_proto(rh_diags *diags) {
  return rh_print_proto(world.text_proto.data, world.text_proto.len, discard, NULL, diags);
}
#endif

static rh_status verify(rh_diags *diags) {
  return rh_verify(world.parsed, world.result, NULL, NULL, diags);
}

static rh_status pack(rh_diags *diags) {
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  rh_pack_result result = RH_PACK_RESULT_INIT;
  int64_t offsets[3];
  options.heap_limit_bytes = 40;
  rh_status status =
      rh_pack(rh_live_ranges_data(world.ranges), 3, &options, offsets, NULL, &result, diags);
  expect((status == RH_OK) == (result.height_bytes != 0), "the result does not fit the status");
  return status;
}

#ifdef REMAT_HLO_DOT
static rh_status check_filter(rh_diags *diags) {
  return rh_dot_check_filter("regex:a|b", diags);
}

static rh_status emit_dot(rh_diags *diags) {
  rh_dot_options options = RH_DOT_OPTIONS_INIT;
  options.filter = "regex:neg";
  return rh_emit_dot(world.result, NULL, &options, discard, NULL, diags);
}
#endif

static rh_status emit_memlog(rh_diags *diags) {
  return rh_emit_memlog(world.result, NULL, "heap", RH_MEMLOG_TEXT, discard, NULL, diags);
}

static rh_status emit_json_lines(rh_diags *diags) {
  return rh_emit_memlog(world.result, NULL, "heap", RH_MEMLOG_JSONL, discard, NULL, diags);
}

static rh_status emit_svg(rh_diags *diags) {
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = world.map;
  return rh_emit_picture(&picture, RH_PICTURE_SVG, discard, NULL, diags);
}

static rh_status emit_perfetto(rh_diags *diags) {
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = world.map;
  return rh_emit_picture(&picture, RH_PICTURE_PERFETTO, discard, NULL, diags);
}

static rh_status new_diags(rh_diags *diags) {
  (void)diags;
  rh_diags *made = rh_diags_new();
  rh_diags_free(made);
  return made ? RH_OK : RH_ERR_MEMORY;
}

static const struct {
  const char *name;
  rh_status (*run)(rh_diags *diags);
  rh_status wanted; /* when there is memory enough */
} cases[] = {
    {"rh_diags_new", new_diags, RH_OK},
    {"rh_parse", parse, RH_OK},
    {"rh_parse of what is no HLO", parse_nothing, RH_ERR_INPUT},
    {"rh_check", check, RH_OK},
    {"rh_check_settings", check_settings, RH_OK},
    {"rh_lint", lint, RH_OK},
    {"rh_print", print, RH_OK},
    {"rh_format", format, RH_OK},
    {"rh_schedule", schedule, RH_OK},
    {"rh_schedule anew", schedule_anew, RH_OK},
    {"rh_split_fusions", split, RH_OK},
    {"rh_measure_memory", measure_memory, RH_OK},
    {"rh_measure_cost", measure_cost, RH_OK},
    {"rh_visit_live", visit_live, RH_OK},
    {"rh_visit_spaces", visit_spaces, RH_OK},
    {"rh_visit_ways", visit_ways, RH_OK},
    {"rh_report_make", report, RH_OK},
    {"rh_advice_make", advice, RH_OK},
    {"rh_compare_sums", compare_sums, RH_OK},
    {"rh_memory_map_make", map, RH_OK},
    {"rh_recomputed_make", recomputed, RH_OK},
    {"rh_profile_parse", profile, RH_OK},
    {"rh_profile_named", profile_named, RH_OK},
    {"rh_profile_named of an unknown device", profile_unknown, RH_ERR_USAGE},
    {"rh_profile_print", print_profile, RH_OK},
    {"rh_cost_report_make", cost_report, RH_OK},
    {"rh_compare_seconds", compare_seconds, RH_OK},
    {"rh_calibrate", calibration, RH_OK},
    {"rh_calibrate_estimates", estimates, RH_OK},
    {"rh_times_parse", times, RH_OK},
    {"rh_times_find_hlo", find_hlo, RH_OK},
    {"rh_profile_scaled", scaled, RH_OK},
    {"rh_remat by path", remat_by_path, RH_OVER_LIMIT},
    {"rh_remat by standard", remat_by_standard, RH_OVER_LIMIT},
    {"rh_remat by checkpoint", remat_by_checkpoint, RH_OVER_LIMIT},
    {"rh_plan_parse", plan, RH_OK},
    {"rh_plan_preparation", plan_preparation, RH_OK},
    {"rh_apply_plan", apply_plan, RH_OVER_LIMIT},
    {"rh_emit_plan", emit_plan, RH_OK},
    {"rh_verify", verify, RH_OK},
#ifdef REMAT_HLO_PROTO
    {"rh_patch_proto", patch_proto, RH_OK},
    {"rh_print_proto", print_proto, RH_OK},
#endif
    {"rh_pack", pack, RH_OK},
    {"rh_live_ranges_parse", ranges, RH_OK},
    {"rh_emit_memlog", emit_memlog, RH_OK},
    {"rh_emit_memlog in JSON lines", emit_json_lines, RH_OK},
    {"rh_emit_picture as SVG", emit_svg, RH_OK},
    {"rh_emit_picture as a trace", emit_perfetto, RH_OK},
#ifdef REMAT_HLO_DOT
    {"rh_dot_check_filter", check_filter, RH_OK},
    {"rh_emit_dot", emit_dot, RH_OK},
#endif
};

/* ---- the world ---- */

static int append(void *context, const char *data, size_t length) {
  World *into = context;
  into->plan_text = realloc(into->plan_text, into->plan_length + length + 1);
  memcpy(into->plan_text + into->plan_length, data, length);
  into->plan_length += length;
  return 0;
}

static void make_world(void) {
  static const char spaces[] =
      "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[64] parameter(0)\n"
      "  a = f32[64]{0:S(5)} copy(p)\n  ROOT r = f32[64] copy(a)\n}\n";
  const char *text = SAMPLE_TEXT, *ranges_text = SAMPLE_RANGES, *device = SAMPLE_PROFILE;
  rh_remat_options options = remat_options("path");
  world.settings = (rh_settings)RH_SETTINGS_INIT;
  world.costs[0] = (rh_known_cost){"^negate$", 5000, -1, 70};
  world.costs[1] = (rh_known_cost){"f|g", 1, 30, -1};
  world.settings.target = "auto";
  world.settings.packing = "best";
  world.settings.max_pack_steps = 1000;
  world.settings.costs = world.costs;
  world.settings.num_costs = 2;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &world.parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(world.parsed, NULL, NULL, &world.scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_remat(world.scheduled, NULL, &options, &world.result, NULL, NULL),
                   RH_OVER_LIMIT);
  ck_assert_int_eq(rh_parse(spaces, strlen(spaces), NULL, &world.spaces_parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(world.spaces_parsed, NULL, NULL, &world.with_spaces, NULL), RH_OK);
  ck_assert_int_eq(rh_emit_plan(world.result, NULL, NULL, 1, append, &world, NULL), RH_OK);
  ck_assert_int_eq(rh_plan_parse(world.plan_text, world.plan_length, &world.plan, NULL), RH_OK);
  ck_assert_int_eq(rh_profile_parse(device, strlen(device), NULL, &world.profile, NULL), RH_OK);
  ck_assert_int_eq(
      rh_profile_parse(SAMPLE_CLOCKED, sizeof SAMPLE_CLOCKED - 1, NULL, &world.clocked, NULL),
      RH_OK);
  ck_assert_int_eq(
      rh_parse(SAMPLE_ESTIMATED, sizeof SAMPLE_ESTIMATED - 1, NULL, &world.estimated, NULL), RH_OK);
  ck_assert_int_eq(
      rh_live_ranges_parse(ranges_text, strlen(ranges_text), NULL, &world.ranges, NULL), RH_OK);
  ck_assert_int_eq(rh_report_make(world.scheduled, NULL, "heap", &world.report, NULL), RH_OK);
  ck_assert_int_eq(rh_memory_map_make(world.result, NULL, &world.map, NULL), RH_OK);
#ifdef REMAT_HLO_PROTO
  world.proto_arena = arena_new(arena_options(world.parsed->arena));
  world.proto = module_proto(world.parsed->module, world.proto_arena);
  world.text_proto = text_proto(world.proto_arena);
#endif
}

static void free_world(void) {
#ifdef REMAT_HLO_PROTO
  arena_free(world.proto_arena);
#endif
  rh_memory_map_free(world.map);
  rh_report_free(world.report);
  rh_live_ranges_free(world.ranges);
  rh_profile_free(world.profile);
  rh_profile_free(world.clocked);
  rh_module_free(world.estimated);
  rh_plan_free(world.plan);
  rh_module_free(world.with_spaces);
  rh_module_free(world.spaces_parsed);
  rh_module_free(world.result);
  rh_module_free(world.scheduled);
  rh_module_free(world.parsed);
  free(world.plan_text);
  world = (World){0}; /* for the next run of the loop, which may be in this process */
}

/* ---- the tests ---- */

/* Whether memory ran out. With all memory the status is the one that is wanted, before and after.
 */
static bool run_once(int index, long num_granted, bool for_good, bool is_told) {
  rh_diags *diags = is_told ? rh_diags_new() : NULL;
  long num_blocks = refuse_num_blocks();
  size_t num_diags = rh_diags_len(diags);
  refuse_after(num_granted, for_good);
  rh_status status = cases[index].run(diags);
  bool was_refused = refuse_end();
  long num_lost = refuse_num_blocks() - num_blocks;
  ck_assert_msg(!fault, "%s, after %ld: %s", cases[index].name, num_granted, fault);
  if (!was_refused) {
    ck_assert_msg(status == cases[index].wanted, "%s: status %d", cases[index].name, (int)status);
  } else if (for_good || status != cases[index].wanted) { /* a hint alone may be refused */
    ck_assert_msg(status == RH_ERR_MEMORY, "%s, after %ld: status %d", cases[index].name,
                  num_granted, (int)status);
  }
  if (is_told && status == RH_ERR_MEMORY && cases[index].run != new_diags) {
    const rh_diag *last = rh_diags_get(diags, rh_diags_len(diags) - 1);
    ck_assert_uint_gt(rh_diags_len(diags), num_diags);
    ck_assert_int_eq(last->code, RH_CODE_OUT_OF_MEMORY);
  }
  if (!is_told) {
    ck_assert_msg(num_lost == 0, "%s, after %ld: %ld blocks are lost", cases[index].name,
                  num_granted, num_lost);
  }
  rh_diags_free(diags);
  return was_refused;
}

/* At each of the first places, and behind them at some. */
static long step_behind(long num_granted) {
  return num_granted < 300 ? 1 : num_granted / 20;
}

START_TEST(memory_may_run_out_anywhere) {
  make_world();
  for (int mode = 0; mode < 4; mode++) {
    long num_granted = 0;
    while (run_once(_i, num_granted, mode & 1, mode & 2))
      num_granted += step_behind(num_granted);
  }
  free_world();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory");
  TCase *tc = tcase_create("memory");
  tcase_set_timeout(tc, 300);
  tcase_add_loop_test(tc, memory_may_run_out_anywhere, 0, (int)(sizeof cases / sizeof *cases));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
