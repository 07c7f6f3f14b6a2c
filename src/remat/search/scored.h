/* Lines with what they come to under a limit, and lists of the best of them. */
#ifndef REMAT_HLO_REMAT_SEARCH_SCORED_H
#define REMAT_HLO_REMAT_SEARCH_SCORED_H

#include "remat/job/score.h"
#include "remat/search/line.h"

typedef struct ScoredLine {
  Line line;
  Score score;   /* what meets the budget here is the limit: the peak is at most that */
  double excess; /* see line_excess() */
} ScoredLine;

/* A line under a limit, with what line_measure() says of it. It stays where it is. */
ScoredLine scored_of(const Line *line, const LineMemory *memory, int64_t limit_bytes);

/* The same, measured. */
ScoredLine scored_measure(const Line *line, int64_t limit_bytes, Arena *scratch);

/* Whether a line has a lower peak than another one, or the same one in less time: what is better
 * where no limit is met. */
static inline bool scored_is_lower(const ScoredLine *a, const ScoredLine *b) {
  return score_is_better((Score){false, a->score.bytes, a->score.seconds},
                         (Score){false, b->score.bytes, b->score.seconds});
}

/* Whether a line fits and takes no more than `least_seconds`, which are summed up in another order.
 */
static inline bool scored_is_free(const ScoredLine *scored, double least_seconds) {
  return scored->score.is_met && scored->score.seconds <= least_seconds * (1 + 1e-9);
}

/* What a line promises, in seconds: its time, and `seconds_per_excess` for what exceeds the limit.
 * A few steps that exceed it by far are mended more easily than many that exceed it by little, so
 * the excess counts, not the peak. */
static inline double scored_merit(const ScoredLine *scored, double seconds_per_excess) {
  return scored->score.seconds + seconds_per_excess * scored->excess;
}

/* Which of two lines is kept before the other one. */
typedef enum KeptBy {
  KEPT_BY_SCORE, /* score_is_better() */
  KEPT_BY_PEAK,  /* scored_is_lower() */
  KEPT_BY_MERIT, /* the lower scored_merit() */
} KeptBy;

enum { MAX_KEPT = 10 };

/* Copies of the best lines of those added, best first, each in an arena of its own. Lines that come
 * to the same are taken as the same. */
typedef struct KeptLines {
  struct KeptLine {
    ScoredLine scored;
    Arena *arena;
  } list[MAX_KEPT];
  uint32_t len;
  KeptBy by;
  double seconds_per_excess; /* for merits */
  Arena *scratch;
} KeptLines;

void kept_add(KeptLines *kept, const ScoredLine *scored);
void kept_free(KeptLines *kept);

static inline const ScoredLine *kept_best(const KeptLines *kept) {
  return &kept->list[0].scored;
}

#endif
