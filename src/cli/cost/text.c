/* Prints the modelled time as tables for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cost/job.h"
#include "memory.h"
#include "scope_rows.h"

static double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

static void print_figure(const char *label, const char *text, FILE *out) {
  fprintf(out, "  %-16s %12s", label, text);
}

static void print_rate(const char *label, double count, FILE *out) {
  char text[RH_FORMAT_CHARS];
  text_of_rate(count, text);
  print_figure(label, text, out);
  fputc('\n', out);
}

static void print_head(const CostJob *job, FILE *out) {
  rh_module_info info = *rh_get_info(job->loaded.module);
  const rh_cost_report *report = job->report;
  char text[RH_FORMAT_CHARS];
  rh_format_count(info.num_instructions, text);
  char source[RH_TIME_SOURCE_CHARS];
  rh_time_source(report->cost, job->profile, source);
  fprintf(out, "%s: %.*s, %s instructions, %s\n  device %s (%s)%s\n\n", job->loaded.input.path,
          (int)info.name.length, info.name.data, text,
          info.is_scheduled ? "scheduled" : "unscheduled", report->device, source,
          job->is_device_assumed ? ", which is assumed: the dump does not tell" : "");
  text_of_seconds(report->total->seconds, text);
  print_figure("modelled time", text, out);
  fprintf(out, "  %.1f %% of it bound by memory bandwidth\n",
          percent_of(report->total->memory_seconds, report->total->seconds));
  print_rate("flops", report->total->flops, out);
  print_rate("transcendentals", report->total->transcendentals, out);
  print_rate("bytes accessed", report->total->bytes_accessed, out);
  if (report->cost->offloaded_bytes > 0)
    print_rate("offloaded", report->cost->offloaded_bytes, out);
  if (report->cost->stall_seconds > 0) {
    text_of_seconds(report->cost->stall_seconds, text);
    print_figure("for the link", text, out);
    fputs("  in which nothing runs\n", out);
  }
}

static bool is_module(const rh_timed_module *timed, rh_text name) {
  return timed->name.length == name.length && memcmp(timed->name.data, name.data, name.length) == 0;
}

/* What a measured step consists of. */
static void print_step(const CostJob *job, FILE *out) {
  if (!job->loaded.times) return;
  size_t count;
  const rh_timed_module *const *modules = rh_times_modules(job->loaded.times, &count);
  for (size_t i = 0; i < count; i++) {
    const rh_timed_module *timed = modules[i];
    if (!is_module(timed, rh_get_info(job->loaded.module)->name)) continue;
    char text[RH_FORMAT_CHARS];
    text_of_seconds(timed->step_seconds, text);
    print_figure("measured step", text, out);
    text_of_seconds(timed->busy_seconds, text);
    fprintf(out, "  %s busy", text);
    text_of_seconds(timed->step_seconds - timed->busy_seconds, text);
    fprintf(out, ", %s idle", text);
    text_of_seconds(timed->overlap_seconds > 0 ? timed->overlap_seconds : 0, text); /* rounding */
    fprintf(out, ", %s beside other instructions\n", text);
  }
}

/* What the profile's allocators have given out, and what we say that the module takes: all of it,
 * and what it asks the allocator for, its arguments being there already. */
static void print_allocators(const CostJob *job, FILE *out) {
  size_t count = 0;
  const rh_timed_allocator *const *list = NULL;
  if (job->loaded.times) list = rh_times_allocators(job->loaded.times, &count);
  for (size_t i = 0; i < count; i++) {
    char most[RH_FORMAT_CHARS], least[RH_FORMAT_CHARS];
    rh_format_bytes(list[i]->most_bytes, most);
    rh_format_bytes(list[i]->least_bytes, least);
    print_figure("allocated", most, out);
    fprintf(out, "  at most by %.*s, at least %s\n", (int)list[i]->name.length, list[i]->name.data,
            least);
  }
  if (!job->has_memory) return;
  const rh_memory *memory = &job->memory;
  char total[RH_FORMAT_CHARS], asked[RH_FORMAT_CHARS];
  rh_format_bytes(memory->total_bytes, total);
  rh_format_bytes(memory->total_bytes - memory->parameter_bytes, asked);
  print_figure("predicted", total, out);
  fprintf(out, "  of these %s beside the parameters\n", asked);
}

static void print_unknown(const CostJob *job, FILE *out) {
  char count[RH_FORMAT_CHARS];
  if (job->report->num_unknown_loops) {
    rh_format_count(job->report->num_unknown_loops, count);
    fprintf(out, "  loops without a known trip count: %s, taken to run %" PRId64 " times\n", count,
            job->options->trip_count);
  }
  if (job->report->num_unknown_calls) {
    rh_format_count(job->report->num_unknown_calls, count);
    fprintf(out, "  custom calls, of which only what goes in and out is known: %s\n", count);
  }
}

/* ---- sums ---- */

typedef struct ShareTable {
  Table table;
  const rh_cost_report *report;
} ShareTable;

