/* What keeps recomputed values where they are in a module without a schedule. */
#ifndef REMAT_HLO_REMAT_PROTECT_H
#define REMAT_HLO_REMAT_PROTECT_H

#include "remat/rewrite.h"

/* Makes every clone wait for the instruction that the schedule has before it. XLA's schedulers obey
 * that, and its common subexpression elimination leaves instructions with control dependencies
 * alone. */
void protect_with_control(Rewrite *rewrite, const Schedule *schedule);

#endif
