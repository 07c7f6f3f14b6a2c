#include "text/lexer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* A token as tables show it: `n(add)`, `42`, `{`; the kind's letter before the word. */
static void show_token(const Lexer *lexer, char *out, size_t room) {
  static const char *const letters[] = {
      [TOK_NAME] = "n",    [TOK_ATTR_NAME] = "a", [TOK_IDENT] = "i", [TOK_TYPE] = "t",
      [TOK_KEYWORD] = "k", [TOK_STRING] = "s",    [TOK_PAD] = "p",   [TOK_DIM_LABELS] = "l",
      [TOK_DXD] = "x",     [TOK_DECIMAL] = "d"};
  const Token *tok = &lexer->tok;
  size_t num_letters = sizeof letters / sizeof *letters;
  if (tok->kind == TOK_ERROR) {
    snprintf(out, room, "error");
  } else if (tok->kind == TOK_INT) {
    snprintf(out, room, "%" PRId64, tok->integer);
  } else if (tok->kind < num_letters && letters[tok->kind]) {
    snprintf(out, room, "%s(%.*s)", letters[tok->kind], (int)(tok->word.end - tok->word.begin),
             lexer->text + tok->word.begin);
  } else {
    snprintf(out, room, "%.*s", (int)(tok->end - tok->begin), lexer->text + tok->begin);
  }
}

/* All tokens up to the end or the first error, blank separated; free() it. */
static char *tokens_of(const char *text, size_t length, bool only_int) {
  char *exact = malloc(length ? length : 1); /* ASan sees what is read beyond the text */
  memcpy(exact, text, length);
  char *out = calloc(1, 20 * length + 64);
  Lexer lexer;
  Arena *arena = arena_new(NULL);
  Words words;
  words_init(&words, arena);
  lexer_init(&lexer, exact, (uint32_t)length, &words);
  for (int i = 0;; i++) {
    if (only_int) {
      lex_next_int(&lexer);
    } else {
      lex_next(&lexer);
    }
    if (lexer.tok.kind == TOK_EOF) break;
    if (i) strcat(out, " ");
    show_token(&lexer, out + strlen(out), 16 * length + 16);
    if (lexer.tok.kind == TOK_ERROR) break;
  }
  arena_free(arena);
  free(exact);
  return out;
}

typedef struct TokenCase {
  const char *text, *tokens;
} TokenCase;

