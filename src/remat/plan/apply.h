/* What the files share that do what a plan says: apply.c has the frame, clones.c copies called
 * computations, make.c makes instructions, callees.c names what is copied with them, place.c leads
 * readers to them and puts them in place. */
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

/* After the first fault nothing is found, made or changed any more. */
typedef struct Apply {
  RematJob *job;
  Module *module;
  Rewrite *rewrite;
  const Plan *plan;
  rh_status status; /* RH_OK, or RH_ERR_INPUT once something is wrong */
  uint32_t num_old;
  CompId *comps;         /* by step */
  InstId *made;          /* by step; NO_ID = not yet, or skipped */
  IdTable comps_by_name; /* CompIds of what runs */
  ScopedNames old_names; /* of the module's instructions */
  ScopedNames made_names;
  VEC(Redirect) redirects;
  VEC(NamedComp) named_comps;
  const ShapeId *narrow; /* by InstId of the module before: narrow_shapes; NULL = not asked for */
  Arena *arena, *scratch;
} Apply;

/* Of the job's plan; the names of what runs are known. */
Apply plan_begin(RematJob *job, Arena *arena, Arena *scratch);

/* Says what is wrong, with the place in the plan, if it is the first fault. NO_ID, to be returned.
 */
uint32_t plan_fail(Apply *apply, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the names of a computation and its instructions known. */
void plan_collect_names(Apply *apply, CompId comp);

/* The computation of this name, the entry when it is empty. */
CompId plan_find_computation(Apply *apply, PlanRef ref);

/* The module's instruction of this name. */
InstId plan_find_old(Apply *apply, CompId comp, PlanRef ref);

/* The step that makes what has this name; NO_ID when there is none. */
uint32_t plan_find_step(const Apply *apply, CompId comp, Str name);

/* What a step makes, or else one of the module; NO_ID for what a skipped step would make, too. */
InstId plan_find_any(Apply *apply, CompId comp, PlanRef ref);

/* Written `x#1`, by what it is an element of. */
static inline bool is_written_compact(Str name) {
  return memchr(name.data, '#', name.len) != NULL;
}

/* Makes the instructions of all steps that are not skipped. requires: names are known. */
void plan_make(Apply *apply);

/* Names the copies of the computations that a clone calls as the step has it. */
void plan_name_callees(Apply *apply, InstId made, const PlanStep *step);

/* Whether the module can be written so: names are of one thing each, and nothing in a copy comes
 * before what it needs. requires: there is no dead code. */
void plan_check_callees(Apply *apply);

/* Leads readers to them, has them wait for what they are to wait for, and puts them into the
 * sequences, which lie in `out` then. */
void plan_place(Apply *apply, Arena *out);

/* Whether everything runs behind what it needs. What is dead may stand anywhere. */
void plan_check_order(Apply *apply);

#endif
