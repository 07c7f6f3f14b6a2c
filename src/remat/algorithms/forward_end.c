#include "remat/algorithms/forward_end.h"

#include "analysis/flow/call_graph.h"
#include "analysis/memory/remat_memory.h"
#include "analysis/memory/tracker.h"

static bool is_product_opcode(Opcode opcode) {
  switch (opcode) {
    case OPCODE_DOT:
    case OPCODE_RAGGED_DOT:
    case OPCODE_SCALED_DOT:
    case OPCODE_CONVOLUTION:
    case OPCODE_CUSTOM_CALL: return true;
    default: return false;
  }
}

static bool is_heavy_opcode(Opcode opcode) {
  return is_product_opcode(opcode) || opcode == OPCODE_COLLECTIVE_PERMUTE ||
         (opcode_info(opcode)->flags & OPF_COLLECTIVE) != 0;
}

bool is_unknown_call(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
         !str_begins_with(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "__");
}

/* By InstId: whether an instruction is meant, or calls a computation that contains one. */
static bool *find_with_callees(const Module *module, bool (*is_meant)(Opcode opcode), Arena *out,
                               Arena *scratch) {
  bool *is_found = arena_zarray(out, bool, module->insts.len);
  ArenaMark mark = arena_mark(scratch);
  bool *has_found = arena_zarray(scratch, bool, module->comps.len);
  Arena *arena = arena_new(arena_options(scratch));
  CompId *order = comps_post_order(module, arena, scratch);
  CallGraph graph = call_graph_build(module, arena, scratch);
  for (uint32_t c = 0; c < module->comps.len; c++) {
    CompId comp = order[c];
    bool is_fused = !comp_is_sequential(&graph, comp);
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      is_found[id] = is_meant((Opcode)inst_get(module, id)->opcode);
      for (uint32_t k = 0; k < inst_get(module, id)->num_callees; k++) {
        is_found[id] |= has_found[inst_callees(module, id)[k]];
      }
      /* Within fusions, these are small things such as GatherScatterIndicesBitpacked on XLA:TPU. */
      has_found[comp] |= is_found[id] && !(is_fused && is_unknown_call(module, id));
    }
  }
  arena_free(arena);
  arena_reset(scratch, mark);
  return is_found;
}

bool *find_heavy(const Module *module, Arena *out, Arena *scratch) {
  return find_with_callees(module, is_heavy_opcode, out, scratch);
}

bool *find_products(const Module *module, Arena *out, Arena *scratch) {
  return find_with_callees(module, is_product_opcode, out, scratch);
}

static bool is_lookup_opcode(Opcode opcode) {
  return is_product_opcode(opcode) || opcode == OPCODE_GATHER || opcode == OPCODE_SCATTER;
}

bool *find_whole_users(const Module *module, Arena *out, Arena *scratch) {
  return find_with_callees(module, is_lookup_opcode, out, scratch);
}

/* By position: whether a heavy instruction is, or depends on, the instruction. If nothing is heavy,
 * true for all. */
static bool *find_leading(const Module *module, Sequence sequence, const SchedPos *positions,
                          const bool *is_heavy, Arena *out) {
  bool *leads = arena_zarray(out, bool, sequence.len);
  bool has_heavy = false;
  for (SchedPos pos = sequence.len; pos-- > 0;) {
    InstId id = sequence.ids[pos];
    leads[pos] |= is_heavy[id];
    has_heavy |= is_heavy[id];
    for (uint32_t i = 0; leads[pos] && i < inst_get(module, id)->num_operands; i++) {
      leads[positions[inst_operand(module, id, i)]] = true;
    }
  }
  if (!has_heavy && sequence.len) memset(leads, 1, sequence.len * sizeof *leads);
  return leads;
}

/* Bytes that an instruction computes, without those that it only forwards. */
static int64_t computed_bytes(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  bool forwards =
      opcode_has(opcode, OPF_FREE) || opcode == OPCODE_OPT_BARRIER || opcode == OPCODE_DOMAIN;
  return forwards ? 0 : result_device_bytes(module, id);
}

