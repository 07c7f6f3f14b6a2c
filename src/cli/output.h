/* Where results go: whole or not at all. */
#ifndef REMAT_HLO_CLI_OUTPUT_H
#define REMAT_HLO_CLI_OUTPUT_H

#include <stdio.h>

#include "input.h"
#include "options.h"

/* Whether a path, which may be NULL, means stdout. */
bool output_is_stdout(const char *path);

/* RH_ERR_USAGE, the reason on stderr, when two of the paths, any of which may be NULL, are one. */
rh_status output_check(const char *const *paths, size_t count);

/* A file that is being written. Regular and new files are written under another name beside it and
 * renamed at the end, with the mode that the old one had; what a symbolic link points to is
 * replaced, not the link. Devices, pipes and stdout (`-`) are written directly. */
typedef struct Output {
  const char *path; /* as the user gave it */
  char *target;     /* what is replaced, owned; NULL when it is written directly */
  char *temporary;  /* owned */
  FILE *file;
  MessageForm form;
  bool is_closed_pipe; /* whoever reads has gone: no error to speak of */
} Output;

/* RH_ERR_WRITE, the reason on stderr, when it cannot be opened. */
rh_status output_open(const char *path, const Options *options, Output *output);

/* An rh_write_fn; `output` is the context. */
int output_write(void *output, const char *data, size_t length);

/* Makes what was written the file, or, unless `keep`, throws it away. RH_ERR_WRITE, the reason on
 * stderr, when something did not reach it. */
rh_status output_close(Output *output, bool keep);

/* Writes an object, which it frees, and a newline to a file. `text` may be NULL: out of memory. */
rh_status output_write_json(char *text, const char *path, const Options *options);

#endif
