#include "remat/rewrite/fuse_siblings.h"

#include "support.h"

/* q and s read i, and both compute the exponential of it; s reads k, too. */
static const char text[] =
    "HloModule m, is_scheduled=true\n"
    "first {\n a = f32[8] parameter(0)\n e = f32[8] exponential(a)\n"
    " ROOT n = f32[8] negate(e)\n}\n"
    "second {\n c = f32[8] parameter(0)\n a = f32[8] parameter(1)\n e = f32[8] exponential(a)\n"
    " ROOT d = f32[8] subtract(c, e)\n}\n"
    "ENTRY e {\n i = f32[8] parameter(0)\n k = f32[8] parameter(1)\n"
    " q = f32[8] fusion(i), kind=kLoop, calls=first\n"
    " s = f32[8] fusion(k, i), kind=kLoop, calls=second\n"
    " u = f32[8] add(q, s)\n"
    " ROOT r = (f32[8], f32[8]) tuple(u, s)\n}\n";

static uint32_t count_of(const Module *module, CompId comp, Opcode opcode) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
    count += inst_get(module, comp_inst(module, comp, i))->opcode == opcode;
  return count;
}

START_TEST(one_fusion_has_the_results_of_both) {
  Fixture fixture = fixture_parse(text);
  Module *module = fixture.module;
  InstId leader = find_inst(module, "q"), other = find_inst(module, "s");
  Rewrite rewrite = rewrite_begin(module);
  IdVec others = {0}, elements = {0};
  *vec_push(fixture.out, &others) = other;
  fuse_siblings(&rewrite, leader, &others, &elements, fixture.out, fixture.scratch);
  ck_assert_uint_eq(elements.len, 2);
  ck_assert(inst_get(module, other)->flags & INST_DEAD);
  ck_assert_uint_eq(inst_get(module, leader)->num_operands, 2);
  ck_assert_uint_eq(inst_shape(module, leader)->rank, 2);
  CompId comp = inst_callees(module, leader)[0];
  ck_assert_uint_eq(count_of(module, comp, OPCODE_PARAMETER), 2);
  ck_assert_uint_eq(count_of(module, comp, OPCODE_EXPONENTIAL), 1);
  InstId sum = find_inst(module, "u"), root = find_inst(module, "r");
  ck_assert_uint_eq(inst_operand(module, sum, 0), elements.data[0]);
  ck_assert_uint_eq(inst_operand(module, sum, 1), elements.data[1]);
  ck_assert_uint_eq(inst_operand(module, root, 1), elements.data[1]);
  for (uint32_t i = 0; i < elements.len; i++) {
    ck_assert_uint_eq(inst_operand(module, elements.data[i], 0), leader);
    ck_assert_int_eq(inst_get(module, elements.data[i])->index, i);
  }
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fuse_siblings");
  TCase *tc = tcase_create("fuse_siblings");
  tcase_add_test(tc, one_fusion_has_the_results_of_both);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
