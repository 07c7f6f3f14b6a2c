#include "remat/engine/attempt.h"

#include "remat/engine/judge.h"
#include "remat/engine/reschedule.h"
#include "remat/legality/safe_order.h"
#include "remat/legality/safe_reads.h"
#include "remat/protect/protect.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/moves.h"
#include "text/print.h"

enum {
  MOST_JUDGED = 100000, /* instructions beyond which texts take too long for what only may gain */
};

Attempt attempt_new(const Problem *problem, const RematAlgorithm *algorithm, const Guide *guide) {
  bool is_idle = algorithm->traits & RH_TRAIT_IDLE;
  return (Attempt){.algorithm = algorithm,
                   .guide = *guide,
                   .clones_callees = problem->options->clone_callees && !problem->plan && !is_idle,
                   .arena = arena_new(arena_options(problem->scratch))};
}

/* Discards what was done, so that the attempt can run again. */
static void start_over(Attempt *attempt) {
  kept_plan_free(attempt->plan);
  attempt->plan = NULL;
  module_free(attempt->rewrite.module);
  attempt->rewrite = (Rewrite){0};
}

void attempt_free_work(Attempt *attempt) {
  start_over(attempt);
  if (attempt->arena) arena_free(attempt->arena);
  attempt->arena = NULL;
}

void attempt_free(Attempt *attempt) {
  attempt_free_work(attempt);
  rh_module_free(attempt->result);
  *attempt = (Attempt){0};
}

/* ---- the algorithm ---- */

static int64_t small_node_bytes(const Attempt *attempt, const rh_remat_options *options) {
  if (options->small_node_bytes >= 0) return options->small_node_bytes;
  return attempt->algorithm->traits & RH_TRAIT_ALL_SIZES ? 0 : RH_SMALL_NODE_BYTES;
}

/* The options that limit algorithms do not limit a plan: its author decides. */
static Legality legality_of(const Attempt *attempt, const Problem *problem, const Plan *plan,
                            const Findings *findings) {
  const rh_remat_options *options = problem->options;
  Legality legality = legality_new(attempt->rewrite.module, attempt->arena, problem->scratch);
  legality.allow_collectives = options->remat_collectives || (plan && plan->allow_collectives);
  legality.small_node_bytes = plan ? 0 : small_node_bytes(attempt, options);
  legality.is_kept = findings->is_kept;
  legality.num_kept = problem->input->module->insts.len;
  legality.steering = problem->steering;
  return legality;
}

/* Instructions of callees' clones are kept, and steered, as their originals are. */
static void extend_to_callee_clones(const Attempt *attempt, Legality *legality) {
  uint32_t num_insts = attempt->rewrite.module->insts.len, num_kept = legality->num_kept;
  if (num_insts == num_kept) return;
  bool *is_kept = arena_zarray(attempt->arena, bool, num_insts);
  uint8_t *steering = legality->steering ? arena_zarray(attempt->arena, uint8_t, num_insts) : NULL;
  for (InstId id = 0; id < num_insts; id++) {
    InstId original = rewrite_callee_original(&attempt->rewrite, id);
    is_kept[id] = original < num_kept && legality->is_kept[original];
    if (steering && original < num_kept) steering[id] = legality->steering[original];
  }
  legality->is_kept = is_kept;
  legality->steering = steering;
  legality->num_kept = num_insts;
}

/* Records what the algorithm refused. A refusal in a callee's clone counts for the original. */
static void note_refused(const Attempt *attempt, const Problem *problem, const Legality *legality,
                         Findings *findings) {
  for (InstId id = 0; id < legality->num_kept; id++) {
    InstId original = rewrite_callee_original(&attempt->rewrite, id);
    if (legality->is_refused[id] && original < problem->input->module->insts.len)
      findings->is_refused[original] = true;
  }
}

/* Runs the algorithm. If the input is past copy-insertion, legality knows which instructions
 * overwrite which values. */
static void run_algorithm(Attempt *attempt, const Problem *problem, RematJob *job,
                          Legality *legality, Findings *findings) {
  Arena *arena = arena_new(arena_options(problem->scratch)), *scratch = problem->scratch;
  Module *module = attempt->rewrite.module;
  Overwriters overwriters;
  if (problem->has_copies) {
    ValueAnalysis values = value_analysis_build(module, arena, scratch);
    overwriters = overwriters_find(module, &values, &attempt->schedule, arena, scratch);
    legality->overwriters = &overwriters;
  }
  legality->is_refused = arena_zarray(arena, bool, legality->num_kept);
  attempt->algorithm->run(job, &attempt->stats, attempt->arena, scratch);
  note_refused(attempt, problem, legality, findings);
  arena_free(arena);
}

