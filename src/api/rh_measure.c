/* The public functions that measure memory, the values live at the peak, and cost. */
#include <string.h>

#include "analysis/cost/built_in_profiles.h"
#include "analysis/cost/cost.h"
#include "analysis/cost/link.h"
#include "analysis/flow/copy_stage.h"
#include "analysis/memory/liveness.h"
#include "ir/diag.h"
#include "ir/handle.h"
#include "ir/times.h"
#include "remat/legality/keep_reason.h"
#include "remat/bound/lower_bound.h"
#include "remat/legality/safe_reads.h"
#include "api/call.h"
#include "api/measure.h"
#include "api/arguments.h"
#include "api/sized.h"
#include "remat/job/algorithm.h"
#include "remat/legality/steering.h"
#include "remat/rewrite/split.h"
#include "remat/rewrite/unfuse.h"
#include "remat/scan/open.h"

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
  Legality legality = legality_new(module->module, arena, scratch);
  legality.allow_collectives = options && options->remat_collectives;
  legality.small_node_bytes = options ? options->small_node_bytes : 0;
  const RematAlgorithm *algorithm = options ? remat_algorithm_find(options->algorithm) : NULL;
  if (!algorithm) {
    legality.small_node_bytes = 0; /* a plan, whose author decides */
  } else if (legality.small_node_bytes < 0) {
    bool is_any = algorithm->traits & RH_TRAIT_ALL_SIZES;
    legality.small_node_bytes = is_any ? 0 : RH_SMALL_NODE_BYTES;
  }
  bool *is_kept = arena_zarray(arena, bool, module->module->insts.len);
  for (InstId id = 0; module->marks && id < module->module->insts.len; id++)
    is_kept[id] = module->marks[id].is_kept;
  legality.is_kept = is_kept;
  legality.num_kept = module->module->insts.len;
  /* rh_remat() has already rejected invalid expressions. */
  rh_status status = options ? steering_find(module->module, options->pin, options->never,
                                             &legality.steering, NULL, arena, scratch)
                             : RH_OK;
  if (status == RH_ERR_MEMORY) arena_fail(scratch, 0);
  if (status != RH_OK) legality.steering = NULL;
  return legality;
}

static rh_text name_of(const Module *module, InstId id) {
  return id == NO_ID ? (rh_text){"", 0} : text_of_str(inst_name(module, id));
}

/* Whether two donated parameters must have the same memory, which only copies resolve. */
static bool joins_parameters(const Module *module, Arena *scratch) {
  const ModuleHeader *header = &module->source->header;
  if (header->aliases.len < 2) return false;
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  const Computation *entry = comp_get(module, module->entry);
  bool *is_seen = arena_zarray(arena, bool, values.buffers.num_buffers), joins = false;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    bool *is_taken =
        &is_seen[values.buffers.of[dataflow_value(&values.flow, param, alias->param_part)]];
    joins |= *is_taken;
    *is_taken = true;
  }
  arena_free(arena);
  return joins;
}

/* Whether values that live at the same time always have memory of their own, as the profile's model
 * counts: in every order that rewrites may lead to. */
static bool keeps_apart(const rh_module *module, const MemoryProfile *profile, Arena *scratch) {
  if (!profile->joins_values) return true;
  bool has_copies = copies_are_inserted(module->module);
  if (!has_copies && !profile->counts_copies) return false;
  if (joins_parameters(module->module, scratch)) return false;
  if (!has_copies) return true;
  /* what the module does not read after it was overwritten, rewrites do not either */
  Arena *arena = arena_new(arena_options(scratch));
  bool is_clean = known_reads_find(module->module, &module->schedule, arena, scratch).len == 0;
  arena_free(arena);
  return is_clean;
}

