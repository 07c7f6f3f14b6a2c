#include "emit/proto/patch.h"

#include "analysis/flow/traverse.h"
#include "emit/proto/new_message.h"
#include "emit/proto/templates.h"

typedef struct Patch {
  Original original;
  Templates templates;
  const Module *after;
  const ProtoMark *mark;
  int64_t *comp_ids;   /* by CompId of `after` */
  bool *is_kept;       /* by CompId of `after`: its bytes are the original ones */
  bool *is_fused;      /* by CompId of `after`: a fusion calls it */
  uint32_t *numbers;   /* by InstId of `after`: place in the text of its computation */
  InstMessage **insts; /* by InstId of `after`, in changed computations */
  IdTable sequences;   /* places in the original schedule by the id of the computation */
  uint32_t *visited;   /* by InstId of `after` */
  rh_diags *diags;
  Arena *arena;
} Patch;

static rh_status cannot(const Patch *patch, Str name, const char *why) {
  return diag_fail(patch->diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_NO_PATCH, NO_OFFSET),
                   "'%.*s' cannot be written into the HloModuleProto: %s", (int)name.len, name.data,
                   why);
}

static int64_t inst_id(const Patch *patch, InstId id) {
  return patch->comp_ids[inst_get(patch->after, id)->parent] << 32 | patch->numbers[id];
}

/* ---- one instruction ---- */

static int64_t *ids_of(const Patch *patch, const InstId *insts, uint32_t count) {
  int64_t *ids = arena_array(patch->arena, int64_t, count);
  for (uint32_t i = 0; i < count; i++)
    ids[i] = inst_id(patch, insts[i]);
  return ids;
}

static void set_references(const Patch *patch, InstId id, InstMessage *message) {
  const Module *after = patch->after;
  const Instruction *inst = inst_get(after, id);
  IdList control = inst_control(after, id)->predecessors;
  message->has_name = true;
  message->name = bytes_of(inst_name(after, id));
  message->has_id = true;
  message->id = inst_id(patch, id);
  message->n_operand_ids = inst->num_operands;
  message->operand_ids = ids_of(patch, inst_operands(after, id), inst->num_operands);
  message->n_control_predecessor_ids = control.len;
  message->control_predecessor_ids = ids_of(patch, id_list(after, control), control.len);
  if (message->n_called_computation_ids && original_may_hide_callee(inst)) return;
  message->n_called_computation_ids = inst->num_callees;
  message->called_computation_ids = arena_array(patch->arena, int64_t, inst->num_callees);
  for (uint32_t i = 0; i < inst->num_callees; i++)
    message->called_computation_ids[i] = patch->comp_ids[inst_callees(after, id)[i]];
}

/* Sets the backend_config of a loop or a slice. Returns false if that of the original is not, as a text, what
 * is in its message. */
static bool set_config(const Patch *patch, InstId original, InstId id, InstMessage *message) {
  Str old = inst_attr_text(patch->original.module, original, ATTR_BACKEND_CONFIG);
  Str new = inst_attr_text(patch->after, id, ATTR_BACKEND_CONFIG);
  if (str_equal(old, new)) return true;
  if (!message->has_backend_config || !str_equal(old, bytes_str(message->backend_config)))
    return false;
  message->has_backend_config = new.len > 0;
  message->backend_config = bytes_of(new);
  return true;
}

/* Returns NULL if the message cannot be made. */
static InstMessage *copy_message(const Patch *patch, InstId original, InstId id) {
  InstMessage *message = arena_alloc(patch->arena, sizeof *message);
  *message = *patch->original.insts[original];
  bool has_config = line_has_config(inst_get(patch->after, id)->opcode);
  return !has_config || set_config(patch, original, id, message) ? message : NULL;
}

/* What a line is without. */
static void set_numbers(const Instruction *inst, InstMessage *message) {
  if (inst->opcode == OPCODE_PARAMETER) {
    message->has_parameter_number = true;
    message->parameter_number = inst->index;
  } else if (line_has_index(inst->opcode)) {
    message->has_tuple_index = true;
    message->tuple_index = inst->index;
  }
}

/* Whether the computations that the message calls, and the line does not name, are those of the
 * instruction: the message is its own, and they are still there. */
static bool has_hidden_callees(const Patch *patch, Str name, const InstMessage *message) {
  for (size_t i = 0; i < message->n_called_computation_ids; i++) {
    CompId comp = 0;
    while (comp < patch->after->comps.len &&
           patch->comp_ids[comp] != message->called_computation_ids[i])
      comp++;
    if (comp == patch->after->comps.len) return false;
  }
  return message->n_called_computation_ids == 0 || str_equal(bytes_str(message->name), name);
}

