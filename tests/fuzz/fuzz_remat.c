/* libFuzzer target: whatever can be read is scheduled, rematerialized, printed and read again,
 * through the public functions alone, without a fault of ours.
 *
 * Four bytes behind a `//` at the very beginning choose: the algorithm, the scheduler, the limit in
 * percent of what the module needs, and a bit for each of the options below. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "remat_hlo.h"
#include "tracked.h"

enum {
  MAX_TEXT_BYTES = 64 << 10,
  MAX_MEMORY_BYTES = 96 << 20,
};

enum Choice {
  CHOOSE_UNSCHEDULED = 1 << 0,
  CHOOSE_IGNORE_SCHEDULE = 1 << 1,
  CHOOSE_UNFUSE = 1 << 2,
  CHOOSE_NO_INLINE = 1 << 3,
  CHOOSE_SMALL_TOO = 1 << 4,
  CHOOSE_COLLECTIVES = 1 << 5,
  CHOOSE_MODEL = 1 << 6,
  CHOOSE_BLOCKS = 1 << 7,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static jmp_buf out_of_memory;

/* A module that takes too much memory is given up: what others allocated is in `tracked`. */
static void require(bool ok, const char *what, const rh_diags *diags) {
  if (ok) return;
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    if (rh_diags_get(diags, i)->code == RH_CODE_OUT_OF_MEMORY) longjmp(out_of_memory, 1);
  }
  fprintf(stderr, "fuzz_remat: %s\n", what);
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    fprintf(stderr, "  %s\n", rh_diags_get(diags, i)->message);
  }
  abort();
}

/* ---- what the first bytes choose ---- */

typedef struct Choices {
  rh_schedule_options schedule;
  rh_remat_options remat;
  int percent;
} Choices;

static const char *pick_name(rh_registry registry, unsigned number) {
  unsigned count = 0;
  const rh_entry *entry;
  /* A solver, which the last one needs, takes too long. */
  while ((entry = rh_list(registry, count)) && !(entry->traits & RH_TRAIT_NEEDS_SOLVER))
    count++;
  return rh_list(registry, number % count)->name;
}

static Choices choose(const uint8_t *data, size_t size) {
  Choices choices = {RH_SCHEDULE_OPTIONS_INIT, RH_REMAT_OPTIONS_INIT, 60};
  bool is_chosen = size >= 6 && data[0] == '/' && data[1] == '/';
  unsigned bits = is_chosen ? data[5] : CHOOSE_SMALL_TOO;
  if (is_chosen) {
    choices.remat.algorithm = pick_name(RH_ALGORITHMS, data[2]);
    choices.schedule.scheduler = pick_name(RH_SCHEDULERS, data[3]);
    choices.remat.protect = (rh_protect)(data[3] / 16 % (RH_PROTECT_CONDITIONAL + 1));
    choices.percent = data[4] % 101;
  }
  if (bits & CHOOSE_UNSCHEDULED) choices.remat.emit = RH_EMIT_UNSCHEDULED;
  if (bits & CHOOSE_SMALL_TOO) choices.remat.small_node_bytes = 0;
  choices.remat.effort = 1;
  if (bits & CHOOSE_MODEL) choices.remat.memory_model = pick_name(RH_MEMORY_MODELS, data[4]);
  if (bits & CHOOSE_BLOCKS) choices.remat.block_size_limit = 8;
  choices.remat.clone_callees = is_chosen && data[3] & 0x80;
  if (bits & CHOOSE_BLOCKS) choices.remat.modes |= RH_REMAT_NARROW;
  choices.remat.remat_collectives = (bits & CHOOSE_COLLECTIVES) != 0;
  choices.schedule.ignore_schedule = (bits & CHOOSE_IGNORE_SCHEDULE) != 0;
  choices.schedule.unfuse = bits & CHOOSE_UNFUSE ? RH_UNFUSE_ALL : 0;
  if (bits & CHOOSE_NO_INLINE) choices.schedule.inline_calls = RH_INLINE_NEVER;
  return choices;
}

/* ---- what must hold ---- */

static int discard(void *context, const char *data, size_t length) {
  (void)context;
  (void)data;
  (void)length;
  return 0;
}

static int64_t measure(const rh_module *module, const rh_settings *settings,
                       const rh_remat_options *options, rh_diags *diags) {
  rh_memory memory = RH_MEMORY_INIT;
  require(rh_measure_memory(module, settings, options->memory_model, &memory, diags) == RH_OK,
          "a scheduled module cannot be measured", diags);
  require(memory.lower_bound_bytes <= memory.peak_bytes, "the peak is below the bound", diags);
  return rh_counted_bytes(&memory, options->limit_counts);
}

/* What lives at the peak is the peak. */
static void check_report(const rh_module *module, const char *model, rh_diags *diags) {
  rh_report *report = NULL;
  require(rh_report_make(module, NULL, model, &report, diags) == RH_OK, "no report", diags);
  int64_t bytes = 0;
  for (size_t i = 0; i < report->num_live; i++)
    bytes += report->live[i]->bytes;
  require(bytes + report->unused_bytes == report->memory->peak_bytes && report->unused_bytes >= 0,
          "the live set is not the peak", diags);
  rh_report_free(report);
}

