/* Prints a report as tables for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report/job.h"
#include "scope_rows.h"
#include "spaces.h"

static void print_figure(const char *label, int64_t bytes, FILE *out) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(bytes, text);
  fprintf(out, "  %-16s %12s", label, text);
}

static void print_at(const char *what, rh_text name, FILE *out) {
  if (name.length) fprintf(out, "  %s %.*s", what, (int)name.length, name.data);
}

/* ---- head ---- */

static void print_head(const ReportJob *job, FILE *out) {
  rh_module_info info = *rh_get_info(job->loaded.module), scheduled = *rh_get_info(job->scheduled);
  char instructions[RH_FORMAT_CHARS];
  rh_format_count(info.num_instructions, instructions);
  fprintf(out, "%s: %.*s, %s instructions, %s\n", job->loaded.input.path, (int)info.name.length,
          info.name.data, instructions, info.is_scheduled ? "scheduled" : "unscheduled");
  fprintf(out, "  scheduler %s, memory model %s\n\n", scheduled.scheduler,
          job->report->memory_model);
}

static void print_place(const rh_report *report, const Terminal *terminal) {
  enum { INDENT = 33 };
  char *source = source_text(report->peak_source_file, report->peak_source_line);
  if (source) terminal_source(terminal, INDENT, source);
  free(source);
  if (report->peak_op_name.length) terminal_text(terminal, INDENT, report->peak_op_name);
}

