/* Checks that a rewritten module reads no overwritten memory (analysis/memory/overwrites.h) that
 * the input does not read.
 *
 * A module that is past copy-insertion should have no such reads. If the analysis still finds some
 * in the input, they are *known* reads, and the instructions that take part in them keep their
 * relative order. Any other such read is a fault of the rewrite. Reads are compared one by one, by
 * the names of the reader, of the value, and of what its memory holds when it is read. Therefore a
 * read by a clone is never a known one. */
#ifndef REMAT_HLO_REMAT_LEGALITY_SAFE_READS_H
#define REMAT_HLO_REMAT_LEGALITY_SAFE_READS_H

#include "analysis/memory/overwrites.h"
#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* The names of an instruction and its computation; for a value, also the part of the result. */
typedef struct PlaceName {
  Str comp, inst;
  uint32_t part;
} PlaceName;

/* A read of overwritten memory, described by names of its module. */
typedef struct NamedRead {
  PlaceName reader, value, holder;
} NamedRead;

typedef struct KnownReads {
  NamedRead *list; /* sorted */
  uint32_t len;
} KnownReads;

/* The reads of overwritten memory of a module in a given order. The module must outlive them. */
KnownReads known_reads_find(Module *module, const Schedule *schedule, Arena *out, Arena *scratch);

/* What a rewrite of a module may read: as above, and what the module reads without its dead code,
 * which rewrites remove. For the same read it can then be another value that the memory holds. */
KnownReads known_reads_of_input(Module *module, const Schedule *schedule, Arena *out,
                                Arena *scratch);

typedef enum SafeReads {
  READS_SAFE,
  READS_UNSAFE,        /* and at least one more instruction is kept */
  READS_NOT_BY_CLONES, /* a read of overwritten memory is not the fault of any clone */
} SafeReads;

/* Judges a rewritten module and its order. `is_kept` is by InstId for the first `num_insts`
 * instructions, which are those of the input. It is set for the instructions that must not be
 * cloned (again). */
SafeReads safe_reads_judge(const Rewrite *rewrite, const Schedule *schedule,
                           const KnownReads *known, bool *is_kept, uint32_t num_insts,
                           Arena *scratch);

/* A module and the order in which it is judged. If XLA will choose the order, the order of the text
 * is used. */
typedef struct OrderedModule {
  Module *module;
  const Schedule *schedule;
  bool is_open; /* XLA will choose the order */
} OrderedModule;

/* RH_NOT_EQUIVALENT, with notes, if an instruction of `after` reads overwritten memory, or may read
 * it in an order that XLA may choose, and `before` does not have the same read. */
rh_status safe_reads_verify(const OrderedModule *before, const OrderedModule *after,
                            rh_diags *diags, Arena *scratch);

/* Warns about known reads. */
void known_reads_warn(const KnownReads *known, rh_diags *diags);

#endif
