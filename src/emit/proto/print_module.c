/* The header of a module, and the order of its computations. */
#include "emit/proto/print.h"

typedef RematHloText__Module ModuleText;

static int compare_indices(const int64_t *a, size_t a_len, const int64_t *b, size_t b_len) {
  for (size_t i = 0; i < a_len && i < b_len; i++) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return (a_len > b_len) - (a_len < b_len);
}

/* XLA prints them in the order of the outputs, in which it also writes them into messages. */
static void put_aliases(Printer *printer, TextBuffer *text, const RematHloText__Aliases *aliases) {
  enum { MAY_ALIAS = 1, MUST_ALIAS = 2 };
  if (!aliases) return;
  print_known(printer, &aliases->base);
  if (aliases->n_entries) text_put(text, ", input_output_alias={ ");
  for (size_t i = 0; i < aliases->n_entries; i++) {
    const RematHloText__Aliases__Entry *entry = aliases->entries[i];
    const RematHloText__Aliases__Entry *last = i ? aliases->entries[i - 1] : NULL;
    print_known(printer, &entry->base);
    if (last && compare_indices(last->output_shape_index, last->n_output_shape_index,
                                entry->output_shape_index, entry->n_output_shape_index) >= 0)
      print_refuse(printer, "the aliases are not in order");
    if (entry->kind != MAY_ALIAS && entry->kind != MUST_ALIAS)
      print_refuse(printer, "an alias of kind %d", (int)entry->kind);
    print_key_ints(text, i ? ", " : "", entry->output_shape_index, entry->n_output_shape_index);
    print_key_int(text, ": (", entry->parameter_number);
    print_key_ints(text, ", ", entry->parameter_shape_index, entry->n_parameter_shape_index);
    text_put(text, entry->kind == MUST_ALIAS ? ", must-alias)" : ", may-alias)");
  }
  if (aliases->n_entries) text_put(text, " }");
}

static void put_donors(Printer *printer, TextBuffer *text, const RematHloText__Donors *donors) {
  if (!donors) return;
  print_known(printer, &donors->base);
  if (donors->n_entries) text_put(text, ", buffer_donor={ ");
  for (size_t i = 0; i < donors->n_entries; i++) {
    const RematHloText__Donors__Entry *entry = donors->entries[i];
    const RematHloText__Donors__Entry *last = i ? donors->entries[i - 1] : NULL;
    print_known(printer, &entry->base);
    if (last &&
        (last->parameter_number > entry->parameter_number ||
         (last->parameter_number == entry->parameter_number &&
          compare_indices(last->parameter_shape_index, last->n_parameter_shape_index,
                          entry->parameter_shape_index, entry->n_parameter_shape_index) >= 0)))
      print_refuse(printer, "the donors are not in order");
    print_key_int(text, i ? ", (" : "(", entry->parameter_number);
    print_key_ints(text, ", ", entry->parameter_shape_index, entry->n_parameter_shape_index);
    text_put_char(text, ')');
  }
  if (donors->n_entries) text_put(text, " }");
}

static void put_layout(Printer *printer, TextBuffer *text, Bytes data) {
  uint32_t shape = print_find_shape(printer, data);
  text_put_str(text, printer->shapes.list.data[shape].full);
}

static void put_entry_layout(Printer *printer, TextBuffer *text,
                             const RematHloText__ProgramShape *shape) {
  if (!shape) {
    print_refuse(printer, "the module has no host_program_shape");
    return;
  }
  print_known(printer, &shape->base);
  text_put(text, ", entry_computation_layout={(");
  for (size_t i = 0; i < shape->n_parameters; i++) {
    print_separator(text, i);
    put_layout(printer, text, shape->parameters[i]);
  }
  text_put(text, ")->");
  put_layout(printer, text, shape->result);
  text_put_char(text, '}');
}

static void put_header(Printer *printer, TextBuffer *text) {
  const ModuleText *module = printer->module;
  text_put(text, "HloModule ");
  print_name(printer, text, module->name);
  if (module->schedule) text_put(text, ", is_scheduled=true");
  put_aliases(printer, text, module->input_output_alias);
  put_donors(printer, text, module->buffer_donor);
  put_entry_layout(printer, text, module->host_program_shape);
  print_frontend_attributes(printer, text, ", frontend_attributes=", module->frontend_attributes);
  if (module->backend_config.len) {
    text_put(text, ", backend_config=");
    print_config(printer, text, module->backend_config);
  }
  frames_print(printer, text);
  text_put(text, "\n\n");
}

