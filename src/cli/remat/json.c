/* Writes the summary of `remat` as JSON. The manual page documents the keys. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies_warning.h"
#include "json_text.h"
#include "remat/run.h"

static void add_text(cJSON *object, const char *key, rh_text text) {
  json_add_text(object, key, text.data, text.length);
}

static void add_identity(const RematRun *job, cJSON *object) {
  json_add_text(object, "input", job->loaded.input.path, strlen(job->loaded.input.path));
  add_text(object, "module", job->before.info.name);
  cJSON_AddStringToObject(object, "scheduler", job->middle.info.scheduler);
  cJSON_AddStringToObject(object, "algorithm", job->remat.algorithm);
  const char *chosen = job_chosen_algorithm(job);
  if (chosen) cJSON_AddStringToObject(object, "chosen_algorithm", chosen);
  cJSON_AddStringToObject(object, "memory_model", job->remat.memory_model);
  cJSON_AddStringToObject(object, "target", job->loaded.settings.target);
  int64_t heap_limit_bytes = job->options->pack.heap_limit_bytes;
  if (heap_limit_bytes >= 0) json_add_int(object, "heap_limit_bytes", heap_limit_bytes);
  cJSON_AddStringToObject(object, "emit", emit_words[job->remat.emit]);
  cJSON_AddStringToObject(object, "protect", protect_words[job->outcome.protect]);
  cJSON_AddStringToObject(object, "profile", rh_profile_name(job->profile));
  char source[RH_TIME_SOURCE_CHARS];
  rh_time_source(&job->before.cost, job->profile, source);
  cJSON_AddStringToObject(object, "times", source);
}

/* Adds the properties that determine what the input and the result can be used for. */
static void add_properties(const RematRun *job, cJSON *object) {
  rh_module_info info = *rh_get_info(job->loaded.module);
  cJSON_AddBoolToObject(object, "is_scheduled", info.is_scheduled);
  cJSON_AddBoolToObject(object, "is_optimized", info.is_optimized);
  cJSON_AddBoolToObject(object, "partitioned",
                        !(info.has_sharding_calls && info.num_partitions > 1));
  cJSON_AddStringToObject(object, "copies", copies_word(job->scheduled));
  cJSON_AddStringToObject(object, "copies_reason", copies_reason(job->scheduled, job->options));
  cJSON_AddBoolToObject(object, "copies_certain", !copies_are_open(job->scheduled));
  cJSON_AddBoolToObject(object, "runnable", info.num_elided_literals == 0);
  cJSON_AddBoolToObject(object, "bit_exact", info.is_optimized && job->outcome.rounds_alike);
}

static void add_memory(const RematRun *job, cJSON *object) {
  cJSON_AddStringToObject(object, "limit_counts", limit_counts_words[job->remat.limit_counts]);
  json_add_known_int(object, "limit_bytes", job_has_limit(job) ? job->remat.limit_bytes : -1, 0);
  cJSON_AddBoolToObject(object, "met", job->is_met);
  cJSON_AddBoolToObject(object, "hardly_helps", job->outcome.hardly_helps);
  cJSON_AddBoolToObject(object, "interrupted", job->was_interrupted);
  cJSON_AddBoolToObject(object, "timed_out", job->outcome.is_timed_out);
  json_add_int(object, "peak_before_bytes", job->before.counted_bytes);
  json_add_int(object, "peak_scheduled_bytes", job->middle.counted_bytes);
  json_add_int(object, "peak_after_bytes", job->after.counted_bytes);
  if (job->outcome.default_counted_bytes >= 0) {
    json_add_int(object, "peak_default_bytes", job->outcome.default_counted_bytes);
    json_add_int(object, "peak_bfs_bytes", job->outcome.bfs_counted_bytes);
  }
  if (job->outcome.compiled_default_bytes >= 0) {
    json_add_int(object, "peak_compiled_default_bytes", job->outcome.compiled_default_bytes);
    json_add_int(object, "peak_compiled_bfs_bytes", job->outcome.compiled_bfs_bytes);
  }
  json_add_int(object, "model_peak_before_bytes", job->before.memory.peak_bytes);
  json_add_int(object, "model_peak_after_bytes", job->after.memory.peak_bytes);
  json_add_int(object, "lower_bound_bytes", job_lower_bound(job));
  json_add_known_text(object, "lower_bound_instruction",
                      job->middle.memory.lower_bound_instruction);
  cJSON_AddStringToObject(object, "lower_bound_kind", job->middle.memory.lower_bound_kind);
  json_add_within(object, &job->middle.memory);
  if (job->outcome.xla_reported_after_bytes >= 0) {
    json_add_int(object, "xla_reported_after_bytes", job->outcome.xla_reported_after_bytes);
  }
}

