/* Graphs as text. A node is NAME(operands){parts}flags, then what it waits for. An operand is
 * NODE.PART, or NODE.FIRST+COUNT for several parts. A part is its bytes, or `=OPERAND.PART` where
 * it is forwarded; `/OPERAND.PART` follows for memory that it may take over, `!NODE` for the node
 * that overwrites it. Flags: c = can be cloned, f = fixed, g = given, t = a tuple, s = a source, b
 * = bypassed, p = private. */
#include <stdio.h>
#include <stdlib.h>

#include "search_fixture.h"

static const char *operand_text(const SearchFixture *search, const NodeOperand *operand) {
  Arena *out = search->fixture.out;
  const char *name = node_name(search, operand->node);
  if (operand->is_copied) name = arena_printf(out, "copy of %s", name);
  if (operand->num_parts == 1) return arena_printf(out, "%s.%u", name, operand->first_part);
  return arena_printf(out, "%s.%u+%u", name, operand->first_part, operand->num_parts);
}

static const char *part_text(const SearchFixture *search, const NodePart *part) {
  Arena *out = search->fixture.out;
  const char *text = part->operand == NO_ID
                         ? arena_printf(out, "%lld", (long long)part->bytes)
                         : arena_printf(out, "=%u.%u", part->operand, part->of_operand);
  for (uint32_t i = 0; i < part->num_reuses; i++) {
    NodeReuse reuse = search->graph.reuses.data[part->first_reuse + i];
    text = arena_printf(out, "%s/%u.%u%s", text, reuse.operand, reuse.part,
                        reuse.is_counted_twice ? "*" : "");
  }
  if (part->overwriter != NO_ID)
    text = arena_printf(out, "%s!%s", text, node_name(search, part->overwriter));
  return text;
}

static bool waits_for(const SearchGraph *graph, const SearchNode *node, NodeId other) {
  for (uint32_t i = 0; i < node->num_waits; i++) {
    if (graph->waits.data[node->first_wait + i] == other) return true;
  }
  return false;
}

static const char *node_text(const SearchFixture *search, NodeId number) {
  static const char letters[] = "cfgtEsbp";
  static const unsigned flags[] = {NODE_CAN_CLONE,   NODE_IS_FIXED,  NODE_IS_GIVEN,
                                   NODE_IS_TUPLE,    NODE_IS_END,    NODE_IS_SOURCE,
                                   NODE_IS_BYPASSED, NODE_IS_PRIVATE};
  const SearchGraph *graph = &search->graph;
  const SearchNode *node = &graph->nodes[number];
  Arena *out = search->fixture.out;
  const char *text = node_name(search, number);
  for (uint32_t i = 0; i < node->num_operands; i++)
    text = arena_printf(out, "%s%c%s", text, i ? ',' : '(',
                        operand_text(search, node_operand(graph, number, i)));
  if (node->num_operands) text = arena_printf(out, "%s)", text);
  for (uint32_t i = 0; i < node->num_parts; i++)
    text = arena_printf(out, "%s%c%s", text, i ? ',' : '{',
                        part_text(search, node_part(graph, number, i)));
  if (node->num_parts) text = arena_printf(out, "%s}", text);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (node->flags & flags[i]) text = arena_printf(out, "%s%c", text, letters[i]);
  }
  if (node->inner_bytes)
    text = arena_printf(out, "%s inside %lld", text, (long long)node->inner_bytes);
  const char *before = " after ";
  for (NodeId other = 0; other < number; other++) {
    if (!waits_for(graph, node, other)) continue;
    text = arena_printf(out, "%s%s%s", text, before, node_name(search, other));
    before = ",";
  }
  return text;
}

typedef struct Row {
  const char *name, *header, *comps, *body, *comp, *model;
  int64_t held_bytes, peak_bytes;
  const char *graph;
} Row;

#define P "p = f32[8] parameter(0)\n"
#define COND                                                                            \
  "cond { c = (s32[], f32[8]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n" \
  "k = s32[] constant(9)\n ROOT l = pred[] compare(n, k), direction=LT }\n"
#define BODY                                                                                \
  "body { c = (s32[], f32[8]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"     \
  "v = f32[8] get-tuple-element(c), index=1\n w = f32[8] sine(v)\n o = s32[] constant(1)\n" \
  "m = s32[] add(n, o)\n x = f32[8] multiply(w, v)\n ROOT r = (s32[], f32[8]) tuple(m, x) }\n"
