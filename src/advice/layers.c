#include "advice/layers.h"

#include <stdlib.h>

#include "advice/frames.h"
#include "advice/framework.h"
#include "advice/value_keys.h"
#include "emit/report/report.h"
#include "ir/attribute.h"
#include "ir/chars.h"
#include "ir/hash.h"
#include "remat/algorithms/forward_end.h"

enum { MAX_LAYERS = 64, LEAST_INSTRUCTIONS = 2 };

/* ---- the forward part ---- */

static bool is_forward_name(Str name) {
  return str_contains(name, "jvp(") && !str_contains(name, "transpose(");
}

static SchedPos end_by_names(const Module *module, Sequence sequence) {
  int64_t num_backward = 0, best = -1, balance = 0;
  SchedPos end = NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    num_backward += str_contains(inst_op_name(module, sequence.ids[pos]), "transpose(");
  if (num_backward == 0) return NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    Str name = inst_op_name(module, sequence.ids[pos]);
    if (!name.len) continue;
    balance += is_forward_name(name) ? 1 : str_contains(name, "transpose(") ? -1 : 0;
    if (balance <= best) continue;
    best = balance;
    end = pos;
  }
  return end;
}

static SchedPos end_by_flow(const Module *module, Sequence sequence, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  SchedPos *positions = arena_zarray(arena, SchedPos, module->insts.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    positions[sequence.ids[pos]] = pos;
  bool *is_heavy = find_heavy(module, arena, scratch);
  SchedPos end =
      find_forward_end(module, sequence, positions, is_heavy, FORWARD_END_BY_BYTES, scratch);
  arena_free(arena);
  return end;
}

/* Whether a fusion that is named after the backward part has a part of the forward part in it. */
static bool has_forward_inside(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (is_forward_name(inst_op_name(module, comp_inst(module, comp, i)))) return true;
  }
  return false;
}

/* The turn: what directly follows the forward part, reads nothing but it and has a part of it
 * inside, such as the gradient of a loss, which XLA fuses with the sum that ends the last layer. */
static SchedPos end_of_turn(const Module *module, Sequence sequence, SchedPos end, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool *is_early = arena_zarray(scratch, bool, module->insts.len);
  for (SchedPos pos = 0; pos <= end; pos++)
    is_early[sequence.ids[pos]] = true;
  for (SchedPos pos = end + 1; pos + 1 < sequence.len; pos++) {
    const Instruction *inst = inst_get(module, sequence.ids[pos]);
    bool reads_early = has_forward_inside(module, sequence.ids[pos]);
    for (uint32_t i = 0; i < inst->num_operands && reads_early; i++)
      reads_early = is_early[inst_operand(module, sequence.ids[pos], i)];
    if (!reads_early) break;
    end = pos; /* what reads it is behind the turn */
  }
  arena_reset(scratch, mark);
  return end;
}

ForwardPart forward_part_of(const Module *module, Sequence sequence, Arena *scratch) {
  ForwardPart forward = {.module = module, .sequence = sequence};
  forward.end = end_by_names(module, sequence);
  bool has_names = forward.end != NO_ID;
  bool has_none = !has_names && framework_of(module) == FRAMEWORK_JAX;
  if (!has_names && !has_none) forward.end = end_by_flow(module, sequence, scratch);
  forward.turn = has_names ? end_of_turn(module, sequence, forward.end, scratch) : forward.end;
  return forward;
}

/* ---- functions ---- */

/* A function as it is called from one frame. */
typedef struct Call {
  Str function, file; /* of the callee */
  int32_t caller;     /* number of the frame that calls it */
} Call;

typedef struct Finder {
  const ForwardPart *forward;
  LayersList *found;
  VEC(Call) calls;     /* one for each function: its first call */
  SchedPos *positions; /* by InstId; NO_ID = not in the sequence */
  InstId *named;       /* by InstId: what has the metadata for it, itself or one inside of it */
  bool *is_derived;    /* by InstId: computed from a parameter of the computation */
  bool *is_copy;       /* by InstId: for the backward part, of what the forward part has, too */
  Arena *out, *scratch;
} Finder;

/* A fusion that XLA makes of parts of others has no metadata of its own. The last instruction
 * inside of it that has some stands for it. */
static InstId named_inside(const Module *module, InstId id) {
  if (frame_of(module, id) || inst_op_name(module, id).len) return id;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return id;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = comp_num_insts(module, comp); i-- > 0;) {
    InstId inner = comp_inst(module, comp, i);
    if (frame_of(module, inner)) return inner;
  }
  return id;
}

/* The number of the frame from which a function is called on this stack, 0 = it is not on it. Of
 * several, the outermost call counts. */
static int32_t caller_on_stack(const Module *module, int32_t number, const Call *call) {
  SourceFrame frame;
  int32_t caller = 0;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    if (str_equal(frame.function, call->function) && str_equal(frame.file, call->file) &&
        frame.parent)
      caller = frame.parent;
  }
  return caller;
}

static bool is_known_call(const Finder *finder, const SourceFrame *frame) {
  for (uint32_t i = 0; i < finder->calls.len; i++) {
    const Call *call = &finder->calls.data[i];
    if (str_equal(call->function, frame->function) && str_equal(call->file, frame->file))
      return true;
  }
  return false;
}

