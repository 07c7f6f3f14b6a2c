/* Minimalloc's instances, all of which can be packed into 1 MiB. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "support.h"

static const int64_t CAPACITY_BYTES = 1 << 20;

/* How many instances there are, a letter each; and what none of them takes. */
enum { NUM_INSTANCES = 11, MANY_STEPS = 100000000 };

static rh_live_ranges *read_instance(int index, char **text) {
  char name[40];
  size_t length;
  rh_live_ranges *ranges = NULL;
  snprintf(name, sizeof name, "packing/%c.1048576.csv", 'A' + index);
  *text = corpus_read(name, &length);
  ck_assert_int_eq(rh_live_ranges_parse(*text, length, NULL, &ranges, NULL), RH_OK);
  return ranges;
}

static int64_t height_by(const rh_live_ranges *ranges, const char *packing, int64_t capacity_bytes,
                         rh_status wanted) {
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.packing = packing;
  options.capacity_bytes = capacity_bytes;
  size_t count = rh_live_ranges_len(ranges);
  const rh_live_range *list = rh_live_ranges_data(ranges);
  int64_t *offsets = calloc(count, sizeof *offsets);
  rh_pack_result result = RH_PACK_RESULT_INIT;
  ck_assert_int_eq(rh_pack(list, count, &options, offsets, NULL, &result, NULL), wanted);
  ck_assert_uint_lt(result.num_steps, MANY_STEPS);
  for (size_t i = 0; i < count; i++) {
    ck_assert(offsets[i] >= 0 && offsets[i] + list[i].bytes <= result.height_bytes);
    for (size_t k = 0; k < i; k++) {
      if (list[i].lower >= list[k].upper || list[k].lower >= list[i].upper) continue;
      ck_assert(offsets[i] + list[i].bytes <= offsets[k] ||
                offsets[k] + list[k].bytes <= offsets[i]);
    }
  }
  free(offsets);
  return result.height_bytes;
}

START_TEST(instance_fits) {
  char *text;
  rh_live_ranges *ranges = read_instance(_i, &text);
  int64_t height = height_by(ranges, "best", CAPACITY_BYTES, RH_OK);
  ck_assert_msg(height <= CAPACITY_BYTES, "%c: height %" PRId64, 'A' + _i, height);
  ck_assert_int_gt(height_by(ranges, "xla", CAPACITY_BYTES, RH_OVER_LIMIT), CAPACITY_BYTES);
  rh_live_ranges_free(ranges);
  free(text);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_packing");
  TCase *tc = tcase_create("packing");
  tcase_set_timeout(tc, 120); /* the sanitizers are slow */
  tcase_add_loop_test(tc, instance_fits, 0, NUM_INSTANCES);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
