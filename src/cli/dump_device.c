/* For memmem(). */
#define _GNU_SOURCE

#include "dump_device.h"

#include <string.h>

#include "path.h"

typedef struct Sign {
  const char *text; /* in the name of a file */
  const char *device;
} Sign;

/* The words of compute capabilities end in a dot or a letter, so that 10.0 is not 1. */
static const Sign gpu_signs[] = {
    {"sm_8.0", "a100-80g"},
    {"sm_9.0", "h100-sxm"},
    {"sm_10.0", "b200"},
    {"sm_10.3", "b200"},
};

/* XLA writes none of these. Whoever keeps dumps of several TPUs tells them apart by such names. */
static const Sign tpu_signs[] = {
    {"v5e", "tpu-v5e"}, {"v5lite", "tpu-v5e"}, {"v5p", "tpu-v5p"},
    {"v6e", "tpu-v6e"}, {"tpu7x", "tpu7x"},
};

static const char *find_sign(const char *name, const Sign *signs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(name, signs[i].text)) return signs[i].device;
  }
  return NULL;
}

static bool has_text(const Input *input, const char *text) {
  return input->text && memmem(input->text, input->length, text, strlen(text)) != NULL;
}

DumpDevice dump_device(const Input *input, const char *target) {
  const char *name = path_base(input->path), *found = NULL;
  if (strcmp(target, "tpu") == 0) {
    found = find_sign(name, tpu_signs, sizeof tpu_signs / sizeof *tpu_signs);
    if (!found && has_text(input, ":T(16,128)")) found = "tpu7x";
    /* v5e has no SparseCore; v5p has, too, and less VMEM, so that it is said to be assumed. */
    if (!found && has_text(input, "=\"sparsecore\"")) return (DumpDevice){"tpu-v6e", true};
    return (DumpDevice){found ? found : "tpu-v5e", !found};
  }
  found = find_sign(name, gpu_signs, sizeof gpu_signs / sizeof *gpu_signs);
  bool is_gpu = strcmp(target, "gpu") == 0;
  return (DumpDevice){found ? found : DEVICE_ASSUMED, is_gpu && !found};
}
