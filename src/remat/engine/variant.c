#include "remat/engine/variant.h"

#include <math.h>

#include "analysis/cost/link.h"
#include "analysis/flow/guess_target.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/mark_result.h"
#include "remat/rewrite/split.h"
#include "remat/legality/steering.h"
#include "remat/scan/copy_results.h"
#include "remat/scan/describe.h"
#include "remat/scan/open.h"
#include "remat/scan/segment.h"
#include "remat/scan/unroll.h"
#include "remat/verify/verify.h"
#include "text/reparse.h"

static const DeviceProfile *device_of(const Problem *problem, Arena *out) {
  if (problem->request->device) return problem->request->device;
  DeviceProfile *device = arena_alloc(out, sizeof *device);
  *device = device_profile_default();
  return device;
}

double variant_seconds(const Problem *problem, const rh_module *handle) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  const DeviceProfile *device = device_of(problem, arena);
  const Schedule *schedule = handle->has_schedule ? &handle->schedule : NULL;
  double seconds = link_total_seconds(handle->module, schedule, device, arena, problem->scratch);
  arena_free(arena);
  return seconds;
}

void variant_analyze(const Problem *problem, const rh_module *handle, ScanModule *scans,
                     Arena *out) {
  const rh_remat_options *options = problem->options;
  Module *module = handle->module;
  Arena *scratch = problem->scratch;
  Legality *legality = arena_alloc(out, sizeof *legality);
  *legality = legality_new(module, out, scratch);
  legality->allow_collectives =
      options->remat_collectives || (problem->plan && problem->plan->allow_collectives);
  legality->any_rounding = problem->parameters.fuse_any_rounding;
  /* The expressions have been checked, and warned of, when the problem was prepared. */
  (void)steering_find(module, options->pin, options->never, &legality->steering, NULL, out,
                      scratch);
  CostTable *costs = arena_alloc(out, sizeof *costs);
  *costs = cost_analyze(module, out, scratch);
  scan_analyze(scans, module, legality, costs, device_of(problem, out), 1, out, scratch);
}

/* ---- one round ---- */

/* A loop that is cut into segments. */
typedef struct Segments {
  const ScanValues *values;
  int64_t length;
} Segments;

typedef struct TripCounts {
  VEC(int64_t) list;
} TripCounts;

typedef struct Round {
  const Problem *problem;
  const VariantGoal *goal;
  const rh_module *input;
  int64_t number;
  const TripCounts *given; /* of the loops that the first round has seen */
  ScanModule scans;
  VEC(ScanBorder) borders;
  Segments segments; /* without values: none */
  IdVec unrolled;    /* loops that are written out, by index */
  ScanSteps *steps;
  Arena *out; /* of the steps */
  Arena *arena;
} Round;

/* Products are what takes time to compute, as checkpoint=speed sees it. */
static bool is_product(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_CONVOLUTION:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_DOT:
    case OPCODE_RAGGED_DOT:
    case OPCODE_SCALED_DOT: return true;
    default: return opcode_info((Opcode)inst->opcode)->flags & OPF_COLLECTIVE;
  }
}

/* The values that the algorithm's policy stores if they are needed. */
static bool *find_kept(const Round *round, uint32_t border) {
  const ScanValues *values = &round->scans.borders.data[border];
  const Module *module = round->input->module;
  const VariantGoal *goal = round->goal;
  bool *is_kept = arena_zarray(round->arena, bool, values->list.len);
  if (goal->is_kept && round->number == 0)
    memcpy(is_kept, goal->is_kept[border], values->list.len * sizeof *is_kept);
  bool keeps_products = goal->algorithm && strcmp(goal->algorithm->name, "checkpoint=speed") == 0;
  bool keeps_matches = goal->algorithm && goal->algorithm->traits & RH_TRAIT_NEEDS_COLLECTION;
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    if (value->kind != SCAN_COMPUTED || !value->may_store) continue;
    is_kept[i] |= keeps_products && inst_any_fused(module, value->inst, is_product);
    is_kept[i] |= keeps_matches &&
                  collection_has(&round->problem->collection, module, value->inst, round->arena);
  }
  return is_kept;
}

