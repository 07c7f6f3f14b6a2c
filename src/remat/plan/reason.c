/* Determines why each step is in a plan. */
#include "remat/plan/capture.h"
#include "analysis/memory/tracker.h"

typedef struct Reasons {
  const CaptureSource *source;
  const Module *before, *after;
  uint32_t num_old;
  SchedPos *old_places; /* by InstId: positions in the order before */
  SchedPos *new_places; /* by InstId: positions in the order after */
  InstId *at_peak; /* by CompId: the instruction that runs at the peak, NO_ID = the computation does
                      not run then */
  Plan *plan;
  Arena *arena, *scratch;
} Reasons;

static bool is_gone(const Reasons *reasons, InstId id) {
  return (inst_get(reasons->after, id)->flags & INST_DEAD) != 0;
}

static SchedPos *places_of(const Schedule *schedule, uint32_t num_insts, Arena *out) {
  SchedPos *places = arena_array(out, SchedPos, num_insts);
  memset(places, 0xff, num_insts * sizeof *places);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      places[schedule->of[comp].ids[pos]] = pos;
  }
  return places;
}

static void find_peak(Reasons *reasons) {
  reasons->at_peak = arena_array(reasons->arena, InstId, reasons->before->comps.len);
  memset(reasons->at_peak, 0xff, reasons->before->comps.len * sizeof(InstId));
  const CallMemory *memory = reasons->source->memory;
  for (InstId id = memory->peak_inst; id != NO_ID;) {
    CompId comp = inst_get(reasons->before, id)->parent;
    reasons->at_peak[comp] = id;
    id = memory->caller[comp];
  }
}

static void explain_clones(const Reasons *reasons) {
  for (uint32_t i = 0; i < reasons->plan->clones.len; i++) {
    PlanClone *clone = &reasons->plan->clones.data[i];
    for (uint32_t k = 0; k < clone->callers.len; k++) {
      int64_t bytes = reasons->source->memory->bytes_at[clone->callers.data[k].instruction.id];
      if (bytes > clone->peak_bytes) clone->peak_bytes = bytes;
    }
  }
}

/* Returns whether a value is live at a position: it is made there or before, and read there or
 * later. Looks through bitcasts and get-tuple-elements. */
static bool is_held(const Reasons *reasons, const Module *module, const SchedPos *places, InstId id,
                    SchedPos at) {
  if (places[id] == NO_ID || places[id] > at) return false;
  ArenaMark mark = arena_mark(reasons->scratch);
  VEC(InstId) work = {0};
  *vec_push(reasons->scratch, &work) = id;
  bool is_read = inst_is_root(module, id);
  while (!is_read && work.len) {
    InstId value = work.data[--work.len];
    for (uint32_t i = 0; !is_read && i < inst_get(module, value)->users.len; i++) {
      InstId user = inst_users(module, value)[i];
      is_read = places[user] != NO_ID && places[user] >= at;
      if (inst_is_pass_through(module, user)) *vec_push(reasons->scratch, &work) = user;
    }
  }
  arena_reset(reasons->scratch, mark);
  return is_read;
}

static int64_t bytes_of(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  int64_t bytes = 0;
  if (!shape_is_tuple(shape)) return target_device_bytes(module->backend.target, shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    const Shape *element = shape_get(&module->shapes, shape->elements[i]);
    int64_t more =
        shape_is_array(element) ? target_device_bytes(module->backend.target, element) : 0;
    bytes += more > 0 && bytes < INT64_MAX - more ? more : 0;
  }
  return bytes;
}

/* Returns the bytes that a step frees at the peak. Of all instructions that have the same value,
 * only the first one after the peak counts. */
static int64_t freed_by(const Reasons *reasons, const PlanStep *step, int64_t *held_bytes) {
  InstId base = step->instruction.id, peak = reasons->at_peak[step->computation.id];
  if (peak == NO_ID || is_gone(reasons, peak) || *held_bytes < 0) return 0;
  SchedPos at = reasons->new_places[peak];
  bool is_early = reasons->new_places[step->made.id] <= at;
  bool is_smaller = step->action == PLAN_COMPRESS || step->action == PLAN_NARROW;
  if (is_early && !is_smaller && step->action != PLAN_LEAVE) return 0;
  if (!is_held(reasons, reasons->before, reasons->old_places, base, reasons->old_places[peak]))
    return 0;
  if (!is_gone(reasons, base) && is_held(reasons, reasons->after, reasons->new_places, base, at))
    return 0;
  int64_t freed = bytes_of(reasons->before, base) - *held_bytes;
  if (is_early && is_smaller) freed -= bytes_of(reasons->after, step->made.id);
  *held_bytes = -1;
  return freed > 0 ? freed : 0;
}

/* Returns whether only the instructions of other steps use the instruction of a step. */
static bool is_link(const Reasons *reasons, const PlanStep *step) {
  for (uint32_t i = 0; i < step->users.len; i++) {
    if (step->users.data[i].ref.id < reasons->num_old) return false;
  }
  return true;
}

static void explain(Reasons *reasons) {
  reasons->old_places =
      places_of(reasons->source->before_schedule, reasons->before->insts.len, reasons->arena);
  reasons->new_places =
      places_of(reasons->source->schedule, reasons->after->insts.len, reasons->arena);
  find_peak(reasons);
  explain_clones(reasons);
  /* By InstId: bytes of clones that are live at the peak; -1 = no further step counts as freeing
   * it. */
  int64_t *held_bytes = arena_zarray(reasons->arena, int64_t, reasons->num_old);
  for (uint32_t i = 0; i < reasons->plan->steps.len; i++) {
    const PlanStep *step = &reasons->plan->steps.data[i];
    InstId peak = reasons->at_peak[step->computation.id];
    if (!plan_is_clone(step->action) || peak == NO_ID || is_gone(reasons, peak)) continue;
    if (is_held(reasons, reasons->after, reasons->new_places, step->made.id,
                reasons->new_places[peak])) {
      held_bytes[step->instruction.id] = -1;
    }
  }
  for (uint32_t i = 0; i < reasons->plan->steps.len; i++) {
    PlanStep *step = &reasons->plan->steps.data[i];
    switch (step->action) {
      case PLAN_UNCOMPRESS:
      case PLAN_WIDEN:
      case PLAN_ENTER:
      case PLAN_BACK: step->reason = "use"; break;
      case PLAN_ELEMENT:
      case PLAN_READ:
      case PLAN_BITCAST: step->reason = "helper"; break;
      default:
        step->freed_bytes = freed_by(reasons, step, &held_bytes[step->instruction.id]);
        step->reason = step->freed_bytes           ? "peak"
                       : step->action == PLAN_MOVE ? "later"
                       : is_link(reasons, step)    ? "link"
                                                   : "memory";
    }
  }
}

void plan_explain(Plan *plan, const CaptureSource *source, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Reasons reasons = {.source = source,
                     .before = source->before,
                     .after = source->rewrite->module,
                     .num_old = source->before->insts.len,
                     .plan = plan,
                     .arena = arena,
                     .scratch = scratch};
  explain(&reasons);
  arena_free(arena);
}
