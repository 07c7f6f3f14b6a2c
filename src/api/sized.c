#include "api/sized.h"

#include <stdbool.h>
#include <string.h>

/* No struct is this large, so a greater number is not a size. */
enum { MAX_SIZE = 1 << 16 };

static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

static rh_status check_size(const void *given, const char *what, rh_diags *diags) {
  size_t size = size_of(given);
  if (size > sizeof size && size <= MAX_SIZE) return RH_OK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_STRUCT_SIZE, NO_OFFSET),
                   "the struct_size of %s is not set: it begins as its RH_..._INIT", what);
}

static bool is_zero(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i]) return false;
  }
  return true;
}

rh_status sized_read(void *own, size_t own_size, const void *given, const char *what,
                     rh_diags *diags) {
  if (!given) return RH_OK;
  rh_status status = check_size(given, what, diags);
  if (status != RH_OK) return status;
  size_t size = size_of(given), known = size < own_size ? size : own_size;
  if (!is_zero((const char *)given + known, size - known)) {
    return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_STRUCT_SIZE, NO_OFFSET),
                     "%s asks for what this version of the library, %s, does not know", what,
                     rh_version());
  }
  memcpy((char *)own + sizeof size, (const char *)given + sizeof size, known - sizeof size);
  return RH_OK;
}

rh_status sized_clear(void *given, const char *what, rh_diags *diags) {
  if (!given) return RH_OK;
  rh_status status = check_size(given, what, diags);
  if (status != RH_OK) return status;
  memset((char *)given + sizeof(size_t), 0, size_of(given) - sizeof(size_t));
  return RH_OK;
}

void sized_write(void *given, const void *own, size_t own_size) {
  if (!given) return;
  size_t size = size_of(given), known = size < own_size ? size : own_size;
  memcpy((char *)given + sizeof size, (const char *)own + sizeof size, known - sizeof size);
}
