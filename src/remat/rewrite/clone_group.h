/* Groups of clones that are adjacent in the schedule and are recomputed together. */
#ifndef REMAT_HLO_REMAT_REWRITE_CLONE_GROUP_H
#define REMAT_HLO_REMAT_REWRITE_CLONE_GROUP_H

#include "remat/rewrite/rewrite.h"

typedef struct CloneGroup {
  CompId comp;
  SchedPos end;   /* the position after the group in the sequence */
  IdVec before;   /* free instructions between members that read none: they go before it */
  IdVec members;  /* the instructions of the group, in the order of the sequence */
  IdVec after;    /* bitcasts that no member reads: they go after the group */
  IdVec operands; /* the instructions outside the group that members read, each listed once */
} CloneGroup;

typedef struct CloneGroups {
  const Rewrite *rewrite;
  IdVec serials;   /* by InstId: the number of the group that contains the instruction, 0 = none */
  IdVec listed_in; /* by InstId: the number of the group that has it as an operand, 0 = none */
  uint32_t num_groups;
  bool is_fused_later;  /* XLA has not run fusion on this module yet */
  const bool *is_unfit; /* by InstId: it may not be in a group; NULL = all may */
  uint32_t num_insts;   /* length of `is_unfit`; instructions beyond it may be in a group */
  Arena *arena;         /* the lists are allocated here */
} CloneGroups;

/* Returns whether a group begins at the position `begin`, and writes it to `group`. O(length of the
 * group + its operands). */
bool clone_group_at(CloneGroups *groups, Sequence sequence, SchedPos begin, CloneGroup *group);

/* Returns whether an instruction is a member of the group that was found last. */
bool clone_group_has(const CloneGroups *groups, InstId id);

/* Returns whether a member is an iota or a broadcast of a scalar that XLA will still fuse into its
 * users: it then takes no memory, unless something separates it from its users. */
bool clone_group_is_cheap(const CloneGroups *groups, InstId member);

/* Returns whether another member reads this one. */
bool clone_group_reads(const CloneGroups *groups, InstId member);

/* Returns whether an instruction outside the group reads this member, or the member is the root of
 * its computation. */
bool clone_group_exports(const CloneGroups *groups, InstId member);

/* Whether a group may wait for the array: not for one of a single shard, within what Shardy reads
 * as a whole (call_is_of_one_shard). */
bool clone_group_may_tie(const Module *module, InstId id);

#endif
