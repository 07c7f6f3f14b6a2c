#include "remat/verify/verify.h"

#include <stdlib.h>

#include "analysis/flow/guess_target.h"
#include "analysis/flow/side_effect.h"
#include "ir/chars.h"
#include "ir/schedule.h"
#include "remat/verify/verify_internal.h"

/* ---- identities ---- */

/* If the name ends in one of the suffixes that rewrites add, with or without a number, where the
 * suffix begins; else its length. `*count` is where that number begins. */
static uint32_t find_suffix(Str name, uint32_t *count) {
  static const char *const suffixes[] = {"remat", "clone", "inlined", "unfused"};
  uint32_t end = name.len;
  while (end > 0 && char_is_digit(name.data[end - 1]))
    end--;
  uint32_t dot = end;
  while (dot > 0 && name.data[dot - 1] != '.')
    dot--;
  *count = name.len;
  if (dot < 2) return name.len;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    if (!str_is((Str){name.data + dot, end - dot}, suffixes[i])) continue;
    *count = end;
    return dot - 1;
  }
  return name.len;
}

/* The name without the dot and the number at its end, if it has these. */
static Str strip_number(Str name) {
  uint32_t dot = name.len;
  while (dot > 0 && char_is_digit(name.data[dot - 1]))
    dot--;
  bool is_number = dot < name.len && dot > 1 && name.data[dot - 1] == '.';
  return is_number ? (Str){name.data, dot - 1} : name;
}

static int by_length(Str a, Str b) {
  if (a.len != b.len) return a.len < b.len ? -1 : 1;
  return a.len ? memcmp(a.data, b.data, a.len) : 0;
}

/* What comes before the number of a suffix. */
static Str stem_of(Str name) {
  uint32_t count;
  find_suffix(name, &count);
  return (Str){name.data, count};
}

/* By stem, then by the number of the suffix: x.remat, x.remat2, x.remat3, … */
static int by_stem(const void *pa, const void *pb) {
  Str a = *(const Str *)pa, b = *(const Str *)pb, stem_a = stem_of(a), stem_b = stem_of(b);
  int order = by_length(stem_a, stem_b);
  if (order) return order;
  return by_length((Str){a.data + stem_a.len, a.len - stem_a.len},
                   (Str){b.data + stem_b.len, b.len - stem_b.len});
}

