/* What a changed module prints: the source's text, but for what was changed. */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

typedef void (*Edit)(Module *module);

static InstId clone(Module *module, const char *name, const char *new_name) {
  InstId id = find_inst(module, name);
  return module_clone_inst(module, id, str_make(new_name, strlen(new_name)),
                           inst_get(module, id)->parent, NULL);
}

static void remove_inst(Module *module, const char *name) {
  InstId id = find_inst(module, name);
  module_remove_inst(module, id);
  module_sweep_comp(module, inst_get(module, id)->parent);
}

static void set_operand(Module *module, const char *user, uint32_t index, const char *operand) {
  module_set_operand(module, find_inst(module, user), index, find_inst(module, operand));
}

static void change_nothing(Module *module) {
  (void)module;
}

static void mark_all(Module *module) {
  for (InstId id = 0; id < module->insts.len; id++)
    inst_get(module, id)->flags |= INST_CHANGED;
}

static void read_b_instead_of_a(Module *module) {
  set_operand(module, "n", 0, "b");
}

static void swap_operands(Module *module) {
  set_operand(module, "n", 0, "b");
  set_operand(module, "n", 1, "a");
}

static void clone_n(Module *module) {
  InstId id = clone(module, "n", "n.remat");
  module_set_operand(module, find_inst(module, "t"), 1, id);
}

static void clone_n_after_b(Module *module) {
  module_add_control(module, find_inst(module, "b"), clone(module, "n", "n.remat"));
}

static void order_n_after_b(Module *module) {
  module_add_control(module, find_inst(module, "b"), find_inst(module, "n"));
}

static void order_n_after_a_and_b(Module *module) {
  module_add_control(module, find_inst(module, "a"), find_inst(module, "n"));
  order_n_after_b(module);
}

static void free_n(Module *module) {
  module_drop_control(module, find_inst(module, "n"));
}

static void remove_n(Module *module) {
  remove_inst(module, "n");
}

static void make_n_the_root(Module *module) {
  comp_get(module, module->entry)->root = find_inst(module, "n");
  inst_get(module, find_inst(module, "n"))->flags |= INST_CHANGED;
}

static void call_other(Module *module) {
  module_set_callee(module, find_inst(module, "c"), 0, find_comp(module, "other"));
}

static void call_others(Module *module) {
  InstId c = find_inst(module, "c");
  module_set_callee(module, c, 0, find_comp(module, "other"));
  module_set_callee(module, c, 1, find_comp(module, "third"));
}

static void add_element(Module *module) {
  InstId p = find_inst(module, "p");
  InstSpec spec = {.opcode = OPCODE_GET_TUPLE_ELEMENT,
                   .name = STR("g"),
                   .shape = inst_shape(module, p)->elements[1],
                   .operands = &p,
                   .num_operands = 1,
                   .index = 1};
  InstId g = module_add_inst(module, module->entry, &spec);
  module_set_operand(module, find_inst(module, "n"), 0, g);
}

static void add_root(Module *module) {
  InstId n = find_inst(module, "n");
  InstSpec spec = {.opcode = OPCODE_TUPLE,
                   .name = STR("t"),
                   .shape = shape_tuple(&module->shapes, &inst_get(module, n)->shape, 1),
                   .operands = &n,
                   .num_operands = 1};
  InstId t = module_add_inst(module, module->entry, &spec);
  module_add_control(module, find_inst(module, "p"), t);
  comp_get(module, module->entry)->root = t;
}

static void change_channel(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "r"));
  inst->index = 42;
  inst->flags |= INST_CHANGED;
}

static void change_index(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "g"));
  inst->index = 0;
  inst->flags |= INST_CHANGED;
}

static void change_shape(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "n"));
  int64_t dims[1] = {7};
  inst->shape =
      shape_array(&module->shapes, &(ArraySpec){.type = TYPE_F16, .rank = 1, .dims = dims});
  inst->flags |= INST_CHANGED | INST_NEW_SHAPE;
}

