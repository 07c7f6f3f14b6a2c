#include "remat/plan_capture.h"

#include <stdlib.h>

#include "analysis/call_graph.h"
#include "remat/same_value.h"
#include "remat/tracker.h"

/* Somebody reads an operand of `user`, as it stands in the module before, from a step. */
typedef struct Use {
  uint32_t step;
  InstId user;
  uint32_t operand;
} Use;

typedef struct Capture {
  const CaptureSource *source;
  const Module *before, *after;
  uint32_t num_old;
  uint32_t *step_of; /* by InstId of the module after: NO_ID = none */
  uint32_t
      *element_of; /* likewise, of what was a tuple: the step that takes the one element left */
  SchedPos *old_places; /* by InstId, in the order before */
  SchedPos *new_places; /* by InstId, in the order after */
  InstId *at_peak;      /* by CompId, NO_ID = does not run then */
  VEC(Use) uses;
  Plan *plan;
  Arena *out, *arena, *scratch;
} Capture;

/* ---- what instructions were ---- */

/* What a clone or copy goes back to: of the module before, or else a helper. */
static InstId base_of(const Capture *capture, InstId id) {
  for (InstId original; (original = rewrite_stands_for(capture->source->rewrite, id)) != NO_ID;)
    id = original;
  return id;
}

static uint32_t num_results(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return shape_is_tuple(shape) ? shape->rank : 1;
}

/* A fusion that has lost results keeps what its computation goes back to: where element `index` of
 * the tuple that is left was before. */
static uint32_t old_result(const Capture *capture, InstId id, uint32_t index) {
  const Module *before = capture->before, *after = capture->after;
  InstId base = base_of(capture, id);
  uint32_t all = num_results(before, base), left = num_results(after, id);
  if (all == left || inst_get(after, id)->opcode != OPCODE_FUSION) return index;
  InstId old_root = comp_get(before, inst_callees(before, base)[0])->root;
  InstId root = comp_get(after, inst_callees(after, id)[0])->root;
  uint32_t next = 0;
  for (uint32_t i = 0; i < left; i++, next++) {
    InstId result =
        left == 1 && !shape_is_tuple(inst_shape(after, id)) ? root : inst_operand(after, root, i);
    while (next < all && inst_get(before, inst_operand(before, old_root, next))->origin !=
                             inst_get(after, result)->origin) {
      next++;
    }
    if (i == index) break;
  }
  return next;
}

static bool has_become_element(const Capture *capture, InstId id) {
  InstId base = base_of(capture, id);
  return base < capture->num_old && shape_is_tuple(inst_shape(capture->before, base)) &&
         !shape_is_tuple(inst_shape(capture->after, id));
}

/* The same for the operands, whose parameters tell. */
static uint32_t old_operand(const Capture *capture, InstId id, uint32_t index) {
  const Module *before = capture->before, *after = capture->after;
  InstId base = base_of(capture, id);
  uint32_t all = inst_get(before, base)->num_operands;
  if (all == inst_get(after, id)->num_operands || inst_get(after, id)->opcode != OPCODE_FUSION)
    return index;
  IdList params = comp_get(after, inst_callees(after, id)[0])->params;
  IdList old_params = comp_get(before, inst_callees(before, base)[0])->params;
  InstId origin = inst_get(after, id_list(after, params)[index])->origin;
  for (uint32_t i = 0; i < old_params.len; i++) {
    if (inst_get(before, id_list(before, old_params)[i])->origin == origin) return i;
  }
  return index;
}

/* ---- steps ---- */

static PlanRef ref_to(uint32_t id) {
  return (PlanRef){.offset = NO_OFFSET, .id = id};
}

static PlanAction action_of(const Capture *capture, InstId id, InstId base, bool *is_replaced) {
  const Module *after = capture->after;
  if (base >= capture->num_old) {
    return inst_get(after, id)->opcode == OPCODE_BITCAST ? PLAN_BITCAST : PLAN_ELEMENT;
  }
  if (rewrite_original(capture->source->rewrite, id) == NO_ID) {
    bool is_back = inst_get(after, id)->shape == inst_get(capture->before, base)->shape;
    return is_back ? PLAN_UNCOMPRESS : PLAN_COMPRESS;
  }
  if (!(inst_get(after, base)->flags & INST_DEAD) || is_replaced[base]) return PLAN_RECOMPUTE;
  is_replaced[base] = true;
  return PLAN_MOVE;
}

