#include "analysis/flow/dataflow.h"

#include "support.h"

#define SUM "sum { l = f32[] parameter(0)\n m = f32[] parameter(1)\n ROOT s = f32[] add(l, m) }\n"
#define F "f { q = f32[4] parameter(0)\n ROOT fa = f32[4] abs(q) }\n"
#define ID "id { ROOT iq = f32[4] parameter(0) }\n"
#define PAIR "(f32[4], f32[4])"
#define COND(type) "cond { cp = " type " parameter(0)\n ROOT ct = pred[] constant(true) }\n"
#define GTE(name, tuple, index) name " = f32[4] get-tuple-element(" tuple "), index=" index "\n"
#define BODY(result) \
  "body { bp = " PAIR " parameter(0)\n" GTE("b0", "bp", "0") GTE("b1", "bp", "1") result "}\n"
#define GROUPS "replica_groups={{0,1}}"

#define BOUND_LATER                                        \
  "st = ((), (), (f32[8])) async-start(), calls=f\n"       \
  "x = ((f32[4]), f32[4], (f32[8])) async-update(st, p), " \
  "output_to_operand_aliasing={{2,0}: (0, {2,0})}\n y = f32[4] async-done(x)\n"
#define BEFORE_X                                                                 \
  "p = f32[4] parameter(0)\n q0 = f32[4] parameter(1)\n s = f32[] constant(0)\n" \
  "i = s32[] constant(0)\n u = " PAIR " tuple(p, q0)\n same = " PAIR             \
  " tuple(p, p)\n"                                                               \
  "tok = token[] after-all()\n"

