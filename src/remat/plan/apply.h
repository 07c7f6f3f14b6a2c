/* What the files share that do what a plan says: plan.c has the frame, clones.c copies called
 * computations, make.c makes instructions, callees.c names what is copied with them,
 * lead.c leads readers to them, place.c puts them in place. */
#ifndef REMAT_HLO_REMAT_PLAN_APPLY_H
#define REMAT_HLO_REMAT_PLAN_APPLY_H

#include "remat/plan/plan.h"

typedef struct ScopedName {
  Str name;
  CompId comp;
  uint32_t id; /* InstId, or the step that makes it */
} ScopedName;

typedef struct ScopedNames {
  VEC(ScopedName) list;
  IdTable table;
} ScopedNames;

/* A use that is led to what a step makes. */
typedef struct Redirect {
  InstId user;
  uint32_t operand;
  uint32_t step;
  PlanRef ref;
} Redirect;

/* A copy that was named by a step, at `offset` of the plan. */
typedef struct NamedComp {
  CompId comp;
  uint32_t offset;
} NamedComp;

typedef struct Apply {
  RematJob *job;
  Module *module;
  Rewrite *rewrite;
  const Plan *plan;
  uint32_t num_old;
  CompId *comps;         /* by step */
  InstId *made;          /* by step; NO_ID = not yet, or skipped */
  uint8_t *states;       /* by step, of make.c */
  IdTable comps_by_name; /* CompIds of what runs */
  ScopedNames old_names; /* of the module's instructions */
  ScopedNames made_names;
  VEC(Redirect) redirects;
  VEC(NamedComp) named_comps;
  const ShapeId *narrow; /* by InstId of the module before: narrow_shapes; NULL = not asked for */
  Arena *arena, *scratch;
} Apply;

/* RH_ERR_INPUT, with the place in the plan. */
rh_status plan_fail(const Apply *apply, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the names of a computation and its instructions known. */
void plan_collect_names(Apply *apply, CompId comp);

/* The computation of this name, the entry when it is empty. */
rh_status plan_find_computation(const Apply *apply, PlanRef ref, CompId *comp);

/* The module's instruction of this name. */
rh_status plan_find_old(const Apply *apply, CompId comp, PlanRef ref, InstId *id);

/* The step that makes what has this name; NO_ID when there is none. */
uint32_t plan_find_step(const Apply *apply, CompId comp, Str name);

/* What a step makes, or else one of the module; NO_ID for what a skipped step would make. */
rh_status plan_find_any(const Apply *apply, CompId comp, PlanRef ref, InstId *id);

/* Written `x#1`, by what it is an element of. */
static inline bool is_written_compact(Str name) {
  return memchr(name.data, '#', name.len) != NULL;
}

/* Makes the instructions of all steps that are not skipped. requires: names are known. */
rh_status plan_make(Apply *apply);

/* Names the copies of the computations that a clone calls as the step has it. */
rh_status plan_name_callees(Apply *apply, InstId made, const PlanStep *step);

/* Whether the module can be written so: names are of one thing each, and nothing in a copy comes
 * before what it needs. requires: there is no dead code. */
rh_status plan_check_callees(Apply *apply);

/* Leads readers to them, and has them wait for what they are to wait for. */
rh_status plan_lead(Apply *apply);

/* Puts them into the sequences, which lie in `out` then. */
rh_status plan_place(Apply *apply, Arena *out);

/* Whether everything runs behind what it needs. What is dead may stand anywhere. */
rh_status plan_check_order(const Apply *apply);

#endif