static PlanStep *add_step(Capture *capture, CompId comp, PlanAction action) {
  PlanStep *step = vec_push(capture->out, &capture->plan->steps);
  *step = (PlanStep){.action = action,
                     .offset = NO_OFFSET,
                     .number = -1,
                     .computation = ref_to(comp),
                     .instruction = ref_to(NO_ID),
                     .made = ref_to(NO_ID),
                     .operand = ref_to(NO_ID),
                     .before = ref_to(NO_ID),
                     .channel = -1};
  return step;
}

static void add_control(Capture *capture, InstId id, PlanStep *step) {
  IdList control = inst_control(capture->after, id)->predecessors;
  for (uint32_t i = 0; i < control.len; i++) {
    *vec_push(capture->out, &step->control.list) = ref_to(id_list(capture->after, control)[i]);
  }
}

/* What is made, in the order in which it runs; behind what has become an element of itself the step
 * that takes it. */
static void add_made(Capture *capture, InstId id, InstId before, bool *is_replaced) {
  const Module *after = capture->after;
  CompId comp = inst_get(after, id)->parent;
  InstId base = base_of(capture, id);
  PlanStep *step = add_step(capture, comp, action_of(capture, id, base, is_replaced));
  step->number = id;
  step->instruction = ref_to(base < capture->num_old ? base : NO_ID);
  step->made = ref_to(id);
  step->before = ref_to(before);
  if (inst_get(after, id)->flags & INST_HAS_CHANNEL) step->channel = inst_get(after, id)->index;
  add_control(capture, id, step);
  capture->step_of[id] = capture->plan->steps.len - 1;
  if (!has_become_element(capture, id)) return;
  PlanStep *element = add_step(capture, comp, PLAN_ELEMENT);
  element->number = id;
  element->operand = ref_to(id);
  element->before = ref_to(before);
  element->index = old_result(capture, id, 0);
  capture->element_of[id] = capture->plan->steps.len - 1;
}

static void add_steps(Capture *capture) {
  const Schedule *schedule = capture->source->schedule;
  bool *is_replaced = arena_zarray(capture->arena, bool, capture->num_old);
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    if (capture->source->before_schedule->of[comp].len == 0) continue;
    Sequence sequence = schedule->of[comp];
    InstId *next_old = arena_array(capture->arena, InstId, (size_t)sequence.len + 1);
    next_old[sequence.len] = NO_ID;
    for (uint32_t i = sequence.len; i-- > 0;)
      next_old[i] = sequence.ids[i] < capture->num_old ? sequence.ids[i] : next_old[i + 1];
    for (uint32_t i = 0; i < sequence.len; i++) {
      if (sequence.ids[i] >= capture->num_old)
        add_made(capture, sequence.ids[i], next_old[i], is_replaced);
    }
  }
}

/* ---- readers ---- */

/* Whatever may be read from a step; NO_ID when it is of the module before. */
static uint32_t step_read(const Capture *capture, InstId operand) {
  if (operand < capture->num_old) return NO_ID;
  if (capture->element_of[operand] != NO_ID) return capture->element_of[operand];
  return capture->step_of[operand];
}

static void read_helper(Capture *capture, InstId id, PlanStep *step) {
  InstId operand = inst_operand(capture->after, id, 0);
  if (step->action == PLAN_ELEMENT) {
    step->index = old_result(capture, operand, (uint32_t)inst_get(capture->after, id)->index);
  }
  step->operand = ref_to(operand);
}

static void read_operands(Capture *capture, InstId id) {
  const Module *after = capture->after;
  if (id >= capture->num_old) {
    PlanStep *step = &capture->plan->steps.data[capture->step_of[id]];
    if (step->action != PLAN_RECOMPUTE && step->action != PLAN_MOVE) {
      read_helper(capture, id, step);
      return;
    }
  }
  for (uint32_t k = 0; k < inst_get(after, id)->num_operands; k++) {
    uint32_t step = step_read(capture, inst_operand(after, id, k));
    if (step == NO_ID) continue;
    *vec_push(capture->arena, &capture->uses) = (Use){step, id, old_operand(capture, id, k)};
  }
}

