/* Advice on scans whose forward loop stacks values for their backward loop: a checkpoint around the
 * body, which stacks only what is carried from one iteration to the next; one with a policy that
 * keeps products; and a scan in a scan, which keeps the carry of every segment only.
 *
 * Each is simulated by the rewrite that rematerialization itself would use (remat/scan): what is no
 * longer stacked is computed again in the backward loop. */
#include <math.h>

#include "advice/advisor.h"
#include "advice/frames.h"
#include "emit/human.h"
#include "remat/engine/variant.h"
#include "remat/scan/describe.h"
#include "remat/scan/segment.h"

/* What all simulations of one module share. */
typedef struct Study {
  Advisor *advisor;
  rh_remat_options options;
  RematRequest request;
  Patience patience;
  Problem problem;
  Findings findings;
  ScanModule scans;
  Arena *arena;
} Study;

static rh_status study_open(Study *study, Advisor *advisor, Arena *arena) {
  *study = (Study){.advisor = advisor, .options = RH_REMAT_OPTIONS_INIT, .arena = arena};
  study->options.remat_collectives = true; /* a checkpoint repeats them, too */
  study->request = (RematRequest){.module = advisor->input,
                                  .options = &study->options,
                                  .algorithm = remat_algorithm_find("none"),
                                  .memory_model = memory_model_find("heap"),
                                  .device = advisor->request->device};
  patience_begin(&study->patience, &study->options, 0);
  rh_status status = problem_prepare(&study->problem, &study->findings, &study->request,
                                     &study->patience, advisor->diags);
  study->problem.parameters.fuse_any_rounding = true; /* the compiler fuses anew in any case */
  if (status == RH_OK) variant_analyze(&study->problem, advisor->input, &study->scans, arena);
  return status;
}

/* ---- a loop ---- */

/* What is said of a loop in all proposals. */
typedef struct ScanPlace {
  const ScanValues *values;
  uint32_t border;
  SourcePlace place;
  const char *where;
  Str body; /* the function that is the body; empty = unknown */
  int64_t trips;
  int64_t live_bytes; /* of the stacks at the peak */
} ScanPlace;

static bool is_stack_of(const void *context, const LiveBuffer *buffer) {
  const Loop *loop = context;
  return buffer->inst == loop->id || buffer->inst == loop->init;
}

/* The body of a scan is the function that was called at the scan's line. */
static Str body_of(const Study *study, const ScanValues *values, SourcePlace place) {
  const Module *module = study->advisor->module;
  for (uint32_t i = 0; i < values->list.len; i++) {
    if (values->list.data[i].kind != SCAN_COMPUTED) continue;
    Str name = function_called_at(module, values->list.data[i].inst, place);
    if (!name.len) continue;
    name = human_utf8(name, study->advisor->out);
    return (Str){arena_strndup(study->advisor->out, name.data, name.len), name.len};
  }
  return (Str){0};
}

/* Bytes of the stacks that are no longer needed if only the state is stored. */
static int64_t stacked_bytes(const Study *study, const ScanValues *values) {
  const Stacks *stacks = values->stacks;
  int64_t bytes = 0;
  for (uint32_t i = stacks->first_of[values->loop]; i < stacks->first_of[values->loop + 1]; i++)
    bytes += scan_stack_bytes(&study->scans, i);
  return bytes;
}

static ScanPlace place_of(Study *study, uint32_t border) {
  Advisor *advisor = study->advisor;
  const ScanValues *values = &study->scans.borders.data[border];
  const Loop *loop = &study->scans.loops.list[values->loop];
  SourcePlace place = advisor_place(advisor, scan_place_of_loop(&study->scans, values));
  ScanPlace found = {.values = values, .border = border, .place = place, .trips = loop->trips};
  found.where = advisor_where(advisor, place);
  found.body = body_of(study, values, place);
  int64_t live = advisor_live_bytes(advisor, is_stack_of, loop);
  int64_t all = stacked_bytes(study, values);
  found.live_bytes = live > 0 && live < all ? live : all;
  return found;
}

/* ---- simulations ---- */

/* By border and value, what is stored in any case: for this loop what is carried, as a checkpoint
 * stores it, and for other loops what they store now. */
static bool *const *kept_by_checkpoint(const Study *study, uint32_t border) {
  uint32_t num_borders = study->scans.borders.len;
  bool **is_kept = arena_array(study->arena, bool *, num_borders);
  for (uint32_t b = 0; b < num_borders; b++) {
    const ScanValues *values = &study->scans.borders.data[b];
    is_kept[b] = arena_zarray(study->arena, bool, values->list.len);
    for (uint32_t v = 0; v < values->list.len; v++) {
      const ScanValue *value = &values->list.data[v];
      is_kept[b][v] = b == border ? value->kind == SCAN_STATE : value->stack != NO_ID;
    }
  }
  return is_kept;
}

