/* Writes the figures of `remat` as CSV, a line for each input. The manual page documents the
 * columns, which have the names of the keys in JSON. */
#include "remat/figures.h"

static const char *const columns[] = {"input",
                                      "module",
                                      "scheduler",
                                      "algorithm",
                                      "memory_model",
                                      "profile",
                                      "limit_counts",
                                      "limit_bytes",
                                      "met",
                                      "peak_before_bytes",
                                      "peak_scheduled_bytes",
                                      "peak_after_bytes",
                                      "lower_bound_bytes",
                                      "instructions_before",
                                      "instructions_after",
                                      "rematerialized",
                                      "flops_weighted_before",
                                      "flops_weighted_after",
                                      "bytes_accessed_weighted_before",
                                      "bytes_accessed_weighted_after",
                                      "seconds_before",
                                      "seconds_after",
                                      "overhead",
                                      NULL};

rh_status remat_csv_open(const Options *options, Rows *rows) {
  bool is_wanted = options->csv && (!options->dry_run || output_is_stdout(options->csv));
  return rows_open(columns, is_wanted ? options->csv : NULL, NULL, options, rows);
}

void remat_csv_add(Rows *rows, const RematRun *job) {
  const Figures *before = &job->before, *after = &job->after;
  if (!rows->has_csv) return;
  rows_word(rows, job->loaded.input.path);
  rows_text(rows, before->info.name);
  rows_word(rows, job->middle.info.scheduler);
  rows_word(rows, job->remat.algorithm);
  rows_word(rows, job->remat.memory_model);
  rows_word(rows, rh_profile_name(job->profile));
  rows_word(rows, limit_counts_words[job->remat.limit_counts]);
  rows_int(rows, job_has_limit(job) ? job->remat.limit_bytes : -1, 0);
  rows_bool(rows, job->is_met);
  rows_int(rows, before->counted_bytes, 0);
  rows_int(rows, job->middle.counted_bytes, 0);
  rows_int(rows, after->counted_bytes, 0);
  rows_int(rows, job_lower_bound(job), 0);
  rows_int(rows, (int64_t)before->info.num_instructions, 0);
  rows_int(rows, (int64_t)after->info.num_instructions, 0);
  rows_int(rows, (int64_t)after->info.num_rematerialized, 0);
  rows_double(rows, before->cost.flops_weighted);
  rows_double(rows, after->cost.flops_weighted);
  rows_double(rows, before->cost.bytes_accessed_weighted);
  rows_double(rows, after->cost.bytes_accessed_weighted);
  rows_double(rows, before->cost.seconds);
  rows_double(rows, after->cost.seconds);
  rows_double(rows, job_overhead(job));
}
