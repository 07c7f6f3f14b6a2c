#include "analysis/memory/tracker.h"

#include <assert.h>

#include "analysis/memory/remat_memory.h"
#include "ir/sort.h"

bool alias_is_pass_through(const Module *module, InstId definer, InstId alias) {
  if (alias == definer) return true;
  if (!inst_is_pass_through(module, alias)) return false;
  InstId source = inst_operand(module, alias, 0);
  return source == definer || !inst_attr(module, source, ATTR_OUTPUT_TO_OPERAND_ALIASING);
}

/* ---- building ---- */

/* The operands of an instruction with many of them, such as the tuple that a computation returns:
 * their numbers (id), in order, by the instruction that is read (key). */
typedef struct WideUser {
  InstId user;
  const SortItem *operands;
} WideUser;

typedef struct Builder {
  Tracker *tracker;
  const PointsTo *points_to;
  TrackedId *tracked_of; /* by LogicalId */
  VEC(WideUser) wide_users;
  IdVec numbers; /* of operands, for collect_uses() */
  Arena *scratch;
} Builder;

static const SortItem *wide_operands(Builder *builder, InstId user) {
  RematItem *item = item_get(builder->tracker->list, user);
  uint32_t len = inst_get(builder->tracker->module, user)->num_operands;
  bool is_known =
      item->wide < builder->wide_users.len && builder->wide_users.data[item->wide].user == user;
  if (is_known) return builder->wide_users.data[item->wide].operands;
  SortItem *operands = arena_array(builder->scratch, SortItem, len);
  for (uint32_t i = 0; i < len; i++)
    operands[i] = (SortItem){inst_operand(builder->tracker->module, user, i), i};
  sort_by_key(operands, len, builder->scratch);
  item->wide = builder->wide_users.len;
  *vec_push(builder->scratch, &builder->wide_users) = (WideUser){user, operands};
  return operands;
}

/* Lists the numbers of the user's operands that are `source`. */
static void list_operands(Builder *builder, InstId source, InstId user, IdVec *numbers) {
  enum { MANY_OPERANDS = 64 };
  const Module *module = builder->tracker->module;
  uint32_t len = inst_get(module, user)->num_operands;
  numbers->len = 0;
  if (len <= MANY_OPERANDS) {
    for (uint32_t n = 0; n < len; n++)
      if (inst_operand(module, user, n) == source) *vec_push(builder->scratch, numbers) = n;
    return;
  }
  const SortItem *operands = wide_operands(builder, user);
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (operands[middle].key < source) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < len && operands[low].key == source; low++)
    *vec_push(builder->scratch, numbers) = operands[low].id;
}

/* The uses of a logical buffer in XLA's order, each position once. */
static void collect_uses(Builder *builder, LogicalId logical, BufferUses *uses, bool *is_indirect) {
  const Tracker *tracker = builder->tracker;
  const Module *module = tracker->module;
  const PointsTo *points_to = builder->points_to;
  InstId definer = points_to->buffers.data[logical].inst;
  uint32_t first_of_inst = uses->len; /* a repeated use comes from the same aliasing instruction */
  InstId last_inst = NO_ID;
  for (uint32_t i = points_to->first_alias[logical]; i < points_to->first_alias[logical + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    if (alias.inst != last_inst) first_of_inst = uses->len;
    uint32_t num_known = uses->len;
    bool passes_on = alias_is_pass_through(module, definer, alias.inst);
    for (uint32_t k = 0; k < inst_get(module, alias.inst)->users.len; k++) {
      InstId user = inst_users(module, alias.inst)[k];
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      if (!passes_on) *is_indirect = true;
      list_operands(builder, alias.inst, user, &builder->numbers);
      for (uint32_t n = 0; n < builder->numbers.len; n++) {
        BufferUse use = {user, builder->numbers.data[n]};
        bool is_known = false;
        for (uint32_t u = first_of_inst; alias.inst == last_inst && u < num_known; u++) {
          is_known |= uses->data[u].user == use.user && uses->data[u].operand == use.operand;
        }
        if (!is_known) *vec_push(tracker->arena, uses) = use;
      }
    }
    last_inst = alias.inst;
  }
}

/* The number of distinct users. No other buffer may have the number `id`. */
static uint32_t count_users(const ItemList *list, const BufferUses *uses, TrackedId id) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->len; i++) {
    RematItem *user = item_get(list, uses->data[i].user);
    count += user->counted != id + 1;
    user->counted = id + 1;
  }
  return count;
}

