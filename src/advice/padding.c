/* Advice on arrays that the layout of the target pads to several times their size, as TPUs do with
 * a narrow last dimension. Simulated by the same arrays without tiles. */
#include "advice/shrink.h"
#include "emit/human.h"
#include "ir/target.h"

enum { LEAST_SHARE = 25, LEAST_FACTOR = 4 };

static ShapeId without_tiles(Module *module, ShapeId array, const void *context) {
  const ShapeId *padded = context;
  if (array != *padded) return array;
  ArraySpec spec = shape_spec(shape_get(&module->shapes, array));
  spec.extras = NULL;
  return shape_array(&module->shapes, &spec);
}

/* The dimension that lies next to each other in memory: the narrower it is, the more is padded. */
static uint32_t minor_dim(const Shape *shape) {
  return shape->minor_to_major ? (uint32_t)shape->minor_to_major[0] : shape->rank - 1;
}

static void propose(Advisor *advisor, const LiveBuffer *live, ShapeId id, int64_t factor) {
  const Module *module = advisor->module;
  const Shape *shape = shape_get(&module->shapes, id);
  rh_module *made = shrink_module(advisor, without_tiles, &id);
  SourcePlace place = advisor_place(advisor, live->inst);
  Str text = shape_text(&module->shapes, id, false, advisor->out);
  uint32_t dim = minor_dim(shape);
  rh_remedy remedy = {.kind = "padding", .confidence = "low", .bytes_at_peak = live->bytes};
  advisor_set_place(&remedy, place);
  remedy.title = advice_text(
      advisor->out,
      "%s: %.*s takes %lld times its size, because its dimension %u of %lld elements is padded",
      advisor_where(advisor, place), (int)text.len, text.data, (long long)factor, dim,
      (long long)shape->dims[dim]);
  remedy.code = advice_text(advisor->out,
                            "put a dimension of 128 elements or more last, or merge this one with "
                            "another one: %s",
                            framework_words(advisor->framework, "x.reshape(…, -1)",
                                            "x.reshape(…, -1)", "tf.reshape(x, […, -1])"));
  remedy.explanation = advice_text(advisor->out,
                                   "It holds %s and takes %s. The last two dimensions of a layout "
                                   "are padded to whole tiles of 8 "
                                   "by 128 elements.",
                                   human_bytes(shape->bytes).text, human_bytes(live->bytes).text);
  (void)advisor_add_timed(advisor, &remedy, made, 0);
}

void advise_padding(Advisor *advisor) {
  const Module *module = advisor->module;
  VEC(ShapeId) seen = {0};
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    if (live->bytes < advisor->before.counted_bytes / LEAST_SHARE) return;
    ShapeId id = live_buffer_shape(module, live);
    const Shape *shape = shape_get(&module->shapes, id);
    if (!shape_is_array(shape) || shape->rank == 0 || shape->bytes <= 0) continue;
    int64_t factor = target_device_bytes(module->backend.target, shape) / shape->bytes;
    bool is_new = factor >= LEAST_FACTOR;
    for (uint32_t k = 0; k < seen.len; k++)
      is_new &= seen.data[k] != id;
    if (!is_new) continue;
    *vec_push(advisor->arena, &seen) = id;
    propose(advisor, live, id, factor);
  }
}
