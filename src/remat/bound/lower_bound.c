#include "remat/bound/lower_bound.h"

#include <string.h>

#include "analysis/flow/alias.h"
#include "analysis/flow/call_graph.h"
#include "analysis/memory/remat_memory.h"
#include "analysis/flow/traverse.h"
#include "remat/bound/lower_bound_internal.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

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

LogicalId bound_buffer(const Bound *bound, InstId inst, uint32_t part) {
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

/* Whether all callees of a call or conditional make the part anew: neither is it handed through
 * from an operand, nor does it occur twice. */
static bool is_made_by_callees(const Bound *bound, InstId id, uint32_t part) {
  const Module *module = bound->module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    InstId root = comp_get(module, inst_callees(module, id)[i])->root;
    LogicalId made = bound_buffer(bound, root, part);
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[made];
    uint16_t opcode = inst_get(module, buffer->inst)->opcode;
    if (bound->is_opaque[made] || opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT ||
        bound->num_returned[made] != 1)
      return false;
  }
  return true;
}

/* Marks results whose memory may be that of another value. */
static void mark_opaque(Bound *bound, CompId comp) {
  const Module *module = bound->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    bool runs_callees = opcode == OPCODE_CALL || opcode == OPCODE_CONDITIONAL;
    bool is_async = opcode == OPCODE_ASYNC_START || opcode == OPCODE_ASYNC_UPDATE ||
                    opcode == OPCODE_ASYNC_DONE;
    for (uint32_t k = 0; (runs_callees || is_async) && k < bound->points_to.num_defined[id]; k++) {
      LogicalId buffer = bound->points_to.first_buffer[id] + k;
      uint32_t part = bound->points_to.buffers.data[buffer].part;
      bound->is_opaque[buffer] = is_async || !is_made_by_callees(bound, id, part);
    }
  }
}

/* ---- instructions that are needed ---- */

ElementBits bound_readers(const Bound *bound, InstId id, uint32_t operand) {
  if (!fusion_bundles_results(bound->module, id)) return ~(ElementBits)0;
  return bundles_has(&bound->bundles, id) ? bundles_readers(&bound->bundles, id, operand) : 0;
}

bool bound_is_among(const Bound *bound, LogicalId id, ElementBits elements) {
  const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
  if (elements == ~(ElementBits)0) return true;
  if (elements == 0 || buffer->part == 0) return false;
  const Shape *shape = inst_shape(bound->module, buffer->inst);
  return elements >> shape_element_of_part(shape, buffer->part) & 1;
}

static void need(Bound *bound, InstId id, ElementBits elements) {
  bound->is_needed[id] = true;
  bound->needed_elements[id] |= elements;
}

/* The elements of a result for which an operand is needed. */
static ElementBits serves(const Bound *bound, InstId id, uint32_t operand) {
  const Instruction *inst = inst_get(bound->module, id);
  bool is_short = inst->opcode == OPCODE_TUPLE && inst->num_operands <= MAX_BUNDLED;
  if (is_short) return (ElementBits)1 << operand;
  if (bundles_has(&bound->bundles, id)) return bundles_readers(&bound->bundles, id, operand);
  return ~(ElementBits)0;
}

/* The elements that a needed instruction reads of its operands. */
static ElementBits elements_read(const Bound *bound, InstId id) {
  const Instruction *inst = inst_get(bound->module, id);
  if (inst->opcode == OPCODE_OPT_BARRIER) return bound->needed_elements[id];
  bool is_element = inst->opcode == OPCODE_GET_TUPLE_ELEMENT && inst->index < MAX_BUNDLED;
  return is_element ? (ElementBits)1 << inst->index : ~(ElementBits)0;
}

static void mark_needed(Bound *bound, Sequence order) {
  const Module *module = bound->module;
  for (uint32_t i = order.len; i-- > 0;) {
    if (i >= FETCH_AHEAD) inst_prefetch(module, order.ids[i - FETCH_AHEAD]);
    InstId id = order.ids[i];
    const Instruction *inst = inst_get(module, id);
    if (bound->needed.covers_loops) { /* they are known already */
      bound->needed_elements[id] = ~(ElementBits)0;
      continue;
    }
    bool is_kept = inst_is_root(module, id) || inst_has_control(module, id) ||
                   inst_has_side_effect(module, &bound->legality->effects, id);
    if (is_kept) need(bound, id, ~(ElementBits)0);
    if (!bound->is_needed[id]) continue;
    for (uint32_t k = 0; k < inst->num_operands; k++) {
      if (serves(bound, id, k) & bound->needed_elements[id])
        need(bound, inst_operand(module, id, k), elements_read(bound, id));
    }
  }
}