static void drop_second_operand(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "c"));
  InstId operand = inst_operand(module, find_inst(module, "c"), 1);
  inst->num_operands = 1;
  module_remove_user(module, operand, find_inst(module, "c"));
  inst_get(module, find_inst(module, "c"))->flags |= INST_CHANGED | INST_NEW_OPERANDS;
}

static void renumber(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "b"));
  inst->index = 0;
  inst->flags |= INST_CHANGED | INST_NEW_INDEX;
}

static void rename_entry(Module *module) {
  Computation *comp = comp_get(module, module->entry);
  comp->name = "e.2";
  comp->name_len = 3;
  comp->flags |= COMP_CHANGED_NAME;
}

static void forget_signature(Module *module) {
  comp_get(module, module->entry)->flags |= COMP_CHANGED_NAME | COMP_NEW_SIGNATURE;
}

static void rename_n(Module *module) {
  Instruction *inst = inst_get(module, find_inst(module, "n"));
  inst->name = "n.7";
  inst->name_len = 3;
  inst->flags |= INST_CHANGED;
  inst_get(module, find_inst(module, "t"))->flags |= INST_CHANGED;
}

/* `c` calls a copy of `neg`, its text neg's. */
static void copy_callee(Module *module) {
  CompId neg = find_comp(module, "neg");
  CompId copy = module_add_comp(module, STR("neg.2"), neg);
  InstId ids[2];
  ids[0] = module_clone_inst(module, comp_inst(module, neg, 0), STR("x"), copy, NULL);
  ids[1] = module_clone_inst(module, comp_inst(module, neg, 1), STR("y"), copy, &ids[0]);
  comp_get(module, copy)->root = ids[1];
  module_set_callee(module, find_inst(module, "c"), 0, copy);
}

#define M "HloModule m\n\n"
#define AB "  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n"
#define AB_PERCENT "  %a = f32[2]{0} parameter(0)\n  %b = f32[2]{0} parameter(1)\n"
#define NEG "neg {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n\n"
#define OTHER "other {\n  x = f32[2] parameter(0)\n  ROOT z = f32[2] abs(x)\n}\n\n"
#define THIRD "third {\n  x = f32[2] parameter(0)\n  ROOT w = f32[2] tanh(x)\n}\n\n"

