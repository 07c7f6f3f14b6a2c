/* How results are compared that may meet a budget or not. */
#ifndef REMAT_HLO_REMAT_JOB_SCORE_H
#define REMAT_HLO_REMAT_JOB_SCORE_H

#include <stdbool.h>
#include <stdint.h>

/* What results are compared by. */
typedef struct Score {
  bool is_met; /* the budget */
  int64_t peak_bytes;
  double seconds; /* modelled */
} Score;

/* To meet the budget comes first, then, if neither does, the lower peak, then less time. */
static inline bool score_is_better(Score a, Score b) {
  if (a.is_met != b.is_met) return a.is_met;
  if (!a.is_met && a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
  return a.seconds < b.seconds;
}

/* What a result promises that something else goes on from, as a time: to free what exceeds the
 * budget costs something, too. A part of the budget that is exceeded counts as three times that
 * part of the time. */
static inline double score_promise(Score score, int64_t limit_bytes) {
  double excess = (double)(score.peak_bytes - limit_bytes) / (double)limit_bytes;
  return score.seconds * (1 + (excess > 0 ? 3 * excess : 0));
}

#endif
