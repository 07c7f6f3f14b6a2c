/* Writes reports for programs. The manual page documents the keys. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "copies_warning.h"
#include "json_text.h"
#include "report/job.h"
#include "spaces.h"

static void add_identity(const ReportJob *job, cJSON *object) {
  rh_module_info info = *rh_get_info(job->loaded.module);
  const char *path = job->loaded.input.path;
  json_add_text(object, "input", path, strlen(path));
  json_add_text(object, "module", info.name.data, info.name.length);
  char hash[INPUT_HASH_CHARS];
  input_hash(&job->loaded.input, hash);
  cJSON_AddStringToObject(object, "input_hash", hash);
  cJSON_AddStringToObject(object, "memory_model", job->report->memory_model);
  cJSON_AddStringToObject(object, "scheduler", rh_get_info(job->scheduled)->scheduler);
  cJSON_AddBoolToObject(object, "is_scheduled", info.is_scheduled);
  cJSON_AddBoolToObject(object, "is_optimized", info.is_optimized);
  cJSON_AddBoolToObject(object, "partitioned",
                        !(info.has_sharding_calls && info.num_partitions > 1));
  cJSON_AddStringToObject(object, "copies", copies_word(job->scheduled));
  cJSON_AddStringToObject(object, "copies_reason", copies_reason(job->scheduled, job->options));
  cJSON_AddBoolToObject(object, "copies_certain", !copies_are_open(job->scheduled));
}

/* Adds the files of the module in the folder. */
static void add_stages(const ReportJob *job, cJSON *object) {
  if (!job->num_stages) return;
  cJSON *list = cJSON_AddArrayToObject(object, "stages");
  for (size_t i = 0; i < job->num_stages; i++) {
    const DumpStage *stage = &job->stages[i];
    cJSON *item = json_add_item(list);
    json_add_text(item, "stage", stage->stage, strlen(stage->stage));
    json_add_text(item, "file", stage->path, strlen(stage->path));
    cJSON_AddBoolToObject(item, "is_scheduled", stage->is_scheduled);
  }
}

/* Adds the heaps only if they have a limit. */
static void add_heaps(const rh_report *report, cJSON *object) {
  if (report->heap_limit_bytes < 0) return;
  json_add_int(object, "heap_limit_bytes", report->heap_limit_bytes);
  cJSON *heaps = cJSON_AddArrayToObject(object, "heap_bytes");
  for (size_t i = 0; i < report->num_heaps; i++)
    json_add_item_int(heaps, report->heap_bytes[i]);
}

static void add_figures(const rh_report *report, cJSON *object) {
  const rh_memory *memory = report->memory;
  json_add_int(object, "peak_bytes", memory->peak_bytes);
  json_add_known_int(object, "peak_position", report->peak_position, 0);
  json_add_known_text(object, "peak_instruction", memory->peak_instruction);
  json_add_known_text(object, "peak_op_name", report->peak_op_name);
  json_add_known_text(object, "peak_source_file", report->peak_source_file);
  json_add_known_int(object, "peak_source_line", report->peak_source_line, 1);
  json_add_int(object, "num_positions", report->num_positions);
  cJSON_AddStringToObject(object, "target", report->target);
  cJSON_AddStringToObject(object, "packing", report->packing);
  add_heaps(report, object);
  json_add_int(object, "temp_bytes", report->packed_temp_bytes);
  json_add_temp_range(object, memory);
  json_add_int(object, "fragmentation_bytes", report->fragmentation_bytes);
  json_add_int(object, "unused_bytes", report->unused_bytes);
  json_add_int(object, "liveness_peak_bytes", report->liveness_peak_bytes);
  json_add_int(object, "parameter_bytes", memory->parameter_bytes);
  json_add_int(object, "output_bytes", memory->output_bytes);
  json_add_int(object, "constant_bytes", memory->constant_bytes);
  json_add_int(object, "aliased_bytes", memory->aliased_bytes);
  json_add_int(object, "shared_bytes", report->shared_bytes);
  json_add_int(object, "total_bytes", memory->total_bytes);
  json_add_int(object, "lower_bound_bytes", memory->lower_bound_bytes);
  json_add_known_text(object, "lower_bound_instruction", memory->lower_bound_instruction);
  cJSON_AddStringToObject(object, "lower_bound_kind", memory->lower_bound_kind);
  json_add_within(object, memory);
}

