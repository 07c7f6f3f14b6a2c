/* The trip count of a loop, if its text gives it.
 *
 * A trip count in the backend_config, where XLA's compiler writes what it has found, is used as it
 * is. Otherwise the loop has to count: its condition compares two values, each of which is a
 * constant, or an element of the loop's state that starts as a constant and increases by a constant
 * in every iteration (by zero for a limit that is only carried along). Both values are then linear
 * in the number of the iteration, and so is their difference; the first iteration in which the
 * comparison of the difference with 0 fails is the trip count. Values are traced backwards through
 * instructions that forward them: tuples, copies, conversions, fusions and calls. Chains longer
 * than MAX_STEPS and nests deeper than MAX_CALLERS are not traced.
 *
 * This finds all that MatchTrivialLoopTripCount of xla/hlo/analysis/while_loop_analysis.cc finds,
 * and also loops that count down, loops with !=, and limits in the state. It does not execute a
 * loop to find its end, as XLA does for up to 128 iterations. */

#include "analysis/flow/backend_config.h"
#include "analysis/flow/literal.h"
#include "analysis/cost/cost.h"
#include "ir/bytes.h"

enum { UNKNOWN_TRIPS = -1 };

/* ---- tracing a value backwards ---- */

enum { MAX_STEPS = 256, MAX_CALLERS = 16, MAX_PATH = 8 };

/* The place of a traced value: the result of `at`, or the part of it that `path` names. `path` has
 * the tuple indices that are still to be applied, the outermost last. */
typedef struct Walker {
  const Module *module;
  InstId at;
  InstId callers[MAX_CALLERS]; /* fusions and calls that contain `at`, the innermost last */
  uint32_t num_callers;
  int64_t path[MAX_PATH];
  uint32_t path_len;
} Walker;

static bool enter_callee(Walker *walker) {
  const Module *module = walker->module;
  if (walker->num_callers == MAX_CALLERS || inst_get(module, walker->at)->num_callees == 0) {
    return false;
  }
  walker->callers[walker->num_callers++] = walker->at;
  walker->at = comp_get(module, inst_callees(module, walker->at)[0])->root;
  return true;
}

static bool move_to_operand(Walker *walker, InstId of, int64_t index) {
  if (index < 0 || index >= (int64_t)inst_get(walker->module, of)->num_operands) return false;
  walker->at = inst_operand(walker->module, of, (uint32_t)index);
  return true;
}

static bool converts(const Walker *walker) {
  return inst_get(walker->module, walker->at)->opcode == OPCODE_CONVERT ||
         inst_is_converting_copy(walker->module, walker->at);
}

/* Goes one step back through an instruction that forwards the value unchanged. */
static bool step_back(Walker *walker) {
  const Instruction *inst = inst_get(walker->module, walker->at);
  switch (inst->opcode) {
    case OPCODE_GET_TUPLE_ELEMENT:
      if (walker->path_len == MAX_PATH) return false;
      walker->path[walker->path_len++] = inst->index;
      return move_to_operand(walker, walker->at, 0);
    case OPCODE_TUPLE:
      if (walker->path_len == 0) return false;
      return move_to_operand(walker, walker->at, walker->path[--walker->path_len]);
    case OPCODE_COPY: return !converts(walker) && move_to_operand(walker, walker->at, 0);
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_DOMAIN:
    case OPCODE_OPT_BARRIER: return move_to_operand(walker, walker->at, 0);
    case OPCODE_BITCAST:
    case OPCODE_BROADCAST:
    case OPCODE_COPY_DONE:
    case OPCODE_COPY_START: /* only reached through its copy-done */
    case OPCODE_RESHAPE: return walker->path_len == 0 && move_to_operand(walker, walker->at, 0);
    case OPCODE_CALL:
    case OPCODE_FUSION: return enter_callee(walker);
    case OPCODE_PARAMETER:
      if (walker->num_callers == 0) return false;
      return move_to_operand(walker, walker->callers[--walker->num_callers], inst->index);
    default: return false;
  }
}

/* ---- scalar integers ---- */

/* The values for which no step of the computation wraps; inclusive. */
typedef struct Bounds {
  int64_t low, high;
} Bounds;

static const Bounds unbounded = {INT64_MIN, INT64_MAX};

