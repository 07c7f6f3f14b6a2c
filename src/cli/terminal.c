#include "terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "memory.h"
#include "messages.h"

enum {
  DEFAULT_WIDTH = 80,
  MIN_WIDTH = 40,
  MAX_WIDTH = 1000,
  MIN_FLEXIBLE = 6,
  INDENT = 2,
  GAP = 2
};

/* The beginning of a source position that belongs to another instruction. */
#define FROM "(from "

/* Returns 0 if nothing gives a width. */
static size_t width_of(int fd) {
  const char *columns = getenv("COLUMNS");
  char *end;
  long width = columns ? strtol(columns, &end, 10) : 0;
  struct winsize size;
  if (columns && (*end || end == columns)) width = 0;
  if (width <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width <= 0) return isatty(fd) ? DEFAULT_WIDTH : 0;
  return width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : (size_t)width;
}

Terminal terminal_of(FILE *out) {
  const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
  bool is_off = (no_colour && *no_colour) || !term || strcmp(term, "dumb") == 0;
  size_t width = width_of(fileno(out));
  return (Terminal){.out = out,
                    .width = width ? width : MAX_WIDTH,
                    .is_uncut = width == 0,
                    .has_colour = !is_off && isatty(fileno(out))};
}

void terminal_heading(const Terminal *terminal, const char *text) {
  fprintf(terminal->out, terminal->has_colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* ---- cells ---- */

static void mask_control(char *text) {
  for (; *text; text++) {
    if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
  }
}

static void add_cell(Table *table, char *text) {
  if (table->num_cells == table->room) {
    size_t room = table->room ? table->room * 2 : 64;
    table->cells = memory_need(realloc(table->cells, room * sizeof *table->cells));
    table->room = room;
  }
  mask_control(text);
  table->cells[table->num_cells++] = text;
}

static char *copy_text(rh_text text) {
  char *copy = memory_need(malloc(text.length + 1));
  if (text.length) memcpy(copy, text.data, text.length);
  copy[text.length] = 0;
  return copy;
}

void table_text(Table *table, rh_text text) {
  add_cell(table, copy_text(text));
}

void table_format(Table *table, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  char *text = memory_need(length < 0 ? NULL : malloc((size_t)length + 1));
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(args);
  add_cell(table, text);
}

void table_bytes(Table *table, int64_t bytes) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(bytes, text);
  table_format(table, "%s", text);
}

void table_count(Table *table, uint64_t count) {
  char text[RH_FORMAT_CHARS];
  rh_format_count(count, text);
  table_format(table, "%s", text);
}

char *source_text(rh_text file, int64_t line) {
  static const char argument[] = " (argument)";
  if (file.length && line < 0) {
    char *text = memory_need(malloc(file.length + sizeof argument));
    sprintf(text, "%.*s%s", (int)file.length, file.data, argument);
    return text;
  }
  if (!file.length || line < 1) return file.length ? copy_text(file) : NULL;
  size_t room = file.length + 24;
  char *text = memory_need(malloc(room));
  snprintf(text, room, "%.*s:%" PRId64, (int)file.length, file.data, line);
  return text;
}

void table_source(Table *table, rh_text file, int64_t line) {
  char *text = source_text(file, line);
  table_format(table, "%s", text ? text : "(not known)");
  free(text);
}

void table_origin(Table *table, const rh_live_value *value) {
  if (!value->source_file.length && value->argument.length) {
    if (!value->is_inherited) {
      table_text(table, value->argument);
    } else {
      table_format(table, FROM "%.*s)", (int)value->argument.length, value->argument.data);
    }
    return;
  }
  char *text = source_text(value->source_file, value->source_line);
  bool is_from = text && value->is_inherited;
  table_format(table, "%s%s%s", is_from ? FROM : "", text ? text : "(not known)",
               is_from ? ")" : "");
  free(text);
}

bool bound_covers_loops(const rh_memory *memory) {
  return memory->lower_bound_kind && strcmp(memory->lower_bound_kind, "order+recompute+loops") == 0;
}

void print_bound_cause(const rh_memory *memory, bool counts_parameters, FILE *out) {
  rh_text by = memory->lower_bound_instruction;
  if (by.length) {
    fprintf(out, "%.*s", (int)by.length, by.data);
  } else {
    fputs(counts_parameters ? "the parameters and outputs" : "the outputs", out);
  }
}

bool has_temp_range(const rh_memory *memory) {
  return memory->temp_more_bytes > 0 || memory->temp_less_bytes > 0;
}

void print_bound_within(const rh_memory *memory, FILE *out) {
  unsigned within = memory->lower_bound_within;
  if (!within) return;
  fprintf(out, " with the %s%s%s as they are", within & RH_WITHIN_FUSIONS ? "fusions" : "",
          within == (RH_WITHIN_FUSIONS | RH_WITHIN_CALLS) ? " and " : "",
          within & RH_WITHIN_CALLS ? "calls" : "");
}

double shown_percent(double share, int num_decimals) {
  double percent = 100 * share, half = 0.5;
  for (int i = 0; i < num_decimals; i++)
    half /= 10;
  return fabs(percent) < half ? 0 : percent;
}

void text_of_seconds(double seconds, char text[RH_FORMAT_CHARS]) {
  if (seconds >= 1) {
    snprintf(text, RH_FORMAT_CHARS, "%.3f s", seconds);
  } else if (seconds >= 1e-3) {
    snprintf(text, RH_FORMAT_CHARS, "%.3f ms", seconds * 1e3);
  } else {
    snprintf(text, RH_FORMAT_CHARS, "%.3f us", seconds * 1e6);
  }
}

void text_of_rate(double count, char text[RH_FORMAT_CHARS]) {
  static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};
  int unit = 0;
  for (; unit < 6 && count >= 1000; unit++)
    count /= 1000;
  snprintf(text, RH_FORMAT_CHARS, unit ? "%.2f%s" : "%.0f%s", count, units[unit]);
}

