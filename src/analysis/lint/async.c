/* Checks asynchronous operations, and channels that several instructions use. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lint/lint.h"

/* ---- async-start, async-update, async-done ---- */

/* Custom calls that only annotate a value. */
static bool is_note(Str target) {
  static const char *const targets[] = {"Sharding",
                                        "LocalToGlobalShape",
                                        "GlobalToLocalShape",
                                        "xla.sdy.LocalToGlobalShape",
                                        "xla.sdy.GlobalToLocalShape",
                                        "xla.sdy.FuncResultSharding",
                                        "control_dep"};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (str_is(target, targets[i])) return true;
  }
  return false;
}

/* HloInstruction::IsAllowedAsyncIntermediary. */
static bool passes_on(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CUSTOM_CALL: return is_note(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET));
    case OPCODE_COPY:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_OPT_BARRIER:
    case OPCODE_PARAMETER:
    case OPCODE_TUPLE:
    case OPCODE_WHILE: return true;
    default: return false;
  }
}

/* Control flow may take the state of an async-start, but not the state of a copy-start or the
 * like. */
static bool may_use_state(const Module *module, InstId id) {
  unsigned opcode = inst_get(module, id)->opcode;
  return opcode == OPCODE_CALL || opcode == OPCODE_CONDITIONAL || opcode == OPCODE_DOMAIN ||
         passes_on(module, id);
}

/* ---- shapes ---- */

/* Whether `all` begins with the elements of `bound`: operands may be bound later. */
static bool is_prefix(const Lint *lint, const Shape *bound, const ShapeId *all, uint32_t count) {
  if (bound->rank > count) return false;
  for (uint32_t i = 0; i < bound->rank; i++) {
    if (!lint_fits(lint, bound->elements[i], all[i])) return false;
  }
  return true;
}

/* Whether the parameters of a computation begin with the elements of `bound`. */
static bool are_first_params(const Lint *lint, const Shape *bound, const Computation *comp) {
  if (bound->rank > comp->params.len) return false;
  for (uint32_t i = 0; i < bound->rank; i++) {
    InstId param = id_list(lint->module, comp->params)[i];
    if (!lint_fits(lint, bound->elements[i], inst_get(lint->module, param)->shape)) return false;
  }
  return true;
}

/* The result may also be bound partly, or not at all; then it is a tuple. */
static bool is_result(const Lint *lint, ShapeId result, ShapeId whole) {
  const Shape *part = shape_get(&lint->module->shapes, result);
  const Shape *all = shape_get(&lint->module->shapes, whole);
  if (lint_fits(lint, result, whole)) return true;
  if (!shape_is_tuple(part)) return false;
  return part->rank == 0 ||
         (shape_is_tuple(all) && is_prefix(lint, part, all->elements, all->rank));
}

/* Compares the state, which is known to be ((operands), result, …), with the computation. */
static void lint_state(Lint *lint, InstId id, CompId callee) {
  const Module *module = lint->module;
  const Computation *comp = comp_get(module, callee);
  const Shape *state = inst_shape(module, id);
  const Shape *bound = shape_get(&module->shapes, state->elements[0]);
  DiagPlace place = lint_place_callee(lint, id, callee);
  if (!are_first_params(lint, bound, comp)) {
    lint_find_at(lint, LINT_ASYNC_SHAPE, id, place,
                 "its shape has the operands %s, which its computation does not take",
                 lint_shown(lint, state->elements[0]));
    return;
  }
  ShapeId result = inst_get(module, comp->root)->shape;
  if (is_result(lint, state->elements[1], result)) return;
  lint_find_at(lint, LINT_ASYNC_SHAPE, id, place,
               "its shape has the result %s, its computation returns %s",
               lint_shown(lint, state->elements[1]), lint_shown(lint, result));
}

