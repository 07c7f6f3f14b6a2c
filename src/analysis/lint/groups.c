/* Checks groups and pairs of devices against device counts and shapes. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lint/lint.h"

/* ---- replica_groups ---- */

typedef struct Groups {
  int64_t num_groups; /* 0 = one group of all devices */
  int64_t size;       /* devices in each group, -1 = the sizes differ */
} Groups;

/* What the numbers in a group identify (CollectiveOpGroupMode). */
typedef enum GroupMode { BY_REPLICA, BY_REPLICA_ALL_PARTITIONS, BY_PARTITION, BY_DEVICE } GroupMode;

static GroupMode mode_of(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (!(inst->flags & INST_HAS_CHANNEL)) return BY_REPLICA;
  switch (inst->opcode) {
    case OPCODE_ALL_TO_ALL:
    case OPCODE_RAGGED_ALL_TO_ALL:
    case OPCODE_COLLECTIVE_BROADCAST: return BY_PARTITION;
    default: break;
  }
  bool is_global = inst_attr_int(lint->module, id, ATTR_USE_GLOBAL_DEVICE_IDS, 0) != 0;
  return is_global ? BY_DEVICE : BY_REPLICA_ALL_PARTITIONS;
}

/* The number of devices of all groups together, 1 when it is unknown: a module is often printed
 * without its counts. */
static int64_t count_of(const Lint *lint, GroupMode mode) {
  const ModuleHeader *header = &lint->module->source->header;
  switch (mode) {
    case BY_REPLICA:
    case BY_REPLICA_ALL_PARTITIONS: return header->replica_count;
    case BY_PARTITION: return header->num_partitions;
    case BY_DEVICE: break;
  }
  int64_t count;
  bool fits = !__builtin_mul_overflow(header->replica_count, header->num_partitions, &count);
  return fits ? count : 1;
}

/* A group without devices: two braces inside the list with only blanks between them. */
static uint32_t find_empty_group(const char *text, Span list) {
  uint32_t opener = NO_OFFSET;
  for (uint32_t at = list.begin + 1; at + 1 < list.end; at++) {
    if (text[at] == '}' && opener != NO_OFFSET) return opener;
    if (text[at] == '{') {
      opener = at;
    } else if (text[at] > ' ') {
      opener = NO_OFFSET;
    }
  }
  return NO_OFFSET;
}

/* Checks that a list names each device from 0 on once. */
static void lint_listed(Lint *lint, InstId id, const Attr *attr) {
  const char *text = lint->module->source->text;
  bool is_list = attr->text.end - attr->text.begin > 2 && text[attr->text.begin] == '{';
  if (!is_list || memchr(text + attr->text.begin, '/', attr->text.end - attr->text.begin)) return;
  uint32_t empty = find_empty_group(text, attr->text);
  if (empty != NO_OFFSET) {
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, DIAG_AT(empty), "one of its groups is empty");
    return;
  }
  uint32_t count = 0;
  int64_t device = 0;
  for (uint32_t at = attr->text.begin; lint_next_number(text, &at, attr->text.end, &device);)
    count++;
  bool *is_seen = arena_zarray(lint->scratch, bool, count);
  for (uint32_t at = attr->text.begin, i = 0; i < count; i++) {
    lint_next_number(text, &at, attr->text.end, &device);
    if (device >= 0 && device < count && !is_seen[device]) {
      is_seen[device] = true;
      continue;
    }
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, DIAG_AT(at - 1),
                 device < 0       ? "device %" PRId64 " is negative"
                 : device < count ? "device %" PRId64 " is in its groups twice"
                                  : "device %" PRId64 " is too large for groups of %u devices",
                 device, count);
    return;
  }
}

static bool wants_uniform_groups(Opcode opcode) {
  return opcode_begun(opcode) != OPCODE_ALL_REDUCE;
}

