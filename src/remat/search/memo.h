/* What searches for a line have found, for searches for the same line. The limits of a budget, the
 * rungs of a missed one, attempts and variants of the module come back to the same computations
 * under the same limits again and again. */
#ifndef REMAT_HLO_REMAT_SEARCH_MEMO_H
#define REMAT_HLO_REMAT_SEARCH_MEMO_H

#include "ir/hash.h"
#include "remat/search/search.h"

typedef struct MemoLine MemoLine; /* what one search has found */

/* Not for use by several threads at a time. */
typedef struct SearchMemo {
  Arena *arena;
  VEC(MemoLine) list;
  IdTable of_query;             /* by hash */
  uint64_t num_kept, most_kept; /* steps and sources of all lines */
} SearchMemo;

/* Keeps lines of at most `most_kept` steps and sources in all, in `arena`, which must live as long.
 */
SearchMemo *search_memo_new(uint64_t most_kept, Arena *arena);

/* A search: all that its result follows from, but for the steps that it may take. */
typedef struct MemoQuery {
  uint64_t hash[2]; /* of the graph, without the ids of its instructions, and of the given line */
  int64_t limit_bytes;
  bool is_thorough, keeps_order;
} MemoQuery;

MemoQuery search_memo_query(const Line *given, int64_t limit_bytes, const SearchRules *rules);

/* Whether the same search is known, and there are enough steps for it. Then hands over what it has
 * found, in `out`, and spends what it has spent. */
bool search_memo_find(const SearchMemo *memo, const MemoQuery *query, const SearchGraph *graph,
                      Patience *patience, FoundLines *found, Arena *out);

/* Keeps what a search has found that had `num_steps` steps and has spent `num_spent`, unless it was
 * short of them: with more, it would have found something else. */
void search_memo_add(SearchMemo *memo, const MemoQuery *query, const FoundLines *found,
                     uint64_t num_steps, uint64_t num_spent);

#endif
