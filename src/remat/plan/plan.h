/* A rematerialization as a list of steps: taken from a result (capture.c), read from JSON
 * (read.c), written as JSON (api/rh_emit_plan.c), and done to a module (apply.c).
 *
 * A step makes one instruction and says who reads it and before which instruction it stands. All
 * names are of instructions in the step's computation: those of the scheduled module, or what steps
 * make. Called computations can be copied first. Whatever follows by itself, as dead code, is not
 * told. */
#ifndef REMAT_HLO_REMAT_PLAN_PLAN_H
#define REMAT_HLO_REMAT_PLAN_PLAN_H

#include "ir/diag.h"
#include "remat/job/algorithm.h"
#include "remat/job/clone_callees.h"

enum { PLAN_VERSION = 1 };

/* A name for `%.*s`: names can be as long as the text. */
#define SHOWN(name) (int)((name).len < 200 ? (name).len : 200), (name).data

typedef enum PlanAction {
#define ACTION(id, name) PLAN_##id,
#include "remat/plan/actions.def"
  NUM_PLAN_ACTIONS
} PlanAction;

static inline bool plan_is_clone(PlanAction action) {
  return action == PLAN_RECOMPUTE || action == PLAN_MOVE;
}

extern const char *const plan_action_names[NUM_PLAN_ACTIONS + 1]; /* NULL behind the last one */

/* Something that is named. The offset is that in the plan's text, NO_OFFSET when it has none. */
typedef struct PlanRef {
  Str name;
  uint32_t offset;
  uint32_t id; /* InstId or CompId of what is captured, or else NO_ID */
} PlanRef;

/* With the number of a step, for `id`: the element that it takes of what is no tuple any more. */
#define PLAN_OF_STEP (UINT32_C(1) << 31)

typedef struct PlanRefs {
  VEC(PlanRef) list;
} PlanRefs;

/* Who reads what a step makes. */
typedef struct PlanUser {
  PlanRef ref;
  IdVec operands; /* positions; empty = wherever it reads the value */
} PlanUser;

/* A computation, or else an instruction in one, that is copied with a step's instruction. */
typedef struct PlanName {
  PlanRef computation, instruction;
  PlanRef name;
} PlanName;

typedef struct PlanStep {
  PlanAction action;
  bool is_skipped; /* it, and that others read it, is as if it were not there */
  uint32_t offset;
  int64_t
      number; /* in the order in which the instructions are made; -1 = behind all that have one */
  PlanRef computation; /* its name empty: the entry */
  PlanRef instruction; /* of the module: what is computed again, or kept in another form; for a
                          bitcast one of the same shape */
  PlanRef made;        /* its name empty: any */
  PlanRef operand;     /* of what is no clone */
  PlanRef before;      /* its name empty: at the end */
  int64_t index;       /* of an element; -1 = it is none */
  int64_t channel;     /* -1 = none, or any */
  VEC(PlanUser) users;
  PlanRefs control; /* predecessors */
  VEC(PlanName) callees;
  /* told, not read */
  const char *reason;
  int64_t freed_bytes;
} PlanStep;

/* All control predecessors of an instruction of the module, where they are other ones. */
typedef struct PlanControl {
  PlanRef computation, instruction;
  PlanRefs predecessors;
} PlanControl;

/* Instructions of the module that take each other's places so that they stand in this order. */
typedef struct PlanOrder {
  PlanRef computation;
  PlanRefs instructions;
} PlanOrder;

/* A get-tuple-element of the module that is written `x#1` there and gets a line. */
typedef struct PlanRename {
  PlanRef computation, instruction;
  PlanRef name;
} PlanRename;

/* An instruction that calls a computation. */
typedef struct PlanCaller {
  PlanRef computation, instruction;
} PlanCaller;

/* A copy of a called computation for some of its callers, made before all steps. */
typedef struct PlanClone {
  bool is_skipped;     /* nobody calls it */
  PlanRef computation; /* that is copied, which may be a copy */
  PlanRef made;
  PlanRef same_as; /* what the callers call in the end; its name empty: the copy */
  VEC(PlanCaller) callers;
  int64_t peak_bytes; /* of the module while its callers run it; told, not read */
} PlanClone;

typedef struct Plan {
  Str module;
  uint64_t fingerprint;       /* of the text that was read */
  uint64_t order_fingerprint; /* of the scheduled module */
  const char *target;
  rh_schedule_options preparation;
  rh_copies copies;
  bool allow_collectives;
  bool drops_dead_code;
  VEC(PlanClone) clones;
  VEC(PlanStep) steps; /* by computation, in the order in which they run */
  VEC(PlanControl) control;
  VEC(PlanOrder) orders;
  VEC(PlanRename) renames;
} Plan;

/* What stands behind rh_plan. */
struct rh_plan {
  Arena *arena;
  Plan plan;
};

/* Reads the JSON, whose keys are documented in the manual page, into `out`; the text need not stay.
 * RH_ERR_INPUT with the place of what is wrong, unknown keys included. Whether what it names is
 * there, only a module tells. */
rh_status plan_read(const char *text, size_t length, Plan *plan, rh_diags *diags, Arena *out);

/* Of the text that the module was parsed from; of the scheduled instructions' names in order. */
uint64_t plan_fingerprint(const Module *module);
uint64_t plan_order_fingerprint(const Module *module, const Schedule *schedule);

/* An algorithm that does what job->plan says. stats->status is RH_ERR_INPUT, with what is
 * wrong and where in job->diags, when that cannot be done: the module is then in no state
 * to go on with. O(n + steps log steps). */
void remat_plan(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);

extern const RematAlgorithm plan_algorithm; /* no row of the registry: nobody can run it by name */

/* Makes the copies of called computations that the plan begins with. RH_ERR_INPUT, as remat_plan.
 */
rh_status plan_clone_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch);

/* Warns when the plan was made for another module, or for another order of it. */
void plan_warn_of_module(const Plan *plan, const Module *module, const Schedule *schedule,
                         rh_diags *diags);

/* RH_ERR_INPUT: a clone reads what has been overwritten. `is_kept` as of safe_reads_judge. */
rh_status plan_fail_reads(const Plan *plan, const Module *module, const bool *is_kept,
                          uint32_t num_insts, rh_diags *diags);

#endif
