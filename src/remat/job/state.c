#include "remat/job/state.h"

#include "analysis/cost/link.h"

static InstMap copy_map(const InstMap *map, Arena *out) {
  InstMap copy = {.data = arena_array(out, InstId, map->len), .len = map->len, .cap = map->len};
  if (map->len) memcpy(copy.data, map->data, map->len * sizeof *copy.data);
  return copy;
}

/* A map of the job never shrinks, so it has room for what it held before. */
static void restore_map(InstMap *map, const InstMap *saved) {
  map->len = saved->len;
  if (saved->len) memcpy(map->data, saved->data, saved->len * sizeof *map->data);
}

RematState remat_state_save(const RematJob *job, Arena *out) {
  const Rewrite *rewrite = job->rewrite;
  return (RematState){.module = module_snapshot(rewrite->module, out),
                      .schedule = schedule_copy(job->schedule, rewrite->module, out),
                      .working = arena_array(out, Sequence, rewrite->module->comps.len),
                      .inst_names = names_save(&rewrite->inst_names, out),
                      .comp_names = names_save(&rewrite->comp_names, out),
                      .next_channel_id = rewrite->next_channel_id,
                      .cloned_from = copy_map(&rewrite->cloned_from, out),
                      .copied_from = copy_map(&rewrite->copied_from, out),
                      .inner_of = copy_map(&rewrite->inner_of, out)};
}

void remat_state_load(RematJob *job, const RematState *state) {
  Rewrite *rewrite = job->rewrite;
  module_restore(rewrite->module, &state->module);
  names_restore(&rewrite->inst_names, &state->inst_names);
  names_restore(&rewrite->comp_names, &state->comp_names);
  rewrite->next_channel_id = state->next_channel_id;
  restore_map(&rewrite->cloned_from, &state->cloned_from);
  restore_map(&rewrite->copied_from, &state->copied_from);
  restore_map(&rewrite->inner_of, &state->inner_of);
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

double remat_state_seconds(const RematJob *job, Arena *scratch) {
  DeviceProfile device = job->device ? *job->device : device_profile_default();
  Arena *arena = arena_new(arena_options(scratch));
  double seconds = link_total_seconds(job->rewrite->module, job->schedule, &device, arena, scratch);
  arena_free(arena);
  return seconds;
}

Score remat_state_score(const RematJob *job, Arena *scratch) {
  int64_t peak_bytes = remat_state_peak(job, scratch);
  return (Score){.is_met = peak_bytes <= job->peak_limit.bytes,
                 .bytes = peak_bytes,
                 .seconds = remat_state_seconds(job, scratch)};
}

int64_t remat_state_xla_limit(const RematJob *job, const RematMemory *memory, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  int64_t model_bytes =
      job->memory_model->measure(job->rewrite->module, job->schedule, NULL, arena, scratch)
          .peak_bytes;
  arena_free(arena);
  return job->peak_limit.bytes - (model_bytes - memory->peak_bytes);
}
