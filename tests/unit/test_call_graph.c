#include "analysis/flow/call_graph.h"

#include <stdio.h>

#include "support.h"

#define LEAF(name) \
  name " { " name ".p = f32[4] parameter(0)\n ROOT " name ".a = f32[4] abs(" name ".p) }\n"
#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define CALLS(name, callee)                                                        \
  name " { " name ".p = f32[4] parameter(0)\n ROOT " name ".c = f32[4] call(" name \
       ".p), to_apply=" callee " }\n"
#define FUSES(name, callee)                                                          \
  name " { " name ".p = f32[4] parameter(0)\n ROOT " name ".f = f32[4] fusion(" name \
       ".p), "                                                                       \
       "kind=kLoop, calls=" callee " }\n"
#define COND "cond { cond.p = f32[4] parameter(0)\n ROOT cond.t = pred[] constant(true) }\n"
#define P "p = f32[4] parameter(0)\n"

/* Computations in post order: S when called as a sequence, E as an expression; the callers. */
static const struct {
  const char *name, *comps, *body, *wanted;
} rows[] = {
    {"nothing called", LEAF("unused"), P "ROOT r = f32[4] abs(p)\n", "e:S()"},
    {"call", LEAF("f"), P "ROOT r = f32[4] call(p), to_apply=f\n", "f:S(r) e:S()"},
    {"fusion", LEAF("f"), P "ROOT r = f32[4] fusion(p), kind=kLoop, calls=f\n", "f:E(r) e:S()"},
    {"while: body, then condition", COND LEAF("body"),
     P "ROOT r = f32[4] while(p), condition=cond, body=body\n", "body:S(r) cond:S(r) e:S()"},
    {"conditional: true, then false", LEAF("no") LEAF("yes"),
     P "t = pred[] constant(true)\n"
       "ROOT r = f32[4] conditional(t, p, p), true_computation=yes, false_computation=no\n",
     "yes:S(r) no:S(r) e:S()"},
    {"branches in their order", LEAF("a") LEAF("b") LEAF("c"),
     P "i = s32[] constant(1)\n"
       "ROOT r = f32[4] conditional(i, p, p, p), branch_computations={c, a, b}\n",
     "c:S(r) a:S(r) b:S(r) e:S()"},
    {"a branch twice", LEAF("a"),
     P "i = s32[] constant(1)\n"
       "ROOT r = f32[4] conditional(i, p, p), branch_computations={a, a}\n",
     "a:S(r,r) e:S()"},
    {"async", LEAF("f"),
     P "st = ((f32[4]), f32[4], u32[]) async-start(p), calls=f\n"
       "ROOT r = f32[4] async-done(st)\n",
     "f:S(st) e:S()"},
    {"an async call: its wrapper has no text", LEAF("f"),
     P "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"
       "ROOT r = f32[4] call-done(st)\n",
     "f:S(async_op) async_wrapped:S(st) e:S()"},
    {"reducers", SUM,
     P "z = f32[] constant(0)\n ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum\n",
     "sum:E(r) e:S()"},
    {"a custom call", LEAF("f"),
     P "ROOT r = f32[4] custom-call(p), custom_call_target=\"x\", called_computations={f}\n",
     "f:E(r) e:S()"},
    {"both ways", LEAF("f"),
     P "x = f32[4] call(p), to_apply=f\n ROOT r = f32[4] fusion(x), kind=kLoop, calls=f\n",
     "f:SE(x,r) e:S()"},
    {"a call inside an expression is one", LEAF("f") CALLS("g", "f"),
     P "ROOT r = f32[4] fusion(p), kind=kLoop, calls=g\n", "f:E(g.c) g:E(r) e:S()"},
    {"two calls deep, in the order of the calls",
     LEAF("f") LEAF("g") CALLS("h", "f") FUSES("i", "g"),
     P "x = f32[4] call(p), to_apply=i\n ROOT r = f32[4] call(x), to_apply=h\n",
     "g:E(i.f) i:S(x) f:S(h.c) h:S(r) e:S()"},
    {"a shared callee once", LEAF("f") CALLS("g", "f") CALLS("h", "f"),
     P "x = f32[4] call(p), to_apply=h\n y = f32[4] call(x), to_apply=f\n"
       "ROOT r = f32[4] call(y), to_apply=g\n",
     "f:S(h.c,g.c,y) h:S(x) g:S(r) e:S()"},
};

