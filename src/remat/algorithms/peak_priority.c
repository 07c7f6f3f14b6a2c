/* XLA's HloRematerialization in its peak-priority variant, decision by decision
 * (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc, kPeakPriority).
 *
 * A sweep over a computation places instructions up to the one at the peak. It rematerializes at
 * this instruction only, until the peak is lower. The next sweep starts again at the new peak, and
 * so on until the limit is reached or nothing helps. Callees of visited instructions that exceed
 * the limit are reduced first. Clones are not recomputed again, and instructions without users are
 * removed at once. O(sweeps * module + picks * instructions).
 *
 * XLA skips instructions without users, so their reads stay unplaced forever. This implementation
 * does the same, because results depend on it. However, no clone is placed before its original for
 * such a read, because its operands may not have been computed there. As in
 * remat/algorithms/standard.c, asynchronous operations are kept. */
#include "remat/algorithms/standard_pass.h"

/* The least bytes that costs are a fraction of: with a small limit all costs would be 0. */
#define MIN_COST_LIMIT_BYTES (INT64_C(1) << 30)

/* Rematerializes at the peak until it is lower. */
static void reduce_peak(Pass *pass, int64_t called_bytes, int64_t peak_bytes) {
  uint32_t max_size = 1;
  while (pass->tracker.memory_bytes + called_bytes >= peak_bytes &&
         max_size <= pass->standard->job->options->block_size_limit &&
         !patience_is_stopped(pass->standard->job->patience)) {
    ArenaMark mark = arena_mark(pass->standard->scratch);
    Block block = standard_pick(pass, 1, max_size, pass->standard->scratch);
    if (block.len == 0) {
      max_size *= 2;
    } else {
      standard_apply(pass, &block);
      max_size = 1;
    }
    arena_reset(pass->standard->scratch, mark);
  }
}

typedef struct Peak {
  int64_t bytes;
  InstId inst; /* the first instruction that reaches it */
} Peak;

/* Finds the peak of the current schedule. */
static Peak find_peak(Pass *pass) {
  pass_open(pass);
  Peak peak = {.bytes = 0, .inst = pass->list.first};
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    tracker_begin(&pass->tracker, id);
    int64_t bytes = pass->tracker.memory_bytes + pass_callee_bytes(pass, id);
    if (bytes > peak.bytes) peak = (Peak){bytes, id};
    tracker_end(&pass->tracker);
  }
  pass_close(pass);
  pass->standard->memory[pass->comp].peak_bytes = peak.bytes;
  return peak;
}

/* Sweeps up to the first change. Returns whether there was one. */
static bool sweep(Pass *pass, Peak peak) {
  pass_open(pass);
  uint64_t num_steps = pass->standard->stats->num_steps;
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    if (inst_is_unread(pass->standard->module, id)) continue;
    int64_t called_bytes = pass_callee_bytes(pass, id);
    tracker_begin(&pass->tracker, id);
    if (id == peak.inst) reduce_peak(pass, called_bytes, peak.bytes);
    pass_reduce_callees(pass, id);
    tracker_end(&pass->tracker);
    if (pass->standard->stats->num_steps > num_steps) break;
  }
  bool has_changed = pass->standard->stats->num_steps > num_steps;
  if (has_changed) {
    module_sweep_comp(pass->standard->module, pass->comp);
    pass_commit(pass);
  }
  pass_close(pass);
  return has_changed;
}

static void reduce(Standard *standard, CompId comp, int64_t comp_limit_bytes, int depth) {
  Pass pass = {.standard = standard,
               .comp = comp,
               .depth = depth,
               .comp_limit_bytes = comp_limit_bytes,
               .cost_limit_bytes = comp_limit_bytes > MIN_COST_LIMIT_BYTES ? comp_limit_bytes
                                                                           : MIN_COST_LIMIT_BYTES};
  Peak peak = find_peak(&pass);
  if (peak.bytes <= comp_limit_bytes) return;
  while (peak.bytes > comp_limit_bytes && sweep(&pass, peak)) {
    standard_analyze(standard);
    peak = find_peak(&pass);
  }
  standard->is_done[comp] = true;
}

void remat_peak_priority(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  standard_run(job, reduce, true, stats, out, scratch);
}