static const ScanStep *find_step(const Round *round, const ScanValues *values) {
  const ScanSteps *steps = &round->goal->plan->scans;
  Str name = inst_name(round->input->module, round->scans.loops.list[values->loop].id);
  for (uint32_t i = 0; i < steps->list.len; i++) {
    const ScanStep *step = &steps->list.data[i];
    if (step->round == round->number && str_equal(step->loop.name, name)) return step;
  }
  return NULL;
}

/* Whether an earlier round made the loop. */
static bool is_new_loop(const Round *round, const ScanValues *values) {
  InstId loop = values->stacks->loops->list[values->loop].id;
  return round->input->marks && round->input->marks[loop].kind != REMAT_KIND_NONE;
}

static rh_status choose(Round *round, uint32_t border, ScanChoice *choice) {
  const ScanValues *values = &round->scans.borders.data[border];
  Arena *scratch = round->problem->scratch;
  bool is_left_alone = round->goal->only_new && round->number > 0 && !is_new_loop(round, values);
  if (!round->goal->plan && is_left_alone) {
    *choice = scan_choose_nothing(values, round->arena);
    return RH_OK;
  }
  if (!round->goal->plan) {
    const bool *is_kept = find_kept(round, border);
    *choice = scan_choose(values, round->goal->price, is_kept, round->arena, scratch);
    return RH_OK;
  }
  const ScanStep *step = find_step(round, values);
  *choice = scan_choose_nothing(values, round->arena);
  if (!step) return RH_OK;
  PlanRef unknown;
  if (scan_repeat(&round->scans, values, step, choice, &unknown, round->arena, scratch))
    return RH_OK;
  Str loop = step->loop.name;
  if (unknown.name.len) {
    return diag_fail(round->problem->diags, RH_ERR_INPUT, DIAG_AT(unknown.offset),
                     "'%.*s' is no value that '%.*s' can store for other loops",
                     SHOWN(unknown.name), SHOWN(loop));
  }
  return diag_fail(round->problem->diags, RH_ERR_INPUT, DIAG_AT(unknown.offset),
                   "what '%.*s' is to store does not suffice to compute the rest", SHOWN(loop));
}

/* A plan's round is lean if one of its steps is. */
static bool is_lean(const Round *round) {
  const Plan *plan = round->goal->plan;
  bool found = !plan && round->goal->is_lean;
  for (uint32_t i = 0; plan && i < plan->scans.list.len; i++) {
    const ScanStep *step = &plan->scans.list.data[i];
    found |= step->round == round->number && step->is_lean;
  }
  return found;
}

/* Whether a loop is not to be cut (again): an earlier round made it. If results are cut, it is one
 * that has other iterations than all that were given. */
static bool is_cut_already(const Round *round, const ScanValues *values) {
  const Loop *loop = &values->stacks->loops->list[values->loop];
  if (!round->goal->cuts_results) return is_new_loop(round, values);
  bool is_given = false;
  for (uint32_t i = 0; i < round->given->list.len; i++)
    is_given |= round->given->list.data[i] == loop->trips;
  return round->number == 0 || !is_given;
}

/* The length of the segments into which the plan, or the goal, cuts a loop; 0 = it stays whole. */
static int64_t segment_of(const Round *round, const ScanValues *values) {
  const VariantGoal *goal = round->goal;
  if (goal->plan) {
    const ScanStep *step = find_step(round, values);
    return step ? step->segment : 0;
  }
  const Loop *loop = &values->stacks->loops->list[values->loop];
  int64_t num_cut = round->number - goal->cuts_results; /* each round cuts one */
  bool is_enough = goal->most_cut && num_cut >= goal->most_cut;
  bool is_other =
      goal->segment_border && values != &round->scans.borders.data[goal->segment_border - 1];
  if (goal->segment <= 0 || is_cut_already(round, values) || is_enough || is_other) return 0;
  if (!scan_can_segment(values)) return 0;
  int64_t trips = loop->trips;
  return scan_segment_length(values, goal->segment * sqrt((double)trips));
}