/* A loop defines no buffers: its state has the memory of its initial value. */
static void merge_while(Builder *builder, InstId id, LogicalId logical) {
  Tracker *tracker = builder->tracker;
  uint32_t part = builder->points_to->buffers.data[logical].part;
  InstId init = inst_operand(tracker->module, id, 0);
  TrackedId tracked = builder->tracked_of[points_to_part(builder->points_to, init, part)];
  builder->tracked_of[logical] = tracked;
  TrackedBuffer *buffer = tracked_buffer(tracker, tracked);
  buffer->has_indirect_uses = true;
  BufferUses uses = {0};
  bool ignored = false;
  collect_uses(builder, logical, &uses, &ignored);
  for (uint32_t i = 0; i < uses.len; i++) {
    bool is_known = false;
    for (uint32_t k = 0; k < buffer->uses.len; k++) {
      is_known |= buffer->uses.data[k].user == uses.data[i].user;
    }
    if (is_known) continue;
    buffer->num_unfinished++;
    *vec_push(tracker->arena, &item_get(tracker->list, uses.data[i].user)->used) = tracked;
    *vec_push(tracker->arena, &buffer->uses) = uses.data[i];
  }
}

static void define(Builder *builder, InstId id, LogicalId logical) {
  Tracker *tracker = builder->tracker;
  const LogicalBuffer *source = &builder->points_to->buffers.data[logical];
  TrackedId tracked = tracker->buffers.len;
  builder->tracked_of[logical] = tracked;
  TrackedBuffer *buffer = vec_push(tracker->arena, &tracker->buffers);
  *buffer = (TrackedBuffer){
      .definer = id,
      .shape = source->shape,
      .bytes = remat_sizes(tracker->module)->of_part(tracker->module, source->shape),
      .depth = source->depth,
      .element = NO_ID};
  if (source->depth == 1) {
    buffer->element = shape_element_of_part(inst_shape(tracker->module, id), source->part);
  }
  collect_uses(builder, logical, &buffer->uses, &buffer->has_indirect_uses);
  buffer->num_unfinished = count_users(tracker->list, &buffer->uses, tracked);
  *vec_push(tracker->arena, &item_get(tracker->list, id)->defined) = tracked;
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    IdVec *used = &item_get(tracker->list, buffer->uses.data[i].user)->used;
    if (used->len && used->data[used->len - 1] == tracked) continue;
    *vec_push(tracker->arena, used) = tracked;
  }
}

static void set_output(Tracker *tracker, InstId id, TrackedId buffer) {
  if (!shape_is_array(inst_shape(tracker->module, id))) return;
  item_get(tracker->list, id)->output = buffer;
}

static void mark_live_out(Builder *builder, CompId comp) {
  Tracker *tracker = builder->tracker;
  InstId root = comp_get(tracker->module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(tracker->module, root)->num_parts; part++) {
    TrackedId tracked = builder->tracked_of[points_to_part(builder->points_to, root, part)];
    tracked_buffer(tracker, tracked)->is_live_out = true;
  }
  for (TrackedId id = 0; id < tracker->buffers.len; id++) {
    TrackedBuffer *buffer = tracked_buffer(tracker, id);
    bool is_param = inst_get(tracker->module, buffer->definer)->opcode == OPCODE_PARAMETER;
    if (buffer->is_live_out || is_param) buffer->bytes = 0;
  }
}

Tracker tracker_build(Module *module, const PointsTo *points_to, ItemList *list, CompId comp,
                      Arena *out, Arena *scratch) {
  Tracker tracker = {.module = module, .list = list, .in_progress = NO_ID, .arena = out};
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {
      .tracker = &tracker,
      .points_to = points_to,
      .tracked_of = arena_array(scratch, TrackedId, points_to->buffers.len),
      .scratch = scratch,
  };
  for (InstId id = list->first; id != NO_ID; id = item_get(list, id)->next) {
    for (uint32_t i = 0; i < points_to->num_defined[id]; i++) {
      LogicalId logical = points_to->first_buffer[id] + i;
      if (inst_get(module, id)->opcode == OPCODE_WHILE) {
        merge_while(&builder, id, logical);
      } else {
        define(&builder, id, logical);
      }
    }
    set_output(&tracker, id, builder.tracked_of[points_to_part(points_to, id, 0)]);
  }
  mark_live_out(&builder, comp);
  arena_reset(scratch, mark);
  return tracker;
}

