/* The public function that schedules a module. */
#include "analysis/flow/copy_stage.h"
#include "remat/rewrite/dce.h"
#include "api/call.h"
#include "api/module.h"
#include "schedule/search/search.h"
#include "api/arguments.h"
#include "api/sized.h"
#include "remat/rewrite/flatten.h"
#include "remat/rewrite/fuse_chains.h"
#include "remat/rewrite/inline_calls.h"
#include "remat/rewrite/split.h"
#include "remat/rewrite/unfuse.h"
#include "remat/legality/safe_order.h"
#include "remat/legality/safe_reads.h"
#include "text/reparse.h"

/* The fusions that RH_UNFUSE_… names, and what several of them compute. */
static void split_wanted(Rewrite *rewrite, Schedule *schedule, unsigned kinds, Arena *arena,
                         Arena *scratch) {
  unfuse(rewrite, schedule, kinds, arena, scratch);
  if (kinds & RH_UNFUSE_SHARED) (void)split_shared(rewrite, schedule, arena, scratch);
}

/* Prepares an unscheduled module for scheduling, as XLA's pipeline does. `schedule` is the order of
 * the text if this order is to be kept, else NULL. */
static rh_status prepare(Rewrite *rewrite, Schedule *schedule, const rh_schedule_options *options,
                         rh_diags *diags, Arena *arena, Arena *scratch) {
  rh_status status = RH_OK;
  /* XLA inlines calls before it inserts copies. Calls that still exist after that must be kept. */
  bool inlines = options->inline_calls == RH_INLINE_ALWAYS ||
                 (options->inline_calls == RH_INLINE_AUTO && !copies_are_inserted(rewrite->module));
  if (inlines) {
    status = inline_calls(rewrite, schedule, diags, arena, scratch);
  }
  if (status != RH_OK) return status;
  dce_run(rewrite, scratch);
  if (schedule) dce_update_schedule(rewrite->module, schedule, arena);
  status = flatten_call_graph(rewrite, schedule, diags, scratch);
  if (status != RH_OK) return status;
  /* The copied computations need sequences. */
  if (schedule) dce_update_schedule(rewrite->module, schedule, arena);
  split_wanted(rewrite, schedule, options->unfuse, arena, scratch);
  bool is_open = !copies_are_inserted(rewrite->module) && !module_has_fusions(rewrite->module);
  if (options->fuse && is_open && !schedule) fuse_chains(rewrite, scratch);
  dce_run(rewrite, scratch);
  if (schedule) dce_update_schedule(rewrite->module, schedule, arena);
  return RH_OK;
}

static bool keeps_order(const Module *module, const rh_schedule_options *options) {
  return module->source->header.is_scheduled && !options->ignore_schedule;
}

/* Whether a scheduled module is to be changed before it is ordered. */
static bool asks_for_changes(const rh_schedule_options *options) {
  return options->inline_calls == RH_INLINE_ALWAYS || options->unfuse;
}

/* Whether a module is only ordered, and its instructions stay as they are. */
static bool is_prepared(const Module *module, const rh_schedule_options *options) {
  return keeps_order(module, options) && !asks_for_changes(options) &&
         !module->source->uses_compact_gte;
}

/* Prepares a scheduled module: only what the options ask for is changed. */
static rh_status prepare_scheduled(Rewrite *rewrite, Schedule *schedule,
                                   const rh_schedule_options *options, rh_diags *diags,
                                   Arena *arena, Arena *scratch) {
  if (!asks_for_changes(options)) return RH_OK;
  rh_status status = RH_OK;
  if (options->inline_calls == RH_INLINE_ALWAYS)
    status = inline_calls(rewrite, schedule, diags, arena, scratch);
  if (status != RH_OK) return status;
  split_wanted(rewrite, schedule, options->unfuse, arena, scratch);
  dce_run(rewrite, scratch);
  dce_update_schedule(rewrite->module, schedule, arena);
  return status;
}

/* Returns an order in which the module's copies are correct: its schedule if it is scheduled, else
 * the order of the text, if it is valid: it is one of the orders that the copies are made for.
 * Returns NULL if there is none, or if XLA has still to insert the copies. */
static const Schedule *order_of_its_own(const Module *module, Schedule *schedule, bool is_kept,
                                        Arena *scratch) {
  InstId bad;
  if (!copies_are_inserted(module)) return NULL;
  if (is_kept) return schedule;
  return schedule_is_valid(module, schedule, &bad, scratch) ? schedule : NULL;
}