/* `order`: names of the entry's instructions, blank separated; NULL: as they are. */
static const struct {
  const char *text;
  Edit edit;
  const char *order;
  const char *printed; /* NULL: the text again */
} cases[] = {
    /* order: what stands on an instruction's line, and above it, goes with it */
    {M "ENTRY e {\n" AB "  // about n\n  n = f32[2] negate(a) // n\n\n  /* m */ m = f32[2] abs(b)\n"
       "  ROOT t = (f32[2], f32[2]) tuple(n, m)\n} // e\n",
     change_nothing, "a b m n t",
     M "ENTRY e {\n" AB "\n  /* m */ m = f32[2] abs(b)\n  // about n\n  n = f32[2] negate(a) // n\n"
       "  ROOT t = (f32[2], f32[2]) tuple(n, m)\n} // e\n"},
    {M "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1) n = f32[2] add(a, b) }",
     change_nothing, "b a n",
     M "ENTRY e {\n b = f32[2] parameter(1)\n a = f32[2] parameter(0)\n n = f32[2] add(a, b) }"},
    {M "ENTRY e {\n" AB "  t = f32[2] negate(a)\n  n = f32[2] abs(a)\n}", change_nothing, "a b n t",
     M "ENTRY e {\n" AB "  ROOT n = f32[2] abs(a)\n  t = f32[2] negate(a)\n}"},
    {M "ENTRY e {\n" AB "  n = f32[2] abs(a)\n  ROOT t = f32[2] negate(a)\n}", change_nothing,
     "a b t n", M "ENTRY e {\n" AB "  ROOT t = f32[2] negate(a)\n  n = f32[2] abs(a)\n}"},

    /* operands: only the name changes */
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a), metadata={op_name=\"a\"}\n}\n",
     read_b_instead_of_a, NULL,
     M "ENTRY e {\n" AB "  n = f32[2] negate(b), metadata={op_name=\"a\"}\n}\n"},
    {M "ENTRY e {\n" AB_PERCENT "  %n = f32[2]{0} add(f32[2]{0} %a, /*x*/ f32[2]{0} %b)\n}\n",
     swap_operands, NULL,
     M "ENTRY e {\n" AB_PERCENT "  %n = f32[2]{0} add(f32[2]{0} %b, /*x*/ f32[2]{0} %a)\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] add(a , b /*b*/ )\n}\n", swap_operands, NULL,
     M "ENTRY e {\n" AB "  n = f32[2] add(b , a /*b*/ )\n}\n"},
    {"HloModule m\r\nENTRY e {\r\n  a = f32[2] parameter(0)\r\n  b = f32[2] parameter(1)\r\n"
     "  n = f32[2] negate(a)\r\n}\r\n",
     read_b_instead_of_a, NULL,
     "HloModule m\r\nENTRY e {\r\n  a = f32[2] parameter(0)\r\n  b = f32[2] parameter(1)\r\n"
     "  n = f32[2] negate(b)\r\n}\r\n"},

    /* clones get a line of their own */
    {M "ENTRY e {\n" AB "  n = f32[2] add(a, b), metadata={op_name=\"x\"} // c\n"
       "  ROOT t = (f32[2], f32[2]) tuple(n, n)\n}\n",
     clone_n, "a b n n.remat t",
     M "ENTRY e {\n" AB "  n = f32[2] add(a, b), metadata={op_name=\"x\"} // c\n"
       "  n.remat = f32[2] add(a, b), metadata={op_name=\"x\"}\n"
       "  ROOT t = (f32[2], f32[2]) tuple(n, n.remat)\n}\n"},
    {M "ENTRY e {\n" AB_PERCENT "  %n = f32[2]{0} add(f32[2]{0} %a, f32[2]{0} %b)\n"
       "  ROOT %t = (f32[2]{0}, f32[2]{0}) tuple(f32[2]{0} %n, f32[2]{0} %n)\n}\n",
     clone_n, "a b n n.remat t",
     M "ENTRY e {\n" AB_PERCENT "  %n = f32[2]{0} add(f32[2]{0} %a, f32[2]{0} %b)\n"
       "  %n.remat = f32[2]{0} add(f32[2]{0} %a, f32[2]{0} %b)\n"
       "  ROOT %t = (f32[2]{0}, f32[2]{0}) tuple(f32[2]{0} %n, f32[2]{0} %n.remat)\n}\n"},
    {M "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1) n = f32[2] add(a, b) "
       "ROOT t = (f32[2], f32[2]) tuple(n, n) }\n",
     clone_n, "a b n n.remat t",
     M "ENTRY e { a = f32[2] parameter(0) b = f32[2] parameter(1) n = f32[2] add(a, b)\n"
       "  n.remat = f32[2] add(a, b)\n ROOT t = (f32[2], f32[2]) tuple(n, n.remat) }\n"},
    {"HloModule m\r\nENTRY e {\r\n  a = f32[2] parameter(0)\r\n  n = f32[2] negate(a)\r\n"
     "  ROOT t = (f32[2], f32[2]) tuple(n, n)\r\n}\r\n",
     clone_n, "a n n.remat t",
     "HloModule m\r\nENTRY e {\r\n  a = f32[2] parameter(0)\r\n  n = f32[2] negate(a)\r\n"
     "  n.remat = f32[2] negate(a)\r\n  ROOT t = (f32[2], f32[2]) tuple(n, n.remat)\r\n}\r\n"},
    {M "ENTRY e {\n" AB "  ROOT n = f32[2] add(a, b)\n}\n", clone_n_after_b, "a b n n.remat",
     M "ENTRY e {\n" AB "  ROOT n = f32[2] add(a, b)\n"
       "  n.remat = f32[2] add(a, b), control-predecessors={b}\n}\n"},

    /* control predecessors */
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a) // c\n}\n", order_n_after_b, NULL,
     M "ENTRY e {\n" AB "  n = f32[2] negate(a), control-predecessors={b} // c\n}\n"},
    {M "ENTRY e {\n" AB_PERCENT "  %n = f32[2]{0} negate(%a), metadata={}\n}\n",
     order_n_after_a_and_b, NULL,
     M "ENTRY e {\n" AB_PERCENT
       "  %n = f32[2]{0} negate(%a), metadata={}, control-predecessors={%a, %b}\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a), control-predecessors={a}, metadata={}\n}\n",
     order_n_after_b, NULL,
     M "ENTRY e {\n" AB "  n = f32[2] negate(a), control-predecessors={a, b}, metadata={}\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a), control-predecessors={a,b}, metadata={}\n}\n",
     free_n, NULL, M "ENTRY e {\n" AB "  n = f32[2] negate(a), metadata={}\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a) , control-predecessors={a}\n}\n", free_n, NULL,
     M "ENTRY e {\n" AB "  n = f32[2] negate(a) \n}\n"},

    /* removal, roots, names, figures */
    {M "ENTRY e {\n" AB "  // about n\n  n = f32[2] negate(a) // n\n  m = f32[2] abs(a)\n}\n",
     remove_n, NULL, M "ENTRY e {\n" AB "  m = f32[2] abs(a)\n}\n"},
    {M "ENTRY e { a = f32[2] parameter(0) n = f32[2] negate(a) m = f32[2] abs(a) }", remove_n, NULL,
     M "ENTRY e { a = f32[2] parameter(0)\n m = f32[2] abs(a) }"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a)\n  ROOT t = f32[2] abs(n)\n}\n", make_n_the_root,
     NULL, M "ENTRY e {\n" AB "  ROOT n = f32[2] negate(a)\n  t = f32[2] abs(n)\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a)\n  t = f32[2] abs(n)\n}\n", make_n_the_root, NULL,
     M "ENTRY e {\n" AB "  ROOT n = f32[2] negate(a)\n  t = f32[2] abs(n)\n}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] negate(a)\n  t = f32[2] abs(n)\n}\n", rename_n, NULL,
     M "ENTRY e {\n" AB "  n.7 = f32[2] negate(a)\n  t = f32[2] abs(n.7)\n}\n"},
    {M "add { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) }\n\nENTRY e {\n"
       "  x = f32[2] parameter(0)\n  r = f32[2] all-reduce(x), channel_id=1, to_apply=add\n}\n",
     change_channel, NULL,
     M "add { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) }\n\nENTRY e {\n"
       "  x = f32[2] parameter(0)\n  r = f32[2] all-reduce(x), channel_id=42, to_apply=add\n}\n"},
    {M
     "ENTRY e {\n  p = (f32[2], f32[2]) parameter(0)\n  g = f32[2] get-tuple-element(p), index=1\n"
     "}\n",
     change_index, NULL,
     M
     "ENTRY e {\n  p = (f32[2], f32[2]) parameter(0)\n  g = f32[2] get-tuple-element(p), index=0\n"
     "}\n"},
    {M "ENTRY e {\n" AB "  n = f32[2] /*c*/ negate(a), metadata={}\n}\n", change_shape, NULL,
     M "ENTRY e {\n" AB "  n = f16[7]{0} negate(a), metadata={}\n}\n"},
    {M "ENTRY e {\n" AB "  n = negate(a)\n}\n", change_shape, NULL,
     M "ENTRY e {\n" AB "  n = f16[7]{0} negate(a)\n}\n"},
    {M "ENTRY e {\n" AB
       "  c = f32[2] custom-call(f32[2] a, f32[2] b), custom_call_target=\"t\"\n}\n",
     drop_second_operand, NULL,
     M "ENTRY e {\n" AB "  c = f32[2] custom-call(a), custom_call_target=\"t\"\n}\n"},
    {M "ENTRY e {\n" AB "}\n", renumber, NULL,
     M "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(0)\n}\n"},

    /* computations */
    {M NEG OTHER "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=neg, metadata={}\n}\n",
     call_other, NULL,
     M NEG OTHER "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=other, metadata={}\n}\n"},
    {M NEG OTHER "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=%neg\n}\n", call_other, NULL,
     M NEG OTHER "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=other\n}\n"},
    {M NEG OTHER THIRD "ENTRY e {\n" AB "  i = s32[] constant(0)\n"
                       "  c = f32[2] conditional(i, a, b), branch_computations={neg,neg}\n}\n",
     call_others, NULL,
     M NEG OTHER THIRD
     "ENTRY e {\n" AB "  i = s32[] constant(0)\n"
     "  c = f32[2] conditional(i, a, b), branch_computations={other, third}\n}\n"},
    {M NEG "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=neg\n}\n", copy_callee, NULL,
     M NEG "neg.2 {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n\n"
           "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply=neg.2\n}\n"},
    {M "ENTRY e (a: f32[2], b: f32[2]) -> f32[2] {\n" AB "}, execution_thread=\"x\"\n",
     rename_entry, NULL,
     M "ENTRY e.2 (a: f32[2], b: f32[2]) -> f32[2] {\n" AB "}, execution_thread=\"x\"\n"},
    {M "ENTRY %e (a: f32[2], b: f32[2]) -> f32[2] { // c\n" AB "}\n", forget_signature, NULL,
     M "ENTRY %e { // c\n" AB "}\n"},
    {M "ENTRY e {\n" AB "  c = f32[2] call(a), to_apply={\n    x = f32[2] parameter(0)\n"
       "    ROOT n = f32[2] negate(x)\n  }, metadata={}\n}\n",
     rename_entry, NULL,
     M "ENTRY e.2 {\n" AB "  c = f32[2] call(a), to_apply={\n    x = f32[2] parameter(0)\n"
       "    ROOT n = f32[2] negate(x)\n  }, metadata={}\n}\n"},

    /* what has no text of its own */
    {M
     "ENTRY e {\n  p = (f32[3], f32[2]) parameter(0)\n  a = f32[2] get-tuple-element(p), index=1\n"
     "  ROOT n = f32[2] negate(a)\n}\n",
     add_element, "p a g n",
     M
     "ENTRY e {\n  p = (f32[3], f32[2]) parameter(0)\n  a = f32[2] get-tuple-element(p), index=1\n"
     "  g = f32[2]{0} get-tuple-element(p), index=1\n  ROOT n = f32[2] negate(g)\n}\n"},
    {M "ENTRY e {\n  %p = f32[2] parameter(0)\n  ROOT %n = f32[2] negate(%p)\n}\n", add_root, NULL,
     M "ENTRY e {\n  %p = f32[2] parameter(0)\n  %n = f32[2] negate(%p)\n"
       "  ROOT %t = (f32[2]{0}) tuple(%n), control-predecessors={%p}\n}\n"},
};

