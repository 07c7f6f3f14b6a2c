/* rh_verify must say no when something else is computed. A rematerialized module is changed in one
 * place of its text; if it still parses, and runs to another result on numbers, the verifier is
 * asked. What it accepts then is a fault of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "interpret.h"
#include "mutate.h"

enum { NUM_MUTATIONS = 40 };

/* ---- asking ---- */

static uint32_t count_named(const Module *module, Str name) {
  uint32_t count = 0;
  for (InstId id = 0; id < module->insts.len; id++)
    count += str_equal(inst_name(module, id), name);
  return count;
}

static bool differ(Outcome a, Outcome b) {
  return a.result != b.result || a.effects != b.effects || a.num_effects != b.num_effects;
}

/* On arrays they are the same: parts of equal constants, for one, which interpret() tells apart. */
static bool is_same_on_arrays(const Module *module, const Module *mutant) {
  Evaluation a = evaluate_module(module), b = evaluate_module(mutant);
  return a.is_known && b.is_known && a.result == b.result && a.effects == b.effects;
}

static uint64_t count_findings(const rh_module *module) {
  uint64_t count = 0;
  rh_lint(module, NULL, &count, NULL);
  return count;
}

/* What need not be refused: it computes the same, or XLA refuses it, as an operand has a wrong
 * shape. */
static bool may_be_accepted(const rh_module *module, const rh_module *mutant) {
  return is_same_on_arrays(module->module, mutant->module) ||
         count_findings(mutant) > count_findings(module);
}

static void check_mutation(const Sample *sample, const rh_module *before, Outcome outcome,
                           Text text, const rh_module *result, int kind, uint64_t *state) {
  const Module *module = result->module;
  InstId id = random_below(state, module->insts.len);
  Edit edit;
  unsigned no_text = INST_COMPACT_GTE | INST_NESTED | INST_IMPLIED;
  if (inst_get(module, id)->flags & no_text) return;
  /* Where some other instruction computes the same without waiting, the verifier goes by names. */
  Str name = inst_name(module, id);
  bool is_named = count_named(before->module, name) == 1 && count_named(module, name) == 1;
  if (mutations[kind].is_order_only && !is_named) return;
  if (!mutations[kind].mutate(module, id, state, &edit)) return;
  Text changed = mutate_text(text, &edit);
  rh_module *mutant = NULL;
  if (rh_parse(changed.data, changed.length, NULL, &mutant, NULL) == RH_OK &&
      rh_check(mutant, NULL) == RH_OK &&
      (mutations[kind].is_order_only || differ(outcome, interpret(mutant->module)))) {
    static const rh_copies copies[] = {RH_COPIES_AUTO, RH_COPIES_INSERTED};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
      rh_settings settings = RH_SETTINGS_INIT;
      settings.copies = copies[i];
      rh_status status = rh_verify(before, mutant, &settings, NULL, NULL);
      if (status == RH_OK && !mutations[kind].is_order_only && may_be_accepted(result, mutant)) {
        continue;
      }
      ck_assert_msg(status == RH_NOT_EQUIVALENT, "%s at %.*s (%.*s): accepted\n%s",
                    mutations[kind].name, (int)name.len, name.data, 150,
                    changed.data + edit.span.begin, sample_shown(sample));
    }
  }
  rh_module_free(mutant);
  free(changed.data);
}

START_TEST(mutants_are_refused) {
  Sample sample = sample_make((uint64_t)_i, 200, GENERATE_ALL | GENERATE_ASYNC);
  uint64_t state = seed_state(sample.seed);
  rh_module *scheduled = schedule_sample(&sample, "list"), *result = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = random_below(&state, 2) ? "path" : "standard";
  options.limit_bytes = 0;
  options.small_node_bytes = 0;
  rh_status status = rh_remat(scheduled, NULL, &options, &result, NULL, NULL);
  if (status == RH_OK ||
      status == RH_OVER_LIMIT) { /* the property of rematerialization has the others */
    Text text = print_text(result);
    rh_module *parsed = parse_printed(text, result, "the result");
    Outcome outcome = interpret(parsed->module);
    for (int i = 0; i < NUM_MUTATIONS; i++) {
      int kind = i % NUM_MUTATION_KINDS;
      check_mutation(&sample, scheduled, outcome, text, parsed, kind, &state);
    }
    rh_module_free(parsed);
    free(text.data);
    rh_module_free(result);
  }
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("mutation", mutants_are_refused, 1500);
}