static void print_peak(const rh_report *report, const Terminal *terminal) {
  FILE *out = terminal->out;
  char position[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  print_figure("peak", report->memory->peak_bytes, out);
  print_at("at", report->memory->peak_instruction, out);
  if (report->peak_position >= 0) {
    rh_format_count((uint64_t)report->peak_position, position);
    rh_format_count((uint64_t)report->num_positions, count);
    fprintf(out, ", position %s of %s", position, count);
  }
  fputc('\n', out);
  print_place(report, terminal);
}

static void print_heaps(const rh_report *report, FILE *out) {
  char limit[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  if (report->heap_limit_bytes >= 0) {
    rh_format_bytes(report->heap_limit_bytes, limit);
    rh_format_count(report->num_heaps, count);
    fprintf(out, " into %s heap%s with a limit of %s", count, report->num_heaps == 1 ? "" : "s",
            limit);
  }
  fputc('\n', out);
}

static void print_temp_range(const rh_memory *memory, FILE *out) {
  if (!has_temp_range(memory)) return;
  print_figure("  at least", memory->temp_bytes - memory->temp_less_bytes, out);
  fputs("  XLA:TPU has yet to put temporaries into VMEM\n", out);
  print_figure("  at most", memory->temp_bytes + memory->temp_more_bytes, out);
  fputs("  which is what budgets count\n", out);
}

/* Other memories are no part of any figure above. */
static void print_spaces(const rh_report *report, FILE *out) {
  for (size_t i = 0; i < report->num_spaces; i++) {
    const rh_space *space = report->spaces[i];
    char label[SPACE_LABEL_CHARS], packed[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
    space_label(space, label);
    print_figure(label, space->peak_bytes, out);
    rh_format_bytes(space->bytes, packed);
    rh_format_count(space->num_values, count);
    print_at("live at", space->peak_instruction, out);
    fprintf(out, ", %s packed, for %s value%s", packed, count, space->num_values == 1 ? "" : "s");
    fputc('\n', out);
  }
}

static void print_figures(const rh_report *report, const Terminal *terminal) {
  FILE *out = terminal->out;
  const rh_memory *memory = report->memory;
  print_peak(report, terminal);
  print_figure("lower bound", memory->lower_bound_bytes, out);
  const rh_entry *model = rh_find(RH_MEMORY_MODELS, report->memory_model);
  fputs("  by ", out);
  print_bound_cause(memory, !model || !(model->traits & RH_TRAIT_FREE_PARAMETERS), out);
  fputs(", for every order and recomputation", out);
  if (bound_covers_loops(memory)) fputs(", across loops, too", out);
  if (memory->lower_bound_within) fputc(',', out);
  print_bound_within(memory, out);
  fputc('\n', out);
  print_figure("packed temps", report->packed_temp_bytes, out);
  fprintf(out, "  for %s, packed by %s", report->target, report->packing);
  print_heaps(report, out);
  print_figure("  fragmentation", report->fragmentation_bytes, out);
  fputc('\n', out);
  print_temp_range(memory, out);
  print_figure("parameters", memory->parameter_bytes, out);
  fputc('\n', out);
  print_figure("outputs", memory->output_bytes, out);
  fputc('\n', out);
  if (memory->aliased_bytes) {
    print_figure("  taken over", memory->aliased_bytes, out);
    fputs("  from donated parameters\n", out);
  }
  print_figure("constants", memory->constant_bytes, out);
  fputc('\n', out);
  if (report->shared_bytes) {
    print_figure("saved by sharing", report->shared_bytes, out);
    fputs("  at the peak, in place, carried or donated\n", out);
  }
  print_spaces(report, out);
}

/* ---- sums ---- */

static double percent_of(int64_t bytes, const rh_report *report) {
  int64_t peak = report->memory->peak_bytes;
  return peak > 0 ? 100.0 * (double)bytes / (double)peak : 0;
}

static void add_sizes(Table *table, int64_t bytes, uint64_t num_values, const rh_report *report) {
  table_bytes(table, bytes);
  table_format(table, "%.1f %%", percent_of(bytes, report));
  table_count(table, num_values);
}

static Table sums_table(const char *title, bool has_sources) {
  return (Table){.columns = {{.title = "bytes", .is_number = true},
                             {.title = "share", .is_number = true},
                             {.title = "values", .is_number = true},
                             {.title = title, .is_flexible = true, .is_source = has_sources}},
                 .num_columns = 4};
}

static void print_sums(const rh_report *report, rh_sum_kind kind, const char *title, size_t top,
                       const Terminal *terminal) {
  rh_sums sums = report->sums[kind];
  Table table = sums_table(title, kind == RH_BY_SOURCE);
  int64_t rest_bytes = 0;
  uint64_t rest_values = 0;
  for (size_t i = 0; i < sums.len; i++) {
    const rh_sum *sum = sums.list[i];
    if (i >= top) {
      rest_bytes += sum->bytes;
      rest_values += sum->num_values;
      continue;
    }
    add_sizes(&table, sum->bytes, sum->num_values, report);
    if (kind == RH_BY_SOURCE) {
      table_source(&table, sum->name, sum->line);
    } else {
      table_text(&table, sum->name);
    }
  }
  if (sums.len > top) {
    add_sizes(&table, rest_bytes, rest_values, report);
    table_format(&table, "(%zu more)", sums.len - top);
  }
  fputc('\n', terminal->out);
  table_print(&table, terminal);
}

/* ---- scopes ---- */

typedef struct ScopeTable {
  Table table;
  const rh_report *report;
} ScopeTable;

static void add_scope(void *context, size_t index, int depth, rh_text label) {
  ScopeTable *scopes = context;
  const rh_scope *scope = scopes->report->scopes[index];
  add_sizes(&scopes->table, scope->bytes, scope->num_values, scopes->report);
  table_format(&scopes->table, "%*s%.*s", 2 * depth, "", (int)label.length, label.data);
}

static void print_scopes(const rh_report *report, size_t top, const Terminal *terminal) {
  ScopeTable scopes = {.table = sums_table("scope of op_name", false), .report = report};
  ScopeItem *items = memory_need(calloc(report->num_scopes + 1, sizeof *items));
  for (size_t i = 0; i < report->num_scopes; i++) {
    const rh_scope *scope = report->scopes[i];
    items[i] = (ScopeItem){scope->path, scope->name, scope->depth, (double)scope->bytes,
                           scope->num_values};
  }
  scope_rows_visit(items, report->num_scopes, top, add_scope, &scopes);
  free(items);
  fputc('\n', terminal->out);
  table_print(&scopes.table, terminal);
}

/* ---- the live set ---- */

static void add_span(Table *table, const rh_live_value *value) {
  if (value->begin < 0 || value->end < 0) {
    table_format(table, "%s", "");
  } else {
    table_format(table, "%" PRId64 "-%" PRId64, value->begin, value->end);
  }
}

/* The column with the names of operations needs a wide terminal. */
static Table live_table(size_t width) {
  enum { WIDE = 110 };
  return (Table){.columns = {{.title = "bytes", .is_number = true},
                             {.title = "lives", .is_number = true},
                             {.title = "category"},
                             {.title = "value", .is_flexible = true},
                             {.title = "shape", .is_flexible = true},
                             {.title = "source", .is_flexible = true, .is_source = true},
                             {.title = "op_name", .is_flexible = true}},
                 .num_columns = width < WIDE ? 6 : 7};
}

static void add_value(Table *table, const rh_live_value *value) {
  table_bytes(table, value->bytes);
  add_span(table, value);
  table_format(table, "%s", value->category);
  table_text(table, value->name);
  table_text(table, value->shape);
  table_origin(table, value);
  if (table->num_columns > 6) table_text(table, value->op_name);
}

static void print_live(const rh_report *report, size_t top, const Terminal *terminal) {
  Table table = live_table(terminal->width);
  char heading[64], count[RH_FORMAT_CHARS];
  rh_format_count(report->num_live, count);
  snprintf(heading, sizeof heading, "live at the peak: %s values", count);
  terminal_heading(terminal, heading);
  int64_t rest_bytes = 0;
  for (size_t i = 0; i < report->num_live; i++) {
    if (i < top) {
      add_value(&table, report->live[i]);
    } else {
      rest_bytes += report->live[i]->bytes;
    }
  }
  if (report->num_live > top) {
    table_bytes(&table, rest_bytes);
    table_format(&table, "%s", "");
    table_format(&table, "%s", "");
    table_format(&table, "(%zu more)", report->num_live - top);
    for (size_t i = 4; i < table.num_columns; i++)
      table_format(&table, "%s", "");
  }
  table_print(&table, terminal);
}

/* ---- stacks ---- */

static void print_readers(const rh_stacks *stacks, FILE *out) {
  for (size_t i = 0; i < stacks->num_readers; i++) {
    const char *before = i == 0 ? " for " : i + 1 < stacks->num_readers ? ", " : " and ";
    fprintf(out, "%s%.*s", before, (int)stacks->readers[i].length, stacks->readers[i].data);
  }
}

static void print_choice(const char *what, int64_t bytes, double added, FILE *out) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(bytes, text);
  fprintf(out, "  %s: %s, modelled time %+.1f %%\n", what, text, shown_percent(added, 1));
}

static void print_stacks_head(const rh_stacks *stacks, FILE *out) {
  char bytes[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  char *source = source_text(stacks->source_file, stacks->source_line);
  rh_format_bytes(stacks->bytes, bytes);
  rh_format_count(stacks->num_stacks, count);
  fprintf(out, "\n  stacks saved by %s%s (%.*s", source ? "the scan at " : "a scan",
          source ? source : "", (int)stacks->loop.length, stacks->loop.data);
  if (stacks->num_iterations >= 0) {
    char iterations[RH_FORMAT_CHARS];
    rh_format_count((uint64_t)stacks->num_iterations, iterations);
    fprintf(out, ", %s iteration%s", iterations, stacks->num_iterations == 1 ? "" : "s");
  }
  fputc(')', out);
  print_readers(stacks, out);
  fprintf(out, ": %s in %s value%s\n", bytes, count, stacks->num_stacks == 1 ? "" : "s");
  free(source);
  if (strcmp(stacks->reason, "none") != 0) {
    fprintf(out, "  they stay: %s\n", stacks->explanation);
    return;
  }
  print_choice("storing only what is needed, and recomputing the rest in the reading loop",
               stacks->least_bytes, stacks->least_added, out);
  if (stacks->fast_bytes < stacks->bytes) {
    print_choice("recomputing only what takes no longer than storing it", stacks->fast_bytes,
                 stacks->fast_added, out);
  }
}

/* Explains each reason in the table once. */
static void print_reasons(const rh_stacks *stacks, size_t top, FILE *out) {
  for (size_t i = 0; i < stacks->num_stacks && i < top; i++) {
    const rh_stack *stack = stacks->stacks[i];
    bool is_known = strcmp(stack->reason, "none") == 0 || strcmp(stacks->reason, "none") != 0;
    for (size_t k = 0; k < i; k++)
      is_known |= strcmp(stacks->stacks[k]->reason, stack->reason) == 0;
    if (!is_known) fprintf(out, "  %s: %s\n", stack->reason, stack->explanation);
  }
}

static void print_loop_stacks(const rh_stacks *stacks, size_t top, const Terminal *terminal) {
  Table table = {.columns = {{.title = "bytes", .is_number = true},
                             {.title = "shape", .is_flexible = true},
                             {.title = "value", .is_flexible = true},
                             {.title = "source", .is_flexible = true, .is_source = true},
                             {.title = "recomputable"}},
                 .num_columns = 5};
  int64_t rest_bytes = 0;
  print_stacks_head(stacks, terminal->out);
  for (size_t i = 0; i < stacks->num_stacks; i++) {
    const rh_stack *stack = stacks->stacks[i];
    if (i >= top) {
      rest_bytes += stack->bytes;
      continue;
    }
    table_bytes(&table, stack->bytes);
    table_text(&table, stack->shape);
    table_text(&table, stack->name);
    table_source(&table, stack->source_file, stack->source_line);
    bool can = strcmp(stack->reason, "none") == 0;
    table_format(&table, "%s%s", can ? "yes" : "no: ", can ? "" : stack->reason);
  }
  if (stacks->num_stacks > top) {
    table_bytes(&table, rest_bytes);
    table_format(&table, "(%zu more)", stacks->num_stacks - top);
    for (size_t i = 2; i < table.num_columns; i++)
      table_format(&table, "%s", "");
  }
  table_print(&table, terminal);
  print_reasons(stacks, top, terminal->out);
}

static void print_stacks(const rh_report *report, size_t top, const Terminal *terminal) {
  if (report->num_stacks == 0) return;
  terminal_heading(terminal, "what loops save for other loops");
  for (size_t i = 0; i < report->num_stacks && i < top; i++)
    print_loop_stacks(report->stacks[i], top, terminal);
  if (report->num_stacks > top)
    fprintf(terminal->out, "\n  (%zu more loops)\n", report->num_stacks - top);
}

/* The first line of the advice, and its first step. */
static void print_advice(const ReportJob *job, const Terminal *terminal) {
  const rh_advice *advice = job->advice;
  if (job->is_advice_left) {
    terminal_heading(terminal, "what to change in the program");
    fputs("  remat-hlo advise says it; in a module as large as this it takes a while\n",
          terminal->out);
  }
  if (!advice || !advice->num_plan) return;
  const rh_remedy *step = advice->plan[0];
  const char *end = memchr(advice->summary.data, '\n', advice->summary.length);
  size_t length = end ? (size_t)(end - advice->summary.data) : advice->summary.length;
  terminal_heading(terminal, "what to change in the program (remat-hlo advise says more)");
  fprintf(terminal->out, "  %.*s:\n  %.*s\n", (int)length, advice->summary.data,
          (int)step->title.length, step->title.data);
}

void report_print(const ReportJob *job, const Terminal *terminal) {
  const rh_report *report = job->report;
  size_t top = (size_t)job->options->top;
  print_head(job, terminal->out);
  print_figures(report, terminal);
  if (report->num_live == 0) return;
  terminal_heading(terminal, "what the peak is made of");
  print_sums(report, RH_BY_SOURCE, "source line", top, terminal);
  print_scopes(report, top, terminal);
  print_sums(report, RH_BY_CATEGORY, "category", top, terminal);
  print_sums(report, RH_BY_OPCODE, "opcode", top, terminal);
  if (report->sums[RH_BY_COMPUTATION].len > 1) {
    print_sums(report, RH_BY_COMPUTATION, "computation", top, terminal);
  }
  print_live(report, top, terminal);
  if (job->options->stack) report_print_calls(report, top, terminal);
  print_stacks(report, top, terminal);
  print_advice(job, terminal);
}
