/* The operations that random modules are made of. */
#include <string.h>

#include "generate_internal.h"
#include "ir/ids.h"

static const char *format_text(Generator *gen, const char *format, unsigned number) {
  Chars text = {0};
  for (const char *c = format; *c; c++) {
    if (*c == '#') {
      add_text(gen, &text, "%u", number);
    } else {
      add_text(gen, &text, "%c", *c);
    }
  }
  return text.data;
}

static ValueId unary(Generator *gen, Body *body, TypeId type, const char *opcode, ValueId operand,
                     const char *attrs) {
  return write_line(gen, body, &(Line){type, opcode, 1, {operand}, NULL, attrs});
}

/* ---- operands ---- */

static ValueId new_constant(Generator *gen, Body *body, TypeId type) {
  static const char *const bools[] = {"false", "true"};
  const char *inner = type == T_PRED ? bools[below(gen, 2)] : format_text(gen, "#", below(gen, 99));
  return write_line(gen, body, &(Line){.type = type, .opcode = "constant", .inner = inner});
}

static ValueId new_value(Generator *gen, Body *body, TypeId type) {
  const Type made = gen->types.data[type];
  if (made.is_tuple) {
    Line line = {.type = type, .opcode = "tuple", .num_operands = made.num_elements};
    for (uint32_t i = 0; i < made.num_elements; i++) {
      line.operands[i] = pick_value(gen, body, made.elements[i]);
    }
    return write_line(gen, body, &line);
  }
  switch (type) {
    case T_F32:
    case T_S32:
    case T_PRED: return new_constant(gen, body, type);
    case T_TOKEN: return write_line(gen, body, &(Line){.type = type, .opcode = "after-all"});
    case T_BF16_4096:
      return unary(gen, body, type, "convert", pick_value(gen, body, T_F32_4096), NULL);
    case T_S32_4096:
      return unary(gen, body, type, "convert", pick_value(gen, body, T_PRED_4096), NULL);
    case T_PRED_4096: {
      ValueId a = pick_value(gen, body, T_F32_4096), b = pick_value(gen, body, T_F32_4096);
      return write_line(gen, body, &(Line){type, "compare", 2, {a, b}, NULL, ", direction=GT"});
    }
    default:
      return unary(gen, body, type, "broadcast", pick_value(gen, body, T_F32), ", dimensions={}");
  }
}

/* Recent values are read more often, but old ones are not forgotten: that is what makes them live
 * long. */
ValueId pick_value(Generator *gen, Body *body, TypeId type) {
  bool is_recent = chance(gen, 60);
  uint32_t count = 0;
  ValueId chosen = NO_ID;
  for (ValueId id = body->values.len; id-- > 0;) {
    if (body->values.data[id].type != type) continue;
    count++;
    if (below(gen, count) == 0) chosen = id;
    if (is_recent && count == 3) break;
  }
  if (chosen == NO_ID) return new_value(gen, body, type);
  return chosen;
}

ValueId pick_any(Generator *gen, Body *body) {
  if (body->values.len == 0) return new_constant(gen, body, T_F32);
  uint32_t window = chance(gen, 60) && body->values.len > 6 ? 6 : body->values.len;
  ValueId id = body->values.len - 1 - below(gen, window);
  while (body->values.data[id].is_state)
    id--; /* a start reads something */
  return id;
}

static TypeId any_float(Generator *gen) {
  static const TypeId types[] = {T_F32_16,   T_F32_256,    T_F32_16_16, T_F32_16_16_T,
                                 T_F32_4096, T_F32_16_256, T_F32_64_64, T_BF16_4096};
  return types[below(gen, sizeof types / sizeof *types)];
}

/* ---- operations ---- */

static void write_unary(Generator *gen, Body *body) {
  static const char *const opcodes[] = {"negate", "exponential", "tanh", "abs",  "log",
                                        "sqrt",   "cosine",      "copy", "floor"};
  TypeId type = chance(gen, 10) ? T_F32 : any_float(gen);
  unary(gen, body, type, opcodes[below(gen, sizeof opcodes / sizeof *opcodes)],
        pick_value(gen, body, type), NULL);
}

