/* Advice on scans whose forward loop stacks values for their backward loop: a checkpoint around the
 * body, which stacks only what is carried from one iteration to the next, and one with a policy
 * that keeps products.
 *
 * It is simulated by the rewrite that rematerialization itself would use (remat/scan): what is no
 * longer stacked is computed again in the backward loop. */
#include <math.h>

#include "advice/scan_study.h"
#include "emit/human.h"

static void add_checkpoint(ScanStudy *study, const ScanPlace *scan, const char *policy) {
  Advisor *advisor = study->advisor;
  VariantGoal goal = {.price = INFINITY,
                      .is_kept = scan_kept(study, scan->border),
                      .most_rounds = 1,
                      .algorithm = policy ? remat_algorithm_find("checkpoint=speed") : NULL};
  rh_module *made = scan_simulate(study, &goal);
  if (!made) return;
  rh_remedy remedy = scan_remedy(scan, "checkpoint-scan");
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
      human_bytes(scan->live_bytes).text,
      policy ? "the carry and the products" : "what is carried from one iteration to the next");
  advisor_add(advisor, &remedy, made);
}

static void propose(ScanStudy *study, const ScanPlace *scan) {
  Framework framework = study->advisor->framework;
  add_checkpoint(study, scan, NULL);
  if (framework == FRAMEWORK_JAX || framework == FRAMEWORK_UNKNOWN)
    add_checkpoint(study, scan, "dots_saveable");
}

void advise_scan_checkpoint(Advisor *advisor) {
  ScanStudy study;
  scan_study_open(&study, advisor);
  scan_study_visit(&study, propose);
  scan_study_free(&study);
}
