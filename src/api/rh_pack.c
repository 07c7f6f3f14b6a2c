/* The public function of analysis/pack/packing.h. */
#include <inttypes.h>
#include <string.h>

#include "analysis/pack/heaps.h"
#include "ir/bytes.h"
#include "ir/clock.h"
#include "api/call.h"
#include "api/arguments.h"
#include "api/sized.h"

static rh_status fail_range(size_t index, const char *why, rh_diags *diags) {
  return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE, "live range %zu %s", index, why);
}

static rh_status check_ranges(const rh_live_range *ranges, size_t count, rh_diags *diags) {
  int64_t total = 0, duration;
  if (count > UINT32_MAX / 4) {
    return diag_fail(diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_TOO_LARGE, NO_OFFSET),
                     "there are more than 2^30 live ranges");
  }
  for (size_t i = 0; i < count; i++) {
    const rh_live_range *range = &ranges[i];
    if (range->lower >= range->upper) return fail_range(i, "ends before it begins", diags);
    if (__builtin_sub_overflow(range->upper, range->lower, &duration)) {
      return fail_range(i, "is longer than 2^63 - 1 ticks", diags);
    }
    if (range->bytes < 0) return fail_range(i, "has a negative size", diags);
    if (range->alignment < 0) return fail_range(i, "has a negative alignment", diags);
    int64_t padding = range->alignment > 1 ? range->alignment - 1 : 0;
    if (!add_bytes(total, range->bytes, &total) || !add_bytes(total, padding, &total) ||
        total > PACK_MAX_BYTES) {
      return diag_fail(diags, RH_ERR_INPUT, DIAG_NOWHERE,
                       "all sizes and alignments together are more than %" PRId64 " bytes",
                       PACK_MAX_BYTES);
    }
  }
  return RH_OK;
}

/* Without colocation, each live range is a buffer of its own. */
static PackProblem make_problem(const rh_live_range *ranges, uint32_t count, Arena *out) {
  PackBuffer *buffers = arena_array(out, PackBuffer, count);
  PackRange *times = arena_array(out, PackRange, count);
  for (uint32_t i = 0; i < count; i++) {
    times[i] = (PackRange){ranges[i].lower, ranges[i].upper};
    buffers[i] = (PackBuffer){.bytes = ranges[i].bytes,
                              .first_bytes = ranges[i].bytes,
                              .alignment = ranges[i].alignment > 1 ? ranges[i].alignment : 1,
                              .first_range = i,
                              .num_ranges = 1};
  }
  return (PackProblem){buffers, times, count, count};
}

static rh_status pack(const PackProblem *problem, const Packer *packer,
                      const rh_pack_options *options, Packing *packing, rh_pack_result *result,
                      rh_diags *diags, Arena *scratch) {
  double start = seconds_now();
  PackBudget budget = {.max_steps = options->max_steps};
  if (options->max_seconds > 0) budget.end_seconds = start + options->max_seconds;
  packer->run(problem, options->capacity_bytes, &budget, packing, scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  *result = (rh_pack_result){.height_bytes = packing->height_bytes,
                             .lower_bound_bytes = pack_heaps_bound(&sections, packing),
                             .is_optimal = packing->is_optimal,
                             .num_heaps = packing->heaps ? packing->num_heaps : 1,
                             .num_steps = budget.steps,
                             .seconds = seconds_now() - start};
  if (!packing_check(problem, packing, scratch)) {
    return diag_fail(diags, RH_ERR_INTERNAL, DIAG_ABOUT(RH_CODE_INTERNAL, NO_OFFSET),
                     "fault of ours: buffers overlap in the packing that was found");
  }
  bool is_met = options->capacity_bytes < 0 || packing->height_bytes <= options->capacity_bytes;
  return is_met ? RH_OK : RH_OVER_LIMIT;
}

static rh_status pack_ranges(const rh_live_range *ranges, size_t count,
                             const rh_pack_options *options, int64_t *offsets, uint32_t *heaps,
                             rh_pack_result *result, const ArenaOptions *memory, rh_diags *diags) {
  const Packer *packer = packer_find(options->packing);
  if (!packer) return fail_unknown_name(RH_PACKINGS, options->packing, diags);
  rh_status status = check_ranges(ranges, count, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(memory), *scratch = arena_new(memory);
  PackProblem problem = make_problem(ranges, (uint32_t)count, arena);
  Packing packing = {.offsets = offsets, .heap_limit_bytes = options->heap_limit_bytes};
  if (options->heap_limit_bytes >= 0) {
    packing.heaps = heaps ? heaps : arena_array(arena, uint32_t, count);
  } else if (heaps && count) {
    memset(heaps, 0, count * sizeof *heaps);
  }
  status = pack(&problem, packer, options, &packing, result, diags, scratch);
  arena_free(scratch);
  arena_free(arena);
  return status;
}

rh_status rh_pack(const rh_live_range *ranges, size_t count, const rh_pack_options *given,
                  int64_t *offsets, uint32_t *heaps, rh_pack_result *result, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_RANGE);
  rh_pack_options options = RH_PACK_OPTIONS_INIT;
  rh_pack_result own = {0};
  rh_status status = sized_clear(result, "rh_pack_result", diags);
  if (status == RH_OK) {
    status = sized_read(&options, sizeof options, given, "rh_pack_options", diags);
  }
  if (status == RH_OK) {
    ArenaOptions memory = call_memory(call, options.max_memory_bytes);
    status = pack_ranges(ranges, count, &options, offsets, heaps, &own, &memory, diags);
  }
  if (status == RH_OK || status == RH_OVER_LIMIT) sized_write(result, &own, sizeof own);
  return call_close(call, status);
}
