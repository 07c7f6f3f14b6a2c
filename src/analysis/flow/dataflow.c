/* One pass over all computations gives every part a reference: to a value that its instruction
 * defines, or to a variable where control flow decides (parameters of called computations, results
 * of calls, loops and conditionals). Then the variables are resolved: a variable that can hold only
 * one value is that value, and the others become phis. */
#include "analysis/flow/dataflow.h"

#include "analysis/flow/traverse.h"

#define VARIABLE_BIT (UINT32_C(1) << 31)

typedef uint32_t Ref; /* a ValueId, or a variable with VARIABLE_BIT */

typedef struct Variable {
  InstId inst;
  uint32_t part;
  uint32_t first_input; /* in Builder.inputs */
  uint32_t num_inputs;
  Ref resolved; /* the variable itself until it is known to be something else */
} Variable;

typedef struct Builder {
  const Module *module;
  const CallGraph *graph;
  Dataflow *flow;
  Arena *out;
  Arena *scratch;
  VEC(Variable) variables;
  VEC(Ref) inputs;
} Builder;

static Ref *add_parts(Builder *builder, InstId id) {
  uint32_t num_parts = inst_shape(builder->module, id)->num_parts;
  builder->flow->first_part[id] = builder->flow->parts.len;
  Ref *parts = vec_extend(builder->out, &builder->flow->parts, num_parts);
  memset(parts, 0xff, num_parts * sizeof *parts);
  return parts;
}

static const Ref *parts_of(const Builder *builder, InstId id) {
  return builder->flow->parts.data + builder->flow->first_part[id];
}

static void share(Builder *builder, InstId id, InstId operand, uint32_t from) {
  builder->flow->first_part[id] = builder->flow->first_part[operand] + from;
}

static void forward(Builder *builder, Ref *parts, uint32_t to, InstId operand, uint32_t from,
                    uint32_t count) {
  memcpy(parts + to, parts_of(builder, operand) + from, count * sizeof *parts);
}

static Ref define(Builder *builder, InstId id, uint32_t part) {
  const ShapeTable *shapes = &builder->module->shapes;
  ShapeId shape = shape_part(shapes, inst_get(builder->module, id)->shape, part);
  *vec_push(builder->out, &builder->flow->values) =
      (HloValue){.inst = id,
                 .part = part,
                 .shape = shape,
                 .bytes = target_plain_device_bytes(builder->module->backend.target,
                                                    shape_get(shapes, shape))};
  return builder->flow->values.len - 1;
}

static Ref make_variable(Builder *builder, InstId id, uint32_t part) {
  uint32_t variable = builder->variables.len;
  *vec_push(builder->scratch, &builder->variables) =
      (Variable){.inst = id, .part = part, .resolved = variable | VARIABLE_BIT};
  return variable | VARIABLE_BIT;
}

static void make_variables(Builder *builder, InstId id) {
  Ref *parts = add_parts(builder, id);
  uint32_t num_parts = inst_shape(builder->module, id)->num_parts;
  for (uint32_t part = 0; part < num_parts; part++)
    parts[part] = make_variable(builder, id, part);
}

static bool is_called(const Builder *builder, CompId comp) {
  return callers_of(builder->graph, comp).len > 0;
}

static const Shape *part_shape(const Builder *builder, InstId id, uint32_t part) {
  const ShapeTable *shapes = &builder->module->shapes;
  return shape_get(shapes, shape_part(shapes, inst_get(builder->module, id)->shape, part));
}

/* Part {0,i,…} of an async-start is operand i, and part {1,…} is what the computation returns. It
 * defines tables and contexts. */
