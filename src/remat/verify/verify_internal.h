/* What the parts of the verifier share. */
#ifndef REMAT_HLO_REMAT_VERIFY_VERIFY_INTERNAL_H
#define REMAT_HLO_REMAT_VERIFY_VERIFY_INTERNAL_H

#include "remat/verify/number_ranges.h"

/* A control dependency between two values. */
typedef struct NumberedEdge {
  ValueNumber predecessor, successor;
  InstId inst; /* that is the successor */
} NumberedEdge;

/* Names of instructions whose identity matters: those with side effects, and constants whose value
 * is not in the text. What a rewrite has renamed goes by the name that it came from. */
typedef struct Identities {
  Arena *arena;
  VEC(Str) names;
  IdTable table;
} Identities;

/* The name in the list that `name` goes back to: itself, or without suffixes that clones have;
 * itself when neither is there. */
Str identity_of(const Identities *identities, Str name);

/* A module turned into numbers. */
typedef struct Numbered {
  const Module *module;
  const Identities *identities; /* NULL: every name is its own identity */
  NumberRanges *ranges;         /* of both modules; NULL: no conversion undoes another one */
  bool expands_calls;
  bool orders_effects;
  ValueNumber root;
  VEC(ValueNumber) effects; /* of the entry, in order if that matters, else sorted */
  VEC(NumberedEdge) edges;
  VEC(InstId) example;         /* by ValueNumber: an instruction that computes it, NO_ID = none */
  VEC(uint32_t) num_instances; /* by ValueNumber: how many do, */
  VEC(uint32_t) num_computed;  /* without those that hand it on */
  ValueNumber *value_of; /* by InstId: what it computes; NO_ID if nothing, or more than once */
  bool is_too_large;     /* calls that call calls … grew beyond bounds; the rest is not filled */
} Numbered;

/* Fills the results; the first five fields are set. */
void number_module(Numbered *numbered, Numbering *numbering, Arena *out, Arena *scratch);

/* Whether an instruction only hands on a value, and so can be put anywhere: tuples, their elements,
 * bitcasts, barriers, parameters, conditionals; and constants. */
bool forwards_value(Opcode opcode);

/* Whether an instruction has a side effect that must happen exactly once. Collectives have none in
 * this sense: all devices compute one again together. */
bool has_counted_effect(const Module *module, InstId id);

#endif