/* The number of identities that come before `name`. */
static uint32_t count_before(const Identities *identities, Str name) {
  uint32_t low = 0, high = identities->names.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_stem(&identities->names.data[middle], &name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Undoes what gives a clone its name (ir/names.h): x and x.remat2 give x.remat and x.remat3, and if
 * these are taken, x.remat.1 and x.remat3.1. */
Str identity_of(const Identities *identities, Str name) {
  Str found = name, left = name;
  bool is_taken = false;
  for (;;) {
    uint32_t before = count_before(identities, left), count;
    const Str *names = identities->names.data;
    if (before < identities->names.len && str_equal(names[before], left)) {
      found = left;
      if (!is_taken) return found;
    }
    if (before > 0 && str_equal(stem_of(names[before - 1]), stem_of(left)))
      return names[before - 1];
    uint32_t suffix = find_suffix(left, &count);
    Str shorter = suffix < left.len ? (Str){left.data, suffix} : strip_number(left);
    if (shorter.len == left.len) return found;
    is_taken = suffix == left.len && find_suffix(shorter, &count) < shorter.len;
    left = shorter;
  }
}

static Identities collect_identities(const Module *module, Arena *out) {
  Identities identities = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    bool matters = inst->flags & INST_ELIDED_LITERAL || inst_has_own_counted_effect(module, id);
    if (matters || inst->num_callees) *vec_push(out, &identities.names) = inst_name(module, id);
  }
  if (identities.names.len)
    qsort(identities.names.data, identities.names.len, sizeof(Str), by_stem);
  return identities;
}

/* ---- comparing ---- */

typedef struct Verifier {
  Numbering *numbering;
  Numbered before, after;
  InstId misplaced; /* see find_misplaced() */
  rh_diags *diags;
  Arena *arena, *scratch;
} Verifier;

static rh_status differ(Verifier *verifier, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static rh_status differ(Verifier *verifier, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag_add(verifier->diags, RH_SEVERITY_NOTE, DIAG_NOWHERE, format, args);
  va_end(args);
  return RH_NOT_EQUIVALENT;
}

/* An instruction that computes the value, for messages; NO_ID if none is known. A value that a
 * substitution has made is shown as the one that it was made of. */
static InstId example_of(const Numbered *numbered, ValueNumber value) {
  const Terms *terms = numbered->terms;
  while (value != NO_ID) {
    bool has_example = value < numbered->example.len && numbered->example.data[value] != NO_ID;
    if (has_example) return numbered->example.data[value];
    value = terms && value < terms->origins.len ? terms->origins.data[value] : NO_ID;
  }
  return NO_ID;
}

static Str example_name(const Numbered *numbered, ValueNumber value) {
  InstId id = example_of(numbered, value);
  return id == NO_ID ? STR("?") : inst_name(numbered->module, id);
}

static int shown_len(Str name) {
  return name.len < 200 ? (int)name.len : 200;
}

static bool same_operation(const Node *x, const Node *y) {
  return x->kind == y->kind && x->kind != NODE_FUNCTION && x->detail == y->detail &&
         x->num_args == y->num_args && x->shape == y->shape;
}

/* Replaces two different values by their first different operands, as long as their operations are
 * the same; of these pairs, by the last one whose instructions are known. */
static void narrow_down(const Verifier *verifier, ValueNumber *a, ValueNumber *b) {
  const Numbering *numbering = verifier->numbering;
  ValueNumber left = *a, right = *b;
  for (;;) {
    const Node *x = numbered_node(numbering, left), *y = numbered_node(numbering, right);
    if (!same_operation(x, y)) return;
    const ValueNumber *args_x = node_args(numbering, left), *args_y = node_args(numbering, right);
    uint32_t count = node_num_values(x), i = 0;
    while (i < count && args_x[node_value_arg(x, i)] == args_y[node_value_arg(x, i)])
      i++;
    if (i == count) return;
    uint32_t at = node_value_arg(x, i);
    left = args_x[at];
    right = args_y[at];
    if (numbered_node(numbering, left)->kind == NODE_FUNCTION) return;
    if (example_of(&verifier->before, left) == NO_ID) continue;
    if (example_of(&verifier->after, right) == NO_ID) continue;
    *a = left;
    *b = right;
  }
}

static rh_status compare_roots(Verifier *verifier) {
  if (verifier->before.root == verifier->after.root) return RH_OK;
  ValueNumber a = verifier->before.root, b = verifier->after.root;
  narrow_down(verifier, &a, &b);
  Str x = example_name(&verifier->before, a), y = example_name(&verifier->after, b);
  return differ(verifier,
                "the results differ: where one module has '%.*s', the other one has '%.*s'",
                shown_len(x), x.data, shown_len(y), y.data);
}

static rh_status compare_effects(Verifier *verifier) {
  const Numbered *before = &verifier->before, *after = &verifier->after;
  uint32_t i = 0;
  while (i < before->effects.len && i < after->effects.len &&
         before->effects.data[i] == after->effects.data[i]) {
    i++;
  }
  if (i == before->effects.len && i == after->effects.len) return RH_OK;
  Str x = i < before->effects.len ? example_name(before, before->effects.data[i]) : STR("nothing");
  Str y = i < after->effects.len ? example_name(after, after->effects.data[i]) : STR("nothing");
  return differ(
      verifier,
      "side effects differ (%u and %u of them): '%.*s' in one module, '%.*s' in the other",
      before->effects.len, after->effects.len, shown_len(x), x.data, shown_len(y), y.data);
}

static int by_edge(const void *pa, const void *pb) {
  const NumberedEdge *a = pa, *b = pb;
  if (a->successor != b->successor) return a->successor < b->successor ? -1 : 1;
  return (a->predecessor > b->predecessor) - (a->predecessor < b->predecessor);
}

static uint32_t instances(const Numbered *numbered, ValueNumber value) {
  return value < numbered->num_instances.len ? numbered->num_instances.data[value] : 0;
}

static uint32_t num_computed(const Numbered *numbered, ValueNumber value) {
  return value < numbered->num_computed.len ? numbered->num_computed.data[value] : 0;
}

/* The number of equal edges from index `first` on. */
static uint32_t run_length(const Numbered *numbered, uint32_t first) {
  uint32_t end = first;
  while (end < numbered->edges.len &&
         by_edge(&numbered->edges.data[first], &numbered->edges.data[end]) == 0) {
    end++;
  }
  return end - first;
}

/* Instructions or computations of a module by name. */
typedef struct NamedId {
  Str name;
  uint32_t id;
} NamedId;

typedef struct NamedIds {
  NamedId *list; /* sorted by name */
  uint32_t len;
} NamedIds;

static int by_name(const void *pa, const void *pb) {
  const NamedId *a = pa, *b = pb;
  if (a->name.len != b->name.len) return a->name.len < b->name.len ? -1 : 1;
  return memcmp(a->name.data, b->name.data, a->name.len);
}

static NamedIds sort_insts(const Module *module, Arena *out) {
  NamedIds names = {.list = arena_array(out, NamedId, module->insts.len)};
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->flags & INST_DEAD) continue;
    names.list[names.len++] = (NamedId){inst_name(module, id), id};
  }
  if (names.len) qsort(names.list, names.len, sizeof *names.list, by_name);
  return names;
}

