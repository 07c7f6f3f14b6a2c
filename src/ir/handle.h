/* What stands behind the public header's opaque types. */
#ifndef REMAT_HLO_IR_HANDLE_H
#define REMAT_HLO_IR_HANDLE_H

#include "ir/marks.h"
#include "ir/schedule.h"
#include "remat_hlo.h"

struct rh_module {
  Module *module;
  Arena *arena; /* of the handle itself, the schedule and the marks */
  bool has_schedule;
  bool is_rendered; /* printed from the graph, in the order of the schedule, not as it was read */
  _Atomic(bool) *is_checked; /* passed module_check, whichever of the readers asked for it */
  Schedule schedule;
  const char *scheduler;  /* NULL = none ran */
  const RematMark *marks; /* by InstId, NULL = nothing was rematerialized */
  uint64_t num_rematerialized;
  rh_schedule_options preparation; /* how the order was made; no scheduler = not by rh_schedule */
  const struct Plan *plan;         /* of what rh_remat did, NULL = nobody asked for it */
  Arena *plan_arena;               /* that it lies in */
  rh_module_info info;             /* once it is whole: api/rh_module.c */
  rh_copies
      said_copies; /* what the settings of this call say; a handle of a call only: api/call.h */
};

/* A handle for a module, which it takes over. */
rh_module *handle_new(Module *module);

/* Scratch memory for analyses of the module, in one piece as far as they need about as much: passes
 * that follow each other then work in the same pages. */
Arena *handle_scratch(const rh_module *handle);

/* RH_ERR_INPUT when the module contradicts itself. */
rh_status handle_check(const rh_module *handle, rh_diags *diags);

/* The same, and RH_ERR_USAGE when there is no schedule. */
rh_status handle_check_scheduled(const rh_module *handle, rh_diags *diags);

static inline rh_text text_of_str(Str text) {
  return (rh_text){text.data, text.len};
}

#endif
