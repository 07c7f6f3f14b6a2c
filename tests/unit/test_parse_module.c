/* Texts as a whole: what begins a module, computations, what they call, and what all of it becomes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT sum = f32[] add(a, b) }\n"
#define NEG "neg { a = f32[2] parameter(0) ROOT n = f32[2] negate(a) }\n"
#define P "p = f32[2] parameter(0) "

static const char *const accepted[] = {
    "HloModule m\nENTRY e { " P "}",
    "HloModule m ENTRY e{" P "}",
    "HloModule m\n\n" NEG
    "\nENTRY %e (p.0: f32[2], q f32[3]) -> f32[2] {\n  %p = f32[2]{0} "
    "parameter(0)\n  ROOT %n = f32[2]{0} negate(%p)\n}\n\n",
    "// c\nHloModule m // c\n// d\nENTRY e { // f\n" P "// g\n// h\n} // e\n// end",
    "/**/HloModule/**/m/**/ENTRY/**/e/**/{/**/p/**/=/**/f32[2]/**/parameter/**/(/**/0/**/)/**/}/"
    "**/",
    "HloModule m\r\n\r\nENTRY e {\r\n  " P "\r\n  ROOT n = f32[2] negate(p)\r\n}\r\n",
    "HloModule m\rENTRY e {\r" P "\r}\r",
    "\n\n\t HloModule\tm\tENTRY\te\t{\t" P "\t}\t\n\n",
    "HloModule m.1-a_b\nENTRY e.2-c_d { p.3-e_f = f32[2] parameter(0) }",
    "HloModule %m\nENTRY %e { %p = f32[2] parameter(0) }",
    "HloModule m:\nENTRY e: { p: = f32[2] parameter(0) }", /* colons belong to names */
    "HloModule __m\nENTRY __e { __xla_p = f32[2] parameter(0) }",
    "HloModule m\nENTRY f32x { tuple = f32[2] parameter(0) buffer = f32[2] negate(tuple) }",
    "HloModule m\nENTRY e { " P "a = f32[2] negate(p) b = f32[2] negate(a) }",
    "HloModule m\nENTRY e { ROOT " P "n = f32[2] negate(p) }", /* ROOT may stand anywhere */
    "HloModule m\nENTRY e { b = f32[3] parameter(1) a = f32[2] parameter(0) }",
    "HloModule m\nENTRY e { c = f32[] constant(1) }",
    "HloModule m\n" NEG "e { " P "}",                /* no ENTRY: the last one */
    "HloModule m\nENTRY e { " P "}\nafter { " P "}", /* ENTRY need not be last */
    "HloModule m\n" NEG "ENTRY e { " P
    "a = f32[2] negate(p) ROOT n = f32[2] call(a), to_apply=neg}",
    "HloModule m\nENTRY e { " P "}\nf { " P "ROOT c = f32[2] call(p), to_apply=e }",
    "HloModule m\nENTRY e { a = f32[2] parameter(0) }\nf { a = f32[2] parameter(0) }",

    /* without a header */
    "ENTRY e { " P "}",
    "e { " P "}",
    "%e { " P "}",
    NEG "ENTRY e { " P "}",
    NEG "e (p: f32[2]) -> f32[2] { " P "}",
    "ENTRY e (p: f32[2]) -> f32[2] { " P "}",

    /* signatures: only the result counts */
    "HloModule m\nENTRY e () -> f32[2] { " P "}",
    "HloModule m\nENTRY e (x: s32[9], y: f32[1]) -> f32[2] { " P "}",
    "HloModule m\nENTRY e (x s32[9], %y f32[1]) -> f32[2]{0:S(5)} { " P "}",
    "HloModule m\nENTRY e (p: f32[2])->f32[<=2]{" P "}",
    "HloModule m\nENTRY e (p: (f32[2], ())) -> (f32[], /*index=1*/s32[]) { a = f32[] parameter(0) "
    "b = s32[] parameter(1) ROOT t = (f32[], s32[]) tuple(a, b) }",

    /* attributes behind a computation */
    "HloModule m\ne { " P "}, execution_thread=\"side\"\nENTRY f { " P "}",
    "HloModule m\nENTRY e { " P "}, execution_thread='main'",
    "HloModule m\nENTRY e { " P "}, backend_config={\"a\": 1}",
    "HloModule m\nENTRY e { " P "}, execution_thread=\"a\", backend_config=\"b\"",

    /* computations inside attributes */
    "HloModule m\nENTRY e { " P "ROOT c = f32[2] call(p), to_apply={ " P "} }",
    "HloModule m\nENTRY e { " P
    "ROOT c = f32[2] call(p), to_apply={ p = f32[2] parameter(0)\n"
    "ROOT c = f32[2] call(p), to_apply={ p = f32[2] parameter(0) } } }",
    "HloModule m\nENTRY e { i = s32[] parameter(0) x = f32[2] parameter(1) ROOT c = f32[2] "
    "conditional(i, x, x), branch_computations={ { " P "}, { " P "ROOT n = f32[2] negate(p) } } }",

    /* single instructions */
    "%s = f32[10] add(f32[10] %a, f32[10] %b)",
    "ROOT s = f32[10] add(f32[10] a, f32[10] b)\n",
    "f32[10] add(f32[10], f32[10])",
    "f32[10] add(f32[10] x, f32[10] x)",
    "s = add(f32[10] a, f32[10] b)",
    "// c\ns = f32[] constant(1), metadata={op_name=\"x\"} // d\n",
    "p = f32[2] parameter(0)",
    "(f32[2], s32[]) tuple(f32[2], s32[])",
    "s = f32[2] call(f32[2] x), to_apply={ " P "}",
};

