#include "remat/exact/solver.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ir/clock.h"

uint32_t program_add_column(Program *program, double cost, bool is_integer) {
  *vec_push(program->arena, &program->columns) =
      (ProgramColumn){.cost = cost, .is_integer = is_integer};
  return program->columns.len - 1;
}

void program_add_row(Program *program, double most) {
  *vec_push(program->arena, &program->rows) = (ProgramRow){program->terms.len, most};
}

void program_add_term(Program *program, uint32_t column, double factor) {
  *vec_push(program->arena, &program->terms) = (ProgramTerm){column, factor};
}

#ifdef REMAT_HLO_CBC

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum {
  POLL_MILLISECONDS = 50,
  GRACE_SECONDS = 2, /* that the solver has after the deadline to hand over what it has */
};

/* ---- the library ---- */

/* What is used of Cbc_C_Interface.h, of CBC 2.10. */
typedef struct CbcModel CbcModel;

#define CBC_FUNCTIONS(FUNCTION)                                                                 \
  FUNCTION(CbcModel *, newModel, (void))                                                        \
  FUNCTION(void, loadProblem,                                                                   \
           (CbcModel *, int num_columns, int num_rows, const int *starts, const int *rows,      \
            const double *factors, const double *least, const double *most, const double *cost, \
            const double *row_least, const double *row_most))                                   \
  FUNCTION(void, setInteger, (CbcModel *, int column))                                          \
  FUNCTION(void, setParameter, (CbcModel *, const char *name, const char *value))               \
  FUNCTION(void, setLogLevel, (CbcModel *, int level))                                          \
  FUNCTION(void, setMaximumNodes, (CbcModel *, int num_nodes))                                  \
  FUNCTION(void, setMaximumSeconds, (CbcModel *, double seconds))                               \
  FUNCTION(void, setAllowableGap, (CbcModel *, double gap))                                     \
  FUNCTION(void, setCutoff, (CbcModel *, double cutoff))                                        \
  FUNCTION(int, solve, (CbcModel *))                                                            \
  FUNCTION(int, status, (CbcModel *))                                                           \
  FUNCTION(int, isProvenOptimal, (CbcModel *))                                                  \
  FUNCTION(int, isProvenInfeasible, (CbcModel *))                                               \
  FUNCTION(double, getBestPossibleObjValue, (CbcModel *))                                       \
  FUNCTION(double *, bestSolution, (CbcModel *))

typedef struct Cbc {
#define FUNCTION(type, name, arguments) type(*name) arguments;
  CBC_FUNCTIONS(FUNCTION)
#undef FUNCTION
} Cbc;

/* ISO C converts no object pointer to a function pointer; POSIX says that the bytes are one. */
static bool find_function(void *library, const char *name, void *function, size_t size) {
  void *found = dlsym(library, name);
  memcpy(function, &found, size);
  return found;
}

