/* Redirects users to the instructions that the steps have made, and inserts these into the
 * sequences. */
#include "remat/plan/apply.h"
#include "remat/rewrite/same_value.h"

/* ---- users ---- */

/* Redirects one operand to the instruction that a step made, if it has the same value and shape.
 * Else it is an error if the plan names this operand. */
static void redirect_operand(Apply *apply, uint32_t step, const PlanUser *user, InstId id,
                             uint32_t operand, bool is_asked) {
  InstId old = inst_operand(apply->module, id, operand), made = apply->made[step];
  bool is_same = same_value_is(apply->module, apply->rewrite, old, made, apply->scratch);
  bool fits = inst_get(apply->module, old)->shape == inst_get(apply->module, made)->shape;
  if (is_same && fits) {
    *vec_push(apply->arena, &apply->redirects) = (Redirect){id, operand, step, user->ref};
  } else if (is_asked) {
    Str name = inst_name(apply->module, made);
    plan_fail(apply, user->ref.offset, "operand %u of '%.*s' is not what '%.*s' is%s", operand,
              SHOWN(user->ref.name), SHOWN(name), is_same ? ": it has another shape" : "");
  }
}

static void redirect_user(Apply *apply, uint32_t step, const PlanUser *user) {
  InstId id = plan_find_any(apply, apply->comps[step], user->ref);
  if (id == NO_ID) return;
  uint32_t num_operands = inst_get(apply->module, id)->num_operands;
  uint32_t num_before = apply->redirects.len;
  for (uint32_t i = 0; i < user->operands.len; i++) {
    uint32_t operand = user->operands.data[i];
    if (operand < num_operands) {
      redirect_operand(apply, step, user, id, operand, true);
    } else {
      plan_fail(apply, user->ref.offset, "'%.*s' has no operand %u", SHOWN(user->ref.name),
                operand);
    }
  }
  bool is_wherever = user->operands.len == 0 && id != apply->made[step];
  for (uint32_t k = 0; is_wherever && k < num_operands; k++)
    redirect_operand(apply, step, user, id, k, false);
  if (apply->redirects.len > num_before) return;
  Str name = inst_name(apply->module, apply->made[step]);
  plan_fail(apply, user->ref.offset, "'%.*s' reads nothing that '%.*s' is", SHOWN(user->ref.name),
            SHOWN(name));
}

/* Finds all redirections before the first operand is changed, because the values that are read in
 * the unchanged module determine which redirections are valid. */
static void redirect_all(Apply *apply) {
  const Plan *plan = apply->plan;
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    const PlanStep *step = &plan->steps.data[i];
    for (uint32_t k = 0; apply->made[i] != NO_ID && k < step->users.len; k++)
      redirect_user(apply, i, &step->users.data[k]);
  }
  IdTable done = {0}; /* indices into apply->redirects */
  for (uint32_t i = 0; apply->status == RH_OK && i < apply->redirects.len; i++) {
    Redirect redirect = apply->redirects.data[i];
    uint64_t hash = hash_mix(hash_mix(HASH_SEED, redirect.user), redirect.operand);
    uint32_t other;
    for (IdProbe probe = id_table_probe(&done, hash); id_probe_next(&probe, &other);) {
      Redirect earlier = apply->redirects.data[other];
      if (earlier.user != redirect.user || earlier.operand != redirect.operand) continue;
      Str name = inst_name(apply->module, apply->made[earlier.step]);
      plan_fail(apply, redirect.ref.offset, "'%.*s' reads '%.*s' there already",
                SHOWN(redirect.ref.name), SHOWN(name));
      return;
    }
    id_table_add(&done, apply->arena, hash, i);
    rewrite_set_operand(apply->rewrite, redirect.user, redirect.operand,
                        apply->made[redirect.step]);
  }
}

static void wait_for(Apply *apply, CompId comp, InstId id, const PlanRefs *predecessors) {
  for (uint32_t i = 0; id != NO_ID && i < predecessors->list.len; i++) {
    InstId predecessor = plan_find_any(apply, comp, predecessors->list.data[i]);
    if (predecessor != NO_ID) module_add_control(apply->module, predecessor, id);
  }
}

