#include "analysis/loop/count.h"

#include "support.h"

/* A loop that counts from `begin` by `step` as long as the condition holds, and an index that it
 * computes from the counter: what the index is in each iteration. */
static const struct {
  const char *name, *type, *begin, *step, *limit, *direction, *index, *listed;
} rows[] = {
    {"forward", "s32[]", "0", "1", "4", "LT", "idx = s32[] copy(i)", "0 1 2 3"},
    {"reversed counter", "s32[]", "3", "-1", "-1", "GT", "idx = s32[] copy(i)", "3 2 1 0"},
    {"reversed index", "s32[]", "0", "1", "4", "LT", "idx = s32[] subtract(three, i)", "3 2 1 0"},
    {"strided", "s32[]", "0", "1", "4", "LT", "idx = s32[] multiply(three, i)", "0 3 6 9"},
    {"strided counter", "s32[]", "1", "2", "8", "LT", "idx = s32[] copy(i)", "1 3 5 7"},
    {"clamped", "s32[]", "0", "1", "6", "LT", "idx = s32[] clamp(one, i, three)", "1 1 2 3 3 3"},
    {"from the end", "s32[]", "-2", "1", "2", "LT",
     "less = pred[] compare(i, zero), direction=LT\n more = s32[] add(i, three)\n"
     " idx = s32[] select(less, more, i)",
     "1 2 0 1"},
    {"wraps", "s8[]", "0", "1", "4", "LT", "big = s8[] constant(126)\n idx = s8[] add(big, i)",
     "unknown"},
    {"remainder", "u32[]", "0", "1", "5", "LT", "idx = u32[] remainder(i, three)", "0 1 2 0 1"},
    {"converted", "s32[]", "0", "1", "3", "LT",
     "wide = s64[] convert(i)\n idx = s64[] negate(wide)", "0 -1 -2"},
    {"converted by a copy", "s32[]", "0", "1", "3", "LT",
     "wide = s64[] copy(i)\n idx = s64[] negate(wide)", "0 -1 -2"},
    {"cut by a copy", "s32[]", "126", "1", "129", "LT", "idx = s8[] copy(i)", "unknown"},
    {"from what is not known", "s32[]", "0", "1", "4", "LT", "idx = s32[] add(i, other)",
     "unknown"},
};

static const char *listed(const int64_t *list, int64_t count, Arena *out) {
  const char *text = NULL;
  for (int64_t t = 0; list && t < count; t++)
    text_add(out, &text, "%lld", (long long)list[t]);
  return text ? text : "unknown";
}

START_TEST(counts_match_table) {
  const char *type = rows[_i].type;
  Fixture fixture = fixture_parse_format(
      "HloModule m\n"
      "cond { t = (%s, %s) parameter(0)\n i = %s get-tuple-element(t), index=0\n"
      " end = %s constant(%s)\n ROOT go = pred[] compare(i, end), direction=%s }\n"
      "body { t = (%s, %s) parameter(0)\n i = %s get-tuple-element(t), index=0\n"
      " other = %s get-tuple-element(t), index=1\n zero = %s constant(0)\n one = %s constant(1)\n"
      " three = %s constant(3)\n step = %s constant(%s)\n %s\n n = %s add(i, step)\n"
      " changed = %s multiply(other, other)\n ROOT r = (%s, %s) tuple(n, changed) }\n"
      "ENTRY e { p = %s parameter(0)\n begin = %s constant(%s)\n init = (%s, %s) tuple(begin, p)\n"
      " w = (%s, %s) while(init), condition=cond, body=body\n"
      " ROOT out = %s get-tuple-element(w), index=1 }\n",
      type, type, type, type, rows[_i].limit, rows[_i].direction, type, type, type, type, type,
      type, type, type, rows[_i].step, rows[_i].index, type, type, type, type, type, type,
      rows[_i].begin, type, type, type, type, type);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  Loops loops = loops_find(fixture.module, &graph, fixture.out, fixture.scratch);
  ck_assert_msg(loops.len == 1, "%s: no loop", rows[_i].name);
  const Loop *loop = &loops.list[0];
  ck_assert_ptr_nonnull(loop->counts[0]);
  ck_assert_ptr_null(loop->counts[1]);
  ck_assert(!loop->is_invariant[0] && !loop->is_invariant[1]);
  CountLists lists = count_lists_begin(&loops, fixture.scratch);
  count_lists_enter(&lists, loop, fixture.out);
  const int64_t *list = count_list(&lists, find_inst(fixture.module, "idx"));
  check_text(listed(list, loop->trips, fixture.out), rows[_i].listed, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

START_TEST(linear_lists) {
  static const struct {
    int64_t list[4], count;
    bool is_linear;
    int64_t first, step;
  } lists[] = {{{3, 2, 1, 0}, 4, true, 3, -1},
               {{0, 2, 4, 6}, 4, true, 0, 2},
               {{1, 1, 1, 1}, 4, true, 1, 0},
               {{0, 1, 2, 2}, 4, false, 0, 0},
               {{7}, 1, true, 7, 0}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    int64_t first = 0, step = 0;
    ck_assert(count_is_linear(lists[i].list, lists[i].count, &first, &step) == lists[i].is_linear);
    if (!lists[i].is_linear) continue;
    ck_assert_int_eq(first, lists[i].first);
    if (lists[i].count > 1) ck_assert_int_eq(step, lists[i].step);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("count");
  TCase *tc = tcase_create("count");
  tcase_add_loop_test(tc, counts_match_table, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tc, linear_lists);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
