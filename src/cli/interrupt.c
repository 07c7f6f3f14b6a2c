#include "interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "remat_hlo.h"

static const char *volatile temporary;
static const char *volatile mapping;

static void write_error(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* Only what is safe in a signal handler. */
static void on_signal(int signal) {
  interrupt_remove_temporary();
  if (signal == SIGBUS) {
    write_error(mapping ? mapping : "remat-hlo");
    write_error(": error: the file shrank while it was read\n");
    _exit(RH_ERR_INPUT);
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

void interrupt_note_temporary(const char *path) {
  temporary = path;
}

void interrupt_remove_temporary(void) {
  const char *path = temporary;
  if (path) unlink(path);
}

void interrupt_note_mapping(const char *path) {
  mapping = path;
}
