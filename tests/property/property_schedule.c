/* Every scheduler gives every computation that runs as a sequence an order that holds each of its
 * instructions once, behind its operands and control predecessors; the printed module is in it. */
#include <stdio.h>
#include <stdlib.h>

#include "property.h"

/* Marks what runs as a sequence: the entry, and what loops, conditionals and calls of it run. */
static void mark_sequential(const Module *module, CompId comp, bool *is_sequential) {
  if (is_sequential[comp]) return;
  is_sequential[comp] = true;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    if (opcode != OPCODE_WHILE && opcode != OPCODE_CALL && opcode != OPCODE_CONDITIONAL) continue;
    for (uint32_t k = 0; k < inst_get(module, id)->num_callees; k++) {
      mark_sequential(module, inst_callees(module, id)[k], is_sequential);
    }
  }
}

/* NULL when the instruction may stand at `pos`. */
static const char *wrong_place(const Module *module, InstId id, uint32_t pos,
                               const uint32_t *place) {
  if (place[id] != pos) return "stands there twice";
  if (inst_get(module, id)->flags & INST_DEAD) return "is dead";
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (place[inst_operand(module, id, i)] >= pos) return "stands before an operand";
  }
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++) {
    if (place[id_list(module, before)[i]] >= pos) return "stands before a control predecessor";
  }
  return NULL;
}

static void check_sequence(const rh_module *scheduled, CompId comp, const char *what,
                           const Sample *sample) {
  const Module *module = scheduled->module;
  Sequence sequence = scheduled->schedule.of[comp];
  ck_assert_msg(sequence.len == comp_num_insts(module, comp), "%s: %u of %u instructions\n%s", what,
                sequence.len, comp_num_insts(module, comp), sample_shown(sample));
  uint32_t *place = malloc(module->insts.len * sizeof *place);
  for (InstId id = 0; id < module->insts.len; id++)
    place[id] = NO_ID;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    ck_assert(inst_get(module, sequence.ids[pos])->parent == comp);
    place[sequence.ids[pos]] = pos;
  }
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    const char *why = wrong_place(module, sequence.ids[pos], pos, place);
    Str name = inst_name(module, sequence.ids[pos]);
    ck_assert_msg(!why, "%s: %.*s %s\n%s", what, (int)name.len, name.data, why,
                  sample_shown(sample));
  }
  free(place);
}

/* What has a line stands in the same order in the text; and it means the same. */
static void check_printed(const rh_module *scheduled, bool keeps_effects, const char *what,
                          const Sample *sample) {
  Text text = print_text(scheduled);
  rh_module *again = parse_printed(text, scheduled, what);
  const Module *a = scheduled->module, *b = again->module;
  Sequence sequence = scheduled->schedule.of[a->entry];
  uint32_t next = 0;
  for (uint32_t pos = 0; pos < sequence.len; pos++) {
    if (inst_get(a, sequence.ids[pos])->flags & INST_COMPACT_GTE) continue;
    while (next < comp_num_insts(b, b->entry) &&
           inst_get(b, comp_inst(b, b->entry, next))->flags & INST_COMPACT_GTE) {
      next++;
    }
    ck_assert_msg(
        next < comp_num_insts(b, b->entry) &&
            str_equal(inst_name(a, sequence.ids[pos]), inst_name(b, comp_inst(b, b->entry, next))),
        "%s: printed in another order\n%s", what, sample_shown(sample));
    next++;
  }
  bool any_rounding = scheduled->preparation.unfuse; /* sums may be in smaller functions then */
  if (keeps_effects)
    check_equivalent(sample->module, again, RH_COPIES_AUTO, any_rounding, what, sample);
  rh_module_free(again);
  free(text.data);
}

static void check_scheduler(const Sample *sample, const char *scheduler, uint64_t *state) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = scheduler;
  options.ignore_schedule = random_below(state, 2);
  options.inline_calls = (rh_inline_calls)random_below(state, 3);
  options.unfuse = random_below(state, 4) ? 0 : random_below(state, RH_UNFUSE_ALL + 1);
  rh_module *scheduled = NULL;
  rh_status status = rh_schedule(sample->module, NULL, &options, &scheduled, NULL);
  char what[120];
  snprintf(what, sizeof what, "%s, ignore_schedule %d, inline_calls %d, unfuse %u", scheduler,
           options.ignore_schedule, options.inline_calls, options.unfuse);
  ck_assert_msg(status == RH_OK, "%s: status %d\n%s", what, (int)status, sample_shown(sample));
  const Module *module = scheduled->module;
  bool *is_sequential = calloc(module->comps.len, sizeof *is_sequential);
  mark_sequential(module, module->entry, is_sequential);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (is_sequential[comp]) check_sequence(scheduled, comp, what, sample);
  }
  /* rh_verify wants the side effects of a scheduled module in its order. */
  bool is_input = strcmp(scheduler, "input") == 0;
  bool has_effects = sample->options.features & GENERATE_EFFECTS;
  check_printed(scheduled, is_input || !sample->options.is_scheduled || !has_effects, what, sample);
  free(is_sequential);
  rh_module_free(scheduled);
}

START_TEST(schedules_are_topological_orders) {
  Sample sample = sample_make((uint64_t)_i, 2000, GENERATE_ALL | GENERATE_ASYNC);
  uint64_t state = seed_state(sample.seed);
  const rh_entry *entry;
  for (size_t i = 0; (entry = rh_list(RH_SCHEDULERS, i)); i++) {
    check_scheduler(&sample, entry->name, &state);
  }
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("schedule", schedules_are_topological_orders, 1500);
}
