/* The choices of what to recompute in one order, as the columns and rows of a program.
 *
 * The line's steps are numbered; clones run at a stage: between a step and the one before. A value
 * is a part of a step's result that somebody reads and that takes memory or may be overwritten, or
 * that is forwarded from such a part. The program has a column for each clone that may run:
 *
 *     again[v, t]   a clone of step v runs at stage t
 *
 * and for each gap between two events of a value, which are the stages at which it may be read, by
 * steps or by clones, or be made again:
 *
 *     kept[x, k]    x lives from event k - 1 to event k
 *
 *     runs[v]           step v runs at its place; only for steps that may be computed later instead
 *
 * The first event follows the step of the value. What reads x at event k needs kept[x, k], or
 * again[v, t] of its step v at that stage t. A gap can only be kept if the value was there at its
 * beginning. At each step, the values that are kept across it, and what the step needs by itself,
 * are within the limit. This is the integer program of Checkmate (Jain et al., 2020), with stages
 * only where something can change.
 *
 * Memory may be taken over from an operand that nobody reads later. A column for each such reuse,
 * which is at most 1 - kept, frees the bytes that both share.
 *
 * The memory of clones is not in the program at first. What it is depends on which others run at
 * the same stage; model_add_clone_row() adds it for one clone. Without it, and with clones at all
 * stages, the program is a relaxation: no line adds less time than its best solution. */
#ifndef REMAT_HLO_REMAT_EXACT_MODEL_H
#define REMAT_HLO_REMAT_EXACT_MODEL_H

#include "remat/exact/solver.h"
#include "remat/search/line.h"

typedef struct ModelRules {
  uint32_t most_columns;
  bool is_bound;     /* the program must be a relaxation for all algorithms, not only for lines */
  bool keeps_places; /* all steps run at their places; otherwise one that nobody reads before a
                        clone of it need not run: it is computed later instead */
  /* Clones may run at any stage. Otherwise only at those of readers, and of clones of readers to
   * this depth, where the line exceeds the limit before; with `has_early` also at those of others
   * that read the same operands, which then need not be kept for the clone. */
  bool is_dense;
  bool has_early;
  uint32_t depth;
} ModelRules;

/* A value. */
typedef struct ModelValue {
  StepId owner;
  uint32_t part;       /* of the line */
  int64_t bytes;       /* 0 if it is forwarded */
  uint32_t from;       /* the value that it is forwarded from; NO_ID = none */
  StepId gone_at;      /* the step that overwrites what the original run made; NO_ID = none */
  IdVec readers;       /* steps that read it, ascending */
  IdVec holders;       /* likewise, through what it is forwarded to, too */
  IdVec events;        /* stages, ascending */
  uint32_t first_kept; /* column of the first gap; those of the others follow */
} ModelValue;

/* The clones of a step. */
typedef struct ModelClones {
  IdVec stages; /* ascending */
  uint32_t first_column;
} ModelClones;

typedef struct Model {
  const Line *line; /* without clones */
  ModelRules rules;
  LineMemory memory;
  int64_t limit_bytes;
  double unit_bytes;    /* of a row */
  double scale;         /* cost of a second */
  double fixed_seconds; /* of the steps that always run */
  VEC(ModelValue) values;
  uint32_t *value_of;  /* by part of the line; NO_ID = it always lives, or nobody reads it */
  StepId *gone_at;     /* by part of the line, through what it is forwarded from */
  ModelClones *clones; /* by step */
  uint32_t *runs;      /* by step: the column of its original run; NO_ID = it always runs */
  StepId *first_read;  /* by step: the first step that reads a value of it; NO_ID = none */
  IdVec *reads;        /* by step: the values that it reads */
  IdVec *roots;        /* by step: the values whose memory it reads */
  Program program;
  uint32_t *row_of; /* by step: the row of its memory; NO_ID = it always is within the limit */
  Arena *arena;
} Model;

/* Builds the program of a line without clones. Returns false if it would need too many columns. */
bool model_build(const Line *line, int64_t limit_bytes, const ModelRules *rules, Model *model,
                 Arena *out, Arena *scratch);

/* The column of a clone; NO_ID if there is none. */
uint32_t model_clone(const Model *model, StepId step, StepId stage);

/* Adds that the memory at a clone is within the limit. Returns the row. */
uint32_t model_add_clone_row(Model *model, StepId step, StepId stage);

/* The row of a step's memory, which is added if there is none. */
uint32_t model_step_row(Model *model, StepId step);

/* Excludes a solution that exceeds the limit at a step or clone even though its row holds, because
 * lines count more than the program where memory is taken over, or where two runs of a node live
 * at the same time: less is to be kept there, a clone is not to run, or what the step takes over is
 * to be needed later. */
void model_exclude(Model *model, uint32_t row, StepId step, StepId stage, const bool *is_one);

#endif
