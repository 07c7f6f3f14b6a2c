#include "remat/legality/lower_bound.h"

#include <string.h>

#include "analysis/flow/call_graph.h"
#include "analysis/flow/points_to.h"
#include "analysis/memory/remat_memory.h"
#include "analysis/flow/traverse.h"
#include "remat/legality/needed.h"

/* The instructions that need most memory by themselves are examined more closely, all at once: each
 * has one bit of a LookBits. */
enum { NUM_CLOSE_LOOKS = 16 };

typedef uint16_t LookBits;

typedef struct Bound {
  const Module *module;
  const Legality *legality;
  PointsTo points_to;
  /* a result may reuse an operand's memory: only the larger of the two counts */
  bool shares_operands;
  ConstantCount constants;
  bool *is_needed;     /* by InstId: a result or a side effect depends on it */
  Needed needed;       /* in modules whose loops can compute again what they stack for others */
  bool *is_live_out;   /* by LogicalId: is live out of its computation */
  LogicalId *same_as;  /* by LogicalId: the buffer whose memory it reuses; itself = none */
  uint32_t *seen;      /* by LogicalId: the last instruction that counted the buffer, + 1 */
  uint8_t *is_visited; /* by InstId, for inst_post_order() */
  LookBits *above;     /* by InstId: the looks that depend on the instruction */
  LookBits *below;     /* by InstId: the looks that the instruction depends on */
  LookBits *counted;   /* by LogicalId: the looks whose own bytes include the buffer */
  int64_t *comp_bytes; /* by CompId: the least memory that the computation needs while it runs */
  LowerBound best;
  Arena *arena, *scratch;
} Bound;

/* ---- buffers that share memory ---- */

/* A loop works in the buffers of its operand (MemoryUsageTracker). Elements of the loop state that
 * start with the same value are one buffer in the model. */
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
  while (bound->same_as[first] != first) { /* shorten the path for later lookups */
    LogicalId next = bound->same_as[first];
    bound->same_as[first] = found;
    first = next;
  }
  return found;
}

/* ---- instructions that are needed ---- */

static void mark_needed(Bound *bound, Sequence order) {
  const Module *module = bound->module;
  if (bound->needed.covers_loops) return; /* they are known already */
  for (uint32_t i = order.len; i-- > 0;) {
    InstId id = order.ids[i];
    if (!bound->is_needed[id] && !inst_is_root(module, id) && !inst_has_control(module, id) &&
        !inst_has_side_effect(module, &bound->legality->effects, id)) {
      continue;
    }
    bound->is_needed[id] = true;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++)
      bound->is_needed[inst_operand(module, id, k)] = true;
  }
}

static void mark_live_out(Bound *bound, CompId comp) {
  InstId root = comp_get(bound->module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(bound->module, root)->num_parts; part++) {
    bound->is_live_out[buffer_at(bound, root, part)] = true;
  }
}

/* ---- one instruction ---- */

/* Whether the peak does not include the memory, or counts it separately. */
static bool is_given(const Bound *bound, const LogicalBuffer *buffer) {
  uint16_t opcode = inst_get(bound->module, buffer->inst)->opcode;
  return opcode == OPCODE_PARAMETER ||
         (opcode == OPCODE_CONSTANT && bound->constants != CONSTANTS_LIVE);
}

/* Whether a rewrite of loops can do without the memory, because they may count otherwise. */
static bool is_count(const Bound *bound, const LogicalBuffer *buffer) {
  return bound->needed.covers_loops &&
         shape_is_effective_scalar(shape_get(&bound->module->shapes, buffer->shape));
}

/* Bytes of a buffer; 0 if its computation does not pay for it. Tuple pointer tables count 0,
 * because a rewrite can remove the tuple. */
static int64_t buffer_bytes(const Bound *bound, LogicalId id) {
  const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
  bool is_table = shape_is_tuple(shape_get(&bound->module->shapes, buffer->shape));
  bool is_free = is_given(bound, buffer) || is_table || bound->is_live_out[id];
  return is_free || is_count(bound, buffer) ? 0 : buffer->bytes;
}

