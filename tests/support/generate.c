/* Random modules: computations are written from the callees up, each into a text of its own. */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate_internal.h"
#include "ir/ids.h"

uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

uint32_t random_below(uint64_t *state, uint32_t bound) {
  return (uint32_t)((random_next(state) >> 32) * bound >> 32);
}

uint32_t below(Generator *gen, uint32_t bound) {
  return random_below(&gen->state, bound);
}

bool chance(Generator *gen, uint32_t percent) {
  return below(gen, 100) < percent;
}

bool has_feature(const Generator *gen, unsigned feature) {
  return gen->options.features & feature;
}

void add_text(Generator *gen, Chars *chars, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  uint32_t len = (uint32_t)vsnprintf(NULL, 0, format, args);
  vsnprintf(vec_extend(gen->arena, chars, len + 1), len + 1, format, again);
  va_end(again);
  va_end(args);
  chars->len--; /* the NUL */
}

/* ---- types ---- */

static const char *const array_types[NUM_ARRAY_TYPES] = {
    "f32[]",           "s32[]",           "pred[]",       "f32[16]{0}",       "f32[256]{0}",
    "f32[16,16]{1,0}", "f32[16,16]{0,1}", "f32[4096]{0}", "f32[16,256]{1,0}", "f32[64,64]{1,0}",
    "bf16[4096]{0}",   "pred[4096]{0}",   "s32[4096]{0}", "token[]",
};

/* With padding that another layout has not. */
static const struct {
  const char *plain, *tiled;
} tiled_types[] = {{"f32[16,256]{1,0}", "f32[16,256]{0,1:T(8,128)}"},
                   {"f32[16,16]{1,0}", "f32[16,16]{1,0:T(2,64)}"},
                   {"f32[64,64]{1,0}", "f32[64,64]{1,0:T(8,128)}"},
                   {"f32[4096]{0}", "f32[4096]{0:T(1024)}"}};

static const char *array_type(const Generator *gen, TypeId type) {
  const char *text = array_types[type];
  if (!has_feature(gen, GENERATE_TILES)) return text;
  for (size_t i = 0; i < sizeof tiled_types / sizeof *tiled_types; i++) {
    if (strcmp(text, tiled_types[i].plain) == 0) return tiled_types[i].tiled;
  }
  return text;
}

const char *type_text(const Generator *gen, TypeId type) {
  return gen->types.data[type].text;
}

TypeId tuple_type(Generator *gen, const TypeId *elements, uint32_t count) {
  for (TypeId id = NUM_ARRAY_TYPES; id < gen->types.len; id++) {
    const Type *type = &gen->types.data[id];
    if (type->num_elements == count &&
        memcmp(type->elements, elements, count * sizeof *elements) == 0) {
      return id;
    }
  }
  Chars text = {0};
  add_text(gen, &text, "(");
  for (uint32_t i = 0; i < count; i++) {
    const char *comment = i == 5 ? "/*index=5*/" : "";
    add_text(gen, &text, "%s%s%s", i ? ", " : "", comment, type_text(gen, elements[i]));
  }
  add_text(gen, &text, ")");
  Type type = {.text = text.data, .is_tuple = true, .num_elements = count};
  memcpy(type.elements, elements, count * sizeof *elements);
  *vec_push(gen->arena, &gen->types) = type;
  return gen->types.len - 1;
}

/* ---- instructions ---- */

static const char *new_name(Generator *gen, const char *stem, uint32_t number) {
  static const char *const endings[] = {".remat", ".remat2", ".clone", ".1", "-x_y"};
  const char *ending = "";
  if (has_feature(gen, GENERATE_ODD_TEXT) && chance(gen, 3)) {
    ending = endings[below(gen, sizeof endings / sizeof *endings)];
  }
  return arena_printf(gen->arena, "%s.%u%s", stem, number, ending);
}