/* ---- placing ---- */

void tracker_begin(Tracker *tracker, InstId id) {
  assert(tracker->in_progress == NO_ID && "one instruction at a time");
  tracker->in_progress = id;
  item_get(tracker->list, id)->is_placed = true;
  tracker->memory_bytes += tracker_defined_bytes(tracker, id);
}

/* Frees the buffers that have no readers left after `id` has ended. */
static void release(Tracker *tracker, InstId id) {
  const RematItem *item = item_get(tracker->list, id);
  for (uint32_t i = 0; i < item->used.len; i++) {
    TrackedBuffer *buffer = tracked_buffer(tracker, item->used.data[i]);
    assert(buffer->num_unfinished > 0 && "a buffer is read as often as was counted");
    if (--buffer->num_unfinished == 0) tracker->memory_bytes -= buffer->bytes;
  }
  for (uint32_t i = 0; i < item->defined.len; i++) {
    const TrackedBuffer *buffer = tracked_buffer(tracker, item->defined.data[i]);
    if (buffer->num_unfinished == 0) tracker->memory_bytes -= buffer->bytes;
  }
}

void tracker_end(Tracker *tracker) {
  release(tracker, tracker->in_progress);
  tracker->in_progress = NO_ID;
}

int64_t tracker_defined_bytes(const Tracker *tracker, InstId id) {
  const RematItem *item = item_get(tracker->list, id);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < item->defined.len; i++) {
    bytes += tracked_buffer(tracker, item->defined.data[i])->bytes;
  }
  return bytes;
}

int64_t tracker_read_bytes(const Tracker *tracker, InstId id) {
  const RematItem *item = item_get(tracker->list, id);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < item->defined.len; i++) {
    const TrackedBuffer *buffer = tracked_buffer(tracker, item->defined.data[i]);
    if (buffer->uses.len) bytes += buffer->bytes;
  }
  return bytes;
}

/* ---- the effect of a rematerialization ---- */

/* Asks the shorter one of two lists: a result of many parts is read by as many uses at once. */
static bool is_in_use(const Tracker *tracker, TrackedId id) {
  enum { FEW = 16 };
  if (tracker->in_progress == NO_ID) return false;
  const IdVec *used = &item_get(tracker->list, tracker->in_progress)->used;
  const BufferUses *uses = &tracked_buffer(tracker, id)->uses;
  if (used->len > FEW && uses->len < used->len) {
    for (uint32_t i = 0; i < uses->len; i++) {
      if (uses->data[i].user == tracker->in_progress) return true;
    }
    return false;
  }
  for (uint32_t i = 0; i < used->len; i++) {
    if (used->data[i] == id) return true;
  }
  return false;
}

static bool contains(const InstId *ids, uint32_t len, InstId id) {
  for (uint32_t i = 0; i < len; i++) {
    if (ids[i] == id) return true;
  }
  return false;
}

int64_t tracker_bytes_reduced(const Tracker *tracker, const InstId *block, uint32_t len) {
  int64_t reduced = 0;
  for (uint32_t i = 0; i < len; i++) {
    const RematItem *item = item_get(tracker->list, block[i]);
    for (uint32_t k = 0; k < item->defined.len; k++) {
      TrackedId id = item->defined.data[k];
      const TrackedBuffer *buffer = tracked_buffer(tracker, id);
      if (!tracker_is_live(tracker, id)) continue;
      if (is_in_use(tracker, id)) return 0;
      reduced += buffer->bytes;
    }
    /* Its operands that are dead otherwise would have to stay live. */
    for (uint32_t k = 0; k < item->used.len; k++) {
      const TrackedBuffer *buffer = tracked_buffer(tracker, item->used.data[k]);
      if (tracker_is_live(tracker, item->used.data[k])) continue;
      if (!contains(block, i, buffer->definer)) reduced -= buffer->bytes;
    }
  }
  return reduced;
}