static int64_t clamped_add(int64_t a, int64_t b) {
  int64_t sum;
  if (add_bytes(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

/* Narrows the bounds of `value + offset` to those for which the value fits the instruction's type.
 * False for anything but an integer. */
static bool narrow_to_type(const Walker *walker, int64_t offset, Bounds *bounds) {
  if (walker->path_len > 0) return true;
  if (inst_get(walker->module, walker->at)->opcode == OPCODE_COPY_START) return true;
  const Shape *shape = inst_shape(walker->module, walker->at);
  const TypeInfo *info = type_info((ElementType)shape->type);
  bool is_signed = info->class == TYPE_CLASS_SINT;
  if (!shape_is_effective_scalar(shape) || (!is_signed && info->class != TYPE_CLASS_UINT)) {
    return false;
  }
  unsigned value_bits = info->bits - (is_signed ? 1U : 0U);
  int64_t max = value_bits >= 63 ? INT64_MAX : (INT64_C(1) << value_bits) - 1;
  int64_t low = clamped_add(is_signed ? -max - 1 : 0, offset), high = clamped_add(max, offset);
  if (low > bounds->low) bounds->low = low;
  if (high < bounds->high) bounds->high = high;
  return true;
}

static bool is_in(Bounds bounds, int64_t value) {
  return value >= bounds.low && value <= bounds.high;
}

/* The walker's value, if it is a constant that is only forwarded and converted. */
static bool find_constant(Walker walker, int64_t *value) {
  Bounds bounds = unbounded;
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    if (!narrow_to_type(&walker, 0, &bounds)) return false;
    Opcode opcode = (Opcode)inst_get(walker.module, walker.at)->opcode;
    if (opcode == OPCODE_CONSTANT) {
      return walker.path_len == 0 && literal_integer(walker.module, walker.at, value) &&
             is_in(bounds, *value);
    }
    bool moved = converts(&walker) ? move_to_operand(&walker, walker.at, 0) : step_back(&walker);
    if (!moved) return false;
  }
  return false;
}

/* A value traced to its origin: a constant, or an element of the loop's state plus an offset. */
typedef struct Traced {
  bool is_state; /* the value is the part of the state at which the walker stands, plus `offset` */
  Walker walker;
  int64_t offset; /* the constant, or the number added to the state's element */
  Bounds bounds;  /* of the value */
} Traced;

/* Continues before an addition or subtraction, at its operand that is not a constant. */
static bool step_over_sum(Traced *traced) {
  InstId sum = traced->walker.at;
  bool is_subtraction = inst_get(traced->walker.module, sum)->opcode == OPCODE_SUBTRACT;
  for (int64_t side = 1; side >= (is_subtraction ? 1 : 0); side--) {
    Walker other = traced->walker;
    int64_t added;
    if (!move_to_operand(&other, sum, side) || !find_constant(other, &added)) continue;
    if (is_subtraction && !mul_bytes(added, -1, &added)) return false;
    return add_bytes(traced->offset, added, &traced->offset) &&
           move_to_operand(&traced->walker, sum, 1 - side);
  }
  return false;
}

/* False when the value has any other origin. */
static bool trace(const Walker *from, Traced *traced) {
  *traced = (Traced){.walker = *from, .bounds = unbounded};
  Walker *walker = &traced->walker;
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    if (!narrow_to_type(walker, traced->offset, &traced->bounds)) return false;
    bool moved;
    switch (inst_get(walker->module, walker->at)->opcode) {
      case OPCODE_CONSTANT: {
        int64_t value;
        return find_constant(*walker, &value) &&
               add_bytes(traced->offset, value, &traced->offset) &&
               is_in(traced->bounds, traced->offset);
      }
      case OPCODE_PARAMETER:
        traced->is_state = walker->num_callers == 0;
        if (traced->is_state) return true;
        moved = step_back(walker);
        break;
      case OPCODE_ADD:
      case OPCODE_SUBTRACT: moved = step_over_sum(traced); break;
      default:
        moved = converts(walker) ? move_to_operand(walker, walker->at, 0) : step_back(walker);
        break;
    }
    if (!moved) return false;
  }
  return false;
}

/* ---- loops ---- */

/* A side of the condition's comparison in iteration t: start + t * step. */
typedef struct Linear {
  int64_t start, step;
  Bounds bounds;      /* of the value in every iteration */
  Bounds next_bounds; /* of the value in every iteration but the first: the body computed it */
} Linear;

static bool same_path(const Walker *a, const Walker *b) {
  return a->path_len == b->path_len && memcmp(a->path, b->path, a->path_len * sizeof *a->path) == 0;
}

/* A walker at the same part of another instruction. */
static Walker same_part(const Walker *part, InstId at) {
  Walker walker = *part;
  walker.at = at;
  walker.num_callers = 0;
  return walker;
}

static bool make_linear(const Module *module, InstId loop, const Traced *side, Linear *linear) {
  *linear = (Linear){.start = side->offset, .bounds = side->bounds, .next_bounds = unbounded};
  if (!side->is_state) return true;
  Traced init, next;
  CompId body = inst_callees(module, loop)[0];
  Walker at_init = same_part(&side->walker, inst_operand(module, loop, 0));
  Walker at_next = same_part(&side->walker, comp_get(module, body)->root);
  if (!trace(&at_init, &init) || init.is_state) return false;
  if (!trace(&at_next, &next) || !next.is_state || !same_path(&next.walker, &side->walker)) {
    return false;
  }
  linear->step = next.offset;
  linear->next_bounds = (Bounds){clamped_add(next.bounds.low, side->offset),
                                 clamped_add(next.bounds.high, side->offset)};
  return add_bytes(init.offset, side->offset, &linear->start);
}

/* The first t >= 0 for which start + t * step < 0 is false, -1 when it is always true. */
static int64_t first_not_negative(int64_t start, int64_t step) {
  if (start >= 0) return 0;
  if (step <= 0 || start == INT64_MIN) return UNKNOWN_TRIPS;
  return 1 - (start + 1) / step;
}

/* Like first_not_negative() for start + t * step != 0. */
static int64_t first_zero(int64_t start, int64_t step) {
  if (start == 0) return 0;
  if (step == 0 || step == INT64_MIN || start == INT64_MIN || start % step != 0) {
    return UNKNOWN_TRIPS;
  }
  return start / step < 0 ? -(start / step) : UNKNOWN_TRIPS;
}

/* Iterations until `difference direction 0` is false, where the difference is linear in the
 * iteration. */
static int64_t iterations_until_false(int64_t direction, int64_t start, int64_t step) {
  bool is_or_equal = direction == DIRECTION_LE || direction == DIRECTION_GE;
  switch (direction) {
    case DIRECTION_GE:
    case DIRECTION_GT:
      if (!mul_bytes(start, -1, &start) || !mul_bytes(step, -1, &step)) return UNKNOWN_TRIPS;
      break;
    case DIRECTION_NE: return first_zero(start, step);
    case DIRECTION_EQ: /* after one iteration they are never equal again */
      if (start != 0) return 0;
      return step != 0 ? 1 : UNKNOWN_TRIPS;
    default: break;
  }
  if (is_or_equal && !add_bytes(start, -1, &start)) return UNKNOWN_TRIPS;
  return first_not_negative(start, step);
}

/* False when some value leaves its type on the way: the loop then wraps and does something else. */
static bool stays_in_bounds(const Linear *side, int64_t trips) {
  int64_t last, first_next;
  if (!is_in(side->bounds, side->start)) return false;
  if (trips == 0) return true;
  return mul_bytes(side->step, trips, &last) && add_bytes(side->start, last, &last) &&
         add_bytes(side->start, side->step, &first_next) && is_in(side->bounds, last) &&
         is_in(side->next_bounds, last) && is_in(side->next_bounds, first_next);
}

/* Moves to the comparison that is the result of the condition. */
static bool find_comparison(Walker *walker) {
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    if (inst_get(walker->module, walker->at)->opcode == OPCODE_COMPARE) {
      return walker->path_len == 0;
    }
    if (!step_back(walker)) return false;
  }
  return false;
}