static void add_operand(Generator *gen, Body *body, ValueId id) {
  Value value = body->values.data[id];
  const char *percent = gen->has_percent ? "%" : "";
  const char *shape = type_text(gen, value.type);
  if (has_feature(gen, GENERATE_ODD_TEXT) && value.type == T_F32_256 && chance(gen, 2)) {
    add_text(gen, &body->chars, "%s negate(%s%s%s%s)", shape, gen->has_operand_shapes ? shape : "",
             gen->has_operand_shapes ? " " : "", percent, value.name);
    return;
  }
  if (gen->has_operand_shapes) add_text(gen, &body->chars, "%s ", shape);
  add_text(gen, &body->chars, "%s%s", percent, value.name);
}

static void add_control(Generator *gen, Body *body) {
  if (!has_feature(gen, GENERATE_CONTROL) || body->is_fused || !chance(gen, 6)) return;
  VEC(ValueId) chosen = {0};
  for (int i = 0; i < 2 && body->values.len; i++) {
    ValueId id = below(gen, body->values.len);
    if (!body->values.data[id].has_line || (chosen.len && chosen.data[0] == id)) continue;
    *vec_push(gen->arena, &chosen) = id;
  }
  for (uint32_t i = 0; i < chosen.len; i++) {
    add_text(gen, &body->chars, "%s%s%s", i ? ", " : ", control-predecessors={",
             gen->has_percent ? "%" : "", body->values.data[chosen.data[i]].name);
  }
  if (chosen.len) add_text(gen, &body->chars, "}");
}

static void add_annotations(Generator *gen, Body *body) {
  if (!has_feature(gen, GENERATE_ODD_TEXT)) return;
  if (chance(gen, 10)) {
    add_text(gen, &body->chars,
             ", metadata={op_name=\"jit(f)/{%u}\" source_file=\"f.py\" source_line=%u}",
             below(gen, 9), below(gen, 99));
  }
  if (chance(gen, 3)) add_text(gen, &body->chars, ", frontend_attributes={a=\"}\\\"(\"}");
  if (chance(gen, 3)) add_text(gen, &body->chars, " // a } comment");
}

ValueId write_line(Generator *gen, Body *body, const Line *line) {
  uint32_t *num_names = gen->has_local_names ? &body->num_names : &gen->num_names;
  Value value = {.type = line->type,
                 .name = new_name(gen, line->opcode, ++*num_names),
                 .line = body->chars.len,
                 .has_line = true};
  add_text(gen, &body->chars, "  %s%s = %s %s(", gen->has_percent ? "%" : "", value.name,
           type_text(gen, line->type), line->opcode);
  if (line->inner) add_text(gen, &body->chars, "%s", line->inner);
  for (uint32_t i = 0; i < line->num_operands; i++) {
    bool has_comment = i == 5 || (has_feature(gen, GENERATE_ODD_TEXT) && chance(gen, 2));
    add_text(gen, &body->chars, "%s", i ? ", " : "");
    if (has_comment) add_text(gen, &body->chars, "/*index=%u*/", i);
    add_operand(gen, body, line->operands[i]);
  }
  add_text(gen, &body->chars, ")%s", line->attrs ? line->attrs : "");
  if (!line->inner || strcmp(line->opcode, "parameter") != 0) add_control(gen, body);
  add_annotations(gen, body);
  add_text(gen, &body->chars, "\n");
  *vec_push(gen->arena, &body->values) = value;
  if (body->budget) body->budget--;
  return body->values.len - 1;
}

/* ---- computations ---- */

static void write_params(Generator *gen, Body *body, const TypeId *params, uint32_t num_params) {
  for (uint32_t i = 0; i < num_params; i++) {
    *vec_push(gen->arena, &body->params) = params[i];
    write_line(
        gen, body,
        &(Line){
            .type = params[i], .opcode = "parameter", .inner = arena_printf(gen->arena, "%u", i)});
  }
}

