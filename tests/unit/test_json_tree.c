#include "ir/json_tree.h"

#include <stdlib.h>

#include "support.h"

/* `kind:text` of each node, lists in brackets, members with their keys. */
static void add_shown(Arena *out, const char **shown, const JsonNode *node) {
  static const char *const kinds[] = {"null", "false", "true", "number", "string", "[", "{"};
  const char *key = node->key.data ? node->key.data : "";
  text_add(out, shown, "%s%s%s", key, *key ? "=" : "", kinds[node->kind]);
  if (node->kind == JSON_NUMBER || node->kind == JSON_STRING)
    text_add(out, shown, "'%.*s'", (int)node->text.len, node->text.data);
  for (const JsonNode *child = node->first; child; child = child->next)
    add_shown(out, shown, child);
  if (node->kind >= JSON_ARRAY) text_add(out, shown, "%s", node->kind == JSON_ARRAY ? "]" : "}");
}

static const struct {
  const char *text, *shown;
} rows[] = {
    {"null", "null"},
    {" \t\r\n true ", "true"},
    {"-12.5e+3", "number '-12.5e+3'"},
    {"\"\"", "string ''"},
    {"\"a\\n\\\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
     "string 'a\n\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'"},
    {"[]", "[ ]"},
    {"{}", "{ }"},
    {"[1, [2], {}]", "[ number '1' [ number '2' ] { } ]"},
    {"{\"a\": {\"b\": []}, \"c\": false}", "{ a={ b=[ ] } c=false }"},
};

START_TEST(trees_are_those_of_the_table) {
  Arena *arena = arena_new(NULL);
  JsonNode *root;
  ck_assert_int_eq(json_tree_parse(rows[_i].text, strlen(rows[_i].text), &root, NULL, arena),
                   RH_OK);
  const char *shown = NULL;
  add_shown(arena, &shown, root);
  check_text(shown, rows[_i].shown, rows[_i].text);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *text, *fault;
} faults[] = {
    {"", "1:1: error: expected a value\n"},
    {"[1,]", "1:4: error: expected a value\n"},
    {"[1 2]", "1:4: error: expected ',' or ']'\n"},
    {"{\"a\" 1}", "1:6: error: expected ':' after the key\n"},
    {"{a: 1}", "1:2: error: expected a key in quotes\n"},
    {"{\"a\": 1, \"a\": 2}", "1:10: error: this key is twice\n"},
    {"[\n\"ab", "2:1: error: this string has no end\n"},
    {"\"a\nb\"", "1:3: error: a string has no line ends or control characters\n"},
    {"\"\\x\"", "1:3: error: no such escape in a string\n"},
    {"\"\\u12\"", "1:5: error: no such escape in a string\n"},
    {"\"\\ud83d\"", "1:7: error: no such escape in a string\n"},
    {"\"\\", "1:2: error: no such escape in a string\n"},
    {"nul", "1:1: error: expected a value\n"},
    {"1 1", "1:3: error: nothing may follow the value\n"},
};

START_TEST(faults_have_places) {
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  JsonNode *root;
  const char *text = faults[_i].text;
  ck_assert_int_eq(json_tree_parse(text, strlen(text), &root, diags, arena), RH_ERR_INPUT);
  char *shown = diags_as_text(diags, text, strlen(text));
  check_text(shown, faults[_i].fault, text);
  free(shown);
  rh_diags_free(diags);
  arena_free(arena);
}
END_TEST

START_TEST(depth_is_bounded) {
  Arena *arena = arena_new(NULL);
  JsonNode *root;
  char text[1000];
  memset(text, '[', sizeof text);
  ck_assert_int_eq(json_tree_parse(text, sizeof text, &root, NULL, arena), RH_ERR_INPUT);
  memset(text + 200, ']', 200);
  ck_assert_int_eq(json_tree_parse(text, 400, &root, NULL, arena), RH_OK);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *text;
  int64_t value;
  bool is_whole;
} numbers[] = {
    {"0", 0, true},
    {"-0", 0, true},
    {"9223372036854775807", INT64_MAX, true},
    {"-9223372036854775808", INT64_MIN, true},
    {"9223372036854775808", 0, false},
    {"-9223372036854775809", 0, false},
    {"99999999999999999999", 0, false},
    {"1.0", 0, false},
    {"1e3", 0, false},
    {"-", 0, false},
    {"true", 0, false},
};

START_TEST(whole_numbers_are_those_of_the_table) {
  Arena *arena = arena_new(NULL);
  JsonNode *root;
  int64_t value = 0;
  const char *text = numbers[_i].text;
  ck_assert_int_eq(json_tree_parse(text, strlen(text), &root, NULL, arena), RH_OK);
  ck_assert_msg(json_int64(root, &value) == numbers[_i].is_whole, "%s", text);
  ck_assert_int_eq(value, numbers[_i].value);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("json_tree");
  TCase *tc = tcase_create("json_tree");
  tcase_add_loop_test(tc, trees_are_those_of_the_table, 0, sizeof rows / sizeof *rows);
  tcase_add_loop_test(tc, faults_have_places, 0, sizeof faults / sizeof *faults);
  tcase_add_loop_test(tc, whole_numbers_are_those_of_the_table, 0,
                      sizeof numbers / sizeof *numbers);
  tcase_add_test(tc, depth_is_bounded);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
