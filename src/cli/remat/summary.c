/* The summary of `remat` for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remat/run.h"
#include "terminal.h"

enum { MAX_SHOWN_BUFFERS = 8, MAX_SHOWN_LINES = 5 };

/* ---- figures ---- */

int64_t job_lower_bound(const RematRun *job) {
  return rh_counted_bound_bytes(&job->middle.memory, job->remat.limit_counts);
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
  double percent = was > 0 ? shown_percent(is / was - 1, 1) : 0;
  if (percent != 0) fprintf(out, "  %+8.1f %%", percent);
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
  const char *chosen = job_chosen_algorithm(job);
  char source[RH_TIME_SOURCE_CHARS];
  rh_time_source(&job->before.cost, job->profile, source);
  fprintf(out, "  scheduler %s, algorithm %s%s%s, memory model %s (%s), device %s (%s)%s\n",
          job->middle.info.scheduler, job->remat.algorithm, chosen ? ": " : "",
          chosen ? chosen : "", job->remat.memory_model,
          limit_counts_words[job->remat.limit_counts], rh_profile_name(job->profile), source,
          job->is_device_assumed ? ", which is assumed: the dump does not tell" : "");
}

static void print_temp_range(const rh_memory *before, const rh_memory *after, FILE *out) {
  if (!has_temp_range(before) && !has_temp_range(after)) return;
  print_bytes_row("    at least", before->temp_bytes - before->temp_less_bytes,
                  after->temp_bytes - after->temp_less_bytes, out);
  print_bytes_row("    at most", before->temp_bytes + before->temp_more_bytes,
                  after->temp_bytes + after->temp_more_bytes, out);
}

/* A space that one side does not use is shown with 0 bytes there. */
static void print_space(const RematRun *job, const rh_space *space, FILE *out) {
  const rh_space *before = spaces_find(&job->spaces_before, space->number);
  const rh_space *after = spaces_find(&job->spaces_after, space->number);
  char label[SPACE_LABEL_CHARS];
  space_label(space, label);
  print_bytes_row(label, before ? before->peak_bytes : 0, after ? after->peak_bytes : 0, out);
}

static void print_spaces(const RematRun *job, FILE *out) {
  for (size_t i = 0; i < job->spaces_before.len; i++)
    print_space(job, &job->spaces_before.list[i], out);
  for (size_t i = 0; i < job->spaces_after.len; i++) {
    const rh_space *space = &job->spaces_after.list[i];
    if (!spaces_find(&job->spaces_before, space->number)) print_space(job, space, out);
  }
}

