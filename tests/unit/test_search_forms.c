/* Other forms as decisions of pricing: when a value goes to the host or into a narrower type, where
 * its copies stand, and what waiting for them costs. Random ones are in property.search. */
#include "search_fixture.h"

#include "remat/search/forms.h"
#include "remat/search/line_link.h"
#include "remat/search/price.h"
#include "remat/search/trim.h"

#define SUM                                                          \
  "sum { first = f32[] parameter(0)\n second = f32[] parameter(1)\n" \
  "ROOT total = f32[] add(first, second) }\n"

/* a, of 4000 bytes, is read before and after the peak, at x. Each instruction takes a second, and a
 * copy over the link one second more than its bytes do. */
#define AROUND                                                                           \
  "p = f32[1000] parameter(0)\n z = f32[] constant(0)\n a = f32[1000] tanh(p)\n"         \
  "b = f32[] reduce(a, z), dimensions={0}, to_apply=sum\n"                               \
  "c = f32[] sine(b)\n v = f32[4,1000] broadcast(c), dimensions={}\n"                    \
  "w = f32[4,1000] sine(v)\n x = f32[1000] reduce(w, z), dimensions={0}, to_apply=sum\n" \
  "y = f32[1000] sine(x)\n s = f32[1000] cosine(y)\n ROOT r = f32[1000] add(s, a)\n"

/* a holds only zeros and ones. */
#define MASK                                                                              \
  "p = f32[1000] parameter(0)\n z = f32[] constant(0)\n k = f32[1000] tanh(p)\n"          \
  "q = pred[1000] compare(p, k), direction=LT\n a = f32[1000] convert(q)\n"               \
  "b = f32[] reduce(a, z), dimensions={0}, to_apply=sum\n v = f32[4,1000] broadcast(b), " \
  "dimensions={}\n w = f32[4,1000] sine(v)\n"                                             \
  "x = f32[1000] reduce(w, z), dimensions={0}, to_apply=sum\n ROOT r = f32[1000] add(x, a)\n"

/* Two short gaps between readers of a, and a long one, with the same peak in each. */
#define THREE_GAPS                                                                     \
  "p = f32[1000] parameter(0)\n z = f32[] constant(0)\n k = f32[1000] tanh(p)\n "      \
  "q = pred[1000] compare(p, k), direction=LT\n a = f32[1000] convert(q)\n "           \
  "b1 = f32[] reduce(a, z), dimensions={0}, to_apply=sum\n "                           \
  "v1 = f32[4,1000] broadcast(b1), dimensions={}\n w1 = f32[4,1000] sine(v1)\n "       \
  "x1 = f32[1000] reduce(w1, z), dimensions={0}, to_apply=sum\n "                      \
  "r1 = f32[1000] add(x1, a)\n "                                                       \
  "b2 = f32[] reduce(r1, z), dimensions={0}, to_apply=sum\n "                          \
  "v2 = f32[4,1000] broadcast(b2), dimensions={}\n w2 = f32[4,1000] sine(v2)\n "       \
  "x2 = f32[1000] reduce(w2, z), dimensions={0}, to_apply=sum\n "                      \
  "r2 = f32[1000] add(x2, a)\n g1 = f32[1000] sine(r2)\n g2 = f32[1000] cosine(g1)\n " \
  "g3 = f32[1000] sine(g2)\n g4 = f32[1000] cosine(g3)\n g5 = f32[1000] sine(g4)\n "   \
  "g6 = f32[1000] cosine(g5)\n g7 = f32[1000] sine(g6)\n g8 = f32[1000] cosine(g7)\n " \
  "b3 = f32[] reduce(g8, z), dimensions={0}, to_apply=sum\n "                          \
  "v3 = f32[4,1000] broadcast(b3), dimensions={}\n w3 = f32[4,1000] sine(v3)\n "       \
  "x3 = f32[1000] reduce(w3, z), dimensions={0}, to_apply=sum\n "                      \
  "h1 = f32[1000] sine(x3)\n h2 = f32[1000] cosine(h1)\n h3 = f32[1000] sine(h2)\n "   \
  "h4 = f32[1000] cosine(h3)\n h5 = f32[1000] sine(h4)\n h6 = f32[1000] cosine(h5)\n " \
  "h7 = f32[1000] sine(h6)\n h8 = f32[1000] cosine(h7)\n "                             \
  "ROOT r3 = f32[1000] add(h8, a)\n"

typedef struct FormFixture {
  SearchFixture search;
  DeviceProfile device;
  Line given;
} FormFixture;

static void begin(FormFixture *forms, const char *body, unsigned modes, double link_rate) {
  SearchFixture *search = &forms->search;
  search_begin(search, fixture_parse_body(SUM, body), "liveness", NULL, true);
  Arena *out = search->fixture.out, *scratch = search->fixture.scratch;
  forms->device = device_profile_default();
  forms->device.kernel_seconds = 1;
  forms->device.memory_bandwidth = 1e15;
  forms->device.host_to_device = forms->device.device_to_host = link_rate;
  search->job.device = &forms->device;
  search->job.modes = modes;
  search->context.device = forms->device;
  CompactShapes shapes =
      compact_shapes_build(&search->job, search_sizes(&search->job), out, scratch);
  search->graph = search_graph_build(&search->context, search->fixture.module->entry, out, scratch);
  search_graph_add_forms(&search->graph, &search->context, &shapes, out, scratch);
  forms->given = line_of_graph(&search->graph, out);
}

