/* The summary of `remat` for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "remat_run.h"
#include "terminal.h"

enum { MAX_SHOWN_BUFFERS = 8 };

/* ---- figures ---- */

int64_t job_lower_bound(const RematRun *job) {
  const Figures *middle = &job->middle;
  return middle->memory.lower_bound_bytes - (middle->memory.peak_bytes - middle->counted_bytes);
}

double job_overhead(const RematRun *job) {
  double before = job->before.cost.seconds;
  return before > 0 ? job->after.cost.seconds / before - 1 : 0;
}

/* ---- rows ---- */

typedef void (*format_fn)(double value, char text[RH_FORMAT_CHARS]);

static void print_row(const char *label, const char *before, const char *after, double was,
                      double is, FILE *out) {
  fprintf(out, "  %-16s %14s %14s", label, before, after);
  if (was > 0 && strcmp(before, after) != 0) fprintf(out, "  %+8.1f %%", 100 * (is / was - 1));
  fputs("\n", out);
}

static void print_bytes_row(const char *label, int64_t before, int64_t after, FILE *out) {
  char was[RH_FORMAT_CHARS], is[RH_FORMAT_CHARS];
  rh_format_bytes(before, was);
  rh_format_bytes(after, is);
  print_row(label, was, is, (double)before, (double)after, out);
}

static void print_count_row(const char *label, uint64_t before, uint64_t after, FILE *out) {
  char was[RH_FORMAT_CHARS], is[RH_FORMAT_CHARS];
  rh_format_count(before, was);
  rh_format_count(after, is);
  print_row(label, was, is, (double)before, (double)after, out);
}

static void print_number_row(const char *label, double before, double after, format_fn format,
                             FILE *out) {
  char was[RH_FORMAT_CHARS], is[RH_FORMAT_CHARS];
  format(before, was);
  format(after, is);
  print_row(label, was, is, before, after, out);
}

/* ---- parts of the summary ---- */

static void print_head(const RematRun *job, FILE *out) {
  rh_module_info info = *rh_get_info(job->loaded.module);
  char instructions[RH_FORMAT_CHARS];
  rh_format_count(info.num_instructions, instructions);
  fprintf(out, "%s: %.*s, %s instructions, %s\n", job->loaded.input.path, (int)info.name.length,
          info.name.data, instructions, info.is_scheduled ? "scheduled" : "unscheduled");
  fprintf(out, "  scheduler %s, algorithm %s, memory model %s (%s), device %s\n",
          job->middle.info.scheduler, job->remat.algorithm, job->remat.memory_model,
          limit_counts_words[job->remat.limit_counts], rh_profile_name(job->profile));
}

static void print_table(const RematRun *job, FILE *out) {
  const Figures *before = &job->before, *after = &job->after;
  fprintf(out, "\n  %-16s %14s %14s\n", "", "before", "after");
  print_bytes_row("peak", before->counted_bytes, after->counted_bytes, out);
  if (job->middle.counted_bytes != before->counted_bytes) {
    print_bytes_row("  reordered", before->counted_bytes, job->middle.counted_bytes, out);
  }
  print_bytes_row("  temporaries", before->memory.temp_bytes, after->memory.temp_bytes, out);
  print_bytes_row("  outputs", before->memory.output_bytes, after->memory.output_bytes, out);
  print_bytes_row("parameters", before->memory.parameter_bytes, after->memory.parameter_bytes, out);
  if (before->memory.aliased_bytes) {
    print_bytes_row("  taken over", before->memory.aliased_bytes, after->memory.aliased_bytes, out);
  }
  if (before->memory.constant_bytes || after->memory.constant_bytes) {
    print_bytes_row("constants", before->memory.constant_bytes, after->memory.constant_bytes, out);
  }
  print_count_row("instructions", before->info.num_instructions, after->info.num_instructions, out);
  print_number_row("flops", before->cost.flops_weighted, after->cost.flops_weighted, text_of_rate,
                   out);
  print_number_row("bytes accessed", before->cost.bytes_accessed_weighted,
                   after->cost.bytes_accessed_weighted, text_of_rate, out);
  if (before->cost.offloaded_bytes > 0 || after->cost.offloaded_bytes > 0) {
    print_number_row("offloaded", before->cost.offloaded_bytes, after->cost.offloaded_bytes,
                     text_of_rate, out);
  }
  print_number_row("modelled time", before->cost.seconds, after->cost.seconds, text_of_seconds,
                   out);
  if (before->cost.stall_seconds > 0 || after->cost.stall_seconds > 0) {
    print_number_row("  for the link", before->cost.stall_seconds, after->cost.stall_seconds,
                     text_of_seconds, out);
  }
}