static bool has_unplaced_user(const Tracker *tracker, InstId id) {
  for (uint32_t i = 0; i < inst_get(tracker->module, id)->users.len; i++) {
    if (!item_get(tracker->list, inst_users(tracker->module, id)[i])->is_placed) return true;
  }
  return false;
}

int64_t tracker_bytes_compressed(const Tracker *tracker, InstId id, int64_t compact_bytes) {
  const RematItem *item = item_get(tracker->list, id);
  if (item->output == NO_ID) return 0;
  const TrackedBuffer *buffer = tracked_buffer(tracker, item->output);
  bool is_possible = !buffer->is_live_out && tracker_is_live(tracker, item->output) &&
                     !is_in_use(tracker, item->output) && has_unplaced_user(tracker, id);
  return is_possible ? buffer->bytes - compact_bytes : 0;
}

static bool has_unplaced_use(const Tracker *tracker, const TrackedBuffer *buffer) {
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    if (!item_get(tracker->list, buffer->uses.data[i].user)->is_placed) return true;
  }
  return false;
}

/* Like XLA, does not offload a buffer that a user forwards. */
static bool is_forwarded(const Tracker *tracker, const TrackedBuffer *buffer) {
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    uint16_t opcode = inst_get(tracker->module, buffer->uses.data[i].user)->opcode;
    if (opcode == OPCODE_BITCAST || opcode == OPCODE_TUPLE) return true;
  }
  return false;
}

int64_t tracker_bytes_offloaded(const Tracker *tracker, InstId id) {
  const RematItem *item = item_get(tracker->list, id);
  if (item->output == NO_ID || item->defined.len != 1) return 0;
  const TrackedBuffer *buffer = tracked_buffer(tracker, item->defined.data[0]);
  bool is_possible = !buffer->is_live_out && !is_in_use(tracker, item->defined.data[0]) &&
                     has_unplaced_user(tracker, id) && !is_forwarded(tracker, buffer);
  return is_possible ? buffer->bytes : 0;
}

bool tracker_has_unplaced_uses(const Tracker *tracker, InstId id) {
  const RematItem *item = item_get(tracker->list, id);
  for (uint32_t i = 0; i < item->defined.len; i++) {
    if (has_unplaced_use(tracker, tracked_buffer(tracker, item->defined.data[i]))) return true;
  }
  return false;
}

/* ---- accounting for a rematerialization ---- */

static bool vec_contains(const IdVec *ids, uint32_t id) {
  return contains(ids->data, ids->len, id);
}

static void vec_replace(IdVec *ids, uint32_t old, uint32_t new_id) {
  for (uint32_t i = 0; i < ids->len; i++) {
    if (ids->data[i] == old) ids->data[i] = new_id;
  }
}

static IdVec vec_copy(const IdVec *ids, Arena *arena) {
  IdVec copy = {0};
  uint32_t *room = vec_extend(arena, &copy, ids->len);
  if (ids->len) memcpy(room, ids->data, ids->len * sizeof *room);
  return copy;
}

/* The clone reads what the original reads, so operands that were dead are live again. */
static void add_operand_uses(Tracker *tracker, InstId original, InstId clone) {
  const IdVec *used = &item_get(tracker->list, original)->used;
  for (uint32_t i = 0; i < used->len; i++) {
    TrackedBuffer *buffer = tracked_buffer(tracker, used->data[i]);
    if (buffer->num_unfinished == 0) tracker->memory_bytes += buffer->bytes;
    buffer->num_unfinished++;
    uint32_t num_uses = buffer->uses.len;
    for (uint32_t k = 0; k < num_uses; k++) {
      BufferUse use = buffer->uses.data[k];
      if (use.user == original) {
        *vec_push(tracker->arena, &buffer->uses) = (BufferUse){clone, use.operand};
      }
    }
  }
  item_get(tracker->list, clone)->used = vec_copy(used, tracker->arena);
}

/* The old get-tuple-elements and bitcasts have lost their users to the helpers, so they read
 * nothing. One that a control dependency keeps does read, but XLA's accounting leaves it out. */
static bool keeps_use(Tracker *tracker, BufferUse use, const IdVec *helpers) {
  Opcode opcode = (Opcode)inst_get(tracker->module, use.user)->opcode;
  if (!opcode_has(opcode, OPF_PASS_THROUGH) || vec_contains(helpers, use.user)) return true;
  RematItem *item = item_get(tracker->list, use.user);
  item->output = NO_ID;
  item->used.len = 0;
  return false;
}

