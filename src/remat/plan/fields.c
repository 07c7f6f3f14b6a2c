#include "remat/plan/fields.h"

const char *const plan_action_names[NUM_PLAN_ACTIONS + 1] = {
#define ACTION(id, name) name,
#include "remat/plan/actions.def"
};

static const char *const inline_words[] = {"auto", "never", "always", NULL}; /* rh_inline_calls */
static const char *const copies_words[] = {"auto", "inserted", "pending", NULL}; /* rh_copies */
static const char *const unfuse_words[] = {"loop", "input", "output", "shared",
                                           NULL}; /* RH_UNFUSE */

#define FIELD_OF(type, member, key, is, bits, what)                                       \
  {                                                                                       \
    .name = (key), .kind = FIELD_##is, .flags = (bits), .offset = offsetof(type, member), \
    .of = (what)                                                                          \
  }
#define FIELD(type, member, key, is, bits) FIELD_OF(type, member, key, is, bits, NULL)
#define NOTE(key) \
  { .name = (key), .kind = FIELD_NOTE }
#define END \
  { .name = NULL }

/* ---- elements of lists in steps and clones ---- */

static const PlanField user_fields[] = {
    FIELD(PlanUser, ref, "name", INST, FIELD_NEEDED | FIELD_SHORT),
    FIELD(PlanUser, operands, "operands", POSITIONS, 0),
    END,
};
static const PlanObject user_object = {user_fields, sizeof(PlanUser), NULL};

static const PlanField callee_fields[] = {
    FIELD(PlanName, computation, "computation", COMP, 0),
    FIELD(PlanName, instruction, "instruction", INST, 0),
    FIELD(PlanName, name, "name", NEW_INST, FIELD_NEEDED),
    END,
};
static const PlanObject callee_object = {callee_fields, sizeof(PlanName), NULL};

static const PlanField caller_fields[] = {
    FIELD(PlanCaller, computation, "computation", COMP, 0),
    FIELD(PlanCaller, instruction, "instruction", INST, FIELD_NEEDED | FIELD_SHORT),
    END,
};
static const PlanObject caller_object = {caller_fields, sizeof(PlanCaller), NULL};

/* ---- elements of lists in the plan ---- */

static const PlanField step_fields[] = {
    FIELD_OF(PlanStep, action, "action", WORD, FIELD_NEEDED, plan_action_names),
    FIELD(PlanStep, is_skipped, "skip", BOOL, 0),
    FIELD(PlanStep, computation, "computation", COMP, 0),
    FIELD(PlanStep, instruction, "instruction", INST, 0),
    FIELD(PlanStep, made, "name", NEW_INST, 0),
    FIELD(PlanStep, operand, "operand", INST, 0),
    FIELD(PlanStep, index, "index", COUNT, 0),
    FIELD(PlanStep, before, "before", INST, 0),
    FIELD_OF(PlanStep, users, "users", OBJECTS, FIELD_ALWAYS, &user_object),
    FIELD(PlanStep, control, "control_predecessors", INSTS, 0),
    FIELD(PlanStep, channel, "channel", COUNT, 0),
    FIELD_OF(PlanStep, callees, "callees", OBJECTS, 0, &callee_object),
    FIELD(PlanStep, number, "number", COUNT, 0),
    /* its reason and its cost */
    FIELD(PlanStep, reason, "reason", C_TEXT, FIELD_WRITTEN_ONLY | FIELD_BREAK),
    FIELD(PlanStep, freed_bytes, "freed_bytes", COUNT, FIELD_WRITTEN_ONLY),
    NOTE("bytes"),
    NOTE("flops"),
    NOTE("transcendentals"),
    NOTE("bytes_accessed"),
    NOTE("runs"),
    NOTE("seconds"),
    NOTE("op_name"),
    NOTE("source"),
    NOTE("note"),
    END,
};
#define NO_REF \
  { .offset = NO_OFFSET, .id = NO_ID }
const PlanStep plan_empty_step = {.offset = NO_OFFSET,
                                  .number = -1,
                                  .computation = NO_REF,
                                  .instruction = NO_REF,
                                  .made = NO_REF,
                                  .operand = NO_REF,
                                  .before = NO_REF,
                                  .index = -1,
                                  .channel = -1};
const PlanObject plan_step_object = {step_fields, sizeof(PlanStep), &plan_empty_step};

static const PlanField clone_fields[] = {
    FIELD(PlanClone, is_skipped, "skip", BOOL, 0),
    FIELD(PlanClone, computation, "computation", COMP, FIELD_NEEDED),
    FIELD(PlanClone, made, "name", NEW_COMP, 0),
    FIELD_OF(PlanClone, callers, "callers", OBJECTS, FIELD_NEEDED | FIELD_ALWAYS, &caller_object),
    FIELD(PlanClone, same_as, "same_as", COMP, 0),
    FIELD(PlanClone, peak_bytes, "peak_bytes", COUNT, FIELD_WRITTEN_ONLY),
    NOTE("note"),
    END,
};
static const PlanObject clone_object = {clone_fields, sizeof(PlanClone), NULL};

