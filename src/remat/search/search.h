/* The search for one line: variants of the order, and for each of them prices, trimming, and
 * repeated improvement. */
#ifndef REMAT_HLO_REMAT_SEARCH_SEARCH_H
#define REMAT_HLO_REMAT_SEARCH_SEARCH_H

#include "remat/search/price.h"

enum {
  MAX_FOUND = 9,
  MAX_KNOWN = 8, /* of those found, that a search under another limit goes on from */
};

/* What a search has found: the best line, and then those that are nearly as good. Packing, which
 * lines know nothing of, may suit one of them better. */
typedef struct FoundLines {
  ScoredLine list[MAX_FOUND]; /* best first */
  uint32_t len;
} FoundLines;

static inline const ScoredLine *found_best(const FoundLines *found) {
  return &found->list[0];
}

typedef struct SearchRules {
  bool keeps_order; /* nothing may move */
  bool is_thorough; /* all variants; otherwise few, for what only asks whether a limit can be met */
  /* Lines that were found for a limit nearby, best first: only they are improved, unless that leads
   * to none that fits. NULL = there are none. */
  const FoundLines *known;
  struct SearchMemo *memo; /* what searches have found so far (memo.h); NULL = it is not kept */
  unsigned num_threads; /* that try variants side by side; the result is the same for any number */
} SearchRules;

/* The fastest line found whose peak is at most the limit; or, if none is found, that of the lowest
 * peak. */
FoundLines search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, Arena *out, Arena *scratch);

/* The line of the lowest peak found, `known` included, which may be NULL. The search ends when that
 * is at most `least_bytes`. */
FoundLines search_lowest(const Line *given, int64_t least_bytes, const ScoredLine *known,
                         const SearchRules *rules, Patience *patience, Arena *out, Arena *scratch);

/* A line, mended until it is at most the limit as far as possible, and trimmed. */
ScoredLine search_lowered(const ScoredLine *scored, int64_t limit_bytes, const SearchRules *rules,
                          Patience *patience, Arena *out, Arena *scratch);

/* What each computation from `first` on and those that it calls need in their present order, as
 * lines are measured; callees first. `inner_bytes` is by CompId, and also that of the context. */
void search_measure_callees(const SearchContext *context, int64_t *inner_bytes, CompId first,
                            Arena *scratch);

#endif
