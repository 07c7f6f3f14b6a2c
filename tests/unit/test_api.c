/* The public header alone: what a program sees that links the library. */
#include "remat_hlo.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

/* XLA's fixture: at concat1 bcast and negate of 4 KiB and concat1 of 8; the result takes 4 bytes.
 */
#define BODY                                                            \
  "  p = f32[1] parameter(0)\n"                                         \
  "  reshape = f32[] reshape(p)\n"                                      \
  "  bcast = f32[1024] broadcast(reshape), dimensions={}\n"             \
  "  negate = f32[1024] negate(bcast)\n"                                \
  "  concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n" \
  "  slice1 = f32[1] slice(concat1), slice={[0:1]}\n"                   \
  "  concat2 = f32[1025] concatenate(bcast, slice1), dimensions={0}\n"  \
  "  ROOT root = f32[1] slice(concat2), slice={[0:1]}\n"
#define SCHEDULED "HloModule chain, is_scheduled=true\n\nENTRY e {\n" BODY "}\n"
#define UNSCHEDULED "HloModule chain\n\nENTRY e {\n" BODY "}\n"

enum { PEAK_BYTES = 16388, REMAT_BYTES = 12296, OUTPUT_ROOM = 8192 };

/* ---- helpers ---- */

typedef struct Output {
  char text[OUTPUT_ROOM];
  size_t length;
  size_t room; /* what is beyond is refused */
} Output;

static int append(void *context, const char *data, size_t length) {
  Output *output = context;
  if (length > output->room - output->length) return 1;
  memcpy(output->text + output->length, data, length);
  output->length += length;
  output->text[output->length] = '\0';
  return 0;
}

static Output output_new(void) {
  return (Output){.room = OUTPUT_ROOM - 1};
}

static void check_printed(const rh_module *module, const char *wanted) {
  Output output = output_new();
  ck_assert_int_eq(rh_print(module, append, &output, NULL), RH_OK);
  ck_assert_str_eq(output.text, wanted);
}

static rh_module *parse(const char *text) {
  rh_module *module = NULL;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_parse(text, strlen(text), NULL, &module, diags);
  ck_assert_msg(status == RH_OK, "%s", rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "?");
  ck_assert_uint_eq(rh_diags_len(diags), 0);
  rh_diags_free(diags);
  return module;
}

static bool text_is(rh_text text, const char *wanted) {
  return text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

/* The last message contains `why`. */
static void check_message(const rh_diags *diags, const char *why) {
  ck_assert_uint_gt(rh_diags_len(diags), 0);
  const char *message = rh_diags_get(diags, rh_diags_len(diags) - 1)->message;
  ck_assert_msg(strstr(message, why) != NULL, "'%s' is not in '%s'", why, message);
}

/* ---- diagnostics ---- */

START_TEST(errors_have_a_place) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT r = f32[2] abs(q)\n}\n";
  rh_diags *diags = rh_diags_new();
  rh_module *module = NULL;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, diags), RH_ERR_INPUT);
  ck_assert_ptr_null(module);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  rh_diag diag = *rh_diags_get(diags, 0);
  ck_assert_int_eq(diag.severity, RH_SEVERITY_ERROR);
  ck_assert_str_eq(diag.message, "operand 'q' is not defined above");
  size_t line, column;
  rh_locate(text, strlen(text), diag.offset, &line, &column);
  ck_assert_uint_eq(line, 4);
  ck_assert_uint_eq(column, 23);
  rh_diags_free(diags);
  /* Nobody has to listen. */
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_ERR_INPUT);
  ck_assert_int_eq(rh_parse("", 0, NULL, &module, NULL), RH_ERR_INPUT);
}
END_TEST

START_TEST(misspelt_words_are_recognised) {
  static const char *const words[] = {"standard", "path", "none"};
  ck_assert_str_eq(rh_closest_word("standart", words, 3), "standard");
  ck_assert_ptr_null(rh_closest_word("zzzzzzzz", words, 3));
  ck_assert_ptr_null(rh_closest_word("path", words, 0));
}
END_TEST

/* ---- parsing and printing ---- */

START_TEST(info_says_what_was_read) {
  rh_module *module = parse(
      "HloModule m, num_partitions=4\n"
      "f { a = f32[2] parameter(0)\n ROOT b = f32[2] abs(a) }\n"
      "ENTRY e { p = f32[2] parameter(0)\n k = f32[2] constant({...})\n"
      " s = f32[2] custom-call(p), custom_call_target=\"Sharding\"\n"
      " x = f32[2] fusion(s), kind=kLoop, calls=f\n ROOT r = f32[2] add(x, k) }\n");
  rh_module_info info = *rh_get_info(module);
  ck_assert(text_is(info.name, "m"));
  ck_assert(!info.is_scheduled);
  ck_assert_ptr_null(info.scheduler);
  ck_assert_uint_eq(info.num_computations, 2);
  ck_assert_uint_eq(info.num_instructions, 7);
  ck_assert_uint_eq(info.num_elided_literals, 1);
  ck_assert_int_eq(info.num_partitions, 4);
  ck_assert(info.has_sharding_calls);
  ck_assert(info.is_optimized);
  ck_assert_uint_eq(info.num_rematerialized, 0);
  rh_module_free(module);

  module = parse(UNSCHEDULED);
  info = *rh_get_info(module);
  ck_assert(!info.is_scheduled && !info.is_optimized && !info.has_sharding_calls);
  ck_assert_int_eq(info.num_partitions, 1);
  rh_module_free(module);
  module = parse(SCHEDULED);
  info = *rh_get_info(module);
  ck_assert(info.is_scheduled && info.is_optimized);
  rh_module_free(module);
}
END_TEST

START_TEST(what_was_read_is_printed) {
  rh_module *module = parse(SCHEDULED);
  check_printed(module, SCHEDULED);
  Output small = {.room = 10};
  ck_assert_int_eq(rh_print(module, append, &small, NULL), RH_ERR_WRITE);
  rh_module_free(module);
  rh_module_free(NULL);
}
END_TEST

START_TEST(contradictions_are_found) {
  rh_module *module = parse("ENTRY e { p = f32[2] parameter(0)\n ROOT r = f32[3] abs(p) }");
  rh_diags *diags = rh_diags_new();
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_check(module, diags), RH_OK); /* an odd shape is no contradiction to us */
  rh_module_free(module);
  module =
      parse("ENTRY e { p = f32[3037000500,3037000500] parameter(0)\n ROOT r = f32[] constant(1) }");
  ck_assert_int_eq(rh_check(module, diags), RH_ERR_INPUT);
  check_message(diags, "overflows");
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, diags), RH_ERR_INPUT);
  ck_assert_ptr_null(scheduled);
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

