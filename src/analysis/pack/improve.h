/* Ways to look for a lower packing of one part of time: what `best` is made of. */
#ifndef REMAT_HLO_ANALYSIS_PACK_IMPROVE_H
#define REMAT_HLO_ANALYSIS_PACK_IMPROVE_H

#include "analysis/pack/sections.h"

/* ---- search.c: by branch and bound, not higher than a target ---- */

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

/* ---- eject.c: by taking out what is in the way ---- */

/* Some runs for a lower packing of one part, one of them for `goal_bytes`; ends early when that is
 * reached or the budget is spent. Rounds, counted from 0, differ, and later ones are longer.
 * `offsets` are those of a packing and change only for the better. A buffer that is placed takes
 * two steps for each that already is. */
void pack_eject(const PackSections *sections, PackSpan part, int64_t goal_bytes, uint32_t round,
                PackBudget *budget, int64_t *offsets, Arena *scratch);

/* ---- reorder.c: best fit in other orders ---- */

/* Looks for a lower packing of one part until it is not higher than `goal_bytes` or the budget is
 * spent; a few runs of best fit are always made. `offsets` are those of a packing and change
 * only for the better. */
void pack_reorder(const PackSections *sections, PackSpan part, int64_t goal_bytes,
                  PackBudget *budget, int64_t *offsets, Arena *scratch);

#endif
