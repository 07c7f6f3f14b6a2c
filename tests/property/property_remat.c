/* Every algorithm under every memory model and several limits: what comes out is equivalent, by the
 * verifier and by running it; its peak is the one that is claimed and not above the input's; the
 * status says whether the budget is met; side effects happen as before; twice the same gives the
 * same bytes; what is pinned, or never to be recomputed, is not.
 *
 * Modules that read overwritten memory in their own order are taken as if XLA had still to insert
 * copies, but a fourth of them as what they look like: then no such read is added. */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flow/copy_stage.h"
#include "interpret.h"
#include "property.h"
#include "remat/legality/safe_reads.h"

static rh_memory measure(const rh_module *module, const rh_remat_options *options,
                         const Sample *sample) {
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(
      rh_measure_memory(module, &sample->settings, options->memory_model, &memory, NULL), RH_OK);
  return memory;
}

static int64_t counted(const rh_module *module, const rh_remat_options *options,
                       const Sample *sample) {
  rh_memory memory = measure(module, options, sample);
  return rh_counted_bytes(&memory, options->limit_counts);
}

/* Whether a model counts all that lives at one time, also where a module reads what has been
 * overwritten: otherwise a peak of that module says nothing. */
static bool counts_all(const rh_module *module, const rh_remat_options *options) {
  if (strcmp(options->memory_model, "xla-remat") == 0) return true;
  if (!copies_are_inserted(module->module)) return strcmp(options->memory_model, "heap") == 0;
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  uint32_t num_reads = known_reads_find(module->module, &module->schedule, arena, scratch).len;
  arena_free(scratch);
  arena_free(arena);
  return num_reads == 0;
}

static void check_bound(const rh_module *module, const rh_memory *before,
                        const rh_remat_options *options, const char *what, const Sample *sample) {
  int64_t bytes = measure(module, options, sample).peak_bytes;
  ck_assert_msg(bytes >= before->lower_bound_bytes,
                "%s, %s: %" PRId64 " bytes, below the bound %" PRId64 " by '%.*s'\n%s", what,
                options->memory_model, bytes, before->lower_bound_bytes,
                (int)before->lower_bound_instruction.length, before->lower_bound_instruction.data,
                sample_shown(sample));
}

/* Where arrays are padded, they can be compressed. */
static const char *target_of(const Sample *sample) {
  return sample->options.features & GENERATE_TILES ? "tpu" : "cpu";
}

static rh_module *take_as_scheduled(Text text, const rh_module *printed, const Sample *sample,
                                    const char *what) {
  rh_module *parsed = parse_printed(text, printed, what), *scheduled = NULL;
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = "input";
  ck_assert_int_eq(rh_schedule(parsed, &sample->settings, &options, &scheduled, NULL), RH_OK);
  rh_module_free(parsed);
  return scheduled;
}

/* What goes into the algorithms. */
typedef struct Before {
  rh_module *scheduled;
  rh_module *fresh; /* the same printed and read */
  Text text;        /* that `fresh` was read from, and keeps spans into */
  Outcome outcome;
} Before;

/* What the peak must not exceed. The text decides where elements stand that are written `x#1`, and
 * so how long the tuple's table of pointers lives. */
static int64_t bytes_before(const Before *before, const rh_remat_options *options,
                            const Sample *sample) {
  int64_t bytes = counted(before->scheduled, options, sample);
  int64_t fresh_bytes = counted(before->fresh, options, sample);
  return bytes > fresh_bytes ? bytes : fresh_bytes;
}

/* The module as its text has it: what is compared has been printed and read. */
static Outcome run_printed(const rh_module *module, const char *what) {
  Text text = print_text(module);
  rh_module *parsed = parse_text(text, what);
  Outcome outcome = interpret(parsed->module);
  rh_module_free(parsed);
  free(text.data);
  return outcome;
}

static void check_same_outcome(Outcome before, Outcome after, bool is_ordered, const char *what,
                               const Sample *sample) {
  ck_assert_msg(before.result == after.result, "%s: another result\n%s", what,
                sample_shown(sample));
  ck_assert_msg(before.num_effects == after.num_effects && before.effect_set == after.effect_set,
                "%s: other side effects\n%s", what, sample_shown(sample));
  ck_assert_msg(!is_ordered || before.effects == after.effects,
                "%s: side effects in another order\n%s", what, sample_shown(sample));
}

/* The question at which a caller cancels; 0 = none. Each call begins to count anew. */
typedef struct Caller {
  uint64_t cancels_at, num_questions;
} Caller;

static bool is_cancelled(void *context) {
  Caller *caller = context;
  return ++caller->num_questions == caller->cancels_at;
}

