/* Advice for a limit that nothing else meets: fewer samples at a time. The gradients of several
 * smaller batches are added up, or the batch is smaller. Simulated by arrays with fewer samples:
 * those that have the number of samples as a dimension, or the number of all positions of all
 * samples. */
#include "advice/shrink.h"
#include "emit/human.h"
#include "ir/attribute.h"

typedef struct Batch {
  int64_t samples, positions; /* positions of all samples together; 0 = samples have no positions */
  int64_t parts;
  const char *argument;
  int64_t bytes; /* of the argument */
} Batch;

static bool is_of_batch(const Shape *shape, const Batch *batch) {
  bool leads = shape->rank > 0 && shape->dims[0] == batch->samples;
  for (uint32_t i = 0; i < shape->rank; i++)
    leads |= batch->positions && shape->dims[i] == batch->positions;
  return leads;
}

static ShapeId shrink_batch(Module *module, ShapeId array, const void *context) {
  const Batch *batch = context;
  const Shape *shape = shape_get(&module->shapes, array);
  if (!is_of_batch(shape, batch)) return array;
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(module->arena, int64_t, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) {
    bool is_meant = (i == 0 && shape->dims[i] == batch->samples) ||
                    (batch->positions && shape->dims[i] == batch->positions);
    dims[i] = is_meant ? shape->dims[i] / batch->parts : shape->dims[i];
  }
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

/* The bytes of temporaries at the peak that have the batch in their shapes. */
static int64_t live_bytes(const Advisor *advisor, const Batch *batch) {
  const Module *module = advisor->module;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    const Shape *shape =
        shape_get(&module->shapes,
                  shape_part(&module->shapes, inst_get(module, live->inst)->shape, live->part));
    if (shape_is_array(shape) && is_of_batch(shape, batch)) bytes += live->bytes;
  }
  return bytes;
}

/* The argument whose leading dimension most of the peak has. Arguments that have an output of their
 * dimensions are weights, or state. */
static Batch find_batch(Advisor *advisor) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  Batch best = {0};
  int64_t most = 0;
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    if (!shape_is_array(shape) || shape->rank == 0 || shape->dims[0] < 2) continue;
    Batch batch = {.samples = shape->dims[0], .bytes = shape->bytes};
    if (shape->rank > 1) batch.positions = shape->dims[0] * shape->dims[1];
    bool is_state = false;
    InstId root = entry->root;
    for (uint32_t part = 0; part < inst_shape(module, root)->num_parts && !is_state; part++)
      is_state = shape_compatible(&module->shapes, inst_get(module, param)->shape,
                                  shape_part(&module->shapes, inst_get(module, root)->shape, part));
    int64_t bytes = is_state ? 0 : live_bytes(advisor, &batch);
    if (bytes <= most) continue;
    const Metadata *metadata = inst_metadata(module, param);
    Str name = metadata ? human_unescape(module_span(module, metadata->op_name), advisor->out)
                        : inst_name(module, param);
    most = bytes;
    best = batch;
    best.argument = arena_strndup(advisor->out, name.data, name.len);
  }
  return best;
}

static rh_text code_of(const Advisor *advisor, long long parts, long long samples) {
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      return advice_text(advisor->out,
                         "for part in batch.chunk(%lld):\n"
                         "    (loss(model, part) / %lld).backward()\n"
                         "    torch_xla.sync()  # so that each part is a program of its own\n"
                         "optimizer.step()",
                         parts, parts);
    case FRAMEWORK_TENSORFLOW:
      return advice_text(
          advisor->out,
          "keras.optimizers.Adam(…, gradient_accumulation_steps=%lld)  # and batches "
          "of %lld",
          parts, samples);
    default:
      return advice_text(advisor->out,
                         "parts = jax.tree.map(lambda x: x.reshape(%lld, -1, *x.shape[1:]), "
                         "batch)\n"
                         "add = lambda g, b: (jax.tree.map(jnp.add, g, jax.grad(loss)(params, "
                         "b)), None)\n"
                         "grads, _ = jax.lax.scan(add, zeros, parts)",
                         parts);
  }
}

static bool propose(Advisor *advisor, const Batch *batch) {
  rh_module *made = shrink_module(advisor, shrink_batch, batch);
  long long parts = (long long)batch->parts, samples = (long long)(batch->samples / batch->parts);
  rh_remedy remedy = {.kind = "microbatches",
                      .confidence = "low",
                      .num_chunks = batch->parts,
                      .bytes_at_peak = live_bytes(advisor, batch),
                      .argument = {batch->argument, strlen(batch->argument)}};
  remedy.title = advice_text(
      advisor->out,
      "use a batch of %lld, or add up the gradients of %lld batches of %lld (`%s` has %lld now)",
      samples, parts, samples, batch->argument, (long long)batch->samples);
  remedy.code = code_of(advisor, parts, samples);
  remedy.explanation = advice_text(
      advisor->out,
      "%s at the peak have the batch in their shape. Gradients that are added up take memory of "
      "their own, if they do not have it yet.",
      human_bytes(remedy.bytes_at_peak).text);
  return advisor_add_timed(advisor, &remedy, made, 0);
}

/* The least number of parts that meets the limit. */
void advise_microbatches(Advisor *advisor) {
  const AdviceRequest *request = advisor->request;
  if (request->limit_bytes == INT64_MAX) return;
  if (advisor->before.counted_bytes <= request->limit_bytes) return;
  Batch batch = find_batch(advisor);
  if (!batch.argument) return;
  for (batch.parts = 2; batch.parts <= batch.samples; batch.parts *= 2) {
    if (batch.samples % batch.parts) return;
    if (!propose(advisor, &batch) || advisor_last(advisor)->shown.is_met) return;
    if (batch.parts * 2 <= batch.samples && batch.samples % (batch.parts * 2) == 0)
      advisor_drop(advisor, advisor->remedies.len - 1); /* a larger number goes lower */
  }
}
