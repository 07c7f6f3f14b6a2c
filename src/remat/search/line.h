/* A line: an order of steps, each of which runs a node of a graph. A node that runs more than once
 * is recomputed. The search makes new lines from others; applying one rewrites the module.
 *
 * Example: with the nodes a, b = f(a), c = g(a, b), the line a b c is the given order, and in
 * a b a c, where c reads the second a, a is recomputed for c and needs no memory between b and it.
 */
#ifndef REMAT_HLO_REMAT_SEARCH_LINE_H
#define REMAT_HLO_REMAT_SEARCH_LINE_H

#include "ir/rows.h"
#include "remat/search/graph.h"

typedef uint32_t StepId; /* a position in a line */

typedef struct Line {
  const SearchGraph *graph;
  NodeId *nodes; /* by step */
  uint32_t len;
  uint32_t *first_source; /* by step, one entry more: range in `sources` */
  StepId *sources;        /* for each operand of the step's node, the step that it reads */
  uint32_t *first_part;   /* by step, one entry more: the number of the step's first part in the
                             line */
} Line;

/* The line of the graph's own order. */
Line line_of_graph(const SearchGraph *graph, Arena *out);

/* A line that runs these nodes, which it keeps. Its sources are to be filled in. */
Line line_new(const SearchGraph *graph, NodeId *nodes, uint32_t len, Arena *out);

/* The same, where each step reads the last run before it of what its node reads. */
Line line_of_nodes(const SearchGraph *graph, NodeId *nodes, uint32_t len, Arena *out);

/* The line that runs steps of another one in this order, of which some may be left out, and some
 * run more than once. Each reads the last run before it of the step that it reads there. */
Line line_of_steps(const Line *line, const StepId *steps, uint32_t len, Arena *out, Arena *scratch);

Line line_copy(const Line *line, Arena *out);

/* Whether two lines of a graph run and read the same. */
bool line_equals(const Line *a, const Line *b);

/* The line without clones and without dead code. */
Line line_of_originals(const Line *line, Arena *out);

/* The first run of each node of the line, dead code included, without copies into other forms. */
Line line_of_first_runs(const Line *line, Arena *out);

static inline uint32_t line_num_parts(const Line *line) {
  return line->first_part[line->len];
}

/* The part of the line that part `part` of what a step reads by operand `index` is. */
static inline uint32_t line_read_part(const Line *line, StepId step, uint32_t index,
                                      uint32_t part) {
  StepId source = line->sources[line->first_source[step] + index];
  return line->first_part[source] +
         node_operand(line->graph, line->nodes[step], index)->first_part + part;
}

/* Bytes of a part of the line that `owner` computes. */
static inline int64_t line_part_bytes(const Line *line, StepId owner, uint32_t part) {
  return node_part(line->graph, line->nodes[owner], part - line->first_part[owner])->bytes;
}

/* By part of the line: the step that it is of. */
StepId *line_owners(const Line *line, Arena *out);

/* What a line needs. */
typedef struct LineMemory {
  int64_t *bytes_at;     /* by step: bytes live while it runs */
  int64_t *bytes_before; /* by step: bytes live between it and the one before */
  StepId *last_of;       /* by part of the line: the last step that reads it; its own step if none
                            does. Counts readers through tuples */
  uint32_t *root_of;     /* by part of the line: the part whose memory it is; itself unless it is
                            forwarded */
  int64_t peak_bytes;
  double seconds;       /* modelled, of all steps, with stalls */
  double stall_seconds; /* during which steps wait for copies from or to the host */
} LineMemory;

/* Measures a line. O(parts of all operands). */
LineMemory line_measure(const Line *line, Arena *out);

/* Who overwrites what a line holds. */
typedef struct LineOverwrites {
  StepId *by; /* by part of the line, for those that own memory: the step that takes the memory, so
                 that it must not be read from there on; NO_ID = none */
  bool *of_first; /* by part of the graph: its overwriter reads no run of it, so that it takes the
                    memory of the first one */
} LineOverwrites;

/* An overwriter takes the memory of the run that it reads, be that a clone. The others have memory
 * of their own. O(parts of all operands). */
LineOverwrites line_overwrites(const Line *line, const uint32_t *root_of, Arena *out,
                               Arena *scratch);

/* By step, one entry more: the modelled time of all steps before it, without stalls. */
double *line_begin_seconds(const Line *line, Arena *out);

/* The sum of the bytes over the limit, over all steps. */
double line_excess(const Line *line, const LineMemory *memory, int64_t limit_bytes);

/* Finds the operands of a new graph whose memory is overwritten before they are read, in the order
 * given. Copy-insertion, which is still to come, copies what they read. */
void line_find_copied_reads(SearchGraph *graph, Arena *scratch);

/* Whether a line is right: each node but what can be cloned runs at least once, sources hold the
 * node that is asked for, or a copy back of it, and run before, waits hold, and nothing but what
 * was copied in the order given is read from where its memory has been overwritten on. */
bool line_is_valid(const Line *line, Arena *scratch);

/* Other edges of a line, by step: steps that must run before it, apart from its sources. */
Rows line_waits(const Line *line, Arena *out, Arena *scratch);

/* By part of the line: the steps that read its memory, through tuples, too, ascending and without
 * repetition. */
Rows line_readers(const Line *line, const LineMemory *memory, Arena *out, Arena *scratch);

#endif
