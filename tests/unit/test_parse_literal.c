#include <stdio.h>
#include <stdlib.h>

#include "support.h"

typedef struct Literal {
  const char *shape, *text;
} Literal;

static char *module_of(const char *shape, const char *literal) {
  static const char format[] = "HloModule m\nENTRY e {\n  ROOT c = %s constant(%s)\n}\n";
  size_t room = sizeof format + strlen(shape) + strlen(literal);
  char *text = malloc(room);
  snprintf(text, room, format, shape, literal);
  return text;
}

static const Literal accepted[] = {
    {"s32[]", "42"},
    {"s32[]", "/*a*/42/*b*/"},
    {"s32[3]", "{1, 2, 3}"},
    {"s32[3]", "{ 1 2 3 }"}, /* commas are skipped wherever they stand */
    {"s32[3]", "{,1,,2,3,}"},
    {"s32[2,2]", "{{1,2},{3,4}}"},
    {"s32[2,2]", "{ { 1, 2 } { 3, 4 } }"},
    {"s32[1,1,1]", "{{{7}}}"},
    {"s32[2,1,2,1]", "{/*i0=0*/{{{1},{2}}},/*i0=1*/{{{3},{4}}}}"},
    {"s32[0]", "{}"},
    {"s32[2,0]", "{{},{}}"},
    {"s32[0,2]", "{}"},
    {"s32[2,2]", "1"}, /* one number for an array is its first element */
    {"s32[<=3]{0}", "{1,2,3}"},
    {"s32[2]{0:S(5)}", "{1,2}"},
    {"s32[100]", "{...}"},
    {"s32[2,2]", "{...}"},
    {"s32[2,2]", "{{1,2},...}"},
    {"s32[2]", "{1,...}"},
    {"pred[]", "true"},
    {"pred[]", "0"},
    {"pred[]", "-5"},
    {"pred[4]", "{true, false, 1, 0}"},
    {"f32[]", "-0"},
    {"f32[]", "-0.0"},
    {"f32[]", "1e-50"}, /* underflow is fine */
    {"f32[4]", "{1, 1.5, -inf, inf}"},
    {"f32[2]", "{nan, -nan}"},
    {"c64[]", "(1, 2)"},
    {"c64[2]", "{(1, -2.5), (inf, nan)}"},
    {"c128[1]", "{(0,1e300)}"},
    {"()", "()"},
    {"(s32[])", "(1)"},
    {"(s32[], f32[2])", "(1, {1.5, 2})"},
    {"(s32[], (pred[], ()))", "(1, (true, ()))"},
    {"(s32[], s32[])", "()"},
    {"(s32[], s32[3])", "(1, {...})"},
    {"(s32[], s32[], s32[], s32[], s32[], s32[])", "(0, 1, 2, 3, 4, /*index=5*/5)"},
};

START_TEST(accepted_literals) {
  char *text = module_of(accepted[_i].shape, accepted[_i].text);
  check_accepted(text, strlen(text), 0);
  Module *module = parse_or_fail(text);
  bool is_elided = strstr(accepted[_i].text, "...") != NULL;
  InstId c = find_inst(module, "c");
  ck_assert_int_eq((inst_get(module, c)->flags & INST_ELIDED_LITERAL) != 0, is_elided);
  ck_assert_uint_eq(module->source->num_elided_literals, is_elided);
  ck_assert_uint_eq(inst_get(module, c)->num_operands, 0);
  module_free(module);
  free(text);
}
END_TEST