/* ---- scheduling ---- */

START_TEST(schedules_become_text) {
  rh_module *module = parse(UNSCHEDULED), *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, NULL), RH_OK);
  rh_module_info info = *rh_get_info(scheduled);
  ck_assert(info.is_scheduled);
  ck_assert_str_eq(info.scheduler, "default");
  check_printed(scheduled, SCHEDULED); /* there is no other order */
  check_printed(module, UNSCHEDULED);
  rh_module_free(module); /* in any order */
  check_printed(scheduled, SCHEDULED);
  rh_module_free(scheduled);
}
END_TEST

START_TEST(a_schedule_is_kept_unless_told_otherwise) {
  static const char text[] =
      "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  b = f32[4] sine(p)\n  a = f32[4] abs(p)\n  ROOT r = f32[4] subtract(a, b)\n}\n";
  static const char postorder[] =
      "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  a = f32[4] abs(p)\n  b = f32[4] sine(p)\n  ROOT r = f32[4] subtract(a, b)\n}\n";
  rh_module *module = parse(text), *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, NULL), RH_OK);
  ck_assert_str_eq(rh_get_info(scheduled)->scheduler, "input");
  check_printed(scheduled, text);
  rh_module_free(scheduled);
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = "postorder";
  ck_assert_int_eq(rh_schedule(module, NULL, &options, &scheduled, NULL), RH_OK);
  check_printed(scheduled, postorder);
  rh_module_free(scheduled);
  rh_diags *diags = rh_diags_new();
  options.scheduler = "postordr";
  ck_assert_int_eq(rh_schedule(module, NULL, &options, &scheduled, diags), RH_ERR_USAGE);
  check_message(diags, "postorder");
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

/* What is asked for beyond the order. */
START_TEST(calls_and_fusions_are_written_out) {
  rh_module *module = parse(
      "HloModule m, is_scheduled=true\n"
      "f { a = f32[2] parameter(0)\n ROOT b = f32[2] abs(a) }\n"
      "g { c = f32[2] parameter(0)\n ROOT d = f32[2] sine(c) }\n"
      "ENTRY e { p = f32[2] parameter(0)\n x = f32[2] call(p), to_apply=f\n"
      " ROOT y = f32[2] fusion(x), kind=kLoop, calls=g }\n");
  static const struct {
    rh_inline_calls inline_calls;
    unsigned unfuse;
    uint64_t num_computations, num_instructions;
  } rows[] = {{RH_INLINE_AUTO, 0, 3, 7},
              {RH_INLINE_NEVER, RH_UNFUSE_OUTPUT, 3, 7},
              {RH_INLINE_ALWAYS, 0, 2, 5},
              {RH_INLINE_NEVER, RH_UNFUSE_LOOP, 2, 5},
              {RH_INLINE_ALWAYS, RH_UNFUSE_ALL, 1, 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rh_module *scheduled = NULL;
    rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
    options.inline_calls = rows[i].inline_calls;
    options.unfuse = rows[i].unfuse;
    ck_assert_int_eq(rh_schedule(module, NULL, &options, &scheduled, NULL), RH_OK);
    rh_module_info info = *rh_get_info(scheduled);
    ck_assert_msg(info.num_computations == rows[i].num_computations &&
                      info.num_instructions == rows[i].num_instructions,
                  "row %zu: %llu computations, %llu instructions", i,
                  (unsigned long long)info.num_computations,
                  (unsigned long long)info.num_instructions);
    rh_diags *diags = rh_diags_new();
    rh_status status = rh_verify(module, scheduled, NULL, NULL, diags);
    ck_assert_msg(status == RH_OK, "row %zu: %s", i,
                  status == RH_OK ? "" : rh_diags_get(diags, 0)->message);
    rh_diags_free(diags);
    rh_module_free(scheduled);
  }
  rh_module_free(module);
}
END_TEST

/* ---- measuring ---- */

/* A module of 1,000 bytes, of which 100 are parameters and outputs, and 600 cannot go. */
static const struct {
  rh_limit_counts counts;
  int64_t limit_bytes, min_reducible_bytes;
  rh_prospect prospect;
} budget_cases[] = {
    {RH_COUNT_TOTAL, 1000, 0, RH_PROSPECT_WITHIN},
    {RH_COUNT_TOTAL, 1000, 401, RH_PROSPECT_WITHIN},
    {RH_COUNT_TOTAL, 999, 400, RH_PROSPECT_OPEN},
    {RH_COUNT_TOTAL, 999, 401, RH_PROSPECT_LITTLE},
    {RH_COUNT_TOTAL, 600, 0, RH_PROSPECT_OPEN},
    {RH_COUNT_TOTAL, 599, 0, RH_PROSPECT_BELOW},
    {RH_COUNT_TOTAL, 0, 0, RH_PROSPECT_BELOW},
    {RH_COUNT_TOTAL, 0, 401, RH_PROSPECT_LITTLE},
    {RH_COUNT_TEMP, 900, 0, RH_PROSPECT_WITHIN},
    {RH_COUNT_TEMP, 500, 400, RH_PROSPECT_OPEN},
    {RH_COUNT_TEMP, 499, 400, RH_PROSPECT_BELOW},
    {RH_COUNT_TEMP_OUTPUTS, 550, 0, RH_PROSPECT_OPEN},
    {RH_COUNT_TEMP_OUTPUTS, 549, 0, RH_PROSPECT_BELOW},
};

START_TEST(budgets_are_weighed) {
  rh_memory memory = RH_MEMORY_INIT;
  memory.peak_bytes = memory.total_bytes = 1000;
  memory.temp_bytes = 900;
  memory.parameter_bytes = memory.output_bytes = 50;
  memory.lower_bound_bytes = 600;
  ck_assert_int_eq(rh_weigh_budget(&memory, budget_cases[_i].counts, budget_cases[_i].limit_bytes,
                                   budget_cases[_i].min_reducible_bytes),
                   budget_cases[_i].prospect);
  /* Nothing above the bound is little, however little is asked for; no bound is below nothing. */
  memory.lower_bound_bytes = 1000;
  ck_assert_int_eq(rh_weigh_budget(&memory, RH_COUNT_TOTAL, 999, 0), RH_PROSPECT_LITTLE);
  memory.lower_bound_bytes = 1001;
  ck_assert_int_eq(rh_counted_bound_bytes(&memory, RH_COUNT_TOTAL), 1000);
  memory.lower_bound_bytes = 50;
  ck_assert_int_eq(rh_counted_bound_bytes(&memory, RH_COUNT_TEMP), 0);
}
END_TEST

/* What XLA may assign at most is what counts; a bound knows nothing of it. */
START_TEST(budgets_count_the_most) {
  rh_memory memory = RH_MEMORY_INIT;
  memory.peak_bytes = memory.total_bytes = 1000;
  memory.temp_bytes = 900;
  memory.output_bytes = 50;
  memory.lower_bound_bytes = 600;
  memory.temp_more_bytes = 70;
  memory.temp_less_bytes = 300;
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TEMP), 970);
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TEMP_OUTPUTS), 1020);
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TOTAL), 1070);
  ck_assert_int_eq(rh_counted_bound_bytes(&memory, RH_COUNT_TOTAL), 600);
  ck_assert_int_eq(rh_weigh_budget(&memory, RH_COUNT_TOTAL, 1069, 0), RH_PROSPECT_OPEN);
  memory.struct_size = offsetof(rh_memory, temp_more_bytes); /* of an older program */
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TOTAL), 1000);
}
END_TEST

