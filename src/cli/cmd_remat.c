#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm.h"
#include "command.h"
#include "exit_code.h"
#include "interrupt.h"
#include "memory.h"
#include "output.h"
#include "path.h"
#include "pictures.h"
#include "remat/figures.h"
#include "remat/run.h"
#include "remat/watch.h"

/* ---- the live set at the peak ---- */

static void collect_live(void *context, const rh_live_buffer *buffer) {
  LiveList *list = context;
  if (list->len == list->room) {
    size_t room = list->room ? list->room * 2 : 64;
    list->buffers = memory_need(realloc(list->buffers, room * sizeof *list->buffers));
    list->room = room;
  }
  list->buffers[list->len++] = *buffer;
}

static void collect_way(void *context, const rh_way *way) {
  RematRun *job = context;
  const rh_schedule_options *done = &job->options->schedule;
  bool is_done =
      (strcmp(way->option, "unfuse") == 0 && (done->unfuse == RH_UNFUSE_ALL || done->fuse)) ||
      (strcmp(way->option, "stage") == 0 && done->fuse) ||
      (strcmp(way->option, "inline-calls") == 0 && done->inline_calls == RH_INLINE_ALWAYS);
  if (is_done) return; /* what is left cannot be split or inlined */
  Way *larger = realloc(job->ways, (job->num_ways + 1) * sizeof *larger);
  if (!larger) return;
  job->ways = larger;
  Way *kept = &larger[job->num_ways++];
  kept->way = *way;
  snprintf(kept->value, sizeof kept->value, "%s", way->value ? way->value : "");
}

/* Collects the buffers that prevent a lower peak, and what may help. */
static rh_status explain(RematRun *job) {
  if (!job_has_limit(job) || (job->is_met && job->options->limit.kind != BUDGET_MIN)) return RH_OK;
  double start = seconds_now();
  rh_status status =
      rh_visit_live(job->result, &job->loaded.settings, job->options->remat.memory_model,
                    &job->remat, collect_live, &job->blocking, job->loaded.diags);
  if (status == RH_OK)
    status = rh_visit_ways(job->scheduled, job->result, &job->loaded.settings, &job->remat,
                           &job->outcome, collect_way, job, job->loaded.diags);
  return job_end_phase(job, PHASE_MEASURE, start, status);
}

/* Sums up what was recomputed. */
static rh_status sum_up(RematRun *job) {
  if (job->after.info.num_rematerialized == 0) return RH_OK;
  double start = seconds_now();
  rh_status status =
      rh_recomputed_make(job->result, &job->loaded.settings, job->options->trip_count,
                         &job->recomputed, job->loaded.diags);
  return job_end_phase(job, PHASE_MEASURE, start, status);
}

static rh_status write_results(RematRun *job) {
  double start = seconds_now();
  rh_status status = job->options->dry_run ? RH_OK : job_write(job);
  return job_end_phase(job, PHASE_EMIT, start, status);
}

/* ---- the pipeline ---- */

static rh_status rematerialize(RematRun *job) {
  RematWatch watch;
  watch_begin(job, &watch);
  rh_status status = job_rematerialize(job);
  watch_end(job, &watch);
  return status;
}

static rh_status run_job(RematRun *job, const char *path) {
  rh_status status = job_read(job, path);
  if (status == RH_OK) status = job_schedule(job);
  if (status == RH_OK) status = job_measure_before(job);
  if (status == RH_OK) status = rematerialize(job);
  if (status == RH_OK) status = job_measure_after(job);
  if (status == RH_OK) status = sum_up(job);
  if (status == RH_OK) status = explain(job);
  if (status == RH_OK) status = write_results(job);
  return load_report(&job->loaded, status);
}

static void free_job(RematRun *job) {
  rh_recomputed_free(job->recomputed);
  rh_module_free(job->result);
  if (job->baseline != job->scheduled) rh_module_free(job->baseline);
  rh_module_free(job->scheduled);
  load_free(&job->loaded);
  rh_profile_free(job->own_profile);
  spaces_free(&job->spaces_before);
  spaces_free(&job->spaces_after);
  free(job->blocking.buffers);
  free(job->ways);
  for (int i = 0; i < job->num_written; i++)
    free(job->written[i]);
}

/* ---- several files ---- */

static rh_status fail_usage(const char *what) {
  fprintf(stderr, "remat-hlo: error: %s\n", what);
  return RH_ERR_USAGE;
}

/* Checks the filter before any step that takes time. */
static rh_status check_dot_filter(const Options *options) {
  rh_diags *diags = memory_need(rh_diags_new());
  rh_status status = rh_dot_check_filter(options->dot.filter, diags);
  if (status != RH_OK) {
    fprintf(stderr, "remat-hlo: error: --dot-filter: %s\n", rh_diags_get(diags, 0)->message);
  }
  rh_diags_free(diags);
  return status;
}

static rh_status check_outputs(const Options *options) {
  const char *others[] = {options->output, options->json, options->csv, options->dump_memlog,
                          options->save_plan};
  static_assert(sizeof others / sizeof *others <= MAX_OTHER_OUTPUTS, "pictures_check has room");
  rh_status status = pictures_check(options, others, sizeof others / sizeof *others);
  if (status != RH_OK) return status;
#ifndef REMAT_HLO_DOT
  if (options->dump_dot) return fail_usage("--dump-dot: this remat-hlo was built without graphviz");
#endif
  if (options->dump_dot && check_dot_filter(options) != RH_OK) return RH_ERR_USAGE;
  if (options->num_files == 1) return RH_OK;
  if (options->apply_plan) return fail_usage("--apply-plan: a plan is for one module");
  if (options->save_plan && !path_is_directory(options->save_plan)) {
    return fail_usage("several files need a folder for their plans: --save-plan=FOLDER/");
  }
  if (options->output && !path_is_directory(options->output)) {
    return fail_usage("several files need a folder to be written to: -o FOLDER/");
  }
  if (options->dump_memlog && !path_is_directory(options->dump_memlog)) {
    return fail_usage("several files need a folder for their logs: --dump-memlog=FOLDER/");
  }
  if (!pictures_have_folders(options)) {
    return fail_usage("several files need a folder for their pictures, such as --svg=FOLDER/");
  }
  return RH_OK;
}

