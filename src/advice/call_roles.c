/* What tells the calls of a function apart, and how often it is called. */
#include "advice/frames.h"
#include "advice/layer_finder.h"
#include "advice/value_keys.h"
#include "ir/attribute.h"
#include "ir/chars.h"

/* The number of the frame from which a function is called on this stack, 0 = it is not on it. Of
 * several, the outermost call counts. */
int32_t call_frame(const Module *module, int32_t number, const Call *call) {
  SourceFrame frame;
  int32_t found = 0, line = 0;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) break;
    if (!frame.parent || !str_equal(frame.function, call->function) ||
        !str_equal(frame.file, call->file))
      continue;
    found = number;
    line = frame.line;
  }
  bool is_inside = call->first_line == 0 || (line >= call->first_line && line <= call->last_line);
  return is_inside ? found : 0;
}

int32_t call_on_stack(const Module *module, int32_t number, const Call *call) {
  SourceFrame frame;
  int32_t own = call_frame(module, number, call);
  return own && source_frame_get(module, own, &frame) ? frame.parent : 0;
}

/* Whether a function of this name, without its qualifiers, is on the stack. */
static bool has_function(const Module *module, int32_t number, Str name) {
  SourceFrame frame;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) return false;
    uint32_t len = frame.function.len;
    if (len < name.len) continue;
    const char *end = frame.function.data + (len - name.len);
    bool is_whole = len == name.len || end[-1] == '.';
    if (is_whole && memcmp(end, name.data, name.len) == 0) return true;
  }
  return false;
}

bool frame_is_of_first_call(const Module *module, InstId id) {
  static const char mark[] = "/jit(", main_name[] = "main";
  Str name = inst_op_name(module, id);
  for (uint32_t i = 0; i + sizeof mark - 1 < name.len; i++) {
    if (memcmp(name.data + i, mark, sizeof mark - 1) != 0) continue;
    Str callee = {name.data + i + sizeof mark - 1, 0};
    while (callee.data + callee.len < name.data + name.len && callee.data[callee.len] != ')')
      callee.len++;
    if (str_equal(callee, str_make(main_name, sizeof main_name - 1))) continue;
    if (!has_function(module, frame_of(module, id), callee)) return true;
  }
  return false;
}

uint64_t role_key(const Finder *finder, InstId id) {
  return role_key_of(finder->forward->module, finder->named[id]);
}

/* Numbers in names are left out, because scopes of repetitions differ in them. */
uint64_t role_key_of(const Module *module, InstId id) {
  Str name = inst_op_name(module, id);
  uint64_t key = hash_mix(HASH_SEED, (uint64_t)frame_of(module, id));
  for (uint32_t i = 0; i < name.len; i++) {
    if (!char_is_digit(name.data[i])) key = hash_mix(key, (unsigned char)name.data[i]);
  }
  return key;
}

Role *role_of(Roles *roles, uint64_t key, SchedPos pos, Arena *arena) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&roles->table, key); id_probe_next(&probe, &id);) {
    if (roles->list.data[id].key == key) return &roles->list.data[id];
  }
  id_table_add(&roles->table, arena, key, roles->list.len);
  Role *role = vec_push(arena, &roles->list);
  *role = (Role){.key = key, .first = pos};
  return role;
}

void roles_add(Roles *roles, uint64_t key, SchedPos pos, Arena *arena) {
  Role *role = role_of(roles, key, pos, arena);
  role->count++;
  role->last = pos;
}

bool layer_is_work(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return !opcode_has(opcode, OPF_FREE) && !inst_is_pass_through(module, id) &&
         opcode != OPCODE_PARAMETER && opcode != OPCODE_CONSTANT;
}

bool finder_is_read_early(const Finder *finder, InstId id) {
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
    if (other != id && keys->of[other] == keys->of[id] && finder_is_read_early(finder, other))
      return true;
  }
  return false;
}

/* XLA repeats what takes little time in every fusion that reads it. What only the backward part
 * reads, such as a transposed copy for a weight's gradient, says nothing of how often the program
 * has computed it. */