/* Constants beside the peak stay where they count, unless loops are rewritten. */
START_TEST(bounds_have_what_a_limit_counts) {
  static const struct {
    const char *kind;
    rh_limit_counts counts;
    int64_t bound_bytes;
  } rows[] = {{"order+recompute", RH_COUNT_TEMP, 500},
              {"order+recompute", RH_COUNT_TEMP_OUTPUTS, 550},
              {"order+recompute", RH_COUNT_TOTAL, 700},
              {"order+recompute+loops", RH_COUNT_TEMP, 500},
              {"order+recompute+loops", RH_COUNT_TOTAL, 600}};
  rh_memory memory = RH_MEMORY_INIT;
  memory.peak_bytes = 1000;
  memory.temp_bytes = 900;
  memory.parameter_bytes = memory.output_bytes = 50;
  memory.constant_bytes = 100;
  memory.total_bytes = 1100;
  memory.lower_bound_bytes = 600;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memory.lower_bound_kind = rows[i].kind;
    int64_t bound_bytes = rh_counted_bound_bytes(&memory, rows[i].counts);
    ck_assert_int_eq(bound_bytes, rows[i].bound_bytes);
    ck_assert_int_eq(rh_weigh_budget(&memory, rows[i].counts, bound_bytes - 1, 0),
                     RH_PROSPECT_BELOW);
    ck_assert_int_eq(rh_weigh_budget(&memory, rows[i].counts, bound_bytes, 0), RH_PROSPECT_OPEN);
  }
}
END_TEST

START_TEST(memory_is_measured) {
  rh_module *module = parse(SCHEDULED);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(module, NULL, "xla-remat", &memory, NULL), RH_OK);
  ck_assert_int_eq(memory.peak_bytes, PEAK_BYTES);
  ck_assert_int_eq(memory.temp_bytes, PEAK_BYTES - 4);
  ck_assert_int_eq(memory.parameter_bytes, 4);
  ck_assert_int_eq(memory.output_bytes, 4);
  ck_assert_int_eq(memory.aliased_bytes, 0);
  ck_assert_int_eq(memory.constant_bytes, 0);
  ck_assert_int_eq(memory.total_bytes, PEAK_BYTES + 4);
  ck_assert_int_eq(memory.lower_bound_bytes, 12 * 1024 + 4);
  ck_assert(text_is(memory.peak_instruction, "concat1"));
  ck_assert(text_is(memory.lower_bound_instruction, "concat1"));
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TEMP), PEAK_BYTES - 4);
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TEMP_OUTPUTS), PEAK_BYTES);
  ck_assert_int_eq(rh_counted_bytes(&memory, RH_COUNT_TOTAL), PEAK_BYTES + 4);
  ck_assert_int_eq(rh_counted_bound_bytes(&memory, RH_COUNT_TEMP), 12 * 1024);
  ck_assert_int_eq(rh_counted_bound_bytes(&memory, RH_COUNT_TOTAL), 12 * 1024 + 8);

  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heep", &memory, diags), RH_ERR_USAGE);
  check_message(diags, "heep");
  rh_module_free(module);
  module = parse(UNSCHEDULED);
  ck_assert_int_eq(rh_measure_memory(module, NULL, "xla-remat", &memory, diags), RH_ERR_USAGE);
  check_message(diags, "no schedule");
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

static void note_live(void *context, const rh_live_buffer *buffer) {
  Output *output = context;
  char line[256];
  int length = snprintf(line, sizeof line, "%.*s %.*s %lld %s\n", (int)buffer->instruction.length,
                        buffer->instruction.data, (int)buffer->opcode.length, buffer->opcode.data,
                        (long long)buffer->bytes, buffer->reason);
  append(output, line, (size_t)length);
  ck_assert_uint_gt(strlen(buffer->explanation), 0);
}

START_TEST(what_lives_at_the_peak_is_listed) {
  rh_module *module = parse(SCHEDULED);
  Output output = output_new();
  ck_assert_int_eq(rh_visit_live(module, NULL, "xla-remat", NULL, note_live, &output, NULL), RH_OK);
  ck_assert_str_eq(output.text,
                   "concat1 concatenate 8192 in-use\nbcast broadcast 4096 none\n"
                   "negate negate 4096 in-use\n");
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = "path"; /* it leaves what is below 1 MiB alone */
  output = output_new();
  ck_assert_int_eq(rh_visit_live(module, NULL, "xla-remat", &options, note_live, &output, NULL),
                   RH_OK);
  ck_assert_ptr_nonnull(strstr(output.text, "bcast broadcast 4096 small\n"));
  rh_module_free(module);
}
END_TEST

/* Rates at which each thing takes a second by itself. */
static const char profile_text[] =
    "{\"name\": \"toy\", \"description\": \"a toy\", \"source\": \"none\", \"memory_bytes\": 1000,"
    " \"memory_bandwidth\": 40, \"flops\": {\"default\": 10}, \"vector_flops\": {\"default\": 10},"
    " \"transcendentals\": 2, \"host_to_device\": 1, \"device_to_host\": 1, \"interconnect\": 1,"
    " \"kernel_seconds\": 0}";

