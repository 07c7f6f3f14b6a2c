/* Names in use, and new ones made the way XLA makes them (xla/service/name_uniquer.cc,
 * HloInstruction::AddSuffixToInstructionName), so that a rematerialized module reads like one of
 * XLA's own. */
#ifndef REMAT_HLO_IR_NAMES_H
#define REMAT_HLO_IR_NAMES_H

#include "ir/module.h"

typedef struct NameEntry {
  Str name;
  int64_t next_number; /* where to look for a free `name.N` */
  uint32_t num_owners; /* that had it when the set was made: each computation has its own names */
} NameEntry;

typedef struct NameSet {
  Arena *arena;
  VEC(NameEntry) entries;
  IdTable table;
} NameSet;

/* The names of all live instructions, or computations. They and the new ones live in `out`. */
NameSet names_of_insts(const Module *module, Arena *out);
NameSet names_of_comps(const Module *module, Arena *out);

/* Whether several had this name when the set was made, so that they cannot be in one computation.
 */
bool name_is_ambiguous(const NameSet *names, Str name);

/* `wanted` if it is free, else its stem with the lowest free number: x.remat, x.remat.1, … The
 * result is taken from then on; it ends in NUL. */
Str name_unique(NameSet *names, Str wanted);

/* Forgets the names that were taken when there were more than `count`; for who goes back to an
 * earlier state. O(count). */
void names_truncate(NameSet *names, uint32_t count);

/* `x` with the suffix `remat`: x.remat; of x.remat x.remat2, of x.remat2 x.remat3. */
Str name_with_suffix(Str name, const char *suffix, Arena *out);

#endif
