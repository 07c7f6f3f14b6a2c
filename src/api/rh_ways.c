/* The public function that says what may lead to less memory. It only uses other public functions:
 * what they say of a result is what decides. */
#include <stdio.h>
#include <string.h>

#include "analysis/cost/built_in_profiles.h"
#include "analysis/flow/call_graph.h"
#include "api/call.h"
#include "api/sized.h"
#include "remat/rewrite/unfuse.h"

enum { USUAL_EFFORT = 5, MAX_EFFORT = 9 }; /* of rh_remat_options */

/* The bytes at the peak of the result that stay for some reason. */
typedef struct Stay {
  int64_t collective, small, loop, stage, movable, stack;
  bool is_at_fusion; /* a fusion of several instructions runs at the peak */
} Stay;

typedef struct Ways {
  const rh_module *before, *after;
  const rh_settings *settings;
  const rh_remat_options *options;
  const rh_remat_result *info;
  rh_memory memory, after_memory; /* of both modules */
  Stay stay;
  rh_way_fn visit;
  void *context;
} Ways;

static void tell(const Ways *ways, const char *option, const char *value, int64_t bytes,
                 const char *explanation) {
  rh_way way = {option, value, bytes, explanation};
  ways->visit(ways->context, &way);
}

/* ---- facts ---- */

static bool is_among(const char *name, const char *const *names) {
  while (*names && strcmp(name, *names) != 0)
    names++;
  return *names;
}

static bool has_reason(const rh_live_buffer *buffer, const char *const *names) {
  for (size_t i = 0; i < buffer->num_reasons; i++) {
    if (is_among(buffer->reasons[i], names)) return true;
  }
  return false;
}

/* Whether the instruction is a fusion that --unfuse splits, of more than one instruction. */
static bool is_split(const Module *module, rh_text name) {
  for (InstId id = 0; id < module->insts.len; id++) {
    Str own = inst_name(module, id);
    if (own.len != name.length || memcmp(own.data, name.data, own.len) != 0) continue;
    if (!unfuse_is_wanted(module, id, UNFUSE_ALL)) continue;
    CompId comp = inst_callees(module, id)[0];
    uint32_t count = 0;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      uint16_t opcode = inst_get(module, comp_inst(module, comp, i))->opcode;
      count += opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT;
    }
    return count > 1;
  }
  return false;
}

/* Of what --remat-collectives lets be recomputed. */
static const char *const collective[] = {"collective", "inner-collective", NULL};

static void note_live(void *context, const rh_live_buffer *buffer) {
  static const char *const small[] = {"small", "small-tuple", "small-operands", NULL};
  static const char *const loop[] = {"loop", NULL};
  static const char *const stage[] = {"copy", "overwritten", "control-dependency", NULL};
  static const char *const movable[] = {"none", "operands-larger", NULL};
  static const char *const stack[] = {"stack", NULL};
  Ways *ways = context;
  Stay *stay = &ways->stay;
  int64_t bytes = buffer->bytes;
  if (has_reason(buffer, collective)) stay->collective += bytes;
  if (has_reason(buffer, small)) stay->small += bytes;
  if (has_reason(buffer, loop)) stay->loop += bytes;
  if (has_reason(buffer, stage)) stay->stage += bytes;
  if (has_reason(buffer, movable)) stay->movable += bytes;
  if (has_reason(buffer, stack)) stay->stack += bytes;
}

/* What loops save for others stays, too, if a collective makes it. */
static rh_status note_stacks(Ways *ways, rh_diags *diags) {
  rh_report *report = NULL;
  rh_status status =
      rh_report_make(ways->after, ways->settings, ways->options->memory_model, &report, diags);
  for (size_t i = 0; status == RH_OK && i < report->num_stacks; i++) {
    const rh_stacks *stacks = report->stacks[i];
    for (size_t k = 0; k < stacks->num_stacks; k++) {
      if (is_among(stacks->stacks[k]->reason, collective))
        ways->stay.collective += stacks->stacks[k]->bytes;
    }
  }
  rh_report_free(report);
  return status;
}

static bool has_collectives(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (opcode_has((Opcode)inst_get(module, id)->opcode, OPF_COLLECTIVE | OPF_CHANNEL)) return true;
  }
  return false;
}

static rh_status find_facts(Ways *ways, rh_diags *diags) {
  const char *model = ways->options->memory_model;
  rh_status status = rh_measure_memory(ways->before, ways->settings, model, &ways->memory, diags);
  if (status == RH_OK)
    status = rh_measure_memory(ways->after, ways->settings, model, &ways->after_memory, diags);
  if (status == RH_OK)
    status =
        rh_visit_live(ways->after, ways->settings, model, ways->options, note_live, ways, diags);
  ways->stay.is_at_fusion = is_split(ways->after->module, ways->after_memory.peak_instruction);
  bool may_hide = !ways->options->remat_collectives && has_collectives(ways->after->module);
  return status == RH_OK && may_hide ? note_stacks(ways, diags) : status;
}