/* Operands that an update adds are in its shape. */
static void lint_update(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  const Shape *before = shape_get(&module->shapes, lint_operand_shape(lint, id, 0));
  const Shape *old = shape_get(&module->shapes, before->elements[0]);
  const Shape *new = shape_get(&module->shapes, inst_shape(module, id)->elements[0]);
  if (!shape_is_tuple(old)) return; /* it is not the state of a start */
  bool fits = old->rank + inst->num_operands - 1 ==
              new->rank &&is_prefix(lint, old, new->elements, new->rank);
  for (uint32_t i = 1; fits && i < inst->num_operands; i++) {
    fits = lint_fits(lint, new->elements[old->rank + i - 1], lint_operand_shape(lint, id, i));
  }
  if (fits) return;
  lint_find_inst(lint, LINT_ASYNC_SHAPE, id,
                 "its shape does not have the operands of '%.*s' and its own",
                 (int)inst_name(module, inst_operand(module, id, 0)).len,
                 inst_name(module, inst_operand(module, id, 0)).data);
}

static void lint_async_done(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  InstId start = lint->starts[id];
  if (start == NO_ID) return;
  const Computation *comp = comp_get(module, inst_callees(module, start)[0]);
  const Shape *state = shape_get(&module->shapes, lint_operand_shape(lint, id, 0));
  const Shape *bound = shape_get(&module->shapes, state->elements[0]);
  if (shape_is_tuple(bound) && bound->rank < comp->params.len) {
    lint_find_inst(lint, LINT_ASYNC_SHAPE, id, "only %u of %u operands are there when it is done",
                   bound->rank, comp->params.len);
    return;
  }
  ShapeId result = inst_get(module, comp->root)->shape;
  if (lint_fits(lint, inst->shape, result)) return;
  lint_find_inst(lint, LINT_ASYNC_SHAPE, id, "its shape is %s, its computation returns %s",
                 lint_shown(lint, inst->shape), lint_shown(lint, result));
}

/* ---- chains ---- */

/* Each start and update is continued once. After a tuple or a loop it is not followed. */
static void lint_users(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  InstId next = NO_ID;
  for (uint32_t i = 0; i < inst->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    const Instruction *other = inst_get(module, user);
    DiagPlace place = DIAG_FROM_TO(lint_place(lint, user).offset, lint_place(lint, id).offset);
    bool is_first =
        opcode_takes_async_state((Opcode)other->opcode) && inst_operand(module, user, 0) == id;
    if (is_first && next == NO_ID) {
      next = user;
    } else if (is_first) {
      lint_find_at(lint, LINT_ASYNC_PAIR, user, place, "'%.*s' is done by '%.*s' already",
                   (int)inst->name_len, inst->name, (int)inst_name(module, next).len,
                   inst_name(module, next).data);
    } else if (!may_use_state(module, user)) {
      lint_find_at(lint, LINT_ASYNC_PAIR, user, place, "it reads '%.*s', which is not done yet",
                   (int)inst->name_len, inst->name);
    }
  }
  bool is_returned = inst_is_root(module, id) && inst->parent != module->entry;
  if (inst->users.len || is_returned) return;
  lint_find_inst(lint, LINT_ASYNC_PAIR, id, "it is started, and done nowhere");
}

static void lint_operand_of(Lint *lint, InstId id) {
  const Module *module = lint->module;
  InstId operand = inst_operand(module, id, 0);
  if (opcode_gives_async_state((Opcode)inst_get(module, operand)->opcode) ||
      may_use_state(module, operand))
    return;
  lint_find_at(lint, LINT_ASYNC_PAIR, id, lint_place_operand(lint, id, 0),
               "its operand '%.*s' is not what an async-start began",
               (int)inst_name(module, operand).len, inst_name(module, operand).data);
}

/* The main thread runs one instruction asynchronously. A marked group of collectives is not
 * checked. */