static void visit_async_start(Builder *builder, InstId id) {
  const Module *module = builder->module;
  Ref *parts = add_parts(builder, id);
  const Shape *state = inst_shape(module, id);
  const Shape *params = shape_get(&module->shapes, state->elements[0]);
  for (uint32_t i = 0; i < params->rank && i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    uint32_t to = state->element_offsets[0] + params->element_offsets[i];
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      if (!shape_is_tuple(part_shape(builder, operand, part))) {
        parts[to + part] = parts_of(builder, operand)[part];
      }
    }
  }
  uint32_t result = state->element_offsets[1];
  uint32_t num_results = shape_get(&module->shapes, state->elements[1])->num_parts;
  for (uint32_t part = result; part < result + num_results; part++) {
    if (!shape_is_tuple(part_shape(builder, id, part))) {
      parts[part] = make_variable(builder, id, part);
    }
  }
}

/* Forwards the parts of operand 0 beginning with `from`, except tables of pointers, which are
 * new. */
static void visit_async_follower(Builder *builder, InstId id, uint32_t to, uint32_t from,
                                 uint32_t count) {
  InstId operand = inst_operand(builder->module, id, 0);
  uint32_t available = inst_shape(builder->module, operand)->num_parts;
  Ref *parts = builder->flow->parts.data + builder->flow->first_part[id];
  for (uint32_t i = 0; i < count && from + i < available; i++) {
    if (!shape_is_tuple(part_shape(builder, id, to + i))) {
      parts[to + i] = parts_of(builder, operand)[from + i];
    }
  }
}

/* The async-start of an async-update; NO_ID if control flow is in between. */
static InstId async_start_of(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_ASYNC_UPDATE)
    id = inst_operand(module, id, 0);
  return inst_get(module, id)->opcode == OPCODE_ASYNC_START ? id : NO_ID;
}

/* Forwards the arrays among `count` parts. */
static void forward_arrays(Builder *builder, InstId id, uint32_t to, InstId operand, uint32_t from,
                           uint32_t count) {
  Ref *parts = builder->flow->parts.data + builder->flow->first_part[id];
  for (uint32_t part = 0; part < count; part++) {
    bool is_array = !shape_is_tuple(part_shape(builder, id, to + part));
    if (is_array) parts[to + part] = parts_of(builder, operand)[from + part];
  }
}

/* Part {0} of an async-update has the operands that its operand 0 has, and then its own. */
static void forward_bound(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const ShapeTable *shapes = &module->shapes;
  InstId before = inst_operand(module, id, 0);
  const Shape *state = inst_shape(module, id), *old = inst_shape(module, before);
  const Shape *params = shape_get(shapes, state->elements[0]);
  const Shape *bound = shape_get(shapes, old->elements[0]);
  for (uint32_t i = 0; shape_is_tuple(bound) && i < params->rank; i++) {
    uint32_t to = state->element_offsets[0] + params->element_offsets[i];
    uint32_t count = shape_get(shapes, params->elements[i])->num_parts;
    bool is_bound = i < bound->rank;
    uint32_t own = i - bound->rank + 1;
    if (is_bound && shape_get(shapes, bound->elements[i])->num_parts == count) {
      uint32_t from = old->element_offsets[0] + bound->element_offsets[i];
      forward_arrays(builder, id, to, before, from, count);
    } else if (!is_bound && own < inst_get(module, id)->num_operands &&
               inst_shape(module, inst_operand(module, id, own))->num_parts == count) {
      forward_arrays(builder, id, to, inst_operand(module, id, own), 0, count);
    }
  }
}

/* The result is that of operand 0 unless that has none yet. */
static void forward_async_result(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const ShapeTable *shapes = &module->shapes;
  InstId before = inst_operand(module, id, 0);
  const Shape *state = inst_shape(module, id), *old = inst_shape(module, before);
  uint32_t to = state->element_offsets[1];
  uint32_t count = shape_get(shapes, state->elements[1])->num_parts;
  if (shape_compatible(shapes, state->elements[1], old->elements[1])) {
    forward_arrays(builder, id, to, before, old->element_offsets[1], count);
    return;
  }
  for (uint32_t part = to; async_start_of(module, id) != NO_ID && part < to + count; part++) {
    if (shape_is_tuple(part_shape(builder, id, part))) continue;
    Ref variable = make_variable(builder, id, part);
    builder->flow->parts.data[builder->flow->first_part[id] + part] = variable;
  }
}