/* A part counts at most the size of its shape, even if it is a bitcast of something larger. Callers
 * pay for what other computations return. */
static void mark_live_out(Bound *bound, CompId comp) {
  const Module *module = bound->module;
  bool counts = comp == module->entry && bound->keeps_apart;
  InstId root = comp_get(bound->module, comp)->root;
  for (uint32_t part = 0; part < inst_shape(bound->module, root)->num_parts; part++) {
    LogicalId id = bound_buffer(bound, root, part);
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
    bound->is_live_out[id] = true;
    bound->num_returned[id]++;
    if (!counts || bound->is_opaque[id] || bound_is_given(bound, buffer) ||
        bound_is_table(bound, id))
      continue;
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    int64_t bytes = smaller(buffer->bytes, plain_sizes.of_part(module, shape));
    int64_t *known = &bound->entry_bytes[id];
    *known = *known ? smaller(*known, bytes) : bytes;
  }
}

/* ---- one instruction ---- */

bool bound_is_given(const Bound *bound, const LogicalBuffer *buffer) {
  uint16_t opcode = inst_get(bound->module, buffer->inst)->opcode;
  return opcode == OPCODE_PARAMETER ||
         (opcode == OPCODE_CONSTANT && bound->constants != CONSTANTS_LIVE);
}

/* Whether a rewrite of loops can do without the memory, because they may count otherwise. */
static bool is_count(const Bound *bound, const LogicalBuffer *buffer) {
  return bound->needed.covers_loops &&
         shape_is_effective_scalar(shape_get(&bound->module->shapes, buffer->shape));
}

/* Tuple pointer tables count 0, because a rewrite can remove the tuple. */
int64_t bound_bytes(const Bound *bound, LogicalId id) {
  const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
  if (bound->entry_bytes[id]) return bound->entry_bytes[id];
  bool is_free = bound_is_given(bound, buffer) || bound_is_table(bound, id) ||
                 bound->is_live_out[id] || bound->is_opaque[id];
  return is_free || is_count(bound, buffer) ? 0 : buffer->bytes;
}

/* Whether a fusion does not use an operand that it only hands on (points_to_is_unused_by()). */
static bool ignores_handed(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_FUSION &&
         inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_LOOP;
}

/* Whether a fusion or a call reads an operand for more than dead code, which goes away, and the
 * operand with it. */
static bool is_read_by_callee(const Bound *bound, InstId operand, InstId user) {
  const Module *module = bound->module;
  const Instruction *inst = inst_get(module, user);
  if (inst->opcode != OPCODE_FUSION && inst->opcode != OPCODE_CALL) return true;
  const Computation *callee = comp_get(module, inst_callees(module, user)[0]);
  bool ignores = ignores_handed(module, user);
  for (uint32_t i = 0; i < inst->num_operands && i < callee->params.len; i++) {
    InstId param = id_list(module, callee->params)[i];
    bool is_unused =
        bound->is_dead[param] || (ignores && fused_is_handed_on(module, callee->root, param));
    if (inst_operand(module, user, i) == operand && !is_unused) return true;
  }
  return false;
}

ElementBits bound_holders(const Bound *bound, InstId id, uint32_t operand) {
  ElementBits readers = bound_readers(bound, id, operand);
  bool can_ignore = bundles_has(&bound->bundles, id) && ignores_handed(bound->module, id);
  return can_ignore ? readers & ~bundles_handed(&bound->bundles, id, operand) : readers;
}

bool bound_is_used_by(const Bound *bound, InstId operand, uint32_t part, InstId user) {
  return is_read_by_callee(bound, operand, user) &&
         !points_to_is_unused_by(bound->module, &bound->points_to, operand, part, user) &&
         needed_reads(&bound->needed, operand, part, user);
}

bool bound_waits(const Bound *bound, InstId id) {
  return !bound->needed.covers_loops ||
         (bound->needed.of_inst[id] && !bound->needed.is_replaceable[id]);
}