static rh_status call_remat(const rh_module *scheduled, const rh_remat_options *options,
                            const Sample *sample, rh_module **result, rh_remat_result *info,
                            rh_diags *diags) {
  Caller *caller = options->context;
  caller->num_questions = 0;
  return rh_remat(scheduled, &sample->settings, options, result, info, diags);
}

static void check_twice_the_same(const rh_module *scheduled, const rh_remat_options *options,
                                 Text text, const char *what, const Sample *sample) {
  rh_module *again = NULL;
  call_remat(scheduled, options, sample, &again, NULL, NULL);
  Text second = print_text(again);
  ck_assert_msg(second.length == text.length && memcmp(second.data, text.data, text.length) == 0,
                "%s: the second time it is another module\n%s", what, sample_shown(sample));
  free(second.data);
  rh_module_free(again);
}

static bool has_match(const char *expression, const char *name) {
  regex_t compiled;
  ck_assert_int_eq(regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB), 0);
  bool is_match = regexec(&compiled, name, 0, NULL, 0) == 0;
  regfree(&compiled);
  return is_match;
}

static bool has_instruction(const Module *module, const char *name) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (str_is(inst_name(module, id), name)) return true;
  }
  return false;
}

/* Whether an expression has a match. The algorithm may have copied a computation, whose
 * instructions obey what is said of those that they were copied from. */
static bool is_named(const char *expression, char *name, const rh_module *before) {
  char element[20] = "", *hash = strchr(name, '#');
  if (hash) snprintf(element, sizeof element, "%s", hash);
  for (char *suffix; !has_instruction(before->module, name) && (suffix = strrchr(name, '.'));)
    snprintf(suffix, sizeof element, "%s", element);
  return has_match(expression, name);
}

/* Clones are marked with what they were made from; compressed values have it in their names. */
static void check_obeys(const rh_module *before, const rh_module *result,
                        const rh_remat_options *options, const char *what, const Sample *sample) {
  const Module *module = result->module;
  for (InstId id = 0; result->marks && id < module->insts.len; id++) {
    RematMark mark = result->marks[id];
    bool is_clone = mark.kind == REMAT_KIND_CLONE || mark.kind == REMAT_KIND_MOVED;
    Str full = is_clone ? mark.original : inst_name(module, id);
    char name[200];
    snprintf(name, sizeof name, "%.*s", (int)full.len, full.data);
    char *suffix = is_clone ? NULL : strstr(name, ".remat_compressed");
    if (!is_clone && (mark.kind != REMAT_KIND_HELPER || !suffix)) continue;
    if (suffix) *suffix = 0;
    bool is_forbidden = (options->pin && is_named(options->pin, name, before)) ||
                        (is_clone && options->never && is_named(options->never, name, before));
    ck_assert_msg(!is_forbidden, "%s: '%.*s' is recomputed or compressed\n%s", what, (int)full.len,
                  full.data, sample_shown(sample));
  }
}

static void check_remat(const Sample *sample, const Before *before,
                        const rh_remat_options *options) {
  const rh_module *scheduled = before->scheduled;
  const Caller *caller = options->context;
  char what[200];
  snprintf(what, sizeof what,
           "%s, %s, limit %" PRId64
           " of kind %d, emit %d, protect %d, block %u, cancelled at %" PRIu64,
           options->algorithm, options->memory_model, options->limit_bytes, options->limit_counts,
           options->emit, options->protect, options->block_size_limit, caller->cancels_at);
  rh_diags *diags = rh_diags_new();
  rh_module *result = NULL;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_status status = call_remat(scheduled, options, sample, &result, &info, diags);
  ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%s: status %d, %s\n%s", what,
                (int)status, rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "",
                sample_shown(sample));
  rh_diags_free(diags);
  bool was_cancelled = caller->cancels_at && caller->num_questions >= caller->cancels_at;
  ck_assert_msg(info.is_interrupted == was_cancelled, "%s: is_interrupted is wrong", what);
  bool is_unscheduled = options->emit == RH_EMIT_UNSCHEDULED;
  ck_assert_msg(info.is_met == (status == RH_OK) &&
                    info.is_met == (info.counted_bytes <= options->limit_bytes),
                "%s: status %d, %" PRId64 " bytes\n%s", what, (int)status, info.counted_bytes,
                sample_shown(sample));
  int64_t most = bytes_before(before, options, sample);
  ck_assert_msg(info.counted_bytes <= most, "%s: %" PRId64 " bytes, more than %" PRId64 "\n%s",
                what, info.counted_bytes, most, sample_shown(sample));
  check_obeys(scheduled, result, options, what, sample);
  Text text = print_text(result);
  if (!is_unscheduled) {
    rh_module *fresh = take_as_scheduled(text, result, sample, what);
    ck_assert_msg(counted(fresh, options, sample) == info.counted_bytes,
                  "%s: claims %" PRId64 " bytes, has %" PRId64 "\n%s", what, info.counted_bytes,
                  counted(fresh, options, sample), sample_shown(sample));
    check_equivalent(scheduled, fresh, RH_COPIES_AUTO, false, what, sample);
    bool is_true = counts_all(scheduled, options) && counts_all(fresh, options);
    rh_memory given = measure(scheduled, options, sample);
    if (is_true) check_bound(scheduled, &given, options, "the input", sample);
    if (is_true && info.num_compressed + info.num_narrowed + info.num_offloaded == 0)
      check_bound(fresh, &given, options, what, sample);
    rh_module_free(fresh);
  }
  check_same_outcome(before->outcome, run_printed(result, what), !is_unscheduled, what, sample);
  check_twice_the_same(scheduled, options, text, what, sample);
  free(text.data);
  rh_module_free(result);
}