/* XLA makes no copies that are too few. So where memory is read after it has been overwritten, the
 * copies may be yet to come, even if the module is scheduled. */
static void warn_of_known_reads(rh_module *module, bool is_stage_known, rh_diags *diags,
                                Arena *scratch) {
  if (!copies_are_inserted(module->module)) return;
  Arena *arena = arena_new(arena_options(scratch));
  KnownReads known = known_reads_find(module->module, &module->schedule, arena, scratch);
  known_reads_warn(&known, diags);
  if (known.len && !is_stage_known) module->module->backend.copies_are_guessed = true;
  arena_free(arena);
}

static rh_status schedule_module(const rh_module *module, rh_module *scheduled,
                                 const Scheduler *scheduler, const rh_schedule_options *options,
                                 rh_diags *diags, Arena *scratch) {
  bool is_kept = keeps_order(module->module, options);
  Schedule schedule = schedule_in_text_order(scheduled->module, scratch);
  Arena *arena = arena_new(arena_options(scratch));
  bool is_input = scheduler->run == schedule_input;
  bool is_inserted = copies_are_inserted(scheduled->module);
  rh_status status = RH_OK;
  if (!is_prepared(module->module, options)) {
    Rewrite rewrite = rewrite_begin(scheduled->module);
    status = is_kept ? prepare_scheduled(&rewrite, &schedule, options, diags, arena, scratch)
                     : prepare(&rewrite, is_input || is_inserted ? &schedule : NULL, options, diags,
                               arena, scratch);
    if (status == RH_OK) rewrite_write_out_elements(&rewrite, scratch);
  }
  if (status == RH_OK && is_input) {
    scheduled->schedule = schedule_copy(&schedule, scheduled->module, scheduled->arena);
  } else if (status == RH_OK) {
    const Schedule *own = order_of_its_own(scheduled->module, &schedule, is_kept, scratch);
    if (scheduler_searches(scheduler)) {
      schedule_by_search(scheduled->module, own, is_kept ? &schedule : NULL, &scheduled->schedule,
                         scheduled->arena, scratch);
    } else {
      schedule_safely(scheduler, scheduled->module, own, &scheduled->schedule, scheduled->arena,
                      scratch);
    }
  }
  arena_free(arena);
  return status;
}

/* Prints a module whose fusions are new and parses it, so that they are like those of a text. */
static rh_status read_fused(rh_module **result, rh_diags *diags, Arena *scratch) {
  rh_module *made = *result;
  Module *parsed = NULL;
  rh_status status =
      module_reparse(made->module, &made->schedule, PRINT_UNSCHEDULED, &parsed, diags, scratch);
  if (status != RH_OK) return status;
  *result = handle_new(parsed);
  (*result)->schedule = schedule_in_text_order(parsed, (*result)->arena);
  rh_module_free(made);
  return RH_OK;
}

static rh_status make_schedule(const rh_module *module, const rh_schedule_options *options,
                               rh_module **scheduled, rh_diags *diags) {
  const char *name = options->scheduler;
  if (strcmp(name, "auto") == 0) name = keeps_order(module->module, options) ? "input" : "default";
  const Scheduler *scheduler = scheduler_find(name);
  if (!scheduler) return fail_unknown_name(RH_SCHEDULERS, name, diags);
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;

  rh_module *result = handle_new(is_prepared(module->module, options)
                                     ? module_view(module->module, arena_options(module->arena))
                                     : module_copy(module->module));
  CopyFinding copies = copies_find(module->module);
  copies_decide(result->module, &copies);
  Arena *scratch = arena_new(arena_options(module->arena));
  status = schedule_module(module, result, scheduler, options, diags, scratch);
  if (status == RH_OK) warn_of_known_reads(result, copies.is_known, diags, scratch);
  bool is_fused =
      options->fuse && module_has_fusions(result->module) && !module_has_fusions(module->module);
  if (status == RH_OK && is_fused) status = read_fused(&result, diags, scratch);
  arena_free(scratch);
  if (status != RH_OK) {
    rh_module_free(result);
    return status;
  }
  result->has_schedule = result->is_rendered = true;
  *result->is_checked = true;
  result->scheduler = scheduler->name;
  result->preparation = *options;
  result->preparation.scheduler = scheduler->name;
  *scheduled = module_finish(result);
  return RH_OK;
}

