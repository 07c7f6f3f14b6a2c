/* Advice to donate an argument: one whose memory no output takes over, though there is an output of
 * its shape that none takes over either. Donation is by argument of the program, which may be a
 * tree of arrays, `opt_state[0].mu['w']`; all parameters of one argument are donated together. */
#include <stdlib.h>

#include "advice/advisor.h"
#include "advice/updates.h"
#include "emit/human.h"
#include "ir/attribute.h"

enum {
  MAX_ARGUMENTS = 16, /* the largest ones, since each is simulated */
  SMALL_PART = 100,   /* of the peak: no smaller array is asked for readers that come too late */
};

/* The aliases of the input and those that a donation adds. */
typedef struct Matching {
  const Module *module;
  bool *is_taken;   /* by part of the result: a parameter's memory is taken over there */
  bool *is_donated; /* by parameter */
  ShapeId *parts;   /* by part of the result */
  uint32_t num_parts;
} Matching;

static Matching matching_of(const Advisor *advisor, Arena *arena) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  const ModuleHeader *header = &module->source->header;
  Matching matching = {.module = module, .num_parts = inst_shape(module, entry->root)->num_parts};
  matching.is_taken = arena_zarray(arena, bool, matching.num_parts);
  matching.is_donated = arena_zarray(arena, bool, entry->params.len);
  matching.parts = arena_array(arena, ShapeId, matching.num_parts);
  shape_list_parts(&module->shapes, inst_get(module, entry->root)->shape, matching.parts);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->output_part < matching.num_parts) matching.is_taken[alias->output_part] = true;
    if (alias->param >= 0 && alias->param < entry->params.len)
      matching.is_donated[alias->param] = true;
  }
  return matching;
}

/* ---- arguments ---- */

/* The argument that a parameter belongs to: `opt_state` of `opt_state[0].mu['w']`. */
static Str argument_of(const Module *module, InstId param) {
  Str path = inst_op_name(module, param);
  if (!path.len) return inst_name(module, param);
  uint32_t len = 0;
  while (len < path.len && path.data[len] != '[' && path.data[len] != '.')
    len++;
  return (Str){path.data, len};
}

/* A parameter tree is flattened in order, so the parameters of an argument follow each other. */
typedef struct Argument {
  Str name;
  uint32_t begin, end; /* of its parameters */
  int64_t bytes;       /* of those that are not donated */
} Argument;

typedef VEC(Argument) ArgumentVec;

static int by_bytes(const void *pa, const void *pb) {
  const Argument *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The arguments, the largest one first. */
static ArgumentVec arguments_of(const Matching *matching, Arena *arena) {
  const Module *module = matching->module;
  const Computation *entry = comp_get(module, module->entry);
  ArgumentVec arguments = {0};
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    Str name = argument_of(module, param);
    bool is_more = arguments.len && str_equal(arguments.data[arguments.len - 1].name, name);
    if (!is_more) *vec_push(arena, &arguments) = (Argument){.name = name, .begin = i};
    Argument *argument = &arguments.data[arguments.len - 1];
    argument->end = i + 1;
    if (!matching->is_donated[i])
      argument->bytes += target_sizes.of_part(module, inst_get(module, param)->shape);
  }
  if (arguments.len) qsort(arguments.data, arguments.len, sizeof *arguments.data, by_bytes);
  return arguments;
}

/* ---- simulation ---- */

/* Gives the module aliases of its own, with room for more. */
static ModuleHeader *own_header(Module *module, uint32_t more) {
  ModuleSource *source = arena_alloc(module->arena, sizeof *source);
  *source = *module->source;
  ModuleHeader *header = &source->header;
  uint32_t len = header->aliases.len;
  OutputAlias *list = arena_array(module->arena, OutputAlias, (size_t)len + more);
  if (len) memcpy(list, header->aliases.data, len * sizeof *list);
  header->aliases.data = list;
  header->aliases.cap = len + more;
  module->source = source;
  module->backend.copies = COPIES_PENDING; /* XLA decides anew what it has to copy */
  return header;
}

