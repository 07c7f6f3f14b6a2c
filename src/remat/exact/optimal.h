/* The least added time in one order, as a mixed integer program. */
#ifndef REMAT_HLO_REMAT_EXACT_OPTIMAL_H
#define REMAT_HLO_REMAT_EXACT_OPTIMAL_H

#include "remat/exact/solver.h"
#include "remat/search/price.h"

typedef struct OptimalRules {
  uint32_t most_columns; /* of a program; a line that needs more is too large */
  uint32_t num_nodes;    /* of the search tree, for each program */
  bool keeps_places;   /* a step that nobody reads before a clone of it must run even so; otherwise
                          it is computed later instead */
  uint32_t num_rounds; /* programs for one line, each of which knows what was wrong with the one
                          before */
} OptimalRules;

OptimalRules optimal_rules(const RematParameters *parameters, int effort);

typedef enum OptimalStatus {
  OPTIMAL_FOUND,   /* the best of all choices that the program has */
  OPTIMAL_LIMITED, /* the best found within the limits */
  OPTIMAL_TOO_LARGE,
  OPTIMAL_NO_SOLVER,
  OPTIMAL_FAILED, /* the best found until the solver ended without an answer */
} OptimalStatus;

typedef struct OptimalLine {
  ScoredLine scored;
  OptimalStatus status;
  SolverEnd end; /* of the solver, if it failed */
} OptimalLine;

/* The fastest line whose peak is at most the limit, in which the nodes run where the line given,
 * which has no clones, runs them, and clones run between them; `known` if none is better, which
 * also is the result if there is none. A node runs at most once between two others, and clones
 * there run in the order of the line.
 *
 * Short lines are solved with clones at all places. In others, clones run only where somebody reads
 * them, or what they read, and only where the line exceeds the limit; in long ones, clones that
 * clones read run only to a certain depth. */
OptimalLine optimal_line(const Line *given, const ScoredLine *known, int64_t limit_bytes,
                         const OptimalRules *rules, Patience *patience, Arena *out, Arena *scratch);

/* What recomputation adds at least: as line_time_bound(), and at most as high as the best line.
 * 0 = nothing is known, because the line is too large or the solver is not there, or failed: then
 * `end` says how. */
double optimal_time_bound(const Line *given, int64_t limit_bytes, const OptimalRules *rules,
                          Patience *patience, SolverEnd *end, Arena *scratch);

#endif
