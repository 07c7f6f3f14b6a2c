/* The lines of logs of `compare`. */
#ifndef REMAT_HLO_CLI_COMPARE_LINES_H
#define REMAT_HLO_CLI_COMPARE_LINES_H

#include <cjson/cJSON.h>

#include "compare/job.h"

typedef enum LogLineKind {
  LINE_RUN,
  LINE_PLAN,  /* an input of a shard, before the first run */
  LINE_BEGIN, /* how many runs an input has, once it has been read */
} LogLineKind;

typedef struct LogLine {
  cJSON *json;
  const char *input; /* in `json` */
  size_t log;        /* number of the log, from 0 */
  size_t number;     /* of the line, from 1 */
  LogLineKind kind;
} LogLine;

typedef struct LogLines {
  LogLine *list;
  size_t len, room;
} LogLines;

/* Appends the lines of a log up to the last complete one; `*length` is the offset of its end. A
 * line that no comparison has written is reported on stderr, and the result is RH_ERR_INPUT. */
rh_status log_lines_read(const Input *input, size_t log, LogLines *lines, size_t *length);

/* Sorts the lines by input, log and number. */
void log_lines_sort(LogLines *lines);
void log_lines_free(LogLines *lines);

/* Reads the columns of a run: all of them with `with_before`, else those that are known only after
 * it. Texts stay in the line. Returns false if a value is missing or of another kind. */
bool log_line_row(const LogLine *line, bool with_before, CompareRow *row);

#endif