static rh_status patch_inst(Patch *patch, InstId id) {
  Str name = inst_name(patch->after, id);
  const Instruction *inst = inst_get(patch->after, id);
  Line line;
  if (!line_read(patch->after, id, &line, patch->arena))
    return cannot(patch, name, "its text is not as XLA writes it");
  Bytes shape;
  if (!shapes_find(&patch->templates.shapes, &patch->after->shapes, inst->shape, line.shape,
                   &shape))
    return cannot(patch, name, "the original module has no such shape");
  InstId original = templates_find(&patch->templates, name, &line);
  InstMessage *message = original == NO_ID
                             ? new_message(patch->after, id, &line, shape, patch->arena)
                             : copy_message(patch, original, id);
  if (!message) return cannot(patch, name, "no instruction of the original module is like it");
  if (original_may_hide_callee(inst) && !has_hidden_callees(patch, name, message))
    return cannot(patch, name, "its line does not say what it calls");
  message->has_shape = true;
  message->shape = shape;
  set_numbers(inst, message);
  set_references(patch, id, message);
  patch->insts[id] = message;
  return RH_OK;
}

/* ---- the mark ---- */

static rh_status add_mark(const Patch *patch, InstMessage *param) {
  RematHlo__FrontendAttributes none = REMAT_HLO__FRONTEND_ATTRIBUTES__INIT, *attributes = &none;
  if (param->has_frontend_attributes)
    attributes = message_read_attributes(param->frontend_attributes, patch->arena);
  if (!attributes)
    return cannot(patch, bytes_str(param->name), "its frontend attributes are malformed");
  RematHlo__Attribute own = REMAT_HLO__ATTRIBUTE__INIT;
  own.has_key = own.has_value = true;
  own.key = bytes_of(str_make(patch->mark->name, strlen(patch->mark->name)));
  own.value = bytes_of(str_make(patch->mark->value, strlen(patch->mark->value)));
  size_t count = attributes->n_attributes;
  RematHlo__Attribute **list = arena_array(patch->arena, RematHlo__Attribute *, count + 1);
  if (count) memcpy(list, attributes->attributes, count * sizeof *list);
  list[count] = &own;
  attributes->attributes = list;
  attributes->n_attributes = count + 1;
  param->has_frontend_attributes = true;
  param->frontend_attributes = message_write(&attributes->base, patch->arena);
  return RH_OK;
}

/* A program without parameters gets none. */
static rh_status mark_entry(const Patch *patch) {
  IdList params = comp_get(patch->after, patch->after->entry)->params;
  if (params.len == 0) return RH_OK;
  return add_mark(patch, patch->insts[id_list(patch->after, params)[0]]);
}

/* ---- one computation ---- */

/* What HloComputation::ComputeProgramShape gives: the parameters and the result. */
static Bytes program_shape(const Patch *patch, CompId id) {
  const Module *after = patch->after;
  const Computation *comp = comp_get(after, id);
  uint32_t num_params = comp->params.len;
  RematHlo__ProgramShape shape = REMAT_HLO__PROGRAM_SHAPE__INIT;
  shape.n_parameters = shape.n_parameter_names = num_params;
  shape.parameters = arena_array(patch->arena, Bytes, num_params);
  shape.parameter_names = arena_array(patch->arena, Bytes, num_params);
  for (uint32_t i = 0; i < num_params; i++) {
    const InstMessage *param = patch->insts[id_list(after, comp->params)[i]];
    shape.parameters[i] = param->shape;
    shape.parameter_names[i] = param->name;
  }
  shape.has_result = true;
  shape.result = patch->insts[comp->root]->shape;
  return message_write(&shape.base, patch->arena);
}

/* The message of the computation itself: that of the same name, or a new one. */
static CompMessage comp_message(const Patch *patch, CompId id) {
  const Computation *comp = comp_get(patch->after, id);
  CompId original = original_comp(&patch->original, comp_name(patch->after, id));
  if (original != NO_ID) return *original_comp_message(&patch->original, original);
  CompMessage message = REMAT_HLO__COMPUTATION__INIT;
  message.has_name = message.has_id = true;
  message.name = bytes_of(comp_name(patch->after, id));
  message.id = patch->comp_ids[id];
  message.has_is_fusion_computation = true;
  message.is_fusion_computation = patch->is_fused[id];
  if (comp->thread.len && !str_is(comp->thread, "main")) {
    message.has_execution_thread = true;
    message.execution_thread = bytes_of(comp->thread);
  }
  return message;
}