static const struct {
  const char *shape, *text, *why;
} refused[] = {
    {"s32[]", "", "a literal"},
    {"s32[]", "x", "a literal"},
    {"s32[]", "1 2", "')' to close the literal"},
    {"s32[]", "{1}", "deeper than its rank, 0"},
    {"s32[]", "1.5", "expected an integer in a literal of s32"},
    {"s32[]", "inf", "expected an integer in a literal of s32"},
    {"s32[]", "nan", "expected an integer in a literal of s32"},
    {"s32[]", "true", "true and false are for pred"},
    {"f32[]", "false", "true and false are for pred"},
    {"s32[]", "\"1\"", "a literal"},
    {"s32[]", "s32[] 1", "a literal"},
    {"s32[]", "0x1", "a literal"},
    {"s32[2]", "{1}", "needs 2 elements, has 1"},
    {"s32[2]", "{1,2,3}", "more elements than its shape"},
    {"s32[2]", "{}", "needs 2 elements, has 0"},
    {"s32[2]", "{{1,2}}", "deeper than its rank, 1"},
    {"s32[2,2]", "{1,2}", "expected '{' before the numbers"},
    {"s32[2,2]", "{{1,2}}", "needs 2 elements, has 1"},
    {"s32[2,2]", "{{1,2},{3}}", "needs 2 elements, has 1"},
    {"s32[2,2]", "{{1,2},{3,4},{5,6}}", "here comes one more"},
    {"s32[2,2]", "{{1,2,3},{4}}", "needs 2 elements, has 3"},
    {"s32[2]", "{1,2", "the text ends here"},
    {"s32[2]", "}", "'}' without '{'"},
    {"s32[0]", "1", "more elements than its shape"},
    {"s32[2]", "[1,2]", "a number or '{'"},
    {"s32[2]", "(1,2)", "'(' is for complex numbers"},
    {"s32[]", "...", "outermost dimension"},
    {"s32[]", "{...}", "deeper than its rank, 0"},
    {"s32[2,2]", "{{...},{1,2}}", "outermost dimension"},
    {"(s32[], s32[])", "{...}", "'('"},
    {"s32[2]", "{ROOT, 1}", "a number"},
    {"s32[2]", "{maximal}", "a number"},
    {"f32[]", "1e999", "out of range for a double"},
    {"f32[]", "-", "a number is expected after '-'"},
    {"f32[]", "99999999999999999999", "64 bits"},
    {"c64[]", "1", "a complex number is written"},
    {"c64[]", "(1)", "','"},
    {"c64[]", "(1,)", "a number"},
    {"c64[]", "(1,2,3)", "')' to close the complex number"},
    {"c64[2]", "{(1,2)}", "needs 2 elements, has 1"},
    {"c64[1]", "(1,2)", "at depth 0 of a literal of rank 1"},
    {"f32[]", "(1,2)", "'(' is for complex numbers"},
    {"(s32[], s32[])", "(1)", "a literal"},
    {"(s32[], s32[])", "(1,2,3)", "')' to close the tuple literal"},
    {"(s32[])", "1", "'('"},
    {"()", "(1)", "')' to close the tuple literal"},
    {"()", "", "'('"},
    {"token[]", "1", "token[] has no literals"},
    {"opaque[]", "1", "opaque[] has no literals"},
};

START_TEST(refused_literals_say_why) {
  char *text = module_of(refused[_i].shape, refused[_i].text);
  if (strcmp(refused[_i].text, "{1,2") == 0) *strchr(text, ')') = '\0';
  check_refused(text, strlen(text), refused[_i].why);
  free(text);
}
END_TEST

/* XLA does not notice that commas are missing between the elements of a tuple. */
START_TEST(missing_commas_are_warned_about) {
  char *text = module_of("(s32[], s32[2], s32[])", "(1 {2,3} 4)");
  check_accepted(text, strlen(text), 2);
  free(text);
}
END_TEST