static void write_binary(Generator *gen, Body *body) {
  static const char *const opcodes[] = {"add", "multiply", "subtract", "divide", "maximum"};
  TypeId type = chance(gen, 10) ? T_F32 : any_float(gen);
  ValueId a = pick_value(gen, body, type), b = pick_value(gen, body, type);
  write_line(
      gen, body,
      &(Line){type, opcodes[below(gen, sizeof opcodes / sizeof *opcodes)], 2, {a, b}, NULL, NULL});
}

static void write_select(Generator *gen, Body *body) {
  ValueId a = pick_value(gen, body, T_PRED_4096), b = pick_value(gen, body, T_F32_4096);
  ValueId c = pick_value(gen, body, T_F32_4096);
  write_line(gen, body, &(Line){T_F32_4096, "select", 3, {a, b, c}, NULL, NULL});
}

/* Integers of which it can be told how large they are: masks, indices, counts. */
static void write_integers(Generator *gen, Body *body) {
  static const char *const opcodes[] = {"add",     "multiply", "and",
                                        "maximum", "minimum",  "remainder"};
  TypeId to = chance(gen, 50) ? T_S32_4096 : T_F32_4096;
  Line line = {T_S32_4096, NULL, 2, {0}, NULL, NULL};
  switch (below(gen, 5)) {
    case 0: unary(gen, body, to, "convert", pick_value(gen, body, T_PRED_4096), NULL); return;
    case 1: unary(gen, body, to, "convert", pick_value(gen, body, T_S32_4096), NULL); return;
    case 2: line = (Line){to, "iota", 0, {0}, "", ", iota_dimension=0"}; break;
    case 3:
      line.opcode = "select";
      line.operands[line.num_operands++] = pick_value(gen, body, T_S32_4096);
      line.operands[0] = pick_value(gen, body, T_PRED_4096);
      line.operands[1] = pick_value(gen, body, T_S32_4096);
      break;
    default:
      line.opcode = opcodes[below(gen, sizeof opcodes / sizeof *opcodes)];
      line.operands[0] = pick_value(gen, body, T_S32_4096);
      line.operands[1] = pick_value(gen, body, T_S32_4096);
      break;
  }
  write_line(gen, body, &line);
}

static void write_broadcast(Generator *gen, Body *body) {
  if (chance(gen, 50)) {
    new_value(gen, body, any_float(gen));
    return;
  }
  unary(gen, body, T_F32_16_16, "broadcast", pick_value(gen, body, T_F32_16),
        chance(gen, 50) ? ", dimensions={0}" : ", dimensions={1}");
}

/* Between shapes of as many elements. */
static void write_reshape(Generator *gen, Body *body) {
  static const TypeId groups[2][3] = {{T_F32_256, T_F32_16_16, T_F32_16_16_T},
                                      {T_F32_4096, T_F32_16_256, T_F32_64_64}};
  const TypeId *group = groups[below(gen, 2)];
  unary(gen, body, group[below(gen, 3)], chance(gen, 50) ? "reshape" : "bitcast",
        pick_value(gen, body, group[below(gen, 3)]), NULL);
}

static void write_transpose(Generator *gen, Body *body) {
  TypeId type = chance(gen, 50) ? T_F32_16_16 : T_F32_64_64;
  unary(gen, body, type, "transpose", pick_value(gen, body, type), ", dimensions={1,0}");
}

