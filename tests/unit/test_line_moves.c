/* What hoisting, prices, mending, trimming and whole searches make of lines of small random graphs,
 * against all orders and all lines of these. */
#include "remat/bound/line_bound.h"
#include "remat/search/hoist.h"
#include "remat/search/least.h"
#include "remat/search/mend.h"
#include "remat/search/price.h"
#include "remat/search/search.h"
#include "remat/search/trim.h"

#include "all_lines.h"

enum { NUM_GRAPHS = 150, NUM_LINES = 8 };

static void check_valid(const Line *line, const char *what, uint32_t seed, Arena *scratch) {
  ck_assert_msg(line_is_valid(line, scratch), "graph %u: %s gives a line that is wrong", seed,
                what);
}

static double excess_of(const Line *line, int64_t limit_bytes, Arena *scratch) {
  return scored_measure(line, limit_bytes, scratch).excess;
}

/* ---- hoisting: all orders ---- */

typedef struct Orders {
  const SearchGraph *graph;
  NodeId nodes[MAX_NODES];
  uint32_t len;
  bool is_placed[MAX_NODES];
  int64_t limit_bytes;
  double least; /* excess of an order */
  Arena *arena;
} Orders;

static bool can_be_next(const Orders *orders, NodeId node) {
  if (orders->is_placed[node]) return false;
  for (uint32_t i = 0; i < orders->graph->nodes[node].num_operands; i++) {
    if (!orders->is_placed[node_operand(orders->graph, node, i)->node]) return false;
  }
  return node + 1 < orders->graph->num_nodes || orders->len + 1 == orders->graph->num_nodes;
}

static void visit_orders(Orders *orders) {
  if (orders->len == orders->graph->num_nodes) {
    ArenaMark mark = arena_mark(orders->arena);
    Trial trial = {.graph = orders->graph, .len = orders->len, .arena = orders->arena};
    memcpy(trial.nodes, orders->nodes, orders->len * sizeof *trial.nodes);
    Line line = make_line(&trial, false);
    double excess = excess_of(&line, orders->limit_bytes, orders->arena);
    if (excess < orders->least) orders->least = excess;
    arena_reset(orders->arena, mark);
    return;
  }
  for (NodeId node = 0; node < orders->graph->num_nodes; node++) {
    if (!can_be_next(orders, node)) continue;
    orders->is_placed[node] = true;
    orders->nodes[orders->len++] = node;
    visit_orders(orders);
    orders->len--;
    orders->is_placed[node] = false;
  }
}

START_TEST(no_order_has_less_excess_than_all) {
  static const HoistRules rules = {
      .moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 4};
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  double given = 0, hoisted = 0, least = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS; seed++) {
    Random random = {seed};
    SearchGraph graph = random_graph(&random, true, arena);
    Line line = line_of_graph(&graph, arena);
    int64_t peak = line_measure(&line, scratch).peak_bytes;
    for (int64_t limit = peak - 1; limit >= peak / 2; limit--) {
      Orders orders = {.graph = &graph, .limit_bytes = limit, .least = INFINITY, .arena = scratch};
      visit_orders(&orders);
      Line found = hoist(&line, limit, &rules, NULL, arena, scratch);
      check_valid(&found, "hoisting", seed, scratch);
      ck_assert_uint_eq(found.len, line.len);
      double excess = excess_of(&found, limit, scratch), before = excess_of(&line, limit, scratch);
      ck_assert_msg(excess >= orders.least, "graph %u, limit %d: %g, but no order has less than %g",
                    seed, (int)limit, excess, orders.least);
      given += before;
      hoisted += excess;
      least += orders.least;
    }
    arena_reset(arena, (ArenaMark){0});
  }
  /* What can be had at all is had nearly. */
  ck_assert_msg(given - hoisted > 0.8 * (given - least), "%g of %g that can be had",
                given - hoisted, given - least);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* ---- prices, mending and searches: all lines ---- */

typedef ScoredLine Change(const Line *line, int64_t limit_bytes, Arena *out, Arena *scratch);

