#include "advice/layers.h"

#include <stdlib.h>

#include "advice/frames.h"
#include "advice/layer_finder.h"
#include "remat/algorithms/forward_end.h"

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

/* The pattern that all names of a function's instructions begin with, down to a part with a number.
 */
static Str common_scope(const ForwardPart *forward, const Layers *layers, Arena *out,
                        Arena *scratch) {
  Str common = {0};
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers->instance_of[pos] == NO_ID) continue;
    Str path = scope_numbered_path(forward->module, forward->sequence.ids[pos], 0, scratch);
    if (!path.len) continue;
    Str pattern = scope_starred(path, out);
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

/* Whether something of one function is outside of another one. */
static bool is_partly_outside(const ForwardPart *forward, const Layers *inner,
                              const Layers *outer) {
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    uint32_t instance = inner->instance_of[pos];
    if (instance < inner->num_instances && outer->instance_of[pos] == NO_ID) return true;
  }
  return false;
}

/* Whether a function is called once and calls another one, of which not all is in it: JAX traces a
 * function once, and the stacks of further calls do not have what calls it. A checkpoint around the
 * outer one would compute all of that again, and more than can be seen. */
static bool is_seen_in_part(const Finder *finder, uint32_t outer) {
  const Layers *list = finder->found->list.data;
  if (list[outer].num_instances != 1 || !list[outer].function.len) return false;
  for (uint32_t i = 0; i < finder->found->list.len; i++) {
    bool is_called =
        i != outer && list[i].function.len && is_called_in(finder, list[i].call, list[outer].call);
    if (is_called && is_partly_outside(finder->forward, &list[i], &list[outer])) return true;
  }
  return false;
}

static uint32_t count_work(const Finder *finder, const Layers *layers) {
  uint32_t count = 0;
  for (SchedPos pos = 0; pos <= finder->forward->end; pos++) {
    InstId id = finder->forward->sequence.ids[pos];
    count +=
        layers->instance_of[pos] != NO_ID && finder->is_derived[id] && role_tells_calls(finder, id);
  }
  return count;
}

/* Drops what is called once and does nearly all of the forward part, such as the program's main
 * function: a checkpoint around everything computes everything again at once, and saves nothing. */
static void drop_whole(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  Layers *list = finder->found->list.data;
  uint32_t num_work = 0, len = 0;
  bool *is_partial = arena_zarray(finder->scratch, bool, finder->found->list.len);
  for (uint32_t i = 0; i < finder->found->list.len; i++)
    is_partial[i] = is_seen_in_part(finder, i);
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    num_work += role_tells_calls(finder, id) && finder->is_derived[id];
  }
  for (uint32_t i = 0; i < finder->found->list.len; i++) {
    bool is_whole =
        list[i].num_instances == 1 && 20 * count_work(finder, &list[i]) >= 19 * num_work;
    if (!is_whole && !is_partial[i]) list[len++] = list[i];
  }
  finder->found->list.len = len;
}

/* Whether an operation is of a derivative that is differentiated again:
 * `jvp(vmap(transpose(jvp()))` has a transpose inside of a part of its name, and outside of that,
 * what is differentiated. */
static bool is_differentiated_again(const Module *module, InstId id) {
  static const char inner[] = "transpose(", outer[] = "jvp(";
  Str name = inst_op_name(module, id);
  bool is_inside = false;
  for (uint32_t i = 0; i < name.len; i++) {
    if (name.data[i] == '/') is_inside = false;
    uint32_t rest = name.len - i;
    if (is_inside && rest >= sizeof inner && memcmp(name.data + i, inner, sizeof inner - 1) == 0)
      return true;
    is_inside |= rest >= sizeof outer && memcmp(name.data + i, outer, sizeof outer - 1) == 0;
  }
  return false;
}

static bool is_differentiated(const Module *module, InstId id) {
  return str_contains(inst_op_name(module, id), "jvp(");
}

/* Whether a part of what is inside `layers`, or of the whole forward part, is meant. */
static bool has_part(const ForwardPart *forward, const Layers *layers, InstTest *is_meant) {
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers && layers->instance_of[pos] == NO_ID) continue;
    if (inst_any_fused(forward->module, forward->sequence.ids[pos], is_meant)) return true;
  }
  return false;
}