/* Runs the algorithm once, on a new copy of the input. `plan` is what it applies, or NULL. */
static rh_status decide(Attempt *attempt, const Problem *problem, const Plan *plan, rh_diags *diags,
                        Findings *findings) {
  const rh_remat_options *options = problem->options;
  attempt->rewrite = rewrite_begin(module_copy(problem->input->module));
  Module *module = attempt->rewrite.module;
  attempt->schedule = schedule_copy(&problem->input->schedule, module, attempt->arena);
  attempt->stats = (RematStats){.xla_reported_after_bytes = -1};
  attempt->clones = (CalleeClones){0};
  if (!plan && attempt->guide.before_bytes <= attempt->guide.peak_limit.bytes) return RH_OK;
  Legality legality = legality_of(attempt, problem, plan, findings);
  CostTable costs = cost_analyze(module, attempt->arena, problem->scratch);
  bool frees_parameters = problem->request->memory_model->traits & RH_TRAIT_FREE_PARAMETERS;
  RematJob job = {.rewrite = &attempt->rewrite,
                  .schedule = &attempt->schedule,
                  .options = options,
                  .parameters = &problem->parameters,
                  .peak_limit.bytes = attempt->guide.peak_limit.bytes,
                  .memory_model = attempt->guide.memory_model,
                  .uncounted_bytes = attempt->guide.uncounted_bytes,
                  .modes = attempt->algorithm->modes ? attempt->algorithm->modes : options->modes,
                  /* as XLA's pass does it */
                  .is_per_caller = !options->callees_once && !frees_parameters,
                  .device = problem->request->device,
                  .legality = &legality,
                  .costs = &costs,
                  .collection = &problem->collection,
                  .patience = problem->patience,
                  .memo = problem->memo,
                  .judged_peak = module->insts.len <= MOST_JUDGED ? judge_peak : NULL,
                  .judge = problem,
                  .plan = plan,
                  .diags = diags};
  if (plan) {
    rh_status status = plan_clone_callees(&job, &attempt->clones, attempt->arena, problem->scratch);
    if (status != RH_OK) return status;
  } else if (attempt->clones_callees) {
    attempt->clones = clone_callees(&job, attempt->arena, problem->scratch);
  }
  extend_to_callee_clones(attempt, &legality);
  run_algorithm(attempt, problem, &job, &legality, findings);
  findings->was_cut |= attempt->stats.is_cut;
  if (attempt->stats.solver_end.kind) findings->solver_end = attempt->stats.solver_end;
  if (attempt->stats.status != RH_OK) return attempt->stats.status;
  if (attempt->stats.num_steps) dce_run(&attempt->rewrite, problem->scratch);
  dce_update_schedule(module, &attempt->schedule, attempt->arena);
  if (!plan) share_callees(&job, &attempt->clones, attempt->arena, problem->scratch);
  return RH_OK;
}

/* ---- reads of overwritten memory ---- */

/* Looks for clones that read overwritten memory. If there are any, their originals are kept, and
 * the algorithm is to run `again`, unless that is of no use: the attempt is unsafe then. */
static rh_status judge_reads(Attempt *attempt, const Problem *problem, Findings *findings,
                             bool *again) {
  const Module *input = problem->input->module;
  SafeReads reads = safe_reads_judge(&attempt->rewrite, &attempt->schedule, &problem->known_reads,
                                     findings->is_kept, input->insts.len, problem->scratch);
  *again = false;
  if (reads == READS_SAFE) return RH_OK;
  if (problem->plan)
    return plan_fail_reads(problem->plan, input, findings->is_kept, input->insts.len,
                           problem->diags);
  *again = reads != READS_NOT_BY_CLONES && !patience_is_stopped(problem->patience);
  attempt->is_unsafe = !*again;
  return RH_OK;
}

/* Runs the algorithm until no clone reads overwritten memory. Each round keeps at least one more
 * instruction. If the run is stopped before that, there is no result. */