/* Adds the memory spaces that are used apart from the device's memory. */
static void add_spaces(const rh_report *report, cJSON *object) {
  if (report->num_spaces == 0) return;
  cJSON *list = cJSON_AddArrayToObject(object, "spaces");
  for (size_t i = 0; i < report->num_spaces; i++) {
    cJSON *item = json_add_item(list);
    json_add_space(item, report->spaces[i]);
    json_add_space_figures(item, report->spaces[i]);
  }
}

static void add_live(const rh_report *report, cJSON *object) {
  cJSON *live = cJSON_AddArrayToObject(object, "live_at_peak");
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    cJSON *item = json_add_item(live);
    json_add_known_text(item, "name", value->name);
    json_add_int(item, "bytes", value->bytes);
    json_add_known_text(item, "opcode", value->opcode);
    json_add_known_text(item, "shape", value->shape);
    json_add_known_text(item, "op_name", value->op_name);
    json_add_known_text(item, "source_file", value->source_file);
    json_add_known_int(item, "source_line", value->source_line, 1);
    json_add_known_text(item, "argument", value->argument);
    cJSON_AddBoolToObject(item, "inherited", value->is_inherited);
    json_add_known_int(item, "stack_frame", value->frame, 0);
    cJSON_AddStringToObject(item, "category", value->category);
    json_add_known_text(item, "computation", value->computation);
    json_add_known_int(item, "begin", value->begin, 0);
    json_add_known_int(item, "end", value->end, 0);
    json_add_int(item, "aliases", (int64_t)value->num_aliases);
  }
}

/* Adds the call stacks of the live set as one table, in which each frame refers to its caller. */
static void add_frames(const rh_report *report, cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "stack_frames");
  for (size_t i = 0; i < report->num_frames; i++) {
    const rh_frame *frame = report->frames[i];
    cJSON *item = json_add_item(list);
    json_add_known_text(item, "file", frame->file);
    json_add_known_int(item, "line", frame->line, 1);
    json_add_known_text(item, "function", frame->function);
    cJSON_AddBoolToObject(item, "library", frame->is_library);
    json_add_known_int(item, "caller", frame->parent, 0);
  }
}

/* Adds what a sum by source position is of: a line of a file, or an argument. */
static void add_source(cJSON *item, rh_text name, int64_t line) {
  const rh_text none = {"", 0};
  json_add_known_text(item, "source_file", line < 0 ? none : name);
  json_add_known_int(item, "source_line", line, 1);
  if (line < 0) json_add_text(item, "argument", name.data, name.length);
}

static void add_sums(const rh_report *report, rh_sum_kind kind, const char *key, const char *name,
                     cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (size_t i = 0; i < report->sums[kind].len; i++) {
    const rh_sum *sum = report->sums[kind].list[i];
    cJSON *item = json_add_item(list);
    if (kind == RH_BY_SOURCE) {
      add_source(item, sum->name, sum->line);
    } else {
      json_add_known_text(item, name, sum->name);
    }
    json_add_int(item, "bytes", sum->bytes);
    json_add_int(item, "values", (int64_t)sum->num_values);
  }
}

static void add_scopes(const rh_report *report, cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "by_scope");
  for (size_t i = 0; i < report->num_scopes; i++) {
    const rh_scope *scope = report->scopes[i];
    cJSON *item = json_add_item(list);
    json_add_known_text(item, "scope", scope->path);
    json_add_int(item, "depth", scope->depth);
    json_add_int(item, "bytes", scope->bytes);
    json_add_int(item, "values", (int64_t)scope->num_values);
  }
}

static void add_stack(cJSON *list, const rh_stack *stack) {
  cJSON *item = json_add_item(list);
  json_add_known_text(item, "name", stack->name);
  json_add_int(item, "element", stack->element);
  json_add_known_text(item, "shape", stack->shape);
  json_add_int(item, "bytes", stack->bytes);
  json_add_known_text(item, "op_name", stack->op_name);
  json_add_known_text(item, "source_file", stack->source_file);
  json_add_known_int(item, "source_line", stack->source_line, 1);
  cJSON_AddStringToObject(item, "reason", stack->reason);
  cJSON_AddStringToObject(item, "explanation", stack->explanation);
}

