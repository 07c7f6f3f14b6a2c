/* Advice on scans of many iterations: a scan in a scan, which stores the carry of every segment
 * only, so that memory grows with the root of the number of iterations (Chen et al., "Training Deep
 * Nets with Sublinear Memory Cost", 2016). Simulated as remat/scan/segment.h does it or, where the
 * loops cannot be rewritten like that, by memory alone (advice/stack_memory.h). */
#include <math.h>

#include "advice/scan_study.h"
#include "advice/stack_memory.h"
#include "remat/scan/segment.h"

static rh_text code_of(const Advisor *advisor, long long outer, long long inner, const char *body) {
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      return advice_text(advisor->out,
                         "for part in xs.chunk(%lld):  # inner: %lld iterations of %s\n"
                         "    carry = torch_xla.utils.checkpoint.checkpoint(inner, carry, part)",
                         outer, inner, body);
    case FRAMEWORK_TENSORFLOW:
      return advice_text(advisor->out,
                         "for part in tf.split(xs, %lld):  # inner: %lld iterations of %s\n"
                         "    carry = tf.recompute_grad(inner)(carry, part)",
                         outer, inner, body);
    default:
      return advice_text(
          advisor->out,
          "xs = jax.tree.map(lambda x: x.reshape(%lld, %lld, *x.shape[1:]), xs)\n"
          "inner = jax.checkpoint(lambda c, x: jax.lax.scan(%s, c, x))\n"
          "carry, ys = jax.lax.scan(inner, carry, xs)  # of a fori_loop: two of them, "
          "%lld times and %lld times, with the same checkpoints",
          outer, inner, body, outer, inner);
  }
}

static rh_remedy remedy_of(Advisor *advisor, const ScanPlace *scan, int64_t length) {
  rh_remedy remedy = scan_remedy(scan, "nested-scan");
  long long inner = (long long)length, outer = (long long)(scan->trips / length);
  remedy.segment = length;
  remedy.title =
      advice_text(advisor->out,
                  "%s: make the %s %lld times a loop of %lld, with a checkpoint around the inner "
                  "loop and one around its body",
                  scan->where, scan_words(scan, advisor->out), outer, inner);
  const char *body = framework_checkpoint(advisor->module, advisor->framework, scan->body, (Str){0},
                                          NULL, advisor->out);
  remedy.code = code_of(advisor, outer, inner, body);
  remedy.explanation = advice_text(
      advisor->out,
      "Only the carry of every %lld-th iteration is stored then, and memory grows with the root of "
      "the number of iterations. The forward loop runs once more.",
      inner);
  return remedy;
}

/* Whether the module returns an array of these dimensions, such as the gradient of an input. */
static bool is_returned(const Module *module, const Shape *shape) {
  InstId root = comp_get(module, module->entry)->root;
  ShapeId result = inst_get(module, root)->shape;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    const Shape *other = shape_get(&module->shapes, shape_part(&module->shapes, result, part));
    if (shape_is_array(other) && other->rank == shape->rank &&
        memcmp(other->dims, shape->dims, shape->rank * sizeof *shape->dims) == 0)
      return true;
  }
  return false;
}

/* The bytes of the inputs that an iteration reads a slice of, and of their gradients, for one
 * segment. */
static int64_t sliced_bytes(const Module *module, const Loop *loop, int64_t length) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < loop->num_elements; i++) {
    const Shape *shape = inst_shape(module, inst_operand(module, loop->init, i));
    bool has_slices = loop->is_invariant[i] && shape_is_array(shape) && shape->rank > 0 &&
                      shape->dims[0] == loop->trips;
    if (!has_slices) continue;
    int64_t own = shape->bytes / loop->trips * length;
    bytes += is_returned(module, shape) ? 2 * own : own;
  }
  return bytes;
}

/* The last position of a loop of so many iterations in a sequence that has two of them, as the body
 * of the outer backward loop has; NO_ID = it is none. */
static SchedPos last_inner_loop(const Module *module, Sequence sequence, int64_t length) {
  SchedPos last = NO_ID;
  uint32_t count = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (inst_get(module, sequence.ids[pos])->opcode != OPCODE_WHILE) continue;
    if (while_trip_count(module, sequence.ids[pos]) != length) continue;
    last = pos;
    count++;
  }
  return count == 2 ? last : NO_ID;
}

/* The inner loops of a segment read their inputs as an array of their own, a slice of the whole,
 * which the rewrite of remat/scan does without: it lives as long as they run. */