/* Moves the uses that are not placed to a new buffer, which the clone defines. */
static void split_buffer(Tracker *tracker, TrackedId old_id, InstId clone, const IdVec *helpers) {
  TrackedId new_id = tracker->buffers.len;
  (void)vec_push(tracker->arena, &tracker->buffers);
  TrackedBuffer *old = tracked_buffer(tracker, old_id);
  TrackedBuffer split = *old;
  split.definer = clone;
  split.uses = (BufferUses){0};
  uint32_t num_placed = 0;
  for (uint32_t i = 0; i < old->uses.len; i++) {
    BufferUse use = old->uses.data[i];
    if (item_get(tracker->list, use.user)->is_placed) {
      old->uses.data[num_placed++] = use;
    } else if (keeps_use(tracker, use, helpers)) {
      *vec_push(tracker->arena, &split.uses) = use;
    }
  }
  old->uses.len = num_placed;
  old->num_unfinished = 0;
  tracker->memory_bytes -= old->bytes;
  split.num_unfinished = count_users(tracker->list, &split.uses, new_id);
  *tracked_buffer(tracker, new_id) = split;
  RematItem *item = item_get(tracker->list, clone);
  *vec_push(tracker->arena, &item->defined) = new_id;
  set_output(tracker, clone, new_id);
  for (uint32_t i = 0; i < split.uses.len; i++) {
    RematItem *user = item_get(tracker->list, split.uses.data[i].user);
    vec_replace(&user->used, old_id, new_id);
    if (user->output == old_id) user->output = new_id;
  }
}

/* A bitcast helper forwards its operand's buffer. A get-tuple-element reads the table of pointers
 * and forwards the buffer of one element. */
static void link_helper(Tracker *tracker, InstId helper) {
  RematItem *item = item_get(tracker->list, helper);
  InstId source = inst_operand(tracker->module, helper, 0);
  const RematItem *from = item_get(tracker->list, source);
  if (inst_get(tracker->module, helper)->opcode == OPCODE_BITCAST) {
    item->output = from->output;
    if (item->output != NO_ID) *vec_push(tracker->arena, &item->used) = item->output;
  } else {
    for (uint32_t i = 0; i < from->defined.len; i++) {
      const TrackedBuffer *buffer = tracked_buffer(tracker, from->defined.data[i]);
      int64_t index = inst_get(tracker->module, helper)->index;
      if (buffer->depth == 1 && (int64_t)buffer->element == index) {
        set_output(tracker, helper, from->defined.data[i]);
      }
      if (buffer->depth == 0) *vec_push(tracker->arena, &item->used) = from->defined.data[i];
    }
  }
  for (uint32_t i = 0; i < item->used.len; i++) {
    TrackedBuffer *buffer = tracked_buffer(tracker, item->used.data[i]);
    buffer->num_unfinished++;
    *vec_push(tracker->arena, &buffer->uses) = (BufferUse){helper, 0};
  }
}

void tracker_add_clone(Tracker *tracker, InstId original, InstId clone, const IdVec *helpers) {
  add_operand_uses(tracker, original, clone);
  IdVec defined = item_get(tracker->list, original)->defined;
  for (uint32_t i = 0; i < defined.len; i++) {
    split_buffer(tracker, defined.data[i], clone, helpers);
  }
  for (uint32_t i = 0; i < helpers->len; i++)
    link_helper(tracker, helpers->data[i]);
}

/* Adds a buffer that `definer` defines, with the properties of buffer `old`. */
static TrackedId add_buffer(Tracker *tracker, TrackedId old, InstId definer, ShapeId shape,
                            BufferUses uses) {
  TrackedId id = tracker->buffers.len;
  (void)vec_push(tracker->arena, &tracker->buffers);
  TrackedBuffer copy = *tracked_buffer(tracker, old);
  copy.definer = definer;
  copy.shape = shape;
  copy.bytes = remat_sizes(tracker->module)->of_part(tracker->module, shape);
  copy.has_indirect_uses = false;
  copy.uses = uses;
  copy.num_unfinished = count_users(tracker->list, &uses, id);
  *tracked_buffer(tracker, id) = copy;
  RematItem *item = item_get(tracker->list, definer);
  *vec_push(tracker->arena, &item->defined) = id;
  set_output(tracker, definer, id);
  return id;
}

