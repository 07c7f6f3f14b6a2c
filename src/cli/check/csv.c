/* Writes what was checked as CSV. The manual page documents the columns, which have the names of
 * the keys in JSON. */
#include "check/job.h"
#include "rows.h"

static void add_module(const CheckedModule *module, const Options *options, Rows *rows) {
  const MeasuredModule *now = module->now.len ? module->now.modules : NULL, *was = module->before;
  rows_word(rows, module->path);
  rows_bool(rows, module->is_read);
  rows_word(rows, module->name);
  rows_bool(rows, module->is_scheduled);
  rows_int(rows, module->is_read ? (int64_t)module->num_computations : -1, 0);
  rows_int(rows, module->is_read ? (int64_t)module->num_instructions : -1, 0);
  rows_int(rows, module->is_read ? (int64_t)module->num_findings : -1, 0);
  rows_word(rows, now ? now->hash : NULL);
  rows_int(rows, now ? now->peak_bytes : -1, 0);
  rows_bool(rows, check_is_small(module, options));
  rows_int(rows, options->max_peak_bytes, 0);
  rows_int(rows, was ? was->peak_bytes : -1, 0);
  rows_int(rows, was ? module->allowed_bytes : -1, 0);
  rows_bool(rows, module->is_over_max_peak);
  rows_bool(rows, module->is_over_baseline);
}

rh_status check_write_csv(const CheckJob *job) {
  static const char *const columns[] = {
      "input",         "is_read",          "module",           "is_scheduled",
      "computations",  "instructions",     "findings",         "input_hash",
      "peak_bytes",    "is_small",         "max_peak_bytes",   "baseline_bytes",
      "allowed_bytes", "is_over_max_peak", "is_over_baseline", NULL};
  Rows rows;
  rh_status status = rows_open(columns, job->options->csv, NULL, job->options, &rows);
  for (size_t i = 0; i < job->list.len && status == RH_OK; i++)
    add_module(&job->modules[i], job->options, &rows);
  rh_status closed = rows_close(&rows, status == RH_OK);
  return closed > status ? closed : status;
}