/* The values that the parts of an instruction hold: who defines each, `*` behind a phi. */
static const struct {
  const char *comps, *insts, *inst, *values;
} rows[] = {
    /* most define everything */
    {"", "x = f32[4] abs(p)\n", "x", "x:0"},
    {"", "x = (f32[4], (f32[4])) parameter(2)\n", "x", "x:0 x:1 x:2 x:3"},
    {"", "x = f32[4] copy(p)\n", "x", "x:0"},
    {"", "x = f32[4] dynamic-update-slice(p, q0, i)\n", "x", "x:0"},
    {"",
     "x = " PAIR " custom-call(p), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{0}: (0, {})}\n",
     "x", "x:0 x:1 x:2"},
    {F, "x = f32[4] fusion(p), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=f\n",
     "x", "x:0"},
    {SUM, "x = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n", "x", "x:0"},
    /* operands that come after the start */
    {F, BOUND_LATER, "st", "st:0 st:1 st:2 st:3 st:4"},
    {F, BOUND_LATER, "x", "x:0 x:1 p:0 fa:0 x:4 x:5"},
    {F, BOUND_LATER, "y", "fa:0"},
    {F, BOUND_LATER, "q", "p:0"},
    {"g { ga = f32[4] parameter(0)\n gb = f32[4] parameter(1)\n ROOT gr = f32[4] add(ga, gb) }\n",
     "st = ((f32[4]), (), u32[]) async-start(p), calls=g\n"
     "up = ((f32[4]), (), u32[]) async-update(st)\n"
     "x = ((f32[4], f32[4]), f32[4], u32[]) async-update(up, q0)\n y = f32[4] async-done(x)\n",
     "x", "x:0 x:1 p:0 q0:0 gr:0 x:5"},
    {"g { ga = f32[4] parameter(0)\n gb = f32[4] parameter(1)\n ROOT gr = f32[4] add(ga, gb) }\n",
     "st = ((f32[4]), (), u32[]) async-start(p), calls=g\n"
     "up = ((f32[4]), (), u32[]) async-update(st)\n"
     "x = ((f32[4], f32[4]), f32[4], u32[]) async-update(up, q0)\n y = f32[4] async-done(x)\n",
     "gb", "q0:0"},
    /* some hand on */
    {"", "x = f32[2,2] bitcast(p)\n", "x", "p:0"},
    {"", "x = f32[4] get-tuple-element(u), index=1\n", "x", "q0:0"},
    {"", "x = " PAIR " opt-barrier(u)\n", "x", "u:0 p:0 q0:0"},
    {"", "x = f32[4] add-dependency(p, tok)\n", "x", "p:0"},
    {"",
     "x = f32[4] domain(p), domain={kind=\"sharding\", entry={maximal device=0}, "
     "exit={maximal device=1}}\n",
     "x", "p:0"},
    {"", "x = (" PAIR ", f32[4]) tuple(u, p)\n", "x", "x:0 u:0 p:0 q0:0 p:0"},
    {"", "x = " PAIR " copy(u)\n", "x", "x:0 p:0 q0:0"},
    {"", "st = (f32[4], f32[4], u32[]) copy-start(p)\n x = f32[4] copy-done(st)\n", "st",
     "st:0 st:1 p:0 st:3"},
    {"", "st = (f32[4], f32[4], u32[]) copy-start(p)\n x = f32[4] copy-done(st)\n", "x", "st:1"},
    {SUM,
     "st = f32[4] all-reduce-start(p), " GROUPS ", to_apply=sum\n"
     "x = f32[4] all-reduce-done(st)\n",
     "x", "st:0"},
    {"",
     "st = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n"
     "x = f32[8] all-gather-done(st)\n",
     "st", "st:0 p:0 st:2"},
    {"",
     "st = (f32[4], f32[8]) all-gather-start(p), dimensions={0}, " GROUPS "\n"
     "x = f32[8] all-gather-done(st)\n",
     "x", "st:2"},
    {"",
     "st = ((f32[4], f32[4]), (f32[8], f32[8])) all-gather-start(p, q0), dimensions={0}, " GROUPS
     "\n"
     "x = (f32[8], f32[8]) all-gather-done(st)\n",
     "st", "st:0 st:1 p:0 q0:0 st:4 st:5 st:6"},
    {"",
     "st = ((f32[4], f32[4]), (f32[8], f32[8])) all-gather-start(p, q0), dimensions={0}, " GROUPS
     "\n"
     "x = (f32[8], f32[8]) all-gather-done(st)\n",
     "x", "x:0 st:5 st:6"},
    {"",
     "st = (f32[4], f32[4], u32[]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
     "x = f32[4] collective-permute-done(st)\n",
     "st", "st:0 p:0 st:2 st:3"},
    {"",
     "st = (f32[4], f32[4], u32[]) collective-permute-start(p), source_target_pairs={{0,1}}\n"
     "x = f32[4] collective-permute-done(st)\n",
     "x", "st:2"},
    {"", "x = (f32[4], u32[], token[]) send(p, tok), channel_id=1\n", "x", "x:0 p:0 x:2 x:3"},
    {"",
     "st = (f32[4], u32[], token[]) recv(tok), channel_id=1\n"
     "x = (f32[4], token[]) recv-done(st), channel_id=1\n",
     "x", "x:0 st:1 x:2"},
    /* calls: what goes in and what comes out */
    {F, "x = f32[4] call(p), to_apply=f\n", "x", "fa:0"},
    {F, "x = f32[4] call(p), to_apply=f\n", "q", "p:0"},
    {ID, "x = f32[4] call(p), to_apply=id\n", "x", "p:0"},
    {F, "y = f32[4] call(p), to_apply=f\n x = f32[4] call(q0), to_apply=f\n", "q", "q:0*"},
    {F, "y = f32[4] call(p), to_apply=f\n x = f32[4] call(p), to_apply=f\n", "q", "p:0"},
    {ID, "y = f32[4] call(p), to_apply=id\n x = f32[4] call(q0), to_apply=id\n", "x", "iq:0*"},
    {F, "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n x = f32[4] call-done(st)\n",
     "st", "st:0 st:1 p:0 fa:0 st:4"},
    {F, "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n x = f32[4] call-done(st)\n",
     "x", "fa:0"},
    {F, "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n x = f32[4] call-done(st)\n",
     "q", "p:0"},
    {F,
     "st = ((f32[4]), f32[4], u32[]) call-start(p), to_apply=f\n"
     "x = ((f32[4]), f32[4], u32[]) call-update(st)\n",
     "x", "x:0 x:1 p:0 fa:0 x:4"},
    /* conditionals */
    {F ID, "x = f32[4] conditional(i, p, p), branch_computations={f, id}\n", "x", "x:0*"},
    {ID "id2 { ROOT iq2 = f32[4] parameter(0) }\n",
     "x = f32[4] conditional(i, p, p), branch_computations={id, id2}\n", "x", "p:0"},
    {ID "id2 { ROOT iq2 = f32[4] parameter(0) }\n",
     "x = f32[4] conditional(i, p, q0), branch_computations={id, id2}\n", "x", "x:0*"},
    {ID "id2 { ROOT iq2 = f32[4] parameter(0) }\n",
     "x = f32[4] conditional(i, p, q0), branch_computations={id, id2}\n", "iq2", "q0:0"},
    {ID, "x = f32[4] conditional(i, p, p), branch_computations={id, id}\n", "x", "p:0"},
    /* loops */
    {F COND("f32[4]"), "x = f32[4] while(p), condition=cond, body=f\n", "x", "x:0*"},
    {F COND("f32[4]"), "x = f32[4] while(p), condition=cond, body=f\n", "q", "q:0*"},
    {F COND("f32[4]"), "x = f32[4] while(p), condition=cond, body=f\n", "cp", "cp:0*"},
    {ID COND("f32[4]"), "x = f32[4] while(p), condition=cond, body=id\n", "x", "p:0"},
    {ID COND("f32[4]"), "x = f32[4] while(p), condition=cond, body=id\n", "cp", "p:0"},
    {BODY("ROOT bt = " PAIR " tuple(b0, b1)\n") COND(PAIR),
     "x = " PAIR " while(u), condition=cond, body=body\n", "x", "x:0* p:0 q0:0"},
    {BODY("a = f32[4] abs(b1)\n ROOT bt = " PAIR " tuple(b0, a)\n") COND(PAIR),
     "x = " PAIR " while(u), condition=cond, body=body\n", "x", "x:0* p:0 x:2*"},
    {BODY("a = f32[4] abs(b1)\n ROOT bt = " PAIR " tuple(b0, a)\n") COND(PAIR),
     "x = " PAIR " while(u), condition=cond, body=body\n", "bt", "bt:0 p:0 a:0"},
    /* exchanged each time: phis that only feed each other and one value */
    {BODY("ROOT bt = " PAIR " tuple(b1, b0)\n") COND(PAIR),
     "x = " PAIR " while(u), condition=cond, body=body\n", "x", "x:0* x:1* x:2*"},
    {BODY("ROOT bt = " PAIR " tuple(b1, b0)\n") COND(PAIR),
     "x = " PAIR " while(same), condition=cond, body=body\n", "x", "x:0* p:0 p:0"},
    {BODY("ROOT bt = " PAIR " tuple(b1, b0)\n") COND(PAIR),
     "x = " PAIR " while(same), condition=cond, body=body\n", "cp", "cp:0* p:0 p:0"},
    /* a loop in a loop that leaves its state alone */
    {ID COND("f32[4]") "outer { oq = f32[4] parameter(0)\n"
                       "ROOT ow = f32[4] while(oq), condition=cond, body=id }\n"
                       "cond2 { cp2 = f32[4] parameter(0)\n ROOT ct2 = pred[] constant(true) }\n",
     "x = f32[4] while(p), condition=cond2, body=outer\n", "x", "p:0"},
    {F COND("f32[4]") "outer { oq = f32[4] parameter(0)\n"
                      "ROOT ow = f32[4] while(oq), condition=cond, body=f }\n"
                      "cond2 { cp2 = f32[4] parameter(0)\n ROOT ct2 = pred[] constant(true) }\n",
     "x = f32[4] while(p), condition=cond2, body=outer\n", "oq", "oq:0*"},
};