/* JSON has no infinity: null says that recomputation in this order cannot meet the budget. */
static void add_time_bound(const RematRun *job, cJSON *object) {
  const rh_remat_result *outcome = &job->outcome;
  if (!outcome->bound_kind) return;
  if (isfinite(outcome->added_seconds_bound)) {
    cJSON_AddNumberToObject(object, "added_seconds_bound", outcome->added_seconds_bound);
  } else {
    cJSON_AddNullToObject(object, "added_seconds_bound");
  }
  cJSON_AddStringToObject(object, "bound_kind", outcome->bound_kind);
}

/* Adds how much of the order XLA's copy-insertion has fixed. */
static void add_ties(const RematRun *job, cJSON *object) {
  static const char *const words[RH_NUM_TIES] = {[RH_TIE_LOOP] = "loop",
                                                 [RH_TIE_BRANCH] = "branch",
                                                 [RH_TIE_DONATED] = "donated",
                                                 [RH_TIE_IN_PLACE] = "in_place"};
  const rh_remat_result *outcome = &job->outcome;
  if (!outcome->num_ordered) return;
  cJSON *ties = cJSON_AddObjectToObject(object, "ties");
  json_add_int(ties, "instructions", (int64_t)outcome->num_ordered);
  for (int i = 0; i < RH_NUM_TIES; i++)
    json_add_int(ties, words[i], (int64_t)outcome->num_tied[i]);
}

static void add_parts(cJSON *object, const char *key, const rh_memory *memory) {
  cJSON *parts = cJSON_AddObjectToObject(object, key);
  json_add_int(parts, "parameter_bytes", memory->parameter_bytes);
  json_add_int(parts, "output_bytes", memory->output_bytes);
  json_add_int(parts, "aliased_bytes", memory->aliased_bytes);
  json_add_int(parts, "constant_bytes", memory->constant_bytes);
  json_add_int(parts, "temp_bytes", memory->temp_bytes);
  json_add_temp_range(parts, memory);
  json_add_int(parts, "total_bytes", memory->total_bytes);
  add_text(parts, "peak_instruction", memory->peak_instruction);
}

static void add_space(const RematRun *job, const rh_space *space, cJSON *list) {
  cJSON *item = json_add_item(list);
  json_add_space(item, space);
  json_add_space_figures(cJSON_AddObjectToObject(item, "before"),
                         spaces_find(&job->spaces_before, space->number));
  json_add_space_figures(cJSON_AddObjectToObject(item, "after"),
                         spaces_find(&job->spaces_after, space->number));
}

/* Adds the memory spaces that one of the modules uses apart from the device's memory. */
static void add_spaces(const RematRun *job, cJSON *object) {
  if (job->spaces_before.len == 0 && job->spaces_after.len == 0) return;
  cJSON *list = cJSON_AddArrayToObject(object, "spaces");
  for (size_t i = 0; i < job->spaces_before.len; i++)
    add_space(job, &job->spaces_before.list[i], list);
  for (size_t i = 0; i < job->spaces_after.len; i++) {
    const rh_space *space = &job->spaces_after.list[i];
    if (!spaces_find(&job->spaces_before, space->number)) add_space(job, space, list);
  }
}

static void add_pair(cJSON *object, const char *what, int64_t before, int64_t after) {
  char key[64];
  snprintf(key, sizeof key, "%s_before", what);
  json_add_int(object, key, before);
  snprintf(key, sizeof key, "%s_after", what);
  json_add_int(object, key, after);
}

