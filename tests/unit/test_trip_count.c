#include <stdio.h>
#include <stdlib.h>

#include "analysis/cost/cost.h"
#include "support.h"

/* A loop over (counter, limit, f32[]), put together from the lines that a case changes. */
typedef struct Loop {
  const char *comps; /* more computations */
  const char *type;  /* of the counter and of its constants, s32 when NULL */
  const char *init;  /* defines `i`, what the counter starts with; default: constant 0 */
  const char *limit; /* defines `n`, the second element of the state; default: constant 7 */
  const char *body;  /* from `c` defines `next`; default: adds 1 */
  const char *next;  /* the second element behind the body; default: `l`, as it came */
  const char *cond;  /* from `c` and `l` defines ROOT `go`; default: c < 10 */
  const char *config;
  int64_t trips;
} Loop;

#define CONSTANT(name, value) name " = s32[] constant(" value ")\n"
#define STEP(value) CONSTANT("one", value) "next = s32[] add(c, one)\n"
#define WHILE_(direction, value) \
  CONSTANT("end", value) "ROOT go = pred[] compare(c, end), direction=" direction "\n"

static const Loop loops[] = {
    {.trips = 10},
    /* directions; the counter on either side */
    {.cond = WHILE_("LT", "1"), .trips = 1},
    {.cond = WHILE_("LT", "0"), .trips = 0},
    {.cond = WHILE_("LT", "-5"), .trips = 0},
    {.cond = WHILE_("LE", "10"), .trips = 11},
    {.cond = WHILE_("LE", "-1"), .trips = 0},
    {.cond = WHILE_("NE", "10"), .trips = 10},
    {.cond = WHILE_("NE", "-10"), .trips = -1},
    {.cond = WHILE_("EQ", "0"), .trips = 1},
    {.cond = WHILE_("EQ", "1"), .trips = 0},
    {.cond = WHILE_("GT", "5"), .trips = 0},
    {.cond = WHILE_("GE", "0"), .trips = -1},
    {.cond = CONSTANT("end", "10") "ROOT go = pred[] compare(end, c), direction=GT\n", .trips = 10},
    {.cond = CONSTANT("end", "10") "ROOT go = pred[] compare(end, c), direction=GE\n", .trips = 11},
    {.cond = CONSTANT("end", "10") "ROOT go = pred[] compare(end, c), direction=NE\n", .trips = 10},
    /* steps */
    {.body = STEP("3"), .trips = 4},
    {.body = STEP("5"), .trips = 2},
    {.body = STEP("20"), .trips = 1},
    {.body = STEP("0"), .trips = -1},
    {.body = STEP("-1"), .trips = -1},
    {.body = STEP("3"), .cond = WHILE_("LE", "9"), .trips = 4},
    {.body = STEP("3"), .cond = WHILE_("NE", "9"), .trips = 3},
    {.body = STEP("3"), .cond = WHILE_("NE", "10"), .trips = -1},
    {.body = CONSTANT("one", "1") "next = s32[] add(one, c)\n", .trips = 10},
    {.body = CONSTANT("one", "-2") "next = s32[] subtract(c, one)\n", .trips = 5},
    {.body = CONSTANT("one", "1") "next = s32[] subtract(one, c)\n", .trips = -1},
    {.body = CONSTANT("one", "2") "next = s32[] multiply(c, one)\n", .trips = -1},
    {.body = CONSTANT("one", "1") CONSTANT("two", "2") "d = s32[] add(c, two)\n"
                                                       "next = s32[] subtract(d, one)\n",
     .trips = 10},
    {.body = "next = s32[] add(c, c)\n", .trips = -1},
    {.body = "next = s32[] add(c, l)\n", .trips = -1},
    /* down */
    {.init = CONSTANT("i", "9"), .body = STEP("-1"), .cond = WHILE_("GE", "0"), .trips = 10},
    {.init = CONSTANT("i", "9"), .body = STEP("-2"), .cond = WHILE_("GT", "0"), .trips = 5},
    {.init = CONSTANT("i", "9"), .body = STEP("-3"), .cond = WHILE_("NE", "0"), .trips = 3},
    /* what the constants come through */
    {.init = CONSTANT("k", "-3") "i = s32[] copy(k)\n", .trips = 13},
    {.init = "k = s8[] constant(4)\n i = s32[] convert(k)\n", .trips = 6},
    {.init = "k = f32[] constant(4)\n i = s32[] convert(k)\n", .trips = -1},
    {.init = "k = s8[] constant(4)\n i = s32[] copy(k)\n", .trips = 6},
    {.init = CONSTANT("k", "260") "b = s8[] copy(k)\n i = s32[] convert(b)\n", .trips = -1},
    {.init = "k = s32[1] constant({4})\n i = s32[] reshape(k)\n", .trips = 6},
    {.init = "k = s32[1,1] constant({ {4} })\n i = s32[] bitcast(k)\n", .trips = 6},
    {.init = CONSTANT("k", "4") "b = s32[1] broadcast(k), dimensions={}\n i = s32[] reshape(b)\n",
     .trips = 6},
    {.init = CONSTANT("k", "4") "t = (s32[], s32[]) tuple(p, k)\n"
                                "i = s32[] get-tuple-element(t), index=1\n",
     .trips = 6},
    {.init = CONSTANT("k", "4") "u = (s32[], s32[]) tuple(p, k)\n"
                                "t = (s32[], (s32[], s32[])) tuple(p, u)\n"
                                "v = (s32[], s32[]) get-tuple-element(t), index=1\n"
                                "i = s32[] get-tuple-element(v), index=1\n",
     .trips = 6},
    {.init = CONSTANT("k", "4") "st = (s32[], s32[], u32[]) copy-start(k)\n"
                                "i = s32[] copy-done(st)\n",
     .trips = 6},
    {.init = CONSTANT(
         "k", "4") "t = (s32[], s32[]) tuple(p, k)\n"
                   "o = (s32[], s32[]) opt-barrier(t)\n i = s32[] get-tuple-element(o), index=1\n",
     .trips = 6},
    {.init = CONSTANT("k", "4") CONSTANT("m", "2") "i = s32[] add(k, m)\n", .trips = 4},
    {.init = "i = s32[] copy(p)\n", .trips = -1},
    {.init = "k = s32[1] constant({...})\n i = s32[] reshape(k)\n", .trips = -1},
    {.init = "k = s32[2] constant({4, 5})\n sl = s32[1] slice(k), slice={[0:1]}\n"
             "i = s32[] reshape(sl)\n",
     .trips = -1},
    {.body =
         CONSTANT("one", "1") "d = s32[] add(c, one)\n t = (s32[]) tuple(d)\n"
                              "u = (s32[]) copy(t)\n next = s32[] get-tuple-element(u), index=0\n",
     .trips = 10},
    {.body = CONSTANT("one", "1") "d = s64[] convert(c)\n e = s64[] convert(one)\n"
                                  "f = s64[] add(d, e)\n next = s32[] convert(f)\n",
     .trips = 10},
    /* computations */
    {.comps = "less { a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
              "ROOT c = pred[] compare(b, a), direction=LT }\n",
     .cond = CONSTANT("end", "10") "ROOT go = pred[] fusion(end, c), kind=kLoop, calls=less\n",
     .trips = 10},
    {.comps = "less { a = s32[] parameter(0)\n b = s32[] constant(10)\n"
              "ROOT c = pred[] compare(a, b), direction=LT }\n",
     .cond = "ROOT go = pred[] call(c), to_apply=less\n",
     .trips = 10},
    {.comps = "inner { a = s32[] parameter(0)\n b = s32[] constant(10)\n"
              "ROOT c = pred[] compare(a, b), direction=LT }\n"
              "less { a = (s32[], s32[]) parameter(0)\n b = s32[] get-tuple-element(a), index=1\n"
              "ROOT c = pred[] call(b), to_apply=inner }\n",
     .cond = "t = (s32[], s32[]) tuple(l, c)\n ROOT go = pred[] call(t), to_apply=less\n",
     .trips = 10},
    {.comps = "plus { a = s32[] parameter(0)\n b = s32[] constant(2)\n d = s32[] add(a, b)\n"
              "ROOT e = (s32[], s32[]) tuple(a, d) }\n",
     .body = "t = (s32[], s32[]) fusion(c), kind=kLoop, calls=plus\n"
             "next = s32[] get-tuple-element(t), index=1\n",
     .trips = 5},
    {.comps = "plus { a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
              "ROOT d = s32[] add(a, b) }\n",
     .body = CONSTANT("one", "2") "next = s32[] fusion(c, one), kind=kLoop, calls=plus\n",
     .trips = 5},
    /* the limit in the state */
    {.cond = "ROOT go = pred[] compare(c, l), direction=LT\n", .trips = 7},
    {.limit = CONSTANT("k", "6") "n = s32[] copy(k)\n",
     .cond = "ROOT go = pred[] compare(c, l), direction=LE\n",
     .trips = 7},
    {.limit = "n = s32[] copy(p)\n",
     .cond = "ROOT go = pred[] compare(c, l), direction=LT\n",
     .trips = -1},
    {.body = CONSTANT("one", "1") "next = s32[] add(c, one)\n m = s32[] subtract(l, one)\n",
     .next = "m",
     .cond = "ROOT go = pred[] compare(c, l), direction=LT\n",
     .trips = 4},
    {.body = CONSTANT("one", "1") "next = s32[] add(c, one)\n m = s32[] copy(next)\n",
     .next = "m",
     .cond = "ROOT go = pred[] compare(c, l), direction=LT\n",
     .trips = -1},
    {.cond = CONSTANT("end", "10") "d = s32[] add(c, end)\n"
                                   "ROOT go = pred[] compare(d, end), direction=LT\n",
     .trips = 0},
    {.cond = CONSTANT("two", "2") "d = s32[] add(l, two)\n"
                                  "ROOT go = pred[] compare(c, d), direction=LT\n",
     .trips = 9},
    /* conditions that are no comparison of numbers */
    {.cond = "ROOT go = pred[] constant(true)\n", .trips = -1},
    {.cond = CONSTANT("end", "10") "d = pred[] compare(c, end), direction=LT\n"
                                   "ROOT go = pred[] not(d)\n",
     .trips = -1},
    {.cond = "d = f32[] convert(c)\n e = f32[] constant(10)\n"
             "ROOT go = pred[] compare(d, e), direction=LT\n",
     .trips = -1},
    /* where the counter would wrap, the loop goes on */
    {.init = CONSTANT("i", "2147483646"), .cond = WHILE_("LE", "2147483647"), .trips = -1},
    {.init = CONSTANT("i", "2147483640"),
     .body = STEP("5"),
     .cond = WHILE_("LT", "2147483647"),
     .trips = -1},
    {.init = CONSTANT("i", "2147483640"), .cond = WHILE_("LT", "2147483647"), .trips = 7},
    {.type = "u8",
     .init = "i = u8[] constant(250)\n",
     .body = "one = u8[] constant(2)\n next = u8[] add(c, one)\n",
     .cond = "end = u8[] constant(255)\n ROOT go = pred[] compare(c, end), direction=LT\n",
     .trips = -1},
    {.type = "u8",
     .init = "i = u8[] constant(3)\n",
     .body = "one = u8[] constant(1)\n next = u8[] subtract(c, one)\n",
     .cond = "end = u8[] constant(0)\n ROOT go = pred[] compare(c, end), direction=GE\n",
     .trips = -1},
    {.type = "u8",
     .init = "i = u8[] constant(3)\n",
     .body = "one = u8[] constant(1)\n next = u8[] subtract(c, one)\n",
     .cond = "end = u8[] constant(0)\n ROOT go = pred[] compare(c, end), direction=NE\n",
     .trips = 3},
    {.type = "u64",
     .init = "i = u64[] constant(3)\n",
     .body = "one = u64[] constant(1)\n next = u64[] add(c, one)\n",
     .cond = "end = u64[] constant(18446744073709551615)\n"
             "ROOT go = pred[] compare(c, end), direction=LT\n",
     .trips = -1},
    {.type = "s64",
     .init = "i = s64[] constant(-9223372036854775808)\n",
     .body = "one = s64[] constant(1)\n next = s64[] add(c, one)\n",
     .cond = "end = s64[] constant(9223372036854775807)\n"
             "ROOT go = pred[] compare(c, end), direction=LT\n",
     .trips = -1},
    {.type = "s64",
     .init = "i = s64[] constant(-1)\n",
     .body = "one = s64[] constant(1)\n next = s64[] add(c, one)\n",
     .cond = "end = s64[] constant(9223372036854775806)\n"
             "ROOT go = pred[] compare(c, end), direction=LT\n",
     .trips = INT64_MAX},
    /* what the compiler knows is believed */
    {.config = "{\"known_trip_count\":{\"n\":\"12\"}}", .trips = 12},
    {.config = "{\"a\":[1,{\"b\":2}],\"known_trip_count\":{\"n\":\"0\"},\"c\":\"}\"}", .trips = 0},
    {.config = "{\"known_trip_count\":{\"n\":25}}", .trips = 25},
    {.config = "\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"33\\\"}}\"", .trips = 33},
    {.config = "\"{\\\"known_trip_count\\\":\\n{\\\"n\\\":44}}\"", .trips = 44},
    {.config = "\"known_trip_count\"", .trips = 10},
    {.config = "{\"known_trip_count\":{\"n\":\"-3\"}}", .trips = 10},
    {.config = "{\"known_trip_count\":{\"n\":\"12x\"}}", .trips = 10},
    {.config = "{\"known_trip_count\":{\"n\":1.5}}", .trips = 10},
    {.config = "{\"known_trip_count\":[]}", .trips = 10},
    {.config = "{\"inner\":{\"known_trip_count\":{\"n\":\"3\"}}}", .trips = 10},
};