/* Determines the folders of all outputs. */
static rh_status find_places(const Options *options, Places *places) {
  PlacedInput *inputs = calloc(options->num_files, sizeof *inputs);
  if (!inputs) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < options->num_files; i++)
    inputs[i].path = options->files[i];
  rh_status status = places_find(inputs, options->num_files, places);
  free(inputs);
  if (status == RH_OK && options->json) {
    status = places_claim(places, options->json, "--json", PLACE_OF_ALL);
  }
  if (status == RH_OK && options->csv) {
    status = places_claim(places, options->csv, "--csv", PLACE_OF_ALL);
  }
  return status == RH_OK ? remat_outputs_note(options, places) : status;
}

/* The JSON output of all files: an object for one file, an array for several. */
typedef struct JsonOutput {
  Output output;
  bool is_open;
  bool is_array;
  size_t num_objects;
} JsonOutput;

static rh_status open_json(const Options *options, JsonOutput *json) {
  *json = (JsonOutput){.is_array = options->num_files > 1};
  if (!options->json || (options->dry_run && !output_is_stdout(options->json))) return RH_OK;
  rh_status status = output_open(options->json, options, &json->output);
  json->is_open = status == RH_OK;
  return status;
}

static rh_status write_json(JsonOutput *json, const RematRun *job) {
  if (!json->is_open) return RH_OK;
  char *text = job_json(job);
  if (!text) return RH_ERR_WRITE;
  const char *before = !json->is_array ? "" : json->num_objects++ ? ",\n" : "[\n";
  output_write(&json->output, before, strlen(before));
  output_write(&json->output, text, strlen(text));
  free(text);
  return RH_OK;
}

static rh_status close_json(JsonOutput *json, bool keep) {
  if (!json->is_open) return RH_OK;
  const char *end = !json->is_array ? "\n" : json->num_objects ? "\n]\n" : "[]\n";
  output_write(&json->output, end, strlen(end));
  return output_close(&json->output, keep);
}

/* `common` contains the data that all files share. */
static rh_status run_file(const RematRun *common, size_t number, JsonOutput *json, Rows *csv) {
  const Options *options = common->options;
  RematRun job = *common;
  job.number = number;
  job.start_seconds = seconds_now();
  rh_status status = run_job(&job, options->files[number]);
  if (status == RH_OK && !job.is_met) status = RH_OVER_LIMIT;
  job.was_interrupted = interrupt_signal() != 0;
  if (is_answer(status)) {
    bool is_taken = output_is_stdout(options->output) || output_is_stdout(options->json) ||
                    output_is_stdout(options->csv) || output_is_stdout(options->dump_memlog) ||
                    output_is_stdout(options->save_plan) || pictures_take_stdout(options);
    rh_status written = write_json(json, &job);
    remat_csv_add(csv, &job);
    if (written != RH_OK) status = written;
    if (!options->quiet) job_print_summary(&job, is_taken ? stderr : stdout);
  }
  free_job(&job);
  interrupt_defer(INTERRUPT_AT_ONCE);
  return status;
}

/* Returns the most severe status. A file that cannot be read does not prevent the others from being
 * processed, but a signal does. */
static rh_status run_files(const RematRun *common) {
  const Options *options = common->options;
  JsonOutput json;
  Rows csv;
  rh_status worst = remat_csv_open(options, &csv);
  if (worst == RH_OK && open_json(options, &json) != RH_OK) {
    rows_close(&csv, false);
    worst = RH_ERR_WRITE;
  }
  if (worst != RH_OK) return worst;
  for (size_t i = 0; i < options->num_files; i++) {
    rh_status status = run_file(common, i, &json, &csv);
    if (status > worst) worst = status;
    if (status == RH_ERR_USAGE || interrupt_signal()) break;
  }
  bool keep = is_answer(worst) || options->num_files > 1;
  rh_status closed = close_json(&json, keep), closed_csv = rows_close(&csv, keep);
  if (closed_csv > closed) closed = closed_csv;
  return closed > worst ? closed : worst;
}

rh_status cmd_remat(const Options *given) {
  Algorithm algorithm = {0};
  Options options = *given; /* a plan can change them */
  PlanFile plan = {0};
  Places places = {0};
  rh_status status = check_outputs(&options);
  if (status == RH_OK) status = algorithm_read(&options, &algorithm);
  if (status == RH_OK) status = plan_file_read(&options, &plan);
  if (status == RH_OK) status = find_places(&options, &places);
  if (status == RH_OK) {
    RematRun common = {.options = &options,
                       .plan = plan.plan ? &plan : NULL,
                       .places = &places,
                       .remat = job_remat_options(&options)};
    common.remat.algorithm = plan.plan ? "plan" : algorithm.name;
    common.remat.collection = algorithm.collection;
    status = run_files(&common);
  }
  places_free(&places);
  plan_file_free(&plan);
  algorithm_free(&algorithm);
  return status;
}
