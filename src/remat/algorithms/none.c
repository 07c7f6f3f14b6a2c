/* The algorithm that changes nothing, for commands that only schedule and report a module. */
#include "remat/job/algorithm.h"

void remat_none(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  (void)job;
  (void)stats;
  (void)out;
  (void)scratch;
}
