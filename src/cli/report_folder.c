/* Implements `report DIR`: all modules of a dump folder, sorted by their peaks. */
#include <stdlib.h>
#include <string.h>

#include "dump_folder.h"
#include "report_job.h"

typedef struct ModuleRow {
  const DumpStage *stage; /* the stage that was analysed */
  size_t num_stages;
  uint64_t num_instructions;
  int64_t peak_bytes;
  char *source; /* the source line with the largest share of the peak */
  char *json;   /* NULL unless JSON is asked for */
} ModuleRow;

/* Returns the source line with the largest sum among those that are known. */
static char *largest_source(const rh_report *report) {
  rh_sums sums = report->sums[RH_BY_SOURCE];
  for (size_t i = 0; i < sums.len; i++) {
    if (sums.list[i]->name.length) return source_text(sums.list[i]->name, sums.list[i]->line);
  }
  return NULL;
}

static rh_status explain(const Options *options, const DumpStage *stages, size_t num_stages,
                         const DumpStage *chosen, ModuleRow *row) {
  ReportJob job;
  rh_status status = report_run(chosen->path, options, &job);
  if (status == RH_OK) {
    job.stages = stages;
    job.num_stages = num_stages;
    *row = (ModuleRow){.stage = chosen,
                       .num_stages = num_stages,
                       .num_instructions = rh_get_info(job.loaded.module)->num_instructions,
                       .peak_bytes = job.report->memory->peak_bytes,
                       .source = largest_source(job.report),
                       .json = options->json ? report_json(&job, true) : NULL};
  }
  report_free(&job);
  return status;
}

static int by_peak_then_name(const void *pa, const void *pb) {
  const ModuleRow *a = pa, *b = pb;
  if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
  return strcmp(a->stage->path, b->stage->path);
}

/* Returns the most severe status. A module that cannot be read does not prevent the others from
 * being shown. */
static rh_status explain_all(const DumpFolder *folder, const Options *options, ModuleRow *rows,
                             size_t *num_rows) {
  rh_status worst = RH_OK;
  for (size_t first = 0, count; first < folder->num_stages; first += count) {
    count = dump_folder_count(folder, first);
    const DumpStage *chosen = &folder->stages[dump_folder_choose(folder, first, count)];
    if (!options->quiet) {
      fprintf(stderr, "[%zu of %zu] %s\n", first + count, folder->num_stages, chosen->path);
    }
    rh_status status = explain(options, &folder->stages[first], count, chosen, &rows[*num_rows]);
    if (status == RH_OK) ++*num_rows;
    if (status > worst) worst = status;
    if (status == RH_ERR_USAGE) break;
  }
  if (*num_rows) qsort(rows, *num_rows, sizeof *rows, by_peak_then_name);
  return worst;
}

static void print_rows(const char *path, const DumpFolder *folder, const ModuleRow *rows,
                       size_t num_rows, const Options *options, const Terminal *terminal) {
  Table table = {.columns = {{.title = "peak", .is_number = true},
                             {.title = "instr.", .is_number = true},
                             {.title = "stages", .is_number = true},
                             {.title = "module", .is_flexible = true},
                             {.title = "analysed", .is_flexible = true},
                             {.title = "mostly from", .is_flexible = true}},
                 .num_columns = 6};
  fprintf(terminal->out, "%s: %zu modules, %zu stages, %zu other files, memory model %s\n\n", path,
          num_rows, folder->num_stages, folder->num_others, options->remat.memory_model);
  for (size_t i = 0; i < num_rows; i++) {
    table_bytes(&table, rows[i].peak_bytes);
    table_count(&table, rows[i].num_instructions);
    table_count(&table, rows[i].num_stages);
    table_format(&table, "%s", rows[i].stage->module);
    table_format(&table, "%s%s", rows[i].stage->stage,
                 rows[i].stage->is_scheduled ? "" : " (unscheduled)");
    table_format(&table, "%s", rows[i].source ? rows[i].source : "");
  }
  table_print(&table, terminal);
}

static rh_status write_rows(const ModuleRow *rows, size_t num_rows, const Options *options) {
  Output output;
  rh_status status = output_open(options->json, options, &output);
  if (status != RH_OK) return status;
  output_write(&output, "[", 1);
  bool has_all = true;
  for (size_t i = 0; i < num_rows; i++) {
    output_write(&output, i ? ",\n" : "\n", i ? 2 : 1);
    has_all &= rows[i].json != NULL;
    if (rows[i].json) output_write(&output, rows[i].json, strlen(rows[i].json));
  }
  output_write(&output, "\n]\n", 3);
  status = output_close(&output, has_all);
  return has_all ? status : input_out_of_memory(&(Input){.path = options->json});
}

rh_status report_folder(const char *path, const Options *options, const Terminal *terminal) {
  DumpFolder folder;
  rh_status worst = dump_folder_read(path, options, &folder), status;
  size_t num_rows = 0;
  ModuleRow *rows = calloc(folder.num_stages + 1, sizeof *rows);
  if (!rows) {
    worst = input_out_of_memory(&(Input){.path = path});
  } else if (folder.num_stages == 0 && worst == RH_OK) {
    Input place = {.path = path, .form = (MessageForm)options->diagnostics};
    worst = input_fail(&place, "there is no HLO text in it");
  } else if (folder.num_stages) {
    status = explain_all(&folder, options, rows, &num_rows);
    if (status > worst) worst = status;
    if (options->json && worst != RH_ERR_USAGE) {
      status = write_rows(rows, num_rows, options);
      if (status > worst) worst = status;
    }
    if (num_rows && !options->quiet) {
      print_rows(path, &folder, rows, num_rows, options, terminal);
    }
  }
  for (size_t i = 0; i < num_rows; i++) {
    free(rows[i].source);
    free(rows[i].json);
  }
  free(rows);
  dump_folder_free(&folder);
  return worst;
}
