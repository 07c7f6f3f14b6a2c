/* Lines of small computations: what is measured, what is valid, and what hoisting, settling, late
 * updates, prices and trimming make of them. Random ones are in property.search. */
#include "search_fixture.h"

#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/hoist.h"
#include "remat/search/post_order.h"
#include "remat/search/price.h"
#include "remat/search/trim.h"
#include "remat/search/updates.h"

#define P "p = f32[8] parameter(0)\n"
#define SUM                                                          \
  "sum { first = f32[] parameter(0)\n second = f32[] parameter(1)\n" \
  "ROOT total = f32[] add(first, second) }\n"

/* Three chains, the peak of which is that of one if they run one after the other. */
#define CHAINS                                                            \
  P "z = f32[] constant(0)\n a1 = f32[8] tanh(p)\n a2 = f32[8] sine(p)\n" \
    "b1 = f32[8] multiply(a1, a1)\n b2 = f32[8] multiply(a2, a2)\n"       \
    "c1 = f32[] reduce(b1, z), dimensions={0}, to_apply=sum\n"            \
    "c2 = f32[] reduce(b2, z), dimensions={0}, to_apply=sum\n ROOT r = f32[] add(c1, c2)\n"

/* a is read before and after the peak, at w. */
#define AROUND                                                          \
  P "z = f32[] constant(0)\n a = f32[8] tanh(p)\n"                      \
    "b = f32[] reduce(a, z), dimensions={0}, to_apply=sum\n"            \
    "v = f32[4,8] broadcast(b), dimensions={}\n w = f32[4,8] sine(v)\n" \
    "x = f32[8] reduce(w, z), dimensions={0}, to_apply=sum\n ROOT r = f32[8] add(x, a)\n"

static void begin(SearchFixture *search, const char *body) {
  search_begin(search, fixture_parse_body(SUM, body), "liveness", NULL, true);
}

static int64_t peak_of(const Line *line, Arena *arena) {
  return line_measure(line, arena).peak_bytes;
}

static void check_line(const SearchFixture *search, const Line *line, int64_t peak_bytes,
                       const char *wanted) {
  check_text(line_text(search, line), wanted, "line");
  ck_assert(line_is_valid(line, search->fixture.scratch));
  ck_assert_int_eq(peak_of(line, search->fixture.scratch), peak_bytes);
}