static rh_remat_options random_options(uint64_t *state) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.limit_counts = (rh_limit_counts)random_below(state, 3);
  options.emit = random_below(state, 4) ? RH_EMIT_SCHEDULED : RH_EMIT_UNSCHEDULED;
  options.protect = (rh_protect)random_below(state, RH_PROTECT_CONDITIONAL + 1);
  options.small_node_bytes = random_below(state, 3) ? 0 : 100;
  options.remat_collectives = random_below(state, 2);
  options.clone_callees = random_below(state, 2);
  options.callees_once = random_below(state, 2);
  options.min_remat_bytes = random_below(state, 4) ? 0 : 1000;
  options.block_size_limit = random_below(state, 2) ? 1 : 1 + random_below(state, 12);
  options.path_depth = random_below(state, 12);
  static const char *const collections[] = {NULL, "[02468]$", "."};
  options.collection = collections[random_below(state, 3)];
  options.pin = random_below(state, 3) ? NULL : "[37]$";
  options.never = random_below(state, 3) ? NULL : "[48]$";
  static const unsigned modes[] = {RH_REMAT_RECOMPUTE, RH_REMAT_COMPRESS, RH_REMAT_OFFLOAD,
                                   RH_REMAT_NARROW};
  for (int i = 0; i < 2; i++)
    options.modes |= modes[random_below(state, 4)];
  if (random_below(state, 3) == 0) options.modes = modes[random_below(state, 4)];
  options.effort = (int)random_below(state, 3);
  return options;
}

static Before prepare(const Sample *sample, const char *scheduler) {
  Before before = {.scheduled = schedule_sample(sample, scheduler)};
  before.text = print_text(before.scheduled);
  before.fresh = take_as_scheduled(before.text, before.scheduled, sample, "scheduled");
  before.outcome = run_printed(before.scheduled, sample_shown(sample));
  check_same_outcome(interpret(sample->module->module), before.outcome,
                     sample->options.is_scheduled, "scheduled", sample);
  return before;
}

START_TEST(rematerialized_modules_are_equivalent) {
  GenerateOptions generate = generate_options((uint64_t)_i, 500, GENERATE_ALL | GENERATE_ASYNC);
  if (_i % 3 == 0) generate.features |= GENERATE_TILES;
  Sample sample = sample_make_with((uint64_t)_i, &generate);
  if (_i % 4 == 0) sample_take_as_it_is(&sample);
  sample.settings.target = target_of(&sample);
  uint64_t state = seed_state(sample.seed);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "input"};
  Before before = prepare(&sample, schedulers[random_below(&state, 4)]);
  rh_profile *profile = make_profile_with_link(&state);
  const rh_entry *algorithm, *model;
  for (size_t a = 0; (algorithm = rh_list(RH_ALGORITHMS, a)); a++) {
    for (size_t m = 0; (model = rh_list(RH_MEMORY_MODELS, m)); m++) {
      rh_remat_options options = random_options(&state);
      options.algorithm = algorithm->name;
      options.memory_model = model->name;
      options.profile = profile;
      static const int percents[] = {0, 40, 70, 90};
      int64_t bytes = counted(before.scheduled, &options, &sample);
      options.limit_bytes = bytes / 100 * percents[random_below(&state, 4)];
      Caller caller = {0};
      if (random_below(&state, 3) == 0)
        caller.cancels_at = 1 + random_below(&state, 1u << random_below(&state, 9));
      if (!is_wanted_algorithm(algorithm->name)) continue;
      options.cancel = is_cancelled;
      options.context = &caller;
      check_remat(&sample, &before, &options);
    }
  }
  rh_profile_free(profile);
  rh_module_free(before.fresh);
  free(before.text.data);
  rh_module_free(before.scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("remat", rematerialized_modules_are_equivalent, 1000);
}
