/* What an instruction calls, by the names that its opcode has for it. */
#include "emit/proto/print.h"

static void put_callee(Printer *printer, TextBuffer *text, const char *key, const LineText *line,
                       uint32_t index) {
  if (index >= line->num_callees) {
    print_refuse(printer, "an instruction calls too few computations");
    return;
  }
  uint32_t comp = printer->callees.data[line->callees + index];
  text_put(text, key);
  text_put_char(text, '%');
  text_put_str(text, printer->comps.data[comp].name);
}

static void put_callees(Printer *printer, TextBuffer *text, const char *key, const LineText *line) {
  if (line->num_callees == 0) return;
  text_put(text, key);
  for (uint32_t i = 0; i < line->num_callees; i++)
    put_callee(printer, text, i ? ", " : "{", line, i);
  text_put_char(text, '}');
}

static void put_branches(Printer *printer, TextBuffer *text, const LineText *line) {
  if (line->num_operands == 0) {
    print_refuse(printer, "a conditional has no operand");
    return;
  }
  const LineText *operand = &printer->list.data[printer->edges.data[line->operands]];
  if (printer->shapes.list.data[operand->shape].type != TYPE_PRED) {
    put_callees(printer, text, ", branch_computations=", line);
    return;
  }
  put_callee(printer, text, ", true_computation=", line, 0);
  put_callee(printer, text, ", false_computation=", line, 1);
}

/* Returns the number of computations that an opcode calls, or UINT32_MAX for any number. */
static uint32_t put_called(Printer *printer, TextBuffer *text, Opcode opcode, const InstText *inst,
                           const LineText *line) {
  switch (opcode) {
    case OPCODE_WHILE:
      put_callee(printer, text, ", condition=", line, 1);
      put_callee(printer, text, ", body=", line, 0);
      return 2;
    case OPCODE_SELECT_AND_SCATTER:
      put_callee(printer, text, ", select=", line, 0);
      put_callee(printer, text, ", scatter=", line, 1);
      return 2;
    case OPCODE_CONDITIONAL: put_branches(printer, text, line); return UINT32_MAX;
    case OPCODE_CUSTOM_CALL:
      put_callees(printer, text, ", called_computations=", line);
      return UINT32_MAX;
    case OPCODE_FUSION: put_callee(printer, text, ", calls=", line, 0); return 1;
    case OPCODE_ASYNC_START:
      if (!printer->comps.data[line->async_comp].is_one)
        put_callee(printer, text, ", calls=", line, 0);
      return 1;
    case OPCODE_CALL:
    case OPCODE_MAP:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_REDUCE:
    case OPCODE_ALL_REDUCE:
    case OPCODE_REDUCE_SCATTER:
    case OPCODE_ALL_REDUCE_START:
    case OPCODE_SCATTER:
    case OPCODE_SORT: put_callee(printer, text, ", to_apply=", line, 0); break;
    default: return 0;
  }
  if (opcode == OPCODE_CALL && inst->is_composite) text_put(text, ", is_composite=true");
  return 1;
}

void print_callees(Printer *printer, TextBuffer *text, const InstText *inst, const LineText *line) {
  uint32_t num_called = put_called(printer, text, line->opcode, inst, line);
  if (num_called != UINT32_MAX && num_called != line->num_callees)
    print_refuse(printer, "%s calls %u computations", opcode_text(line->opcode),
                 (unsigned)line->num_callees);
  if (inst->is_composite && line->opcode != OPCODE_CALL) print_refuse(printer, "is_composite");
}
