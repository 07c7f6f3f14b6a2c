/* A rematerialization as a list of steps: it is captured from a result (capture.c), read from JSON
 * (read.c), written as JSON (api/rh_emit_plan.c), and applied to a module (apply.c).
 *
 * A step makes one instruction, or takes one that there is (PLAN_READ); it lists the users of this
 * instruction and names the instruction before which it stands. All names are of instructions in
 * the step's computation: instructions of the scheduled module, or instructions that steps make.
 * Called computations can be copied first. A plan does not list changes that follow from the steps,
 * such as dead code. */
#ifndef REMAT_HLO_REMAT_PLAN_PLAN_H
#define REMAT_HLO_REMAT_PLAN_PLAN_H

#include "ir/diag.h"
#include "remat/job/algorithm.h"
#include "remat/job/clone_callees.h"
#include "remat/scan/scan_step.h"

enum { PLAN_VERSION = 1 };

/* Arguments for `%.*s` to print a name. The length is limited, because a name can be as long as the
 * text. */
#define SHOWN(name) (int)((name).len < 200 ? (name).len : 200), (name).data

typedef enum PlanAction {
#define ACTION(id, name) PLAN_##id,
#include "remat/plan/actions.def"
  NUM_PLAN_ACTIONS
} PlanAction;

static inline bool plan_is_clone(PlanAction action) {
  return action == PLAN_RECOMPUTE || action == PLAN_MOVE;
}

extern const char *const plan_action_names[NUM_PLAN_ACTIONS + 1]; /* NULL after the last one */

/* A flag of PlanRef.id: the other bits are the index of a step. The reference is to the element
 * that this step takes of an instruction that is no longer a tuple. */
#define PLAN_OF_STEP (UINT32_C(1) << 31)

/* A user of the instruction that a step makes. */
typedef struct PlanUser {
  PlanRef ref;
  IdVec operands; /* positions of operands; empty = all operands that have the value */
} PlanUser;

/* The name of a computation, or else of an instruction in one, that is copied with the instruction
 * of a step. */
typedef struct PlanName {
  PlanRef computation, instruction;
  PlanRef name;
} PlanName;

typedef struct PlanStep {
  PlanAction action;
  bool is_skipped; /* the step, and the uses of its instruction, are ignored */
  uint32_t offset;
  int64_t number;      /* rank in the order of making; -1 = after all that have a number */
  PlanRef computation; /* an empty name = the entry computation */
  PlanRef instruction; /* an instruction of the module: the one that is recomputed, or kept in
                          another form; for a bitcast, one with the resulting shape */
  PlanRef made;        /* the name of the new instruction; empty = any name */
  PlanRef operand;     /* the operand of an instruction that is not a clone */
  PlanRef before;      /* the instruction before which it stands; an empty name = at the end */
  int64_t index;       /* the index of a tuple element; -1 = the instruction is not an element */
  int64_t channel;     /* the channel id; -1 = none, or any */
  VEC(PlanUser) users;
  PlanRefs control; /* control predecessors */
  VEC(PlanName) callees;
  /* These are written, but ignored when a plan is read. */
  const char *reason;
  int64_t freed_bytes;
} PlanStep;

/* All control predecessors of an instruction of the module, if they differ from those in the
 * module. */
typedef struct PlanControl {
  PlanRef computation, instruction;
  PlanRefs predecessors;
} PlanControl;

/* Instructions of the module that are to stand in this order: they are permuted among the places
 * that they have in the sequence. */
typedef struct PlanOrder {
  PlanRef computation;
  PlanRefs instructions;
} PlanOrder;

/* A get-tuple-element of the module that is written `x#1` there, and gets a line of its own. */
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
  bool is_skipped;     /* the copy has no callers */
  PlanRef computation; /* the computation that is copied, which may itself be a copy */
  PlanRef made;
  PlanRef same_as; /* the computation that the callers call in the end; an empty name = the copy */
  VEC(PlanCaller) callers;
  int64_t peak_bytes; /* bytes of the module while its callers run it; written, but ignored when a
                         plan is read */
} PlanClone;

typedef struct Plan {
  Str module;
  uint64_t fingerprint;       /* of the text from which the module was parsed */
  uint64_t order_fingerprint; /* of the order of the scheduled module */
  const char *target;
  rh_schedule_options preparation;
  rh_copies copies;
  bool allow_collectives;
  bool drops_dead_code;
  ScanSteps scans; /* made before everything else; names refer to the module that results */
  VEC(PlanClone) clones;
  VEC(PlanStep) steps; /* grouped by computation, in the order in which the instructions run */
  VEC(PlanControl) control;
  VEC(PlanOrder) orders;
  VEC(PlanRename) renames;
} Plan;

/* The definition of the public type rh_plan. */
struct rh_plan {
  Arena *arena;
  Plan plan;
};

/* Reads the JSON, whose keys are documented in the manual page, into `out`; the text need not stay
 * valid. Returns RH_ERR_INPUT, and reports the place of the error; an unknown key is an error, too.
 * Whether the named instructions exist is checked only when the plan is applied to a module. */
rh_status plan_read(const char *text, size_t length, Plan *plan, rh_diags *diags, Arena *out);

/* Fingerprints of the text from which the module was parsed, and of the names of the scheduled
 * instructions in their order. */
uint64_t plan_fingerprint(const Module *module);
uint64_t plan_order_fingerprint(const Module *module, const Schedule *schedule);

/* An algorithm that applies job->plan. When that is impossible, stats->status is RH_ERR_INPUT, and
 * job->diags has the error and its place; the module must then not be used any more. O(n + steps
 * log steps). */
void remat_plan(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);

extern const RematAlgorithm plan_algorithm; /* not in the registry: it cannot be selected by name */

/* Whether a clone has its own copies of the computations that a caller calls: the clone itself, or
 * an instruction of such a copy. A loop has copies of all of them, a fusion of those of fusions. */
static inline bool plan_copies_callees(const Module *module, InstId clone, InstId caller) {
  return inst_runs_callees(module, clone) || inst_get(module, caller)->opcode == OPCODE_FUSION;
}

/* Makes the copies of called computations with which the plan begins. Returns RH_ERR_INPUT when
 * that is impossible, as remat_plan() does. */
rh_status plan_clone_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch);

/* Warns when the plan was made for another module, or for another order of the module. */
void plan_warn_of_module(const Plan *plan, const Module *module, const Schedule *schedule,
                         rh_diags *diags);

/* Reports that a clone reads a value that has been overwritten, and returns RH_ERR_INPUT. `is_kept`
 * is as for safe_reads_judge(). */
rh_status plan_fail_reads(const Plan *plan, const Module *module, const bool *is_kept,
                          uint32_t num_insts, rh_diags *diags);

#endif
