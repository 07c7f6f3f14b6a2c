#include <stdlib.h>
#include <string.h>

#include "support.h"

typedef struct Written {
  char text[4096];
  size_t length;
} Written;

static int append(void *context, const char *data, size_t length) {
  Written *written = context;
  if (written->length + length >= sizeof written->text) return -1;
  memcpy(written->text + written->length, data, length);
  written->length += length;
  written->text[written->length] = 0;
  return 0;
}

/* ---- what is read ---- */

static const struct {
  const char *text;
  int64_t lower, upper, bytes, alignment;
  const char *written; /* with offset 8 */
} read_rows[] = {
    {"id,lower,upper,size\nb1,0,3,4\n", 0, 3, 4, 1, "id,lower,upper,size,offset\nb1,0,3,4,8\n"},
    {"id,lower,upper,size\nb1,0,3,4", 0, 3, 4, 1, "id,lower,upper,size,offset\nb1,0,3,4,8\n"},
    {"id,lower,upper,size\r\nb1,0,3,4\r\n\r\n\n", 0, 3, 4, 1,
     "id,lower,upper,size,offset\nb1,0,3,4,8\n"},
    {"buffer_id,start,end,size\n0,-3,3,4\n", -3, 4, 4, 1,
     "buffer_id,start,end,size,offset\n0,-3,3,4,8\n"},
    {"size,upper,buffer,begin\n0,9,,1\n", 1, 9, 0, 1, "size,upper,buffer,begin,offset\n0,9,,1,8\n"},
    {"id,lower,upper,size,alignment,hint,gaps\nx,1,2,7,64,-1,\n", 1, 2, 7, 64,
     "id,lower,upper,size,alignment,hint,gaps,offset\nx,1,2,7,64,-1,,8\n"},
    {"offset,id,lower,upper,size\n77,x,1,2,7\n", 1, 2, 7, 1,
     "id,lower,upper,size,offset\nx,1,2,7,8\n"},
    {"id,lower,offset,upper,size\nx,1,,2,7\n", 1, 2, 7, 1,
     "id,lower,upper,size,offset\nx,1,2,7,8\n"},
    {"id,heap,lower,upper,offset,size\nx,3,1,2,64,7\n", 1, 2, 7, 1,
     "id,lower,upper,size,offset\nx,1,2,7,8\n"},
    {"id,lower,upper,size\nx,-9223372036854775808,-1,9223372036854775807\n", INT64_MIN, -1,
     INT64_MAX, 1, "id,lower,upper,size,offset\nx,-9223372036854775808,-1,9223372036854775807,8\n"},
};

START_TEST(ranges_are_read_and_written) {
  const char *text = read_rows[_i].text;
  rh_live_ranges *ranges = NULL;
  ck_assert_int_eq(rh_live_ranges_parse(text, strlen(text), NULL, &ranges, NULL), RH_OK);
  ck_assert_uint_eq(rh_live_ranges_len(ranges), 1);
  rh_live_range range = rh_live_ranges_data(ranges)[0];
  ck_assert_int_eq(range.lower, read_rows[_i].lower);
  ck_assert_int_eq(range.upper, read_rows[_i].upper);
  ck_assert_int_eq(range.bytes, read_rows[_i].bytes);
  ck_assert_int_eq(range.alignment, read_rows[_i].alignment);
  Written written = {.length = 0};
  int64_t offset = 8;
  ck_assert_int_eq(rh_live_ranges_print(ranges, &offset, NULL, append, &written, NULL), RH_OK);
  check_text(written.text, read_rows[_i].written, text);
  uint32_t heap = 2;
  written.length = 0;
  ck_assert_int_eq(rh_live_ranges_print(ranges, &offset, &heap, append, &written, NULL), RH_OK);
  const char *header = strstr(written.text, ",offset,heap\n");
  ck_assert_msg(header && strstr(header, ",8,2\n"), "%s", written.text);
  rh_live_ranges_free(ranges);
}
END_TEST

/* ---- what is refused ---- */

#define HEAD "id,lower,upper,size\n"