static rh_status patch_comp(Patch *patch, CompId id, Bytes *bytes) {
  const Module *after = patch->after;
  uint32_t num_insts = comp_num_insts(after, id);
  rh_status status = RH_OK;
  for (uint32_t i = 0; i < num_insts; i++)
    patch->numbers[comp_inst(after, id, i)] = i;
  for (uint32_t i = 0; status == RH_OK && i < num_insts; i++)
    status = patch_inst(patch, comp_inst(after, id, i));
  if (status == RH_OK && id == after->entry && patch->mark->name) status = mark_entry(patch);
  if (status != RH_OK) return status;
  Sequence order = inst_post_order(after, id, patch->visited, patch->arena, patch->arena);
  if (order.len != num_insts)
    return cannot(patch, comp_name(after, id), "its instructions depend on each other in a cycle");
  CompMessage message = comp_message(patch, id);
  message.n_instructions = num_insts;
  message.instructions = arena_array(patch->arena, InstMessage *, num_insts);
  for (uint32_t i = 0; i < num_insts; i++)
    message.instructions[i] = patch->insts[order.ids[i]];
  message.has_root_id = true;
  message.root_id = inst_id(patch, comp_get(after, id)->root);
  message.has_program_shape = true;
  message.program_shape = program_shape(patch, id);
  *bytes = message_write(&message.base, patch->arena);
  return RH_OK;
}

/* ---- the module ---- */

/* The header of a module, with its stack tables: all that is before the first computation. */
static Str header_of(const Module *module) {
  if (module->source->comps.len == 0) return (Str){0};
  return module_span(module, (Span){0, module->source->comps.data[0].text.begin});
}

static Str comp_text(const Module *module, CompId id) {
  return module_span(module, module->source->comps.data[id].text);
}

static rh_status check_modules(const Patch *patch) {
  const Module *before = patch->original.module, *after = patch->after;
  const ModuleHeader *header = &after->source->header;
  if (!str_equal(header_of(before), header_of(after)))
    return cannot(patch, header->name, "its header differs from that of the original module");
  if (header->is_scheduled != (patch->original.message->schedule != NULL))
    return cannot(patch, header->name, "one of the two has a schedule, and the other one has not");
  if (!str_equal(comp_name(before, before->entry), comp_name(after, after->entry)))
    return cannot(patch, header->name, "it has another entry");
  return RH_OK;
}

/* Decides which computations stay as they are, and numbers the new ones. */
static rh_status prepare_comps(Patch *patch) {
  const Module *before = patch->original.module, *after = patch->after;
  int64_t next_id = 0;
  for (size_t i = 0; i < patch->original.message->n_computations; i++) {
    if (patch->original.comps[i]->id >= next_id) next_id = patch->original.comps[i]->id + 1;
  }
  for (CompId id = 0; id < after->comps.len; id++) {
    CompId original = original_comp(&patch->original, comp_name(after, id));
    if (comp_get(after, id)->flags & (COMP_NESTED | COMP_IMPLIED | COMP_DEAD))
      return cannot(patch, comp_name(after, id), "it has no text of its own");
    if (next_id > INT32_MAX) return cannot(patch, comp_name(after, id), "there are no more ids");
    bool is_new = original == NO_ID;
    patch->comp_ids[id] =
        is_new ? next_id++ : original_comp_message(&patch->original, original)->id;
    patch->is_kept[id] = !is_new && !(patch->mark->name && id == after->entry) &&
                         str_equal(comp_text(after, id), comp_text(before, original));
  }
  for (InstId id = 0; id < after->insts.len; id++) {
    const Instruction *inst = inst_get(after, id);
    for (uint32_t i = 0; inst->opcode == OPCODE_FUSION && i < inst->num_callees; i++)
      patch->is_fused[inst_callees(after, id)[i]] = true;
  }
  return RH_OK;
}

static uint64_t hash_id(int64_t id) {
  return hash_mix(HASH_SEED, (uint64_t)id);
}

static void note_sequences(Patch *patch) {
  const RematHlo__Order *order = patch->original.message->schedule;
  for (uint32_t i = 0; i < order->n_sequences; i++)
    id_table_add(&patch->sequences, patch->arena, hash_id(order->sequences[i]->computation_id), i);
}

