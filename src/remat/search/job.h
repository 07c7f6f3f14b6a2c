/* What the outer files of the search share, from computation.c to driver.c; which of them does what
 * is said in remat/algorithms/search.c. */
#ifndef REMAT_HLO_REMAT_SEARCH_JOB_H
#define REMAT_HLO_REMAT_SEARCH_JOB_H

#include "remat/job/score.h"
#include "remat/job/state.h"
#include "remat/search/forms.h"
#include "remat/search/search.h"

/* What a line of the entry came to. */
typedef struct Figures {
  /* of the line that was the best one before packing counted: */
  int64_t line_bytes;      /* its peak as lines are measured */
  int64_t line_peak_bytes; /* and by the model of the job */
  /* of the line that was taken: */
  Score taken;  /* by the model of the job */
  bool is_free; /* it recomputes nothing */
} Figures;

/* What a search has come to, with the module that came out. */
typedef struct Result {
  Figures figures;
  uint32_t num_steps;
  RematState state;
  Arena *arena; /* of the state; NULL = there is no result */
} Result;

/* Lines of a graph that is gone. */
typedef struct KnownLines {
  FoundLines lines;
  const SearchNode *nodes; /* of the graph */
  uint32_t num_nodes;
  Arena *arena; /* NULL = there are none */
} KnownLines;

typedef struct SearchJob {
  RematJob *job;
  SearchContext context; /* of the module as it is now, in `arena` */
  int64_t *inner_bytes;  /* by CompId: what it and its callees need, as lines are measured */
  uint32_t num_comps;    /* of the module, when it was analysed last */
  SearchRules rules;
  bool holds_lent;      /* lines take the memory that parameters leave free as held */
  CompactShapes *forms; /* other forms that prices decide about; NULL = about none */
  uint32_t num_steps;
  CompId unmet_comp;       /* a computation for which no line without repeated loops met a limit, */
  LineLimit unmet;         /* and that limit */
  Figures entry;           /* of the line that was applied to the entry last */
  Result round;            /* the best line of the entry before what it calls was reduced */
  KnownLines found;        /* lines that the last search of the entry has found */
  const KnownLines *known; /* to go on from, of a limit nearby; or NULL */
  int64_t difference_bytes; /* by which the model counts more than lines do, in the order given */
  Arena *out, *arena, *scratch;
} SearchJob;

/* Begins with the module as it is now; see SearchContext.holds_lent. */
void search_job_begin(SearchJob *search, bool holds_lent);

/* Whether the model of the job packs. Lines then take what parameters leave free as held, to begin
 * with. */
bool search_job_packs(const SearchJob *search);

/* Analyses the module again after a change, and measures the computations that are new. */
void search_job_analyze(SearchJob *search);

/* By how much the model of the job counts more than lines do, in the order that there is, in bytes.
 */
int64_t search_job_difference(const SearchJob *search);

/* Keeps the module as it is now, and `search->entry`, if that is better than `best` or there is no
 * such result. Returns whether it is. */
bool search_job_keep(const SearchJob *search, Result *best);

/* Keeps the better one of two results, `best` if they are equal, and frees the other. Returns
 * whether `best` has changed. */
bool result_keep(Result *best, Result *found);
void result_free(Result *result);

/* Makes the module what it was. The schedule no longer depends on the state's memory. */
void search_job_restore(SearchJob *search, const RematState *state, uint32_t num_steps);

/* Searches have only so many of the steps that are left from here on. Returns what they had, which
 * search_job_give_back() makes them have again, less what they have spent. `part` must live until
 * then. */
Patience *search_job_take_part(SearchJob *search, uint64_t num_steps, Patience *part);
void search_job_give_back(SearchJob *search, Patience *whole);

/* Whether the steps that are left are worth another search of the entry. */
bool search_job_may_go_on(const SearchJob *search);

/* Searches one computation with three quarters of the steps that are left, so that there always are
 * some for what follows: other computations, and searches with another limit. If no line fits, the
 * last of them go to the lowest peak. What it returns is in `arena`. */
FoundLines search_computation(SearchJob *search, const SearchGraph *graph, LineLimit limit,
                              Arena *arena);

/* Rewrites a computation as a line says. Whether that changed the module; else the analysis of it
 * holds. */
bool take_line(SearchJob *search, CompId comp, const ScoredLine *scored);

/* Applies the first line whose measured peak meets the budget or, if there is none, the one with
 * the lowest peak: those that were found, and what the table of moves makes of them. Sets
 * `search->entry`. */
void take_first_met(SearchJob *search, const FoundLines *found, Arena *arena);

/* Reduces a computation to a limit: itself, and where that does not suffice, what it calls. */
void search_tree(SearchJob *search, CompId comp, LineLimit limit);

#endif