static const TokenCase token_cases[] = {
    {"", ""},
    {" \t\r\n", ""},
    {"=,:*?#+~[]{}()->...<=", "= , : * ? # + ~ [ ] { } ( ) -> ... <="},
    {"< ", "error"},
    {"a.b<c", "i(a.b) error"},
    {"..", "error"},
    {".", "error"},
    {"/", "error"},
    {"a/", "i(a) error"},
    {";", "error"},
    {"#x", "# i(x)"},
    {"!", "error"},
    {"@", "error"},
    {"\f", "error"},
    {"\v", "error"},
    {"\xef\xbb\xbf", "error"}, /* a byte order mark */
    {"\xc3\xa9", "error"},
    {"a\x7f", "i(a) error"},

    /* comments */
    {"// x\ny", "i(y)"},
    {"// x\ry", "i(y)"},
    {"// x", ""},
    {"//", ""},
    {"/**/a/***/b/* * / */c", "i(a) i(b) i(c)"},
    {"/* a /* b */ c */", "i(c) * error"}, /* they do not nest */
    {"/*/", "error"},
    {"/* a", "error"},
    {"/* a *", "error"},
    {"/* \xc3\xa9 */ // \xff\nx", "i(x)"},
    {"a /*index=5*/ b", "i(a) i(b)"},

    /* words */
    {"abc", "i(abc)"},
    {"a.b-c_d.1", "i(a.b-c_d.1)"},
    {"_x __x", "i(_x) i(__x)"},
    {"a:", "n(a)"},
    {"a :", "i(a) :"},
    {"a=", "a(a)"},
    {"a =", "i(a) ="},
    {"a:=", "n(a) ="},
    {"a=:", "a(a) :"},
    {"%a", "n(a)"},
    {"%a:", "n(a) :"}, /* % swallows nothing */
    {"%a=", "n(a) ="},
    {"%f32 %ROOT %nan", "n(f32) n(ROOT) n(nan)"},
    {"%1", "error"},
    {"%%x", "error"},
    {"% x", "error"},
    {"%", "error"},
    {"a-", "i(a-)"},
    {"a->b", "i(a-) error"}, /* the word takes the dash */
    {"a ->b", "i(a) -> i(b)"},
    {"f32 bf16 pred token opaque u4 s1", "t(f32) t(bf16) t(pred) t(token) t(opaque) t(u4) t(s1)"},
    {"f8e4m3b11fnuz f4e2m1fn c128", "t(f8e4m3b11fnuz) t(f4e2m1fn) t(c128)"},
    {"F32 f33 f tuple buffer s3 f8e4m3b11fnuzx",
     "i(F32) i(f33) i(f) i(tuple) i(buffer) i(s3) "
     "i(f8e4m3b11fnuzx)"},
    {"f32: f32=", "n(f32) a(f32)"},
    {"true false inf ROOT ENTRY HloModule",
     "k(true) k(false) k(inf) k(ROOT) k(ENTRY) k(HloModule)"},
    {"maximal replicated manual unknown unreduced",
     "k(maximal) k(replicated) k(manual) k(unknown) k(unreduced)"},
    {"last_tile_dim_replicate shard_as shard_like",
     "k(last_tile_dim_replicate) k(shard_as) k(shard_like)"},
    {"FileNames FunctionNames FileLocations StackFrames",
     "k(FileNames) k(FunctionNames) k(FileLocations) k(StackFrames)"},
    {"root entry True roots", "i(root) i(entry) i(True) i(roots)"},
    {"true= ROOT:", "a(true) n(ROOT)"},

    /* numbers, tried in XLA's order */
    {"0 -0 007 -12", "0 0 7 -12"},
    {"9223372036854775807 9223372036854775808", "9223372036854775807 -9223372036854775808"},
    {"18446744073709551615", "-1"},
    {"18446744073709551616", "error"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "error"},
    {"99999999999999999999999999", "error"},
    {"1. 1.5 -1.5 1e3 1E+3 1e-3 -.5 1.e2",
     "d(1.) d(1.5) d(-1.5) d(1e3) d(1E+3) d(1e-3) d(-.5) "
     "d(1.e2)"},
    {"1e", "1 i(e)"},
    {"1e+", "1 i(e) +"},
    {"1.5e", "d(1.5) i(e)"},
    {".5", "error"},
    {"+1", "+ 1"},
    {"0x1p3", "x(0x1) i(p3)"},
    {"1.2.3", "d(1.2) error"},
    {"-", "error"},
    {"--1", "error"},
    {"- 1", "error"},
    {"-x", "error"},
    {"-inf -infinity", "-inf -inf i(inity)"},
    {"nan -nan", "d(nan) d(-nan)"},
    {"nan(0x1) -nan(0xfffffffffffff) nan(0xABC)",
     "d(nan(0x1)) d(-nan(0xfffffffffffff)) "
     "d(nan(0xABC))"},
    {"nan(0x0)", "error"},
    {"nan(0x10000000000000)", "error"},
    {"nan(0x10000000000000000000000001)", "error"},
    {"nan(1)", "error"},
    {"nan(0x)", "error"},
    {"nan(0x1", "error"},
    {"nan (0x1)", "d(nan) ( x(0x1) )"},
    {"nan: nan= nanx", "n(nan) a(nan) i(nanx)"},
    {"2x2 10x20x30", "x(2x2) x(10x20x30)"},
    {"2x 2x2x", "2 i(x) x(2x2) i(x)"},
    {"1_1 -1_3 0_0_2 1_1x0_0 1_1_1x-2_-3_4", "p(1_1) p(-1_3) p(0_0_2) p(1_1x0_0) p(1_1_1x-2_-3_4)"},
    {"1_", "1 i(_)"},
    {"1_1x", "p(1_1) i(x)"},
    {"1_2_-3", "p(1_2) i(_-3)"},
    {"b01f_01io->b01f", "l(b01f_01io->b01f)"},
    {"bf_io->bf fb_oi->fb", "l(bf_io->bf) l(fb_oi->fb)"},
    {"01bf_01io->01bf ?01bf_0?1io->b01f", "l(01bf_01io->01bf) l(?01bf_0?1io->b01f)"},
    {"b_io->bf", "i(b_io-) error"}, /* two letters at least, so it is a word */
    {"bf_io->bfx", "l(bf_io->bf) i(x)"},
    {"bf_iox->bf", "i(bf_iox-) error"},
    {"?", "?"},
    {"? ?x", "? ? i(x)"},
    {"2147483648x1", "x(2147483648x1)"},

    /* strings */
    {"\"a b\" 'c\"d' \"e'f\"", "s(a b) s(c\"d) s(e'f)"},
    {"\"\" ''", "s() s()"},
    {"\"a\nb\"", "s(a\nb)"},
    {"\"a\\\"b\"", "s(a\\\"b)"},
    {"\"a", "error"},
    {"\"a'", "error"},
    {"\"a\\", "error"},
    {"\"a\\\"", "error"},
    {"\"a\\\nb\"", "error"},
    {"\"\xc3\xa9\"", "s(\xc3\xa9)"},
    {"\"\xff\"", "error"},
    {"\"\xc3\"", "error"},
    {"\"\xc3", "error"},
    {"\"\xe2\x82\xac \xf0\x9f\x98\x80\"", "s(\xe2\x82\xac \xf0\x9f\x98\x80)"},
    {"\"\xc0\x80\"", "error"},
    {"\"a/*b*/\"", "s(a/*b*/)"},
};

