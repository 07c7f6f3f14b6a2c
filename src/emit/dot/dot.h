/* Pictures of a scheduled module's graph for graphviz, written through cgraph.
 *
 * What is on it: each computation that runs as a sequence is a cluster with its peak, in it scopes
 * of op_names; each instruction that was selected is a node. Tuples, get-tuple-elements and
 * bitcasts have no memory of their own and are looked through: an edge goes from the instruction
 * that makes a buffer to the one that reads it, and is as thick as the buffer is large; a dashed
 * one goes through instructions that are not shown. Those are counted in boxes by scope. The fill
 * is the memory while the instruction runs, relative to the module's peak; what is live at the peak
 * has a thick border, and the edges that cross the peak are dark. A legend explains this on the
 * picture itself. Tooltips have the whole name and shape, and op_name and source line of the
 * metadata. Nodes are named after their instructions.
 *
 * The output is valid for names of any bytes and the same bytes each time. cgraph keeps state of
 * its own while it writes: one thread at a time. */
#ifndef REMAT_HLO_EMIT_DOT_DOT_H
#define REMAT_HLO_EMIT_DOT_DOT_H

#include "analysis/memory/memory_model.h"
#include "emit/report/report.h"
#include "ir/diag.h"
#include "ir/expression.h"
#include "ir/marks.h"
#include "ir/writer.h"

/* ---- filters ---- */

/* What a picture is about: `--dot-filter`.
 *
 *     peak               what lives at the peak, and what was rematerialized
 *     all                the whole module, its largest results
 *     name:NAME          the instruction of this name
 *     regex:EXPRESSION   what has a match of a POSIX extended expression in its name or op_name
 *     scope:PATH         what has the parts of PATH, as reports show them, side by side in its
 *                        scope
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
  Str text; /* behind the colon */
  const regex_t *expression;
  Str parts[MAX_SCOPE_DEPTH]; /* of a scope */
  uint32_t num_parts;
} DotFilter;

/* RH_ERR_USAGE when `text`, which the filter points into, is no filter. */
rh_status dot_filter_parse(const char *text, DotFilter *filter, rh_diags *diags, Arena *out);

/* Whether a filter for something wants an instruction; false for peak and all, which look at
 * memory. */
bool dot_filter_matches(const DotFilter *filter, Places *places, InstId id, Arena *scratch);

/* ---- pictures ---- */

typedef struct DotOptions {
  DotFilter filter;
  /* Of all: instructions whose result has an array larger than this are shown, and whoever reads
   * that. 0 = all instructions with memory; -1 = the largest ones, of equal ones those that are
   * live at the peak first, as long as there are `max_nodes` or fewer in all. Of the peak: what has
   * more than this there; -1 = a thousandth of it. Of others: results larger than this. */
  int64_t min_bytes;
  uint32_t max_nodes;       /* the calls that lead to what is shown come on top */
  uint32_t num_hops;        /* of producers and readers around what a filter wants; not for all */
  const MemoryModel *model; /* that measured the profile */
  uint32_t *num_wanted;     /* out: how many instructions a filter wants; may be NULL */
} DotOptions;

/* Writes `module` with its memory as a digraph. `marks` may be NULL. Errors of writing are the
 * writer's. O(instructions + edges · log). */
void emit_dot(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
              RematMarks marks, const DotOptions *options, Writer *out, Arena *scratch);

#endif