static Schedule entry_order(const Module *module, const char *names, Arena *arena) {
  Schedule schedule = schedule_new(module, arena);
  Sequence *sequence = &schedule.of[module->entry];
  sequence->ids = arena_array(arena, InstId, strlen(names));
  for (const char *end; *names; names = *end ? end + 1 : end) {
    end = strchr(names, ' ');
    if (!end) end = names + strlen(names);
    char *name = arena_strndup(arena, names, (size_t)(end - names));
    for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
      InstId id = comp_inst(module, module->entry, i);
      if (str_is(inst_name(module, id), name)) sequence->ids[sequence->len++] = id;
    }
  }
  return schedule;
}

START_TEST(changes_print_as_changes) {
  const char *text = cases[_i].text;
  Module *module = parse_or_fail(text);
  Arena *arena = arena_new(NULL);
  cases[_i].edit(module);
  Schedule schedule = {0};
  if (cases[_i].order) schedule = entry_order(module, cases[_i].order, arena);
  char *printed = print_or_fail(module, cases[_i].order ? &schedule : NULL, PRINT_AS_READ, NULL);
  const char *wanted = cases[_i].printed ? cases[_i].printed : text;
  ck_assert_msg(strcmp(printed, wanted) == 0, "printed\n%s\nnot\n%s", printed, wanted);
  if (cases[_i].edit != renumber) { /* which leaves the module broken */
    Module *again = parse_or_fail(printed);
    ck_assert_uint_eq(module_num_instructions(again), module_num_instructions(module));
    module_free(again);
  }
  free(printed);
  arena_free(arena);
  module_free(module);
}
END_TEST