static NamedIds sort_comps(const Module *module, Arena *out) {
  NamedIds names = {.list = arena_array(out, NamedId, module->comps.len)};
  for (CompId id = 0; id < module->comps.len; id++)
    names.list[names.len++] = (NamedId){comp_name(module, id), id};
  if (names.len) qsort(names.list, names.len, sizeof *names.list, by_name);
  return names;
}

/* The id of the only entry with this name; NO_ID if there is none or more than one. */
static uint32_t find_named(const NamedIds *names, Str name) {
  NamedId key = {name, NO_ID}, *list = names->list;
  const NamedId *found = names->len ? bsearch(&key, list, names->len, sizeof *list, by_name) : NULL;
  if (!found) return NO_ID;
  bool is_only = (found == list || by_name(found - 1, found) != 0) &&
                 (found + 1 == list + names->len || by_name(found, found + 1) != 0);
  return is_only ? found->id : NO_ID;
}

/* The names of both modules. */
typedef struct Names {
  NamedIds insts_before, insts_after, comps_before;
} Names;

/* The instruction of the `after` module that has the same name and the same value as instruction
 * `id` of the `before` module; NO_ID if there is none, or it is not certain. Instructions of added
 * computations do not count, because their names are new. */
static InstId find_survivor(const Verifier *verifier, const Names *names, InstId id) {
  const Module *after = verifier->after.module;
  Str name = inst_name(verifier->before.module, id);
  InstId found = find_named(&names->insts_after, name);
  if (found == NO_ID || find_named(&names->insts_before, name) != id) return NO_ID;
  Str home = comp_name(after, inst_get(after, found)->parent);
  if (find_named(&names->comps_before, home) == NO_ID) return NO_ID;
  ValueNumber value = verifier->before.value_of[id];
  return value != NO_ID && verifier->after.value_of[found] == value ? found : NO_ID;
}

static bool has_edge(const Module *module, InstId predecessor, InstId successor) {
  IdList list = inst_control(module, successor)->predecessors;
  for (uint32_t i = 0; i < list.len; i++) {
    if (id_list(module, list)[i] == predecessor) return true;
  }
  return false;
}

static bool has_edge_of(const NumberedEdge *edges, uint32_t count, InstId id) {
  for (uint32_t i = 0; i < count; i++) {
    if (edges[i].inst == id) return true;
  }
  return false;
}

/* The number of edges, out of `count`, whose successor computes the value and does not only forward
 * it. */
static uint32_t count_computed(const Numbered *numbered, const NumberedEdge *edges,
                               uint32_t count) {
  uint32_t num_computed = 0;
  for (uint32_t i = 0; i < count; i++) {
    num_computed += !forwards_value((Opcode)inst_get(numbered->module, edges[i].inst)->opcode);
  }
  return num_computed;
}

