#include "remat/plan/apply.h"

static rh_status reorder(Apply *apply, const PlanOrder *order) {
  CompId comp;
  rh_status status = plan_find_computation(apply, order->computation, &comp);
  if (status != RH_OK) return status;
  Sequence sequence = apply->job->schedule->of[comp];
  ArenaMark mark = arena_mark(apply->scratch);
  bool *is_listed = arena_zarray(apply->scratch, bool, apply->num_old);
  uint32_t len = order->instructions.list.len, next = 0;
  InstId *ids = arena_array(apply->scratch, InstId, len);
  for (uint32_t i = 0; status == RH_OK && i < len; i++) {
    PlanRef ref = order->instructions.list.data[i];
    status = plan_find_old(apply, comp, ref, &ids[i]);
    if (status == RH_OK && is_listed[ids[i]]) {
      status = plan_fail(apply, ref.offset, "'%.*s' is twice in this order", SHOWN(ref.name));
    }
    if (status == RH_OK) is_listed[ids[i]] = true;
  }
  for (uint32_t i = 0; status == RH_OK && i < sequence.len; i++) {
    if (is_listed[sequence.ids[i]]) sequence.ids[i] = ids[next++];
  }
  arena_reset(apply->scratch, mark);
  return status;
}

/* What stands before each instruction, by InstId, and then, by CompId, at the end. */
typedef struct Insertions {
  InstId *first, *last, *next;
} Insertions;

static void insert(Insertions *insertions, InstId before, InstId id) {
  if (insertions->first[before] == NO_ID) {
    insertions->first[before] = id;
  } else {
    insertions->next[insertions->last[before]] = id;
  }
  insertions->last[before] = id;
}

/* Where a step's instruction goes; of a skipped one what that would have stood before. */
static rh_status find_place(const Apply *apply, uint32_t index, uint32_t end, InstId *place) {
  const PlanStep *step = &apply->plan->steps.data[index];
  for (uint32_t steps = 0; step->before.name.len; steps++) {
    uint32_t other = plan_find_step(apply, apply->comps[index], step->before.name);
    if (other == NO_ID) return plan_find_old(apply, apply->comps[index], step->before, place);
    *place = apply->made[other];
    if (*place != NO_ID) return RH_OK;
    step = &apply->plan->steps.data[other];
    if (steps > apply->plan->steps.len) break;
  }
  *place = end;
  return RH_OK;
}

/* Appends what stands before `last`, and that, with an explicit stack. */
static void append(const Insertions *insertions, InstId last, uint32_t num_insts,
                   Sequence *sequence, Arena *scratch) {
  VEC(InstId) work = {0};
  VEC(InstId) next = {0};
  *vec_push(scratch, &work) = last;
  *vec_push(scratch, &next) = insertions->first[last];
  while (work.len) {
    InstId *cursor = &next.data[next.len - 1];
    if (*cursor != NO_ID) {
      InstId inserted = *cursor;
      *cursor = insertions->next[inserted];
      *vec_push(scratch, &work) = inserted;
      *vec_push(scratch, &next) = insertions->first[inserted];
      continue;
    }
    InstId id = work.data[--work.len];
    next.len--;
    if (id < num_insts) sequence->ids[sequence->len++] = id;
  }
}

static rh_status place_steps(Apply *apply, Insertions *insertions, uint32_t *num_made) {
  uint32_t num_insts = apply->module->insts.len;
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    if (apply->made[i] == NO_ID) continue;
    InstId place;
    rh_status status = find_place(apply, i, num_insts + apply->comps[i], &place);
    if (status != RH_OK) return status;
    insert(insertions, place, apply->made[i]);
    num_made[apply->comps[i]]++;
  }
  return RH_OK;
}

static rh_status fail_lost(const Apply *apply, CompId comp, Sequence sequence) {
  bool *is_there = arena_zarray(apply->arena, bool, apply->module->insts.len);
  for (uint32_t i = 0; i < sequence.len; i++)
    is_there[sequence.ids[i]] = true;
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    if (apply->comps[i] != comp || apply->made[i] == NO_ID || is_there[apply->made[i]]) continue;
    PlanRef before = apply->plan->steps.data[i].before;
    return plan_fail(apply, before.offset, "'%.*s' stands before itself in the end",
                     SHOWN(before.name));
  }
  return RH_ERR_INPUT;
}