/* The steps' names; copies into another form are `a>`, those back `<a`. */
static const char *text_of(const FormFixture *forms, const Line *line) {
  const SearchFixture *search = &forms->search;
  const char *text = "";
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    bool is_form = node_form(&search->graph, node), is_back = node_is_back(&search->graph, node);
    text_add(search->fixture.out, &text, "%s",
             arena_printf(search->fixture.out, "%s%s%s", is_back ? "<" : "",
                          node_name(search, node), is_form && !is_back ? ">" : ""));
  }
  return text;
}

static ScoredLine price(const FormFixture *forms, int64_t limit_bytes) {
  PriceRules rules = {60, 0.5, 10, 0, 0};
  Arena *out = forms->search.fixture.out, *scratch = forms->search.fixture.scratch;
  ScoredLine priced = price_line(&forms->given, limit_bytes, &rules, false, NULL, out, scratch);
  ck_assert(priced.score.is_met);
  ck_assert(line_is_valid(&priced.line, scratch));
  return priced;
}

static const struct {
  const char *what, *body;
  unsigned modes;
  double link_rate; /* bytes per second */
  const char *wanted;
} choices[] = {
    {"a fast link costs less than a second run", AROUND, RH_REMAT_RECOMPUTE | RH_REMAT_OFFLOAD, 1e9,
     "p z a b c a> v w x <a y s r end"},
    {"a slow link costs more", AROUND, RH_REMAT_RECOMPUTE | RH_REMAT_OFFLOAD, 1,
     "p z a b c v w x y s a r end"},
    {"without recomputation, the slow link is all there is", AROUND, RH_REMAT_OFFLOAD, 1,
     "p z a b c v w a> x <a y s r end"},
    {"zeros and ones are kept in bytes", MASK, RH_REMAT_NARROW, 1, "p z k q a b a> v w x <a r end"},
};

START_TEST(the_cheapest_way_is_taken) {
  FormFixture forms;
  begin(&forms, choices[_i].body, choices[_i].modes, choices[_i].link_rate);
  int64_t peak_bytes = line_measure(&forms.given, forms.search.fixture.out).peak_bytes;
  ScoredLine priced = price(&forms, peak_bytes - 1);
  check_text(text_of(&forms, &priced.line), choices[_i].wanted, choices[_i].what);
  fixture_free(&forms.search.fixture);
}
END_TEST

START_TEST(copies_are_taken_back_with_the_room_for_it) {
  FormFixture forms;
  begin(&forms, AROUND, RH_REMAT_OFFLOAD, 1e9);
  Arena *out = forms.search.fixture.out, *scratch = forms.search.fixture.scratch;
  int64_t peak_bytes = line_measure(&forms.given, out).peak_bytes;
  ScoredLine priced = price(&forms, peak_bytes - 1);
  ck_assert_int_eq(priced.score.bytes, peak_bytes - 4000);
  Line trimmed = line_trimmed(&priced.line, peak_bytes - 1, NULL, out, scratch);
  ck_assert(line_equals(&trimmed, &priced.line));
  trimmed = line_trimmed(&priced.line, peak_bytes, NULL, out, scratch);
  check_text(text_of(&forms, &trimmed), "p z a b c v w x y s r end", "trimmed");
  fixture_free(&forms.search.fixture);
}
END_TEST

/* The copies back from the narrow type share the copy there, and the one to the host reads what the
 * last of them gives. */
START_TEST(forms_take_turns) {
  FormFixture forms;
  begin(&forms, THREE_GAPS, RH_REMAT_OFFLOAD | RH_REMAT_NARROW, 800);
  int64_t peak_bytes = line_measure(&forms.given, forms.search.fixture.out).peak_bytes;
  ScoredLine priced = price(&forms, peak_bytes - 1);
  check_text(
      text_of(&forms, &priced.line),
      "p z k q a b1 a> v1 w1 x1 <a r1 b2 v2 w2 x2 <a r2 g1 g2 g3 g4 g5 a> g6 g7 g8 b3 v3 w3 x3 "
      "h1 h2 <a h3 h4 h5 h6 h7 h8 r3 end",
      "turns");
  fixture_free(&forms.search.fixture);
}
END_TEST

/* A copy there takes 1 + 4000 / 1000 seconds; it begins after a, and b runs beside it. */
START_TEST(steps_wait_for_copies) {
  FormFixture forms;
  begin(&forms, AROUND, RH_REMAT_OFFLOAD, 1000);
  Arena *out = forms.search.fixture.out, *scratch = forms.search.fixture.scratch;
  int64_t peak_bytes = line_measure(&forms.given, out).peak_bytes;
  ScoredLine priced = price(&forms, peak_bytes - 1);
  double seconds = line_measure(&forms.given, out).seconds;
  double stalls = line_stall_seconds(&priced.line, scratch);
  ck_assert_double_gt(stalls, 0);
  ck_assert_double_eq_tol(priced.score.seconds, seconds + stalls, 1e-6);
  fixture_free(&forms.search.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("search_forms");
  TCase *tc = tcase_create("forms");
  tcase_add_loop_test(tc, the_cheapest_way_is_taken, 0, (int)(sizeof choices / sizeof *choices));
  tcase_add_test(tc, copies_are_taken_back_with_the_room_for_it);
  tcase_add_test(tc, forms_take_turns);
  tcase_add_test(tc, steps_wait_for_copies);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