/* The number of devices that share one value, from the shapes; 0 = unknown. */
static int64_t shards_of(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (inst->num_operands == 0) return 0;
  ShapeId result = inst->shape;
  const ShapeTable *shapes = &lint->module->shapes;
  if (inst->opcode == OPCODE_ALL_GATHER_START) result = shape_get(shapes, result)->elements[1];
  if (inst->num_operands > 1) result = shape_get(shapes, result)->elements[0];
  const Shape *out = shape_get(shapes, result);
  const Shape *in = shape_get(shapes, lint_operand_shape(lint, id, 0));
  int64_t dim = inst_attr_int(lint->module, id, ATTR_DIMENSIONS, 0);
  const Shape *small = inst->opcode == OPCODE_REDUCE_SCATTER ? out : in;
  const Shape *large = inst->opcode == OPCODE_REDUCE_SCATTER ? in : out;
  if (dim < 0 || dim >= small->rank || dim >= large->rank || small->dims[dim] <= 0) return 0;
  return large->dims[dim] / small->dims[dim];
}

/* Either an array is split into a part for each device, or each operand is the part of one
 * device. */
static void lint_split(Lint *lint, InstId id, const Groups *groups, int64_t devices) {
  const Instruction *inst = inst_get(lint->module, id);
  if (!inst_attr(lint->module, id, ATTR_DIMENSIONS)) {
    if (!groups->num_groups || inst->num_operands == devices) return;
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, lint_place_attr(lint, id, ATTR_REPLICA_GROUPS),
                 "it has %u operands for groups of %" PRId64 " devices", inst->num_operands,
                 devices);
    return;
  }
  const Shape *shape = inst_shape(lint->module, inst_operand(lint->module, id, 0));
  int64_t size = shape->dims[inst_attr_int(lint->module, id, ATTR_DIMENSIONS, 0)];
  if (size == UNBOUNDED_DIM || size % devices == 0) return;
  lint_find_at(lint, LINT_REPLICA_GROUPS, id, lint_place_attr(lint, id, ATTR_REPLICA_GROUPS),
               "it splits a dimension of %" PRId64 " for groups of %" PRId64 " devices", size,
               devices);
}

static void lint_shards(Lint *lint, InstId id, const Groups *groups, GroupMode mode) {
  const Instruction *inst = inst_get(lint->module, id);
  const ModuleHeader *header = &lint->module->source->header;
  int64_t devices = groups->num_groups ? groups->size : count_of(lint, mode);
  if (devices <= 0) return;
  bool times_partitions = mode == BY_REPLICA_ALL_PARTITIONS;
  if (times_partitions && __builtin_mul_overflow(devices, header->num_partitions, &devices)) return;
  if (inst->opcode == OPCODE_ALL_TO_ALL) {
    lint_split(lint, id, groups, devices);
    return;
  }
  int64_t shards = shards_of(lint, id);
  if (devices == 1 || shards == 0 || shards == devices) return;
  lint_find_at(lint, LINT_REPLICA_GROUPS, id, lint_place_attr(lint, id, ATTR_REPLICA_GROUPS),
               "its groups have %" PRId64 " devices, its shapes are for %" PRId64, devices, shards);
}

static void lint_replica_groups(Lint *lint, InstId id, bool has_shards) {
  const Attr *attr = inst_attr(lint->module, id, ATTR_REPLICA_GROUPS);
  IntSlice ints = inst_attr_ints(lint->module, id, ATTR_REPLICA_GROUPS);
  Groups groups = {0};
  GroupMode mode = mode_of(lint, id);
  if (attr && ints.len == 2) groups = (Groups){ints.data[0], ints.data[1]};
  DiagPlace place = lint_place_attr(lint, id, ATTR_REPLICA_GROUPS);
  Opcode opcode = (Opcode)inst_get(lint->module, id)->opcode;
  /* Groups of a mesh are not counted. */
  if (attr && str_begins_with(module_span(lint->module, attr->text), "mesh")) return;
  if (groups.num_groups == 0 && mode == BY_DEVICE) {
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, place,
                 "use_global_device_ids wants groups, and it has none");
    return;
  }
  if (groups.num_groups && groups.size < 0 && wants_uniform_groups(opcode)) {
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, place, "its groups are not of the same size");
    return;
  }
  if (groups.num_groups) lint_listed(lint, id, attr);
  int64_t wanted = count_of(lint, mode), total;
  bool is_known = groups.num_groups && groups.size > 0 && wanted > 1 &&
                  !__builtin_mul_overflow(groups.num_groups, groups.size, &total);
  if (is_known && total != wanted) {
    lint_find_at(lint, LINT_REPLICA_GROUPS, id, place,
                 "its groups have %" PRId64 " devices, the module has %" PRId64, total, wanted);
    return;
  }
  if (has_shards) lint_shards(lint, id, &groups, mode);
}

