#include "advice/updates.h"

#include "advice/region_role.h"
#include "ir/attribute.h"

/* Whether an operation computes each element of its result from the same elements of its operands.
 */
bool is_elementwise(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode_has(opcode, OPF_ELEMENTWISE) || opcode == OPCODE_COPY ||
         opcode == OPCODE_BROADCAST || opcode == OPCODE_RESHAPE || opcode == OPCODE_TRANSPOSE ||
         opcode == OPCODE_TUPLE || inst_is_pass_through(module, id);
}

enum { MAX_VISITED = 64 };

typedef struct Queue {
  InstId ids[MAX_VISITED];
  uint32_t len;
} Queue;

static void visit(Queue *queue, InstId id) {
  for (uint32_t i = 0; i < queue->len; i++) {
    if (queue->ids[i] == id) return;
  }
  if (queue->len < MAX_VISITED) queue->ids[queue->len++] = id;
}

/* Visits the operands of a fusion that an element of its result is computed from element by
 * element: beside a product that is added, say, as XLA:TPU fuses gradients of weights with their
 * update. */
static void visit_fusion(const Module *module, InstId fusion, uint32_t element, Queue *queue) {
  Queue inner = {.len = 0};
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  bool has_elements = inst_get(module, root)->opcode == OPCODE_TUPLE;
  visit(&inner, has_elements ? inst_operand(module, root, element) : root);
  for (uint32_t at = 0; at < inner.len; at++) {
    InstId id = inner.ids[at];
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_PARAMETER)
      visit(queue, inst_operand(module, fusion, (uint32_t)inst->index));
    for (uint32_t i = 0; is_elementwise(module, id) && i < inst->num_operands; i++)
      visit(&inner, inst_operand(module, id, i));
  }
}

/* The operand of a conditional that a branch is given, or one of its elements. */
static InstId branch_operand(const Module *module, InstId conditional, uint32_t branch,
                             uint32_t element) {
  InstId given = inst_operand(module, conditional, branch + 1);
  bool has_elements = inst_get(module, given)->opcode == OPCODE_TUPLE;
  return has_elements ? inst_operand(module, given, element) : given;
}

/* The same for what an instruction of the branch takes from there; NO_ID = it takes nothing. */
static InstId given_to_branch(const Module *module, InstId conditional, uint32_t branch,
                              uint32_t element, InstId inner) {
  const Instruction *inst = inst_get(module, inner);
  if (inst->opcode == OPCODE_PARAMETER) return branch_operand(module, conditional, branch, element);
  if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) return NO_ID;
  InstId whole = inst_operand(module, inner, 0);
  if (inst_get(module, whole)->opcode != OPCODE_PARAMETER) return NO_ID;
  return branch_operand(module, conditional, branch, (uint32_t)inst->index);
}

/* Visits what a fusion, or an element of its result, is computed from element by element. Returns
 * false if `id` is no fusion. */
static bool visit_if_fusion(const Module *module, InstId id, Queue *queue) {
  const Instruction *inst = inst_get(module, id);
  bool is_element = inst->opcode == OPCODE_GET_TUPLE_ELEMENT;
  InstId fusion = is_element ? inst_operand(module, id, 0) : id;
  if (inst_get(module, fusion)->opcode != OPCODE_FUSION) return false;
  visit_fusion(module, fusion, is_element ? (uint32_t)inst->index : 0, queue);
  return true;
}

/* Visits the operands of a conditional that an element of its result is computed from in some
 * branch, as the state of an optimizer that goes on every few steps only. */
static void visit_branches(const Module *module, InstId conditional, uint32_t element,
                           Queue *queue) {
  uint32_t num_branches = inst_get(module, conditional)->num_operands - 1;
  for (uint32_t branch = 0; branch < num_branches; branch++) {
    Queue inner = {.len = 0};
    InstId root = comp_get(module, inst_callees(module, conditional)[branch])->root;
    bool has_elements = inst_get(module, root)->opcode == OPCODE_TUPLE;
    visit(&inner, has_elements ? inst_operand(module, root, element) : root);
    for (uint32_t at = 0; at < inner.len; at++) {
      InstId id = inner.ids[at];
      InstId given = given_to_branch(module, conditional, branch, element, id);
      if (given != NO_ID) visit(queue, given);
      if (given != NO_ID || visit_if_fusion(module, id, &inner)) continue;
      for (uint32_t i = 0; is_elementwise(module, id) && i < inst_get(module, id)->num_operands;
           i++)
        visit(&inner, inst_operand(module, id, i));
    }
  }
}