/* A value that waits for readers. */
typedef struct Waiting {
  /* position of the instruction that computes it, found through bitcasts and get-tuple-elements */
  SchedPos origin;
  SchedPos touched; /* position where it was last computed or read */
  int64_t bytes;    /* in units that prevent overflow */
} Waiting;

static Waiting *find_values(const Module *module, Sequence sequence, const SchedPos *positions,
                            Arena *out) {
  Waiting *values = arena_array(out, Waiting, sequence.len);
  int64_t most_bytes = 1;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    bool is_alias = inst_is_pass_through(module, id);
    SchedPos origin = is_alias ? values[positions[inst_operand(module, id, 0)]].origin : pos;
    values[pos] = (Waiting){origin, pos, is_alias ? 0 : computed_bytes(module, id)};
    if (values[pos].bytes > most_bytes) most_bytes = values[pos].bytes;
  }
  int64_t len = (int64_t)sequence.len + 1, unit = 1;
  while (most_bytes / unit > INT64_MAX / 4 / len / len)
    unit *= 2;
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    values[pos].bytes = values[pos].bytes / unit;
  return values;
}

static int64_t weight_of(const Waiting *value, SchedPos reader, ForwardEndRule rule) {
  switch (rule) {
    case FORWARD_END_BY_BYTES: return value->bytes;
    case FORWARD_END_BY_BYTES_AND_TIME: return value->bytes * (int64_t)(reader - value->touched);
    default: return value->bytes > 0;
  }
}

SchedPos find_forward_end(const Module *module, Sequence sequence, const SchedPos *positions,
                          const bool *is_heavy, ForwardEndRule rule, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool *leads = find_leading(module, sequence, positions, is_heavy, scratch);
  Waiting *values = find_values(module, sequence, positions, scratch);
  int64_t *change = arena_zarray(scratch, int64_t, (size_t)sequence.len + 1);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (!leads[pos] || inst_is_pass_through(module, id)) continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      Waiting *value = &values[values[positions[inst_operand(module, id, i)]].origin];
      if (value->touched == pos) continue;
      int64_t weight = weight_of(value, pos, rule);
      change[value->touched] += weight;
      change[pos] -= weight;
      value->touched = pos;
    }
  }
  SchedPos forward_end = NO_ID;
  int64_t waiting = 0, most = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    waiting += change[pos];
    if (waiting > most) {
      most = waiting;
      forward_end = pos;
    }
  }
  arena_reset(scratch, mark);
  return forward_end;
}

/* For each value of the forward part, its first reader after it; NO_ID = none. */
static SchedPos *find_first_late(const Module *module, Sequence sequence, const SchedPos *positions,
                                 const Waiting *values, SchedPos forward_end, Arena *out) {
  SchedPos *first = arena_array(out, SchedPos, (size_t)forward_end + 1);
  memset(first, 0xff, ((size_t)forward_end + 1) * sizeof *first);
  for (SchedPos pos = sequence.len; pos-- > forward_end + 1;) {
    InstId id = sequence.ids[pos];
    if (inst_is_pass_through(module, id)) continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      SchedPos origin = values[positions[inst_operand(module, id, i)]].origin;
      if (origin <= forward_end && values[origin].bytes > 0) first[origin] = pos;
    }
  }
  return first;
}

bool is_nested_at(const Module *module, Sequence sequence, const SchedPos *positions,
                  SchedPos forward_end, uint32_t wanted, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Waiting *values = find_values(module, sequence, positions, scratch);
  SchedPos *first = find_first_late(module, sequence, positions, values, forward_end, scratch);
  /* The longest decreasing subsequence: inner[k] is the latest first reader that the innermost of k
   * + 1 nested values can have. */
  SchedPos *inner = arena_array(scratch, SchedPos, (size_t)forward_end + 1);
  uint32_t depth = 0;
  for (SchedPos pos = 0; pos <= forward_end; pos++) {
    if (first[pos] == NO_ID) continue;
    uint32_t low = 0, high = depth;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (inner[middle] > first[pos]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    inner[low] = first[pos];
    if (low == depth) depth++;
  }
  arena_reset(scratch, mark);
  return depth >= wanted;
}