/* Arrays that are live together while an instruction runs: before it has ended, and when it ends.
 */
typedef struct Own {
  Sizes before; /* its operands, and results that cannot take over the memory of one */
  Sizes after;  /* its results */
  int64_t before_bytes, after_bytes;
  int64_t largest_called, all_called;
  CompId called; /* the callee that needs most; NO_ID = none */
} Own;

typedef struct Counting {
  InstId inst;
  ElementBits elements; /* of the results: only these, and what they depend on, are counted */
  LookBits look;        /* the look that counts what the instruction reads; 0 = none */
} Counting;

/* Bytes of the buffer; 0 if this count has included it before. */
static int64_t count_once(Bound *bound, const Counting *counting, LogicalId id) {
  if (bound->seen[id] == bound->num_counts) return 0;
  bound->seen[id] = bound->num_counts;
  bound->counted[id] |= counting->look;
  return bound_bytes(bound, id);
}

static void add_size(Bound *bound, Sizes *sizes, int64_t *sum, int64_t bytes) {
  if (bytes > 0) *vec_push(bound->scratch, sizes) = bytes;
  *sum += bytes;
}

static void add_operands(Bound *bound, const Counting *counting, Own *own) {
  const Module *module = bound->module;
  InstId id = counting->inst;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    if (!(bound_holders(bound, id, i) & counting->elements)) continue;
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      if (!bound_is_used_by(bound, operand, part, id)) continue;
      LogicalId buffer = bound_buffer(bound, operand, part);
      add_size(bound, &own->before, &own->before_bytes, count_once(bound, counting, buffer));
    }
  }
}

/* Whether no reader of a value makes it share its memory with another value: loops, calls and
 * operations that work in place do, and so join it with values before it. */
static bool is_alone(Bound *bound, LogicalId id) {
  const Module *module = bound->module;
  const PointsTo *points_to = &bound->points_to;
  for (uint32_t i = points_to->first_alias[id]; i < points_to->first_alias[id + 1]; i++) {
    InstId alias = points_to->aliases[i].inst;
    for (uint32_t k = 0; k < inst_get(module, alias)->users.len; k++) {
      InstId user = inst_users(module, alias)[k];
      const Instruction *inst = inst_get(module, user);
      bool runs_callees =
          inst->num_callees > 0 && inst->opcode != OPCODE_FUSION && inst->opcode != OPCODE_REDUCE;
      if (runs_callees || opcode_is_control_flow((Opcode)inst->opcode)) return false;
      ArenaMark mark = arena_mark(bound->scratch);
      InPlacePairs pairs = {0};
      in_place_pairs(module, user, &pairs, bound->scratch);
      uint32_t num_pairs = pairs.list.len;
      arena_reset(bound->scratch, mark);
      if (num_pairs > 0) return false;
    }
  }
  return true;
}

/* Dead code in a fusion may be all that keeps a result from taking the memory of an operand. */
static bool has_dead_code(const Bound *bound, InstId fusion) {
  CompId comp = inst_callees(bound->module, fusion)[0];
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    if (bound->is_dead[comp_inst(bound->module, comp, i)]) return true;
  }
  return false;
}

/* Whether a result certainly has memory of its own beside the operands. Recomputation changes
 * neither the opcodes and shapes that decide this, nor which operands are the same. */
static bool is_beside_operands(Bound *bound, InstId id, LogicalId buffer) {
  const Module *module = bound->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t part = bound->points_to.buffers.data[buffer].part;
  bool is_bundle = fusion_bundles_results(module, id);
  if (is_bundle || bound->is_live_out[buffer] || bound->same_as[buffer] != buffer) return false;
  switch (inst->opcode) {
    case OPCODE_CONVOLUTION:
    case OPCODE_DOT:
    case OPCODE_FUSION:
    case OPCODE_GATHER:
    case OPCODE_PAD:
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SELECT_AND_SCATTER:
    case OPCODE_TRANSPOSE: break;
    default: return false;
  }
  if (inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING)) return false;
  if (inst->opcode == OPCODE_FUSION && has_dead_code(bound, id)) return false;
  if (!is_alone(bound, buffer)) return false;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t k = 0; k < inst_shape(module, operand)->num_parts; k++) {
      if (can_share_operand_buffer(module, NULL, operand, k, id, part, bound->scratch))
        return false;
    }
  }
  return true;
}