static rh_status check_segment(const Round *round, const ScanValues *values, int64_t length) {
  const Loop *loop = &values->stacks->loops->list[values->loop];
  bool fits = length > 1 && length < loop->trips && loop->trips % length == 0;
  if (fits && scan_can_segment(values)) return RH_OK;
  Str name = inst_name(round->input->module, loop->id);
  uint32_t offset = round->goal->plan ? find_step(round, values)->loop.offset : NO_OFFSET;
  return diag_fail(round->problem->diags, RH_ERR_INPUT, DIAG_AT(offset),
                   "'%.*s' cannot be cut into segments of %lld iterations", SHOWN(name),
                   (long long)length);
}

static rh_status add_segment(Round *round, const ScanValues *values, int64_t length) {
  rh_status status = check_segment(round, values, length);
  if (status != RH_OK) return status;
  round->segments = (Segments){values, length};
  ScanStep *step = vec_push(round->out, &round->steps->list);
  ScanChoice nothing = scan_choose_nothing(values, round->arena);
  *step = scan_record(&round->scans, values, &nothing, round->out, round->problem->scratch);
  step->stored = step->shifted = (PlanRefs){0};
  step->round = round->number;
  scan_describe_segments(&round->scans, values, length, step, round->out);
  step->is_lean = is_lean(round);
  return RH_OK;
}

/* The loops that the goal, or the plan, writes out. */
static rh_status find_unrolled(Round *round) {
  const Problem *problem = round->problem;
  const Loops *loops = &round->scans.loops;
  if (round->goal->unrolls && round->number == 0) {
    round->unrolled =
        scan_misaligned(&round->scans, problem->parameters.scan_unroll, round->arena, round->arena);
  }
  uint32_t num_steps = round->goal->plan ? round->goal->plan->scans.list.len : 0;
  for (uint32_t l = 0; l < loops->len; l++) {
    Str name = inst_name(round->input->module, loops->list[l].id);
    for (uint32_t i = 0; i < num_steps; i++) {
      const ScanStep *step = &round->goal->plan->scans.list.data[i];
      bool is_this = step->round == round->number && str_equal(step->loop.name, name);
      if (!is_this || !step->is_unrolled) continue;
      if (!scan_can_unroll(&round->scans, l, round->arena)) {
        return diag_fail(problem->diags, RH_ERR_INPUT, DIAG_AT(step->loop.offset),
                         "the iterations of '%.*s' cannot be written out", SHOWN(name));
      }
      *vec_push(round->arena, &round->unrolled) = l;
    }
  }
  for (uint32_t i = 0; i < round->unrolled.len; i++) {
    ScanStep *step = vec_push(round->out, &round->steps->list);
    *step =
        scan_record_unrolled(&round->scans, &round->unrolled, round->unrolled.data[i], round->out);
    step->round = round->number;
  }
  return RH_OK;
}

/* Decides about all borders. To cut a loop into segments, or to write loops out, takes a round of
 * its own. */
static rh_status decide(Round *round) {
  rh_status found = find_unrolled(round);
  if (found != RH_OK || round->unrolled.len) return found;
  Segments largest = {0};
  int64_t largest_bytes = 0;
  for (uint32_t i = 0; i < round->scans.borders.len; i++) {
    const ScanValues *values = &round->scans.borders.data[i];
    Segments segments = {values, segment_of(round, values)};
    if (segments.length == 0) continue;
    int64_t bytes = scan_cut_find(values).bytes;
    if (largest.values && bytes <= largest_bytes) continue;
    largest = segments;
    largest_bytes = bytes;
  }
  if (largest.values) return add_segment(round, largest.values, largest.length);
  for (uint32_t i = 0; i < round->scans.borders.len; i++) {
    const ScanValues *values = &round->scans.borders.data[i];
    ScanChoice *choice = arena_alloc(round->arena, sizeof *choice);
    rh_status status = choose(round, i, choice);
    if (status != RH_OK) return status;
    if (!scan_changes(values, choice)) continue;
    *vec_push(round->arena, &round->borders) = (ScanBorder){values, choice};
    ScanStep *step = vec_push(round->out, &round->steps->list);
    *step = scan_record(&round->scans, values, choice, round->out, round->problem->scratch);
    step->round = round->number;
    step->is_lean = is_lean(round);
  }
  return RH_OK;
}

