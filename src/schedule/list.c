/* XLA's ListScheduler (hlo_memory_scheduler.cc): of the instructions that are ready, it chooses the
 * one that frees the most bytes (freed by it minus defined by it), and among equal ones the one
 * that became ready last.
 *
 * Bytes are those of pieces of memory. Before August 2026 (commit df4c65cae8) pieces were logical
 * buffers: a while, a conditional and a call define their results. Since then pieces are HloValues,
 * which flow through these opcodes; a while defines the values that its body may change. */
#include "schedule/scheduler.h"

typedef uint32_t PieceId;

typedef struct Priority {
  int64_t bytes_freed;
  int64_t num_users;
} Priority;

typedef struct Entry {
  Priority priority;
  uint32_t number; /* number of the insertion: among equals the last one is chosen */
  InstId id;
} Entry;

typedef struct List {
  const Module *module;
  const PointsTo *points_to;
  const Dataflow *flow; /* NULL: pieces are logical buffers. Else pieces are values, followed by
                           logical buffers for computations without values, such as reducers */
  int64_t *piece_bytes; /* by PieceId */
  InstId *definer;      /* by PieceId */
  uint32_t *use_counts; /* by PieceId: users that have not run, and 1 more if it is live out */
  uint32_t *first_use;  /* by InstId: the pieces that it uses, each once, in `uses` */
  uint32_t *num_uses;
  VEC(PieceId) uses;
  int64_t *defined_bytes; /* by InstId */
  uint32_t *pending;      /* by InstId */
  uint32_t *ready_number; /* by InstId: the number of its valid entry; 0 = not ready */
  Priority *ready_priority;
  VEC(Entry) heap;
  uint32_t num_entries;
  Sequence sequence;
  Arena *scratch;
} List;

static bool is_ignored(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT;
}

static PieceId piece_at(const List *list, InstId id, uint32_t part) {
  if (!list->flow) return points_to_part(list->points_to, id, part);
  if (dataflow_covers(list->flow, id)) return dataflow_value(list->flow, id, part);
  return list->flow->values.len + points_to_part(list->points_to, id, part);
}

/* Lists all pieces that an instruction's operands hold, including nested ones. `last_user` prevents
 * listing one twice. */
static void collect_uses(List *list, InstId id, InstId *last_user) {
  const Module *module = list->module;
  list->first_use[id] = list->uses.len;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      PieceId piece = piece_at(list, operand, part);
      if (last_user[piece] == id) continue;
      last_user[piece] = id;
      *vec_push(list->scratch, &list->uses) = piece;
      list->use_counts[piece]++;
    }
  }
  list->num_uses[id] = list->uses.len - list->first_use[id];
}

static void count_live_outs(List *list, CompId comp, InstId *last_user) {
  InstId root = comp_get(list->module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(list->module, root)->num_parts; part++) {
    PieceId piece = piece_at(list, root, part);
    if (last_user[piece] == NO_ID - 1) continue; /* a mark that no instruction has */
    last_user[piece] = NO_ID - 1;
    list->use_counts[piece]++;
  }
}

static int64_t bytes_freed(const List *list, InstId id) {
  const Module *module = list->module;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  /* An early outfeed and a late infeed give the other side more time. */
  if (opcode == OPCODE_OUTFEED && inst_attr_string(module, id, ATTR_OUTFEED_CONFIG).len) {
    return INT32_MAX;
  }
  if (opcode == OPCODE_INFEED && inst_attr_string(module, id, ATTR_INFEED_CONFIG).len) {
    return INT32_MIN;
  }
  int64_t bytes = -list->defined_bytes[id];
  for (uint32_t i = 0; i < list->num_uses[id]; i++) {
    PieceId piece = list->uses.data[list->first_use[id] + i];
    bool is_last = list->use_counts[piece] == 1;
    if (is_last && !is_ignored(module, list->definer[piece])) bytes += list->piece_bytes[piece];
  }
  return bytes;
}

/* Scalars are scheduled as soon as they are ready, so that they can be in registers. */
static Priority priority_of(const List *list, InstId id) {
  if (shape_is_effective_scalar(inst_shape(list->module, id))) {
    return (Priority){INT64_MAX, INT64_MAX};
  }
  return (Priority){bytes_freed(list, id), inst_get(list->module, id)->users.len};
}

static bool is_before(const Entry *a, const Entry *b) {
  if (a->priority.bytes_freed != b->priority.bytes_freed) {
    return a->priority.bytes_freed > b->priority.bytes_freed;
  }
  if (a->priority.num_users != b->priority.num_users) {
    return a->priority.num_users > b->priority.num_users;
  }
  return a->number > b->number;
}

static void heap_push(List *list, InstId id, Priority priority) {
  list->ready_number[id] = ++list->num_entries;
  list->ready_priority[id] = priority;
  *vec_push(list->scratch, &list->heap) =
      (Entry){.priority = priority, .number = list->num_entries, .id = id};
  Entry *heap = list->heap.data;
  for (uint32_t i = list->heap.len - 1; i > 0 && is_before(&heap[i], &heap[(i - 1) / 2]);
       i = (i - 1) / 2) {
    Entry parent = heap[(i - 1) / 2];
    heap[(i - 1) / 2] = heap[i];
    heap[i] = parent;
  }
}