static void add_number_pair(cJSON *object, const char *what, double before, double after) {
  char key[64];
  snprintf(key, sizeof key, "%s_before", what);
  cJSON_AddNumberToObject(object, key, before);
  snprintf(key, sizeof key, "%s_after", what);
  cJSON_AddNumberToObject(object, key, after);
}

/* Adds the figures of the link to the host if any data crosses it. */
static void add_link(cJSON *object, const rh_cost *before, const rh_cost *after) {
  double sum = before->offloaded_bytes + before->stall_seconds + after->offloaded_bytes +
               after->stall_seconds;
  if (sum == 0) return;
  add_number_pair(object, "offloaded_bytes", before->offloaded_bytes, after->offloaded_bytes);
  add_number_pair(object, "stall_seconds", before->stall_seconds, after->stall_seconds);
}

static void add_cost(const RematRun *job, cJSON *object) {
  const rh_cost *before = &job->before.cost, *after = &job->after.cost;
  add_pair(object, "instructions", (int64_t)job->before.info.num_instructions,
           (int64_t)job->after.info.num_instructions);
  json_add_int(object, "rematerialized", (int64_t)job->after.info.num_rematerialized);
  json_add_int(object, "moved", (int64_t)job->outcome.num_moved);
  json_add_int(object, "moves_lost", (int64_t)job->outcome.num_moves_lost);
  json_add_int(object, "merged", (int64_t)job->outcome.num_merged);
  json_add_int(object, "compressed", (int64_t)job->outcome.num_compressed);
  json_add_int(object, "narrowed", (int64_t)job->outcome.num_narrowed);
  json_add_int(object, "offloaded", (int64_t)job->outcome.num_offloaded);
  add_pair(object, "flops", before->flops, after->flops);
  add_pair(object, "transcendentals", before->transcendentals, after->transcendentals);
  add_pair(object, "bytes_accessed", before->bytes_accessed, after->bytes_accessed);
  add_number_pair(object, "flops_weighted", before->flops_weighted, after->flops_weighted);
  add_number_pair(object, "bytes_accessed_weighted", before->bytes_accessed_weighted,
                  after->bytes_accessed_weighted);
  add_number_pair(object, "seconds", before->seconds, after->seconds);
  add_link(object, before, after);
  cJSON_AddNumberToObject(object, "overhead", job_overhead(job));
  add_time_bound(job, object);
}

static void add_times(const RematRun *job, cJSON *object) {
  static const char *const names[NUM_PHASES] = {"parse", "schedule", "measure",
                                                "remat", "verify",   "emit"};
  cJSON_AddNumberToObject(object, "elapsed_seconds", seconds_now() - job->start_seconds);
  cJSON *phases = cJSON_AddObjectToObject(object, "phases");
  for (int i = 0; i < NUM_PHASES; i++) {
    cJSON_AddNumberToObject(phases, names[i], job->phase_seconds[i]);
  }
}

/* Adds what was recomputed, by source line and by scope. */
static void add_recomputed(const RematRun *job, cJSON *object) {
  const rh_recomputed *recomputed = job->recomputed;
  if (!recomputed) return;
  cJSON *sums = cJSON_AddObjectToObject(object, "recomputed");
  json_add_int(sums, "bytes", recomputed->bytes);
  json_add_int(sums, "values", (int64_t)recomputed->num_values);
  cJSON *lines = cJSON_AddArrayToObject(sums, "by_source");
  for (size_t i = 0; i < recomputed->num_lines; i++) {
    const rh_recomputed_line *line = recomputed->lines[i];
    cJSON *item = json_add_item(lines);
    json_add_known_text(item, "source_file", line->source_file);
    json_add_known_int(item, "source_line", line->source_line, 1);
    if (line->argument.length) add_text(item, "argument", line->argument);
    json_add_known_text(item, "scope", line->scope);
    json_add_int(item, "bytes", line->bytes);
    json_add_int(item, "values", (int64_t)line->num_values);
  }
  cJSON *scopes = cJSON_AddArrayToObject(sums, "by_scope");
  for (size_t i = 0; i < recomputed->num_scopes; i++) {
    const rh_scope *scope = recomputed->scopes[i];
    cJSON *item = json_add_item(scopes);
    json_add_known_text(item, "scope", scope->path);
    json_add_int(item, "depth", scope->depth);
    json_add_int(item, "bytes", scope->bytes);
    json_add_int(item, "values", (int64_t)scope->num_values);
  }
}

