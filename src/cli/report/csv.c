/* Writes the live set as CSV. The manual page documents the columns. */
#include "csv.h"
#include "report/job.h"

void report_write_csv(const rh_report *report, Output *output) {
  csv_raw(output,
          "name,bytes,opcode,shape,op_name,source_file,source_line,inherited,category,"
          "computation,begin,end,aliases,argument\n");
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    csv_text(output, value->name);
    csv_next_int(output, value->bytes, 0);
    csv_next_text(output, value->opcode);
    csv_next_text(output, value->shape);
    csv_next_text(output, value->op_name);
    csv_next_text(output, value->source_file);
    csv_next_int(output, value->source_line, 1);
    csv_raw(output, value->is_inherited ? ",true," : ",false,");
    csv_raw(output, value->category);
    csv_next_text(output, value->computation);
    csv_next_int(output, value->begin, 0);
    csv_next_int(output, value->end, 0);
    csv_next_int(output, (int64_t)value->num_aliases, 0);
    csv_next_text(output, value->argument);
    csv_raw(output, "\n");
  }
}