START_TEST(accepted_texts) {
  check_accepted(accepted[_i], strlen(accepted[_i]), 0);
}
END_TEST

static const struct {
  const char *text, *why;
} refused[] = {
    {"", "holds no HLO"},
    {" \n\t\r\n", "holds no HLO"},
    {"// only a comment", "holds no HLO"},
    {"HloModule", "expected a name"},
    {"HloModule m", "expected a computation, but the text ends here"},
    {"HloModule m\n", "the text ends here"},
    {"HloModule \"m\"\nENTRY e { " P "}", "a name"},
    {"HloModule m,\nENTRY e { " P "}", "an attribute after ','"},
    {"HloModule ROOT\nENTRY e { " P "}", "unless it is written %ROOT"},
    {"HloModule m\nHloModule n\nENTRY e { " P "}", "another HloModule begins here"},
    {"HloModule m\nENTRY e { " P "}\nHloModule n\nENTRY e { " P "}",
     "another HloModule begins here"},
    {"HloModule m\nENTRY e { " P "}\n// -----\nENTRY f { " P "}", "a module has one ENTRY"},
    {"HloModule m\nENTRY e { " P "} }", "a computation, found '}'"},
    {"HloModule m\nENTRY e { " P "};", "found '"},
    {"HloModule m\nENTRY { " P "}", "a name"},
    {"HloModule m\nENTRY e", "'(' or '{' after the name"},
    {"HloModule m\nENTRY e " P "}", "'(' or '{' after the name"},
    {"HloModule m\nENTRY e {", "the text ends here"},
    {"HloModule m\nENTRY e { " P, "the text ends here"},
    {"HloModule m\nENTRY e { }", "at least one instruction"},
    {"HloModule m\nENTRY e (p: f32[2]) { " P "}", "'->' before the result"},
    {"HloModule m\nENTRY e (p: f32[2] -> f32[2] { " P "}", "')' to close the parameters"},
    {"HloModule m\nENTRY e (%p: f32[2]) -> f32[2] { " P "}", "a shape"},
    {"HloModule m\nENTRY e (f32[2]) -> f32[2] { " P "}", "unless it is written %f32"},
    {"HloModule m\nENTRY e (p: f32[2],) -> f32[2] { " P "}", "a name"},
    {"HloModule m\nENTRY e (p: f32[2]) -> { " P "}", "a shape"},
    {"HloModule m\nENTRY e () -> f32[3] { " P "}", "the signature's result is f32[3]"},
    {"HloModule m\nENTRY e () -> (f32[2]) { " P "}", "but the root 'p' is f32[2]"},
    {"HloModule m\n" NEG NEG "ENTRY e { " P "}", "computation 'neg' is already defined"},
    {"HloModule m\ne { " P "}\nENTRY e { " P "}", "computation 'e' is already defined"},
    {"HloModule m\nENTRY e { " P P "}", "instruction 'p' is already defined"},
    {"HloModule m\nENTRY e { " P "%p = f32[2] negate(p) }", "instruction 'p' is already defined"},
    {"HloModule m\nENTRY e { ROOT " P "ROOT n = f32[2] negate(p) }", "one ROOT"},
    {"HloModule m\nENTRY e { f32 = f32[2] parameter(0) }", "unless it is written %f32"},
    {"HloModule m\nENTRY e { %f32 = f32[2] parameter(0) }", "it is an element type"},
    {"HloModule m\nENTRY e { __p = f32[2] parameter(0) }", "reserved"},
    {"HloModule m\nENTRY e { 1x = f32[2] parameter(0) }", "an instruction"},
    {"HloModule m\nENTRY e { a/b = f32[2] parameter(0) }", "found '"},
    {"HloModule m\nENTRY e { \xc3\xa9 = f32[2] parameter(0) }", "non-ASCII"},
    {"HloModule m\nENTRY e { p=f32[2] parameter(0) }", "needs a blank before '='"},
    {"HloModule m\nENTRY e { p f32[2] parameter(0) }", "'=' after the name"},
    {"HloModule m\nENTRY e { p = f32[2] parameter(0), ROOT n = f32[2] negate(p) }",
     "an attribute after ','"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0) b = f32[] parameter(0) }",
     "parameter 0 is already defined"},
    {"HloModule m\nENTRY e { a = f32[] parameter(1) }", "gap"},
    {"HloModule m\nENTRY e { a = f32[] parameter(4294967296) }", "gap"},
    {"HloModule m\nENTRY e { " P "}, execution_thread=main", "a string"},
    {"HloModule m\nENTRY e { " P "}, execution_thread=\"a\", execution_thread=\"b\"", "twice"},
    {"HloModule m\nENTRY e { " P "}, other=1", "a computation has no attribute 'other'"},
    {"HloModule m\nENTRY e { " P "},", "an attribute after ','"},
    {"HloModule m\nENTRY e { " P "c = f32[2] call(p), to_apply=f }\nf { " P "}",
     "'f' is not defined above"},
    {"HloModule m\nENTRY e { " P "c = f32[2] call(p), to_apply=_ }", "'_' is not defined above"},
    {"HloModule m\nENTRY e { " P "c = f32[2] call(p), to_apply={ a = f32[2] negate(p) } }",
     "operand 'p' is not defined above"},
    {"HloModule m\nENTRY e { " P "n = f32[2] negate(m) m = f32[2] negate(n) }",
     "operand 'm' is not defined above"},

    /* no module */
    {"e (p: f32[2]) -> f32[2] { " P "}", "'=' after the name"},
    {"comp", "'=' after the name"},
    {"{ }", "this is JSON"},
    {"f32[10] add(f32[10] a, f32[10] b) x", "text goes on after a single instruction"},
    {"s = f32[10] add(a, b)", "needs a shape"},
    {"s = f32[10] add(f32[10] a, f32[9] a)", "operand is declared f32[9]"},
    {"s = f32[2] parameter(1)", "gap"},
    {"s = f32[2] negate(f32[2] s)", "instruction 's' has the name of one of its operands"},
    {"_0 = f32[2] negate(f32[2])", "instruction '_0' has the name of one of its operands"},
    {"f32[2] negate(f32[2] _)", "instruction '_' has the name of one of its operands"},
    {"HloModule m\nENTRY e { " P "negate.anon = f32[2] add(p, negate(p)) }",
     "instruction 'negate.anon' has the name of one of its operands"},
    {"s = f32[] negate((f32[], s32[]) t#0)", "needs a shape"}, /* the shape is the element's */
    {"I0521 12:04:45.883483 1509 file.cc:186] HloModule m\nENTRY e { " P "}", ""},
    {"module @jit_f {\n  func.func public @main() { return }\n}", ""},
    {"#loc = loc(\"a\")\nmodule @m {}", ""},
    {"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n}", ""},
};

