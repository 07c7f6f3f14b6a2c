/* Progress on stderr. A terminal shows one line that is updated; with --progress, other files get
 * each line on its own. */
#ifndef REMAT_HLO_CLI_PROGRESS_LINE_H
#define REMAT_HLO_CLI_PROGRESS_LINE_H

#include "options.h"

typedef struct ProgressLine {
  bool is_wanted, is_line; /* `is_line`: one line of a terminal is updated */
  bool is_shown;
  size_t width;
} ProgressLine;

/* Returns whether someone looks on: stderr is a terminal, --quiet is not given, and stdout does not
 * go into a program, which would then be in charge of the terminal. Progress and hints are only for
 * such a person. */
bool is_watched(const Options *options);

ProgressLine progress_line_begin(const Options *options);
void progress_line_show(ProgressLine *progress, const char *text);

/* Must be called before anything else is written. */
void progress_line_hide(ProgressLine *progress);

#endif