static void lint_computation(Lint *lint, InstId id, CompId callee) {
  const Module *module = lint->module;
  const Computation *comp = comp_get(module, callee);
  if (!str_is(comp->thread, "main") || lint->callers[callee] != id) return;
  if (inst_attr(module, id, ATTR_FRONTEND_ATTRIBUTES)) return;
  uint32_t num_others = 0;
  bool is_barrier = true;
  for (uint32_t i = 0; i < comp->insts.len; i++) {
    InstId inner = comp_inst(module, callee, i);
    unsigned opcode = inst_get(module, inner)->opcode;
    if (inner == comp->root || opcode == OPCODE_PARAMETER) continue;
    num_others++;
    is_barrier &= opcode == OPCODE_GET_TUPLE_ELEMENT;
  }
  if (num_others == 0 || is_barrier) return;
  lint_find_at(lint, LINT_ASYNC_COMPUTATION, id, lint_place_callee(lint, id, callee),
               "%u instructions of its computation are neither its root nor parameters",
               num_others);
}

/* The start or update that the state comes from, through tuples and loops; NO_ID when that is not
 * clear (TraceAsyncDataflow, which tries more than one way). */
static InstId trace_state(const Lint *lint, InstId id) {
  enum { MAX_STEPS = 256 };
  const Module *module = lint->module;
  int64_t index[MAX_STEPS];
  for (uint32_t step = 0, depth = 0; step < MAX_STEPS; step++) {
    const Instruction *inst = inst_get(module, id);
    InstId caller = lint->callers[inst->parent];
    switch (inst->opcode) {
      case OPCODE_ASYNC_START:
      case OPCODE_ASYNC_UPDATE: return id;
      case OPCODE_GET_TUPLE_ELEMENT: index[depth++] = inst->index; break;
      case OPCODE_TUPLE:
        if (depth == 0 || index[--depth] < 0 || index[depth] >= inst->num_operands) return NO_ID;
        id = inst_operand(module, id, (uint32_t)index[depth]);
        continue;
      case OPCODE_WHILE: id = comp_get(module, inst_callees(module, id)[0])->root; continue;
      case OPCODE_PARAMETER:
        if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_WHILE ||
            inst_callees(module, caller)[0] != inst->parent) {
          return NO_ID;
        }
        id = caller;
        break;
      default:
        if (!passes_on(module, id) || inst->num_operands == 0) return NO_ID;
    }
    id = inst_operand(module, id, 0);
  }
  return NO_ID;
}

static CompId comp_of_state(const Lint *lint, InstId id) {
  if (inst_get(lint->module, id)->num_callees) return inst_callees(lint->module, id)[0];
  InstId start = lint->starts[id];
  return start == NO_ID ? NO_ID : inst_callees(lint->module, start)[0];
}

/* Compares only some of the properties that HloComputation::Equal compares. */
static bool comps_differ(const Module *module, CompId a, CompId b) {
  const Computation *x = comp_get(module, a), *y = comp_get(module, b);
  const Instruction *root_x = inst_get(module, x->root), *root_y = inst_get(module, y->root);
  return a != b && (x->params.len != y->params.len || root_x->opcode != root_y->opcode ||
                    !shape_compatible(&module->shapes, root_x->shape, root_y->shape));
}

/* The parser has checked what follows a start directly. */
static void lint_same_computation(Lint *lint, InstId id) {
  const Module *module = lint->module;
  InstId operand = inst_operand(module, id, 0);
  if (opcode_gives_async_state((Opcode)inst_get(module, operand)->opcode) ||
      !inst_get(module, id)->num_callees)
    return;
  InstId state = trace_state(lint, operand);
  CompId before = state == NO_ID ? NO_ID : comp_of_state(lint, state);
  if (before == NO_ID || !comps_differ(module, before, inst_callees(module, id)[0])) return;
  DiagPlace place =
      DIAG_FROM_TO(lint_place_attr(lint, id, ATTR_CALLS).offset, lint_place(lint, state).offset);
  Str name = inst_name(module, state);
  lint_find_at(lint, LINT_ASYNC_PAIR, id, place, "it calls another computation than '%.*s'",
               (int)name.len, name.data);
}

