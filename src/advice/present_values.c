#include "advice/present_values.h"

#include "advice/cloning.h"
#include "advice/present_checkpoint.h"
#include "advice/value_keys.h"

/* What a fusion of the forward part computes inside. */
typedef struct Inside {
  uint64_t key;
  InstId fusion, inner;
  InstId helper; /* what stands for it beside the fusion; NO_ID = nothing yet */
} Inside;

typedef struct Restoring {
  const Module *module;
  ValueKeys keys;
  IdTable table; /* of keys, to instructions of the forward part that are meant */
  VEC(Inside) inside;
  IdTable inner;  /* of keys, to `inside` */
  bool only_once; /* whether XLA never computes again what takes much work, as XLA:CPU does not */
  Arena *arena;
} Restoring;

static InstId source_of(const Module *module, InstId id) {
  while (inst_is_pass_through(module, id))
    id = inst_operand(module, id, 0);
  return id;
}

/* ---- values of the forward part ---- */

static InstId made_before(const Restoring *restoring, uint64_t key) {
  InstId id;
  for (IdProbe probe = id_table_probe(&restoring->table, key); id_probe_next(&probe, &id);) {
    if (restoring->keys.of[id] == key) return id;
  }
  return NO_ID;
}

static void note_value(Restoring *restoring, InstId id) {
  Opcode opcode = (Opcode)inst_get(restoring->module, source_of(restoring->module, id))->opcode;
  uint64_t key = restoring->keys.of[id];
  bool is_made = opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT;
  if (!is_made || !shape_is_array(inst_shape(restoring->module, id))) return;
  if (made_before(restoring, key) == NO_ID)
    id_table_add(&restoring->table, restoring->arena, key, id);
}

/* ---- values of the backward part ---- */

/* The value of the forward part that an instruction has, too; NO_ID if there is none. */
static InstId same_as(const Restoring *restoring, InstId id) {
  const Module *module = restoring->module;
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_array(shape)) return NO_ID;
  InstId made = made_before(restoring, restoring->keys.of[id]);
  if (made == NO_ID) return NO_ID;
  const Shape *its = inst_shape(module, made);
  return its->type == shape->type && its->num_elements == shape->num_elements ? made : NO_ID;
}

/* InstructionFusion::IsExpensive of XLA, as far as it is elementwise. */
static bool is_expensive(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ATAN2:
    case OPCODE_CBRT:
    case OPCODE_COSINE:
    case OPCODE_ERF:
    case OPCODE_EXPONENTIAL:
    case OPCODE_EXPONENTIAL_MINUS_ONE:
    case OPCODE_LOG:
    case OPCODE_LOG_PLUS_ONE:
    case OPCODE_LOGISTIC:
    case OPCODE_POWER:
    case OPCODE_RSQRT:
    case OPCODE_SINE:
    case OPCODE_SQRT:
    case OPCODE_TAN:
    case OPCODE_TANH: return true;
    default: return false;
  }
}

/* Whether XLA would not compute again in a fusion what an instruction in it computes. */
static bool is_costly_inside(const Module *module, InstId fusion, InstId inner) {
  return inner != comp_get(module, inst_callees(module, fusion)[0])->root &&
         is_expensive((Opcode)inst_get(module, inner)->opcode);
}

/* The value of the forward part that a fusion computes again inside, and would read; NO_ID if there
 * is none. */
static InstId held_inside(const Restoring *restoring, InstId fusion) {
  const Module *module = restoring->module;
  if (!restoring->only_once || inst_get(module, fusion)->opcode != OPCODE_FUSION) return NO_ID;
  CompId comp = inst_callees(module, fusion)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    bool is_again = is_costly_inside(module, fusion, inner) && present_is_recomputed(module, inner);
    InstId made = is_again ? made_before(restoring, restoring->keys.of[inner]) : NO_ID;
    if (made != NO_ID) return made;
  }
  return NO_ID;
}

/* Notes what a fusion of the forward part computes inside. */
static void note_inside(Restoring *restoring, InstId fusion) {
  const Module *module = restoring->module;
  if (!restoring->only_once || inst_get(module, fusion)->opcode != OPCODE_FUSION) return;
  CompId comp = inst_callees(module, fusion)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    uint64_t key = restoring->keys.of[inner];
    if (!is_costly_inside(module, fusion, inner)) continue;
    id_table_add(&restoring->inner, restoring->arena, key, restoring->inside.len);
    *vec_push(restoring->arena, &restoring->inside) = (Inside){key, fusion, inner, NO_ID};
  }
}