static void find_calls(Finder *finder) {
  const Module *module = finder->forward->module;
  for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
    SourceFrame frame;
    int32_t number = frame_of(module, finder->forward->sequence.ids[pos]);
    for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
      if (!source_frame_get(module, number, &frame)) break;
      bool is_call = frame.parent && frame.function.len && frame.file.len && !frame.is_library;
      if (!is_call || finder->calls.len == MAX_LAYERS || is_known_call(finder, &frame)) continue;
      *vec_push(finder->scratch, &finder->calls) = (Call){frame.function, frame.file, frame.parent};
    }
  }
}

/* What tells one instruction of a function from the others: where it was traced, and what it is. */
typedef struct Role {
  uint64_t key;
  uint32_t count;
  SchedPos first, last;
} Role;

typedef struct Roles {
  VEC(Role) list;
  IdTable table;
} Roles;

/* Numbers in names are left out, because scopes of repetitions differ in them. */
static uint64_t role_key(const Finder *finder, InstId id) {
  const Module *module = finder->forward->module;
  Str name = inst_op_name(module, finder->named[id]);
  uint64_t key = hash_mix(HASH_SEED, (uint64_t)frame_of(module, finder->named[id]));
  for (uint32_t i = 0; i < name.len; i++) {
    if (!char_is_digit(name.data[i])) key = hash_mix(key, (unsigned char)name.data[i]);
  }
  return key;
}

static Role *role_of(Roles *roles, uint64_t key, SchedPos pos, Arena *arena) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&roles->table, key); id_probe_next(&probe, &id);) {
    if (roles->list.data[id].key == key) return &roles->list.data[id];
  }
  id_table_add(&roles->table, arena, key, roles->list.len);
  Role *role = vec_push(arena, &roles->list);
  *role = (Role){.key = key, .first = pos};
  return role;
}

static void add_to_role(Roles *roles, uint64_t key, SchedPos pos, Arena *arena) {
  Role *role = role_of(roles, key, pos, arena);
  role->count++;
  role->last = pos;
}

static bool is_work(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return !opcode_has(opcode, OPF_FREE) && !inst_is_pass_through(module, id) &&
         opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT;
}

static bool is_read_early(const Finder *finder, InstId id) {
  const Module *module = finder->forward->module;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    SchedPos user = finder->positions[inst_users(module, id)[i]];
    if (user != NO_ID && user <= finder->forward->end) return true;
  }
  return false;
}

static bool has_key(const Finder *finder, const ValueKeys *keys, const IdTable *table, InstId id) {
  InstId other;
  for (IdProbe probe = id_table_probe(table, keys->of[id]); id_probe_next(&probe, &other);) {
    if (other != id && keys->of[other] == keys->of[id] && is_read_early(finder, other)) return true;
  }
  return false;
}

/* XLA repeats what takes little time in every fusion that reads it. What only the backward part
 * reads, such as a transposed copy for a weight's gradient, says nothing of how often the program
 * has computed it. */
static void find_copies(Finder *finder) {
  const Module *module = finder->forward->module;
  Arena *arena = arena_new(arena_options(finder->scratch));
  ValueKeys keys = value_keys_new(module, arena);
  IdTable table = {0};
  for (int pass = 0; pass < 2; pass++) {
    for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
      InstId id = finder->forward->sequence.ids[pos];
      if (pass == 0) {
        value_keys_read(&keys, id);
        if (pos >= finder->forward->begin && is_work(module, id))
          id_table_add(&table, arena, keys.of[id], id);
      } else {
        finder->is_copy[id] = !is_read_early(finder, id) && has_key(finder, &keys, &table, id);
      }
    }
  }
  arena_free(arena);
}

static bool is_form(Opcode opcode) {
  switch (opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_BITCAST:
    case OPCODE_CONVERT:
    case OPCODE_COPY:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE: /* of a convolution's filter, for the gradient of its input */
    case OPCODE_TRANSPOSE: return true;
    default: return false;
  }
}

/* Whether an instruction only gives another form to what the computation is given: an order that
 * goes by breadth does that to all weights before the first call. */
static bool is_form_of_given(const Module *module, InstId id) {
  for (; inst_get(module, id)->opcode != OPCODE_PARAMETER; id = inst_operand(module, id, 0)) {
    const Instruction *inst = inst_get(module, id);
    bool is_fusion = inst->opcode == OPCODE_FUSION;
    if (inst->num_operands != 1 || (!is_fusion && !is_form((Opcode)inst->opcode))) return false;
    CompId comp = is_fusion ? inst_callees(module, id)[0] : NO_ID;
    for (uint32_t i = 0; is_fusion && i < comp_num_insts(module, comp); i++) {
      InstId inner = comp_inst(module, comp, i);
      if (!is_form((Opcode)inst_get(module, inner)->opcode)) return false;
    }
  }
  return true;
}

/* Whether an instruction tells calls apart. */
static bool tells_calls(const Finder *finder, InstId id) {
  const Module *module = finder->forward->module;
  return is_work(module, id) && !finder->is_copy[id] && !is_form_of_given(module, id);
}

