/* Clones must not read memory that has been overwritten (analysis/interference.h).
 *
 * Algorithms decide by values and know no memory that is shared. After one has run, what it did is
 * judged; the instructions whose clones interfere are kept from being recomputed, and it runs
 * again. */
#ifndef REMAT_HLO_REMAT_SAFE_READS_H
#define REMAT_HLO_REMAT_SAFE_READS_H

#include "ir/diag.h"
#include "remat/rewrite.h"

typedef enum SafeReads {
  READS_SAFE,
  READS_UNSAFE,   /* and at least one instruction more is kept */
  READS_HOPELESS, /* interferences that no clone is to blame for */
} SafeReads;

/* Judges a rewritten module and its order. `is_kept`, by InstId for the first `num_insts`
 * instructions, those that there were before, is true for what must not be cloned (again). */
SafeReads safe_reads_judge(const Rewrite *rewrite, const Schedule *schedule, bool *is_kept,
                           uint32_t num_insts, Arena *scratch);

/* RH_NO, and a note, when something is read after its memory was overwritten, by a clone or not. */
rh_status safe_reads_verify(const Module *module, const Schedule *schedule, rh_diags *diags,
                            Arena *scratch);

/* Decides whether XLA's copies are in a module where that is left open. */
rh_copies copies_resolve(const rh_module *module, rh_copies copies, Arena *scratch);

#endif