START_TEST(refused_texts_say_why) {
  check_refused(refused[_i].text, strlen(refused[_i].text), refused[_i].why);
}
END_TEST

/* ---- what a text becomes ---- */

static const struct {
  const char *text;
  const char *name, *entry;
  bool has_header, is_scheduled;
} modules[] = {
    {"HloModule m\nENTRY e { " P "}", "m", "e", true, false},
    {"HloModule m\nENTRY e { " P "}\nlast { " P "}", "m", "e", true, false},
    {"HloModule m\nfirst { " P "}\nlast { " P "}", "m", "last", true, false},
    {"HloModule m\nfirst { " P "ROOT c = f32[2] call(p), to_apply={ " P "} }", "m", "first", true,
     false},
    {"HloModule m, is_scheduled=true\nENTRY e { " P "}", "m", "e", true, true},
    {"ENTRY e { " P "}", "module_e", "e", false, false},
    {"first { " P "}\nlast { " P "}", "module_last", "last", false, false},
    {"f32[2] negate(f32[2])", "_", "_", false, true},
};

START_TEST(names_and_entries) {
  Module *module = parse_or_fail(modules[_i].text);
  const ModuleHeader *header = &module->source->header;
  ck_assert(str_is(header->name, modules[_i].name));
  ck_assert(str_is(comp_name(module, module->entry), modules[_i].entry));
  ck_assert_int_eq(header->is_present, modules[_i].has_header);
  ck_assert_int_eq(header->is_scheduled, modules[_i].is_scheduled);
  module_free(module);
}
END_TEST

