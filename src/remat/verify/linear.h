/* Linear forms: integers that are a constant plus multiples of symbols, such as 5 - t + 3 * s,
 * where t and s are the numbers of iterations of two loops. The symbols have ranges, because trip
 * counts are known, so that a form has a range, too.
 *
 * A form is a mathematical integer. A scalar has the form of an expression only if no step of the
 * expression can leave the scalar's type. */
#ifndef REMAT_HLO_REMAT_VERIFY_LINEAR_H
#define REMAT_HLO_REMAT_VERIFY_LINEAR_H

#include "analysis/range/value_range.h"
#include "remat/verify/value_number.h"

enum { MAX_LINEAR_TERMS = 8 };

typedef struct LinearTerm {
  ValueNumber symbol;
  int64_t factor; /* not 0 */
} LinearTerm;

typedef struct Linear {
  int64_t constant;
  uint32_t num_terms;
  LinearTerm terms[MAX_LINEAR_TERMS]; /* ordered by symbol */
} Linear;

static inline Linear linear_constant(int64_t constant) {
  return (Linear){.constant = constant};
}

static inline Linear linear_symbol(ValueNumber symbol) {
  return (Linear){.num_terms = 1, .terms = {{symbol, 1}}};
}

/* Adds a multiple of `other`. False if an integer overflows, or if there are too many terms. */
bool linear_add(Linear *sum, const Linear *other, int64_t factor);

/* The factor of a symbol, 0 if the form does not have it. */
int64_t linear_factor(const Linear *form, ValueNumber symbol);

bool linear_equal(const Linear *a, const Linear *b);

/* Divides all parts. False unless there is no remainder. */
bool linear_divide(Linear *form, int64_t divisor);

/* The values that the form can have; unknown if a symbol has no known range. */
ValueRange linear_range(const Numbering *numbering, const Linear *form);

/* The form of a node of kind NODE_LINEAR, of a constant, or of a NODE_TIME; false for all others.
 * The form may leave the type of the node, which then has something else. */
bool linear_of_node(const Numbering *numbering, ValueNumber value, Linear *form);

/* The same, if the form is proven to be the value of a scalar of an integer type. */
bool linear_of_value(const Numbering *numbering, ValueNumber value, Linear *form);

/* Whether the form fits into the element type of a shape. */
bool linear_fits(const Numbering *numbering, ShapeId shape, const Linear *form);

/* The value of this form and shape. */
ValueNumber number_linear(Numbering *numbering, ShapeId shape, const Linear *form);

/* The form as a number of type s64. */
ValueNumber number_count(Numbering *numbering, const Linear *form);

#endif