void lint_async(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  unsigned opcode = inst->opcode;
  if (!opcode_is_async(opcode)) return;
  if (opcode_takes_async_state(opcode)) {
    lint_operand_of(lint, id);
    lint_same_computation(lint, id);
  }
  if (opcode_gives_async_state(opcode)) lint_users(lint, id);
  InstId start = lint->starts[id];
  if (opcode_gives_async_state(opcode) && start != NO_ID)
    lint_state(lint, id, inst_callees(lint->module, start)[0]);
  if (opcode == OPCODE_ASYNC_START) {
    lint_computation(lint, id, inst_callees(lint->module, id)[0]);
  } else if (opcode == OPCODE_ASYNC_UPDATE) {
    lint_update(lint, id);
  } else {
    lint_async_done(lint, id);
  }
}

/* ---- copies, collectives, send and receive, which have opcodes of their own ---- */

static bool is_control_dep(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
         str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "control_dep");
}

/* A send or receive in a computation of its own is done where that computation is done. */
static bool is_wrapped(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  InstId caller = lint->callers[inst->parent];
  return inst_is_root(lint->module, id) && caller != NO_ID &&
         inst_get(lint->module, caller)->opcode == OPCODE_ASYNC_START;
}

static void lint_start(Lint *lint, InstId id, Opcode done) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t count = 0;
  InstId user = NO_ID;
  for (uint32_t i = 0; i < inst->users.len; i++) {
    if (is_control_dep(module, inst_users(module, id)[i])) continue;
    user = inst_users(module, id)[i];
    count++;
  }
  if (is_wrapped(lint, id)) return;
  if (count == 0 && inst_is_root(module, id) && inst->parent != module->entry) return;
  if (count != 1) {
    lint_find_inst(lint, LINT_ASYNC_PAIR, id, "it is started, and done %s",
                   count ? "several times" : "nowhere");
    return;
  }
  const Instruction *other = inst_get(module, user);
  if (other->opcode == done || passes_on(module, user)) return;
  DiagPlace place = DIAG_FROM_TO(lint_place(lint, id).offset, lint_place(lint, user).offset);
  lint_find_at(lint, LINT_ASYNC_PAIR, id, place, "'%.*s' reads it, which is no %s",
               (int)other->name_len, other->name, opcode_text(done));
}

static void lint_done(Lint *lint, InstId id, Opcode start) {
  const Module *module = lint->module;
  InstId operand = inst_operand(module, id, 0);
  const Instruction *inst = inst_get(module, operand);
  bool is_made_here = inst->opcode == OPCODE_TUPLE;
  if (inst->opcode == start || (passes_on(module, operand) && !is_made_here)) return;
  DiagPlace place = lint_place_operand(lint, id, 0);
  place.opener = lint_place(lint, operand).offset;
  lint_find_at(lint, LINT_ASYNC_PAIR, id, place, "its operand '%.*s' is no %s", (int)inst->name_len,
               inst->name, opcode_text(start));
}

static bool is_host_transfer(const Module *module, InstId id) {
  return inst_attr_int(module, id, ATTR_IS_HOST_TRANSFER, 0) != 0;
}

static void lint_same_channel(Lint *lint, InstId start, InstId done) {
  const Module *module = lint->module;
  const Instruction *a = inst_get(module, start), *b = inst_get(module, done);
  if (!(a->flags & INST_HAS_CHANNEL)) return;
  DiagPlace place = DIAG_FROM_TO(lint_place(lint, done).offset, lint_place(lint, start).offset);
  if (!(b->flags & INST_HAS_CHANNEL) || a->index != b->index) {
    lint_find_at(lint, LINT_CHANNEL, done, place, "it has another channel_id than '%.*s'",
                 (int)a->name_len, a->name);
  } else if (is_host_transfer(module, start) != is_host_transfer(module, done)) {
    lint_find_at(lint, LINT_CHANNEL, done, place, "it differs from '%.*s' in is_host_transfer",
                 (int)a->name_len, a->name);
  }
}