/* An instruction that only counts as changed prints as it is: every one of its tokens is looked at.
 */
static const char *const untouched[] = {
    M "ENTRY e {\n" AB
      "  ROOT %n = f32[2]{0} add(f32[2]{0} %a, /*i*/ f32[2] b ) , metadata={}\n}\n",
    M NEG "ENTRY e { a = f32[2] parameter(0) c = f32[2] call(a), to_apply=%neg, metadata={} }",
    M "ENTRY e { p = (f32[2], (s32[], f32[2])) parameter(0)\n n = f32[2] add(p#0, f32[2] %p#1#1) }",
    M
    "ENTRY e { a = f32[2] parameter(0)\n"
    "n = f32[2] negate(a), control-predecessors={a}, metadata={} }",
    M "ENTRY e { c = f32[2] constant({1, /*x*/ 2}), sharding={replicated} }",
    M NEG OTHER
    "ENTRY e { i = s32[] parameter(0) a = f32[2] parameter(1)\n"
    "c = f32[2] conditional(i, a, a), branch_computations={neg, other} }",
    M NEG
    "ENTRY e { a = f32[2] parameter(0) k = pred[] constant(true)\n"
    "c = f32[2] conditional(k, a, a), false_computation=neg, true_computation=%neg }",
    M
    "add { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b) }\n"
    "ENTRY e { a = f32[2] parameter(0) r = f32[2] all-reduce(a), channel_id=007, to_apply=add }",
    M
    "ENTRY e { a = f32[2] parameter(0)\n"
    "s = ((f32[2]), f32[2], u32[]) negate-start(a)\n d = f32[2] negate-done(s) }",
    M NEG
    "ENTRY e { a = f32[2] parameter(0)\n"
    "s = ((f32[2]), f32[2], u32[]) call-start(a), to_apply=neg\n d = f32[2] call-done(s) }",
    M
    "ENTRY e { a = f32[2] parameter(0)\n"
    "c = f32[2] call(a), to_apply={ x = f32[2] parameter(0) ROOT n = f32[2] negate(x) } }",
};

