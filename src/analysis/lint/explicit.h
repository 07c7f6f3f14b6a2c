/* What the operands give for opcodes whose shape must be written. */
#ifndef REMAT_HLO_ANALYSIS_LINT_EXPLICIT_H
#define REMAT_HLO_ANALYSIS_LINT_EXPLICIT_H

#include "analysis/lint/lint.h"

typedef enum LintExplicit {
  LINT_TELLS_NOTHING, /* there is no such rule for the opcode */
  LINT_TELLS_SHAPE,   /* in `result` */
  LINT_TELLS_FAULT,   /* the operands do not fit; `why` */
  LINT_TELLS_SIZE,    /* a bitcast of another size; `why` */
} LintExplicit;

/* `written` is the shape in the text; the result is that shape when nothing contradicts it. */
LintExplicit lint_explicit(Inference *inf, bool is_scheduled, ShapeId written);

#endif