static bool is_all_made(Apply *apply, CompId comp, const PlanRefs *refs) {
  bool is_made = true;
  for (uint32_t i = 0; i < refs->list.len; i++)
    is_made &= plan_find_any(apply, comp, refs->list.data[i]) != NO_ID;
  return is_made;
}

/* Makes an instruction of the module wait for other instructions than before. If one of these is of
 * a skipped step, the instruction that it stands for stays, too. */
static void change_control(Apply *apply, const PlanControl *control) {
  CompId comp = plan_find_computation(apply, control->computation);
  InstId id = plan_find_old(apply, comp, control->instruction);
  bool is_all = is_all_made(apply, comp, &control->predecessors);
  if (apply->status != RH_OK) return;
  if (is_all) module_drop_control_predecessors(apply->module, id);
  wait_for(apply, comp, id, &control->predecessors);
}

static void change_all_control(Apply *apply) {
  const Plan *plan = apply->plan;
  for (uint32_t i = 0; apply->status == RH_OK && i < plan->steps.len; i++)
    wait_for(apply, apply->comps[i], apply->made[i], &plan->steps.data[i].control);
  for (uint32_t i = 0; apply->status == RH_OK && i < plan->control.len; i++)
    change_control(apply, &plan->control.data[i]);
}

/* ---- places ---- */

static void reorder(Apply *apply, const PlanOrder *order) {
  CompId comp = plan_find_computation(apply, order->computation);
  ArenaMark mark = arena_mark(apply->scratch);
  bool *is_listed = arena_zarray(apply->scratch, bool, apply->num_old);
  uint32_t len = order->instructions.list.len, next = 0;
  InstId *ids = arena_array(apply->scratch, InstId, len);
  for (uint32_t i = 0; apply->status == RH_OK && i < len; i++) {
    PlanRef ref = order->instructions.list.data[i];
    ids[i] = plan_find_old(apply, comp, ref);
    if (ids[i] == NO_ID) break;
    if (is_listed[ids[i]])
      plan_fail(apply, ref.offset, "'%.*s' is twice in this order", SHOWN(ref.name));
    is_listed[ids[i]] = true;
  }
  if (apply->status == RH_OK) {
    Sequence sequence = apply->job->schedule->of[comp];
    for (uint32_t i = 0; i < sequence.len; i++) {
      if (is_listed[sequence.ids[i]]) sequence.ids[i] = ids[next++];
    }
  }
  arena_reset(apply->scratch, mark);
}

/* Lists of the instructions to insert before each place. A place is an InstId or, for the end of a
 * computation, the number of instructions + its CompId. */
typedef struct Insertions {
  InstId *first, *last, *next, *place;
} Insertions;

static void insert(Insertions *insertions, InstId place, InstId id) {
  if (insertions->first[place] == NO_ID) {
    insertions->first[place] = id;
  } else {
    insertions->next[insertions->last[place]] = id;
  }
  insertions->last[place] = id;
  insertions->place[id] = place;
}

/* Returns the place of a step's instruction. If this place is before the instruction of a skipped
 * step, the place of the skipped step counts. */
static InstId find_place(Apply *apply, uint32_t index, uint32_t end) {
  const PlanStep *step = &apply->plan->steps.data[index];
  for (uint32_t steps = 0; step->before.name.len && steps <= apply->plan->steps.len; steps++) {
    uint32_t other = plan_find_step(apply, apply->comps[index], step->before.name);
    if (other == NO_ID) return plan_find_old(apply, apply->comps[index], step->before);
    if (apply->made[other] != NO_ID) return apply->made[other];
    step = &apply->plan->steps.data[other];
  }
  return end;
}

/* Appends the instructions that are inserted before `last`, each after those that are inserted
 * before it. */
static void append(const Insertions *insertions, InstId last, Sequence *sequence) {
  InstId id = last;
  for (;;) {
    while (insertions->first[id] != NO_ID)
      id = insertions->first[id];
    while (id != last && insertions->next[id] == NO_ID) {
      sequence->ids[sequence->len++] = id;
      id = insertions->place[id];
    }
    if (id == last) return;
    sequence->ids[sequence->len++] = id;
    id = insertions->next[id];
  }
}