START_TEST(cost_is_measured) {
  rh_module *module = parse(
      "ENTRY e { p = f32[10] parameter(0)\n a = f32[10] add(p, p)\n"
      " ROOT r = f32[10] exponential(a) }");
  rh_cost cost = RH_COST_INIT;
  ck_assert_int_eq(rh_measure_cost(module, NULL, NULL, 1, &cost, NULL), RH_OK);
  ck_assert_int_eq(cost.flops, 10);
  ck_assert_int_eq(cost.transcendentals, 10);
  ck_assert_int_eq(cost.bytes_accessed, 3 * 40 + 2 * 40);
  ck_assert_double_eq(cost.flops_weighted, 10);
  ck_assert_double_eq(cost.bytes_accessed_weighted, 200);
  ck_assert_double_eq(cost.seconds, 0);

  rh_profile *profile = NULL;
  ck_assert_int_eq(rh_profile_parse(profile_text, strlen(profile_text), NULL, &profile, NULL),
                   RH_OK);
  ck_assert_str_eq(rh_profile_name(profile), "toy");
  ck_assert_str_eq(rh_profile_description(profile), "a toy");
  ck_assert_int_eq(rh_profile_memory_bytes(profile), 1000);
  ck_assert_int_eq(rh_measure_cost(module, NULL, profile, 1, &cost, NULL), RH_OK);
  /* The sum is held up by its 120 bytes, the exponential by its 10 transcendentals. */
  ck_assert_double_eq_tol(cost.seconds, 3 + 5, 1e-9);
  ck_assert_double_eq(cost.stall_seconds, 0);
  rh_module *away =
      parse("ENTRY e { p = f32[10] parameter(0)\n ROOT h = f32[10]{0:S(5)} copy(p) }");
  rh_profile_free(profile);
  rh_profile_options link = RH_PROFILE_OPTIONS_INIT;
  link.to_host = 20;
  ck_assert_int_eq(rh_profile_parse(profile_text, strlen(profile_text), &link, &profile, NULL),
                   RH_OK);
  ck_assert_int_eq(rh_measure_cost(away, NULL, profile, 1, &cost, NULL), RH_OK);
  ck_assert_double_eq(cost.offloaded_bytes, 40);
  ck_assert_double_eq(cost.seconds, 2);
  rh_module_free(away);
  rh_profile_free(profile);
  rh_module_free(module);
}
END_TEST

/* A profile that was printed reads as it was, and prints the same again. */
START_TEST(profile_is_printed) {
  for (size_t i = 0; rh_list(RH_DEVICES, i); i++) {
    rh_profile *profile = NULL, *again = NULL;
    Output first = output_new(), second = output_new();
    ck_assert_int_eq(rh_profile_named(rh_list(RH_DEVICES, i)->name, NULL, &profile, NULL), RH_OK);
    ck_assert_int_eq(rh_profile_print(profile, append, &first, NULL), RH_OK);
    ck_assert_int_eq(rh_profile_parse(first.text, first.length, NULL, &again, NULL), RH_OK);
    ck_assert_int_eq(rh_profile_print(again, append, &second, NULL), RH_OK);
    ck_assert_str_eq(first.text, second.text);
    rh_profile_free(profile);
    rh_profile_free(again);
  }
}
END_TEST

static const char *const groups[] = {"one", "one", "two"};

/* On a machine whose memory is half as fast and that takes a second for a kernel. */
START_TEST(profile_is_calibrated) {
  const rh_module *modules[] = {
      parse("ENTRY e { p = f32[10] parameter(0)\n ROOT a = f32[10] negate(p) }"),
      parse("ENTRY e { p = f32[40] parameter(0)\n ROOT a = f32[40] negate(p) }"),
      parse("ENTRY e { p = f32[90] parameter(0)\n ROOT a = f32[90] negate(p) }")};
  const double seconds[] = {5, 17, 37};
  rh_profile *profile = NULL;
  rh_calibration *made = NULL;
  rh_calibrate_options options = RH_CALIBRATE_OPTIONS_INIT;
  options.name = "slow";
  ck_assert_int_eq(rh_profile_parse(profile_text, strlen(profile_text), NULL, &profile, NULL),
                   RH_OK);
  ck_assert_int_eq(rh_calibrate(modules, seconds, 3, NULL, profile, &options, &made, NULL), RH_OK);
  ck_assert_str_eq(rh_profile_name(made->profile), "slow");
  ck_assert_int_eq(rh_profile_memory_bytes(made->profile), 1000);
  ck_assert_uint_eq(made->num_groups, 3);
  ck_assert_double_eq_tol(made->before_seconds[0], 2, 1e-9);
  ck_assert_double_lt(made->fitted->worst_error, 0.2);
  ck_assert_double_gt(made->before->median_error, 0.4);
  ck_assert_double_eq_tol(made->fitted->rank_correlation, 1, 1e-9);
  ck_assert_ptr_nonnull(made->held_out);
  ck_assert_double_ge(made->held_out->median_error, made->fitted->median_error);
  rh_cost cost = RH_COST_INIT;
  ck_assert_int_eq(rh_measure_cost(modules[2], NULL, made->profile, 1, &cost, NULL), RH_OK);
  ck_assert_double_eq(cost.seconds, made->fitted_seconds[2]);
  rh_calibration_free(made);

  options.groups = groups;
  ck_assert_int_eq(rh_calibrate(modules, seconds, 3, NULL, profile, &options, &made, NULL), RH_OK);
  ck_assert_uint_eq(made->num_groups, 2);
  rh_calibration_free(made);
  ck_assert_int_eq(rh_calibrate(modules, seconds, 2, NULL, profile, &options, &made, NULL), RH_OK);
  ck_assert(made->num_groups == 1 && !made->held_out && !made->held_out_seconds);
  rh_calibration_free(made);

  const double nothing[] = {1, 0};
  ck_assert_int_eq(rh_calibrate(modules, seconds, 1, NULL, profile, NULL, &made, NULL),
                   RH_ERR_USAGE);
  ck_assert_int_eq(rh_calibrate(modules, nothing, 2, NULL, profile, NULL, &made, NULL),
                   RH_ERR_USAGE);
  ck_assert_ptr_null(made);
  rh_profile_free(profile);
  for (size_t i = 0; i < 3; i++)
    rh_module_free((rh_module *)(uintptr_t)modules[i]);
}
END_TEST