/* The outermost numbers of each type: XLA's, found with jaxlib 0.12. */
static const struct {
  const char *type, *low, *high, *below, *above;
} ranges[] = {
    {"s1", "-1", "0", "-2", "1"},
    {"s2", "-2", "1", "-3", "2"},
    {"s4", "-8", "7", "-9", "8"},
    {"s8", "-128", "127", "-129", "128"},
    {"s16", "-32768", "32767", "-32769", "32768"},
    {"s32", "-2147483648", "2147483647", "-2147483649", "2147483648"},
    {"s64", "-9223372036854775808", "18446744073709551615", "-9223372036854775809",
     "18446744073709551616"},
    {"u1", "0", "1", "-1", "2"},
    {"u2", "0", "3", "-1", "4"},
    {"u4", "0", "15", "-1", "16"},
    {"u8", "0", "255", "-1", "256"},
    {"u16", "0", "65535", "-1", "65536"},
    {"u32", "0", "4294967295", "-1", "4294967296"},
    {"u64", "-9223372036854775808", "18446744073709551615", "-9223372036854775809",
     "18446744073709551616"},
    {"f16", "-65519", "65519.9", "-65520", "65520"},
    {"bf16", "-3.3895e38", "3.3895e38", "-3.4e38", "3.4e38"},
    {"f32", "-3.4028235e38", "3.4028235e38", "-3.4028236e38", "3.4028236e38"},
    {"f64", "-1.7976931348623157e308", "1.7976931348623157e308", "-1e309", "1e309"},
    {"f8e5m2", "-61439", "61439", "-61440", "61440"},
    {"f8e4m3fn", "-464", "464", "-465", "500"},
    {"f8e4m3", "-247.9", "247.9", "-248", "248"},
    {"f8e3m4", "-15.74", "15.74", "-15.75", "15.75"},
    {"f8e4m3b11fnuz", "-30.9", "30.9", "-31", "31"},
    {"f8e4m3fnuz", "-247.9", "247.9", "-248", "248"},
    {"f8e5m2fnuz", "-61439", "61439", "-61440", "61440"},
    {"f4e2m1fn", "-1e300", "1e300", "-1e309", "1e309"}, /* saturates */
    {"f6e2m3fn", "-1e300", "1e300", "-1e309", "1e309"},
    {"f6e3m2fn", "-1e300", "1e300", "-1e309", "1e309"},
    {"f8e8m0fnu", "1e-10", "1e38", "0", "3e38"}, /* powers of two: nothing below them */
};

START_TEST(ranges_match_table) {
  char shape[32];
  snprintf(shape, sizeof shape, "%s[]", ranges[_i].type);
  const char *const in[] = {ranges[_i].low, ranges[_i].high};
  const char *const out[] = {ranges[_i].below, ranges[_i].above};
  for (int i = 0; i < 2; i++) {
    char *text = module_of(shape, in[i]);
    check_accepted(text, strlen(text), 0);
    free(text);
    text = module_of(shape, out[i]);
    check_refused(text, strlen(text), strlen(out[i]) > 18 ? "64 bits" : "out of range for");
    free(text);
  }
}
END_TEST

static const struct {
  const char *type;
  const char *largest, *too_large; /* NULL: the type knows no payload */
} payloads[] = {
    {"f16", "0x3ff", "0x400"},        {"bf16", "0x7f", "0x80"},    {"f32", "0x7fffff", "0x800000"},
    {"f64", "0xfffffffffffff", NULL}, {"f8e5m2", "0x3", "0x4"},    {"f8e4m3", "0x7", "0x8"},
    {"f8e3m4", "0xf", "0x10"},        {"f8e4m3fn", NULL, "0x1"},   {"f8e4m3b11fnuz", NULL, "0x1"},
    {"f8e4m3fnuz", NULL, "0x1"},      {"f8e5m2fnuz", NULL, "0x1"}, {"f8e8m0fnu", NULL, "0x1"},
    {"f4e2m1fn", NULL, "0x1"},
};

START_TEST(nan_payloads_fit_the_mantissa) {
  char shape[32], literal[64];
  snprintf(shape, sizeof shape, "%s[]", payloads[_i].type);
  if (payloads[_i].largest) {
    snprintf(literal, sizeof literal, "nan(%s)", payloads[_i].largest);
    char *text = module_of(shape, literal);
    check_accepted(text, strlen(text), 0);
    free(text);
  }
  if (payloads[_i].too_large) {
    snprintf(literal, sizeof literal, "-nan(%s)", payloads[_i].too_large);
    char *text = module_of(shape, literal);
    check_refused(text, strlen(text), "payload");
    free(text);
  }
  char *text = module_of(shape, "nan");
  check_accepted(text, strlen(text), 0);
  free(text);
}
END_TEST