static void check_callees(const Module *module, const char *inst, const char *wanted) {
  InstId id = find_inst(module, inst);
  char names[128] = "";
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    Str name = comp_name(module, inst_callees(module, id)[i]);
    size_t len = strlen(names);
    snprintf(names + len, sizeof names - len, "%s%.*s", i ? " " : "", (int)name.len, name.data);
  }
  ck_assert_msg(strcmp(names, wanted) == 0, "%s calls %s", inst, names);
}

/* XLA's order of called computations, whatever that of the attributes. */
START_TEST(callees_are_in_XLAs_order) {
  Module *module = parse_or_fail(
      "HloModule m\n" NEG "no { a = f32[2] parameter(0) ROOT k = pred[] constant(false) }\n" ADD
      "ge { a = f32[] parameter(0) b = f32[] parameter(1)\n"
      " ROOT c = pred[] compare(a, b), direction=GE }\n"
      "ENTRY e { " P
      "z = f32[] constant(0) k = pred[] constant(true) i = s32[] constant(1)\n"
      " w1 = f32[2] while(p), condition=no, body=neg\n"
      " w2 = f32[2] while(p), body=neg, condition=no\n"
      " c1 = f32[2] conditional(k, p, p), false_computation=neg, true_computation=no\n"
      " c2 = f32[2] conditional(k, p, p), true_computation=neg, false_computation=no\n"
      " c3 = f32[2] conditional(i, p, p, p), branch_computations={no, neg, no}\n"
      " y1 = f32[2] select-and-scatter(p, p, z), scatter=add, select=ge\n"
      " y2 = f32[2] select-and-scatter(p, p, z), select=ge, scatter=add\n"
      " u = f32[] custom-call(), custom_call_target=\"t\", called_computations={add, no, ge} }");
  check_callees(module, "w1", "neg no");
  check_callees(module, "w2", "neg no");
  check_callees(module, "c1", "no neg");
  check_callees(module, "c2", "neg no");
  check_callees(module, "c3", "no neg no");
  check_callees(module, "y1", "ge add");
  check_callees(module, "y2", "ge add");
  check_callees(module, "u", "add no ge");
  check_callees(module, "p", "");
  module_free(module);
}
END_TEST

