/* What the kinds of advice on scans share: loops whose stacks other loops read, what is said of
 * their places, and how a change of one of them is simulated. */
#ifndef REMAT_HLO_ADVICE_SCAN_STUDY_H
#define REMAT_HLO_ADVICE_SCAN_STUDY_H

#include "advice/advisor.h"
#include "remat/engine/variant.h"

/* What is said of a loop in all proposals. */
typedef struct ScanPlace {
  const ScanValues *values;
  uint32_t border; /* of study->scans */
  SourcePlace place;
  const char *where;
  Str body; /* the function that is the body; empty = unknown */
  int64_t trips;
  uint32_t num_loops; /* that the scan has become: a function that is called twice has two */
  int64_t live_bytes; /* of the stacks at the peak */
} ScanPlace;

/* Whether two loops come from one scan of the program: from one line, and with one body. */
bool scan_is_same(const ScanPlace *a, const ScanPlace *b);

/* ` of 24 iterations`, and how many loops more its scan has become. */
const char *scan_words(const ScanPlace *scan, Arena *out);

/* What all simulations of one module share. */
typedef struct ScanStudy {
  Advisor *advisor;
  rh_remat_options options;
  RematRequest request;
  Patience patience;
  Problem problem;
  Findings findings;
  ScanModule scans;
  ScanPlace *places; /* by border; the first one of a scan has the bytes of all */
  uint32_t *scan_of; /* by border of scans: the first one of the same scan of the program */
  rh_status status;
  Arena *arena;
} ScanStudy;

/* `*study` must stay where it is. An error is left in the status; free it in any case. */
void scan_study_open(ScanStudy *study, Advisor *advisor);
void scan_study_free(ScanStudy *study);

/* Visits the scans whose stacks are worth advice, at the first loop of each. */
typedef void (*ScanFn)(ScanStudy *study, const ScanPlace *scan);
void scan_study_visit(ScanStudy *study, ScanFn visit);

/* By border and value, what is stored in any case if the scan of this loop gets a checkpoint: what
 * its loops carry, and what other loops store now. */
bool *const *scan_kept(const ScanStudy *study, uint32_t border);

/* The module after a change of loops, as a new one that the caller owns; NULL if there is none. */
rh_module *scan_simulate(ScanStudy *study, const VariantGoal *goal);

/* The bytes that a checkpoint by rewriting leaves in the stacks of a loop; -1 if remat/scan does
 * not know it. */
int64_t scan_stored_bytes(const ScanStudy *study, InstId loop);

/* A remedy with its place. */
rh_remedy scan_remedy(const ScanPlace *scan, const char *kind);

#endif
