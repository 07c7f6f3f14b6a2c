#include "text/parser.h"

#include <stdio.h>

#include "support.h"

#define HEAD "HloModule m\nENTRY e {\n  p = f32[4,4] parameter(0)\n  q = f32[4,4] parameter(1)\n  "

/* What the computation that the start implies has in the end: its parameters' shapes and its root.
 */
static const struct {
  const char *text;
  uint32_t num_params;
  const char *root;
} rows[] = {
    {"s = ((f32[4,4], f32[4,4]), f32[4,4], s32[]) add-start(p, q)\n  ROOT d = f32[4,4] "
     "add-done(s)\n}\n",
     2, "f32[4,4]"},
    /* Late binding: dummies as many as the opcode needs. */
    {"ROOT s = ((), (), s32[]) dot-start()\n}\n", 2, "()"},
    {"s = ((), (), s32[]) custom-call-start(), custom_call_target=\"f\"\n"
     "  u = ((f32[4,4], f32[4,4]), f32[2], s32[]) custom-call-update(s, p, q)\n"
     "  ROOT d = f32[2] custom-call-done(u)\n}\n",
     2, "f32[2]"},
    {"s = ((), (), s32[]) custom-call-start(), custom_call_target=\"f\"\n"
     "  u = ((f32[4,4]), (), s32[]) custom-call-update(s, p)\n"
     "  v = ((f32[4,4], f32[4,4]), (), s32[]) custom-call-update(u, q)\n"
     "  ROOT d = f32[4,4] custom-call-done(v)\n}\n",
     2, "f32[4,4]"},
};

START_TEST(implied_computations_match_table) {
  char text[1024];
  snprintf(text, sizeof text, "%s%s", HEAD, rows[_i].text);
  Module *module = parse_or_fail(text);
  const Computation *implied = NULL;
  for (CompId id = 0; id < module->comps.len; id++) {
    if (comp_get(module, id)->flags & COMP_IMPLIED) implied = comp_get(module, id);
  }
  ck_assert_ptr_nonnull(implied);
  ck_assert_uint_eq(implied->params.len, rows[_i].num_params);
  ck_assert_uint_eq(implied->insts.len, rows[_i].num_params + 1);
  ck_assert_uint_eq(inst_get(module, implied->root)->num_operands, rows[_i].num_params);
  /* The root comes last, so that the list is an order to run in. */
  ck_assert_uint_eq(id_list(module, implied->insts)[implied->insts.len - 1], implied->root);
  for (uint32_t i = 0; i < implied->params.len; i++) {
    InstId param = id_list(module, implied->params)[i];
    ck_assert_int_eq(inst_get(module, param)->index, (int64_t)i);
    ck_assert_uint_eq(inst_operand(module, implied->root, i), param);
    ck_assert_uint_eq(inst_users(module, param)[0], implied->root);
  }
  Arena *arena = arena_new(NULL);
  Str root = shape_text(&module->shapes, inst_get(module, implied->root)->shape, false, arena);
  ck_assert_msg(str_is(root, rows[_i].root), "root is %.*s", (int)root.len, root.data);
  arena_free(arena);
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_async");
  TCase *tc = tcase_create("parse_async");
  tcase_add_loop_test(tc, implied_computations_match_table, 0, sizeof rows / sizeof *rows);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