static void lint_layout_constraint(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (lint->first_all_reduce == NO_ID) lint->first_all_reduce = id;
  const Instruction *first = inst_get(lint->module, lint->first_all_reduce);
  if (!((inst->flags ^ first->flags) & INST_CONSTRAINS_LAYOUT)) return;
  DiagPlace place =
      DIAG_FROM_TO(lint_place(lint, id).offset, lint_place(lint, lint->first_all_reduce).offset);
  lint_find_at(
      lint, LINT_CONSTRAIN_LAYOUT, id, place, "constrain_layout is %s here and not for '%.*s'",
      inst->flags & INST_CONSTRAINS_LAYOUT ? "true" : "false", (int)first->name_len, first->name);
}

void lint_pairs(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (!opcode_is_async(opcode)) {
    if (opcode_begins_split(opcode)) lint_start(lint, id, opcode_done_of(opcode));
    if (opcode_ends_split(opcode)) lint_done(lint, id, opcode_start_of(opcode));
  }
  if (opcode == OPCODE_SEND_DONE || opcode == OPCODE_RECV_DONE) {
    InstId start = inst_operand(lint->module, id, 0);
    if (inst_get(lint->module, start)->opcode == opcode_start_of(opcode)) {
      lint_same_channel(lint, start, id);
    }
  }
  if (opcode_begun(opcode) != OPCODE_ALL_REDUCE) return;
  lint_layout_constraint(lint, id);
  bool has_channel = inst->flags & INST_HAS_CHANNEL;
  if (opcode != OPCODE_ALL_REDUCE || !has_channel || inst->index > 0) return;
  lint_find_at(lint, LINT_CHANNEL, id, lint_place_attr(lint, id, ATTR_CHANNEL_ID),
               "the channel_id of an all-reduce is positive");
}

/* ---- channels ---- */

typedef struct ChannelUse {
  int64_t channel;
  InstId inst;
} ChannelUse;

static int by_channel(const void *a, const void *b) {
  const ChannelUse *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  return (x->inst > y->inst) - (x->inst < y->inst);
}

static bool same_frontend(const Module *module, InstId a, InstId b) {
  return str_equal(inst_attr_text(module, a, ATTR_FRONTEND_ATTRIBUTES),
                   inst_attr_text(module, b, ATTR_FRONTEND_ATTRIBUTES));
}

/* Transfers to or from the host that use the same channel must be the same. */
void lint_channels(Lint *lint) {
  const Module *module = lint->module;
  VEC(ChannelUse) uses = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    bool is_start = inst->opcode == OPCODE_SEND || inst->opcode == OPCODE_RECV;
    if (!is_start || (inst->flags & INST_DEAD) || !(inst->flags & INST_HAS_CHANNEL)) continue;
    if (!is_host_transfer(module, id)) continue;
    *vec_push(lint->tables, &uses) = (ChannelUse){inst->index, id};
  }
  if (uses.len) qsort(uses.data, uses.len, sizeof *uses.data, by_channel);
  for (uint32_t i = 1; i < uses.len; i++) {
    InstId first = uses.data[i - 1].inst, id = uses.data[i].inst;
    const Instruction *a = inst_get(module, first), *b = inst_get(module, id);
    if (uses.data[i - 1].channel != uses.data[i].channel) continue;
    if (a->opcode == b->opcode && a->shape == b->shape && same_frontend(module, first, id))
      continue;
    DiagPlace place = DIAG_FROM_TO(lint_place(lint, id).offset, lint_place(lint, first).offset);
    lint_find_at(lint, LINT_CHANNEL, id, place,
                 "it has channel_id %" PRId64 " and is another transfer than '%.*s'", b->index,
                 (int)a->name_len, a->name);
  }
}
