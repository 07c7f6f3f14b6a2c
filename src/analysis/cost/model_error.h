/* How far modelled times are off from measured ones. */
#ifndef REMAT_HLO_ANALYSIS_COST_MODEL_ERROR_H
#define REMAT_HLO_ANALYSIS_COST_MODEL_ERROR_H

#include "ir/arena.h"

typedef struct ModelError {
  double rank_correlation; /* Spearman's, equal values sharing their mean rank; NaN if one of the
                              two does not vary */
  double median_error;     /* of |modelled / measured - 1| */
  double worst_error;
  double sum_ratio; /* of the sums, modelled / measured */
} ModelError;

/* Compares `count` pairs; all figures are NaN if there are none. O(n log n). */
ModelError model_error(const double *modelled, const double *measured, uint32_t count,
                       Arena *scratch);

#endif
