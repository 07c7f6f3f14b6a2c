/* Which instructions rematerialization made, for those who show a module to people. */
#ifndef REMAT_HLO_IR_MARKS_H
#define REMAT_HLO_IR_MARKS_H

#include <stdbool.h>

#include "ir/ids.h"

typedef enum RematKind {
  REMAT_KIND_NONE,   /* was there before */
  REMAT_KIND_CLONE,  /* computes again what another instruction computes */
  REMAT_KIND_MOVED,  /* a clone whose original is gone: only its place is new */
  REMAT_KIND_HELPER, /* a get-tuple-element or bitcast that serves a clone */
} RematKind;

typedef struct RematMark {
  uint8_t kind; /* RematKind */
  bool is_kept; /* was not computed again because that would read overwritten memory */
  Str original; /* name of what a clone computes again, empty for others */
} RematMark;

/* By InstId; NULL = nothing was rematerialized. */
typedef const RematMark *RematMarks;

#endif
