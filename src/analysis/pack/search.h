/* Looks for a packing that is not higher than a target, by branch and bound. */
#ifndef REMAT_HLO_ANALYSIS_PACK_SEARCH_H
#define REMAT_HLO_ANALYSIS_PACK_SEARCH_H

#include "analysis/pack/sections.h"

typedef struct PackSearch PackSearch;

typedef enum SearchEnd {
  SEARCH_FOUND, /* the offsets are set */
  SEARCH_NONE,  /* all has been tried */
  SEARCH_LIMIT, /* not known: the budget or the number of nodes is spent */
} SearchEnd;

/* A search for the buffers of one part of pack_sections_split. What fails in one run is remembered
 * for the next ones. It has memory of its own, with the limits of `scratch`. */
PackSearch *pack_search_new(const PackSections *sections, PackSpan part, Arena *scratch);

/* Whether SEARCH_NONE is a proof. Where alignments differ it is none: a buffer may then lie with a
 * space below it that another one fits in. */
bool pack_search_is_complete(const PackSearch *search);

void pack_search_free(PackSearch *search);

/* One descent from the root. `variant` chooses the order in which buffers are tried, counted from
 * 0. The offsets of the part's buffers are set when it is SEARCH_FOUND. */
SearchEnd pack_search_run(PackSearch *search, int64_t target_bytes, uint32_t variant,
                          PackBudget *budget, int64_t *offsets);

#endif
