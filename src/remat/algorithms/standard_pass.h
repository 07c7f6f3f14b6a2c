/* What the files of XLA's pass share: standard.c and peak_priority.c decide where memory must be
 * reduced, standard_pick.c chooses the instructions, and recompute.c, compress.c and offload.c
 * rematerialize them. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_STANDARD_PASS_H
#define REMAT_HLO_REMAT_ALGORITHMS_STANDARD_PASS_H

#include "analysis/memory/remat_memory.h"
#include "remat/job/compact_shapes.h"
#include "analysis/memory/tracker.h"

typedef struct Standard Standard;

/* Reduces the memory of one computation, and of those it calls, to the limit. */
typedef void (*StandardFn)(Standard *standard, CompId comp, int64_t comp_limit_bytes, int depth);

struct Standard {
  RematJob *job;
  Module *module;
  StandardFn reduce;
  CompactShapes compact;
  /* clones are not recomputed again, and dead instructions are removed at once */
  bool keeps_clones;
  PointsTo points_to;
  Arena *points_to_arena;
  ItemTable items;
  CompMemory *memory; /* by CompId; only peak_bytes is kept up to date */
  bool *is_done;      /* by CompId */
  /* by InstId: modelled time of the instructions of the input; NULL = nothing is offloaded */
  double *seconds;
  uint32_t num_timed;   /* instructions with a time */
  VEC(uint8_t) verdict; /* by InstId: see standard_pass.c */
  RematStats *stats;
  Arena *out, *scratch;
};

typedef struct StandardIndex StandardIndex; /* standard_index.h */

/* The state of one computation. */
typedef struct Pass {
  Standard *standard;
  CompId comp;
  int depth; /* of nested calls */
  ItemList list;
  Tracker tracker;
  /* what the computation may hold while it runs, without the bytes of its callers */
  int64_t comp_limit_bytes;
  int64_t cost_limit_bytes; /* the bytes that costs are a fraction of */
  /* by InstId, for instructions that existed at pass_open(): the time of all instructions before
   * it; NULL = nothing is offloaded */
  double *begin_seconds;
  uint32_t num_begun;   /* instructions with an entry */
  StandardIndex *index; /* NULL = each pick looks at all instructions */
  Arena *arena;         /* for this tracker */
} Pass;

typedef enum Strategy {
  STRATEGY_RECOMPUTE,
  STRATEGY_COMPRESS,
  STRATEGY_OFFLOAD,
} Strategy;

typedef struct Block {
  InstId *items;
  uint32_t len;
  Strategy strategy; /* the cheapest one */
  double effort;     /* number of evaluations that were needed to find the block */
} Block;

/* Prepares the pass and reduces the entry computation to what the job's limit leaves for it. */
void standard_run(RematJob *job, StandardFn reduce, bool keeps_clones, RematStats *stats,
                  Arena *out, Arena *scratch);

/* Runs after the pass if several computations run at the peak: reduces them again, callees first,
 * given what lives in their callers. */
void standard_reduce_by_callers(Standard *standard);

/* Whether a computation runs on the main thread. XLA skips computations on other threads. */
bool standard_runs_on_main(const Module *module, CompId comp);

/* Updates the points-to analysis to the current module. */
void standard_analyze(Standard *standard);

/* pass_open() builds a list and a tracker of the computation's current schedule, in which nothing
 * is placed. All instructions that are large enough are in the express lane. pass_commit() makes
 * the list the schedule; pass_close() frees list and tracker. */
void pass_open(Pass *pass);
void pass_commit(Pass *pass);
void pass_close(Pass *pass);

static inline bool pass_is_placed(const Pass *pass, InstId id) {
  return item_get(&pass->list, id)->is_placed;
}

/* Whether the instruction has no users and is not the root. */
static inline bool inst_is_unread(const Module *module, InstId id) {
  return inst_get(module, id)->users.len == 0 && !inst_is_root(module, id);
}

/* Whether an instruction may be recomputed, and whether it may be compressed. */
bool standard_may_take(Standard *standard, InstId id);
bool standard_may_compress(Standard *standard, InstId id);

/* From now on, the instruction is not rematerialized. */
void standard_deny(Standard *standard, InstId id);

/* Bytes of the computations that an instruction calls; 0 if it is not a control flow instruction.
 */
int64_t pass_callee_bytes(const Pass *pass, InstId id);

/* If the instruction in progress and its callees exceed the limit, reduces the callees to the
 * memory that is left. */
void pass_reduce_callees(Pass *pass, InstId id);

/* The cheapest block of `min_size` to `max_size` items; its len is 0 if there is none. */
Block standard_pick(Pass *pass, uint32_t min_size, uint32_t max_size, Arena *out);

/* Bytes freed by recomputing a block; INT64_MAX if it is only moved, because it has no placed user
 * and so costs nothing; -1 if it cannot be recomputed or if that frees nothing. */
int64_t standard_bytes_freed(const Pass *pass, const InstId *block, uint32_t len);

/* Rematerializes a non-empty block by its strategy. */
void standard_apply(Pass *pass, const Block *block);

/* Recomputes each instruction of the block that has unplaced uses, for these uses. */
void standard_recompute(Pass *pass, const Block *block);

/* Bytes freed by keeping a result in a more compact layout or a narrower type; 0 or less if that is
 * not possible. */
int64_t compress_bytes_reduced(Pass *pass, InstId id);
void standard_compress(Pass *pass, InstId id);

/* Redirects the unplaced users of `id` to `back`, and adds these users to `moved`. */
void standard_move_users(Pass *pass, InstId id, InstId back, IdVec *moved);

/* offload_begin() models the time of all instructions, before the first change. offload_open()
 * models the times at which the instructions of a list begin. */
void offload_begin(Standard *standard, Arena *out);
void offload_open(Pass *pass);

/* Bytes freed by keeping a result in the host's memory until it is read again; 0 if that is not
 * possible, or if copying takes longer than the instructions that run in between. */
int64_t offload_bytes_reduced(Pass *pass, InstId id);
void standard_offload(Pass *pass, InstId id);

#endif
