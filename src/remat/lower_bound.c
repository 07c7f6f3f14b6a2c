#include "remat/lower_bound.h"

#include <string.h>

#include "analysis/call_graph.h"
#include "analysis/points_to.h"
#include "analysis/remat_memory.h"
#include "analysis/traverse.h"

/* The instructions that need most by themselves are looked at closely. */
enum { NUM_CLOSE_LOOKS = 16 };

typedef struct Bound {
  const Module *module;
  const Legality *legality;
  PointsTo points_to;
  bool shares_operands; /* a result may take an operand's memory: only the larger side counts */
  ConstantCount constants;
  bool *is_needed;     /* by InstId: a result or side effect depends on it */
  bool *is_live_out;   /* by LogicalId: of its computation */
  LogicalId *same_as;  /* by LogicalId: a buffer that it takes over; itself = none */
  uint32_t *seen;      /* by LogicalId: the last instruction that counted it, + 1 */
  int64_t *comp_bytes; /* by CompId: what it needs at least while it runs */
  LowerBound best;
  Arena *arena, *scratch;
} Bound;

/* ---- buffers that are one ---- */

/* A loop works in the buffers of its operand (MemoryUsageTracker): slots that start with the same
 * value are one buffer to the model. */
static void join_loops(Bound *bound, CompId comp) {
  const Module *module = bound->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_get(module, id)->opcode != OPCODE_WHILE) continue;
    InstId init = inst_operand(module, id, 0);
    for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
      LogicalId result = points_to_part(&bound->points_to, id, part);
      bound->same_as[result] = points_to_part(&bound->points_to, init, part);
    }
  }
}

static LogicalId buffer_at(const Bound *bound, InstId inst, uint32_t part) {
  LogicalId first = points_to_part(&bound->points_to, inst, part), found = first;
  while (bound->same_as[found] != found)
    found = bound->same_as[found];
  while (bound->same_as[first] != first) { /* shorten the way for the next one */
    LogicalId next = bound->same_as[first];
    bound->same_as[first] = found;
    first = next;
  }
  return found;
}

/* ---- what is needed at all ---- */

static void mark_needed(Bound *bound, CompId comp) {
  const Module *module = bound->module;
  ArenaMark mark = arena_mark(bound->scratch);
  VEC(InstId) work = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_is_root(module, id) || inst_has_control(module, id) ||
        inst_has_side_effect(module, &bound->legality->effects, id)) {
      *vec_push(bound->scratch, &work) = id;
    }
  }
  while (work.len) {
    InstId id = work.data[--work.len];
    if (bound->is_needed[id]) continue;
    bound->is_needed[id] = true;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      *vec_push(bound->scratch, &work) = inst_operand(module, id, i);
    }
  }
  arena_reset(bound->scratch, mark);
}

static void mark_live_out(Bound *bound, CompId comp) {
  InstId root = comp_get(bound->module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(bound->module, root)->num_parts; part++) {
    bound->is_live_out[buffer_at(bound, root, part)] = true;
  }
}

/* ---- one instruction ---- */

/* Whether the memory comes from outside of the peak, or is counted apart. */
static bool is_given(const Bound *bound, const LogicalBuffer *buffer) {
  uint16_t opcode = inst_get(bound->module, buffer->inst)->opcode;
  return opcode == OPCODE_PARAMETER ||
         (opcode == OPCODE_CONSTANT && bound->constants != CONSTANTS_LIVE);
}

/* Bytes of a buffer, 0 for what a computation does not pay itself. Tables of pointers are left out:
 * rewrites may do without the tuple. */
static int64_t buffer_bytes(const Bound *bound, LogicalId id) {
  const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
  bool is_table = shape_is_tuple(shape_get(&bound->module->shapes, buffer->shape));
  return is_given(bound, buffer) || is_table || bound->is_live_out[id] ? 0 : buffer->bytes;
}

/* The buffer, if this instruction has not counted it yet. */
static int64_t count_once(Bound *bound, InstId reader, LogicalId id) {
  if (bound->seen[id] == reader + 1) return 0;
  bound->seen[id] = reader + 1;
  return buffer_bytes(bound, id);
}

static int64_t operand_bytes(Bound *bound, InstId id) {
  const Module *module = bound->module;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      if (points_to_is_unused_by(module, &bound->points_to, operand, part, id)) continue;
      bytes += count_once(bound, id, buffer_at(bound, operand, part));
    }
  }
  return bytes;
}

/* Fusions with several results can lose all but one of them, and operands with them. */
static bool can_shrink(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_FUSION && shape_is_tuple(inst_shape(module, id));
}

