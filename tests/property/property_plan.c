/* A plan does again what it was made from: every algorithm's result, saved, read and applied to the
 * same module, is the same bytes. A damaged plan is refused, or gives an equivalent module. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property.h"

static int64_t counted(const rh_module *module, const rh_remat_options *options,
                       const Sample *sample) {
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(
      rh_measure_memory(module, &sample->settings, options->memory_model, &memory, NULL), RH_OK);
  return rh_counted_bytes(&memory, options->limit_counts);
}

static int append(void *context, const char *data, size_t length) {
  Text *text = context;
  text->data = realloc(text->data, text->length + length + 1);
  memcpy(text->data + text->length, data, length);
  text->length += length;
  text->data[text->length] = 0;
  return 0;
}

static Text plan_text(const rh_module *result, const Sample *sample) {
  Text text = {0};
  ck_assert_int_eq(rh_emit_plan(result, &sample->settings, NULL, 1, append, &text, NULL), RH_OK);
  return text;
}

static const char *first_message(const rh_diags *diags) {
  return rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "";
}

static void check_same_bytes(Text first, Text second, const char *what, Text plan,
                             const Sample *sample) {
  bool is_same =
      first.length == second.length && memcmp(first.data, second.data, first.length) == 0;
  if (!is_same && getenv("REMAT_HLO_SAVE")) {
    fprintf(stderr, "---- plan\n%s\n---- made\n%.*s\n---- applied\n%.*s\n", plan.data,
            (int)first.length, first.data, (int)second.length, second.data);
  }
  ck_assert_msg(is_same, "%s: another module\n%s", what, sample_shown(sample));
}

static void check_applied(const rh_module *scheduled, const rh_module *result,
                          const rh_remat_options *options, Text plan, const char *what,
                          const Sample *sample) {
  rh_diags *diags = rh_diags_new();
  rh_plan *parsed = NULL;
  ck_assert_msg(rh_plan_parse(plan.data, plan.length, &parsed, diags) == RH_OK, "%s: %s\n%s", what,
                first_message(diags), plan.data);
  rh_remat_options apply = RH_REMAT_OPTIONS_INIT;
  apply.emit = options->emit;
  apply.protect = options->protect;
  apply.memory_model = "xla-remat";
  apply.keep_plan = true;
  rh_module *applied = NULL;
  rh_status status =
      rh_apply_plan(scheduled, &sample->settings, parsed, &apply, &applied, NULL, diags);
  if (status != RH_OK && getenv("REMAT_HLO_SAVE")) fprintf(stderr, "%s\n", plan.data);
  ck_assert_msg(status == RH_OK, "%s: %s\n%s", what, first_message(diags), sample_shown(sample));
  ck_assert_msg(rh_diags_len(diags) == 0, "%s: %s", what, first_message(diags));
  Text first = print_text(result), second = print_text(applied);
  check_same_bytes(first, second, what, plan, sample);
  free(first.data);
  free(second.data);
  rh_module_free(applied);
  rh_plan_free(parsed);
  rh_diags_free(diags);
}

/* Takes a line out, or a character of a word, or swaps two words. */
static void damage(Text *plan, uint64_t *state) {
  char *line = plan->data;
  uint32_t num_lines = 0;
  for (const char *p = plan->data; *p; p++)
    num_lines += *p == '\n';
  for (uint32_t skip = random_below(state, num_lines); skip; skip--)
    line = strchr(line, '\n') + 1;
  char *end = strchr(line, '\n');
  size_t len = (size_t)(end - line);
  switch (random_below(state, 3)) {
    case 0: /* a step is two lines */
      if (strchr(end + 1, '\n') && random_below(state, 2)) end = strchr(end + 1, '\n');
      memmove(line, end + 1, strlen(end));
      break;
    case 1:
      if (len) line[random_below(state, (uint32_t)len)] = " 0x\"#,}"[random_below(state, 7)];
      break;
    default: {
      char *name = strstr(line, "\": \""), *other = strstr(plan->data, "\": \"");
      for (uint32_t skip = random_below(state, 20); other && skip; skip--) {
        if (strstr(other + 1, "\": \"")) other = strstr(other + 1, "\": \"");
      }
      if (!name || !other) break;
      size_t name_len = strcspn(name + 4, "\""), other_len = strcspn(other + 4, "\"");
      if (name_len == other_len) memcpy(name + 4, other + 4, name_len);
    }
  }
  plan->length = strlen(plan->data);
}