/* Every step of the plan's round must have been found. */
static rh_status check_steps(const Round *round) {
  if (!round->goal->plan) return RH_OK;
  const ScanSteps *steps = &round->goal->plan->scans;
  for (uint32_t i = 0; i < steps->list.len; i++) {
    const ScanStep *step = &steps->list.data[i];
    bool is_found = step->round != round->number;
    for (uint32_t k = 0; step->is_unrolled && k < round->scans.loops.len; k++) {
      InstId loop = round->scans.loops.list[k].id;
      is_found |= str_equal(inst_name(round->input->module, loop), step->loop.name);
    }
    for (uint32_t k = 0; k < round->scans.borders.len; k++) {
      InstId loop = round->scans.loops.list[round->scans.borders.data[k].loop].id;
      is_found |= str_equal(inst_name(round->input->module, loop), step->loop.name);
    }
    if (is_found) continue;
    return diag_fail(round->problem->diags, RH_ERR_INPUT, DIAG_AT(step->loop.offset),
                     "'%.*s' is no loop that stores values for others", SHOWN(step->loop.name));
  }
  return RH_OK;
}

void variant_keep_marks(const rh_module *earlier, rh_module *result, Arena *scratch) {
  if (!earlier->marks) return;
  ArenaMark mark = arena_mark(scratch);
  IdTable table = {0};
  for (InstId id = 0; id < earlier->module->insts.len; id++) {
    if (earlier->marks[id].kind != REMAT_KIND_NONE)
      id_table_add(&table, scratch, hash_str(inst_name(earlier->module, id)), id);
  }
  RematMark *marks = arena_zarray(result->arena, RematMark, result->module->insts.len);
  for (InstId id = 0; id < result->module->insts.len; id++) {
    if (result->marks) marks[id] = result->marks[id];
    if (marks[id].kind != REMAT_KIND_NONE) continue;
    Str name = inst_name(result->module, id);
    uint32_t found;
    for (IdProbe probe = id_table_probe(&table, hash_str(name)); id_probe_next(&probe, &found);) {
      if (!str_equal(inst_name(earlier->module, found), name)) continue;
      bool is_kept = marks[id].is_kept;
      marks[id] = earlier->marks[found];
      marks[id].is_kept = is_kept;
      marks[id].original.data =
          arena_strndup(result->arena, marks[id].original.data, marks[id].original.len);
      result->num_rematerialized += marks[id].kind == REMAT_KIND_CLONE;
    }
  }
  result->marks = marks;
  arena_reset(scratch, mark);
}

/* Slices may be in other loops now, where what a compiler has noted of them is wrong. */
static rh_status drop_stale_notes(Module **parsed, PrintOrder order, rh_diags *diags,
                                  Arena *scratch) {
  if (!verify_drop_stale_notes(*parsed, scratch)) return RH_OK;
  Module *noted = *parsed;
  Schedule schedule = schedule_in_text_order(noted, scratch);
  *parsed = NULL;
  rh_status status = module_reparse(noted, &schedule, order, parsed, diags, scratch);
  module_free(noted);
  return status;
}