static const char *or_default(const char *text, const char *fallback) {
  return text ? text : fallback;
}

static char *loop_text(const Loop *loop) {
  const char *type = or_default(loop->type, "s32");
  char state[64];
  char *text = malloc(8192);
  snprintf(state, sizeof state, "(%s[], s32[], f32[])", type);
  snprintf(text, 8192,
           "HloModule m\n%s"
           "body { s = %s parameter(0)\n c = %s[] get-tuple-element(s), index=0\n"
           "l = s32[] get-tuple-element(s), index=1\n x = f32[] get-tuple-element(s), index=2\n"
           "%s ROOT r = %s tuple(next, %s, x) }\n"
           "cond { s = %s parameter(0)\n c = %s[] get-tuple-element(s), index=0\n"
           "l = s32[] get-tuple-element(s), index=1\n%s }\n"
           "ENTRY e { p = s32[] parameter(0)\n x = f32[] parameter(1)\n%s %s"
           "s = %s tuple(i, n, x)\n"
           "ROOT w = %s while(s), condition=cond, body=body%s%s\n}\n",
           or_default(loop->comps, ""), state, type, or_default(loop->body, STEP("1")), state,
           or_default(loop->next, "l"), state, type, or_default(loop->cond, WHILE_("LT", "10")),
           or_default(loop->init, CONSTANT("i", "0")), or_default(loop->limit, CONSTANT("n", "7")),
           state, state, loop->config ? ", backend_config=" : "", or_default(loop->config, ""));
  return text;
}