/* ---- how often a function is called ---- */

/* How often each frame occurs among the instructions that are computed from the arguments, those
 * within fusions included, up to the turn, where the last call may end. Masks and the like are left
 * out: XLA merges what is alike in all calls.
 */
typedef struct FrameCounts {
  uint32_t *of; /* by number of the frame */
} FrameCounts;

static bool is_float(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  if (shape_is_tuple(shape)) return true;
  uint8_t kind = type_info((ElementType)shape->type)->class;
  return kind == TYPE_CLASS_FLOAT || kind == TYPE_CLASS_COMPLEX;
}

/* Whether an instruction of a fusion computes something, and is not only there because XLA writes
 * it so. A border cannot be moved across it. */
static bool is_inner_work(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return is_work(module, id) && is_float(module, id) && opcode != OPCODE_BROADCAST &&
         opcode != OPCODE_CONVERT && opcode != OPCODE_COPY && opcode != OPCODE_RESHAPE &&
         opcode != OPCODE_TRANSPOSE && frame_of(module, id) > 0;
}

static void count_frame(const Module *module, InstId id, FrameCounts *counts) {
  int32_t number = frame_of(module, id);
  bool is_counted = is_float(module, id) && is_work(module, id) && number > 0 &&
                    (uint32_t)number <= module->source->stack_frames.len;
  if (is_counted) counts->of[number]++;
}

/* What is computed from no argument belongs to no call and to no scope: XLA merges what is alike in
 * all of them. */
static void find_derived(Finder *finder) {
  const Module *module = finder->forward->module;
  for (SchedPos pos = 0; pos <= finder->forward->turn; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    const Instruction *inst = inst_get(module, id);
    bool is_derived = inst->opcode == OPCODE_PARAMETER;
    for (uint32_t i = 0; i < inst->num_operands && !is_derived; i++)
      is_derived = finder->is_derived[inst_operand(module, id, i)];
    finder->is_derived[id] = is_derived;
  }
  for (SchedPos pos = 0; pos < finder->forward->begin; pos++)
    finder->is_derived[finder->forward->sequence.ids[pos]] = false;
}

static FrameCounts count_frames(const Finder *finder) {
  const Module *module = finder->forward->module;
  FrameCounts counts = {
      .of = arena_zarray(finder->scratch, uint32_t, module->source->stack_frames.len + 1)};
  for (SchedPos pos = 0; pos <= finder->forward->turn; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    if (!finder->is_derived[id]) continue;
    bool is_fusion = inst_get(module, id)->opcode == OPCODE_FUSION;
    if (!is_fusion) count_frame(module, id, &counts); /* it has the name of something inside */
    if (!is_fusion) continue;
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId inner = comp_inst(module, comp, i);
      if (is_inner_work(module, inner)) count_frame(module, inner, &counts);
    }
  }
  return counts;
}

/* Whether a function is on a stack several times, as tracing a derivative leaves it there. */
static bool is_repeated(const Module *module, int32_t number, const Call *call) {
  SourceFrame frame;
  uint32_t count = 0;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    count += str_equal(frame.function, call->function) && str_equal(frame.file, call->file);
  }
  return count > 1;
}

/* The least number of times that a line of the function, or of what it calls, occurs where it is
 * called from `caller`: it is not called more often. Lines of derivatives occur where XLA has fused
 * them with the forward part, and do not count. */
static uint32_t most_calls(const Module *module, const FrameCounts *counts, const Call *call,
                           int32_t caller) {
  uint32_t least = UINT32_MAX;
  for (uint32_t number = 1; number <= module->source->stack_frames.len; number++) {
    if (counts->of[number] == 0 || counts->of[number] >= least) continue;
    if (caller_on_stack(module, (int32_t)number, call) == caller &&
        !is_repeated(module, (int32_t)number, call))
      least = counts->of[number];
  }
  return least;
}

/* A call that what is at a position reads something of; NO_ID if there is none. */
static uint32_t call_read(const Finder *finder, const Layers *layers, SchedPos pos) {
  const Module *module = finder->forward->module;
  InstId id = finder->forward->sequence.ids[pos];
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId source = inst_operand(module, id, i);
    while (inst_is_pass_through(module, source))
      source = inst_operand(module, source, 0);
    SchedPos operand = finder->positions[source];
    bool is_early = operand != NO_ID && operand <= finder->forward->end;
    if (is_early && layers->instance_of[operand] != NO_ID) return layers->instance_of[operand];
  }
  return NO_ID;
}

/* The end of the last call may be missing: it is fused with what follows, or nothing of the
 * backward part reads it, so that no checkpoint computes it again. A role that each call begins
 * with is then there once more, behind all that the other calls have. */