/* Adds a buffer for the result of `definer`, which is one array. */
static TrackedId add_copy_of(Tracker *tracker, TrackedId old, InstId definer, BufferUses uses) {
  return add_buffer(tracker, old, definer, inst_get(tracker->module, definer)->shape, uses);
}

/* Removes the uses that are not placed from a buffer and returns them. */
static BufferUses take_unplaced_uses(Tracker *tracker, TrackedBuffer *buffer) {
  BufferUses unplaced = {0};
  uint32_t num_placed = 0;
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    BufferUse use = buffer->uses.data[i];
    if (item_get(tracker->list, use.user)->is_placed) {
      buffer->uses.data[num_placed++] = use;
    } else {
      *vec_push(tracker->arena, &unplaced) = use;
    }
  }
  buffer->uses.len = num_placed;
  return unplaced;
}

/* `back` is read instead of `old` by these uses. */
static void redirect_uses(Tracker *tracker, TrackedId old, InstId back, BufferUses uses) {
  TrackedId back_id = add_copy_of(tracker, old, back, uses);
  for (uint32_t i = 0; i < uses.len; i++) {
    vec_replace(&item_get(tracker->list, uses.data[i].user)->used, old, back_id);
  }
}

void tracker_add_copies(Tracker *tracker, InstId original, InstId compact, InstId back) {
  TrackedId old_id = item_get(tracker->list, original)->output;
  TrackedBuffer *old = tracked_buffer(tracker, old_id);
  tracker->memory_bytes -= old->bytes;
  BufferUses unplaced = take_unplaced_uses(tracker, old), of_compact = {0};
  old->num_unfinished = 0;
  *vec_push(tracker->arena, &old->uses) = (BufferUse){compact, 0};
  *vec_push(tracker->arena, &of_compact) = (BufferUse){back, 0};
  *vec_push(tracker->arena, &item_get(tracker->list, compact)->used) = old_id;
  TrackedId compact_id = add_copy_of(tracker, old_id, compact, of_compact);
  tracker->memory_bytes += tracked_buffer(tracker, compact_id)->bytes;
  *vec_push(tracker->arena, &item_get(tracker->list, back)->used) = compact_id;
  redirect_uses(tracker, old_id, back, unplaced);
}

/* The buffers that a copy-start holds until its copy-done: the context, and the copy's buffer on
 * the device, which XLA counts as a separate buffer even where it is the operand's. */
static void hold_until_done(Tracker *tracker, TrackedId old, InstId start, uint32_t device_element,
                            InstId done) {
  enum { CONTEXT = 2 };
  const uint32_t elements[] = {device_element, CONTEXT};
  for (int i = 0; i < 2; i++) {
    BufferUses uses = {0};
    *vec_push(tracker->arena, &uses) = (BufferUse){done, 0};
    ShapeId shape = inst_shape(tracker->module, start)->elements[elements[i]];
    TrackedId id = add_buffer(tracker, old, start, shape, uses);
    *vec_push(tracker->arena, &item_get(tracker->list, done)->used) = id;
  }
}

void tracker_add_offload(Tracker *tracker, InstId original, const OffloadCopies *copies) {
  enum { TO, FROM };
  TrackedId old_id = item_get(tracker->list, original)->output;
  TrackedBuffer *old = tracked_buffer(tracker, old_id);
  BufferUses unplaced = take_unplaced_uses(tracker, old);
  *vec_push(tracker->arena, &old->uses) = (BufferUse){copies->leave, 0};
  old->num_unfinished = 1;
  *vec_push(tracker->arena, &item_get(tracker->list, copies->leave)->used) = old_id;
  hold_until_done(tracker, old_id, copies->leave, FROM, copies->left);
  hold_until_done(tracker, old_id, copies->enter, TO, copies->back);
  redirect_uses(tracker, old_id, copies->back, unplaced);
  const InstId in_order[] = {copies->leave, copies->left, copies->enter, copies->back};
  for (int i = 0; i < 4 && item_get(tracker->list, in_order[i])->is_placed; i++) {
    tracker->memory_bytes += tracker_defined_bytes(tracker, in_order[i]);
    release(tracker, in_order[i]);
  }
}
