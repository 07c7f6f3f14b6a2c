/* Replaces fusions by their instructions, so that these can be rematerialized one by one. */
#ifndef REMAT_HLO_REMAT_REWRITE_UNFUSE_H
#define REMAT_HLO_REMAT_REWRITE_UNFUSE_H

#include "remat/rewrite/rewrite.h"

typedef enum UnfuseKind {
  UNFUSE_LOOP = 1 << 0,
  UNFUSE_INPUT = 1 << 1,
  UNFUSE_OUTPUT = 1 << 2,
  UNFUSE_ALL = UNFUSE_LOOP | UNFUSE_INPUT | UNFUSE_OUTPUT,
} UnfuseKind;

/* Whether the instruction is a fusion of one of these kinds. */
bool unfuse_is_wanted(const Module *module, InstId id, unsigned kinds);

/* Replaces fusions of these kinds by copies of their instructions. Custom fusions are kept, because
 * their backend_config determines what they compute, and so are those that run asynchronously. In a
 * module that is past copy-insertion, fusions that contain an instruction which works in place are
 * kept too; with a fusion, the fusions in it are kept. The result computes the same as the input by
 * the semantics of HLO, but a compiler may round it differently. Returns the number of fusions
 * replaced. */
uint32_t unfuse(Rewrite *rewrite, Schedule *schedule, unsigned kinds, Arena *out, Arena *scratch);

#endif