static Role with_last_call(const Finder *finder, const Layers *layers, const Roles *roles,
                           Role best, uint32_t most_calls) {
  Role found = best;
  SchedPos last = 0;
  for (uint32_t i = 0; i < roles->list.len; i++) {
    const Role *role = &roles->list.data[i];
    if (role->count == best.count && role->last > last) last = role->last;
  }
  for (uint32_t i = 0; i < roles->list.len && best.count > 1; i++) {
    const Role *role = &roles->list.data[i];
    bool is_once_more = role->count == best.count + 1 && role->count - 1 <= most_calls &&
                        role->first <= best.first && role->last > last &&
                        call_read(finder, layers, role->first) == NO_ID;
    if (is_once_more && (found.count == best.count || role->first < found.first)) found = *role;
  }
  return found;
}

/* The number that most roles have is how often the function is called, at most `most_calls`; the
 * first role that has it marks where each call begins. A role that a call has several times is
 * none.
 */
static Role begin_of(const Finder *finder, const Layers *layers, const Roles *roles,
                     uint32_t most_calls) {
  Role best = {0};
  uint32_t most = 0;
  for (uint32_t i = 0; i < roles->list.len; i++) {
    uint32_t alike = 0, count = roles->list.data[i].count;
    if (count > most_calls) continue;
    for (uint32_t k = 0; k < roles->list.len; k++)
      alike += roles->list.data[k].count == count ? count : 0;
    bool is_better = alike > most || (alike == most && count > best.count);
    if (!is_better) continue;
    most = alike;
    best = roles->list.data[i];
  }
  for (uint32_t i = 0; i < roles->list.len; i++) {
    const Role *role = &roles->list.data[i];
    if (role->count == best.count && role->first < best.first) best = *role;
  }
  return with_last_call(finder, layers, roles, best, most_calls);
}

/* ---- where one call ends and the next one begins ---- */

enum { MOST_MOVED = 64 }; /* instructions that may belong to either of two calls */

/* The bytes of arrays that a call makes before `border`, and that it or the next call reads behind
 * it. */
static int64_t bytes_across(const Finder *finder, const Layers *layers, uint32_t number,
                            SchedPos border) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  int64_t bytes = 0;
  for (SchedPos pos = 0; pos < border; pos++) {
    if (layers->instance_of[pos] != number) continue;
    InstId id = forward->sequence.ids[pos];
    bool is_across = false;
    for (uint32_t i = 0; i < inst_get(module, id)->users.len && !is_across; i++) {
      SchedPos user = finder->positions[inst_users(module, id)[i]];
      if (user == NO_ID || user < border || user > forward->end) continue;
      uint32_t instance = layers->instance_of[user];
      is_across = instance == number || instance == number + 1;
    }
    if (is_across && shape_is_array(inst_shape(module, id))) bytes += inst_shape(module, id)->bytes;
  }
  return bytes;
}

/* What follows the last instruction that each call has may be the end of this call, or the
 * beginning of the next one where the first call was fused otherwise. The border is where the
 * fewest bytes are handed on, the last such place. */
static void move_border(const Finder *finder, Layers *layers, Roles *roles, uint32_t count,
                        uint32_t number) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  SchedPos tail[MOST_MOVED];
  uint32_t len = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers->instance_of[pos] != number) continue;
    InstId id = forward->sequence.ids[pos];
    bool is_in_each = is_work(module, id) &&
                      role_of(roles, role_key(finder, id), pos, finder->scratch)->count >= count;
    if (is_in_each) {
      len = 0;
    } else if (len < MOST_MOVED) {
      tail[len++] = pos;
    }
  }
  if (len == 0 || len == MOST_MOVED) return;
  int64_t least = bytes_across(finder, layers, number, tail[len - 1] + 1);
  uint32_t first = len;
  for (uint32_t i = len; i-- > 0;) {
    int64_t bytes = bytes_across(finder, layers, number, tail[i]);
    if (bytes >= least) continue;
    least = bytes;
    first = i;
  }
  for (uint32_t i = first; i < len; i++)
    layers->instance_of[tail[i]] = number + 1;
}

/* ---- the calls ---- */

/* What has no place in the program, such as a conversion that XLA adds or a call of a kernel that
 * it makes of several operations, goes with what it is computed from. */
static void add_nameless(const Finder *finder, Layers *layers) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    bool is_nameless = finder->is_derived[id] && !frame_of(module, finder->named[id]) &&
                       !str_contains(inst_op_name(module, finder->named[id]), "/");
    for (uint32_t i = 0; is_nameless && i < inst_get(module, id)->num_operands; i++) {
      SchedPos operand = finder->positions[inst_operand(module, id, i)];
      if (operand == NO_ID || operand > forward->end) continue;
      uint32_t instance = layers->instance_of[operand];
      if (instance != NO_ID) layers->instance_of[pos] = instance;
    }
  }
}

/* The call that all readers of a value in the forward part are in; NO_ID if they are in several, or
 * in none. A fusion with the end of the last call counts as that. */
static uint32_t call_of_readers(const Finder *finder, const Layers *layers, InstId id) {
  const Module *module = finder->forward->module;
  uint32_t found = NO_ID;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    SchedPos user = finder->positions[inst_users(module, id)[i]];
    if (user == NO_ID || user > finder->forward->end) continue;
    uint32_t instance =
        layers->is_end[user] ? layers->num_instances - 1 : layers->instance_of[user];
    if (instance == NO_ID || (found != NO_ID && found != instance)) return NO_ID;
    found = instance;
  }
  return found;
}

