/* The parts that the forms of protection share. */
#ifndef REMAT_HLO_REMAT_PROTECT_PROTECT_INTERNAL_H
#define REMAT_HLO_REMAT_PROTECT_PROTECT_INTERNAL_H

#include "remat/rewrite/clone_group.h"

/* A group of clones to protect, and the sequence that it becomes part of. */
typedef struct ProtectJob {
  Rewrite *rewrite;
  const CloneGroups *groups;
  const CloneGroup *group;
  /* an array that the schedule computes just before the group; NO_ID = there is none */
  InstId tie;
  IdVec *order;  /* the new sequence of the computation; the group is appended to it */
  IdVec *images; /* see protect_images() */
  Arena *scratch;
} ProtectJob;

/* Each appends the group and its protection to `order`. Returns false, with nothing changed, if
 * this form of protection is not possible for the group. */
bool protect_with_barrier(ProtectJob *job);
bool protect_with_conditional(ProtectJob *job);

/* By InstId, in `out`: the instructions that the branch of a conditional must not contain. */
const bool *unfit_for_branches(const Rewrite *rewrite, Arena *out, Arena *scratch);

/* An array by InstId, for the replacement of each instruction; it has an entry for each instruction
 * that exists now, and is not cleared. */
static inline InstId *protect_images(ProtectJob *job) {
  uint32_t num_insts = job->rewrite->module->insts.len;
  if (job->images->len < num_insts) {
    (void)vec_extend(job->scratch, job->images, num_insts - job->images->len);
  }
  return job->images->data;
}

static inline void protect_push(ProtectJob *job, InstId id) {
  *vec_push(job->scratch, job->order) = id;
}

#endif
