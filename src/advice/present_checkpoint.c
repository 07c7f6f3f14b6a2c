#include "advice/present_checkpoint.h"

#include "advice/frames.h"

static Str name_of(const Module *module, InstId id) {
  if (!inst_metadata(module, id) && inst_get(module, id)->opcode == OPCODE_FUSION)
    id = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_op_name(module, id);
}

bool present_is_recomputed(const Module *module, InstId id) {
  return str_contains(name_of(module, id), "/rematted_computation");
}

static bool is_under_checkpoint(const Module *module, InstId id) {
  Str name = name_of(module, id);
  return str_contains(name, "/checkpoint/") && str_contains(name, "transpose(");
}

/* By InstId: the bytes at the peak of all its values, of which a tuple may have many. In scratch
 * memory. */
static int64_t *live_bytes_of(const Advisor *advisor) {
  int64_t *bytes = arena_zarray(advisor->scratch, int64_t, advisor->module->insts.len);
  for (uint32_t i = 0; i < advisor->live.len; i++)
    bytes[advisor->live.list[i].inst] += advisor->live.list[i].bytes;
  return bytes;
}

/* ---- why values wait ---- */

/* What no derivative computes from the results that it is given. */
static bool is_forward_work(Opcode opcode) {
  switch (opcode) {
    case OPCODE_DOT:
    case OPCODE_CONVOLUTION:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_REDUCE:
    case OPCODE_TANH:
    case OPCODE_LOGISTIC:
    case OPCODE_ERF:
    case OPCODE_RSQRT:
    case OPCODE_MAXIMUM: return true;
    default: return false;
  }
}

/* Whether anything in the module is computed again that is no derivative. Fused computations are
 * looked into: a fusion has one name only. */
static bool has_recomputed_work(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (is_forward_work((Opcode)inst_get(module, id)->opcode) && present_is_recomputed(module, id))
      return true;
  }
  return false;
}

/* Whether anything reads a value under a checkpoint, in this form or another one: a part of a
 * fusion with several results, a bitcast, a copy. Names may be long: it is asked once per
 * instruction. */
static bool is_read_under(const Module *module, InstId id) {
  enum { MAX_FORMS = 64 };
  InstId forms[MAX_FORMS] = {id};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    const Instruction *inst = inst_get(module, forms[at]);
    for (uint32_t u = 0; u < inst->users.len; u++) {
      InstId user = inst_users(module, forms[at])[u];
      if (is_under_checkpoint(module, user)) return true;
      bool is_form =
          inst_is_pass_through(module, user) || inst_get(module, user)->opcode == OPCODE_COPY;
      if (is_form && len < MAX_FORMS) forms[len++] = user;
    }
  }
  return false;
}

PresentCheckpoint present_checkpoint(const Advisor *advisor, Sequence sequence,
                                     const Layers *layers) {
  const Module *module = advisor->module;
  ArenaMark mark = arena_mark(advisor->scratch);
  int64_t *live_bytes = live_bytes_of(advisor);
  int64_t bytes = 0, under_bytes = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (layers->instance_of[pos] == NO_ID || live_bytes[id] == 0) continue;
    bytes += live_bytes[id];
    if (is_read_under(module, id)) under_bytes += live_bytes[id];
  }
  arena_reset(advisor->scratch, mark);
  if (bytes == 0 || 2 * under_bytes < bytes) return PRESENT_NONE;
  return has_recomputed_work(module) ? PRESENT_SAVES : PRESENT_MERGED;
}

const char *present_title(PresentCheckpoint present) {
  switch (present) {
    case PRESENT_MERGED: return ", since the one that is there computes nothing again";
    case PRESENT_SAVES: return ", since the one that is there saves much";
    default: return "";
  }
}

const char *present_explanation(PresentCheckpoint present) {
  switch (present) {
    case PRESENT_MERGED:
      return " There is a checkpoint already, but nothing of the forward part is computed again: "
             "either XLA has merged the two, because `prevent_cse=False` was given outside of a "
             "scan, or its policy saves everything. Leave `prevent_cse` at True, and the policy "
             "away.";
    case PRESENT_SAVES:
      return " There is a checkpoint already, and its policy or the names that it saves keep these "
             "values. Leave the policy away, or let it save less.";
    default: return "";
  }
}

const char *present_note(PresentCheckpoint present) {
  switch (present) {
    case PRESENT_MERGED: return "  # in place of the one with prevent_cse=False or a policy";
    case PRESENT_SAVES: return "  # in place of the one whose policy saves these values";
    default: return "";
  }
}

