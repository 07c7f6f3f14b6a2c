/* Advice that nearly always helps and that comes last: fewer samples at a time. The gradients of
 * several smaller batches are added up, or the batch is smaller; a program that returns something
 * of each sample is called for fewer of them; one without gradients goes through them in pieces.
 * Simulated by arrays with fewer samples. Without a limit, it is what remains to be said where
 * nothing else takes much away. */
#include "advice/batch.h"
#include "advice/present_barriers.h"
#include "advice/sample_gradients.h"
#include "advice/shrink.h"
#include "advice/updates.h"
#include "emit/human.h"
#include "ir/attribute.h"

enum {
  USUAL_PARTS = 8, /* without a limit, or some more if that does not divide the batch */
  MOST_USUAL_PARTS = 32,
};

static ShapeId shrink_batch(Module *module, ShapeId array, const void *context) {
  const Batch *batch = context;
  const Shape *shape = shape_get(&module->shapes, array);
  if (!batch_is_in(shape, batch)) return array;
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(module->arena, int64_t, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    dims[i] = batch_is_dim(shape, i, batch) ? shape->dims[i] / batch->parts : shape->dims[i];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

/* What is done with the parts. */
typedef enum BatchUse {
  BATCH_SUMMED,  /* gradients are added up */
  BATCH_EACH,    /* the same, and each sample has gradients of its own before that */
  BATCH_SMALLER, /* samples are compared with each other, so that gradients of parts would be others
                  */
  BATCH_RETURNED, /* most of what has the batch in its shape is returned: it can be taken away */
  BATCH_MAPPED, /* no gradients, and no sample needs another one: the program goes through parts */
  BATCH_WHOLE,  /* no gradients, and samples need each other, as the rows of equations do */
} BatchUse;

static BatchUse use_of(const Advisor *advisor, const Batch *batch) {
  bool is_returned = 2 * batch->returned_bytes > batch_live_bytes(advisor, batch);
  if (batch->has_gradients && is_returned) return BATCH_RETURNED;
  if (batch->has_gradients && sample_gradients_are_much(advisor, batch)) return BATCH_EACH;
  if (batch->has_gradients)
    return batch_is_crossed(advisor->module, batch) ? BATCH_SMALLER : BATCH_SUMMED;
  if (!batch_is_separate(advisor->module, batch, advisor->scratch)) return BATCH_WHOLE;
  return is_returned ? BATCH_RETURNED : BATCH_MAPPED;
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

/* `one, two` of the arguments that have the batch as their first dimension. */
static const char *batch_arguments(const Advisor *advisor, const Batch *batch) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  const char *text = "";
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    if (!shape_is_array(shape) || shape->rank == 0 || shape->dims[0] != batch->samples) continue;
    Str name = human_unescape(inst_op_name(module, param), advisor->out);
    if (!name.len) continue;
    text =
        arena_printf(advisor->out, "%s%s%.*s", text, *text ? ", " : "", (int)name.len, name.data);
  }
  return *text ? text : batch->argument;
}

static rh_text code_of_pieces(const Advisor *advisor, const Batch *batch) {
  const char *names = batch_arguments(advisor, batch);
  long long parts = (long long)batch->parts;
  switch (advisor->framework) {
    case FRAMEWORK_PYTORCH:
      return advice_text(advisor->out,
                         "results = []\n"
                         "for part in x.chunk(%lld):\n"
                         "    results.append(model(part))\n"
                         "    torch_xla.sync()  # so that each part is a program of its own",
                         parts);
    case FRAMEWORK_TENSORFLOW:
      return advice_text(advisor->out, "tf.map_fn(model, tf.reshape(x, [%lld, -1, *x.shape[1:]]))",
                         parts);
    default:
      return advice_text(
          advisor->out,
          "parts = jax.tree.map(lambda x: x.reshape(%lld, -1, *x.shape[1:]), (%s,))\n"
          "results = jax.lax.map(lambda part: f(*part), parts)  # f: what is computed of these "
          "rows now\n"
          "%s",
          parts, names,
          batch->returned_bytes > 0
              ? "results = jax.tree.map(lambda r: r.reshape(-1, *r.shape[2:]), results)"
              : "result = jax.tree.map(lambda r: r.mean(0), results)  # or r.sum(0)");
  }
}

/* Of gradients that vmap makes for each row. Only JAX has it. */
static rh_text code_of_each(const Advisor *advisor, const Batch *batch) {
  return advice_text(
      advisor->out,
      "parts = jax.tree.map(lambda x: x.reshape(%lld, -1, *x.shape[1:]), (%s,))\n"
      "add = lambda total, part: (jax.tree.map(lambda t, g: t + g.sum(0), total, each(*part)), "
      "None)  # each: the vmap of these rows\n"
      "total, _ = jax.lax.scan(add, zeros, parts)  # zeros: as the weights are",
      (long long)batch->parts, batch_arguments(advisor, batch));
}

static rh_text code_of_use(const Advisor *advisor, const Batch *batch, BatchUse use) {
  rh_text smaller =
      advice_text(advisor->out, "batch_size = %lld", (long long)(batch->samples / batch->parts));
  switch (use) {
    case BATCH_RETURNED: return code_of_calls(advisor, (long long)batch->parts);
    case BATCH_MAPPED: return code_of_pieces(advisor, batch);
    case BATCH_EACH: return code_of_each(advisor, batch);
    case BATCH_SMALLER: return smaller;
    default:
      return code_of(advisor, (long long)batch->parts, (long long)(batch->samples / batch->parts));
  }
}

static const char *count_text(const Advisor *advisor, int64_t count) {
  return arena_printf(advisor->out, "%s", human_count((uint64_t)count).text);
}

static rh_text title_of(const Advisor *advisor, const Batch *batch, BatchUse use) {
  long long parts = (long long)batch->parts;
  const char *all = count_text(advisor, batch->samples);
  const char *some = count_text(advisor, batch->samples / batch->parts);
  switch (use) {
    case BATCH_RETURNED:
      return advice_text(advisor->out,
                         "call it %lld times for %s of the %s rows of `%s`, and take the "
                         "results off the device in between, or return less of each row",
                         parts, some, all, batch->argument);
    case BATCH_MAPPED:
      return advice_text(advisor->out,
                         "go through the %s rows of `%s` in %lld parts of %s, one after the "
                         "other",
                         all, batch->argument, parts, some);
    case BATCH_EACH:
      return advice_text(
          advisor->out,
          "add up the gradients of the %s rows of `%s` in %lld parts of %s: each row "
          "has gradients of its own, all of them at once",
          all, batch->argument, parts, some);
    case BATCH_SMALLER:
      return advice_text(advisor->out, "use a batch of %s (`%s` has %s now)", some, batch->argument,
                         all);
    default:
      return advice_text(advisor->out,
                         "use a batch of %s, or add up the gradients of %lld batches of %s "
                         "(`%s` has %s now)",
                         some, parts, some, batch->argument, all);
  }
}

static rh_text explanation_of(const Advisor *advisor, const Batch *batch, BatchUse use) {
  int64_t bytes = use == BATCH_RETURNED ? batch->returned_bytes : batch_live_bytes(advisor, batch);
  const char *size = human_bytes(bytes).text;
  switch (use) {
    case BATCH_RETURNED:
      return advice_text(advisor->out,
                         "Outputs of %s have a part for each row, and lie in memory to the end. "
                         "What is computed from them, such as the largest element, may be enough.",
                         size);
    case BATCH_MAPPED:
      return advice_text(advisor->out,
                         "%s at the peak have the rows in their shape, and no row is computed "
                         "from others. What is computed is the same, and only what is returned is "
                         "held of all rows.",
                         size);
    case BATCH_EACH:
      return advice_text(
          advisor->out,
          "The derivative is under `vmap`, so that each weight has one gradient for "
          "each row, %s of them at the peak, and only sums over the rows are needed.",
          human_bytes(sample_gradients_bytes(advisor, batch)).text);
    case BATCH_SMALLER:
      return advice_text(advisor->out,
                         "%s at the peak have the batch in their shape, and rows are compared with "
                         "each other: gradients of smaller batches do not add up to the same.",
                         size);
    default:
      return advice_text(
          advisor->out,
          "%s at the peak have the batch in their shape. Gradients that are added "
          "up take memory of their own, if they do not have it yet. If the loss is a "
          "mean, divide their sum by the number of batches.",
          size);
  }
}

/* As shrink_batch, of what is neither given nor returned as a whole. */
static ShapeId shrink_between(Module *module, InstId id, uint32_t part, ShapeId array,
                              const void *context) {
  (void)part;
  const Instruction *inst = inst_get(module, id);
  bool is_given = inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry;
  bool is_whole = is_given || (inst->parent == module->entry && makes_output(module, id));
  return is_whole ? array : shrink_batch(module, array, context);
}

/* Whether something else is sure to take a quarter of the memory away. */
static bool has_other(const Advisor *advisor) {
  for (uint32_t i = 0; i < advisor->remedies.len; i++) {
    const rh_remedy *remedy = &advisor->remedies.data[i].shown;
    if (remedy->confidence[0] != 'l' && 4 * remedy->saved_bytes >= advisor->before.counted_bytes)
      return true;
  }
  return false;
}

/* Gradients of smaller batches are a last resort, unless it is all that there is: then it is sure
 * as far as no sample is computed from others. */
static const char *confidence_of(const Advisor *advisor, const Batch *batch, BatchUse use) {
  if (use == BATCH_SMALLER) return "low";
  if (use != BATCH_SUMMED) return "medium";
  if (advisor->is_later || advisor->request->limit_bytes != INT64_MAX) return "low";
  bool is_most = 2 * batch_live_bytes(advisor, batch) > advisor->before.counted_bytes;
  bool is_all = is_most && !has_other(advisor) && !present_has_recomputed(advisor->module) &&
                batch_is_separate(advisor->module, batch, advisor->scratch);
  return is_all ? "medium" : "low";
}

static bool propose(Advisor *advisor, const Batch *batch) {
  BatchUse use = use_of(advisor, batch);
  bool is_asked = advisor->request->limit_bytes != INT64_MAX;
  if (use == BATCH_WHOLE || (use == BATCH_SMALLER && !is_asked)) return false;
  rh_module *made = use == BATCH_MAPPED ? shrink_parts(advisor, shrink_between, batch)
                                        : shrink_module(advisor, shrink_batch, batch);
  rh_remedy remedy = {.kind = "microbatches",
                      .confidence = confidence_of(advisor, batch, use),
                      .title = title_of(advisor, batch, use),
                      .code = code_of_use(advisor, batch, use),
                      .explanation = explanation_of(advisor, batch, use),
                      .num_chunks = batch->parts,
                      .bytes_at_peak = batch_live_bytes(advisor, batch),
                      .argument = {batch->argument, strlen(batch->argument)}};
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

/* Without a limit, where much of the memory is that of the batch: half of it, or a quarter where
 * gradients are added up, which is said with little confidence. What is returned is held in any
 * case, unless it is taken away. */
static void propose_usual(Advisor *advisor, Batch batch) {
  int64_t whole = advisor->before.counted_bytes;
  int64_t held = batch_live_bytes(advisor, &batch) - batch.returned_bytes;
  int64_t least = batch.has_gradients ? whole / 4 : whole / 2;
  bool is_returned = 2 * batch.returned_bytes > whole;
  bool is_each = batch.has_gradients && sample_gradients_are_much(advisor, &batch);
  if (!is_returned && !is_each && (has_other(advisor) || held <= least)) return;
  for (batch.parts = USUAL_PARTS; batch.parts <= MOST_USUAL_PARTS; batch.parts++) {
    if (batch.samples % batch.parts) continue;
    (void)propose(advisor, &batch);
    return;
  }
}

void advise_microbatches(Advisor *advisor) {
  const AdviceRequest *request = advisor->request;
  if (advisor->before.counted_bytes <= request->limit_bytes && request->limit_bytes != INT64_MAX)
    return;
  Batch batch = batch_find(advisor);
  if (!batch.argument) return;
  if (request->limit_bytes != INT64_MAX) {
    propose_parts(advisor, batch);
  } else {
    propose_usual(advisor, batch);
  }
}