/* ---- layout ---- */

/* Returns the number of UTF-8 characters, each of which is assumed to take one column. */
static size_t columns_of(const char *text) {
  size_t columns = 0;
  for (; *text; text++)
    columns += !utf8_is_inside(*text);
  return columns;
}

static const char *skip_columns(const char *text, size_t columns) {
  for (; *text; text++) {
    if (utf8_is_inside(*text)) continue;
    if (columns-- == 0) break;
  }
  return text;
}

static void measure(const Table *table, size_t widths[MAX_COLUMNS]) {
  for (size_t i = 0; i < table->num_columns; i++)
    widths[i] = columns_of(table->columns[i].title);
  for (size_t i = 0; i < table->num_cells; i++) {
    size_t width = columns_of(table->cells[i]), column = i % table->num_columns;
    if (width > widths[column]) widths[column] = width;
  }
}

static const size_t LEFT_OUT = SIZE_MAX;

/* Returns the number of characters at the beginning that say that a position is another
 * instruction's. */
static size_t mark_of(const char *text) {
  return strncmp(text, FROM, strlen(FROM)) == 0 ? strlen(FROM) : 0;
}

/* Returns the width in which a column is still useful: all names of files without their folders,
 * unless they are very long. */
static size_t useful_width(const Table *table, size_t column) {
  enum { MAX_NAME = 32 };
  size_t useful = MIN_FLEXIBLE;
  for (size_t i = column; table->columns[column].is_source && i < table->num_cells;
       i += table->num_columns) {
    const char *text = table->cells[i], *slash = strrchr(text, '/');
    const char *name = slash ? slash + 1 : text;
    size_t width = strchr(name, ':') ? columns_of(name) + (slash ? mark_of(text) + 2 : 0) : 0;
    if (width > useful) useful = width;
  }
  return useful < MAX_NAME ? useful : MAX_NAME;
}

/* Reduces the widest of the flexible columns until the table fits or each has its least width.
 * Returns the width of the table. */
static size_t reduce(const Table *table, size_t width, size_t total,
                     const size_t least[MAX_COLUMNS], size_t widths[MAX_COLUMNS]) {
  for (; total > width; total--) {
    size_t widest = table->num_columns;
    for (size_t i = 0; i < table->num_columns; i++) {
      bool is_flexible = table->columns[i].is_flexible && widths[i] != LEFT_OUT;
      if (!is_flexible || widths[i] <= least[i]) continue;
      if (widest == table->num_columns || widths[i] >= widths[widest]) widest = i;
    }
    if (widest == table->num_columns) break;
    widths[widest]--;
  }
  return total;
}

/* Omits optional columns, then reduces others. */
static void fit(const Table *table, size_t width, size_t widths[MAX_COLUMNS]) {
  size_t total = INDENT - GAP, useful[MAX_COLUMNS], least[MAX_COLUMNS];
  for (size_t i = 0; i < table->num_columns; i++) {
    total += widths[i] + GAP;
    useful[i] = useful_width(table, i);
    least[i] = MIN_FLEXIBLE;
  }
  for (size_t i = table->num_columns; i-- > 0 && total > width;) {
    if (!table->columns[i].is_optional) continue;
    total -= widths[i] + GAP;
    widths[i] = LEFT_OUT;
  }
  total = reduce(table, width, total, useful, widths);
  reduce(table, width, total, least, widths);
}

/* Texts that are not cut may be very long; only shorter ones are aligned. */
static void align(const Table *table, size_t widths[MAX_COLUMNS]) {
  enum { MAX_ALIGNED = 64 };
  for (size_t i = 0; i < table->num_columns; i++)
    if (table->columns[i].is_flexible && widths[i] > MAX_ALIGNED) widths[i] = MAX_ALIGNED;
}

