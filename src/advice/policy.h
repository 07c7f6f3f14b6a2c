/* What the policies of jax.checkpoint save: matrix products, as they are in a compiled module. */
#ifndef REMAT_HLO_ADVICE_POLICY_H
#define REMAT_HLO_ADVICE_POLICY_H

#include "advice/advisor.h"

typedef enum Policy {
  POLICY_NOTHING,
  POLICY_DOTS,
  POLICY_WEIGHT_DOTS, /* products without batch dimensions, which are those with weights */
  POLICY_NAMES,       /* products of some lines, whose results get names */
} Policy;

/* NULL for POLICY_NOTHING. */
const char *policy_name(Policy policy);

/* By InstId. A convolution of the program is no product here, whatever it is compiled to. */
typedef struct Products {
  bool *is_dot;
  bool *is_batch_dot; /* it has batch dimensions */
} Products;

/* O(instructions). */
Products products_find(const Module *module, Arena *out, Arena *scratch);

/* The products of one line of the program, in all repetitions. */
typedef struct ProductLine {
  Str file; /* raw text */
  int32_t line;
  int64_t bytes;
  double seconds; /* that computing them again takes */
  bool is_saved;
} ProductLine;

typedef struct ProductLines {
  VEC(ProductLine) list; /* those that save the most time for their bytes first */
  uint32_t *of;          /* by InstId: the index of its line; NO_ID = it is no such product */
} ProductLines;

/* The lines of the program that have products in them, as far as the module tells; `is_meant` says
 * by InstId which instructions count. Of products in a line of a function that is called from
 * several lines of `function`, these are meant. O(instructions + products^2). */
ProductLines product_lines_find(const Advisor *advisor, const Products *products,
                                const bool *is_meant, Str function, Arena *out);

/* Whether the result of an instruction is saved; `lines` is that of POLICY_NAMES. */
bool policy_saves(const Products *products, Policy policy, const ProductLines *lines, InstId id);

/* What is to be written so that the results of saved lines have names, a line for each; the names
 * begin with that of the function. */
const char *policy_names_code(const ProductLines *lines, Str function, Arena *out);

/* `save_only_these_names("block_7", "block_9")`. */
const char *policy_names_call(const ProductLines *lines, Str function, Arena *out);

/* `, which keeps what lines 7 and 9 compute`. */
const char *policy_names_title(const ProductLines *lines, Arena *out);

#endif