/* The contexts are new values. Those that output_to_operand_aliasing names are in the memory of
 * what they were. */
static void visit_async_update(Builder *builder, InstId id) {
  add_parts(builder, id);
  forward_bound(builder, id);
  forward_async_result(builder, id);
}

static void forward_tuple(Builder *builder, InstId id, Ref *parts) {
  const Module *module = builder->module;
  const Shape *shape = inst_shape(module, id);
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    forward(builder, parts, shape->element_offsets[i], operand, 0,
            inst_shape(module, operand)->num_parts);
  }
}

/* Elements {0,…} of an all-gather-start or collective-permute-start are its operands: a single
 * operand is at {0} itself, several are in a tuple there. */
static void forward_started_operands(Builder *builder, InstId id, Ref *parts) {
  const Module *module = builder->module;
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_tuple(shape) || shape->rank == 0) return;
  const Shape *sources = shape_get(&module->shapes, shape->elements[0]);
  uint32_t base = shape->element_offsets[0];
  if (!shape_is_tuple(sources)) {
    InstId operand = inst_operand(module, id, 0);
    if (inst_shape(module, operand)->num_parts == 1) forward(builder, parts, base, operand, 0, 1);
    return;
  }
  for (uint32_t i = 0; i < sources->rank && i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    if (inst_shape(module, operand)->num_parts == 1) {
      forward(builder, parts, base + sources->element_offsets[i], operand, 0, 1);
    }
  }
}

/* The result of an all-gather-done or collective-permute-done is element {1} of its start. */
static void forward_done(Builder *builder, InstId id, Ref *parts) {
  const Module *module = builder->module;
  InstId start = inst_operand(module, id, 0);
  const Shape *state = inst_shape(module, start), *shape = inst_shape(module, id);
  if (!shape_is_tuple(state) || state->rank < 2) return;
  uint32_t from = state->element_offsets[1];
  uint32_t available = shape_get(&module->shapes, state->elements[1])->num_parts;
  uint32_t first = shape_is_tuple(shape) ? 1 : 0; /* a tuple's table is new */
  for (uint32_t part = first; part < shape->num_parts && part < available; part++) {
    forward(builder, parts, part, start, from + part, 1);
  }
}

uint32_t shared_operand_part(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN:
    case OPCODE_ADD_DEPENDENCY: return 0;
    case OPCODE_GET_TUPLE_ELEMENT:
      return inst_shape(module, inst_operand(module, id, 0))->element_offsets[inst->index];
    case OPCODE_COPY_DONE:
      return inst_shape(module, inst_operand(module, id, 0))->element_offsets[0];
    default: return NO_ID;
  }
}

/* Forwards an instruction whose result consists of parts of an operand; false for other
 * instructions. */
static bool visit_alias(Builder *builder, InstId id) {
  const Module *module = builder->module;
  uint32_t part = shared_operand_part(module, id);
  if (inst_get(module, id)->opcode == OPCODE_ALL_REDUCE_DONE) {
    const Shape *started = inst_shape(module, inst_operand(module, id, 0));
    if (started->num_parts == inst_shape(module, id)->num_parts) part = 0;
  }
  if (part != NO_ID) share(builder, id, inst_operand(module, id, 0), part);
  return part != NO_ID;
}

