/* The device that a dump was compiled for. */
#ifndef REMAT_HLO_CLI_DUMP_DEVICE_H
#define REMAT_HLO_CLI_DUMP_DEVICE_H

#include "input.h"

/* The profile that is taken where a dump is for no TPU and names no GPU. */
#define DEVICE_ASSUMED "a100-80g"

typedef struct DumpDevice {
  const char *name; /* of a profile that is built in */
  bool is_assumed;  /* nothing in the dump says which device of the target it is */
} DumpDevice;

/* Finds the device by the name of the file and, where that does not tell, by the text of the
 * module, which was compiled for `target`. XLA:GPU puts the compute capability into the names of
 * its dumps. XLA:TPU does not name the device: only layouts of TPU7x tell, which are tiled by 16
 * rows. */
DumpDevice dump_device(const Input *input, const char *target);

#endif
