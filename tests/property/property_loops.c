/* rh_verify must say no when a rewrite across loops computes something else. A rewritten module is
 * changed in a few places of its text; if it still parses, and runs to another result on arrays,
 * the verifier is asked. What it accepts then is a fault of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "loop_texts.h"
#include "mutate.h"
#include "remat/verify/verify.h"

enum { NUM_MUTANTS = 60, MAX_CHANGES = 3, MAX_SHOWN = 3000 };

/* Two modules that compute the same. */
typedef struct Pair {
  const char *const *before, *const *after;
  LoopEdit edits[MAX_LOOP_EDITS]; /* of `after` */
} Pair;

static const Pair pairs[] = {
    {loop_scan, loop_scan, {{LOOP_STACK_X}, {" y = f32[4] reshape(ss)\n", LOOP_AGAIN_Y}}},
    {loop_scan, loop_segments, {{0}}},
    {loop_segments, loop_segments, {{0}}},
    {loop_scan, loop_cut, {{0}}},
    {loop_segments, loop_cut, {{0}}},
    {loop_scan, loop_cut, {LOOP_CUT_REMAT("j")}},
    {loop_scan,
     loop_segments,
     {{LOOP_STACK_X},
      {" y = f32[4] reshape(ss)\n",
       " x = f32[4] reshape(ss)\n m = f32[4] multiply(x, wr)\n y = f32[4] sine(m)\n"}}},
    {loop_scan,
     loop_scan,
     {{LOOP_STACK_X},
      {" y = f32[4] reshape(ss)\n", LOOP_AGAIN_Y},
      {"f32[6,4]{1,0}", "f32[12,4]"},
      {" sn =", " two = s32[] constant(2)\n ii = s32[] multiply(i, two)\n sn ="},
      {"dynamic-update-slice(s, yr, i, z)", "dynamic-update-slice(s, yr, ii, z)"},
      {" ss = f32[1,4] dynamic-slice(s, j, z)",
       " two = s32[] constant(2)\n jj = s32[] multiply(j, two)\n ss = f32[1,4] dynamic-slice(s, "
       "jj, "
       "z)"}}},
    {loop_scan,
     loop_scan,
     {{LOOP_STACK_X},
      {" y = f32[4] reshape(ss)\n", LOOP_AGAIN_Y},
      {"j = s32[] subtract(five, i)",
       "i8 = s8[] convert(i)\n q = s8[] constant(100)\n a = s8[] add(i8, q)\n b = s32[] "
       "convert(a)\n"
       " o = s32[] constant(100)\n g = s32[] subtract(b, o)\n j0 = s32[] subtract(five, g)\n six = "
       "s32[] constant(6)\n j6 = s32[] add(j0, six)\n lt = pred[] compare(j0, z), direction=LT\n "
       "js "
       "= s32[] select(lt, j6, j0)\n j = s32[] clamp(z, js, five)"}}},
};

/* Constants of loops are small, so that a change to a near one is the most likely one to be missed.
 */
static bool change_a_little(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  if (inst_get(module, id)->opcode != OPCODE_CONSTANT) return false;
  const InstSource *source = &module->source->insts.data[id];
  Str old = module_span(module, (Span){source->paren + 1, source->close});
  edit->span = (Span){source->paren + 1, source->close};
  edit->text = edit->room;
  int changed = atoi(old.data) + (int)random_below(state, 7) - 3;
  snprintf(edit->room, sizeof edit->room, "%d", changed);
  return true;
}

static Text change(Text text, uint64_t *state) {
  rh_module *parsed = NULL;
  Text result = {0};
  if (rh_parse(text.data, text.length, NULL, &parsed, NULL) == RH_OK) {
    const Module *module = parsed->module;
    for (int tries = 0; tries < 20 && !result.data; tries++) {
      Edit edit;
      InstId id = random_below(state, module->insts.len);
      uint32_t kind = random_below(state, NUM_MUTATION_KINDS + 4);
      bool is_changed = kind < NUM_MUTATION_KINDS ? mutations[kind].mutate(module, id, state, &edit)
                                                  : change_a_little(module, id, state, &edit);
      if (is_changed) result = mutate_text(text, &edit);
    }
  }
  rh_module_free(parsed);
  return result;
}

static bool differ(Evaluation a, Evaluation b) {
  return a.is_known && b.is_known && (a.result != b.result || a.effects != b.effects);
}

static void check_mutant(const Pair *pair, Text text, const rh_module *before, Evaluation wanted) {
  rh_module *mutant = NULL;
  Arena *scratch = arena_new(NULL);
  if (rh_parse(text.data, text.length, NULL, &mutant, NULL) == RH_OK &&
      rh_check(mutant, NULL) == RH_OK && differ(wanted, evaluate_module(mutant->module))) {
    rh_status status = verify_modules(before->module, mutant->module, true, false, NULL, scratch);
    ck_assert_msg(status == RH_NOT_EQUIVALENT, "pair %d: accepted\n%.*s", (int)(pair - pairs),
                  MAX_SHOWN, text.data);
  }
  arena_free(scratch);
  rh_module_free(mutant);
}

static Text text_of(const char *const *text, const LoopEdit *edits) {
  Text result = {.data = loop_text_edited("a pair", text, edits)};
  result.length = strlen(result.data);
  return result;
}

START_TEST(mutants_are_refused) {
  uint64_t state = seed_state((uint64_t)_i);
  const Pair *pair = &pairs[(size_t)_i % (sizeof pairs / sizeof *pairs)];
  Text text_before = text_of(pair->before, (LoopEdit[]){{0}});
  Text text_after = text_of(pair->after, pair->edits);
  rh_module *before = parse_text(text_before, "before"), *after = parse_text(text_after, "after");
  Evaluation wanted = evaluate_module(before->module), got = evaluate_module(after->module);
  ck_assert(wanted.is_known && got.is_known && !differ(wanted, got));
  Arena *scratch = arena_new(NULL);
  ck_assert(verify_modules(before->module, after->module, true, false, NULL, scratch) == RH_OK);
  arena_free(scratch);
  for (int i = 0; i < NUM_MUTANTS; i++) {
    Text text = {.data = strdup(text_after.data), .length = text_after.length};
    uint32_t num_changes = 1 + random_below(&state, MAX_CHANGES);
    for (uint32_t k = 0; k < num_changes && text.data; k++) {
      Text changed = change(text, &state);
      free(text.data);
      text = changed;
    }
    if (text.data) check_mutant(pair, text, before, wanted);
    free(text.data);
  }
  rh_module_free(before);
  rh_module_free(after);
  free(text_before.data);
  free(text_after.data);
}
END_TEST

int main(void) {
  return run_property("loops", mutants_are_refused, 300);
}
