/* What is told of a text with several errors, and that it stays as many as there are. */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"
#include "text/parse.h"

#define HEAD "HloModule m\n"
#define P "  %p = f32[2]{0} parameter(0)\n"

typedef struct Case {
  const char *text;
  const char *told; /* a line for each: line, then a part of the message */
} Case;

static const Case cases[] = {
    {HEAD "ENTRY e {\n" P "}\n", ""},

    /* mistakes that have nothing to do with each other */
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} negat(%p)\n  %b = f32[2]{0} negate(%p), dim={0}\n"
          "  ROOT %c = f32[2]{0} add(%p)\n}\n",
     "4 unknown opcode\n5 has no attribute\n6 takes 2 operands\n"},
    {HEAD "%f {\n" P "  ROOT %a = f32[2]{0} negat(%p)\n}\n\n%g (p: f32[2] -> f32[2] {\n" P "}\n\n"
          "ENTRY %e {\n" P "  ROOT %a = f32[2]{0} negate(%q)\n}\n",
     "4 unknown opcode\n7 expected ')'\n13 operand 'q'\n"},
    {"HloModule m, is_schedule=true\nENTRY %e {\n" P "  ROOT %a = f32[2]{0} negate(%q)\n}\n",
     "1 no attribute 'is_schedule'\n4 operand 'q'\n"},
    {HEAD "f {\n" P "}\nf {\n" P "  %a = f32[2] negate(%q)\n}\nENTRY e {\n" P "}\nENTRY g {\n" P
          "}\nENTRY h {\n" P "  %a = f32[2] negate(%q)\n}\n",
     "5 'f' is already defined\n7 operand 'q'\n12 one ENTRY\n17 operand 'q'\n15 one ENTRY\n"},
    {HEAD "ENTRY e { p = f32[2] parameter(0) a = f32[2] negat(p) ROOT b = f32[2] negate(q) }",
     "2 unknown opcode\n2 operand 'q'\n"},
    {HEAD "f { p = f32[2] parameter(0) a = f32[2] negat(p) } ENTRY e { p = f32[2] parameter(0) "
          "ROOT b = f32[2] negate(q) }",
     "2 unknown opcode\n2 operand 'q'\n"},

    /* no error follows from another one */
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} negate(%q)\n  %b = (f32[3]{0}) tuple(%a)\n"
          "  %c = f32[] get-tuple-element(%a), index=9\n  %d = add(%a, %p)\n  %f = tan(%d)\n"
          "  %g = f32[] negate(%a#7#1)\n  %h = f32[] negate(f32[5] %a)\n"
          "  ROOT %i = f32[3] reshape(%d)\n}\n",
     "4 operand 'q'\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} negate(%q)\n  %b = f32[2]{0} tan(%q)\n}\n",
     "4 operand 'q'\n"}, /* once */
    {HEAD "%f {\n" P "  ROOT %a = f32[2]{0} negat(%p)\n}\nENTRY e (p: f32[7]) -> f32[7] {\n" P
          "  %a = call(%p), to_apply=%f\n  %b = f32[1] call(%p, %p), to_apply=%f\n"
          "  ROOT %c = f32[2] tan(%a)\n}\n",
     "4 unknown opcode\n"},
    {HEAD "%f {\n" P "  ROOT %a = f32[2]{0} negat(%p)\n}\nENTRY e (p: f32[7]) -> f32[7] {\n" P
          "  %c = ((f32[2]), f32[2], u32[]) call-start(%p), to_apply=%f\n"
          "  ROOT %d = f32[2] call-done(%c)\n}\n",
     "4 unknown opcode\n"},
    {HEAD "%f (p: f32[2] {\n" P "}\nENTRY e {\n" P "  %a = f32[2] call(%p), to_apply=%f\n}\n",
     "2 expected ')'\n"},
    {HEAD "ENTRY e (p: f32[2]) -> f32[5] {\n" P "  %n = f32[] parameter(5)\n  ROOT %a = f32[ "
          "negate(%p)\n}\n",
     "5 expected an integer\n"}, /* neither the gap nor the root's shape */
    {HEAD "ENTRY e {\n  %n = f32[] parameter(0), x=1\n  ROOT %a = f32[] negate(%n)\n}\n"
          "f {\n  ROOT %n = f32[] parameter(0), x=1\n  %a = f32[] negate(%n)\n}\n",
     "3 no attribute 'x'\n7 no attribute 'x'\n"},

    /* what is not closed */
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0 negate(%p)\n  %b = f32[2]{0} negate(%a)\n  %c = "
          "f32[2]{0} negate(%b\n  %d = f32[2]{0} negate(%c), metadata={op_name=\"x\"\n  %f = "
          "f32[2]{0} negate(%d)\n}\n",
     "4 to close the layout\n6 expected ',' or ')'\n7 expected a field\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} tan(%p), metadata={op_name=\"x}\n  %b = f32[2]{0} "
          "negate(%a), metadata={op_name=\"x\"}\n  %c = f32[2]{0} negate(%b), metadata={op_name="
          "\"x\"}\n}\n",
     "4 not closed on its line\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} tan(%p), backend_config={\"a\":{\n  %b = f32[2]{0} "
          "negat(%a)\n}\n\nf {\n" P "  %c = f32[2]{0} tan(%p)\n  %b = f32[2]{0} tan(%q)\n}\n",
     "4 never closed\n5 unknown opcode\n11 operand 'q'\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} tan(%p), backend_config={\"a\":{}\n  %b = f32[2]{0} "
          "negat(%a)\n}\n\nf {\n" P "  %c = f32[2]{0} tan(%p)\n  %b = f32[2]{0} tan(%q)\n}\n",
     "4 not closed on its line\n5 unknown opcode\n11 operand 'q'\n"},
    {HEAD "ENTRY e {\n" P
          "  %a = f32[2]{0} tan(%p), backend_config={\"a\":{\n  \"b\":1}\n  }\n  %b = "
          "f32[2]{0} negat(%a)\n}\n",
     "7 unknown opcode\n"}, /* a dict of several lines */
    {HEAD "f {\n" P "  %a = f32[2]{0} tan(%p)\n\nENTRY e {\n" P "  %a = f32[2] call(%p), "
          "to_apply=f\n}\n",
     "6 to close computation 'f', found 'ENTRY'\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} negate(%p /* never\n  %b = f32[2]{0} negate(%q)\n}\n",
     "4 comment is never closed\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} negate(%q)\n  %b = f32[2]{0} negate(",
     "4 operand 'q'\n5 the text ends here\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]{0} tan(%p)}\n  %b = f32[2]{0} tan(%a)\n  %c = f32[2]{0} "
          "tan(%b)\n}\n\nf {\n" P "  %a = f32[2]{0} negat(%p)\n}\n",
     "5 is in no computation\n11 unknown opcode\n"},
    {HEAD "ENTRY e {\n" P "  %a = f32[2]} negate(%p)\n  %b = f32[2]{0} negate(%a)\n}\n",
     "4 expected an opcode\n"},

    /* computations inside of attributes */
    {HEAD "ENTRY e {\n" P "  %a = f32[2] call(%p), to_apply={\n    %p = f32[2] parameter(0)\n    "
          "ROOT %b = f32[2] negat(%p)\n  }\n  %b = f32[2] negate(%a)\n  %c = f32[2] tan(%q)\n}\n",
     "6 unknown opcode\n9 operand 'q'\n"},

    {HEAD "ENTRY e {\n" P "}\n" HEAD "ENTRY e {\n" P "}\n", "5 another HloModule begins here\n"},
    {"f32[2] add(f32[2] p, q)", "1 needs a shape\n"},
    {HEAD "ENTRY e {\n}\nf {\n" P "  a = f32[2] negate(q)\n}\n",
     "3 at least one instruction\n6 operand 'q'\n"},
    {HEAD "ENTRY e {\n  1x = f32[2] parameter(0)\n}\nf {\n  1x = f32[] call(), to_apply=e\n}\n",
     "3 expected an instruction\n6 expected an instruction\n"},
};

