/* What a result comes to, and which of two results is the better one: the only rule for that. */
#ifndef REMAT_HLO_REMAT_JOB_SCORE_H
#define REMAT_HLO_REMAT_JOB_SCORE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Score {
  bool is_met;    /* the budget */
  int64_t bytes;  /* that are to meet it: the peak of a model, of a line, or what is counted */
  double seconds; /* modelled */
} Score;

/* A result that meets the budget is better than one that does not. Of two that meet it, the faster
 * one is better, and with the same time the smaller one; of two that do not, the smaller one, and
 * with the same bytes the faster one. Neither of two equal results is better. */
static inline bool score_is_better(Score a, Score b) {
  if (a.is_met != b.is_met) return a.is_met;
  if (a.is_met) return a.seconds < b.seconds || (a.seconds <= b.seconds && a.bytes < b.bytes);
  return a.bytes < b.bytes || (a.bytes == b.bytes && a.seconds < b.seconds);
}

/* What a result promises that something else goes on from, as a time: to free what exceeds the
 * budget costs something, too. A part of the budget that is exceeded counts as three times that
 * part of the time. */
static inline double score_promise(Score score, int64_t limit_bytes) {
  double excess = (double)(score.bytes - limit_bytes) / (double)limit_bytes;
  return score.seconds * (1 + (excess > 0 ? 3 * excess : 0));
}

#endif