#define LOOP                                                             \
  P "z = s32[] constant(0)\n n = s32[] copy(z)\n a = f32[8] negate(p)\n" \
    "t = (s32[], f32[8]) tuple(n, a)\n"                                  \
    "l = (s32[], f32[8]) while(t), condition=cond, body=body\n"          \
    "ROOT r = f32[8] get-tuple-element(l), index=1\n"

#define LOOP_READ_ONCE                                                   \
  P "z = s32[] constant(0)\n n = s32[] copy(z)\n a = f32[8] negate(p)\n" \
    "t = (s32[], f32[8]) tuple(n, a)\n"                                  \
    "l = (s32[], f32[8]) while(t), condition=cond, body=body\n"          \
    "g = f32[8] get-tuple-element(l), index=1\n ROOT r = f32[8] sine(g)\n"

static const Row rows[] = {
    {"the example of graph.h", NULL, "",
     P "a = f32[8] negate(p)\n t = (f32[8], f32[8]) tuple(a, p)\n"
       "ROOT g = f32[8] get-tuple-element(t), index=0\n",
     NULL, NULL, 32, 80, "p{0}g; a(p.0){32/0.0}; t(a.0,p.0){16,=0.0,=1.0}t; end(a.0)fE;"},
    {"a tuple that is read is not bypassed, and its parts are forwarded", NULL, "",
     P "a = f32[8] negate(p)\n b = f32[8] abs(a)\n ROOT t = (f32[8], f32[8]) tuple(b, b)\n", NULL,
     NULL, 32, 80,
     "p{0}g; a(p.0){32/0.0}c; b(a.0){32/0.0}c; t(b.0,b.0){16,=0.0,=1.0}t; end(t.0+3)fE;"},
    {"tuples in tuples", NULL, "",
     P "a = f32[8] negate(p)\n t = (f32[8], f32[8]) tuple(a, p)\n u = ((f32[8], f32[8]), f32[8]) "
       "tuple(t, a)\n"
       "v = (f32[8], f32[8]) get-tuple-element(u), index=0\n"
       "w = f32[8] get-tuple-element(v), index=0\n ROOT r = f32[8] sine(w)\n",
     NULL, NULL, 32, 80,
     "p{0}g; a(p.0){32/0.0}c; t(a.0,p.0){16,=0.0,=1.0}t; u(t.0+3,a.0){16,=0.0,=0.1,=0.2,=1.0}tb; "
     "r(t.1){32/0.0}; end(r.0)fE;"},
    {"what comes through a barrier waits for it", NULL, "",
     P "a = f32[8] negate(p)\n t = (f32[8], f32[8]) tuple(a, p)\n o = (f32[8], f32[8]) "
       "opt-barrier(t)\n"
       "v = f32[8] get-tuple-element(o), index=0\n ROOT r = f32[8] sine(v)\n",
     NULL, NULL, 32, 80,
     "p{0}g; a(p.0){32/0.0}c; t(a.0,p.0){16,=0.0,=1.0}t; o(t.0+3){=0.0,=0.1,=0.2}; r(a.0){32/0.0} "
     "after o; end(r.0)fE;"},
    {"the same value by two operands", NULL, "",
     P "a = f32[8] negate(p)\n s = (f32[8]) tuple(a)\n o = (f32[8]) opt-barrier(s)\n"
       "ROOT t = (f32[8], (f32[8])) tuple(a, o)\n",
     NULL, NULL, 32, 88,
     "p{0}g; a(p.0){32/0.0}c; s(a.0){8,=0.0}t; o(s.0+2){=0.0,=0.1}; "
     "t(a.0,o.0+2){16,=0.0,=1.0,=1.1}t; end(t.0+4)fE;"},
    {"the same value by two operands of an async-start", NULL,
     "f { x = f32[8] parameter(0)\n y = f32[8] parameter(1)\n ROOT z = f32[8] add(x, y) }\n",
     P "a = f32[8] negate(p)\n s = ((f32[8], f32[8]), f32[8], s32[]) async-start(a, a), calls=f\n"
       "ROOT r = f32[8] async-done(s)\n",
     NULL, NULL, 32, 140,
     "p{0}g; a(p.0){32/0.0}c; s(a.0,a.0){24,16,=0.0,=1.0,32,4}f; r(s.0+6){=0.4}f; end(r.0)fE;"},
    {"a call forwards what all callers pass", NULL,
     "f { x = f32[8] parameter(0)\n y = f32[8] negate(x)\n ROOT z = (f32[8], f32[8]) tuple(x, y) "
     "}\n",
     P "a = f32[8] negate(p)\n b = f32[8] sine(p)\n"
       "c = (f32[8], f32[8]) call(a), to_apply=f\n d = (f32[8], f32[8]) call(a), to_apply=f\n"
       "ROOT t = (f32[8], (f32[8], f32[8]), (f32[8], f32[8])) tuple(b, c, d)\n",
     NULL, NULL, 32, 216,
     "p{0}g; a(p.0){32/0.0}; b(p.0){32/0.0}c; c(a.0){16,=0.0,32}; d(a.0){16,=0.0,32}; "
     "t(b.0,c.0+3,d.0+3){24,=0.0,=1.0,=1.1,=1.2,=2.0,=2.1,=2.2}t; end(t.0+8)fE;"},
    {"bitcasts are views", NULL, "",
     P "a = f32[8] negate(p)\n b = f32[2,4] bitcast(a)\n c = f32[8] bitcast(b)\n ROOT r = f32[8] "
       "sine(c)\n",
     NULL, NULL, 32, 64, "p{0}g; a(p.0){32/0.0}c; r(a.0){32/0.0}; end(r.0)fE;"},
    {"sources are cheap", NULL, "",
     "p = f32[] parameter(0)\n k = f32[] constant(1)\n a = f32[8] broadcast(p), dimensions={}\n"
     "b = bf16[8] convert(a)\n c = f32[8] broadcast(k), dimensions={}\n d = f32[8] negate(c)\n"
     "e = f32[8] convert(d)\n ROOT t = (bf16[8], f32[8], f32[8]) tuple(b, c, e)\n",
     NULL, NULL, 4, 108,
     "p{0}g; k{0}g; a(p.0){32}cs; b(a.0){16}cs; c(k.0){32}cs; d(c.0){32/0.0}c; e(d.0){32/0.0}c; "
     "t(b.0,c.0,e.0){24,=0.0,=1.0,=2.0}t; end(t.0+4)fE;"},
    {"control dependencies, and side effects in their order", NULL, "",
     P "a = f32[8] negate(p)\n b = f32[8] sine(p), control-predecessors={a}\n"
       "u = f32[8] custom-call(p), custom_call_target=\"t\", custom_call_has_side_effect=true\n"
       "v = f32[8] custom-call(b), custom_call_target=\"t\", custom_call_has_side_effect=true\n"
       "ROOT r = f32[8] add(u, v)\n",
     NULL, NULL, 32, 128,
     "p{0}g; a(p.0){32/0.0}; b(p.0){32/0.0} after a; u(p.0){32}; v(b.0){32} after u; "
     "r(u.0,v.0){32/0.0/1.0}; end(r.0)fE;"},
    {"an update in place overwrites what one of several callers returns", NULL,
     "f { x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x) }\n",
     P "i = s32[] parameter(1)\n q = f32[2] parameter(2)\n c = f32[8] call(p), to_apply=f\n"
       "b = f32[8] abs(c)\n g = f32[8] call(p), to_apply=f\n k = f32[8] add(b, g)\n"
       "d = f32[8] dynamic-update-slice(g, q, i)\n ROOT r = f32[8] add(k, d)\n",
     NULL, NULL, 44, 140,
     "p{0}g; i{0}g; q{0}g; c(p.0){32!d} inside 32; b(c.0){32}c; g(p.0){32!d} inside 32 after "
     "c,b; k(b.0,g.0){32/0.0}c; d(g.0,q.0,i.0){32/0.0*} after k; r(k.0,d.0){32/0.0}; end(r.0)fE;"},
    {"an update in place overwrites", NULL, "",
     P
     "i = s32[] parameter(1)\n q = f32[2] parameter(2)\n a = f32[8] negate(p)\n b = f32[8] abs(a)\n"
     "d = f32[8] dynamic-update-slice(a, q, i)\n ROOT t = (f32[8], f32[8]) tuple(b, d)\n",
     NULL, NULL, 44, 140,
     "p{0}g; i{0}g; q{0}g; a(p.0){32!d}c; b(a.0){32}c; d(a.0,q.0,i.0){32/0.0*} after b; "
     "t(b.0,d.0){16,=0.0,=1.0}t; end(t.0+3)fE;"},
    {"an update in place of what is for it alone", NULL, "",
     P "i = s32[] parameter(1)\n q = f32[2] parameter(2)\n a = f32[8] negate(p)\n"
       "d = f32[8] dynamic-update-slice(a, q, i)\n e = f32[8] dynamic-update-slice(d, q, i)\n"
       "b = f32[8] abs(e)\n ROOT r = f32[8] add(b, e)\n",
     NULL, NULL, 44, 108,
     "p{0}g; i{0}g; q{0}g; a(p.0){32!d}cp; d(a.0,q.0,i.0){32/0.0*!e}cp; "
     "e(d.0,q.0,i.0){32/0.0*}c; b(e.0){32}c; r(b.0,e.0){32/0.0}; end(r.0)fE;"},
    {"a donated parameter", ", input_output_alias={ {}: (0, {}, must-alias) }", "",
     P "a = f32[8] sine(p)\n b = f32[8] negate(a)\n ROOT r = f32[8] add(a, b)\n", NULL, NULL, 0, 96,
     "p{32!r}g; a(p.0){32}c; b(a.0){32/0.0}c; r(a.0,b.0){32} after p; end(r.0)fE;"},
    {"a donated parameter that is updated in place",
     ", input_output_alias={ {}: (0, {}, must-alias) }", "",
     P "a = f32[8] sine(p)\n ROOT r = f32[8] add(p, a)\n", NULL, NULL, 32, 96,
     "p{0!r}g; a(p.0){32}c; r(p.0,a.0){0}; end(r.0)fE;"},
    {"a donated parameter that is read later, and so is copied",
     ", input_output_alias={ {0}: (0, {}, must-alias) }", "",
     P "a = f32[8] sine(p)\n u = f32[8] negate(p)\n b = f32[8] cosine(p)\n"
       "ROOT t = (f32[8], f32[8], f32[8]) tuple(u, a, b)\n",
     NULL, NULL, 32, 120,
     "p{0!u}g; a(p.0){32}c; u(p.0){0} after a; b(copy of p.0){32}c after u; "
     "t(u.0,a.0,b.0){24,=0.0,=1.0,=2.0}t; end(t.0+4)fE;"},
    {"a donated parameter that is copied first", ", input_output_alias={ {}: (0, {}, must-alias) }",
     "", P "c = f32[8] copy(p)\n a = f32[8] sine(c)\n ROOT r = f32[8] add(c, a)\n", NULL, NULL, 0,
     96, "p{32!r}g; c(p.0){32}; a(c.0){32/0.0}c; r(c.0,a.0){32} after p; end(r.0)fE;"},
    {"a fusion with two results", NULL,
     "f { x = f32[8] parameter(0)\n y = f32[8] negate(x)\n ROOT z = (f32[8], f32[8]) tuple(x, y) "
     "}\n",
     P "a = f32[8] negate(p)\n m = (f32[8], f32[8]) fusion(a), kind=kLoop, calls=f\n"
       "v = f32[8] get-tuple-element(m), index=1\n ROOT r = f32[8] sine(v)\n",
     NULL, NULL, 32, 112,
     "p{0}g; a(p.0){32/0.0}c; m(a.0){16,32/0.0,32/0.0}c; r(m.2){32/0.0}; end(r.0)fE;"},
    {"a loop shares its carry, and forwards an invariant", NULL, COND BODY, LOOP, NULL, NULL, 32,
     148,
     "p{0}g; z{0}g; n(z.0){4!l}; a(p.0){32!l}c; t(n.0,a.0){16!l,=0.0,=1.0}t; "
     "l(t.0+3){16/0.0*,4/0.1*,32/0.2*} inside 64; end(l.2)fE;"},
    {"the body of the loop", NULL, COND BODY, LOOP, "body", NULL, 0, 64,
     "c{0!r,0!m,0!x}g; w(c.2){32}c; o{0}g; m(c.1,o.0){0}; x(w.0,c.2){0}; "
     "r(m.0,x.0){0,=0.0,=1.0}t after c; end(r.0+3)fE;"},
    {"a loop's invariant", NULL,
     COND "body { c = (s32[], f32[8]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"
          "v = f32[8] get-tuple-element(c), index=1\n o = s32[] constant(1)\n"
          "m = s32[] add(n, o)\n ROOT r = (s32[], f32[8]) tuple(m, v) }\n",
     LOOP, NULL, NULL, 32, 104,
     "p{0}g; z{0}g; n(z.0){4!l}; a(p.0){32/0.0}c; t(n.0,a.0){16!l,=0.0,=1.0}t; "
     "l(t.0+3){16/0.0*,4/0.1*,=0.2} inside 16; end(l.2)fE;"},
    {"a loop that can run again, and what must then run again with it", NULL, COND BODY,
     LOOP_READ_ONCE, NULL, NULL, 32, 148,
     "p{0}g; z{0}g; n(z.0){4!l}cp; a(p.0){32!l}cp; t(n.0,a.0){16!l,=0.0,=1.0}ctp; "
     "l(t.0+3){16/0.0*,4/0.1*,32/0.2*}c inside 64; r(l.2){32}; end(r.0)fE;"},
    {"a loop that begins with what others read, too, cannot", NULL, COND BODY,
     P "z = s32[] constant(0)\n n = s32[] copy(z)\n a = f32[8] negate(p)\n"
       "t = (s32[], f32[8]) tuple(n, a)\n b = f32[8] sine(a)\n"
       "l = (s32[], f32[8]) while(t), condition=cond, body=body\n"
       "g = f32[8] get-tuple-element(l), index=1\n ROOT r = f32[8] add(g, b)\n",
     NULL, NULL, 32, 180,
     "p{0}g; z{0}g; n(z.0){4!l}; a(p.0){32!l}c; t(n.0,a.0){16!l,=0.0,=1.0}t; b(a.0){32}c; "
     "l(t.0+3){16/0.0*,4/0.1*,32/0.2*} inside 64 after b; r(l.2,b.0){32/1.0}; end(r.0)fE;"},
    {"before copy-insertion it has its own memory for what is small", NULL,
     "cond { c = (s32[], f32[64]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"
     "o = s32[] constant(4)\n ROOT l = pred[] compare(n, o), direction=LT }\n"
     "body { c = (s32[], f32[64]) parameter(0)\n n = s32[] get-tuple-element(c), index=0\n"
     "v = f32[64] get-tuple-element(c), index=1\n o = s32[] constant(1)\n"
     "m = s32[] add(n, o)\n w = f32[64] sine(v)\n ROOT r = (s32[], f32[64]) tuple(m, w) }\n",
     "p = f32[64] parameter(0)\n z = s32[] constant(0)\n a = f32[64] negate(p)\n"
     "t = (s32[], f32[64]) tuple(z, a)\n"
     "l = (s32[], f32[64]) while(t), condition=cond, body=body\n"
     "g = f32[64] get-tuple-element(l), index=1\n ROOT r = f32[64] sine(g)\n",
     NULL, NULL, 256, 804,
     "p{0}g; z{0}g; a(p.0){256!l}cp; t(z.0,a.0){16!l,=0.0,=1.0}ctp; "
     "l(t.0+3){16/0.0*,4,256/0.2*}c inside 256; r(l.2){256}; end(r.0)fE;"},
    {"parameters are held under every model", NULL, "", P "ROOT a = f32[8] negate(p)\n", NULL,
     "xla-remat", 32, 64, "p{0}g; a(p.0){32/0.0}; end(a.0)fE;"},
};