static const struct {
  const char *text, *errors;
} bad_rows[] = {
    {"", "1:1: error: expected the names of the columns, id,lower,upper,size\n"},
    {"\nid,lower\n", "1:1: error: expected the names of the columns, id,lower,upper,size\n"},
    {"id,lower,upper,sise\n", "1:16: error: there is no column 'sise'; did you mean 'size'?\n"},
    {"id,lower,upper\n", "1:1: error: there is no column 'size'\n"},
    {"id,start,begin,size\n", "1:10: error: this column is given twice, got 'begin'\n"},
    {"id,lower,upper,size,\n", "1:21: error: there is no column ''\n"},
    {HEAD "x,0,1,4K\n", "2:7: error: expected an integer, got '4K'\n"},
    {HEAD "x,0,1,\n", "2:7: error: expected an integer, got ''\n"},
    {HEAD "x, 0,1,1\n", "2:3: error: expected an integer, got ' 0'\n"},
    {HEAD "x,-,1,1\n", "2:3: error: expected an integer, got '-'\n"},
    {HEAD "x,0,1,9223372036854775808\n",
     "2:7: error: expected 64 bits at most, got '9223372036854775808'\n"},
    {HEAD "x,-9223372036854775809,1,9\n",
     "2:3: error: expected 64 bits at most, got '-9223372036854775809'\n"},
    {HEAD "x,0,1,-4\n", "2:7: error: a size cannot be negative, got '-4'\n"},
    {HEAD "x,4,4,1\n", "2:5: error: the live range ends before it begins\n"},
    {HEAD "x,-9223372036854775808,0,1\n", "2:24: error: the live range is longer than 2^63 - 1\n"},
    {HEAD "x,0,1\n", "2:6: error: there are fewer fields than columns\n"},
    {HEAD "x,0,1,1,\n", "2:9: error: there are more fields than columns\n"},
    {HEAD "\nx,0,1,1\n", "2:1: error: there is an empty line before others\n"},
    {"id,lower,upper,size,alignment\nx,0,1,1,0\n",
     "2:9: error: an alignment is at least 1, got '0'\n"},
    {"id,lower,upper,size,gaps\nx,0,9,1,3-4\n",
     "2:9: error: gaps in live ranges are not supported\n"},
    {"id,lower,end,size\nx,0,9223372036854775807,1\n",
     "2:5: error: expected 64 bits at most after the end, got '9223372036854775807'\n"},
    {HEAD "x,0,1,a\ny,0,1,1\nz,0,1,b\n",
     "2:7: error: expected an integer, got 'a'\n4:7: error: expected an integer, got 'b'\n"},
};

START_TEST(faults_are_told_with_their_place) {
  const char *text = bad_rows[_i].text;
  rh_live_ranges *ranges = NULL;
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  options.max_errors = 3;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_live_ranges_parse(text, strlen(text), &options, &ranges, diags),
                   RH_ERR_INPUT);
  ck_assert_ptr_null(ranges);
  char *errors = diags_as_text(diags, text, strlen(text));
  check_text(errors, bad_rows[_i].errors, text);
  free(errors);
  rh_diags_free(diags);
}
END_TEST

START_TEST(errors_end_at_their_maximum) {
  static const char text[] = HEAD "x\ny\nz\n";
  rh_live_ranges *ranges = NULL;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_live_ranges_parse(text, sizeof text - 1, NULL, &ranges, diags), RH_ERR_INPUT);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  rh_diags_free(diags);
}
END_TEST

/* ---- rh_pack ---- */

static const struct {
  rh_live_range ranges[2];
  const char *packing, *error;
  int64_t capacity_bytes;
  rh_status status;
} pack_rows[] = {
    {{{0, 2, 3, 0}, {1, 3, 4, 1}}, "best", NULL, -1, RH_OK},
    {{{0, 2, 3, 0}, {1, 3, 4, 1}}, "best", NULL, 7, RH_OK},
    {{{0, 2, 3, 0}, {1, 3, 4, 1}}, "xla", NULL, 6, RH_OVER_LIMIT},
    {{{0, 2, 3, 0}, {1, 3, 4, 1}}, "bets", "did you mean 'best'", -1, RH_ERR_USAGE},
    {{{0, 2, 3, 0}, {1, 1, 4, 1}}, "best", "live range 1 ends before it begins", -1, RH_ERR_INPUT},
    {{{INT64_MIN, INT64_MAX, 3, 0}, {1, 3, 4, 1}}, "best", "is longer than", -1, RH_ERR_INPUT},
    {{{0, 2, 3, 0}, {1, 3, -4, 1}}, "best", "live range 1 has a negative size", -1, RH_ERR_INPUT},
    {{{0, 2, 3, -1}, {1, 3, 4, 1}}, "best", "negative alignment", -1, RH_ERR_INPUT},
    {{{0, 2, INT64_MAX, 0}, {1, 3, 1, 1}}, "best", "all sizes", -1, RH_ERR_INPUT},
    {{{0, 2, 3, 0}, {1, 3, 1, INT64_MAX}}, "best", "all sizes", -1, RH_ERR_INPUT},
};

