/* Clones that the schedule has in a row: what is recomputed together. */
#ifndef REMAT_HLO_REMAT_REWRITE_CLONE_GROUP_H
#define REMAT_HLO_REMAT_REWRITE_CLONE_GROUP_H

#include "remat/rewrite/rewrite.h"

typedef struct CloneGroup {
  CompId comp;
  SchedPos end;   /* behind the group in the sequence */
  IdVec before;   /* of the row, but they read nothing of the group: they go before it */
  IdVec members;  /* in order */
  IdVec after;    /* bitcasts that no member reads: they go behind it */
  IdVec operands; /* what members read that is none of them, each once */
} CloneGroup;

typedef struct CloneGroups {
  const Rewrite *rewrite;
  IdVec serials;   /* by InstId: the group that it is in, 0 = none */
  IdVec listed_in; /* by InstId: the group that has it among its operands, likewise */
  uint32_t num_groups;
  bool is_fused_later;  /* XLA has not fused yet what is in the module */
  const bool *is_unfit; /* by InstId: for a group; NULL = nothing is */
  uint32_t num_insts;   /* that this is said of: what comes later is fit */
  Arena *arena;         /* of the lists */
} CloneGroups;

/* Whether a group begins at a position, and which one. O(its length and operands). */
bool clone_group_at(CloneGroups *groups, Sequence sequence, SchedPos begin, CloneGroup *group);

/* Whether an instruction is in the group that was found last. */
bool clone_group_has(const CloneGroups *groups, InstId id);

/* Whether a member of it is a broadcast of a scalar or an iota that XLA will still fuse into those
 * who read it: it takes no memory, unless something keeps them apart. */
bool clone_group_is_cheap(const CloneGroups *groups, InstId member);

/* Whether another member reads this one. */
bool clone_group_reads(const CloneGroups *groups, InstId member);

/* Whether somebody outside of that group reads a member of it, or it is the computation's root. */
bool clone_group_exports(const CloneGroups *groups, InstId member);

#endif
