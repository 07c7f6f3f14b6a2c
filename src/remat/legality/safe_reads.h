/* No read of overwritten memory (analysis/memory/overwrites.h) that the module did not have before.
 *
 * In a module that has its copies such reads should not exist; where the analysis sees some all the
 * same, they are *known* reads, and what takes part in them stays where it is relative to each
 * other. Any other one is a fault of a rewrite: reads are compared one by one, by the names of the
 * reader, of the value and of what its memory holds by then, so that a clone's read is never a
 * known one. */
#ifndef REMAT_HLO_REMAT_LEGALITY_SAFE_READS_H
#define REMAT_HLO_REMAT_LEGALITY_SAFE_READS_H

#include "analysis/memory/overwrites.h"
#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* Names of an instruction and its computation; of a value also which part of the result it is. */
typedef struct PlaceName {
  Str comp, inst;
  uint32_t part;
} PlaceName;

/* An overwritten read by names, which are those of its module. */
typedef struct NamedRead {
  PlaceName reader, value, holder;
} NamedRead;

typedef struct KnownReads {
  NamedRead *list; /* sorted */
  uint32_t len;
} KnownReads;

/* The overwritten reads of a module in an order. The module must outlive them. */
KnownReads known_reads_find(Module *module, const Schedule *schedule, Arena *out, Arena *scratch);

typedef enum SafeReads {
  READS_SAFE,
  READS_UNSAFE,   /* and at least one instruction more is kept */
  READS_HOPELESS, /* overwritten reads that no clone is to blame for */
} SafeReads;

/* Judges a rewritten module and its order. `is_kept`, by InstId for the first `num_insts`
 * instructions, those that there were before, is true for what must not be cloned (again). */
SafeReads safe_reads_judge(const Rewrite *rewrite, const Schedule *schedule,
                           const KnownReads *known, bool *is_kept, uint32_t num_insts,
                           Arena *scratch);

/* A module and the order that it is judged in: its own, or that of its text where XLA will choose
 * one. */
typedef struct OrderedModule {
  Module *module;
  const Schedule *schedule;
  bool is_open; /* XLA will choose */
} OrderedModule;

/* RH_NO, and notes, when something in `after` is read whose memory has been overwritten, or may be
 * in an order that XLA may choose, unless that is so in `before`, too. */
rh_status safe_reads_verify(const OrderedModule *before, const OrderedModule *after,
                            rh_diags *diags, Arena *scratch);

/* Warns of known reads. */
void known_reads_warn(const KnownReads *known, rh_diags *diags);

#endif
