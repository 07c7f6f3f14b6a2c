/* What people see in a terminal, or in a file instead of one. */
#ifndef REMAT_HLO_CLI_TERMINAL_H
#define REMAT_HLO_CLI_TERMINAL_H

#include <stdio.h>

#include "remat_hlo.h"

typedef struct Terminal {
  FILE *out;
  size_t width; /* in columns: $COLUMNS, else that of the terminal, else 80 */
  bool has_colour;
} Terminal;

/* Colour is for terminals only; NO_COLOR and TERM=dumb turn it off. */
Terminal terminal_of(FILE *out);

/* A line, in bold where there is colour. */
void terminal_heading(const Terminal *terminal, const char *text);

/* A text behind `indent` columns, as much of it as fits. */
void terminal_text(const Terminal *terminal, size_t indent, rh_text text);

/* `file:line`, only the file when no line is known, to be freed; NULL when no file is. */
char *source_text(rh_text file, int64_t line);

/* `1.250 ms`; `9.41 G`. */
void text_of_seconds(double seconds, char text[RH_FORMAT_CHARS]);
void text_of_rate(double count, char text[RH_FORMAT_CHARS]);

/* ---- tables ---- */

typedef struct Column {
  const char *title;
  bool is_number;   /* flush right */
  bool is_flexible; /* cut in the middle where the table would be too wide */
  bool is_optional; /* left out there, the last one first, before others are cut */
} Column;

enum { MAX_COLUMNS = 12 };

typedef struct Table {
  Column columns[MAX_COLUMNS];
  size_t num_columns;
  char **cells; /* row by row; a cell that could not be kept is NULL */
  size_t num_cells, room;
} Table;

/* The next cell. Control characters of texts become `?`. */
void table_format(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_text(Table *table, rh_text text);
void table_bytes(Table *table, int64_t bytes);
void table_count(Table *table, uint64_t count);
void table_source(Table *table, rh_text file, int64_t line);

/* Writes titles and rows, two columns in, and forgets the cells. */
void table_print(Table *table, const Terminal *terminal);

#endif
