/* What the forms of protection share. */
#ifndef REMAT_HLO_REMAT_PROTECT_PROTECT_INTERNAL_H
#define REMAT_HLO_REMAT_PROTECT_PROTECT_INTERNAL_H

#include "remat/rewrite/clone_group.h"

/* A group of clones, and where it goes. */
typedef struct ProtectJob {
  Rewrite *rewrite;
  const CloneGroups *groups;
  const CloneGroup *group;
  InstId tie;    /* an array that the schedule makes just before the group, NO_ID = there is none */
  IdVec *order;  /* of the computation: the group is appended to it */
  IdVec *images; /* see protect_images() */
  Arena *scratch;
} ProtectJob;

/* Each puts the group and what protects it into the order; false, with nothing changed, when it is
 * not fit for that. */
bool protect_with_barrier(ProtectJob *job);
bool protect_with_conditional(ProtectJob *job);

/* By InstId, in `out`: what a conditional's branch may not hold. */
const bool *unfit_for_branches(const Rewrite *rewrite, Arena *out, Arena *scratch);

/* Room for what stands for each instruction that there is now, by InstId; not cleared. */
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