/* Whether an instruction reads what this call computes; NO_ID = any call. */
static bool reads_call(const Finder *finder, const Layers *layers, InstId id, uint32_t number) {
  const Module *module = finder->forward->module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    SchedPos operand = finder->positions[inst_operand(module, id, i)];
    uint32_t instance =
        operand == NO_ID || operand > finder->forward->end ? NO_ID : layers->instance_of[operand];
    if (instance != NO_ID && (number == NO_ID || instance == number)) return true;
  }
  return false;
}

/* An order that goes by breadth converts the weights of all layers before the first one. What a
 * call only seems to have by its position goes to the call that reads it. */
static void settle_early(const Finder *finder, Layers *layers) {
  for (SchedPos pos = finder->forward->end + 1; pos-- > 0;) {
    uint32_t number = layers->instance_of[pos];
    if (number == NO_ID) continue;
    InstId id = finder->forward->sequence.ids[pos];
    uint32_t readers = call_of_readers(finder, layers, id);
    if (readers != NO_ID && readers != number && !reads_call(finder, layers, id, number))
      layers->instance_of[pos] = readers;
    if (!is_read_early(finder, id) && !reads_call(finder, layers, id, NO_ID))
      layers->instance_of[pos] = OF_SOME_LAYER;
  }
}

/* Whether a fusion outside of all calls has instructions of the function in it. */
static bool has_end(const Finder *finder, const Call *call, InstId id) {
  const Module *module = finder->forward->module;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (is_work(module, inner) && caller_on_stack(module, frame_of(module, inner), call))
      return true;
  }
  return false;
}

/* Whether a fusion that ends in a call begins before it. A checkpoint around the call keeps what
 * the call is given, and nothing in the module stands for that but the result. */
static bool begins_before(const Finder *finder, const Call *call, int32_t caller, InstId id) {
  const Module *module = finder->forward->module;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (is_inner_work(module, inner) &&
        caller_on_stack(module, frame_of(module, inner), call) != caller)
      return true;
  }
  return false;
}

/* Numbers the calls of a function. Calls from different frames are different ones. */
static void number_calls(Finder *finder, const FrameCounts *counts, const Call *call,
                         Layers *layers) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  VEC(int32_t) callers = {0};
  bool *begins = arena_zarray(finder->scratch, bool, forward->sequence.len); /* before a call */
  uint32_t num_insts = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId named = finder->named[forward->sequence.ids[pos]];
    int32_t caller = caller_on_stack(module, frame_of(module, named), call);
    bool is_new = caller != 0;
    for (uint32_t i = 0; i < callers.len; i++)
      is_new &= callers.data[i] != caller;
    if (is_new) *vec_push(finder->scratch, &callers) = caller;
  }
  for (uint32_t c = 0; c < callers.len; c++) {
    Roles roles = {0};
    for (int pass = 0; pass < 2; pass++) {
      uint32_t most = pass ? most_calls(module, counts, call, callers.data[c]) : 0;
      Role begin = pass ? begin_of(finder, layers, &roles, most) : (Role){0};
      uint32_t number = layers->num_instances, num_begun = 0;
      for (SchedPos pos = 0; pos <= forward->end; pos++) {
        InstId id = forward->sequence.ids[pos];
        int32_t frame = frame_of(module, finder->named[id]);
        bool is_called = caller_on_stack(module, frame, call) == callers.data[c];
        if (!is_called || !finder->is_derived[id]) continue;
        uint64_t key = role_key(finder, id);
        if (pass == 0) {
          if (tells_calls(finder, id)) add_to_role(&roles, key, pos, finder->scratch);
          num_insts++;
          continue;
        }
        if (key == begin.key && tells_calls(finder, id) && num_begun++ > 0) number++;
        /* tracing that was done before has left other stacks at the end of an earlier call */
        uint32_t earlier = num_begun == 0 ? call_read(finder, layers, pos) : NO_ID;
        if (earlier != NO_ID) layers->instance_of[pos] = earlier;
        if (earlier != NO_ID) continue;
        begins[pos] = begins_before(finder, call, callers.data[c], id);
        if (!begins[pos]) layers->instance_of[pos] = number;
        layers->num_instances = number + 1;
      }
      if (pass == 0 && roles.list.len == 0) break;
      for (uint32_t i = number - (num_begun > 0 ? num_begun - 1 : 0); pass && i < number; i++)
        move_border(finder, layers, &roles, begin.count, i);
    }
  }
  if (num_insts < LEAST_INSTRUCTIONS) layers->num_instances = 0;
  add_nameless(finder, layers);
  for (SchedPos pos = 0; pos <= forward->end; pos++)
    layers->is_end[pos] = layers->instance_of[pos] == NO_ID && !begins[pos] &&
                          has_end(finder, call, forward->sequence.ids[pos]);
  if (layers->num_instances > 1) settle_early(finder, layers);
}

static Str last_part(Str name) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < name.len; i++) {
    if (name.data[i] == '/') begin = i + 1;
  }
  return (Str){name.data + begin, name.len - begin};
}

