/* What is kept of searches for lines: it must be what the same search would find again. */
#include "remat/search/memo.h"

#include "search_fixture.h"

enum { NUM_LAYERS = 6, MANY_STEPS = 100000000, MOST_KEPT = 100000 };

/* A network whose layers are kept for the way back. */
static Fixture make_network(void) {
  Arena *arena = arena_new(NULL);
  const char *body = "x0 = f32[64] parameter(0)\n";
  for (int i = 0; i < NUM_LAYERS; i++) {
    text_add(arena, &body, "e%d = f32[64] sine(x%d)\n x%d = f32[64] exponential(e%d)\n", i, i,
             i + 1, i);
  }
  text_add(arena, &body, "g%d = f32[64] negate(x%d)\n", NUM_LAYERS, NUM_LAYERS);
  for (int i = NUM_LAYERS; i-- > 0;) {
    text_add(arena, &body,
             "q%d = f32[64] multiply(x%d, e%d)\n %sg%d = f32[64] multiply(g%d, q%d)\n", i, i, i,
             i ? "" : "ROOT ", i, i + 1, i);
  }
  Fixture fixture = fixture_parse_body("", body);
  arena_free(arena);
  return fixture;
}

typedef struct MemoFixture {
  SearchFixture search;
  Line given;
  int64_t limit_bytes;
  SearchRules rules;
} MemoFixture;

static void begin(MemoFixture *memo, uint64_t most_kept) {
  search_begin(&memo->search, make_network(), "heap", NULL, false);
  Arena *out = memo->search.fixture.out;
  memo->given = line_of_graph(&memo->search.graph, out);
  memo->limit_bytes = line_measure(&memo->given, out).peak_bytes / 10 * 7;
  memo->rules = (SearchRules){.is_thorough = true, .num_threads = 1};
  if (most_kept) memo->rules.memo = search_memo_new(most_kept, out);
}

static FoundLines find(MemoFixture *memo, Patience *patience) {
  Fixture *fixture = &memo->search.fixture;
  return search_line(&memo->given, memo->limit_bytes, &memo->rules, patience, fixture->out,
                     fixture->scratch);
}

static uint32_t num_known(const MemoFixture *memo) {
  return memo->rules.memo->list.len;
}

static void check_same(const FoundLines *found, const FoundLines *again) {
  ck_assert_uint_eq(found->len, again->len);
  for (uint32_t i = 0; i < found->len; i++) {
    const ScoredLine *a = &found->list[i], *b = &again->list[i];
    ck_assert(line_equals(&a->line, &b->line));
    ck_assert(a->line.graph == b->line.graph);
    ck_assert(a->score.is_met == b->score.is_met && a->score.bytes == b->score.bytes);
    ck_assert(a->score.seconds == b->score.seconds && a->excess == b->excess);
  }
}

START_TEST(a_search_is_not_done_again) {
  MemoFixture memo;
  begin(&memo, 0);
  Patience alone = patience_part(NULL, MANY_STEPS);
  FoundLines found = find(&memo, &alone);
  ck_assert(found.list[0].score.is_met && found.len > 1);
  memo.rules.memo = search_memo_new(MOST_KEPT, memo.search.fixture.out);
  for (int i = 0; i < 3; i++) {
    Patience patience = patience_part(NULL, i == 1 ? alone.num_spent * 4 : MANY_STEPS);
    FoundLines again = find(&memo, &patience);
    check_same(&found, &again);
    ck_assert_uint_eq(patience.num_spent, alone.num_spent);
    ck_assert_uint_eq(num_known(&memo), 1);
  }
  FoundLines last = find(&memo, NULL);
  check_same(&found, &last);
  ck_assert_uint_eq(num_known(&memo), 1);
  fixture_free(&memo.search.fixture);
}
END_TEST

/* One that was short of steps is not kept, and none is known to whoever has fewer steps than it. */
START_TEST(what_was_short_of_steps_is_searched_again) {
  MemoFixture memo;
  begin(&memo, MOST_KEPT);
  Patience few = patience_part(NULL, MANY_STEPS);
  FoundLines best = find(&memo, &few);
  uint64_t num_spent = few.num_spent;
  memo.rules.memo = search_memo_new(MOST_KEPT, memo.search.fixture.out);
  few = patience_part(NULL, num_spent / 8);
  (void)find(&memo, &few);
  ck_assert_uint_eq(num_known(&memo), 0);
  Patience more = patience_part(NULL, MANY_STEPS);
  FoundLines found = find(&memo, &more);
  check_same(&best, &found);
  ck_assert_uint_eq(more.num_spent, num_spent);
  ck_assert_uint_eq(num_known(&memo), 1);
  few = patience_part(NULL, num_spent / 8);
  (void)find(&memo, &few);
  ck_assert_uint_le(few.num_spent, num_spent / 8);
  ck_assert_uint_eq(num_known(&memo), 1);
  fixture_free(&memo.search.fixture);
}
END_TEST

