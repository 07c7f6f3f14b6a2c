/* Reduces further what XLA's pass leaves in modules of several computations: the pass reduces each
 * computation once, given what its first caller left for it at that time. Here the computations
 * that run at the peak are reduced again, callees before callers, given what lives in their
 * callers, until nothing lowers the peak any more. In this way, what a caller recomputed for a
 * callee, or undid for it, is taken into account. O(rounds * computations at the peak) passes over
 * one computation. */
#include "remat/rewrite/dce.h"
#include "remat/algorithms/standard_pass.h"
#include "remat/job/state.h"

/* The bytes that a computation may need by the pass's own memory model, so that the module needs at
 * most `peak_limit_bytes` while the computation runs. */
static int64_t limit_of(const Standard *standard, CompId comp, const CallMemory *memory,
                        int64_t peak_limit_bytes) {
  Sequence sequence = standard->job->schedule->of[comp];
  const CompMemory *own = &standard->memory[comp];
  int64_t limit = own->peak_bytes;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    int64_t over = memory->bytes_at[sequence.ids[pos]] - peak_limit_bytes;
    int64_t left = over > 0 ? own->bytes_at[pos] - over : limit;
    if (left < limit) limit = left;
  }
  return limit > 0 ? limit : 0;
}

/* Returns to a saved state, and forgets the verdicts of instructions that no longer exist. */
static void go_back(Standard *standard, const RematState *state) {
  remat_state_load(standard->job, state);
  uint32_t num_insts = standard->module->insts.len;
  if (standard->verdict.len > num_insts) standard->verdict.len = num_insts;
}

/* Reduces one computation, and keeps the result if it lowers the module's peak. */
static bool reduce_one(Standard *standard, CompId comp, const CallMemory *memory,
                       int64_t peak_limit_bytes) {
  RematJob *job = standard->job;
  Arena *arena = arena_new(arena_options(standard->scratch));
  RematState saved = remat_state_save(job, arena);
  standard->memory = remat_memory(standard->module, job->schedule, arena, standard->scratch).of;
  uint64_t num_steps = standard->stats->num_steps;
  standard_analyze(standard);
  standard->reduce(standard, comp, limit_of(standard, comp, memory, peak_limit_bytes), 0);
  bool is_lower = false;
  if (standard->stats->num_steps > num_steps) {
    dce_run(job->rewrite, standard->scratch);
    dce_update_schedule(standard->module, job->schedule, standard->out);
    is_lower =
        remat_state_memory(standard->job, arena, standard->scratch).peak_bytes < memory->peak_bytes;
    if (!is_lower) go_back(standard, &saved);
  }
  if (!is_lower) standard->stats->num_steps = num_steps;
  *job->schedule = schedule_copy(job->schedule, standard->module, standard->out);
  arena_free(arena);
  return is_lower;
}

/* Reduces the innermost computation at the peak that can be reduced. The peak is lowered by steps,
 * because each step shows where the next peak is. */
static bool lower_peak(Standard *standard, const CallMemory *memory, Arena *arena) {
  int64_t peak_limit_bytes =
      memory->peak_bytes - memory->peak_bytes / standard->job->parameters->standard_steps - 1;
  int64_t wanted_bytes = standard->job->peak_limit.bytes;
  if (peak_limit_bytes < wanted_bytes) peak_limit_bytes = wanted_bytes;
  CallChain chain = call_memory_chain(memory, standard->module, memory->peak_inst, arena);
  for (uint32_t i = chain.len; i-- > 0;) {
    CompId comp = inst_get(standard->module, chain.ids[i])->parent;
    if (!standard_runs_on_main(standard->module, comp)) continue;
    if (reduce_one(standard, comp, memory, peak_limit_bytes)) return true;
  }
  return false;
}

/* Whether there are calls. A module of one computation has been fully reduced by the pass itself.
 */
static bool has_calls(const Standard *standard, const CallMemory *memory) {
  for (CompId comp = 0; comp < standard->module->comps.len; comp++) {
    if (memory->caller[comp] != NO_ID) return true;
  }
  return false;
}

void standard_reduce_by_callers(Standard *standard) {
  Arena *arena = arena_new(arena_options(standard->scratch));
  uint32_t num_comps = standard->module->comps.len;
  /* the pass has added computations of fusions */
  standard->is_done = arena_array(arena, bool, num_comps);
  /* reducing one computation does not reduce others */
  memset(standard->is_done, 1, num_comps * sizeof *standard->is_done);
  bool is_lower = true;
  for (int round = 0; round < standard->job->parameters->standard_rounds && is_lower; round++) {
    if (patience_is_stopped(standard->job->patience)) break;
    Arena *inner = arena_new(arena_options(arena));
    CallMemory memory = remat_state_memory(standard->job, inner, standard->scratch);
    bool is_over = memory.peak_bytes > standard->job->peak_limit.bytes;
    is_lower = is_over && memory.peak_inst != NO_ID && has_calls(standard, &memory) &&
               lower_peak(standard, &memory, inner);
    if (is_lower) standard->stats->xla_reported_after_bytes = -1;
    arena_free(inner);
  }
  arena_free(arena);
}