static void add_results(Bound *bound, const Counting *counting, Own *own) {
  InstId id = counting->inst;
  if (inst_get(bound->module, id)->opcode == OPCODE_WHILE) return;
  uint32_t first = bound->points_to.first_buffer[id];
  for (uint32_t k = 0; k < bound->points_to.num_defined[id]; k++) {
    if (!bound_is_among(bound, first + k, counting->elements)) continue;
    if (!needed_part(&bound->needed, id, bound->points_to.buffers.data[first + k].part)) continue;
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[first + k];
    LogicalId stands_for = bound_buffer(bound, buffer->inst, buffer->part);
    int64_t bytes = count_once(bound, counting, stands_for);
    add_size(bound, &own->after, &own->after_bytes, bytes);
    if (bytes && bound->keeps_apart && is_beside_operands(bound, id, first + k))
      add_size(bound, &own->before, &own->before_bytes, bytes);
  }
}

static void add_called(Bound *bound, InstId id, Own *own) {
  const Module *module = bound->module;
  if (!opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) return;
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    int64_t called = bound->comp_bytes[callee];
    own->all_called = smaller(own->all_called + called, MAX_CALLEE_BYTES);
    if (called > own->largest_called) own->called = callee;
    own->largest_called = larger(own->largest_called, called);
  }
}

/* What a conditional hands to its branches may be one memory, if branches return it. */
static Own own_of(Bound *bound, const Counting *counting) {
  Own own = {.called = NO_ID};
  bound->num_counts++;
  bool is_conditional = inst_get(bound->module, counting->inst)->opcode == OPCODE_CONDITIONAL;
  if (!is_conditional) add_operands(bound, counting, &own);
  add_results(bound, counting, &own);
  add_called(bound, counting->inst, &own);
  return own;
}

static int64_t own_bytes(const Bound *bound, const Own *own) {
  if (!bound->shares_operands) return own->before_bytes + own->after_bytes + own->all_called;
  return larger(larger(own->before_bytes, own->after_bytes), own->largest_called);
}

/* Dead code elimination can remove all results of a fusion that bundles them but one, and operands
 * with them: the result that needs most counts. */
static ElementBits choose_elements(Bound *bound, InstId id) {
  if (!fusion_bundles_results(bound->module, id)) return ~(ElementBits)0;
  ElementBits chosen = 0;
  int64_t most = -1;
  uint32_t num_results = inst_shape(bound->module, id)->rank;
  for (uint32_t e = 0; e < num_results && e < MAX_BUNDLED; e++) {
    ElementBits element = (ElementBits)1 << e;
    if (!(bound->needed_elements[id] & element)) continue;
    ArenaMark mark = arena_mark(bound->scratch);
    Own own = own_of(bound, &(Counting){id, element, 0});
    int64_t bytes = own_bytes(bound, &own);
    if (bytes > most) {
      most = bytes;
      chosen = element;
    }
    arena_reset(bound->scratch, mark);
  }
  return chosen;
}

static void note_need(Needs *needs, Need need) {
  uint32_t at = needs->len;
  while (at && needs->list[at - 1].bytes < need.bytes)
    at--;
  if (at == NUM_CLOSE_LOOKS) return;
  if (needs->len < NUM_CLOSE_LOOKS) needs->len++;
  memmove(&needs->list[at + 1], &needs->list[at], (needs->len - 1 - at) * sizeof need);
  needs->list[at] = need;
}

/* ---- one computation ---- */

static void find_needs(Bound *bound, CompId comp, Needs *needs) {
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    InstId id = comp_inst(bound->module, comp, i);
    if (bound->needed.covers_loops && bound->needed.is_slice[id]) continue;
    /* rewrites can go around what only hands values on; what the entry returns counts at the end */
    bool hands_on = inst_get(bound->module, id)->opcode == OPCODE_TUPLE ||
                    bound->points_to.num_defined[id] == 0;
    if (!bound->is_needed[id] || hands_on) continue;
    ArenaMark mark = arena_mark(bound->scratch);
    Own own = own_of(bound, &(Counting){id, choose_elements(bound, id), 0});
    arena_reset(bound->scratch, mark);
    note_need(needs, (Need){id, own_bytes(bound, &own)});
  }
}

