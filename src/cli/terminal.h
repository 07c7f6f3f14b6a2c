/* Output for people, to a terminal or to a file. */
#ifndef REMAT_HLO_CLI_TERMINAL_H
#define REMAT_HLO_CLI_TERMINAL_H

#include <stdio.h>

#include "remat_hlo.h"

typedef struct Terminal {
  FILE *out;
  size_t width;  /* in columns: $COLUMNS, else the width of the terminal, else 80 */
  bool is_uncut; /* a file or a pipe without $COLUMNS: texts are not cut, however long they are */
  bool has_colour;
} Terminal;

/* Describes a stream. Only terminals have colour, and NO_COLOR and TERM=dumb turn it off. */
Terminal terminal_of(FILE *out);

/* Writes a line, which is bold if the terminal has colour. */
void terminal_heading(const Terminal *terminal, const char *text);

/* Writes a text after `indent` columns, cut to the width of the terminal if it has one. */
void terminal_text(const Terminal *terminal, size_t indent, rh_text text);

/* The same for a source position, of which folders are omitted before the file's name. */
void terminal_source(const Terminal *terminal, size_t indent, const char *source);

/* Returns `file:line`, or only the file if the line is not known, or the name of an argument and
 * what it is if the line is negative (rh_sum.line). The caller frees it. Returns NULL if the file
 * is not known. */
char *source_text(rh_text file, int64_t line);

/* Whether the lower bound holds for recomputation across the border between loops, too. */
bool bound_covers_loops(const rh_memory *memory);

/* Whether XLA has yet to decide how much of the temporaries is in the device's memory. */
bool has_temp_range(const rh_memory *memory);

/* Writes ` with the fusions and calls as they are` if the lower bound only holds for these. */
void print_bound_within(const rh_memory *memory, FILE *out);

/* Writes what determines the lower bound: an instruction or, if it is not a single one, what the
 * module receives and returns. */
void print_bound_cause(const rh_memory *memory, bool counts_parameters, FILE *out);

/* These format a duration as `1.250 ms` and a number as `9.41 G`. */
void text_of_seconds(double seconds, char text[RH_FORMAT_CHARS]);
void text_of_rate(double count, char text[RH_FORMAT_CHARS]);

/* Returns 100 times the share, or 0 if it would be shown as 0 with so many decimals, so that no
 * sign is shown that says nothing, as in `-0.0`. */
double shown_percent(double share, int num_decimals);

/* ---- tables ---- */

typedef struct Column {
  const char *title;
  bool is_number;   /* aligned to the right */
  bool is_flexible; /* shortened in the middle if the table is too wide */
  bool is_source;   /* holds source positions: folders are omitted before the file's name */
  bool is_optional; /* omitted in that case, the last one first, before others are shortened */
} Column;

enum { MAX_COLUMNS = 12 };

typedef struct Table {
  Column columns[MAX_COLUMNS];
  size_t num_columns;
  char **cells; /* row by row */
  size_t num_cells, room;
} Table;

/* Each of these adds the next cell. Control characters in texts become `?`. */
void table_format(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_text(Table *table, rh_text text);
void table_bytes(Table *table, int64_t bytes);
void table_count(Table *table, uint64_t count);
void table_source(Table *table, rh_text file, int64_t line);

/* Adds the source position of a value, or the argument that it comes from, in brackets if the value
 * has inherited it. */
void table_origin(Table *table, const rh_live_value *value);

/* Writes the titles and rows, indented by two columns, and removes the cells. */
void table_print(Table *table, const Terminal *terminal);

#endif
