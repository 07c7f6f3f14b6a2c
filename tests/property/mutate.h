/* Changes of one place of a module's text, for tests of what must notice them. */
#ifndef REMAT_HLO_TESTS_MUTATE_H
#define REMAT_HLO_TESTS_MUTATE_H

#include "property.h"

/* A place of the text and what is put there. */
typedef struct Edit {
  Span span;
  const char *text;
  char room[200];
} Edit;

/* Looks for something to change at an instruction; false when there is nothing of its kind. */
typedef bool MutateFn(const Module *module, InstId id, uint64_t *state, Edit *edit);

typedef struct Mutation {
  const char *name;
  MutateFn *mutate;
  bool is_order_only; /* runs to the same values: must be refused all the same */
} Mutation;

enum { NUM_MUTATION_KINDS = 10 };
extern const Mutation mutations[NUM_MUTATION_KINDS];

/* The text after the change; free() its data. */
Text mutate_text(Text text, const Edit *edit);

#endif
