#include "ir/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Tasks {
  uint32_t num_tasks;
  task_fn task;
  void *context;
  Arena *const *outs;
  const ArenaOptions *options; /* of each task's scratch arena, but for the guard */
  atomic_uint next;
  atomic_size_t wanted_bytes; /* that a task could not get; 0 = none failed */
} Tasks;

/* A guard belongs to one thread, so each task has its own. It is allocated with the thread's state
 * because local variables that change after setjmp() become indeterminate. */
typedef struct Worker {
  Tasks *tasks;
  ArenaGuard guard;
  ArenaGuard *guard_before; /* of the task's arena */
  uint32_t number;          /* of the task */
  pthread_t thread;
} Worker;

static void run_task(Worker *worker) {
  Tasks *tasks = worker->tasks;
  Arena *out = tasks->outs[worker->number];
  worker->guard = (ArenaGuard){0};
  if (setjmp(worker->guard.jump) == 0) {
    ArenaOptions options = *tasks->options;
    options.guard = &worker->guard;
    Arena *scratch = arena_new(&options);
    worker->guard_before = arena_swap_guard(out, &worker->guard);
    tasks->task(tasks->context, worker->number, out, scratch);
    (void)arena_swap_guard(out, worker->guard_before);
    arena_free(scratch);
  } else {
    if (arena_options(out)->guard == &worker->guard)
      (void)arena_swap_guard(out, worker->guard_before);
    arena_guard_free_all(&worker->guard);
    atomic_store(&tasks->wanted_bytes, worker->guard.wanted_bytes);
  }
}

static void *work(void *context) {
  Worker *worker = context;
  Tasks *tasks = worker->tasks;
  while (atomic_load(&tasks->wanted_bytes) == 0) {
    worker->number = atomic_fetch_add(&tasks->next, 1);
    if (worker->number >= tasks->num_tasks) break;
    run_task(worker);
  }
  return NULL;
}

/* Returns how many threads there are then, the caller's not counted. */
static uint32_t start_threads(Worker *workers, uint32_t num_wanted) {
  sigset_t all, before;
  uint32_t num_started = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (num_started < num_wanted &&
         pthread_create(&workers[num_started].thread, NULL, work, &workers[num_started]) == 0)
    num_started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return num_started;
}

static void run_alone(uint32_t num_tasks, task_fn task, void *context, Arena *const *outs,
                      Arena *scratch) {
  for (uint32_t number = 0; number < num_tasks; number++) {
    ArenaMark mark = arena_mark(scratch);
    task(context, number, outs[number], scratch);
    arena_reset(scratch, mark);
  }
}

void run_tasks(unsigned num_threads, uint32_t num_tasks, task_fn task, void *context,
               Arena *const *outs, Arena *scratch) {
  if (num_threads > num_tasks) num_threads = num_tasks;
  if (num_threads < 2) {
    run_alone(num_tasks, task, context, outs, scratch);
    return;
  }
  ArenaMark mark = arena_mark(scratch);
  Tasks tasks = {.num_tasks = num_tasks,
                 .task = task,
                 .context = context,
                 .outs = outs,
                 .options = arena_options(scratch)};
  atomic_init(&tasks.next, 0);
  atomic_init(&tasks.wanted_bytes, 0);
  Worker *workers = arena_zarray(scratch, Worker, num_threads);
  for (unsigned i = 0; i < num_threads; i++)
    workers[i].tasks = &tasks;
  uint32_t num_started = start_threads(workers, num_threads - 1);
  (void)work(&workers[num_threads - 1]);
  for (uint32_t i = 0; i < num_started; i++)
    pthread_join(workers[i].thread, NULL);
  arena_reset(scratch, mark);
  size_t wanted_bytes = atomic_load(&tasks.wanted_bytes);
  if (wanted_bytes) arena_fail(scratch, wanted_bytes);
}
