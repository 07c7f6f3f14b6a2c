#include "ir/schedule.h"

#include <stdlib.h>

#include "support.h"

static const char text[] =
    "HloModule m\n"
    "body { x = f32[] parameter(0) y = f32[] negate(x) ROOT z = f32[] abs(y) }\n"
    "ENTRY e {\n"
    "  a = f32[] parameter(0)\n"
    "  b = f32[] negate(a)\n"
    "  c = f32[] abs(a), control-predecessors={b}\n"
    "  d = f32[] call(a), to_apply=body\n"
    "  ROOT t = (f32[], f32[], f32[]) tuple(b, c, d)\n"
    "}\n";

typedef struct Scheduled {
  Module *module;
  Arena *arena;
  Schedule schedule;
} Scheduled;

static Scheduled set_up(void) {
  Scheduled fix = {.module = parse_or_fail(text), .arena = arena_new(NULL)};
  fix.schedule = schedule_in_text_order(fix.module, fix.arena);
  return fix;
}

static void tear_down(Scheduled fix) {
  module_free(fix.module);
  arena_free(fix.arena);
}

/* The entry's order, by names of one letter. */
static void set_order(Scheduled *fix, const char *names) {
  Sequence *sequence = &fix->schedule.of[fix->module->entry];
  sequence->len = (uint32_t)strlen(names);
  sequence->ids = arena_array(fix->arena, InstId, sequence->len);
  for (uint32_t i = 0; i < sequence->len; i++) {
    char name[2] = {names[i], '\0'};
    sequence->ids[i] = find_inst(fix->module, name);
  }
}

START_TEST(text_order_is_that_of_the_text) {
  Scheduled fix = set_up();
  ck_assert_uint_eq(fix.schedule.num_comps, 2);
  Sequence entry = fix.schedule.of[fix.module->entry];
  ck_assert_uint_eq(entry.len, 5);
  for (uint32_t i = 0; i < entry.len; i++) {
    ck_assert_uint_eq(entry.ids[i], comp_inst(fix.module, fix.module->entry, i));
  }
  ck_assert_uint_eq(fix.schedule.of[find_comp(fix.module, "body")].len, 3);
  InstId bad;
  ck_assert(schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena));
  tear_down(fix);
}
END_TEST

START_TEST(new_schedule_is_empty_and_valid) {
  Scheduled fix = set_up();
  Schedule empty = schedule_new(fix.module, fix.arena);
  ck_assert_uint_eq(empty.num_comps, 2);
  ck_assert_uint_eq(empty.of[0].len, 0);
  InstId bad;
  ck_assert(schedule_is_valid(fix.module, &empty, &bad, fix.arena));
  tear_down(fix);
}
END_TEST

static const struct {
  const char *order;
  const char *bad; /* NULL: valid */
} orders[] = {
    {"abcdt", NULL}, {"abdct", NULL}, {"adbct", NULL},
    {"acbdt", "c"},                                  /* before its control predecessor */
    {"bacdt", "b"},                                  /* before its operand */
    {"abctd", "t"},  {"tabcd", "t"},  {"abct", "t"}, /* d is missing, which its user sees first */
    {"abcd", "t"},                                   /* missing itself */
    {"abbcdt", "b"},                                 /* twice */
    {"abcdtt", "t"}, {"abcdty", "y"},                /* another computation's */
    {"ydbact", "y"},
};

START_TEST(validity_matches_table) {
  Scheduled fix = set_up();
  set_order(&fix, orders[_i].order);
  InstId bad = NO_ID;
  bool is_valid = schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena);
  ck_assert_msg(is_valid == (orders[_i].bad == NULL), "%s", orders[_i].order);
  if (!is_valid) {
    Str name = inst_name(fix.module, bad);
    ck_assert_msg(str_is(name, orders[_i].bad), "%s: %.*s", orders[_i].order, (int)name.len,
                  name.data);
  }
  tear_down(fix);
}
END_TEST

START_TEST(dead_instructions_have_no_place) {
  Scheduled fix = set_up();
  Module *module = fix.module;
  InstId t = find_inst(module, "t"), d = find_inst(module, "d"), bad;
  module_set_operand(module, t, 2, find_inst(module, "b"));
  module_remove_inst(module, d);
  ck_assert(!schedule_is_valid(module, &fix.schedule, &bad, fix.arena));
  ck_assert_uint_eq(bad, d);
  set_order(&fix, "abct");
  ck_assert(schedule_is_valid(module, &fix.schedule, &bad, fix.arena));
  tear_down(fix);
}
END_TEST

START_TEST(new_instructions_must_be_placed) {
  Scheduled fix = set_up();
  InstId bad, clone = module_clone_inst(fix.module, find_inst(fix.module, "b"), STR("n"),
                                        fix.module->entry, NULL);
  ck_assert(!schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena));
  ck_assert_uint_eq(bad, clone);
  set_order(&fix, "anbcdt");
  ck_assert(schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena));
  tear_down(fix);
}
END_TEST

START_TEST(a_copy_is_independent) {
  Scheduled fix = set_up();
  Schedule copy = schedule_copy(&fix.schedule, fix.module, fix.arena);
  ck_assert_uint_eq(copy.num_comps, fix.schedule.num_comps);
  Sequence *sequence = &copy.of[fix.module->entry];
  ck_assert_uint_eq(sequence->len, 5);
  sequence->ids[0] = sequence->ids[4];
  InstId bad;
  ck_assert(!schedule_is_valid(fix.module, &copy, &bad, fix.arena));
  ck_assert(schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena));
  tear_down(fix);
}
END_TEST

/* A computation that came later has no sequence; the schedule need not know of it. */
START_TEST(a_schedule_may_be_older_than_a_computation) {
  Scheduled fix = set_up();
  module_add_comp(fix.module, STR("later"), find_comp(fix.module, "body"));
  InstId bad;
  ck_assert(schedule_is_valid(fix.module, &fix.schedule, &bad, fix.arena));
  Schedule copy = schedule_copy(&fix.schedule, fix.module, fix.arena);
  ck_assert_uint_eq(copy.num_comps, 3);
  ck_assert_uint_eq(copy.of[2].len, 0);
  tear_down(fix);
}
END_TEST

START_TEST(dead_computations_have_no_sequence) {
  Scheduled fix = set_up();
  CompId body = find_comp(fix.module, "body");
  comp_get(fix.module, body)->flags |= COMP_DEAD;
  Schedule schedule = schedule_in_text_order(fix.module, fix.arena);
  ck_assert_uint_eq(schedule.of[body].len, 0);
  tear_down(fix);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schedule");
  TCase *tc = tcase_create("schedule");
  tcase_add_test(tc, text_order_is_that_of_the_text);
  tcase_add_test(tc, new_schedule_is_empty_and_valid);
  tcase_add_loop_test(tc, validity_matches_table, 0, sizeof orders / sizeof *orders);
  tcase_add_test(tc, dead_instructions_have_no_place);
  tcase_add_test(tc, new_instructions_must_be_placed);
  tcase_add_test(tc, a_copy_is_independent);
  tcase_add_test(tc, a_schedule_may_be_older_than_a_computation);
  tcase_add_test(tc, dead_computations_have_no_sequence);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
