/* What mending computes again, and what it is made of: excess by blocks, runs, kept lines. */
#include "search_fixture.h"

#include "remat/search/excess.h"
#include "remat/search/mend.h"
#include "remat/search/scored.h"
#include "remat/search/runs.h"

#define HEAD "p = f32[8] parameter(0)\n z = f32[] constant(0)\n"
#define SUM                                                          \
  "sum { first = f32[] parameter(0)\n second = f32[] parameter(1)\n" \
  "ROOT total = f32[] add(first, second) }\n"

/* 128 bytes are written and read again: v and w. */
#define PEAK                                                          \
  "v = f32[4,8] broadcast(b), dimensions={}\n w = f32[4,8] sine(v)\n" \
  "x = f32[8] reduce(w, z), dimensions={0}, to_apply=sum\n"

/* a is read before the peak and after it. */
#define AROUND                \
  HEAD "a = f32[8] tanh(p)\n" \
       "b = f32[] reduce(a, z), dimensions={0}, to_apply=sum\n" PEAK "ROOT r = f32[8] add(x, a)\n"

/* a is read after it only. */
#define EARLY                 \
  HEAD "a = f32[8] tanh(p)\n" \
       "b = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n" PEAK "ROOT r = f32[8] add(x, a)\n"

/* c, which is held over the peak, is computed from a, which is not. */
#define CLOSURE                                      \
  HEAD "a = f32[8] tanh(p)\n c = f32[8] cosine(a)\n" \
       "b = f32[] reduce(c, z), dimensions={0}, to_apply=sum\n" PEAK "ROOT r = f32[8] add(x, c)\n"

/* To compute c again takes more than there is room for before s, because of g; before g there is.
 */
#define VALLEY                                                       \
  HEAD "t = f32[2,8] broadcast(p), dimensions={1}\n"                 \
       "c = f32[8] reduce(t, z), dimensions={0}, to_apply=sum\n"     \
       "b = f32[] reduce(c, z), dimensions={0}, to_apply=sum\n" PEAK \
       "g = f32[3,8] broadcast(x), dimensions={1}\n"                 \
       "s = f32[] reduce(c, z), dimensions={0}, to_apply=sum\n"      \
       "ROOT r = (f32[3,8], f32[]) tuple(g, s)\n"

typedef struct MendCase {
  const char *name, *body;
  int64_t limit_bytes;
  bool keeps_places;
  const char *wanted;
  int64_t peak_bytes;
} MendCase;

static const MendCase mend_cases[] = {
    {"within the limit", AROUND, 224, false, "p z a b v w x r end", 224},
    {"again for the reader after the peak", AROUND, 200, false, "p z a b<1 v w x a r<2 end", 192},
    {"places do not matter to it", AROUND, 200, true, "p z a b<1 v w x a r<2 end", 192},
    {"later instead of again", EARLY, 200, false, "p z b v w x a r end", 192},
    {"unless places are kept", EARLY, 200, true, "p z a b v w x r end", 224},
    {"with what it is computed from", CLOSURE, 200, false, "p z a c<1 b<1 v w x a c<2 r<2 end",
     192},
    {"where there is room for it", VALLEY, 200, false, "p z t c<1 b<1 v w x t c<2 g s<2 r end",
     192},
    {"no further than possible", AROUND, 40, false, "p z a b<1 v w x a r<2 end", 192},
};

START_TEST(lines_are_mended) {
  const MendCase *c = &mend_cases[_i];
  SearchFixture search;
  search_begin(&search, fixture_parse_body(SUM, c->body), "liveness", NULL, true);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  Line mended = line_mended(&line, c->limit_bytes, c->keeps_places, NULL, out, scratch);
  check_text(line_text(&search, &mended), c->wanted, c->name);
  ck_assert(line_is_valid(&mended, scratch));
  ck_assert_int_eq(line_measure(&mended, scratch).peak_bytes, c->peak_bytes);
  fixture_free(&search.fixture);
}
END_TEST

/* ---- excess ---- */

enum { LEN = 300, LIMIT = 50 };

static double added_one_by_one(const int64_t *bytes_at, uint32_t begin, uint32_t end,
                               int64_t bytes) {
  double added = 0;
  for (uint32_t at = begin; at < end; at++) {
    int64_t before = bytes_at[at] - LIMIT, after = before + bytes;
    added += (double)((after > 0 ? after : 0) - (before > 0 ? before : 0));
  }
  return added;
}

static bool has_room_one_by_one(const int64_t *bytes_at, uint32_t begin, uint32_t end,
                                int64_t bytes) {
  for (uint32_t at = begin; at < end; at++) {
    if (bytes_at[at] + bytes > LIMIT) return false;
  }
  return true;
}