START_TEST(parameters_are_by_number) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { c = f32[3] parameter(2) a = f32[1] parameter(0)\n"
      " n = f32[1] negate(a) b = f32[2] parameter(1) }");
  const Computation *entry = comp_get(module, module->entry);
  ck_assert_uint_eq(entry->params.len, 3);
  for (uint32_t i = 0; i < 3; i++) {
    InstId param = id_list(module, entry->params)[i];
    ck_assert_int_eq(inst_get(module, param)->index, i);
    ck_assert_int_eq(inst_shape(module, param)->dims[0], i + 1);
  }
  ck_assert_uint_eq(entry->root, find_inst(module, "b"));
  module_free(module);
}
END_TEST

START_TEST(threads_and_flags) {
  Module *module = parse_or_fail(
      "HloModule m\nside { " P "}, execution_thread=\"sparse\"\n" ADD "ENTRY e { " P
      "z = f32[] constant(0)\n"
      " a = f32[2] all-reduce(p), channel_id=5, constrain_layout=true, to_apply=add\n"
      " b = f32[2] all-reduce(p), to_apply=add\n"
      " c = f32[2] custom-call(p), custom_call_target=\"t\", custom_call_has_side_effect=true\n"
      " t = (f32[2], f32[2]) tuple(p, p) ROOT g = f32[2] get-tuple-element(t), index=1 }");
  ck_assert(str_is(comp_get(module, find_comp(module, "side"))->thread, "sparse"));
  ck_assert(str_is(comp_get(module, module->entry)->thread, "main"));
  const Instruction *a = inst_get(module, comp_inst(module, module->entry, 2));
  ck_assert_uint_eq(a->flags, INST_HAS_CHANNEL | INST_CONSTRAINS_LAYOUT);
  ck_assert_int_eq(a->index, 5);
  ck_assert_uint_eq(inst_get(module, comp_inst(module, module->entry, 3))->flags, 0);
  ck_assert_uint_eq(inst_get(module, find_inst(module, "c"))->flags, INST_CALL_SIDE_EFFECT);
  ck_assert_int_eq(inst_get(module, find_inst(module, "g"))->index, 1);
  ck_assert(!module->source->uses_percent);
  module_free(module);
  module = parse_or_fail("HloModule m\nENTRY e { %p = f32[2] parameter(0) }");
  ck_assert(module->source->uses_percent);
  module_free(module);
}
END_TEST

START_TEST(nested_computations_are_called_underscore) {
  Module *module =
      parse_or_fail("HloModule m\nENTRY e { " P
                    "ROOT c = f32[2] call(p), to_apply={ q = f32[2] parameter(0)\n"
                    " ROOT d = f32[2] call(q), to_apply={ r = f32[2] parameter(0) } } }");
  ck_assert_uint_eq(module->comps.len, 3);
  CompId outer = inst_callees(module, find_inst(module, "c"))[0];
  CompId inner = inst_callees(module, find_inst(module, "d"))[0];
  ck_assert_uint_eq(comp_get(module, outer)->flags, COMP_NESTED);
  ck_assert_uint_eq(comp_get(module, inner)->flags, COMP_NESTED);
  ck_assert(str_is(comp_name(module, inner), "_"));
  ck_assert_uint_eq(inst_get(module, find_inst(module, "r"))->parent, inner);
  ck_assert_uint_eq(comp_get(module, inner)->root, find_inst(module, "r"));
  ck_assert_uint_eq(comp_get(module, outer)->root, find_inst(module, "d"));
  ck_assert_uint_eq(module->entry, inst_get(module, find_inst(module, "c"))->parent);
  module_free(module);
}
END_TEST

/* Each instruction keeps its own attributes and control edges, also when others stand inside them.
 */