static int64_t result_bytes(Bound *bound, InstId id) {
  int64_t sum = 0, largest = 0;
  if (inst_get(bound->module, id)->opcode == OPCODE_WHILE) return 0;
  for (uint32_t i = 0; i < bound->points_to.num_defined[id]; i++) {
    int64_t bytes = count_once(bound, id, bound->points_to.first_buffer[id] + i);
    sum += bytes;
    if (bytes > largest) largest = bytes;
  }
  return can_shrink(bound->module, id) ? largest : sum;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t own_bytes(Bound *bound, InstId id) {
  const Module *module = bound->module;
  int64_t all_called = 0, largest_called = 0;
  if (opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) {
    for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
      int64_t called = bound->comp_bytes[inst_callees(module, id)[i]];
      all_called += called;
      if (all_called > MAX_CALLEE_BYTES) all_called = MAX_CALLEE_BYTES;
      largest_called = larger(largest_called, called);
    }
  }
  int64_t operands = can_shrink(module, id) ? 0 : operand_bytes(bound, id);
  int64_t results = result_bytes(bound, id);
  if (bound->shares_operands) return larger(larger(operands, results), largest_called);
  return operands + results + all_called;
}

/* ---- what must stay live besides ---- */

/* Only what runs exactly once and has memory of its own. */
static bool runs_once(const Bound *bound, InstId id) {
  switch (recompute_verdict(bound->legality, id)) {
    case KEEP_CUSTOM_CALL:
    case KEEP_SIDE_EFFECT: return true;
    case KEEP_CONTROL_FLOW: return inst_get(bound->module, id)->opcode != OPCODE_WHILE;
    default: return false;
  }
}

/* Marks what an instruction depends on, or what depends on it. */
static void mark_reach(const Bound *bound, InstId start, bool forward, bool *is_marked) {
  const Module *module = bound->module;
  ArenaMark mark = arena_mark(bound->scratch);
  VEC(InstId) work = {0};
  *vec_push(bound->scratch, &work) = start;
  while (work.len) {
    InstId id = work.data[--work.len];
    const Instruction *inst = inst_get(module, id);
    const InstId *next = forward ? id_list(module, inst->users) : inst_operands(module, id);
    uint32_t count = forward ? inst->users.len : inst->num_operands;
    for (uint32_t i = 0; i < count; i++) {
      if (is_marked[next[i]]) continue;
      is_marked[next[i]] = true;
      *vec_push(bound->scratch, &work) = next[i];
    }
  }
  arena_reset(bound->scratch, mark);
}

static bool is_read_below(const Bound *bound, LogicalId id, const bool *is_below) {
  const Module *module = bound->module;
  for (uint32_t i = bound->points_to.first_alias[id]; i < bound->points_to.first_alias[id + 1];
       i++) {
    BufferAlias alias = bound->points_to.aliases[i];
    for (uint32_t k = 0; k < inst_get(module, alias.inst)->users.len; k++) {
      InstId user = inst_users(module, alias.inst)[k];
      if (is_below[user] && bound->is_needed[user] &&
          !points_to_is_unused_by(module, &bound->points_to, alias.inst, alias.part, user)) {
        return true;
      }
    }
  }
  return false;
}

/* What runs exactly once and makes memory of its own. */
typedef struct Holders {
  VEC(InstId) list;
  int64_t bytes; /* all that they make: no more can be held */
} Holders;

static Holders find_holders(const Bound *bound, CompId comp) {
  Holders holders = {.bytes = 0};
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    InstId id = comp_inst(bound->module, comp, i);
    if (!runs_once(bound, id)) continue;
    int64_t bytes = 0;
    for (uint32_t k = 0; k < bound->points_to.num_defined[id]; k++)
      bytes += buffer_bytes(bound, bound->points_to.first_buffer[id] + k);
    if (bytes > 0) *vec_push(bound->scratch, &holders.list) = id;
    holders.bytes += bytes;
  }
  return holders;
}

static int64_t held_bytes(Bound *bound, const Holders *holders, InstId id) {
  ArenaMark mark = arena_mark(bound->scratch);
  bool *is_above = arena_zarray(bound->scratch, bool, bound->module->insts.len);
  bool *is_below = arena_zarray(bound->scratch, bool, bound->module->insts.len);
  mark_reach(bound, id, false, is_above);
  mark_reach(bound, id, true, is_below);
  own_bytes(bound, id); /* marks what it counts itself */
  int64_t bytes = 0;
  for (uint32_t i = 0; i < holders->list.len; i++) {
    InstId above = holders->list.data[i];
    if (!is_above[above]) continue;
    for (uint32_t k = 0; k < bound->points_to.num_defined[above]; k++) {
      LogicalId buffer = bound->points_to.first_buffer[above] + k;
      if (is_read_below(bound, buffer, is_below)) bytes += count_once(bound, id, buffer);
    }
  }
  arena_reset(bound->scratch, mark);
  return bytes;
}

/* ---- one computation ---- */

typedef struct Need {
  InstId inst;
  int64_t bytes;
} Need;

/* The instructions that need most, by bytes, of equal ones the first. */
typedef struct Needs {
  Need list[NUM_CLOSE_LOOKS];
  uint32_t len;
} Needs;

static void note_need(Needs *needs, Need need) {
  uint32_t at = needs->len;
  while (at && needs->list[at - 1].bytes < need.bytes)
    at--;
  if (at == NUM_CLOSE_LOOKS) return;
  if (needs->len < NUM_CLOSE_LOOKS) needs->len++;
  memmove(&needs->list[at + 1], &needs->list[at], (needs->len - 1 - at) * sizeof need);
  needs->list[at] = need;
}

