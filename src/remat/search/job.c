#include "remat/search/job.h"

enum { LEAST_STEPS = 400 }; /* for each instruction, for another search of the entry */

bool search_job_packs(const SearchJob *search) {
  return search->job->memory_model->traits & RH_TRAIT_PACKS;
}

void search_job_begin(SearchJob *search, bool holds_lent) {
  search->holds_lent = holds_lent;
  search->num_steps = search->num_comps = 0;
  search_job_analyze(search);
}

void search_job_analyze(SearchJob *search) {
  if (search->arena) arena_free(search->arena);
  search->arena = arena_new(arena_options(search->scratch));
  search->context = search_context_build(search->job, search->arena, search->scratch);
  search->context.holds_lent = search->holds_lent;
  uint32_t num_comps = search->job->rewrite->module->comps.len, num_known = search->num_comps;
  if (num_comps > num_known) { /* a loop that runs again has computations of its own */
    int64_t *known = search->inner_bytes;
    search->inner_bytes = arena_zarray(search->out, int64_t, num_comps);
    if (num_known) memcpy(search->inner_bytes, known, num_known * sizeof *known);
  }
  search->num_comps = num_comps;
  search->context.inner_bytes = search->inner_bytes;
  search_measure_callees(&search->context, search->inner_bytes, num_known, search->scratch);
}

int64_t search_job_difference(const SearchJob *search) {
  return remat_state_peak(search->job, search->scratch) -
         search->inner_bytes[search->job->rewrite->module->entry];
}

/* ---- results ---- */

bool search_job_keep(const SearchJob *search, Result *best) {
  if (best->arena && !score_is_better(search->entry.taken, best->figures.taken)) return false;
  result_free(best);
  Arena *arena = arena_new(arena_options(search->scratch));
  *best = (Result){search->entry, search->num_steps, remat_state_save(search->job, arena), arena};
  return true;
}

bool result_keep(Result *best, Result *found) {
  bool is_better = score_is_better(found->figures.taken, best->figures.taken);
  result_free(is_better ? best : found);
  if (is_better) *best = *found;
  return is_better;
}

void result_free(Result *result) {
  if (result->arena) arena_free(result->arena);
  result->arena = NULL;
}

void search_job_restore(SearchJob *search, const RematState *state, uint32_t num_steps) {
  RematJob *job = search->job;
  remat_state_load(job, state);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  search->num_steps = num_steps;
}

/* ---- steps ---- */

Patience *search_job_take_part(SearchJob *search, uint64_t num_steps, Patience *part) {
  Patience *whole = search->job->patience;
  *part = patience_part(whole, num_steps);
  search->job->patience = part;
  return whole;
}

void search_job_give_back(SearchJob *search, Patience *whole) {
  patience_join(whole, search->job->patience);
  search->job->patience = whole;
}

bool search_job_may_go_on(const SearchJob *search) {
  const Patience *patience = search->job->patience;
  uint64_t least = (uint64_t)search->job->rewrite->module->insts.len * LEAST_STEPS;
  return !patience_is_over(patience) && patience_steps_left(patience) >= least;
}