/* Visits what an instruction is computed from element by element. */
static void visit_sources(const Module *module, InstId id, Queue *queue) {
  const Instruction *inst = inst_get(module, id);
  if (visit_if_fusion(module, id, queue)) return;
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId whole = inst_operand(module, id, 0);
    if (inst_get(module, whole)->opcode == OPCODE_CONDITIONAL) {
      visit_branches(module, whole, (uint32_t)inst->index, queue);
      return;
    }
  }
  for (uint32_t i = 0; is_elementwise(module, id) && i < inst->num_operands; i++)
    visit(queue, inst_operand(module, id, i));
}

uint32_t update_distance(const Module *module, InstId id, InstId param) {
  Queue queue = {.len = 0};
  visit(&queue, id);
  for (uint32_t at = 0; at < queue.len; at++) {
    if (queue.ids[at] == param) return at;
    visit_sources(module, queue.ids[at], &queue);
  }
  return NO_ID;
}

/* ---- new versions ---- */

InstId output_maker(const Module *module, uint32_t part) {
  InstId root = comp_get(module, module->entry)->root;
  const Shape *shape = inst_shape(module, root);
  if (inst_get(module, root)->opcode == OPCODE_TUPLE && part > 0)
    root = inst_operand(module, root, shape_element_of_part(shape, part));
  while (inst_is_pass_through(module, root) &&
         inst_get(module, root)->opcode != OPCODE_GET_TUPLE_ELEMENT)
    root = inst_operand(module, root, 0);
  return root;
}

/* The operand that an operation writes into in place; NO_ID = it does not. */
static InstId written_operand(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  bool writes = opcode == OPCODE_DYNAMIC_UPDATE_SLICE || opcode == OPCODE_SCATTER;
  return writes ? inst_operand(module, id, 0) : NO_ID;
}

/* The parameter of a fusion that its result, or an element of it, is written into; NO_ID = none. */
static InstId written_fusion_operand(const Module *module, InstId fusion, uint32_t element) {
  InstId id = comp_get(module, inst_callees(module, fusion)[0])->root;
  if (inst_get(module, id)->opcode == OPCODE_TUPLE) id = inst_operand(module, id, element);
  for (int i = 0; i < MAX_VISITED && id != NO_ID; i++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_PARAMETER)
      return inst_operand(module, fusion, (uint32_t)inst->index);
    id = inst_is_pass_through(module, id) ? inst_operand(module, id, 0)
                                          : written_operand(module, id);
  }
  return NO_ID;
}

/* What a loop carries an element of its result from. */
static InstId carried_from(const Module *module, InstId loop, uint32_t element) {
  InstId init = inst_operand(module, loop, 0);
  return inst_get(module, init)->opcode == OPCODE_TUPLE ? inst_operand(module, init, element)
                                                        : NO_ID;
}

static void visit_written(const Module *module, InstId id, Queue *queue) {
  const Instruction *inst = inst_get(module, id);
  InstId from = written_operand(module, id);
  if (inst->opcode == OPCODE_FUSION) from = written_fusion_operand(module, id, 0);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId whole = inst_operand(module, id, 0);
    Opcode opcode = (Opcode)inst_get(module, whole)->opcode;
    uint32_t element = (uint32_t)inst->index;
    if (opcode == OPCODE_FUSION) from = written_fusion_operand(module, whole, element);
    if (opcode == OPCODE_WHILE) from = carried_from(module, whole, element);
  }
  if (from != NO_ID) visit(queue, from);
}

UpdatedParams params_updated_by(const Module *module, InstId id) {
  Queue queue = {.len = 0};
  UpdatedParams found = {.len = 0};
  visit(&queue, id);
  for (uint32_t at = 0; at < queue.len; at++) {
    const Instruction *inst = inst_get(module, queue.ids[at]);
    bool is_param = inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry;
    if (is_param && found.len < MAX_UPDATED) found.ids[found.len++] = queue.ids[at];
    visit_sources(module, queue.ids[at], &queue);
    visit_written(module, queue.ids[at], &queue);
  }
  return found;
}

/* ---- readers ---- */

/* Marks what has run before `maker`, that included: all that comes before it in the order, or what
 * it is computed from. */
static void mark_before(const Module *module, InstId maker, const Sequence *order, bool *is_before,
                        Arena *arena) {
  IdVec work = {0};
  is_before[maker] = true;
  for (SchedPos pos = 0; order && pos < order->len && order->ids[pos] != maker; pos++)
    is_before[order->ids[pos]] = true;
  if (!order) *vec_push(arena, &work) = maker;
  while (work.len) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      if (is_before[operand]) continue;
      is_before[operand] = true;
      *vec_push(arena, &work) = operand;
    }
  }
}

