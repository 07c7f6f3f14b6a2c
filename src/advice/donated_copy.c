/* Advice about a donated argument that is copied all the same: something may read it after its new
 * version was written into its memory. Simulated without the copies. */
#include "advice/advisor.h"
#include "advice/updates.h"
#include "emit/human.h"
#include "remat/rewrite/dce.h"

enum { LEAST_SHARE = 50 }; /* of the peak: a copy has at least one part of so many */

/* What a donated argument is copied for. */
typedef struct CopiedArgument {
  InstId param, maker; /* of the output that takes its memory over */
  InstId reader;       /* one that may come too late */
} CopiedArgument;

/* Whether a copy is of the whole parameter, perhaps by another copy. */
static bool is_copy_of(const Module *module, InstId id, InstId param) {
  if (inst_get(module, id)->opcode != OPCODE_COPY) return false;
  while (inst_get(module, id)->opcode == OPCODE_COPY || inst_is_pass_through(module, id)) {
    if (inst_get(module, id)->num_operands == 0) return false;
    id = inst_operand(module, id, 0);
  }
  return id == param;
}

/* The copies of a parameter in the entry. */
static IdVec copies_of(const Module *module, InstId param, Arena *arena) {
  IdVec copies = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    if (is_copy_of(module, id, param)) *vec_push(arena, &copies) = id;
  }
  return copies;
}

/* The module in which everything reads the argument itself. */
static rh_module *simulate(const Advisor *advisor, InstId param, const IdVec *copies) {
  rh_module *made = advisor_copy(advisor);
  Rewrite rewrite = rewrite_begin(made->module);
  for (uint32_t i = 0; i < copies->len; i++)
    rewrite_replace_all_uses(&rewrite, copies->data[i], param, advisor->scratch);
  dce_run(&rewrite, advisor->scratch);
  dce_update_schedule(made->module, &made->schedule, made->arena);
  return made;
}

static rh_text name_of(const Advisor *advisor, InstId param) {
  Str path = inst_op_name(advisor->module, param);
  Str name = human_unescape(path.len ? path : inst_name(advisor->module, param), advisor->out);
  return (rh_text){arena_strndup(advisor->out, name.data, name.len), name.len};
}

static void propose(Advisor *advisor, const CopiedArgument *copied, const IdVec *copies) {
  const Module *module = advisor->module;
  SourcePlace place = advisor_place(advisor, copied->reader);
  rh_text name = name_of(advisor, copied->param);
  int len = (int)name.length;
  int64_t *number = arena_array(advisor->out, int64_t, 1);
  *number = inst_get(module, copied->param)->index;
  rh_remedy remedy = {
      .kind = "donated-copy",
      .confidence = "medium",
      .argument = name,
      .parameters = number,
      .num_parameters = 1,
      .num_instances = 1,
      .bytes_at_peak = target_sizes.of_part(module, inst_get(module, copied->param)->shape)};
  advisor_set_place(&remedy, place);
  remedy.title =
      advice_text(advisor->out,
                  "%s: read `%.*s` before it is updated, or not at all: it is donated, and copied "
                  "for this line",
                  advisor_where(advisor, place), len, name.data);
  if (advisor->framework == FRAMEWORK_JAX)
    remedy.code = advice_text(advisor->out,
                              "read, %.*s = jax.lax.optimization_barrier((read, %.*s))  # before "
                              "the update",
                              len, name.data, len, name.data);
  remedy.explanation = advice_text(
      advisor->out,
      "XLA inserts copies before it decides about the order: what nothing keeps from running after "
      "the update needs a copy of %s.",
      human_bytes(remedy.bytes_at_peak).text);
  advisor_add(advisor, &remedy, simulate(advisor, copied->param, copies));
}

/* The instruction that makes the output, before copies. */
static InstId maker_of(const Module *module, uint32_t part) {
  InstId maker = output_maker(module, part);
  while (inst_is_pass_through(module, maker) || inst_get(module, maker)->opcode == OPCODE_COPY)
    maker = inst_operand(module, maker, 0);
  return maker;
}

void advise_donated_copy(Advisor *advisor) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  const ModuleHeader *header = &module->source->header;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param < 0 || alias->param >= entry->params.len || alias->param_part != 0) continue;
    CopiedArgument copied = {.param = id_list(module, entry->params)[alias->param]};
    ShapeId shape = inst_get(module, copied.param)->shape;
    if (!shape_is_array(shape_get(&module->shapes, shape)) ||
        target_sizes.of_part(module, shape) < advisor->before.counted_bytes / LEAST_SHARE)
      continue;
    IdVec copies = copies_of(module, copied.param, advisor->arena);
    if (copies.len == 0) continue;
    copied.maker = maker_of(module, alias->output_part);
    copied.reader = late_reader_of(module, copied.param, copied.maker, NULL, advisor->scratch);
    if (copied.reader != NO_ID) propose(advisor, &copied, &copies);
  }
}