static rh_status merge(Apply *apply, Arena *out) {
  Schedule *schedule = apply->job->schedule;
  uint32_t num_insts = apply->module->insts.len;
  uint32_t num_places = num_insts + schedule->num_comps;
  Insertions insertions = {.first = arena_array(apply->arena, InstId, num_places),
                           .last = arena_array(apply->arena, InstId, num_places),
                           .next = arena_array(apply->arena, InstId, num_places)};
  memset(insertions.first, 0xff, num_places * sizeof(InstId));
  memset(insertions.next, 0xff, num_places * sizeof(InstId));
  uint32_t *num_made = arena_zarray(apply->arena, uint32_t, schedule->num_comps);
  rh_status status = place_steps(apply, &insertions, num_made);
  for (CompId comp = 0; status == RH_OK && comp < schedule->num_comps; comp++) {
    Sequence old = schedule->of[comp];
    if (num_made[comp] == 0) continue;
    uint32_t len = old.len + num_made[comp];
    Sequence merged = {.ids = arena_array(out, InstId, len)};
    for (uint32_t i = 0; i < old.len; i++)
      append(&insertions, old.ids[i], num_insts, &merged, apply->arena);
    append(&insertions, num_insts + comp, num_insts, &merged, apply->arena);
    if (merged.len != len) return fail_lost(apply, comp, merged);
    schedule->of[comp] = merged;
  }
  return status;
}

/* The place in the plan that is to blame for where an instruction stands. */
static uint32_t place_to_blame(const Apply *apply, InstId id, InstId other) {
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    const PlanStep *step = &apply->plan->steps.data[i];
    if (apply->made[i] != NO_ID && (apply->made[i] == id || apply->made[i] == other)) {
      return step->before.name.len ? step->before.offset : step->offset;
    }
  }
  CompId comp = inst_get(apply->module, id)->parent;
  for (uint32_t i = 0; i < apply->plan->orders.len; i++) {
    const PlanOrder *order = &apply->plan->orders.data[i];
    CompId ordered;
    if (plan_find_computation(apply, order->computation, &ordered) == RH_OK && ordered == comp)
      return order->instructions.list.len ? order->instructions.list.data[0].offset : NO_OFFSET;
  }
  return apply->plan->control.len ? apply->plan->control.data[0].instruction.offset : NO_OFFSET;
}

static rh_status check_before(const Apply *apply, const SchedPos *positions, InstId first,
                              InstId second) {
  if (positions[first] < positions[second]) return RH_OK;
  Str early = inst_name(apply->module, second), late = inst_name(apply->module, first);
  return plan_fail(apply, place_to_blame(apply, second, first),
                   "'%.*s' would run before '%.*s', which it needs", SHOWN(early), SHOWN(late));
}

rh_status plan_check_order(const Apply *apply) {
  const Module *module = apply->module;
  const Schedule *schedule = apply->job->schedule;
  SchedPos *positions = arena_zarray(apply->arena, SchedPos, module->insts.len);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      positions[schedule->of[comp].ids[pos]] = pos;
  }
  rh_status status = RH_OK;
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId id = schedule->of[comp].ids[pos];
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      for (uint32_t k = 0; status == RH_OK && k < inst_get(module, id)->num_operands; k++)
        status = check_before(apply, positions, inst_operand(module, id, k), id);
      IdList control = inst_control(module, id)->predecessors;
      for (uint32_t k = 0; status == RH_OK && k < control.len; k++)
        status = check_before(apply, positions, id_list(module, control)[k], id);
    }
  }
  return status;
}

rh_status plan_place(Apply *apply, Arena *out) {
  rh_status status = RH_OK;
  for (uint32_t i = 0; status == RH_OK && i < apply->plan->orders.len; i++)
    status = reorder(apply, &apply->plan->orders.data[i]);
  return status == RH_OK ? merge(apply, out) : status;
}