/* What a fusion of the backward part computes again inside, and one of the forward part does, too:
 * an index of `inside`; NO_ID if there is none. */
static uint32_t shared_inside(const Restoring *restoring, InstId fusion) {
  const Module *module = restoring->module;
  if (!restoring->only_once || inst_get(module, fusion)->opcode != OPCODE_FUSION) return NO_ID;
  CompId comp = inst_callees(module, fusion)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    uint64_t key = restoring->keys.of[inner];
    uint32_t index;
    if (!is_costly_inside(module, fusion, inner) || !present_is_recomputed(module, inner)) continue;
    for (IdProbe probe = id_table_probe(&restoring->inner, key); id_probe_next(&probe, &index);) {
      if (restoring->inside.data[index].key == key) return index;
    }
  }
  return NO_ID;
}

/* A value of the backward part, and the fusions of the forward part that have it inside. */
static void add_pairs(const Restoring *restoring, InstId value, PresentValues *result, Arena *out) {
  uint64_t key = restoring->keys.of[value];
  uint32_t index;
  for (IdProbe probe = id_table_probe(&restoring->inner, key); id_probe_next(&probe, &index);) {
    const Inside *inside = &restoring->inside.data[index];
    if (inside->key == key)
      *vec_push(out, &result->pairs) = (PresentPair){value, inside->fusion, NO_ID};
  }
}

/* Removes what only led to values that are computed again no more. */
static void remove_unread(Module *module, Sequence *sequence, SchedPos begin) {
  uint32_t len = begin;
  for (SchedPos pos = sequence->len; pos-- > begin;) {
    InstId id = sequence->ids[pos];
    const ControlDeps *control = inst_control(module, id);
    bool is_unread = inst_get(module, id)->users.len == 0 && !inst_is_root(module, id) &&
                     control->predecessors.len == 0 && control->successors.len == 0 &&
                     present_is_recomputed(module, source_of(module, id));
    if (is_unread) module_remove_inst(module, id);
  }
  for (SchedPos pos = begin; pos < sequence->len; pos++) {
    InstId id = sequence->ids[pos];
    if (!(inst_get(module, id)->flags & INST_DEAD)) sequence->ids[len++] = id;
  }
  sequence->len = len;
}

/* By position: whose value something has, what is held, and what is an index of `inside`. NO_ID =
 * nothing. */
typedef struct Found {
  InstId *originals, *held;
  uint32_t *shared;
} Found;

static Found found_new(uint32_t count, Arena *arena) {
  Found found = {arena_array(arena, InstId, count), arena_array(arena, InstId, count),
                 arena_array(arena, uint32_t, count)};
  memset(found.originals, 0xff, count * sizeof *found.originals);
  memset(found.held, 0xff, count * sizeof *found.held);
  memset(found.shared, 0xff, count * sizeof *found.shared);
  return found;
}

/* Whether the forward part reads a value, in whatever form. */
static bool *find_read_early(const Module *module, Sequence sequence, SchedPos forward_end,
                             Arena *arena) {
  bool *is_read = arena_zarray(arena, bool, module->insts.len); /* by InstId */
  for (SchedPos pos = forward_end + 1; pos-- > 0;) {
    InstId id = sequence.ids[pos];
    if (inst_is_pass_through(module, id) && !is_read[id]) continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
      is_read[inst_operand(module, id, i)] = true;
  }
  return is_read;
}

/* What a policy saves is a value of its own beside the one that the forward part goes on with. */
static void find_saved(Restoring *restoring, Sequence sequence, SchedPos forward_end,
                       const bool *is_meant, Found *found) {
  const Module *module = restoring->module;
  bool *is_read = find_read_early(module, sequence, forward_end, restoring->arena);
  bool *is_of_meant = arena_zarray(restoring->arena, bool, module->insts.len); /* by InstId */
  for (int pass = 0; pass < 2; pass++) { /* first what is read there */
    for (SchedPos pos = 0; pos <= forward_end; pos++) {
      InstId id = sequence.ids[pos];
      bool is_through = inst_is_pass_through(module, id);
      is_of_meant[id] = is_through ? is_of_meant[inst_operand(module, id, 0)] : is_meant[pos];
      if (pass == 0) value_keys_read(&restoring->keys, id);
      if (pass == 0 && is_of_meant[id]) note_inside(restoring, id);
      if (!is_of_meant[id] || is_read[id] != (pass == 0)) continue;
      if (pass == 1 && !is_through) found->originals[pos] = same_as(restoring, id);
      note_value(restoring, id);
    }
  }
}