/* The instruction with this name in a computation with that name; NO_ID if there is none. */
static InstId find_in(const Module *module, const NamedIds *names, Str name, Str comp) {
  uint32_t low = 0, high = names->len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    NamedId key = {name, NO_ID};
    if (by_name(&names->list[middle], &key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < names->len && str_equal(names->list[low].name, name); low++) {
    InstId id = names->list[low].id;
    if (str_equal(comp_name(module, inst_get(module, id)->parent), comp)) return id;
  }
  return NO_ID;
}

/* In what a scheduled module runs for the entry computation, such as the bodies of loops, control
 * dependencies restate the order, which check_schedule() checks. Those between instructions that
 * both still exist under their names, in one computation, must be kept. */
static rh_status compare_restated_edges(Verifier *verifier) {
  const Module *before = verifier->before.module, *after = verifier->after.module;
  NamedIds names = sort_insts(after, verifier->arena);
  for (InstId id = 0; id < before->insts.len; id++) {
    IdList edges = inst_control(before, id)->predecessors;
    bool is_inner = inst_get(before, id)->parent != before->entry;
    if (!is_inner || inst_get(before, id)->flags & INST_DEAD || edges.len == 0) continue;
    Str name = inst_name(before, id), comp = comp_name(before, inst_get(before, id)->parent);
    InstId now = find_in(after, &names, name, comp);
    for (uint32_t i = 0; now != NO_ID && i < edges.len; i++) {
      Str earlier = inst_name(before, id_list(before, edges)[i]);
      InstId found = find_in(after, &names, earlier, comp);
      if (found == NO_ID || has_edge(after, found, now)) continue;
      return differ(verifier, "the control dependency of '%.*s' on '%.*s' is lost", shown_len(name),
                    name.data, shown_len(earlier), earlier.data);
    }
  }
  return RH_OK;
}

static void keep_edges_of_entry(Numbered *numbered) {
  const Module *module = numbered->module;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < numbered->edges.len; i++) {
    NumberedEdge edge = numbered->edges.data[i];
    if (inst_get(module, edge.inst)->parent == module->entry) numbered->edges.data[kept++] = edge;
  }
  numbered->edges.len = kept;
}

/* Compares control dependencies. If all instances of a value have a dependency, all instructions
 * that compute the value must keep it, clones included. If only some instances have it, or if they
 * only forward the value, the instances that still exist under their names must keep it. */
static rh_status compare_edges(Verifier *verifier) {
  Numbered *before = &verifier->before, *after = &verifier->after;
  if (before->edges.len == 0) return RH_OK;
  if (control_restates_order(before->module) && control_restates_order(after->module)) {
    rh_status status = compare_restated_edges(verifier);
    if (status != RH_OK) return status;
    keep_edges_of_entry(before);
  }
  qsort(before->edges.data, before->edges.len, sizeof *before->edges.data, by_edge);
  if (after->edges.len) {
    qsort(after->edges.data, after->edges.len, sizeof *after->edges.data, by_edge);
  }
  Names names = {sort_insts(before->module, verifier->arena),
                 sort_insts(after->module, verifier->arena),
                 sort_comps(before->module, verifier->arena)};
  uint32_t k = 0;
  for (uint32_t i = 0; i < before->edges.len;) {
    const NumberedEdge *edge = &before->edges.data[i];
    while (k < after->edges.len && by_edge(&after->edges.data[k], edge) < 0)
      k++;
    uint32_t had = run_length(before, i), has = 0;
    if (k < after->edges.len && by_edge(&after->edges.data[k], edge) == 0) {
      has = run_length(after, k);
    }
    bool all_had = had == instances(before, edge->successor);
    bool is_kept = !all_had || count_computed(after, after->edges.data + k, has) >=
                                   num_computed(after, edge->successor);
    for (uint32_t e = i; e < i + had; e++) {
      InstId inst = before->edges.data[e].inst;
      if (all_had && !forwards_value((Opcode)inst_get(before->module, inst)->opcode)) continue;
      InstId id = find_survivor(verifier, &names, inst);
      is_kept &= id == NO_ID || has_edge_of(after->edges.data + k, has, id);
    }
    if (!is_kept) {
      Str x = example_name(before, edge->predecessor), y = example_name(before, edge->successor);
      return differ(verifier, "the control dependency of '%.*s' on '%.*s' is lost", shown_len(y),
                    y.data, shown_len(x), x.data);
    }
    i += had;
  }
  return RH_OK;
}

static bool same_aliases(const ModuleHeader *a, const ModuleHeader *b) {
  if (a->aliases.len != b->aliases.len || a->donors.len != b->donors.len) return false;
  for (uint32_t i = 0; i < a->aliases.len; i++) {
    const OutputAlias *x = &a->aliases.data[i], *y = &b->aliases.data[i];
    if (x->output_part != y->output_part || x->param != y->param ||
        x->param_part != y->param_part || x->is_must_alias != y->is_must_alias) {
      return false;
    }
  }
  for (uint32_t i = 0; i < a->donors.len; i++) {
    const BufferDonor *x = &a->donors.data[i], *y = &b->donors.data[i];
    if (x->param != y->param || x->param_part != y->param_part) return false;
  }
  return true;
}

