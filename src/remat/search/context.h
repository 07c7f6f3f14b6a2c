/* What the graphs of a module's computations have in common (graph.h). */
#ifndef REMAT_HLO_REMAT_SEARCH_CONTEXT_H
#define REMAT_HLO_REMAT_SEARCH_CONTEXT_H

#include "analysis/memory/liveness.h"
#include "ir/rows.h"
#include "remat/job/algorithm.h"

/* Arrays of the size of the module for whoever builds a graph. A graph takes the time of its own
 * computation only, so each of them leaves the arrays as they were. */
typedef struct GraphSpace {
  uint32_t *seen_at; /* by ValueId: 0 */
  /* by BufferId: false */
  bool *is_held, *is_lent, *is_detached;
  bool *is_visited; /* by CompId: false */
} GraphSpace;

/* What the graphs of all computations of a job have in common. Valid until the module changes. The
 * graphs are built one after the other. */
typedef struct SearchContext {
  const RematJob *job;
  ValueAnalysis values;
  const uint32_t *place_of; /* by InstId: which one of its computation it is */
  Rows shared_buffers; /* by CompId: the buffers of several values of which one is of it, or of what
                          it calls */
  GraphSpace *space;
  const int64_t *inner_bytes; /* by CompId: what a run of it needs beside what its caller counts; of
                                 the search, which sets it before the graphs of callers are built */
  const double *seconds_of;   /* by CompId: modelled, of one run of it and what it calls; 0 of the
                                 entry and of what does not run as a sequence */
  DeviceProfile device;
  const ShapeSizes *sizes;
  bool holds_lent; /* the memory of parameters counts all the time; else not from the last reader of
                      one to what overwrites it, as bounds need it. Where the model packs, the one
                      is too much and the other too little */
  bool counts_twice; /* memory that a value hands over to another one of its HloBuffer counts for
                        both at that time (COUNT_SHARED_TWICE) */
} SearchContext;

SearchContext search_context_build(const RematJob *job, Arena *out, Arena *scratch);

/* How the job's memory model counts shapes. */
const ShapeSizes *search_sizes(const RematJob *job);

/* The time of one run of an instruction, and of what it runs. A loop that runs an unknown number of
 * times counts as one that runs once. */
double search_context_seconds(const SearchContext *context, InstId id);

#endif