/* Whether an instruction that is needed uses the memory of this part of its operand. */
static bool is_used_by(const Bound *bound, InstId operand, uint32_t part, InstId user) {
  return !points_to_is_unused_by(bound->module, &bound->points_to, operand, part, user) &&
         needed_reads(&bound->needed, operand, part, user);
}

typedef struct Reader {
  InstId inst;
  LookBits look; /* the looks that count what the instruction reads; 0 = none */
} Reader;

/* Bytes of the buffer; 0 if this instruction has counted it before. */
static int64_t count_once(Bound *bound, Reader reader, LogicalId id) {
  if (bound->seen[id] == reader.inst + 1) return 0;
  bound->seen[id] = reader.inst + 1;
  if (reader.look) bound->counted[id] |= reader.look;
  return buffer_bytes(bound, id);
}

static int64_t operand_bytes(Bound *bound, Reader reader) {
  const Module *module = bound->module;
  InstId id = reader.inst;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      if (!is_used_by(bound, operand, part, id)) continue;
      bytes += count_once(bound, reader, buffer_at(bound, operand, part));
    }
  }
  return bytes;
}

/* Dead code elimination can remove all results of a fusion that bundles them but one, and operands
 * with them. */
static int64_t result_bytes(Bound *bound, Reader reader) {
  InstId id = reader.inst;
  int64_t sum = 0, largest = 0;
  if (inst_get(bound->module, id)->opcode == OPCODE_WHILE) return 0;
  for (uint32_t i = 0; i < bound->points_to.num_defined[id]; i++) {
    LogicalId buffer = bound->points_to.first_buffer[id] + i;
    if (!needed_part(&bound->needed, id, bound->points_to.buffers.data[buffer].part)) continue;
    int64_t bytes = count_once(bound, reader, buffer);
    sum += bytes;
    if (bytes > largest) largest = bytes;
  }
  return fusion_bundles_results(bound->module, id) ? largest : sum;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t own_bytes(Bound *bound, Reader reader) {
  const Module *module = bound->module;
  InstId id = reader.inst;
  int64_t all_called = 0, largest_called = 0;
  if (opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) {
    for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
      int64_t called = bound->comp_bytes[inst_callees(module, id)[i]];
      all_called += called;
      if (all_called > MAX_CALLEE_BYTES) all_called = MAX_CALLEE_BYTES;
      largest_called = larger(largest_called, called);
    }
  }
  int64_t operands = fusion_bundles_results(module, id) ? 0 : operand_bytes(bound, reader);
  int64_t results = result_bytes(bound, reader);
  if (bound->shares_operands) return larger(larger(operands, results), largest_called);
  return operands + results + all_called;
}

/* ---- values that must stay live in addition ---- */

/* Whether the instruction can only run once and has memory of its own. */
static bool runs_once(const Bound *bound, InstId id) {
  switch (recompute_verdict(bound->legality, id)) {
    case KEEP_CUSTOM_CALL:
    case KEEP_SIDE_EFFECT: return true;
    case KEEP_CONTROL_FLOW: return inst_get(bound->module, id)->opcode != OPCODE_WHILE;
    default: return false;
  }
}

