#include "remat/plan/read.h"

#include "ir/chars.h"
#include "ir/json_tree.h"
#include "schedule/scheduler.h"

typedef struct Reader {
  Plan *plan;
  rh_diags *diags;
  Arena *out;
} Reader;

#define SHOWN(name) (int)((name).len < 200 ? (name).len : 200), (name).data

/* Puts a value where it belongs; `place` is of the plan, a step, … */
typedef rh_status (*ReadFn)(Reader *reader, const JsonNode *value, void *place);

typedef struct Key {
  const char *name;
  ReadFn read; /* NULL = it is for people */
  size_t offset;
  bool is_needed;
} Key;

static rh_status fail(const Reader *reader, const JsonNode *node, const char *what) {
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(node->offset), "%s", what);
}

/* ---- values ---- */

static rh_status read_string(Reader *reader, const JsonNode *value, void *place) {
  if (value->kind != JSON_STRING) return fail(reader, value, "expected a text in quotes");
  *(Str *)place = value->text;
  return RH_OK;
}

static rh_status read_ref(Reader *reader, const JsonNode *value, void *place) {
  PlanRef ref = {.offset = value->offset, .id = NO_ID};
  if (value->kind == JSON_STRING && value->text.len == 0)
    return fail(reader, value, "expected a name");
  rh_status status = read_string(reader, value, &ref.name);
  *(PlanRef *)place = ref;
  return status;
}

static bool is_name(Str text) {
  for (uint32_t i = 0; i < text.len; i++) {
    char c = text.data[i];
    bool is_letter = char_is_letter(c) || c == '_';
    bool is_other = char_is_digit(c) || c == '.' || c == '-' || c == '#';
    if (!is_letter && !(is_other && i > 0)) return false;
  }
  return text.len > 0;
}

static rh_status fail_name(const Reader *reader, const JsonNode *value) {
  return fail(reader, value, "a name has letters, digits, '_', '-' and '.', a letter first");
}

/* A name that the result will have; of an instruction that may be written `x#1`. */
static rh_status read_inst_name(Reader *reader, const JsonNode *value, void *place) {
  rh_status status = read_string(reader, value, place);
  return status != RH_OK || is_name(value->text) ? status : fail_name(reader, value);
}

static rh_status read_new_name(Reader *reader, const JsonNode *value, void *place) {
  rh_status status = read_inst_name(reader, value, place);
  bool has_hash = status == RH_OK && memchr(value->text.data, '#', value->text.len);
  return has_hash ? fail_name(reader, value) : status;
}

static rh_status read_inst_ref(Reader *reader, const JsonNode *value, void *place) {
  PlanRef *ref = place;
  *ref = (PlanRef){.offset = value->offset, .id = NO_ID};
  return read_inst_name(reader, value, &ref->name);
}

static rh_status read_new_ref(Reader *reader, const JsonNode *value, void *place) {
  PlanRef *ref = place;
  *ref = (PlanRef){.offset = value->offset, .id = NO_ID};
  return read_new_name(reader, value, &ref->name);
}

static rh_status read_bool(Reader *reader, const JsonNode *value, void *place) {
  if (value->kind != JSON_TRUE && value->kind != JSON_FALSE)
    return fail(reader, value, "expected true or false");
  *(bool *)place = value->kind == JSON_TRUE;
  return RH_OK;
}

static rh_status read_count(Reader *reader, const JsonNode *value, void *place) {
  if (!json_int64(value, place) || *(int64_t *)place < 0)
    return fail(reader, value, "expected a whole number from 0 on");
  return RH_OK;
}

static rh_status read_hash(Reader *reader, const JsonNode *value, void *place) {
  uint64_t hash = 0;
  bool is_hash = value->kind == JSON_STRING && value->text.len == 16;
  for (uint32_t i = 0; is_hash && i < 16; i++) {
    char c = value->text.data[i];
    is_hash = char_is_digit(c) || (c >= 'a' && c <= 'f');
    hash = hash << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (!is_hash) return fail(reader, value, "expected 16 hexadecimal digits in quotes");
  *(uint64_t *)place = hash;
  return RH_OK;
}

static rh_status read_version(Reader *reader, const JsonNode *value, void *place) {
  int64_t version;
  (void)place;
  if (!json_int64(value, &version)) return fail(reader, value, "expected a whole number");
  if (version == PLAN_VERSION) return RH_OK;
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(value->offset),
                   "plans of version %lld are not known, only of version %d", (long long)version,
                   PLAN_VERSION);
}