void finder_find_copies(Finder *finder) {
  const Module *module = finder->forward->module;
  Arena *arena = arena_new(arena_options(finder->scratch));
  ValueKeys keys = value_keys_new(module, arena);
  IdTable table = {0};
  for (int pass = 0; pass < 2; pass++) {
    for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
      InstId id = finder->forward->sequence.ids[pos];
      if (pass == 0) {
        value_keys_read(&keys, id);
        if (pos >= finder->forward->begin && layer_is_work(module, id))
          id_table_add(&table, arena, keys.of[id], id);
      } else {
        finder->is_copy[id] =
            !finder_is_read_early(finder, id) && has_key(finder, &keys, &table, id);
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

bool layer_is_form_of_given(const Module *module, InstId id) {
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

/* Whether an instruction tells calls apart. What is computed from integers alone, such as random
 * numbers from a key, or masks from the numbers of segments, waits for no call: an order that goes
 * by breadth has that of all calls before the first one. */
bool role_tells_calls(const Finder *finder, InstId id) {
  const Module *module = finder->forward->module;
  return layer_is_work(module, id) && finder->is_of_floats[id] && !finder->is_copy[id] &&
         !layer_is_form_of_given(module, id);
}

/* ---- how often a function is called ---- */

bool layer_is_float(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  if (shape_is_tuple(shape)) return true;
  uint8_t kind = type_info((ElementType)shape->type)->class;
  return kind == TYPE_CLASS_FLOAT || kind == TYPE_CLASS_COMPLEX;
}

/* Whether an instruction of a fusion computes something, and is not only there because XLA writes
 * it so. A border cannot be moved across it. */
bool layer_is_inner_work(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return layer_is_work(module, id) && layer_is_float(module, id) && opcode != OPCODE_BROADCAST &&
         opcode != OPCODE_CONVERT && opcode != OPCODE_COPY && opcode != OPCODE_RESHAPE &&
         opcode != OPCODE_TRANSPOSE && frame_of(module, id) > 0;
}

static void count_frame(const Module *module, InstId id, FrameCounts *counts) {
  int32_t number = frame_of(module, id);
  bool is_counted = layer_is_float(module, id) && layer_is_work(module, id) && number > 0 &&
                    (uint32_t)number <= module->source->stack_frames.len;
  if (is_counted) counts->of[number]++;
}

/* Whether something is computed from floats that the computation is given. */
static bool is_of_floats(const Finder *finder, InstId id) {
  const Module *module = finder->forward->module;
  const Instruction *inst = inst_get(module, id);
  InstId first = inst->num_operands ? inst_operand(module, id, 0) : NO_ID;
  bool is_element = inst->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                    inst_get(module, first)->opcode == OPCODE_PARAMETER;
  if (inst->opcode == OPCODE_PARAMETER || is_element) return layer_is_float(module, id);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (finder->is_of_floats[inst_operand(module, id, i)]) return true;
  }
  return false;
}

/* What is computed from no argument belongs to no call and to no scope: XLA merges what is alike in
 * all of them. */
void finder_find_derived(Finder *finder) {
  const Module *module = finder->forward->module;
  for (SchedPos pos = 0; pos <= finder->forward->turn; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    const Instruction *inst = inst_get(module, id);
    bool is_derived = inst->opcode == OPCODE_PARAMETER;
    for (uint32_t i = 0; i < inst->num_operands && !is_derived; i++)
      is_derived = finder->is_derived[inst_operand(module, id, i)];
    finder->is_derived[id] = is_derived;
    finder->is_of_floats[id] = is_of_floats(finder, id);
  }
  for (SchedPos pos = 0; pos < finder->forward->begin; pos++)
    finder->is_derived[finder->forward->sequence.ids[pos]] = false;
}

FrameCounts frame_counts_of(const Finder *finder) {
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
      if (layer_is_inner_work(module, inner)) count_frame(module, inner, &counts);
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
uint32_t frame_counts_most_calls(const Module *module, const FrameCounts *counts, const Call *call,
                                 int32_t caller) {
  uint32_t least = UINT32_MAX;
  for (uint32_t number = 1; number <= module->source->stack_frames.len; number++) {
    if (counts->of[number] == 0 || counts->of[number] >= least) continue;
    if (call_on_stack(module, (int32_t)number, call) == caller &&
        !is_repeated(module, (int32_t)number, call))
      least = counts->of[number];
  }
  return least;
}

/* A call that what is at a position reads something of; NO_ID if there is none. */
uint32_t call_read(const Finder *finder, const Layers *layers, SchedPos pos) {
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

static SchedPos span_of(const Role *role) {
  return role->last - role->first;
}

/* The number that most roles have is how often the function is called, at most `most_calls`; the
 * first role that has it marks where each call begins. A role that a call has several times is
 * none, and neither is one whose occurrences lie beside each other: an order that goes by breadth
 * has what reads arguments alone, such as a projection of the time, of all calls before the first
 * one.
 */
Role roles_begin(const Finder *finder, const Layers *layers, const Roles *roles,
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
  SchedPos widest = 0;
  for (uint32_t i = 0; i < roles->list.len; i++) {
    const Role *role = &roles->list.data[i];
    if (role->count == best.count && span_of(role) > widest) widest = span_of(role);
  }
  for (uint32_t i = 0; i < roles->list.len; i++) {
    const Role *role = &roles->list.data[i];
    bool is_spread = role->count == best.count && 2 * span_of(role) >= widest;
    bool is_better = role->first < best.first || 2 * span_of(&best) < widest;
    if (is_spread && is_better) best = *role;
  }
  return with_last_call(finder, layers, roles, best, most_calls);
}
