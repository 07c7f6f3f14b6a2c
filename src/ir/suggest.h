/* "Did you mean": the closest of the words that would have been right. Only asked when something is
 * wrong: each candidate takes the square of a word's length at worst. */
#ifndef REMAT_HLO_IR_SUGGEST_H
#define REMAT_HLO_IR_SUGGEST_H

#include <stddef.h>

#include "ir/ids.h"

typedef struct Suggestion {
  Str word;       /* what was written; empty = nothing can be said of it */
  Str best;       /* the closest candidate so far, the first of equals; empty = none is close */
  size_t changes; /* that it is away; at first one more than there may be */
  bool is_name;
} Suggestion;

/* Of the words of a language: what comes near is meant. */
Suggestion suggest_word(Str word);

/* Of the names in a program: many are alike, and one with another number is another one. */
Suggestion suggest_name(Str name);

void suggest_offer(Suggestion *suggestion, Str candidate);

#endif