static ScoredLine priced(const Line *line, int64_t limit_bytes, Arena *out, Arena *scratch) {
  static const PriceRules rules = {.num_rounds = 48, .rate = 0.5, .gain = 10, .spread = 0.1};
  ScoredLine found = price_line(line, limit_bytes, &rules, true, NULL, out, scratch);
  return scored_trimmed(&found.line, limit_bytes, NULL, out, scratch);
}

static ScoredLine mended(const Line *line, int64_t limit_bytes, Arena *out, Arena *scratch) {
  Line found = line_mended(line, limit_bytes, true, NULL, out, scratch);
  return scored_trimmed(&found, limit_bytes, NULL, out, scratch);
}

static ScoredLine searched(const Line *line, int64_t limit_bytes, Arena *out, Arena *scratch) {
  static const SearchRules rules = {.keeps_order = true, .is_thorough = true};
  return search_line(line, limit_bytes, &rules, NULL, out, scratch).list[0];
}

static const struct {
  const char *name;
  Change *change;
  double least_met; /* of the limits that some line meets, so many are met at least, */
  double most_time; /* and so many times the least time is added, on average */
} changes[] = {
    {"prices", priced, 0.75, 1.2},
    {"mending", mended, 0.4, 1.2},
    {"a search", searched, 0.75, 1.1},
};

START_TEST(lines_are_as_good_as_most) {
  const char *name = changes[_i].name;
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  double added = 0, least_added = 0;
  uint32_t num_met = 0, num_possible = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS; seed++) {
    Random random = {seed};
    SearchGraph graph = random_graph(&random, true, arena);
    Trial trial = {.graph = &graph, .reads_originals = true, .arena = arena};
    visit_all_lines(&trial);
    Line line = line_of_graph(&graph, arena);
    ScoredLine given = scored_measure(&line, 0, scratch);
    double least = INFINITY;
    for (int64_t limit = 0; limit < given.score.bytes; limit++) {
      if (trial.least[limit] < least) least = trial.least[limit];
      ScoredLine found = changes[_i].change(&line, limit, arena, scratch);
      check_valid(&found.line, name, seed, scratch);
      ScoredLine again = scored_measure(&found.line, limit, scratch);
      ck_assert(again.score.is_met == found.score.is_met && again.score.bytes == found.score.bytes);
      double bound = line_time_bound(&line, limit, NULL, scratch);
      double more = found.score.seconds - given.score.seconds;
      ck_assert_msg(!found.score.is_met || more >= bound * (1 - 1e-9),
                    "graph %u, limit %d: %s adds %g, but %g is the least", seed, (int)limit, name,
                    more, bound);
      if (isinf(least)) continue;
      num_possible++;
      if (!found.score.is_met) continue;
      num_met++;
      added += more;
      least_added += least;
    }
    arena_reset(arena, (ArenaMark){0});
  }
  ck_assert_msg(num_met >= changes[_i].least_met * num_possible, "%s: %u of %u limits are met",
                name, num_met, num_possible);
  ck_assert_msg(added <= changes[_i].most_time * least_added, "%s: %g of %g seconds are added",
                name, added, least_added);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* ---- the bound of all peaks ---- */

START_TEST(no_line_needs_less_than_the_bound) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  uint32_t num_reached = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS; seed++) {
    Random random = {seed};
    SearchGraph graph = random_graph(&random, true, arena);
    Trial trial = {.graph = &graph, .arena = arena};
    visit_all_lines(&trial);
    Line line = line_of_graph(&graph, arena);
    int64_t bound = line_least_bytes(&line, scratch);
    int64_t least = scored_measure(&line, 0, scratch).score.bytes;
    for (int64_t limit = least; limit-- > 0;) {
      if (!isinf(trial.least[limit])) least = limit;
    }
    ck_assert_msg(bound <= least, "graph %u: a line needs %d bytes, less than %d", seed, (int)least,
                  (int)bound);
    num_reached += bound == least;
    arena_reset(arena, (ArenaMark){0});
  }
  ck_assert_msg(num_reached >= NUM_GRAPHS / 4, "%u of %u bounds are reached", num_reached,
                (uint32_t)NUM_GRAPHS);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

/* ---- trimming: all runs that can go ---- */

