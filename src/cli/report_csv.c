/* The live set as CSV (RFC 4180 with line feeds). The columns are documented in the manual page. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report_job.h"

static void write_text(Output *output, const char *text) {
  output_write(output, text, strlen(text));
}

static void write_field(Output *output, rh_text text) {
  bool needs_quotes = false;
  for (size_t i = 0; i < text.length; i++)
    needs_quotes |= strchr(",\"\n\r", text.data[i]) != NULL;
  if (needs_quotes) write_text(output, "\"");
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"') write_text(output, "\"");
    output_write(output, &text.data[i], 1);
  }
  if (needs_quotes) write_text(output, "\"");
}

/* Empty when it is below `least`: not known. */
static void write_number(Output *output, int64_t value, int64_t least) {
  char digits[24];
  snprintf(digits, sizeof digits, ",%" PRId64, value);
  write_text(output, value >= least ? digits : ",");
}

static void write_text_field(Output *output, rh_text text) {
  write_text(output, ",");
  write_field(output, text);
}

void report_write_csv(const rh_report *report, Output *output) {
  write_text(output,
             "name,bytes,opcode,shape,op_name,source_file,source_line,inherited,category,"
             "computation,begin,end,aliases\n");
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = &report->live[i];
    write_field(output, value->name);
    write_number(output, value->bytes, 0);
    write_text_field(output, value->opcode);
    write_text_field(output, value->shape);
    write_text_field(output, value->op_name);
    write_text_field(output, value->source_file);
    write_number(output, value->source_line, 1);
    write_text(output, value->is_inherited ? ",true," : ",false,");
    write_text(output, value->category);
    write_text_field(output, value->computation);
    write_number(output, value->begin, 0);
    write_number(output, value->end, 0);
    write_number(output, (int64_t)value->num_aliases, 0);
    write_text(output, "\n");
  }
}