/* What the bound takes as it is. What the caller holds all the time depends on nothing else. */
static unsigned within_of(const Module *module, const LowerBound *bound) {
  unsigned within = 0;
  for (InstId id = 0; bound->inst != NO_ID && id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    if (unfuse_is_wanted(module, id, RH_UNFUSE_ALL)) within |= RH_WITHIN_FUSIONS;
    if (inst->opcode == OPCODE_CALL) within |= RH_WITHIN_CALLS;
  }
  return within;
}

/* What a module without what hides its loops can be made of is the module's bound. */
static LowerBound bound_of(const rh_module *module, const Module *opened, LowerBoundRules rules,
                           Arena *arena, Arena *scratch) {
  Legality legality = opened == module->module ? legality_of(module, NULL, arena, scratch)
                                               : legality_new(opened, arena, scratch);
  return lower_bound(opened, &legality, &rules, scratch);
}

/* The bound with the fusions split that compute the same values, which is lower where one of them
 * decides. `*opened` is then the module that it holds for. */
static LowerBound bound_of_split(const rh_module *module, LowerBoundRules rules, LowerBound bound,
                                 const Module **opened, Arena *arena, Arena *scratch) {
  bool is_fusion = bound.inst != NO_ID && inst_get(*opened, bound.inst)->opcode == OPCODE_FUSION;
  if (!is_fusion || *opened != module->module) return bound;
  const Module *split = split_copy(module->module, &module->schedule, arena, scratch);
  if (split == module->module) return bound;
  LowerBound of_split = bound_of(module, split, rules, arena, scratch);
  if (of_split.bytes >= bound.bytes) return bound;
  *opened = split;
  return of_split;
}

/* The name in the module itself of an instruction of the opened one; empty if it has none there. */
static rh_text name_in(const Module *module, const Module *opened, InstId of_opened) {
  if (of_opened == NO_ID || opened == module) return name_of(module, of_opened);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (str_equal(inst_name(module, id), inst_name(opened, of_opened))) return name_of(module, id);
  }
  return name_of(module, NO_ID);
}

rh_memory memory_with_bound(const rh_module *module, const MemoryProfile *profile, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  LowerBoundRules rules = {.counts_params = profile->counts_params,
                           .keeps_apart = keeps_apart(module, profile, scratch),
                           .constants = profile->constants};
  const Module *opened = scan_opened(module->module, arena, scratch);
  LowerBound bound = bound_of(module, opened, rules, arena, scratch);
  bound = bound_of_split(module, rules, bound, &opened, arena, scratch);
  rh_memory memory = memory_of_profile(profile);
  memory.peak_instruction = name_of(module->module, profile->peak_inst);
  memory.lower_bound_bytes = bound.bytes;
  memory.lower_bound_instruction = name_in(module->module, opened, bound.inst);
  memory.lower_bound_kind = bound.covers_loops ? "order+recompute+loops" : "order+recompute";
  memory.lower_bound_within = within_of(opened, &bound);
  arena_free(arena);
  return memory;
}

