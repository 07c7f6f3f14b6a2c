#include "compare/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { WHEN_BEFORE = true, WHEN_AFTER = false };

const CompareColumn compare_columns[NUM_COMPARE_COLUMNS] = {
#define COLUMN(name, kind, when) {#name, offsetof(CompareRow, name), COLUMN_##kind, WHEN_##when},
#include "compare/columns.def"
};

void compare_number_text(double number, char digits[32]) {
  digits[0] = 0;
  if (!isfinite(number)) return;
  snprintf(digits, 32, "%.15g", number);
  if (strtod(digits, NULL) != number) snprintf(digits, 32, "%.17g", number);
}

void compare_digits(const CompareRow *row, const CompareColumn *column, char digits[32]) {
  const void *member = (const char *)row + column->member;
  if (column->kind == COLUMN_NUMBER) {
    compare_number_text(*(const double *)member, digits);
  } else {
    snprintf(digits, 32, "%" PRId64, *(const int64_t *)member);
  }
}