/* Instructions that can only run once and whose results have memory of their own. */
typedef struct Holders {
  VEC(InstId) list;
  int64_t bytes; /* the sum of their results, which is the most that they can hold */
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

typedef struct Need {
  InstId inst;
  int64_t bytes;
} Need;

/* The instructions that need most, sorted by bytes; of equal ones, the first comes first. */
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

static void set_bits(const Needs *needs, LookBits *bits, bool is_set) {
  for (uint32_t i = 0; i < needs->len; i++)
    bits[needs->list[i].inst] = (LookBits)(is_set ? 1u << i : 0);
}

/* Whether an instruction still waits for its operand after loops have been rewritten. */
static bool depends_on(const Bound *bound, InstId id, InstId operand) {
  if (!bound->needed.covers_loops) return true;
  return bound->needed.of_inst[id] && !bound->needed.is_replaceable[id] &&
         needed_reads(&bound->needed, operand, 0, id);
}

/* Marks what is above and below each look. An instruction does not depend on itself, so the look's
 * own bit is only set to be propagated, and cleared at the end. */
static void mark_reach(Bound *bound, Sequence order, const Needs *needs) {
  const Module *module = bound->module;
  set_bits(needs, bound->above, true);
  set_bits(needs, bound->below, true);
  for (uint32_t i = order.len; i-- > 0;) {
    InstId id = order.ids[i];
    for (uint32_t k = 0; bound->above[id] && k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (depends_on(bound, id, operand)) bound->above[operand] |= bound->above[id];
    }
  }
  for (uint32_t i = 0; i < order.len; i++) {
    InstId id = order.ids[i];
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (depends_on(bound, id, operand)) bound->below[id] |= bound->below[operand];
    }
  }
  for (uint32_t i = 0; i < needs->len; i++) {
    bound->above[needs->list[i].inst] &= (LookBits) ~(1u << i);
    bound->below[needs->list[i].inst] &= (LookBits) ~(1u << i);
  }
}
/* The looks of `wanted` below which the buffer is read. */
static LookBits read_below(const Bound *bound, LogicalId id, LookBits wanted) {
  const Module *module = bound->module;
  const PointsTo *points_to = &bound->points_to;
  LookBits looks = 0;
  for (uint32_t i = points_to->first_alias[id]; i < points_to->first_alias[id + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    for (uint32_t k = 0; k < inst_get(module, alias.inst)->users.len; k++) {
      InstId user = inst_users(module, alias.inst)[k];
      LookBits below = bound->below[user] & wanted & (LookBits)~looks;
      if (below && bound->is_needed[user] && is_used_by(bound, alias.inst, alias.part, user))
        looks |= below;
    }
    if (looks == wanted) break;
  }
  return looks;
}

/* Adds to each look the values of holders above it that are read below it. */
static void add_held(Bound *bound, Sequence order, const Holders *holders, Needs *needs) {
  mark_reach(bound, order, needs);
  /* marks the buffers that the look's own bytes include */
  for (uint32_t i = 0; i < needs->len; i++)
    own_bytes(bound, (Reader){needs->list[i].inst, (LookBits)(1u << i)});
  for (uint32_t i = 0; i < holders->list.len; i++) {
    InstId holder = holders->list.data[i];
    for (uint32_t k = 0; bound->above[holder] && k < bound->points_to.num_defined[holder]; k++) {
      LogicalId buffer = bound->points_to.first_buffer[holder] + k;
      LookBits looks = bound->above[holder] & (LookBits)~bound->counted[buffer];
      int64_t bytes = buffer_bytes(bound, buffer);
      if (bytes) looks = read_below(bound, buffer, looks);
      for (uint32_t look = 0; bytes && looks >> look; look++)
        if (looks >> look & 1) needs->list[look].bytes += bytes;
    }
  }
}

/* ---- one computation ---- */

static void visit_computation(Bound *bound, CompId comp) {
  ArenaMark mark = arena_mark(bound->scratch);
  Sequence order =
      inst_post_order(bound->module, comp, bound->is_visited, bound->scratch, bound->scratch);
  mark_needed(bound, order);
  join_loops(bound, comp);
  mark_live_out(bound, comp);
  Needs needs = {.len = 0};
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    InstId id = comp_inst(bound->module, comp, i);
    if (bound->needed.covers_loops && bound->needed.is_slice[id]) continue;
    if (bound->is_needed[id]) note_need(&needs, (Need){id, own_bytes(bound, (Reader){id, 0})});
  }
  Holders holders = find_holders(bound, comp);
  if (holders.bytes) add_held(bound, order, &holders, &needs);
  for (uint32_t i = 0; i < needs.len; i++) {
    if (needs.list[i].bytes <= bound->comp_bytes[comp]) continue;
    bound->comp_bytes[comp] = needs.list[i].bytes;
    if (comp == bound->module->entry) bound->best.inst = needs.list[i].inst;
  }
  arena_reset(bound->scratch, mark);
}

/* Bytes that the entry computation returns and did not receive. All of them are live at the end. A
 * part counts at most the size of its shape, even if it is a bitcast of something larger. */
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

