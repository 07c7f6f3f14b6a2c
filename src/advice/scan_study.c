#include "advice/scan_study.h"

#include <math.h>

#include "advice/frames.h"
#include "emit/human.h"
#include "remat/scan/describe.h"

enum { LEAST_SHARE = 50 }; /* stacks are worth advice if they are one part of so many of the peak */

/* ---- a loop ---- */

static bool is_stack_of(const void *context, const LiveBuffer *buffer) {
  const Loop *loop = context;
  return buffer->inst == loop->id || buffer->inst == loop->init;
}

/* The body of a scan is the function that was called at the scan's line. */
static Str body_of(const ScanStudy *study, const ScanValues *values, InstId loop) {
  const Module *module = study->advisor->module;
  for (uint32_t i = 0; i < values->list.len; i++) {
    if (values->list.data[i].kind != SCAN_COMPUTED) continue;
    Str name = function_called_by(module, values->list.data[i].inst, loop);
    if (!name.len) continue;
    name = human_utf8(name, study->advisor->out);
    return (Str){arena_strndup(study->advisor->out, name.data, name.len), name.len};
  }
  return (Str){0};
}

/* Bytes of the stacks that are no longer needed if only the state is stored. */
static int64_t stacked_bytes(const ScanStudy *study, const ScanValues *values) {
  const Stacks *stacks = values->stacks;
  int64_t bytes = 0;
  for (uint32_t i = stacks->first_of[values->loop]; i < stacks->first_of[values->loop + 1]; i++)
    bytes += scan_stack_bytes(&study->scans, i);
  return bytes;
}

static ScanPlace place_of(ScanStudy *study, uint32_t border) {
  Advisor *advisor = study->advisor;
  const ScanValues *values = &study->scans.borders.data[border];
  const Loop *loop = &study->scans.loops.list[values->loop];
  SourcePlace place = advisor_place(advisor, scan_place_of_loop(&study->scans, values));
  ScanPlace found = {
      .values = values, .border = border, .place = place, .trips = loop->trips, .num_loops = 1};
  found.where = advisor_where(advisor, place);
  found.body = body_of(study, values, loop->id);
  int64_t live = advisor_live_bytes(advisor, is_stack_of, loop);
  int64_t all = stacked_bytes(study, values);
  found.live_bytes = live > 0 && live < all ? live : all;
  return found;
}

/* ---- scans ---- */

bool scan_is_same(const ScanPlace *a, const ScanPlace *b) {
  return a->place.line > 0 && a->place.line == b->place.line &&
         str_equal(a->place.file, b->place.file) && str_equal(a->body, b->body);
}

const char *scan_words(const ScanPlace *scan, Arena *out) {
  const char *words = arena_printf(out, "loop of %lld iterations", (long long)scan->trips);
  if (scan->num_loops == 1) return words;
  return arena_printf(out, "%s, one of %u from this line,", words, scan->num_loops);
}

/* A change of a scan is one of all loops that it has become. */
static void find_scans(ScanStudy *study) {
  uint32_t num_borders = study->scans.borders.len;
  ScanPlace *places = arena_array(study->arena, ScanPlace, num_borders);
  study->places = places;
  study->scan_of = arena_array(study->arena, uint32_t, num_borders);
  for (uint32_t b = 0; b < num_borders; b++) {
    places[b] = place_of(study, b);
    uint32_t first = 0;
    while (first < b &&
           !(study->scan_of[first] == first && scan_is_same(&places[first], &places[b])))
      first++;
    study->scan_of[b] = first;
    if (first == b) continue;
    places[first].num_loops++;
    places[first].live_bytes += places[b].live_bytes;
  }
}

/* ---- simulations ---- */

bool *const *scan_kept(const ScanStudy *study, uint32_t border) {
  uint32_t num_borders = study->scans.borders.len;
  bool **is_kept = arena_array(study->arena, bool *, num_borders);
  for (uint32_t b = 0; b < num_borders; b++) {
    const ScanValues *values = &study->scans.borders.data[b];
    is_kept[b] = arena_zarray(study->arena, bool, values->list.len);
    for (uint32_t v = 0; v < values->list.len; v++) {
      const ScanValue *value = &values->list.data[v];
      bool is_of_scan = study->scan_of[b] == study->scan_of[border];
      is_kept[b][v] = is_of_scan ? value->kind == SCAN_STATE : value->stack != NO_ID;
    }
  }
  return is_kept;
}

/* Puts what a computation computes again, and what that is computed from, before the rest: a
 * checkpoint begins with all of it. */
static void begin_with_clones(rh_module *made, CompId comp, Arena *scratch) {
  const Module *module = made->module;
  Sequence old = made->schedule.of[comp];
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_first = arena_zarray(arena, bool, module->insts.len);
  uint32_t num_clones = 0;
  for (SchedPos pos = old.len; pos-- > 0;) {
    InstId id = old.ids[pos];
    uint8_t kind = made->marks ? made->marks[id].kind : REMAT_KIND_NONE;
    bool is_clone = kind == REMAT_KIND_CLONE || kind == REMAT_KIND_MOVED;
    num_clones += is_clone;
    is_first[id] |= is_clone;
    for (uint32_t i = 0; is_first[id] && i < inst_get(module, id)->num_operands; i++)
      is_first[inst_operand(module, id, i)] = true;
  }
  if (num_clones) {
    Sequence sequence = {.ids = arena_array(made->arena, InstId, old.len)};
    for (int pass = 0; pass < 2; pass++) {
      for (SchedPos pos = 0; pos < old.len; pos++) {
        if (is_first[old.ids[pos]] == (pass == 0)) sequence.ids[sequence.len++] = old.ids[pos];
      }
    }
    made->schedule.of[comp] = sequence;
  }
  arena_free(arena);
}