static int by_step_and_place(const void *pa, const void *pb) {
  const Use *a = pa, *b = pb;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  if (a->user != b->user) return a->user < b->user ? -1 : 1;
  return (a->operand > b->operand) - (a->operand < b->operand);
}

/* Uses of one step by one user; all of its uses of the value need no telling one by one. */
static void add_user(Capture *capture, const Use *uses, uint32_t len) {
  const Module *before = capture->before;
  InstId base = base_of(capture, uses[0].user);
  InstId value = inst_operand(before, base, uses[0].operand);
  uint32_t num_same = 0;
  for (uint32_t k = 0; k < inst_get(before, base)->num_operands; k++)
    num_same += same_value_is(before, NULL, inst_operand(before, base, k), value, capture->scratch);
  PlanUser user = {.ref = ref_to(uses[0].user)};
  if (num_same != len) {
    user.num_operands = len;
    user.operands = arena_array(capture->out, uint32_t, len);
    for (uint32_t i = 0; i < len; i++)
      user.operands[i] = uses[i].operand;
  }
  PlanStep *step = &capture->plan->steps.data[uses[0].step];
  *vec_push(capture->out, &step->users) = user;
  /* A fusion can have one result twice: what was read tells which. */
  const Instruction *read = inst_get(before, value);
  bool is_taken = step->action == PLAN_ELEMENT && read->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                  inst_operand(before, value, 0) == base_of(capture, step->operand.id);
  if (is_taken) step->index = read->index;
}

/* An instruction of the module before with the shape that a bitcast gives. */
static InstId like(const Capture *capture, InstId bitcast) {
  Sequence sequence =
      capture->source->before_schedule->of[inst_get(capture->after, bitcast)->parent];
  ShapeId shape = inst_get(capture->after, bitcast)->shape;
  for (uint32_t i = 0; i < sequence.len; i++) {
    if (inst_get(capture->before, sequence.ids[i])->shape == shape) return sequence.ids[i];
  }
  return NO_ID;
}

static void add_readers(Capture *capture) {
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    if (capture->source->before_schedule->of[comp].len == 0) continue;
    Sequence sequence = capture->source->schedule->of[comp];
    for (uint32_t i = 0; i < sequence.len; i++)
      read_operands(capture, sequence.ids[i]);
  }
  uint32_t len = capture->uses.len;
  Use *uses = capture->uses.data;
  if (len) qsort(uses, len, sizeof *uses, by_step_and_place);
  for (uint32_t i = 0, end; i < len; i = end) {
    for (end = i + 1;
         end < len && uses[end].step == uses[i].step && uses[end].user == uses[i].user;)
      end++;
    add_user(capture, &uses[i], end - i);
  }
  for (uint32_t i = 0; i < capture->plan->steps.len; i++) {
    PlanStep *step = &capture->plan->steps.data[i];
    if (step->action == PLAN_BITCAST) step->instruction = ref_to(like(capture, step->made.id));
  }
}

/* ---- what is left of the module before ---- */

static bool is_gone(const Capture *capture, InstId id) {
  return (inst_get(capture->after, id)->flags & INST_DEAD) != 0;
}

static void compare_control(Capture *capture, InstId id) {
  IdList old = inst_control(capture->before, id)->predecessors;
  IdList new = inst_control(capture->after, id)->predecessors;
  uint32_t same = 0;
  for (uint32_t i = 0; i < old.len; i++) {
    InstId predecessor = id_list(capture->before, old)[i];
    if (is_gone(capture, predecessor)) continue;
    if (same < new.len && id_list(capture->after, new)[same] == predecessor) same++;
  }
  if (same == new.len) return;
  PlanControl *control = vec_push(capture->out, &capture->plan->control);
  *control = (PlanControl){.computation = ref_to(inst_get(capture->before, id)->parent),
                           .instruction = ref_to(id)};
  for (uint32_t i = 0; i < new.len; i++) {
    *vec_push(capture->out, &control->predecessors.list) = ref_to(id_list(capture->after, new)[i]);
  }
}