/* One of some words; `*index` is its number. */
static rh_status read_word(Reader *reader, const JsonNode *value, const char *const *words,
                           size_t count, size_t *index) {
  for (*index = 0; value->kind == JSON_STRING && *index < count; ++*index) {
    if (str_is(value->text, words[*index])) return RH_OK;
  }
  const char *shown = words[0];
  for (size_t i = 1; i < count; i++)
    shown = arena_printf(reader->out, "%s%s%s", shown, i + 1 < count ? ", " : " or ", words[i]);
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(value->offset), "expected %s, in quotes",
                   shown);
}

static rh_status read_action(Reader *reader, const JsonNode *value, void *place) {
  size_t index;
  rh_status status = read_word(reader, value, plan_action_names, NUM_PLAN_ACTIONS, &index);
  if (status == RH_OK) *(PlanAction *)place = (PlanAction)index;
  return status;
}

static rh_status read_inline_calls(Reader *reader, const JsonNode *value, void *place) {
  static const char *const words[] = {"auto", "never", "always"}; /* ORDER rh_inline_calls */
  size_t index;
  rh_status status = read_word(reader, value, words, 3, &index);
  if (status == RH_OK) *(rh_inline_calls *)place = (rh_inline_calls)index;
  return status;
}

static rh_status read_copies(Reader *reader, const JsonNode *value, void *place) {
  static const char *const words[] = {"auto", "inserted", "pending"}; /* ORDER rh_copies */
  size_t index;
  rh_status status = read_word(reader, value, words, 3, &index);
  if (status == RH_OK) *(rh_copies *)place = (rh_copies)index;
  return status;
}

static rh_status read_c_string(Reader *reader, const JsonNode *value, void *place) {
  Str text = {0};
  rh_status status = read_string(reader, value, &text);
  if (status != RH_OK) return status;
  if (memchr(text.data, 0, text.len)) return fail(reader, value, "a name has no NUL in it");
  *(const char **)place = text.data;
  return RH_OK;
}

static rh_status read_target(Reader *reader, const JsonNode *value, void *place) {
  rh_status status = read_c_string(reader, value, place);
  if (status != RH_OK || target_find(*(const char **)place)) return status;
  return fail(reader, value, "there is no target of this name");
}

static rh_status read_scheduler(Reader *reader, const JsonNode *value, void *place) {
  rh_status status = read_c_string(reader, value, place);
  if (status != RH_OK || scheduler_find(*(const char **)place)) return status;
  return fail(reader, value, "there is no scheduler of this name");
}

/* ---- lists and objects ---- */

static rh_status expect(const Reader *reader, const JsonNode *node, JsonKind kind) {
  if (node->kind == kind) return RH_OK;
  return fail(reader, node, kind == JSON_ARRAY ? "expected a list, [ … ]" : "expected { … }");
}

static rh_status read_object(Reader *reader, const JsonNode *object, const Key *keys,
                             size_t num_keys, void *place) {
  rh_status status = expect(reader, object, JSON_OBJECT);
  if (status != RH_OK) return status;
  for (const JsonNode *member = object->first; member; member = member->next) {
    size_t i = 0;
    while (i < num_keys && !str_is(member->key, keys[i].name))
      i++;
    if (i == num_keys) {
      return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(member->key_offset),
                       "'%.*s' is an unknown key; remarks go under 'note'", SHOWN(member->key));
    }
    if (!keys[i].read) continue;
    status = keys[i].read(reader, member, (char *)place + keys[i].offset);
    if (status != RH_OK) return status;
  }
  for (size_t i = 0; i < num_keys; i++) {
    if (!keys[i].is_needed || json_member(object, keys[i].name)) continue;
    return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(object->offset), "'%s' is missing here",
                     keys[i].name);
  }
  return RH_OK;
}

#define READ_OBJECT(reader, node, keys, place) \
  read_object((reader), (node), (keys), sizeof(keys) / sizeof *(keys), (place))

static rh_status read_refs(Reader *reader, const JsonNode *value, void *place) {
  PlanRefs *refs = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next)
    status = read_ref(reader, node, vec_push(reader->out, &refs->list));
  return status;
}

typedef struct Positions {
  VEC(uint32_t) list;
} Positions;

static rh_status read_positions(Reader *reader, const JsonNode *value, void *place) {
  Positions positions = {0};
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    int64_t position = 0;
    status = read_count(reader, node, &position);
    *vec_push(reader->out, &positions.list) =
        position < UINT32_MAX ? (uint32_t)position : UINT32_MAX;
  }
  if (status == RH_OK && positions.list.len == 0)
    return fail(reader, value, "expected positions of operands, from 0 on");
  ((PlanUser *)place)->operands = positions.list.data;
  ((PlanUser *)place)->num_operands = positions.list.len;
  return status;
}

