/* The search for one line: variants of the order, and for each of them prices, trimming, and
 * repeated improvement. */
#ifndef REMAT_HLO_REMAT_SEARCH_SEARCH_H
#define REMAT_HLO_REMAT_SEARCH_SEARCH_H

#include "remat/search/price.h"

typedef struct SearchRules {
  bool keeps_order; /* nothing may move */
  bool is_thorough; /* all variants; otherwise few, for what only asks whether a limit can be met */
} SearchRules;

/* The fastest line found whose peak is at most the limit; or, if none is found, that of the lowest
 * peak. */
PricedLine search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, Arena *out, Arena *scratch);

/* The line of the lowest peak found. */
PricedLine search_lowest(const Line *given, const SearchRules *rules, Patience *patience,
                         Arena *out, Arena *scratch);

#endif