/* What one frame of a function computes, as far as it was seen. */
typedef struct OneOperation {
  int32_t frame;
  Str name;
} OneOperation;

/* Whether an instruction is the first operation of a function that is seen, or the same again. */
static bool is_the_same(const Module *module, InstId id, const Call *call, OneOperation *seen) {
  int32_t frame = frame_of(module, id);
  if (!is_inner_work(module, id) || !caller_on_stack(module, frame, call)) return true;
  Str name = inst_op_name(module, id);
  if (str_contains(name, "transpose(")) return true;
  if (seen->frame == 0) *seen = (OneOperation){frame, name};
  /* it is called from several places, under several names of scopes: its last part counts */
  SourceFrame one, other;
  bool is_known =
      source_frame_get(module, frame, &one) && source_frame_get(module, seen->frame, &other);
  return is_known && one.line == other.line && str_equal(last_part(name), last_part(seen->name));
}

/* Whether a function is one operation, such as a convolution. Its result is what it hands on, so
 * that a checkpoint around it has nothing to compute again, and its barrier keeps XLA from fusing
 * it with what follows. XLA:CPU fuses no product with what follows. */
static bool is_one_operation(const Finder *finder, const Call *call) {
  const Module *module = finder->forward->module;
  OneOperation seen = {0};
  if (strcmp(module->backend.target->name, "cpu") == 0) return false;
  for (SchedPos pos = 0; pos <= finder->forward->turn; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    if (inst_get(module, id)->opcode != OPCODE_FUSION) {
      if (!is_the_same(module, id, call, &seen)) return false;
      continue;
    }
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      if (!is_the_same(module, comp_inst(module, comp, i), call, &seen)) return false;
    }
  }
  return seen.frame != 0;
}

static uint32_t *new_instances(const Finder *finder) {
  uint32_t count = finder->forward->sequence.len;
  uint32_t *instances = arena_array(finder->out, uint32_t, count);
  memset(instances, 0xff, count * sizeof *instances);
  return instances;
}

/* Whether all of the module was traced in a function: it is the one that calls jax.jit, or further
 * out, and no part of the program that is compiled. */
static bool is_outside(const Module *module, const Call *call) {
  for (InstId id = 0; id < module->insts.len; id++) {
    int32_t frame = frame_of(module, id);
    if (frame > 0 && !caller_on_stack(module, frame, call)) return false;
  }
  return true;
}

static void add_functions(Finder *finder) {
  const Module *module = finder->forward->module;
  find_calls(finder);
  FrameCounts counts = count_frames(finder);
  for (uint32_t i = 0; i < finder->calls.len; i++) {
    const Call *call = &finder->calls.data[i];
    SourceFrame caller;
    if (is_outside(module, call) || is_one_operation(finder, call)) continue;
    Layers layers = {.function = call->function,
                     .call = i,
                     .instance_of = new_instances(finder),
                     .is_end = arena_zarray(finder->out, bool, finder->forward->sequence.len)};
    number_calls(finder, &counts, call, &layers);
    /* the frame that calls it through libraries is of no use as a place */
    (void)frame_outside_libraries(module, call->caller, &caller);
    layers.place = (SourcePlace){.file = caller.file, .line = caller.line};
    if (layers.num_instances) *vec_push(finder->out, &finder->found->list) = layers;
  }
}

/* ---- scopes ---- */

static bool has_number(Str part) {
  for (uint32_t i = 0; i < part.len; i++) {
    if (char_is_digit(part.data[i])) return true;
  }
  return false;
}

/* The text with `*` in place of each number. */
static Str starred(Str text, Arena *out) {
  char *result = arena_array(out, char, (size_t)text.len + 1);
  uint32_t len = 0;
  for (uint32_t i = 0; i < text.len; i++) {
    bool is_digit = char_is_digit(text.data[i]);
    if (is_digit && len && result[len - 1] == '*') continue;
    result[len++] = is_digit ? '*' : text.data[i];
  }
  return (Str){result, len};
}

/* The path of the scope that an instruction is in, down to the first part with a number and `below`
 * parts more. Empty if there is none. */
static Str numbered_path(const Module *module, InstId id, uint32_t below, Arena *out) {
  Str parts[MAX_SCOPE_DEPTH];
  Str name = inst_op_name(module, id);
  if (!str_contains(name, "/")) return (Str){0};
  uint32_t count = scope_split(name, parts), first = 0;
  while (first < count && !has_number(parts[first]))
    first++;
  uint32_t end = first + 1 + below;
  if (end >= count) return (Str){0};  /* the last part is the operation */
  uint32_t begin = first > 0 ? 1 : 0; /* the first part is the function that was compiled */
  return scope_join(parts + begin, end - begin, out);
}

/* The pattern `block_*` without its first star: what the first of several modules is called by
 * libraries that number from the second one on. */
static Str unnumbered(Str pattern, Arena *out) {
  char *text = arena_array(out, char, (size_t)pattern.len + 1);
  uint32_t len = 0;
  bool is_done = false;
  for (uint32_t i = 0; i < pattern.len; i++) {
    bool is_number =
        !is_done && i + 1 < pattern.len && pattern.data[i] == '_' && pattern.data[i + 1] == '*';
    is_done |= is_number;
    if (is_number) {
      i++;
    } else {
      text[len++] = pattern.data[i];
    }
  }
  return (Str){is_done ? text : NULL, is_done ? len : 0};
}

