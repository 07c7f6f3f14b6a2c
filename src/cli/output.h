/* Output files, which are written completely or not at all. */
#ifndef REMAT_HLO_CLI_OUTPUT_H
#define REMAT_HLO_CLI_OUTPUT_H

#include <stdio.h>

#include "input.h"
#include "options.h"

/* Returns whether a path, which may be NULL, means stdout. */
bool output_is_stdout(const char *path);

/* Returns RH_ERR_USAGE and reports the reason on stderr if two of the paths are the same. Any path
 * may be NULL. */
rh_status output_check(const char *const *paths, size_t count);

/* A file that is being written. For a regular or new file, the output is written under another name
 * in the same folder and renamed at the end, with the mode of the old file. If the path is a
 * symbolic link, the file that it points to is replaced, not the link. Devices, pipes and stdout
 * (`-`) are written directly. */
typedef struct Output {
  const char *path; /* as the user gave it */
  char *target;     /* the file that is replaced, owned; NULL if it is written directly */
  char *temporary;  /* owned */
  FILE *file;
  MessageForm form;
  bool is_closed_pipe; /* the reader has closed the pipe, which is not reported as an error */
} Output;

/* If the file cannot be opened, it returns RH_ERR_WRITE and reports the reason on stderr. */
rh_status output_open(const char *path, const Options *options, Output *output);

/* An rh_write_fn; `output` is the context. */
int output_write(void *output, const char *data, size_t length);

/* Finishes the file: puts the new content in place or, unless `keep`, discards it. If some of the
 * data could not be written, it returns RH_ERR_WRITE and reports the reason on stderr. */
rh_status output_close(Output *output, bool keep);

/* Writes a JSON object, which it frees, and a newline to a file. `text` may be NULL, which means
 * that memory ran out. */
rh_status output_write_json(char *text, const char *path, const Options *options);

#endif