static RematHlo__Sequences *find_sequence(const Patch *patch, int64_t comp_id) {
  RematHlo__Order *order = patch->original.message->schedule;
  uint32_t i;
  for (IdProbe p = id_table_probe(&patch->sequences, hash_id(comp_id)); id_probe_next(&p, &i);) {
    if (order->sequences[i]->computation_id == comp_id) return order->sequences[i];
  }
  return NULL;
}

/* The order of a changed computation, which is that of its text. */
static RematHlo__Sequences *make_sequence(const Patch *patch, CompId id) {
  RematHlo__Sequences *made = arena_alloc(patch->arena, sizeof *made);
  RematHlo__Sequence *sequence = arena_alloc(patch->arena, sizeof *sequence);
  *made = (RematHlo__Sequences)REMAT_HLO__SEQUENCES__INIT;
  *sequence = (RematHlo__Sequence)REMAT_HLO__SEQUENCE__INIT;
  uint32_t num_insts = comp_num_insts(patch->after, id);
  sequence->n_instruction_ids = num_insts;
  sequence->instruction_ids =
      ids_of(patch, id_list(patch->after, comp_get(patch->after, id)->insts), num_insts);
  made->has_computation_id = true;
  made->computation_id = patch->comp_ids[id];
  made->sequence = sequence;
  return made;
}

/* XLA's schedule has a sequence for each computation but those of fusions. */
static void make_schedule(Patch *patch, RematHlo__Order *order) {
  const Module *after = patch->after;
  *order = *patch->original.message->schedule;
  order->sequences = arena_array(patch->arena, RematHlo__Sequences *, after->comps.len);
  order->n_sequences = 0;
  note_sequences(patch);
  for (CompId id = 0; id < after->comps.len; id++) {
    bool is_new = original_comp(&patch->original, comp_name(after, id)) == NO_ID;
    RematHlo__Sequences *sequence = is_new ? NULL : find_sequence(patch, patch->comp_ids[id]);
    if (is_new ? patch->is_fused[id] : !sequence) continue;
    if (!patch->is_kept[id]) sequence = make_sequence(patch, id);
    order->sequences[order->n_sequences++] = sequence;
  }
}

static rh_status make_comps(Patch *patch, ModuleMessage *module) {
  const Module *after = patch->after;
  module->n_computations = after->comps.len;
  module->computations = arena_array(patch->arena, Bytes, after->comps.len);
  const ModuleMessage *before = patch->original.message;
  rh_status status = RH_OK;
  for (CompId id = 0; status == RH_OK && id < after->comps.len; id++) {
    if (patch->is_kept[id]) {
      CompId original = original_comp(&patch->original, comp_name(after, id));
      module->computations[id] = before->computations[patch->original.comp_numbers[original]];
      continue;
    }
    status = patch_comp(patch, id, &module->computations[id]);
  }
  return status;
}

static rh_status write_module(Patch *patch, Writer *out) {
  ModuleMessage message = *patch->original.message;
  RematHlo__Order order;
  rh_status status = make_comps(patch, &message);
  if (status != RH_OK) return status;
  if (message.schedule) {
    make_schedule(patch, &order);
    message.schedule = &order;
  }
  Bytes bytes = message_write(&message.base, patch->arena);
  write_bytes(out, (const char *)bytes.data, bytes.len);
  return RH_OK;
}

rh_status proto_patch(const ProtoInput *before, const Module *after, const ProtoMark *mark,
                      Writer *out, rh_diags *diags, Arena *scratch) {
  Patch *patch = arena_zalloc(scratch, sizeof *patch);
  Bytes data = {.len = before->length, .data = (uint8_t *)(uintptr_t)before->data};
  patch->after = after;
  patch->mark = mark;
  patch->diags = diags;
  patch->arena = scratch;
  patch->comp_ids = arena_array(scratch, int64_t, after->comps.len);
  patch->is_kept = arena_zarray(scratch, bool, after->comps.len);
  patch->is_fused = arena_zarray(scratch, bool, after->comps.len);
  patch->numbers = arena_zarray(scratch, uint32_t, after->insts.len);
  patch->insts = arena_zarray(scratch, InstMessage *, after->insts.len);
  patch->visited = arena_array(scratch, uint32_t, after->insts.len);
  rh_status status = original_read(&patch->original, before->module, data, diags, scratch);
  if (status == RH_OK) status = check_modules(patch);
  if (status != RH_OK) return status;
  InstId bad;
  if (!templates_read(&patch->templates, &patch->original, &bad, scratch))
    return cannot(patch, inst_name(before->module, bad), "its text is not as XLA writes it");
  status = prepare_comps(patch);
  if (status == RH_OK) status = write_module(patch, out);
  return status;
}
