#include "ir/module.h"

#include <stdio.h>

#include "support.h"

/* a has the users b, c, d, f; f reads it twice. */
static Module *module_with_users(void) {
  return parse_or_fail(
      "HloModule m\n"
      "neg { x = f32[] parameter(0) ROOT n = f32[] negate(x) }\n"
      "inc { x = f32[] parameter(0) ROOT n = f32[] add(x, x) }\n"
      "ENTRY e {\n"
      "  a = f32[] parameter(0)\n"
      "  o = f32[] parameter(1)\n"
      "  b = f32[] negate(a)\n"
      "  c = f32[] call(a), to_apply=neg\n"
      "  d = f32[] abs(a), control-predecessors={b}\n"
      "  f = f32[] add(a, a)\n"
      "  ROOT t = (f32[], f32[], f32[], f32[]) tuple(b, c, d, f)\n"
      "}\n");
}

/* Names of a list of instructions, blank separated. */
static void check_names(const Module *module, const InstId *ids, uint32_t count,
                        const char *wanted) {
  char names[256] = "";
  for (uint32_t i = 0; i < count; i++) {
    Str name = inst_name(module, ids[i]);
    size_t len = strlen(names);
    snprintf(names + len, sizeof names - len, "%s%.*s", i ? " " : "", (int)name.len, name.data);
  }
  ck_assert_str_eq(names, wanted);
}

static void check_users(const Module *module, const char *name, const char *wanted) {
  InstId id = find_inst(module, name);
  check_names(module, inst_users(module, id), inst_get(module, id)->users.len, wanted);
}

static void check_operands(const Module *module, const char *name, const char *wanted) {
  InstId id = find_inst(module, name);
  check_names(module, inst_operands(module, id), inst_get(module, id)->num_operands, wanted);
}

static void check_control(const Module *module, const char *name, const char *before,
                          const char *after) {
  const ControlDeps *deps = inst_control(module, find_inst(module, name));
  check_names(module, id_list(module, deps->predecessors), deps->predecessors.len, before);
  check_names(module, id_list(module, deps->successors), deps->successors.len, after);
}

static bool is_changed(const Module *module, const char *name) {
  return inst_get(module, find_inst(module, name))->flags & INST_CHANGED;
}

START_TEST(users_are_in_the_order_of_the_text) {
  Module *module = module_with_users();
  check_users(module, "a", "b c d f");
  check_users(module, "o", "");
  check_users(module, "t", "");
  check_operands(module, "t", "b c d f");
  check_operands(module, "f", "a a");
  module_free(module);
}
END_TEST

/* HloInstruction::ReplaceOperandWith: the last user moves into the place of the one that left. */
START_TEST(a_user_that_leaves_is_replaced_by_the_last) {
  Module *module = module_with_users();
  module_set_operand(module, find_inst(module, "b"), 0, find_inst(module, "o"));
  check_users(module, "a", "f c d");
  check_users(module, "o", "b");
  check_operands(module, "b", "o");
  ck_assert(is_changed(module, "b"));
  ck_assert(!is_changed(module, "a") && !is_changed(module, "o"));
  module_free(module);
}
END_TEST

START_TEST(a_user_stays_as_long_as_it_reads) {
  Module *module = module_with_users();
  InstId f = find_inst(module, "f"), o = find_inst(module, "o");
  module_set_operand(module, f, 0, o);
  check_users(module, "a", "b c d f");
  check_users(module, "o", "f");
  module_set_operand(module, f, 1, o);
  check_users(module, "a", "b c d");
  check_users(module, "o", "f"); /* once */
  check_operands(module, "f", "o o");
  module_free(module);
}
END_TEST

START_TEST(setting_the_same_operand_changes_nothing) {
  Module *module = module_with_users();
  module_set_operand(module, find_inst(module, "f"), 1, find_inst(module, "a"));
  check_users(module, "a", "b c d f");
  ck_assert(!is_changed(module, "f"));
  module_free(module);
}
END_TEST

