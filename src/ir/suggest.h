/* "Did you mean …?": finds the candidate that is most similar to a wrong word. This is used only
 * after an error, because each candidate costs up to the square of a word's length.
 *
 *   Suggestion suggestion = suggest_word(word);
 *   for each candidate: suggest_offer(&suggestion, candidate);
 *   if (suggestion.best.len) the message ends in "did you mean BEST?" */
#ifndef REMAT_HLO_IR_SUGGEST_H
#define REMAT_HLO_IR_SUGGEST_H

#include <stddef.h>

#include "ir/ids.h"

typedef struct Suggestion {
  Str word;       /* the word in the text; empty = nothing can be suggested */
  Str best;       /* the closest candidate so far, the first of equal ones; empty = none is close */
  size_t changes; /* the distance of `best`; at first one more than the largest allowed distance */
  bool is_name;
} Suggestion;

/* Suggests words of a language: a similar word is probably the intended one. */
Suggestion suggest_word(Str word);

/* Suggests names of a program: many of them are similar, and a name that differs only in its number
 * is not suggested. */
Suggestion suggest_name(Str name);

void suggest_offer(Suggestion *suggestion, Str candidate);

#endif