static Entry heap_pop(List *list) {
  Entry *heap = list->heap.data;
  Entry top = heap[0], moved = heap[--list->heap.len];
  uint32_t hole = 0, len = list->heap.len;
  for (;;) {
    uint32_t child = hole * 2 + 1;
    if (child >= len) break;
    if (child + 1 < len && is_before(&heap[child + 1], &heap[child])) child++;
    if (!is_before(&heap[child], &moved)) break;
    heap[hole] = heap[child];
    hole = child;
  }
  if (len) heap[hole] = moved;
  return top;
}

static void drop_dependency(List *list, InstId id) {
  if (--list->pending[id] == 0) heap_push(list, id, priority_of(list, id));
}

/* Ready users of the operands may free more bytes now. */
static void refresh_priorities(List *list, InstId id) {
  const Module *module = list->module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t k = 0; k < inst_get(module, operand)->users.len; k++) {
      InstId user = inst_users(module, operand)[k];
      if (list->ready_number[user] == 0) continue;
      Priority now = priority_of(list, user), before = list->ready_priority[user];
      if (now.bytes_freed == before.bytes_freed && now.num_users == before.num_users) continue;
      heap_push(list, user, now);
    }
  }
}

static void run_inst(List *list, InstId id) {
  const Module *module = list->module;
  list->ready_number[id] = 0;
  list->sequence.ids[list->sequence.len++] = id;
  bool frees_sooner = false;
  for (uint32_t i = 0; i < list->num_uses[id]; i++) {
    PieceId piece = list->uses.data[list->first_use[id] + i];
    frees_sooner |= --list->use_counts[piece] == 1;
  }
  IdList users = inst_get(module, id)->users, after = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < users.len; i++)
    drop_dependency(list, id_list(module, users)[i]);
  for (uint32_t i = 0; i < after.len; i++)
    drop_dependency(list, id_list(module, after)[i]);
  if (frees_sooner) refresh_priorities(list, id);
}

static void run_comp(List *list, CompId comp, InstId *last_user, Sequence *sequence) {
  const Module *module = list->module;
  uint32_t num_insts = comp_num_insts(module, comp);
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    collect_uses(list, id, last_user);
    IdList users = inst_get(module, id)->users, after = inst_control(module, id)->successors;
    for (uint32_t k = 0; k < users.len; k++)
      list->pending[id_list(module, users)[k]]++;
    for (uint32_t k = 0; k < after.len; k++)
      list->pending[id_list(module, after)[k]]++;
  }
  count_live_outs(list, comp, last_user);
  list->sequence = (Sequence){.ids = sequence->ids};
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    if (list->pending[id] == 0) heap_push(list, id, priority_of(list, id));
  }
  while (list->heap.len) {
    Entry best = heap_pop(list);
    if (list->ready_number[best.id] == best.number) run_inst(list, best.id);
  }
  *sequence = list->sequence;
}

static void note_piece(List *list, PieceId piece, InstId definer, int64_t bytes) {
  list->piece_bytes[piece] = bytes;
  list->definer[piece] = definer;
  if (!is_ignored(list->module, definer)) list->defined_bytes[definer] += bytes;
}

static void note_pieces(List *list) {
  uint32_t num_values = list->flow ? list->flow->values.len : 0;
  for (ValueId id = 0; id < num_values; id++) {
    const HloValue *value = &list->flow->values.data[id];
    note_piece(list, id, value->inst, value->bytes);
  }
  for (LogicalId id = 0; id < list->points_to->buffers.len; id++) {
    const LogicalBuffer *buffer = &list->points_to->buffers.data[id];
    bool is_piece = !list->flow || !dataflow_covers(list->flow, buffer->inst);
    if (is_piece) note_piece(list, num_values + id, buffer->inst, buffer->bytes);
  }
}

static void run(const ScheduleContext *context, const Dataflow *flow, Schedule *schedule,
                Arena *out, Arena *scratch) {
  const Module *module = context->module;
  uint32_t num_insts = module->insts.len;
  uint32_t num_pieces = context->points_to.buffers.len + (flow ? flow->values.len : 0);
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  List list = {.module = module,
               .points_to = &context->points_to,
               .flow = flow,
               .piece_bytes = arena_zarray(scratch, int64_t, num_pieces),
               .definer = arena_array(scratch, InstId, num_pieces),
               .use_counts = arena_zarray(scratch, uint32_t, num_pieces),
               .first_use = arena_array(scratch, uint32_t, num_insts),
               .num_uses = arena_array(scratch, uint32_t, num_insts),
               .defined_bytes = arena_zarray(scratch, int64_t, num_insts),
               .pending = arena_zarray(scratch, uint32_t, num_insts),
               .ready_number = arena_zarray(scratch, uint32_t, num_insts),
               .ready_priority = arena_array(scratch, Priority, num_insts),
               .scratch = scratch};
  note_pieces(&list);
  InstId *last_user = arena_array(scratch, InstId, num_pieces);
  memset(last_user, 0xff, num_pieces * sizeof *last_user);
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    run_comp(&list, comps.ids[i], last_user, &schedule->of[comps.ids[i]]);
  }
  arena_reset(scratch, mark);
}

void schedule_list(const ScheduleContext *context, Schedule *schedule, Arena *out, Arena *scratch) {
  run(context, NULL, schedule, out, scratch);
}

void schedule_list_values(const ScheduleContext *context, Schedule *schedule, Arena *out,
                          Arena *scratch) {
  run(context, &context->values.flow, schedule, out, scratch);
}
