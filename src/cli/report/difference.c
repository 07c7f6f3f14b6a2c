/* Prints the difference between two reports for people. */
#include <string.h>

#include "report/job.h"

typedef struct Changes {
  Table table;
  rh_sum_kind kind;
  size_t top, num_seen;
  int64_t rest_before, rest_after;
} Changes;

static void add_difference(Table *table, int64_t before, int64_t after) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(after > before ? after - before : before - after, text);
  table_format(table, "%s%s", after > before ? "+" : after < before ? "-" : "", text);
}

static void add_sizes(Table *table, int64_t before, int64_t after) {
  add_difference(table, before, after);
  table_bytes(table, before);
  table_bytes(table, after);
}

static const char *word_of(const rh_change *change) {
  if (change->before_num_values == 0) return "new";
  if (change->after_num_values == 0) return "gone";
  return change->after_bytes > change->before_bytes ? "grew" : "shrank";
}

static void add_change(void *context, const rh_change *change) {
  Changes *changes = context;
  if (changes->num_seen++ >= changes->top) {
    changes->rest_before += change->before_bytes;
    changes->rest_after += change->after_bytes;
    return;
  }
  add_sizes(&changes->table, change->before_bytes, change->after_bytes);
  table_format(&changes->table, "%s", word_of(change));
  if (changes->kind == RH_BY_SOURCE) {
    table_source(&changes->table, change->name, change->line);
  } else {
    table_text(&changes->table, change->name);
  }
}

/* Prints the changes. `*has_heading` says whether the heading is printed already. Without changes
 * nothing is printed. */
static void print_changes(const ReportJob *before, const ReportJob *after, rh_sum_kind kind,
                          const char *title, const Terminal *terminal, bool *has_heading) {
  Changes changes = {
      .kind = kind,
      .top = (size_t)after->options->top,
      .table = {
          .columns = {{.title = "change", .is_number = true},
                      {.title = "before", .is_number = true},
                      {.title = "after", .is_number = true},
                      {.title = ""},
                      {.title = title, .is_flexible = true, .is_source = kind == RH_BY_SOURCE}},
          .num_columns = 5}};
  report_compare_sums(after, before->report->sums[kind], after->report->sums[kind], add_change,
                      &changes);
  if (changes.num_seen == 0) return;
  if (!*has_heading) terminal_heading(terminal, "what of the peak is not as before");
  *has_heading = true;
  if (changes.num_seen > changes.top) {
    add_sizes(&changes.table, changes.rest_before, changes.rest_after);
    table_format(&changes.table, "%s", "");
    table_format(&changes.table, "(%zu more)", changes.num_seen - changes.top);
  }
  fputc('\n', terminal->out);
  table_print(&changes.table, terminal);
}

static void add_figure(Table *table, const char *label, int64_t before, int64_t after) {
  table_format(table, "%s", label);
  table_bytes(table, before);
  table_bytes(table, after);
  add_difference(table, before, after);
}

static void print_figures(const rh_report *before, const rh_report *after,
                          const Terminal *terminal) {
  const rh_memory *was = before->memory, *is = after->memory;
  Table table = {.columns = {{.title = ""},
                             {.title = "before", .is_number = true},
                             {.title = "after", .is_number = true},
                             {.title = "change", .is_number = true}},
                 .num_columns = 4};
  add_figure(&table, "peak", was->peak_bytes, is->peak_bytes);
  add_figure(&table, "lower bound", was->lower_bound_bytes, is->lower_bound_bytes);
  add_figure(&table, "parameters", was->parameter_bytes, is->parameter_bytes);
  add_figure(&table, "outputs", was->output_bytes, is->output_bytes);
  add_figure(&table, "taken over", was->aliased_bytes, is->aliased_bytes);
  add_figure(&table, "constants", was->constant_bytes, is->constant_bytes);
  table_print(&table, terminal);
  rh_text from = was->peak_instruction, to = is->peak_instruction;
  if (!from.length || !to.length) return; /* no value is live */
  fprintf(terminal->out, "  the peak was at %.*s, it is at %.*s\n", (int)from.length, from.data,
          (int)to.length, to.data);
}

void report_print_difference(const ReportJob *before, const ReportJob *after,
                             const Terminal *terminal) {
  fprintf(terminal->out, "%s -> %s: memory model %s\n\n", before->loaded.input.path,
          after->loaded.input.path, after->report->memory_model);
  print_figures(before->report, after->report, terminal);
  bool has_heading = false;
  print_changes(before, after, RH_BY_SOURCE, "source line", terminal, &has_heading);
  print_changes(before, after, RH_BY_OP_NAME, "op_name", terminal, &has_heading);
  print_changes(before, after, RH_BY_CATEGORY, "category", terminal, &has_heading);
  print_changes(before, after, RH_BY_OPCODE, "opcode", terminal, &has_heading);
}
