#include "remat/job/state.h"

RematState remat_state_save(const RematJob *job, Arena *out) {
  const Rewrite *rewrite = job->rewrite;
  return (RematState){.module = module_snapshot(rewrite->module, out),
                      .schedule = schedule_copy(job->schedule, rewrite->module, out),
                      .working = arena_array(out, Sequence, rewrite->module->comps.len),
                      .num_inst_names = rewrite->inst_names.entries.len,
                      .num_comp_names = rewrite->comp_names.entries.len,
                      .next_channel_id = rewrite->next_channel_id};
}

void remat_state_load(RematJob *job, const RematState *state) {
  Rewrite *rewrite = job->rewrite;
  module_restore(rewrite->module, &state->module);
  names_truncate(&rewrite->inst_names, state->num_inst_names);
  names_truncate(&rewrite->comp_names, state->num_comp_names);
  rewrite->next_channel_id = state->next_channel_id;
  uint32_t num_insts = rewrite->module->insts.len;
  if (rewrite->cloned_from.len > num_insts) rewrite->cloned_from.len = num_insts;
  if (rewrite->copied_from.len > num_insts) rewrite->copied_from.len = num_insts;
  if (rewrite->inner_of.len > num_insts) rewrite->inner_of.len = num_insts;
  uint32_t num_comps = state->schedule.num_comps;
  memcpy(state->working, state->schedule.of, num_comps * sizeof *state->working);
  *job->schedule = (Schedule){.of = state->working, .num_comps = num_comps};
}

CallMemory remat_state_memory(const RematJob *job, Arena *out, Arena *scratch) {
  return call_memory_measure(job->memory_model, job->rewrite->module, job->schedule, out, scratch);
}

int64_t remat_state_peak(const RematJob *job, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  int64_t peak_bytes = remat_state_memory(job, arena, scratch).peak_bytes;
  arena_free(arena);
  return peak_bytes;
}

int64_t remat_state_xla_limit(const RematJob *job, const RematMemory *memory, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  int64_t model_bytes =
      job->memory_model->measure(job->rewrite->module, job->schedule, NULL, arena, scratch)
          .peak_bytes;
  arena_free(arena);
  return job->peak_limit_bytes - (model_bytes - memory->peak_bytes);
}