START_TEST(chains_are_hoisted_one_by_one) {
  SearchFixture search;
  begin(&search, CHAINS);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  check_line(&search, &line, 100, "p z a1 a2 b1 b2 c1 c2 r end");
  HoistRules cones = {.moves_cones = true, .num_sweeps = 4}, steps = {.num_sweeps = 4};
  Line hoisted = hoist(&line, 72, &cones, NULL, out, scratch);
  check_line(&search, &hoisted, 72, "p z a1 b1 c1 a2 b2 c2 r end");
  hoisted = hoist(&line, 100, &cones, NULL, out, scratch); /* within the limit */
  check_line(&search, &hoisted, 100, "p z a1 a2 b1 b2 c1 c2 r end");
  hoisted = hoist(&line, 72, &steps, NULL, out, scratch);
  ck_assert_int_le(peak_of(&hoisted, scratch), 100);
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(what_is_given_settles_first) {
  SearchFixture search;
  begin(&search, P
        "a = f32[8] negate(p)\n t = (f32[8], f32[8]) tuple(a, p)\n z = f32[] constant(0)\n"
        "s = f32[8] broadcast(z), dimensions={}\n b = f32[8] sine(a)\n"
        "ROOT u = (f32[8], f32[8], (f32[8], f32[8])) tuple(b, s, t)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  check_text(line_text(&search, &line), "p a t z s b u end", "given");
  Line settled = line_settled(&line, false, out, scratch);
  check_text(line_text(&search, &settled), "p z a s b t u end", "settled");
  settled = line_settled(&line, true, out, scratch);
  check_text(line_text(&search, &settled), "p z a b t s u end", "settled with sources");
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(what_waits_is_not_settled) {
  SearchFixture search;
  begin(&search, P
        "a = f32[8] negate(p)\n z = f32[] constant(0), control-predecessors={a}\n"
        "s = f32[8] broadcast(z), dimensions={}\n b = f32[8] sine(a)\n"
        "c = f32[8] exponential(b)\n ROOT r = f32[8] add(c, s)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  HoistRules rules = {true, true, true, 4};
  Line hoisted = hoist(&line, 1, &rules, NULL, out, scratch);
  ck_assert(line_is_valid(&hoisted, scratch));
  Line settled = line_settled(&line, true, out, scratch);
  ck_assert(line_is_valid(&settled, scratch));
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(a_reader_of_a_tuple_is_not_put_off) {
  SearchFixture search;
  begin(&search, P
        "a = f32[8] negate(p)\n t = (f32[8]) tuple(a)\n o = (f32[8]) opt-barrier(t)\n"
        "b = f32[8] get-tuple-element(o), index=0\n c = f32[8] sine(b)\n"
        "d = f32[8] cosine(b)\n e = f32[8] exponential(b)\n"
        "ROOT r = ((f32[8]), f32[8], f32[8], f32[8]) tuple(o, c, d, e)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  bool has_moved;
  Line late = line_with_late_updates(&line, &has_moved, out, scratch);
  ck_assert(line_is_valid(&late, scratch));
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(updates_are_put_off) {
  SearchFixture search;
  begin(&search, P
        "q = f32[8] parameter(1)\n z = f32[] constant(0)\n g = f32[8] tanh(p)\n"
        "m = f32[8] add(g, p)\n v = f32[8] multiply(g, g)\n w = f32[8] divide(p, v)\n"
        "h = f32[4,8] broadcast(q), dimensions={1}\n i = f32[4,8] sine(h)\n"
        "j = f32[8] reduce(i, z), dimensions={0}, to_apply=sum\n"
        "k = f32[8] cosine(q), control-predecessors={j}\n"
        "ROOT r = (f32[8], f32[8], f32[8], f32[8]) tuple(m, v, w, k)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  check_line(&search, &line, 320, "p q z g m v w h i j k r end");
  bool has_moved = false;
  Line late = line_with_late_updates(&line, &has_moved, out, scratch);
  ck_assert(has_moved);
  ck_assert(line_is_valid(&late, scratch));
  ck_assert_int_lt(peak_of(&late, scratch), 320);
  fixture_free(&search.fixture);
}
END_TEST

/* The scalar that two updates share does not hold them together. */
START_TEST(updates_are_brought_forward) {
  SearchFixture search;
  begin(&search, P
        "q = f32[] constant(1)\n h = f32[512] pad(p, q), padding=504_0\n a = f32[512] tanh(h)\n b "
        "= f32[512] sine(a)\n c = f32[512] cosine(b)\n d = f32[512] negate(c)\n"
        "e = f32[512] tanh(d)\n f = f32[512] sine(e)\n z = f32[] constant(2)\n"
        "s = f32[512] broadcast(z), dimensions={}\n"
        "u = f32[512] multiply(a, b)\n m = f32[512] multiply(u, s)\n"
        "v = f32[512] multiply(b, c)\n n = f32[512] multiply(v, s)\n"
        "ROOT r = (f32[512], f32[512], f32[512], f32[512], f32[512], f32[512]) tuple(m, n, c, d, "
        "e, f)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  line = line_settled(&line, false, out, scratch);
  check_line(&search, &line, 14368, "p q z h a b c d e f s u m v n r end");
  bool has_moved = false;
  Line early = line_with_early_updates(&line, &has_moved, out, scratch);
  ck_assert(has_moved);
  ck_assert(line_is_valid(&early, scratch));
  check_line(&search, &early, 14368, "p q z h a b u s m c d e f v n r end");
  Line again = line_with_early_updates(&early, &has_moved, out, scratch);
  ck_assert(!has_moved);
  check_line(&search, &again, 14368, "p q z h a b u s m c d e f v n r end");
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(post_order_does_not_depend_on_the_order_given) {
  SearchFixture search;
  begin(&search, CHAINS);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  bool has_moved = false;
  Line found = line_in_post_order(&line, &has_moved, out, scratch);
  ck_assert(has_moved);
  check_line(&search, &found, 72, "p a1 b1 z c1 a2 b2 c2 r end");
  found = line_in_post_order(&found, &has_moved, out, scratch);
  ck_assert(!has_moved);
  fixture_free(&search.fixture);
  begin(&search, P
        "a = f32[8] negate(p)\n b = f32[8] sine(p), control-predecessors={a}\n"
        "c = f32[8] exponential(p)\n ROOT r = (f32[8], f32[8], f32[8]) tuple(c, b, a)\n");
  out = search.fixture.out;
  line = line_of_graph(&search.graph, out);
  found = line_in_post_order(&line, &has_moved, out, search.fixture.scratch);
  check_text(line_text(&search, &found), "p c a b r end", "with a wait");
  ck_assert(line_is_valid(&found, search.fixture.scratch));
  fixture_free(&search.fixture);
}
END_TEST

START_TEST(a_value_is_priced_around_the_peak) {
  SearchFixture search;
  begin(&search, AROUND);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  check_line(&search, &line, 224, "p z a b v w x r end");
  PriceRules rules = {60, 0.5, 10, 0, 0};
  ScoredLine priced = price_line(&line, 200, &rules, false, NULL, out, scratch);
  ck_assert(priced.score.is_met);
  check_line(&search, &priced.line, priced.score.bytes, "p z a b<1 v w x a r<2 end");
  ck_assert_int_eq(priced.score.bytes, 192);
  ScoredLine kept = price_line(&line, 224, &rules, false, NULL, out, scratch);
  check_line(&search, &kept.line, 224, "p z a b v w x r end");
  /* With the room for it, the second run is taken back. */
  Line trimmed = line_trimmed(&priced.line, 223, NULL, out, scratch);
  ck_assert_int_eq(peak_of(&trimmed, scratch), 192);
  trimmed = line_trimmed(&priced.line, 224, NULL, out, scratch);
  check_line(&search, &trimmed, 224, "p z a b v w x r end");
  fixture_free(&search.fixture);
}
END_TEST

/* s frees most of a over the second rise only: b reads a before it. Held over the first rise, too,
 * it would add more than that. */
START_TEST(a_step_goes_to_where_the_memory_rises) {
  SearchFixture search;
  begin(&search, P
        "z = f32[] constant(0)\n a = f32[8,8] broadcast(p), dimensions={0}\n"
        "u = f32[32,8] broadcast(p), dimensions={1}\n v = f32[32,8] sine(u)\n"
        "w = f32[32,8] cosine(v)\n x = f32[8] reduce(w, z), dimensions={0}, to_apply=sum\n"
        "b = f32[8] reduce(a, z), dimensions={0}, to_apply=sum\n y = f32[8] add(x, b)\n"
        "k = f32[32,8] broadcast(y), dimensions={1}\n l = f32[32,8] sine(k)\n"
        "s = f32[5,8] slice(a), slice={[0:5], [0:8]}\n"
        "m = f32[8] reduce(l, z), dimensions={0}, to_apply=sum\n"
        "ROOT r = (f32[8], f32[5,8]) tuple(m, s)\n");
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  check_text(line_text(&search, &line), "p z a u v w x b y k l s m r end", "given");
  HoistRules rules = {.moves_cones = false, .num_sweeps = 1};
  Line hoisted = hoist(&line, 1300, &rules, NULL, out, scratch);
  check_text(line_text(&search, &hoisted), "p z a u v w x b y s k l m r end", "hoisted");
  fixture_free(&search.fixture);
}
END_TEST

/* The counter n is overwritten by m. After that, x reads the other element of the state, and f,
 * which only the counter can give: it must be kept, however little it costs to compute. */
START_TEST(another_element_of_a_state_is_not_the_one_that_is_read) {
  SearchFixture search;
  Fixture fixture = fixture_parse_format(
      "HloModule m\n\n%s%s\nENTRY e {\n%s}\n",
      "cond { c = (s32[], f32[8]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"
      "k = s32[] constant(9)\n ROOT l = pred[] compare(n, k), direction=LT }\n",
      "body { c = (s32[], f32[8]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"
      "v = f32[8] get-tuple-element(c), index=1\n d = f32[] convert(n)\n f = f32[8] broadcast(d), "
      "dimensions={}\n"
      "o = s32[] constant(1)\n m = s32[] add(n, o)\n e = f32[] constant(1)\n"
      "a = f32[32] broadcast(e), dimensions={}\n s = f32[32] sine(a)\n"
      "g = f32[8] slice(s), slice={[0:8]}\n x = f32[8] clamp(f, v, g)\n"
      "ROOT r = (s32[], f32[8]) tuple(m, x) }\n",
      "p = f32[8] parameter(0)\n z = s32[] constant(0)\n y = s32[] copy(z)\n"
      "b = f32[8] negate(p)\n t = (s32[], f32[8]) tuple(y, b)\n"
      "l = (s32[], f32[8]) while(t), condition=cond, body=body\n"
      "ROOT q = f32[8] get-tuple-element(l), index=1\n");
  search_begin(&search, fixture, "liveness", "body", true);
  Arena *out = fixture.out, *scratch = fixture.scratch;
  Line line = line_of_graph(&search.graph, out);
  ck_assert(line_is_valid(&line, scratch));
  PriceRules rules = {60, 0.5, 10, 0, 0};
  for (int64_t bytes = peak_of(&line, scratch) - 1; bytes > 0; bytes -= 4) {
    ScoredLine priced = price_line(&line, bytes, &rules, false, NULL, out, scratch);
    ck_assert(line_is_valid(&priced.line, scratch));
  }
  fixture_free(&fixture);
}
END_TEST

/* A line with the steps of these names; each reads the latest run of what it reads. */
static Line line_named(const SearchFixture *search, const char *const *names, uint32_t len) {
  const SearchGraph *graph = &search->graph;
  NodeId *nodes = arena_array(search->fixture.out, NodeId, len + 1);
  for (StepId step = 0; step < len; step++)
    nodes[step] = find_node(search, names[step]);
  nodes[len] = graph->num_nodes - 1;
  Line line = line_new(graph, nodes, len + 1, search->fixture.out);
  for (StepId step = 0; step <= len; step++) {
    uint32_t first = line.first_source[step];
    for (uint32_t i = first; i < line.first_source[step + 1]; i++) {
      NodeId node = node_operand(graph, line.nodes[step], i - first)->node;
      line.sources[i] = step; /* none yet */
      for (StepId other = 0; other < step; other++) {
        if (line.nodes[other] == node) line.sources[i] = other;
      }
    }
  }
  return line;
}

#define OVERWRITTEN                                                             \
  P "i = s32[] parameter(1)\n q = f32[2] parameter(2)\n a = f32[8] negate(p)\n" \
    "b = f32[8] abs(a)\n d = f32[8] dynamic-update-slice(a, q, i)\n ROOT r = f32[8] add(b, d)\n"

#define TWO_READERS                                                             \
  P "i = s32[] parameter(1)\n q = f32[2] parameter(2)\n a = f32[8] negate(p)\n" \
    "c = f32[8] sine(a)\n b = f32[8] abs(a)\n e = f32[8] add(b, c)\n"           \
    "d = f32[8] dynamic-update-slice(a, q, i)\n ROOT r = f32[8] add(e, d)\n"

static const struct {
  const char *body, *names[12];
  bool is_valid;
} validities[] = {
    {CHAINS, {"p", "z", "a1", "b1", "c1", "a2", "b2", "c2", "r"}, true},
    {CHAINS, {"p", "z", "a1", "b1", "a1", "c1", "a2", "b2", "c2", "r"}, true},
    {CHAINS, {"p", "z", "b1", "a1", "c1", "a2", "b2", "c2", "r"}, false},
    {CHAINS, {"p", "z", "a1", "b1", "c1", "a2", "b2", "r"}, false},
    {CHAINS, {"p", "z", "a1", "b1", "c1", "a2", "b2", "c2", "r", "r"}, false}, /* the root */
    {CHAINS, {"p", "p", "z", "a1", "b1", "c1", "a2", "b2", "c2", "r"}, false},
    {OVERWRITTEN, {"p", "i", "q", "a", "b", "d", "r"}, true},
    {OVERWRITTEN, {"p", "i", "q", "a", "d", "b", "r"}, false}, /* reads what d has overwritten */
    {OVERWRITTEN, {"p", "i", "q", "a", "d", "a", "b", "r"}, true},            /* reads a clone */
    {TWO_READERS, {"p", "i", "q", "a", "c", "a", "d", "b", "e", "r"}, false}, /* d took the clone */
    {TWO_READERS, {"p", "i", "q", "a", "c", "a", "d", "a", "b", "e", "r"}, true},
    {OVERWRITTEN, {"p", "i", "q", "a", "b", "d", "d", "r"}, false}, /* d is bound to a */
};

START_TEST(lines_are_valid_or_not) {
  SearchFixture search;
  begin(&search, validities[_i].body);
  uint32_t len = 0;
  while (len < 12 && validities[_i].names[len])
    len++;
  Line line = line_named(&search, validities[_i].names, len);
  ck_assert(line_is_valid(&line, search.fixture.scratch) == validities[_i].is_valid);
  fixture_free(&search.fixture);
}
END_TEST

/* The second run of c reads a, which is held for it alone: to hold c instead takes no more. */
START_TEST(a_value_is_held_instead_of_its_operand) {
  SearchFixture search;
  begin(&search, P
        "z = f32[] constant(0)\n a = f32[8] negate(p)\n c = f32[8] tanh(a)\n"
        "b = f32[] reduce(c, z), dimensions={0}, to_apply=sum\n"
        "v = f32[4,8] broadcast(b), dimensions={}\n w = f32[4,8] sine(v)\n"
        "x = f32[8] reduce(w, z), dimensions={0}, to_apply=sum\n ROOT r = f32[8] add(x, c)\n");
  const char *names[] = {"p", "z", "a", "c", "b", "v", "w", "x", "c", "r"};
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Line line = line_named(&search, names, sizeof names / sizeof *names);
  int64_t peak_bytes = peak_of(&line, scratch);
  check_line(&search, &line, peak_bytes, "p z a c b<1 v w x c r<2 end");
  Line trimmed = line_trimmed(&line, peak_bytes, NULL, out, scratch);
  check_line(&search, &trimmed, peak_bytes, "p z a c b v w x r end");
  trimmed = line_trimmed(&line, peak_bytes - 1, NULL, out, scratch);
  ck_assert(line_equals(&trimmed, &line));
  fixture_free(&search.fixture);
}
END_TEST

/* Both results of f may take over s or the clone of a: the first one takes s, the other one the
 * clone, unless t reads that, too. */
START_TEST(what_is_taken_over_is_taken_once) {
  SearchFixture search;
  Fixture fixture = fixture_parse_format(
      "HloModule m\n\n%s\nENTRY e {\n%s}\n",
      "g { u = f32[8] parameter(0)\n v = f32[8] parameter(1)\n k = f32[8] add(u, v)\n"
      "l = f32[8] multiply(u, v)\n ROOT o = (f32[8], f32[8]) tuple(k, l) }\n",
      P
      "a = f32[8] negate(p)\n s = f32[8] sine(a)\n"
      "f = (f32[8], f32[8]) fusion(s, a), kind=kLoop, calls=g\n"
      "x = f32[8] get-tuple-element(f), index=0\n y = f32[8] get-tuple-element(f), index=1\n"
      "t = f32[8] add(a, x)\n ROOT r = f32[8] add(t, y)\n");
  search_begin(&search, fixture, "heap", NULL, true);
  const char *names[] = {"p", "a", "s", "a", "f", "a", "t", "r"};
  Line line = line_named(&search, names, sizeof names / sizeof *names);
  Arena *out = fixture.out, *scratch = fixture.scratch;
  ck_assert(line_is_valid(&line, scratch));
  int64_t peak_bytes = peak_of(&line, scratch);
  for (int64_t bytes = peak_bytes; bytes < 2 * peak_bytes; bytes += 4) {
    Line trimmed = line_trimmed(&line, bytes, NULL, out, scratch);
    ck_assert_int_le(peak_of(&trimmed, scratch), bytes);
  }
  fixture_free(&fixture);
}
END_TEST

/* ---- applying ---- */

static const struct {
  const char *name, *body, *names[14], *order;
  uint32_t num_clones, num_moved;
} applications[] = {
    {"moves",
     CHAINS,
     {"p", "z", "a1", "b1", "c1", "a2", "b2", "c2", "r"},
     "p z a1 b1 c1 a2 b2 c2 ROOT r",
     0,
     2},
    {"a clone",
     AROUND,
     {"p", "z", "a", "b", "v", "w", "x", "a", "r"},
     "p z a b v w x a.remat ROOT r",
     1,
     0},
    {"parameters do not count",
     P "a = f32[8] negate(p)\n z = f32[] constant(1)\n s = f32[8] broadcast(z), dimensions={}\n"
       "ROOT r = f32[8] add(a, s)\n",
     {"p", "z", "a", "s", "r"},
     "p a z s ROOT r",
     0,
     0},
    {"views are made again",
     P "a = f32[8] negate(p)\n b = f32[2,4] bitcast(a)\n c = f32[2,4] sine(b)\n"
       "ROOT r = f32[2,4] add(c, b)\n",
     {"p", "a", "c", "a", "r"},
     "p a b c a.remat bitcast.remat ROOT r",
     1,
     0},
    {"the tuple is passed by",
     P "a = f32[8] negate(p)\n t = (f32[8], f32[8]) tuple(a, p)\n"
       "b = f32[8] get-tuple-element(t), index=0\n c = f32[8] sine(b)\n"
       "d = f32[8] get-tuple-element(t), index=0\n ROOT r = f32[8] add(c, d)\n",
     {"p", "a", "c", "a", "r"},
     "p a c a.remat ROOT r",
     1,
     0},
};

START_TEST(lines_are_applied) {
  SearchFixture search;
  begin(&search, applications[_i].body);
  Arena *out = search.fixture.out, *scratch = search.fixture.scratch;
  Module *module = search.fixture.module;
  uint64_t meaning = module_meaning(module);
  uint32_t len = 0;
  while (len < 14 && applications[_i].names[len])
    len++;
  Line line = line_named(&search, applications[_i].names, len);
  ck_assert(line_is_valid(&line, scratch));
  Applied applied = line_apply(&line, &search.job, out, scratch);
  dce_run(&search.rewrite, scratch);
  dce_update_schedule(module, &search.schedule, out);
  check_schedule(module, &search.schedule);
  ck_assert(module_meaning(module) == meaning);
  check_prints_and_parses(module, &search.schedule);
  check_text(scheduled_names(&search.fixture, &search.schedule, "e"), applications[_i].order,
             applications[_i].name);
  ck_assert_uint_eq(applied.num_clones, applications[_i].num_clones);
  ck_assert_uint_eq(applied.num_moved, applications[_i].num_moved);
  fixture_free(&search.fixture);
}
END_TEST

#define LEN(array) (int)(sizeof(array) / sizeof *(array))

int main(void) {
  Suite *suite = suite_create("search_line");
  TCase *tc = tcase_create("line");
  tcase_add_test(tc, chains_are_hoisted_one_by_one);
  tcase_add_test(tc, what_is_given_settles_first);
  tcase_add_test(tc, what_waits_is_not_settled);
  tcase_add_test(tc, a_reader_of_a_tuple_is_not_put_off);
  tcase_add_test(tc, updates_are_put_off);
  tcase_add_test(tc, updates_are_brought_forward);
  tcase_add_test(tc, post_order_does_not_depend_on_the_order_given);
  tcase_add_test(tc, a_value_is_priced_around_the_peak);
  tcase_add_test(tc, a_step_goes_to_where_the_memory_rises);
  tcase_add_test(tc, another_element_of_a_state_is_not_the_one_that_is_read);
  tcase_add_loop_test(tc, lines_are_valid_or_not, 0, LEN(validities));
  tcase_add_test(tc, what_is_taken_over_is_taken_once);
  tcase_add_test(tc, a_value_is_held_instead_of_its_operand);
  tcase_add_loop_test(tc, lines_are_applied, 0, LEN(applications));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