START_TEST(tokens_match_table) {
  const TokenCase *row = &token_cases[_i];
  char *tokens = tokens_of(row->text, strlen(row->text), false);
  ck_assert_msg(strcmp(tokens, row->tokens) == 0, "'%s': %s, not %s", row->text, tokens,
                row->tokens);
  free(tokens);
}
END_TEST

/* Where an integer is asked for, none of the longer patterns is tried. */
static const TokenCase int_cases[] = {
    {"1_2", "1 i(_2)"},
    {"2x2", "2 i(x2)"},
    {"1.5", "1 error"},
    {"1e3", "1 i(e3)"},
    {"-5", "-5"},
    {"01_01->01", "1 i(_01-) error"},
    {"}, ] :", "} , ] :"},
    {"-inf", "-inf"},
    {"?", "?"},
    {"99999999999999999999", "error"},
};

START_TEST(integers_are_read_alone) {
  const TokenCase *row = &int_cases[_i];
  char *tokens = tokens_of(row->text, strlen(row->text), true);
  ck_assert_msg(strcmp(tokens, row->tokens) == 0, "'%s': %s, not %s", row->text, tokens,
                row->tokens);
  free(tokens);
}
END_TEST

START_TEST(nul_bytes_are_errors) {
  static const struct {
    const char *text;
    size_t length;
    const char *tokens;
  } cases[] = {{"\0", 1, "error"},       {"a\0b", 3, "i(a) error"}, {"// a\0b\nc", 8, "error"},
               {"/* \0 */", 7, "error"}, {"1\0", 2, "1 error"},     {"%\0", 2, "error"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *tokens = tokens_of(cases[i].text, cases[i].length, false);
    ck_assert_msg(strcmp(tokens, cases[i].tokens) == 0, "case %zu: %s", i, tokens);
    free(tokens);
  }
}
END_TEST

/* Escapes that absl::CUnescape knows. */
static const struct {
  const char *string;
  bool is_known;
} escapes[] = {
    {"\"\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"\"", true},
    {"\"\\0 \\7 \\12 \\377 \\3777\"", true},
    {"\"\\400\"", false},
    {"\"\\8\"", false},
    {"\"\\x41\\X41\\x00b\\x000000ff\"", true},
    {"\"\\x100\"", false},
    {"\"\\x\"", false},
    {"\"\\xg\"", false},
    {"\"\\u00e9\\U0001F600\\u0000\"", true},
    {"\"\\u00e\"", false},
    {"\"\\U00110000\"", false},
    {"\"\\ud800\"", false},
    {"\"\\udfff\"", false},
    {"\"\\ue000\"", true},
    {"\"\\z\"", false},
    {"\"\\ \"", false},
    {"\"\\/\"", false},
    {"'\\''", true},
};

START_TEST(escapes_match_table) {
  Lexer lexer;
  lexer_init(&lexer, escapes[_i].string, (uint32_t)strlen(escapes[_i].string), NULL);
  lex_next(&lexer);
  ck_assert_msg((lexer.tok.kind == TOK_STRING) == escapes[_i].is_known, "%s", escapes[_i].string);
  if (!escapes[_i].is_known) {
    ck_assert_int_eq(lexer.tok.kind, TOK_ERROR);
    ck_assert_int_eq(escapes[_i].string[lexer.tok.begin], '\\');
  }
}
END_TEST

static const struct {
  const char *text;
  uint32_t length; /* of the dict; 0 = it never closes */
} dicts[] = {
    {"{}", 2},
    {"{a{b}c}d", 7},
    {"{\"}\"}", 5},
    {"{'}'}", 3},   /* single quotes hide nothing */
    {"{/*}*/}", 4}, /* nor do comments */
    {"{\"\\\"}\"} x", 7},
    {"{", 0},
    {"{{}", 0},
    {"{\"}", 0},
};

START_TEST(dicts_end_at_their_brace) {
  Lexer lexer;
  lexer_init(&lexer, dicts[_i].text, (uint32_t)strlen(dicts[_i].text), NULL);
  lex_next(&lexer);
  bool closes = lex_json_dict(&lexer);
  ck_assert_msg(closes == (dicts[_i].length > 0), "%s", dicts[_i].text);
  if (closes) {
    ck_assert_int_eq(lexer.tok.kind, TOK_STRING);
    ck_assert_uint_eq(lexer.tok.begin, 0);
    ck_assert_msg(lexer.tok.end == dicts[_i].length, "%s: %u", dicts[_i].text, lexer.tok.end);
    ck_assert_uint_eq(lexer.pos, dicts[_i].length);
  }
}
END_TEST

START_TEST(tokens_know_their_places) {
  static const char text[] = " %abc = \"x\" nm=5";
  static const struct {
    uint32_t begin, end, word_begin, word_end;
  } places[] = {{1, 5, 2, 5}, {6, 7, 6, 7}, {8, 11, 9, 10}, {12, 15, 12, 14}, {15, 16, 15, 16}};
  Lexer lexer;
  lexer_init(&lexer, text, sizeof text - 1, NULL);
  uint32_t prev_end = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    lex_next(&lexer);
    ck_assert_uint_eq(lexer.tok.begin, places[i].begin);
    ck_assert_uint_eq(lexer.tok.end, places[i].end);
    ck_assert_uint_eq(lexer.tok.word.begin, places[i].word_begin);
    ck_assert_uint_eq(lexer.tok.word.end, places[i].word_end);
    ck_assert_uint_eq(lexer.prev_end, prev_end);
    prev_end = lexer.tok.end;
  }
  lex_next(&lexer);
  ck_assert_int_eq(lexer.tok.kind, TOK_EOF);
  ck_assert_uint_eq(lexer.tok.begin, sizeof text - 1);
}
END_TEST