static rh_status measure_memory(const rh_module *module, const char *model_name, rh_memory *memory,
                                rh_diags *diags) {
  const MemoryModel *model;
  rh_status status = find_model(module, model_name, &model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  MemoryProfile profile = model->measure(module->module, &module->schedule, NULL, arena, scratch);
  *memory = memory_with_bound(module, &profile, scratch);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

rh_status rh_measure_memory(const rh_module *module, const rh_settings *settings, const char *model,
                            rh_memory *memory, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_memory own = {0};
  const rh_module *taken = NULL;
  rh_status status = sized_clear(memory, "rh_memory", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = measure_memory(taken, model, &own, diags);
  if (status == RH_OK) sized_write(memory, &own, sizeof own);
  return call_close(call, status);
}

int64_t rh_counted_bytes(const rh_memory *memory, rh_limit_counts counts) {
  return memory_counted_bytes(memory, counts);
}

static bool covers_loops(const rh_memory *memory) {
  return memory->lower_bound_kind && strstr(memory->lower_bound_kind, "loops");
}

/* What a limit counts beside the peak, or does not count of it, is the same before and after, but
 * for constants that begin the states of loops: where loops may be rewritten, these may go. How
 * much more XLA may assign depends on the packing, which the bound knows nothing of. */
int64_t rh_counted_bound_bytes(const rh_memory *memory, rh_limit_counts counts) {
  int64_t counted_bytes = memory_counted_bytes(memory, counts) - memory_temp_more_bytes(memory);
  int64_t beside = counted_bytes - memory->peak_bytes;
  if (beside > 0 && covers_loops(memory))
    beside = beside > memory->constant_bytes ? beside - memory->constant_bytes : 0;
  int64_t bound_bytes = memory->lower_bound_bytes + beside;
  if (bound_bytes < 0) return 0;
  return bound_bytes < counted_bytes ? bound_bytes : counted_bytes;
}

rh_prospect rh_weigh_budget(const rh_memory *memory, rh_limit_counts counts, int64_t limit_bytes,
                            int64_t min_reducible_bytes) {
  int64_t counted_bytes = memory_counted_bytes(memory, counts);
  int64_t bound_bytes = rh_counted_bound_bytes(memory, counts);
  int64_t reducible_bytes = counted_bytes - bound_bytes;
  if (counted_bytes <= limit_bytes) return RH_PROSPECT_WITHIN;
  if (reducible_bytes == 0 || reducible_bytes < min_reducible_bytes) return RH_PROSPECT_LITTLE;
  return limit_bytes < bound_bytes ? RH_PROSPECT_BELOW : RH_PROSPECT_OPEN;
}

/* Whether the algorithm is `search`, which runs loops again, or one that tries it, too. */
static bool repeats_loops(const rh_remat_options *options) {
  const RematAlgorithm *algorithm = options ? remat_algorithm_find(options->algorithm) : NULL;
  return algorithm && algorithm->traits & RH_TRAIT_ALL_SIZES;
}

static rh_status visit_live(const rh_module *module, const char *model_name,
                            const rh_remat_options *options, rh_live_fn visit, void *context,
                            rh_diags *diags) {
  const MemoryModel *model;
  rh_status status = find_model(module, model_name, &model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  LiveSet live;
  MemoryProfile profile = model->measure(module->module, &module->schedule, &live, arena, scratch);
  Legality legality = legality_of(module, options, arena, scratch);
  KeepReasons *reasons = arena_array(arena, KeepReasons, live.len);
  KeepRules rules = {.legality = &legality, .repeats_loops = repeats_loops(options)};
  find_keep_reasons(module->module, &module->schedule, &rules, &profile, &live, reasons, scratch);
  for (uint32_t i = 0; i < live.len; i++) {
    InstId id = live.list[i].inst;
    const char *opcode = opcode_text((Opcode)inst_get(module->module, id)->opcode);
    rh_live_buffer buffer = {.instruction = name_of(module->module, id),
                             .opcode = {opcode, strlen(opcode)},
                             .bytes = live.list[i].bytes,
                             .reason = keep_reason_name(reasons[i].list[0]),
                             .explanation = keep_reason_sentence(reasons[i].list[0]),
                             .num_reasons = reasons[i].len};
    for (uint32_t k = 0; k < reasons[i].len; k++) {
      buffer.reasons[k] = keep_reason_name(reasons[i].list[k]);
      buffer.explanations[k] = keep_reason_sentence(reasons[i].list[k]);
    }
    visit(context, &buffer);
  }
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

rh_status rh_visit_live(const rh_module *module, const rh_settings *settings, const char *model,
                        const rh_remat_options *given, rh_live_fn visit, void *context,
                        rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_remat_options", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) {
    status = visit_live(taken, model, given ? &options : NULL, visit, context, diags);
  }
  return call_close(call, status);
}

/* ---- cost ---- */

rh_status rh_profile_parse(const char *json, size_t length, const rh_profile_options *given,
                           rh_profile **profile, rh_diags *diags) {
  *profile = NULL;
  CALL_OPEN(call, diags, RH_CODE_PROFILE);
  rh_profile_options options = RH_PROFILE_OPTIONS_INIT;
  ArenaOptions memory = call_memory(call, 0);
  Arena *arena = arena_new(&memory);
  rh_profile *parsed = arena_zalloc(arena, sizeof *parsed);
  parsed->arena = arena;
  rh_status status = sized_read(&options, sizeof options, given, "rh_profile_options", diags);
  if (status == RH_OK) {
    status = device_profile_parse(json, length, &parsed->profile, arena, diags);
  }
  if (options.to_host > 0) parsed->profile.device_to_host = options.to_host;
  if (options.to_device > 0) parsed->profile.host_to_device = options.to_device;
  if (status == RH_OK) {
    *profile = parsed;
  } else {
    arena_free(arena);
  }
  return call_close(call, status);
}

/* Returns NULL if there is no profile of this name. */
static const BuiltInProfile *find_built_in(const char *name) {
  for (const BuiltInProfile *built_in = built_in_profiles; built_in->name; built_in++) {
    if (strcmp(built_in->name, name) == 0) return built_in;
  }
  return NULL;
}

rh_status rh_profile_named(const char *name, const rh_profile_options *options,
                           rh_profile **profile, rh_diags *diags) {
  *profile = NULL;
  const BuiltInProfile *found = find_built_in(name);
  if (found) {
    return rh_profile_parse((const char *)found->json, found->length, options, profile, diags);
  }
  CALL_OPEN(call, diags, RH_CODE_BAD_OPTION);
  return call_close(call, fail_unknown_name(RH_DEVICES, name, diags));
}

void rh_profile_free(rh_profile *profile) {
  if (profile) arena_free(profile->arena);
}

rh_profile *profile_new(const DeviceProfile *device, Arena *out) {
  rh_profile *profile = arena_alloc(out, sizeof *profile);
  *profile = (rh_profile){*device, out};
  return profile;
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
  const TimedModule *timed = times_find_module(module->backend.times, module->source->header.name);
  arena_reset(scratch, mark);
  return (rh_cost){.struct_size = sizeof(rh_cost),
                   .flops = total.flops,
                   .transcendentals = total.transcendentals,
                   .bytes_accessed = total.bytes,
                   .flops_weighted = weighted.flops,
                   .transcendentals_weighted = weighted.transcendentals,
                   .bytes_accessed_weighted = weighted.bytes,
                   .offloaded_bytes = use.to_host_bytes,
                   .seconds = weighted.seconds,
                   .stall_seconds = use.stall_seconds,
                   .estimated_seconds = weighted.estimated_seconds,
                   .measured_seconds = weighted.measured_seconds,
                   .measured_steps = timed ? timed->num_steps : 0};
}

static rh_status measure_cost(const rh_module *module, const rh_profile *profile,
                              int64_t default_trip_count, rh_cost *cost, rh_diags *diags) {
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  const DeviceProfile *device = profile ? &profile->profile : NULL;
  CostTable table = cost_table_of(module, device, default_trip_count, arena, scratch);
  *cost = cost_figures(module->module, &table, device, default_trip_count, scratch);
  arena_free(scratch);
  arena_free(arena);
  return RH_OK;
}

rh_status rh_measure_cost(const rh_module *module, const rh_settings *settings,
                          const rh_profile *profile, int64_t default_trip_count, rh_cost *cost,
                          rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_cost own = {0};
  const rh_module *taken = NULL;
  rh_status status = sized_clear(cost, "rh_cost", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = measure_cost(taken, profile, default_trip_count, &own, diags);
  if (status == RH_OK) sized_write(cost, &own, sizeof own);
  return call_close(call, status);
}