static ShareTable share_table(const rh_cost_report *report, const char *title, bool has_sources) {
  return (ShareTable){
      .table = {.columns = {{.title = "time", .is_number = true},
                            {.title = "share", .is_number = true},
                            {.title = "mem. bound", .is_number = true},
                            {.title = "flops", .is_number = true},
                            {.title = "bytes", .is_number = true},
                            {.title = "count", .is_number = true},
                            {.title = title, .is_flexible = true, .is_source = has_sources}},
                .num_columns = 7},
      .report = report};
}

static void add_share(ShareTable *shares, const rh_cost_share *share) {
  char text[RH_FORMAT_CHARS];
  Table *table = &shares->table;
  text_of_seconds(share->seconds, text);
  table_format(table, "%s", text);
  table_format(table, "%.1f %%", percent_of(share->seconds, shares->report->total->seconds));
  table_format(table, "%.0f %%", percent_of(share->memory_seconds, share->seconds));
  text_of_rate(share->flops, text);
  table_format(table, "%s", text);
  text_of_rate(share->bytes_accessed, text);
  table_format(table, "%s", text);
  table_count(table, share->num_instructions);
}

static void add_rest(rh_cost_share *rest, const rh_cost_share *share) {
  rest->num_instructions += share->num_instructions;
  rest->flops += share->flops;
  rest->bytes_accessed += share->bytes_accessed;
  rest->seconds += share->seconds;
  rest->memory_seconds += share->memory_seconds;
}

static void print_shares(const rh_cost_report *report, rh_sum_kind kind, const char *title,
                         size_t top, const Terminal *terminal) {
  rh_cost_shares sums = report->sums[kind];
  ShareTable shares = share_table(report, title, kind == RH_BY_SOURCE);
  rh_cost_share rest = {0};
  for (size_t i = 0; i < sums.len; i++) {
    if (i >= top) {
      add_rest(&rest, sums.list[i]);
      continue;
    }
    add_share(&shares, sums.list[i]);
    if (kind == RH_BY_SOURCE) {
      table_source(&shares.table, sums.list[i]->name, sums.list[i]->line);
    } else {
      table_text(&shares.table, sums.list[i]->name);
    }
  }
  if (sums.len > top) {
    add_share(&shares, &rest);
    table_format(&shares.table, "(%zu more)", sums.len - top);
  }
  fputc('\n', terminal->out);
  table_print(&shares.table, terminal);
}

static void add_scope(void *context, size_t index, int depth, rh_text label) {
  ShareTable *shares = context;
  add_share(shares, shares->report->scopes[index]->share);
  table_format(&shares->table, "%*s%.*s", 2 * depth, "", (int)label.length, label.data);
}

static void print_scopes(const rh_cost_report *report, size_t top, const Terminal *terminal) {
  ShareTable shares = share_table(report, "scope of op_name", false);
  ScopeItem *items = memory_need(calloc(report->num_scopes + 1, sizeof *items));
  for (size_t i = 0; i < report->num_scopes; i++) {
    const rh_cost_scope *scope = report->scopes[i];
    items[i] = (ScopeItem){scope->path, scope->share->name, scope->depth, scope->share->seconds,
                           scope->share->num_instructions};
  }
  scope_rows_visit(items, report->num_scopes, top, add_scope, &shares);
  free(items);
  fputc('\n', terminal->out);
  table_print(&shares.table, terminal);
}

/* ---- instructions ---- */

static void add_instruction(Table *table, const rh_cost_instruction *instruction,
                            const rh_cost_report *report) {
  char text[RH_FORMAT_CHARS];
  text_of_seconds(instruction->share->seconds, text);
  table_format(table, "%s", text);
  table_format(table, "%.1f %%", percent_of(instruction->share->seconds, report->total->seconds));
  table_format(table, "%.6g", instruction->runs);
  table_format(table, "%s", instruction->bound);
  table_text(table, instruction->share->name);
  table_text(table, instruction->shape);
  table_source(table, instruction->source_file, instruction->source_line);
}

static void print_instructions(const rh_cost_report *report, size_t top, const Terminal *terminal) {
  Table table = {.columns = {{.title = "time", .is_number = true},
                             {.title = "share", .is_number = true},
                             {.title = "runs", .is_number = true},
                             {.title = "bound by"},
                             {.title = "instruction", .is_flexible = true},
                             {.title = "shape", .is_flexible = true},
                             {.title = "source", .is_flexible = true, .is_source = true}},
                 .num_columns = 7};
  for (size_t i = 0; i < report->num_instructions && i < top; i++)
    add_instruction(&table, report->instructions[i], report);
  terminal_heading(terminal, "the instructions that take longest");
  table_print(&table, terminal);
}

void cost_print(const CostJob *job, const Terminal *terminal) {
  const rh_cost_report *report = job->report;
  size_t top = (size_t)job->options->top;
  print_head(job, terminal->out);
  print_step(job, terminal->out);
  print_allocators(job, terminal->out);
  print_unknown(job, terminal->out);
  if (report->num_instructions == 0) return;
  terminal_heading(terminal, "where the time goes");
  print_shares(report, RH_BY_OPCODE, "opcode", top, terminal);
  print_shares(report, RH_BY_SOURCE, "source line", top, terminal);
  print_scopes(report, top, terminal);
  if (report->sums[RH_BY_COMPUTATION].len > 1) {
    print_shares(report, RH_BY_COMPUTATION, "computation", top, terminal);
  }
  print_instructions(report, top, terminal);
}