static void check_damaged(const rh_module *scheduled, Text plan, uint64_t *state, const char *what,
                          const Sample *sample) {
  rh_diags *diags = rh_diags_new();
  for (uint32_t i = 1 + random_below(state, 3); i && plan.length; i--)
    damage(&plan, state);
  rh_plan *parsed = NULL;
  rh_remat_options apply = RH_REMAT_OPTIONS_INIT;
  apply.memory_model = "xla-remat";
  rh_module *applied = NULL;
  rh_status status = rh_plan_parse(plan.data, plan.length, &parsed, diags);
  if (status == RH_OK)
    status = rh_apply_plan(scheduled, &sample->settings, parsed, &apply, &applied, NULL, diags);
  ck_assert_msg(status == RH_OK || (status == RH_ERR_INPUT && rh_diags_len(diags)),
                "%s: status %d, %s\n%s\n%s", what, (int)status, first_message(diags), plan.data,
                sample_shown(sample));
  if (status == RH_OK) check_equivalent(scheduled, applied, RH_COPIES_AUTO, false, what, sample);
  rh_module_free(applied);
  rh_plan_free(parsed);
  rh_diags_free(diags);
}

static rh_remat_options random_options(uint64_t *state, const rh_module *scheduled,
                                       const Sample *sample) {
  static const char *const collections[] = {NULL, "[02468]$", "."};
  static const char *const models[] = {"heap", "liveness", "xla-remat"};
  static const int percents[] = {0, 40, 70, 90};
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.memory_model = models[random_below(state, 3)];
  options.emit = random_below(state, 3) ? RH_EMIT_SCHEDULED : RH_EMIT_UNSCHEDULED;
  options.small_node_bytes = random_below(state, 3) ? 0 : 100;
  options.effort = (int)random_below(state, 3);
  options.remat_collectives = random_below(state, 2);
  options.clone_callees = random_below(state, 2);
  options.block_size_limit = random_below(state, 2) ? 1 : 1 + random_below(state, 12);
  options.collection = collections[random_below(state, 3)];
  options.modes = 1 + random_below(state, RH_REMAT_RECOMPUTE | RH_REMAT_COMPRESS |
                                              RH_REMAT_OFFLOAD | RH_REMAT_NARROW);
  options.limit_bytes =
      counted(scheduled, &options, sample) / 100 * percents[random_below(state, 4)];
  options.keep_plan = true;
  return options;
}

START_TEST(a_plan_does_the_same_again) {
  static const rh_protect protections[] = {RH_PROTECT_AUTO, RH_PROTECT_OPT_BARRIER};
  GenerateOptions generate = generate_options((uint64_t)_i, 500, GENERATE_ALL | GENERATE_ASYNC);
  if (_i % 3 == 0) generate.features |= GENERATE_TILES;
  Sample sample = sample_make_with((uint64_t)_i, &generate);
  bool has_tiles = generate.features & GENERATE_TILES;
  sample.settings.target = has_tiles ? "tpu" : "cpu";
  uint64_t state = seed_state(sample.seed);
  rh_module *scheduled = schedule_sample(&sample, random_below(&state, 2) ? "list" : "bfs");
  rh_profile *profile = make_profile_with_link(&state);
  const rh_entry *algorithm;
  for (size_t a = 0; (algorithm = rh_list(RH_ALGORITHMS, a)); a++) {
    rh_remat_options options = random_options(&state, scheduled, &sample);
    options.profile = profile;
    options.algorithm = algorithm->name;
    uint64_t damages = random_next(&state);
    if (!is_wanted_algorithm(algorithm->name)) continue;
    /* In other forms, barriers hold what is dead, too, and a plan does not say what they held. */
    if (options.modes == RH_REMAT_RECOMPUTE) options.protect = protections[damages % 2];
    char what[160];
    snprintf(what, sizeof what, "%s, %s, limit %" PRId64 ", emit %d, block %u", options.algorithm,
             options.memory_model, options.limit_bytes, options.emit, options.block_size_limit);
    rh_module *result = NULL;
    rh_diags *diags = rh_diags_new();
    rh_status status = rh_remat(scheduled, &sample.settings, &options, &result, NULL, diags);
    ck_assert_msg(status <= RH_OVER_LIMIT && rh_diags_len(diags) == 0, "%s: %s\n%s", what,
                  first_message(diags), sample_shown(&sample));
    rh_diags_free(diags);
    Text plan = plan_text(result, &sample);
    check_applied(scheduled, result, &options, plan, what, &sample);
    check_damaged(scheduled, plan, &damages, what, &sample);
    free(plan.data);
    rh_module_free(result);
  }
  rh_profile_free(profile);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("plan", a_plan_does_the_same_again, 500);
}
