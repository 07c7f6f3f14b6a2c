/* Pictures of the graph of a scheduled module, in the dot language of graphviz. They are written
 * through cgraph.
 *
 * Each computation that runs as a sequence is a cluster, which shows its peak and contains frames
 * for scopes of op_names. Each selected instruction is a node, which is named after the
 * instruction. Tuples, get-tuple-elements and bitcasts have no memory of their own and are not
 * shown: an edge goes from the instruction that makes a buffer to the one that reads it. The edge
 * is thicker for a larger buffer, and dashed if it passes through instructions that are not shown.
 * Those instructions are counted in one box per scope.
 *
 * The fill colour of a node is the memory while the instruction runs, relative to the module's
 * peak. Instructions whose result is live at the peak have a thick border, and the edges that cross
 * the peak are dark. A legend in the picture explains this. Tooltips have the whole name and shape,
 * and the op_name and source line of the metadata.
 *
 * The output is valid for names of any bytes, and is the same for every run. cgraph has global
 * state while it writes, so only one thread may write at a time. */
#ifndef REMAT_HLO_EMIT_DOT_DOT_H
#define REMAT_HLO_EMIT_DOT_DOT_H

#include "analysis/memory/memory_model.h"
#include "emit/report/report.h"
#include "ir/diag.h"
#include "ir/expression.h"
#include "ir/marks.h"
#include "ir/writer.h"

/* ---- filters ---- */

/* What a picture shows: the argument of `--dot-filter`.
 *
 *     peak               what is live at the peak, and what was rematerialized
 *     all                the whole module, its largest results
 *     name:NAME          the instruction of this name
 *     regex:EXPRESSION   the instructions whose name or op_name has a match of a POSIX extended
 *                        expression
 *     scope:PATH         the instructions whose scope has the parts of PATH, as reports show them,
 *                        next to each other
 *     computation:NAME   the instructions of this computation */
typedef enum DotFilterKind {
  DOT_FILTER_ALL,
  DOT_FILTER_PEAK,
  DOT_FILTER_NAME,
  DOT_FILTER_REGEX,
  DOT_FILTER_SCOPE,
  DOT_FILTER_COMPUTATION,
} DotFilterKind;

typedef struct DotFilter {
  DotFilterKind kind;
  Str text; /* after the colon */
  const regex_t *expression;
  Str parts[MAX_SCOPE_DEPTH]; /* for a scope */
  uint32_t num_parts;
} DotFilter;

/* Returns RH_ERR_USAGE if `text` is not a filter. The filter points into `text`. */
rh_status dot_filter_parse(const char *text, DotFilter *filter, rh_diags *diags, Arena *out);

/* Returns true if a filter selects an instruction. Returns false for the filters peak and all,
 * which select by memory. */
bool dot_filter_matches(const DotFilter *filter, Places *places, InstId id, Arena *scratch);

/* ---- pictures ---- */

typedef struct DotOptions {
  DotFilter filter;
  /* The threshold. For the filter all: instructions are shown whose result has an array larger than
   * this, and the users of that array. 0 = all instructions with memory; -1 = the largest results,
   * up to `max_nodes` in total; of equally large ones, those that are live at the peak come first.
   * For the filter peak: instructions with more live bytes than this are shown; -1 = a thousandth
   * of the peak. For other filters: results larger than this. */
  int64_t min_bytes;
  uint32_t max_nodes; /* not including the calls of the computations that are shown */
  uint32_t num_hops; /* levels of producers and readers around what a filter selects; not for all */
  const MemoryModel *model; /* the model that measured the profile */
  uint32_t *num_wanted;     /* out: how many instructions a filter selects; may be NULL */
} DotOptions;

/* Writes `module` with its memory as a digraph. `marks` may be NULL. Errors of writing are kept in
 * the writer. The time is O(instructions + edges · log). */
void emit_dot(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
              RematMarks marks, const DotOptions *options, Writer *out, Arena *scratch);

#endif