START_TEST(graphs_are_as_told) {
  const Row *row = &rows[_i];
  SearchFixture search;
  Fixture fixture = fixture_parse_format("HloModule m%s\n\n%s\nENTRY e {\n%s}\n",
                                         row->header ? row->header : "", row->comps, row->body);
  search_begin(&search, fixture, row->model ? row->model : "liveness", row->comp, true);
  const char *text = "";
  for (NodeId node = 0; node < search.graph.num_nodes; node++)
    text_add(fixture.out, &text, "%s;", node_text(&search, node));
  check_text(text, row->graph, row->name);
  Line line = line_of_graph(&search.graph, fixture.out);
  int64_t peak_bytes = line_measure(&line, fixture.out).peak_bytes;
  ck_assert_msg(search.graph.held_bytes == row->held_bytes && peak_bytes == row->peak_bytes,
                "%s: %lld bytes held, a peak of %lld", row->name,
                (long long)search.graph.held_bytes, (long long)peak_bytes);
  ck_assert_msg(line_is_valid(&line, fixture.scratch), "%s: not valid", row->name);
  fixture_free(&fixture);
}
END_TEST

/* Instructions that are tied to others by shared memory, and to which kind of it: l, b, d, i. */
static const struct {
  const char *what, *header, *comps, *body, *wanted;
} ties[] = {
    {"none", "", "", "p = f32[4] parameter(0)\n a = f32[4] sine(p)\n ROOT r = f32[4] cosine(a)\n",
     ""},
    {"in place", "", "",
     "p = f32[4] parameter(0)\n i = s32[] parameter(1)\n u = f32[1] parameter(2)\n"
     "a = f32[4] sine(p)\n b = f32[4] cosine(a)\n"
     "d = f32[4] dynamic-update-slice(a, u, i)\n ROOT r = f32[4] add(b, d)\n",
     "bi di"},
    {"a donated parameter", ", input_output_alias={ {}: (0, {}, must-alias) }", "",
     "p = f32[4] parameter(0)\n a = f32[4] sine(p)\n b = f32[4] cosine(a)\n"
     "c = f32[4] tanh(p)\n ROOT r = f32[4] add(b, c)\n",
     "ad rd"},
    {"a loop's carry", ", is_scheduled=true",
     "c { q = (f32[4]) parameter(0)\n ROOT k = pred[] constant(false) }\n"
     "b { q = (f32[4]) parameter(0)\n g = f32[4] get-tuple-element(q), index=0\n"
     "s = f32[4] sine(g)\n ROOT o = (f32[4]) tuple(s) }\n",
     "p = f32[4] parameter(0)\n a = f32[4] sine(p)\n x = f32[4] tanh(a)\n t = (f32[4]) tuple(a)\n"
     "w = (f32[4]) while(t), condition=c, body=b\n"
     "g = f32[4] get-tuple-element(w), index=0\n ROOT r = f32[4] add(g, x)\n",
     "al xl wl"},
};

