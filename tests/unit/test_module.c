#include "ir/module.h"

#include <stdlib.h>

#include "ir/schedule.h"
#include "support.h"

static const char text_with_all[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e {\n"
    "  p = f32[8]{0} parameter(0), sharding={replicated}\n"
    "  z = f32[] constant(0)\n"
    "  r = f32[] reduce(p, z), dimensions={0}, to_apply=add,\n"
    "    metadata={op_type=\"t\" op_name=\"jit(f)/sum\" source_file=\"f.py\" source_line=12\n"
    "              stack_frame_id=3}\n"
    "  c = f32[] custom-call(r), custom_call_target='it\\'s', backend_config={\"a\": 1}\n"
    "  t = (f32[], f32[]) tuple(c, c)\n"
    "  ROOT g = f32[] get-tuple-element(t), index=1, control-predecessors={r}\n"
    "}\n";

START_TEST(attributes_are_found_by_id) {
  Module *module = parse_or_fail(text_with_all);
  InstId r = find_inst(module, "r"), c = find_inst(module, "c");
  ck_assert_ptr_null(inst_attr(module, c, ATTR_DIMENSIONS));
  ck_assert_uint_eq(inst_attr_ints(module, c, ATTR_DIMENSIONS).len, 0);
  ck_assert_uint_eq(inst_attr_ints(module, r, ATTR_DIMENSIONS).len, 1);
  ck_assert_int_eq(inst_attr_int(module, r, ATTR_DIMENSIONS, 7), 0);
  ck_assert_int_eq(inst_attr_int(module, c, ATTR_DIMENSIONS, 7), 7);
  ck_assert(str_is(inst_attr_text(module, r, ATTR_DIMENSIONS), "{0}"));
  ck_assert(str_is(inst_attr_text(module, c, ATTR_CUSTOM_CALL_TARGET), "'it\\'s'"));
  ck_assert(str_is(inst_attr_string(module, c, ATTR_CUSTOM_CALL_TARGET), "it\\'s"));
  ck_assert(str_is(inst_attr_string(module, c, ATTR_BACKEND_CONFIG), "{\"a\": 1}"));
  ck_assert_uint_eq(inst_attr_text(module, c, ATTR_WINDOW).len, 0);
  ck_assert_uint_eq(inst_attr_string(module, c, ATTR_WINDOW).len, 0);
  module_free(module);
}
END_TEST

START_TEST(metadata_has_its_fields) {
  Module *module = parse_or_fail(text_with_all);
  const Metadata *metadata = inst_metadata(module, find_inst(module, "r"));
  ck_assert_ptr_nonnull(metadata);
  ck_assert(str_is(module_span(module, metadata->op_name), "jit(f)/sum"));
  ck_assert(str_is(module_span(module, metadata->op_type), "t"));
  ck_assert(str_is(module_span(module, metadata->source_file), "f.py"));
  ck_assert_int_eq(metadata->source_line, 12);
  ck_assert_int_eq(metadata->stack_frame_id, 3);
  ck_assert_ptr_null(inst_metadata(module, find_inst(module, "c")));
  module_free(module);
}
END_TEST

START_TEST(graph_is_as_written) {
  Module *module = parse_or_fail(text_with_all);
  InstId p = find_inst(module, "p"), r = find_inst(module, "r"), c = find_inst(module, "c");
  InstId t = find_inst(module, "t"), g = find_inst(module, "g");
  ck_assert_uint_eq(module_num_instructions(module), 9);
  ck_assert_uint_eq(comp_num_insts(module, module->entry), 6);
  ck_assert_uint_eq(comp_inst(module, module->entry, 0), p);
  ck_assert_uint_eq(inst_operand(module, r, 0), p);
  ck_assert_uint_eq(inst_get(module, r)->num_callees, 1);
  ck_assert_uint_eq(inst_callees(module, r)[0], find_comp(module, "add"));
  ck_assert_uint_eq(inst_get(module, r)->users.len, 1);
  ck_assert_uint_eq(inst_users(module, r)[0], c);
  ck_assert_uint_eq(inst_get(module, c)->users.len, 1); /* used twice by one */
  ck_assert_uint_eq(inst_count_operand(module, t, c), 2);
  ck_assert_uint_eq(inst_count_operand(module, t, r), 0);
  ck_assert_int_eq(inst_get(module, g)->index, 1);
  ck_assert(inst_is_root(module, g) && !inst_is_root(module, t));
  ck_assert(inst_has_control(module, g) && inst_has_control(module, r));
  ck_assert(!inst_has_control(module, c));
  ck_assert_uint_eq(inst_control(module, g)->predecessors.len, 1);
  ck_assert_uint_eq(id_list(module, inst_control(module, r)->successors)[0], g);
  ck_assert_uint_eq(inst_get(module, g)->origin, g);
  ck_assert_uint_eq(inst_get(module, g)->flags, 0);
  module_free(module);
}
END_TEST

/* A chain of copies, freed in any order: the last one standing still has everything. */
START_TEST(copies_outlive_their_originals) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  Module *modules[3];
  modules[0] = parse_or_fail(text_with_all);
  modules[1] = module_copy(modules[0]);
  modules[2] = module_copy(_i < 3 ? modules[1] : modules[0]);
  for (int i = 0; i < 2; i++)
    module_free(modules[orders[_i][i]]);
  Module *last = modules[orders[_i][2]];
  size_t length;
  char *printed = print_or_fail(last, NULL, PRINT_AS_READ, &length);
  ck_assert_str_eq(printed, text_with_all);
  free(printed);
  ck_assert(str_is(inst_name(last, find_inst(last, "g")), "g"));
  ck_assert_uint_eq(inst_shape(last, find_inst(last, "p"))->rank, 1);
  module_free(last);
}
END_TEST

START_TEST(a_copy_changes_alone) {
  Module *module = parse_or_fail(text_with_all);
  Module *copy = module_copy(module);
  InstId r = find_inst(copy, "r"), c = find_inst(copy, "c"), z = find_inst(copy, "z");
  module_set_operand(copy, c, 0, z);
  InstId clone = module_clone_inst(copy, r, STR("r.2"), copy->entry, NULL);
  module_add_control(copy, z, c);
  module_drop_control(copy, r);
  comp_get(copy, copy->entry)->root = clone;
  ck_assert_uint_eq(inst_operand(module, c, 0), r);
  ck_assert_uint_eq(inst_get(module, r)->users.len, 1);
  ck_assert_uint_eq(module_num_instructions(module), 9);
  ck_assert_uint_eq(module_num_instructions(copy), 10);
  ck_assert(!inst_has_control(module, c));
  ck_assert(inst_has_control(module, r));
  size_t length;
  char *printed = print_or_fail(module, NULL, PRINT_AS_READ, &length);
  ck_assert_str_eq(printed, text_with_all);
  free(printed);
  module_free(module);
  ck_assert_uint_eq(inst_operand(copy, c, 0), z);
  module_free(copy);
}
END_TEST

/* New shapes of a copy do not appear in the original; both keep the old ids. */
START_TEST(a_copy_has_its_own_shapes) {
  Module *module = parse_or_fail(text_with_all);
  Module *copy = module_copy(module);
  uint32_t num_shapes = module->shapes.shapes.len;
  int64_t dims[1] = {12345};
  ArraySpec spec = {.type = TYPE_BF16, .rank = 1, .dims = dims};
  ShapeId id = shape_array(&copy->shapes, &spec);
  ck_assert_uint_eq(id, num_shapes);
  ck_assert_uint_eq(shape_array(&copy->shapes, &spec), id);
  ck_assert_uint_eq(module->shapes.shapes.len, num_shapes);
  ck_assert_uint_eq(shape_scalar(&module->shapes, TYPE_F32), shape_scalar(&copy->shapes, TYPE_F32));
  Module *second = module_copy(copy);
  module_free(module);
  module_free(copy);
  ck_assert_int_eq(shape_get(&second->shapes, id)->bytes, 24690);
  module_free(second);
}
END_TEST

START_TEST(empty_module_has_nothing) {
  Module *module = module_new("", 0, NULL);
  ck_assert_uint_eq(module->entry, NO_ID);
  ck_assert_uint_eq(module_num_instructions(module), 0);
  ck_assert_int_eq(module->source->header.num_partitions, 1);
  ck_assert_int_eq(module->source->header.replica_count, 1);
  Module *copy = module_copy(module);
  module_free(module);
  ck_assert_uint_eq(copy->insts.len, 0);
  module_free(copy);
  module_free(NULL);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("module");
  TCase *tc = tcase_create("module");
  tcase_add_test(tc, attributes_are_found_by_id);
  tcase_add_test(tc, metadata_has_its_fields);
  tcase_add_test(tc, graph_is_as_written);
  tcase_add_loop_test(tc, copies_outlive_their_originals, 0, 6);
  tcase_add_test(tc, a_copy_changes_alone);
  tcase_add_test(tc, a_copy_has_its_own_shapes);
  tcase_add_test(tc, empty_module_has_nothing);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