static void forward_known_parts(Builder *builder, InstId id, Ref *parts) {
  const Module *module = builder->module;
  const Shape *shape = inst_shape(module, id);
  switch (inst_get(module, id)->opcode) {
    case OPCODE_TUPLE: forward_tuple(builder, id, parts); break;
    case OPCODE_COPY:
      forward(builder, parts, 1, inst_operand(module, id, 0), 1, shape->num_parts - 1);
      break;
    case OPCODE_COPY_START:
      forward(builder, parts, shape->element_offsets[1], inst_operand(module, id, 0), 0, 1);
      break;
    case OPCODE_SEND:
      forward(builder, parts, 1, inst_operand(module, id, 0), 0,
              inst_shape(module, inst_operand(module, id, 0))->num_parts);
      break;
    case OPCODE_RECV_DONE:
      forward(builder, parts, 1, inst_operand(module, id, 0), 1,
              shape_get(&module->shapes, shape->elements[0])->num_parts);
      break;
    case OPCODE_ALL_GATHER_START:
    case OPCODE_COLLECTIVE_PERMUTE_START: forward_started_operands(builder, id, parts); break;
    case OPCODE_ALL_GATHER_DONE:
    case OPCODE_COLLECTIVE_PERMUTE_DONE: forward_done(builder, id, parts); break;
    case OPCODE_ASYNC_DONE: {
      const Shape *state = inst_shape(module, inst_operand(module, id, 0));
      visit_async_follower(builder, id, 0, state->element_offsets[1], shape->num_parts);
      break;
    }
    default: break;
  }
}

static void visit_inst(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const Instruction *inst = inst_get(module, id);
  if (visit_alias(builder, id)) return;
  switch (inst->opcode) {
    case OPCODE_WHILE:
    case OPCODE_CONDITIONAL:
    case OPCODE_CALL: make_variables(builder, id); return;
    case OPCODE_PARAMETER:
      if (is_called(builder, inst->parent)) {
        make_variables(builder, id);
        return;
      }
      break;
    case OPCODE_ASYNC_START: visit_async_start(builder, id); break;
    case OPCODE_ASYNC_UPDATE: visit_async_update(builder, id); break;
    default: add_parts(builder, id); break;
  }
  if (inst->opcode == OPCODE_PARAMETER) add_parts(builder, id);
  Ref *parts = builder->flow->parts.data + builder->flow->first_part[id];
  forward_known_parts(builder, id, parts);
  for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
    if (parts[part] == NO_ID) {
      Ref value = define(builder, id, part);
      builder->flow->parts.data[builder->flow->first_part[id] + part] = value;
    }
  }
}

/* ---- inputs of the variables ---- */

static void add_input(Builder *builder, Variable *variable, InstId id, uint32_t part) {
  *vec_push(builder->scratch, &builder->inputs) = parts_of(builder, id)[part];
  variable->num_inputs++;
}

static InstId root_of(const Builder *builder, CompId comp) {
  return comp_get(builder->module, comp)->root;
}

/* The operand that a caller passes for parameter `index`, which an async-update may bind later;
 * NO_ID if it is not found. */
static InstId passed_operand(const Module *module, InstId caller, uint32_t index) {
  if (index < inst_get(module, caller)->num_operands) return inst_operand(module, caller, index);
  for (uint32_t num_bound = inst_get(module, caller)->num_operands;;) {
    InstId update = NO_ID;
    for (uint32_t i = 0; i < inst_get(module, caller)->users.len && update == NO_ID; i++) {
      InstId user = inst_users(module, caller)[i];
      if (inst_get(module, user)->opcode == OPCODE_ASYNC_UPDATE) update = user;
    }
    if (update == NO_ID || inst_operand(module, update, 0) != caller) return NO_ID;
    uint32_t own = index - num_bound + 1;
    if (own < inst_get(module, update)->num_operands) return inst_operand(module, update, own);
    num_bound += inst_get(module, update)->num_operands - 1;
    caller = update;
  }
}