START_TEST(ties_have_their_kinds) {
  SearchFixture search;
  Fixture fixture = fixture_parse_format("HloModule m%s\n\n%s\nENTRY e {\n%s}\n", ties[_i].header,
                                         ties[_i].comps, ties[_i].body);
  search_begin(&search, fixture, "liveness", NULL, true);
  const char *text = "";
  for (NodeId node = 0; node < search.graph.num_nodes; node++) {
    InstId id = search.graph.nodes[node].inst;
    bool is_free =
        id == NO_ID || opcode_has((Opcode)inst_get(fixture.module, id)->opcode, OPF_FREE);
    if (!is_free && search.graph.tie_of[node])
      text_add(fixture.out, &text, "%s%c", node_name(&search, node),
               "-lbdi"[search.graph.tie_of[node]]);
  }
  check_text(text, ties[_i].wanted, ties[_i].what);
  fixture_free(&fixture);
}
END_TEST

/* The graph of one small computation of very many takes no memory of the module's size: only the
 * context does, once. */
START_TEST(a_graph_takes_what_its_computation_takes) {
  enum { NUM_COMPS = 3000, ENOUGH = 32 << 10 };
  Arena *arena = arena_new(NULL);
  char *text = arena_alloc(arena, (size_t)NUM_COMPS * 200), *end = text;
  end += sprintf(end, "HloModule m\n\n");
  for (int i = 0; i < NUM_COMPS; i++)
    end += sprintf(end,
                   "comp%d {\n p = f32[64] parameter(0)\n s = f32[64] sine(p)\n"
                   " ROOT t = f32[64] tanh(s)\n}\n",
                   i);
  end += sprintf(end, "ENTRY e {\n v0 = f32[64] parameter(0)\n");
  for (int i = 0; i < NUM_COMPS; i++)
    end += sprintf(end, " v%d = f32[64] call(v%d), to_apply=comp%d\n", i + 1, i, i);
  (void)sprintf(end, " ROOT r = f32[64] negate(v%d)\n}\n", NUM_COMPS);
  SearchFixture search;
  Fixture fixture = fixture_parse(text);
  search_begin(&search, fixture, "liveness", NULL, false);
  ArenaOptions little = {.max_bytes = ENOUGH};
  Arena *out = arena_new(&little), *scratch = arena_new(&little);
  SearchGraph graph =
      search_graph_build(&search.context, find_comp(fixture.module, "comp1000"), out, scratch);
  ck_assert_uint_eq(graph.num_nodes, 4); /* with the end */
  arena_free(out);
  arena_free(scratch);
  arena_free(arena);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("search_graph");
  TCase *tc = tcase_create("graph");
  tcase_add_loop_test(tc, graphs_are_as_told, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, ties_have_their_kinds, 0, sizeof ties / sizeof *ties);
  tcase_add_test(tc, a_graph_takes_what_its_computation_takes);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
