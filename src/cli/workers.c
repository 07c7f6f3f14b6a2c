/* A queue with a lock, and a pipe that wakes the waiting thread when a job is done or, through
 * interrupt.h, when a signal arrives. */
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "interrupt.h"

struct Workers {
  work_fn work;
  void *context;
  int pipe_ends[2];     /* a byte for each job that is done */
  pthread_mutex_t lock; /* protects the following fields */
  pthread_cond_t is_changed;
  size_t num_released, num_taken;
  bool is_stopped;
  bool *is_done; /* indexed by job number */
  size_t num_threads;
  pthread_t threads[];
};

/* Takes the next job. Returns false if there will be none. */
static bool take(Workers *workers, size_t *number) {
  pthread_mutex_lock(&workers->lock);
  while (!workers->is_stopped && workers->num_taken == workers->num_released)
    pthread_cond_wait(&workers->is_changed, &workers->lock);
  bool has_job = !workers->is_stopped;
  if (has_job) *number = workers->num_taken++;
  pthread_mutex_unlock(&workers->lock);
  return has_job;
}

static void note_done(Workers *workers, size_t number) {
  pthread_mutex_lock(&workers->lock);
  workers->is_done[number] = true;
  pthread_mutex_unlock(&workers->lock);
  ssize_t written;
  do {
    written = write(workers->pipe_ends[1], "", 1);
  } while (written < 0 && errno == EINTR); /* a full pipe wakes the reader, too */
}

static void *run(void *context) {
  Workers *workers = context;
  size_t number;
  while (take(workers, &number)) {
    workers->work(workers->context, number);
    note_done(workers, number);
  }
  return NULL;
}

/* Starts the threads. Signals are blocked in the meantime, so that they stay blocked in the
 * threads. */
static int start_threads(Workers *workers, size_t num_threads) {
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  int error = 0;
  while (!error && workers->num_threads < num_threads) {
    error = pthread_create(&workers->threads[workers->num_threads], NULL, run, workers);
    workers->num_threads += !error;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return workers->num_threads ? 0 : error; /* fewer threads than asked for are sufficient */
}

Workers *workers_start(size_t num_jobs, size_t num_threads, work_fn work, void *context) {
  Workers *workers = calloc(1, sizeof *workers + num_threads * sizeof *workers->threads);
  if (!workers) return NULL;
  workers->work = work;
  workers->context = context;
  workers->is_done = calloc(num_jobs + 1, sizeof *workers->is_done);
  if (!workers->is_done || pipe(workers->pipe_ends) != 0) {
    free(workers->is_done);
    free(workers);
    return NULL;
  }
  fcntl(workers->pipe_ends[1], F_SETFL, O_NONBLOCK);
  pthread_mutex_init(&workers->lock, NULL);
  pthread_cond_init(&workers->is_changed, NULL);
  int error = start_threads(workers, num_threads);
  if (error) {
    workers_stop(workers);
    errno = error;
    return NULL;
  }
  interrupt_defer(workers->pipe_ends[1]);
  return workers;
}

void workers_release(Workers *workers, size_t end) {
  pthread_mutex_lock(&workers->lock);
  workers->num_released = end;
  pthread_cond_broadcast(&workers->is_changed);
  pthread_mutex_unlock(&workers->lock);
}

size_t workers_num_waiting(Workers *workers) {
  pthread_mutex_lock(&workers->lock);
  size_t num_waiting = workers->num_released - workers->num_taken;
  pthread_mutex_unlock(&workers->lock);
  return num_waiting;
}

bool workers_are_done_with(Workers *workers, size_t number) {
  pthread_mutex_lock(&workers->lock);
  bool is_done = workers->is_done[number];
  pthread_mutex_unlock(&workers->lock);
  return is_done;
}

bool workers_wait(Workers *workers) {
  char byte;
  while (!interrupt_signal() && read(workers->pipe_ends[0], &byte, 1) < 0 && errno == EINTR) {}
  return !interrupt_signal();
}

void workers_stop(Workers *workers) {
  interrupt_defer(INTERRUPT_AT_ONCE);
  pthread_mutex_lock(&workers->lock);
  workers->is_stopped = true;
  pthread_cond_broadcast(&workers->is_changed);
  pthread_mutex_unlock(&workers->lock);
  for (size_t i = 0; i < workers->num_threads; i++)
    pthread_join(workers->threads[i], NULL);
  pthread_cond_destroy(&workers->is_changed);
  pthread_mutex_destroy(&workers->lock);
  close(workers->pipe_ends[0]);
  close(workers->pipe_ends[1]);
  free(workers->is_done);
  free(workers);
}
