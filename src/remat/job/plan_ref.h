/* References by name, as plans have them (remat/plan/plan.h). */
#ifndef REMAT_HLO_REMAT_JOB_PLAN_REF_H
#define REMAT_HLO_REMAT_JOB_PLAN_REF_H

#include "ir/diag.h"
#include "ir/ids.h"
#include "ir/vec.h"

/* A reference by name. The offset is the one in the plan's text, NO_OFFSET if there is none. */
typedef struct PlanRef {
  Str name;
  uint32_t offset;
  uint32_t id; /* the InstId or CompId in a captured plan, else NO_ID */
} PlanRef;

typedef struct PlanRefs {
  VEC(PlanRef) list;
} PlanRefs;

/* A reference to a copy of `name` in `out`, from no text. */
static inline PlanRef plan_ref_to(Str name, Arena *out) {
  return (PlanRef){.name = {arena_strndup(out, name.data, name.len), name.len},
                   .offset = NO_OFFSET,
                   .id = NO_ID};
}

#endif
