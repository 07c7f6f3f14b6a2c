/* Searches the entry of a module, and what it calls, as long as there are steps and something to
 * gain: from several beginnings, for each of them under several limits for lines (limits.h), and,
 * as a table of moves proposes it, as for other budgets and with more steps. */
#ifndef REMAT_HLO_REMAT_SEARCH_DRIVER_H
#define REMAT_HLO_REMAT_SEARCH_DRIVER_H

#include "remat/search/job.h"

/* Searches for what costs least under the budget, or else for the lowest peak, and applies it. What
 * that comes to depends on the order that it begins with, the more so the tighter the budget is. */
void drive_search(SearchJob *search);

#endif