/* Prints what was rewritten of `input`, and parses that. */
static rh_status take(Rewrite *rewrite, const Schedule *schedule, const rh_module *input,
                      rh_diags *diags, rh_module **result, Arena *scratch) {
  Module *parsed = NULL;
  PrintOrder order =
      input->module->source->header.is_scheduled ? PRINT_SCHEDULED : PRINT_UNSCHEDULED;
  rh_status status = module_reparse(rewrite->module, schedule, order, &parsed, diags, scratch);
  if (status == RH_OK) status = drop_stale_notes(&parsed, order, diags, scratch);
  if (status != RH_OK) return status;
  rh_module *made = *result = handle_new(parsed);
  made->schedule = schedule_in_text_order(parsed, made->arena);
  made->has_schedule = true;
  made->scheduler = input->scheduler;
  made->preparation = input->preparation;
  made->requested_copies = input->requested_copies;
  if (handle_check(made, diags) != RH_OK)
    return fail_internally(diags, "the rewritten loops contradict themselves");
  return RH_OK;
}

/* Marks what was made, and what earlier rounds made. */
static void mark(Rewrite *rewrite, const rh_module *input, rh_module *made, Arena *scratch) {
  mark_result(rewrite, NULL, 0, made, scratch);
  variant_keep_marks(input, made, scratch);
}

static Rewrite begin_rewrite(const Problem *problem, const rh_module *input) {
  Rewrite rewrite = rewrite_begin(module_copy(input->module));
  rewrite.any_rounding = problem->parameters.fuse_any_rounding;
  rewrite.starts_kernels = guess_target(rewrite.module)->gpu_sharing;
  rewrite.drops_control = control_restates_order(rewrite.module);
  return rewrite;
}

static rh_status rewrite(Round *round, rh_module **result) {
  const rh_module *input = round->input;
  Arena *scratch = round->problem->scratch;
  Rewrite rewrite = begin_rewrite(round->problem, input);
  Schedule schedule = schedule_copy(&input->schedule, rewrite.module, round->arena);
  if (round->unrolled.len) {
    scan_unroll(&rewrite, &schedule, &round->scans.loops, &round->unrolled, round->arena, scratch);
  } else if (round->segments.values) {
    scan_segment(&rewrite, &schedule, round->segments.values, round->segments.length,
                 is_lean(round), round->arena, scratch);
  } else {
    scan_recompute(&rewrite, &schedule, round->borders.data, round->borders.len, is_lean(round),
                   round->arena, scratch);
  }
  scan_copy_results(&rewrite, &schedule, scratch);
  /* Inner loops may be beside each other now, and hide what they stack as others did before. */
  rh_status status = scan_open(&rewrite, &schedule, round->problem->diags, round->arena, scratch);
  rewrite_write_out_elements(&rewrite, scratch);
  if (status == RH_OK)
    status = take(&rewrite, &schedule, input, round->problem->diags, result, round->arena);
  if (status == RH_OK) mark(&rewrite, input, *result, round->arena);
  module_free(rewrite.module);
  return status;
}

/* ---- what hides loops ---- */

rh_status variant_open(const Problem *problem, rh_module **opened) {
  const rh_module *input = problem->input;
  *opened = NULL;
  if (!scan_is_closed(input->module, problem->scratch)) return RH_OK;
  Arena *arena = arena_new(arena_options(problem->scratch));
  Rewrite rewrite = begin_rewrite(problem, input);
  Schedule schedule = schedule_copy(&input->schedule, rewrite.module, arena);
  rh_status status = scan_open(&rewrite, &schedule, problem->diags, arena, problem->scratch);
  if (status == RH_OK) {
    rewrite_write_out_elements(&rewrite, problem->scratch);
    status = take(&rewrite, &schedule, input, problem->diags, opened, arena);
    if (status == RH_OK) mark(&rewrite, input, *opened, arena);
  }
  module_free(rewrite.module);
  arena_free(arena);
  return status;
}

/* ---- fusions ---- */