/* What is listed is what is built in, and says so itself. */
START_TEST(built_in_devices_have_profiles) {
  const rh_entry *entry;
  size_t count = 0;
  for (; (entry = rh_list(RH_DEVICES, count)); count++) {
    rh_profile *profile = NULL;
    ck_assert_int_eq(rh_profile_named(entry->name, NULL, &profile, NULL), RH_OK);
    ck_assert_str_eq(rh_profile_name(profile), entry->name);
    ck_assert_str_eq(rh_profile_description(profile), entry->summary);
    rh_profile_free(profile);
  }
  ck_assert_uint_ge(count, 9);
}
END_TEST

START_TEST(unknown_device_is_refused_with_the_closest_one) {
  rh_diags *diags = rh_diags_new();
  rh_profile *profile = NULL;
  ck_assert_int_eq(rh_profile_named("h20", NULL, &profile, diags), RH_ERR_USAGE);
  ck_assert_ptr_null(profile);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  ck_assert(strstr(rh_diags_get(diags, 0)->message, "h200"));
  rh_diags_free(diags);
}
END_TEST

START_TEST(costs_are_those_of_the_settings) {
  rh_module *module = parse(SCHEDULED);
  rh_cost before = RH_COST_INIT, after = RH_COST_INIT;
  ck_assert_int_eq(rh_measure_cost(module, NULL, NULL, 1, &before, NULL), RH_OK);
  rh_known_cost costs[] = {{"^negate$", 5000, -1, 70}, {"negate|bcast", 1, 30, -1}};
  rh_settings settings = RH_SETTINGS_INIT;
  settings.costs = costs;
  settings.num_costs = 2;
  ck_assert_int_eq(rh_measure_cost(module, &settings, NULL, 1, &after, NULL), RH_OK);
  ck_assert_int_eq(after.flops, before.flops);
  ck_assert_double_eq(after.flops_weighted, before.flops_weighted - 1024 + 5000 + 1);
  ck_assert_double_eq(after.transcendentals_weighted, before.transcendentals_weighted + 30);
  ck_assert_double_eq(after.bytes_accessed_weighted,
                      before.bytes_accessed_weighted - 2 * 4096 + 70);
  /* Nothing of it stays with the module, or with what is made of it. */
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(module, &settings, NULL, &scheduled, NULL), RH_OK);
  ck_assert_int_eq(rh_measure_cost(scheduled, NULL, NULL, 1, &after, NULL), RH_OK);
  ck_assert_double_eq(after.flops_weighted, before.flops_weighted);
  rh_module_free(scheduled);
  rh_module_free(module);
}
END_TEST

/* What is wrong with settings every call says. */
START_TEST(settings_are_checked) {
  rh_module *module = parse(SCHEDULED);
  rh_diags *diags = rh_diags_new();
  rh_known_cost costs[] = {{"(", 1, 1, 1}};
  rh_settings rows[4] = {RH_SETTINGS_INIT, RH_SETTINGS_INIT, RH_SETTINGS_INIT, RH_SETTINGS_INIT};
  rows[0].target = "cpuu";
  rows[1].packing = "bestt";
  rows[2].costs = costs;
  rows[2].num_costs = 1;
  rows[3].num_costs = 1; /* there are none */
  static const struct {
    rh_code code;
    const char *why;
  } wanted[] = {{RH_CODE_UNKNOWN_NAME, "did you mean 'cpu'?"},
                {RH_CODE_UNKNOWN_NAME, "there is no packing 'bestt'"},
                {RH_CODE_EXPRESSION, "the regular expression '('"},
                {RH_CODE_STRUCT_SIZE, "costs"}};
  for (int i = 0; i < 4; i++) {
    rh_memory memory = RH_MEMORY_INIT;
    memory.peak_bytes = 7;
    ck_assert_int_eq(rh_check_settings(&rows[i], diags), RH_ERR_USAGE);
    check_message(diags, wanted[i].why);
    ck_assert_int_eq(rh_measure_memory(module, &rows[i], "heap", &memory, diags), RH_ERR_USAGE);
    check_message(diags, wanted[i].why);
    ck_assert_int_eq(rh_diags_get(diags, rh_diags_len(diags) - 1)->code, wanted[i].code);
    ck_assert_int_eq(memory.peak_bytes, 0);
  }
  rh_settings fine = RH_SETTINGS_INIT;
  fine.target = "auto";
  fine.packing = "best";
  ck_assert_int_eq(rh_check_settings(&fine, diags), RH_OK);
  ck_assert_int_eq(rh_check_settings(NULL, diags), RH_OK);
  ck_assert_str_eq(rh_guess_target(module), "cpu");
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

START_TEST(broken_profiles_are_refused) {
  rh_profile *profile = NULL;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_ne(rh_profile_parse("{\"name\": ", 9, NULL, &profile, diags), RH_OK);
  ck_assert_ptr_null(profile);
  ck_assert_uint_gt(rh_diags_len(diags), 0);
  rh_diags_free(diags);
  rh_profile_free(NULL);
}
END_TEST

/* ---- rematerialization ---- */

static rh_remat_options remat_options(const char *algorithm, int64_t limit_bytes) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.limit_bytes = limit_bytes;
  options.small_node_bytes = 0;
  return options;
}

START_TEST(a_limit_is_met) {
  rh_module *module = parse(SCHEDULED), *result = NULL;
  rh_remat_options options = remat_options("standard", 14 * 1024);
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OK);
  ck_assert(info.is_met);
  ck_assert_int_eq(info.counted_bytes, REMAT_BYTES);
  ck_assert_int_eq(info.xla_reported_after_bytes, REMAT_BYTES);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(result, NULL, "xla-remat", &memory, NULL), RH_OK);
  ck_assert_int_eq(memory.peak_bytes, REMAT_BYTES);
  ck_assert_uint_eq(rh_get_info(result)->num_rematerialized, 1);
  ck_assert_uint_eq(rh_get_info(result)->num_instructions, 9);
  rh_module_free(module);
  check_printed(result,
                "HloModule chain, is_scheduled=true\n\nENTRY e {\n"
                "  p = f32[1] parameter(0)\n  reshape = f32[] reshape(p)\n"
                "  bcast = f32[1024] broadcast(reshape), dimensions={}\n"
                "  negate = f32[1024] negate(bcast)\n"
                "  concat1 = f32[2048] concatenate(negate, negate), dimensions={0}\n"
                "  slice1 = f32[1] slice(concat1), slice={[0:1]}\n"
                "  bcast.remat = f32[1024] broadcast(reshape), dimensions={}\n"
                "  concat2 = f32[1025] concatenate(bcast.remat, slice1), dimensions={0}\n"
                "  ROOT root = f32[1] slice(concat2), slice={[0:1]}\n}\n");
  rh_module_free(result);
}
END_TEST

