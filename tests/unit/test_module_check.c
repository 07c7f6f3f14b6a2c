#include "ir/module_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* In front of each entry's instructions. */
#define COMPS                                                                           \
  "HloModule m\n"                                                                       \
  "neg { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) }\n"                         \
  "neg2 { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) }\n"                        \
  "add { x = f32[2] parameter(0) y = f32[2] parameter(1) ROOT s = f32[2] add(x, y) }\n" \
  "yes { x = f32[2] parameter(0) ROOT c = pred[] constant(true) }\n"                    \
  "yes1 { x = f32[2] parameter(0) ROOT c = pred[1] constant({true}) }\n"                \
  "big { ROOT x = f32[3] parameter(0) }\n"                                              \
  "ENTRY e {\n p = f32[2] parameter(0)\n q = (f32[2], s32[]) parameter(1)\n"            \
  " k = pred[] parameter(2)\n a = ((f32[2]), f32[2], u32[]) async-start(p), calls=neg2\n "

/* Bodies behind COMPS; `x` is what they are about. */
static const char *const consistent[] = {
    "x = (f32[2], f32[2]) tuple(p, p)",
    "x = (f32[2]{0:T(128)}) tuple(p)", /* layouts may differ */
    "x = () tuple()",
    "x = s32[] get-tuple-element(q), index=1",
    "x = f32[2] negate(q#0)",
    "x = (f32[2], s32[]) copy(q)",
    "x = bf16[2]{0:T(256)} copy(p)", /* as XLA:TPU writes a convert that changes the layout */
    "x = (f32[2], s32[]) opt-barrier(q)",
    "x = f32[2] call(p), to_apply=neg",
    "x = f32[2] call(p, p), to_apply=add",
    "x = f32[2] fusion(p), kind=kLoop, calls=neg",
    "x = f32[2] fusion(p, q), kind=kLoop, calls=neg",
    "x = f32[2] while(p), condition=yes, body=neg",
    "x = f32[2] conditional(k, p, p), true_computation=neg, false_computation=neg",
    "x = (f32[2], f32[2], u32[]) copy-start(p)\n y = f32[2] copy-done(x)",
    "u = ((f32[2]), f32[2], u32[]) async-update(a)\n x = f32[2] async-done(u)",
    "x = s32[2] bitcast(p)",
    "x = f32[9] add(p, p)", /* not what a memory analysis relies on */
    "x = f32[1152921504606846975,0] iota(), iota_dimension=0",
    "x = s8[1152921504606840000] iota(), iota_dimension=0", /* with p and q just below 2^60 */
    "x = token[] after-all()",
    "x = f32[2] domain(p), domain={kind=\"sharding\", entry={replicated}, exit={replicated}}",
};

START_TEST(consistent_modules_pass) {
  Arena *arena = arena_new(NULL);
  Module *module = parse_or_fail(arena_printf(arena, COMPS "%s }", consistent[_i]));
  rh_diags *diags = rh_diags_new();
  rh_status status = module_check(module, diags);
  ck_assert_msg(status == RH_OK, "%s: %s", consistent[_i],
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "no message");
  ck_assert_uint_eq(rh_diags_len(diags), 0);
  rh_diags_free(diags);
  module_free(module);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *body, *why;
} faults[] = {
    {"x = f32[?] parameter(3)", "unknown size"},
    {"x = (s32[], (f32[2,?], s32[])) parameter(3)", "unknown size"},
    {"x = f32[4294967296,4294967296] parameter(3)", "overflows 64 bits"},
    {"x = f64[2305843009213693952] parameter(3)", "overflows 64 bits"},
    {"x = s8[1152921504606846977] parameter(3)", "more than 2^60"},
    {"y = s8[576460752303423488] parameter(3)\n x = s8[576460752303423488] parameter(4)",
     "more than 2^60"},
    {"x = (f32[2], f32[3]) tuple(p, p)", "differs from its operand's"},
    {"x = (f32[2], s32[2]) tuple(p, p)", "differs from its operand's"},
    {"x = f32[2] get-tuple-element(p), index=0", "no tuple"},
    {"x = f32[2] get-tuple-element(q), index=1", "differs from the element's"},
    {"x = f32[2] copy(q)", "differs from its operand's"},
    {"x = f32[3] copy(p)", "differs from its operand's"},
    {"x = bf16[3] copy(p)", "differs from its operand's"},
    {"x = (bf16[2], s32[]) copy(q)", "differs from its operand's"},
    {"x = f32[] opt-barrier(p)", "differs from its operand's"},
    {"x = (f32[2]) bitcast(p)", "between arrays"},
    {"x = f32[2] bitcast(q)", "between arrays"},
    {"x = f32[2] copy-start(p)", "(destination, source, context)"},
    {"x = (f32[2], f32[2]) copy-start(p)", "(destination, source, context)"},
    {"x = (f32[2], f32[3], u32[]) copy-start(p)", "differ from its operand's"},
    {"x = (f32[3], f32[2], u32[]) copy-start(p)", "differ from its operand's"},
    {"x = f32[2] copy-done(p)", "not a tuple of the right kind"},
    {"x = s32[] copy-done(q)", "differs from what its operand holds"},
    {"x = f32[2] call(p), to_apply=add", "another number of parameters"},
    {"x = f32[2] call(p, p), to_apply=neg", "another number of parameters"},
    {"x = f32[2] call(p), to_apply=big", "a parameter of the called computation"},
    {"x = f32[3] call(p), to_apply=neg", "result has another shape"},
    {"x = f32[2] fusion(p), kind=kLoop, calls=add", "another number of parameters"},
    {"x = f32[2] fusion(q), kind=kLoop, calls=neg", "a parameter of the called computation"},
    {"x = f32[2] fusion(q, p), kind=kLoop, calls=neg", "a parameter of the called computation"},
    {"x = (f32[2], s32[]) while(p), condition=yes, body=neg", "initial state"},
    {"x = f32[2] while(p), condition=yes, body=add", "another number of parameters"},
    {"x = f32[2] while(p), condition=yes, body=yes", "result has another shape"},
    {"x = f32[2] while(p), condition=add, body=neg", "another number of parameters"},
    {"x = f32[2] while(p), condition=neg, body=neg", "pred[]"},
    {"x = f32[2] while(p), condition=yes1, body=neg", "pred[]"},
    {"x = f32[2] conditional(k, q, p), true_computation=neg, false_computation=neg",
     "a parameter of the called computation"},
    {"x = f32[2] conditional(k, p, p), true_computation=neg, false_computation=yes",
     "result has another shape"},
    {"x = f32[2] async-done(p)", "((operands), result, …)"},
    {"x = ((f32[2]), f32[2], u32[]) async-update(p)", "((operands), result, …)"},
    {"x = ((f32[2]), f32[2]) async-start(p, p), calls=neg2", "another number of operands"},
    {"x = ((s32[2]), f32[2]) async-start(p), calls=neg2", "operand's shape differs"},
};

