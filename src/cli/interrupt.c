#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"

/* At most three temporary files are open at a time: for a table, a picture and a module. */
enum { MAX_TEMPORARIES = 4 };
static const char *volatile temporaries[MAX_TEMPORARIES];
static const char *volatile mapping;
static volatile sig_atomic_t deferred_to = INTERRUPT_AT_ONCE; /* or INTERRUPT_NOTED, or a pipe */
static volatile sig_atomic_t deferred;

static void write_error(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static bool defer(int signal) {
  if (deferred_to == INTERRUPT_AT_ONCE || deferred || signal == SIGBUS) return false;
  int error = errno;
  deferred = signal;
  if (deferred_to == INTERRUPT_NOTED) return true;
  if (write((int)deferred_to, "", 1) < 0) errno = error; /* a full pipe wakes the reader, too */
  errno = error;
  return true;
}

/* Calls only functions that are safe in a signal handler. */
static void on_signal(int signal) {
  if (defer(signal)) return;
  interrupt_remove_temporaries();
  if (signal == SIGBUS) {
    write_error(mapping ? mapping : "remat-hlo");
    write_error(": error: the file shrank while it was read\n");
    _exit(EXIT_CODE_INPUT);
  }
  _exit(128 + signal);
}

void interrupt_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
}

static void replace_temporary(const char *old, const char *path) {
  for (int i = 0; i < MAX_TEMPORARIES; i++) {
    if (temporaries[i] != old) continue;
    temporaries[i] = path;
    return;
  }
}

int interrupt_make_temporary(char *path) {
  sigset_t all, before;
  sigfillset(&all);
  /* No signal may arrive between creating the file and noting it. */
  sigprocmask(SIG_BLOCK, &all, &before);
  int fd = mkstemp(path);
  int error = errno;
  if (fd >= 0) replace_temporary(NULL, path);
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return fd;
}

void interrupt_forget_temporary(const char *path) {
  replace_temporary(path, NULL);
}

void interrupt_remove_temporaries(void) {
  for (int i = 0; i < MAX_TEMPORARIES; i++) {
    const char *path = temporaries[i];
    if (path) unlink(path);
  }
}

void interrupt_defer(int to) {
  deferred_to = to;
}

int interrupt_signal(void) {
  return (int)deferred;
}

void interrupt_note_mapping(const char *path) {
  mapping = path;
}