static rh_status read_user(Reader *reader, const JsonNode *value, PlanUser *user) {
  static const Key keys[] = {{"name", read_ref, offsetof(PlanUser, ref), true},
                             {"operands", read_positions, 0, false}};
  *user = (PlanUser){0};
  if (value->kind == JSON_STRING) return read_ref(reader, value, &user->ref);
  return READ_OBJECT(reader, value, keys, user);
}

static rh_status read_users(Reader *reader, const JsonNode *value, void *place) {
  PlanStep *step = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next)
    status = read_user(reader, node, vec_push(reader->out, &step->users));
  return status;
}

typedef struct NamedPart {
  Str computation, instruction, name;
} NamedPart;

static rh_status read_callees(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {{"computation", read_string, offsetof(NamedPart, computation), false},
                             {"instruction", read_string, offsetof(NamedPart, instruction), false},
                             {"name", read_inst_name, offsetof(NamedPart, name), true}};
  PlanStep *step = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    NamedPart part = {0};
    status = READ_OBJECT(reader, node, keys, &part);
    bool is_computation = part.computation.len > 0;
    *vec_push(reader->out, &step->callees) =
        (PlanName){is_computation, is_computation ? part.computation : part.instruction, part.name};
  }
  return status;
}

/* ---- steps ---- */

static rh_status check_step(const Reader *reader, const JsonNode *node, const PlanStep *step) {
  bool is_clone = step->action == PLAN_RECOMPUTE || step->action == PLAN_MOVE;
  const char *missing = NULL;
  if (!is_clone && step->operand.name.len == 0) missing = "operand";
  if (step->action != PLAN_ELEMENT && step->instruction.name.len == 0) missing = "instruction";
  if (step->action == PLAN_ELEMENT && !json_member(node, "index")) missing = "index";
  if (!missing) return RH_OK;
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(node->offset),
                   "'%s' is missing in a step that is to %s", missing,
                   plan_action_names[step->action]);
}

static rh_status read_step(Reader *reader, const JsonNode *node, PlanStep *step) {
  static const Key keys[] = {
      {"action", read_action, offsetof(PlanStep, action), true},
      {"skip", read_bool, offsetof(PlanStep, is_skipped), false},
      {"number", read_count, offsetof(PlanStep, number), false},
      {"computation", read_ref, offsetof(PlanStep, computation), false},
      {"instruction", read_ref, offsetof(PlanStep, instruction), false},
      {"name", read_inst_ref, offsetof(PlanStep, made), false},
      {"operand", read_ref, offsetof(PlanStep, operand), false},
      {"index", read_count, offsetof(PlanStep, index), false},
      {"before", read_ref, offsetof(PlanStep, before), false},
      {"users", read_users, 0, false},
      {"channel", read_count, offsetof(PlanStep, channel), false},
      {"control_predecessors", read_refs, offsetof(PlanStep, control), false},
      {"callees", read_callees, 0, false},
      /* why, and what it costs */
      {"reason", NULL, 0, false},
      {"freed_bytes", NULL, 0, false},
      {"bytes", NULL, 0, false},
      {"flops", NULL, 0, false},
      {"transcendentals", NULL, 0, false},
      {"bytes_accessed", NULL, 0, false},
      {"runs", NULL, 0, false},
      {"seconds", NULL, 0, false},
      {"op_name", NULL, 0, false},
      {"source", NULL, 0, false},
      {"note", NULL, 0, false},
  };
  PlanRef none = {.offset = NO_OFFSET, .id = NO_ID};
  *step = (PlanStep){.offset = node->offset,
                     .number = -1,
                     .computation = none,
                     .instruction = none,
                     .made = none,
                     .operand = none,
                     .before = none,
                     .channel = -1};
  rh_status status = READ_OBJECT(reader, node, keys, step);
  return status == RH_OK ? check_step(reader, node, step) : status;
}

static rh_status read_steps(Reader *reader, const JsonNode *value, void *place) {
  Plan *plan = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next)
    status = read_step(reader, node, vec_push(reader->out, &plan->steps));
  return status;
}

static rh_status read_callers(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {{"computation", read_ref, offsetof(PlanCaller, computation), false},
                             {"instruction", read_ref, offsetof(PlanCaller, instruction), true}};
  PlanClone *clone = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    PlanCaller *caller = vec_push(reader->out, &clone->callers);
    *caller = (PlanCaller){0};
    status = node->kind == JSON_STRING ? read_ref(reader, node, &caller->instruction)
                                       : READ_OBJECT(reader, node, keys, caller);
  }
  return status;
}