START_TEST(a_limit_is_missed) {
  rh_module *module = parse(SCHEDULED), *result = NULL;
  rh_remat_options options = remat_options("standard", 10 * 1024);
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OVER_LIMIT);
  ck_assert(!info.is_met);
  ck_assert_int_le(info.counted_bytes, REMAT_BYTES); /* the best there is comes all the same */
  ck_assert_int_eq(rh_verify(module, result, NULL, NULL, NULL), RH_OK);
  rh_module_free(result);
  rh_module_free(module);
}
END_TEST

/* What the limit bounds: the result's 4 bytes, the parameter's 4. */
START_TEST(limits_count_what_they_are_told) {
  static const struct {
    rh_limit_counts counts;
    int64_t needed_bytes;
  } rows[] = {{RH_COUNT_TEMP, PEAK_BYTES - 4},
              {RH_COUNT_TEMP_OUTPUTS, PEAK_BYTES},
              {RH_COUNT_TOTAL, PEAK_BYTES + 4}};
  rh_module *module = parse(SCHEDULED);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int missing = 0; missing < 2; missing++) {
      rh_remat_options options = remat_options("path", rows[i].needed_bytes - missing);
      options.limit_counts = rows[i].counts;
      rh_module *result = NULL;
      rh_remat_result info = RH_REMAT_RESULT_INIT;
      ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OK);
      ck_assert_msg(rh_get_info(result)->num_rematerialized == (uint64_t)missing,
                    "row %zu, %d bytes missing", i, missing);
      ck_assert_msg(missing || info.counted_bytes == rows[i].needed_bytes, "row %zu: %lld", i,
                    (long long)info.counted_bytes);
      rh_module_free(result);
    }
  }
  rh_module_free(module);
}
END_TEST

START_TEST(without_a_budget_nothing_is_done) {
  rh_module *module = parse(SCHEDULED), *result = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, NULL), RH_OK);
  check_printed(result, SCHEDULED);
  rh_module_free(result);
  options.small_node_bytes = 1 << 20;
  options.limit_bytes = 1; /* all is too small to be looked at */
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, NULL), RH_OVER_LIMIT);
  check_printed(result, SCHEDULED);
  rh_module_free(result);
  rh_module_free(module);
}
END_TEST

/* Control dependencies say what the order was. */
START_TEST(unscheduled_results_hold_their_clones) {
  rh_module *module = parse(UNSCHEDULED), *scheduled, *result;
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, NULL), RH_OK);
  rh_remat_options options = remat_options("standard", 14 * 1024);
  options.emit = RH_EMIT_UNSCHEDULED;
  ck_assert_int_eq(rh_remat(scheduled, NULL, &options, &result, NULL, NULL), RH_OK);
  Output output = output_new();
  ck_assert_int_eq(rh_print(result, append, &output, NULL), RH_OK);
  ck_assert_ptr_null(strstr(output.text, "is_scheduled=true"));
  ck_assert_ptr_nonnull(strstr(output.text,
                               "bcast.remat = f32[1024] broadcast(reshape), dimensions={}, "
                               "control-predecessors={slice1}\n"));
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_module_free(module);
}
END_TEST

START_TEST(a_plan_outlives_what_it_was_made_from) {
  rh_module *module = parse(SCHEDULED), *result, *again;
  rh_remat_options options = remat_options("standard", 14 * 1024);
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, NULL), RH_OK);
  Output json = output_new(), wanted = output_new();
  ck_assert_int_eq(rh_emit_plan(result, NULL, NULL, 1, append, &json, diags), RH_ERR_USAGE);
  check_message(diags, "no plan was kept");
  rh_module_free(result);
  options.keep_plan = true;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, NULL), RH_OK);
  rh_module_free(module);
  ck_assert_int_eq(rh_emit_plan(result, NULL, NULL, 1, append, &json, NULL), RH_OK);
  ck_assert_int_eq(rh_print(result, append, &wanted, NULL), RH_OK);
  rh_module_free(result);
  rh_plan *plan = NULL;
  ck_assert_int_eq(rh_plan_parse(json.text, json.length, &plan, NULL), RH_OK);
  json = output_new();
  ck_assert_str_eq(rh_plan_target(plan), "cpu");
  rh_schedule_options preparation = RH_SCHEDULE_OPTIONS_INIT;
  ck_assert_int_eq(rh_plan_preparation(plan, &preparation, NULL), RH_OK);
  ck_assert_str_eq(preparation.scheduler, "input");
  module = parse(SCHEDULED);
  options.limit_bytes = 1;
  ck_assert_int_eq(rh_apply_plan(module, NULL, plan, &options, &again, NULL, NULL), RH_OVER_LIMIT);
  check_printed(again, wanted.text);
  rh_module_free(again);
  options.never = "bcast";
  ck_assert_int_eq(rh_apply_plan(module, NULL, plan, &options, &again, NULL, diags), RH_ERR_INPUT);
  check_message(diags, "'bcast' is left alone: --never forbids to recompute it");
  ck_assert_ptr_null(again);
  rh_plan_free(plan);
  rh_module_free(module);
  rh_diags_free(diags);
}
END_TEST

START_TEST(names_must_be_known) {
  rh_module *module = parse(SCHEDULED), *result = NULL;
  rh_diags *diags = rh_diags_new();
  rh_remat_options options = remat_options("standart", 0);
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), RH_ERR_USAGE);
  check_message(diags, "standard");
  options = remat_options("standard", 0);
  options.memory_model = "";
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), RH_ERR_USAGE);
  rh_module_free(module);
  module = parse(UNSCHEDULED);
  options = remat_options("standard", 0);
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), RH_ERR_USAGE);
  check_message(diags, "no schedule");
  ck_assert_ptr_null(result);
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

