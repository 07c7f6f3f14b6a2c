/* How a solver ended that gave no answer, for a warning: algorithms go on without it. */
#ifndef REMAT_HLO_REMAT_JOB_SOLVER_END_H
#define REMAT_HLO_REMAT_JOB_SOLVER_END_H

typedef enum SolverEndKind {
  SOLVER_END_USUAL,       /* it gave an answer, or was stopped, or did not run */
  SOLVER_END_NOT_STARTED, /* there is no child process: the code is that of errno */
  SOLVER_END_SIGNAL,      /* the code is the signal that killed it, such as SIGKILL where the system
                             ran out of memory */
  SOLVER_END_EXIT,        /* it ended by itself: the code is the exit status */
} SolverEndKind;

typedef struct SolverEnd {
  SolverEndKind kind;
  int code;
} SolverEnd;

#endif
