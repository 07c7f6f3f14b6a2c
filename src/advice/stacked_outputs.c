/* Advice on what a loop returns of every iteration, such as all states of a rollout: call it for
 * fewer iterations at a time, or return fewer of them. Simulated by results of an eighth of their
 * size. */
#include "advice/shrink.h"
#include "analysis/loop/stack.h"
#include "emit/human.h"
#include "remat/scan/open.h"

enum { LEAST_SHARE = 8, PIECES = 8 };

static ShapeId shrink_stack(Module *module, ShapeId array, const void *context) {
  const Shape *stack = context, *shape = shape_get(&module->shapes, array);
  bool is_meant = shape->num_elements == stack->num_elements && shape->type == stack->type &&
                  shape->rank == stack->rank &&
                  memcmp(shape->dims, stack->dims, shape->rank * sizeof *shape->dims) == 0;
  return is_meant ? shrink_array(module, array, PIECES) : array;
}

/* Whether a result of the loop is a result of the entry. */
static bool is_returned(const Loops *loops, const Stack *stack) {
  const Module *module = loops->module;
  const Loop *loop = &loops->list[stack->loop];
  InstId root = comp_get(module, module->entry)->root;
  if (loop->parent != module->entry) return false;
  uint32_t count =
      inst_get(module, root)->opcode == OPCODE_TUPLE ? inst_get(module, root)->num_operands : 1;
  for (uint32_t i = 0; i < count; i++) {
    InstId result =
        inst_get(module, root)->opcode == OPCODE_TUPLE ? inst_operand(module, root, i) : root;
    while (inst_is_pass_through(module, result) &&
           inst_get(module, result)->opcode != OPCODE_GET_TUPLE_ELEMENT)
      result = inst_operand(module, result, 0);
    Origin origin = loop_origin(loops, result);
    if (origin.inst == loop->id && origin.element == stack->element) return true;
  }
  return false;
}

/* Whether an argument has the dimensions of the stack: then these are gradients of stacked weights,
 * or new versions of them. */
static bool is_like_argument(const Module *module, const Shape *stack) {
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    const Shape *shape = inst_shape(module, id_list(module, entry->params)[i]);
    if (shape->rank == stack->rank && shape_is_array(shape) &&
        memcmp(shape->dims, stack->dims, shape->rank * sizeof *shape->dims) == 0)
      return true;
  }
  return false;
}

static void propose(Advisor *advisor, const Loops *loops, const Stack *stack) {
  const Module *module = advisor->module;
  const Shape *shape = shape_get(&loops->module->shapes, stack->shape);
  const Loop *loop = &loops->list[stack->loop];
  bool is_worth = shape->bytes >= advisor->before.counted_bytes / LEAST_SHARE;
  if (!is_worth || loop->trips < 2 * PIECES || is_like_argument(module, shape)) return;
  rh_module *made = shrink_module(advisor, shrink_stack, shape);
  SourcePlace place = advisor_place(advisor, loop->id);
  rh_remedy remedy = {.kind = "stacked-outputs",
                      .confidence = "medium",
                      .num_instances = loop->trips,
                      .num_chunks = PIECES,
                      .bytes_at_peak = shape->bytes};
  advisor_set_place(&remedy, place);
  remedy.title = advice_text(
      advisor->out,
      "%s: the loop returns a value of each of its %lld iterations; run it %d times for %lld of "
      "them, and take the results off the device in between",
      advisor_where(advisor, place), (long long)loop->trips, PIECES,
      (long long)((loop->trips + PIECES - 1) / PIECES));
  remedy.code = advice_text(
      advisor->out, "for piece in range(%d): state, ys = step(state); results.append(%s)", PIECES,
      framework_words(advisor->framework, "jax.device_get(ys)", "ys.cpu()", "ys.numpy()"));
  remedy.explanation = advice_text(
      advisor->out,
      "The stack of %s is an output, so it lies in memory from the first iteration to the end. To "
      "return every %d-th value, or what is computed from the values, has the same effect.",
      human_bytes(shape->bytes).text, PIECES);
  advisor_add_timed(advisor, &remedy, made, 0);
}

void advise_stacked_outputs(Advisor *advisor) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  /* In a copy that is open, the instructions that stay have the same numbers. */
  const Module *module = scan_opened(advisor->input->module, arena, advisor->scratch);
  CallGraph graph = call_graph_build(module, arena, advisor->scratch);
  Loops loops = loops_find(module, &graph, arena, advisor->scratch);
  if (loops.len) {
    Stacks stacks = stacks_find(&loops, arena, advisor->scratch);
    for (uint32_t i = 0; i < stacks.list.len; i++) {
      if (is_returned(&loops, &stacks.list.data[i])) propose(advisor, &loops, &stacks.list.data[i]);
    }
  }
  arena_free(arena);
}
