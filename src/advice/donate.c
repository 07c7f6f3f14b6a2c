/* Advice to donate an argument: one whose memory no output takes over, though there is an output of
 * its shape that none takes over either. Donation is by argument of the program, which may be a
 * tree of arrays, `opt_state[0].mu['w']`; all parameters of one argument are donated together. The
 * arguments that outputs are new versions of (weights, the optimizer's state, a cache) are proposed
 * together as well: JAX pairs what is donated with outputs in their order, so each of them alone
 * may get the memory of another one's new version. */
#include <stdlib.h>

#include "advice/advisor.h"
#include "advice/order_anew.h"
#include "advice/updates.h"
#include "emit/human.h"
#include "ir/attribute.h"

enum {
  MAX_ARGUMENTS = 16, /* the largest ones, since each is simulated */
  SMALL_PART = 100,   /* of the peak: no smaller array is asked for readers that come too late, and
                         no smaller argument is donated with others */
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
  uint32_t begin, end;   /* of its parameters */
  int64_t bytes;         /* of those that are not donated */
  int64_t updated_bytes; /* of those of them that an output is a new version of */
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

static Argument *argument_with(ArgumentVec *arguments, int64_t param) {
  for (uint32_t i = 0; i < arguments->len; i++) {
    Argument *argument = &arguments->data[i];
    if (param >= argument->begin && param < argument->end) return argument;
  }
  return NULL;
}

/* Finds how much of each argument some output is a new version of that takes no memory over yet. */
static void find_updated(const Matching *matching, ArgumentVec *arguments, Arena *scratch) {
  const Module *module = matching->module;
  ArenaMark mark = arena_mark(scratch);
  bool *is_counted = arena_zarray(scratch, bool, comp_get(module, module->entry)->params.len);
  for (uint32_t part = 0; part < matching->num_parts; part++) {
    ShapeId shape = matching->parts[part];
    if (matching->is_taken[part] || !shape_is_array(shape_get(&module->shapes, shape))) continue;
    UpdatedParams params = params_updated_by(module, output_maker(module, part));
    for (uint32_t i = 0; i < params.len; i++) {
      const Instruction *inst = inst_get(module, params.ids[i]);
      bool is_new = !matching->is_donated[inst->index] && !is_counted[inst->index];
      if (!is_new || !shape_compatible(&module->shapes, inst->shape, shape)) continue;
      is_counted[inst->index] = true;
      Argument *argument = argument_with(arguments, inst->index);
      if (argument) argument->updated_bytes += target_sizes.of_part(module, shape);
      break; /* the nearest one */
    }
  }
  arena_reset(scratch, mark);
}

/* Whether at least half of what is not donated of an argument has new versions among the outputs.
 */
static bool is_state(const Argument *argument) {
  return argument->bytes > 0 && 2 * argument->updated_bytes >= argument->bytes;
}

/* ---- simulation ---- */

/* Arguments that are donated together, in the order of their parameters. */
typedef struct Group {
  const Argument *list[MAX_ARGUMENTS];
  uint32_t len;
  IdVec params; /* all that may be donated of them, in order */
} Group;

static void group_add(Group *group, const Matching *matching, const Argument *argument,
                      Arena *arena) {
  group->list[group->len++] = argument;
  for (uint32_t param = argument->begin; param < argument->end; param++) {
    if (!matching->is_donated[param]) *vec_push(arena, &group->params) = param;
  }
}

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

/* The next parameter of the group that may be donated for an output, as JAX pairs them: in the
 * order of the outputs, by type and dimensions. The search begins at `first`. Returns an index of
 * the group's parameters; NO_ID if there is none. */
static uint32_t partner_of(const Matching *matching, uint32_t part, const Group *group,
                           uint32_t first, const bool *is_used) {
  const Module *module = matching->module;
  const Computation *entry = comp_get(module, module->entry);
  const Shape *shape = shape_get(&module->shapes, matching->parts[part]);
  if (matching->is_taken[part] || !shape_is_array(shape)) return NO_ID;
  for (uint32_t i = 0; i < group->params.len; i++) {
    uint32_t index = (first + i) % group->params.len;
    if (is_used[index]) continue;
    InstId param = id_list(module, entry->params)[group->params.data[index]];
    if (shape_compatible(&module->shapes, inst_get(module, param)->shape, matching->parts[part]))
      return index;
  }
  return NO_ID;
}

/* What is donated of a group. */
typedef struct Donation {
  IdVec params;
  int64_t bytes;
  uint32_t num_copied; /* of them, for a reader that may come too late */
  InstId late_reader;  /* one of those; NO_ID = there is none */
} Donation;

/* Pairs the group with outputs in a copy of the module; NULL if there is none to pair it with. */
static rh_module *pair_outputs(const Advisor *advisor, const Matching *matching, const Group *group,
                               Donation *donation) {
  ArenaMark mark = arena_mark(advisor->scratch);
  bool *is_used = arena_zarray(advisor->scratch, bool, group->params.len);
  rh_module *made = NULL;
  ModuleHeader *header = NULL;
  uint32_t next = 0;
  for (uint32_t part = 0; part < matching->num_parts; part++) {
    uint32_t index = partner_of(matching, part, group, next, is_used);
    if (index == NO_ID) continue;
    is_used[index] = true;
    next = index + 1;
    if (!made) {
      made = advisor_copy(advisor);
      header = own_header(made->module, matching->num_parts);
    }
    uint32_t param = group->params.data[index];
    *vec_push(advisor->arena, &donation->params) = param;
    header->aliases.data[header->aliases.len++] =
        (OutputAlias){.output_part = part, .param = param, .param_part = 0};
  }
  arena_reset(advisor->scratch, mark);
  return made;
}

/* XLA:GPU takes those copies away again that the order of the schedule makes superfluous
 * (RunPostSchedulingCopyInsertion in xla/service/gpu/gpu_compiler.cc). */
static bool copies_by_order(const Advisor *advisor) {
  return strcmp(advisor->module->backend.target->name, "gpu") == 0;
}

/* What is copied all the same gains nothing. One copy after the other takes the memory that the
 * parameter before it has left, so that the largest one counts: it stays as it is. */
static void drop_copied(const Advisor *advisor, rh_module *made, uint32_t num_given,
                        Donation *donation) {
  const Module *module = made->module;
  const Sequence *order = copies_by_order(advisor) ? &made->schedule.of[module->entry] : NULL;
  ModuleHeader *header = own_header(made->module, 0);
  int64_t most_bytes = 0;
  uint32_t largest = NO_ID;
  for (uint32_t i = num_given; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    InstId param = id_list(module, comp_get(module, module->entry)->params)[alias->param];
    int64_t bytes = target_sizes.of_part(module, inst_get(module, param)->shape);
    donation->bytes += bytes;
    if (bytes < advisor->before.memory.total_bytes / SMALL_PART) continue;
    InstId late = late_reader_of(module, param, output_maker(module, alias->output_part), order,
                                 advisor->arena);
    if (late == NO_ID) continue;
    donation->num_copied++;
    donation->late_reader = late;
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    largest = i;
  }
  if (largest == NO_ID) return;
  donation->bytes -= most_bytes;
  header->aliases.data[largest] = header->aliases.data[--header->aliases.len];
}

/* The module with the group donated. NULL if there is nothing to donate it for. */
static rh_module *simulate(const Advisor *advisor, const Matching *matching, const Group *group,
                           Donation *donation) {
  rh_module *made = pair_outputs(advisor, matching, group, donation);
  uint32_t num_given = advisor->module->source->header.aliases.len;
  if (!made) return NULL;
  if (copies_by_order(advisor)) order_lower(advisor, made);
  drop_copied(advisor, made, num_given, donation);
  if (!copies_by_order(advisor)) order_lower(advisor, made);
  if (made->module->source->header.aliases.len > num_given) return made;
  rh_module_free(made);
  return NULL;
}

/* ---- the remedy ---- */

/* What stands around each name, and between two of them. */
typedef struct Listing {
  const char *before, *after, *between, *last_between;
} Listing;

static const char *list_names(const Advisor *advisor, const Group *group, Listing listing) {
  const char *text = "";
  for (uint32_t i = 0; i < group->len; i++) {
    Str name = human_unescape(group->list[i]->name, advisor->out);
    const char *between = i == 0                ? ""
                          : i + 1 == group->len ? listing.last_between
                                                : listing.between;
    text = arena_printf(advisor->out, "%s%s%s%.*s%s", text, between, listing.before, (int)name.len,
                        name.data, listing.after);
  }
  return text;
}

/* The function that was compiled: `train_step` of the module `jit_train_step`. */
static const char *function_name(const Advisor *advisor) {
  Str name = human_utf8(advisor->module->source->header.name, advisor->out);
  bool is_named = str_begins_with(name, "jit_") && name.len > 4 && name.data[4] != '_';
  return is_named ? arena_strndup(advisor->out, name.data + 4, name.len - 4) : "step";
}

static rh_text code_of(const Advisor *advisor, const Group *group) {
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      return advice_text(advisor->out, "%s  # or update it in place",
                         list_names(advisor, group,
                                    (Listing){"torch_xla._XLAC._xla_set_buffer_donation(",
                                              ", True)", "; ", "; "}));
    case FRAMEWORK_TENSORFLOW:
      return advice_text(advisor->out,
                         "%s  # of a tf.Variable, in a function with jit_compile=True",
                         list_names(advisor, group, (Listing){"", ".assign(…)", "; ", "; "}));
    default: {
      const char *names = list_names(advisor, group, (Listing){"\"", "\"", ", ", ", "});
      return advice_text(advisor->out, "jax.jit(%s, donate_argnames=(%s%s))",
                         function_name(advisor), names, group->len == 1 ? "," : "");
    }
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

static bool is_all_state(const Group *group) {
  for (uint32_t i = 0; i < group->len; i++) {
    if (!is_state(group->list[i])) return false;
  }
  return true;
}

static const char *why_safe(const Group *group) {
  if (!is_all_state(group))
    return "The outputs are no new versions of it, so this is right only if the caller does not "
           "need the argument after the call.";
  if (group->len == 1)
    return "Outputs are its new versions, and the caller must not use the old one after the call.";
  return "Outputs are their new versions, and the caller must not use the old ones after the call.";
}

static rh_text title_of(const Advisor *advisor, const Group *group, int64_t bytes) {
  const char *names = list_names(advisor, group, (Listing){"`", "`", ", ", " and "});
  return advice_text(advisor->out, "donate the argument%s %s, %s that %s can take over",
                     group->len == 1 ? "" : "s", names, human_bytes(bytes).text,
                     group->len == 1 ? "an output" : "outputs");
}

static void propose(Advisor *advisor, const Matching *matching, const Group *group) {
  Donation donation = {.late_reader = NO_ID};
  rh_module *made = simulate(advisor, matching, group, &donation);
  if (!made) return;
  IdVec params = donation.params;
  int64_t *numbers = arena_array(advisor->out, int64_t, params.len);
  for (uint32_t i = 0; i < params.len; i++)
    numbers[i] = params.data[i];
  const char *argument = list_names(advisor, group, (Listing){"", "", ",", ","});
  rh_remedy remedy = {.kind = "donate",
                      .confidence = is_all_state(group) ? "high" : "low",
                      .title = title_of(advisor, group, donation.bytes),
                      .code = code_of(advisor, group),
                      .argument = {argument, strlen(argument)},
                      .parameters = numbers,
                      .num_parameters = params.len,
                      .num_instances = params.len,
                      .bytes_at_peak = donation.bytes};
  bool is_one = params.len == 1;
  remedy.explanation = advice_text(
      advisor->out,
      "%u array%s of %s ha%s the shape of an output, and memory of %s own besides. %s%s",
      params.len, is_one ? "" : "s", group->len == 1 ? "it" : "them", is_one ? "s" : "ve",
      is_one ? "its" : "their", why_safe(group), copied_text(advisor, &donation));
  advisor_add(advisor, &remedy, made);
}

static int by_begin(const void *pa, const void *pb) {
  const Argument *a = *(const Argument *const *)pa, *b = *(const Argument *const *)pb;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

static bool is_large_state(const Advisor *advisor, const Argument *argument) {
  return is_state(argument) && argument->bytes >= advisor->before.counted_bytes / SMALL_PART;
}

/* All that is state and not small. Whoever donates one of them can donate all. */
static void propose_state(Advisor *advisor, const Matching *matching, const ArgumentVec *arguments,
                          Arena *arena) {
  const Argument *list[MAX_ARGUMENTS];
  Group group = {0};
  uint32_t len = 0;
  for (uint32_t i = 0; i < arguments->len && i < MAX_ARGUMENTS; i++) {
    if (is_large_state(advisor, &arguments->data[i])) list[len++] = &arguments->data[i];
  }
  if (len == 0) return;
  qsort(list, len, sizeof *list, by_begin);
  for (uint32_t i = 0; i < len; i++)
    group_add(&group, matching, list[i], arena);
  propose(advisor, matching, &group);
}

void advise_donate(Advisor *advisor) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Matching matching = matching_of(advisor, arena);
  ArgumentVec arguments = arguments_of(&matching, arena);
  find_updated(&matching, &arguments, advisor->scratch);
  propose_state(advisor, &matching, &arguments, arena);
  for (uint32_t i = 0; i < arguments.len && i < MAX_ARGUMENTS; i++) {
    if (arguments.data[i].bytes == 0 || is_large_state(advisor, &arguments.data[i])) continue;
    Group group = {0};
    group_add(&group, &matching, &arguments.data[i], arena);
    propose(advisor, &matching, &group);
  }
  arena_free(arena);
}
