/* The public functions that measure: memory, what lives at the peak, cost. */
#include "analysis/flow/copy_stage.h"
#include "analysis/cost/cost.h"
#include "analysis/flow/guess_target.h"
#include "analysis/cost/link.h"
#include "analysis/pack/packing.h"
#include "ir/diag.h"
#include "ir/handle.h"
#include "remat/legality/keep_reason.h"
#include "remat/legality/lower_bound.h"
#include "ir/expression.h"
#include "api/measure.h"
#include "api/names.h"
#include "remat/legality/steering.h"

struct rh_profile {
  DeviceProfile profile;
  Arena *arena;
};

/* ---- memory ---- */

rh_status find_model(const rh_module *module, const char *name, const MemoryModel **model,
                     rh_diags *diags) {
  *model = memory_model_find(name);
  if (!*model) return fail_unknown_name(RH_MEMORY_MODELS, name, diags);
  return handle_check_scheduled(module, diags);
}

static Legality legality_of(const rh_module *module, const rh_remat_options *options, Arena *arena,
                            Arena *scratch) {
  Legality legality = {.module = module->module,
                       .effects = side_effects_build(module->module, arena, scratch),
                       .allow_collectives = options && options->remat_collectives,
                       .small_node_bytes = options ? options->small_node_bytes : 0};
  bool *is_kept = arena_zarray(arena, bool, module->module->insts.len);
  for (InstId id = 0; module->marks && id < module->module->insts.len; id++)
    is_kept[id] = module->marks[id].is_kept;
  legality.is_kept = is_kept;
  legality.num_kept = module->module->insts.len;
  /* What is no expression rh_remat has refused. */
  if (options && steering_find(module->module, options->pin, options->never, &legality.asked, NULL,
                               arena, scratch) != RH_OK) {
    legality.asked = NULL;
  }
  return legality;
}

static rh_text name_of(const Module *module, InstId id) {
  return id == NO_ID ? (rh_text){"", 0} : text_of_str(inst_name(module, id));
}

rh_status rh_set_target(rh_module *module, const char *name, rh_diags *diags) {
  bool is_open = strcmp(name, "auto") == 0;
  const Target *target = is_open ? guess_target(module->module) : target_find(name);
  if (!target) return fail_unknown_name(RH_TARGETS, name, diags);
  module->module->backend.target = target;
  return RH_OK;
}

void rh_set_copies(rh_module *module, rh_copies copies) {
  module->module->backend.copies = (CopyStage)copies;
}

rh_copies rh_get_copies(const rh_module *module) {
  return copies_are_inserted(module->module) ? RH_COPIES_INSERTED : RH_COPIES_PENDING;
}

rh_status rh_set_packing(rh_module *module, const char *name, uint64_t max_steps, rh_diags *diags) {
  const Packer *packer = packer_find(name);
  if (!packer) return fail_unknown_name(RH_PACKINGS, name, diags);
  module->module->backend.packer = packer;
  module->module->backend.max_pack_steps = max_steps;
  return RH_OK;
}

void rh_set_heap_limit(rh_module *module, int64_t limit_bytes) {
  module->module->backend.heap_limit_bytes = limit_bytes < 0 ? -1 : limit_bytes;
}

rh_status rh_set_costs(rh_module *module, const rh_known_cost *costs, size_t count,
                       rh_diags *diags) {
  Backend backend = module->module->backend;
  Arena *scratch = arena_new(arena_options(module->arena));
  KnownCost *known = arena_array(scratch, KnownCost, count);
  rh_status status = RH_OK;
  for (size_t i = 0; status == RH_OK && i < count; i++) {
    regex_t expression;
    status = expression_compile(costs[i].expression, &expression, diags);
    if (status == RH_OK) regfree(&expression);
    known[i] = (KnownCost){costs[i].expression, costs[i].flops, costs[i].transcendentals,
                           costs[i].bytes_accessed};
  }
  backend.costs = known;
  backend.num_costs = (uint32_t)count;
  if (status == RH_OK) module_set_backend(module->module, &backend);
  arena_free(scratch);
  return status;
}

rh_memory memory_with_bound(const rh_module *module, const MemoryProfile *profile, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Legality legality = legality_of(module, NULL, arena, scratch);
  LowerBound bound =
      lower_bound(module->module, &legality, profile->counts_params, profile->constants, scratch);
  rh_memory memory = memory_of_profile(profile);
  memory.peak_instruction = name_of(module->module, profile->peak_inst);
  memory.lower_bound_bytes = bound.bytes;
  memory.lower_bound_instruction = name_of(module->module, bound.inst);
  arena_free(arena);
  return memory;
}

