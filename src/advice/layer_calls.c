/* Which instruction of the forward part is of which call of a function. */
#include "advice/frames.h"
#include "advice/layer_finder.h"

enum { LEAST_INSTRUCTIONS = 2 };

/* ---- which functions are called ---- */

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
      *vec_push(finder->scratch, &finder->calls) =
          (Call){.function = frame.function, .file = frame.file, .caller = frame.parent};
    }
  }
}

/* ---- the calls ---- */

/* Whether a fusion outside of all calls has instructions of the function in it. */
static bool has_end(const Finder *finder, const Call *call, InstId id) {
  const Module *module = finder->forward->module;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (layer_is_work(module, inner) && call_on_stack(module, frame_of(module, inner), call))
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
    if (layer_is_inner_work(module, inner) && !frame_is_of_first_call(module, inner) &&
        call_on_stack(module, frame_of(module, inner), call) != caller)
      return true;
  }
  return false;
}

/* Whether the backward part reads a value in derivatives of the function only. */
static bool is_of_call_later(const Finder *finder, const Call *call, InstId id) {
  const Module *module = finder->forward->module;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    SchedPos pos = finder->positions[user];
    bool is_early = pos != NO_ID && pos <= finder->forward->end;
    if (!is_early && !call_on_stack(module, frame_of(module, finder->named[user]), call))
      return false;
  }
  return true;
}

/* Whether a fusion reads one array of its own size and nothing else that is large: what comes
 * before the call, such as adding a bias, is little, and that array is as good as what the call is
 * given, which waits in place of it. */
static bool reads_what_is_given(const Finder *finder, const Call *call, InstId id) {
  enum { MUCH_SMALLER = 8 };
  const Module *module = finder->forward->module;
  const Shape *own = inst_shape(module, id);
  uint32_t count = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    const Shape *shape = inst_shape(module, operand);
    if (!shape_is_array(shape) || !shape_is_array(own)) return false;
    if (MUCH_SMALLER * shape->num_elements < own->num_elements) continue;
    bool is_alike = shape->num_elements == own->num_elements && shape->type == own->type;
    if (!is_alike || !is_of_call_later(finder, call, operand)) return false;
    count++;
  }
  return count == 1;
}

/* One function, as it is numbered. */
typedef struct Numbering {
  Finder *finder;
  const FrameCounts *counts;
  uint32_t number; /* of the finder's calls */
  const Call *call;
  Layers *layers;
  bool *begins; /* by position: before a call, and ends in it */
} Numbering;

/* The numbers of the frames that call the function. */
static void find_callers(const Numbering *numbering, IdVec *callers) {
  const Finder *finder = numbering->finder;
  const Module *module = finder->forward->module;
  for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
    InstId named = finder->named[finder->forward->sequence.ids[pos]];
    int32_t caller = call_on_stack(module, frame_of(module, named), numbering->call);
    bool is_new = caller != 0;
    for (uint32_t i = 0; i < callers->len; i++)
      is_new &= callers->data[i] != (uint32_t)caller;
    if (is_new) *vec_push(finder->scratch, callers) = (uint32_t)caller;
  }
}

static bool is_called_from(const Numbering *numbering, int32_t caller, InstId id) {
  const Finder *finder = numbering->finder;
  const Module *module = finder->forward->module;
  int32_t frame = frame_of(module, finder->named[id]);
  return call_on_stack(module, frame, numbering->call) == caller && finder->is_derived[id];
}

/* Returns the number of instructions that are called from a frame, and fills in what tells calls
 * apart. */
static uint32_t find_roles(const Numbering *numbering, int32_t caller, Roles *roles) {
  const Finder *finder = numbering->finder;
  uint32_t count = 0;
  for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    if (!is_called_from(numbering, caller, id)) continue;
    if (role_tells_calls(finder, id)) roles_add(roles, role_key(finder, id), pos, finder->scratch);
    count++;
  }
  return count;
}

/* The function is not called more often from a frame. Lines of a loop may be executed in some of
 * its steps only. */
static uint32_t most_calls(const Numbering *numbering, int32_t caller) {
  const Finder *finder = numbering->finder;
  const CallSite *site = call_site_of(finder, numbering->number, caller);
  if (numbering->call->first_line && site) return site->most_calls;
  uint32_t most =
      frame_counts_most_calls(finder->forward->module, numbering->counts, numbering->call, caller);
  return site && site->most_calls < most ? site->most_calls : most;
}