typedef struct Subject {
  Fixture fixture;
  Module *module;
  CallGraph graph;
  Dataflow flow;
} Subject;

static Subject subject_make(const char *comps, const char *insts) {
  Subject subject = {
      .fixture = fixture_parse_format(
          "HloModule m\n%s\nENTRY e {\n%s%sROOT r = f32[] negate(s) }\n", comps, BEFORE_X, insts)};
  subject.module = subject.fixture.module;
  Arena *out = subject.fixture.out, *scratch = subject.fixture.scratch;
  subject.graph = call_graph_build(subject.module, out, scratch);
  subject.flow = dataflow_build(subject.module, &subject.graph, out, scratch);
  return subject;
}

static void add_place(const Subject *subject, const char **text, InstId id, uint32_t part,
                      const char *mark) {
  Str name = inst_name(subject->module, id);
  text_add(subject->fixture.out, text, "%.*s:%u%s", (int)name.len, name.data, part, mark);
}

START_TEST(values_match_table) {
  Subject subject = subject_make(rows[_i].comps, rows[_i].insts);
  InstId id = find_inst(subject.module, rows[_i].inst);
  ck_assert(dataflow_covers(&subject.flow, id));
  const char *text = NULL;
  for (uint32_t part = 0; part < inst_shape(subject.module, id)->num_parts; part++) {
    HloValue value = subject.flow.values.data[dataflow_value(&subject.flow, id, part)];
    add_place(&subject, &text, value.inst, value.part, value.is_phi ? "*" : "");
  }
  check_text(text, rows[_i].values, rows[_i].insts);
  fixture_free(&subject.fixture);
}
END_TEST