static void compare_order(Capture *capture, CompId comp) {
  Sequence old = capture->source->before_schedule->of[comp],
           new = capture->source->schedule->of[comp];
  PlanOrder order = {.computation = ref_to(comp)};
  uint32_t next = 0;
  bool is_same = true;
  for (uint32_t i = 0; i < new.len; i++) {
    if (new.ids[i] >= capture->num_old) continue;
    *vec_push(capture->out, &order.instructions.list) = ref_to(new.ids[i]);
    while (next < old.len && is_gone(capture, old.ids[next]))
      next++;
    is_same &= next < old.len && old.ids[next++] == new.ids[i];
  }
  if (!is_same) *vec_push(capture->out, &capture->plan->orders) = order;
}

static void compare(Capture *capture) {
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    Sequence old = capture->source->before_schedule->of[comp];
    if (old.len == 0 || comp_get(capture->after, comp)->flags & COMP_DEAD) continue;
    for (uint32_t i = 0; i < old.len; i++) {
      if (!is_gone(capture, old.ids[i])) compare_control(capture, old.ids[i]);
    }
    compare_order(capture, comp);
  }
}

/* ---- why ---- */

static SchedPos *places_of(const Schedule *schedule, uint32_t num_insts, Arena *out) {
  SchedPos *places = arena_array(out, SchedPos, num_insts);
  memset(places, 0xff, num_insts * sizeof *places);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      places[schedule->of[comp].ids[pos]] = pos;
  }
  return places;
}

static void find_peak(Capture *capture) {
  CallGraph graph = call_graph_build(capture->before, capture->arena, capture->scratch);
  capture->at_peak = arena_array(capture->arena, InstId, capture->before->comps.len);
  memset(capture->at_peak, 0xff, capture->before->comps.len * sizeof(InstId));
  for (InstId id = capture->source->peak_inst; id != NO_ID;) {
    CompId comp = inst_get(capture->before, id)->parent;
    capture->at_peak[comp] = id;
    uint32_t first = graph.first_caller[comp];
    id = graph.first_caller[comp + 1] > first ? graph.callers[first] : NO_ID;
  }
}

/* Whether a value is held at a place: made before or there, and read there or later, looking
 * through bitcasts and get-tuple-elements. */
static bool is_held(const Capture *capture, const Module *module, const SchedPos *places, InstId id,
                    SchedPos at) {
  if (places[id] == NO_ID || places[id] > at) return false;
  ArenaMark mark = arena_mark(capture->scratch);
  VEC(InstId) work = {0};
  *vec_push(capture->scratch, &work) = id;
  bool is_read = inst_is_root(module, id);
  while (!is_read && work.len) {
    InstId value = work.data[--work.len];
    for (uint32_t i = 0; !is_read && i < inst_get(module, value)->users.len; i++) {
      InstId user = inst_users(module, value)[i];
      is_read = places[user] != NO_ID && places[user] >= at;
      if (inst_is_pass_through(module, user)) *vec_push(capture->scratch, &work) = user;
    }
  }
  arena_reset(capture->scratch, mark);
  return is_read;
}

static int64_t bytes_of(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  int64_t bytes = 0;
  if (!shape_is_tuple(shape)) return target_bytes(module->backend.target, shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    const Shape *element = shape_get(&module->shapes, shape->elements[i]);
    int64_t more = shape_is_array(element) ? target_bytes(module->backend.target, element) : 0;
    bytes += more > 0 && bytes < INT64_MAX - more ? more : 0;
  }
  return bytes;
}

/* Of the instructions that stand for one value the first behind the peak gets the credit. */
static int64_t freed_by(const Capture *capture, const PlanStep *step, int64_t *held_bytes) {
  InstId base = step->instruction.id, peak = capture->at_peak[step->computation.id];
  if (peak == NO_ID || is_gone(capture, peak) || *held_bytes < 0) return 0;
  SchedPos at = capture->new_places[peak];
  bool is_early = capture->new_places[step->made.id] <= at;
  if (is_early && step->action != PLAN_COMPRESS) return 0;
  if (!is_held(capture, capture->before, capture->old_places, base, capture->old_places[peak]))
    return 0;
  if (!is_gone(capture, base) && is_held(capture, capture->after, capture->new_places, base, at))
    return 0;
  int64_t freed = bytes_of(capture->before, base) - *held_bytes;
  if (is_early) freed -= bytes_of(capture->after, step->made.id);
  *held_bytes = -1;
  return freed > 0 ? freed : 0;
}