rh_status rh_measure_memory(const rh_module *module, const char *model_name, rh_memory *memory,
                            rh_diags *diags) {
  const MemoryModel *model;
  rh_status status = find_model(module, model_name, &model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
  MemoryProfile profile = model->measure(module->module, &module->schedule, NULL, arena, scratch);
  *memory = memory_with_bound(module, &profile, scratch);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

int64_t rh_counted_bytes(const rh_memory *memory, rh_limit_counts counts) {
  return memory_counted_bytes(memory, counts);
}

rh_status rh_visit_live(const rh_module *module, const char *model_name,
                        const rh_remat_options *options, rh_live_fn visit, void *context,
                        rh_diags *diags) {
  const MemoryModel *model;
  rh_status status = find_model(module, model_name, &model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
  LiveSet live;
  MemoryProfile profile = model->measure(module->module, &module->schedule, &live, arena, scratch);
  Legality legality = legality_of(module, options, arena, scratch);
  KeepReason *reasons = arena_array(arena, KeepReason, live.len);
  find_keep_reasons(module->module, &module->schedule, &legality, &profile, &live, reasons,
                    scratch);
  for (uint32_t i = 0; i < live.len; i++) {
    InstId id = live.list[i].inst;
    const char *opcode = opcode_text((Opcode)inst_get(module->module, id)->opcode);
    visit(context, &(rh_live_buffer){.instruction = name_of(module->module, id),
                                     .opcode = {opcode, strlen(opcode)},
                                     .bytes = live.list[i].bytes,
                                     .reason = keep_reason_name(reasons[i]),
                                     .explanation = keep_reason_sentence(reasons[i])});
  }
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

/* ---- cost ---- */

rh_status rh_profile_parse(const char *json, size_t length, rh_profile **profile, rh_diags *diags) {
  Arena *arena = arena_new(NULL);
  rh_profile *parsed = arena_zalloc(arena, sizeof *parsed);
  parsed->arena = arena;
  rh_status status = device_profile_parse(json, length, &parsed->profile, arena, diags);
  if (status == RH_OK) {
    *profile = parsed;
  } else {
    arena_free(arena);
  }
  return status;
}

void rh_profile_free(rh_profile *profile) {
  if (profile) arena_free(profile->arena);
}

const DeviceProfile *profile_of(const rh_profile *profile) {
  return &profile->profile;
}

const char *rh_profile_name(const rh_profile *profile) {
  return profile->profile.name;
}

const char *rh_profile_description(const rh_profile *profile) {
  return profile->profile.description;
}

int64_t rh_profile_memory_bytes(const rh_profile *profile) {
  return profile->profile.memory_bytes;
}

void rh_profile_set_host_link(rh_profile *profile, double to_host, double to_device) {
  if (to_host > 0) profile->profile.device_to_host = to_host;
  if (to_device > 0) profile->profile.host_to_device = to_device;
}

CostTable cost_table_of(const rh_module *module, const DeviceProfile *profile,
                        int64_t default_trip_count, Arena *out, Arena *scratch) {
  CostTable table = cost_analyze(module->module, out, scratch);
  if (profile && module->has_schedule) {
    table.link_seconds = link_seconds(module->module, &module->schedule, &table, profile,
                                      default_trip_count, out, scratch);
  }
  return table;
}

rh_cost cost_figures(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, Arena *scratch) {
  Cost total = cost_total(module, table);
  WeightedCost weighted = cost_total_weighted(module, table, profile, default_trip_count, scratch);
  ArenaMark mark = arena_mark(scratch);
  const double *runs = cost_runs(module, table, profile, default_trip_count, scratch, scratch);
  LinkUse use = link_use(module, table, runs);
  arena_reset(scratch, mark);
  return (rh_cost){.flops = total.flops,
                   .transcendentals = total.transcendentals,
                   .bytes_accessed = total.bytes,
                   .flops_weighted = weighted.flops,
                   .transcendentals_weighted = weighted.transcendentals,
                   .bytes_accessed_weighted = weighted.bytes,
                   .offloaded_bytes = use.to_host_bytes,
                   .seconds = weighted.seconds,
                   .stall_seconds = use.stall_seconds};
}

rh_status rh_measure_cost(const rh_module *module, const rh_profile *profile,
                          int64_t default_trip_count, rh_cost *cost, rh_diags *diags) {
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
  const DeviceProfile *device = profile ? &profile->profile : NULL;
  CostTable table = cost_table_of(module, device, default_trip_count, arena, scratch);
  *cost = cost_figures(module->module, &table, device, default_trip_count, scratch);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}
