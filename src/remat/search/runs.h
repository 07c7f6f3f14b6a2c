/* Changes of a line: runs that are added, runs that are left out, and who reads which run then.
 * Runs are numbered: a step of the line has its own number, those added come after.
 *
 * Example: in the line a b c, where b and c read a, a run of a (number 3) is added before c and
 * given to it; if b was not there, a itself could be dropped. */
#ifndef REMAT_HLO_REMAT_SEARCH_RUNS_H
#define REMAT_HLO_REMAT_SEARCH_RUNS_H

#include "remat/search/line.h"

typedef uint32_t RunId;

/* A node that runs besides: a step once more, or a copy of what one computes into another form or
 * back. */
typedef struct AddedRun {
  NodeId node;
  StepId place;    /* it runs before this step */
  uint32_t source; /* of its first operand, in `added_sources` */
  uint32_t next;   /* run at the same place that was added before it; NO_ID = none */
} AddedRun;

typedef VEC(AddedRun) AddedRunVec;

typedef struct Runs {
  const Line *line;
  AddedRunVec added;
  uint32_t *first_added; /* by place: the run added there last, which runs first; NO_ID = none */
  VEC(RunId) added_sources;
  RunId *sources;   /* of the line's steps, as Line.sources */
  bool *is_dropped; /* by step of the line: it does not run */
  Arena *arena;
} Runs;

/* The runs of a line as it is. */
Runs runs_of_line(const Line *line, Arena *out);

/* Takes all changes back but which steps are dropped. */
void runs_reset(Runs *runs);

/* Adds a run; the caller gives it its sources. */
RunId runs_add(Runs *runs, NodeId node, StepId place);

/* The runs that a run reads, one for each operand. */
static inline RunId *runs_sources(const Runs *runs, RunId run) {
  uint32_t len = runs->line->len;
  return run < len ? runs->sources + runs->line->first_source[run]
                   : runs->added_sources.data + runs->added.data[run - len].source;
}

/* The line that comes out. `place_of` is by step of the new line: the step of the old one at whose
 * place it is. */
Line runs_build(const Runs *runs, StepId **place_of, Arena *out);

#endif