/* The entry's `x`: computations have one of their own. */
static InstId find_inst_in_entry(const Module *module) {
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    if (str_is(inst_name(module, id), "x")) return id;
  }
  ck_abort_msg("no x");
  return NO_ID;
}

START_TEST(faults_are_named_where_they_are) {
  Arena *arena = arena_new(NULL);
  const char *text = arena_printf(arena, COMPS "%s }", faults[_i].body);
  Module *module = parse_or_fail(text);
  rh_diags *diags = rh_diags_new();
  ck_assert_msg(module_check(module, diags) == RH_ERR_INPUT, "%s passes", faults[_i].body);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  rh_diag diag = *rh_diags_get(diags, 0);
  ck_assert_msg(strstr(diag.message, faults[_i].why) && strstr(diag.message, "'x': "), "%s: %s",
                faults[_i].body, diag.message);
  ck_assert_uint_eq(diag.offset, inst_offset(module, find_inst_in_entry(module)));
  rh_diags_free(diags);
  module_free(module);
  arena_free(arena);
}
END_TEST

START_TEST(nobody_need_listen) {
  Module *module = parse_or_fail("HloModule m\nENTRY e { x = f32[?] parameter(0) }");
  ck_assert_int_eq(module_check(module, NULL), RH_ERR_INPUT);
  module_free(module);
}
END_TEST

/* What is dead is not looked at; what has no text has no place. */
START_TEST(changed_modules_are_checked_too) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { p = f32[2] parameter(0)\n x = f32[?] copy(p)\n"
      " ROOT n = f32[2] negate(p) }");
  InstId x = find_inst(module, "x"), p = find_inst(module, "p");
  ck_assert_int_eq(module_check(module, NULL), RH_ERR_INPUT);
  module_remove_inst(module, x);
  ck_assert_int_eq(module_check(module, NULL), RH_OK);
  InstSpec spec = {.opcode = OPCODE_TUPLE,
                   .name = STR("t"),
                   .shape = inst_get(module, p)->shape,
                   .operands = &p,
                   .num_operands = 1};
  InstId id = module_add_inst(module, module->entry, &spec);
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(module_check(module, diags), RH_ERR_INPUT);
  ck_assert(rh_diags_get(diags, 0)->offset == RH_NO_OFFSET);
  ck_assert_uint_eq(inst_offset(module, id), NO_OFFSET);
  ck_assert_uint_eq(inst_offset(module, p), (uint32_t)strlen("HloModule m\nENTRY e { "));
  rh_diags_free(diags);
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("module_check");
  TCase *tc = tcase_create("module_check");
  tcase_add_loop_test(tc, consistent_modules_pass, 0, sizeof consistent / sizeof *consistent);
  tcase_add_loop_test(tc, faults_are_named_where_they_are, 0, sizeof faults / sizeof *faults);
  tcase_add_test(tc, nobody_need_listen);
  tcase_add_test(tc, changed_modules_are_checked_too);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
