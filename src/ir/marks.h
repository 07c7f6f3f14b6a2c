/* Marks for the instructions that rematerialization made. Reports and pictures show them. */
#ifndef REMAT_HLO_IR_MARKS_H
#define REMAT_HLO_IR_MARKS_H

#include <stdbool.h>

#include "ir/ids.h"

typedef enum RematKind {
  REMAT_KIND_NONE,   /* the instruction is in the input */
  REMAT_KIND_CLONE,  /* a copy that recomputes what another instruction computes */
  REMAT_KIND_MOVED,  /* a clone whose original was removed: only its position is new */
  REMAT_KIND_HELPER, /* a get-tuple-element or bitcast that a clone needs */
} RematKind;

typedef struct RematMark {
  uint8_t kind; /* RematKind */
  bool is_kept; /* it was not recomputed because that would read overwritten memory */
  Str original; /* the name of the instruction that a clone recomputes; empty for other kinds */
} RematMark;

/* By InstId. NULL means that nothing was rematerialized. */
typedef const RematMark *RematMarks;

#endif
