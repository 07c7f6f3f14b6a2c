#include "analysis/flow/call_graph.h"

/* The instructions that have callees, grouped by computation: most instructions have none. */
typedef struct Calls {
  VEC(InstId) list;
  uint32_t *first, *end; /* by CompId: its range of the list, set when the computation is visited */
} Calls;

typedef struct Frame {
  CompId comp;
  uint32_t call;   /* index of the next call to visit */
  uint32_t callee; /* index of its next callee */
} Frame;

typedef struct Walk {
  const Module *module;
  bool *is_seen; /* by CompId */
  Calls calls;
  VEC(Frame) stack;
  CompId *order;
  uint32_t num_ordered;
  Arena *scratch;
} Walk;

static Walk walk_begin(const Module *module, CompId *order, Arena *scratch) {
  uint32_t num_comps = module->comps.len;
  return (Walk){.module = module,
                .is_seen = arena_zarray(scratch, bool, num_comps),
                .calls.first = arena_array(scratch, uint32_t, num_comps),
                .calls.end = arena_array(scratch, uint32_t, num_comps),
                .order = order,
                .scratch = scratch};
}

/* The next callee of the computation on top of the stack; NO_ID when there is none. */
static CompId next_callee(const Walk *walk, Frame *frame) {
  const Calls *calls = &walk->calls;
  for (; frame->call < calls->end[frame->comp]; frame->call++, frame->callee = 0) {
    InstId id = calls->list.data[frame->call];
    if (frame->callee < inst_get(walk->module, id)->num_callees) {
      return inst_callees(walk->module, id)[frame->callee++];
    }
  }
  return NO_ID;
}

static void visit(Walk *walk, CompId comp) {
  if (walk->is_seen[comp]) return;
  walk->is_seen[comp] = true;
  Calls *calls = &walk->calls;
  calls->first[comp] = calls->list.len;
  for (uint32_t i = 0; i < comp_num_insts(walk->module, comp); i++) {
    InstId id = comp_inst(walk->module, comp, i);
    if (inst_get(walk->module, id)->num_callees) *vec_push(walk->scratch, &calls->list) = id;
  }
  calls->end[comp] = calls->list.len;
  *vec_push(walk->scratch, &walk->stack) = (Frame){.comp = comp, .call = calls->first[comp]};
}

/* Callees come before callers in the text, and rewrites only add copies. So there is no recursion,
 * and this terminates. */
static void walk_from(Walk *walk, CompId root) {
  visit(walk, root);
  while (walk->stack.len) {
    Frame *top = &walk->stack.data[walk->stack.len - 1];
    CompId callee = next_callee(walk, top);
    if (callee != NO_ID) {
      visit(walk, callee);
    } else {
      walk->order[walk->num_ordered++] = top->comp;
      walk->stack.len--;
    }
  }
}

CompId *comps_post_order(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_comps = module->comps.len;
  CompId *order = arena_array(out, CompId, num_comps);
  ArenaMark mark = arena_mark(scratch);
  Walk walk = walk_begin(module, order, scratch);
  for (CompId comp = 0; comp < num_comps; comp++)
    walk_from(&walk, comp);
  arena_reset(scratch, mark);
  return order;
}

void comps_mark_callers(const Module *module, bool *is_marked, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  const CompId *order = comps_post_order(module, scratch, scratch);
  for (uint32_t i = 0; i < module->comps.len; i++) {
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++) {
      InstId id = comp_inst(module, order[i], k);
      for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++)
        is_marked[order[i]] |= is_marked[inst_callees(module, id)[c]];
    }
  }
  arena_reset(scratch, mark);
}

static void note_context(const Module *module, CallGraph *graph, InstId caller) {
  const Instruction *inst = inst_get(module, caller);
  uint8_t context =
      opcode_is_control_flow((Opcode)inst->opcode) ? CALLED_AS_SEQUENCE : CALLED_AS_EXPRESSION;
  /* a call inside an expression is embedded, whatever its opcode */
  if (!(graph->context[inst->parent] & CALLED_AS_SEQUENCE)) context = CALLED_AS_EXPRESSION;
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    graph->context[inst_callees(module, caller)[i]] |= context;
  }
}

/* Records the contexts of all computations and counts the callers of computation c in
 * first_caller[c + 1]. Returns the total number of callers. */
static uint32_t count_callers(const Module *module, const Calls *calls, CallGraph *graph) {
  uint32_t num_callers = 0;
  graph->context[module->entry] = CALLED_AS_SEQUENCE;
  for (uint32_t i = graph->num_reachable; i-- > 0;) { /* callers before callees */
    CompId comp = graph->post_order[i];
    for (uint32_t k = calls->first[comp]; k < calls->end[comp]; k++) {
      InstId id = calls->list.data[k];
      uint32_t num_callees = inst_get(module, id)->num_callees;
      note_context(module, graph, id);
      num_callers += num_callees;
      for (uint32_t c = 0; c < num_callees; c++)
        graph->first_caller[inst_callees(module, id)[c] + 1]++;
    }
  }
  return num_callers;
}

static void list_callers(const Module *module, const Calls *calls, CallGraph *graph,
                         Arena *scratch) {
  uint32_t num_comps = module->comps.len;
  for (CompId comp = 0; comp < num_comps; comp++)
    graph->first_caller[comp + 1] += graph->first_caller[comp];
  uint32_t *next = arena_array(scratch, uint32_t, num_comps);
  memcpy(next, graph->first_caller, num_comps * sizeof *next);
  for (uint32_t i = 0; i < graph->num_reachable; i++) {
    CompId comp = graph->post_order[i];
    for (uint32_t k = calls->first[comp]; k < calls->end[comp]; k++) {
      InstId id = calls->list.data[k];
      for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++)
        graph->callers[next[inst_callees(module, id)[c]]++] = id;
    }
  }
}

CallGraph call_graph_build(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_comps = module->comps.len;
  CallGraph graph = {.post_order = arena_array(out, CompId, num_comps),
                     .context = arena_zarray(out, uint8_t, num_comps),
                     .first_caller = arena_zarray(out, uint32_t, num_comps + 1)};
  ArenaMark mark = arena_mark(scratch);
  Walk walk = walk_begin(module, graph.post_order, scratch);
  walk_from(&walk, module->entry);
  graph.num_reachable = walk.num_ordered;
  uint32_t num_callers = count_callers(module, &walk.calls, &graph);
  graph.callers = arena_array(out, InstId, num_callers);
  list_callers(module, &walk.calls, &graph, scratch);
  arena_reset(scratch, mark);
  return graph;
}

bool comp_is_started(const Module *module, const CallGraph *graph, CompId id) {
  IdSpan callers = callers_of(graph, id);
  return callers.len && inst_get(module, callers.ids[0])->opcode == OPCODE_ASYNC_START;
}

bool comp_has_loop(const Module *module, CompId id) {
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    if (inst_get(module, comp_inst(module, id, i))->opcode == OPCODE_WHILE) return true;
  }
  return false;
}

bool call_is_compiled_alone(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CALL &&
         str_contains(inst_attr_text(module, id, ATTR_FRONTEND_ATTRIBUTES), "xla_cpu_small_call");
}

bool call_is_of_one_shard(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CALL &&
         str_begins_with(comp_name(module, inst_callees(module, id)[0]),
                         "xla.sdy.manual_computation_body");
}
