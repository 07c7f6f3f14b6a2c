/* Lines with what they come to under a limit, and lists of the best of them. */
#ifndef REMAT_HLO_REMAT_SEARCH_PRICED_H
#define REMAT_HLO_REMAT_SEARCH_PRICED_H

#include "remat/job/score.h"
#include "remat/search/line.h"

typedef struct PricedLine {
  Line line;
  bool fits; /* the peak is at most the limit */
  int64_t peak_bytes;
  double seconds;
  double excess; /* see line_excess() */
} PricedLine;

/* A line under a limit, with what line_measure() says of it. It stays where it is. */
PricedLine priced_of(const Line *line, const LineMemory *memory, int64_t limit_bytes);

/* The same, measured. */
PricedLine priced_measure(const Line *line, int64_t limit_bytes, Arena *scratch);

/* Whether a line has a lower peak than another one, or the same one in less time. */
bool priced_is_lower(const PricedLine *a, const PricedLine *b);

static inline Score priced_score(const PricedLine *priced) {
  return (Score){priced->fits, priced->peak_bytes, priced->seconds};
}

/* Whether a line is better than another one, by score_is_better(). */
static inline bool priced_is_better(const PricedLine *a, const PricedLine *b) {
  return score_is_better(priced_score(a), priced_score(b));
}

/* Whether a line fits and takes no more than `least_seconds`, which are summed up in another order.
 */
static inline bool priced_is_free(const PricedLine *priced, double least_seconds) {
  return priced->fits && priced->seconds <= least_seconds * (1 + 1e-9);
}

/* What a line promises, in seconds: its time, and `seconds_per_excess` for what exceeds the limit.
 * A few steps that exceed it by far are mended more easily than many that exceed it by little, so
 * the excess counts, not the peak. */
static inline double priced_merit(const PricedLine *priced, double seconds_per_excess) {
  return priced->seconds + seconds_per_excess * priced->excess;
}

enum { MAX_KEPT = 10 };

/* Copies of the best lines of those added, best first, each in an arena of its own. Lines that come
 * to the same are taken as the same. */
typedef struct KeptLines {
  struct KeptLine {
    PricedLine priced;
    Arena *arena;
  } list[MAX_KEPT];
  uint32_t len;
  bool by_merit;             /* else as priced_is_better() says */
  double seconds_per_excess; /* for merits */
  Arena *scratch;
} KeptLines;

void kept_add(KeptLines *kept, const PricedLine *priced);
void kept_free(KeptLines *kept);

#endif