START_TEST(other_modules_are_told_apart) {
  rh_module *before = parse(SCHEDULED), *same = parse(UNSCHEDULED);
  rh_module *other =
      parse("HloModule chain\nENTRY e { p = f32[1] parameter(0)\n ROOT r = f32[1] abs(p) }");
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_verify(before, same, NULL, NULL, diags), RH_OK);
  ck_assert_uint_eq(rh_diags_len(diags), 0);
  ck_assert_int_eq(rh_verify(before, other, NULL, NULL, diags), RH_NOT_EQUIVALENT);
  ck_assert_int_eq(rh_diags_get(diags, 0)->severity, RH_SEVERITY_NOTE);
  rh_diags_free(diags);
  rh_module_free(before);
  rh_module_free(same);
  rh_module_free(other);
}
END_TEST

/* ---- the rest ---- */

START_TEST(registries_are_listed) {
  static const struct {
    rh_registry registry;
    const char *must_have[3];
  } rows[] = {{RH_SCHEDULERS, {"input", "default", "list"}},
              {RH_ALGORITHMS, {"none", "standard", "path"}},
              {RH_MEMORY_MODELS, {"xla-remat", "liveness"}},
              {RH_PACKINGS, {"xla", "best"}}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    unsigned found = 0;
    const rh_entry *entry;
    size_t index = 0;
    for (; (entry = rh_list(rows[r].registry, index)); index++) {
      ck_assert_uint_gt(strlen(entry->summary), 0);
      for (int i = 0; i < 3 && rows[r].must_have[i]; i++)
        found += strcmp(entry->name, rows[r].must_have[i]) == 0;
    }
    ck_assert_uint_eq(found, rows[r].must_have[2] ? 3 : 2);
    ck_assert_ptr_null(rh_list(rows[r].registry, index + 1));
  }
}
END_TEST

START_TEST(entries_tell_what_they_need) {
  static const struct {
    rh_registry registry;
    const char *name;
    unsigned traits;
  } rows[] = {
      {RH_ALGORITHMS, "none", RH_TRAIT_IDLE},
      {RH_ALGORITHMS, "standard", RH_TRAIT_OF_XLA},
      {RH_ALGORITHMS, "compress", RH_TRAIT_OF_XLA | RH_TRAIT_NEEDS_PADDING},
      {RH_ALGORITHMS, "path", RH_TRAIT_SCANS},
      {RH_ALGORITHMS, "checkpoint=collection", RH_TRAIT_NEEDS_COLLECTION | RH_TRAIT_SCANS},
      {RH_ALGORITHMS, "optimal", RH_TRAIT_ALL_SIZES | RH_TRAIT_ON_REQUEST | RH_TRAIT_NEEDS_SOLVER},
      {RH_MEMORY_MODELS, "heap", RH_TRAIT_PACKS},
      {RH_MEMORY_MODELS, "xla-remat", RH_TRAIT_FREE_PARAMETERS},
      {RH_TARGETS, "gpu", 0},
      {RH_TARGETS, "tpu", RH_TRAIT_PADS}};
  const rh_entry *entry;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    entry = rh_find(rows[i].registry, rows[i].name);
    ck_assert_ptr_nonnull(entry);
    ck_assert_str_eq(entry->name, rows[i].name);
    ck_assert_uint_eq(entry->traits, rows[i].traits);
  }
  ck_assert_ptr_null(rh_find(RH_TARGETS, "standard"));
  ck_assert_ptr_null(rh_list((rh_registry)1000, 0));
}
END_TEST

START_TEST(logs_and_graphs_are_written) {
  rh_module *module = parse(SCHEDULED);
  Output output = output_new();
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "xla-remat", RH_MEMLOG_CSV, append, &output, NULL),
                   RH_OK);
  ck_assert_ptr_nonnull(strstr(output.text, "concat1"));
  Output full = {.room = 5};
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "xla-remat", RH_MEMLOG_TEXT, append, &full, NULL),
                   RH_ERR_WRITE);
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "x", RH_MEMLOG_CSV, append, &output, NULL),
                   RH_ERR_USAGE);
  rh_dot_options dot = RH_DOT_OPTIONS_INIT;
  dot.filter = "nothing";
  ck_assert_int_eq(rh_dot_check_filter(dot.filter, NULL), RH_ERR_USAGE);
  ck_assert_int_eq(rh_emit_dot(module, NULL, &dot, append, &output, NULL), RH_ERR_USAGE);
  dot.filter = "peak";
  rh_module_free(module);
  module = parse(UNSCHEDULED);
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "xla-remat", RH_MEMLOG_CSV, append, &output, NULL),
                   RH_ERR_USAGE);
  ck_assert_int_eq(rh_emit_dot(module, NULL, &dot, append, &output, NULL), RH_ERR_USAGE);
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "xla-rema", RH_MEMLOG_CSV, append, &output, diags),
                   RH_ERR_USAGE);
  ck_assert_ptr_nonnull(strstr(rh_diags_get(diags, 0)->message, "did you mean 'xla-remat'?"));
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

#ifdef REMAT_HLO_DOT
START_TEST(a_filter_without_a_match_is_warned_of) {
  rh_module *module = parse(SCHEDULED);
  Output output = output_new();
  rh_diags *warnings = rh_diags_new();
  rh_dot_options dot = RH_DOT_OPTIONS_INIT;
  dot.filter = "name:nothing";
  ck_assert_int_eq(rh_dot_check_filter(dot.filter, NULL), RH_OK);
  ck_assert_int_eq(rh_emit_dot(module, NULL, &dot, append, &output, warnings), RH_OK);
  ck_assert_ptr_nonnull(strstr(rh_diags_get(warnings, 0)->message, "'name:nothing'"));
  rh_diags_free(warnings);
  rh_module_free(module);
}
END_TEST
#endif