/* Numbers the calls from one frame. */
static void number_from(const Numbering *numbering, int32_t caller, Roles *roles) {
  const Finder *finder = numbering->finder;
  const ForwardPart *forward = finder->forward;
  Layers *layers = numbering->layers;
  uint32_t most = most_calls(numbering, caller);
  Role begin = roles_begin(finder, layers, roles, most);
  uint32_t number = layers->num_instances, num_begun = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    if (!is_called_from(numbering, caller, id)) continue;
    bool is_begin = role_key(finder, id) == begin.key && role_tells_calls(finder, id);
    if (is_begin && num_begun++ > 0) number++;
    /* tracing that was done before has left other stacks at the end of an earlier call */
    uint32_t earlier = num_begun == 0 ? call_read(finder, layers, pos) : NO_ID;
    if (earlier != NO_ID) layers->instance_of[pos] = earlier;
    if (earlier != NO_ID) continue;
    numbering->begins[pos] = begins_before(finder, numbering->call, caller, id) &&
                             !reads_what_is_given(finder, numbering->call, id);
    if (!numbering->begins[pos]) layers->instance_of[pos] = number;
    layers->num_instances = number + 1;
  }
  uint32_t first = number - (num_begun > 0 ? num_begun - 1 : 0);
  layers_move_borders(finder, layers, begin.count, first, number);
}

/* Numbers the calls of a function. Calls from different frames are different ones. */
static void number_calls(const Numbering *numbering) {
  const Finder *finder = numbering->finder;
  Layers *layers = numbering->layers;
  IdVec callers = {0};
  uint32_t num_insts = 0;
  find_callers(numbering, &callers);
  for (uint32_t c = 0; c < callers.len; c++) {
    Roles roles = {0};
    num_insts += find_roles(numbering, (int32_t)callers.data[c], &roles);
    if (roles.list.len) number_from(numbering, (int32_t)callers.data[c], &roles);
  }
  if (num_insts < LEAST_INSTRUCTIONS) layers->num_instances = 0;
  layers_add_nameless(finder, layers);
  for (SchedPos pos = 0; pos <= finder->forward->end; pos++)
    layers->is_end[pos] = layers->instance_of[pos] == NO_ID && !numbering->begins[pos] &&
                          has_end(finder, numbering->call, finder->forward->sequence.ids[pos]);
  if (layers->num_instances > 1) layers_settle_early(finder, layers);
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
  if (!layer_is_inner_work(module, id) || !call_on_stack(module, frame, call)) return true;
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

uint32_t *layers_new_instances(const Finder *finder) {
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
    if (frame > 0 && !call_on_stack(module, frame, call)) return false;
  }
  return true;
}

/* Where a function is called, or where a step is. */
static SourcePlace place_of(const Module *module, const Call *call) {
  SourceFrame caller;
  if (call->first_line) return (SourcePlace){.file = call->file, .line = call->first_line};
  /* the frame that calls it through libraries is of no use as a place */
  (void)frame_outside_libraries(module, call->caller, &caller);
  return (SourcePlace){.file = caller.file, .line = caller.line};
}

/* Of a function of which nothing tells whether it is called several times, the step of the loop
 * that may be in it. */
static void note_steps(const Finder *finder, uint32_t number, Layers *layers) {
  const Call *call = &finder->calls.data[number];
  layers->is_step = call->first_line > 0;
  layers->first_line = call->first_line;
  layers->last_line = call->last_line;
  for (uint32_t i = 0; i < finder->sites.len && !layers->is_step; i++) {
    const CallSite *site = &finder->sites.data[i];
    if (site->call != number || site->first_line == 0) continue;
    layers->first_line = site->first_line;
    layers->last_line = site->last_line;
  }
}

static void add_call(Finder *finder, const FrameCounts *counts, uint32_t number) {
  const Call *call = &finder->calls.data[number];
  uint32_t length = finder->forward->sequence.len;
  Layers layers = {.function = call->function,
                   .call = number,
                   .place = place_of(finder->forward->module, call),
                   .instance_of = layers_new_instances(finder),
                   .is_end = arena_zarray(finder->out, bool, length)};
  note_steps(finder, number, &layers);
  number_calls(&(Numbering){.finder = finder,
                            .counts = counts,
                            .number = number,
                            .call = call,
                            .layers = &layers,
                            .begins = arena_zarray(finder->scratch, bool, length)});
  if (layers.num_instances) *vec_push(finder->out, &finder->found->list) = layers;
}

void layers_add_functions(Finder *finder) {
  const Module *module = finder->forward->module;
  find_calls(finder);
  loop_steps_find(finder);
  FrameCounts counts = frame_counts_of(finder);
  for (uint32_t i = 0; i < finder->calls.len; i++) {
    const Call *call = &finder->calls.data[i];
    bool is_whole = call->first_line == 0 && is_outside(module, call);
    if (!is_whole && !is_one_operation(finder, call)) add_call(finder, &counts, i);
  }
}
