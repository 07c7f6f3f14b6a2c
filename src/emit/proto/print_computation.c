/* One computation: its lines, brought into the order in which XLA prints them. */
#include "emit/proto/print.h"
#include "ir/sort.h"

typedef RematHloText__Computation Computation;

/* Sorts the lines by their ids, as XLA holds them. Returns their places. */
static const uint32_t *sort_lines(Printer *printer) {
  uint32_t count = printer->list.len;
  SortItem *items = arena_array(printer->comp, SortItem, count);
  uint32_t *places = arena_array(printer->comp, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    int32_t id = printer->list.data[i].local_id;
    if (id < 0) print_refuse(printer, "an instruction has a local id below 0");
    items[i] = (SortItem){(uint32_t)id, i};
  }
  sort_by_key(items, count, printer->comp);
  for (uint32_t i = 0; i < count; i++) {
    if (i && items[i].key == items[i - 1].key) print_refuse(printer, "two instructions of one id");
    places[i] = items[i].id;
  }
  return places;
}

/* ForEachInstructionPostOrder: depth first from each instruction that nobody reads, operands in
 * order, and after the operands of the last the first of the control predecessors. */
typedef struct Visit {
  Printer *printer;
  uint8_t *states; /* NEW, OPEN, DONE by place */
  IdVec stack;
  uint32_t *order;
  uint32_t len;
} Visit;

enum { NEW, OPEN, DONE };

static void visit_push(Visit *visit, uint32_t place) {
  if (visit->states[place] != DONE) *vec_push(visit->printer->comp, &visit->stack) = place;
}

static void visit_from(Visit *visit, uint32_t root) {
  const Printer *printer = visit->printer;
  visit_push(visit, root);
  while (visit->stack.len) {
    uint32_t place = visit->stack.data[visit->stack.len - 1];
    const LineText *line = &printer->list.data[place];
    if (visit->states[place] == NEW) {
      visit->states[place] = OPEN;
      for (uint32_t i = line->num_operands; i-- > 0;)
        visit_push(visit, printer->edges.data[line->operands + i]);
      for (uint32_t i = 0; i < line->num_control; i++)
        visit_push(visit, printer->edges.data[line->operands + line->num_operands + i]);
      continue;
    }
    visit->stack.len--;
    if (visit->states[place] == DONE) continue;
    visit->states[place] = DONE;
    visit->order[visit->len++] = place;
  }
}

static const uint32_t *post_order(Printer *printer, const uint32_t *by_id) {
  uint32_t count = printer->list.len;
  Visit visit = {.printer = printer,
                 .states = arena_zarray(printer->comp, uint8_t, count),
                 .order = arena_array(printer->comp, uint32_t, count)};
  for (uint32_t i = 0; i < count; i++) {
    if (!printer->list.data[by_id[i]].has_users) visit_from(&visit, by_id[i]);
  }
  if (visit.len != count) print_refuse(printer, "instructions that nothing leads to");
  return visit.order;
}

static uint32_t find_place(const Printer *printer, int64_t id) {
  uint32_t index;
  uint64_t hash = hash_mix(HASH_SEED, (uint32_t)id);
  for (IdProbe p = id_table_probe(&printer->local_ids, hash); id_probe_next(&p, &index);) {
    if (printer->list.data[index].local_id == (int32_t)id) return index;
  }
  return NO_ID;
}

static const uint32_t *scheduled_order(Printer *printer,
                                       const RematHloText__Schedule__Sequence *sequence) {
  uint32_t count = printer->list.len;
  uint32_t *order = arena_array(printer->comp, uint32_t, count);
  bool *is_there = arena_zarray(printer->comp, bool, count);
  print_known(printer, &sequence->base);
  if (sequence->n_instruction_ids != count) {
    print_refuse(printer, "a schedule has another number of instructions than its computation");
    return order;
  }
  for (uint32_t i = 0; i < count; i++) {
    order[i] = find_place(printer, sequence->instruction_ids[i]);
    if (order[i] == NO_ID || is_there[order[i]]) {
      print_refuse(printer, "a schedule does not have each instruction once");
      return order;
    }
    is_there[order[i]] = true;
  }
  return order;
}

/* Returns NULL if the computation has no schedule. */
static const RematHloText__Schedule__Sequence *find_sequence(const Printer *printer, int64_t id) {
  uint32_t index;
  const RematHloText__Schedule *schedule = printer->module->schedule;
  uint64_t hash = hash_mix(HASH_SEED, (uint64_t)id);
  for (IdProbe p = id_table_probe(&printer->sequences, hash); id_probe_next(&p, &index);) {
    if (schedule->sequences[index]->computation_id == id)
      return schedule->sequences[index]->sequence;
  }
  return NULL;
}

/* ---- its text ---- */

static void put_signature(Printer *printer, const Computation *comp, const LineText *root) {
  TextBuffer *text = &printer->text;
  uint32_t count = 0, num_lines = printer->list.len;
  uint32_t *parameters = arena_array(printer->comp, uint32_t, num_lines);
  for (uint32_t i = 0; i < num_lines; i++)
    parameters[i] = NO_ID;
  for (uint32_t i = 0; i < num_lines; i++) {
    int64_t number = printer->list.data[i].parameter_number;
    if (number < 0) continue;
    if (number >= num_lines || parameters[number] != NO_ID)
      print_refuse(printer, "the numbers of parameters");
    else
      parameters[number] = i;
    count++;
  }
  if (comp->id == printer->module->entry_computation_id) text_put(text, "ENTRY ");
  text_put_char(text, '%');
  print_name(printer, text, comp->name);
  text_put(text, " (");
  for (uint32_t i = 0; i < count && !printer->refusal; i++) {
    if (parameters[i] == NO_ID) {
      print_refuse(printer, "the numbers of parameters");
      break;
    }
    const LineText *line = &printer->list.data[parameters[i]];
    if (i) text_put(text, ", ");
    text_put_bytes(text, printer->lines.chars.data + line->begin + 1, line->name_len);
    text_put(text, ": ");
    text_put_str(text, printer->shapes.list.data[line->shape].plain);
  }
  text_put(text, ") -> ");
  text_put_str(text, printer->shapes.list.data[root->shape].plain);
  text_put(text, " {\n");
}

