/* XLA's HloRematerialization, decision by decision, where it goes by the peak
 * (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc, kPeakPriority).
 *
 * A sweep over a computation places instructions up to the one at the peak and recomputes there,
 * and only there, until the peak is gone; the next sweep begins from scratch at the new peak, and
 * so on until the limit is reached or nothing helps. Callees of what a sweep comes by and that is
 * over the limit go first. No clone is recomputed again, and what nobody reads any more is removed
 * at once. O(sweeps * module + picks * instructions).
 *
 * XLA passes over instructions that nobody reads, so that their reads stay to come for ever; this
 * does, too, because results depend on it, but no clone goes ahead of its original for that, where
 * its own operands may not have been computed. As in remat/algorithms/standard.c, asynchronous
 * operations are kept. */
#include "remat/algorithms/standard_pass.h"

/* What costs are shares of, at the least: of a small limit all would be 0. */
#define MIN_COST_LIMIT_BYTES (INT64_C(1) << 30)

/* Recomputes at the peak until it is lower. */
static void reduce_peak(Pass *pass, int64_t called_bytes, int64_t peak_bytes) {
  uint32_t max_size = 1;
  while (pass->tracker.memory_bytes + called_bytes >= peak_bytes &&
         max_size <= pass->standard->job->options->block_size_limit) {
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
  InstId inst; /* the first to reach it */
} Peak;

/* Of the schedule as it is now. */
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

/* Up to the first change. Returns whether there was one. */
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