/* The instruction that makes a part of the result. */
static InstId maker_of(const Module *module, uint32_t part) {
  InstId root = comp_get(module, module->entry)->root;
  const Shape *shape = inst_shape(module, root);
  if (inst_get(module, root)->opcode == OPCODE_TUPLE && part > 0)
    root = inst_operand(module, root, shape_element_of_part(shape, part));
  while (inst_is_pass_through(module, root))
    root = inst_operand(module, root, 0);
  return root;
}

/* A reader of the parameter that need not have run when the output is made; NO_ID if there is none.
 * XLA inserts its copies before it decides about the order, so the parameter is copied for such a
 * reader. */
static InstId late_reader_of(const Module *module, InstId param, InstId maker, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_before = arena_zarray(arena, bool, module->insts.len);
  IdVec work = {0};
  InstId found = NO_ID;
  *vec_push(arena, &work) = maker;
  is_before[maker] = true;
  while (work.len) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      if (is_before[operand]) continue;
      is_before[operand] = true;
      *vec_push(arena, &work) = operand;
    }
  }
  *vec_push(arena, &work) = param;
  while (work.len && found == NO_ID) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      if (inst_is_pass_through(module, user)) {
        *vec_push(arena, &work) = user;
      } else if (!is_before[user] && !inst_is_root(module, user)) {
        found = user;
      }
    }
  }
  arena_free(arena);
  return found;
}

/* The next parameter of the argument that may be donated for an output, as JAX pairs them: in the
 * order of the outputs, by type and dimensions. NO_ID if there is none. */
static uint32_t partner_of(const Matching *matching, uint32_t part, const Argument *argument,
                           uint32_t first, const bool *is_used) {
  const Module *module = matching->module;
  const Computation *entry = comp_get(module, module->entry);
  const Shape *shape = shape_get(&module->shapes, matching->parts[part]);
  if (matching->is_taken[part] || !shape_is_array(shape)) return NO_ID;
  uint32_t count = argument->end - argument->begin;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t param = argument->begin + (first - argument->begin + i) % count;
    if (matching->is_donated[param] || is_used[param]) continue;
    ShapeId own = inst_get(module, id_list(module, entry->params)[param])->shape;
    if (shape_compatible(&module->shapes, own, matching->parts[part])) return param;
  }
  return NO_ID;
}

/* What is donated of an argument. */
typedef struct Donation {
  IdVec params;
  int64_t bytes;
  uint32_t num_copied;  /* of them, for a reader that may come too late */
  int64_t copied_bytes; /* the largest of those */
  InstId late_reader;   /* one of those; NO_ID = there is none */
} Donation;

/* The module with the argument donated. What is copied all the same gains nothing, and stays as it
 * is. NULL if there is nothing to donate it for. */
static rh_module *simulate(const Advisor *advisor, const Matching *matching,
                           const Argument *argument, Donation *donation) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  ArenaMark mark = arena_mark(advisor->scratch);
  bool *is_used = arena_zarray(advisor->scratch, bool, entry->params.len);
  rh_module *copy = NULL;
  ModuleHeader *header = NULL;
  uint32_t next = argument->begin;
  for (uint32_t part = 0; part < matching->num_parts; part++) {
    uint32_t param = partner_of(matching, part, argument, next, is_used);
    if (param == NO_ID) continue;
    is_used[param] = true;
    next = param + 1 < argument->end ? param + 1 : argument->begin;
    *vec_push(advisor->arena, &donation->params) = param;
    int64_t part_bytes = target_sizes.of_part(module, matching->parts[part]);
    InstId late = NO_ID;
    if (part_bytes >= advisor->before.memory.total_bytes / SMALL_PART)
      late = late_reader_of(module, id_list(module, entry->params)[param], maker_of(module, part),
                            advisor->arena);
    if (late != NO_ID) {
      donation->num_copied++;
      donation->late_reader = late;
    }
    if (late != NO_ID && part_bytes > donation->copied_bytes) { /* stays as it is */
      int64_t bytes = donation->copied_bytes;
      donation->copied_bytes = part_bytes;
      if (bytes == 0) continue;
    }
    if (!copy) {
      copy = advisor_copy(advisor);
      header = own_header(copy->module, matching->num_parts);
    }
    header->aliases.data[header->aliases.len++] =
        (OutputAlias){.output_part = part, .param = param, .param_part = 0};
    donation->bytes += target_sizes.of_part(module, matching->parts[part]);
  }
  arena_reset(advisor->scratch, mark);
  return copy;
}

