/* What the files of XLA's pass share: standard.c and peak_priority.c decide where memory is to be
 * reduced, standard_pick.c by what, and recompute.c, compress.c and offload.c do it. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_STANDARD_PASS_H
#define REMAT_HLO_REMAT_ALGORITHMS_STANDARD_PASS_H

#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"
#include "analysis/memory/tracker.h"

typedef struct Standard Standard;

/* Reduces one computation's memory, and that of those it calls, to the limit. */
typedef void (*StandardFn)(Standard *standard, CompId comp, int64_t comp_limit_bytes, int depth);

struct Standard {
  RematJob *job;
  Module *module;
  StandardFn reduce;
  VEC(ShapeId) compact;  /* by ShapeId: target_compact_shape, NO_ID = not known */
  const ShapeId *narrow; /* by InstId, for the first `num_narrow`: narrow_shapes */
  uint32_t num_narrow;
  bool keeps_clones; /* no clone is recomputed again, and what is dead goes at once */
  PointsTo points_to;
  Arena *points_to_arena;
  ItemTable items;
  CompMemory *memory;   /* by CompId; only peak_bytes is kept up to date */
  bool *is_done;        /* by CompId */
  double *seconds;      /* by InstId: modelled, of what there was at the beginning; NULL = nothing
                           is offloaded */
  uint32_t num_timed;   /* instructions with a time */
  VEC(uint8_t) verdict; /* by InstId, as standard_pass.c has them */
  RematStats *stats;
  Arena *out, *scratch;
};

/* The state of one computation. */
typedef struct Pass {
  Standard *standard;
  CompId comp;
  int depth; /* of calls */
  ItemList list;
  Tracker tracker;
  int64_t comp_limit_bytes; /* what the computation may hold while it runs, without its callers */
  int64_t cost_limit_bytes; /* that costs are a share of */
  double *begin_seconds; /* by InstId of what there was when it was opened: of all before it; NULL
                            where nothing is offloaded */
  uint32_t num_begun;    /* instructions with an entry */
  Arena *arena;          /* for this tracker */
} Pass;

typedef enum Strategy {
  STRATEGY_RECOMPUTE,
  STRATEGY_COMPRESS,
  STRATEGY_OFFLOAD,
} Strategy;

typedef struct Block {
  InstId *items;
  uint32_t len;
  Strategy strategy; /* that is cheapest */
  double effort;     /* evaluations that it took to find it */
} Block;

/* Sets everything up and reduces the entry to what the job's limit leaves for it. */
void standard_run(RematJob *job, StandardFn reduce, bool keeps_clones, RematStats *stats,
                  Arena *out, Arena *scratch);

/* After the pass, where several computations run at the peak: again with what lives in their
 * callers, callees first. */
void standard_reduce_by_callers(Standard *standard);

/* XLA passes over computations on other threads. */
bool standard_runs_on_main(const Module *module, CompId comp);

/* The points-to analysis of the module as it is now. */
void standard_analyze(Standard *standard);

/* A list and a tracker of the computation's schedule as it is now, nothing placed; all instructions
 * that are large enough are in the express lane. pass_close() frees them, pass_commit() makes the
 * list the schedule. */
void pass_open(Pass *pass);
void pass_commit(Pass *pass);
void pass_close(Pass *pass);

static inline bool pass_is_placed(const Pass *pass, InstId id) {
  return item_get(&pass->list, id)->is_placed;
}

/* Nobody reads it, and it is not the result. */
static inline bool inst_is_unread(const Module *module, InstId id) {
  return inst_get(module, id)->users.len == 0 && !inst_is_root(module, id);
}

/* Whether it may be recomputed; whether it may be compressed. */
bool standard_may_take(Standard *standard, InstId id);
bool standard_may_compress(Standard *standard, InstId id);

/* It is not rematerialized from here on. */
void standard_deny(Standard *standard, InstId id);

/* Bytes of the computations that an instruction calls; 0 when it is no control flow. */
int64_t pass_callee_bytes(const Pass *pass, InstId id);

/* When the instruction in progress and its callees are over the limit: gives the callees what is
 * left of it. */
void pass_reduce_callees(Pass *pass, InstId id);

/* The cheapest block of `min_size` to `max_size` items; len 0 when there is none. */
Block standard_pick(Pass *pass, uint32_t min_size, uint32_t max_size, Arena *out);

/* Rematerializes a block that is not empty by its strategy. */
void standard_apply(Pass *pass, const Block *block);

/* Recomputes those of the block that have uses to come, for these uses. */
void standard_recompute(Pass *pass, const Block *block);

/* Bytes freed by keeping a result in a more compact layout or a narrower type; 0 or less when it
 * cannot be done. */
int64_t compress_bytes_reduced(Pass *pass, InstId id);
void standard_compress(Pass *pass, InstId id);

/* Users that are still to come read `back` instead; they are added to `moved`. */
void standard_move_users(Pass *pass, InstId id, InstId back, IdVec *moved);

/* Models the time that instructions take, before the first change; that of a list when it is
 * opened. */
void offload_begin(Standard *standard, Arena *out);
void offload_open(Pass *pass);

/* Bytes freed by keeping a result in the host's memory until it is read again; 0 when it cannot be
 * done, or copying takes longer than what runs in between. */
int64_t offload_bytes_reduced(Pass *pass, InstId id);
void standard_offload(Pass *pass, InstId id);

#endif