START_TEST(values_come_with_the_token) {
  Lexer lexer;
  static const char text[] = "bf16 nan(0x7f) nan 1.5 StackFrames";
  Arena *arena = arena_new(NULL);
  Words words;
  words_init(&words, arena);
  lexer_init(&lexer, text, sizeof text - 1, &words);
  lex_next(&lexer);
  ck_assert_int_eq(lexer.tok.value, TYPE_BF16);
  lex_next(&lexer);
  ck_assert(lexer.tok.is_nan);
  ck_assert_uint_eq(lexer.tok.nan_payload, 0x7f);
  lex_next(&lexer);
  ck_assert(lexer.tok.is_nan);
  ck_assert_uint_eq(lexer.tok.nan_payload, 0);
  lex_next(&lexer);
  ck_assert(!lexer.tok.is_nan);
  lex_next(&lexer);
  ck_assert_int_eq(lexer.tok.value, KW_STACK_FRAMES);
  arena_free(arena);
}
END_TEST

START_TEST(peeking_changes_nothing) {
  Lexer lexer;
  lexer_init(&lexer, "a { /* x", 8, NULL);
  lex_next(&lexer);
  Lexer before = lexer;
  ck_assert_int_eq(lex_peek(&lexer), TOK_LBRACE);
  ck_assert_mem_eq(&lexer, &before, sizeof lexer);
  lex_next(&lexer);
  ck_assert_int_eq(lex_peek(&lexer), TOK_ERROR);
  lex_next(&lexer);
  ck_assert_int_eq(lex_peek(&lexer), TOK_ERROR);
  uint32_t begin = lexer.tok.begin;
  lex_next(&lexer); /* an error stays */
  ck_assert_int_eq(lexer.tok.kind, TOK_ERROR);
  ck_assert_uint_eq(lexer.tok.begin, begin);
  ck_assert_uint_eq(begin, 4);
}
END_TEST