/* Whether at least half of the bytes that would be donated are for new versions of themselves. */
static bool is_state(const Advisor *advisor, const rh_module *made) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  const ModuleHeader *header = &made->module->source->header;
  InstId root = entry->root;
  int64_t updated = 0, all = 0;
  for (uint32_t i = module->source->header.aliases.len; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    InstId param = id_list(module, entry->params)[alias->param], result = root;
    if (inst_get(module, root)->opcode == OPCODE_TUPLE && alias->output_part > 0)
      result = inst_operand(module, root,
                            shape_element_of_part(inst_shape(module, root), alias->output_part));
    int64_t bytes = target_sizes.of_part(module, inst_get(module, param)->shape);
    all += bytes;
    if (is_update_of(module, result, param)) updated += bytes;
  }
  return 2 * updated >= all;
}

/* ---- the remedy ---- */

static rh_text code_of(const Advisor *advisor, Str argument) {
  int len = (int)argument.len;
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      return advice_text(advisor->out,
                         "torch_xla._XLAC._xla_set_buffer_donation(%.*s, True)  # or update it in "
                         "place",
                         len, argument.data);
    case FRAMEWORK_TENSORFLOW:
      return advice_text(advisor->out,
                         "%.*s.assign(…)  # of a tf.Variable, in a function with jit_compile=True",
                         len, argument.data);
    default:
      return advice_text(advisor->out, "jax.jit(step, donate_argnames=(\"%.*s\",))", len,
                         argument.data);
  }
}

/* Which of it is copied all the same, and what reads it too late. */
static const char *copied_text(Advisor *advisor, const Donation *donation) {
  if (donation->num_copied == 0) return "";
  const char *where = advisor_where(advisor, advisor_place(advisor, donation->late_reader));
  return arena_printf(advisor->out,
                      " %u of them %s copied all the same, because %s may read %s after the output "
                      "has been written.",
                      donation->num_copied, donation->num_copied == 1 ? "is" : "are", where,
                      donation->num_copied == 1 ? "it" : "one");
}

static void propose(Advisor *advisor, const Matching *matching, const Argument *argument) {
  Donation donation = {.late_reader = NO_ID};
  rh_module *made = simulate(advisor, matching, argument, &donation);
  if (!made) return;
  IdVec params = donation.params;
  int64_t bytes = donation.bytes;
  Str unescaped = human_unescape(argument->name, advisor->out);
  Str name = {arena_strndup(advisor->out, unescaped.data, unescaped.len), unescaped.len};
  int64_t *numbers = arena_array(advisor->out, int64_t, params.len);
  for (uint32_t i = 0; i < params.len; i++)
    numbers[i] = params.data[i];
  rh_remedy remedy = {.kind = "donate",
                      .confidence = "high",
                      .argument = text_of_str(name),
                      .parameters = numbers,
                      .num_parameters = params.len,
                      .num_instances = params.len,
                      .bytes_at_peak = bytes};
  bool is_sure = is_state(advisor, made);
  if (!is_sure) remedy.confidence = "low";
  remedy.title =
      advice_text(advisor->out, "donate the argument `%.*s`, %s that an output can take over",
                  (int)name.len, name.data, human_bytes(bytes).text);
  remedy.code = code_of(advisor, name);
  remedy.explanation = advice_text(
      advisor->out,
      "%u array%s of it ha%s the shape of an output, and memory of %s own besides. %s%s",
      params.len, params.len == 1 ? "" : "s", params.len == 1 ? "s" : "ve",
      params.len == 1 ? "its" : "their",
      is_sure
          ? "The caller must not use the argument after the call."
          : "The outputs are no new versions of it, so this is right only if the caller does not "
            "need the argument after the call.",
      copied_text(advisor, &donation));
  advisor_add(advisor, &remedy, made);
}

void advise_donate(Advisor *advisor) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Matching matching = matching_of(advisor, arena);
  ArgumentVec arguments = arguments_of(&matching, arena);
  for (uint32_t i = 0; i < arguments.len && i < MAX_ARGUMENTS; i++) {
    if (arguments.data[i].bytes > 0) propose(advisor, &matching, &arguments.data[i]);
  }
  arena_free(arena);
}
