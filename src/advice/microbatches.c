/* Advice for a limit that nothing else meets: fewer samples at a time. The gradients of several
 * smaller batches are added up, or the batch is smaller; a program that returns something of each
 * sample is called for fewer of them, with a limit or without. Simulated by arrays with fewer
 * samples: those that have the number of samples as a dimension, or the number of all positions of
 * all samples. */
#include "advice/shrink.h"
#include "emit/human.h"
#include "ir/attribute.h"

enum { USUAL_PARTS = 8 }; /* without a limit */

typedef struct Batch {
  int64_t samples, positions; /* positions of all samples together; 0 = samples have no positions */
  bool is_unique;         /* no weights have a dimension of this size, so that it is that of samples
                             wherever         it occurs, as behind the members of an ensemble */
  int64_t returned_bytes; /* of the outputs that have the batch in their shape */
  int64_t parts;
  const char *argument;
  int64_t bytes; /* of the argument */
} Batch;

static bool is_batch_dim(const Shape *shape, uint32_t i, const Batch *batch) {
  return (shape->dims[i] == batch->samples && (i == 0 || batch->is_unique)) ||
         (batch->positions && shape->dims[i] == batch->positions);
}

static bool is_of_batch(const Shape *shape, const Batch *batch) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (is_batch_dim(shape, i, batch)) return true;
  }
  return false;
}

static ShapeId shrink_batch(Module *module, ShapeId array, const void *context) {
  const Batch *batch = context;
  const Shape *shape = shape_get(&module->shapes, array);
  if (!is_of_batch(shape, batch)) return array;
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(module->arena, int64_t, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    dims[i] = is_batch_dim(shape, i, batch) ? shape->dims[i] / batch->parts : shape->dims[i];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

/* The bytes of temporaries and outputs at the peak that have the batch in their shapes. */
static int64_t live_bytes(const Advisor *advisor, const Batch *batch) {
  const Module *module = advisor->module;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    const Shape *shape =
        shape_get(&module->shapes,
                  shape_part(&module->shapes, inst_get(module, live->inst)->shape, live->part));
    bool is_given = inst_get(module, live->inst)->opcode == OPCODE_PARAMETER &&
                    inst_get(module, live->inst)->parent == module->entry;
    if (!is_given && shape_is_array(shape) && is_of_batch(shape, batch)) bytes += live->bytes;
  }
  return bytes;
}

/* Whether an output has the dimensions of a parameter: then that is weights, or state. */
static bool is_state(const Module *module, InstId param) {
  InstId root = comp_get(module, module->entry)->root;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    if (shape_compatible(&module->shapes, inst_get(module, param)->shape,
                         shape_part(&module->shapes, inst_get(module, root)->shape, part)))
      return true;
  }
  return false;
}

/* Whether an argument has a dimension of this size that is not its first, or is state that has one.
 */
static bool is_other_size(const Module *module, int64_t size) {
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    for (uint32_t d = 0; shape_is_array(shape) && d < shape->rank; d++) {
      if (shape->dims[d] == size && (d > 0 || is_state(module, param))) return true;
    }
  }
  return false;
}

/* The bytes of what the program returns of each sample. */
static int64_t returned_bytes(const Module *module, const Batch *batch) {
  InstId root = comp_get(module, module->entry)->root;
  int64_t bytes = 0;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    ShapeId id = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    const Shape *shape = shape_get(&module->shapes, id);
    if (shape_is_array(shape) && is_of_batch(shape, batch))
      bytes += target_sizes.of_part(module, id);
  }
  return bytes;
}