static rh_status decide_safely(Attempt *attempt, const Problem *problem, Findings *findings) {
  for (int round = 0; round < problem->parameters.engine_read_rounds; round++) {
    if (round) start_over(attempt);
    rh_status status = decide(attempt, problem, problem->plan, problem->diags, findings);
    bool is_unchanged = !problem->plan && attempt->stats.num_steps == 0, again;
    if (status != RH_OK || !problem->has_copies || is_unchanged) return status;
    status = judge_reads(attempt, problem, findings, &again);
    if (!again) return status;
  }
  attempt->is_unsafe = true;
  return RH_OK;
}

/* Runs the algorithm, and runs it again without clones of callees if these were of no use: either
 * nothing was recomputed, or a clone of a callee, which runs at another time, reads overwritten
 * memory. */
static rh_status decide_about_callees(Attempt *attempt, const Problem *problem,
                                      Findings *findings) {
  attempt->is_unsafe = false;
  rh_status status = decide_safely(attempt, problem, findings);
  bool is_useless = attempt->is_unsafe || attempt->stats.num_steps == 0;
  if (status != RH_OK || !attempt->clones_callees || !is_useless) return status;
  attempt->clones_callees = attempt->is_unsafe = false;
  start_over(attempt);
  return decide_safely(attempt, problem, findings);
}

/* ---- steps before the module is printed ---- */

bool attempt_has_reached_goal(Attempt *attempt, const Problem *problem) {
  const Guide *guide = &attempt->guide;
  if (guide->peak_limit.bytes == INT64_MAX) return true;
  if (attempt->reached_goal == REACHED_UNKNOWN) {
    rh_memory memory =
        problem_measure(problem, guide->memory_model, attempt->rewrite.module, &attempt->schedule);
    attempt->reached_goal = memory.peak_bytes <= guide->peak_limit.bytes ? REACHED_YES : REACHED_NO;
  }
  return attempt->reached_goal == REACHED_YES;
}

/* Finds out what runs at another place. Where XLA chooses the order, only clones that have moved
 * are held without control dependencies. */
static Moves find_moves(Attempt *attempt, const Problem *problem) {
  const Module *module = attempt->rewrite.module;
  Arena *arena = arena_new(arena_options(problem->scratch));
  Schedule before = order_without_us(problem, arena);
  Moves moves =
      moves_find(&attempt->rewrite, &before, &attempt->schedule, attempt->arena, problem->scratch);
  arena_free(arena);
  attempt->num_moved = moves.num_moved;
  attempt->num_moves_lost = 0;
  bool is_open = problem->options->emit == RH_EMIT_UNSCHEDULED;
  if (!is_open || problem->protect == RH_PROTECT_CONTROL_DEPS) return moves;
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_clone = inst_get(module, id)->flags & INST_REMAT;
    bool is_held = is_clone && problem->protect != RH_PROTECT_NONE;
    attempt->num_moves_lost += moves.is_moved[id] && !is_held;
  }
  return moves;
}

/* Whether an instruction is a copy of a value in another form, or back. */
static bool is_form(const Rewrite *rewrite, InstId id) {
  return id < rewrite->copied_from.len && rewrite->copied_from.data[id] != NO_ID;
}

/* Counts the values that are kept in another form, by the instructions that begin it: a copy to
 * another layout, a conversion, and the start of a copy to the host. Those that end it read a copy.
 */
static void count_forms(Attempt *attempt) {
  const Rewrite *rewrite = &attempt->rewrite;
  attempt->num_compressed = attempt->num_narrowed = attempt->num_offloaded = 0;
  for (InstId id = 0; id < rewrite->copied_from.len; id++) {
    const Instruction *inst = inst_get(rewrite->module, id);
    if (!is_form(rewrite, id) || inst->flags & INST_DEAD) continue;
    if (is_form(rewrite, inst_operand(rewrite->module, id, 0))) continue;
    attempt->num_compressed += inst->opcode == OPCODE_COPY;
    attempt->num_narrowed += inst->opcode == OPCODE_CONVERT;
    attempt->num_offloaded += inst->opcode == OPCODE_COPY_START;
  }
}

/* Holds what has moved, and the whole order where that does not keep the peak. Before fusion it is
 * not held: XLA fuses nothing that has control dependencies. */
