/* Shape rules for opcodes whose shape cannot be inferred from the operands alone, and must be
 * written: the shape that the operands and the written shape give together.
 *
 * Example: `f32[4] convert(s32[4])` is correct, because only the element type is taken from the
 * written shape; `f32[5] convert(s32[4])` gives f32[4]. */
#ifndef REMAT_HLO_ANALYSIS_LINT_EXPLICIT_H
#define REMAT_HLO_ANALYSIS_LINT_EXPLICIT_H

#include "analysis/lint/lint.h"

typedef enum LintExplicit {
  EXPLICIT_NO_RULE,      /* the opcode has no such rule */
  EXPLICIT_SHAPE,        /* the shape is in `result` */
  EXPLICIT_FAULT,        /* the operands do not fit; the reason is in `why` */
  EXPLICIT_BITCAST_SIZE, /* a bitcast changes the size; the reason is in `why` */
} LintExplicit;

/* `written` is the shape in the text. The result is that shape when nothing contradicts it. */
LintExplicit lint_explicit(Inference *inf, bool is_scheduled, ShapeId written);

#endif
