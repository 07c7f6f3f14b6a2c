/* Which of two calls instructions between them belong to, and what belongs to a call that is not
 * where it is: XLA fuses the calls of a function otherwise here and there, and may compute early
 * what it can. */
#include "advice/frames.h"
#include "advice/layer_finder.h"

/* ---- where one call ends and the next one begins ---- */

enum { MOST_MOVED = 64 }; /* instructions that may belong to either of two calls */

/* Whether the call or the next one reads a value, in whatever form, behind `border`. */
static bool is_read_across(const Finder *finder, const Layers *layers, InstId id, uint32_t number,
                           SchedPos border) {
  enum { MAX_FORMS = 32 };
  const Module *module = finder->forward->module;
  InstId forms[MAX_FORMS] = {id};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    for (uint32_t i = 0; i < inst_get(module, forms[at])->users.len; i++) {
      InstId reader = inst_users(module, forms[at])[i];
      SchedPos user = finder->positions[reader];
      if (user == NO_ID || user > finder->forward->end) continue;
      if (inst_is_pass_through(module, reader) && len < MAX_FORMS) forms[len++] = reader;
      uint32_t instance = layers->instance_of[user];
      if (user >= border && (instance == number || instance == number + 1)) return true;
    }
  }
  return false;
}

/* The bytes of arrays that a call makes before `border`, and that it or the next call reads behind
 * it. */
static int64_t bytes_across(const Finder *finder, const Layers *layers, uint32_t number,
                            SchedPos border) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  int64_t bytes = 0;
  for (SchedPos pos = 0; pos < border; pos++) {
    InstId id = forward->sequence.ids[pos];
    bool is_made = layers->instance_of[pos] == number && !inst_is_pass_through(module, id) &&
                   shape_is_array(inst_shape(module, id));
    if (is_made && is_read_across(finder, layers, id, number, border))
      bytes += inst_shape(module, id)->bytes;
  }
  return bytes;
}

/* What the calls of a function have of a role. */
typedef struct RoleUse {
  uint32_t num_all; /* in all calls */
  uint32_t num_own; /* in the call that is looked at, so far */
} RoleUse;

/* Roles, and those of one size: what weights are put together by has the name of what is done with
 * them, but calls may be of different sizes. */
typedef struct RoleUses {
  Roles roles;
  RoleUse *list; /* by role */
} RoleUses;

static RoleUse *use_of(const Finder *finder, RoleUses *uses, uint64_t key, SchedPos pos) {
  const Role *role = role_of(&uses->roles, key, pos, finder->scratch);
  return &uses->list[role - uses->roles.list.data];
}

static uint64_t sized_key(const Finder *finder, InstId id) {
  const Shape *shape = inst_shape(finder->forward->module, id);
  uint64_t size = shape_is_array(shape) ? (uint64_t)shape->num_elements : 0;
  return hash_mix(role_key(finder, id), size);
}

static RoleUses find_uses(const Finder *finder, const Layers *layers) {
  const ForwardPart *forward = finder->forward;
  RoleUses uses = {.list = arena_zarray(finder->scratch, RoleUse, 2 * ((size_t)forward->end + 1))};
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    if (!layer_is_work(forward->module, id)) continue;
    bool is_inside = layers->instance_of[pos] != NO_ID;
    use_of(finder, &uses, role_key(finder, id), pos)->num_all += is_inside;
    use_of(finder, &uses, sized_key(finder, id), pos)->num_all += is_inside;
  }
  return uses;
}

/* Whether an instruction is one that each call has, and has not more often in this call than in
 * others: what comes once more is of the next one. */
static bool is_in_each(const Finder *finder, RoleUses *uses, uint32_t count, SchedPos pos) {
  InstId id = finder->forward->sequence.ids[pos];
  if (!layer_is_work(finder->forward->module, id)) return false;
  RoleUse *use = use_of(finder, uses, role_key(finder, id), pos);
  RoleUse *sized = use_of(finder, uses, sized_key(finder, id), pos);
  use->num_own++;
  sized->num_own++;
  if (sized->num_all >= count) use = sized;
  return use->num_all >= count && use->num_own <= (use->num_all + count - 1) / count;
}