/* A line with clones at random places. */
static Line random_line(const SearchGraph *graph, Random *random, Arena *arena) {
  Trial trial = {.graph = graph, .arena = arena};
  uint32_t num_clones = 0;
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    for (uint32_t i = 0; num_clones < MAX_CLONES && node > 0 && i < 2; i++) {
      NodeId again = below(random, node);
      if (below(random, 2) || !(graph->nodes[again].flags & NODE_CAN_CLONE)) continue;
      trial.nodes[trial.len++] = again;
      num_clones++;
    }
    trial.nodes[trial.len++] = node;
  }
  return make_line(&trial, false);
}

/* The line without a run, whose readers read the one before of the same node instead; and without
 * clones that nobody reads then. Returns false if there is no run before. */
static bool leave_out(const Line *line, StepId gone, Line *result, Arena *arena) {
  StepId earlier = NO_ID;
  for (StepId step = 0; step < gone; step++) {
    if (line->nodes[step] == line->nodes[gone]) earlier = step;
  }
  if (earlier == NO_ID) return false;
  bool *is_kept = arena_zarray(arena, bool, line->len),
       *is_read = arena_zarray(arena, bool, line->len);
  bool *is_first = arena_zarray(arena, bool, line->len);
  StepId *place = arena_array(arena, StepId, line->len);
  for (StepId step = 0; step < line->len; step++) {
    is_first[step] = true;
    for (StepId before = 0; before < step; before++)
      is_first[step] &= line->nodes[before] != line->nodes[step];
  }
  for (StepId step = line->len; step-- > 0;) {
    is_kept[step] = step != gone && (is_first[step] || is_read[step]);
    for (uint32_t i = line->first_source[step]; is_kept[step] && i < line->first_source[step + 1];
         i++)
      is_read[line->sources[i] == gone ? earlier : line->sources[i]] = true;
  }
  uint32_t len = 0;
  for (StepId step = 0; step < line->len; step++) {
    place[step] = len;
    len += is_kept[step];
  }
  place[gone] = place[earlier];
  NodeId *nodes = arena_array(arena, NodeId, len);
  for (StepId step = 0; step < line->len; step++) {
    if (is_kept[step]) nodes[place[step]] = line->nodes[step];
  }
  *result = line_new(line->graph, nodes, len, arena);
  for (StepId step = 0; step < line->len; step++) {
    uint32_t first = line->first_source[step], num = line->first_source[step + 1] - first;
    for (uint32_t i = 0; is_kept[step] && i < num; i++)
      result->sources[result->first_source[place[step]] + i] = place[line->sources[first + i]];
  }
  return true;
}

START_TEST(nothing_that_can_go_is_left) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  uint32_t num_left = 0, num_gone = 0;
  for (uint32_t seed = 0; seed < NUM_GRAPHS * NUM_LINES; seed++) {
    Random random = {seed};
    SearchGraph graph = random_graph(&random, true, arena);
    Line line = random_line(&graph, &random, arena);
    ScoredLine given = scored_measure(&line, 0, scratch);
    int64_t limit = given.score.bytes + below(&random, 3);
    ScoredLine found = scored_trimmed(&line, limit, NULL, arena, scratch);
    check_valid(&found.line, "trimming", seed, scratch);
    ck_assert(found.score.is_met && found.score.seconds <= given.score.seconds);
    num_gone += line.len - found.line.len;
    for (StepId step = 0; step < found.line.len; step++) {
      Line less;
      if (!leave_out(&found.line, step, &less, arena)) continue;
      num_left += line_measure(&less, arena).peak_bytes <= limit;
    }
    arena_reset(arena, (ArenaMark){0});
  }
  ck_assert_msg(num_gone > 100, "only %u runs have gone", num_gone);
  ck_assert_msg(num_left * 50 <= num_gone, "%u runs could go besides %u", num_left, num_gone);
  arena_free(scratch);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("line_moves");
  TCase *tc = tcase_create("line_moves");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, no_order_has_less_excess_than_all);
  tcase_add_loop_test(tc, lines_are_as_good_as_most, 0, sizeof changes / sizeof *changes);
  tcase_add_test(tc, no_line_needs_less_than_the_bound);
  tcase_add_test(tc, nothing_that_can_go_is_left);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
