/* Strings of JSON. */
#include "emit/json.h"

#include <string.h>

#include "support.h"

typedef struct Output {
  char text[256];
  size_t len;
} Output;

static int append(void *context, const char *data, size_t length) {
  Output *output = context;
  ck_assert_uint_lt(output->len + length, sizeof output->text);
  memcpy(output->text + output->len, data, length);
  output->len += length;
  return 0;
}

static const struct {
  const char *text, *json;
} cases[] = {
    {"", "\"\""},
    {"a b", "\"a b\""},
    {"\"\\", "\"\\u0022\\u005c\""},
    {"</script><!--", "\"\\u003c/script>\\u003c!--\""},
    {"\n\x01\x1f\x7f", "\"\\u000a\\u0001\\u001f\x7f\""},
    {"\xc3\xa4\xe2\x80\xa8", "\"\xc3\xa4\xe2\x80\xa8\""},
};

START_TEST(strings_are_escaped) {
  Writer writer;
  Output output = {.len = 0};
  writer_init(&writer, append, &output);
  json_string(&writer, cases[_i].text, strlen(cases[_i].text));
  ck_assert_int_eq(writer_finish(&writer), RH_OK);
  output.text[output.len] = 0;
  check_text(output.text, cases[_i].json, cases[_i].text);
}
END_TEST

START_TEST(numbers_are_exact) {
  Writer writer;
  Output output = {.len = 0};
  writer_init(&writer, append, &output);
  json_int(&writer, INT64_MAX);
  json_int(&writer, -1);
  ck_assert_int_eq(writer_finish(&writer), RH_OK);
  output.text[output.len] = 0;
  check_text(output.text, "9223372036854775807-1", "numbers");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("json");
  TCase *tcase = tcase_create("json");
  tcase_add_loop_test(tcase, strings_are_escaped, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(tcase, numbers_are_exact);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