static void print_bound(const RematRun *job, FILE *out) {
  char bytes[RH_FORMAT_CHARS];
  rh_text by = job->middle.memory.lower_bound_instruction;
  rh_format_bytes(job_lower_bound(job), bytes);
  fprintf(out, "\n  lower bound: %s", bytes);
  if (by.length) fprintf(out, ", by %.*s", (int)by.length, by.data);
  fputs("; no order and no recomputation can go below\n", out);
}

static void print_verdict(const RematRun *job, FILE *out) {
  if (!job_has_limit(job) && job->plan) {
    char steps[RH_FORMAT_CHARS];
    rh_format_count(job->after.info.num_rematerialized, steps);
    fprintf(out, "  no --mem-limit: what %s says was done; rematerialized: %s\n",
            job->plan->input.path, steps);
    return;
  }
  if (!job_has_limit(job)) {
    fputs("  no --mem-limit: nothing was rematerialized\n", out);
    return;
  }
  char limit[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  rh_format_bytes(job->remat.limit_bytes, limit);
  rh_format_count(job->after.info.num_rematerialized, count);
  if (job->options->limit.kind == BUDGET_MIN) {
    fputs("  limit: as low as it gets", out);
  } else {
    bool is_hopeless = job->remat.limit_bytes < job_lower_bound(job);
    fprintf(out, "  limit: %s, %s%s", limit, job->is_met ? "met" : "NOT MET",
            is_hopeless ? ", it is below that bound" : "");
  }
  fprintf(out, "; rematerialized: %s\n", count);
}

static void print_blocking(const RematRun *job, FILE *out) {
  rh_text peak = job->after.memory.peak_instruction;
  if (job->blocking.len == 0) return;
  fprintf(out, "\n  the peak is at %.*s; what lives then, and why it stays:\n", (int)peak.length,
          peak.data);
  for (size_t i = 0; i < job->blocking.len && i < MAX_SHOWN_BUFFERS; i++) {
    const rh_live_buffer *buffer = &job->blocking.buffers[i];
    char bytes[RH_FORMAT_CHARS];
    rh_format_bytes(buffer->bytes, bytes);
    fprintf(out, "  %14s  %.*s: %s\n", bytes, (int)buffer->instruction.length,
            buffer->instruction.data, buffer->explanation);
  }
  if (job->blocking.len > MAX_SHOWN_BUFFERS) {
    fprintf(out, "  %14s  and %zu smaller ones\n", "", job->blocking.len - MAX_SHOWN_BUFFERS);
  }
}

void job_print_summary(const RematRun *job, FILE *out) {
  print_head(job, out);
  print_table(job, out);
  print_bound(job, out);
  print_verdict(job, out);
  print_blocking(job, out);
  char elapsed[RH_FORMAT_CHARS];
  text_of_seconds(seconds_now() - job->start_seconds, elapsed);
  if (job->num_written) fputs("\n", out);
  for (int i = 0; i < job->num_written; i++)
    fprintf(out, "  wrote %s\n", job->written[i]);
  fprintf(out, "  took %s\n", elapsed);
}
