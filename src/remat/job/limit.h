/* What a budget bounds, from the option to a line. Each stage bounds another figure, so each has a
 * type of its own, and one function leads from a stage to the next.
 *
 *     as typed     Budget in src/cli: bytes, a percentage of the peak, r80%, min. The tool makes it
 *                  rh_remat_options.limit_bytes
 *     as counted   CountedLimit: the figure of the result that --limit-counts names
 *     of the peak  PeakLimit: the module's peak as the model counts that an algorithm is given
 *     of a line    LineLimit: what a line needs, as lines are measured
 *
 * In all of them 0 means as low as possible. */
#ifndef REMAT_HLO_REMAT_JOB_LIMIT_H
#define REMAT_HLO_REMAT_JOB_LIMIT_H

#include "remat_hlo.h"

typedef struct CountedLimit {
  int64_t bytes; /* INT64_MAX = there is no budget */
} CountedLimit;

typedef struct PeakLimit {
  int64_t bytes; /* INT64_MAX = there is no budget */
} PeakLimit;

typedef struct LineLimit {
  int64_t bytes;
} LineLimit;

static inline CountedLimit limit_counted(const rh_remat_options *options) {
  return (CountedLimit){options->limit_bytes};
}

/* `uncounted_bytes` are the part of the module's peak that the budget does not bound; below 0 if it
 * bounds more than the peak. */
static inline PeakLimit limit_of_peak(CountedLimit counted, int64_t uncounted_bytes) {
  bool has_end = uncounted_bytes <= 0 || counted.bytes < INT64_MAX - uncounted_bytes;
  if (counted.bytes == INT64_MAX || !has_end) return (PeakLimit){INT64_MAX};
  int64_t bytes = counted.bytes + uncounted_bytes;
  return (PeakLimit){bytes > 0 ? bytes : 0};
}

/* By `difference_bytes` the model counts more than lines do. A limit that nothing can meet stays
 * one: it does not become "as low as possible". */
static inline LineLimit limit_of_line(PeakLimit peak, int64_t difference_bytes) {
  bool has_end = difference_bytes >= 0 || peak.bytes < INT64_MAX + difference_bytes;
  int64_t bytes = has_end ? peak.bytes - difference_bytes : INT64_MAX;
  return (LineLimit){bytes < 1 ? 1 : bytes};
}

#endif