static void add_all(Bound *bound, Sizes *sizes, const Sizes *more) {
  for (uint32_t i = 0; i < more->len; i++)
    *vec_push(bound->scratch, sizes) = more->data[i];
}

/* Of the lists of what an instruction has, the one with most bytes, and what lives beside it. */
static Sizes sizes_of(Bound *bound, const Own *own, const Sizes *held) {
  Sizes sizes = {0};
  const Sizes *most = own->before_bytes >= own->after_bytes ? &own->before : &own->after;
  bool is_called = own->largest_called > larger(own->before_bytes, own->after_bytes);
  add_all(bound, &sizes, is_called ? &bound->comp_sizes[own->called] : most);
  add_all(bound, &sizes, held);
  return sizes;
}

static void note_sizes(Bound *bound, CompId comp, Sizes sizes) {
  bound->comp_sizes[comp].len = 0;
  for (uint32_t i = 0; i < sizes.len; i++)
    *vec_push(bound->arena, &bound->comp_sizes[comp]) = sizes.data[i];
}

/* Under the model `heap`, what lives beside memory that is given may need more than all of it. */
static void note_heap(Bound *bound, InstId id, Sizes sizes) {
  int64_t bytes = given_memory_leaves(&bound->given, &sizes);
  if (bytes <= bound->heap_bytes) return;
  bound->heap_bytes = bytes;
  bound->heap_inst = id;
}

static void visit_computation(Bound *bound, CompId comp) {
  ArenaMark mark = arena_mark(bound->scratch);
  bool is_entry = comp == bound->module->entry;
  Sequence order =
      inst_post_order(bound->module, comp, bound->visited, bound->scratch, bound->scratch);
  mark_needed(bound, order);
  mark_opaque(bound, comp);
  join_loops(bound, comp);
  if (is_entry && bound->keeps_apart) bound_find_donations(bound);
  mark_live_out(bound, comp);
  Needs needs = {.len = 0};
  find_needs(bound, comp, &needs);
  Own owns[NUM_CLOSE_LOOKS];
  for (uint32_t i = 0; i < needs.len; i++) { /* also marks the buffers that each of them counts */
    InstId id = needs.list[i].inst;
    ElementBits elements = choose_elements(bound, id);
    owns[i] = own_of(bound, &(Counting){id, elements, (LookBits)(1u << i)});
  }
  bound_add_held(bound, comp, order, &needs);
  for (uint32_t i = 0; i < needs.len; i++) {
    bool is_most = needs.list[i].bytes > bound->comp_bytes[comp];
    if (is_most) bound->comp_bytes[comp] = needs.list[i].bytes;
    if (is_most && is_entry) bound->best.inst = needs.list[i].inst;
    if (bound->constants != CONSTANTS_HELD || (!is_most && !is_entry)) continue;
    Sizes sizes = sizes_of(bound, &owns[i], &needs.held[i]);
    if (is_entry) {
      note_heap(bound, needs.list[i].inst, sizes);
    } else {
      note_sizes(bound, comp, sizes);
    }
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
    LogicalId id = bound_buffer(bound, root, part);
    const LogicalBuffer *buffer = &bound->points_to.buffers.data[id];
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    int64_t of_part = plain_sizes.of_part(module, shape);
    if (!is_seen[id] && !bound->is_opaque[id] && !bound_is_given(bound, buffer))
      bytes += smaller(buffer->bytes, of_part);
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
      if (is_counted) bytes += plain_sizes.of_all(module, inst_get(module, id)->shape);
    }
  }
  return bytes;
}

/* Marks what neither a result nor a side effect of its own computation depends on. Most operands
 * have lower numbers than their users, so one pass from the end, in the order of memory, meets
 * nearly all users first; `work` has the operands that it has already passed. */
static void mark_dead(Bound *bound) {
  const Module *module = bound->module;
  IdVec work = {0};
  bool *is_dead = arena_array(bound->arena, bool, module->insts.len);
  memset(is_dead, true, module->insts.len);
  for (InstId next = module->insts.len; next-- > 0;) {
    bool is_kept = inst_is_root(module, next) || inst_has_control(module, next) ||
                   inst_has_side_effect(module, &bound->legality->effects, next);
    if (is_kept && !(inst_get(module, next)->flags & INST_DEAD)) is_dead[next] = false;
    if (is_dead[next]) continue;
    *vec_push(bound->scratch, &work) = next;
    while (work.len) {
      InstId id = work.data[--work.len];
      for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
        InstId operand = inst_operand(module, id, i);
        if (is_dead[operand] && operand > next) *vec_push(bound->scratch, &work) = operand;
        is_dead[operand] = false;
      }
    }
  }
  bound->is_dead = is_dead;
}

