/* The public functions that need no module: lists of diagnostics, names of enumeration values, and
 * the version. */
#include "api/call.h"

rh_diags *rh_diags_new(void) {
  Call *const call = call_new(NULL, RH_CODE_OTHER);
  if (!call) return NULL;
  if (setjmp(call->guard.jump) != 0) {
    (void)call_out_of_memory(call, NULL);
    return NULL;
  }
  ArenaOptions memory = call_memory(call, 0);
  rh_diags *diags = diags_new(&memory);
  (void)call_close(call, RH_OK);
  return diags;
}

const char *rh_status_name(rh_status status) {
  switch (status) {
    case RH_OK: return "RH_OK";
    case RH_OVER_LIMIT: return "RH_OVER_LIMIT";
    case RH_NOT_EQUIVALENT: return "RH_NOT_EQUIVALENT";
    case RH_ERR_USAGE: return "RH_ERR_USAGE";
    case RH_ERR_INPUT: return "RH_ERR_INPUT";
    case RH_ERR_WRITE: return "RH_ERR_WRITE";
    case RH_ERR_MEMORY: return "RH_ERR_MEMORY";
    case RH_ERR_INTERNAL: return "RH_ERR_INTERNAL";
  }
  return "unknown";
}

const char *rh_version(void) {
  return RH_VERSION_STRING;
}

int rh_version_number(void) {
  return RH_VERSION_NUMBER;
}