/* Bytes of the constants in computations that run because the entry computation needs them. Numbers
 * with which loops count do not stay if the loops can be rewritten. */
static int64_t constant_bytes(const Bound *bound, const CallGraph *graph) {
  const Module *module = bound->module;
  bool *runs = arena_zarray(bound->arena, bool, module->comps.len);
  int64_t bytes = 0;
  for (uint32_t i = graph->num_reachable; i-- > 0;) { /* callers first */
    CompId comp = graph->post_order[i];
    runs[comp] = comp == module->entry;
    IdSpan callers = callers_of(graph, comp);
    for (uint32_t k = 0; k < callers.len; k++) {
      InstId caller = callers.ids[k];
      runs[comp] |= runs[inst_get(module, caller)->parent] && bound->is_needed[caller];
    }
    if (!runs[comp] || !comp_is_sequential(graph, comp)) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      const Shape *shape = inst_shape(module, id);
      bool is_counted = inst_get(module, id)->opcode == OPCODE_CONSTANT && bound->is_needed[id];
      if (bound->needed.covers_loops && shape_is_effective_scalar(shape)) continue;
      if (is_counted) bytes += shape->device_bytes;
    }
  }
  return bytes;
}

static Bound bound_init(const Module *module, const Legality *legality, Arena *arena,
                        Arena *scratch) {
  Bound bound = {.module = module,
                 .legality = legality,
                 .points_to = points_to_build(module, arena, scratch),
                 .best = {.inst = NO_ID},
                 .arena = arena,
                 .scratch = scratch};
  uint32_t num_insts = module->insts.len, num_buffers = bound.points_to.buffers.len;
  bound.is_needed = arena_zarray(arena, bool, num_insts);
  bound.is_live_out = arena_zarray(arena, bool, num_buffers);
  bound.same_as = arena_array(arena, LogicalId, num_buffers);
  for (LogicalId id = 0; id < num_buffers; id++)
    bound.same_as[id] = id;
  bound.seen = arena_zarray(arena, uint32_t, num_buffers);
  bound.is_visited = arena_zarray(arena, uint8_t, num_insts);
  bound.above = arena_zarray(arena, LookBits, num_insts);
  bound.below = arena_zarray(arena, LookBits, num_insts);
  bound.counted = arena_zarray(arena, LookBits, num_buffers);
  bound.comp_bytes = arena_zarray(arena, int64_t, module->comps.len);
  return bound;
}

/* Arrays that are read all the time are in `scratch`, because its pages are probably in use
 * already. */
LowerBound lower_bound(const Module *module, const Legality *legality, bool counts_params,
                       ConstantCount constants, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  /* It only matters whether an instruction can be recomputed, not whether that pays. */
  Legality widest = *legality;
  widest.allow_collectives = true;
  widest.small_node_bytes = 0;
  Bound bound = bound_init(module, &widest, scratch, inner);
  bound.shares_operands = counts_params;
  bound.constants = constants;
  CallGraph graph = call_graph_build(module, scratch, inner);
  bound.needed = needed_find(module, &graph, &legality->effects, scratch, inner);
  bound.best.covers_loops = bound.needed.covers_loops || bound.needed.unrolls;
  if (bound.needed.covers_loops) bound.is_needed = bound.needed.of_inst;
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (bound.needed.unrolls) break;
    if (comp_is_sequential(&graph, comp)) visit_computation(&bound, comp);
  }
  MemoryProfile outside = memory_profile_outside(module, &plain_sizes);
  bound.best.bytes = bound.comp_bytes[module->entry];
  if (counts_params) {
    int64_t returned = returned_bytes(&bound);
    if (returned > bound.best.bytes) {
      bound.best.bytes = returned;
      bound.best.inst = NO_ID;
    }
    /* A parameter whose memory an output reuses may be dead for a while. */
    bound.best.bytes += outside.parameter_bytes - outside.aliased_bytes;
  } else {
    bound.best.bytes += outside.output_bytes;
  }
  if (constants == CONSTANTS_HELD) bound.best.bytes += constant_bytes(&bound, &graph);
  arena_free(inner);
  arena_reset(scratch, mark);
  return bound.best;
}
