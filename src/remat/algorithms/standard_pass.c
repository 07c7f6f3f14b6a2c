/* The frame of XLA's pass, which its two algorithms share. */
#include "remat/algorithms/standard_pass.h"

#include "remat/algorithms/standard_index.h"
#include "remat/job/state.h"

enum { MAX_CALL_DEPTH = 200 };

/* ---- verdicts ---- */

enum { UNKNOWN, DENIED, ONLY_COMPRESSED, ALLOWED };

static uint8_t *verdict_of(Standard *standard, InstId id) {
  if (id >= standard->verdict.len) {
    uint32_t missing = id + 1 - standard->verdict.len;
    memset(vec_extend(standard->out, &standard->verdict, missing), UNKNOWN, missing);
  }
  return &standard->verdict.data[id];
}

static uint8_t known_verdict(Standard *standard, InstId id) {
  uint8_t *verdict = verdict_of(standard, id);
  if (*verdict == UNKNOWN) {
    KeepReason reason = recompute_verdict(standard->job->legality, id);
    *verdict = reason == KEEP_NONE ? ALLOWED : compress_is_legal(reason) ? ONLY_COMPRESSED : DENIED;
  }
  return *verdict;
}

bool standard_may_take(Standard *standard, InstId id) {
  return known_verdict(standard, id) == ALLOWED;
}

bool standard_may_compress(Standard *standard, InstId id) {
  return known_verdict(standard, id) >= ONLY_COMPRESSED;
}

void standard_deny(Standard *standard, InstId id) {
  *verdict_of(standard, id) = DENIED;
}

/* ---- one computation ---- */

void standard_analyze(Standard *standard) {
  if (standard->points_to_arena) arena_free(standard->points_to_arena);
  standard->points_to_arena = arena_new(arena_options(standard->scratch));
  standard->points_to =
      points_to_build(standard->module, standard->points_to_arena, standard->scratch);
}

void pass_open(Pass *pass) {
  Standard *standard = pass->standard;
  pass->arena = arena_new(arena_options(standard->scratch));
  pass->list = item_list_build(&standard->items, standard->job->schedule->of[pass->comp],
                               standard->module->insts.len);
  pass->tracker = tracker_build(standard->module, &standard->points_to, &pass->list, pass->comp,
                                pass->arena, standard->scratch);
  int64_t min_bytes = standard->job->options->min_remat_bytes;
  for (InstId id = pass->list.first; id != NO_ID; id = item_get(&pass->list, id)->next) {
    if (tracker_defined_bytes(&pass->tracker, id) >= min_bytes) item_list_promote(&pass->list, id);
  }
  if (standard->seconds) offload_open(pass);
}

void pass_commit(Pass *pass) {
  Standard *standard = pass->standard;
  standard->job->schedule->of[pass->comp] =
      item_list_sequence(&pass->list, standard->module, standard->out);
}

void pass_close(Pass *pass) {
  arena_free(pass->arena);
}

void standard_apply(Pass *pass, const Block *block) {
  standard_index_apply(pass, block);
  switch (block->strategy) {
    case STRATEGY_RECOMPUTE: standard_recompute(pass, block); break;
    case STRATEGY_COMPRESS: standard_compress(pass, block->items[0]); break;
    case STRATEGY_OFFLOAD: standard_offload(pass, block->items[0]); break;
  }
}

/* ---- callees ---- */

static bool is_control_flow(const Pass *pass, InstId id) {
  return opcode_is_control_flow((Opcode)inst_get(pass->standard->module, id)->opcode);
}

int64_t pass_callee_bytes(const Pass *pass, InstId id) {
  const Standard *standard = pass->standard;
  return is_control_flow(pass, id) ? remat_callee_bytes(standard->module, standard->memory, id) : 0;
}

bool standard_runs_on_main(const Module *module, CompId comp) {
  return str_is(comp_get(module, comp)->thread, "main");
}

static bool runs_on_main(const Module *module, InstId caller, CompId callee) {
  Str thread = inst_attr_string(module, caller, ATTR_ASYNC_EXECUTION_THREAD);
  return (thread.len == 0 || str_is(thread, "main")) && standard_runs_on_main(module, callee);
}

void pass_reduce_callees(Pass *pass, InstId id) {
  Standard *standard = pass->standard;
  int64_t left = pass->comp_limit_bytes - pass->tracker.memory_bytes;
  if (!is_control_flow(pass, id) || pass_callee_bytes(pass, id) <= left) return;
  for (uint32_t i = 0; i < inst_get(standard->module, id)->num_callees; i++) {
    CompId callee = inst_callees(standard->module, id)[i];
    if (standard->is_done[callee] || !runs_on_main(standard->module, id, callee)) continue;
    if (pass->depth >= MAX_CALL_DEPTH) continue;
    standard->reduce(standard, callee, left > 0 ? left : 0, pass->depth + 1);
  }
}

/* ---- the module ---- */

void standard_run(RematJob *job, StandardFn reduce, bool keeps_clones, RematStats *stats,
                  Arena *out, Arena *scratch) {
  Module *module = job->rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  Standard standard = {.job = job,
                       .module = module,
                       .reduce = reduce,
                       .keeps_clones = keeps_clones,
                       .items = {.arena = arena},
                       .stats = stats,
                       .out = out,
                       .scratch = scratch};
  standard_analyze(&standard);
  if (job->modes & RH_REMAT_OFFLOAD && job->device) {
    offload_begin(&standard, arena);
  }
  standard.compact = compact_shapes_build(job, remat_sizes(module), arena, scratch);
  standard.is_done = arena_zarray(arena, bool, module->comps.len);
  RematMemory memory = remat_memory(module, job->schedule, arena, scratch);
  standard.memory = memory.of;
  int64_t comp_limit_bytes = remat_state_xla_limit(job, &memory, scratch) - memory.output_bytes;
  reduce(&standard, module->entry, comp_limit_bytes > 0 ? comp_limit_bytes : 0, 0);
  stats->xla_reported_after_bytes = standard.memory[module->entry].peak_bytes + memory.output_bytes;
  if (job->is_per_caller) standard_reduce_by_callers(&standard);
  arena_free(standard.points_to_arena);
  arena_free(arena);
}
