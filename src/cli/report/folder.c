/* Implements `report DIR`: all modules of a dump folder, sorted by their peaks. */
#include <stdlib.h>
#include <string.h>

#include "module_list.h"
#include "progress_line.h"
#include "report/job.h"
#include "rows.h"

typedef struct ModuleRow {
  const ListedModule *module;
  uint64_t num_instructions;
  int64_t peak_bytes;
  char *source; /* the source line with the largest share of the peak */
  char *json;   /* NULL unless JSON is asked for */
} ModuleRow;

typedef struct FolderReport {
  const char *path;
  const Options *options;
  ModuleList list;
  ModuleRow *rows;
  size_t num_rows;
  size_t num_left_out; /* because of --min-peak */
} FolderReport;

/* Returns the source line with the largest sum among those that are known. */
static char *largest_source(const rh_report *report) {
  rh_sums sums = report->sums[RH_BY_SOURCE];
  for (size_t i = 0; i < sums.len; i++) {
    bool is_source = sums.list[i]->name.length && sums.list[i]->line >= 0;
    if (is_source) return source_text(sums.list[i]->name, sums.list[i]->line);
  }
  return NULL;
}

static ModuleRow make_row(const ReportJob *job, const ListedModule *module) {
  return (ModuleRow){.module = module,
                     .num_instructions = rh_get_info(job->loaded.module)->num_instructions,
                     .peak_bytes = job->report->memory->peak_bytes,
                     .source = largest_source(job->report),
                     .json = job->options->json ? report_json(job, true) : NULL};
}

static rh_status explain(const ListedModule *module, FolderReport *report) {
  const Options *options = report->options;
  ReportJob job;
  rh_status status =
      report_run(module->path, module_min_peak(module, options), options, NULL, &job);
  job.stages = module->stages;
  job.num_stages = module->num_stages;
  bool is_small = report_is_small(&job);
  report->num_left_out += status == RH_OK && is_small;
  if (status == RH_OK && !is_small) report->rows[report->num_rows++] = make_row(&job, module);
  report_free(&job);
  return status;
}

static int by_peak_then_name(const void *pa, const void *pb) {
  const ModuleRow *a = pa, *b = pb;
  if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
  return strcmp(a->module->path, b->module->path);
}

/* Returns the most severe status. A module that cannot be read does not prevent the others from
 * being shown. */
static rh_status explain_all(FolderReport *report) {
  rh_status worst = RH_OK;
  ProgressLine progress = progress_line_begin(report->options);
  for (size_t i = 0; i < report->list.len; i++) {
    const ListedModule *module = &report->list.modules[i];
    char line[1024];
    snprintf(line, sizeof line, "[%zu of %zu] %s", i + 1, report->list.len, module->path);
    progress_line_show(&progress, line);
    rh_status status = explain(module, report);
    if (status > worst) worst = status;
    if (status == RH_ERR_USAGE) break;
  }
  progress_line_hide(&progress);
  if (report->num_rows) {
    qsort(report->rows, report->num_rows, sizeof *report->rows, by_peak_then_name);
  }
  return worst;
}

static void print_rows(const FolderReport *report, const Terminal *terminal) {
  Table table = {.columns = {{.title = "peak", .is_number = true},
                             {.title = "instr.", .is_number = true},
                             {.title = "stages", .is_number = true},
                             {.title = "module", .is_flexible = true},
                             {.title = "analysed", .is_flexible = true},
                             {.title = "mostly from", .is_flexible = true, .is_source = true}},
                 .num_columns = 6};
  fprintf(terminal->out, "%s: %zu modules, %zu stages, %zu other files, memory model %s\n",
          report->path, report->list.len, report->list.num_stages, report->list.num_others,
          report->options->remat.memory_model);
  print_shard(&report->list, report->options, terminal->out);
  print_left_out(report->num_left_out, report->options, terminal->out);
  if (report->num_rows == 0) return;
  fputc('\n', terminal->out);
  for (size_t i = 0; i < report->num_rows; i++) {
    const ModuleRow *row = &report->rows[i];
    const DumpStage *stage = row->module->chosen;
    table_bytes(&table, row->peak_bytes);
    table_count(&table, row->num_instructions);
    table_count(&table, row->module->num_stages);
    table_format(&table, "%s", stage->module);
    table_format(&table, "%s%s", stage->stage, stage->is_scheduled ? "" : " (unscheduled)");
    table_format(&table, "%s", row->source ? row->source : "");
  }
  table_print(&table, terminal);
}

static rh_status write_rows(const FolderReport *report) {
  Output output;
  const Options *options = report->options;
  rh_status status = output_open(options->json, options, &output);
  if (status != RH_OK) return status;
  output_write(&output, "[", 1);
  bool has_all = true;
  for (size_t i = 0; i < report->num_rows; i++) {
    const char *json = report->rows[i].json;
    output_write(&output, i ? ",\n" : "\n", i ? 2 : 1);
    has_all &= json != NULL;
    if (json) output_write(&output, json, strlen(json));
  }
  output_write(&output, "\n]\n", 3);
  status = output_close(&output, has_all);
  return has_all ? status : input_out_of_memory(&(Input){.path = options->json});
}

static rh_status write_csv(const FolderReport *report) {
  static const char *const columns[] = {"peak_bytes",   "instructions", "stages", "module", "stage",
                                        "is_scheduled", "mostly_from",  "input",  NULL};
  Rows rows;
  const Options *options = report->options;
  rh_status status = rows_open(columns, options->csv, NULL, options, &rows);
  for (size_t i = 0; i < report->num_rows && status == RH_OK; i++) {
    const ModuleRow *row = &report->rows[i];
    const DumpStage *stage = row->module->chosen;
    rows_int(&rows, row->peak_bytes, 0);
    rows_int(&rows, (int64_t)row->num_instructions, 0);
    rows_int(&rows, (int64_t)row->module->num_stages, 0);
    rows_word(&rows, stage->module);
    rows_word(&rows, stage->stage);
    rows_bool(&rows, stage->is_scheduled);
    rows_word(&rows, row->source);
    rows_word(&rows, row->module->path);
  }
  rh_status closed = rows_close(&rows, status == RH_OK);
  return closed > status ? closed : status;
}

static rh_status report_list(FolderReport *report, const Terminal *terminal) {
  report->rows = calloc(report->list.len + 1, sizeof *report->rows);
  if (!report->rows) return input_out_of_memory(&(Input){.path = report->path});
  rh_status worst = explain_all(report), status = RH_OK;
  if (report->options->json && worst != RH_ERR_USAGE) status = write_rows(report);
  if (status == RH_OK && report->options->csv && worst != RH_ERR_USAGE) status = write_csv(report);
  bool has_something = report->num_rows || report->num_left_out || !report->list.len;
  if (has_something && !report->options->quiet) print_rows(report, terminal);
  return status > worst ? status : worst;
}

rh_status report_folder(const char *path, const Options *options, const Terminal *terminal) {
  FolderReport report = {.path = path, .options = options};
  rh_status worst = module_list_read(options, &report.list), status = RH_OK;
  bool is_empty_shard = options->shard.count && worst == RH_OK;
  if (report.list.len || is_empty_shard) status = report_list(&report, terminal);
  for (size_t i = 0; i < report.num_rows; i++) {
    free(report.rows[i].source);
    free(report.rows[i].json);
  }
  free(report.rows);
  module_list_free(&report.list);
  return status > worst ? status : worst;
}