/* A parameter holds what its callers pass; a loop's parameter also what the body returned. */
static void add_param_inputs(Builder *builder, Variable *variable) {
  const Module *module = builder->module;
  const Instruction *param = inst_get(module, variable->inst);
  IdSpan callers = callers_of(builder->graph, param->parent);
  for (uint32_t i = 0; i < callers.len; i++) {
    InstId caller = callers.ids[i];
    const Instruction *inst = inst_get(module, caller);
    if (!dataflow_covers(builder->flow, caller)) continue;
    uint32_t operand = (uint32_t)param->index;
    if (inst->opcode == OPCODE_CONDITIONAL) {
      for (operand = 0; inst_callees(module, caller)[operand] != param->parent; operand++) {}
      operand++; /* operand 0 selects the branch */
    }
    InstId passed = passed_operand(module, caller, operand);
    if (passed == NO_ID) continue;
    add_input(builder, variable, passed, variable->part);
    if (inst->opcode == OPCODE_WHILE) {
      add_input(builder, variable, root_of(builder, inst_callees(module, caller)[0]),
                variable->part);
    }
  }
}

static void add_inputs(Builder *builder, Variable *variable) {
  const Module *module = builder->module;
  const Instruction *inst = inst_get(module, variable->inst);
  variable->first_input = builder->inputs.len;
  const CompId *callees = inst_callees(module, variable->inst);
  switch (inst->opcode) {
    case OPCODE_PARAMETER: add_param_inputs(builder, variable); break;
    case OPCODE_WHILE:
      add_input(builder, variable, inst_operand(module, variable->inst, 0), variable->part);
      add_input(builder, variable, root_of(builder, callees[0]), variable->part);
      break;
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_START: {
      InstId start = async_start_of(module, variable->inst);
      InstId root = root_of(builder, inst_callees(module, start)[0]);
      uint32_t part = variable->part - inst_shape(module, variable->inst)->element_offsets[1];
      if (part < inst_shape(module, root)->num_parts) add_input(builder, variable, root, part);
      break;
    }
    default: /* call, conditional */
      for (uint32_t i = 0; i < inst->num_callees; i++) {
        add_input(builder, variable, root_of(builder, callees[i]), variable->part);
      }
      break;
  }
}

/* ---- solving ---- */

static Ref resolve(Builder *builder, Ref ref) {
  while (ref & VARIABLE_BIT) {
    Variable *variable = &builder->variables.data[ref & ~VARIABLE_BIT];
    Ref next = variable->resolved;
    if (next == ref) return ref;
    if (next & VARIABLE_BIT) { /* halve the path */
      variable->resolved = builder->variables.data[next & ~VARIABLE_BIT].resolved;
    }
    ref = next;
  }
  return ref;
}

/* The only input of a variable that is not the variable itself; NO_ID when there are several or
 * none. */
static Ref only_input(Builder *builder, uint32_t index) {
  const Variable *variable = &builder->variables.data[index];
  Ref self = index | VARIABLE_BIT, only = NO_ID;
  for (uint32_t i = 0; i < variable->num_inputs; i++) {
    Ref input = resolve(builder, builder->inputs.data[variable->first_input + i]);
    if (input == self) continue;
    if (only != NO_ID && input != only) return NO_ID;
    only = input;
  }
  return only;
}

/* The variables to visit again when a variable is resolved: the inputs that refer to it, as linked
 * lists that can be joined. */
typedef struct Dependents {
  uint32_t *first, *last; /* by variable: an input, NO_ID = none */
  uint32_t *next;         /* by input */
  uint32_t *owner;        /* by input: the variable that it belongs to */
} Dependents;

static Dependents build_dependents(const Builder *builder) {
  uint32_t num_variables = builder->variables.len, num_inputs = builder->inputs.len;
  Dependents deps = {.first = arena_array(builder->scratch, uint32_t, num_variables),
                     .last = arena_array(builder->scratch, uint32_t, num_variables),
                     .next = arena_array(builder->scratch, uint32_t, num_inputs),
                     .owner = arena_array(builder->scratch, uint32_t, num_inputs)};
  memset(deps.first, 0xff, num_variables * sizeof *deps.first);
  memset(deps.last, 0xff, num_variables * sizeof *deps.last);
  memset(deps.next, 0xff, num_inputs * sizeof *deps.next);
  for (uint32_t owner = 0; owner < num_variables; owner++) {
    const Variable *variable = &builder->variables.data[owner];
    for (uint32_t i = 0; i < variable->num_inputs; i++) {
      uint32_t input = variable->first_input + i;
      deps.owner[input] = owner;
      Ref ref = builder->inputs.data[input];
      if (!(ref & VARIABLE_BIT)) continue;
      uint32_t named = ref & ~VARIABLE_BIT;
      deps.next[input] = deps.first[named];
      deps.first[named] = input;
      if (deps.last[named] == NO_ID) deps.last[named] = input;
    }
  }
  return deps;
}

