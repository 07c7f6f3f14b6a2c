/* Scopes of op_names as frames around what is shown, and as boxes where nothing is. */
#ifndef REMAT_HLO_EMIT_DOT_SCOPES_H
#define REMAT_HLO_EMIT_DOT_SCOPES_H

#include "emit/dot/picture.h"
#include "emit/report/report.h"

/* Fills scopes, boxes and scope_of of the picture: each instruction of a computation of which
 * something is shown is shown itself or counted in one box. A scope with a few shown instructions
 * gets a frame, unless they are more than half of those around it, or all in one scope below; at
 * most DOT_MAX_DEPTH frames stand in one another. All boxes but the DOT_MAX_BOXES that matter most,
 * and those of less than a hundredth of everything, become one a computation and side of the peak.
 * O(instructions · depth of scopes). */
enum { DOT_MAX_DEPTH = 3, DOT_MAX_BOXES = 16 };
void dot_scopes_find(DotPicture *picture, Places *places, Arena *out, Arena *scratch);

#endif