static const struct {
  const char *shape, *text;
  bool is_accepted;
} complex_ranges[] = {
    {"c64[]", "(3.4e38, -3.4e38)", true},
    {"c64[]", "(3.5e38, 0)", false},
    {"c64[]", "(0, 3.5e38)", false},
    {"c64[]", "(nan(0x7fffff), 0)", true},
    {"c64[]", "(nan(0x800000), 0)", false},
    {"c64[]", "(0, nan(0x800000))", true}, /* XLA looks at the real part's payload only */
    {"c128[]", "(1e308, -1e308)", true},
    {"c128[]", "(1e309, 0)", false},
};

START_TEST(complex_ranges_match_table) {
  char *text = module_of(complex_ranges[_i].shape, complex_ranges[_i].text);
  if (complex_ranges[_i].is_accepted) {
    check_accepted(text, strlen(text), 0);
  } else {
    check_refused(text, strlen(text), "");
  }
  free(text);
}
END_TEST

/* `literal=` of a custom call: every leaf carries its shape. */
static const struct {
  const char *text, *why; /* NULL: accepted */
} shaped[] = {
    {"s32[] 1", NULL},
    {"s32[2]{0} {1,2}", NULL},
    {"(s32[] 1, f32[2]{0} {1,2})", NULL},
    {"(s32[] 1, (pred[] true, ()))", NULL},
    {"()", NULL},
    {"s32[2] {1,2}", "the shape has"}, /* `{1,2}` reads as a layout */
    {"1", "a shape"},
    {"(1)", "a shape"},
    {"(s32[] 1", "the text ends here"},
    {"s32[] {1}", "0 dimensions but its layout orders 1"}, /* again */
};

START_TEST(shaped_literals_match_table) {
  static const char format[] =
      "HloModule m\nENTRY e {\n"
      "  ROOT c = f32[] custom-call(), custom_call_target=\"t\", literal=%s%s";
  char text[512];
  bool is_closed = !shaped[_i].why || strcmp(shaped[_i].text, "(s32[] 1") != 0;
  snprintf(text, sizeof text, format, shaped[_i].text, is_closed ? "\n}\n" : "");
  if (shaped[_i].why) {
    check_refused(text, strlen(text), shaped[_i].why);
  } else {
    check_accepted(text, strlen(text), 0);
  }
}
END_TEST

START_TEST(deep_tuples_are_refused) {
  enum { DEPTH = 500 };
  char text[DEPTH + 200];
  strcpy(text,
         "HloModule m\nENTRY e {\n ROOT c = f32[] custom-call(), custom_call_target=\"t\", "
         "literal=");
  size_t len = strlen(text);
  memset(text + len, '(', DEPTH);
  check_refused(text, len + DEPTH, "nested more than 400 deep");
}
END_TEST

START_TEST(elided_literals_are_counted) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { a = f32[9] constant({...})\n b = f32[] constant(1)\n"
      " ROOT c = (f32[8], f32[7]) constant(({...}, {...})) }");
  ck_assert_uint_eq(module->source->num_elided_literals, 2); /* constants that hold one */
  ck_assert(!(inst_get(module, find_inst(module, "b"))->flags & INST_ELIDED_LITERAL));
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_literal");
  TCase *tc = tcase_create("parse_literal");
  tcase_add_loop_test(tc, accepted_literals, 0, sizeof accepted / sizeof *accepted);
  tcase_add_loop_test(tc, refused_literals_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_test(tc, missing_commas_are_warned_about);
  tcase_add_loop_test(tc, ranges_match_table, 0, sizeof ranges / sizeof *ranges);
  tcase_add_loop_test(tc, nan_payloads_fit_the_mantissa, 0, sizeof payloads / sizeof *payloads);
  tcase_add_loop_test(tc, complex_ranges_match_table, 0,
                      sizeof complex_ranges / sizeof *complex_ranges);
  tcase_add_loop_test(tc, shaped_literals_match_table, 0, sizeof shaped / sizeof *shaped);
  tcase_add_test(tc, deep_tuples_are_refused);
  tcase_add_test(tc, elided_literals_are_counted);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
