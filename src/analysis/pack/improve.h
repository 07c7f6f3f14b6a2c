/* The searches for a lower packing of one part of time that the packing `best` consists of. */
#ifndef REMAT_HLO_ANALYSIS_PACK_IMPROVE_H
#define REMAT_HLO_ANALYSIS_PACK_IMPROVE_H

#include "analysis/pack/sections.h"

/* ---- search.c: branch and bound for a packing that is not higher than a target ---- */

typedef struct PackSearch PackSearch;

typedef enum SearchEnd {
  SEARCH_FOUND, /* the offsets are set */
  SEARCH_NONE,  /* everything was tried: there is none */
  SEARCH_LIMIT, /* unknown: the budget or the number of nodes is spent */
} SearchEnd;

/* A search for the buffers of one part of pack_sections_split(). States that failed in one run are
 * remembered in the next ones. The search has memory of its own, with the limits of `scratch`. */
PackSearch *pack_search_new(const PackSections *sections, PackSpan part, Arena *scratch);

/* Whether SEARCH_NONE is a proof. It is none if alignments differ: there may then be a space below
 * a buffer that another one fits in. */
bool pack_search_is_complete(const PackSearch *search);

void pack_search_free(PackSearch *search);

/* One run from the root. `variant`, counted from 0, chooses the order in which buffers are tried.
 * Sets the offsets of the part's buffers when it returns SEARCH_FOUND. */
SearchEnd pack_search_run(PackSearch *search, int64_t target_bytes, uint32_t variant,
                          PackBudget *budget, int64_t *offsets);

/* ---- eject.c: removes buffers that are in the way ---- */

/* Makes some runs for a lower packing of one part, one of them for `goal_bytes`; ends early when
 * the goal is reached or the budget is spent. Rounds, counted from 0, differ, and later ones are
 * longer. `offsets` are a packing, and change only to a lower one. Placing a buffer takes two steps
 * for each buffer that is already placed. */
void pack_eject(const PackSections *sections, PackSpan part, int64_t goal_bytes, uint32_t round,
                PackBudget *budget, int64_t *offsets, Arena *scratch);

/* ---- reorder.c: best fit in other orders ---- */

/* Searches for a lower packing of one part until it is not higher than `goal_bytes` or the budget
 * is spent; a few runs of best fit are always made. `offsets` are a packing, and change only to a
 * lower one. */
void pack_reorder(const PackSections *sections, PackSpan part, int64_t goal_bytes,
                  PackBudget *budget, int64_t *offsets, Arena *scratch);

#endif