static bool is_of_slice(const Module *module, InstId id) {
  return opcode_is_dynamic_slice((Opcode)inst_get(module, id)->opcode);
}

/* Whether an instruction of the computation, or of a fusion in it, takes or writes a slice. */
static bool comp_has_slices(const Module *module, CompId comp) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (inst_any_fused(module, comp_inst(module, comp, i), is_of_slice)) return true;
  }
  return false;
}

/* Whether a loop of the computation may stack something for others, or read what they stacked. That
 * of a random number does neither. */
static bool comp_has_stacks(const Module *module, CompId comp) {
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_get(module, id)->opcode != OPCODE_WHILE) continue;
    for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
      if (comp_has_slices(module, inst_callees(module, id)[c])) return true;
    }
  }
  return false;
}

/* Whether such a loop runs in a call, where what it stacks for other loops stays: one that is
 * compiled as a function of its own, which is not inlined, or another one. */
static bool has_loop_in_call(const Module *module, bool is_compiled_alone) {
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode != OPCODE_CALL || inst->flags & INST_DEAD) continue;
    if (call_is_compiled_alone(module, id) != is_compiled_alone) continue;
    CompId callee = inst_callees(module, id)[0];
    if (is_compiled_alone ? comp_has_stacks(module, callee) : comp_has_loop(module, callee))
      return true;
  }
  return false;
}

static bool is_built_in(const rh_profile *profile) {
  const char *name = profile ? rh_profile_name(profile) : NULL;
  for (size_t i = 0; name && built_in_profiles[i].name; i++) {
    if (strcmp(name, built_in_profiles[i].name) == 0) return true;
  }
  return !name;
}

static unsigned traits_of(const rh_remat_options *options) {
  const rh_entry *algorithm = rh_find(RH_ALGORITHMS, options->algorithm);
  return algorithm ? algorithm->traits : 0;
}

static bool is_search(const rh_remat_options *options) {
  unsigned traits = traits_of(options);
  return traits & RH_TRAIT_ALL_SIZES && !(traits & RH_TRAIT_NEEDS_SOLVER);
}

/* Whether a hundredth of what was reached stays for some reason: less is not worth an option. */
static bool is_much(const Ways *ways, int64_t bytes) {
  return bytes > 0 && bytes >= ways->info->counted_bytes / 100;
}

/* ---- ways ---- */

/* Ways that recompute more, or in another order; they do not go below the bound. */
static void tell_of_recomputation(const Ways *ways) {
  const rh_remat_options *options = ways->options;
  const Stay *stay = &ways->stay;
  if (!options->remat_collectives && is_much(ways, stay->collective))
    tell(ways, "remat-collectives", NULL, stay->collective,
         "collectives are recomputed then, by all devices together");
  if (is_much(ways, stay->small))
    tell(ways, "small-node-limit", "0", stay->small, "small results are recomputed then, too");
  if (!ways->info->algorithm) return; /* a plan */
  if (!is_search(options))
    tell(ways, "algorithm", "auto", stay->loop,
         "it also tries `search`, which decides order and recomputation together");
}

/* That the search goes on is the least certain of ways, which nothing in the module speaks for. */
static void tell_of_effort(const Ways *ways) {
  const rh_remat_options *options = ways->options;
  if (!ways->info->algorithm || !is_search(options)) return;
  if (ways->info->is_timed_out) {
    tell(ways, "time-limit", NULL, 0, "the search ended because its time was over");
  } else if (options->effort < USUAL_EFFORT) {
    tell(ways, "effort", "5", 0, "with little effort the search leaves out what takes longer");
  } else if (ways->info->is_out_of_steps && options->effort < MAX_EFFORT) {
    char value[16];
    int effort = options->effort + 2 < MAX_EFFORT ? options->effort + 2 : MAX_EFFORT;
    snprintf(value, sizeof value, "%d", effort);
    tell(ways, "effort", value, 0, "the search ended because it had spent its steps");
  }
}

static void tell_of_host(const Ways *ways) {
  static const struct {
    unsigned mode;
    const char *word;
  } modes[] = {{RH_REMAT_RECOMPUTE, "recompute,"},
               {RH_REMAT_COMPRESS, "compress,"},
               {RH_REMAT_NARROW, "narrow,"}};
  char value[64] = "";
  bool has_host = strcmp(ways->before->module->backend.target->name, "cpu") != 0;
  unsigned traits = traits_of(ways->options);
  bool takes_modes = traits & (RH_TRAIT_ALL_SIZES | RH_TRAIT_OF_XLA) && ways->info->algorithm &&
                     !(traits & RH_TRAIT_NEEDS_SOLVER);
  if (!has_host || !takes_modes || ways->options->modes & RH_REMAT_OFFLOAD) return;
  if (!is_much(ways, ways->stay.movable)) return;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (ways->options->modes & modes[i].mode) strcat(value, modes[i].word);
  }
  strcat(value, "offload");
  tell(ways, "remat-mode", value, ways->stay.movable,
       "values are kept in the host's memory then, where there is time to copy them");
}