static rh_status read_clones(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {{"skip", read_bool, offsetof(PlanClone, is_skipped), false},
                             {"computation", read_ref, offsetof(PlanClone, computation), true},
                             {"name", read_new_ref, offsetof(PlanClone, made), false},
                             {"callers", read_callers, 0, true},
                             {"same_as", read_ref, offsetof(PlanClone, same_as), false},
                             {"peak_bytes", NULL, 0, false},
                             {"note", NULL, 0, false}};
  Plan *plan = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    PlanClone *clone = vec_push(reader->out, &plan->clones);
    *clone = (PlanClone){0};
    status = READ_OBJECT(reader, node, keys, clone);
  }
  return status;
}

static rh_status read_control(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {
      {"computation", read_ref, offsetof(PlanControl, computation), false},
      {"instruction", read_ref, offsetof(PlanControl, instruction), true},
      {"control_predecessors", read_refs, offsetof(PlanControl, predecessors), true}};
  Plan *plan = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    PlanControl *control = vec_push(reader->out, &plan->control);
    *control = (PlanControl){0};
    status = READ_OBJECT(reader, node, keys, control);
  }
  return status;
}

static rh_status read_orders(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {{"computation", read_ref, offsetof(PlanOrder, computation), false},
                             {"instructions", read_refs, offsetof(PlanOrder, instructions), true}};
  Plan *plan = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    PlanOrder *order = vec_push(reader->out, &plan->orders);
    *order = (PlanOrder){0};
    status = READ_OBJECT(reader, node, keys, order);
  }
  return status;
}

static rh_status read_renames(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {{"computation", read_ref, offsetof(PlanRename, computation), false},
                             {"instruction", read_ref, offsetof(PlanRename, instruction), true},
                             {"name", read_new_name, offsetof(PlanRename, name), true}};
  Plan *plan = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    PlanRename *rename = vec_push(reader->out, &plan->renames);
    *rename = (PlanRename){0};
    status = READ_OBJECT(reader, node, keys, rename);
  }
  return status;
}

/* ---- the plan ---- */

static rh_status read_unfuse(Reader *reader, const JsonNode *value, void *place) {
  static const char *const words[] = {"loop", "input", "output"}; /* ORDER RH_UNFUSE */
  unsigned *kinds = place;
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    size_t index = 0;
    status = read_word(reader, node, words, 3, &index);
    if (status == RH_OK) *kinds |= 1u << index;
  }
  return status;
}

static rh_status read_preparation(Reader *reader, const JsonNode *value, void *place) {
  static const Key keys[] = {
      {"target", read_target, offsetof(Plan, target), true},
      {"scheduler", read_scheduler, offsetof(Plan, preparation.scheduler), true},
      {"ignore_schedule", read_bool, offsetof(Plan, preparation.ignore_schedule), false},
      {"inline_calls", read_inline_calls, offsetof(Plan, preparation.inline_calls), false},
      {"unfuse", read_unfuse, offsetof(Plan, preparation.unfuse), false},
      {"copies", read_copies, offsetof(Plan, copies), false},
      {"remat_collectives", read_bool, offsetof(Plan, allow_collectives), false}};
  return READ_OBJECT(reader, value, keys, place);
}

rh_status plan_read(const char *text, size_t length, Plan *plan, rh_diags *diags, Arena *out) {
  static const Key keys[] = {
      {"remat_hlo_plan", read_version, 0, true},
      {"module", read_string, offsetof(Plan, module), false},
      {"fingerprint", read_hash, offsetof(Plan, fingerprint), false},
      {"order_fingerprint", read_hash, offsetof(Plan, order_fingerprint), false},
      {"preparation", read_preparation, 0, true},
      {"drops_dead_code", read_bool, offsetof(Plan, drops_dead_code), false},
      {"clones", read_clones, 0, false},
      {"steps", read_steps, 0, true},
      {"names", read_renames, 0, false},
      {"control", read_control, 0, false},
      {"orders", read_orders, 0, false},
      {"note", NULL, 0, false}};
  Reader reader = {.plan = plan, .diags = diags, .out = out};
  JsonNode *root;
  rh_status status = json_tree_parse(text, length, &root, diags, out);
  if (status != RH_OK) return status;
  *plan = (Plan){0};
  return READ_OBJECT(&reader, root, keys, plan);
}
