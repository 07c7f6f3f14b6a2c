#include "analysis/flow/traverse.h"

/* What an instruction waits for, in one array for the whole computation. The walk jumps about in
 * it, and it is a small part of the instructions' own memory: at a million of them most jumps stay
 * in the caches. Each instruction has a record there:
 *
 *     id, number of operands and predecessors × 4 + state, their records in the order of pushing */
enum { HEADER = 2 };
enum { NEW, VISITING, VISITED, STATE_BITS = 2, STATE_MASK = 3 };

typedef struct Walk {
  const Module *module;
  Arena *scratch;
  uint32_t *place; /* by InstId: 1 + its record */
  VEC(uint32_t) records, stack;
  Sequence order;
} Walk;

static uint32_t num_waited_for(const Module *module, InstId id) {
  return inst_get(module, id)->num_operands + inst_control(module, id)->predecessors.len;
}

static void add_record(Walk *walk, InstId id) {
  const Instruction *inst = inst_get(walk->module, id);
  IdList predecessors = inst_control(walk->module, id)->predecessors;
  uint32_t len = num_waited_for(walk->module, id);
  walk->place[id] = walk->records.len + 1;
  uint32_t *record = vec_extend(walk->scratch, &walk->records, HEADER + len);
  *record++ = id;
  *record++ = len << STATE_BITS | NEW;
  for (uint32_t i = inst->num_operands; i-- > 0;)
    *record++ = inst_operand(walk->module, id, i);
  for (uint32_t i = 0; i < predecessors.len; i++)
    *record++ = id_list(walk->module, predecessors)[i];
}

/* Ids become places of records. */
static void link_records(Walk *walk) {
  uint32_t *records = walk->records.data;
  for (uint32_t at = 0; at < walk->records.len;) {
    uint32_t end = at + HEADER + (records[at + 1] >> STATE_BITS);
    for (at += HEADER; at < end; at++)
      records[at] = walk->place[records[at]] - 1;
  }
}

static void push(Walk *walk, uint32_t at) {
  if ((walk->records.data[at + 1] & STATE_MASK) != VISITED)
    *vec_push(walk->scratch, &walk->stack) = at;
}

static void walk_from(Walk *walk, InstId root) {
  push(walk, walk->place[root] - 1);
  while (walk->stack.len) {
    uint32_t *record = &walk->records.data[walk->stack.data[walk->stack.len - 1]];
    uint32_t state = record[1] & STATE_MASK, len = record[1] >> STATE_BITS;
    if (state != NEW) {
      walk->stack.len--;
      if (state != VISITED) walk->order.ids[walk->order.len++] = record[0];
      record[1] = len << STATE_BITS | VISITED;
      continue;
    }
    record[1] = len << STATE_BITS | VISITING;
    for (uint32_t i = 0; i < len; i++)
      push(walk, record[HEADER + i]);
  }
}

Sequence inst_post_order(const Module *module, CompId comp, uint32_t *visited, Arena *out,
                         Arena *scratch) {
  uint32_t num_insts = comp_num_insts(module, comp);
  Walk walk = {.module = module,
               .scratch = scratch,
               .place = visited,
               .order.ids = arena_array(out, InstId, num_insts)};
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_words = 0;
  for (uint32_t i = 0; i < num_insts; i++)
    num_words += HEADER + num_waited_for(module, comp_inst(module, comp, i));
  vec_reserve(scratch, &walk.records, num_words);
  for (uint32_t i = 0; i < num_insts; i++)
    add_record(&walk, comp_inst(module, comp, i));
  link_records(&walk);
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_get(module, id)->users.len == 0) walk_from(&walk, id);
  }
  arena_reset(scratch, mark);
  return walk.order;
}

Sequence topological_order(const Module *module, const Schedule *schedule, CompId comp,
                           uint32_t *visited, Arena *out, Arena *scratch) {
  if (schedule && comp < schedule->num_comps && schedule->of[comp].len) return schedule->of[comp];
  return inst_post_order(module, comp, visited, out, scratch);
}
