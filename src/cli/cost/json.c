/* Writes the modelled time for programs. The manual page documents the keys and columns. */
#include <cjson/cJSON.h>
#include <string.h>

#include "cost/job.h"
#include "csv.h"
#include "json_text.h"

static void add_figures(cJSON *object, const rh_cost_share *share) {
  json_add_int(object, "instructions", (int64_t)share->num_instructions);
  cJSON_AddNumberToObject(object, "flops", share->flops);
  cJSON_AddNumberToObject(object, "transcendentals", share->transcendentals);
  cJSON_AddNumberToObject(object, "bytes_accessed", share->bytes_accessed);
  cJSON_AddNumberToObject(object, "seconds", share->seconds);
  cJSON_AddNumberToObject(object, "memory_seconds", share->memory_seconds);
}

static void add_shares(cJSON *object, const char *key, const char *name, rh_cost_shares shares) {
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (size_t i = 0; i < shares.len; i++) {
    cJSON *item = json_add_item(list);
    json_add_known_text(item, name, shares.list[i]->name);
    if (strcmp(name, "source_file") == 0)
      json_add_known_int(item, "source_line", shares.list[i]->line, 1);
    add_figures(item, shares.list[i]);
  }
}

static void add_scopes(cJSON *object, const rh_cost_report *report) {
  cJSON *list = cJSON_AddArrayToObject(object, "by_scope");
  for (size_t i = 0; i < report->num_scopes; i++) {
    cJSON *item = json_add_item(list);
    json_add_known_text(item, "scope", report->scopes[i]->path);
    json_add_int(item, "depth", report->scopes[i]->depth);
    add_figures(item, report->scopes[i]->share);
  }
}

static void add_instructions(cJSON *object, const rh_cost_report *report) {
  cJSON *list = cJSON_AddArrayToObject(object, "by_instruction");
  for (size_t i = 0; i < report->num_instructions; i++) {
    const rh_cost_instruction *instruction = report->instructions[i];
    cJSON *item = json_add_item(list);
    json_add_known_text(item, "name", instruction->share->name);
    json_add_known_text(item, "opcode", instruction->opcode);
    json_add_known_text(item, "shape", instruction->shape);
    json_add_known_text(item, "computation", instruction->computation);
    json_add_known_text(item, "op_name", instruction->op_name);
    json_add_known_text(item, "source_file", instruction->source_file);
    json_add_known_int(item, "source_line", instruction->source_line, 1);
    cJSON_AddNumberToObject(item, "runs", instruction->runs);
    cJSON_AddStringToObject(item, "bound", instruction->bound);
    add_figures(item, instruction->share);
  }
}

static void add_allocators(cJSON *object, const CostJob *job) {
  size_t count = 0;
  const rh_timed_allocator *const *found = NULL;
  if (job->loaded.times) found = rh_times_allocators(job->loaded.times, &count);
  if (count == 0) return;
  cJSON *list = cJSON_AddArrayToObject(object, "allocators");
  for (size_t i = 0; i < count; i++) {
    cJSON *item = json_add_item(list);
    json_add_text(item, "name", found[i]->name.data, found[i]->name.length);
    json_add_int(item, "events", (int64_t)found[i]->num_events);
    json_add_int(item, "least_bytes", found[i]->least_bytes);
    json_add_int(item, "most_bytes", found[i]->most_bytes);
  }
  if (!job->has_memory) return;
  json_add_int(object, "predicted_bytes", job->memory.total_bytes);
  json_add_int(object, "predicted_parameter_bytes", job->memory.parameter_bytes);
}

char *cost_json(const CostJob *job) {
  const rh_cost_report *report = job->report;
  rh_module_info info = *rh_get_info(job->loaded.module);
  cJSON *object = cJSON_CreateObject();
  const char *path = job->loaded.input.path;
  json_add_text(object, "input", path, strlen(path));
  json_add_text(object, "module", info.name.data, info.name.length);
  cJSON_AddStringToObject(object, "profile", report->device);
  char source[RH_TIME_SOURCE_CHARS];
  rh_time_source(report->cost, job->profile, source);
  cJSON_AddStringToObject(object, "times", source);
  json_add_int(object, "flops", report->cost->flops);
  json_add_int(object, "transcendentals", report->cost->transcendentals);
  json_add_int(object, "bytes_accessed", report->cost->bytes_accessed);
  cJSON_AddNumberToObject(object, "flops_weighted", report->cost->flops_weighted);
  cJSON_AddNumberToObject(object, "transcendentals_weighted",
                          report->cost->transcendentals_weighted);
  cJSON_AddNumberToObject(object, "bytes_accessed_weighted", report->cost->bytes_accessed_weighted);
  cJSON_AddNumberToObject(object, "seconds", report->total->seconds);
  cJSON_AddNumberToObject(object, "memory_seconds", report->total->memory_seconds);
  if (report->cost->offloaded_bytes + report->cost->stall_seconds > 0) {
    cJSON_AddNumberToObject(object, "offloaded_bytes", report->cost->offloaded_bytes);
    cJSON_AddNumberToObject(object, "stall_seconds", report->cost->stall_seconds);
  }
  add_allocators(object, job);
  json_add_int(object, "unknown_loops", (int64_t)report->num_unknown_loops);
  json_add_int(object, "unknown_calls", (int64_t)report->num_unknown_calls);
  add_shares(object, "by_opcode", "opcode", report->sums[RH_BY_OPCODE]);
  add_shares(object, "by_source", "source_file", report->sums[RH_BY_SOURCE]);
  add_shares(object, "by_computation", "computation", report->sums[RH_BY_COMPUTATION]);
  add_scopes(object, report);
  add_instructions(object, report);
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  return text;
}

void cost_write_csv(const rh_cost_report *report, Output *output) {
  csv_raw(output,
          "name,opcode,shape,computation,op_name,source_file,source_line,bound,runs,flops,"
          "transcendentals,bytes_accessed,seconds\n");
  for (size_t i = 0; i < report->num_instructions; i++) {
    const rh_cost_instruction *instruction = report->instructions[i];
    csv_text(output, instruction->share->name);
    csv_next_text(output, instruction->opcode);
    csv_next_text(output, instruction->shape);
    csv_next_text(output, instruction->computation);
    csv_next_text(output, instruction->op_name);
    csv_next_text(output, instruction->source_file);
    csv_next_int(output, instruction->source_line, 1);
    csv_raw(output, ",");
    csv_raw(output, instruction->bound);
    csv_next_double(output, instruction->runs);
    csv_next_double(output, instruction->share->flops);
    csv_next_double(output, instruction->share->transcendentals);
    csv_next_double(output, instruction->share->bytes_accessed);
    csv_next_double(output, instruction->share->seconds);
    csv_raw(output, "\n");
  }
}
