#include "ir/module.h"

#include <stdatomic.h>

Module *module_new(const char *text, uint32_t length, const ArenaOptions *options) {
  Arena *arena = arena_new(options);
  Module *module = arena_zalloc(arena, sizeof *module);
  module->arena = arena;
  atomic_init(&module->num_owners, 1);
  module->entry = NO_ID;
  module->backend.target = &known_targets[0];
  module->backend.heap_limit_bytes = -1;
  shape_table_init(&module->shapes, arena);
  *vec_push(arena, &module->control) = (ControlDeps){0};

  ModuleSource *source = arena_zalloc(arena, sizeof *source);
  source->text = text;
  source->length = length;
  source->header.num_partitions = 1;
  source->header.replica_count = 1;
  module->source = source;
  return module;
}

static uint32_t with_room(uint32_t len) {
  uint64_t room = (uint64_t)len + len / 4;
  return room < UINT32_MAX ? (uint32_t)room : len;
}

Module *module_copy(Module *module) {
  Arena *arena = arena_new(arena_options(module->arena));
  Module *copy = arena_zalloc(arena, sizeof *copy);
  copy->arena = arena;
  copy->parent = module;
  atomic_init(&copy->num_owners, 1);
  copy->source = module->source;
  copy->shapes = shape_table_copy(&module->shapes, arena);
  copy->entry = module->entry;
  copy->backend = module->backend;
  /* Most copies are changed, so there is room for clones. The instructions come first, so that each
   * fills a cache line. */
  uint32_t num_insts = with_room(module->insts.len), num_ids = with_room(module->ids.len);
  arena_reserve(arena,
                (size_t)num_insts * sizeof(Instruction) + (size_t)num_ids * sizeof(uint32_t));
  vec_reserve(arena, &copy->insts, num_insts);
  vec_reserve(arena, &copy->ids, num_ids);
#define COPY_VEC(field)                                                          \
  do {                                                                           \
    uint32_t len = module->field.len;                                            \
    void *data = vec_extend(arena, &copy->field, len);                           \
    if (len) memcpy(data, module->field.data, len * sizeof *module->field.data); \
  } while (0)
  COPY_VEC(insts);
  COPY_VEC(comps);
  COPY_VEC(ids);
  COPY_VEC(control);
#undef COPY_VEC
  atomic_fetch_add(&module->num_owners, 1);
  return copy;
}

Module *module_view(Module *module, const ArenaOptions *options) {
  Arena *arena = arena_new(options);
  Module *view = arena_zalloc(arena, sizeof *view);
  view->arena = arena;
  view->parent = module;
  atomic_init(&view->num_owners, 1);
  view->source = module->source;
  view->shapes = module->shapes;
#define SHARE_VEC(field)                   \
  do {                                     \
    view->field.data = module->field.data; \
    view->field.len = module->field.len;   \
    view->field.cap = module->field.cap;   \
  } while (0)
  SHARE_VEC(insts);
  SHARE_VEC(comps);
  SHARE_VEC(ids);
  SHARE_VEC(control);
#undef SHARE_VEC
  view->entry = module->entry;
  view->backend = module->backend;
  atomic_fetch_add(&module->num_owners, 1);
  return view;
}

static void *copy_array(const void *data, size_t count, size_t size, Arena *out) {
  size_t bytes = arena_array_bytes(out, count, size);
  void *copy = arena_alloc(out, bytes);
  if (bytes) memcpy(copy, data, bytes);
  return copy;
}

ModuleSnapshot module_snapshot(const Module *module, Arena *out) {
#define COPY(field) \
  copy_array(module->field.data, module->field.len, sizeof *module->field.data, out)
  return (ModuleSnapshot){.insts = COPY(insts),
                          .comps = COPY(comps),
                          .ids = COPY(ids),
                          .control = COPY(control),
                          .num_insts = module->insts.len,
                          .num_comps = module->comps.len,
                          .num_ids = module->ids.len,
                          .num_control = module->control.len};
#undef COPY
}

void module_restore(Module *module, const ModuleSnapshot *snapshot) {
#define RESTORE(field, count)                                                          \
  do {                                                                                 \
    module->field.len = (count);                                                       \
    memcpy(module->field.data, snapshot->field, (count) * sizeof *module->field.data); \
  } while (0)
  RESTORE(insts, snapshot->num_insts);
  RESTORE(comps, snapshot->num_comps);
  if (snapshot->num_ids) RESTORE(ids, snapshot->num_ids);
  RESTORE(control, snapshot->num_control);
#undef RESTORE
}

void module_set_backend(Module *module, const Backend *backend) {
  KnownCost *costs = arena_array(module->arena, KnownCost, backend->num_costs);
  for (uint32_t i = 0; i < backend->num_costs; i++) {
    const char *expression = backend->costs[i].expression;
    costs[i] = backend->costs[i];
    costs[i].expression = arena_strndup(module->arena, expression, strlen(expression));
  }
  module->backend = *backend;
  module->backend.costs = costs;
  if (backend->is_library) {
    uint32_t num_files = module->source->file_names.len;
    bool *is_library = arena_array(module->arena, bool, num_files);
    memcpy(is_library, backend->is_library, num_files * sizeof *is_library);
    module->backend.is_library = is_library;
  }
}