static void write_dot(Generator *gen, Body *body) {
  TypeId type = chance(gen, 50) ? T_F32_16_16 : T_F32_64_64;
  ValueId a = pick_value(gen, body, type), b = pick_value(gen, body, type);
  write_line(
      gen, body,
      &(Line){
          type, "dot", 2, {a, b}, NULL, ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
}

static void write_reduce(Generator *gen, Body *body) {
  static const struct {
    TypeId from, to;
    const char *dimensions;
  } forms[] = {{T_F32_16_16, T_F32_16, "{1}"},
               {T_F32_16_16, T_F32_16, "{0}"},
               {T_F32_16_256, T_F32_256, "{0}"},
               {T_F32_4096, T_F32, "{0}"}};
  uint32_t form = below(gen, 4);
  ValueId a = pick_value(gen, body, forms[form].from), b = pick_value(gen, body, T_F32);
  const char *to_apply = gen->reducer;
  if (has_feature(gen, GENERATE_ODD_TEXT) && chance(gen, 10)) {
    to_apply = "{ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] maximum(x, y) }";
  }
  const char *attrs =
      arena_printf(gen->arena, ", dimensions=%s, to_apply=%s%s", forms[form].dimensions,
                   gen->has_percent && *to_apply != '{' ? "%" : "", to_apply);
  write_line(gen, body, &(Line){forms[form].to, "reduce", 2, {a, b}, NULL, attrs});
}

static void write_leaf(Generator *gen, Body *body) {
  if (chance(gen, 50)) {
    new_constant(gen, body, below(gen, 3));
    return;
  }
  write_line(
      gen, body,
      &(Line){
          .type = any_float(gen), .opcode = "iota", .inner = "", .attrs = ", iota_dimension=0"});
}

static void write_slice(Generator *gen, Body *body) {
  uint32_t start = 100 * (1 + below(gen, 9));
  if (chance(gen, 50)) start = 0;
  ValueId from = pick_value(gen, body, T_F32_4096);
  unary(gen, body, T_F32_256, "slice", from,
        arena_printf(gen->arena, ", slice={[%u:%u]}", start, start + 256));
}

static void write_all_reduce(Generator *gen, Body *body) {
  TypeId type = any_float(gen);
  const char *attrs = arena_printf(gen->arena, ", replica_groups={{0}}, to_apply=%s%s",
                                   gen->has_percent ? "%" : "", gen->reducer);
  unary(gen, body, type, "all-reduce", pick_value(gen, body, type), attrs);
}

static void write_update_slice(Generator *gen, Body *body) {
  ValueId a = pick_value(gen, body, T_F32_4096), b = pick_value(gen, body, T_F32_256);
  ValueId c = pick_value(gen, body, T_S32);
  write_line(gen, body, &(Line){T_F32_4096, "dynamic-update-slice", 3, {a, b, c}, NULL, NULL});
}

/* ---- tuples ---- */

/* An element of a tuple, written as an instruction or as `x#1`. */
static ValueId write_element(Generator *gen, Body *body, ValueId tuple, uint32_t index) {
  TypeId type = gen->types.data[body->values.data[tuple].type].elements[index];
  if (has_feature(gen, GENERATE_COMPACT)) {
    const char *name = arena_printf(gen->arena, "%s#%u", body->values.data[tuple].name, index);
    *vec_push(gen->arena, &body->values) = (Value){.type = type, .name = name};
    return body->values.len - 1;
  }
  return unary(gen, body, type, "get-tuple-element", tuple, format_text(gen, ", index=#", index));
}

static void write_elements(Generator *gen, Body *body, ValueId tuple) {
  uint32_t count = gen->types.data[body->values.data[tuple].type].num_elements;
  for (uint32_t i = 0; i < count; i++) {
    if (chance(gen, 80)) write_element(gen, body, tuple, i);
  }
}

static void write_tuple(Generator *gen, Body *body) {
  Line line = {.opcode = "tuple", .num_operands = 1 + below(gen, 4)};
  TypeId elements[MAX_OPERANDS];
  for (uint32_t i = 0; i < line.num_operands; i++) {
    line.operands[i] = pick_any(gen, body);
    elements[i] = body->values.data[line.operands[i]].type;
  }
  line.type = tuple_type(gen, elements, line.num_operands);
  ValueId tuple = write_line(gen, body, &line);
  if (chance(gen, 40)) tuple = unary(gen, body, line.type, "opt-barrier", tuple, NULL);
  write_elements(gen, body, tuple);
}

/* ---- calls ---- */

static Line operands_for_call(Generator *gen, Body *body, TypeId *types) {
  Line line = {.num_operands = 1 + below(gen, 4)};
  for (uint32_t i = 0; i < line.num_operands; i++) {
    line.operands[i] = pick_any(gen, body);
    types[i] = body->values.data[line.operands[i]].type;
  }
  return line;
}

static ValueId finish_call(Generator *gen, Body *body, const Line *line) {
  ValueId value = write_line(gen, body, line);
  if (gen->types.data[line->type].is_tuple) write_elements(gen, body, value);
  return value;
}

static uint32_t share_of(Generator *gen, const Body *body) {
  return 1 + below(gen, body->budget / 2 + 2);
}

static void spend(Body *body, uint32_t count) {
  body->budget = body->budget > count ? body->budget - count : 0;
}

static const char *percent(const Generator *gen) {
  return gen->has_percent ? "%" : "";
}

static bool is_fusible(const Generator *gen, TypeId type) {
  return type != T_TOKEN && !gen->types.data[type].is_tuple;
}

static void write_fusion(Generator *gen, Body *body) {
  static const char *const kinds[] = {"kLoop", "kLoop", "kInput", "kOutput", "kCustom"};
  TypeId types[MAX_OPERANDS];
  Line line = operands_for_call(gen, body, types);
  for (uint32_t i = 0; i < line.num_operands; i++) {
    if (!is_fusible(gen, types[i])) {
      types[i] = any_float(gen);
      line.operands[i] = pick_value(gen, body, types[i]);
    }
  }
  uint32_t budget = 2 + line.num_operands + below(gen, 8);
  line.type = has_feature(gen, GENERATE_TUPLES) && chance(gen, 40) ? NO_ID : any_float(gen);
  const char *name =
      write_computation(gen, types, line.num_operands, &line.type, budget, body->depth + 1, true);
  spend(body, budget);
  line.opcode = "fusion";
  line.attrs =
      arena_printf(gen->arena, ", kind=%s, calls=%s%s", kinds[below(gen, 5)], percent(gen), name);
  finish_call(gen, body, &line);
}

/* What has side effects is called more than once only where the text has an order: the verifier
 * tells random numbers drawn from the same limits apart by which one is drawn first. */
static const Callable *callable_or_new(Generator *gen, Body *body) {
  if (gen->callables.len && chance(gen, 40)) {
    const Callable *known = &gen->callables.data[below(gen, gen->callables.len)];
    if (!known->has_effects || gen->options.is_scheduled) return known;
  }
  uint32_t num_identities = gen->num_identities;
  Callable made = {.result = NO_ID};
  made.num_params = operands_for_call(gen, body, made.params).num_operands;
  uint32_t budget = share_of(gen, body);
  made.name = write_computation(gen, made.params, made.num_params, &made.result, budget,
                                body->depth + 1, false);
  spend(body, budget);
  made.has_effects = gen->num_identities > num_identities;
  *vec_push(gen->arena, &gen->callables) = made;
  return &gen->callables.data[gen->callables.len - 1];
}

static void write_call(Generator *gen, Body *body) {
  Callable callable = *callable_or_new(gen, body);
  Line line = {.type = callable.result, .opcode = "call", .num_operands = callable.num_params};
  for (uint32_t i = 0; i < callable.num_params; i++) {
    line.operands[i] = pick_value(gen, body, callable.params[i]);
  }
  line.attrs = arena_printf(gen->arena, ", to_apply=%s%s", percent(gen), callable.name);
  finish_call(gen, body, &line);
}

static ValueId write_state(Generator *gen, Body *body, const Line *line) {
  ValueId state = write_line(gen, body, line);
  body->values.data[state].is_state = true;
  return state;
}

static void write_async_start(Generator *gen, Body *body) {
  TypeId types[MAX_OPERANDS], result = NO_ID;
  Line line = operands_for_call(gen, body, types);
  uint32_t budget = share_of(gen, body) / 2;
  const char *name =
      write_computation(gen, types, line.num_operands, &result, budget, body->depth + 1, false);
  spend(body, budget);
  TypeId parts[] = {tuple_type(gen, types, line.num_operands), result, T_S32};
  line.type = tuple_type(gen, parts, 3);
  line.opcode = "async-start";
  line.attrs = arena_printf(gen->arena, ", calls=%s%s", percent(gen), name);
  *vec_push(gen->arena, &body->under_way) = (AsyncOp){write_state(gen, body, &line), result};
}

void write_async_step(Generator *gen, Body *body) {
  uint32_t chosen = below(gen, body->under_way.len);
  AsyncOp *op = &body->under_way.data[chosen];
  if (chance(gen, 30)) {
    Line line = {.type = body->values.data[op->state].type,
                 .opcode = "async-update",
                 .num_operands = 1,
                 .operands = {op->state}};
    op->state = write_state(gen, body, &line);
    return;
  }
  Line line = {
      .type = op->result, .opcode = "async-done", .num_operands = 1, .operands = {op->state}};
  *op = body->under_way.data[--body->under_way.len];
  finish_call(gen, body, &line);
}

static void write_async(Generator *gen, Body *body) {
  if (body->under_way.len && chance(gen, 60)) {
    write_async_step(gen, body);
  } else {
    write_async_start(gen, body);
  }
}

/* `i < n` on element 0 of the state. */
static const char *write_condition(Generator *gen, TypeId state) {
  TypeId result = T_PRED;
  Generator plain = *gen;
  plain.options.features &= ~(unsigned)GENERATE_EFFECTS;
  const char *name = write_computation(&plain, &state, 1, &result, below(gen, 5), MAX_DEPTH, true);
  plain.options.features = gen->options.features;
  *gen = plain;
  return name;
}

/* The body of another loop, now and then; NULL = none. */
static const Callable *shared_body(Generator *gen) {
  if (gen->loops.len == 0 || !chance(gen, 30)) return NULL;
  const Callable *known = &gen->loops.data[below(gen, gen->loops.len)];
  return !known->has_effects || gen->options.is_scheduled ? known : NULL;
}

static const char *new_body(Generator *gen, Body *body, TypeId state) {
  uint32_t num_identities = gen->num_identities, budget = share_of(gen, body);
  Callable made = {.num_params = 1, .params = {state}, .result = state};
  made.name = write_computation(gen, &state, 1, &state, budget, body->depth + 1, false);
  made.has_effects = gen->num_identities > num_identities;
  spend(body, budget);
  *vec_push(gen->arena, &gen->loops) = made;
  return made.name;
}

static void write_while(Generator *gen, Body *body) {
  const Callable *shared = shared_body(gen);
  const char *loop = shared ? shared->name : NULL;
  TypeId types[MAX_OPERANDS] = {T_S32};
  Line init = {.opcode = "tuple", .num_operands = 2 + below(gen, 4)};
  if (shared) init.num_operands = gen->types.data[shared->result].num_elements;
  for (uint32_t i = 1; i < init.num_operands; i++) {
    types[i] = shared ? gen->types.data[shared->result].elements[i] : any_float(gen);
  }
  for (uint32_t i = 0; i < init.num_operands; i++)
    init.operands[i] = pick_value(gen, body, types[i]);
  TypeId state = init.type = tuple_type(gen, types, init.num_operands);
  ValueId tuple = write_line(gen, body, &init);
  const char *condition = write_condition(gen, state);
  if (!loop) loop = new_body(gen, body, state);
  const char *attrs = arena_printf(gen->arena, ", condition=%s%s, body=%s%s", percent(gen),
                                   condition, percent(gen), loop);
  ValueId value = unary(gen, body, state, "while", tuple, attrs);
  write_elements(gen, body, value);
}

static void write_conditional(Generator *gen, Body *body) {
  bool is_boolean = chance(gen, 50);
  Line line = {.opcode = "conditional", .type = any_float(gen)};
  if (chance(gen, 50)) line.type = NO_ID;
  uint32_t num_branches = is_boolean ? 2 : 1 + below(gen, 3);
  const char *names[3];
  TypeId types[3];
  bool may_be_shared = false;
  line.operands[0] = pick_value(gen, body, is_boolean ? T_PRED : T_S32);
  line.num_operands = 1 + num_branches;
  for (uint32_t i = 0; i < num_branches; i++) {
    line.operands[i + 1] = pick_any(gen, body);
    TypeId type = body->values.data[line.operands[i + 1]].type;
    uint32_t budget = share_of(gen, body) / 2, num_identities = gen->num_identities;
    if (i > 0 && type == types[i - 1] && may_be_shared && chance(gen, 40)) {
      names[i] = names[i - 1];
      types[i] = type;
      continue;
    }
    names[i] = write_computation(gen, &type, 1, &line.type, budget, body->depth + 1, false);
    types[i] = type;
    may_be_shared = gen->num_identities == num_identities || gen->options.is_scheduled;
    spend(body, budget);
  }
  const char *p = percent(gen);
  if (is_boolean) {
    line.attrs = arena_printf(gen->arena, ", true_computation=%s%s, false_computation=%s%s", p,
                              names[0], p, names[1]);
  } else {
    const char *list = "";
    for (uint32_t i = 0; i < num_branches; i++) {
      list = arena_printf(gen->arena, "%s%s%s%s", list, i ? ", " : "", p, names[i]);
    }
    line.attrs = arena_printf(gen->arena, ", branch_computations={%s}", list);
  }
  finish_call(gen, body, &line);
}

/* ---- side effects ---- */

static void write_custom_call(Generator *gen, Body *body, bool has_effect) {
  TypeId types[MAX_OPERANDS];
  Line line = operands_for_call(gen, body, types);
  line.type = any_float(gen);
  line.opcode = "custom-call";
  line.attrs =
      format_text(gen,
                  has_effect ? ", custom_call_target=\"f#\", custom_call_has_side_effect=true"
                             : ", custom_call_target=\"g#\"",
                  ++gen->num_identities);
  write_line(gen, body, &line);
}

static void write_feed(Generator *gen, Body *body) {
  if (!body->has_token) body->token = new_value(gen, body, T_TOKEN);
  body->has_token = true;
  unsigned identity = ++gen->num_identities;
  if (chance(gen, 50)) {
    TypeId types[] = {any_float(gen), T_TOKEN};
    ValueId fed = unary(gen, body, tuple_type(gen, types, 2), "infeed", body->token,
                        format_text(gen, ", infeed_config=\"#\"", identity));
    write_element(gen, body, fed, 0);
    body->token = write_element(gen, body, fed, 1);
    return;
  }
  TypeId type = any_float(gen);
  const char *attrs = arena_printf(gen->arena, ", outfeed_shape=%s, outfeed_config=\"%u\"",
                                   type_text(gen, type), identity);
  ValueId value = pick_value(gen, body, type);
  body->token =
      write_line(gen, body, &(Line){T_TOKEN, "outfeed", 2, {value, body->token}, NULL, attrs});
}

static void write_rng(Generator *gen, Body *body) {
  ValueId low = pick_value(gen, body, T_F32);
  ValueId high = write_line(gen, body,
                            &(Line){.type = T_F32,
                                    .opcode = "constant",
                                    .inner = format_text(gen, "1#", ++gen->num_identities)});
  write_line(gen, body,
             &(Line){T_F32_4096, "rng", 2, {low, high}, NULL, ", distribution=rng_uniform"});
}

static void write_effect(Generator *gen, Body *body) {
  switch (below(gen, 3)) {
    case 0: write_custom_call(gen, body, true); break;
    case 1: write_feed(gen, body); break;
    default: write_rng(gen, body); break;
  }
}

static void write_pure_custom_call(Generator *gen, Body *body) {
  write_custom_call(gen, body, false);
}

/* ---- choice ---- */

typedef struct OpChoice {
  uint32_t weight;
  unsigned feature; /* 0 = always; what has one beyond tuples is not put into fusions */
  void (*write)(Generator *gen, Body *body);
} OpChoice;

static const OpChoice choices[] = {
    {22, 0, write_unary},
    {22, 0, write_binary},
    {3, 0, write_select},
    {6, 0, write_integers},
    {10, 0, write_broadcast},
    {6, 0, write_reshape},
    {3, 0, write_transpose},
    {6, 0, write_dot},
    {6, 0, write_reduce},
    {4, 0, write_leaf},
    {4, 0, write_slice},
    {4, GENERATE_TUPLES, write_tuple},
    {4, GENERATE_IN_PLACE, write_update_slice},
    {6, GENERATE_FUSIONS, write_fusion},
    {3, GENERATE_CALLS, write_call},
    {2, GENERATE_LOOPS, write_while},
    {2, GENERATE_CONDITIONALS, write_conditional},
    {4, GENERATE_ASYNC, write_async},
    {3, GENERATE_EFFECTS, write_effect},
    {1, GENERATE_EFFECTS, write_pure_custom_call},
    {1, GENERATE_EFFECTS, write_all_reduce},
};

enum { NUM_CHOICES = sizeof choices / sizeof *choices };

static uint32_t weight_of(const Generator *gen, const Body *body, const OpChoice *choice) {
  if (choice->feature && !has_feature(gen, choice->feature)) return 0;
  bool goes_deeper = choice->feature & (GENERATE_FUSIONS | GENERATE_CALLS | GENERATE_LOOPS |
                                        GENERATE_CONDITIONALS | GENERATE_ASYNC);
  if (goes_deeper && body->depth >= MAX_DEPTH) return 0;
  if (body->is_fused && (goes_deeper || choice->feature == GENERATE_EFFECTS)) return 0;
  return choice->weight;
}

void write_random_op(Generator *gen, Body *body) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < NUM_CHOICES; i++)
    total += weight_of(gen, body, &choices[i]);
  uint32_t chosen = below(gen, total), i = 0;
  for (;; i++) {
    uint32_t weight = weight_of(gen, body, &choices[i]);
    if (chosen < weight) break;
    chosen -= weight;
  }
  choices[i].write(gen, body);
}