static int64_t counted_trips(const Module *module, InstId loop) {
  CompId condition = inst_callees(module, loop)[1];
  Walker walker = {.module = module, .at = comp_get(module, condition)->root};
  if (!find_comparison(&walker)) return UNKNOWN_TRIPS;
  Linear sides[2];
  for (int64_t i = 0; i < 2; i++) {
    Walker operand = walker;
    Traced side;
    if (!move_to_operand(&operand, walker.at, i) || !trace(&operand, &side) ||
        !make_linear(module, loop, &side, &sides[i])) {
      return UNKNOWN_TRIPS;
    }
  }
  int64_t direction = inst_attr_int(module, walker.at, ATTR_DIRECTION, DIRECTION_LT);
  int64_t start, step;
  if (__builtin_sub_overflow(sides[0].start, sides[1].start, &start) ||
      __builtin_sub_overflow(sides[0].step, sides[1].step, &step)) {
    return UNKNOWN_TRIPS;
  }
  int64_t trips = iterations_until_false(direction, start, step);
  if (trips < 0) return UNKNOWN_TRIPS;
  return stays_in_bounds(&sides[0], trips) && stays_in_bounds(&sides[1], trips) ? trips
                                                                                : UNKNOWN_TRIPS;
}

int64_t while_trip_count(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_WHILE || inst->num_callees != 2 || inst->num_operands != 1) {
    return UNKNOWN_TRIPS;
  }
  if (inst->origin == NO_ID) return inst->index; /* a rewrite made it, with a known count */
  int64_t configured = backend_config_trips(module, id);
  return configured >= 0 ? configured : counted_trips(module, id);
}