/* Whether an operation was traced in a function, or in the step of a loop in it. */
static bool is_traced_in(const Module *module, InstId id, const Layers *layers) {
  SourceFrame frame;
  int32_t number = frame_of(module, id);
  for (int depth = 0; depth < MAX_STACK_DEPTH; depth++, number = frame.parent) {
    if (!source_frame_get(module, number, &frame)) return false;
    bool is_line =
        !layers->is_step || (frame.line >= layers->first_line && frame.line <= layers->last_line);
    if (is_line && str_equal(frame.function, layers->function)) return true;
  }
  return false;
}

/* Whether an operation of a derivative was traced there. */
static bool is_derivative_of(const Module *module, InstId id, const Layers *layers) {
  return str_contains(inst_op_name(module, id), "transpose(") && is_traced_in(module, id, layers);
}

/* Whether the function is differentiated twice somewhere else: a checkpoint is around all its
 * calls, those of the inner steps of what learns to learn, too. */
static bool is_again_elsewhere(const ForwardPart *forward, const Layers *layers) {
  const Module *module = forward->module;
  for (SchedPos pos = 0; pos < forward->sequence.len && layers->function.len; pos++) {
    InstId id = forward->sequence.ids[pos];
    if (is_differentiated_again(module, id) && is_traced_in(module, id, layers)) return true;
  }
  return false;
}

/* Drops what is differentiated twice: its checkpoint would compute again in each of the two
 * derivatives, and the inner one has its own forward and backward part, which nothing here knows.
 * Drops what is not differentiated at all, such as the update of an optimizer: a checkpoint around
 * it does nothing. */
static void drop_by_derivatives(Finder *finder) {
  const ForwardPart *forward = finder->forward;
  Layers *list = finder->found->list.data;
  uint32_t len = 0;
  bool has_names = has_part(forward, NULL, is_differentiated);
  for (uint32_t i = 0; i < finder->found->list.len; i++) {
    if (has_part(forward, &list[i], is_differentiated_again)) continue;
    if (is_again_elsewhere(forward, &list[i])) continue;
    if (has_names && !has_part(forward, &list[i], is_differentiated)) continue;
    list[len++] = list[i];
  }
  finder->found->list.len = len;
}

/* The number of instructions inside; what is there once counts less, because a checkpoint around
 * all of it computes all of it again at once. A function with most of the step of a loop comes
 * before that: it has a name, and the step has to be made a function. */
static uint32_t size_of(const Layers *layers, const ForwardPart *forward) {
  uint32_t size = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++)
    size += layers->instance_of[pos] != NO_ID;
  if (layers->num_instances == 1) return size / 4;
  return layers->is_step ? size - size / 5 : size;
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

SchedPos layers_turn(const ForwardPart *forward, const Layers *layers) {
  const Module *module = forward->module;
  for (SchedPos pos = forward->end + 1; pos <= forward->turn && layers->function.len; pos++) {
    InstId id = forward->sequence.ids[pos];
    if (inst_get(module, id)->opcode != OPCODE_FUSION) continue;
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      if (is_derivative_of(module, comp_inst(module, comp, i), layers)) return pos - 1;
    }
  }
  return forward->turn;
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
  finder.is_of_floats = arena_zarray(scratch, bool, forward->module->insts.len);
  finder.is_product = find_products(forward->module, scratch, scratch);
  finder.is_copy = arena_zarray(scratch, bool, forward->module->insts.len);
  finder_find_derived(&finder);
  finder_find_copies(&finder);
  layers_add_functions(&finder);
  for (uint32_t i = 0; i < found.list.len; i++)
    found.list.data[i].scope = common_scope(forward, &found.list.data[i], out, scratch);
  drop_callers(&finder);
  layers_add_scopes(&finder);
  take_scopes(&finder);
  drop_callers(&finder);
  drop_whole(&finder);
  drop_by_derivatives(&finder);
  for (uint32_t i = 0; i < found.list.len; i++)
    found.list.data[i].size = size_of(&found.list.data[i], forward);
  if (found.list.len) qsort(found.list.data, found.list.len, sizeof *found.list.data, by_size);
  arena_reset(scratch, mark);
  return found;
}