/* ---- source_target_pairs ---- */

static int by_number(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* The number of slices that a device sends when it permutes in place. The operands' shapes must
 * fit. */
static uint32_t num_slices(const Lint *lint, InstId id) {
  const ShapeTable *shapes = &lint->module->shapes;
  if (!inst_attr(lint->module, id, ATTR_PERMUTE_SLICE_SIZES)) return 1;
  const Shape *offsets = shape_get(shapes, lint_operand_shape(lint, id, 2));
  if (!shape_is_tuple(shape_get(shapes, lint_operand_shape(lint, id, 0)))) return offsets->rank;
  return offsets->rank ? shape_get(shapes, offsets->elements[0])->rank : 0;
}

static void lint_pairs_of(Lint *lint, InstId id) {
  const ModuleHeader *header = &lint->module->source->header;
  IntSlice pairs = inst_attr_ints(lint->module, id, ATTR_SOURCE_TARGET_PAIRS);
  uint32_t num_allowed = num_slices(lint, id);
  DiagPlace place = lint_place_attr(lint, id, ATTR_SOURCE_TARGET_PAIRS);
  bool has_channel = inst_get(lint->module, id)->flags & INST_HAS_CHANNEL;
  int64_t limit = has_channel ? header->num_partitions : header->replica_count;
  uint64_t *seen = arena_array(lint->scratch, uint64_t, pairs.len);
  for (uint32_t i = 0; i < pairs.len; i++) {
    if (pairs.data[i] >= 0 && (limit <= 1 || pairs.data[i] < limit)) {
      seen[i] = (uint64_t)pairs.data[i] << 1 | (i & 1);
      continue;
    }
    lint_find_at(lint, LINT_SOURCE_TARGET_PAIRS, id, place, "there is no device %" PRId64,
                 pairs.data[i]);
    return;
  }
  if (pairs.len) qsort(seen, pairs.len, sizeof *seen, by_number);
  for (uint32_t i = num_allowed; num_allowed && i < pairs.len; i++) {
    if (seen[i] != seen[i - num_allowed]) continue;
    lint_find_at(lint, LINT_SOURCE_TARGET_PAIRS, id, place,
                 "device %" PRIu64 " is a %s %u times, expected %u at most", seen[i] >> 1,
                 seen[i] & 1 ? "target" : "source", num_allowed + 1, num_allowed);
    return;
  }
}

void lint_groups(Lint *lint, InstId id, bool has_shapes) {
  switch (opcode_begun((Opcode)inst_get(lint->module, id)->opcode)) {
    case OPCODE_ALL_GATHER:
    case OPCODE_REDUCE_SCATTER:
    case OPCODE_ALL_TO_ALL: lint_replica_groups(lint, id, has_shapes); break;
    case OPCODE_ALL_REDUCE:
    case OPCODE_COLLECTIVE_BROADCAST:
    case OPCODE_RAGGED_ALL_TO_ALL: lint_replica_groups(lint, id, false); break;
    case OPCODE_COLLECTIVE_PERMUTE:
      if (has_shapes) lint_pairs_of(lint, id);
      break;
    default: break;
  }
}