START_TEST(new_instructions_register_with_their_operands) {
  Module *module = module_with_users();
  InstId a = find_inst(module, "a"), o = find_inst(module, "o");
  InstSpec spec = {.opcode = OPCODE_MULTIPLY,
                   .name = STR("new"),
                   .shape = inst_get(module, a)->shape,
                   .operands = (InstId[]){o, a, o},
                   .num_operands = 3,
                   .flags = INST_REMAT};
  InstId id = module_add_inst(module, module->entry, &spec);
  ck_assert_uint_eq(find_inst(module, "new"), id);
  ck_assert_uint_eq(inst_get(module, id)->origin, NO_ID);
  ck_assert_uint_eq(inst_get(module, id)->flags, INST_REMAT);
  ck_assert_uint_eq(inst_get(module, id)->parent, module->entry);
  check_operands(module, "new", "o a o");
  check_users(module, "a", "b c d f new");
  check_users(module, "o", "new");
  check_users(module, "new", "");
  uint32_t count = comp_num_insts(module, module->entry);
  ck_assert_uint_eq(comp_inst(module, module->entry, count - 1), id);
  module_free(module);
}
END_TEST

START_TEST(a_clone_has_everything_but_control) {
  Module *module = module_with_users();
  InstId d = find_inst(module, "d"), c = find_inst(module, "c"), o = find_inst(module, "o");
  InstId same = module_clone_inst(module, d, STR("d.remat"), module->entry, NULL);
  check_operands(module, "d.remat", "a");
  check_control(module, "d.remat", "", "");
  check_control(module, "d", "b", "");
  check_users(module, "a", "b c d f d.remat");
  ck_assert_uint_eq(inst_get(module, same)->origin, d);
  ck_assert(is_changed(module, "d.remat") && !is_changed(module, "d"));

  InstId other = module_clone_inst(module, c, STR("c.remat"), module->entry, &o);
  check_operands(module, "c.remat", "o");
  check_users(module, "o", "c.remat");
  ck_assert_uint_eq(inst_callees(module, other)[0], find_comp(module, "neg"));
  module_set_callee(module, other, 0, find_comp(module, "inc"));
  ck_assert_uint_eq(inst_callees(module, c)[0], find_comp(module, "neg"));
  ck_assert_uint_eq(inst_callees(module, other)[0], find_comp(module, "inc"));
  InstId again = module_clone_inst(module, other, STR("c.remat2"), module->entry, NULL);
  ck_assert_uint_eq(inst_get(module, again)->origin, c); /* the text is still c's */
  check_operands(module, "c.remat2", "o");
  module_free(module);
}
END_TEST

START_TEST(setting_the_same_callee_changes_nothing) {
  Module *module = module_with_users();
  module_set_callee(module, find_inst(module, "c"), 0, find_comp(module, "neg"));
  ck_assert(!is_changed(module, "c"));
  module_set_callee(module, find_inst(module, "c"), 0, find_comp(module, "inc"));
  ck_assert(is_changed(module, "c"));
  module_free(module);
}
END_TEST

START_TEST(control_edges_come_and_go_on_both_sides) {
  Module *module = module_with_users();
  InstId b = find_inst(module, "b"), c = find_inst(module, "c"), d = find_inst(module, "d");
  InstId f = find_inst(module, "f");
  module_add_control(module, c, d);
  module_add_control(module, c, d); /* once is enough */
  module_add_control(module, d, f);
  check_control(module, "d", "b c", "f");
  check_control(module, "c", "", "d");
  ck_assert(is_changed(module, "d") && is_changed(module, "f") && !is_changed(module, "c"));
  module_copy_control(module, d, find_inst(module, "o"));
  check_control(module, "o", "b c", "f");
  check_control(module, "b", "", "d o");
  check_control(module, "f", "d o", "");
  module_drop_control_predecessors(module, find_inst(module, "o"));
  check_control(module, "o", "", "f");
  check_control(module, "b", "", "d");
  check_control(module, "c", "", "d");
  module_drop_control(module, d);
  check_control(module, "d", "", "");
  check_control(module, "b", "", "");
  check_control(module, "f", "o", "");
  ck_assert(!inst_has_control(module, d));
  module_drop_control(module, d);
  module_drop_control(module, find_inst(module, "a"));
  ck_assert(!is_changed(module, "a"));
  (void)b;
  module_free(module);
}
END_TEST

START_TEST(control_successors_move_to_another_one) {
  Module *module = module_with_users();
  InstId b = find_inst(module, "b"), c = find_inst(module, "c"), d = find_inst(module, "d");
  InstId f = find_inst(module, "f");
  module_add_control(module, c, d);
  module_add_control(module, b, f);
  module_add_control(module, c, f);
  module_move_control_successors(module, b, find_inst(module, "o")); /* in b's places */
  check_control(module, "b", "", "");
  check_control(module, "o", "", "d f");
  check_control(module, "d", "o c", "");
  check_control(module, "f", "o c", "");
  module_move_control_successors(module, c, find_inst(module, "o")); /* who waited for both */
  check_control(module, "o", "", "d f");
  check_control(module, "d", "o", "");
  ck_assert(is_changed(module, "d") && is_changed(module, "f"));
  module_free(module);
}
END_TEST

