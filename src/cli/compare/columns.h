/* The columns of a run, for code that writes or reads all of them. */
#ifndef REMAT_HLO_CLI_COMPARE_COLUMNS_H
#define REMAT_HLO_CLI_COMPARE_COLUMNS_H

#include "compare/job.h"

typedef enum ColumnKind {
  COLUMN_TEXT,
  COLUMN_INT,
  COLUMN_NUMBER,
  COLUMN_BOOL,
} ColumnKind;

typedef struct CompareColumn {
  const char *name;
  size_t member; /* offset in CompareRow */
  ColumnKind kind;
  bool is_before; /* whether it is known before the run */
} CompareColumn;

enum {
  NUM_COMPARE_COLUMNS =
#define COLUMN(name, kind, when) 1 +
#include "compare/columns.def"
      0
};

extern const CompareColumn compare_columns[NUM_COMPARE_COLUMNS];

/* Formats a number with 15 digits or, if they do not suffice to read the same number back, with 17.
 * The text is empty if it is not a number. */
void compare_number_text(double number, char digits[32]);

/* Formats the value of a column of kind COLUMN_INT or COLUMN_NUMBER. */
void compare_digits(const CompareRow *row, const CompareColumn *column, char digits[32]);

#endif