/* Marks an instruction as the root: the newest, or any other one of its type. */
static ValueId mark_root(Generator *gen, Body *body, TypeId type, bool is_entry) {
  ValueId root = body->values.len;
  for (ValueId id = body->values.len; id-- > 0;) {
    const Value *value = &body->values.data[id];
    if (value->type != type || !value->has_line) continue;
    root = id;
    if (is_entry || !chance(gen, 20)) break;
  }
  uint32_t place = body->values.data[root].line + 2;
  uint32_t rest = body->chars.len - place;
  (void)vec_extend(gen->arena, &body->chars, 5);
  memmove(body->chars.data + place + 5, body->chars.data + place, rest);
  memcpy(body->chars.data + place, "ROOT ", 5);
  return root;
}

static void add_computation(Generator *gen, const Body *body, TypeId result, bool is_entry) {
  const char *percent = gen->has_percent ? "%" : "";
  add_text(gen, &gen->chars, "%s%s%s ", is_entry ? "ENTRY " : "", percent, body->name);
  if (gen->has_signatures) {
    for (uint32_t i = 0; i < body->params.len; i++) {
      add_text(gen, &gen->chars, "%sp%u: %s", i ? ", " : "(", i,
               type_text(gen, body->params.data[i]));
    }
    add_text(gen, &gen->chars, "%s) -> %s ", body->params.len ? "" : "(", type_text(gen, result));
  }
  add_text(gen, &gen->chars, "{\n%.*s}\n\n", (int)body->chars.len, body->chars.data);
}

/* The last instruction of a computation whose result is prescribed. */
static ValueId write_result(Generator *gen, Body *body, TypeId type) {
  const Type made = gen->types.data[type];
  if (!made.is_tuple) {
    ValueId id = pick_value(gen, body, type);
    bool is_scalar = type == T_S32 || type == T_PRED || type == T_TOKEN;
    if (is_scalar && body->values.data[id].has_line) return id;
    const char *opcode = is_scalar ? "copy" : "negate";
    if (type == T_PRED_4096) opcode = "not";
    if (type == T_TOKEN) opcode = "after-all";
    return write_line(gen, body, &(Line){type, opcode, 1, {id}, NULL, NULL});
  }
  Line line = {.type = type, .opcode = "tuple", .num_operands = made.num_elements};
  for (uint32_t i = 0; i < made.num_elements; i++) {
    line.operands[i] = pick_value(gen, body, made.elements[i]);
  }
  return write_line(gen, body, &line);
}

static TypeId choose_result(Generator *gen, Body *body) {
  if (chance(gen, 50)) return body->values.data[pick_any(gen, body)].type;
  TypeId elements[MAX_OPERANDS];
  uint32_t count = 1 + below(gen, MAX_OPERANDS - 1);
  for (uint32_t i = 0; i < count; i++) {
    elements[i] = body->values.data[pick_any(gen, body)].type;
    if (gen->types.data[elements[i]].is_tuple) elements[i] = T_F32;
  }
  return tuple_type(gen, elements, count);
}

const char *write_computation(Generator *gen, const TypeId *params, uint32_t num_params,
                              TypeId *result, uint32_t budget, uint32_t depth, bool is_fused) {
  bool is_entry = depth == 0;
  const char *stem = is_entry ? "main" : is_fused ? "fused" : "region";
  Body body = {.name = new_name(gen, stem, ++gen->num_names),
               .is_fused = is_fused,
               .depth = depth,
               .budget = budget};
  write_params(gen, &body, params, num_params);
  while (body.budget > 0)
    write_random_op(gen, &body);
  while (body.under_way.len)
    write_async_step(gen, &body);
  if (*result == NO_ID) *result = choose_result(gen, &body);
  write_result(gen, &body, *result);
  mark_root(gen, &body, *result, is_entry);
  add_computation(gen, &body, *result, is_entry);
  return body.name;
}