START_TEST(a_removed_instruction_leaves_no_trace) {
  Module *module = module_with_users();
  InstId t = find_inst(module, "t"), d = find_inst(module, "d"), f = find_inst(module, "f");
  module_remove_inst(module, t);
  check_users(module, "d", "");
  module_remove_inst(module, d);
  module_remove_inst(module, f);
  check_users(module, "a", "b c");
  check_control(module, "b", "", "");
  ck_assert_uint_eq(comp_num_insts(module, module->entry), 7); /* until they are swept */
  module_sweep_comp(module, module->entry);
  const Computation *entry = comp_get(module, module->entry);
  check_names(module, id_list(module, entry->insts), entry->insts.len, "a o b c");
  ck_assert(inst_get(module, t)->flags & INST_DEAD);
  module_free(module);
}
END_TEST

START_TEST(lists_that_outgrow_their_room_move) {
  Module *module = module_with_users();
  IdList first = {0}, second = {0};
  for (uint32_t i = 0; i < 1000; i++) {
    id_list_push(module, &first, i);
    id_list_push(module, &second, 2 * i);
  }
  for (uint32_t i = 0; i < 1000; i++) {
    ck_assert_uint_eq(id_list(module, first)[i], i);
    ck_assert_uint_eq(id_list(module, second)[i], 2 * i);
  }
  check_users(module, "a", "b c d f"); /* nobody else's list was written over */
  module_free(module);
}
END_TEST

START_TEST(removal_from_a_list_keeps_the_order) {
  Module *module = module_with_users();
  IdList list = {0};
  static const uint32_t ids[] = {5, 6, 7, 6, 8};
  for (int i = 0; i < 5; i++)
    id_list_push(module, &list, ids[i]);
  ck_assert(id_list_remove(module, &list, 6)); /* the first of them */
  ck_assert_uint_eq(list.len, 4);
  ck_assert_mem_eq(id_list(module, list), ((uint32_t[]){5, 7, 6, 8}), 16);
  ck_assert(!id_list_remove(module, &list, 9));
  ck_assert(id_list_remove(module, &list, 8));
  ck_assert(id_list_remove(module, &list, 5));
  ck_assert_mem_eq(id_list(module, list), ((uint32_t[]){7, 6}), 8);
  IdList empty = {0};
  ck_assert(!id_list_remove(module, &empty, 7));
  module_free(module);
}
END_TEST

START_TEST(a_new_computation_is_empty) {
  Module *module = module_with_users();
  CompId neg = find_comp(module, "neg");
  CompId copy = module_add_comp(module, STR("neg.2"), neg);
  ck_assert_uint_eq(find_comp(module, "neg.2"), copy);
  ck_assert_uint_eq(comp_get(module, copy)->origin, neg);
  ck_assert_uint_eq(comp_get(module, copy)->root, NO_ID);
  ck_assert_uint_eq(comp_num_insts(module, copy), 0);
  ck_assert(str_is(comp_get(module, copy)->thread, "main"));
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("module_edit");
  TCase *tc = tcase_create("module_edit");
  tcase_add_test(tc, users_are_in_the_order_of_the_text);
  tcase_add_test(tc, a_user_that_leaves_is_replaced_by_the_last);
  tcase_add_test(tc, a_user_stays_as_long_as_it_reads);
  tcase_add_test(tc, setting_the_same_operand_changes_nothing);
  tcase_add_test(tc, new_instructions_register_with_their_operands);
  tcase_add_test(tc, a_clone_has_everything_but_control);
  tcase_add_test(tc, setting_the_same_callee_changes_nothing);
  tcase_add_test(tc, control_edges_come_and_go_on_both_sides);
  tcase_add_test(tc, control_successors_move_to_another_one);
  tcase_add_test(tc, a_removed_instruction_leaves_no_trace);
  tcase_add_test(tc, lists_that_outgrow_their_room_move);
  tcase_add_test(tc, removal_from_a_list_keeps_the_order);
  tcase_add_test(tc, a_new_computation_is_empty);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