/* Replaces phi(A, A) and phi(A, self) by A until nothing changes. */
static void resolve_trivial(Builder *builder) {
  uint32_t num_variables = builder->variables.len;
  Dependents deps = build_dependents(builder);
  VEC(uint32_t) work = {0};
  for (uint32_t i = 0; i < num_variables; i++) {
    *vec_push(builder->scratch, &work) = num_variables - 1 - i;
  }
  while (work.len) {
    uint32_t index = work.data[--work.len];
    Variable *variable = &builder->variables.data[index];
    if (variable->resolved != (index | VARIABLE_BIT)) continue;
    Ref only = only_input(builder, index);
    if (only == NO_ID) continue;
    variable->resolved = only;
    for (uint32_t input = deps.first[index]; input != NO_ID; input = deps.next[input]) {
      *vec_push(builder->scratch, &work) = deps.owner[input];
    }
    if (!(only & VARIABLE_BIT) || deps.first[index] == NO_ID) continue;
    uint32_t source = only & ~VARIABLE_BIT;
    deps.next[deps.last[index]] = deps.first[source];
    if (deps.last[source] == NO_ID) deps.last[source] = deps.last[index];
    deps.first[source] = deps.first[index];
  }
}

/* Tarjan's algorithm over the remaining variables, with an explicit stack. It finds for each
 * strongly connected component the one value that reaches it, directly or through others, or
 * MANY. */
#define MANY (UINT32_MAX - 1)

typedef struct Scc {
  uint32_t *index; /* discovery number + 1, 0 = not seen */
  uint32_t *low;
  Ref *reaching; /* NO_ID = none so far */
  bool *on_stack;
  VEC(uint32_t) stack;
  VEC(uint32_t) frames; /* pairs: variable, next input */
  uint32_t next_index;
} Scc;

static Ref join(Ref a, Ref b) {
  if (a == NO_ID) return b;
  if (b == NO_ID || a == b) return a;
  return MANY;
}

static void enter(Builder *builder, Scc *scc, uint32_t variable) {
  scc->index[variable] = scc->low[variable] = ++scc->next_index;
  scc->reaching[variable] = NO_ID;
  scc->on_stack[variable] = true;
  *vec_push(builder->scratch, &scc->stack) = variable;
  *vec_push(builder->scratch, &scc->frames) = variable;
  *vec_push(builder->scratch, &scc->frames) = 0;
}

static void leave(Builder *builder, Scc *scc, uint32_t variable) {
  if (scc->low[variable] != scc->index[variable]) return;
  Ref reaching = NO_ID;
  uint32_t first = scc->stack.len;
  do {
    first--;
    reaching = join(reaching, scc->reaching[scc->stack.data[first]]);
  } while (scc->stack.data[first] != variable);
  for (uint32_t i = first; i < scc->stack.len; i++) {
    uint32_t member = scc->stack.data[i];
    scc->on_stack[member] = false;
    scc->reaching[member] = reaching;
    if (reaching != MANY && reaching != NO_ID) {
      builder->variables.data[member].resolved = reaching;
    }
  }
  scc->stack.len = first;
}