/* Whether only other steps read it. */
static bool is_link(const Capture *capture, const PlanStep *step) {
  for (uint32_t i = 0; i < step->users.len; i++) {
    if (step->users.data[i].ref.id < capture->num_old) return false;
  }
  return true;
}

static void explain(Capture *capture) {
  capture->old_places =
      places_of(capture->source->before_schedule, capture->before->insts.len, capture->arena);
  capture->new_places =
      places_of(capture->source->schedule, capture->after->insts.len, capture->arena);
  find_peak(capture);
  /* By InstId: bytes of clones that are there at the peak; -1 = somebody has the credit. */
  int64_t *held_bytes = arena_zarray(capture->arena, int64_t, capture->num_old);
  for (uint32_t i = 0; i < capture->plan->steps.len; i++) {
    const PlanStep *step = &capture->plan->steps.data[i];
    InstId peak = capture->at_peak[step->computation.id];
    bool is_clone = step->action == PLAN_RECOMPUTE || step->action == PLAN_MOVE;
    if (!is_clone || peak == NO_ID || is_gone(capture, peak)) continue;
    if (is_held(capture, capture->after, capture->new_places, step->made.id,
                capture->new_places[peak])) {
      held_bytes[step->instruction.id] = -1;
    }
  }
  for (uint32_t i = 0; i < capture->plan->steps.len; i++) {
    PlanStep *step = &capture->plan->steps.data[i];
    switch (step->action) {
      case PLAN_UNCOMPRESS: step->reason = "use"; break;
      case PLAN_ELEMENT:
      case PLAN_BITCAST: step->reason = "helper"; break;
      default:
        step->freed_bytes = freed_by(capture, step, &held_bytes[step->instruction.id]);
        step->reason = step->freed_bytes           ? "peak"
                       : step->action == PLAN_MOVE ? "later"
                       : is_link(capture, step)    ? "link"
                                                   : "memory";
    }
  }
}

/* ---- all together ---- */

Plan *plan_capture(const CaptureSource *source, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Plan *plan = arena_zalloc(out, sizeof *plan);
  uint32_t num_insts = source->rewrite->module->insts.len;
  Capture capture = {.source = source,
                     .before = source->before,
                     .after = source->rewrite->module,
                     .num_old = source->before->insts.len,
                     .step_of = arena_array(arena, uint32_t, num_insts),
                     .element_of = arena_array(arena, uint32_t, num_insts),
                     .plan = plan,
                     .out = out,
                     .arena = arena,
                     .scratch = scratch};
  memset(capture.step_of, 0xff, num_insts * sizeof(uint32_t));
  memset(capture.element_of, 0xff, num_insts * sizeof(uint32_t));
  plan->fingerprint = plan_fingerprint(source->before);
  plan->order_fingerprint = plan_order_fingerprint(source->before, source->before_schedule);
  plan->module = source->before->source->header.name;
  plan->target = source->before->backend.target->name;
  for (InstId id = 0; id < capture.num_old; id++) {
    bool was_dead = inst_get(capture.before, id)->flags & INST_DEAD;
    plan->drops_dead_code |= !was_dead && is_gone(&capture, id);
  }
  add_steps(&capture);
  add_readers(&capture);
  compare(&capture);
  explain(&capture);
  arena_free(arena);
  return plan;
}

/* ---- names ---- */

static Str copy_name(Str name, Arena *out) {
  return (Str){arena_strndup(out, name.data, name.len), name.len};
}

static bool is_compact(const Module *module, InstId id) {
  return (inst_get(module, id)->flags & INST_COMPACT_GTE) != 0;
}

/* What is written `x#1` is named by what it is read from, so two can have had one name; a new one
 * on an old tuple is told apart. */
static void fill(PlanRef *ref, const CaptureSource *source, Arena *out) {
  const Module *before = source->before, *after = source->rewrite->module;
  if (ref->id == NO_ID) return;
  bool is_old = ref->id < before->insts.len;
  bool was_read_so = is_old && is_compact(before, ref->id) && is_compact(after, ref->id);
  ref->name = copy_name(inst_name(was_read_so ? before : after, ref->id), out);
  if (is_old || !is_compact(after, ref->id)) return;
  if (inst_operand(after, ref->id, 0) >= before->insts.len) return;
  const char *name = arena_printf(out, "%s.remat", ref->name.data);
  ref->name = str_make(name, strlen(name));
}