/* Ranges of a curve that is over the limit, below it, and on both sides within blocks. */
START_TEST(excess_is_what_it_is_one_by_one) {
  Arena *arena = arena_new(NULL);
  int64_t bytes_at[LEN];
  for (uint32_t at = 0; at < LEN; at++)
    bytes_at[at] = at < 128 ? 60 + at % 7 : at < 200 ? 10 + at % 5 : (at * 37) % 100;
  Excess excess = excess_new(bytes_at, LEN, LIMIT, arena);
  excess_note(&excess, 0, LEN - 1);
  for (uint32_t begin = 0; begin < LEN; begin += 13) {
    for (uint32_t end = begin; end <= LEN; end += 11) {
      for (int64_t bytes = -70; bytes <= 70; bytes += 35)
        ck_assert_double_eq(excess_added(&excess, begin, end, bytes),
                            added_one_by_one(bytes_at, begin, end, bytes));
      for (int64_t bytes = -70; bytes <= 70; bytes += 10)
        ck_assert(excess_has_room(&excess, begin, end, bytes) ==
                  has_room_one_by_one(bytes_at, begin, end, bytes));
      uint32_t rise = end;
      while (rise > begin && bytes_at[rise - 1] > LIMIT)
        rise--;
      ck_assert_uint_eq(excess_rise_before(&excess, begin, end), rise);
      bool exceeds = false;
      for (uint32_t at = begin; at < end; at++)
        exceeds |= bytes_at[at] > LIMIT;
      if (exceeds) ck_assert(excess_may_exceed(&excess, begin, end - 1));
    }
  }
  ck_assert(!excess_may_exceed(&excess, 128, 191));
  bytes_at[150] = 51;
  excess_note(&excess, 150, 150);
  ck_assert(excess_may_exceed(&excess, 128, 191));
  ck_assert_double_eq(excess_added(&excess, 140, 160, -30), -1);
  arena_free(arena);
}
END_TEST

/* ---- runs ---- */

START_TEST(runs_change_a_line) {
  SearchFixture search;
  search_begin(&search, fixture_parse_body(SUM, AROUND), "liveness", NULL, true);
  Arena *out = search.fixture.out;
  Line line = line_of_graph(&search.graph, out);
  StepId place = 7; /* of r, which reads x and a */
  ck_assert_str_eq(node_name(&search, line.nodes[place]), "r");
  Runs runs = runs_of_line(&line, out);
  RunId again = runs_add(&runs, find_node(&search, "a"), place);
  ck_assert_uint_eq(again, line.len);
  runs_sources(&runs, again)[0] = runs_sources(&runs, 2)[0];
  runs_sources(&runs, place)[1] = again;
  StepId *place_of;
  Line changed = runs_build(&runs, &place_of, out);
  check_text(line_text(&search, &changed), "p z a b<1 v w x a r<2 end", "added");
  ck_assert_uint_eq(place_of[7], place);
  ck_assert_uint_eq(place_of[8], place);
  runs_reset(&runs);
  changed = runs_build(&runs, &place_of, out);
  check_text(line_text(&search, &changed), "p z a b v w x r end", "taken back");
  fixture_free(&search.fixture);
}
END_TEST

/* ---- kept lines ---- */

static ScoredLine scored_like(const Line *line, bool fits, int64_t peak_bytes, double seconds) {
  return (ScoredLine){
      .line = *line, .score.is_met = fits, .score.bytes = peak_bytes, .score.seconds = seconds};
}

START_TEST(the_best_lines_are_kept) {
  SearchFixture search;
  search_begin(&search, fixture_parse_body(SUM, AROUND), "liveness", NULL, true);
  Line line = line_of_graph(&search.graph, search.fixture.out);
  KeptLines kept = {.scratch = search.fixture.scratch};
  ScoredLine slow = scored_like(&line, true, 90, 3), fast = scored_like(&line, true, 95, 2);
  ScoredLine high = scored_like(&line, false, 130, 1), low = scored_like(&line, false, 85, 5);
  const ScoredLine *added[] = {&high, &slow, &low, &fast, &slow, &high};
  const ScoredLine *ranked[][4] = {[KEPT_BY_SCORE] = {&fast, &slow, &low, &high},
                                   [KEPT_BY_PEAK] = {&low, &slow, &fast, &high},
                                   [KEPT_BY_MERIT] = {&high, &fast, &slow, &low}};
  for (KeptBy by = KEPT_BY_MERIT + 1; by-- > KEPT_BY_SCORE;) {
    kept_free(&kept);
    kept.by = by;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
      kept_add(&kept, added[i]);
    ck_assert_uint_eq(kept.len, 4); /* each once */
    for (uint32_t i = 0; i < kept.len; i++) {
      ck_assert_int_eq(kept.list[i].scored.score.bytes, ranked[by][i]->score.bytes);
      ck_assert_ptr_ne(kept.list[i].scored.line.nodes, line.nodes);
    }
  }
  for (int i = 0; i < 2 * MAX_KEPT; i++) {
    ScoredLine other = scored_like(&line, true, 80, 1 - 0.01 * i);
    kept_add(&kept, &other);
  }
  ck_assert_uint_eq(kept.len, MAX_KEPT);
  ck_assert_double_eq(kept.list[0].scored.score.seconds, 1 - 0.01 * (2 * MAX_KEPT - 1));
  kept_free(&kept);
  fixture_free(&search.fixture);
}
END_TEST

/* With little excess, a line that takes a little longer is the more promising one. */
START_TEST(merit_weighs_excess_against_time) {
  ScoredLine near = {.score.seconds = 2, .excess = 10}, far = {.score.seconds = 1, .excess = 1000};
  ck_assert(scored_merit(&near, 0.01) < scored_merit(&far, 0.01));
  ck_assert(scored_merit(&near, 0.0001) > scored_merit(&far, 0.0001));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("search_mend");
  TCase *tc = tcase_create("mend");
  tcase_add_loop_test(tc, lines_are_mended, 0, sizeof mend_cases / sizeof *mend_cases);
  tcase_add_test(tc, excess_is_what_it_is_one_by_one);
  tcase_add_test(tc, runs_change_a_line);
  tcase_add_test(tc, the_best_lines_are_kept);
  tcase_add_test(tc, merit_weighs_excess_against_time);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
