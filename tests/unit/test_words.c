#include "text/words.h"

#include "support.h"

static const struct {
  const char *text;
  unsigned type, keyword, opcode, attr;
} rows[] = {
    {"f32", TYPE_F32, NUM_KEYWORDS, NUM_OPCODES, NUM_ATTRS},
    {"f8e4m3b11fnuz", TYPE_F8E4M3B11FNUZ, NUM_KEYWORDS, NUM_OPCODES, NUM_ATTRS},
    {"ROOT", NUM_TYPES, KW_ROOT, NUM_OPCODES, NUM_ATTRS},
    {"get-tuple-element", NUM_TYPES, NUM_KEYWORDS, OPCODE_GET_TUPLE_ELEMENT, NUM_ATTRS},
    {"metadata", NUM_TYPES, NUM_KEYWORDS, NUM_OPCODES, ATTR_METADATA},
    /* An opcode and an attribute of select-and-scatter. */
    {"scatter", NUM_TYPES, NUM_KEYWORDS, OPCODE_SCATTER, ATTR_SCATTER},
};

START_TEST(words_match_table) {
  Arena *arena = arena_new(NULL);
  Words words;
  words_init(&words, arena);
  Str text = str_make(rows[_i].text, strlen(rows[_i].text));
  const Word *word = words_find(&words, text, hash_str(text));
  ck_assert_msg(word != NULL, "%s is not known", rows[_i].text);
  ck_assert_uint_eq(word->type, rows[_i].type);
  ck_assert_uint_eq(word->keyword, rows[_i].keyword);
  ck_assert_uint_eq(word->opcode, rows[_i].opcode);
  ck_assert_uint_eq(word->attr, rows[_i].attr);
  arena_free(arena);
}
END_TEST

START_TEST(other_words_mean_nothing) {
  static const char *const texts[] = {"", "f", "f33", "F32", "root", "ROOTS", "add.1", "metadat"};
  Arena *arena = arena_new(NULL);
  Words words;
  words_init(&words, arena);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    Str text = str_make(texts[i], strlen(texts[i]));
    ck_assert_msg(!words_find(&words, text, hash_str(text)), "'%s' is known", texts[i]);
  }
  arena_free(arena);
}
END_TEST

START_TEST(every_attribute_has_a_first_row_of_its_text) {
  Arena *arena = arena_new(NULL);
  Words words;
  words_init(&words, arena);
  for (unsigned i = 0; i < NUM_ATTRS; i++) {
    AttrId first = (AttrId)words.attr_name[i];
    ck_assert_uint_le(first, i);
    ck_assert_str_eq(attribute_info(first)->text, attribute_info((AttrId)i)->text);
    for (unsigned k = 0; k < first; k++) {
      ck_assert_str_ne(attribute_info((AttrId)k)->text, attribute_info(first)->text);
    }
  }
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("words");
  TCase *tc = tcase_create("words");
  tcase_add_loop_test(tc, words_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, other_words_mean_nothing);
  tcase_add_test(tc, every_attribute_has_a_first_row_of_its_text);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
