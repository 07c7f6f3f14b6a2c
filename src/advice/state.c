/* Advice on the state of an optimizer: arrays that come in, are updated element by element and go
 * out, and that nothing else reads, as moments are. In a narrower type they take half, in the
 * host's memory nothing but the one that is being updated, and where the gradients are summed up
 * over devices each of these has the same state, of which a part would do. */
#include "advice/advisor.h"
#include "advice/updates.h"
#include "advice/shrink.h"
#include "emit/human.h"

enum {
  LEAST_SHARE = 25,  /* of what is counted, that state must have to be worth advice */
  SMALL_PART = 2000, /* of it, that smaller arrays are not looked at */
  MAX_ARRAYS = 4096,
};

/* An array of state, and its new version. */
typedef struct StateArray {
  InstId param;
  int64_t bytes;
  int64_t replicas; /* devices that have the same; 0 or 1 = none besides */
} StateArray;

typedef struct State {
  Advisor *advisor;
  VEC(StateArray) arrays;
  int64_t bytes, replicated_bytes, largest;
  int64_t replicas; /* of what is replicated, the least */
} State;

static BufferId buffer_of(const Advisor *advisor, InstId id, uint32_t part) {
  const ValueAnalysis *values = &advisor->values;
  return values->buffers.of[dataflow_value(&values->flow, id, part)];
}

/* The result that is the new version of a parameter, the nearest one: new weights are computed from
 * the moments, too. NO_ID if there is none. */
static InstId new_version_of(const Module *module, InstId param) {
  InstId root = comp_get(module, module->entry)->root, found = NO_ID;
  uint32_t least = NO_ID;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return NO_ID;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId result = inst_operand(module, root, i);
    if (!shape_compatible(&module->shapes, inst_get(module, param)->shape,
                          inst_get(module, result)->shape))
      continue;
    uint32_t distance = update_distance(module, result, param);
    if (distance >= least) continue;
    least = distance;
    found = result;
  }
  return found;
}

/* Whether there are weights of the same dimensions, which something else reads. */
static bool has_weights(const Module *module, InstId param, const bool *is_state) {
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId other = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, other), *own = inst_shape(module, param);
    bool is_alike = other != param && shape_is_array(shape) && shape->rank == own->rank &&
                    memcmp(shape->dims, own->dims, own->rank * sizeof *own->dims) == 0;
    if (is_alike && !is_state[i]) return true;
  }
  return false;
}

static void find_state(State *state) {
  Advisor *advisor = state->advisor;
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  bool *is_state = arena_array(advisor->arena, bool, entry->params.len);
  for (uint32_t i = 0; i < entry->params.len; i++)
    is_state[i] = is_only_updated(module, id_list(module, entry->params)[i]);
  for (uint32_t i = 0; i < entry->params.len && state->arrays.len < MAX_ARRAYS; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    bool is_candidate = shape_is_array(shape) && shape->type == TYPE_F32 &&
                        shape->bytes >= advisor->before.counted_bytes / SMALL_PART && is_state[i] &&
                        has_weights(module, param, is_state);
    InstId result = is_candidate ? new_version_of(module, param) : NO_ID;
    if (result == NO_ID) continue;
    StateArray array = {param, shape->bytes, update_replicas(module, result, shape->num_elements)};
    *vec_push(advisor->arena, &state->arrays) = array;
    state->bytes += array.bytes;
    if (array.bytes > state->largest) state->largest = array.bytes;
    if (array.replicas < 2) continue;
    state->replicated_bytes += array.bytes;
    if (state->replicas == 0 || array.replicas < state->replicas) state->replicas = array.replicas;
  }
}

/* ---- simulations ---- */

typedef enum Change { TO_BF16, TO_HOST, TO_PARTS } Change;

typedef struct Simulation {
  const State *state;
  bool *is_meant; /* by BufferId */
  Change change;
} Simulation;