START_TEST(nested_computations_keep_to_themselves) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { p = (f32[2], s32[]) parameter(0) b = s32[] constant(1)\n"
      " ROOT c = s32[] call(p), control-predecessors={b}, to_apply={\n"
      "   a = (f32[2], s32[]) parameter(0), metadata={op_name=\"inner\"}\n"
      "   ROOT g = s32[] get-tuple-element(a), index=1 }, frontend_attributes={} }");
  InstId a = find_inst(module, "a"), b = find_inst(module, "b"), c = find_inst(module, "c");
  ck_assert_uint_eq(inst_attrs(module, c).len, 3);
  ck_assert_uint_eq(inst_attrs(module, a).len, 1);
  ck_assert_ptr_null(inst_attr(module, c, ATTR_INDEX));
  ck_assert_ptr_null(inst_metadata(module, c));
  ck_assert_ptr_nonnull(inst_metadata(module, a));
  ck_assert(!inst_has_control(module, a));
  ck_assert_uint_eq(inst_control(module, c)->predecessors.len, 1);
  ck_assert_uint_eq(id_list(module, inst_control(module, c)->predecessors)[0], b);
  module_free(module);
  static const char conditional_in_a_branch[] =
      "HloModule m\nneg { a = f32[2] parameter(0) ROOT n = f32[2] negate(a) }\n"
      "ENTRY e { x = f32[2] parameter(0) i = s32[] parameter(1)\n"
      " ROOT c = f32[2] conditional(i, x), branch_computations={ {\n"
      "   a = f32[2] parameter(0) k = pred[] constant(true)\n"
      "   ROOT d = f32[2] conditional(k, a, a), true_computation=neg, false_computation=neg } } }";
  check_accepted(conditional_in_a_branch, strlen(conditional_in_a_branch), 0);
}
END_TEST

START_TEST(a_single_instruction_gets_parameters) {
  Module *module = parse_or_fail("s = f32[2] add(f32[2] x, f32[2])");
  ck_assert_uint_eq(module_num_instructions(module), 3);
  ck_assert_uint_eq(find_inst(module, "s"), comp_get(module, module->entry)->root);
  const Computation *entry = comp_get(module, module->entry);
  ck_assert_uint_eq(entry->params.len, 2);
  ck_assert_uint_eq(id_list(module, entry->params)[0], find_inst(module, "x"));
  ck_assert_uint_eq(id_list(module, entry->params)[1], find_inst(module, "_1"));
  module_free(module);

  module = parse_or_fail("s = f32[2] add(f32[2] _1, f32[2])");
  entry = comp_get(module, module->entry);
  ck_assert_uint_eq(id_list(module, entry->params)[0], find_inst(module, "_1"));
  ck_assert_uint_eq(id_list(module, entry->params)[1], find_inst(module, "_1.1"));
  module_free(module);
}
END_TEST

/* ---- asynchronous instructions ---- */

#define ASYNC(body) "HloModule m\n" NEG ADD "ENTRY e { " P "z = f32[] constant(0) " body " }"
#define START_SHAPE "((f32[2]), f32[2], u32[])"
#define START "s = " START_SHAPE " "

