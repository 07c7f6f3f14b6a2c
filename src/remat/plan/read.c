/* Reads plans by the tables of fields.h. */
#include "ir/chars.h"
#include "ir/json_tree.h"
#include "remat/plan/fields.h"
#include "schedule/scheduler.h"

typedef struct Reader {
  rh_diags *diags;
  Arena *out;
} Reader;

static rh_status read_object(Reader *reader, const JsonNode *node, const PlanObject *object,
                             void *place);

static rh_status fail(const Reader *reader, const JsonNode *node, const char *what) {
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(node->offset), "%s", what);
}

/* ---- values ---- */

static rh_status read_text(Reader *reader, const JsonNode *value, Str *text) {
  if (value->kind != JSON_STRING) return fail(reader, value, "expected a text in quotes");
  *text = value->text;
  return RH_OK;
}

static bool is_name(Str text, bool may_have_hash) {
  for (uint32_t i = 0; i < text.len; i++) {
    char c = text.data[i];
    bool is_letter = char_is_letter(c) || c == '_';
    bool is_other = char_is_digit(c) || c == '.' || c == '-' || (c == '#' && may_have_hash);
    if (!is_letter && !(is_other && i > 0)) return false;
  }
  return text.len > 0;
}

static rh_status read_ref(Reader *reader, const JsonNode *value, FieldKind kind, PlanRef *ref) {
  *ref = (PlanRef){.offset = value->offset, .id = NO_ID};
  rh_status status = read_text(reader, value, &ref->name);
  if (status != RH_OK) return status;
  if (kind == FIELD_COMP || kind == FIELD_INST)
    return ref->name.len ? RH_OK : fail(reader, value, "expected a name");
  if (is_name(ref->name, kind == FIELD_NEW_INST)) return RH_OK;
  return fail(reader, value, "a name has letters, digits, '_', '-' and '.', a letter first");
}

/* Reads a text; the name of a target or scheduler must exist. */
static rh_status read_c_text(Reader *reader, const JsonNode *value, FieldKind kind,
                             const char **place) {
  Str text = {0};
  rh_status status = read_text(reader, value, &text);
  if (status != RH_OK) return status;
  if (memchr(text.data, 0, text.len)) return fail(reader, value, "a name has no NUL in it");
  *place = text.data;
  if (kind == FIELD_TARGET && !target_find(text.data))
    return fail(reader, value, "there is no target of this name");
  if (kind == FIELD_SCHEDULER && !scheduler_find(text.data))
    return fail(reader, value, "there is no scheduler of this name");
  return RH_OK;
}

static rh_status read_bool(Reader *reader, const JsonNode *value, bool *place) {
  if (value->kind != JSON_TRUE && value->kind != JSON_FALSE)
    return fail(reader, value, "expected true or false");
  *place = value->kind == JSON_TRUE;
  return RH_OK;
}

static rh_status read_count(Reader *reader, const JsonNode *value, int64_t *place) {
  if (!json_int64(value, place) || *place < 0)
    return fail(reader, value, "expected a whole number from 0 on");
  return RH_OK;
}

static rh_status read_hash(Reader *reader, const JsonNode *value, uint64_t *place) {
  uint64_t hash = 0;
  bool is_hash = value->kind == JSON_STRING && value->text.len == 16;
  for (uint32_t i = 0; is_hash && i < 16; i++) {
    char c = value->text.data[i];
    is_hash = char_is_digit(c) || (c >= 'a' && c <= 'f');
    hash = hash << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (!is_hash) return fail(reader, value, "expected 16 hexadecimal digits in quotes");
  *place = hash;
  return RH_OK;
}

static rh_status read_version(Reader *reader, const JsonNode *value) {
  int64_t version;
  if (!json_int64(value, &version)) return fail(reader, value, "expected a whole number");
  if (version == PLAN_VERSION) return RH_OK;
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(value->offset),
                   "plans of version %lld are not known, only of version %d", (long long)version,
                   PLAN_VERSION);
}

/* Reads one of `words`; `*index` is its number. */
static rh_status read_word(Reader *reader, const JsonNode *value, const char *const *words,
                           unsigned *index) {
  for (*index = 0; value->kind == JSON_STRING && words[*index]; ++*index) {
    if (str_is(value->text, words[*index])) return RH_OK;
  }
  const char *shown = words[0];
  for (size_t i = 1; words[i]; i++)
    shown = arena_printf(reader->out, "%s%s%s", shown, words[i + 1] ? ", " : " or ", words[i]);
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(value->offset), "expected %s, in quotes",
                   shown);
}

/* ---- lists ---- */

static rh_status expect(const Reader *reader, const JsonNode *node, JsonKind kind) {
  if (node->kind == kind) return RH_OK;
  return fail(reader, node, kind == JSON_ARRAY ? "expected a list, [ … ]" : "expected { … }");
}

static rh_status read_words(Reader *reader, const JsonNode *value, const char *const *words,
                            unsigned *bits) {
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    unsigned index = 0;
    status = read_word(reader, node, words, &index);
    if (status == RH_OK) *bits |= 1u << index;
  }
  return status;
}

static rh_status read_refs(Reader *reader, const JsonNode *value, PlanRefs *refs) {
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next)
    status = read_ref(reader, node, FIELD_INST, vec_push(reader->out, &refs->list));
  return status;
}