static void put_line(Printer *printer, const LineText *line, bool is_root) {
  TextBuffer *text = &printer->text;
  const char *lines = printer->lines.chars.data;
  text_put_str(text, is_root ? STR("  ROOT ") : STR("  "));
  if (line->frame) {
    text_put_bytes(text, lines + line->begin, line->frame_at - line->begin);
    text_put_int(text, frames_number(printer, line->frame));
    text_put_bytes(text, lines + line->frame_at, line->end - line->frame_at);
  } else {
    text_put_bytes(text, lines + line->begin, line->end - line->begin);
  }
  text_put_char(text, '\n');
}

static void put_end(Printer *printer, const Computation *comp) {
  TextBuffer *text = &printer->text;
  text_put_char(text, '}');
  if (comp->execution_thread.len && !str_is(bytes_str(comp->execution_thread), "main")) {
    text_put(text, ", execution_thread=\"");
    print_name(printer, text, comp->execution_thread);
    text_put_char(text, '"');
  }
  text_put(text, "\n\n");
}

static void put_computation(Printer *printer, const Computation *comp) {
  const uint32_t *by_id = sort_lines(printer);
  uint32_t root = find_place(printer, comp->root_id);
  if (root == NO_ID) print_refuse(printer, "a computation has no root");
  if (printer->refusal) return;
  for (uint32_t i = 0; i < printer->list.len; i++) {
    int32_t frame = printer->list.data[by_id[i]].frame;
    if (frame) frames_number(printer, frame);
  }
  const RematHloText__Schedule__Sequence *sequence = find_sequence(printer, comp->id);
  const uint32_t *order = sequence && sequence->n_instruction_ids
                              ? scheduled_order(printer, sequence)
                              : post_order(printer, by_id);
  put_signature(printer, comp, &printer->list.data[root]);
  for (uint32_t i = 0; i < printer->list.len && !printer->refusal; i++)
    put_line(printer, &printer->list.data[order[i]], order[i] == root);
  put_end(printer, comp);
}

/* Notes what an async-start that wraps the computation prints of it. */
static void note_root(Printer *printer, const Computation *comp, CompText *made) {
  const LineText *root = &printer->list.data[find_place(printer, comp->root_id)];
  made->is_one = !printer->has_no_sugar && print_async_has_name(root->opcode);
  for (uint32_t i = 0; i < printer->list.len; i++) {
    const LineText *line = &printer->list.data[i];
    made->is_one = made->is_one && (line == root || line->opcode == OPCODE_PARAMETER);
  }
  if (!made->is_one) return;
  uint32_t len = root->extras_end - root->extras;
  made->opcode = root->opcode;
  made->has_frontend = root->has_frontend;
  made->extras =
      (Str){arena_strndup(printer->arena, printer->lines.chars.data + root->extras, len), len};
}

/* Notes what is called, for the order of the computations. */
static void note_calls(Printer *printer, CompText *made) {
  SortItem *items = arena_array(printer->comp, SortItem, printer->list.len);
  uint32_t count = 0;
  for (uint32_t i = 0; i < printer->list.len; i++) {
    if (printer->list.data[i].num_callees)
      items[count++] = (SortItem){(uint32_t)printer->list.data[i].local_id, i};
  }
  sort_by_key(items, count, printer->comp);
  for (uint32_t i = 0; i < count; i++) {
    const LineText *line = &printer->list.data[items[i].id];
    *vec_push(printer->arena, &made->calls) = line->num_callees;
    uint32_t *room = vec_extend(printer->arena, &made->calls, line->num_callees);
    memcpy(room, printer->callees.data + line->callees, line->num_callees * sizeof *room);
  }
}

void print_computation(Printer *printer, Bytes data) {
  ArenaMark mark = arena_mark(printer->comp);
  const Computation *comp =
      print_read(printer, &remat_hlo_text__computation__descriptor, data, printer->comp);
  printer->lines.chars.len = 0;
  printer->list.data = NULL;
  printer->list.len = printer->list.cap = 0;
  printer->edges = printer->callees = (IdVec){0};
  printer->local_ids = (IdTable){0};
  for (size_t i = 0; comp && i < comp->n_instructions && !printer->refusal; i++)
    print_instruction(printer, comp->instructions[i]);
  CompText made = {.begin = printer->text.chars.len};
  if (comp && !printer->refusal) {
    made.name = bytes_str(print_keep(printer, comp->name));
    put_computation(printer, comp);
    if (!printer->refusal) note_root(printer, comp, &made);
    note_calls(printer, &made);
    made.end = printer->text.chars.len;
    id_table_add(&printer->comp_ids, printer->arena, hash_mix(HASH_SEED, (uint64_t)comp->id),
                 printer->comps.len);
    *vec_push(printer->arena, &printer->comps) = made;
    *vec_push(printer->arena, &printer->ids) = comp->id;
  }
  arena_reset(printer->comp, mark);
}
