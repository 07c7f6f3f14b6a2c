#include "analysis/flow/traverse.h"

#include "remat/rewrite/rewrite.h"
#include "support.h"

#define P "p = f32[] parameter(0)\n"

static const struct {
  const char *name, *body, *order;
} rows[] = {
    {"a chain", P "a = f32[] abs(p)\n b = f32[] sine(a)\n ROOT r = f32[] tanh(b)\n",
     "p a b ROOT r"},
    {"operands from the first to the last",
     P "q = f32[] parameter(1)\n a = f32[] abs(p)\n b = f32[] abs(q)\n"
       "ROOT r = f32[] subtract(b, a)\n",
     "q b p a ROOT r"},
    {"an operand below another",
     P "a = f32[] abs(p)\n b = f32[] sine(a)\n ROOT r = f32[] add(a, b)\n", "p a b ROOT r"},
    {"an operand twice", P "a = f32[] abs(p)\n ROOT r = f32[] add(a, a)\n", "p a ROOT r"},
    {"what nobody reads, in the order of the text",
     P "a = f32[] abs(p)\n d2 = f32[] sine(a)\n ROOT r = f32[] tanh(p)\n d1 = f32[] cosine(p)\n"
       "q = f32[] parameter(1)\n",
     "p a d2 ROOT r d1 q"},
    {"the root is not special", P "d = f32[] abs(p)\n ROOT r = f32[] sine(d)\n e = f32[] sine(r)\n",
     "p d ROOT r e"},
    {"control predecessors before operands, the last first",
     P "c1 = f32[] abs(p)\n c2 = f32[] sine(p)\n c3 = f32[] tanh(p)\n a = f32[] cosine(p)\n"
       "x = f32[] negate(a), control-predecessors={c1, c2, c3}\n"
       "ROOT r = (f32[], f32[], f32[], f32[]) tuple(x, c1, c2, c3)\n",
     "p c3 c2 c1 a x ROOT r"},
    {"a control predecessor that nobody reads comes at its own place",
     P "a = f32[] abs(p)\n c = f32[] sine(p)\n b = f32[] tanh(a), control-predecessors={c}\n"
       "ROOT r = f32[] add(b, a)\n",
     "p c a b ROOT r"},
    {"control predecessors of control predecessors",
     P "c1 = f32[] abs(p)\n q = f32[] parameter(1)\n"
       "c2 = f32[] sine(q), control-predecessors={c1}\n"
       "x = f32[] negate(p), control-predecessors={c2}\n"
       "ROOT r = (f32[], f32[], f32[]) tuple(x, c2, c1)\n",
     "p c1 q c2 x ROOT r"},
    /* Pushed early, reached earlier through another: it stays where it was reached first. */
    {"a diamond",
     P "a = f32[] abs(p)\n b = f32[] sine(a)\n c = f32[] tanh(b)\n"
       "ROOT r = (f32[], f32[], f32[]) tuple(c, b, a)\n",
     "p a b c ROOT r"},
    {"two roots share operands",
     P "q = f32[] parameter(1)\n a = f32[] add(q, p)\n d = f32[] abs(a)\n s = f32[] sine(q)\n"
       "ROOT r = f32[] add(s, a)\n",
     "q p a d s ROOT r"},
};

START_TEST(order_matches_table) {
  Fixture fixture = fixture_parse_body("", rows[_i].body);
  const Module *module = fixture.module;
  uint32_t *visited = arena_zarray(fixture.out, uint32_t, module->insts.len);
  Sequence order = inst_post_order(module, module->entry, visited, fixture.out, fixture.scratch);
  check_text(names_of(module, order.ids, order.len, fixture.out), rows[_i].order, rows[_i].name);
  for (InstId id = 0; id < module->insts.len; id++)
    ck_assert_uint_ne(visited[id], 0);
  fixture_free(&fixture);
}
END_TEST

/* One array of marks serves all computations. */
START_TEST(computations_are_visited_one_by_one) {
  Fixture fixture = fixture_parse_body(
      "f { fq = f32[] parameter(1)\n fp = f32[] parameter(0)\n ROOT fa = f32[] add(fp, fq) }\n",
      P "ROOT r = f32[] call(p, p), to_apply=f\n");
  const Module *module = fixture.module;
  uint32_t *visited = arena_zarray(fixture.out, uint32_t, module->insts.len);
  Sequence entry = inst_post_order(module, module->entry, visited, fixture.out, fixture.scratch);
  ck_assert_uint_eq(visited[find_inst(module, "fp")], 0);
  Sequence f =
      inst_post_order(module, find_comp(module, "f"), visited, fixture.out, fixture.scratch);
  check_text(names_of(module, entry.ids, entry.len, fixture.out), "p ROOT r", "entry");
  check_text(names_of(module, f.ids, f.len, fixture.out), "fp fq ROOT fa", "f");
  fixture_free(&fixture);
}
END_TEST

/* A rewrite puts new instructions at the end of the list: operands come first all the same. */
START_TEST(operands_come_first_whatever_the_list_says) {
  Fixture fixture = fixture_parse_body("", P "a = f32[] abs(p)\n ROOT r = f32[] sine(a)\n");
  Module *module = fixture.module;
  Rewrite rewrite = rewrite_begin(module);
  InstId clone = rewrite_clone(&rewrite, find_inst(module, "a"), fixture.scratch);
  rewrite_set_operand(&rewrite, find_inst(module, "r"), 0, clone);
  uint32_t *visited = arena_zarray(fixture.out, uint32_t, module->insts.len);
  Sequence order = inst_post_order(module, module->entry, visited, fixture.out, fixture.scratch);
  check_text(names_of(module, order.ids, order.len, fixture.out), "p a a.remat ROOT r", "clone");
  fixture_free(&fixture);
}
END_TEST

START_TEST(a_schedule_is_taken_where_there_is_one) {
  Fixture fixture =
      fixture_parse_body("", P "q = f32[] parameter(1)\n ROOT r = f32[] subtract(q, p)\n");
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  Schedule none = schedule_new(module, fixture.out);
  const Schedule *schedules[] = {&schedule, &none, NULL};
  static const char *const wanted[] = {"p q ROOT r", "q p ROOT r", "q p ROOT r"};
  for (int i = 0; i < 3; i++) {
    uint32_t *visited = arena_zarray(fixture.out, uint32_t, module->insts.len);
    Sequence order = topological_order(module, schedules[i], module->entry, visited, fixture.out,
                                       fixture.scratch);
    check_text(names_of(module, order.ids, order.len, fixture.out), wanted[i], "order");
  }
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("traverse");
  TCase *tc = tcase_create("traverse");
  tcase_add_loop_test(tc, order_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, computations_are_visited_one_by_one);
  tcase_add_test(tc, operands_come_first_whatever_the_list_says);
  tcase_add_test(tc, a_schedule_is_taken_where_there_is_one);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
