/* Advice on f32 copies of values that are there in a narrower type: convert where the value is
 * used. Simulated by copies of the narrower type. */
#include "advice/shrink.h"
#include "emit/human.h"

enum { LEAST_SHARE = 25 };

typedef struct Copies {
  const Module *module;
  bool *is_copy; /* by InstId */
  ElementType type;
} Copies;

/* The type of the value that an instruction only converts, or the type itself. */
static ElementType source_type(const Module *module, InstId id) {
  InstId at = id;
  if (inst_get(module, id)->opcode == OPCODE_FUSION)
    at = comp_get(module, inst_callees(module, id)[0])->root;
  ElementType own = (ElementType)inst_shape(module, id)->type;
  while (inst_get(module, at)->opcode == OPCODE_BITCAST ||
         inst_get(module, at)->opcode == OPCODE_COPY ||
         inst_get(module, at)->opcode == OPCODE_TRANSPOSE ||
         inst_get(module, at)->opcode == OPCODE_RESHAPE)
    at = inst_operand(module, at, 0);
  if (inst_get(module, at)->opcode != OPCODE_CONVERT) return own;
  return (ElementType)inst_shape(module, inst_operand(module, at, 0))->type;
}

static ShapeId narrow_copy(Module *module, InstId id, uint32_t part, ShapeId array,
                           const void *context) {
  const Copies *copies = context;
  return part == 0 && copies->is_copy[id] ? shrink_type(module, array, copies->type) : array;
}

void advise_wide_copies(Advisor *advisor) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Copies copies = {
      .module = module, .is_copy = arena_zarray(arena, bool, module->insts.len), .type = TYPE_BF16};
  int64_t bytes = 0;
  InstId largest = NO_ID;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    const Shape *shape = inst_shape(module, live->inst);
    bool is_wide = live->part == 0 && shape_is_array(shape) && shape->type == TYPE_F32;
    if (!is_wide || inst_is_root(module, live->inst)) continue;
    ElementType type = source_type(module, live->inst);
    if (type != TYPE_BF16 && type != TYPE_F16) continue;
    copies.is_copy[live->inst] = true;
    copies.type = type;
    bytes += live->bytes;
    if (largest == NO_ID) largest = live->inst;
  }
  if (largest != NO_ID && bytes >= advisor->before.counted_bytes / LEAST_SHARE) {
    SourcePlace place = advisor_place(advisor, largest);
    const char *type = type_info(copies.type)->text;
    rh_module *made = shrink_parts(advisor, narrow_copy, &copies);
    rh_remedy remedy = {.kind = "wide-copies", .confidence = "low", .bytes_at_peak = bytes};
    advisor_set_place(&remedy, place);
    remedy.title = advice_text(advisor->out,
                               "%s: %s at the peak are f32 copies of values that are there as %s",
                               advisor_where(advisor, place), human_bytes(bytes).text, type);
    remedy.code = advice_text(advisor->out,
                              "keep x, and write %s where it is used, inside of the checkpoint or "
                              "of the sum",
                              framework_words(advisor->framework, "x.astype(jnp.float32)",
                                              "x.float()", "tf.cast(x, tf.float32)"));
    remedy.explanation = advice_text(
        advisor->out,
        "A copy of another type lives beside the value as long as something reads it. Products can "
        "take the narrower type and add up in f32%s.",
        framework_words(advisor->framework, " (preferred_element_type)", "", ""));
    (void)advisor_add_timed(advisor, &remedy, made, 0);
  }
  arena_free(arena);
}
