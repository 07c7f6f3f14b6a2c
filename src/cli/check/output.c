/* What `check` writes: a table for folders, JSON, and baselines. */
#include <cjson/cJSON.h>
#include <string.h>

#include "check/job.h"
#include "json_text.h"

FILE *check_summary(const Options *options) {
  bool is_taken = output_is_stdout(options->write_baseline) || output_is_stdout(options->json) ||
                  output_is_stdout(options->csv);
  return is_taken ? stderr : stdout;
}

bool check_is_small(const CheckedModule *module, const Options *options) {
  return module->now.len &&
         module->now.modules->peak_bytes < module_min_peak(module->listed, options);
}

/* A single file is not all that a baseline is of, and --module says which modules are wanted. */
bool check_is_missing(const CheckJob *job, const MeasuredModule *was) {
  const Options *options = job->options;
  const ListedModule in_folder = {.chosen = &(DumpStage){0}};
  bool is_wanted = !options->module || !was->module || module_matches(options->module, was->module);
  return job->list.num_folders && !was->is_taken && is_wanted &&
         was->peak_bytes >= module_min_peak(&in_folder, options);
}

/* ---- the table ---- */

static const char *verdict_of(const CheckedModule *module, const Options *options) {
  if (!module->now.len) return "not measured";
  if (module->is_over_max_peak) return "over --max-peak";
  if (module->is_over_baseline) return "over the baseline";
  return options->baseline && !module->before ? "new" : "ok";
}

static void add_baseline(Table *table, const CheckedModule *module) {
  if (module->before) {
    table_bytes(table, module->before->peak_bytes);
  } else {
    table_format(table, "-");
  }
}

static void add_row(Table *table, const CheckedModule *module, const Options *options) {
  const DumpStage *stage = module->listed->chosen;
  if (module->now.len) {
    table_bytes(table, module->now.modules->peak_bytes);
  } else {
    table_format(table, "-");
  }
  if (options->baseline) add_baseline(table, module);
  table_count(table, module->num_instructions);
  table_count(table, module->num_findings);
  if (bounds_are_given(options)) table_format(table, "%s", verdict_of(module, options));
  table_format(table, "%s", stage->module);
  table_format(table, "%s%s", stage->stage, stage->is_scheduled ? "" : " (unscheduled)");
}

static Table make_table(const Options *options) {
  Table table = {.columns = {{.title = "peak", .is_number = true}}, .num_columns = 1};
  if (options->baseline) {
    table.columns[table.num_columns++] = (Column){.title = "baseline", .is_number = true};
  }
  table.columns[table.num_columns++] = (Column){.title = "instr.", .is_number = true};
  table.columns[table.num_columns++] = (Column){.title = "findings", .is_number = true};
  if (bounds_are_given(options)) table.columns[table.num_columns++] = (Column){.title = "bounds"};
  table.columns[table.num_columns++] = (Column){.title = "module", .is_flexible = true};
  table.columns[table.num_columns++] = (Column){.title = "measured", .is_flexible = true};
  return table;
}

void check_print(const CheckJob *job) {
  const Options *options = job->options;
  Terminal terminal = terminal_of(check_summary(options));
  Table table = make_table(options);
  size_t num_modules = 0, num_small = 0, num_rows = 0;
  for (size_t i = 0; i < job->list.len; i++) {
    const CheckedModule *module = &job->modules[i];
    if (!module->listed->chosen) continue;
    num_modules++;
    num_small += check_is_small(module, options);
    if (!module->is_read || check_is_small(module, options)) continue;
    add_row(&table, module, options);
    num_rows++;
  }
  fprintf(terminal.out, "%zu modules, %zu stages, %zu other files, memory model %s\n", num_modules,
          job->list.num_stages, job->list.num_others, options->remat.memory_model);
  print_left_out(num_small, options, terminal.out);
  if (num_rows) fputc('\n', terminal.out);
  table_print(&table, &terminal);
}

