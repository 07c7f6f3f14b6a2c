/* Modules run with values where XLA puts them. In any order in which no read of overwritten memory
 * is seen they compute what they compute with every value in memory of its own; and so does what
 * the schedulers and algorithms make of a module that has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flow/call_graph.h"
#include "interpret.h"
#include "property.h"
#include "remat/legality/safe_reads.h"

enum { NUM_ORDERS = 4 };

/* An order of a computation that is drawn by lot. */
static void shuffle(const Module *module, Sequence *sequence, uint64_t *state, Arena *arena) {
  uint32_t *missing = arena_zarray(arena, uint32_t, module->insts.len);
  InstId *ready = arena_array(arena, InstId, sequence->len);
  uint32_t num_ready = 0, len = 0;
  for (SchedPos pos = 0; pos < sequence->len; pos++) {
    InstId id = sequence->ids[pos];
    missing[id] = inst_get(module, id)->num_operands + inst_control(module, id)->predecessors.len;
    if (missing[id] == 0) ready[num_ready++] = id;
  }
  while (num_ready) {
    uint32_t pick = (uint32_t)random_below(state, num_ready);
    InstId id = ready[pick];
    ready[pick] = ready[--num_ready];
    sequence->ids[len++] = id;
    IdList after = inst_control(module, id)->successors, users = inst_get(module, id)->users;
    for (uint32_t i = 0; i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      missing[user] -= inst_count_operand(module, user, id);
      if (missing[user] == 0) ready[num_ready++] = user;
    }
    for (uint32_t i = 0; i < after.len; i++) {
      InstId later = id_list(module, after)[i];
      if (--missing[later] == 0) ready[num_ready++] = later;
    }
  }
  ck_assert_uint_eq(len, sequence->len);
}

static void check_in_memory(const Module *module, Outcome wanted, const char *what,
                            const Sample *sample) {
  Outcome found = interpret_in_memory(module);
  ck_assert_msg(found.result == wanted.result, "%s: other numbers in memory\n%s", what,
                sample_shown(sample));
}

/* Whether there is a read of overwritten memory, and if not, whether that is right. */
static bool check_order(Module *module, Outcome wanted, const char *what, const Sample *sample) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  Schedule order = schedule_in_text_order(module, arena);
  bool is_safe = known_reads_find(module, &order, arena, scratch).len == 0;
  arena_free(scratch);
  arena_free(arena);
  if (is_safe) check_in_memory(module, wanted, what, sample);
  return is_safe;
}

static void check_orders(const Sample *sample, const rh_module *scheduled, Outcome wanted,
                         uint64_t *state) {
  for (int i = 0; i < NUM_ORDERS; i++) {
    Arena *arena = arena_new(NULL);
    rh_module shuffled = *scheduled;
    shuffled.schedule = schedule_copy(&scheduled->schedule, scheduled->module, arena);
    for (CompId comp = 0; comp < shuffled.schedule.num_comps; comp++)
      shuffle(scheduled->module, &shuffled.schedule.of[comp], state, arena);
    Text text = print_text(&shuffled);
    rh_module *fresh = parse_printed(text, scheduled, sample_shown(sample));
    check_order(fresh->module, wanted, "in another order", sample);
    rh_module_free(fresh);
    free(text.data);
    arena_free(arena);
  }
}

static void check_printed(const rh_module *result, Outcome wanted, const char *what,
                          const Sample *sample) {
  Text text = print_text(result);
  rh_module *fresh = parse_printed(text, result, what);
  check_in_memory(fresh->module, wanted, what, sample);
  rh_module_free(fresh);
  free(text.data);
}

/* The module has its copies: whatever is done, it must compute the same in memory. */
static void check_rewrites(const Sample *sample, Outcome wanted, uint64_t *state) {
  const rh_entry *scheduler, *algorithm;
  for (size_t s = 0; (scheduler = rh_list(RH_SCHEDULERS, s)); s++) {
    rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
    options.scheduler = scheduler->name;
    options.ignore_schedule = random_below(state, 2);
    rh_settings settings = RH_SETTINGS_INIT;
    settings.copies = RH_COPIES_INSERTED;
    rh_module *scheduled = NULL;
    ck_assert_msg(rh_schedule(sample->module, &settings, &options, &scheduled, NULL) == RH_OK,
                  "%s: %s", scheduler->name, sample_shown(sample));
    check_printed(scheduled, wanted, scheduler->name, sample);
    size_t chosen = (size_t)random_below(state, 11);
    ck_assert((algorithm = rh_list(RH_ALGORITHMS, chosen)));
    rh_remat_options remat = RH_REMAT_OPTIONS_INIT;
    static const char *const models[] = {"xla-remat", "heap", "liveness"};
    remat.algorithm = algorithm->name;
    remat.collection = "[02468]$";
    remat.memory_model = models[random_below(state, 3)];
    remat.small_node_bytes = 0;
    remat.effort = 1;
    remat.limit_bytes = 0;
    remat.clone_callees = random_below(state, 2);
    remat.emit = random_below(state, 3) ? RH_EMIT_SCHEDULED : RH_EMIT_UNSCHEDULED;
    remat.protect = (rh_protect)random_below(state, RH_PROTECT_CONDITIONAL + 1);
    rh_module *result = NULL;
    rh_status status = rh_remat(scheduled, NULL, &remat, &result, NULL, NULL);
    ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%s: status %d\n%s", algorithm->name,
                  (int)status, sample_shown(sample));
    check_printed(result, wanted, algorithm->name, sample);
    /* XLA may choose any order of an unscheduled one. */
    if (remat.emit == RH_EMIT_UNSCHEDULED) {
      Text text = print_text(result);
      rh_module *fresh = parse_printed(text, result, algorithm->name);
      Arena *arena = arena_new(NULL);
      fresh->schedule = schedule_in_text_order(fresh->module, arena);
      fresh->has_schedule = true;
      rh_module shuffled = *fresh;
      for (CompId comp = 0; comp < shuffled.schedule.num_comps; comp++)
        shuffle(fresh->module, &shuffled.schedule.of[comp], state, arena);
      shuffled.is_rendered = true;
      if (sample->options.is_scheduled && !options.ignore_schedule)
        check_printed(&shuffled, wanted, "in an order of XLA's", sample);
      arena_free(arena);
      rh_module_free(fresh);
      free(text.data);
    }
    rh_module_free(result);
    rh_module_free(scheduled);
  }
}

/* Whether each computation that runs as a sequence has one caller, as XLA sees to it. */
static bool is_flat(const Module *module) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  CallGraph graph = call_graph_build(module, arena, scratch);
  bool is_flat = true;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    is_flat &= callers_of(&graph, comp).len < 2 || !comp_is_sequential(&graph, comp);
  }
  arena_free(scratch);
  arena_free(arena);
  return is_flat;
}

START_TEST(memory_holds_what_is_read) {
  Sample sample = sample_make((uint64_t)_i, 60, GENERATE_ALL & ~(unsigned)GENERATE_ASYNC);
  uint64_t state = seed_state(sample.seed);
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = "input";
  options.inline_calls = RH_INLINE_ALWAYS; /* so that the call graph is flat */
  options.ignore_schedule = true;
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(sample.module, NULL, &options, &scheduled, NULL), RH_OK);
  Outcome wanted = interpret(sample.module->module);
  check_orders(&sample, scheduled, wanted, &state);
  bool is_rewritten = !sample.has_known_reads && is_flat(sample.module->module);
  if (is_rewritten) check_rewrites(&sample, wanted, &state);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("in_memory", memory_holds_what_is_read, 1000);
}
