/* Which of two calls instructions between them belong to, and what belongs to a call that is not
 * where it is: XLA fuses the calls of a function otherwise here and there, and may compute early
 * what it can. */
#include "advice/frames.h"
#include "advice/layer_finder.h"

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
void layers_move_border(const Finder *finder, Layers *layers, Roles *roles, uint32_t count,
                        uint32_t number) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  SchedPos tail[MOST_MOVED];
  uint32_t len = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers->instance_of[pos] != number) continue;
    InstId id = forward->sequence.ids[pos];
    bool is_in_each = layer_is_work(module, id) &&
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

/* ---- what a position alone does not tell ---- */

/* What has no place in the program, such as a conversion that XLA adds or a call of a kernel that
 * it makes of several operations, goes with what it is computed from. */
void layers_add_nameless(const Finder *finder, Layers *layers) {
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
void layers_settle_early(const Finder *finder, Layers *layers) {
  for (SchedPos pos = finder->forward->end + 1; pos-- > 0;) {
    uint32_t number = layers->instance_of[pos];
    if (number == NO_ID) continue;
    InstId id = finder->forward->sequence.ids[pos];
    uint32_t readers = call_of_readers(finder, layers, id);
    if (readers != NO_ID && readers != number && !reads_call(finder, layers, id, number))
      layers->instance_of[pos] = readers;
    if (!finder_is_read_early(finder, id) && !reads_call(finder, layers, id, NO_ID))
      layers->instance_of[pos] = OF_SOME_LAYER;
  }
}