/* What XLA's optimizations have left no way to rewrite may have had one before. Stacks count
 * whatever the bound is: it may not be one of recomputation in another loop. */
static void tell_of_earlier_stage(const Ways *ways, bool is_below_bound, bool is_tied) {
  const char *option = "stage", *value = "BEFORE_OPTIMIZATIONS";
  bool is_held = is_much(ways, ways->stay.stage);
  if (is_much(ways, ways->stay.stack)) {
    tell(ways, option, value, ways->stay.stack,
         "loops are as they were written there, and more of what one stacks for others can be "
         "recomputed");
  } else if (!is_below_bound && (is_tied || is_held)) {
    tell(ways, option, value, is_held ? ways->stay.stage : 0,
         "XLA has not yet let values share memory there, which ties instructions to their places");
  }
}

/* Ways that begin from another module. */
static void tell_of_input(const Ways *ways, bool is_below_bound) {
  const rh_module_info *info = rh_get_info(ways->before);
  unsigned within = ways->memory.lower_bound_within;
  if (within & RH_WITHIN_FUSIONS && (is_below_bound || ways->stay.is_at_fusion))
    tell(ways, "unfuse", "all", 0,
         is_below_bound
             ? "the lower bound holds for the fusions as they are"
             : "a fusion runs at the peak, and its instructions are recomputed one by one then");
  if (has_loop_in_call(ways->before->module, false)) {
    tell(ways, "inline-calls", "always", 0,
         "a loop runs in a call, and is rewritten together with others only without it");
  } else if (within & RH_WITHIN_CALLS && is_below_bound) {
    tell(ways, "inline-calls", "always", 0, "the lower bound holds for the calls as they are");
  }
  if (has_loop_in_call(ways->before->module, true))
    tell(ways, "xla-flags", "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=0",
         0,
         "XLA:CPU compiles a loop as a function of its own, which decides how it rounds; a program "
         "that is compiled with this flag has a loop like others");
  uint64_t num_tied = 0;
  for (int i = 0; i < RH_NUM_TIES; i++)
    num_tied += ways->info->num_tied[i];
  if (info->is_optimized) tell_of_earlier_stage(ways, is_below_bound, num_tied > 0);
}

static void tell_all(const Ways *ways) {
  int64_t limit = ways->options->limit_bytes;
  int64_t bound = rh_counted_bound_bytes(&ways->memory, ways->options->limit_counts);
  int64_t reached = ways->info->counted_bytes;
  bool is_lowest = reached - bound <= reached / 1000; /* what alignment and packing lose */
  bool is_below_bound = is_lowest || (limit > 0 && limit < bound);
  if (!is_below_bound) tell_of_recomputation(ways);
  tell_of_input(ways, is_below_bound);
  if (ways->memory.lower_bound_instruction.length || !is_below_bound) tell_of_host(ways);
  if (!is_below_bound) tell_of_effort(ways);
  if (ways->info->hardly_helps && is_built_in(ways->options->profile))
    tell(ways, "calibrate", NULL, 0,
         "the added time is modelled by a profile that was not measured on this device");
}

rh_status rh_visit_ways(const rh_module *before, const rh_module *after,
                        const rh_settings *settings, const rh_remat_options *options,
                        const rh_remat_result *result_info, rh_way_fn visit, void *context,
                        rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_remat_options own_options = RH_REMAT_OPTIONS_INIT;
  rh_remat_result own_info = RH_REMAT_RESULT_INIT;
  rh_status status =
      sized_read(&own_options, sizeof own_options, options, "rh_remat_options", diags);
  if (status == RH_OK)
    status = sized_read(&own_info, sizeof own_info, result_info, "rh_remat_result", diags);
  status = call_close(call, status);
  bool is_missed = !own_info.is_met && own_options.limit_bytes != INT64_MAX;
  if (status != RH_OK || !is_missed) return status;
  Ways ways = {.before = before,
               .after = after,
               .settings = settings,
               .options = &own_options,
               .info = &own_info,
               .memory = RH_MEMORY_INIT,
               .after_memory = RH_MEMORY_INIT,
               .visit = visit,
               .context = context};
  status = find_facts(&ways, diags);
  if (status == RH_OK) tell_all(&ways);
  return status;
}