/* ---- the order of the computations ---- */

/* A computation whose callees are being visited. */
typedef struct OpenComp {
  uint32_t comp;
  uint32_t next; /* place in its `calls` */
} OpenComp;

typedef struct CompVisit {
  Printer *printer;
  bool *is_visited;
  VEC(OpenComp) stack;
  IdVec order;
} CompVisit;

/* Puts the computations of one caller onto the stack, so that the first of them is visited first.
 */
static void push_callees(CompVisit *visit, const uint32_t *callees, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    if (visit->is_visited[callees[i]]) continue;
    visit->is_visited[callees[i]] = true;
    *vec_push(visit->printer->arena, &visit->stack) = (OpenComp){callees[i], 0};
  }
}

/* MakeEmbeddedComputationsList: what the entry calls, callees before their callers. */
static void visit_entry(CompVisit *visit, uint32_t entry) {
  const CompText *comps = visit->printer->comps.data;
  const IdVec *calls = &comps[entry].calls;
  visit->is_visited[entry] = true;
  for (uint32_t i = 0; i < calls->len; i += calls->data[i] + 1) {
    push_callees(visit, calls->data + i + 1, calls->data[i]);
    while (visit->stack.len) {
      OpenComp *open = &visit->stack.data[visit->stack.len - 1];
      const IdVec *inner = &comps[open->comp].calls;
      uint32_t next = open->next;
      if (next == inner->len) {
        *vec_push(visit->printer->arena, &visit->order) = open->comp;
        visit->stack.len--;
      } else {
        open->next += inner->data[next] + 1;
        push_callees(visit, inner->data + next + 1, inner->data[next]);
      }
    }
  }
  *vec_push(visit->printer->arena, &visit->order) = entry;
}

static void order_comps(Printer *printer, CompVisit *visit) {
  uint32_t count = printer->comps.len;
  uint32_t entry = NO_ID;
  for (uint32_t i = 0; i < count; i++) {
    if (printer->ids.data[i] == printer->module->entry_computation_id) entry = i;
  }
  *visit = (CompVisit){.printer = printer, .is_visited = arena_zarray(printer->arena, bool, count)};
  if (entry == NO_ID)
    print_refuse(printer, "the module has no entry");
  else
    visit_entry(visit, entry);
  if (!printer->refusal && visit->order.len != count)
    print_refuse(printer, "computations that the entry does not call");
}

/* ---- all of it ---- */

static void read_schedule(Printer *printer) {
  const RematHloText__Schedule *schedule = printer->module->schedule;
  if (!schedule) return;
  print_known(printer, &schedule->base);
  for (uint32_t i = 0; i < schedule->n_sequences; i++) {
    const RematHloText__Schedule__Entry *entry = schedule->sequences[i];
    uint64_t hash = hash_mix(HASH_SEED, (uint64_t)entry->computation_id);
    uint32_t index;
    print_known(printer, &entry->base);
    for (IdProbe p = id_table_probe(&printer->sequences, hash); id_probe_next(&p, &index);) {
      if (schedule->sequences[index]->computation_id == entry->computation_id)
        print_refuse(printer, "a computation has two schedules");
    }
    if (printer->refusal) return;
    id_table_add(&printer->sequences, printer->arena, hash, i);
  }
}

static void note_opcodes(Printer *printer) {
  id_table_reserve(&printer->opcodes, printer->arena, NUM_OPCODES);
  for (Opcode opcode = 0; opcode < NUM_OPCODES; opcode++) {
    const char *text = opcode_text(opcode);
    id_table_add(&printer->opcodes, printer->arena, hash_str(str_make(text, strlen(text))), opcode);
  }
}

