/* The record of what was done with loops' stacks, by names, so that it can be saved in a plan and
 * done again. */
#ifndef REMAT_HLO_REMAT_SCAN_SCAN_STEP_H
#define REMAT_HLO_REMAT_SCAN_SCAN_STEP_H

#include "remat/job/plan_ref.h"

/* Which values of one loop are stored for the loops that read them; the rest is recomputed there.
 */
typedef struct ScanStep {
  int64_t round;    /* from 0; names refer to the module that the rounds before have made */
  PlanRef loop;     /* the while */
  PlanRefs stored;  /* see scan_value_name(); ignored if `segment` is not 0 */
  PlanRefs shifted; /* values that are read from stacks of others, an iteration apart; likewise */
  int64_t segment;  /* the loop is cut into segments of so many iterations; 0 = it is not */
  bool is_unrolled; /* the loop's iterations are written out; what is above is ignored then */
  bool is_lean;     /* values are computed twice rather than kept between two uses */
  /* The rest is for reports; of it, plans have only freed_bytes, which is ignored when one is read.
   */
  int64_t freed_bytes;    /* of stacks that are gone, less those of new ones */
  int64_t stored_bytes;   /* of the stacks that there are now */
  int64_t num_freed;      /* stacks that are gone, or that hold a segment only */
  int64_t num_segments;   /* 0 = the loop is not cut */
  int64_t num_iterations; /* of a loop that is unrolled */
  PlanRefs readers;       /* the loops that compute what the stacks held */
  Str source_file;        /* of the loop; empty = unknown */
  int64_t source_line;
} ScanStep;

typedef struct ScanSteps {
  VEC(ScanStep) list;
} ScanSteps;

/* Copies the steps and all names in them to `out`. */
void scan_copy_steps(const ScanSteps *from, ScanSteps *to, Arena *out);

#endif
