/* The state of a walk through a module in the order in which it runs (overwrites.h): what memory
 * holds (overwrites_memory.c), and where in the module it is (overwrites.c). overwriters.c asks it
 * for the places of writes. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_INTERNAL_H
#define REMAT_HLO_ANALYSIS_MEMORY_OVERWRITES_INTERNAL_H

#include "analysis/memory/overwrites.h"

typedef uint32_t WriteId; /* 0 = the state before the first write */

/* A write into a buffer; the branches of one conditional may leave several values. */
typedef struct Write {
  ValueId holder;
  WriteId other; /* another write that the memory may come from instead, 0 = none */
} Write;

/* A write at a position of a computation's sequence, by the instruction there or by its callees. */
typedef struct PlacedWrite {
  CompId comp;
  BufferId buffer;
  SchedPos pos;
} PlacedWrite;

typedef struct Undo {
  BufferId buffer;
  WriteId before;
} Undo;

/* The write that a branch left in a buffer. */
typedef struct Left {
  BufferId buffer;
  WriteId write;
} Left;

typedef struct Frame {
  CompId comp;
  SchedPos pos;       /* the instruction that is being executed */
  uint32_t callee;    /* index of its next callee */
  uint32_t undo_mark; /* where the undos of the current branch begin */
  uint32_t left_mark; /* where the entries of the current conditional begin in Walk.left */
} Frame;

typedef struct Walk {
  const Module *module;
  const ValueAnalysis *values;
  const Schedule *schedule;
  bool *is_shared; /* by BufferId: holds arrays of more than one value; XLA never copies tokens, and
                      tables of pointers are known when the program is built */
  WriteId *write_of;     /* by ValueId: the write that stored it; NO_ID = none yet */
  WriteId *current;      /* by BufferId: what the memory holds now */
  WriteId *merged;       /* by BufferId: of the conditional that is being left, 0 = none */
  bool *is_entered;      /* by CompId */
  uint32_t num_branches; /* nested branches that are being executed */
  VEC(Write) writes;
  VEC(Frame) stack;
  VEC(Undo) undos;
  VEC(Left) left;
  VEC(PlacedWrite) placed;
  bool keeps_places;
  OverwrittenReads *reads; /* NULL = not requested */
  Arena *out, *scratch;
} Walk;

static inline ValueId walk_value(const Walk *walk, InstId id, uint32_t part) {
  return dataflow_value(&walk->values->flow, id, part);
}

static inline uint32_t walk_num_parts(const Walk *walk, InstId id) {
  return inst_shape(walk->module, id)->num_parts;
}

/* ---- what memory holds ---- */

/* Notes that `reader` reads a value where another one, `holder`, may be. */
void walk_add_read(Walk *walk, InstId reader, ValueId value, ValueId holder);
/* Reads one value, all parts of an instruction, or the operands of one. */
void walk_read_value(Walk *walk, ValueId value, InstId reader);
void walk_read_parts(Walk *walk, InstId id, InstId reader);
void walk_read_operands(Walk *walk, InstId id);

/* A write of a value into its buffer, or of `other`, if branches left different ones. */
WriteId walk_add_write(Walk *walk, ValueId holder, WriteId other);
/* Writes the values that an instruction computes. The values that it passes on have been written by
 * other instructions. */
void walk_write_results(Walk *walk, InstId id);
/* The phis that the instruction defines become names of what the memory holds. */
void walk_rename_results(Walk *walk, InstId id);
/* Writes what exists before anything runs. */
void walk_write_given(Walk *walk);

/* Undoes a branch's writes and records what it left in memory. */
void walk_leave_branch(Walk *walk, const Frame *frame);
/* After the conditional, a buffer that some branch has written holds what one of the branches
 * left. */
void walk_merge_branches(Walk *walk, const Frame *frame, uint32_t num_branches);

/* ---- running ---- */

/* Walks through the whole module. */
void walk_module(Walk *walk);

#endif
