/* The algorithm that does nothing, so that a module is scheduled and reported as it is. */
#include "remat/job/algorithm.h"

void remat_none(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  (void)job;
  (void)stats;
  (void)out;
  (void)scratch;
}
