/* Mixed integer programs, solved by COIN-OR's CBC.
 *
 * CBC is a C++ library that prints, may crash, and cannot be interrupted at will, so it runs in a
 * process of its own: a child of this one loads it, solves the program, and sends the answer
 * through a pipe. The library is looked for when a program is solved, and only then; nothing of it
 * is needed to build or to run anything else. */
#ifndef REMAT_HLO_REMAT_EXACT_SOLVER_H
#define REMAT_HLO_REMAT_EXACT_SOLVER_H

#include "ir/arena.h"
#include "ir/vec.h"
#include "remat/job/patience.h"
#include "remat/job/solver_end.h"

/* Columns are from 0 to 1. */
typedef struct ProgramColumn {
  double cost;
  double least; /* 1 = it is fixed to 1 */
  bool is_integer;
} ProgramColumn;

typedef struct ProgramTerm {
  uint32_t column;
  double factor;
} ProgramTerm;

/* The sum of the terms up to those of the next row is at most `most`. */
typedef struct ProgramRow {
  uint32_t first_term;
  double most;
} ProgramRow;

/* Minimise the sum of cost * column. The rows' terms are added after the row. */
typedef struct Program {
  VEC(ProgramColumn) columns;
  VEC(ProgramRow) rows;
  VEC(ProgramTerm) terms;
  Arena *arena;
} Program;

uint32_t program_add_column(Program *program, double cost, bool is_integer);
void program_add_row(Program *program, double most);
void program_add_term(Program *program, uint32_t column, double factor);

typedef enum SolverStatus {
  SOLVER_SOLVED,     /* the solution is the best one, within the gap */
  SOLVER_LIMITED,    /* it ended early; there may be a solution */
  SOLVER_INFEASIBLE, /* there is no solution, or none below the cutoff */
  SOLVER_MISSING,    /* the library is not there */
  SOLVER_FAILED,     /* it ended without an answer, as `end` says, or was stopped */
} SolverStatus;

typedef struct SolverLimits {
  int num_nodes; /* of the search tree: the same on every machine */
  double gap;    /* a solution is good enough if it costs at most this more than the best one */
  double cutoff; /* only solutions that cost less than this are wanted; INFINITY = all */
} SolverLimits;

typedef struct SolverAnswer {
  SolverStatus status;
  bool has_solution;
  double bound;       /* no solution costs less; -INFINITY = unknown */
  const bool *is_one; /* by column: of the solution; for integers */
  SolverEnd end;
} SolverAnswer;

/* The deadline of the patience also ends the solver, and so does its caller. */
SolverAnswer program_solve(const Program *program, const SolverLimits *limits, Patience *patience,
                           Arena *out, Arena *scratch);

/* Whether the library can be loaded, which a child tries. */
bool solver_is_there(void);

#endif
