/* One instruction: its line, and what the order of the lines depends on. */
#include "emit/proto/print.h"

/* XLA's ids are local to a computation in their lower half. */
static uint64_t local_hash(int64_t id) {
  return hash_mix(HASH_SEED, (uint32_t)id);
}

/* Returns the place of an instruction above, or refuses. */
static uint32_t find_line(Printer *printer, int64_t id) {
  uint32_t index;
  for (IdProbe p = id_table_probe(&printer->local_ids, local_hash(id));
       id_probe_next(&p, &index);) {
    if (printer->list.data[index].local_id == (int32_t)id) return index;
  }
  print_refuse(printer, "an instruction has an operand that is not above it");
  return NO_ID;
}

static void put_name_of(Printer *printer, TextBuffer *text, uint32_t index) {
  const LineText *line = &printer->list.data[index];
  if (print_is_too_long(printer, line->name_len)) return;
  char *room = vec_extend(text->arena, &text->chars, line->name_len + 1);
  memcpy(room, text->chars.data + line->begin, line->name_len + 1); /* with `%` */
}

/* A value that is read twice has one edge for each. */
static void read_operands(Printer *printer, const InstText *inst, LineText *line) {
  line->operands = printer->edges.len;
  line->num_operands = (uint32_t)inst->n_operand_ids;
  line->num_control = (uint32_t)inst->n_control_predecessor_ids;
  for (size_t i = 0; i < inst->n_operand_ids && !printer->refusal; i++) {
    uint32_t index = find_line(printer, inst->operand_ids[i]);
    if (index != NO_ID) printer->list.data[index].has_users = true;
    *vec_push(printer->comp, &printer->edges) = index;
  }
  for (size_t i = 0; i < inst->n_control_predecessor_ids && !printer->refusal; i++)
    *vec_push(printer->comp, &printer->edges) =
        find_line(printer, inst->control_predecessor_ids[i]);
}

static void read_callees(Printer *printer, const InstText *inst, LineText *line) {
  line->callees = printer->callees.len;
  line->num_callees = (uint32_t)inst->n_called_computation_ids;
  for (size_t i = 0; i < inst->n_called_computation_ids; i++) {
    int64_t id = inst->called_computation_ids[i];
    uint32_t index, found = NO_ID;
    uint64_t hash = hash_mix(HASH_SEED, (uint64_t)id);
    for (IdProbe p = id_table_probe(&printer->comp_ids, hash); id_probe_next(&p, &index);) {
      if (printer->ids.data[index] == id) found = index;
    }
    if (found == NO_ID) print_refuse(printer, "a computation is called that is not above");
    *vec_push(printer->comp, &printer->callees) = found;
  }
}

/* An opcode without operands may have something else in its parentheses. */
static void put_operands(Printer *printer, TextBuffer *text, const InstText *inst, LineText *line) {
  if (line->opcode == OPCODE_PARAMETER) {
    line->parameter_number = inst->parameter_number;
    text_put_int(text, inst->parameter_number);
    return;
  }
  if (line->opcode == OPCODE_CONSTANT) {
    if (inst->literal.len)
      print_literal(printer, text, inst->literal);
    else
      text_put(text, "{...}");
    return;
  }
  for (uint32_t i = 0; i < line->num_operands; i++) {
    print_separator(text, i);
    put_name_of(printer, text, printer->edges.data[line->operands + i]);
  }
}

static void put_control(Printer *printer, TextBuffer *text, const LineText *line) {
  if (line->num_control == 0) return;
  const uint32_t *control = printer->edges.data + line->operands + line->num_operands;
  if (line->num_control > UINT8_MAX)
    print_refuse(printer, "%u control predecessors", (unsigned)line->num_control);
  text_put(text, ", control-predecessors={");
  for (uint32_t i = 0; i < line->num_control && !printer->refusal; i++) {
    for (uint32_t k = 0; k < i; k++) {
      if (control[k] == control[i]) print_refuse(printer, "a control predecessor is there twice");
    }
    if (i) text_put(text, ", ");
    put_name_of(printer, text, control[i]);
  }
  text_put_char(text, '}');
}

/* What any opcode may have, in XLA's order. */
static void put_common(Printer *printer, TextBuffer *text, const InstText *inst, LineText *line) {
  bool is_tuple = printer->shapes.list.data[line->shape].plain.data[0] == '(';
  if (inst->of_sharding_case == REMAT_HLO_TEXT__INSTRUCTION__OF_SHARDING_SHARDING) {
    text_put(text, ", sharding=");
    print_sharding(printer, text, inst->sharding, is_tuple);
  }
  print_frontend_attributes(printer, text, ", frontend_attributes=", inst->frontend_attributes);
  put_control(printer, text, line);
  if (inst->statistics_viz.len) print_refuse(printer, "statistics");
  if (inst->sparsity_config.len) print_refuse(printer, "sparsity_config");
  if (inst->block_scaling_config.len) print_refuse(printer, "block_scaling_config");
  if (inst->result_accuracy && inst->result_accuracy->mode)
    print_refuse(printer, "result_accuracy");
  if (inst->result_accuracy) print_known(printer, &inst->result_accuracy->base);
  line->extras_end = text->chars.len;
  print_metadata(printer, text, inst->metadata, line);
  if (inst->backend_config.len) {
    text_put(text, ", backend_config=");
    print_config(printer, text, inst->backend_config);
  }
}

static void put_line(Printer *printer, TextBuffer *text, const InstText *inst, LineText *line) {
  text_put_char(text, '%');
  print_name(printer, text, inst->name);
  line->name_len = (uint32_t)inst->name.len;
  text_put_str(text, STR(" = "));
  line->shape = print_find_shape(printer, inst->shape);
  text_put_str(text, printer->shapes.list.data[line->shape].full);
  text_put_char(text, ' ');
  if (printer->refusal || !printer->shapes.list.data[line->shape].plain.len) {
    print_refuse(printer, "an instruction has no shape");
    return;
  }
  print_opcode(printer, text, line);
  text_put_char(text, '(');
  put_operands(printer, text, inst, line);
  text_put_char(text, ')');
  line->extras = text->chars.len;
  print_attributes(printer, text, inst, line);
  if (!printer->refusal) put_common(printer, text, inst, line);
}

void print_instruction(Printer *printer, Bytes data) {
  ArenaMark mark = arena_mark(printer->scratch);
  const InstText *inst =
      print_read(printer, &remat_hlo_text__instruction__descriptor, data, printer->scratch);
  LineText line = {.begin = printer->lines.chars.len, .parameter_number = -1};
  if (inst && !printer->refusal) {
    line.local_id = (int32_t)inst->id;
    if (inst->id < 0) print_refuse(printer, "an instruction has an id below 0");
    read_operands(printer, inst, &line);
    read_callees(printer, inst, &line);
    line.has_frontend = inst->frontend_attributes.len > 0;
    line.opcode = print_find_opcode(printer, inst->opcode);
    if (!printer->refusal) print_note_async(printer, inst, &line);
    if (!printer->refusal) put_line(printer, &printer->lines, inst, &line);
  }
  line.end = printer->lines.chars.len;
  uint32_t index = printer->list.len;
  if (!printer->refusal) {
    id_table_add(&printer->local_ids, printer->comp, local_hash(line.local_id), index);
    *vec_push(printer->comp, &printer->list) = line;
  }
  arena_reset(printer->scratch, mark);
}
