#include "compare/progress.h"

void progress_begin(const Comparison *comparison, CompareProgress *progress) {
  *progress = (CompareProgress){.line = progress_line_begin(comparison->options),
                                .num_runs = compare_num_runs(comparison),
                                .runs_per_file = comparison->runs_per_file,
                                .num_unplanned = compare_num_runs(comparison),
                                .start_seconds = seconds_now()};
}

void progress_plan(CompareProgress *progress, const CompareRun *runs) {
  for (size_t i = 0; i < progress->runs_per_file; i++)
    progress->num_planned += runs[i].state == RUN_WANTED;
  progress->num_unplanned -= progress->runs_per_file;
}

static void format_left(const CompareProgress *progress, char *text, size_t room) {
  double elapsed = seconds_now() - progress->start_seconds;
  size_t num_left = progress->num_planned + progress->num_unplanned - progress->num_run;
  if (progress->num_run == 0) {
    text[0] = 0;
    return;
  }
  long seconds = (long)(elapsed / (double)progress->num_run * (double)num_left + 0.5);
  if (seconds < 60) {
    snprintf(text, room, ", %ld s left", seconds);
  } else if (seconds < 3600) {
    snprintf(text, room, ", %ld min %02ld s left", seconds / 60, seconds % 60);
  } else {
    snprintf(text, room, ", %ld h %02ld min left", seconds / 3600, seconds / 60 % 60);
  }
}

void progress_show(CompareProgress *progress, const CompareRun *run, size_t num_finished) {
  if (!progress->line.is_wanted || run->state == RUN_SKIPPED) return;
  char left[64], line[1024];
  progress->num_run += !run->is_kept;
  format_left(progress, left, sizeof left);
  snprintf(line, sizeof line, "[%zu of %zu%s] %s %s %s %s", num_finished, progress->num_runs, left,
           run->row.budget, run->row.scheduler, run->row.algorithm, run->row.input);
  progress_line_show(&progress->line, line);
}

void progress_hide(CompareProgress *progress) {
  progress_line_hide(&progress->line);
}