static void visit_closure(Builder *builder, Scc *scc, uint32_t start) {
  enter(builder, scc, start);
  while (scc->frames.len) {
    uint32_t variable = scc->frames.data[scc->frames.len - 2];
    uint32_t *next = &scc->frames.data[scc->frames.len - 1];
    const Variable *phi = &builder->variables.data[variable];
    if (*next == phi->num_inputs) {
      scc->frames.len -= 2;
      leave(builder, scc, variable);
      if (scc->frames.len) {
        uint32_t parent = scc->frames.data[scc->frames.len - 2];
        if (scc->on_stack[variable] && scc->low[variable] < scc->low[parent]) {
          scc->low[parent] = scc->low[variable];
        }
        scc->reaching[parent] = join(scc->reaching[parent], scc->reaching[variable]);
      }
      continue;
    }
    Ref input = resolve(builder, builder->inputs.data[phi->first_input + (*next)++]);
    if (!(input & VARIABLE_BIT)) {
      scc->reaching[variable] = join(scc->reaching[variable], input);
      continue;
    }
    uint32_t other = input & ~VARIABLE_BIT;
    if (scc->index[other] == 0) {
      enter(builder, scc, other);
    } else if (scc->on_stack[other]) {
      if (scc->index[other] < scc->low[variable]) scc->low[variable] = scc->index[other];
    } else {
      scc->reaching[variable] = join(scc->reaching[variable], scc->reaching[other]);
    }
  }
}

/* Phis that have only each other and one value as inputs are that value (PhiGraph::Optimize). */
static void resolve_closures(Builder *builder) {
  uint32_t num_variables = builder->variables.len;
  Scc scc = {.index = arena_zarray(builder->scratch, uint32_t, num_variables),
             .low = arena_zarray(builder->scratch, uint32_t, num_variables),
             .reaching = arena_array(builder->scratch, Ref, num_variables),
             .on_stack = arena_zarray(builder->scratch, bool, num_variables)};
  for (uint32_t variable = 0; variable < num_variables; variable++) {
    bool is_open = builder->variables.data[variable].resolved == (variable | VARIABLE_BIT);
    if (is_open && scc.index[variable] == 0) visit_closure(builder, &scc, variable);
  }
}

/* Turns the remaining variables into phi values, and references into ids. */
static void finish_values(Builder *builder) {
  Dataflow *flow = builder->flow;
  ValueId *phi_of = arena_array(builder->scratch, ValueId, builder->variables.len);
  for (uint32_t i = 0; i < builder->variables.len; i++) {
    const Variable *variable = &builder->variables.data[i];
    if (variable->resolved != (i | VARIABLE_BIT)) continue;
    phi_of[i] = define(builder, variable->inst, variable->part);
    flow->values.data[phi_of[i]].is_phi = true;
  }
  for (uint32_t i = 0; i < flow->parts.len; i++) {
    Ref ref = resolve(builder, flow->parts.data[i]);
    flow->parts.data[i] = ref & VARIABLE_BIT ? phi_of[ref & ~VARIABLE_BIT] : ref;
  }
}

static void build_positions(Builder *builder) {
  const Module *module = builder->module;
  Dataflow *flow = builder->flow;
  uint32_t num_values = flow->values.len, total = 0;
  flow->first_position = arena_zarray(builder->out, uint32_t, num_values + 1);
  uint32_t *next = NULL;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) {
      for (ValueId v = 0; v < num_values; v++) {
        flow->first_position[v + 1] += flow->first_position[v];
      }
      flow->positions = arena_array(builder->out, HloPosition, total);
      next = arena_array(builder->scratch, uint32_t, num_values + 1);
      memcpy(next, flow->first_position, num_values * sizeof *next);
      for (ValueId v = 0; v < num_values; v++) {
        const HloValue *value = &flow->values.data[v];
        flow->positions[next[v]++] = (HloPosition){value->inst, value->part};
      }
    }
    for (InstId id = 0; id < module->insts.len; id++) {
      if (!dataflow_covers(flow, id)) continue;
      for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
        ValueId v = dataflow_value(flow, id, part);
        const HloValue *value = &flow->values.data[v];
        bool is_definition = value->inst == id && value->part == part;
        if (pass == 0) {
          flow->first_position[v + 1]++;
          total++;
        } else if (!is_definition) {
          flow->positions[next[v]++] = (HloPosition){id, part};
        }
      }
    }
  }
}

