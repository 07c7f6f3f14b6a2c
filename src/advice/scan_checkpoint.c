/* Advice on scans whose forward loop stacks values for their backward loop: a checkpoint around the
 * body, which stacks only what is carried from one iteration to the next, and one with a policy
 * that keeps products.
 *
 * It is simulated by the rewrite that rematerialization itself would use (remat/scan): what is no
 * longer stacked is computed again in the backward loop. Where the backend has rewritten loops so
 * that not all of it can be, it is simulated by memory alone (advice/stack_memory.h), and the lower
 * of two figures for one scan is right, because a checkpoint stacks nothing else. */
#include <math.h>

#include "advice/scan_study.h"
#include "advice/stack_memory.h"
#include "emit/human.h"

/* The texts of a checkpoint around the body of a loop. */
static void write_checkpoint(const Advisor *advisor, const ScanPlace *scan, const char *policy,
                             rh_remedy *remedy) {
  const char *wrapped = framework_checkpoint(advisor->module, advisor->framework, scan->body,
                                             (Str){0}, policy, advisor->out);
  if (policy) remedy->policy = advice_text(advisor->out, "%s", policy);
  remedy->title =
      advice_text(advisor->out, "%s: put the body of this %s under a checkpoint%s", scan->where,
                  scan_words(scan, advisor->out), policy ? " that keeps matrix products" : "");
  remedy->code = advisor->framework == FRAMEWORK_JAX || advisor->framework == FRAMEWORK_UNKNOWN
                     ? advice_text(advisor->out, "%s(%s, …)", framework_scan(wrapped), wrapped)
                     : advice_text(advisor->out, "%s", wrapped);
  remedy->explanation = advice_text(
      advisor->out,
      "The forward loop stacks %s for the backward loop, one slice in each iteration. Under a "
      "checkpoint it stacks only %s, and the backward loop computes the rest again.",
      human_bytes(scan->live_bytes).text,
      policy ? "the carry and the products" : "what is carried from one iteration to the next");
}

/* ---- by rewriting ---- */

static void add_checkpoint(ScanStudy *study, const ScanPlace *scan, const char *policy) {
  VariantGoal goal = {.price = INFINITY,
                      .is_kept = scan_kept(study, scan->border),
                      .most_rounds = 1,
                      .algorithm = policy ? remat_algorithm_find("checkpoint=speed") : NULL};
  rh_module *made = scan_simulate(study, &goal);
  if (!made) return;
  rh_remedy remedy = scan_remedy(scan, "checkpoint-scan");
  write_checkpoint(study->advisor, scan, policy, &remedy);
  advisor_add(study->advisor, &remedy, made);
}

static void propose(ScanStudy *study, const ScanPlace *scan) {
  Framework framework = study->advisor->framework;
  add_checkpoint(study, scan, NULL);
  if (framework == FRAMEWORK_JAX || framework == FRAMEWORK_UNKNOWN)
    add_checkpoint(study, scan, "dots_saveable");
}

/* ---- by memory ---- */

static void propose_pair(Advisor *advisor, const LoopPairs *pairs, uint32_t scan) {
  const LoopPair *pair = &pairs->list.data[scan];
  rh_remedy remedy = scan_remedy(&pair->place, "checkpoint-scan");
  remedy.confidence = "medium";
  write_checkpoint(advisor, &pair->place, NULL, &remedy);
  rh_module *made = loop_pairs_simulate(advisor, pairs, scan, false);
  (void)advisor_add_timed(advisor, &remedy, made, loop_pairs_seconds(pairs, scan));
}

/* ---- both ---- */

/* Whether rewriting left no more in the stacks of a scan than a checkpoint would. */
static bool is_rewritten(const ScanStudy *study, const LoopPairs *pairs, uint32_t scan) {
  for (uint32_t i = scan; i < pairs->list.len; i++) {
    const LoopPair *pair = &pairs->list.data[i];
    bool is_done = loop_pair_is_done(pair, scan_stored_bytes(study, pair->forward));
    if (pair->scan == scan && !is_done) return false;
  }
  return true;
}

/* Goes by memory where rewriting left more, and where the backend fuses what is computed again with
 * what reads it, which the rewrite does not. */
static void propose_rest(ScanStudy *study, const LoopPairs *pairs) {
  Advisor *advisor = study->advisor;
  bool is_fusing = strcmp(advisor->module->backend.target->name, "cpu") != 0;
  for (uint32_t i = 0; i < pairs->list.len; i++) {
    if (pairs->list.data[i].scan != i) continue;
    bool is_done = is_rewritten(study, pairs, i);
    if (is_done && !is_fusing) continue;
    uint32_t num_before = advisor->remedies.len;
    propose_pair(advisor, pairs, i);
    if (advisor->remedies.len > num_before) advisor_keep_lower(advisor, num_before, is_done);
  }
}

void advise_scan_checkpoint(Advisor *advisor) {
  ScanStudy study;
  scan_study_open(&study, advisor);
  scan_study_visit(&study, propose);
  LoopPairs pairs = loop_pairs_find(advisor, study.arena);
  propose_rest(&study, &pairs);
  scan_study_free(&study);
}