rh_status rh_schedule(const rh_module *module, const rh_settings *settings,
                      const rh_schedule_options *given, rh_module **scheduled, rh_diags *diags) {
  *scheduled = NULL;
  CALL_OPEN(call, diags, RH_CODE_TOO_LARGE);
  call_warn_about(call, RH_CODE_OVERWRITTEN_READ);
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_module *result = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_schedule_options", diags);
  if (status == RH_OK) {
    status = check_choice((int)options.inline_calls, RH_INLINE_ALWAYS + 1, "inline_calls", diags);
  }
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_schedule(taken, &options, &result, diags);
  *scheduled = result;
  return call_close(call, status);
}

/* Of the i-th dimension from the minor-most one: its size, and how many dimensions of more than one
 * element come before it. */
typedef struct PlacedDim {
  int64_t size;
  uint32_t before;
} PlacedDim;

/* The next dimension of more than one element, from the minor-most one on. */
static PlacedDim next_dim(const Shape *shape, uint32_t *i) {
  PlacedDim placed = {1, 0};
  while (*i < shape->rank && placed.size == 1) {
    int64_t dim = shape_minor_dim(shape, (*i)++);
    placed.size = shape->dims[dim];
    placed.before = 0;
    for (int64_t k = 0; k < dim; k++)
      placed.before += shape->dims[k] != 1;
  }
  return placed;
}

/* Whether a bitcast between two arrays keeps the order of the elements: either both layouts are
 * those that dimensions have by themselves, or the two differ in dimensions of one element only. A
 * transpose has another layout than that before layouts are chosen. */
static bool keeps_elements(const Shape *to, const Shape *from) {
  if (!shape_is_array(to) || !shape_is_array(from) || to->type != from->type) return false;
  if (!to->minor_to_major && !from->minor_to_major) return true;
  PlacedDim a, b;
  uint32_t i = 0, k = 0;
  do {
    a = next_dim(to, &i);
    b = next_dim(from, &k);
    if (a.size != b.size || (a.size != 1 && a.before != b.before)) return false;
  } while (a.size != 1);
  return true;
}

/* Writes views of memory, which rewrites of fused modules make, as what StableHLO has for them. */
static void write_reshapes(Rewrite *rewrite, Schedule *order, Arena *scratch) {
  Module *module = rewrite->module;
  for (CompId comp = 0; comp < order->num_comps; comp++) {
    Sequence sequence = order->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      if (inst_get(module, id)->opcode != OPCODE_BITCAST) continue;
      InstId operand = inst_operand(module, id, 0);
      if (!keeps_elements(inst_shape(module, id), inst_shape(module, operand))) continue;
      InstSpec spec = {.opcode = OPCODE_RESHAPE,
                       .shape = inst_get(module, id)->shape,
                       .operands = &operand,
                       .num_operands = 1};
      InstId reshape = rewrite_add_helper(rewrite, comp, spec);
      rewrite_replace_all_uses(rewrite, id, reshape, scratch);
      module_remove_inst(module, id);
      sequence.ids[pos] = reshape;
    }
    module_sweep_comp(module, comp);
  }
}

static rh_status split_fusions(const rh_module *module, rh_module **split, rh_diags *diags) {
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;
  Module *copy = module_copy(module->module);
  Arena *scratch = arena_new(arena_options(module->arena));
  Rewrite rewrite = rewrite_begin(copy);
  Schedule order = schedule_in_text_order(copy, scratch);
  unfuse(&rewrite, &order, UNFUSE_ALL, scratch, scratch);
  dce_run(&rewrite, scratch);
  dce_update_schedule(copy, &order, scratch);
  write_reshapes(&rewrite, &order, scratch);
  rewrite_write_out_elements(&rewrite, scratch);
  Module *written = NULL;
  status = module_reparse(copy, &order, PRINT_UNSCHEDULED, &written, diags, scratch);
  if (status == RH_OK) *split = module_finish(handle_new(written));
  arena_free(scratch);
  module_free(copy);
  return status;
}

rh_status rh_split_fusions(const rh_module *module, const rh_settings *settings, rh_module **split,
                           rh_diags *diags) {
  *split = NULL;
  CALL_OPEN(call, diags, RH_CODE_TOO_LARGE);
  const rh_module *taken = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = split_fusions(taken, split, diags);
  return call_close(call, status);
}