/* Most results have one part, which is a new value. */
static void reserve_values(const Module *module, const CallGraph *graph, Dataflow *flow,
                           Arena *out) {
  uint32_t num_insts = 0;
  for (uint32_t i = 0; i < graph->num_reachable; i++) {
    CompId comp = graph->post_order[i];
    if (comp_is_sequential(graph, comp)) num_insts += comp_num_insts(module, comp);
  }
  vec_reserve(out, &flow->values, num_insts);
  vec_reserve(out, &flow->parts, num_insts);
}

Dataflow dataflow_build(const Module *module, const CallGraph *graph, Arena *out, Arena *scratch) {
  Dataflow flow = {.first_part = arena_array(out, uint32_t, module->insts.len),
                   .post_order = arena_zarray(out, Sequence, module->comps.len)};
  memset(flow.first_part, 0xff, module->insts.len * sizeof *flow.first_part);
  reserve_values(module, graph, &flow, out);
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {
      .module = module, .graph = graph, .flow = &flow, .out = out, .scratch = scratch};
  uint32_t *visited = arena_array(scratch, uint32_t, module->insts.len);
  for (uint32_t i = 0; i < graph->num_reachable; i++) {
    CompId comp = graph->post_order[i];
    if (!comp_is_sequential(graph, comp)) continue;
    Sequence order = inst_post_order(module, comp, visited, out, scratch);
    flow.post_order[comp] = order;
    for (uint32_t k = 0; k < order.len; k++) {
      if (k + FETCH_AHEAD < order.len) inst_prefetch(module, order.ids[k + FETCH_AHEAD]);
      visit_inst(&builder, order.ids[k]);
    }
  }
  for (uint32_t i = 0; i < builder.variables.len; i++) {
    add_inputs(&builder, &builder.variables.data[i]);
  }
  resolve_trivial(&builder);
  resolve_closures(&builder);
  finish_values(&builder);
  build_positions(&builder);
  arena_reset(scratch, mark);
  return flow;
}

/* Whether `user`, which reads an instruction that holds the value at `part`, uses the value.
 * Tuples, get-tuple-elements and copies forward nested parts without reading them. */
static bool uses_part(const Module *module, uint32_t part, InstId user) {
  switch (inst_get(module, user)->opcode) {
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_COPY: return part == 0;
    case OPCODE_DOMAIN:
    case OPCODE_TUPLE: return false;
    default: return true;
  }
}

/* Whether the value has a position at `id`. All positions but the first, which defines the value,
 * are sorted by instruction. */
static bool has_position_at(const Dataflow *flow, ValueId value, InstId id) {
  uint32_t low = flow->first_position[value], end = flow->first_position[value + 1], high = end;
  if (flow->positions[low].inst == id) return true;
  for (low++; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    if (flow->positions[middle].inst < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < end && flow->positions[low].inst == id;
}

void dataflow_visit_uses(const Module *module, const Dataflow *flow, ValueId value,
                         UseVisitor visit, void *context) {
  uint32_t begin = flow->first_position[value], end = flow->first_position[value + 1];
  for (uint32_t i = begin; i < end; i++) {
    HloPosition position = flow->positions[i];
    IdList users = inst_get(module, position.inst)->users;
    for (uint32_t k = 0; k < users.len; k++) {
      InstId user = id_list(module, users)[k];
      /* A root uses what it returns, whether or not it reads it. */
      bool is_use = uses_part(module, position.part, user) ||
                    (inst_is_root(module, user) && has_position_at(flow, value, user));
      if (is_use) visit(context, user, position);
    }
  }
}
