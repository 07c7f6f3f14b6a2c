#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "command.h"
#include "exit_code.h"
#include "interrupt.h"
#include "memory.h"

/* Each stage frees what it worked with, and the next one asks for as much. If the C library gave it
 * back to the system meanwhile, every stage would wait again for pages that the system clears. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0); /* what is mapped is given back, however large a threshold is */
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

/* Returns what errno was for text that could not be written; 0 if all is written. The C library may
 * have dropped the text before, and have nothing left to write: then another line tells why. */
static int close_stdout(void) {
  bool was_dropped = ferror(stdout);
  errno = 0;
  if (fflush(stdout) != 0) return errno;
  if (!was_dropped) return 0;
  bool is_written = putchar('\n') != EOF && fflush(stdout) == 0;
  return is_written ? EIO : errno;
}

int main(int argc, char **argv) {
  keep_freed_memory();
  interrupt_install();
  memory_install();
  rh_status status = command_run(argc, argv);
  int error = close_stdout();
  if (error && error != EPIPE) {
    fprintf(stderr, "<stdout>: error: %s\n", strerror(error));
    status = RH_ERR_WRITE;
  }
  /* The command has saved what there was to save. */
  return interrupt_signal() ? 128 + interrupt_signal() : (int)exit_code(status);
}