/* The argument whose leading dimension most of the peak has. */
static Batch find_batch(Advisor *advisor) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  Batch best = {0};
  int64_t most = 0;
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    if (!shape_is_array(shape) || shape->rank == 0 || shape->dims[0] < 2) continue;
    if (is_state(module, param)) continue;
    Batch batch = {.samples = shape->dims[0], .bytes = shape->bytes};
    if (shape->rank > 1) batch.positions = shape->dims[0] * shape->dims[1];
    batch.is_unique = !is_other_size(module, batch.samples);
    int64_t bytes = live_bytes(advisor, &batch);
    if (bytes <= most) continue;
    const Metadata *metadata = inst_metadata(module, param);
    Str name = metadata ? human_unescape(module_span(module, metadata->op_name), advisor->out)
                        : inst_name(module, param);
    most = bytes;
    best = batch;
    best.argument = arena_strndup(advisor->out, name.data, name.len);
  }
  best.returned_bytes = returned_bytes(module, &best);
  return best;
}

/* Whether most of what has the batch in its shape is returned: then there are no gradients to add
 * up. */
static bool is_returned(const Advisor *advisor, const Batch *batch) {
  return 2 * batch->returned_bytes > live_bytes(advisor, batch);
}

static rh_text code_of_calls(const Advisor *advisor, long long parts) {
  return advice_text(advisor->out, "results = [%s for part in %s]",
                     framework_words(advisor->framework, "jax.device_get(step(part))",
                                     "step(part).cpu()", "step(part).numpy()"),
                     arena_printf(advisor->out,
                                  framework_words(advisor->framework, "jnp.split(x, %lld)",
                                                  "x.chunk(%lld)", "tf.split(x, %lld)"),
                                  parts));
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
                      .confidence = is_returned(advisor, batch) ? "medium" : "low",
                      .num_chunks = batch->parts,
                      .bytes_at_peak = live_bytes(advisor, batch),
                      .argument = {batch->argument, strlen(batch->argument)}};
  bool is_of_calls = is_returned(advisor, batch);
  remedy.title =
      is_of_calls
          ? advice_text(
                advisor->out,
                "call it %lld times for %lld of the %lld rows of `%s`, and take the results "
                "off the device in between, or return less of each row",
                parts, samples, (long long)batch->samples, batch->argument)
          : advice_text(
                advisor->out,
                "use a batch of %lld, or add up the gradients of %lld batches of %lld (`%s` "
                "has %lld now)",
                samples, parts, samples, batch->argument, (long long)batch->samples);
  remedy.code = is_of_calls ? code_of_calls(advisor, parts) : code_of(advisor, parts, samples);
  remedy.explanation =
      is_of_calls
          ? advice_text(
                advisor->out,
                "Outputs of %s have a part for each row, and lie in memory to the end. What "
                "is computed from them, such as the largest element, may be enough.",
                human_bytes(batch->returned_bytes).text)
          : advice_text(advisor->out,
                        "%s at the peak have the batch in their shape. Gradients that are added up "
                        "take memory of their own, if they do not have it yet.",
                        human_bytes(remedy.bytes_at_peak).text);
  return advisor_add_timed(advisor, &remedy, made, 0);
}

/* The least number of parts that meets the limit. */
static void propose_parts(Advisor *advisor, Batch batch) {
  for (batch.parts = 2; batch.parts <= batch.samples; batch.parts *= 2) {
    if (batch.samples % batch.parts) return;
    if (!propose(advisor, &batch) || advisor_last(advisor)->shown.is_met) return;
    if (batch.parts * 2 <= batch.samples && batch.samples % (batch.parts * 2) == 0)
      advisor_drop(advisor, advisor->remedies.len - 1); /* a larger number goes lower */
  }
}

void advise_microbatches(Advisor *advisor) {
  const AdviceRequest *request = advisor->request;
  if (advisor->before.counted_bytes <= request->limit_bytes && request->limit_bytes != INT64_MAX)
    return;
  Batch batch = find_batch(advisor);
  if (!batch.argument) return;
  if (request->limit_bytes != INT64_MAX) {
    propose_parts(advisor, batch);
  } else if (2 * batch.returned_bytes > advisor->before.counted_bytes &&
             batch.samples % USUAL_PARTS == 0) {
    batch.parts = USUAL_PARTS;
    (void)propose(advisor, &batch);
  }
}