/* ---- modules ---- */

static void write_reducer(Generator *gen) {
  Body body = {.name = new_name(gen, "add_f32", ++gen->num_names), .is_fused = true};
  TypeId params[] = {T_F32, T_F32};
  write_params(gen, &body, params, 2);
  write_line(gen, &body, &(Line){T_F32, "add", 2, {0, 1}, NULL, NULL});
  mark_root(gen, &body, T_F32, true);
  add_computation(gen, &body, T_F32, false);
  gen->reducer = body.name;
}

/* Outputs that take over a parameter of the same type, each at most one. */
static void add_aliases(Generator *gen, Chars *head, const TypeId *params, uint32_t num_params,
                        TypeId result) {
  const Type *type = &gen->types.data[result];
  if (!has_feature(gen, GENERATE_IN_PLACE) || !type->is_tuple) return;
  bool is_taken[MAX_OPERANDS] = {false};
  uint32_t count = 0;
  for (uint32_t i = 0; i < type->num_elements; i++) {
    for (uint32_t k = 0; k < num_params; k++) {
      if (params[k] != type->elements[i] || is_taken[k] || params[k] == T_TOKEN) continue;
      if (gen->types.data[params[k]].is_tuple || chance(gen, 40)) continue;
      is_taken[k] = true;
      add_text(gen, head, "%s{%u}: (%u, {}, %s-alias)", count++ ? ", " : ", input_output_alias={ ",
               i, k, chance(gen, 50) ? "may" : "must");
      break;
    }
  }
  if (count) add_text(gen, head, " }");
}

char *generate_module(const GenerateOptions *options, size_t *length) {
  Generator gen = {.arena = arena_new(NULL), .state = options->seed, .options = *options};
  for (TypeId type = 0; type < NUM_ARRAY_TYPES; type++) {
    *vec_push(gen.arena, &gen.types) = (Type){.text = array_type(&gen, type)};
  }
  gen.has_percent = chance(&gen, 50);
  gen.has_operand_shapes = chance(&gen, 50);
  gen.has_signatures = chance(&gen, 70);
  gen.has_local_names = chance(&gen, 20);
  write_reducer(&gen);
  TypeId params[MAX_OPERANDS], result = NO_ID;
  uint32_t num_params = 1 + below(&gen, MAX_OPERANDS - 1);
  for (uint32_t i = 0; i < num_params; i++)
    params[i] = below(&gen, T_TOKEN);
  write_computation(&gen, params, num_params, &result, options->num_insts, 0, false);

  Chars text = {0};
  add_text(&gen, &text, "HloModule jit_f.%u%s", below(&gen, 1000),
           options->is_scheduled ? ", is_scheduled=true" : "");
  add_aliases(&gen, &text, params, num_params, result);
  add_text(&gen, &text, "\n\n%.*s", (int)gen.chars.len, gen.chars.data);
  char *copy = malloc((size_t)text.len + 1);
  if (!copy) abort();
  memcpy(copy, text.data, text.len);
  copy[text.len] = '\0';
  *length = text.len;
  arena_free(gen.arena);
  return copy;
}

GenerateOptions generate_options(uint64_t seed, uint32_t max_insts, unsigned allowed) {
  uint64_t state = seed * 2 + 1;
  uint32_t size = 4 + random_below(&state, 28);
  while (size < max_insts && random_below(&state, 100) < 45)
    size *= 2;
  unsigned features = GENERATE_ALL;
  if (random_below(&state, 100) < 60) features = random_below(&state, GENERATE_ALL + 1);
  GenerateOptions options = {.seed = random_next(&state),
                             .num_insts = size < max_insts ? size : max_insts,
                             .features = features & allowed,
                             .is_scheduled = random_below(&state, 100) < 50};
  if (random_below(&state, 100) < 30) options.features |= GENERATE_ASYNC & allowed;
  return options;
}