static void hold_moves(Attempt *attempt, const Problem *problem, const Moves *moves) {
  Module *module = attempt->rewrite.module;
  if (problem->protect != RH_PROTECT_CONTROL_DEPS || moves->num_moved == 0) return;
  protect_order(&attempt->rewrite, &attempt->schedule, moves->is_moved, problem->scratch);
  if (is_fused_later(module)) return;
  rewrite_write_out_elements(&attempt->rewrite, problem->scratch);
  if (!reschedule_keeps_peak(problem, module, &attempt->schedule))
    protect_order(&attempt->rewrite, &attempt->schedule, NULL, problem->scratch);
}

/* Whether anything is left of what the algorithm did, which counts steps that it took back, too. */
static bool has_changed(const Attempt *attempt, const Problem *problem) {
  const rh_module *input = problem->input;
  return attempt->stats.num_steps > 0 &&
         text_hash(attempt->rewrite.module, &attempt->schedule, problem->scratch) !=
             text_hash(input->module, &input->schedule, problem->scratch);
}

/* Whether reads of memory that is overwritten later need dependencies. A scheduled result gets them
 * where the input has them: XLA reads a schedule at PRE_SCHEDULER, too, but chooses an order of its
 * own there. */
static bool must_close_reads(const Attempt *attempt, const Problem *problem) {
  if (!problem->has_copies) return false;
  if (problem->options->emit == RH_EMIT_UNSCHEDULED) return true;
  return problem->is_safe_in_any_order && (attempt->stats.num_steps > 0 || problem->steps);
}

/* Protects clones and moves. Whether the goal is reached is determined before that, because the
 * algorithm does not know what protection will cost. */
static void protect(Attempt *attempt, const Problem *problem) {
  Module *module = attempt->rewrite.module;
  bool is_restructuring = problem->protect >= RH_PROTECT_OPT_BARRIER;
  /* If a module was unscheduled and has not changed, its own dependencies are enough for XLA. */
  bool may_suffice = problem->options->emit == RH_EMIT_UNSCHEDULED && problem->has_copies &&
                     !problem->steps && !problem->input->module->source->header.is_scheduled;
  /* To print both modules for that takes time. */
  bool is_changed = (is_restructuring || may_suffice) && has_changed(attempt, problem);
  Moves moves = find_moves(attempt, problem);
  count_forms(attempt);
  attempt->reached_goal = REACHED_UNKNOWN;
  rewrite_free_names(&attempt->rewrite);
  attempt->is_restructured = is_restructuring && is_changed;
  if (attempt->is_restructured) (void)attempt_has_reached_goal(attempt, problem);
  protect_clones(&attempt->rewrite, &attempt->schedule, problem->protect, attempt->arena,
                 problem->scratch);
  hold_moves(attempt, problem, &moves);
  /* Conditionals add computations. */
  if (attempt->is_restructured) dce_update_schedule(module, &attempt->schedule, attempt->arena);
  if (must_close_reads(attempt, problem) && (is_changed || !may_suffice))
    close_reads(module, &attempt->schedule, problem->scratch);
  rewrite_write_out_elements(&attempt->rewrite, problem->scratch);
}

/* Protection moves clones, and conditionals make values share memory. If a clone therefore reads
 * overwritten memory, its original is kept and the algorithm runs again, engine.read-rounds times
 * at most. */
rh_status attempt_run(Attempt *attempt, const Problem *problem, Findings *findings) {
  for (int round = 0; round < problem->parameters.engine_read_rounds; round++) {
    if (round) start_over(attempt);
    rh_status status = decide_about_callees(attempt, problem, findings);
    if (status != RH_OK || attempt->is_unsafe) return status;
    if (problem->options->keep_plan) attempt->plan = kept_plan_begin(problem, attempt);
    protect(attempt, problem);
    if (!attempt->is_restructured || !problem->has_copies) return RH_OK;
    bool again;
    status = judge_reads(attempt, problem, findings, &again);
    if (!again) return status;
  }
  attempt->is_unsafe = true;
  return RH_OK;
}

rh_status attempt_run_plan(Attempt *attempt, const Problem *problem, const Plan *plan) {
  uint32_t num_insts = problem->input->module->insts.len;
  Findings findings = {.is_kept = arena_zarray(attempt->arena, bool, num_insts),
                       .is_refused = arena_zarray(attempt->arena, bool, num_insts)};
  rh_status status = decide(attempt, problem, plan, NULL, &findings);
  if (status == RH_OK) protect(attempt, problem);
  return status;
}