/* Which part of what follows an instruction belongs to its line. */
static const struct {
  const char *text;
  uint32_t end;
} line_ends[] = {
    {"\nx", 1},   {"  \r\nx", 4},     {" // c\nx", 6},
    {" // c", 5}, {" /* c */\nx", 9}, {" /* a */ // b\n", 14},
    {"x\n", 0},   {" x\n", 0},        {"", 0},
    {"  ", 0},    {" /* c */ x", 0},  {"/* a\n b */\nx", 11},
    {"/", 0},     {" }\n", 0},
};

START_TEST(line_ends_match_table) {
  uint32_t length = (uint32_t)strlen(line_ends[_i].text);
  uint32_t end = text_line_end(line_ends[_i].text, length, 0);
  ck_assert_msg(end == line_ends[_i].end, "'%s': %u", line_ends[_i].text, end);
}
END_TEST

START_TEST(kinds_have_texts) {
  for (int kind = TOK_EOF; kind <= TOK_PAD; kind++) {
    ck_assert_msg(tok_kind_text((TokKind)kind)[0] != '\0', "kind %d", kind);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lexer");
  TCase *tc = tcase_create("lexer");
  tcase_add_loop_test(tc, tokens_match_table, 0, sizeof token_cases / sizeof *token_cases);
  tcase_add_loop_test(tc, integers_are_read_alone, 0, sizeof int_cases / sizeof *int_cases);
  tcase_add_test(tc, nul_bytes_are_errors);
  tcase_add_loop_test(tc, escapes_match_table, 0, sizeof escapes / sizeof *escapes);
  tcase_add_loop_test(tc, dicts_end_at_their_brace, 0, sizeof dicts / sizeof *dicts);
  tcase_add_test(tc, tokens_know_their_places);
  tcase_add_test(tc, values_come_with_the_token);
  tcase_add_test(tc, peeking_changes_nothing);
  tcase_add_loop_test(tc, line_ends_match_table, 0, sizeof line_ends / sizeof *line_ends);
  tcase_add_test(tc, kinds_have_texts);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
