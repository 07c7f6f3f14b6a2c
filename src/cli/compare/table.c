/* The tables that `compare` prints. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare/job.h"

static void add_percent(Table *table, double share, const char *format) {
  if (isnan(share)) {
    table_format(table, "-");
  } else {
    table_format(table, format, shown_percent(share, 1));
  }
}

/* Adds the growth from `before` to `after`. */
static void add_growth(Table *table, double before, double after) {
  add_percent(table, before > 0 ? after / before - 1 : (double)NAN, "%+.1f %%");
}

static void add_run(Table *table, const CompareRow *row, bool is_best) {
  char seconds[RH_FORMAT_CHARS];
  table_format(table, is_best ? "*" : "");
  table_format(table, "%s", row->budget);
  table_format(table, "%s", row->scheduler);
  table_format(table, "%s", row->algorithm);
  table_bytes(table, row->peak_after_bytes);
  table_format(table, row->met ? "yes" : "no");
  add_percent(table, row->removed, "%.1f %%");
  add_growth(table, row->seconds_before, row->seconds_after);
  add_growth(table, row->flops_weighted_before, row->flops_weighted_after);
  add_growth(table, row->bytes_accessed_weighted_before, row->bytes_accessed_weighted_after);
  table_format(table, "%+" PRId64, row->instructions_after - row->instructions_before);
  text_of_seconds(row->cpu_seconds, seconds);
  table_format(table, "%s", seconds);
}

static void print_fitting(const Terminal *terminal, size_t indent, const char *text) {
  terminal_text(terminal, indent, (rh_text){text, strlen(text)});
}

/* What sets the lower bound, as `report` says it. */
static const char *bound_cause(const CompareRow *row) {
  if (*row->lower_bound_instruction) return row->lower_bound_instruction;
  const rh_entry *model = rh_find(RH_MEMORY_MODELS, row->memory_model);
  bool counts_parameters = !model || !(model->traits & RH_TRAIT_FREE_PARAMETERS);
  return counts_parameters ? "the parameters and outputs" : "the outputs";
}

static void print_head(const CompareRow *row, const Terminal *terminal) {
  char peak[RH_FORMAT_CHARS], bound[RH_FORMAT_CHARS], seconds[RH_FORMAT_CHARS], text[512];
  rh_format_bytes(row->peak_before_bytes, peak);
  rh_format_bytes(row->lower_bound_bytes, bound);
  text_of_seconds(row->seconds_before, seconds);
  print_fitting(terminal, 0, row->input);
  snprintf(text, sizeof text, "%s, memory model %s (%s), device %s", row->module, row->memory_model,
           row->limit_counts, row->profile);
  print_fitting(terminal, 2, text);
  snprintf(text, sizeof text, "modelled time %s (%s)", seconds, row->times);
  print_fitting(terminal, 2, text);
  snprintf(text, sizeof text, "peak %s", peak);
  print_fitting(terminal, 2, text);
  snprintf(text, sizeof text, "lower bound %s, by %s", bound, bound_cause(row));
  print_fitting(terminal, 2, text);
  fputc('\n', terminal->out);
}

/* Prints a possible reason why nothing was rematerialized: a small model has only small results. */
static void print_why_nothing(const Comparison *comparison, const CompareFile *file,
                              const Terminal *terminal) {
  const CompareRow *first = compare_first_row(comparison, file);
  int64_t small_bytes = comparison->options->remat.small_node_bytes;
  if (small_bytes < 0) small_bytes = RH_SMALL_NODE_BYTES;
  bool is_idle = small_bytes > 0 && first->peak_before_bytes > first->lower_bound_bytes;
  for (size_t i = 0; i < comparison->runs_per_file; i++)
    is_idle &= !file->runs[i].has_row || file->runs[i].row.rematerialized == 0;
  if (!is_idle) return;
  char bytes[RH_FORMAT_CHARS], text[256];
  rh_format_bytes(small_bytes, bytes);
  snprintf(text, sizeof text, "nothing is recomputed; results of at most %s are not looked at",
           bytes);
  fputc('\n', terminal->out);
  print_fitting(terminal, 2, text);
  print_fitting(terminal, 2, "(--small-node-limit=0 looks at all)");
}