START_TEST(untouched_instructions_print_as_they_are) {
  Module *module = parse_or_fail(untouched[_i]);
  mark_all(module);
  char *printed = print_or_fail(module, NULL, PRINT_AS_READ, NULL);
  ck_assert_msg(strcmp(printed, untouched[_i]) == 0, "printed\n%s\nnot\n%s", printed,
                untouched[_i]);
  free(printed);
  module_free(module);
}
END_TEST

/* Nested operands get lines when they are to be ordered; compact elements never do. */
START_TEST(nested_operands_are_split) {
  static const char text[] = M "ENTRY e {\n" AB
                               "  n = f32[2] add(f32[2] multiply(a, b), negate(a)), metadata={}\n"
                               "  ROOT m = f32[2] abs(n)\n}\n";
  static const char split[] =
      M "ENTRY e {\n" AB
        "  negate.anon.1 = negate(a)\n  multiply.anon = f32[2] multiply(a, b)\n"
        "  n = f32[2] add(multiply.anon, negate.anon.1), metadata={}\n"
        "  ROOT m = f32[2] abs(n)\n}\n";
  Module *module = parse_or_fail(text);
  Arena *arena = arena_new(NULL);
  Schedule schedule = schedule_in_text_order(module, arena);
  Sequence *entry = &schedule.of[module->entry];
  InstId id = entry->ids[2];
  entry->ids[2] = entry->ids[3];
  entry->ids[3] = id;
  char *printed = print_or_fail(module, &schedule, PRINT_AS_READ, NULL);
  ck_assert_msg(strcmp(printed, split) == 0, "printed\n%s\nnot\n%s", printed, split);
  free(printed);
  arena_free(arena);
  module_free(module);
}
END_TEST