/* ---- JSON ---- */

static void add_name(cJSON *list, const MeasuredModule *module) {
  cJSON *item = json_add_item(list);
  const char *name = module->module ? module->module : "";
  json_add_text(item, "module", name, strlen(name));
  json_add_int(item, "peak_bytes", module->peak_bytes);
}

static void add_peak(const CheckedModule *module, const Options *options, cJSON *object) {
  const MeasuredModule *now = module->now.modules;
  const char *at = cJSON_GetStringValue(cJSON_GetObjectItem(now->json, "peak_instruction"));
  json_add_text(object, "input_hash", now->hash, strlen(now->hash));
  json_add_int(object, "peak_bytes", now->peak_bytes);
  json_add_known_text(object, "peak_instruction", (rh_text){at, at ? strlen(at) : 0});
  cJSON_AddBoolToObject(object, "is_small", check_is_small(module, options));
  json_add_known_int(object, "max_peak_bytes", options->max_peak_bytes, 0);
  json_add_known_int(object, "baseline_bytes", module->before ? module->before->peak_bytes : -1, 0);
  json_add_known_int(object, "allowed_bytes", module->before ? module->allowed_bytes : -1, 0);
  cJSON_AddBoolToObject(object, "is_over_max_peak", module->is_over_max_peak);
  cJSON_AddBoolToObject(object, "is_over_baseline", module->is_over_baseline);
}

static void add_module(const CheckedModule *module, const Options *options, cJSON *list) {
  cJSON *object = json_add_item(list);
  json_add_text(object, "input", module->path, strlen(module->path));
  cJSON_AddBoolToObject(object, "is_read", module->is_read);
  if (!module->is_read) return;
  json_add_text(object, "module", module->name, strlen(module->name));
  cJSON_AddBoolToObject(object, "is_scheduled", module->is_scheduled);
  json_add_int(object, "computations", (int64_t)module->num_computations);
  json_add_int(object, "instructions", (int64_t)module->num_instructions);
  json_add_int(object, "findings", (int64_t)module->num_findings);
  if (module->now.len) add_peak(module, options, object);
}

static bool is_new(const CheckJob *job, const CheckedModule *module) {
  return job->options->baseline && module->now.len && !module->before &&
         !check_is_small(module, job->options);
}

rh_status check_write_json(const CheckJob *job) {
  const Options *options = job->options;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddBoolToObject(object, "ok", job->status == RH_OK);
  cJSON_AddStringToObject(object, "memory_model", options->remat.memory_model);
  cJSON *modules = cJSON_AddArrayToObject(object, "modules");
  cJSON *added = cJSON_AddArrayToObject(object, "new");
  cJSON *missing = cJSON_AddArrayToObject(object, "missing");
  for (size_t i = 0; i < job->list.len; i++) {
    add_module(&job->modules[i], options, modules);
    if (is_new(job, &job->modules[i])) add_name(added, job->modules[i].now.modules);
  }
  for (size_t i = 0; i < job->baseline.len; i++) {
    if (check_is_missing(job, &job->baseline.modules[i])) {
      add_name(missing, &job->baseline.modules[i]);
    }
  }
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  return output_write_json(text, options->json, options);
}

/* ---- baselines ---- */

rh_status check_write_baseline(const CheckJob *job) {
  const Options *options = job->options;
  bool is_list = job->list.num_folders || job->list.len > 1;
  Output output;
  rh_status status = output_open(options->write_baseline, options, &output);
  if (status != RH_OK) return status;
  if (is_list) output_write(&output, "[\n", 2);
  for (size_t i = 0; i < job->list.len; i++) {
    const char *report = job->modules[i].report;
    output_write(&output, report, strlen(report));
    if (is_list && i + 1 < job->list.len) output_write(&output, ",", 1);
    output_write(&output, "\n", 1);
  }
  if (is_list) output_write(&output, "]\n", 2);
  return output_close(&output, true);
}
