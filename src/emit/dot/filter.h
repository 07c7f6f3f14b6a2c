/* What a picture is about: `--dot-filter`.
 *
 *     peak               what lives at the peak, and what was rematerialized
 *     all                the whole module, its largest results
 *     name:NAME          the instruction of this name
 *     regex:EXPRESSION   what has a match of a POSIX extended expression in its name or op_name
 *     scope:PATH         what has the parts of PATH, as reports show them, side by side in its
 *                        scope
 *     computation:NAME   the instructions of this computation */
#ifndef REMAT_HLO_EMIT_DOT_FILTER_H
#define REMAT_HLO_EMIT_DOT_FILTER_H

#include "emit/report/report.h"
#include "ir/diag.h"
#include "ir/expression.h"

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

#endif