static void print_padding(size_t columns, FILE *out) {
  fprintf(out, "%*s", (int)columns, "");
}

/* Writes a text that is wider than `width`. Both ends of a name are informative, so that its middle
 * is left out. */
static void print_ends(const char *text, size_t width, FILE *out) {
  size_t room = width - 2, tail = room / 2;
  const char *end = skip_columns(text, room - tail);
  fprintf(out, "%.*s..%s", (int)(end - text), text, skip_columns(text, columns_of(text) - tail));
}

/* Writes a source position that is wider than `width`. The name of the file survives, and the
 * folders give way, those at the beginning first; then the brackets of an inherited position. */
static void print_short_source(const char *text, size_t width, FILE *out) {
  size_t mark = mark_of(text), len = strlen(text);
  const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text + mark;
  size_t columns = columns_of(name);
  if (slash && columns + mark + 2 <= width) {
    size_t tail = width - mark - 2;
    fprintf(out, "%.*s..%s", (int)mark, text, skip_columns(text, columns_of(text) - tail));
    return;
  }
  char *bare = mark ? memory_need(malloc(len)) : NULL;
  if (bare) {
    snprintf(bare, len - mark, "%s", text + mark);
    if (columns_of(bare) <= width) {
      fputs(bare, out);
    } else {
      print_short_source(bare, width, out);
    }
  } else if (columns <= width) {
    fputs(name, out);
  } else {
    print_ends(name, width, out);
  }
  free(bare);
}

static void print_cell(const char *text, const Column *column, size_t width, bool is_last,
                       const Terminal *terminal) {
  FILE *out = terminal->out;
  size_t columns = columns_of(text);
  if (columns > width && !terminal->is_uncut) {
    (column->is_source ? print_short_source : print_ends)(text, width, out);
    return;
  }
  if (columns > width) width = columns;
  if (column->is_number) print_padding(width - columns, out);
  fputs(text, out);
  if (!column->is_number && !is_last) print_padding(width - columns, out);
}

static void print_line(const Terminal *terminal, size_t indent, rh_text text, bool is_source) {
  char *masked = copy_text(text);
  mask_control(masked);
  print_padding(indent, terminal->out);
  size_t width = terminal->width > indent + MIN_FLEXIBLE ? terminal->width - indent : MIN_FLEXIBLE;
  print_cell(masked, &(Column){.is_source = is_source}, width, true, terminal);
  fputc('\n', terminal->out);
  free(masked);
}

void terminal_text(const Terminal *terminal, size_t indent, rh_text text) {
  print_line(terminal, indent, text, false);
}

void terminal_source(const Terminal *terminal, size_t indent, const char *source) {
  print_line(terminal, indent, (rh_text){source, strlen(source)}, true);
}

static void print_row(const Table *table, size_t first_cell, const size_t widths[MAX_COLUMNS],
                      const Terminal *terminal) {
  size_t last = table->num_columns;
  while (last > 1 && (widths[last - 1] == LEFT_OUT || !*table->cells[first_cell + last - 1]))
    last--;
  print_padding(INDENT, terminal->out);
  for (size_t i = 0; i < last; i++) {
    if (widths[i] == LEFT_OUT) continue;
    if (i) print_padding(GAP, terminal->out);
    print_cell(table->cells[first_cell + i], &table->columns[i], widths[i], i + 1 == last,
               terminal);
  }
  fputc('\n', terminal->out);
}

static void print_titles(const Table *table, const Terminal *terminal,
                         const size_t widths[MAX_COLUMNS]) {
  FILE *out = terminal->out;
  if (terminal->has_colour) fputs("\033[2m", out);
  print_padding(INDENT, out);
  for (size_t i = 0; i < table->num_columns; i++) {
    if (widths[i] == LEFT_OUT) continue;
    if (i) print_padding(GAP, out);
    print_cell(table->columns[i].title, &table->columns[i], widths[i], i + 1 == table->num_columns,
               terminal);
  }
  fputs(terminal->has_colour ? "\033[0m\n" : "\n", out);
}

void table_print(Table *table, const Terminal *terminal) {
  size_t widths[MAX_COLUMNS];
  measure(table, widths);
  if (terminal->is_uncut) {
    align(table, widths);
  } else {
    fit(table, terminal->width, widths);
  }
  print_titles(table, terminal, widths);
  for (size_t i = 0; i + table->num_columns <= table->num_cells; i += table->num_columns)
    print_row(table, i, widths, terminal);
  for (size_t i = 0; i < table->num_cells; i++)
    free(table->cells[i]);
  free(table->cells);
  table->cells = NULL;
  table->num_cells = table->room = 0;
}