/* Whether an instruction is in a scope of exactly this path, behind the function that was compiled.
 */
static bool is_in_path(const Module *module, InstId id, Str path, Arena *scratch) {
  Str parts[MAX_SCOPE_DEPTH];
  Str name = inst_op_name(module, id);
  if (!path.len || !str_contains(name, "/")) return false;
  uint32_t count = scope_split(name, parts), depth = 1;
  for (uint32_t i = 0; i < path.len; i++)
    depth += path.data[i] == '/';
  return depth + 1 < count && str_equal(scope_join(parts + 1, depth, scratch), path);
}

static void add_scope(Finder *finder, uint32_t below, Str pattern) {
  const ForwardPart *forward = finder->forward;
  VEC(Str) paths = {0};
  Layers layers = {.scope = pattern,
                   .instance_of = new_instances(finder),
                   .is_end = arena_zarray(finder->out, bool, forward->sequence.len)};
  Str first = unnumbered(pattern, finder->scratch);
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    InstId named = finder->named[id];
    Str path = numbered_path(forward->module, named, below, finder->scratch);
    if (!finder->is_derived[id]) continue;
    if (is_in_path(forward->module, named, first, finder->scratch)) path = first;
    bool is_meant =
        path.len && (path.data == first.data || str_equal(starred(path, finder->scratch), pattern));
    if (!is_meant) continue;
    uint32_t number = 0;
    while (number < paths.len && !str_equal(paths.data[number], path))
      number++;
    if (number == paths.len) *vec_push(finder->scratch, &paths) = path;
    layers.instance_of[pos] = number;
  }
  layers.num_instances = paths.len;
  add_nameless(finder, &layers);
  *vec_push(finder->out, &finder->found->list) = layers;
}

static void add_scopes(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  for (uint32_t below = 0; below <= 1; below++) {
    VEC(Str) patterns = {0};
    for (SchedPos pos = 0; pos <= forward->end && patterns.len < MAX_LAYERS; pos++) {
      InstId named = finder->named[forward->sequence.ids[pos]];
      Str path = numbered_path(forward->module, named, below, finder->scratch);
      if (!path.len) continue;
      Str pattern = starred(path, finder->out);
      bool is_new = true;
      for (uint32_t i = 0; i < patterns.len; i++)
        is_new &= !str_equal(patterns.data[i], pattern);
      if (!is_new) continue;
      *vec_push(finder->scratch, &patterns) = pattern;
      add_scope(finder, below, pattern);
    }
  }
}

/* ---- all ---- */

/* The pattern that all names of a function's instructions begin with, down to a part with a number.
 */
static Str common_scope(const ForwardPart *forward, const Layers *layers, Arena *out,
                        Arena *scratch) {
  Str common = {0};
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers->instance_of[pos] == NO_ID) continue;
    Str path = numbered_path(forward->module, forward->sequence.ids[pos], 0, scratch);
    if (!path.len) continue;
    Str pattern = starred(path, out);
    if (common.len && !str_equal(common, pattern)) return (Str){0};
    common = pattern;
  }
  return common;
}

/* Whether one function does nearly all of the work of another one. */
static bool is_all_of(const ForwardPart *forward, const Layers *inner, const Layers *outer) {
  uint32_t num_inner = 0, num_outer = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    bool is_inside = outer->instance_of[pos] != NO_ID;
    num_outer += is_inside;
    if (inner->instance_of[pos] == NO_ID) continue;
    if (!is_inside) return false;
    num_inner++;
  }
  return 20 * num_inner >= 19 * num_outer;
}

/* Whether a function is on the stack of a frame, that included. */
static bool is_on_stack(const Module *module, int32_t number, const Call *call) {
  SourceFrame frame;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) return false;
    if (str_equal(frame.function, call->function) && str_equal(frame.file, call->file)) return true;
  }
  return false;
}

/* Whether a function is called in another one, by any of its stacks: under a checkpoint, tracing
 * leaves some without the callers. Others have it twice, because what is saved is traced again. */
static bool is_called_in(const Finder *finder, uint32_t inner, uint32_t outer) {
  const Module *module = finder->forward->module;
  const Call *call = &finder->calls.data[inner], *other = &finder->calls.data[outer];
  if (is_on_stack(module, call->caller, other)) return true;
  for (uint32_t number = 1; number <= module->source->stack_frames.len; number++) {
    SourceFrame frame;
    bool is_of_call = source_frame_get(module, (int32_t)number, &frame) &&
                      str_equal(frame.function, call->function) &&
                      str_equal(frame.file, call->file);
    bool is_traced_again = is_of_call && is_on_stack(module, frame.parent, call);
    if (is_of_call && !is_traced_again && is_on_stack(module, frame.parent, other)) return true;
  }
  return false;
}

/* Drops a function that seems to be called several times and only calls another one as often: it
 * may as well be called once, with a loop around the other. */