static const PlanField scan_fields[] = {
    FIELD(ScanStep, round, "round", COUNT, FIELD_ALWAYS),
    FIELD(ScanStep, loop, "loop", INST, FIELD_NEEDED),
    FIELD(ScanStep, segment, "segment", COUNT, 0),
    FIELD(ScanStep, is_unrolled, "unrolled", BOOL, 0),
    FIELD(ScanStep, is_lean, "lean", BOOL, 0),
    FIELD(ScanStep, stored, "stored", INSTS, 0),
    FIELD(ScanStep, shifted, "shifted", INSTS, 0),
    FIELD(ScanStep, freed_bytes, "freed_bytes", COUNT, FIELD_WRITTEN_ONLY),
    NOTE("note"),
    END,
};
static const PlanObject scan_object = {scan_fields, sizeof(ScanStep), NULL};

static const PlanField rename_fields[] = {
    FIELD(PlanRename, computation, "computation", COMP, 0),
    FIELD(PlanRename, instruction, "instruction", INST, FIELD_NEEDED),
    FIELD(PlanRename, name, "name", NEW_NAME, FIELD_NEEDED),
    END,
};
static const PlanObject rename_object = {rename_fields, sizeof(PlanRename), NULL};

static const PlanField control_fields[] = {
    FIELD(PlanControl, computation, "computation", COMP, 0),
    FIELD(PlanControl, instruction, "instruction", INST, FIELD_NEEDED),
    FIELD(PlanControl, predecessors, "control_predecessors", INSTS, FIELD_NEEDED | FIELD_ALWAYS),
    END,
};
static const PlanObject control_object = {control_fields, sizeof(PlanControl), NULL};

static const PlanField order_fields[] = {
    FIELD(PlanOrder, computation, "computation", COMP, 0),
    FIELD(PlanOrder, instructions, "instructions", INSTS, FIELD_NEEDED),
    END,
};
static const PlanObject order_object = {order_fields, sizeof(PlanOrder), NULL};

/* ---- the plan ---- */

static const PlanField preparation_fields[] = {
    FIELD(Plan, target, "target", TARGET, FIELD_NEEDED),
    FIELD(Plan, preparation.scheduler, "scheduler", SCHEDULER, FIELD_NEEDED),
    FIELD(Plan, preparation.ignore_schedule, "ignore_schedule", BOOL, FIELD_ALWAYS),
    FIELD_OF(Plan, preparation.inline_calls, "inline_calls", WORD, 0, inline_words),
    FIELD_OF(Plan, preparation.unfuse, "unfuse", WORDS, 0, unfuse_words),
    FIELD(Plan, preparation.fuse, "fuse", BOOL, 0),
    FIELD_OF(Plan, copies, "copies", WORD, 0, copies_words),
    FIELD(Plan, allow_collectives, "remat_collectives", BOOL, FIELD_ALWAYS),
    END,
};
static const PlanObject preparation_object = {preparation_fields, 0, NULL};
static const PlanField plan_fields[] = {
    {.name = "remat_hlo_plan", .kind = FIELD_VERSION, .flags = FIELD_NEEDED},
    FIELD(Plan, module, "module", TEXT, FIELD_ALWAYS),
    FIELD(Plan, fingerprint, "fingerprint", HASH, 0),
    FIELD(Plan, order_fingerprint, "order_fingerprint", HASH, 0),
    {.name = "preparation", .kind = FIELD_OBJECT, .flags = FIELD_NEEDED, .of = &preparation_object},
    FIELD(Plan, drops_dead_code, "drops_dead_code", BOOL, FIELD_ALWAYS),
    FIELD_OF(Plan, scans, "scans", OBJECTS, FIELD_LINES, &scan_object),
    FIELD_OF(Plan, clones, "clones", OBJECTS, FIELD_LINES, &clone_object),
    FIELD_OF(Plan, steps, "steps", OBJECTS, FIELD_NEEDED | FIELD_ALWAYS | FIELD_LINES,
             &plan_step_object),
    FIELD_OF(Plan, renames, "names", OBJECTS, FIELD_LINES, &rename_object),
    FIELD_OF(Plan, control, "control", OBJECTS, FIELD_LINES, &control_object),
    FIELD_OF(Plan, orders, "orders", OBJECTS, FIELD_LINES, &order_object),
    NOTE("note"),
    END,
};
const PlanObject plan_object = {plan_fields, sizeof(Plan), NULL};