/* Values lie in their spaces, and every picture of both modules is drawn. */
static void check_pictures(const rh_module *before, const rh_module *after,
                           const rh_remat_options *options, rh_diags *diags) {
  rh_memory_map *maps[2] = {NULL, NULL};
  require(rh_memory_map_make(before, NULL, &maps[0], diags) == RH_OK &&
              rh_memory_map_make(after, NULL, &maps[1], diags) == RH_OK,
          "no memory map", diags);
  for (size_t i = 0; i < maps[1]->num_values; i++) {
    const rh_placed_value *value = maps[1]->values[i];
    require(value->begin < value->end && value->offset >= 0 &&
                value->offset + value->value->bytes <= maps[1]->spaces[value->space]->bytes,
            "a value lies outside", diags);
  }
  rh_picture picture = RH_PICTURE_INIT;
  picture.before = maps[0];
  picture.after = maps[1];
  picture.before_title = "before";
  picture.after_title = "after";
  picture.limit_bytes = options->limit_bytes;
  picture.limit_counts = options->limit_counts;
  for (int format = 0; format < RH_NUM_PICTURE_FORMATS; format++) {
    rh_status status = rh_emit_picture(&picture, (rh_picture_format)format, discard, NULL, diags);
    bool is_left_out = status == RH_ERR_USAGE && format == RH_PICTURE_HTML;
    require(status == RH_OK || is_left_out, "a picture failed", diags);
  }
  rh_memory_map_free(maps[1]);
  rh_memory_map_free(maps[0]);
}

/* The printed result is a module that computes the same in the memory that was claimed. */
static void check_print(const rh_module *before, const rh_module *result, const Choices *choices,
                        int64_t counted_bytes, rh_diags *diags) {
  Bytes bytes = {0};
  require(rh_print(result, bytes_append, &bytes, diags) == RH_OK, "the result cannot be printed",
          diags);
  rh_module *again;
  require(rh_parse(bytes.data, bytes.len, NULL, &again, diags) == RH_OK,
          "the printed result cannot be read", diags);
  rh_settings settings = RH_SETTINGS_INIT;
  settings.copies = rh_get_info(result)->copies; /* a text does not say */
  const rh_schedule_options *schedule = &choices->schedule;
  bool is_as_was =
      strcmp(schedule->scheduler, "auto") == 0 || strcmp(schedule->scheduler, "input") == 0;
  rh_verify_options options = RH_VERIFY_OPTIONS_INIT;
  options.ignore_schedule = schedule->ignore_schedule || !is_as_was;
  options.any_rounding =
      schedule->unfuse != 0; /* what is not fused any more may be rounded otherwise */
  require(rh_verify(before, again, NULL, &options, diags) == RH_OK,
          "the result computes something else", diags);
  if (choices->remat.emit == RH_EMIT_SCHEDULED) {
    require(measure(again, &settings, &choices->remat, diags) == counted_bytes,
            "another memory than claimed", diags);
  }
  rh_module_free(again);
  free(bytes.data);
}

static void check_remat(const rh_module *module, const rh_module *scheduled, Choices *choices,
                        rh_diags *diags) {
  int64_t before_bytes = measure(scheduled, NULL, &choices->remat, diags);
  choices->remat.limit_bytes = before_bytes / 100 * choices->percent;
  rh_module *result = NULL;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_status status = rh_remat(scheduled, NULL, &choices->remat, &result, &info, diags);
  require(status == RH_OK || status == RH_OVER_LIMIT, "rematerialization failed", diags);
  require((status == RH_OK) == (info.counted_bytes <= choices->remat.limit_bytes),
          "the status says something else than the bytes", diags);
  check_print(module, result, choices, info.counted_bytes, diags);
  require(rh_emit_memlog(result, NULL, choices->remat.memory_model, RH_MEMLOG_JSONL, discard, NULL,
                         diags) == RH_OK,
          "the memory log failed", diags);
  check_pictures(scheduled, result, &choices->remat, diags);
  rh_module_free(result);
}

static void check_module(const rh_module *module, Choices *choices, rh_diags *diags) {
  rh_cost cost = RH_COST_INIT;
  rh_module *scheduled = NULL;
  rh_status status = rh_check(module, diags);
  require(status == RH_OK || status == RH_ERR_INPUT, "checking failed", diags);
  if (status != RH_OK) return;
  require(rh_measure_cost(module, NULL, NULL, 3, &cost, diags) == RH_OK, "no cost", diags);
  status = rh_schedule(module, NULL, &choices->schedule, &scheduled, diags);
  require(status == RH_OK || status == RH_ERR_INPUT, "scheduling failed", diags);
  if (status == RH_OK) check_report(scheduled, choices->remat.memory_model, diags);
  if (status == RH_OK) check_remat(module, scheduled, choices, diags);
  rh_module_free(scheduled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > MAX_TEXT_BYTES) return -1;
  Choices choices = choose(data, size);
  rh_parse_options options = RH_PARSE_OPTIONS_INIT;
  options.max_memory_bytes = MAX_MEMORY_BYTES;
  tracked_begin();
  if (setjmp(out_of_memory) != 0) {
    tracked_free_all();
    return 0;
  }
  rh_diags *diags = rh_diags_new();
  rh_module *module = NULL;
  if (rh_parse((const char *)data, size, &options, &module, diags) == RH_OK) {
    check_module(module, &choices, diags);
  }
  rh_module_free(module);
  rh_diags_free(diags);
  tracked_end();
  return 0;
}