START_TEST(another_search_is_another_one) {
  MemoFixture memo;
  begin(&memo, MOST_KEPT);
  (void)find(&memo, NULL);
  memo.limit_bytes++;
  (void)find(&memo, NULL);
  ck_assert_uint_eq(num_known(&memo), 2);
  memo.rules.is_thorough = false;
  (void)find(&memo, NULL);
  ck_assert_uint_eq(num_known(&memo), 3);
  memo.rules.keeps_order = true;
  (void)find(&memo, NULL);
  ck_assert_uint_eq(num_known(&memo), 4);
  FoundLines known = {0};
  memo.rules.known = &known; /* what follows from other lines is not kept */
  (void)find(&memo, NULL);
  ck_assert_uint_eq(num_known(&memo), 4);
  fixture_free(&memo.search.fixture);
}
END_TEST

/* A change of anything that a search looks at: another query. */
START_TEST(all_of_a_graph_counts) {
  MemoFixture memo;
  begin(&memo, MOST_KEPT);
  SearchGraph *graph = &memo.search.graph;
  MemoQuery before = search_memo_query(&memo.given, memo.limit_bytes, &memo.rules), now;
#define CHANGES(place, value)                                                              \
  do {                                                                                     \
    __typeof__(place) own = (place);                                                       \
    (place) = (value);                                                                     \
    now = search_memo_query(&memo.given, memo.limit_bytes, &memo.rules);                   \
    ck_assert_msg(now.hash[0] != before.hash[0] && now.hash[1] != before.hash[1], #place); \
    (place) = own;                                                                         \
  } while (0)
  CHANGES(graph->nodes[3].seconds, 7);
  CHANGES(graph->nodes[3].inner_bytes, 7);
  CHANGES(graph->nodes[3].twice_bytes, 7);
  CHANGES(graph->nodes[3].flags, own ^ NODE_CAN_CLONE);
  CHANGES(graph->operands.data[3].node, own - 1);
  CHANGES(graph->operands.data[3].is_copied, !own);
  CHANGES(graph->parts.data[3].bytes, own + 1);
  CHANGES(graph->parts.data[3].overwriter, 5);
  CHANGES(graph->held_bytes, own + 1);
  CHANGES(graph->has_given_bytes, !own);
  CHANGES(graph->seconds_per_byte, 7);
  CHANGES(memo.given.nodes[1], own + 1);
#undef CHANGES
  graph->nodes[3].inst++; /* what a line is applied to, not what it is */
  now = search_memo_query(&memo.given, memo.limit_bytes, &memo.rules);
  ck_assert(now.hash[0] == before.hash[0] && now.hash[1] == before.hash[1]);
  fixture_free(&memo.search.fixture);
}
END_TEST

START_TEST(memory_is_bounded) {
  MemoFixture memo;
  begin(&memo, 1);
  (void)find(&memo, NULL);
  ck_assert_uint_eq(num_known(&memo), 0);
  memo.rules.memo->most_kept = 2000;
  for (int i = 0; i < 100; i++, memo.limit_bytes--)
    (void)find(&memo, NULL);
  ck_assert(num_known(&memo) > 1 && num_known(&memo) < 100);
  ck_assert(memo.rules.memo->num_kept <= 2000);
  fixture_free(&memo.search.fixture);
}
END_TEST

static bool stop(void *context) {
  (void)context;
  return true;
}

/* It may have been cut short anywhere. */
START_TEST(what_was_stopped_is_not_kept) {
  MemoFixture memo;
  begin(&memo, MOST_KEPT);
  Patience patience = patience_part(NULL, MANY_STEPS);
  patience.cancel = stop;
  (void)find(&memo, &patience);
  ck_assert_uint_eq(num_known(&memo), 0);
  fixture_free(&memo.search.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("search_memo");
  TCase *tc = tcase_create("memo");
  tcase_add_test(tc, a_search_is_not_done_again);
  tcase_add_test(tc, what_was_short_of_steps_is_searched_again);
  tcase_add_test(tc, another_search_is_another_one);
  tcase_add_test(tc, all_of_a_graph_counts);
  tcase_add_test(tc, memory_is_bounded);
  tcase_add_test(tc, what_was_stopped_is_not_kept);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