static Found find_values(Restoring *restoring, Sequence sequence, SchedPos forward_end,
                         const bool *is_meant, PresentValues *result, Arena *out) {
  const Module *module = restoring->module;
  Found found = found_new(sequence.len, restoring->arena);
  find_saved(restoring, sequence, forward_end, is_meant, &found);
  for (SchedPos pos = forward_end + 1; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    value_keys_read(&restoring->keys, id);
    if (inst_get(module, id)->opcode == OPCODE_BITCAST) continue;
    bool is_again = present_is_recomputed(module, source_of(module, id));
    if (is_again) found.originals[pos] = same_as(restoring, id);
    if (is_again && found.originals[pos] == NO_ID) add_pairs(restoring, id, result, out);
    if (found.originals[pos] != NO_ID) continue;
    found.held[pos] = held_inside(restoring, id);
    if (found.held[pos] == NO_ID) found.shared[pos] = shared_inside(restoring, id);
  }
  return found;
}

/* A value, and what is read in its place. */
typedef struct Form {
  InstId old, form;
} Form;

/* Makes all readers read the form of a value of the forward part, which keeps bitcasts and
 * get-tuple-elements of it among its positions, before what takes the place of the value, though
 * only the backward part reads them. Their readers read clones of them, behind these positions. */
static void replace_early(Rewrite *rewrite, Form first, const bool *is_early, Sequence *sequence,
                          Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  VEC(Form) work = {0};
  *vec_push(arena, &work) = first;
  for (uint32_t at = 0; at < work.len; at++) {
    Form own = work.data[at];
    uint32_t num_users = inst_get(module, own.old)->users.len;
    InstId *users = arena_array(arena, InstId, num_users);
    for (uint32_t u = 0; u < num_users; u++)
      users[u] = inst_users(module, own.old)[u];
    for (uint32_t u = 0; u < num_users; u++) {
      InstId user = users[u];
      if (is_early[user] && inst_is_pass_through(module, user)) {
        InstId clone = rewrite_clone(rewrite, user, scratch);
        rewrite_set_operand(rewrite, clone, 0, own.form);
        sequence->ids[sequence->len++] = clone;
        *vec_push(arena, &work) = (Form){user, clone};
        continue;
      }
      for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
        if (inst_operand(module, user, i) == own.old)
          rewrite_set_operand(rewrite, user, i, own.form);
      }
    }
  }
  arena_free(arena);
}

/* Makes all readers read the original. Fusions read it in the form that it has: XLA fuses what
 * changes the form with them. Positions of the forward part stay (`is_early`, by InstId): what
 * stands for a value of it comes behind it. Returns whether a fusion reads another form than it
 * expects. */
static bool replace(Rewrite *rewrite, InstId id, InstId original, const bool *is_early,
                    Sequence *sequence, Arena *scratch) {
  Module *module = rewrite->module;
  ShapeId shape = inst_get(module, id)->shape;
  bool is_same = inst_get(module, original)->shape == shape, is_sketch = false;
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_users = inst_get(module, id)->users.len;
  InstId *users = arena_array(scratch, InstId, num_users);
  for (uint32_t u = 0; u < num_users; u++)
    users[u] = inst_users(module, id)[u];
  for (uint32_t u = 0; u < num_users; u++) {
    bool is_fusion = inst_get(module, users[u])->opcode == OPCODE_FUSION;
    for (uint32_t i = 0; i < inst_get(module, users[u])->num_operands && is_fusion; i++) {
      if (inst_operand(module, users[u], i) != id) continue;
      rewrite_set_operand(rewrite, users[u], i, original);
      is_sketch |= !is_same;
    }
  }
  arena_reset(scratch, mark);
  if (inst_get(module, id)->users.len == 0) return is_sketch;
  InstId form = is_same ? original : rewrite_add_bitcast(rewrite, original, shape);
  if (!is_same) sequence->ids[sequence->len++] = form;
  if (is_early[id]) {
    replace_early(rewrite, (Form){id, form}, is_early, sequence, scratch);
  } else {
    rewrite_replace_all_uses(rewrite, id, form, scratch);
  }
  return is_sketch;
}