static const struct {
  const char *text, *why; /* NULL: accepted */
} asyncs[] = {
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s)"), NULL},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s), calls=neg"), NULL},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s, p)"), NULL},
    {ASYNC(START "async-start(p), calls=neg u = ((f32[2]), f32[2], u32[]) async-update(s) "
                 "v = ((f32[2]), f32[2], u32[]) async-update(u) d = f32[2] async-done(v)"),
     NULL},
    {ASYNC(START "async-start(p), calls=neg, async_execution_thread=\"t\" "
                 "d = f32[2] async-done(s), async_execution_thread=\"t\""),
     NULL},
    {ASYNC(START "parameter(1) d = f32[2] async-done(s)"), NULL}, /* begun elsewhere */
    {ASYNC(START "negate-start(p) d = f32[2] negate-done(s)"), NULL},
    {ASYNC(START "negate-start(p) u = ((f32[2]), f32[2], u32[]) negate-update(s) "
                 "d = f32[2] negate-done(u)"),
     NULL},
    {ASYNC(START "call-start(p), to_apply=neg d = f32[2] call-done(s)"), NULL},
    {ASYNC(START "fusion-start(p), kind=kLoop, calls=neg d = f32[2] fusion-done(s)"), NULL},
    {ASYNC(START "custom-call-start(p), custom_call_target=\"t\" d = f32[2] custom-call-done(s)"),
     NULL},
    {ASYNC(START "negate-start(p), async_execution_thread=\"t\", "
                 "output_to_operand_aliasing={{}: (0, {})}"),
     NULL},
    {ASYNC("s = ((f32[2], f32[]), f32[], u32[]) reduce-start(p, z), dimensions={0}, to_apply=add "
           "d = f32[] reduce-done(s)"),
     NULL},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] negate-done(s)"), NULL},

    {ASYNC("s = f32[2] async-start(p), calls=neg"), "the shape of an async start is"},
    {ASYNC(START "async-start(p), calls=neg u = f32[2] async-update(s)"), "the shape of an async"},
    {ASYNC("s = f32[2] negate-start(p)"), "the shape of an async start is"},
    {ASYNC("s = (f32[2], f32[2]) negate-start(p)"), "the shape of an async start is"},
    {ASYNC("s = ((f32[2])) negate-start(p)"), "the shape of an async start is"},
    {ASYNC("s = negate-start(p)"), "needs its shape written"},
    {ASYNC("c = f32[] custom-call(" START_SHAPE " tuple-start(p)), custom_call_target=\"t\""),
     "tuple of 1 operand has the shape"},
    {ASYNC(START "async-start(p)"), "async-start lacks the attribute 'calls'"},
    {ASYNC(START "negate-start(p), calls=neg"), "negate has no attribute 'calls'"},
    {ASYNC(START "call-start(p)"), "call lacks the attribute 'to_apply'"},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s) f = f32[2] async-done(d)"),
     "cannot follow an async-done"},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s), calls=add"),
     "another computation than its start"},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] async-done(s), "
                 "async_execution_thread=\"t\""),
     "another async_execution_thread"},
    {ASYNC(START "negate-start(p) d = f32[2] abs-done(s)"),
     "the start is that of another opcode, neg"},
    {ASYNC(START "negate-start(p) u = ((f32[2]), f32[2], u32[]) abs-update(s)"), "another opcode"},
    {ASYNC(START "async-start(p), calls=neg d = f32[2] abs-done(s)"), "another opcode, negate"},
    {ASYNC(START "async-start(p), calls=neg u = ((f32[2]), f32[2], u32[]) async-update()"),
     "needs an operand"},
    {ASYNC(START "async-start(p), calls=neg c = f32[2] call(p), to_apply=neg"),
     "'neg' is the computation of an async instruction"},
};

START_TEST(asyncs_match_table) {
  if (asyncs[_i].why) {
    check_refused(asyncs[_i].text, strlen(asyncs[_i].text), asyncs[_i].why);
  } else {
    check_accepted(asyncs[_i].text, strlen(asyncs[_i].text), 0);
  }
}
END_TEST

