#include "remat/engine/problem.h"

#include "analysis/flow/copy_stage.h"
#include "analysis/flow/placed.h"
#include "remat/legality/safe_order.h"
#include "remat/legality/steering.h"
#include "remat/protect/protect.h"

rh_memory problem_measure(const Problem *problem, const MemoryModel *model, const Module *module,
                          const Schedule *schedule) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  MemoryProfile profile = model->measure(module, schedule, NULL, arena, problem->scratch);
  rh_memory memory = memory_of_profile(&profile);
  arena_free(arena);
  return memory;
}

int64_t problem_counted_bytes(const Problem *problem, const rh_memory *memory) {
  return memory_counted_bytes(memory, problem->options->limit_counts);
}

static SpaceUses spaces_of(const rh_module *handle, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  HeapAnalysis heap =
      heap_analysis_run(handle->module, &handle->schedule, HEAP_SIZES, arena, scratch);
  SpaceUses uses = space_uses(heap.module, &heap, out, scratch);
  arena_free(arena);
  return uses;
}

bool problem_keeps_spaces(const Problem *problem, const rh_module *result) {
  if (problem->spaces.list.len == 0) return true;
  Arena *arena = arena_new(arena_options(problem->scratch));
  SpaceUses uses = spaces_of(result, arena, problem->scratch);
  bool is_more = false;
  for (uint32_t i = 0; i < uses.list.len; i++) {
    const SpaceUse *use = &uses.list.data[i];
    int64_t before_bytes = 0;
    for (uint32_t k = 0; k < problem->spaces.list.len; k++) {
      if (problem->spaces.list.data[k].space == use->space)
        before_bytes = problem->spaces.list.data[k].peak_bytes;
    }
    is_more |= use->space != HOST_MEMORY_SPACE && use->peak_bytes > before_bytes;
  }
  arena_free(arena);
  return !is_more;
}

static void measure_input(Problem *problem) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  const rh_module *input = problem->input;
  MemoryProfile profile = problem->request->memory_model->measure(input->module, &input->schedule,
                                                                  NULL, arena, problem->scratch);
  problem->before = memory_of_profile(&profile);
  problem->bound_rules = (LowerBoundRules){
      .counts_params = profile.counts_params, .constants = profile.constants, .keeps_loops = true};
  arena_free(arena);
}

static rh_status prepare(Problem *problem, Findings *findings, const RematRequest *request,
                         const rh_module *input, rh_diags *diags) {
  const rh_remat_options *options = request->options;
  *problem = (Problem){.request = request,
                       .options = options,
                       .plan = request->plan,
                       .input = input,
                       .original = request->module,
                       .protect = protect_resolve(options->protect, options->emit),
                       .arena = arena_new(arena_options(request->module->arena)),
                       .scratch = arena_new(arena_options(input->arena)),
                       .diags = diags};
  Module *module = problem->input->module;
  const Schedule *schedule = &problem->input->schedule;
  Arena *arena = problem->arena, *scratch = problem->scratch;
  *findings = (Findings){.is_kept = arena_zarray(arena, bool, module->insts.len),
                         .is_refused = arena_zarray(arena, bool, module->insts.len)};
  problem->has_copies = copies_are_inserted(module);
  if (module_is_placed(request->module->module))
    problem->spaces = spaces_of(request->module, arena, scratch);
  if (problem->has_copies)
    problem->known_reads = known_reads_of_input(module, schedule, arena, scratch);
  if (problem_is_limited(problem)) measure_input(problem);
  rh_status status = collection_parse(options->collection, &problem->collection, diags, arena);
  if (status == RH_OK) {
    status = steering_find(module, options->pin, options->never, &problem->steering, diags, arena,
                           scratch);
  }
  problem->parameters = parameters_default();
  if (status == RH_OK) status = parameters_read(options->parameters, &problem->parameters, diags);
  return status;
}

rh_status problem_prepare(Problem *problem, Findings *findings, const RematRequest *request,
                          Patience *patience, rh_diags *diags) {
  rh_status status = prepare(problem, findings, request, request->module, diags);
  if (problem->has_copies && problem->options->emit == RH_EMIT_SCHEDULED) {
    const rh_module *module = request->module;
    problem->is_safe_in_any_order =
        has_closed_reads(module->module, &module->schedule, problem->scratch);
  }
  uint32_t num_insts = request->module->module->insts.len;
  problem->patience = patience;
  uint64_t most_kept = (uint64_t)problem->parameters.search_memo;
  problem->memo = most_kept ? search_memo_new(most_kept, problem->arena) : NULL;
  patience->num_more =
      patience_more_steps_of(patience_effort(patience), num_insts, &problem->parameters);
  patience->num_steps =
      patience_steps_of(patience_effort(patience), num_insts, &problem->parameters);
  return status;
}

/* What there is to say about the expressions has been said for the input. */
rh_status problem_prepare_variant(Problem *of_variant, Findings *findings, const Problem *problem,
                                  const rh_module *variant, const ScanSteps *steps) {
  rh_status status = prepare(of_variant, findings, problem->request, variant, NULL);
  of_variant->steps = steps;
  of_variant->is_safe_in_any_order = problem->is_safe_in_any_order;
  of_variant->patience = problem->patience;
  of_variant->memo = problem->memo;
  of_variant->diags = problem->diags;
  return status;
}

int64_t problem_bound_with_loops(const Problem *problem) {
  Arena *arena = arena_new(arena_options(problem->scratch)), *scratch = problem->scratch;
  const Module *module = problem->input->module;
  Legality legality = legality_new(module, arena, scratch);
  int64_t bytes = lower_bound(module, &legality, &problem->bound_rules, scratch).bytes;
  arena_free(arena);
  return bytes - (problem->before.peak_bytes - problem_counted_bytes(problem, &problem->before));
}

void problem_renew_patience(const Problem *problem, uint32_t divisor) {
  int effort = patience_effort(problem->patience);
  uint32_t num_insts = problem->input->module->insts.len;
  patience_renew(problem->patience,
                 patience_steps_of(effort, num_insts, &problem->parameters) / divisor);
}

void problem_free(Problem *problem) {
  arena_free(problem->scratch);
  arena_free(problem->arena);
}