/* Adds what stands for a value that two fusions compute inside, of which XLA would make one that
 * both read: as large as it, and computed from what the first of them reads. NO_ID if that reads
 * nothing of this size. */
static InstId add_shared(Rewrite *rewrite, const Inside *inside) {
  Module *module = rewrite->module;
  ShapeId shape = inst_get(module, inside->inner)->shape;
  int64_t count = shape_get(&module->shapes, shape)->num_elements;
  for (uint32_t i = 0; i < inst_get(module, inside->fusion)->num_operands; i++) {
    InstId operand = inst_operand(module, inside->fusion, i);
    const Shape *its = inst_shape(module, operand);
    if (!shape_is_array(its) || its->num_elements != count) continue;
    InstSpec spec = {
        .opcode = OPCODE_TANH, .shape = shape, .operands = &operand, .num_operands = 1};
    return rewrite_add_helper(rewrite, inst_get(module, inside->fusion)->parent, spec);
  }
  return NO_ID;
}

/* Returns what the fusion at this place would read; NO_ID = nothing. */
static InstId share(Rewrite *rewrite, Inside *inside, InstId fusion, Sequence *sequence,
                    PresentValues *result, Arena *out) {
  bool is_new = inside->helper == NO_ID;
  if (is_new) inside->helper = add_shared(rewrite, inside);
  if (inside->helper == NO_ID) return NO_ID;
  if (is_new) sequence->ids[sequence->len++] = inside->helper;
  *vec_push(out, &result->pairs) = (PresentPair){inside->helper, inside->fusion, fusion};
  return inside->helper;
}

PresentValues present_values_restore(Rewrite *rewrite, Schedule *schedule, CompId comp,
                                     SchedPos forward_end, const bool *is_meant, Arena *out,
                                     Arena *scratch) {
  Module *module = rewrite->module;
  Sequence old = schedule->of[comp];
  Arena *arena = arena_new(arena_options(scratch));
  Restoring restoring = {.module = module,
                         .keys = value_keys_new(module, arena),
                         .only_once = strcmp(module->backend.target->name, "cpu") == 0,
                         .arena = arena};
  PresentValues result = {0};
  Found found = find_values(&restoring, old, forward_end, is_meant, &result, out);
  Sequence sequence = {.ids = arena_array(out, InstId, 4 * (size_t)old.len)};
  bool *is_early = arena_zarray(arena, bool, module->insts.len + 4 * (size_t)old.len);
  for (SchedPos pos = 0; pos <= forward_end; pos++) {
    sequence.ids[sequence.len++] = old.ids[pos];
    is_early[old.ids[pos]] = true;
  }
  for (SchedPos pos = 0; pos < old.len; pos++) {
    if (found.originals[pos] != NO_ID)
      result.is_sketch |=
          replace(rewrite, old.ids[pos], found.originals[pos], is_early, &sequence, scratch);
    if (pos <= forward_end) continue;
    InstId held = found.held[pos];
    if (found.shared[pos] != NO_ID)
      held = share(rewrite, &restoring.inside.data[found.shared[pos]], old.ids[pos], &sequence,
                   &result, out);
    /* XLA lets the result of an elementwise fusion take over the memory of what dies there */
    bool is_taken_over =
        held != NO_ID && inst_get(module, held)->shape == inst_get(module, old.ids[pos])->shape;
    if (is_taken_over)
      sequence.ids[sequence.len++] = cloning_hold_until(rewrite, held, old.ids[pos]);
    sequence.ids[sequence.len++] = old.ids[pos];
    if (held == NO_ID) continue;
    if (!is_taken_over) sequence.ids[sequence.len++] = cloning_hold(rewrite, held, old.ids[pos]);
    result.is_sketch = true;
  }
  remove_unread(module, &sequence, forward_end + 1);
  schedule->of[comp] = sequence;
  arena_free(arena);
  return result;
}
