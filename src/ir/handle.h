/* The contents of the public header's opaque types. */
#ifndef REMAT_HLO_IR_HANDLE_H
#define REMAT_HLO_IR_HANDLE_H

#include "ir/marks.h"
#include "ir/schedule.h"
#include "remat_hlo.h"

struct rh_module {
  Module *module;
  Arena *arena; /* memory of the handle itself, the schedule and the marks */
  bool has_schedule;
  bool is_rendered; /* it is printed from the graph, in the order of the schedule, not as it was
                       read */
  _Atomic(bool) *is_checked; /* it has passed module_check, called by any of its readers */
  Schedule schedule;
  const char *scheduler;  /* NULL = none was used */
  const RematMark *marks; /* by InstId; NULL = nothing was rematerialized */
  uint64_t num_rematerialized;
  rh_schedule_options preparation; /* the options that made the schedule; no scheduler = it was not
                                      made by rh_schedule */
  const struct Plan *plan;         /* the plan of what rh_remat did; NULL = not requested */
  Arena *plan_arena;               /* holds the plan */
  const struct ScanSteps *scans;   /* what rh_remat did with loops' stacks; NULL = nothing */
  rh_module_info info;             /* filled when it is complete: api/rh_module.c */
  rh_copies
      requested_copies; /* copies setting of this call; only for the handle of a call: api/call.h */
};

/* Returns a handle that takes ownership of a module. */
rh_module *handle_new(Module *module);

/* Returns RH_ERR_INPUT if the module is inconsistent. */
rh_status handle_check(const rh_module *handle, rh_diags *diags);

/* Returns RH_ERR_INPUT if the module is inconsistent, and RH_ERR_USAGE if it has no schedule. */
rh_status handle_check_scheduled(const rh_module *handle, rh_diags *diags);

/* An empty text has an address, too: nothing may be added to NULL, not even 0. */
static inline rh_text text_of_str(Str text) {
  return (rh_text){text.len ? text.data : "", text.len};
}

#endif
