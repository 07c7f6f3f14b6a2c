/* Which values of a scan are stored in stacks, and which are computed again in the loops that read
 * them. For a given price of a byte, the choice is optimal: it is a minimum cut, as in the
 * partitioner of PyTorch's AOTAutograd (torch/_functorch/partitioners.py), but with the time to
 * compute a value beside the bytes to store it.
 *
 * For each value v there are two nodes: "v is available in the reading loop", "v is computed
 * there". Storing v costs price * bytes: an edge from the first to the second, cut if v is
 * available but not computed. Computing v costs its seconds, an edge to the sink, and needs its
 * operands to be available: edges of infinite capacity. Values of a fusion that stays whole are
 * computed by one clone, so that an edge leads from each of them to the first one. To write a stack
 * takes time, too, so that even without a price some values are better computed again. */
#ifndef REMAT_HLO_REMAT_SCAN_CHOICE_H
#define REMAT_HLO_REMAT_SCAN_CHOICE_H

#include "remat/scan/values.h"

typedef enum ScanFate {
  SCAN_UNUSED, /* no reading loop needs it */
  SCAN_STORED, /* in a stack, its own or a new one */
  SCAN_RECOMPUTED,
  SCAN_SHIFTED, /* read from the stack of its neighbour, which is stored (neighbours.h) */
} ScanFate;

typedef struct ScanChoice {
  uint8_t *fate;  /* by value: ScanFate */
  int64_t bytes;  /* of the stacks */
  double seconds; /* of what is computed again, and of writing the stacks */
} ScanChoice;

/* `price`: seconds per byte, 0 for what costs no time only, infinite for as few bytes as possible.
 * `is_kept`, by value: these are stored if they are needed, whatever the price; NULL = none. */
ScanChoice scan_choose(const ScanValues *values, double price, const bool *is_kept, Arena *out,
                       Arena *scratch);

/* The same where it is known which values are read from their neighbours' stacks; otherwise those
 * are that cannot be computed, or take more time to compute than the price of the only slice that
 * is needed besides. */
ScanChoice scan_choose_known(const ScanValues *values, double price, const bool *is_kept,
                             const bool *is_shifted, Arena *out, Arena *scratch);

/* The choice that leaves the stacks as they are. */
ScanChoice scan_choose_nothing(const ScanValues *values, Arena *out);

#endif