static ShapeId change_array(Module *module, InstId id, uint32_t part, ShapeId array,
                            const void *context) {
  const Simulation *simulation = context;
  const State *state = simulation->state;
  const Shape *shape = shape_get(&module->shapes, array);
  bool is_meant =
      simulation->is_meant[buffer_of(state->advisor, id, part)] && shape->type == TYPE_F32;
  if (!is_meant) return array;
  switch (simulation->change) {
    case TO_BF16: return shrink_type(module, array, TYPE_BF16);
    case TO_PARTS: return shrink_array(module, array, state->replicas);
    default: return shrink_array(module, array, shape->dims[0]);
  }
}

/* The module whose state has changed. One array of the largest size stays as it is where state
 * comes from the host, since it is there while it is updated. */
static rh_module *simulate(const State *state, Change change) {
  const Advisor *advisor = state->advisor;
  const Module *module = advisor->module;
  Simulation simulation = {
      state, arena_zarray(advisor->scratch, bool, advisor->values.buffers.num_buffers), change};
  bool is_kept = change != TO_HOST;
  for (uint32_t i = 0; i < state->arrays.len; i++) {
    const StateArray *array = &state->arrays.data[i];
    bool stays = !is_kept && array->bytes == state->largest;
    is_kept |= stays;
    if (stays || (change == TO_PARTS && array->replicas < 2)) continue;
    InstId result = new_version_of(module, array->param);
    simulation.is_meant[buffer_of(advisor, array->param, 0)] = true;
    simulation.is_meant[buffer_of(advisor, result, 0)] = true;
  }
  return shrink_parts(advisor, change_array, &simulation);
}

/* ---- the remedy ---- */

static Str name_of(const Module *module, InstId param) {
  Str name = inst_op_name(module, param);
  return name.len ? name : inst_name(module, param);
}

/* The argument that a name begins with, `opt_state` of `opt_state[0].mu['w']`. */
static Str argument_of(Str name) {
  uint32_t len = 0;
  while (len < name.len && name.data[len] != '[' && name.data[len] != '.')
    len++;
  return (Str){name.data, len};
}

/* The arguments that have state, `mean` and `square`, at most three of them. */
static const char *arguments_text(const State *state, Arena *out) {
  const Module *module = state->advisor->module;
  const char *text = "";
  Str last = {0};
  uint32_t count = 0;
  for (uint32_t i = 0; i < state->arrays.len && count < 3; i++) {
    Str argument = argument_of(name_of(module, state->arrays.data[i].param));
    if (last.len && str_equal(argument, last)) continue;
    last = argument;
    Str shown = human_unescape(argument, out);
    text = arena_printf(out, "%s%s`%.*s`", text, count++ ? ", " : "", (int)shown.len, shown.data);
  }
  return text;
}

static rh_remedy remedy_of(const State *state, const char *kind, Change change) {
  Advisor *advisor = state->advisor;
  int64_t *numbers = arena_array(advisor->out, int64_t, state->arrays.len);
  const Computation *entry = comp_get(advisor->module, advisor->module->entry);
  uint32_t count = 0;
  for (uint32_t i = 0; i < entry->params.len && count < state->arrays.len; i++) {
    if (id_list(advisor->module, entry->params)[i] == state->arrays.data[count].param)
      numbers[count++] = i;
  }
  Str first = human_unescape(argument_of(name_of(advisor->module, state->arrays.data[0].param)),
                             advisor->out);
  return (rh_remedy){
      .kind = kind,
      .confidence = change == TO_PARTS ? "medium" : "low",
      .argument = text_of_str((Str){arena_strndup(advisor->out, first.data, first.len), first.len}),
      .parameters = numbers,
      .num_parameters = count,
      .num_instances = count,
      .bytes_at_peak = change == TO_PARTS ? state->replicated_bytes : state->bytes};
}