START_TEST(origin_is_told) {
  static const char text[] = "ENTRY e { p = f32[] parameter(0)\n ROOT s = f32[] sine(p) }";
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  rh_module *module;
  options.copies = rh_guess_copies("dumps/module_0001.jit_f.cpu_after_optimizations.txt");
  ck_assert_int_eq(rh_parse(text, strlen(text), &options, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_get_info(module)->copies, RH_COPIES_INSERTED);
  ck_assert(rh_get_info(module)->copies_are_sure);
  rh_module_free(module);
  options.copies = rh_guess_copies("dumps.before_optimizations.txt/module.txt");
  ck_assert_int_eq(options.copies, RH_COPIES_AUTO);
  ck_assert_int_eq(rh_parse(text, strlen(text), &options, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_get_info(module)->copies, RH_COPIES_PENDING);
  ck_assert(!rh_get_info(module)->copies_are_sure);
  rh_module_free(module);
  options.copies = (rh_copies)3;
  ck_assert_int_eq(rh_parse(text, strlen(text), &options, &module, NULL), RH_ERR_USAGE);
}
END_TEST

START_TEST(memory_is_limited) {
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  options.max_memory_bytes = 100000;
  rh_diags *diags = rh_diags_new();
  rh_module *module = (rh_module *)diags;
  char *text = malloc(1 << 20), *end = text;
  end += sprintf(end, "ENTRY e { x0 = f32[] parameter(0)\n");
  for (int i = 1; i < 10000; i++)
    end += sprintf(end, "x%d = f32[] abs(x%d)\n", i, i - 1);
  end += sprintf(end, "}");
  ck_assert_int_eq(rh_parse(text, (size_t)(end - text), &options, &module, diags), RH_ERR_MEMORY);
  ck_assert_ptr_null(module);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  const rh_diag *diag = rh_diags_get(diags, 0);
  ck_assert_int_eq(diag->code, RH_CODE_OUT_OF_MEMORY);
  ck_assert_uint_eq(diag->limit_bytes, 100000);
  ck_assert_uint_gt(diag->wanted_bytes, 0);
  check_message(diags, "out of memory, ");
  ck_assert_ptr_null(rh_diags_get(diags, 1));
  rh_diags_free(diags);
  free(text);
  /* Less fits. */
  ck_assert_int_eq(rh_parse(SCHEDULED, strlen(SCHEDULED), &options, &module, NULL), RH_OK);
  rh_module_free(module);
}
END_TEST

START_TEST(figures_are_formatted) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(1536, text);
  ck_assert_str_eq(text, "1.50 KiB");
  rh_format_count(1234567, text);
  ck_assert_str_eq(text, "1,234,567");
  ck_assert_str_eq(rh_version(), RH_VERSION_STRING);
  ck_assert_int_eq(rh_version_number(), RH_VERSION_NUMBER);
  ck_assert_str_eq(rh_status_name(RH_OVER_LIMIT), "RH_OVER_LIMIT");
  ck_assert_str_eq(rh_status_name((rh_status)100), "unknown");
}
END_TEST

static TCase *module_case(void) {
  TCase *tc = tcase_create("modules");
  tcase_add_test(tc, errors_have_a_place);
  tcase_add_test(tc, misspelt_words_are_recognised);
  tcase_add_test(tc, info_says_what_was_read);
  tcase_add_test(tc, what_was_read_is_printed);
  tcase_add_test(tc, contradictions_are_found);
  tcase_add_test(tc, schedules_become_text);
  tcase_add_test(tc, a_schedule_is_kept_unless_told_otherwise);
  tcase_add_test(tc, calls_and_fusions_are_written_out);
  return tc;
}

/* The value counts once in the peak, as parameter and as output; XLA makes two of it. */
START_TEST(an_output_that_is_a_parameter_is_copied) {
  static const char text[] =
      "HloModule m, is_scheduled=true\nENTRY e { ROOT p = f32[256] parameter(0) }\n";
  rh_module *parsed, *scheduled;
  ck_assert_int_eq(rh_parse(text, sizeof text - 1, NULL, &parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &scheduled, NULL), RH_OK);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, "liveness", &memory, NULL), RH_OK);
  ck_assert_int_eq(memory.peak_bytes, 1024);
  ck_assert_int_eq(memory.temp_bytes, 0);
  ck_assert_int_eq(memory.total_bytes, 2048);
  rh_module_free(scheduled);
  rh_module_free(parsed);
}
END_TEST

static TCase *measure_case(void) {
  TCase *tc = tcase_create("measure");
  tcase_add_loop_test(tc, budgets_are_weighed, 0, sizeof budget_cases / sizeof *budget_cases);
  tcase_add_test(tc, budgets_count_the_most);
  tcase_add_test(tc, bounds_have_what_a_limit_counts);
  tcase_add_test(tc, memory_is_measured);
  tcase_add_test(tc, what_lives_at_the_peak_is_listed);
  tcase_add_test(tc, cost_is_measured);
  tcase_add_test(tc, profile_is_printed);
  tcase_add_test(tc, profile_is_calibrated);
  tcase_add_test(tc, built_in_devices_have_profiles);
  tcase_add_test(tc, unknown_device_is_refused_with_the_closest_one);
  tcase_add_test(tc, costs_are_those_of_the_settings);
  tcase_add_test(tc, settings_are_checked);
  tcase_add_test(tc, broken_profiles_are_refused);
  tcase_add_test(tc, registries_are_listed);
  tcase_add_test(tc, entries_tell_what_they_need);
  tcase_add_test(tc, logs_and_graphs_are_written);
  tcase_add_test(tc, origin_is_told);
  tcase_add_test(tc, memory_is_limited);
  tcase_add_test(tc, figures_are_formatted);
  tcase_add_test(tc, an_output_that_is_a_parameter_is_copied);
  return tc;
}

static TCase *remat_case(void) {
  TCase *tc = tcase_create("remat");
  tcase_add_test(tc, a_limit_is_met);
  tcase_add_test(tc, a_limit_is_missed);
  tcase_add_test(tc, limits_count_what_they_are_told);
  tcase_add_test(tc, without_a_budget_nothing_is_done);
  tcase_add_test(tc, unscheduled_results_hold_their_clones);
  tcase_add_test(tc, a_plan_outlives_what_it_was_made_from);
  tcase_add_test(tc, names_must_be_known);
  tcase_add_test(tc, other_modules_are_told_apart);
  return tc;
}

static TCase *graphs_case(void) {
  TCase *tc = tcase_create("graphs");
  tcase_set_tags(tc, "graphs");
#ifdef REMAT_HLO_DOT
  tcase_add_test(tc, a_filter_without_a_match_is_warned_of);
#endif
  return tc;
}

int main(void) {
  Suite *suite = suite_create("api");
  suite_add_tcase(suite, module_case());
  suite_add_tcase(suite, measure_case());
  suite_add_tcase(suite, remat_case());
  suite_add_tcase(suite, graphs_case());
  return run_suite(suite);
}