/* Compares parameters, results and aliasing. */
static rh_status compare_interfaces(Verifier *verifier) {
  const Module *before = verifier->before.module, *after = verifier->after.module;
  const Computation *a = comp_get(before, before->entry), *b = comp_get(after, after->entry);
  const ShapeId *shapes_a = numbering_import_shapes(verifier->numbering, before, verifier->arena);
  const ShapeId *shapes_b = numbering_import_shapes(verifier->numbering, after, verifier->arena);
  if (a->params.len != b->params.len) {
    return differ(verifier, "one module has %u parameters, the other one %u", a->params.len,
                  b->params.len);
  }
  for (uint32_t i = 0; i < a->params.len; i++) {
    InstId x = id_list(before, a->params)[i], y = id_list(after, b->params)[i];
    if (shapes_a[inst_get(before, x)->shape] != shapes_b[inst_get(after, y)->shape]) {
      return differ(verifier, "parameter %u has another shape", i);
    }
  }
  if (shapes_a[inst_get(before, a->root)->shape] != shapes_b[inst_get(after, b->root)->shape]) {
    return differ(verifier, "the results have other shapes");
  }
  if (!same_aliases(&before->source->header, &after->source->header)) {
    return differ(verifier, "input_output_alias or buffer_donor differ");
  }
  return RH_OK;
}

/* The first instruction that cannot run where it stands in the text; NO_ID if all can. */
static InstId find_misplaced(const Module *module, Arena *arena, Arena *scratch) {
  InstId misplaced = NO_ID;
  Schedule schedule = schedule_in_text_order(module, arena);
  return schedule_is_valid(module, &schedule, &misplaced, scratch) ? NO_ID : misplaced;
}

static rh_status check_schedule(Verifier *verifier) {
  const Module *after = verifier->after.module;
  if (!after->source->header.is_scheduled || verifier->misplaced == NO_ID) return RH_OK;
  Str name = inst_name(after, verifier->misplaced);
  return differ(verifier, "'%.*s' runs before something that it depends on", shown_len(name),
                name.data);
}

static bool has_control(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    if (!is_dead && inst_has_control(module, id)) return true;
  }
  return false;
}

static rh_status compare(Verifier *verifier) {
  number_module(&verifier->before, verifier->numbering, verifier->arena, verifier->scratch);
  number_module(&verifier->after, verifier->numbering, verifier->arena, verifier->scratch);
  if (verifier->before.is_too_large || verifier->after.is_too_large) {
    return differ(verifier, "calls nest too deeply to be written out and compared");
  }
  rh_status status = compare_interfaces(verifier);
  if (status == RH_OK) status = compare_roots(verifier);
  if (status == RH_OK) status = compare_effects(verifier);
  if (status == RH_OK) status = compare_edges(verifier);
  if (status == RH_OK) status = check_schedule(verifier);
  return status;
}

/* The steps that simplifications may take, in terms of the size of both modules. */
enum { STEPS_BY_INST = 4096, STEPS_AT_LEAST = 1 << 22 };

static Terms begin_terms(Numbering *numbering, uint64_t num_insts, Arena *arena, Arena *scratch) {
  return terms_make(numbering, num_insts * STEPS_BY_INST + STEPS_AT_LEAST, arena, scratch);
}

/* Compares again, with loops as recurrences, or with loops of few iterations executed. `verifier`
 * has compared the modules with loops as functions, and they differ. */
static rh_status compare_loops(const Verifier *verifier, Numbered begun, bool unrolls,
                               rh_diags *diags) {
  uint64_t num_insts =
      (uint64_t)verifier->before.module->insts.len + verifier->after.module->insts.len;
  Terms terms = begin_terms(verifier->numbering, num_insts, verifier->arena, verifier->scratch);
  terms.unrolls = unrolls;
  Verifier other = *verifier;
  other.diags = diags;
  other.before = other.after = begun;
  other.before.noted = verifier->before.noted;
  other.after.noted = verifier->after.noted;
  other.before.tags = verifier->before.tags;
  other.after.tags = verifier->after.tags;
  other.before.terms = other.after.terms = &terms;
  /* Only control dependencies are compared in loops. Those of the original are looked for. */
  other.before.restates = other.after.restates =
      has_control(verifier->before.module) && !(control_restates_order(verifier->before.module) &&
                                                control_restates_order(verifier->after.module));
  other.before.trusts_notes = true;
  other.after.module = verifier->after.module;
  other.before.guessed_functions = verifier->before.functions;
  other.after.guessed_functions = verifier->after.functions;
  return compare(&other);
}