static void visit_computation(Bound *bound, CompId comp) {
  mark_needed(bound, comp);
  join_loops(bound, comp);
  mark_live_out(bound, comp);
  Needs needs = {.len = 0};
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    InstId id = comp_inst(bound->module, comp, i);
    if (bound->is_needed[id]) note_need(&needs, (Need){id, own_bytes(bound, id)});
  }
  ArenaMark mark = arena_mark(bound->scratch);
  Holders holders = find_holders(bound, comp);
  for (uint32_t i = 0; i < needs.len; i++) {
    int64_t bytes = needs.list[i].bytes;
    if (bytes + holders.bytes <= bound->comp_bytes[comp]) continue;
    if (holders.bytes) bytes += held_bytes(bound, &holders, needs.list[i].inst);
    if (bytes <= bound->comp_bytes[comp]) continue;
    bound->comp_bytes[comp] = bytes;
    if (comp == bound->module->entry) bound->best.inst = needs.list[i].inst;
  }
  arena_reset(bound->scratch, mark);
}

/* What the entry returns and did not get: all of it lives at the end, each part as large as its
 * shape says, even if it is a bitcast of something larger. */
static int64_t returned_bytes(Bound *bound) {
  const Module *module = bound->module;
  InstId root = comp_get(module, module->entry)->root;
  ArenaMark mark = arena_mark(bound->scratch);
  bool *is_seen = arena_zarray(bound->scratch, bool, bound->points_to.buffers.len);
  int64_t bytes = 0;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    LogicalId id = buffer_at(bound, root, part);
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    int64_t of_part = plain_sizes.of_part(module, shape);
    if (!is_seen[id] && !is_given(bound, buffer)) bytes += smaller(buffer->bytes, of_part);
    is_seen[id] = true;
  }
  arena_reset(bound->scratch, mark);
  return bytes;
}

/* Of what runs because the entry needs it. */
static int64_t constant_bytes(const Bound *bound, const CallGraph *graph) {
  const Module *module = bound->module;
  bool *runs = arena_zarray(bound->arena, bool, module->comps.len);
  int64_t bytes = 0;
  for (uint32_t i = graph->num_reachable; i-- > 0;) { /* callers first */
    CompId comp = graph->post_order[i];
    runs[comp] = comp == module->entry;
    for (uint32_t k = graph->first_caller[comp]; k < graph->first_caller[comp + 1]; k++) {
      InstId caller = graph->callers[k];
      runs[comp] |= runs[inst_get(module, caller)->parent] && bound->is_needed[caller];
    }
    if (!runs[comp] || !comp_is_sequential(graph, comp)) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      bool is_counted = inst_get(module, id)->opcode == OPCODE_CONSTANT && bound->is_needed[id];
      if (is_counted) bytes += inst_shape(module, id)->device_bytes;
    }
  }
  return bytes;
}

LowerBound lower_bound(const Module *module, const Legality *legality, bool counts_params,
                       ConstantCount constants, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  /* Whether something pays off to be recomputed does not matter here, only whether it can be. */
  Legality widest = *legality;
  widest.allow_collectives = true;
  widest.small_node_bytes = 0;
  Bound bound = {.module = module,
                 .legality = &widest,
                 .points_to = points_to_build(module, arena, scratch),
                 .shares_operands = counts_params,
                 .constants = constants,
                 .best = {.inst = NO_ID},
                 .arena = arena,
                 .scratch = scratch};
  CallGraph graph = call_graph_build(module, arena, scratch);
  bound.is_needed = arena_zarray(arena, bool, module->insts.len);
  bound.is_live_out = arena_zarray(arena, bool, bound.points_to.buffers.len);
  bound.same_as = arena_array(arena, LogicalId, bound.points_to.buffers.len);
  for (LogicalId id = 0; id < bound.points_to.buffers.len; id++)
    bound.same_as[id] = id;
  bound.seen = arena_zarray(arena, uint32_t, bound.points_to.buffers.len);
  bound.comp_bytes = arena_zarray(arena, int64_t, module->comps.len);
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (comp_is_sequential(&graph, comp)) visit_computation(&bound, comp);
  }
  MemoryProfile sizes;
  memory_profile_init(&sizes, module, &plain_sizes, arena, scratch);
  bound.best.bytes = bound.comp_bytes[module->entry];
  if (counts_params) {
    int64_t returned = returned_bytes(&bound);
    if (returned > bound.best.bytes) bound.best = (LowerBound){returned, NO_ID};
    /* A parameter that an output takes over may be dead for a while. */
    bound.best.bytes += sizes.parameter_bytes - sizes.aliased_bytes;
  } else {
    bound.best.bytes += sizes.output_bytes;
  }
  if (constants == CONSTANTS_HELD) bound.best.bytes += constant_bytes(&bound, &graph);
  arena_free(arena);
  return bound.best;
}