/* The lines of `told` that the diagnostics are not. */
static void check_told(const Case *row, const rh_diags *diags) {
  const char *line = row->told;
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    rh_diag diag = *rh_diags_get(diags, i);
    size_t at_line, at_column;
    rh_locate(row->text, strlen(row->text), diag.offset, &at_line, &at_column);
    char *part;
    size_t wanted_line = strtoul(line, &part, 10), part_len = strcspn(part, "\n");
    char *wanted = *part ? strndup(part + 1, part_len - 1) : NULL;
    bool is_told = wanted && wanted_line == at_line && strstr(diag.message, wanted);
    ck_assert_msg(is_told, "%s\n%zu:%zu: %s, instead of line %zu, %s", row->text, at_line,
                  at_column, diag.message, wanted_line, wanted ? wanted : "nothing");
    free(wanted);
    line = part + part_len + 1;
  }
  ck_assert_msg(!*line, "%s\nnot told: %s", row->text, line);
}

START_TEST(errors_match_table) {
  const Case *row = &cases[_i];
  rh_diags *diags = rh_diags_new();
  Module *module;
  rh_status status = text_parse_all(row->text, strlen(row->text), NULL, 100, &module, diags);
  ck_assert_int_eq(status, *row->told ? RH_ERR_INPUT : RH_OK);
  check_told(row, diags);
  module_free(module);
  rh_diags_free(diags);
}
END_TEST

/* Fewer errors are the first ones. */
START_TEST(max_errors_is_kept) {
  const Case *row = &cases[_i];
  rh_diags *all = rh_diags_new();
  Module *module;
  text_parse_all(row->text, strlen(row->text), NULL, 100, &module, all);
  module_free(module);
  for (uint32_t max = 1; max <= rh_diags_len(all); max++) {
    rh_diags *diags = rh_diags_new();
    text_parse_all(row->text, strlen(row->text), NULL, max, &module, diags);
    ck_assert_ptr_null(module);
    ck_assert_uint_eq(rh_diags_len(diags), max);
    for (size_t i = 0; i < max; i++)
      ck_assert_str_eq(rh_diags_get(diags, i)->message, rh_diags_get(all, i)->message);
    rh_diags_free(diags);
  }
  rh_diags_free(all);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("recover");
  TCase *tc = tcase_create("recover");
  tcase_add_loop_test(tc, errors_match_table, 0, sizeof cases / sizeof *cases);
  tcase_add_loop_test(tc, max_errors_is_kept, 0, sizeof cases / sizeof *cases);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
