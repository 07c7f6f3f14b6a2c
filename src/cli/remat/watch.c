#include "remat/watch.h"

#include <math.h>

#include "interrupt.h"
#include "progress_line.h"
#include "terminal.h"

/* A short run shows nothing, and a long one does not keep the terminal busy. */
static const double FIRST_SECONDS = 1, STEP_SECONDS = 0.2;

static void format_best(const RematWatch *watch, char *text, size_t room) {
  char bytes[RH_FORMAT_CHARS], seconds[RH_FORMAT_CHARS];
  if (!watch->has_best) {
    snprintf(text, room, "no result yet; Ctrl-C ends with what there is");
    return;
  }
  rh_format_bytes(watch->best.best_bytes, bytes);
  text_of_seconds(fabs(watch->best.added_seconds), seconds);
  snprintf(text, room, "best so far %s%s, %c%s; Ctrl-C takes it", bytes,
           watch->best.is_met ? " (fits)" : "", watch->best.added_seconds < 0 ? '-' : '+', seconds);
}

/* Needs the lock. */
static void show(RematWatch *watch) {
  double now = seconds_now();
  if (!watch->is_line || now < watch->next_seconds) return;
  char best[128], line[256];
  format_best(watch, best, sizeof best);
  snprintf(line, sizeof line, "[%.0f s] %s", now - watch->start_seconds, best);
  fprintf(stderr, "\r\033[K%.*s", (int)(watch->width - 1), line);
  fflush(stderr);
  watch->is_shown = true;
  watch->next_seconds = now + STEP_SECONDS;
}

/* An rh_cancel_fn. It is called all the time, so the line shows how time goes by. */
static bool is_cancelled(void *context) {
  RematWatch *watch = context;
  if (watch->is_line) {
    pthread_mutex_lock(&watch->lock);
    show(watch);
    pthread_mutex_unlock(&watch->lock);
  }
  return interrupt_signal() != 0;
}

/* An rh_progress_fn. */
static void note_best(void *context, const rh_progress *progress) {
  RematWatch *watch = context;
  pthread_mutex_lock(&watch->lock);
  watch->best = *progress;
  watch->has_best = true;
  show(watch);
  pthread_mutex_unlock(&watch->lock);
}

void watch_begin(RematRun *job, RematWatch *watch) {
  double now = seconds_now();
  *watch = (RematWatch){.is_line = is_watched(job->options),
                        .width = terminal_of(stderr).width,
                        .start_seconds = now,
                        .next_seconds = now + FIRST_SECONDS};
  pthread_mutex_init(&watch->lock, NULL);
  job->remat.cancel = is_cancelled;
  /* To know the added time takes time. */
  job->remat.progress = watch->is_line ? note_best : NULL;
  job->remat.context = watch;
  interrupt_defer(INTERRUPT_NOTED);
}

void watch_end(RematRun *job, RematWatch *watch) {
  if (watch->is_shown) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
  }
  pthread_mutex_destroy(&watch->lock);
  job->remat.cancel = NULL;
  job->remat.progress = NULL;
  job->remat.context = NULL;
}