static bool has_clones(const rh_module *made, CompId comp) {
  Sequence sequence = made->schedule.of[comp];
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    uint8_t kind = made->marks ? made->marks[sequence.ids[pos]].kind : REMAT_KIND_NONE;
    if (kind == REMAT_KIND_CLONE || kind == REMAT_KIND_MOVED) return true;
  }
  return false;
}

/* By CompId: the bodies of loops that compute something again, and the computations that these
 * loops are in, where new stacks begin. */
static bool *find_changed(const rh_module *made, Arena *out) {
  const Module *module = made->module;
  bool *is_changed = arena_zarray(out, bool, module->comps.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode != OPCODE_WHILE || inst->flags & INST_DEAD) continue;
    CompId body = inst_callees(module, id)[0];
    if (!has_clones(made, body)) continue;
    is_changed[body] = is_changed[inst->parent] = true;
  }
  return is_changed;
}

/* Orders what has changed: as the scheduler of the module does, which may begin new stacks long
 * before their loop, or, where it is not known, with what is computed again first. */
static void order_changed(const Advisor *advisor, rh_module *made) {
  const Module *module = made->module;
  const AdviceRequest *request = advisor->request;
  const Scheduler *scheduler = request->is_behind_barriers ? NULL : request->scheduler;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  const bool *is_changed = find_changed(made, arena);
  Schedule anew = {0};
  if (scheduler) {
    ScheduleContext context = schedule_context_build(module, arena, advisor->scratch);
    scheduler->run(&context, &anew, arena, advisor->scratch);
  }
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!is_changed[comp]) continue;
    if (scheduler) {
      Sequence *own = &made->schedule.of[comp];
      memcpy(own->ids, anew.of[comp].ids, own->len * sizeof *own->ids);
    } else if (has_clones(made, comp)) {
      begin_with_clones(made, comp, advisor->scratch);
    }
  }
  arena_free(arena);
}

rh_module *scan_simulate(ScanStudy *study, const VariantGoal *goal) {
  Variant variant;
  rh_status status = variant_make(&study->problem, goal, &variant);
  if (status != RH_OK) study->status = status;
  rh_module *made = status == RH_OK ? variant.module : NULL;
  if (made) variant.module = NULL;
  if (made) order_changed(study->advisor, made);
  variant_free(&variant);
  return made;
}

int64_t scan_stored_bytes(const ScanStudy *study, InstId loop) {
  for (uint32_t i = 0; i < study->scans.borders.len; i++) {
    const ScanValues *values = &study->scans.borders.data[i];
    if (study->scans.loops.list[values->loop].id != loop) continue;
    bool *const *is_kept = scan_kept(study, i);
    ScanChoice choice =
        scan_choose(values, INFINITY, is_kept[i], study->arena, study->advisor->scratch);
    ScanStep step = {0};
    scan_describe(&study->scans, values, &choice, &step, study->arena);
    return step.stored_bytes;
  }
  return -1;
}

rh_remedy scan_remedy(const ScanPlace *scan, const char *kind) {
  rh_remedy remedy = {.kind = kind,
                      .confidence = "high",
                      .function = text_of_str(scan->body),
                      .num_instances = scan->trips,
                      .bytes_at_peak = scan->live_bytes};
  advisor_set_place(&remedy, scan->place);
  return remedy;
}

void scan_study_open(ScanStudy *study, Advisor *advisor) {
  *study = (ScanStudy){.advisor = advisor,
                       .options = RH_REMAT_OPTIONS_INIT,
                       .arena = arena_new(arena_options(advisor->scratch))};
  study->options.remat_collectives = true; /* a checkpoint repeats them, too */
  study->request = (RematRequest){.module = advisor->input,
                                  .options = &study->options,
                                  .algorithm = remat_algorithm_find("none"),
                                  .memory_model = memory_model_find("heap"),
                                  .device = advisor->request->device};
  patience_begin(&study->patience, &study->options, 0);
  study->status = problem_prepare(&study->problem, &study->findings, &study->request,
                                  &study->patience, advisor->diags);
  study->problem.parameters.fuse_any_rounding = true; /* the compiler fuses anew in any case */
  if (study->status == RH_OK && !advisor->is_sketch)
    variant_analyze(&study->problem, advisor->input, &study->scans, study->arena);
  find_scans(study);
}

void scan_study_free(ScanStudy *study) {
  Advisor *advisor = study->advisor;
  if (study->status != RH_OK && advisor->status == RH_OK) advisor->status = study->status;
  problem_free(&study->problem);
  arena_free(study->arena);
}

void scan_study_visit(ScanStudy *study, ScanFn visit) {
  int64_t least_bytes = study->advisor->before.counted_bytes / LEAST_SHARE;
  for (uint32_t i = 0; i < study->scans.borders.len && study->status == RH_OK; i++) {
    if (study->scan_of[i] == i && study->places[i].live_bytes >= least_bytes)
      visit(study, &study->places[i]);
  }
}