static void fail_lost(Apply *apply, CompId comp, Sequence sequence) {
  bool *is_there = arena_zarray(apply->arena, bool, apply->module->insts.len);
  for (uint32_t i = 0; i < sequence.len; i++)
    is_there[sequence.ids[i]] = true;
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    if (apply->comps[i] != comp || apply->made[i] == NO_ID || is_there[apply->made[i]]) continue;
    PlanRef before = apply->plan->steps.data[i].before;
    plan_fail(apply, before.offset, "'%.*s' stands before itself in the end", SHOWN(before.name));
  }
}

static void merge(Apply *apply, Arena *out) {
  Schedule *schedule = apply->job->schedule;
  uint32_t num_insts = apply->module->insts.len;
  uint32_t num_places = num_insts + schedule->num_comps;
  InstId *lists = arena_array(apply->arena, InstId, (size_t)num_places * 4);
  memset(lists, 0xff, (size_t)num_places * 4 * sizeof *lists);
  Insertions insertions = {lists, lists + num_places, lists + (size_t)num_places * 2,
                           lists + (size_t)num_places * 3};
  uint32_t *num_made = arena_zarray(apply->arena, uint32_t, schedule->num_comps);
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    if (apply->made[i] == NO_ID || apply->plan->steps.data[i].action == PLAN_READ) continue;
    InstId place = find_place(apply, i, num_insts + apply->comps[i]);
    if (place == NO_ID) return;
    insert(&insertions, place, apply->made[i]);
    num_made[apply->comps[i]]++;
  }
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    Sequence old = schedule->of[comp];
    if (num_made[comp] == 0) continue;
    uint32_t len = old.len + num_made[comp];
    Sequence merged = {.ids = arena_array(out, InstId, len)};
    for (uint32_t i = 0; i < old.len; i++) {
      append(&insertions, old.ids[i], &merged);
      merged.ids[merged.len++] = old.ids[i];
    }
    append(&insertions, num_insts + comp, &merged);
    if (merged.len != len) fail_lost(apply, comp, merged);
    schedule->of[comp] = merged;
  }
}

void plan_place(Apply *apply, Arena *out) {
  if (apply->status == RH_OK) redirect_all(apply);
  change_all_control(apply);
  for (uint32_t i = 0; apply->status == RH_OK && i < apply->plan->orders.len; i++)
    reorder(apply, &apply->plan->orders.data[i]);
  if (apply->status == RH_OK) merge(apply, out);
}

/* ---- checks of the resulting order ---- */

/* Returns the offset in the plan of what causes the position of an instruction. */
static uint32_t place_to_blame(Apply *apply, InstId id, InstId other) {
  for (uint32_t i = 0; i < apply->plan->steps.len; i++) {
    const PlanStep *step = &apply->plan->steps.data[i];
    if (apply->made[i] != NO_ID && (apply->made[i] == id || apply->made[i] == other)) {
      return step->before.name.len ? step->before.offset : step->offset;
    }
  }
  CompId comp = inst_get(apply->module, id)->parent;
  for (uint32_t i = 0; i < apply->plan->orders.len; i++) {
    const PlanOrder *order = &apply->plan->orders.data[i];
    if (plan_find_computation(apply, order->computation) == comp)
      return order->instructions.list.len ? order->instructions.list.data[0].offset : NO_OFFSET;
  }
  return apply->plan->control.len ? apply->plan->control.data[0].instruction.offset : NO_OFFSET;
}

static void check_before(Apply *apply, const SchedPos *positions, InstId first, InstId second) {
  if (apply->status != RH_OK || positions[first] < positions[second]) return;
  Str early = inst_name(apply->module, second), late = inst_name(apply->module, first);
  plan_fail(apply, place_to_blame(apply, second, first),
            "'%.*s' would run before '%.*s', which it needs", SHOWN(early), SHOWN(late));
}

void plan_check_order(Apply *apply) {
  const Module *module = apply->module;
  const Schedule *schedule = apply->job->schedule;
  SchedPos *positions = arena_zarray(apply->arena, SchedPos, module->insts.len);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      positions[schedule->of[comp].ids[pos]] = pos;
  }
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId id = schedule->of[comp].ids[pos];
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++)
        check_before(apply, positions, inst_operand(module, id, k), id);
      IdList control = inst_control(module, id)->predecessors;
      for (uint32_t k = 0; k < control.len; k++)
        check_before(apply, positions, id_list(module, control)[k], id);
    }
  }
}
