#include "progress_line.h"

#include <unistd.h>

#include "output.h"
#include "terminal.h"

bool is_watched(const Options *options) {
  bool is_taken = output_is_stdout(options->json) || output_is_stdout(options->csv);
  return isatty(STDERR_FILENO) && !options->quiet && (!is_taken || isatty(STDOUT_FILENO));
}

ProgressLine progress_line_begin(const Options *options) {
  bool is_line = isatty(STDERR_FILENO);
  return (ProgressLine){.is_wanted = options->progress || is_watched(options),
                        .is_line = is_line,
                        .width = terminal_of(stderr).width};
}

void progress_line_show(ProgressLine *progress, const char *text) {
  if (!progress->is_wanted) return;
  if (!progress->is_line) {
    fprintf(stderr, "%s\n", text);
    return;
  }
  fprintf(stderr, "\r\033[K%.*s", (int)(progress->width - 1), text);
  fflush(stderr);
  progress->is_shown = true;
}

void progress_line_hide(ProgressLine *progress) {
  if (!progress->is_shown) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  progress->is_shown = false;
}