/* Adds what happened to the stacks that loops save for others. */
static void add_scans(const RematRun *job, cJSON *object) {
  if (!job->outcome.num_scans) return;
  cJSON *list = cJSON_AddArrayToObject(object, "scans");
  for (size_t i = 0; i < job->outcome.num_scans; i++) {
    const rh_scan *scan = job->outcome.scans[i];
    cJSON *item = json_add_item(list);
    json_add_int(item, "round", scan->round);
    add_text(item, "loop", scan->loop);
    json_add_known_text(item, "source_file", scan->source_file);
    json_add_known_int(item, "source_line", scan->source_line, 1);
    json_add_texts(item, "readers", scan->readers, scan->num_readers);
    if (scan->segment) json_add_int(item, "segment", scan->segment);
    if (scan->unrolled) json_add_int(item, "unrolled", scan->unrolled);
    json_add_int(item, "num_freed", scan->num_freed);
    json_add_int(item, "freed_bytes", scan->freed_bytes);
    json_add_int(item, "stored_bytes", scan->stored_bytes);
    json_add_texts(item, "stored", scan->stored, scan->num_stored);
  }
}

static void add_blocking(const RematRun *job, cJSON *object) {
  cJSON *blocking = cJSON_AddObjectToObject(object, "blocking");
  add_text(blocking, "instruction", job->after.memory.peak_instruction);
  cJSON *live = cJSON_AddArrayToObject(blocking, "live");
  for (size_t i = 0; i < job->blocking.len; i++) {
    const rh_live_buffer *buffer = &job->blocking.buffers[i];
    cJSON *item = json_add_item(live);
    add_text(item, "instruction", buffer->instruction);
    add_text(item, "opcode", buffer->opcode);
    json_add_int(item, "bytes", buffer->bytes);
    cJSON_AddStringToObject(item, "reason", buffer->reason);
    cJSON_AddStringToObject(item, "explanation", buffer->explanation);
    cJSON *reasons = cJSON_AddArrayToObject(item, "reasons");
    for (size_t k = 0; k < buffer->num_reasons; k++)
      cJSON_AddItemToArray(reasons, cJSON_CreateString(buffer->reasons[k]));
  }
}

/* Adds what may lead to less memory; null for what an option is to be given, or is no option. */
static void add_ways(const RematRun *job, cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "may_help");
  for (size_t i = 0; i < job->num_ways; i++) {
    const Way *kept = &job->ways[i];
    cJSON *item = json_add_item(list);
    cJSON_AddStringToObject(item, "option", kept->way.option);
    json_add_known_text(item, "value", (rh_text){kept->value, strlen(kept->value)});
    json_add_int(item, "bytes", kept->way.bytes);
    cJSON_AddStringToObject(item, "explanation", kept->way.explanation);
  }
}

static void add_written(const RematRun *job, cJSON *object) {
  cJSON *written = cJSON_AddArrayToObject(object, "written");
  for (int i = 0; i < job->num_written; i++) {
    cJSON_AddItemToArray(written, cJSON_CreateString(job->written[i]));
  }
}

char *job_json(const RematRun *job) {
  cJSON *object = cJSON_CreateObject();
  add_identity(job, object);
  add_properties(job, object);
  add_memory(job, object);
  add_parts(object, "parts_before", &job->before.memory);
  add_parts(object, "parts_after", &job->after.memory);
  add_spaces(job, object);
  add_cost(job, object);
  add_recomputed(job, object);
  add_scans(job, object);
  add_ties(job, object);
  if (job->blocking.len) add_blocking(job, object);
  add_ways(job, object);
  add_written(job, object);
  add_times(job, object);
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  return text;
}