/* What follows the last instruction that each call has may be the end of this call, or the
 * beginning of the next one where the first call was fused otherwise. The border is where the
 * fewest bytes are handed on, the last such place. */
static void move_border(const Finder *finder, Layers *layers, RoleUses *uses, uint32_t count,
                        uint32_t number) {
  const ForwardPart *forward = finder->forward;
  SchedPos tail[MOST_MOVED];
  uint32_t len = 0;
  for (uint32_t role = 0; role < uses->roles.list.len; role++)
    uses->list[role].num_own = 0;
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    if (layers->instance_of[pos] != number) continue;
    if (is_in_each(finder, uses, count, pos)) {
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

/* What all calls together have of a role does not depend on the borders between them. */
void layers_move_borders(const Finder *finder, Layers *layers, uint32_t count, uint32_t first,
                         uint32_t end) {
  if (first >= end) return;
  RoleUses uses = find_uses(finder, layers);
  for (uint32_t number = first; number < end; number++)
    move_border(finder, layers, &uses, count, number);
}

/* ---- what a position alone does not tell ---- */

/* The calls whose products are counted. */
enum { MOST_COUNTED = 64 };

/* Whether a product without a place would be one more than any earlier call has. XLA:CPU leaves the
 * product by a narrow last layer without one, and it is not a part of the function before it. */
static bool is_one_more_product(const Layers *layers, const uint32_t *num_products,
                                uint32_t instance) {
  uint32_t most = 0;
  bool is_last = instance > 0 && instance + 1 == layers->num_instances && instance < MOST_COUNTED;
  if (!is_last) return false;
  for (uint32_t i = 0; i < instance; i++)
    most = num_products[i] > most ? num_products[i] : most;
  return num_products[instance] >= most;
}

/* The last call of which something without a place is computed; NO_ID if there is none: weights are
 * put together before the first one. */
static uint32_t call_of_nameless(const Finder *finder, const Layers *layers, SchedPos pos) {
  const ForwardPart *forward = finder->forward;
  InstId id = forward->sequence.ids[pos];
  uint32_t found = layers->instance_of[pos];
  for (uint32_t i = 0; i < inst_get(forward->module, id)->num_operands; i++) {
    SchedPos operand = finder->positions[inst_operand(forward->module, id, i)];
    if (operand == NO_ID || operand > forward->end) continue;
    uint32_t instance = layers->instance_of[operand];
    if (instance != NO_ID && (found == NO_ID || instance > found)) found = instance;
  }
  return found;
}

/* What has no place in the program, such as a conversion that XLA adds or a call of a kernel that
 * it makes of several operations, goes with what it is computed from. */
void layers_add_nameless(const Finder *finder, Layers *layers) {
  const ForwardPart *forward = finder->forward;
  const Module *module = forward->module;
  uint32_t num_products[MOST_COUNTED] = {0}; /* by call, of what is before the position */
  for (SchedPos pos = 0; pos <= forward->end; pos++) {
    InstId id = forward->sequence.ids[pos];
    bool is_nameless = finder->is_derived[id] && !frame_of(module, finder->named[id]) &&
                       !str_contains(inst_op_name(module, finder->named[id]), "/");
    uint32_t instance = is_nameless ? call_of_nameless(finder, layers, pos) : NO_ID;
    bool is_outside = finder->is_product[id] && is_one_more_product(layers, num_products, instance);
    if (instance != NO_ID && !is_outside) layers->instance_of[pos] = instance;
    if (layers->instance_of[pos] < MOST_COUNTED)
      num_products[layers->instance_of[pos]] += finder->is_product[id];
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
