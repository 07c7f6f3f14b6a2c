/* The columns of a run, for whoever writes or reads all of them. */
#ifndef REMAT_HLO_CLI_COMPARE_COLUMNS_H
#define REMAT_HLO_CLI_COMPARE_COLUMNS_H

#include "compare.h"

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
  bool is_before; /* known before the run */
} CompareColumn;

enum {
  NUM_COMPARE_COLUMNS =
#define COLUMN(name, kind, when) 1 +
#include "compare_columns.def"
      0
};

extern const CompareColumn compare_columns[NUM_COMPARE_COLUMNS];

/* Digits that give the same number when they are read, as few of 15 or 17 as do; empty when it is
 * no number. */
void compare_number_text(double number, char digits[32]);

/* The value of a column of kind COLUMN_INT or COLUMN_NUMBER. */
void compare_digits(const CompareRow *row, const CompareColumn *column, char digits[32]);

#endif