START_TEST(trips_match_table) {
  char *text = loop_text(&loops[_i]);
  Module *module = parse_or_fail(text);
  int64_t trips = while_trip_count(module, find_inst(module, "w"));
  ck_assert_msg(trips == loops[_i].trips, "%s\n%lld, not %lld", text, (long long)trips,
                (long long)loops[_i].trips);
  module_free(module);
  free(text);
}
END_TEST

/* The state need not be a tuple. */
START_TEST(state_may_be_the_counter) {
  Module *module = parse_or_fail(
      "HloModule m\n"
      "body { s = s32[] parameter(0)\n one = s32[] constant(2)\n ROOT n = s32[] add(s, one) }\n"
      "cond { s = s32[] parameter(0)\n end = s32[] constant(9)\n"
      "ROOT go = pred[] compare(s, end), direction=LT }\n"
      "ENTRY e { i = s32[] constant(1)\n ROOT w = s32[] while(i), condition=cond, body=body }\n");
  ck_assert_int_eq(while_trip_count(module, find_inst(module, "w")), 4);
  ck_assert_int_eq(while_trip_count(module, find_inst(module, "i")), -1);
  module_free(module);
}
END_TEST

START_TEST(state_may_be_nested) {
  Module *module = parse_or_fail(
      "HloModule m\n"
      "body { s = (f32[], (f32[], s32[])) parameter(0)\n x = f32[] get-tuple-element(s), index=0\n"
      "t = (f32[], s32[]) get-tuple-element(s), index=1\n c = s32[] get-tuple-element(t), index=1\n"
      "one = s32[] constant(1)\n n = s32[] add(c, one)\n u = (f32[], s32[]) tuple(x, n)\n"
      "ROOT r = (f32[], (f32[], s32[])) tuple(x, u) }\n"
      "cond { s = (f32[], (f32[], s32[])) parameter(0)\n"
      "t = (f32[], s32[]) get-tuple-element(s), index=1\n c = s32[] get-tuple-element(t), index=1\n"
      "end = s32[] constant(6)\n ROOT go = pred[] compare(c, end), direction=LT }\n"
      "ENTRY e { x = f32[] parameter(0)\n i = s32[] constant(0)\n t = (f32[], s32[]) tuple(x, i)\n"
      "s = (f32[], (f32[], s32[])) tuple(x, t)\n"
      "ROOT w = (f32[], (f32[], s32[])) while(s), condition=cond, body=body }\n");
  ck_assert_int_eq(while_trip_count(module, find_inst(module, "w")), 6);
  module_free(module);
}
END_TEST

