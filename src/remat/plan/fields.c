#include "remat/plan/fields.h"

const char *const plan_action_names[NUM_PLAN_ACTIONS + 1] = {
#define ACTION(id, name) name,
#include "remat/plan/actions.def"
};

static const char *const inline_words[] = {"auto", "never", "always", NULL}; /* rh_inline_calls */
static const char *const copies_words[] = {"auto", "inserted", "pending", NULL}; /* rh_copies */
static const char *const unfuse_words[] = {"loop", "input", "output", NULL};     /* RH_UNFUSE */

/* Rows of the table of the struct STRUCT. */
#define FIELD_OF(key, type, member, bits, what)                                               \
  {                                                                                           \
    .name = (key), .kind = FIELD_##type, .flags = (bits), .offset = offsetof(STRUCT, member), \
    .of = (what)                                                                              \
  }
#define FIELD(key, type, member, bits) FIELD_OF(key, type, member, bits, NULL)
#define NOTE(key) \
  { .name = (key), .kind = FIELD_NOTE }
#define END \
  { .name = NULL }

/* ---- in lists of steps and clones ---- */

#define STRUCT PlanUser
static const PlanField user_fields[] = {FIELD("name", INST, ref, FIELD_NEEDED | FIELD_SHORT),
                                        FIELD("operands", POSITIONS, operands, 0), END};
static const PlanObject user_object = {user_fields, sizeof(PlanUser), NULL};
#undef STRUCT

#define STRUCT PlanName
static const PlanField callee_fields[] = {FIELD("computation", COMP, computation, 0),
                                          FIELD("instruction", INST, instruction, 0),
                                          FIELD("name", NEW_INST, name, FIELD_NEEDED), END};
static const PlanObject callee_object = {callee_fields, sizeof(PlanName), NULL};
#undef STRUCT

#define STRUCT PlanCaller
static const PlanField caller_fields[] = {
    FIELD("computation", COMP, computation, 0),
    FIELD("instruction", INST, instruction, FIELD_NEEDED | FIELD_SHORT), END};
static const PlanObject caller_object = {caller_fields, sizeof(PlanCaller), NULL};
#undef STRUCT

/* ---- in lists of the plan ---- */

#define STRUCT PlanStep
static const PlanField step_fields[] = {
    FIELD_OF("action", WORD, action, FIELD_NEEDED, plan_action_names),
    FIELD("skip", BOOL, is_skipped, 0), FIELD("computation", COMP, computation, 0),
    FIELD("instruction", INST, instruction, 0), FIELD("name", NEW_INST, made, 0),
    FIELD("operand", INST, operand, 0), FIELD("index", COUNT, index, 0),
    FIELD("before", INST, before, 0), FIELD_OF("users", OBJECTS, users, FIELD_ALWAYS, &user_object),
    FIELD("control_predecessors", INSTS, control, 0), FIELD("channel", COUNT, channel, 0),
    FIELD_OF("callees", OBJECTS, callees, 0, &callee_object), FIELD("number", COUNT, number, 0),
    /* why, and what it costs */
    FIELD("reason", C_TEXT, reason, FIELD_TOLD | FIELD_BREAK),
    FIELD("freed_bytes", COUNT, freed_bytes, FIELD_TOLD), NOTE("bytes"), NOTE("flops"),
    NOTE("transcendentals"), NOTE("bytes_accessed"), NOTE("runs"), NOTE("seconds"), NOTE("op_name"),
    NOTE("source"), NOTE("note"), END};
#undef STRUCT
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

#define STRUCT PlanClone
static const PlanField clone_fields[] = {
    FIELD("skip", BOOL, is_skipped, 0),
    FIELD("computation", COMP, computation, FIELD_NEEDED),
    FIELD("name", NEW_COMP, made, 0),
    FIELD_OF("callers", OBJECTS, callers, FIELD_NEEDED | FIELD_ALWAYS, &caller_object),
    FIELD("same_as", COMP, same_as, 0),
    FIELD("peak_bytes", COUNT, peak_bytes, FIELD_TOLD),
    NOTE("note"),
    END};
static const PlanObject clone_object = {clone_fields, sizeof(PlanClone), NULL};
#undef STRUCT

#define STRUCT PlanRename
static const PlanField rename_fields[] = {FIELD("computation", COMP, computation, 0),
                                          FIELD("instruction", INST, instruction, FIELD_NEEDED),
                                          FIELD("name", NEW_NAME, name, FIELD_NEEDED), END};
static const PlanObject rename_object = {rename_fields, sizeof(PlanRename), NULL};
#undef STRUCT

#define STRUCT PlanControl
static const PlanField control_fields[] = {
    FIELD("computation", COMP, computation, 0),
    FIELD("instruction", INST, instruction, FIELD_NEEDED),
    FIELD("control_predecessors", INSTS, predecessors, FIELD_NEEDED), END};
static const PlanObject control_object = {control_fields, sizeof(PlanControl), NULL};
#undef STRUCT

#define STRUCT PlanOrder
static const PlanField order_fields[] = {FIELD("computation", COMP, computation, 0),
                                         FIELD("instructions", INSTS, instructions, FIELD_NEEDED),
                                         END};
static const PlanObject order_object = {order_fields, sizeof(PlanOrder), NULL};
#undef STRUCT

/* ---- the plan ---- */

#define STRUCT Plan
static const PlanField preparation_fields[] = {
    FIELD("target", TARGET, target, FIELD_NEEDED),
    FIELD("scheduler", SCHEDULER, preparation.scheduler, FIELD_NEEDED),
    FIELD("ignore_schedule", BOOL, preparation.ignore_schedule, FIELD_ALWAYS),
    FIELD_OF("inline_calls", WORD, preparation.inline_calls, 0, inline_words),
    FIELD_OF("unfuse", WORDS, preparation.unfuse, 0, unfuse_words),
    FIELD_OF("copies", WORD, copies, 0, copies_words),
    FIELD("remat_collectives", BOOL, allow_collectives, FIELD_ALWAYS),
    END};
static const PlanObject preparation_object = {preparation_fields, 0, NULL};
static const PlanField plan_fields[] = {
    {.name = "remat_hlo_plan", .kind = FIELD_VERSION, .flags = FIELD_NEEDED},
    FIELD("module", TEXT, module, FIELD_ALWAYS),
    FIELD("fingerprint", HASH, fingerprint, 0),
    FIELD("order_fingerprint", HASH, order_fingerprint, 0),
    {.name = "preparation", .kind = FIELD_OBJECT, .flags = FIELD_NEEDED, .of = &preparation_object},
    FIELD("drops_dead_code", BOOL, drops_dead_code, FIELD_ALWAYS),
    FIELD_OF("clones", OBJECTS, clones, FIELD_LINES, &clone_object),
    FIELD_OF("steps", OBJECTS, steps, FIELD_NEEDED | FIELD_ALWAYS | FIELD_LINES, &plan_step_object),
    FIELD_OF("names", OBJECTS, renames, FIELD_LINES, &rename_object),
    FIELD_OF("control", OBJECTS, control, FIELD_LINES, &control_object),
    FIELD_OF("orders", OBJECTS, orders, FIELD_LINES, &order_object),
    NOTE("note"),
    END};
const PlanObject plan_object = {plan_fields, sizeof(Plan), NULL};
#undef STRUCT
