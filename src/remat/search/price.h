/* Decides what a line recomputes, for prices of memory.
 *
 * A price is what one byte costs at one step. Between two readers of a value it is either kept,
 * which costs its bytes times the prices in between, or computed again for the later reader, which
 * costs its own time, and whatever it takes to have its operands there: to keep them longer or to
 * compute them again, too. The cheaper of both is chosen, for all values from the last to the
 * first, so that whoever reads a value is known when its turn comes. Where a value is first read
 * much later than it is computed, it can be computed later instead. If the graph has other forms
 * (forms.h), a copy into one after a reader and one back before the next are a third way, which
 * costs the time of the copies and the bytes of the form (price_forms.c).
 *
 * This is the Lagrangian relaxation of the retention intervals of Moccasin (Bartan et al., 2023),
 * with prices in the place of the limit at each step. Prices rise where the line that they lead to
 * exceeds the limit, and fall where it does not, until the limit holds everywhere. */
#ifndef REMAT_HLO_REMAT_SEARCH_PRICE_H
#define REMAT_HLO_REMAT_SEARCH_PRICE_H

#include "remat/job/patience.h"
#include "remat/search/scored.h"

/* How prices change from round to round. */
typedef struct PriceRules {
  uint32_t num_rounds;
  double rate; /* of the logarithm of a price in the first round, at most */
  double gain; /* of an excess, relative to that of the line without recomputation */
  /* By how much the cost of keeping a value differs from node to node, relative to it. Without it,
   * values that are alike, such as those of a network's equal layers, are kept or recomputed all
   * together, and no price leads to what lies in between. */
  double spread;
  /* How much it counts what is live only while a value is computed again. With it, fewer values are
   * computed again where memory is scarcest; without it, prices are lower there. Neither is best
   * everywhere. */
  double passing;
} PriceRules;

/* With `keeps_places`, every step stays where it is, and only clones are added. The fastest line
 * that fits, once it is trimmed, or that of the least excess if none does. The line given is one of
 * the candidates, untrimmed. O(rounds * (operands + clones) * log). */
ScoredLine price_line(const Line *line, int64_t limit_bytes, const PriceRules *rules,
                      bool keeps_places, Patience *patience, Arena *out, Arena *scratch);

#endif