static void print_file(const Comparison *comparison, const CompareFile *file,
                       const Terminal *terminal) {
  Table table = {.columns = {{.title = ""},
                             {.title = "budget"},
                             {.title = "scheduler", .is_flexible = true},
                             {.title = "algorithm", .is_flexible = true},
                             {.title = "peak", .is_number = true},
                             {.title = "met"},
                             {.title = "removed", .is_number = true, .is_optional = true},
                             {.title = "time", .is_number = true},
                             {.title = "flops", .is_number = true, .is_optional = true},
                             {.title = "bytes", .is_number = true, .is_optional = true},
                             {.title = "instr.", .is_number = true, .is_optional = true},
                             {.title = "took", .is_number = true, .is_optional = true}},
                 .num_columns = 12};
  print_head(compare_first_row(comparison, file), terminal);
  for (size_t i = 0; i < comparison->runs_per_file; i++) {
    const CompareRun *run = &file->runs[i];
    if (!run->has_row) continue;
    add_run(&table, &run->row, compare_best(comparison, file, run->budget) == run);
  }
  table_print(&table, terminal);
  print_why_nothing(comparison, file, terminal);
  if (file->written) fprintf(terminal->out, "\n  wrote %s\n", file->written);
}

/* Returns whether a run is the best one and no other run is as good. */
static bool is_alone_best(const Comparison *comparison, const CompareRun *run) {
  return compare_best(comparison, run->file, run->budget) == run &&
         !compare_is_tied(comparison, run);
}

static size_t count_ties(const Comparison *comparison) {
  size_t num_ties = 0;
  for (size_t i = 0; i < comparison->num_files; i++) {
    for (size_t budget = 0; budget < comparison->grid.num_budgets; budget++) {
      const CompareRun *best = compare_best(comparison, &comparison->files[i], budget);
      num_ties += best && compare_is_tied(comparison, best);
    }
  }
  return num_ties;
}

static void print_ties(const Comparison *comparison, const Terminal *terminal) {
  size_t num_ties = count_ties(comparison);
  if (num_ties == 0) return;
  char text[128];
  snprintf(text, sizeof text, "%zu time%s several runs were equally good: these count for none",
           num_ties, num_ties == 1 ? "" : "s");
  fputc('\n', terminal->out);
  print_fitting(terminal, 2, text);
}

/* Prints how often each combination was the best, over all files and budgets. */
static void print_totals(const Comparison *comparison, const Terminal *terminal) {
  const CompareGrid *grid = &comparison->grid;
  size_t num_kinds = grid->num_schedulers * grid->num_algorithms;
  Table table = {.columns = {{.title = "scheduler", .is_flexible = true},
                             {.title = "algorithm", .is_flexible = true},
                             {.title = "runs", .is_number = true},
                             {.title = "met", .is_number = true},
                             {.title = "best", .is_number = true}},
                 .num_columns = 5};
  for (size_t kind = 0; kind < num_kinds; kind++) {
    uint64_t num_done = 0, num_met = 0, num_best = 0;
    for (size_t i = kind; i < compare_num_runs(comparison); i += num_kinds) {
      const CompareRun *run = &comparison->runs[i];
      if (!run->has_row) continue;
      num_done++;
      num_met += run->row.met;
      num_best += is_alone_best(comparison, run);
    }
    size_t scheduler = kind / grid->num_algorithms, algorithm = kind % grid->num_algorithms;
    if (!compare_has_runs(comparison, scheduler, algorithm)) continue;
    table_format(&table, "%s", grid->schedulers[scheduler]);
    table_format(&table, "%s", grid->algorithms[algorithm]);
    table_count(&table, num_done);
    table_count(&table, num_met);
    table_count(&table, num_best);
  }
  fprintf(terminal->out, "\nall files\n\n");
  table_print(&table, terminal);
  print_ties(comparison, terminal);
}

static void print_small(const Comparison *comparison, const Terminal *terminal, bool has_tables) {
  size_t num_small = 0;
  for (size_t i = 0; i < comparison->num_files; i++)
    num_small += comparison->files[i].is_small;
  if (num_small && has_tables) fputs("  ", terminal->out);
  print_left_out(num_small, comparison->options, terminal->out);
  if (comparison->options->shard.count && has_tables) fputs("  ", terminal->out);
  print_shard(&comparison->list, comparison->options, terminal->out);
}

void compare_print(const Comparison *comparison, const Terminal *terminal) {
  size_t num_shown = 0;
  for (size_t i = 0; i < comparison->num_files; i++) {
    if (!compare_first_row(comparison, &comparison->files[i])) continue;
    if (num_shown++) fputc('\n', terminal->out);
    print_file(comparison, &comparison->files[i], terminal);
  }
  if (num_shown > 1) print_totals(comparison, terminal);
  if (num_shown) {
    fputs("\n  * best: met at the least added time, else the lowest peak\n", terminal->out);
  }
  print_small(comparison, terminal, num_shown);
}
