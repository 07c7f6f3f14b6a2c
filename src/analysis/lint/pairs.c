/* Checks asynchronous operations with their own opcodes (copies, collectives, send and receive),
 * and channels that several instructions use. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lint/lint.h"
#include "analysis/lint/async.h"

/* ---- starts and dones ---- */

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
  if (other->opcode == done || lint_passes_on(module, user)) return;
  DiagPlace place = DIAG_FROM_TO(lint_place(lint, id).offset, lint_place(lint, user).offset);
  lint_find_at(lint, LINT_ASYNC_PAIR, id, place, "'%.*s' reads it, which is no %s",
               (int)other->name_len, other->name, opcode_text(done));
}

static void lint_done(Lint *lint, InstId id, Opcode start) {
  const Module *module = lint->module;
  InstId operand = inst_operand(module, id, 0);
  const Instruction *inst = inst_get(module, operand);
  bool is_made_here = inst->opcode == OPCODE_TUPLE;
  if (inst->opcode == start || (lint_passes_on(module, operand) && !is_made_here)) return;
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
