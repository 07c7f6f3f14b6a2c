/* Advice on scans of many iterations: a scan in a scan, which stores the carry of every segment
 * only, so that memory grows with the root of the number of iterations (Chen et al., "Training Deep
 * Nets with Sublinear Memory Cost", 2016). Simulated as remat/scan/segment.h does it or, where the
 * loops cannot be rewritten like that, by memory alone (advice/stack_memory.h). */
#include <math.h>

#include "advice/scan_study.h"
#include "advice/stack_memory.h"
#include "remat/scan/segment.h"

static rh_remedy remedy_of(Advisor *advisor, const ScanPlace *scan, int64_t length) {
  rh_remedy remedy = scan_remedy(scan, "nested-scan");
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
  return remedy;
}

static void propose(ScanStudy *study, const ScanPlace *scan) {
  Advisor *advisor = study->advisor;
  if (!scan_can_segment(scan->values)) return;
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
  rh_remedy remedy = remedy_of(advisor, scan, length);
  advisor_add(advisor, &remedy, made);
}

/* The divisor of the number of iterations that is closest to its root; 0 if there is none. */
static int64_t segment_of(int64_t trips) {
  double root = sqrt((double)trips);
  int64_t best = 0;
  for (int64_t length = 2; length < trips; length++) {
    bool is_closer = !best || fabs((double)length - root) < fabs((double)best - root);
    if (trips % length == 0 && is_closer) best = length;
  }
  return best;
}

static void propose_pair(ScanStudy *study, const LoopPair *pair) {
  Advisor *advisor = study->advisor;
  int64_t length = segment_of(pair->trips);
  bool is_known = loop_pair_is_done(pair, scan_stored_bytes(study, pair->forward));
  if (is_known || length == 0) return;
  ScanPlace scan = loop_pair_place(advisor, pair);
  rh_remedy remedy = remedy_of(advisor, &scan, length);
  remedy.confidence = "medium";
  rh_module *made = loop_pair_simulate(advisor, pair, pair->trips / length + length);
  if (advisor_add_timed(advisor, &remedy, made, 2 * pair->forward_seconds))
    advisor_drop_earlier(advisor, advisor->remedies.len - 1);
}

void advise_nested_scan(Advisor *advisor) {
  ScanStudy study;
  scan_study_open(&study, advisor);
  scan_study_visit(&study, propose);
  LoopPairs pairs = loop_pairs_find(advisor, study.arena);
  for (uint32_t i = 0; i < pairs.list.len; i++)
    propose_pair(&study, &pairs.list.data[i]);
  scan_study_free(&study);
}