void module_free(Module *module) {
  while (module && atomic_fetch_sub(&module->num_owners, 1) == 1) {
    Module *parent = module->parent;
    if (module->text_arena) arena_free(module->text_arena);
    arena_free(module->arena);
    module = parent;
  }
}

const Attr *inst_attr(const Module *module, InstId id, AttrId attr) {
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    if (attrs.data[i].id == attr) return &attrs.data[i];
  }
  return NULL;
}

IntSlice inst_attr_ints(const Module *module, InstId id, AttrId attr) {
  const Attr *found = inst_attr(module, id, attr);
  if (!found) return (IntSlice){0};
  return (IntSlice){module->source->ints.data + found->ints, found->num_ints};
}

bool ints_have(IntSlice ints, int64_t value) {
  for (uint32_t i = 0; i < ints.len; i++) {
    if (ints.data[i] == value) return true;
  }
  return false;
}

int64_t inst_attr_int(const Module *module, InstId id, AttrId attr, int64_t fallback) {
  IntSlice ints = inst_attr_ints(module, id, attr);
  return ints.len ? ints.data[0] : fallback;
}

Str inst_attr_text(const Module *module, InstId id, AttrId attr) {
  const Attr *found = inst_attr(module, id, attr);
  return found ? module_span(module, found->text) : (Str){0};
}

Str inst_attr_string(const Module *module, InstId id, AttrId attr) {
  Str text = inst_attr_text(module, id, attr);
  if (text.len >= 2 && (text.data[0] == '"' || text.data[0] == '\'')) {
    return (Str){text.data + 1, text.len - 2};
  }
  return text;
}

uint32_t source_attr_begin(const ModuleSource *source, const Attr *attr) {
  uint32_t pos = attr->text.begin;
  while (pos > 0 && source->text[pos] != ',')
    pos--;
  return pos;
}

const Metadata *inst_metadata(const Module *module, InstId id) {
  IntSlice ints = inst_attr_ints(module, id, ATTR_METADATA);
  return ints.len ? &module->source->metadata.data[ints.data[0]] : NULL;
}

Str inst_op_name(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  return metadata ? module_span(module, metadata->op_name) : (Str){0};
}

bool inst_any_fused(const Module *module, InstId id, InstTest *is_meant) {
  if (is_meant(module, id)) return true;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (is_meant(module, comp_inst(module, comp, i))) return true;
  }
  return false;
}

IdSpan inst_copy_users(const Module *module, InstId id, Arena *arena) {
  uint32_t len = inst_get(module, id)->users.len;
  InstId *users = arena_array(arena, InstId, len);
  if (len) memcpy(users, inst_users(module, id), len * sizeof *users);
  return (IdSpan){users, len};
}

uint32_t inst_count_operand(const Module *module, InstId user, InstId operand) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
    count += inst_operand(module, user, i) == operand;
  }
  return count;
}

uint64_t module_num_instructions(const Module *module) {
  uint64_t count = 0;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!(comp_get(module, comp)->flags & COMP_DEAD)) count += comp_num_insts(module, comp);
  }
  return count;
}

uint32_t module_count(const Module *module, Opcode opcode) {
  uint32_t count = 0;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    count += inst->opcode == opcode && !(inst->flags & INST_DEAD);
  }
  return count;
}

bool module_has_fusions(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_FUSION && !(inst->flags & INST_DEAD)) return true;
  }
  return false;
}

bool inst_keeps_operand_memory(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  switch (opcode) {
    case OPCODE_TUPLE:
    case OPCODE_OPT_BARRIER:
    case OPCODE_WHILE:
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_DOMAIN:
    case OPCODE_COPY_START:
    case OPCODE_COPY_DONE:
    case OPCODE_SEND:
    case OPCODE_RECV_DONE: return true;
    case OPCODE_COPY: return shape_is_tuple(inst_shape(module, id));
    case OPCODE_FUSION: return inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING) != NULL;
    default: return opcode_is_async(opcode);
  }
}

bool inst_is_converting_copy(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_COPY &&
         inst_shape(module, id)->type != inst_shape(module, inst_operand(module, id, 0))->type;
}

bool inst_copies_layout(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->num_operands != 1 || inst->flags & INST_DEAD)
    return false;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_get(module, root)->opcode == OPCODE_COPY && !inst_is_converting_copy(module, root) &&
         inst_get(module, inst_operand(module, root, 0))->opcode == OPCODE_PARAMETER;
}

bool inst_has_unspecified_api(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
         inst_attr_int(module, id, ATTR_API_VERSION, 0) == API_VERSION_UNSPECIFIED;
}

bool inst_allocates(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_CUSTOM_CALL && inst->num_operands == 0 && inst->num_callees == 0 &&
         str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "AllocateBuffer");
}

InstId inst_implied_by(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_ASYNC_START || inst->num_callees != 1) return NO_ID;
  const Computation *callee = comp_get(module, inst_callees(module, id)[0]);
  return callee->flags & COMP_IMPLIED ? callee->root : NO_ID;
}

bool inst_runs_callees(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  Opcode opcode = (Opcode)inst->opcode;
  return inst->num_callees > 0 && opcode_is_control_flow(opcode) &&
         !opcode_takes_async_state(opcode);
}

bool fusion_bundles_results(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_get(module, root)->opcode == OPCODE_TUPLE;
}
