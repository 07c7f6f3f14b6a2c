/* Operations that are split. XLA prints one instruction that is split by its own name,
 * `negate-start`, with its own attributes, and leaves out the computation that wraps it. Where its
 * parser would not read that back as what it is, the operation is printed here as XLA does without
 * that sugar, as an async-start that calls the computation. */
#include "emit/proto/print.h"

static const CompText *wrapped_comp(const Printer *printer, const LineText *line) {
  return &printer->comps.data[line->async_comp];
}

/* The start wraps it; the others have it from their operand. */
static uint32_t find_wrapped(const Printer *printer, const LineText *line) {
  if (line->opcode == OPCODE_ASYNC_START)
    return line->num_callees == 1 ? printer->callees.data[line->callees] : NO_ID;
  if (line->num_operands == 0) return NO_ID;
  const LineText *operand = &printer->list.data[printer->edges.data[line->operands]];
  return opcode_gives_async_state(operand->opcode) ? operand->async_comp : NO_ID;
}

/* Whether a loop carries the operation: it starts in one iteration and is done in the next one, or
 * after the loop, so that the operand of its end is an element of the loop's state (XLA:TPU's
 * pipelined copies of windows). */
static bool is_carried(const Printer *printer, const LineText *line) {
  if (line->opcode == OPCODE_ASYNC_START || line->num_operands == 0) return false;
  const LineText *operand = &printer->list.data[printer->edges.data[line->operands]];
  return operand->opcode == OPCODE_GET_TUPLE_ELEMENT || operand->opcode == OPCODE_PARAMETER;
}

bool print_async_has_name(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ALL_GATHER: /* `all-gather-start` is an opcode, whose result is another one */
    case OPCODE_ALL_REDUCE:
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COPY: return false;
    default: return true;
  }
}

void print_note_async(Printer *printer, const InstText *inst, LineText *line) {
  line->async_comp = NO_ID;
  if (!opcode_is_async(line->opcode)) return;
  line->async_comp = find_wrapped(printer, line);
  if (line->async_comp == NO_ID && is_carried(printer, line)) {
    printer->has_carried = true; /* only the messages say what it wraps, if at all */
    line->num_callees = 0;
    return;
  }
  if (line->async_comp == NO_ID) {
    print_refuse(printer, "'%.*s', an operation that is split, has no start", (int)inst->name.len,
                 inst->name.data);
    return;
  }
  CompText *comp = &printer->comps.data[line->async_comp];
  if (line->opcode == OPCODE_ASYNC_START) comp->is_async = true;
  if (comp->is_one && (opcode_is_async(comp->opcode) || comp->opcode == OPCODE_PARAMETER))
    print_refuse(printer, "%s is split", opcode_text(comp->opcode));
  bool has_twice = comp->is_one && comp->has_frontend && inst->frontend_attributes.len;
  if (has_twice && comp->is_named)
    print_refuse(printer, "an operation that is split has frontend attributes twice");
  if (has_twice) comp->is_one = false; /* a line has frontend attributes once */
  comp->is_named |= comp->is_one;
  /* Later versions of XLA do not say again what is wrapped. */
  if (line->opcode != OPCODE_ASYNC_START) line->num_callees = 0;
}

void print_opcode(Printer *printer, TextBuffer *text, const LineText *line) {
  const char *word = opcode_text(line->opcode);
  if (line->async_comp != NO_ID && wrapped_comp(printer, line)->is_one) {
    text_put(text, opcode_text(wrapped_comp(printer, line)->opcode));
    word += strlen("async");
  }
  text_put(text, word);
}

void print_async_start(Printer *printer, TextBuffer *text, const InstText *inst,
                       const LineText *line) {
  Bytes thread = inst->async_execution_thread;
  if (thread.len && !str_is(bytes_str(thread), "main")) {
    text_put(text, ", async_execution_thread=\"");
    print_name(printer, text, thread);
    text_put_char(text, '"');
  }
  const CompText *comp = wrapped_comp(printer, line);
  if (comp->is_one && !print_is_too_long(printer, comp->extras.len))
    text_put_str(text, comp->extras);
  print_output_aliases(printer, text, inst);
}

void print_async_update(Printer *printer, TextBuffer *text, const InstText *inst) {
  print_output_aliases(printer, text, inst);
}