static void fill_all(PlanRefs *refs, const CaptureSource *source, Arena *out) {
  for (uint32_t i = 0; i < refs->list.len; i++)
    fill(&refs->list.data[i], source, out);
}

static void fill_computation(PlanRef *ref, const CaptureSource *source, Arena *out) {
  if (ref->id != source->before->entry)
    ref->name = copy_name(comp_name(source->before, ref->id), out);
}

/* A step that takes the one element that is left has no instruction in the end. */
static Str element_name(const Module *module, const PlanStep *step, Arena *out) {
  Str tuple = inst_name(module, step->operand.id);
  const char *name =
      module->source->uses_compact_gte
          ? arena_printf(out, "%.*s#%lld", (int)tuple.len, tuple.data, (long long)step->index)
          : arena_printf(out, "%.*s.element", (int)tuple.len, tuple.data);
  return str_make(name, strlen(name));
}

static void fill_step(PlanStep *step, const CaptureSource *source, const uint32_t *element_of,
                      Plan *plan, Arena *out) {
  const Module *after = source->rewrite->module;
  fill_computation(&step->computation, source, out);
  fill(&step->instruction, source, out);
  fill(&step->made, source, out);
  fill(&step->operand, source, out);
  fill(&step->before, source, out);
  if (step->made.id == NO_ID) step->made.name = element_name(after, step, out);
  for (uint32_t i = 0; i < step->users.len; i++)
    fill(&step->users.data[i].ref, source, out);
  fill_all(&step->control, source, out);
  /* Behind what has become an element, it is that which is read. */
  if (step->operand.id != NO_ID && step->made.id != NO_ID &&
      element_of[step->operand.id] != NO_ID) {
    const PlanStep *element = &plan->steps.data[element_of[step->operand.id]];
    step->operand.name = element_name(after, element, out);
  }
}

static void add_renames(Plan *plan, const CaptureSource *source, Arena *out) {
  const Module *before = source->before, *after = source->rewrite->module;
  for (InstId id = 0; id < before->insts.len; id++) {
    bool was_compact = inst_get(before, id)->flags & INST_COMPACT_GTE;
    const Instruction *inst = inst_get(after, id);
    if (!was_compact || inst->flags & (INST_COMPACT_GTE | INST_DEAD)) continue;
    CompId comp = inst->parent;
    if (source->before_schedule->of[comp].len == 0) continue;
    PlanRename *rename = vec_push(out, &plan->renames);
    rename->computation = ref_to(comp);
    fill_computation(&rename->computation, source, out);
    rename->instruction = ref_to(id);
    rename->instruction.name = copy_name(inst_name(before, id), out);
    rename->name = copy_name(inst_name(after, id), out);
  }
}

void plan_fill_names(Plan *plan, const CaptureSource *source, Arena *out) {
  const Module *after = source->rewrite->module;
  plan->module = copy_name(plan->module, out);
  uint32_t *element_of = arena_array(out, uint32_t, after->insts.len);
  memset(element_of, 0xff, after->insts.len * sizeof *element_of);
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    if (plan->steps.data[i].made.id == NO_ID) element_of[plan->steps.data[i].operand.id] = i;
  }
  for (uint32_t i = 0; i < plan->steps.len; i++)
    fill_step(&plan->steps.data[i], source, element_of, plan, out);
  for (uint32_t i = 0; i < plan->control.len; i++) {
    PlanControl *control = &plan->control.data[i];
    fill_computation(&control->computation, source, out);
    fill(&control->instruction, source, out);
    fill_all(&control->predecessors, source, out);
  }
  for (uint32_t i = 0; i < plan->orders.len; i++) {
    PlanOrder *order = &plan->orders.data[i];
    fill_computation(&order->computation, source, out);
    fill_all(&order->instructions, source, out);
  }
  add_renames(plan, source, out);
}

/* ---- copies of called computations ---- */

typedef struct Callees {
  PlanStep *step;
  const Module *rewritten, *again;
  InstId
      *again_of; /* by origin: the copy of it in the computation that is compared, NO_ID = none */
  VEC(InstId) work; /* to be compared with the one in `others` */
  VEC(InstId) others;
  Arena *out, *scratch;
} Callees;

