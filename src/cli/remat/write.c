/* The files that `remat` writes. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "messages.h"
#include "output.h"
#include "path.h"
#include "pictures.h"
#include "remat/run.h"

/* Notes a path that was written, and takes ownership of it. */
static rh_status note_written(RematRun *job, char *path, rh_status status) {
  if (status == RH_OK && path && strcmp(path, "-") != 0) {
    job->written[job->num_written++] = path;
  } else {
    free(path);
  }
  return status;
}

/* Determines the path of an output, which the caller frees in any case, and opens the file. */
static rh_status open_output(RematRun *job, RematOutput kind, char **path, Output *output) {
  rh_status status = remat_output_prepare(job->options, job->places, job->number, kind,
                                          job->before.info.name, path);
  return status == RH_OK ? output_open(*path, job->options, output) : status;
}

static rh_status finish(RematRun *job, Output *output, char *path, rh_status written) {
  rh_status closed = output_close(output, written == RH_OK);
  /* The state of the file has the reason of a failed write; the diagnostics have the reasons of
   * other failures. */
  bool is_fine = closed == RH_OK && (written == RH_OK || output->is_closed_pipe);
  rh_status status = is_fine ? RH_OK : closed != RH_OK ? closed : written;
  return note_written(job, path, status);
}

/* What was decided with --fuse is written without these fusions. */
static rh_status print_result(const RematRun *job, Output *output) {
  rh_diags *diags = job->loaded.diags;
  if (!job->options->schedule.fuse) return rh_print(job->result, output_write, output, diags);
  rh_module *split = NULL;
  rh_status status = rh_split_fusions(job->result, &job->loaded.settings, &split, diags);
  if (status == RH_OK) status = rh_print(split, output_write, output, diags);
  rh_module_free(split);
  return status;
}

static rh_status write_hlo(RematRun *job) {
  char *path;
  Output output;
  rh_status status = open_output(job, OUTPUT_MODULE, &path, &output);
  if (status != RH_OK) return note_written(job, path, status);
  return finish(job, &output, path, print_result(job, &output));
}

static rh_status write_dot(RematRun *job, const rh_module *module, RematOutput kind,
                           rh_diags *diags) {
  char *path;
  Output output;
  rh_status status = open_output(job, kind, &path, &output);
  if (status != RH_OK) return note_written(job, path, status);
  rh_dot_options dot = job->options->dot;
  dot.memory_model = job->options->remat.memory_model;
  return finish(job, &output, path,
                rh_emit_dot(module, &job->loaded.settings, &dot, output_write, &output, diags));
}

static rh_status write_dots(RematRun *job) {
  /* If the filter matches nothing in either graph, one warning is enough. */
  rh_diags *ignored = memory_need(rh_diags_new());
  rh_status status = write_dot(job, job->baseline, OUTPUT_GRAPH_BEFORE, ignored);
  (status == RH_OK ? messages_drop : messages_print_and_free)(&job->loaded.input, ignored);
  if (status == RH_OK) {
    status = write_dot(job, job->result, OUTPUT_GRAPH_AFTER, job->loaded.diags);
  }
  return status;
}

static rh_status write_memlog(RematRun *job) {
  char *path;
  Output output;
  rh_status status = open_output(job, OUTPUT_MEMLOG, &path, &output);
  if (status != RH_OK) return note_written(job, path, status);
  rh_memlog_format format = path_ends_in(path, ".csv")     ? RH_MEMLOG_CSV
                            : path_ends_in(path, ".jsonl") ? RH_MEMLOG_JSONL
                                                           : RH_MEMLOG_TEXT;
  return finish(job, &output, path,
                rh_emit_memlog(job->result, &job->loaded.settings, job->options->remat.memory_model,
                               format, output_write, &output, job->loaded.diags));
}

static rh_status write_plan(RematRun *job) {
  char *path;
  Output output;
  rh_status status = open_output(job, OUTPUT_PLAN, &path, &output);
  if (status != RH_OK) return note_written(job, path, status);
  return finish(job, &output, path,
                rh_emit_plan(job->result, &job->loaded.settings, job->profile,
                             job->options->trip_count, output_write, &output, job->loaded.diags));
}

static rh_status write_picture(RematRun *job, const rh_picture *picture, rh_picture_format format) {
  if (!job->options->pictures[format]) return RH_OK;
  char *path;
  Output output;
  rh_status status = open_output(job, (RematOutput)(OUTPUT_PICTURES + (int)format), &path, &output);
  if (status != RH_OK) return note_written(job, path, status);
  return finish(job, &output, path,
                rh_emit_picture(picture, format, output_write, &output, job->loaded.diags));
}

/* Draws the modules before and after, if they can differ. */
static rh_status write_pictures(RematRun *job) {
  rh_picture picture = RH_PICTURE_INIT;
  bool has_two = job_has_limit(job) || job->plan || job->baseline != job->scheduled;
  if (job_has_limit(job) && job->options->limit.kind != BUDGET_MIN) {
    picture.limit_bytes = job->remat.limit_bytes;
  }
  picture.limit_counts = job->remat.limit_counts;
  const PictureSide before = {job->baseline, &job->loaded.settings, "before"};
  const PictureSide after = {job->result, &job->loaded.settings, "after"};
  rh_status status = pictures_map(&picture, &before, has_two ? &after : NULL, job->loaded.diags);
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS && status == RH_OK; i++)
    status = write_picture(job, &picture, (rh_picture_format)i);
  pictures_free(&picture);
  return status;
}

rh_status job_write(RematRun *job) {
  rh_status status = RH_OK;
  if (job->options->output) status = write_hlo(job);
  if (status == RH_OK && job->options->dump_dot) status = write_dots(job);
  if (status == RH_OK && job->options->dump_memlog) status = write_memlog(job);
  if (status == RH_OK && job->options->save_plan) status = write_plan(job);
  if (status == RH_OK && pictures_are_wanted(job->options)) status = write_pictures(job);
  return status;
}