/* What is not bound yet has its place all the same. */
START_TEST(implied_computations_have_all_parameters) {
  static const struct {
    const char *start;
    uint32_t num_params;
  } rows[] = {{"call-start(), to_apply=add", 2},
              {"add-start()", 2},
              {"custom-call-start(), custom_call_target=\"t\"", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Fixture fixture = fixture_parse_format(
        "HloModule m\n" ADD "ENTRY e { s = ((), f32[], u32[]) %s }", rows[i].start);
    CompId wrapper = inst_callees(fixture.module, find_inst(fixture.module, "s"))[0];
    const Computation *comp = comp_get(fixture.module, wrapper);
    ck_assert_msg(comp->params.len == rows[i].num_params, "%s: %u parameters", rows[i].start,
                  comp->params.len);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(sugar_stands_for_a_computation) {
  Module *module = parse_or_fail(
      ASYNC("s = ((f32[2], f32[]), f32[], u32[]) reduce-start(p, z), dimensions={0}, to_apply=add "
            "ROOT d = f32[] reduce-done(s)"));
  InstId s = find_inst(module, "s"), d = find_inst(module, "d");
  ck_assert_uint_eq(inst_get(module, s)->opcode, OPCODE_ASYNC_START);
  ck_assert_uint_eq(inst_get(module, d)->opcode, OPCODE_ASYNC_DONE);
  check_callees(module, "s", "async_wrapped");
  CompId wrapper = inst_callees(module, s)[0];
  const Computation *comp = comp_get(module, wrapper);
  ck_assert_uint_eq(comp->flags, COMP_IMPLIED);
  ck_assert_uint_eq(comp->params.len, 2);
  const Instruction *root = inst_get(module, comp->root);
  ck_assert_uint_eq(root->opcode, OPCODE_REDUCE);
  ck_assert_uint_eq(root->num_operands, 2);
  ck_assert_uint_eq(inst_callees(module, comp->root)[0], find_comp(module, "add"));
  ck_assert_uint_eq(inst_attr_ints(module, comp->root, ATTR_DIMENSIONS).len, 1);
  ck_assert_int_eq(inst_shape(module, comp->root)->rank, 0);
  module_free(module);
}
END_TEST

/* ---- depth ---- */

static char *repeat(const char *before, const char *piece, int count, const char *between,
                    const char *closing, const char *after) {
  size_t room = strlen(before) + strlen(between) + strlen(after) + 1 +
                (size_t)count * (strlen(piece) + strlen(closing));
  char *text = malloc(room), *end = text;
  end += sprintf(end, "%s", before);
  for (int i = 0; i < count; i++)
    end += sprintf(end, "%s", piece);
  end += sprintf(end, "%s", between);
  for (int i = 0; i < count; i++)
    end += sprintf(end, "%s", closing);
  sprintf(end, "%s", after);
  return text;
}

/* Operands in operands, and computations in computations: far deeper than any real text. */
START_TEST(deep_nesting_is_refused) {
  static const struct {
    const char *before, *piece, *between, *closing, *after;
    int fits;
  } kinds[] = {
      {"HloModule m\nENTRY e { " P "ROOT n = f32[2] ", "negate(", "p", ")", " }", 190},
      {"HloModule m\nENTRY e { " P "ROOT n = f32[2] negate(", "f32[2] negate(", "p", ")", ") }",
       190},
      {"HloModule m\nENTRY e { " P "ROOT c = f32[2] call(p), to_apply={",
       P "ROOT c = f32[2] call(p), to_apply={", P, "}", "} }", 190},
  };
  char *text = repeat(kinds[_i].before, kinds[_i].piece, kinds[_i].fits, kinds[_i].between,
                      kinds[_i].closing, kinds[_i].after);
  check_accepted(text, strlen(text), 0);
  free(text);
  for (int count = 401; count < 200000; count *= 20) {
    text = repeat(kinds[_i].before, kinds[_i].piece, count, kinds[_i].between, kinds[_i].closing,
                  kinds[_i].after);
    check_refused(text, strlen(text), "nested more than 400 deep");
    free(text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_module");
  TCase *tc = tcase_create("parse_module");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, accepted_texts, 0, sizeof accepted / sizeof *accepted);
  tcase_add_loop_test(tc, refused_texts_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_loop_test(tc, names_and_entries, 0, sizeof modules / sizeof *modules);
  tcase_add_test(tc, callees_are_in_XLAs_order);
  tcase_add_test(tc, parameters_are_by_number);
  tcase_add_test(tc, threads_and_flags);
  tcase_add_test(tc, nested_computations_are_called_underscore);
  tcase_add_test(tc, nested_computations_keep_to_themselves);
  tcase_add_test(tc, a_single_instruction_gets_parameters);
  tcase_add_loop_test(tc, asyncs_match_table, 0, sizeof asyncs / sizeof *asyncs);
  tcase_add_test(tc, implied_computations_have_all_parameters);
  tcase_add_test(tc, sugar_stands_for_a_computation);
  tcase_add_loop_test(tc, deep_nesting_is_refused, 0, 3);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
