/* Advice on scans of many iterations: a scan in a scan, which stores the carry of every segment
 * only, so that memory grows with the root of the number of iterations (Chen et al., "Training Deep
 * Nets with Sublinear Memory Cost", 2016). Simulated as remat/scan/segment.h does it. */
#include <math.h>

#include "advice/scan_study.h"
#include "remat/scan/segment.h"

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
  advisor_add(advisor, &remedy, made);
}

void advise_nested_scan(Advisor *advisor) {
  ScanStudy study;
  scan_study_open(&study, advisor);
  scan_study_visit(&study, propose);
  scan_study_free(&study);
}
