/* Shared declarations of the files that apply a plan: apply.c has the main function, clones.c
 * copies called computations, make.c makes instructions, callees.c names the computations that are
 * copied with them, and place.c redirects users to them and inserts them into the sequences. */
#ifndef REMAT_HLO_REMAT_PLAN_APPLY_H
#define REMAT_HLO_REMAT_PLAN_APPLY_H

#include "remat/plan/plan.h"

typedef struct ScopedName {
  Str name;
  CompId comp;
  uint32_t id; /* the InstId or, for a made instruction, the step that makes it */
} ScopedName;

typedef struct ScopedNames {
  VEC(ScopedName) list;
  IdTable table;
} ScopedNames;

/* A use that is redirected to the instruction that a step makes. */
typedef struct Redirect {
  InstId user;
  uint32_t operand;
  uint32_t step;
  PlanRef ref;
} Redirect;

/* A copied computation that was named by a step, at `offset` of the plan. */
typedef struct NamedComp {
  CompId comp;
  uint32_t offset;
} NamedComp;

/* After the first error, these functions find, make and change nothing any more. */
typedef struct Apply {
  RematJob *job;
  Module *module;
  Rewrite *rewrite;
  const Plan *plan;
  rh_status status; /* RH_OK, or RH_ERR_INPUT once something is wrong */
  uint32_t num_old;
  CompId *comps;         /* by step */
  InstId *made;          /* by step; NO_ID = not yet, or skipped */
  IdTable comps_by_name; /* the CompIds of computations that have a sequence */
  ScopedNames old_names; /* of the module's instructions */
  ScopedNames made_names;
  VEC(Redirect) redirects;
  VEC(NamedComp) named_comps;
  const ShapeId *narrow; /* by InstId of the module before: narrow_shapes; NULL = not computed */
  Arena *arena, *scratch;
} Apply;

/* Begins to apply the job's plan. Makes the names of computations that have a sequence known. */
Apply plan_begin(RematJob *job, Arena *arena, Arena *scratch);

/* Reports an error, with its place in the plan, if it is the first one. Returns NO_ID, for the
 * caller to return. */
uint32_t plan_fail(Apply *apply, uint32_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the names of a computation and its instructions known. */
void plan_collect_names(Apply *apply, CompId comp);

/* Finds the computation of this name, or the entry computation when the name is empty. */
CompId plan_find_computation(Apply *apply, PlanRef ref);

/* Finds the instruction of the scheduled module with this name. */
InstId plan_find_old(Apply *apply, CompId comp, PlanRef ref);

/* Finds the step that makes the instruction with this name; NO_ID when there is none. */
uint32_t plan_find_step(const Apply *apply, CompId comp, Str name);

/* Finds the instruction with this name that a step has made or else that the module has. Returns
 * NO_ID for an instruction of a skipped step, too. */
InstId plan_find_any(Apply *apply, CompId comp, PlanRef ref);

/* Returns whether the name is one of a compact get-tuple-element, `x#1`, which contains the name of
 * its operand. */
static inline bool is_written_compact(Str name) {
  return memchr(name.data, '#', name.len) != NULL;
}

/* Makes the instructions of all steps that are not skipped. requires: the names are collected. */
void plan_make(Apply *apply);

/* Gives the copies of the computations that a clone calls the names that the step has for them. */
void plan_name_callees(Apply *apply, InstId made, const PlanStep *step);

/* Checks that the module can be printed with these names: that each name is unique, and that in a
 * copied computation operands come before users. requires: there is no dead code. */
void plan_check_callees(Apply *apply);

/* Redirects users to the made instructions, adds control dependencies, and inserts the made
 * instructions into the sequences, which are then allocated in `out`. */
void plan_place(Apply *apply, Arena *out);

/* Checks that every instruction runs after its operands and control predecessors. Dead instructions
 * may stand anywhere. */
void plan_check_order(Apply *apply);

#endif
