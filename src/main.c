#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "exit_code.h"
#include "interrupt.h"

int main(int argc, char **argv) {
  interrupt_install();
  rh_status status = command_run(argc, argv);
  errno = 0;
  if (fflush(stdout) != 0 && errno != EPIPE) {
    fprintf(stderr, "<stdout>: error: %s\n", strerror(errno));
    status = RH_ERR_WRITE;
  }
  /* The command has saved what there was to save. */
  return interrupt_signal() ? 128 + interrupt_signal() : (int)exit_code(status);
}
