/* XLA's HloRematerialization, decision by decision
 * (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc, recompute mode, kAlwaysRemat).
 *
 * The instructions of a computation are placed one after the other. Where memory exceeds the limit,
 * the cheapest of all placed instructions (remat/algorithms/standard_pick.c) is recomputed for its
 * unplaced users. If that is not enough, the computations that the current instruction calls are
 * reduced, too. Compute time is not considered, and nothing is undone. O(n log n) in instructions
 * and clones for the default options, else O(picks * instructions).
 *
 * Example: with the limit exceeded at c in `a = exp(p); b = dot(a, q); c = dot(b, q); d = add(a,
 * c)`, a is recomputed before d, and its memory is free at c.
 *
 * There are two differences, both on the safe side: asynchronous operations are kept
 * (remat/legality/legality.h), and computations are left alone if they are below so many nested
 * calls that the stack could overflow. */
#include "remat/algorithms/standard_index.h"

/* XLA's default for the block factor is the block size limit / 8, and at least 1. */
static double block_factor_of(const rh_remat_options *options) {
  if (options->block_factor > 0) return options->block_factor;
  return options->block_size_limit > 8 ? options->block_size_limit / 8.0 : 1.0;
}

/* Rematerializes at the instruction in progress until memory is within the limit. */
static void reduce_here(Pass *pass, int64_t called_bytes) {
  const rh_remat_options *options = pass->standard->job->options;
  double block_factor = block_factor_of(options);
  uint32_t min_size = 1, max_size = 1;
  double first_effort = 0, second_effort = 0;
  bool is_first_phase = true;
  while (pass->tracker.memory_bytes + called_bytes > pass->comp_limit_bytes &&
         !patience_is_stopped(pass->standard->job->patience)) {
    ArenaMark mark = arena_mark(pass->standard->scratch);
    Block block = standard_pick(pass, min_size, max_size, pass->standard->scratch);
    *(is_first_phase ? &first_effort : &second_effort) += block.effort;
    if (block.len == 0) {
      min_size = max_size + 1;
      max_size *= 2;
      is_first_phase = false;
    } else {
      standard_apply(pass, &block);
      min_size = max_size = 1;
    }
    arena_reset(pass->standard->scratch, mark);
    if (max_size > options->block_size_limit || second_effort > block_factor * first_effort) {
      break;
    }
  }
}

static void reduce(Standard *standard, CompId comp, int64_t comp_limit_bytes, int depth) {
  if (standard->memory[comp].peak_bytes <= comp_limit_bytes) return;
  Pass pass = {.standard = standard,
               .comp = comp,
               .depth = depth,
               .comp_limit_bytes = comp_limit_bytes,
               .cost_limit_bytes = comp_limit_bytes};
  pass_open(&pass);
  bool is_simple = standard->job->modes == RH_REMAT_RECOMPUTE;
  if (is_simple && standard->job->options->block_size_limit <= 1) standard_index_open(&pass);
  int64_t peak_bytes = 0;
  for (InstId id = pass.list.first; id != NO_ID; id = item_get(&pass.list, id)->next) {
    int64_t called_bytes = pass_callee_bytes(&pass, id);
    tracker_begin(&pass.tracker, id);
    standard_index_begin(&pass, id);
    if (tracker_defined_bytes(&pass.tracker, id) + called_bytes > 0) {
      reduce_here(&pass, called_bytes);
    }
    pass_reduce_callees(&pass, id);
    int64_t bytes = pass.tracker.memory_bytes + pass_callee_bytes(&pass, id);
    if (bytes > peak_bytes) peak_bytes = bytes;
    tracker_end(&pass.tracker);
    standard_index_end(&pass, id);
  }
  standard->memory[comp].peak_bytes = peak_bytes;
  pass_commit(&pass);
  pass_close(&pass);
  standard->is_done[comp] = true;
}

void remat_standard(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  standard_run(job, reduce, false, stats, out, scratch);
}