static Bound bound_init(const Module *module, const Legality *legality, Arena *arena,
                        Arena *scratch) {
  Bound bound = {.module = module,
                 .legality = legality,
                 .points_to = points_to_build(module, arena, scratch),
                 .best = {.inst = NO_ID},
                 .heap_inst = NO_ID,
                 .arena = arena,
                 .scratch = scratch};
  uint32_t num_insts = module->insts.len, num_buffers = bound.points_to.buffers.len;
  bound.is_needed = arena_zarray(arena, bool, num_insts);
  bound.is_live_out = arena_zarray(arena, bool, num_buffers);
  bound.is_opaque = arena_zarray(arena, bool, num_buffers);
  bound.num_returned = arena_zarray(arena, uint32_t, num_buffers);
  bound.same_as = arena_array(arena, LogicalId, num_buffers);
  for (LogicalId id = 0; id < num_buffers; id++)
    bound.same_as[id] = id;
  bound.seen = arena_zarray(arena, uint32_t, num_buffers);
  bound.visited = arena_array(arena, uint32_t, num_insts);
  bound.above = arena_zarray(arena, LookBits, num_buffers);
  bound.below = arena_zarray(arena, LookBits, num_buffers);
  bound.inst_look = arena_zarray(arena, LookBits, num_insts);
  bound.inst_below = arena_zarray(arena, LookBits, num_insts);
  bound.counted = arena_zarray(arena, LookBits, num_buffers);
  bound.entry_bytes = arena_zarray(arena, int64_t, num_buffers);
  bound.needed_elements = arena_zarray(arena, ElementBits, num_insts);
  bound.bundles = bundles_find(module, arena, scratch);
  bound.comp_bytes = arena_zarray(arena, int64_t, module->comps.len);
  bound.comp_sizes = arena_zarray(arena, Sizes, module->comps.len);
  mark_dead(&bound);
  return bound;
}

/* Arrays that are read all the time are in `scratch`, because its pages are probably in use
 * already. */
LowerBound lower_bound(const Module *module, const Legality *legality, const LowerBoundRules *rules,
                       Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  /* It only matters whether an instruction can be recomputed, not whether that pays. */
  Legality widest = *legality;
  widest.allow_collectives = true;
  widest.small_node_bytes = 0;
  Bound bound = bound_init(module, &widest, scratch, inner);
  bool counts_params = rules->counts_params;
  ConstantCount constants = rules->constants;
  bound.shares_operands = counts_params;
  bound.keeps_apart = counts_params && rules->keeps_apart;
  bound.constants = constants;
  bound.given = given_memory_find(module, &bound.points_to, inner);
  CallGraph graph = call_graph_build(module, scratch, inner);
  bound.needed = rules->keeps_loops
                     ? (Needed){.module = module}
                     : needed_find(module, &graph, &legality->effects, scratch, inner);
  bound.best.covers_loops = bound.needed.covers_loops || bound.needed.unrolls;
  /* A loop that is rewritten may get other operands and fusions than those that are looked at. */
  if (bound.best.covers_loops) bound.keeps_apart = false;
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
    if (returned >= bound.best.bytes) {
      bound.best.bytes = returned;
      bound.best.inst = NO_ID;
    }
    /* A parameter whose memory an output reuses may be dead for a while. */
    bound.best.bytes += outside.parameter_bytes - outside.aliased_bytes;
  } else {
    bound.best.bytes += outside.output_bytes;
  }
  int64_t given_bytes = bound.given.held_bytes + bound.heap_bytes;
  if (constants == CONSTANTS_HELD && bound.keeps_apart && given_bytes > bound.best.bytes) {
    bound.best.bytes = given_bytes;
    bound.best.inst = bound.heap_inst;
  }
  if (constants == CONSTANTS_HELD) bound.best.bytes += constant_bytes(&bound, &graph);
  arena_free(inner);
  arena_reset(scratch, mark);
  return bound.best;
}