InstId late_reader_of(const Module *module, InstId param, InstId maker, const Sequence *order,
                      Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_before = arena_zarray(arena, bool, module->insts.len);
  IdVec work = {0};
  InstId found = NO_ID;
  while (inst_get(module, maker)->opcode == OPCODE_GET_TUPLE_ELEMENT)
    maker = inst_operand(module, maker, 0);
  mark_before(module, maker, order, is_before, arena);
  *vec_push(arena, &work) = param;
  while (work.len && found == NO_ID) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      if (inst_is_pass_through(module, user) || inst_get(module, user)->opcode == OPCODE_COPY) {
        *vec_push(arena, &work) = user;
      } else if (!is_before[user] && !inst_is_root(module, user)) {
        found = user;
      }
    }
  }
  arena_free(arena);
  return found;
}

/* ---- replicas ---- */

/* The number of devices that a collective sums over. */
static int64_t devices_of(const Module *module, InstId id) {
  const ModuleHeader *header = &module->source->header;
  if (inst_attr(module, id, ATTR_REPLICA_GROUPS)) {
    IntSlice groups = inst_attr_ints(module, id, ATTR_REPLICA_GROUPS);
    if (groups.len == 2 && groups.data[0] > 0 && groups.data[1] > 0) return groups.data[1];
  }
  return header->num_partitions > 1 ? header->num_partitions : header->replica_count;
}

static bool is_all_reduce(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode == OPCODE_ALL_REDUCE || opcode == OPCODE_ALL_REDUCE_START;
}

/* The sum over devices that an array of so many elements is, or a part of: XLA:GPU puts gradients
 * together for one sum, and cuts them out of it behind that. NO_ID if it is none. */
static InstId sum_over_devices(const Module *module, InstId id, int64_t num_elements) {
  enum { MAX_FORMS = 16 };
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_array(shape) || shape->num_elements != num_elements) return NO_ID;
  for (int i = 0; i < MAX_FORMS && !is_all_reduce(module, id); i++) {
    bool is_form = inst_get(module, id)->opcode == OPCODE_ALL_REDUCE_DONE ||
                   (inst_get(module, id)->num_operands == 1 && region_only_forms(module, id));
    if (!is_form) return NO_ID;
    id = inst_operand(module, id, 0);
  }
  return is_all_reduce(module, id) ? id : NO_ID;
}

int64_t update_replicas(const Module *module, InstId id, int64_t num_elements) {
  Queue queue = {.len = 0};
  visit(&queue, id);
  for (uint32_t at = 0; at < queue.len; at++) {
    InstId sum = sum_over_devices(module, queue.ids[at], num_elements);
    if (sum != NO_ID) return devices_of(module, sum);
    visit_sources(module, queue.ids[at], &queue);
  }
  return 0;
}

/* ---- state ---- */

static bool is_read_by_element(const Module *module, InstId user, InstId operand) {
  const Instruction *inst = inst_get(module, user);
  if (inst->opcode != OPCODE_FUSION) return is_elementwise(module, user);
  const Computation *comp = comp_get(module, inst_callees(module, user)[0]);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (inst_operand(module, user, i) != operand) continue;
    InstId param = id_list(module, comp->params)[i];
    for (uint32_t u = 0; u < inst_get(module, param)->users.len; u++) {
      if (!is_elementwise(module, inst_users(module, param)[u])) return false;
    }
  }
  return true;
}

bool makes_output(const Module *module, InstId id) {
  InstId queue[MAX_VISITED] = {id};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    if (inst_is_root(module, queue[at])) return true;
    for (uint32_t i = 0; i < inst_get(module, queue[at])->users.len; i++) {
      InstId user = inst_users(module, queue[at])[i];
      Opcode opcode = (Opcode)inst_get(module, user)->opcode;
      bool is_form = inst_is_pass_through(module, user) || opcode == OPCODE_COPY;
      if (inst_is_root(module, user) && (is_form || opcode == OPCODE_TUPLE)) return true;
      if (is_form && len < MAX_VISITED) queue[len++] = user;
    }
  }
  return false;
}

bool is_only_updated(const Module *module, InstId param) {
  InstId queue[MAX_VISITED] = {param};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    for (uint32_t i = 0; i < inst_get(module, queue[at])->users.len; i++) {
      InstId user = inst_users(module, queue[at])[i];
      bool is_form =
          inst_is_pass_through(module, user) || inst_get(module, user)->opcode == OPCODE_COPY;
      if (inst_is_root(module, user)) continue;
      if (is_form && len < MAX_VISITED) {
        queue[len++] = user;
      } else if (!is_read_by_element(module, user, queue[at]) || !makes_output(module, user)) {
        return false;
      }
    }
  }
  return true;
}