/* The module after a change of loops; NULL if there is none. */
static rh_module *simulate(Study *study, const VariantGoal *goal) {
  Variant variant;
  rh_status status = variant_make(&study->problem, goal, &variant);
  if (status != RH_OK && study->advisor->status == RH_OK) study->advisor->status = status;
  rh_module *made = status == RH_OK ? variant.module : NULL;
  if (made) variant.module = NULL;
  variant_free(&variant);
  return made;
}

static rh_remedy remedy_of(const Study *study, const ScanPlace *scan, const char *kind) {
  rh_remedy remedy = {.kind = kind,
                      .confidence = "high",
                      .function = text_of_str(scan->body),
                      .num_instances = scan->trips,
                      .bytes_at_peak = scan->live_bytes};
  advisor_set_place(&remedy, scan->place);
  (void)study;
  return remedy;
}

static const char *bytes_text(const Study *study, int64_t bytes) {
  return arena_printf(study->advisor->out, "%s", human_bytes(bytes).text);
}

static void add_checkpoint(Study *study, const ScanPlace *scan, const char *policy) {
  Advisor *advisor = study->advisor;
  VariantGoal goal = {.price = INFINITY,
                      .is_kept = kept_by_checkpoint(study, scan->border),
                      .most_rounds = 1,
                      .algorithm = policy ? remat_algorithm_find("checkpoint=speed") : NULL};
  rh_module *made = simulate(study, &goal);
  if (!made) return;
  rh_remedy remedy = remedy_of(study, scan, "checkpoint-scan");
  const char *wrapped = framework_checkpoint(advisor->framework, scan->body, policy, advisor->out);
  if (policy) remedy.policy = advice_text(advisor->out, "%s", policy);
  remedy.title = advice_text(
      advisor->out, "%s: put the body of this loop of %lld iterations under a checkpoint%s",
      scan->where, (long long)scan->trips, policy ? " that keeps matrix products" : "");
  remedy.code = advisor->framework == FRAMEWORK_JAX || advisor->framework == FRAMEWORK_UNKNOWN
                    ? advice_text(advisor->out, "jax.lax.scan(%s, …)", wrapped)
                    : advice_text(advisor->out, "%s", wrapped);
  remedy.explanation = advice_text(
      advisor->out,
      "The forward loop stacks %s for the backward loop, one slice in each iteration. Under a "
      "checkpoint it stacks only %s, and the backward loop computes the rest again.",
      bytes_text(study, scan->live_bytes),
      policy ? "the carry and the products" : "what is carried from one iteration to the next");
  advisor_add(advisor, &remedy, made);
}

static void add_nested(Study *study, const ScanPlace *scan) {
  Advisor *advisor = study->advisor;
  if (!scan_can_segment(scan->values)) return;
  int64_t length = scan_segment_length(scan->values, sqrt((double)scan->trips));
  if (length < 2) return;
  VariantGoal goal = {.price = INFINITY,
                      .is_kept = kept_by_checkpoint(study, scan->border),
                      .segment = 1,
                      .segment_border = scan->border + 1,
                      .most_rounds = 2,
                      .only_new = true,
                      .most_cut = 1};
  rh_module *made = simulate(study, &goal);
  if (!made) return;
  rh_remedy remedy = remedy_of(study, scan, "nested-scan");
  long long inner = (long long)length, outer = (long long)(scan->trips / length);
  remedy.segment = length;
  remedy.title =
      advice_text(advisor->out,
                  "%s: make the loop of %lld iterations %lld times a loop of %lld, with a "
                  "checkpoint around the inner loop and one around its body",
                  scan->where, (long long)scan->trips, outer, inner);
  const char *body = framework_checkpoint(advisor->framework, scan->body, NULL, advisor->out);
  remedy.code = advice_text(advisor->out,
                            "xs = jax.tree.map(lambda x: x.reshape(%lld, %lld, *x.shape[1:]), xs)\n"
                            "inner = jax.checkpoint(lambda c, x: jax.lax.scan(%s, c, x))\n"
                            "carry, ys = jax.lax.scan(inner, carry, xs)",
                            outer, inner, body);
  remedy.explanation = advice_text(
      advisor->out,
      "Only the carry of every %lld-th iteration is stored then, and memory grows with the root of "
      "the number of iterations. The forward loop runs once more.",
      inner);
  advisor_add(advisor, &remedy, made);
}

void advise_scan_checkpoint(Advisor *advisor) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Study study;
  rh_status status = study_open(&study, advisor, arena);
  for (uint32_t i = 0; i < study.scans.borders.len && status == RH_OK; i++) {
    ScanPlace scan = place_of(&study, i);
    if (scan.live_bytes < advisor->before.counted_bytes / 50) continue;
    add_checkpoint(&study, &scan, NULL);
    if (advisor->framework != FRAMEWORK_TENSORFLOW && advisor->framework != FRAMEWORK_PYTORCH)
      add_checkpoint(&study, &scan, "dots_saveable");
    add_nested(&study, &scan);
  }
  if (status != RH_OK && advisor->status == RH_OK) advisor->status = status;
  problem_free(&study.problem);
  arena_free(arena);
}
