/* libFuzzer target: tables of live ranges, packed in each way.
 *
 * No two buffers overlap, offsets are aligned, the height is that of the offsets and not below the
 * bound, heaps are not above their limit unless a buffer is, the search never makes it
 * higher than XLA's; the table that is written has the same ranges. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int64_t end_of(const rh_live_range *range, int64_t offset) {
  return range->bytes ? offset + range->bytes : 0;
}

static void check_offsets(const char *packing, const rh_live_range *ranges, size_t count,
                          int64_t limit_bytes, const int64_t *offsets, const uint32_t *heaps,
                          const rh_pack_result *result) {
  int64_t heights[MAX_RANGES + 1] = {0}, largest[MAX_RANGES + 1] = {0}, height = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t alignment = ranges[i].alignment > 1 ? ranges[i].alignment : 1;
    int64_t end = end_of(&ranges[i], offsets[i]);
    require(offsets[i] >= 0 && offsets[i] % alignment == 0, packing, "not aligned");
    require(heaps[i] < result->num_heaps, packing, "no such heap");
    if (end > heights[heaps[i]]) heights[heaps[i]] = end;
    if (ranges[i].bytes > largest[heaps[i]]) largest[heaps[i]] = ranges[i].bytes;
    for (size_t k = 0; k < i; k++) {
      bool is_over =
          heaps[i] == heaps[k] && overlap(&ranges[i], offsets[i], &ranges[k], offsets[k]);
      require(!is_over, packing, "an overlap");
    }
  }
  for (uint32_t heap = 0; heap < result->num_heaps && heap <= MAX_RANGES; heap++) {
    bool is_kept =
        limit_bytes < 0 || heights[heap] <= limit_bytes || heights[heap] == largest[heap];
    require(is_kept, packing, "above the limit");
    height += heights[heap];
  }
  require(result->height_bytes == height, packing, "another height");
  require(result->lower_bound_bytes <= height, packing, "below the lower bound");
}

/* What is written is a table of the same ranges. */
static void check_print(const char *packing, const rh_live_ranges *ranges, const int64_t *offsets,
                        const uint32_t *heaps) {
  Bytes bytes = {0};
  require(rh_live_ranges_print(ranges, offsets, heaps, bytes_append, &bytes, NULL) == RH_OK,
          packing, "cannot be written");
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
static int64_t check_packing(const char *packing, const rh_live_ranges *ranges,
                             int64_t limit_bytes) {
  size_t count = rh_live_ranges_len(ranges);
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  options.packing = packing;
  options.max_steps = MAX_STEPS;
  options.heap_limit_bytes = limit_bytes;
  int64_t offsets[MAX_RANGES + 1];
  uint32_t heaps[MAX_RANGES + 1];
  rh_pack_result result = RH_PACK_RESULT_INIT;
  rh_status status =
      rh_pack(rh_live_ranges_data(ranges), count, &options, offsets, heaps, &result, NULL);
  require(status == RH_OK || status == RH_ERR_INPUT, packing, "a fault of ours");
  if (status != RH_OK) return -1;
  check_offsets(packing, rh_live_ranges_data(ranges), count, limit_bytes, offsets, heaps, &result);
  check_print(packing, ranges, offsets, limit_bytes < 0 ? NULL : heaps);
  return result.height_bytes;
}

/* Returns the height that XLA's has, -1 when the ranges are refused. */
static int64_t check_all(const rh_live_ranges *ranges, int64_t limit_bytes) {
  int64_t of_xla = check_packing("xla", ranges, limit_bytes);
  const rh_entry *packing;
  for (size_t i = 0; (packing = rh_list(RH_PACKINGS, i)); i++) {
    int64_t height = check_packing(packing->name, ranges, limit_bytes);
    require((height < 0) == (of_xla < 0), packing->name, "refuses what others take");
    bool is_search = strcmp(packing->name, "best") == 0;
    require(!is_search || height <= of_xla, packing->name, "higher than XLA's");
  }
  return of_xla;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rh_live_ranges *ranges;
  if (rh_live_ranges_parse((const char *)data, size, NULL, &ranges, NULL) != RH_OK) return 0;
  if (rh_live_ranges_len(ranges) <= MAX_RANGES) {
    int64_t whole = check_all(ranges, -1);
    if (whole >= 0) check_all(ranges, whole / 3);
  }
  rh_live_ranges_free(ranges);
  return 0;
}