START_TEST(compact_elements_stay_compact) {
  static const char text[] = M
      "ENTRY e {\n  p = (f32[2], f32[2]) parameter(0)\n  %n = f32[2] add(p#0, %p#1)\n"
      "  ROOT t = (f32[2], f32[2]) tuple(n, p#1)\n}\n";
  static const char changed[] = M
      "ENTRY e {\n  p = (f32[2], f32[2]) parameter(0)\n  %n = f32[2] add(%p#1, %p#1)\n"
      "  %n.remat = f32[2] add(%p#1, %p#1)\n"
      "  ROOT t = (f32[2], f32[2]) tuple(%n.remat, p#1)\n}\n";
  Module *module = parse_or_fail(text);
  Arena *arena = arena_new(NULL);
  set_operand(module, "n", 0, "p#1");
  InstId remat = clone(module, "n", "n.remat");
  module_set_operand(module, find_inst(module, "t"), 0, remat);
  Schedule schedule = entry_order(module, "p p#0 p#1 n n.remat t", arena);
  char *printed = print_or_fail(module, &schedule, PRINT_AS_READ, NULL);
  ck_assert_msg(strcmp(printed, changed) == 0, "printed\n%s\nnot\n%s", printed, changed);
  free(printed);
  arena_free(arena);
  module_free(module);
}
END_TEST

START_TEST(dead_computations_are_left_out) {
  Module *module = parse_or_fail(M NEG OTHER THIRD "ENTRY e {\n" AB "}\n");
  static const char *const names[] = {"neg", "other", "third"};
  CompId dead = find_comp(module, names[_i]);
  comp_get(module, dead)->flags |= COMP_DEAD;
  char *printed = print_or_fail(module, NULL, PRINT_AS_READ, NULL);
  Module *again = parse_or_fail(printed);
  ck_assert_uint_eq(again->comps.len, 3);
  for (CompId id = 0; id < 3; id++) {
    ck_assert(str_equal(comp_name(again, id), comp_name(module, id < dead ? id : id + 1)));
  }
  module_free(again);
  free(printed);
  module_free(module);
}
END_TEST

/* A name may end where the next word begins; what is written behind it does not. */
START_TEST(a_glued_header_comes_apart) {
  static const char *const texts[] = {
      "HloModule m:ENTRY e { p = f32[2] parameter(0) }",
      "HloModule m,is_scheduled=false ENTRY e { p = f32[2] parameter(0) }",
      "HloModule m/*x*/ENTRY e { p = f32[2] parameter(0) }",
      "HloModule m ENTRY e { p = f32[2] parameter(0) }",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    check_accepted(texts[i], strlen(texts[i]), 0);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("printer");
  TCase *tc = tcase_create("printer");
  tcase_add_loop_test(tc, changes_print_as_changes, 0, sizeof cases / sizeof *cases);
  tcase_add_loop_test(tc, untouched_instructions_print_as_they_are, 0,
                      sizeof untouched / sizeof *untouched);
  tcase_add_loop_test(tc, dead_computations_are_left_out, 0, 3);
  tcase_add_test(tc, nested_operands_are_split);
  tcase_add_test(tc, compact_elements_stay_compact);
  tcase_add_test(tc, a_glued_header_comes_apart);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
