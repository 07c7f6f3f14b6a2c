/* The names that are in use, and new names in the form that XLA gives them
 * (xla/service/name_uniquer.cc, HloInstruction::AddSuffixToInstructionName), so that a
 * rematerialized module looks like one that XLA made. For example, the first clone of `fusion.7` is
 * `fusion.7.remat`. */
#ifndef REMAT_HLO_IR_NAMES_H
#define REMAT_HLO_IR_NAMES_H

#include "ir/module.h"

typedef struct NameEntry {
  Str name;
  int64_t next_number; /* the first N to try for a free `name.N` */
  uint32_t num_owners; /* how many had the name when the set was read: each computation has its own
                          names */
} NameEntry;

typedef struct NameSet {
  Arena *arena;
  const Module *unread; /* the names of its instructions have still to be read; NULL = none have */
  VEC(NameEntry) entries;
  IdTable table;
} NameSet;

/* Returns the names of all live instructions, or of all live computations. The set and the names
 * that are added to it are in `out`. Names of instructions are read from the module when the first
 * of them is asked for: many a module is rewritten without a new name. */
NameSet names_of_insts(const Module *module, Arena *out);
NameSet names_of_comps(const Module *module, Arena *out);

/* Returns true if several instructions had this name when the set was read. They cannot be in the
 * same computation. */
bool name_is_ambiguous(NameSet *names, Str name);

/* Returns `wanted` if it is free, or else its stem with the lowest free number: x.remat, x.remat.1,
 * … The result is then in use. It ends in NUL. */
Str name_unique(NameSet *names, Str wanted);

/* The names of a set at some time. */
typedef struct NameList {
  const Module *unread; /* as in the set */
  NameEntry *entries;
  uint32_t len;
} NameList;

/* Copies the names that are in use now. O(names). */
NameList names_save(const NameSet *names, Arena *out);

/* Returns to the names of a list, which was saved from this set earlier, whether others have been
 * added since or some of these removed. If the names had not been read, the module has to be as it
 * was then. O(names). */
void names_restore(NameSet *names, const NameList *list);

/* Adds the suffix `remat` to a name: `x` becomes x.remat, x.remat becomes x.remat2, and x.remat2
 * becomes x.remat3. */
Str name_with_suffix(Str name, const char *suffix, Arena *out);

#endif