static void print_table(const RematRun *job, FILE *out) {
  const Figures *before = &job->before, *after = &job->after;
  fprintf(out, "\n  %-16s %14s %14s\n", "", "before", "after");
  print_bytes_row("peak", before->counted_bytes, after->counted_bytes, out);
  if (job->middle.counted_bytes != before->counted_bytes) {
    print_bytes_row("  reordered", before->counted_bytes, job->middle.counted_bytes, out);
  }
  /* What the budget bounds need not be what the model counts, which logs and graphs show. */
  int64_t was = before->memory.peak_bytes, is = after->memory.peak_bytes;
  if (was != before->counted_bytes || is != after->counted_bytes) {
    print_bytes_row("  model's peak", was, is, out);
  }
  print_bytes_row("  temporaries", before->memory.temp_bytes, after->memory.temp_bytes, out);
  print_temp_range(&before->memory, &after->memory, out);
  print_bytes_row("  outputs", before->memory.output_bytes, after->memory.output_bytes, out);
  print_bytes_row("parameters", before->memory.parameter_bytes, after->memory.parameter_bytes, out);
  if (before->memory.aliased_bytes) {
    print_bytes_row("  taken over", before->memory.aliased_bytes, after->memory.aliased_bytes, out);
  }
  if (before->memory.constant_bytes || after->memory.constant_bytes) {
    print_bytes_row("constants", before->memory.constant_bytes, after->memory.constant_bytes, out);
  }
  print_spaces(job, out);
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

/* What may lead to less than the bound. What the caller holds is there whatever is done. */
static void print_below_bound(const RematRun *job, FILE *out) {
  const rh_memory *memory = &job->middle.memory;
  unsigned within = memory->lower_bound_within;
  if (memory->lower_bound_instruction.length == 0) return;
  const rh_schedule_options *done = &job->options->schedule;
  bool splits = within & RH_WITHIN_FUSIONS && done->unfuse != RH_UNFUSE_ALL && !done->fuse;
  bool inlines =
      within & RH_WITHIN_CALLS && job->options->schedule.inline_calls != RH_INLINE_ALWAYS;
  fprintf(out, "; %s%soffloading, compression and narrower types may", splits ? "--unfuse, " : "",
          inlines ? "--inline-calls=always, " : "");
}

static void print_bound(const RematRun *job, FILE *out) {
  const rh_memory *memory = &job->middle.memory;
  char bytes[RH_FORMAT_CHARS];
  rh_format_bytes(job_lower_bound(job), bytes);
  fprintf(out, "\n  lower bound: %s, by ", bytes);
  print_bound_cause(memory, job_counts_parameters(job), out);
  fprintf(out, ": no order and no recomputation%s can go below",
          bound_covers_loops(memory) ? ", not even across loops," : "");
  print_bound_within(memory, out);
  print_below_bound(job, out);
  fputc('\n', out);
}

/* Points by which a result may exceed the bound and yet be the best one: the exact search of
 * `optimal` goes as far. */
#define PROVEN_POINTS 1e-4

/* Says what recomputation adds at least. What else was done, such as offloading, may cost less. */
static void print_time_bound(const RematRun *job, FILE *out) {
  double bound = job->outcome.added_seconds_bound, before = job->before.cost.seconds;
  if (!job->outcome.bound_kind || before <= 0) return;
  if (!isfinite(bound)) {
    if (!job->is_met)
      fputs("  added time: no recomputation in this order can meet the limit\n", out);
    return;
  }
  double least = 100 * ((job->middle.cost.seconds + bound) / before - 1);
  double points = 100 * job_overhead(job) - least;
  if (bound <= 0 || (job->is_met && points < 0)) return;
  if (job->is_met && points < PROVEN_POINTS) {
    fputs("  added time: the least possible in this order\n", out);
    return;
  }
  fprintf(out, "  added time: at least %+.1f %% in this order", shown_percent(least / 100, 1));
  if (job->is_met) {
    fprintf(out, "; within %.1f points of the best possible\n", points);
  } else {
    fputs(" if it is to be met\n", out);
  }
}

static char *place_of_line(const rh_recomputed_line *line) {
  return line->argument.length ? source_text(line->argument, -1)
                               : source_text(line->source_file, line->source_line);
}

/* The source lines of what was recomputed, and the scopes that contain it. */
static void print_recomputed(const RematRun *job, FILE *out) {
  const rh_recomputed *recomputed = job->recomputed;
  if (!recomputed || recomputed->num_values == 0) return;
  char bytes[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  int64_t rest_bytes = recomputed->bytes;
  rh_format_bytes(recomputed->bytes, bytes);
  rh_format_count(recomputed->num_values, count);
  fprintf(out, "  recomputed: %s in %s value%s\n", bytes, count,
          recomputed->num_values == 1 ? "" : "s");
  const rh_recomputed_line *first = recomputed->lines[0];
  bool is_known = first->source_file.length || first->argument.length || first->scope.length;
  if (recomputed->num_lines == 1 && !is_known) return;
  size_t num_shown =
      recomputed->num_lines < MAX_SHOWN_LINES ? recomputed->num_lines : MAX_SHOWN_LINES;
  for (size_t i = 0; i < num_shown; i++) {
    const rh_recomputed_line *line = recomputed->lines[i];
    char *place = place_of_line(line);
    rh_format_bytes(line->bytes, bytes);
    rh_format_count(line->num_values, count);
    rest_bytes -= line->bytes;
    fprintf(out, "  %14s  %s", bytes, place ? place : "(no source line)");
    if (line->scope.length) fprintf(out, ", %.*s", (int)line->scope.length, line->scope.data);
    if (line->num_values > 1) fprintf(out, " (%s values)", count);
    fputc('\n', out);
    free(place);
  }
  if (num_shown == recomputed->num_lines) return;
  rh_format_bytes(rest_bytes, bytes);
  fprintf(out, "  %14s  from %zu more\n", bytes, recomputed->num_lines - num_shown);
}

/* A loop that is gone, because it stacked values in other steps than those that read them. */
static void print_unrolled(const rh_scan *scan, FILE *out) {
  char *source = source_text(scan->source_file, scan->source_line);
  fprintf(out, "  unrolled: %.*s%s%s%s, %" PRId64 " iteration%s\n", (int)scan->loop.length,
          scan->loop.data, source ? " (" : "", source ? source : "", source ? ")" : "",
          scan->unrolled, scan->unrolled == 1 ? "" : "s");
  free(source);
}

/* What happened to the stacks that loops save for others. */
static void print_scans(const RematRun *job, FILE *out) {
  for (size_t i = 0; i < job->outcome.num_scans; i++) {
    const rh_scan *scan = job->outcome.scans[i];
    if (scan->unrolled) {
      print_unrolled(scan, out);
      continue;
    }
    char freed[RH_FORMAT_CHARS], stored[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
    char *source = source_text(scan->source_file, scan->source_line);
    rh_format_bytes(scan->freed_bytes, freed);
    rh_format_bytes(scan->stored_bytes, stored);
    rh_format_count((uint64_t)scan->num_freed, count);
    fprintf(out, "  stacks: %s%s%s value%s no longer stored by %.*s%s%s%s, recomputed in ",
            scan->freed_bytes > 0 ? freed : "", scan->freed_bytes > 0 ? " in " : "", count,
            scan->num_freed == 1 ? "" : "s", (int)scan->loop.length, scan->loop.data,
            source ? " (" : "", source ? source : "", source ? ")" : "");
    for (size_t k = 0; k < scan->num_readers; k++) {
      const char *before = k == 0 ? "" : k + 1 < scan->num_readers ? ", " : " and ";
      fprintf(out, "%s%.*s", before, (int)scan->readers[k].length, scan->readers[k].data);
    }
    if (scan->segment) {
      fprintf(out, " in %" PRId64 " segments of %" PRId64 " iterations", scan->num_segments,
              scan->segment);
    }
    fprintf(out, "; %s still stored\n", stored);
    free(source);
  }
}

/* A lower peak without recomputation comes from another order. */
static void print_moves(const RematRun *job, FILE *out) {
  char count[RH_FORMAT_CHARS];
  uint64_t num_moved = job->outcome.num_moved;
  rh_format_count(num_moved, count);
  if (num_moved) fprintf(out, "; moved %s instruction%s", count, num_moved == 1 ? "" : "s");
}

/* Values that are kept in another form free memory without recomputation, too. */
static void print_forms(const char *what, uint64_t num_values, FILE *out) {
  char count[RH_FORMAT_CHARS];
  rh_format_count(num_values, count);
  if (num_values) fprintf(out, "; %s %s value%s", what, count, num_values == 1 ? "" : "s");
}

static void print_steps(const RematRun *job, FILE *out) {
  char count[RH_FORMAT_CHARS];
  rh_format_count(job->after.info.num_rematerialized, count);
  fprintf(out, "; rematerialized: %s", count);
  print_forms("compressed", job->outcome.num_compressed, out);
  print_forms("narrowed", job->outcome.num_narrowed, out);
  print_forms("offloaded", job->outcome.num_offloaded, out);
  print_moves(job, out);
  fputs("\n", out);
}

/* A number without a unit is bytes. One up to 100 was probably meant as a share. */
static void print_share(const RematRun *job, FILE *out) {
  int64_t bytes = job->remat.limit_bytes;
  if (job->is_met || job->options->limit.kind != BUDGET_BYTES || bytes > 100) return;
  fprintf(out, "; --mem-limit=%" PRId64 "%% would be of the peak before", bytes);
}

static void print_verdict(const RematRun *job, FILE *out) {
  if (!job_has_limit(job) && job->plan) {
    fprintf(out, "  no --mem-limit: what %s says was done", job->plan->input.path);
    print_steps(job, out);
    return;
  }
  if (!job_has_limit(job)) {
    fputs("  no --mem-limit: nothing was rematerialized", out);
    print_moves(job, out);
    fputs("\n", out);
    return;
  }
  char limit[RH_FORMAT_CHARS];
  rh_format_bytes(job->remat.limit_bytes, limit);
  if (job->options->limit.kind == BUDGET_MIN) {
    rh_format_bytes(job->after.counted_bytes, limit);
    fprintf(out, "  limit: min, %s reached", limit);
  } else {
    bool is_hopeless = job->remat.limit_bytes < job_lower_bound(job);
    fprintf(out, "  limit: %s, %s%s", limit, job->is_met ? "met" : "NOT MET",
            is_hopeless ? ", it is below that bound" : "");
    print_share(job, out);
  }
  print_steps(job, out);
}

/* A result that costs more than it is worth is written all the same: that it is, a person decides.
 */
static void print_hardly(const RematRun *job, FILE *out) {
  if (!job->outcome.hardly_helps) return;
  double before = (double)job->before.counted_bytes,
         freed = before - (double)job->after.counted_bytes;
  double asked = before - (double)job->remat.limit_bytes;
  fprintf(out,
          "  hardly helps: %.1f %% less memory, which is %.1f %% of what the limit asks for, adds "
          "%.1f %% to the modelled time\n",
          shown_percent(before > 0 ? freed / before : 0, 1),
          shown_percent(asked > 0 ? freed / asked : 0, 1), shown_percent(job_overhead(job), 1));
}

static void print_way(const Way *kept, FILE *out) {
  const rh_way *way = &kept->way;
  char bytes[RH_FORMAT_CHARS];
  if (strcmp(way->option, "stage") == 0) {
    fputs("  may help: the dump before_optimizations (--fuse; remat_hlo.jax.jit)", out);
  } else if (strcmp(way->option, "calibrate") == 0) {
    fputs("  may help: remat-hlo calibrate", out);
  } else if (strcmp(way->option, "xla-flags") == 0) {
    fprintf(out, "  may help: XLA_FLAGS=%s", kept->value);
  } else {
    fprintf(out, "  may help: --%s%s%s", way->option, kept->value[0] ? "=" : "", kept->value);
  }
  rh_format_bytes(way->bytes, bytes);
  fprintf(out, ": %s", way->explanation);
  if (way->bytes > 0) fprintf(out, "; %s at the peak", bytes);
  fputc('\n', out);
}

static void print_ways(const RematRun *job, FILE *out) {
  for (size_t i = 0; i < job->num_ways; i++)
    print_way(&job->ways[i], out);
}

/* ---- what XLA keeps ---- */

/* Ends a line with the peaks in the orders of XLA's two schedulers, if it chooses the order. */
static void end_with_peaks(const char *what, int64_t by_default, int64_t by_bfs, FILE *out) {
  char gpu[RH_FORMAT_CHARS], cpu[RH_FORMAT_CHARS];
  rh_format_bytes(by_default, gpu);
  rh_format_bytes(by_bfs, cpu);
  if (by_default >= 0) fprintf(out, "; %s %s (default), %s (bfs)", what, gpu, cpu);
  fputc('\n', out);
}

/* What remains of the result of an optimized module, where only scheduling is still to come. */
static void print_kept_by_scheduler(const RematRun *job, FILE *out) {
  const rh_remat_result *outcome = &job->outcome;
  bool has_clones = job->after.info.num_rematerialized;
  char lost[RH_FORMAT_CHARS];
  rh_format_count(outcome->num_moves_lost, lost);
  if (job->remat.emit != RH_EMIT_UNSCHEDULED) return;
  fputs("  kept at PRE_SCHEDULER: ", out);
  if (outcome->protect == RH_PROTECT_NONE) {
    fputs("nothing holds recomputations or moves in place (--protect=control-deps does)", out);
  } else if (outcome->num_moves_lost) {
    fprintf(out, "%snot %s of the moves (--protect=control-deps holds them)",
            has_clones ? "recomputations, " : "", lost);
  } else {
    fputs(has_clones ? "recomputations" : "", out);
    if (outcome->num_moved) fputs(has_clones ? " and moves" : "moves", out);
  }
  end_with_peaks("peak", outcome->default_counted_bytes, outcome->bfs_counted_bytes, out);
}

/* What remains of the result of a module that XLA has yet to optimize. */
static void print_kept_by_compiler(const RematRun *job, FILE *out) {
  const rh_remat_result *outcome = &job->outcome;
  uint64_t num_clones = job->after.info.num_rematerialized, num_merged = outcome->num_merged;
  bool is_open = job->remat.emit == RH_EMIT_UNSCHEDULED;
  char kept[RH_FORMAT_CHARS], all[RH_FORMAT_CHARS];
  rh_format_count(num_merged < num_clones ? num_clones - num_merged : 0, kept);
  rh_format_count(num_clones, all);
  if (outcome->protect == RH_PROTECT_CONTROL_DEPS) {
    fprintf(out, "  kept if compiled as HLO: %s%s%s", num_clones ? "recomputations" : "",
            num_clones && outcome->num_moved ? " and " : "", outcome->num_moved ? "moves" : "");
    end_with_peaks("peak before fusion", outcome->default_counted_bytes, outcome->bfs_counted_bytes,
                   out);
  }
  fprintf(out, "  kept if compiled through StableHLO: ");
  if (num_clones) fprintf(out, "%s of %s recomputations", kept, all);
  if (outcome->protect == RH_PROTECT_OPT_BARRIER && num_clones) {
    fputs(" (none by XLA:CPU of jaxlib 0.10, which removes barriers)", out);
  } else if (outcome->protect != RH_PROTECT_CONDITIONAL && num_merged) {
    fprintf(out, " (%s--protect=opt-barrier or conditional keeps them)",
            is_open ? "" : "--emit=unscheduled ");
  }
  if (outcome->num_moved) fputs(num_clones ? ", no moves" : "no moves", out);
  end_with_peaks("peak before fusion", outcome->compiled_default_bytes, outcome->compiled_bfs_bytes,
                 out);
  fputs(
      "  not known here: what XLA will fuse and assign, and so whether the result takes less than "
      "the module as it is; "
      "remat_hlo.jax.jit compiles both and keeps the better one\n",
      out);
}

/* Which of the changes survive where XLA goes on from this output. */
static void print_kept(const RematRun *job, FILE *out) {
  if (job->after.info.num_rematerialized == 0 && job->outcome.num_moved == 0) return;
  if (rh_get_info(job->loaded.module)->is_optimized) {
    print_kept_by_scheduler(job, out);
  } else {
    print_kept_by_compiler(job, out);
  }
}

/* Why the result may be less than what the algorithm finds. */
static void print_end(const RematRun *job, FILE *out) {
  if (job->was_interrupted) {
    fputs("  interrupted: this is the best result that was found by then\n", out);
  } else if (job->outcome.is_timed_out) {
    fputs("  the time limit was reached: this is the best result that was found by then\n", out);
  }
}

/* What XLA's copy-insertion leaves of the freedom to choose an order, where that was not enough. */
static void print_ties(const RematRun *job, FILE *out) {
  static const char *const what[RH_NUM_TIES] = {
      [RH_TIE_LOOP] = "loops carry",
      [RH_TIE_BRANCH] = "conditionals return",
      [RH_TIE_DONATED] = "parameters donate",
      [RH_TIE_IN_PLACE] = "is updated in place",
  };
  const rh_remat_result *outcome = &job->outcome;
  uint64_t sum = 0;
  for (int i = 0; i < RH_NUM_TIES; i++)
    sum += outcome->num_tied[i];
  if (job->is_met || sum == 0) return;
  char count[RH_FORMAT_CHARS], all[RH_FORMAT_CHARS];
  rh_format_count(sum, count);
  rh_format_count(outcome->num_ordered, all);
  fprintf(out, "  orders: XLA's assignment of memory ties %s of %s instructions to others:", count,
          all);
  const char *before = "";
  for (int i = 0; i < RH_NUM_TIES; i++) {
    if (!outcome->num_tied[i]) continue;
    rh_format_count(outcome->num_tied[i], count);
    fprintf(out, "%s %s by what %s", before, count, what[i]);
    before = ",";
  }
  fputs("\n", out);
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
    fprintf(out, "  %14s  %.*s: ", bytes, (int)buffer->instruction.length,
            buffer->instruction.data);
    for (size_t k = 0; k < buffer->num_reasons; k++)
      fprintf(out, "%s%s", k ? ", and " : "", buffer->explanations[k]);
    fputc('\n', out);
  }
  if (job->blocking.len > MAX_SHOWN_BUFFERS) {
    fprintf(out, "  %14s  and %zu smaller ones\n", "", job->blocking.len - MAX_SHOWN_BUFFERS);
  }
}

/* The stage of XLA:TPU at which there is most to gain. */
static void print_stage(const RematRun *job, FILE *out) {
  if (!spaces_are_assigned(&job->spaces_before)) return;
  fputs(
      "  XLA:TPU has placed values in VMEM here, so that all that is or reads one keeps its order "
      "and is not\n"
      "  recomputed: a TPU module is rematerialized at the hook, before that, and the dump like it "
      "is the one\n"
      "  of after_optimizations_before_buffer_assignment\n",
      out);
}

void job_print_summary(const RematRun *job, FILE *out) {
  print_head(job, out);
  print_table(job, out);
  print_bound(job, out);
  print_stage(job, out);
  print_verdict(job, out);
  print_hardly(job, out);
  print_ways(job, out);
  print_kept(job, out);
  print_recomputed(job, out);
  print_end(job, out);
  print_time_bound(job, out);
  print_scans(job, out);
  print_ties(job, out);
  print_blocking(job, out);
  char elapsed[RH_FORMAT_CHARS];
  text_of_seconds(seconds_now() - job->start_seconds, elapsed);
  if (job->num_written) fputs("\n", out);
  for (int i = 0; i < job->num_written; i++)
    fprintf(out, "  wrote %s\n", job->written[i]);
  fprintf(out, "  took %s\n", elapsed);
}