START_TEST(public_function_checks_what_it_gets) {
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.packing = pack_rows[_i].packing;
  options.capacity_bytes = pack_rows[_i].capacity_bytes;
  int64_t offsets[2] = {-1, -1};
  rh_pack_result result = RH_PACK_RESULT_INIT;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_pack(pack_rows[_i].ranges, 2, &options, offsets, NULL, &result, diags);
  ck_assert_msg(status == pack_rows[_i].status, "row %d: %d", _i, status);
  if (pack_rows[_i].error) {
    ck_assert_uint_eq(rh_diags_len(diags), 1);
    ck_assert_ptr_nonnull(strstr(rh_diags_get(diags, 0)->message, pack_rows[_i].error));
  } else {
    ck_assert_int_eq(result.height_bytes, 7);
    ck_assert_int_eq(result.lower_bound_bytes, 7);
    ck_assert(result.is_optimal);
    ck_assert(offsets[0] + offsets[1] == 3 || offsets[0] + offsets[1] == 4);
  }
  rh_diags_free(diags);
}
END_TEST

START_TEST(huge_sizes_do_not_overflow) {
  enum { COUNT = 8 };
  rh_live_range ranges[COUNT];
  int64_t offsets[COUNT];
  for (int i = 0; i < COUNT; i++) {
    int64_t bytes = INT64_MAX / 4 / COUNT - 5 - i;
    ranges[i] = (rh_live_range){i, i + 4 + i % 3, bytes, 1 + i % 2 * 3};
  }
  rh_pack_result result = RH_PACK_RESULT_INIT;
  ck_assert_int_eq(rh_pack(ranges, COUNT, NULL, offsets, NULL, &result, NULL), RH_OK);
  ck_assert_int_ge(result.height_bytes, result.lower_bound_bytes);
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.heap_limit_bytes = INT64_MAX;
  ck_assert_int_eq(rh_pack(ranges, COUNT, &options, offsets, NULL, &result, NULL), RH_OK);
  ck_assert_uint_eq(result.num_heaps, 1);
}
END_TEST

/* The limit of a heap, the heaps what they are in all, and what lives at one time. */
static const struct {
  int64_t limit_bytes;
  uint32_t heaps[4];
  uint32_t num_heaps;
  int64_t height_bytes, bound_bytes;
} heap_rows[] = {
    {-1, {0, 0, 0, 0}, 1, 67, 67}, {100, {0, 0, 0, 0}, 1, 67, 7}, {66, {1, 0, 0, 0}, 2, 7, 7},
    {4, {1, 0, 0, 0}, 2, 7, 7},    {0, {1, 0, 2, 0}, 3, 10, 7},
};

START_TEST(heaps_have_a_limit) {
  static const rh_live_range ranges[] = {
      {0, 9, 3, 64}, {0, 9, 4, 64}, {9, 12, 3, 64}, {0, 9, 0, 64}};
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.heap_limit_bytes = heap_rows[_i].limit_bytes;
  options.packing = "xla";
  int64_t offsets[4];
  uint32_t heaps[4] = {9, 9, 9, 9};
  rh_pack_result result = RH_PACK_RESULT_INIT, other = RH_PACK_RESULT_INIT;
  ck_assert_int_eq(rh_pack(ranges, 4, &options, offsets, heaps, &result, NULL), RH_OK);
  for (int i = 0; i < 4; i++)
    ck_assert_msg(heaps[i] == heap_rows[_i].heaps[i], "row %d: %d in %u", _i, i, heaps[i]);
  ck_assert_uint_eq(result.num_heaps, heap_rows[_i].num_heaps);
  ck_assert_int_eq(result.height_bytes, heap_rows[_i].height_bytes);
  ck_assert_int_eq(result.lower_bound_bytes, heap_rows[_i].bound_bytes);
  ck_assert_int_eq(rh_pack(ranges, 4, &options, offsets, NULL, &other, NULL), RH_OK);
  ck_assert_uint_eq(other.num_heaps, result.num_heaps);
  options.capacity_bytes = result.height_bytes - 1;
  ck_assert_int_eq(rh_pack(ranges, 4, &options, offsets, NULL, &other, NULL), RH_OVER_LIMIT);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("live_range_csv");
  TCase *cases = tcase_create("csv");
  tcase_add_loop_test(cases, ranges_are_read_and_written, 0, sizeof read_rows / sizeof *read_rows);
  tcase_add_loop_test(cases, faults_are_told_with_their_place, 0,
                      sizeof bad_rows / sizeof *bad_rows);
  tcase_add_test(cases, errors_end_at_their_maximum);
  tcase_add_loop_test(cases, public_function_checks_what_it_gets, 0,
                      sizeof pack_rows / sizeof *pack_rows);
  tcase_add_loop_test(cases, heaps_have_a_limit, 0, sizeof heap_rows / sizeof *heap_rows);
  tcase_add_test(cases, huge_sizes_do_not_overflow);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