static rh_status read_positions(Reader *reader, const JsonNode *value, IdVec *positions) {
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    int64_t position = 0;
    status = read_count(reader, node, &position);
    *vec_push(reader->out, positions) = position < UINT32_MAX ? (uint32_t)position : UINT32_MAX;
  }
  if (status == RH_OK && positions->len == 0)
    return fail(reader, value, "expected positions of operands, from 0 on");
  return status;
}

/* Appends one element to a list, with the initial value of its object, and returns its address. */
static void *push(const Reader *reader, void *list, const PlanObject *object) {
  AnyList any;
  memcpy(&any, list, sizeof any);
  if (any.len == any.cap)
    any.data = vec_grow(reader->out, any.data, &any.cap, any.len, 1, object->size);
  void *element = (char *)any.data + any.len++ * object->size;
  memcpy(list, &any, sizeof any);
  memset(element, 0, object->size);
  if (object->empty) memcpy(element, object->empty, object->size);
  return element;
}

static rh_status finish_step(const Reader *reader, const JsonNode *node, PlanStep *step) {
  const char *missing = NULL;
  bool has_operand = !plan_is_clone(step->action) && step->action != PLAN_READ;
  if (has_operand && step->operand.name.len == 0) missing = "operand";
  if (step->action != PLAN_ELEMENT && step->instruction.name.len == 0) missing = "instruction";
  if (step->action == PLAN_ELEMENT && step->index < 0) missing = "index";
  step->offset = node->offset;
  if (!missing) return RH_OK;
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(node->offset),
                   "'%s' is missing in a step that is to %s", missing,
                   plan_action_names[step->action]);
}

static rh_status read_objects(Reader *reader, const JsonNode *value, const PlanObject *object,
                              void *list) {
  rh_status status = expect(reader, value, JSON_ARRAY);
  for (const JsonNode *node = value->first; status == RH_OK && node; node = node->next) {
    void *element = push(reader, list, object);
    const PlanField *alone = object->fields;
    while (alone->name && !(alone->flags & FIELD_SHORT))
      alone++;
    if (alone->name && node->kind == JSON_STRING) {
      status = read_ref(reader, node, alone->kind, (void *)((char *)element + alone->offset));
    } else {
      status = read_object(reader, node, object, element);
    }
    if (status == RH_OK && object == &plan_step_object) status = finish_step(reader, node, element);
  }
  return status;
}

/* ---- objects ---- */

static rh_status read_field(Reader *reader, const JsonNode *value, const PlanField *field,
                            void *place) {
  if (field->flags & FIELD_WRITTEN_ONLY) return RH_OK;
  switch (field->kind) {
    case FIELD_TEXT: return read_text(reader, value, place);
    case FIELD_C_TEXT:
    case FIELD_TARGET:
    case FIELD_SCHEDULER: return read_c_text(reader, value, field->kind, place);
    case FIELD_COMP:
    case FIELD_INST:
    case FIELD_NEW_COMP:
    case FIELD_NEW_NAME:
    case FIELD_NEW_INST: return read_ref(reader, value, field->kind, place);
    case FIELD_COUNT: return read_count(reader, value, place);
    case FIELD_BOOL: return read_bool(reader, value, place);
    case FIELD_HASH: return read_hash(reader, value, place);
    case FIELD_VERSION: return read_version(reader, value);
    case FIELD_WORD: return read_word(reader, value, field->of, place);
    case FIELD_WORDS: return read_words(reader, value, field->of, place);
    case FIELD_INSTS: return read_refs(reader, value, place);
    case FIELD_POSITIONS: return read_positions(reader, value, place);
    case FIELD_OBJECT: return read_object(reader, value, field->of, place);
    case FIELD_OBJECTS: return read_objects(reader, value, field->of, place);
    case FIELD_NOTE: break;
  }
  return RH_OK;
}

static rh_status read_object(Reader *reader, const JsonNode *node, const PlanObject *object,
                             void *place) {
  rh_status status = expect(reader, node, JSON_OBJECT);
  if (status != RH_OK) return status;
  for (const JsonNode *member = node->first; member; member = member->next) {
    const PlanField *field = object->fields;
    while (field->name && !str_is(member->key, field->name))
      field++;
    if (!field->name) {
      return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(member->key_offset),
                       "'%.*s' is an unknown key; remarks go under 'note'", SHOWN(member->key));
    }
    status = read_field(reader, member, field, (char *)place + field->offset);
    if (status != RH_OK) return status;
  }
  for (const PlanField *field = object->fields; field->name; field++) {
    if (!(field->flags & FIELD_NEEDED) || json_member(node, field->name)) continue;
    return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_AT(node->offset), "'%s' is missing here",
                     field->name);
  }
  return RH_OK;
}

rh_status plan_read(const char *text, size_t length, Plan *plan, rh_diags *diags, Arena *out) {
  Reader reader = {.diags = diags, .out = out};
  JsonNode *root;
  rh_status status = json_tree_parse(text, length, &root, diags, out);
  if (status != RH_OK) return status;
  *plan = (Plan){0};
  return read_object(&reader, root, &plan_object, plan);
}
