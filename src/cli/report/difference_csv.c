/* Writes the difference between two reports as CSV. The manual page documents the columns. */
#include "report/job.h"
#include "rows.h"

typedef struct Changes {
  Rows rows;
  const char *by;
} Changes;

static void add_change(void *context, const rh_change *change) {
  Changes *changes = context;
  rows_word(&changes->rows, changes->by);
  rows_text(&changes->rows, change->name);
  rows_int(&changes->rows, change->line, 1);
  rows_int(&changes->rows, change->before_bytes, 0);
  rows_int(&changes->rows, change->after_bytes, 0);
  rows_int(&changes->rows, (int64_t)change->before_num_values, 0);
  rows_int(&changes->rows, (int64_t)change->after_num_values, 0);
}

rh_status report_write_difference_csv(const ReportJob *before, const ReportJob *after) {
  static const char *const columns[] = {"by",           "name",        "source_line",
                                        "before_bytes", "after_bytes", "before_values",
                                        "after_values", NULL};
  static const struct {
    const char *by;
    rh_sum_kind kind;
  } kinds[] = {{"source", RH_BY_SOURCE},
               {"op_name", RH_BY_OP_NAME},
               {"category", RH_BY_CATEGORY},
               {"opcode", RH_BY_OPCODE}};
  Changes changes;
  const Options *options = after->options;
  rh_status status = rows_open(columns, options->csv, NULL, options, &changes.rows);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == RH_OK; i++) {
    changes.by = kinds[i].by;
    report_compare_sums(after, before->report->sums[kinds[i].kind],
                        after->report->sums[kinds[i].kind], add_change, &changes);
  }
  rh_status closed = rows_close(&changes.rows, status == RH_OK);
  return closed > status ? closed : status;
}
