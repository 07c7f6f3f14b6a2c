/* The parts of the verifier that its files share. */
#ifndef REMAT_HLO_REMAT_VERIFY_VERIFY_INTERNAL_H
#define REMAT_HLO_REMAT_VERIFY_VERIFY_INTERNAL_H

#include "ir/text_buffer.h"
#include "remat/verify/noted_slices.h"
#include "remat/verify/number_ranges.h"
#include "remat/verify/rounding_tags.h"
#include "remat/verify/terms.h"

/* A control dependency between two values. */
typedef struct NumberedEdge {
  ValueNumber predecessor, successor;
  InstId inst; /* the successor */
} NumberedEdge;

/* Names of instructions whose identity matters: instructions with side effects, and constants whose
 * value is not in the text. A renamed instruction is identified by its original name. */
typedef struct Identities {
  VEC(Str) names; /* sorted */
} Identities;

/* The name in the list that `name` comes from: `name` itself, or that of which clones have it.
 * Returns `name` if neither is in the list. */
Str identity_of(const Identities *identities, Str name);

/* A module as value numbers. */
typedef struct Numbered {
  const Module *module;
  const Identities *identities; /* NULL: every name is its own identity */
  NumberRanges *ranges;         /* of both modules; NULL: conversions never undo each other */
  const RoundingTags *tags;     /* NULL: how sums round does not matter */
  bool expands_calls;
  bool is_in_order; /* evaluates in the order of the text, else in post-order */
  bool orders_effects;
  /* Evaluates loops as recurrences; NULL: loops are applications of functions. With it, the
   * functions of an evaluation without it, from which the counters of loops are guessed. */
  Terms *terms;
  const ValueNumber *guessed_functions;
  const NotedSlices *noted; /* of the module */
  bool trusts_notes; /* what a compiler has noted of slices holds (remat/verify/noted_slices.h) */
  bool *is_stale;    /* by InstId: is set where it could not be shown to hold; or NULL */
  bool restates; /* instructions in loops get values that can be compared with the other module's */
  ValueNumber root;
  /* of the entry computation; sorted by number if their order does not matter */
  VEC(ValueNumber) effects;
  VEC(NumberedEdge) edges;
  /* by ValueNumber: an instruction that computes the value; NO_ID = none */
  VEC(InstId) example;
  VEC(uint32_t) num_instances; /* by ValueNumber: the number of instructions that have the value */
  VEC(uint32_t) num_computed;  /* by ValueNumber: the same without those that only forward it */
  /* by InstId: the value; NO_ID if the instruction is evaluated never, or more than once */
  ValueNumber *value_of;
  const ValueNumber *functions; /* by CompId; NO_ID = not evaluated as a function */
  /* nested calls expand to more than the limit; the other results are then not set */
  bool is_too_large;
} Numbered;

/* Appends the opcode, the value of a constant, and the attributes that matter. An elided constant
 * has its identity instead of its value. */
void put_operation(TextBuffer *text, const Module *module, InstId id, const Identities *identities);

/* Fills the results. The caller sets the fields before `root`. */
void number_module(Numbered *numbered, Numbering *numbering, Arena *out, Arena *scratch);

/* Whether an instruction only forwards values, so that it may be anywhere: tuples, their elements,
 * bitcasts, barriers, parameters, conditionals. Constants are included. */
bool forwards_value(Opcode opcode);

#endif
