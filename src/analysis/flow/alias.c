#include "analysis/flow/alias.h"

typedef struct Unions {
  uint32_t *parent; /* by ValueId; the smallest id of a set is its root */
} Unions;

static uint32_t find(Unions *unions, uint32_t value) {
  while (unions->parent[value] != value) {
    unions->parent[value] = unions->parent[unions->parent[value]];
    value = unions->parent[value];
  }
  return value;
}

static void unite(Unions *unions, ValueId a, ValueId b) {
  a = find(unions, a);
  b = find(unions, b);
  if (a < b) unions->parent[b] = a;
  if (b < a) unions->parent[a] = b;
}

typedef struct Builder {
  const Module *module;
  const Dataflow *flow;
  Unions unions;
  Arena *scratch;
} Builder;

static void unite_parts(Builder *builder, InstId a, InstId b) {
  uint32_t num_parts = inst_shape(builder->module, a)->num_parts;
  for (uint32_t part = 0; part < num_parts; part++) {
    unite(&builder->unions, dataflow_value(builder->flow, a, part),
          dataflow_value(builder->flow, b, part));
  }
}

static InstId root_of(const Builder *builder, CompId comp) {
  return comp_get(builder->module, comp)->root;
}

static void unite_while(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const CompId *callees = inst_callees(module, id);
  unite_parts(builder, id, inst_operand(module, id, 0));
  unite_parts(builder, id, root_of(builder, callees[0]));
  for (int i = 0; i < 2; i++) {
    const Computation *comp = comp_get(module, callees[i]);
    unite_parts(builder, id, id_list(module, comp->params)[0]);
  }
}

static void unite_in_place(Builder *builder, InstId id) {
  ArenaMark mark = arena_mark(builder->scratch);
  InPlacePairs pairs = {0};
  in_place_pairs(builder->module, id, &pairs, builder->scratch);
  for (uint32_t i = 0; i < pairs.list.len; i++) {
    InPlacePair pair = pairs.list.data[i];
    InstId operand = inst_operand(builder->module, id, pair.operand);
    unite(&builder->unions, dataflow_value(builder->flow, operand, pair.operand_part),
          dataflow_value(builder->flow, id, pair.output_part));
  }
  arena_reset(builder->scratch, mark);
}

/* input_output_alias: must-alias and may-alias are treated alike. */
static void unite_outputs(Builder *builder) {
  const Module *module = builder->module;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    if (alias->output_part >= inst_shape(module, entry->root)->num_parts) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    unite(&builder->unions, dataflow_value(builder->flow, entry->root, alias->output_part),
          dataflow_value(builder->flow, param, alias->param_part));
  }
}

HloBuffers hlo_buffers_build(const Module *module, const Dataflow *flow, Arena *out,
                             Arena *scratch) {
  uint32_t num_values = flow->values.len;
  HloBuffers buffers = {.of = arena_array(out, BufferId, num_values)};
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {.module = module, .flow = flow, .scratch = scratch};
  builder.unions.parent = arena_array(scratch, uint32_t, num_values);
  for (ValueId value = 0; value < num_values; value++)
    builder.unions.parent[value] = value;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!dataflow_covers(flow, id)) continue;
    switch (inst_get(module, id)->opcode) {
      case OPCODE_WHILE: unite_while(&builder, id); break;
      case OPCODE_CONDITIONAL:
        for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
          unite_parts(&builder, id, root_of(&builder, inst_callees(module, id)[i]));
        }
        break;
      default: unite_in_place(&builder, id); break;
    }
  }
  unite_outputs(&builder);

  for (ValueId value = 0; value < num_values; value++) {
    uint32_t root = find(&builder.unions, value);
    buffers.of[value] = root == value ? buffers.num_buffers++ : buffers.of[root];
  }
  buffers.first_value = arena_zarray(out, uint32_t, buffers.num_buffers + 1);
  buffers.values = arena_array(out, ValueId, num_values);
  for (ValueId value = 0; value < num_values; value++)
    buffers.first_value[buffers.of[value] + 1]++;
  for (BufferId b = 0; b < buffers.num_buffers; b++) {
    buffers.first_value[b + 1] += buffers.first_value[b];
  }
  uint32_t *next = arena_array(scratch, uint32_t, buffers.num_buffers);
  if (num_values) memcpy(next, buffers.first_value, buffers.num_buffers * sizeof *next);
  for (ValueId value = 0; value < num_values; value++) {
    buffers.values[next[buffers.of[value]]++] = value;
  }
  arena_reset(scratch, mark);
  return buffers;
}

bool *values_of_callers(const Module *module, const Dataflow *flow, Arena *out) {
  const Computation *entry = comp_get(module, module->entry);
  bool *is_callers = arena_zarray(out, bool, flow->values.len);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    if (!dataflow_covers(flow, param)) continue;
    for (uint32_t part = 0; part < inst_shape(module, param)->num_parts; part++)
      is_callers[dataflow_value(flow, param, part)] = true;
  }
  const ModuleHeader *header = &module->source->header;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    if (dataflow_covers(flow, param))
      is_callers[dataflow_value(flow, param, alias->param_part)] = false;
  }
  return is_callers;
}