/* Long chains end in "unknown", not in a deep stack. */
START_TEST(long_chain_is_given_up_on) {
  enum { LENGTH = 100000 };
  size_t capacity = (size_t)LENGTH * 48 + 1024, length = 0;
  char *text = malloc(capacity);
  length += (size_t)snprintf(
      text, capacity,
      "HloModule m\n"
      "body { s = s32[] parameter(0)\n one = s32[] constant(2)\n ROOT n = s32[] add(s, one) }\n"
      "cond { s = s32[] parameter(0)\n end = s32[] constant(9)\n"
      "ROOT go = pred[] compare(s, end), direction=LT }\n"
      "ENTRY e { i0 = s32[] constant(1)\n");
  for (int i = 1; i <= LENGTH; i++) {
    length +=
        (size_t)snprintf(text + length, capacity - length, "i%d = s32[] copy(i%d)\n", i, i - 1);
  }
  snprintf(text + length, capacity - length,
           "ROOT w = s32[] while(i%d), condition=cond, body=body }\n", LENGTH);
  Module *module = parse_or_fail(text);
  ck_assert_int_eq(while_trip_count(module, find_inst(module, "w")), -1);
  module_free(module);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("trip_count");
  TCase *tc = tcase_create("trip_count");
  tcase_add_loop_test(tc, trips_match_table, 0, sizeof loops / sizeof *loops);
  tcase_add_test(tc, state_may_be_the_counter);
  tcase_add_test(tc, state_may_be_nested);
  tcase_add_test(tc, long_chain_is_given_up_on);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