static void print_all(Printer *printer, Bytes data, TextBuffer *header, CompVisit *visit) {
  if (data.len > INT32_MAX) {
    print_refuse(printer, "a message of more than 2 GiB");
    return;
  }
  ModuleText *module =
      print_read(printer, &remat_hlo_text__module__descriptor, data, printer->arena);
  if (!module || printer->refusal) return;
  printer->module = module;
  printer->frames = frames_new(printer, module->stack_frame_index);
  note_opcodes(printer);
  read_schedule(printer);
  vec_reserve(printer->arena, &printer->text.chars, (uint32_t)(data.len + data.len / 2));
  printer->max_text = (uint64_t)data.len * 64 + (1 << 20);
  for (size_t i = 0; i < module->n_computations && !printer->refusal; i++)
    print_computation(printer, module->computations[i]);
  if (!printer->refusal) put_header(printer, header);
  if (!printer->refusal) order_comps(printer, visit);
}

/* ---- what a module is wrapped in ---- */

enum { FIRST_FIELD_TAG = 0x0a, SECOND_FIELD_TAG = 0x12 };

/* Reads field 1, which has bytes: tag, length, content. */
static bool take_first_field(Bytes *data, Bytes *content) {
  uint64_t length = 0;
  size_t at = 1;
  if (data->len == 0 || data->data[0] != FIRST_FIELD_TAG) return false;
  for (unsigned shift = 0; shift < 35 && at < data->len; shift += 7) {
    uint8_t byte = data->data[at++];
    length |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if (length > data->len - at) return false;
    *content = (Bytes){.len = (size_t)length, .data = data->data + at};
    *data = (Bytes){.len = data->len - at - content->len, .data = data->data + at + length};
    return true;
  }
  return false;
}

/* HloProto has an HloModuleProto in its field 1, and HloSnapshot an HloProto. The module begins
 * with two names, fields 1 and 2. */
static Bytes unwrap(Bytes data) {
  Bytes outer = data;
  for (int level = 0; level < 3; level++) {
    Bytes rest = outer, content;
    if (!take_first_field(&rest, &content)) break;
    if (rest.len && rest.data[0] == SECOND_FIELD_TAG) return outer;
    outer = content;
  }
  return data;
}

typedef struct Printed {
  Printer printer;
  TextBuffer header;
  CompVisit visit;
} Printed;

static void print_as(Printed *made, bool has_no_sugar, Bytes data, Arena *const arenas[3]) {
  *made = (Printed){.printer = {.arena = arenas[0],
                                .comp = arenas[1],
                                .scratch = arenas[2],
                                .text = {.arena = arenas[0]},
                                .lines = {.arena = arenas[0]},
                                .has_no_sugar = has_no_sugar},
                    .header = {.arena = arenas[0]}};
  print_all(&made->printer, data, &made->header, &made->visit);
}

static void write_printed(const Printed *made, Writer *out) {
  const Printer *printer = &made->printer;
  write_str(out, text_str(&made->header));
  for (uint32_t i = 0; i < made->visit.order.len; i++) {
    const CompText *comp = &printer->comps.data[made->visit.order.data[i]];
    if (comp->is_async && comp->is_one) continue;
    write_bytes(out, printer->text.chars.data + comp->begin, comp->end - comp->begin);
  }
}

rh_status proto_print(Bytes data, Writer *out, rh_diags *diags, Arena *scratch) {
  Arena *arenas[] = {scratch, arena_new(arena_options(scratch)), arena_new(arena_options(scratch))};
  Printed made;
  print_as(&made, false, unwrap(data), arenas);
  /* XLA's parser reads no end of an operation by the name of what it wraps if its operand is not
   * the start: it crashes. */
  if (made.printer.has_carried && !made.printer.refusal)
    print_as(&made, true, unwrap(data), arenas);
  const Printer *printer = &made.printer;
  if (!printer->refusal) write_printed(&made, out);
  arena_free(arenas[1]);
  arena_free(arenas[2]);
  if (!printer->refusal) return RH_OK;
  return diag_fail(
      diags, RH_ERR_INPUT,
      DIAG_ABOUT(printer->is_malformed ? RH_CODE_PROTO : RH_CODE_NO_TEXT, NO_OFFSET), "%s%s",
      printer->is_malformed ? "" : "the HloModuleProto cannot be printed: ", printer->refusal);
}