static void propose_narrow(const State *state, const char *arguments) {
  Advisor *advisor = state->advisor;
  rh_remedy remedy = remedy_of(state, "narrow-state", TO_BF16);
  remedy.title = advice_text(advisor->out, "keep the optimizer's state in bf16: %s of %s in f32",
                             human_bytes(state->bytes).text, arguments);
  remedy.code =
      advice_text(advisor->out, "%s",
                  framework_words(advisor->framework,
                                  "optax.adamw(learning_rate, mu_dtype=jnp.bfloat16)  # or "
                                  "x.astype(jnp.bfloat16) in the update",
                                  "x.to(torch.bfloat16) for the tensors of optimizer.state, and "
                                  "x.float() within the update",
                                  "tf.Variable(…, dtype=tf.bfloat16) for the moments, and "
                                  "tf.cast(x, tf.float32) within the update"));
  remedy.explanation =
      advice_text(advisor->out, "%s",
                  "Nothing but the update reads these arrays. In bf16 the first moment usually "
                  "does; the second one needs more "
                  "care (stochastic rounding, or a factored or 8-bit form such as Adafactor's).");
  (void)advisor_add_timed(advisor, &remedy, simulate(state, TO_BF16), 0);
}

static void propose_host(const State *state, const char *arguments) {
  Advisor *advisor = state->advisor;
  const DeviceProfile *device = advisor->request->device;
  double seconds = 0;
  if (device->host_to_device > 0) seconds += (double)state->bytes / device->host_to_device;
  if (device->device_to_host > 0) seconds += (double)state->bytes / device->device_to_host;
  rh_remedy remedy = remedy_of(state, "host-state", TO_HOST);
  remedy.title =
      advice_text(advisor->out, "keep the optimizer's state in the host's memory: %s of %s",
                  human_bytes(state->bytes).text, arguments);
  remedy.code = advice_text(
      advisor->out, "%s",
      framework_words(
          advisor->framework,
          "sharding.with_memory_kind(\"pinned_host\") for the state, in in_shardings and "
          "out_shardings,\n"
          "and jax.device_put(x, jax.memory.Space.Device) within the update",
          "x.cpu() for the tensors of optimizer.state after the step, and x.to(device) for it, "
          "one after the other",
          "with tf.device(\"CPU:0\"): around the variables of the moments, which the update copies "
          "one after the other"));
  remedy.explanation = advice_text(advisor->out, "%s",
                                   "Each array crosses the link to the device and back in each "
                                   "step; the largest one is on the device while it "
                                   "is updated.");
  (void)advisor_add_timed(advisor, &remedy, simulate(state, TO_HOST), seconds);
}

static void propose_parts(const State *state, const char *arguments) {
  Advisor *advisor = state->advisor;
  rh_remedy remedy = remedy_of(state, "shard-state", TO_PARTS);
  remedy.num_chunks = state->replicas;
  remedy.title = advice_text(
      advisor->out,
      "spread the optimizer's state over the %lld devices that all have the same: %s of %s",
      (long long)state->replicas, human_bytes(state->replicated_bytes).text, arguments);
  remedy.code = advice_text(
      advisor->out, "%s",
      framework_words(advisor->framework,
                      "NamedSharding(mesh, P(\"data\")) for the state, in in_shardings and "
                      "out_shardings (ZeRO);\n"
                      "for the parameters, too, they are gathered before they are used (FSDP)",
                      "torch_xla.distributed.zero_redundancy_optimizer.ZeroRedundancyOptimizer("
                      "parameters, torch.optim.AdamW)",
                      "tf.experimental.dtensor.Layout.batch_sharded(mesh, \"data\", rank) for the "
                      "variables of the moments"));
  remedy.explanation = advice_text(advisor->out, "%s",
                                   "The gradients are summed up over these devices, so that each "
                                   "of them has the same parameters and state. With "
                                   "a part of the state each, the sum becomes a reduce-scatter, "
                                   "and the new parameters are gathered.");
  (void)advisor_add_timed(advisor, &remedy, simulate(state, TO_PARTS), 0);
}

void advise_state(Advisor *advisor) {
  State state = {.advisor = advisor};
  find_state(&state);
  if (state.bytes < advisor->before.counted_bytes / LEAST_SHARE || state.arrays.len == 0) return;
  const char *arguments = arguments_text(&state, advisor->out);
  propose_narrow(&state, arguments);
  propose_host(&state, arguments);
  if (state.replicated_bytes >= advisor->before.counted_bytes / LEAST_SHARE)
    propose_parts(&state, arguments);
}