/* ---- what is computed again at once ---- */

/* +1 for what is computed again, -1 for the rest of the backward part. */
static int weight_of(const Module *module, InstId id) {
  if (present_is_recomputed(module, id)) return 1;
  return str_contains(name_of(module, id), "transpose(") ? -1 : 0;
}

/* From a position on in one direction, the last one of the stretch in which most is computed again.
 */
static SchedPos end_of_stretch(const Module *module, Sequence sequence, SchedPos from, int step) {
  int64_t balance = 0, best = 0;
  SchedPos end = from;
  for (int64_t pos = (int64_t)from + step; pos >= 0 && pos < (int64_t)sequence.len; pos += step) {
    balance += weight_of(module, sequence.ids[pos]);
    if (balance <= best) continue;
    best = balance;
    end = (SchedPos)pos;
  }
  return end;
}

ForwardPart recomputed_part_of(const Advisor *advisor, Sequence sequence, bool *is_only) {
  const Module *module = advisor->module;
  ForwardPart part = {.module = module, .sequence = sequence, .begin = NO_ID, .end = NO_ID};
  ArenaMark mark = arena_mark(advisor->scratch);
  int64_t *live_bytes = live_bytes_of(advisor);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (live_bytes[id] == 0 || !present_is_recomputed(module, id)) continue;
    if (part.begin == NO_ID) part.begin = pos;
    part.end = pos;
  }
  arena_reset(advisor->scratch, mark);
  if (part.end == NO_ID) return part;
  part.begin = end_of_stretch(module, sequence, part.begin, -1);
  part.end = end_of_stretch(module, sequence, part.end, 1);
  part.turn = part.end;
  uint32_t num_inside = 0, num_outside = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    bool is_inside = pos >= part.begin && pos <= part.end;
    if (!present_is_recomputed(module, sequence.ids[pos])) continue;
    num_inside += is_inside;
    num_outside += !is_inside;
  }
  *is_only = 20 * num_outside <= num_inside; /* XLA moves some out of it, to what reads it */
  return part;
}

double recomputed_seconds(const Advisor *advisor, const ForwardPart *part) {
  const Module *module = advisor->module;
  const DeviceProfile *device = advisor->request->device;
  Arena *arena = arena_new(arena_options(advisor->scratch)), *scratch = advisor->scratch;
  CostTable costs = cost_analyze(module, arena, scratch);
  const double *runs =
      cost_runs(module, &costs, device, advisor->request->default_trip_count, arena, scratch);
  double seconds = 0;
  for (SchedPos pos = part->begin; pos <= part->end; pos++) {
    InstId id = part->sequence.ids[pos];
    if (present_is_recomputed(module, id))
      seconds += runs[inst_get(module, id)->parent] * cost_seconds(module, &costs, device, id);
  }
  arena_free(arena);
  return seconds;
}

/* ---- places ---- */

static bool has_checkpoints(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (str_contains(inst_op_name(module, id), "/checkpoint/")) return true;
  }
  return false;
}

static uint32_t depth_of(const Module *module, int32_t number) {
  SourceFrame frame;
  uint32_t depth = 0;
  for (; depth < MAX_STACK_DEPTH && source_frame_get(module, number, &frame); depth++)
    number = frame.parent;
  return depth;
}

/* Whether a function is on the stack of a frame. What a policy saves is traced again under the
 * stack of what made it, which then has the function twice. */
static bool is_on_stack(const Module *module, int32_t number, Str function) {
  SourceFrame frame;
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) return false;
    if (str_equal(frame.function, function)) return true;
  }
  return false;
}

SourcePlace present_place(const Module *module, Str function, SourcePlace place) {
  uint32_t deepest = 0;
  if (!has_checkpoints(module)) return place;
  SourcePlace found = place;
  for (uint32_t number = 1; number <= module->source->stack_frames.len; number++) {
    SourceFrame frame, caller;
    if (!source_frame_get(module, (int32_t)number, &frame)) continue;
    if (!str_equal(frame.function, function)) continue;
    uint32_t depth = depth_of(module, frame_outside_libraries(module, frame.parent, &caller));
    bool is_call = caller.file.len && !is_on_stack(module, frame.parent, function);
    if (depth <= deepest || !is_call) continue;
    deepest = depth;
    found = (SourcePlace){.file = caller.file, .line = caller.line};
  }
  return found;
}
