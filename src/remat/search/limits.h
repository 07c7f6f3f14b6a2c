/* Searches of the entry under one limit for lines after the other. Lines are not measured as the
 * model of the job measures modules, so the limit for them with which a line meets the budget at
 * the least cost is found by trying. */
#ifndef REMAT_HLO_REMAT_SEARCH_LIMITS_H
#define REMAT_HLO_REMAT_SEARCH_LIMITS_H

#include "remat/search/job.h"

/* The searches of the entry, each of which begins from the module as it was given. */
typedef struct EntrySearch {
  SearchJob *search;
  RematState before;
  bool is_fresh; /* the module is as it was given */
  Result best;
  Figures last;
  bool has_gained; /* the last one is the best one */
  LineLimit asked; /* the limit that the table of limits begins with */
  LineLimit limit; /* the last one */
  /* of try_corrected() */
  int64_t too_high, low_enough;
  int num_failed;
  /* of try_higher() */
  uint64_t least_steps;
  int64_t room;
  /* of try_raised() */
  int64_t lowest, line_before;
} EntrySearch;

/* Goes back to the module as it was given. */
void search_entry_again(EntrySearch *entry);

/* Searches under a limit for lines, and keeps what that comes to if it is the best so far. */
void search_once(EntrySearch *entry, LineLimit limit);

/* The same under a limit and then under others, as long as that leads to a better result. */
void search_limits(EntrySearch *entry, LineLimit limit);

#endif