static void drop_callers(Finder *finder) {
  Layers *list = finder->found->list.data;
  uint32_t num_all = finder->found->list.len, len = 0;
  bool *is_dropped = arena_zarray(finder->scratch, bool, num_all);
  for (uint32_t o = 0; o < num_all; o++) {
    for (uint32_t i = 0; i < num_all && list[o].num_instances > 1; i++) {
      bool is_alike = i != o && list[i].num_instances == list[o].num_instances &&
                      list[i].function.len && list[o].function.len;
      if (!is_alike || !is_called_in(finder, list[i].call, list[o].call)) continue;
      is_dropped[o] |= is_all_of(finder->forward, &list[i], &list[o]);
    }
  }
  for (uint32_t i = 0; i < num_all; i++) {
    if (!is_dropped[i]) list[len++] = list[i];
  }
  finder->found->list.len = len;
}

static uint32_t count_inside(const ForwardPart *forward, const Layers *layers) {
  uint32_t count = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++)
    count += layers->instance_of[pos] != NO_ID;
  return count;
}

/* Drops what is called once and does nearly all of the forward part, such as the program's main
 * function: a checkpoint around everything computes everything again at once, and saves nothing. */
static void drop_whole(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  Layers *list = finder->found->list.data;
  uint32_t num_work = 0, len = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    num_work += is_work(forward->module, id) && finder->is_derived[id];
  }
  for (uint32_t i = 0; i < finder->found->list.len; i++) {
    bool is_whole =
        list[i].num_instances == 1 && 20 * count_inside(forward, &list[i]) >= 19 * num_work;
    if (!is_whole) list[len++] = list[i];
  }
  finder->found->list.len = len;
}

/* The number of instructions inside; what is there once counts less, because a checkpoint around
 * all of it computes all of it again at once. */
static uint32_t size_of(const Layers *layers, const ForwardPart *forward) {
  uint32_t size = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++)
    size += layers->instance_of[pos] != NO_ID;
  return layers->num_instances > 1 ? size : size / 4;
}

static int by_size(const void *pa, const void *pb) {
  const Layers *a = pa, *b = pb;
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  bool is_function_a = a->function.len > 0, is_function_b = b->function.len > 0;
  if (is_function_a != is_function_b) return is_function_a ? -1 : 1;
  if (a->place.line != b->place.line) return a->place.line < b->place.line ? -1 : 1;
  int order = str_compare(a->function, b->function);
  return order ? order : str_compare(a->scope, b->scope);
}

/* Names of scopes are surer than positions: a function that does nearly all that is in the scopes
 * of one pattern has their instructions. */
static void take_scopes(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  Layers *list = finder->found->list.data;
  uint32_t num_all = finder->found->list.len;
  uint32_t *counts = arena_array(finder->scratch, uint32_t, num_all);
  for (uint32_t i = 0; i < num_all; i++)
    counts[i] = count_inside(forward, &list[i]);
  for (uint32_t f = 0; f < num_all; f++) {
    for (uint32_t s = 0; s < num_all && list[f].function.len; s++) {
      bool is_scope = !list[s].function.len && list[s].num_instances > 1;
      bool is_near = is_scope && 20 * counts[f] >= 19 * counts[s] && counts[f] <= counts[s];
      if (!is_near || !is_all_of(forward, &list[f], &list[s])) continue;
      list[f].instance_of = list[s].instance_of;
      list[f].num_instances = list[s].num_instances;
      list[f].scope = list[s].scope;
      break;
    }
  }
}

LayersList layers_find(const ForwardPart *forward, Arena *out, Arena *scratch) {
  LayersList found = {0};
  if (forward->end == NO_ID) return found;
  ArenaMark mark = arena_mark(scratch);
  Finder finder = {.forward = forward, .found = &found, .out = out, .scratch = scratch};
  finder.positions = arena_array(scratch, SchedPos, forward->module->insts.len);
  memset(finder.positions, 0xff, forward->module->insts.len * sizeof *finder.positions);
  for (SchedPos pos = 0; pos < forward->sequence.len; pos++)
    finder.positions[forward->sequence.ids[pos]] = pos;
  finder.named = arena_array(scratch, InstId, forward->module->insts.len);
  for (InstId id = 0; id < forward->module->insts.len; id++)
    finder.named[id] = named_inside(forward->module, id);
  finder.is_derived = arena_zarray(scratch, bool, forward->module->insts.len);
  finder.is_copy = arena_zarray(scratch, bool, forward->module->insts.len);
  find_derived(&finder);
  find_copies(&finder);
  add_functions(&finder);
  for (uint32_t i = 0; i < found.list.len; i++)
    found.list.data[i].scope = common_scope(forward, &found.list.data[i], out, scratch);
  drop_callers(&finder);
  add_scopes(&finder);
  take_scopes(&finder);
  drop_callers(&finder);
  drop_whole(&finder);
  for (uint32_t i = 0; i < found.list.len; i++)
    found.list.data[i].size = size_of(&found.list.data[i], forward);
  if (found.list.len) qsort(found.list.data, found.list.len, sizeof *found.list.data, by_size);
  arena_reset(scratch, mark);
  return found;
}