static void add_stacks(const rh_report *report, cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "stacks");
  for (size_t i = 0; i < report->num_stacks; i++) {
    const rh_stacks *stacks = report->stacks[i];
    cJSON *item = json_add_item(list);
    json_add_known_text(item, "loop", stacks->loop);
    json_add_known_int(item, "iterations", stacks->num_iterations, 0);
    json_add_known_text(item, "op_name", stacks->op_name);
    json_add_known_text(item, "source_file", stacks->source_file);
    json_add_known_int(item, "source_line", stacks->source_line, 1);
    json_add_texts(item, "readers", stacks->readers, stacks->num_readers);
    json_add_int(item, "bytes", stacks->bytes);
    cJSON_AddStringToObject(item, "reason", stacks->reason);
    cJSON_AddStringToObject(item, "explanation", stacks->explanation);
    if (strcmp(stacks->reason, "none") == 0) {
      json_add_int(item, "least_bytes", stacks->least_bytes);
      cJSON_AddNumberToObject(item, "least_overhead", stacks->least_added);
      json_add_int(item, "fast_bytes", stacks->fast_bytes);
      cJSON_AddNumberToObject(item, "fast_overhead", stacks->fast_added);
    }
    cJSON *values = cJSON_AddArrayToObject(item, "values");
    for (size_t k = 0; k < stacks->num_stacks; k++)
      add_stack(values, stacks->stacks[k]);
  }
}

static char *print_and_delete(cJSON *object) {
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  return text;
}

char *report_json(const ReportJob *job, bool is_baseline) {
  const rh_report *report = job->report;
  cJSON *object = cJSON_CreateObject();
  add_identity(job, object);
  add_stages(job, object);
  add_figures(report, object);
  add_spaces(report, object);
  if (!is_baseline) {
    add_live(report, object);
    add_frames(report, object);
  }
  add_sums(report, RH_BY_SOURCE, "by_source", "source_file", object);
  add_sums(report, RH_BY_OPCODE, "by_opcode", "opcode", object);
  add_sums(report, RH_BY_CATEGORY, "by_category", "category", object);
  add_sums(report, RH_BY_COMPUTATION, "by_computation", "computation", object);
  add_sums(report, RH_BY_OP_NAME, "by_op_name", "op_name", object);
  add_scopes(report, object);
  if (report->num_stacks) add_stacks(report, object);
  return print_and_delete(object);
}

/* ---- the difference between two reports ---- */

static void add_pair(cJSON *object, const char *key, int64_t before, int64_t after) {
  cJSON *pair = cJSON_AddObjectToObject(object, key);
  json_add_int(pair, "before", before);
  json_add_int(pair, "after", after);
}

typedef struct ChangeList {
  cJSON *list;
  rh_sum_kind kind;
  const char *name;
} ChangeList;

static void add_change(void *context, const rh_change *change) {
  ChangeList *changes = context;
  cJSON *item = json_add_item(changes->list);
  if (changes->kind == RH_BY_SOURCE) {
    add_source(item, change->name, change->line);
  } else {
    json_add_known_text(item, changes->name, change->name);
  }
  json_add_int(item, "before_bytes", change->before_bytes);
  json_add_int(item, "after_bytes", change->after_bytes);
  json_add_int(item, "before_values", (int64_t)change->before_num_values);
  json_add_int(item, "after_values", (int64_t)change->after_num_values);
}

static void add_changes(const ReportJob *before, const ReportJob *after, rh_sum_kind kind,
                        const char *key, const char *name, cJSON *object) {
  ChangeList changes = {cJSON_AddArrayToObject(object, key), kind, name};
  report_compare_sums(after, before->report->sums[kind], after->report->sums[kind], add_change,
                      &changes);
}

char *report_difference_json(const ReportJob *before, const ReportJob *after) {
  const rh_memory *was = before->report->memory, *is = after->report->memory;
  cJSON *object = cJSON_CreateObject();
  cJSON *sides[] = {cJSON_AddObjectToObject(object, "before"),
                    cJSON_AddObjectToObject(object, "after")};
  const ReportJob *jobs[] = {before, after};
  for (int i = 0; i < 2; i++) {
    add_identity(jobs[i], sides[i]);
    add_figures(jobs[i]->report, sides[i]);
    add_spaces(jobs[i]->report, sides[i]);
  }
  add_pair(object, "peak_bytes", was->peak_bytes, is->peak_bytes);
  add_changes(before, after, RH_BY_SOURCE, "by_source", "source_file", object);
  add_changes(before, after, RH_BY_OPCODE, "by_opcode", "opcode", object);
  add_changes(before, after, RH_BY_CATEGORY, "by_category", "category", object);
  add_changes(before, after, RH_BY_OP_NAME, "by_op_name", "op_name", object);
  return print_and_delete(object);
}
