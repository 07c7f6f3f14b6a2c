/* libFuzzer target: tables of live ranges, packed in each way.
 *
 * No two buffers overlap, offsets are aligned, the height is that of the offsets and not below the
 * bound, no packing is higher than XLA's; the table that is written has the same ranges. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bytes.h"
#include "remat_hlo.h"

enum { MAX_RANGES = 200, MAX_STEPS = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *packing, const char *what) {
  if (ok) return;
  fprintf(stderr, "fuzz_pack: %s: %s\n", packing, what);
  abort();
}

static bool overlap(const rh_live_range *a, int64_t a_offset, const rh_live_range *b,
                    int64_t b_offset) {
  return a->lower < b->upper && b->lower < a->upper && a_offset < b_offset + b->bytes &&
         b_offset < a_offset + a->bytes;
}

static void check_offsets(const char *packing, const rh_live_range *ranges, size_t count,
                          const int64_t *offsets, const rh_pack_result *result) {
  int64_t height = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t alignment = ranges[i].alignment > 1 ? ranges[i].alignment : 1;
    require(offsets[i] >= 0 && offsets[i] % alignment == 0, packing, "not aligned");
    if (ranges[i].bytes && offsets[i] + ranges[i].bytes > height) {
      height = offsets[i] + ranges[i].bytes;
    }
    for (size_t k = 0; k < i; k++) {
      require(!overlap(&ranges[i], offsets[i], &ranges[k], offsets[k]), packing, "an overlap");
    }
  }
  require(result->height_bytes == height, packing, "another height");
  require(result->lower_bound_bytes <= height, packing, "below the lower bound");
}

/* What is written is a table of the same ranges. */
static void check_print(const char *packing, const rh_live_ranges *ranges, const int64_t *offsets) {
  Bytes bytes = {0};
  require(rh_live_ranges_print(ranges, offsets, bytes_append, &bytes) == RH_OK, packing,
          "cannot be written");
  rh_live_ranges *again;
  require(rh_live_ranges_parse(bytes.data, bytes.len, NULL, &again, NULL) == RH_OK, packing,
          "what was written cannot be read");
  size_t count = rh_live_ranges_len(ranges);
  require(rh_live_ranges_len(again) == count, packing, "another number of ranges");
  for (size_t i = 0; i < count; i++) {
    const rh_live_range *a = &rh_live_ranges_data(ranges)[i], *b = &rh_live_ranges_data(again)[i];
    require(a->lower == b->lower && a->upper == b->upper && a->bytes == b->bytes &&
                a->alignment == b->alignment,
            packing, "other ranges");
  }
  rh_live_ranges_free(again);
  free(bytes.data);
}

/* Returns the height, -1 when the ranges are refused. */
static int64_t check_packing(const char *packing, const rh_live_ranges *ranges) {
  size_t count = rh_live_ranges_len(ranges);
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.packing = packing;
  options.max_steps = MAX_STEPS;
  int64_t offsets[MAX_RANGES + 1];
  rh_pack_result result;
  rh_status status = rh_pack(rh_live_ranges_data(ranges), count, &options, offsets, &result, NULL);
  require(status == RH_OK || status == RH_ERR_INPUT, packing, "a fault of ours");
  if (status != RH_OK) return -1;
  check_offsets(packing, rh_live_ranges_data(ranges), count, offsets, &result);
  check_print(packing, ranges, offsets);
  return result.height_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rh_live_ranges *ranges;
  if (rh_live_ranges_parse((const char *)data, size, NULL, &ranges, NULL) != RH_OK) return 0;
  if (rh_live_ranges_len(ranges) <= MAX_RANGES) {
    int64_t of_xla = check_packing("xla", ranges);
    rh_entry packing;
    for (size_t i = 0; rh_list(RH_PACKINGS, i, &packing); i++) {
      int64_t height = check_packing(packing.name, ranges);
      require(height <= of_xla && (height < 0) == (of_xla < 0), packing.name, "higher than XLA's");
    }
  }
  rh_live_ranges_free(ranges);
  return 0;
}