static void hold_inputs(rh_module *made, int64_t bytes, int64_t length) {
  Module *module = made->module;
  Rewrite rewrite = rewrite_begin(module);
  for (InstId id = 0; id < module->insts.len && bytes > 0; id++) {
    if (inst_get(module, id)->opcode != OPCODE_WHILE) continue;
    CompId body = inst_callees(module, id)[0];
    Sequence old = made->schedule.of[body];
    SchedPos last = last_inner_loop(module, old, length);
    if (last == NO_ID) continue;
    ArraySpec spec = {.type = TYPE_U8, .rank = 1, .dims = &bytes};
    int64_t one = 1;
    ArraySpec end_spec = {.type = TYPE_U8, .rank = 1, .dims = &one};
    InstId held = rewrite_add_helper(
        &rewrite, body,
        (InstSpec){.opcode = OPCODE_IOTA, .shape = shape_array(&module->shapes, &spec)});
    InstId end = rewrite_add_helper(&rewrite, body,
                                    (InstSpec){.opcode = OPCODE_SLICE,
                                               .shape = shape_array(&module->shapes, &end_spec),
                                               .operands = &held,
                                               .num_operands = 1});
    Sequence sequence = {.ids = arena_array(made->arena, InstId, (size_t)old.len + 2)};
    for (SchedPos pos = 0; pos < old.len; pos++) {
      if (pos == 1) sequence.ids[sequence.len++] = held; /* behind the parameter */
      sequence.ids[sequence.len++] = old.ids[pos];
      if (pos == last) sequence.ids[sequence.len++] = end;
    }
    made->schedule.of[body] = sequence;
    return;
  }
}

static void propose(ScanStudy *study, const ScanPlace *scan) {
  Advisor *advisor = study->advisor;
  if (scan->num_loops > 1 || !scan_can_segment(scan->values)) return; /* it cuts one loop */
  int64_t length = scan_segment_length(scan->values, sqrt((double)scan->trips));
  if (length < 2) return;
  VariantGoal goal = {.price = INFINITY,
                      .is_kept = scan_kept(study, scan->border),
                      .segment = 1,
                      .segment_border = scan->border + 1,
                      .most_rounds = 2,
                      .only_new = true,
                      .most_cut = 1};
  rh_module *made = scan_simulate(study, &goal);
  if (!made) return;
  const Loop *loop = &study->scans.loops.list[scan->values->loop];
  hold_inputs(made, sliced_bytes(advisor->module, loop, length), length);
  rh_remedy remedy = remedy_of(advisor, scan, length);
  remedy.confidence = "medium";
  if (advisor_add(advisor, &remedy, made)) advisor_last(advisor)->is_sketch = true;
}

/* Whether the loop was cut by rewriting, and what that leaves in its stacks is what a checkpoint
 * would. */
static bool is_cut(const ScanStudy *study, const LoopPair *pair, const ScanPlace *scan) {
  const Advisor *advisor = study->advisor;
  if (!loop_pair_is_done(pair, scan_stored_bytes(study, pair->forward))) return false;
  for (uint32_t i = 0; i < advisor->remedies.len; i++) {
    const rh_remedy *shown = &advisor->remedies.data[i].shown;
    if (strcmp(shown->kind, "nested-scan") == 0 && shown->source_line == scan->place.line &&
        shown->num_instances == scan->trips)
      return true;
  }
  return false;
}

static void propose_pair(ScanStudy *study, const LoopPairs *pairs, uint32_t scan) {
  Advisor *advisor = study->advisor;
  const LoopPair *pair = &pairs->list.data[scan];
  int64_t length = loop_pair_segment(pair);
  if (length == 0 || is_cut(study, pair, &pair->place)) return;
  rh_remedy remedy = remedy_of(advisor, &pair->place, length);
  remedy.confidence = "medium";
  rh_module *made = loop_pairs_simulate(advisor, pairs, scan, true);
  if (advisor_add_timed(advisor, &remedy, made, 2 * loop_pairs_seconds(pairs, scan)))
    advisor_drop_earlier(advisor, advisor->remedies.len - 1);
}

void advise_nested_scan(Advisor *advisor) {
  ScanStudy study;
  scan_study_open(&study, advisor);
  scan_study_visit(&study, propose);
  LoopPairs pairs = loop_pairs_find(advisor, study.arena);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    if (pairs.list.data[i].scan == i) propose_pair(&study, &pairs, i);
  }
  scan_study_free(&study);
}
