/* Takes the place of CBC's library, and dies when it is loaded: by the signal whose number the
 * environment's FAKE_CBC is, or with exit status 3 if that is 0. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void die(void) {
  const char *how = getenv("FAKE_CBC");
  int number = how ? atoi(how) : 0;
  if (number > 0) (void)raise(number);
  _exit(3);
}