rh_status variant_split(const Problem *problem, rh_module **split) {
  const rh_module *input = problem->input;
  *split = NULL;
  if (input->preparation.unfuse & RH_UNFUSE_SHARED) return RH_OK;
  Arena *arena = arena_new(arena_options(problem->scratch));
  Rewrite rewrite = begin_rewrite(problem, input);
  Schedule schedule = schedule_copy(&input->schedule, rewrite.module, arena);
  rh_status status = RH_OK;
  if (split_shared(&rewrite, &schedule, arena, problem->scratch)) {
    dce_run(&rewrite, problem->scratch);
    dce_update_schedule(rewrite.module, &schedule, arena);
    rewrite_write_out_elements(&rewrite, problem->scratch);
    status = take(&rewrite, &schedule, input, problem->diags, split, arena);
  }
  if (*split) (*split)->preparation.unfuse |= RH_UNFUSE_SHARED;
  module_free(rewrite.module);
  arena_free(arena);
  return status;
}

/* ---- all rounds ---- */

/* Nothing that is computed again in one round is stacked in the next, so this is never reached
 * except by loops nested as deep. */
enum { MAX_ROUNDS = 16 };

/* A plan's rounds follow each other from 0 on. Otherwise some of its steps would silently be left
 * out. */
static rh_status count_rounds(const Problem *problem, const ScanSteps *steps, int64_t *num_rounds) {
  bool has_round[MAX_ROUNDS] = {false};
  *num_rounds = 0;
  for (uint32_t i = 0; i < steps->list.len; i++) {
    int64_t round = steps->list.data[i].round;
    if (round < MAX_ROUNDS) has_round[round] = true;
    if (round >= *num_rounds) *num_rounds = round + 1;
  }
  for (uint32_t i = 0; i < steps->list.len; i++) {
    const ScanStep *step = &steps->list.data[i];
    bool is_next = step->round < MAX_ROUNDS && (step->round == 0 || has_round[step->round - 1]);
    if (is_next) continue;
    return diag_fail(problem->diags, RH_ERR_INPUT, DIAG_AT(step->loop.offset),
                     "round %lld of this plan has no round before it, or is beyond %d",
                     (long long)step->round, MAX_ROUNDS - 1);
  }
  return RH_OK;
}

static rh_status fail_idle(const Problem *problem, int64_t number) {
  uint32_t offset = problem->plan->scans.list.data[0].loop.offset;
  return diag_fail(problem->diags, RH_ERR_INPUT, DIAG_AT(offset),
                   "round %lld of this plan changes no loop", (long long)number);
}

static void note_given(const Round *round, TripCounts *given, Arena *out) {
  for (uint32_t i = 0; round->number == 0 && i < round->scans.loops.len; i++)
    *vec_push(out, &given->list) = round->scans.loops.list[i].trips;
}

rh_status variant_make(const Problem *problem, const VariantGoal *goal, Variant *variant) {
  TripCounts given = {0};
  *variant = (Variant){.arena = arena_new(arena_options(problem->scratch))};
  rh_status status = RH_OK;
  int64_t max_rounds = goal->most_rounds ? goal->most_rounds : MAX_ROUNDS;
  if (goal->plan) status = count_rounds(problem, &goal->plan->scans, &max_rounds);
  for (int64_t number = 0; number < max_rounds && status == RH_OK; number++) {
    Round round = {.problem = problem,
                   .goal = goal,
                   .input = variant->module ? variant->module
                            : goal->opened  ? goal->opened
                                            : problem->input,
                   .number = number,
                   .given = &given,
                   .steps = &variant->steps,
                   .out = variant->arena,
                   .arena = arena_new(arena_options(problem->scratch))};
    variant_analyze(problem, round.input, &round.scans, round.arena);
    note_given(&round, &given, variant->arena);
    status = check_steps(&round);
    if (status == RH_OK) status = decide(&round);
    bool is_done = round.borders.len == 0 && !round.segments.values && !round.unrolled.len;
    rh_module *result = NULL;
    if (status == RH_OK && !is_done) status = rewrite(&round, &result);
    if (status == RH_OK && is_done && goal->plan) status = fail_idle(problem, number);
    arena_free(round.arena);
    if (result) {
      rh_module_free(variant->module);
      variant->module = result;
    }
    if (is_done) break;
  }
  return status;
}

void variant_free(Variant *variant) {
  rh_module_free(variant->module);
  if (variant->arena) arena_free(variant->arena);
  *variant = (Variant){0};
}
