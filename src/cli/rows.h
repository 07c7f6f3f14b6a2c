/* Tables for other programs: rows with the same columns as CSV, as JSON objects, or as both. */
#ifndef REMAT_HLO_CLI_ROWS_H
#define REMAT_HLO_CLI_ROWS_H

#include "output.h"

typedef struct Rows {
  const Options *options;
  const char *json; /* the path of --json, or NULL */
  bool is_one;      /* there is one row, and JSON is this object and not a list of objects */
  const char *const *columns; /* the last element is NULL */
  Output csv;
  bool has_csv;
  struct cJSON *list, *row;
  size_t next; /* the column of the next value */
} Rows;

/* Begins the files of --csv and --json; either path may be NULL. If a file cannot be opened, it
 * returns RH_ERR_WRITE and reports the reason on stderr. Call rows_close() in any case. */
rh_status rows_open(const char *const *columns, const char *csv, const char *json,
                    const Options *options, Rows *rows);

/* These add the value of the next column; the first one after the last column begins a new row. A
 * text or word of NULL and a number below `least` are not known: empty in CSV, null in JSON. */
void rows_text(Rows *rows, rh_text text);
void rows_word(Rows *rows, const char *word);
void rows_int(Rows *rows, int64_t value, int64_t least);
void rows_double(Rows *rows, double value);
void rows_bool(Rows *rows, bool value);

/* Finishes the files, or discards them unless `keep`. */
rh_status rows_close(Rows *rows, bool keep);

#endif
