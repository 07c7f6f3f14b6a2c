#include "ir/suggest.h"

#include <string.h>

#include "support.h"

typedef struct Case {
  const char *word;
  const char *candidates[4];
  const char *best; /* NULL = none is close */
} Case;

static const Case words[] = {
    {"negat", {"add", "negate", "not"}, "negate"},
    {"ngeate", {"add", "negate"}, "negate"}, /* a swap is one change */
    {"x", {"y"}, "y"},
    {"eq", {"NE", "EQ"}, "EQ"},                   /* capitals or not */
    {"dim", {"dimensions", "did"}, "dimensions"}, /* a beginning is as good as one change */
    {"dimension", {"dimensions", "dimensionz"}, "dimensions"}, /* the first of equals */
    {"tahn", {"tan", "tanh", "than"}, "tanh"},                 /* of equals one that is as long */
    {"transp", {"transpose_invalid", "transpose"}, "transpose"},
    {"negate", {"add", "multiply", "subtract"}, NULL},
    {"", {"a"}, NULL},
    {"negate", {NULL}, NULL},
    {"f33", {"s4", "f32", "f64"}, "f32"},
};

static const Case names[] = {
    {"scala", {"x", "scale", "bias"}, "scale"},
    {"z", {"x", "y"}, NULL}, /* a name of one letter is like any other */
    {"Z", {"x", "z"}, "z"},
    {"fusion.12", {"fusion.13", "fusion.2", "fusion.120"}, NULL},
    {"fusion12", {"fusion.13", "fusion.12"}, "fusion.12"},
    {"p0", {"p1", "p00"}, NULL},
    {"fusion", {"fusion.1", "fusion.2"}, "fusion.1"},
    {"add.1", {"and.1", "dot.1"}, "and.1"},
    {"multiply_fusion", {"multiply_add_fusion"}, "multiply_add_fusion"},
    {"arg0_1", {"arg1_1", "arg0_2"}, NULL},
    {"arg0_11", {"arg1_11", "arg0.11"}, "arg0.11"},
};

static void check(const Case *row, Suggestion suggestion) {
  for (int i = 0; i < 4 && row->candidates[i]; i++)
    suggest_offer(&suggestion, str_make(row->candidates[i], strlen(row->candidates[i])));
  bool is_none = suggestion.best.len == 0;
  ck_assert_msg(row->best ? str_is(suggestion.best, row->best) : is_none, "%s: '%.*s'", row->word,
                (int)suggestion.best.len, is_none ? "" : suggestion.best.data);
}

START_TEST(words_match_table) {
  const Case *row = &words[_i];
  check(row, suggest_word(str_make(row->word, strlen(row->word))));
}
END_TEST

START_TEST(names_match_table) {
  const Case *row = &names[_i];
  check(row, suggest_name(str_make(row->word, strlen(row->word))));
}
END_TEST

START_TEST(long_words_are_left_alone) {
  char text[1000];
  memset(text, 'a', sizeof text);
  Suggestion suggestion = suggest_name(str_make(text, sizeof text));
  suggest_offer(&suggestion, str_make(text, sizeof text - 1));
  ck_assert_uint_eq(suggestion.best.len, 0);
  suggestion = suggest_word(str_make(text, 64));
  suggest_offer(&suggestion, str_make(text, 65));
  ck_assert_uint_eq(suggestion.best.len, 0);
  suggest_offer(&suggestion, str_make(text, 63));
  ck_assert_uint_eq(suggestion.best.len, 63);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("suggest");
  TCase *tc = tcase_create("suggest");
  tcase_add_loop_test(tc, words_match_table, 0, sizeof words / sizeof *words);
  tcase_add_loop_test(tc, names_match_table, 0, sizeof names / sizeof *names);
  tcase_add_test(tc, long_words_are_left_alone);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