rh_status verify_modules(const Module *before, const Module *after, bool keeps_order,
                         bool same_rounding, rh_diags *diags, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Numbering numbering = numbering_make(arena);
  Identities identities = collect_identities(before, arena);
  bool expands_calls = module_count(before, OPCODE_CALL) != module_count(after, OPCODE_CALL);
  bool has_order = keeps_order && before->source->header.is_scheduled;
  bool orders_effects = has_order && after->source->header.is_scheduled;
  bool needs_order = has_order || after->source->header.is_scheduled;
  InstId misplaced = needs_order ? find_misplaced(after, arena, scratch) : NO_ID;
  /* Equal side effects, such as those of two calls of a computation, are told apart only by which
   * of them is evaluated first. What has lost its schedule is still in the order in which it was to
   * run. Where the result has another order, the post-order of both modules is the same for these.
   */
  bool is_in_order = has_order && misplaced == NO_ID;
  NumberRanges ranges = {.arena = arena};
  Numbered begun = {.module = before,
                    .identities = &identities,
                    .ranges = module_has_narrowing(after) ? &ranges : NULL,
                    .expands_calls = expands_calls,
                    .is_in_order = is_in_order,
                    .orders_effects = orders_effects};
  uint32_t num_before = module_count(before, OPCODE_WHILE),
           num_after = module_count(after, OPCODE_WHILE);
  bool has_loops = num_before && num_after, is_unrolled = num_after < num_before;
  Verifier verifier = {.numbering = &numbering,
                       .before = begun,
                       .after = begun,
                       .misplaced = misplaced,
                       .diags = has_loops || is_unrolled ? NULL : diags,
                       .arena = arena,
                       .scratch = scratch};
  verifier.after.module = after;
  const NotedSlices noted[] = {noted_slices_find(before, arena, scratch),
                               noted_slices_find(after, arena, scratch)};
  verifier.before.noted = &noted[0];
  verifier.after.noted = &noted[1];
  RoundingTags tags[2];
  if (same_rounding) {
    const Target *target = guess_target(before);
    tags[0] = rounding_tags_make(before, target, &numbering, arena, scratch);
    tags[1] = rounding_tags_make(after, target, &numbering, arena, scratch);
    verifier.before.tags = &tags[0];
    verifier.after.tags = &tags[1];
  }
  rh_status status = compare(&verifier);
  if (status != RH_OK && has_loops)
    status = compare_loops(&verifier, begun, false, is_unrolled ? NULL : diags);
  if (status != RH_OK && is_unrolled) status = compare_loops(&verifier, begun, true, diags);
  arena_free(arena);
  return status;
}

/* ---- notes that no longer hold ---- */

/* Marks the slices whose note could not be shown to hold in a loop that runs them, or all of them
 * where that is too much to find out. Returns whether there are any. */
static bool mark_stale(Module *module, const NotedSlices *noted, Arena *arena, Arena *scratch) {
  Numbering numbering = numbering_make(arena);
  Numbered guessed = {.module = module, .noted = noted};
  number_module(&guessed, &numbering, arena, scratch);
  Terms terms = begin_terms(&numbering, module->insts.len, arena, scratch);
  Numbered numbered = {.module = module,
                       .noted = noted,
                       .terms = &terms,
                       .guessed_functions = guessed.functions,
                       .is_stale = arena_zarray(arena, bool, module->insts.len)};
  if (!guessed.is_too_large) number_module(&numbered, &numbering, arena, scratch);
  bool is_unknown = guessed.is_too_large || numbered.is_too_large, has_stale = false;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!numbered.is_stale[id] && !(is_unknown && noted_slice(noted, id))) continue;
    inst_get(module, id)->flags |= INST_CHANGED | INST_STALE_CONFIG;
    has_stale = true;
  }
  return has_stale;
}

bool verify_drop_stale_notes(Module *module, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  NotedSlices noted = noted_slices_find(module, arena, scratch);
  bool has_stale = noted.list && mark_stale(module, &noted, arena, scratch);
  arena_free(arena);
  return has_stale;
}