static void name_copy(Callees *callees, bool is_computation, Str name, Str again) {
  *vec_push(callees->out, &callees->step->callees) =
      (PlanName){is_computation, copy_name(again, callees->out), copy_name(name, callees->out)};
}

/* All are named when they come in another order: that is then the order of the names. */
static void compare_insts(Callees *callees, CompId comp, CompId comp_again) {
  const Module *rewritten = callees->rewritten, *again = callees->again;
  uint32_t len = comp_num_insts(rewritten, comp);
  if (len != comp_num_insts(again, comp_again)) return;
  for (uint32_t i = 0; i < len; i++) {
    InstId id = comp_inst(again, comp_again, i), origin = inst_get(again, id)->origin;
    if (origin != NO_ID) callees->again_of[origin] = id;
  }
  bool is_same_order = true;
  uint32_t first = callees->others.len;
  for (uint32_t i = 0; i < len; i++) {
    InstId id = comp_inst(rewritten, comp, i), origin = inst_get(rewritten, id)->origin;
    InstId other = origin == NO_ID ? NO_ID : callees->again_of[origin];
    if (other == NO_ID) other = comp_inst(again, comp_again, i);
    is_same_order &= other == comp_inst(again, comp_again, i);
    *vec_push(callees->scratch, &callees->work) = id;
    *vec_push(callees->scratch, &callees->others) = other;
  }
  for (uint32_t i = first; i < first + len; i++) {
    Str name = inst_name(rewritten, callees->work.data[i]);
    Str name_again = inst_name(again, callees->others.data[i]);
    if (!is_same_order || !str_equal(name, name_again)) name_copy(callees, false, name, name_again);
  }
  for (uint32_t i = 0; i < len; i++) {
    InstId origin = inst_get(again, comp_inst(again, comp_again, i))->origin;
    if (origin != NO_ID) callees->again_of[origin] = NO_ID;
  }
}

/* What clones of one instruction call are copies of the same computations. */
static void compare_callees(Callees *callees, InstId id, InstId other) {
  const Module *rewritten = callees->rewritten, *again = callees->again;
  ArenaMark mark = arena_mark(callees->scratch);
  *vec_push(callees->scratch, &callees->work) = id;
  *vec_push(callees->scratch, &callees->others) = other;
  while (callees->work.len) {
    id = callees->work.data[--callees->work.len];
    other = callees->others.data[--callees->others.len];
    bool is_fusion = inst_get(rewritten, id)->opcode == OPCODE_FUSION &&
                     inst_get(again, other)->opcode == OPCODE_FUSION;
    if (!is_fusion) continue;
    CompId comp = inst_callees(rewritten, id)[0], comp_again = inst_callees(again, other)[0];
    Str name = comp_name(rewritten, comp), name_again = comp_name(again, comp_again);
    if (!str_equal(name, name_again)) name_copy(callees, true, name, name_again);
    compare_insts(callees, comp, comp_again);
  }
  callees->work.data = callees->others.data = NULL;
  callees->work.cap = callees->others.cap = 0;
  arena_reset(callees->scratch, mark);
}

void plan_fill_callees(Plan *plan, const Module *rewritten, const Module *again, Arena *out,
                       Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Callees callees = {.rewritten = rewritten,
                     .again = again,
                     .again_of = arena_array(arena, InstId, again->insts.len),
                     .out = out,
                     .scratch = scratch};
  memset(callees.again_of, 0xff, again->insts.len * sizeof *callees.again_of);
  IdTable table = {0};
  for (InstId id = 0; id < again->insts.len; id++) {
    const Instruction *inst = inst_get(again, id);
    if (inst->opcode == OPCODE_FUSION && !(inst->flags & INST_DEAD))
      id_table_add(&table, arena, hash_str(inst_name(again, id)), id);
  }
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    PlanStep *step = &plan->steps.data[i];
    bool is_clone = step->action == PLAN_RECOMPUTE || step->action == PLAN_MOVE;
    if (!is_clone || inst_get(rewritten, step->made.id)->opcode != OPCODE_FUSION) continue;
    callees.step = step;
    uint32_t other;
    for (IdProbe probe = id_table_probe(&table, hash_str(step->made.name));
         id_probe_next(&probe, &other);) {
      if (!str_equal(inst_name(again, other), step->made.name)) continue;
      compare_callees(&callees, step->made.id, other);
      break;
    }
  }
  arena_free(arena);
}