static bool cbc_load(Cbc *cbc) {
  void *library = dlopen(REMAT_HLO_CBC, RTLD_NOW | RTLD_LOCAL);
  bool is_whole = library;
#define FUNCTION(type, name, arguments) \
  is_whole = is_whole && find_function(library, "Cbc_" #name, &cbc->name, sizeof cbc->name);
  CBC_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return is_whole;
}

/* ---- the child ---- */

/* The program by columns, as the library wants it. Made by the parent: the child of a process with
 * several threads should do as little as possible. */
typedef struct Columns {
  int num_columns, num_rows;
  int *starts, *rows;
  double *factors, *least, *most, *cost, *row_least, *row_most;
} Columns;

static Columns columns_of(const Program *program, Arena *arena) {
  uint32_t num_columns = program->columns.len, num_rows = program->rows.len;
  uint32_t num_terms = program->terms.len;
  Columns columns = {.num_columns = (int)num_columns,
                     .num_rows = (int)num_rows,
                     .starts = arena_zarray(arena, int, (size_t)num_columns + 2),
                     .rows = arena_array(arena, int, num_terms),
                     .factors = arena_array(arena, double, num_terms),
                     .least = arena_array(arena, double, num_columns),
                     .most = arena_array(arena, double, num_columns),
                     .cost = arena_array(arena, double, num_columns),
                     .row_least = arena_array(arena, double, num_rows),
                     .row_most = arena_array(arena, double, num_rows)};
  for (uint32_t i = 0; i < num_columns; i++) {
    columns.least[i] = program->columns.data[i].least;
    columns.most[i] = 1;
    columns.cost[i] = program->columns.data[i].cost;
  }
  for (uint32_t i = 0; i < num_terms; i++)
    columns.starts[program->terms.data[i].column + 2]++;
  for (uint32_t i = 0; i < num_columns; i++)
    columns.starts[i + 2] += columns.starts[i + 1];
  for (uint32_t row = 0; row < num_rows; row++) {
    bool is_last = row + 1 == num_rows;
    uint32_t end = is_last ? num_terms : program->rows.data[row + 1].first_term;
    columns.row_least[row] = -INFINITY;
    columns.row_most[row] = program->rows.data[row].most;
    for (uint32_t i = program->rows.data[row].first_term; i < end; i++) {
      int place = columns.starts[program->terms.data[i].column + 1]++;
      columns.rows[place] = (int)row;
      columns.factors[place] = program->terms.data[i].factor;
    }
  }
  return columns;
}

typedef struct Head {
  SolverStatus status;
  bool has_solution;
  double bound;
} Head;

static void write_all(int file, const void *data, size_t size) {
  for (const char *next = data; size > 0;) {
    ssize_t count = write(file, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(1);
    next += count;
    size -= (size_t)count;
  }
}

/* Nothing of the parent's may be touched: no output, no signals, no handlers at exit. */
static void isolate(pid_t parent, int keep) {
  static const int usual_signals[] = {SIGHUP, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGPIPE};
  struct rlimit none = {0, 0};
  struct sigaction usual = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
  sigset_t no_signals;
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the parent, however that ends */
#endif
  if (getppid() != parent) _exit(1); /* it ended before that was asked for */
  /* Ctrl-C is for the parent, which ends the child. */
  (void)sigaction(SIGINT, &ignored, NULL);
  for (size_t i = 0; i < sizeof usual_signals / sizeof *usual_signals; i++) {
    struct sigaction before;
    if (sigaction(usual_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    (void)sigaction(usual_signals[i], &usual, NULL);
  }
  sigemptyset(&no_signals);
  (void)sigprocmask(SIG_SETMASK, &no_signals, NULL);
  (void)setrlimit(RLIMIT_CORE, &none);
  int nowhere = open("/dev/null", O_RDWR);
  if (nowhere < 0) _exit(1);
  for (int file = 0; file <= 2; file++) {
    if (file != keep) (void)dup2(nowhere, file);
  }
}

/* Forks a child that is isolated but for the file `keep`. No signal may arrive in the child before
 * that: the parent's handlers would run there. */
static pid_t fork_isolated(int keep) {
  sigset_t all, before;
  pid_t parent = getpid();
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) isolate(parent, keep);
  int error = errno;
  if (child != 0) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return child;
}

static void solve_in_child(const Columns *columns, const Program *program,
                           const SolverLimits *limits, double seconds, bool *is_one, int out) {
  Cbc cbc;
  Head head = {.status = SOLVER_MISSING, .bound = -INFINITY};
  if (!cbc_load(&cbc)) {
    write_all(out, &head, sizeof head);
    _exit(0);
  }
  CbcModel *model = cbc.newModel();
  cbc.loadProblem(model, columns->num_columns, columns->num_rows, columns->starts, columns->rows,
                  columns->factors, columns->least, columns->most, columns->cost,
                  columns->row_least, columns->row_most);
  for (int i = 0; i < columns->num_columns; i++) {
    if (program->columns.data[i].is_integer) cbc.setInteger(model, i);
  }
  cbc.setLogLevel(model, 0);
  cbc.setParameter(model, "threads", "0"); /* several would not give the same answer each time */
  cbc.setMaximumNodes(model, limits->num_nodes);
  if (seconds > 0) cbc.setMaximumSeconds(model, seconds);
  cbc.setAllowableGap(model, limits->gap);
  if (isfinite(limits->cutoff)) cbc.setCutoff(model, limits->cutoff);
  (void)cbc.solve(model);
  const double *solution = cbc.bestSolution(model);
  head.has_solution = solution;
  head.bound = cbc.getBestPossibleObjValue(model);
  head.status = cbc.isProvenInfeasible(model) ? SOLVER_INFEASIBLE
                : cbc.isProvenOptimal(model)  ? SOLVER_SOLVED
                                              : SOLVER_LIMITED;
  if (head.status == SOLVER_INFEASIBLE) head.has_solution = false;
  for (int i = 0; head.has_solution && i < columns->num_columns; i++)
    is_one[i] = solution[i] > 0.5;
  write_all(out, &head, sizeof head);
  write_all(out, is_one, (size_t)columns->num_columns * sizeof *is_one);
  _exit(0);
}

/* ---- the parent ---- */

static double seconds_left(const Patience *patience) {
  if (!patience) return 0;
  const Patience *whole = patience->whole ? patience->whole : patience;
  if (whole->end_seconds <= 0) return 0;
  double left = whole->end_seconds - seconds_now();
  return left > 0.1 ? left : 0.1;
}

typedef enum Reading {
  READING_DONE,
  READING_ENDED,   /* the child ended before */
  READING_STOPPED, /* the child is to be ended: the run was cancelled, or the deadline is over */
} Reading;

/* Whether the child has ended. Its end of the pipe does not tell: a child that another thread
 * forked at the same time has it open, too. */
static bool has_ended(pid_t child) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

/* Reads `size` bytes that the child writes. */
static Reading read_all(int file, pid_t child, void *data, size_t size, Patience *patience,
                        double end_seconds) {
  char *next = data;
  bool is_last = false; /* nothing more will come than what is in the pipe */
  while (size > 0) {
    struct pollfd waiting = {.fd = file, .events = POLLIN};
    int is_ready = poll(&waiting, 1, is_last ? 0 : POLL_MILLISECONDS);
    if (is_ready < 0 && errno != EINTR) return READING_STOPPED;
    if (is_ready <= 0) {
      if (is_ready == 0 && is_last) return READING_ENDED;
      bool is_stopped = patience_is_stopped(patience) && patience_was_interrupted(patience);
      if (is_stopped || (end_seconds > 0 && seconds_now() > end_seconds)) return READING_STOPPED;
      is_last = has_ended(child);
      continue;
    }
    ssize_t count = read(file, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return READING_ENDED;
    next += count;
    size -= (size_t)count;
  }
  return READING_DONE;
}

/* Ends the child, and returns how it ended if it had done so by itself: then SIGKILL changes
 * nothing any more. */
static SolverEnd end_child(pid_t child) {
  int status = 0;
  pid_t ended;
  (void)kill(child, SIGKILL);
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended == child && WIFSIGNALED(status))
    return (SolverEnd){SOLVER_END_SIGNAL, WTERMSIG(status)};
  return (SolverEnd){SOLVER_END_EXIT, WEXITSTATUS(status)};
}

bool solver_is_there(void) {
  pid_t child = fork_isolated(-1);
  if (child < 0) return false;
  if (child == 0) {
    Cbc cbc;
    _exit(cbc_load(&cbc) ? 0 : 1);
  }
  int status = 0;
  pid_t ended;
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

SolverAnswer program_solve(const Program *program, const SolverLimits *limits, Patience *patience,
                           Arena *out, Arena *scratch) {
  uint32_t num_columns = program->columns.len;
  SolverAnswer answer = {.status = SOLVER_FAILED, .bound = -INFINITY};
  bool *is_one = arena_zarray(out, bool, (size_t)num_columns + 1);
  Arena *arena = arena_new(arena_options(scratch));
  Columns columns = columns_of(program, arena);
  double seconds = seconds_left(patience);
  double end_seconds = seconds > 0 ? seconds_now() + seconds + GRACE_SECONDS : 0;
  int ends[2];
  if (pipe(ends) != 0) {
    answer.end = (SolverEnd){SOLVER_END_NOT_STARTED, errno};
    arena_free(arena);
    return answer;
  }
  pid_t child = fork_isolated(ends[1]);
  if (child == 0) {
    (void)close(ends[0]);
    solve_in_child(&columns, program, limits, seconds, is_one, ends[1]);
  }
  if (child < 0) answer.end = (SolverEnd){SOLVER_END_NOT_STARTED, errno};
  (void)close(ends[1]);
  if (child > 0) {
    Head head;
    Reading reading = read_all(ends[0], child, &head, sizeof head, patience, end_seconds);
    if (reading == READING_DONE && head.status != SOLVER_MISSING) {
      size_t size = num_columns * sizeof *is_one;
      reading = read_all(ends[0], child, is_one, size, patience, end_seconds);
    }
    SolverEnd end = end_child(child);
    if (reading == READING_DONE)
      answer = (SolverAnswer){head.status, head.has_solution, head.bound, is_one, {0}};
    if (reading == READING_ENDED) answer.end = end;
  }
  (void)close(ends[0]);
  arena_free(arena);
  return answer;
}

#else

bool solver_is_there(void) {
  return false;
}

SolverAnswer program_solve(const Program *program, const SolverLimits *limits, Patience *patience,
                           Arena *out, Arena *scratch) {
  (void)program;
  (void)limits;
  (void)patience;
  (void)out;
  (void)scratch;
  return (SolverAnswer){.status = SOLVER_MISSING, .bound = -INFINITY};
}

#endif