/* The defining position first, then instructions in the order of the text. */
static const struct {
  const char *comps, *insts, *inst;
  const char *positions, *uses; /* user@position */
} use_rows[] = {
    {"", "x = f32[4] abs(p)\n y = f32[4] add(x, x)\n", "x", "x:0", "y@x:0"},
    {"", "x = f32[4] abs(p)\n t = (f32[4]) tuple(x)\n", "x", "x:0 t:1", ""},
    {"", "x = f32[4] abs(p)\n t = (f32[4]) tuple(x)\n" GTE("g", "t", "0") "y = f32[4] sine(g)\n",
     "x", "x:0 t:1 g:0", "y@g:0"},
    {"", "x = f32[4] abs(p)\n t = (f32[4]) tuple(x)\n c = (f32[4]) copy(t)\n", "x", "x:0 t:1 c:1",
     ""},
    {"", "x = f32[4] abs(p)\n t = (f32[4]) tuple(x)\n o = (f32[4]) opt-barrier(t)\n", "x",
     "x:0 t:1 o:1", "o@t:1"},
    {"", "x = (f32[4]) tuple(p)\n" GTE("g", "x", "0") "c = (f32[4]) copy(x)\n", "x", "x:0",
     "g@x:0 c@x:0"},
    {"", "x = f32[4] abs(p)\n b = f32[2,2] bitcast(x)\n y = f32[2,2] sine(b)\n", "x", "x:0 b:0",
     "b@x:0 y@b:0"},
    {F, "x = f32[4] abs(p)\n y = f32[4] call(x), to_apply=f\n", "x", "x:0 q:0", "y@x:0 fa@q:0"},
    {F COND("f32[4]"), "x = f32[4] abs(p)\n y = f32[4] while(x), condition=cond, body=f\n", "x",
     "x:0", "y@x:0"},
    /* a root counts as a use of what it returns */
    {"g { gq = f32[4] parameter(0)\n x = f32[4] abs(gq)\n ROOT gt = (f32[4]) tuple(x) }\n",
     "y = (f32[4]) call(p), to_apply=g\n", "x", "x:0 gt:1 y:1", "gt@x:0"},
};

typedef struct UseList {
  const Subject *subject;
  const char *text;
} UseList;

static void note_use(void *context, InstId user, HloPosition position) {
  UseList *list = context;
  const Module *module = list->subject->module;
  Str name = inst_name(module, user), inst = inst_name(module, position.inst);
  text_add(list->subject->fixture.out, &list->text, "%.*s@%.*s:%u", (int)name.len, name.data,
           (int)inst.len, inst.data, position.part);
}

START_TEST(positions_and_uses_match_table) {
  Subject subject = subject_make(use_rows[_i].comps, use_rows[_i].insts);
  ValueId value = dataflow_value(&subject.flow, find_inst(subject.module, use_rows[_i].inst), 0);
  const char *positions = "";
  for (uint32_t i = subject.flow.first_position[value]; i < subject.flow.first_position[value + 1];
       i++) {
    add_place(&subject, &positions, subject.flow.positions[i].inst, subject.flow.positions[i].part,
              "");
  }
  check_text(positions, use_rows[_i].positions, use_rows[_i].insts);
  UseList list = {.subject = &subject, .text = ""};
  dataflow_visit_uses(subject.module, &subject.flow, value, note_use, &list);
  check_text(list.text, use_rows[_i].uses, use_rows[_i].insts);
  fixture_free(&subject.fixture);
}
END_TEST

/* Numbers: computations, then instructions in post order, then parts; phis behind all others. */
START_TEST(values_are_numbered) {
  Subject subject = subject_make(
      F COND("f32[4]"), "x = " PAIR
                        " custom-call(p), custom_call_target=\"x\"\n"
                        "w = f32[4] while(p), condition=cond, body=f\n y = f32[4] abs(w)\n");
  const char *text = NULL;
  for (ValueId id = 0; id < subject.flow.values.len; id++) {
    HloValue value = subject.flow.values.data[id];
    add_place(&subject, &text, value.inst, value.part, value.is_phi ? "*" : "");
    ck_assert_int_eq(value.bytes, shape_get(&subject.module->shapes, value.shape)->bytes);
  }
  check_text(text,
             "fa:0 ct:0 i:0 p:0 q0:0 u:0 same:0 tok:0 x:0 x:1 x:2 y:0 s:0 r:0 q:0* cp:0* w:0*",
             "values");
  fixture_free(&subject.fixture);
}
END_TEST

START_TEST(expressions_are_not_covered) {
  Subject subject = subject_make(SUM F,
                                 "x = f32[4] fusion(p), kind=kLoop, calls=f\n"
                                 "y = f32[] reduce(p, s), dimensions={0}, to_apply=sum\n");
  ck_assert(!dataflow_covers(&subject.flow, find_inst(subject.module, "q")));
  ck_assert(!dataflow_covers(&subject.flow, find_inst(subject.module, "fa")));
  ck_assert(!dataflow_covers(&subject.flow, find_inst(subject.module, "l")));
  ck_assert(dataflow_covers(&subject.flow, find_inst(subject.module, "x")));
  fixture_free(&subject.fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dataflow");
  TCase *tc = tcase_create("dataflow");
  tcase_add_loop_test(tc, values_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, positions_and_uses_match_table, 0, sizeof use_rows / sizeof *use_rows);
  tcase_add_test(tc, values_are_numbered);
  tcase_add_test(tc, expressions_are_not_covered);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