static const char *graph_text(const Module *module, const CallGraph *graph, Arena *out) {
  const char *text = NULL;
  for (uint32_t i = 0; i < graph->num_reachable; i++) {
    CompId comp = graph->post_order[i];
    Str name = comp_name(module, comp);
    bool is_expression = graph->context[comp] & CALLED_AS_EXPRESSION;
    text_add(out, &text, "%.*s:%s%s(", (int)name.len, name.data,
             comp_is_sequential(graph, comp) ? "S" : "", is_expression ? "E" : "");
    IdSpan callers = callers_of(graph, comp);
    ck_assert_uint_eq(only_caller_of(graph, comp), callers.len == 1 ? callers.ids[0] : NO_ID);
    for (uint32_t k = 0; k < callers.len; k++) {
      Str caller = inst_name(module, callers.ids[k]);
      text = arena_printf(out, "%s%s%.*s", text, k ? "," : "", (int)caller.len, caller.data);
    }
    text = arena_printf(out, "%s)", text);
  }
  return text;
}

START_TEST(graph_matches_table) {
  Fixture fixture = fixture_parse_body(rows[_i].comps, rows[_i].body);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  check_text(graph_text(fixture.module, &graph, fixture.out), rows[_i].wanted, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

START_TEST(computations_that_nobody_reaches) {
  Fixture fixture = fixture_parse_body(LEAF("f") CALLS("unused", "f") LEAF("g") CALLS("h", "g"),
                                       P "ROOT r = f32[4] call(p), to_apply=h\n");
  CompId *order = comps_post_order(fixture.module, fixture.out, fixture.scratch);
  const char *names = NULL;
  for (uint32_t i = 0; i < fixture.module->comps.len; i++) {
    Str name = comp_name(fixture.module, order[i]);
    text_add(fixture.out, &names, "%.*s", (int)name.len, name.data);
  }
  check_text(names, "f unused g h e", "all computations");
  fixture_free(&fixture);
}
END_TEST

/* Deeper than any stack: each computation calls the one before it. */
START_TEST(depth_is_no_limit) {
  enum { DEPTH = 3000 };
  Arena *arena = arena_new(NULL);
  char *text = arena_alloc(arena, DEPTH * 100), *end = text;
  end += sprintf(end, "HloModule m\nlevel0 { p = f32[] parameter(0)\n ROOT r = f32[] abs(p) }\n");
  for (int i = 1; i < DEPTH; i++) {
    end += sprintf(end,
                   "level%d { p = f32[] parameter(0)\n ROOT r = f32[] call(p), "
                   "to_apply=level%d }\n",
                   i, i - 1);
  }
  sprintf(end, "ENTRY e { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=level%d }\n",
          DEPTH - 1);
  Fixture fixture = fixture_parse(text);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  ck_assert_uint_eq(graph.num_reachable, DEPTH + 1);
  for (uint32_t i = 0; i < graph.num_reachable; i++)
    ck_assert_uint_eq(graph.post_order[i], i);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

static const struct {
  Opcode opcode;
  bool is_control_flow;
} opcodes[] = {
    {OPCODE_CALL, true},
    {OPCODE_CONDITIONAL, true},
    {OPCODE_WHILE, true},
    {OPCODE_ASYNC_START, true},
    {OPCODE_ASYNC_UPDATE, true},
    {OPCODE_ASYNC_DONE, true},
    {OPCODE_FUSION, false},
    {OPCODE_MAP, false},
    {OPCODE_REDUCE, false},
    {OPCODE_SCATTER, false},
    {OPCODE_SORT, false},
    {OPCODE_REDUCE_WINDOW, false},
    {OPCODE_SCAN, false},
    {OPCODE_SELECT_AND_SCATTER, false},
    {OPCODE_ALL_REDUCE, false},
    {OPCODE_ALL_REDUCE_START, false},
    {OPCODE_REDUCE_SCATTER, false},
    {OPCODE_CUSTOM_CALL, false},
    {OPCODE_ADD, false},
};

START_TEST(control_flow_matches_table) {
  ck_assert_msg(opcode_is_control_flow(opcodes[_i].opcode) == opcodes[_i].is_control_flow, "%s",
                opcode_text(opcodes[_i].opcode));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("call_graph");
  TCase *tc = tcase_create("call_graph");
  tcase_add_loop_test(tc, graph_matches_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, computations_that_nobody_reaches);
  tcase_add_test(tc, depth_is_no_limit);
  tcase_add_loop_test(tc, control_flow_matches_table, 0, sizeof opcodes / sizeof *opcodes);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
