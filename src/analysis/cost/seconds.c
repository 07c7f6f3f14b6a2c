/* Modelled time: a roofline per instruction. */
#include <math.h>

#include "analysis/cost/cost_internal.h"

static bool is_matrix_product(Opcode opcode) {
  switch (opcode) {
    case OPCODE_CONVOLUTION:
    case OPCODE_DOT:
    case OPCODE_RAGGED_DOT:
    case OPCODE_SCALED_DOT: return true;
    default: return false;
  }
}

/* The type of the largest product in a fused computation, if products have most of its flops. */
static ElementType fused_matrix_type(const Module *module, const CostTable *table, CompId comp) {
  ElementType type = NUM_TYPES;
  int64_t largest = 0, products = 0, total = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = cost_known_inst(module, table, comp_inst(module, comp, i));
    if (id == NO_ID) continue;
    int64_t flops = table->of[id].flops;
    total = saturating_add(total, flops);
    if (table->matrix_types[id] == NUM_TYPES) continue;
    products = saturating_add(products, flops);
    if (flops > largest) {
      largest = flops;
      type = (ElementType)table->matrix_types[id];
    }
  }
  return products > total / 2 ? type : NUM_TYPES;
}

ElementType cost_matrix_type(const Module *module, const CostTable *table, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_CUSTOM_CALL) {
    bool is_given = table->known && id < table->num_insts && table->known[id];
    return cost_custom_call_type(module, id, is_given && table->known[id]->flops >= 0);
  }
  if (inst->opcode == OPCODE_FUSION && inst->num_callees > 0) {
    return fused_matrix_type(module, table, inst_callees(module, id)[0]);
  }
  const Shape *lhs = cost_operand_shape(module, id, 0);
  if (!is_matrix_product((Opcode)inst->opcode) || !lhs || !shape_is_array(lhs)) return NUM_TYPES;
  return (ElementType)lhs->type;
}

/* Instructions that need no kernel: names for memory, ordering without work, the second half of an
 * asynchronous pair, whose cost is at the start, and control flow, whose callees are counted
 * instead. */
static bool runs_nothing(Opcode opcode) {
  if (opcode_ends_split(opcode) || opcode_is_control_flow(opcode)) return true;
  switch (opcode) {
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_AFTER_ALL:
    case OPCODE_BITCAST:
    case OPCODE_CONSTANT:
    case OPCODE_DOMAIN:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_OPT_BARRIER:
    case OPCODE_PARAMETER:
    case OPCODE_TUPLE: return true;
    default: return false;
  }
}

/* The type that the instruction computes in: the type of its first operand that is not pred (the
 * result of a comparison and the first operand of a select are pred), else the type of its
 * result. */
static ElementType vector_type(const Module *module, InstId id) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    const Shape *operand = cost_operand_shape(module, id, i);
    if (shape_is_array(operand) && operand->type != TYPE_PRED) return (ElementType)operand->type;
  }
  const Shape *shape = inst_shape(module, id);
  while (shape_is_tuple(shape) && shape->rank > 0) {
    shape = shape_get(&module->shapes, shape->elements[0]);
  }
  return shape_is_array(shape) ? (ElementType)shape->type : TYPE_F32;
}

static bool is_on_host(const Shape *shape) {
  return shape && shape_is_on_host(shape);
}

LinkDirection host_link_direction(const Module *module, InstId id) {
  uint16_t opcode = inst_get(module, id)->opcode;
  if (opcode != OPCODE_COPY && opcode != OPCODE_COPY_START) return LINK_NONE;
  const Shape *from = cost_operand_shape(module, id, 0), *to = inst_shape(module, id);
  if (shape_is_tuple(to) && to->rank > 0) to = shape_get(&module->shapes, to->elements[0]);
  if (is_on_host(from) == is_on_host(to)) return LINK_NONE;
  return is_on_host(to) ? LINK_TO_HOST : LINK_FROM_HOST;
}

/* Data that is both read and written crosses a link once. An asynchronous copy has the bytes of
 * both ends in its shape, so the operand's bytes are used. A custom call of unknown cost is assumed
 * to read its operands and write its result. */
static void set_transfer(const Module *module, InstId id, int64_t bytes, InstWork *work) {
  if (bytes < 0) bytes = cost_default_bytes(module, id);
  LinkDirection direction = host_link_direction(module, id);
  bool is_collective =
      opcode_has((Opcode)inst_get(module, id)->opcode, OPF_COLLECTIVE | OPF_CHANNEL);
  work->route = direction == LINK_TO_HOST     ? ROUTE_TO_HOST
                : direction == LINK_FROM_HOST ? ROUTE_FROM_HOST
                : is_collective               ? ROUTE_DEVICES
                                              : ROUTE_MEMORY;
  work->bytes = direction != LINK_NONE ? (double)cost_operand_bytes(module, id, 0)
                : is_collective        ? (double)bytes / 2
                                       : (double)bytes;
}

static ModelledTime seconds_by(double seconds, CostBound bound) {
  return (ModelledTime){.seconds = seconds, .bound = bound};
}

static ModelledTime transfer_time(const InstWork *work, const DeviceProfile *profile) {
  switch (work->route) {
    case ROUTE_TO_HOST: return seconds_by(work->bytes / profile->device_to_host, BOUND_LINK);
    case ROUTE_FROM_HOST: return seconds_by(work->bytes / profile->host_to_device, BOUND_LINK);
    case ROUTE_DEVICES: return seconds_by(work->bytes / profile->interconnect, BOUND_LINK);
    case ROUTE_MEMORY: break;
  }
  double bandwidth = profile->memory_bandwidth, limit = work->blocks * profile->block_bandwidth;
  if (limit > 0 && limit < bandwidth) bandwidth = limit;
  return seconds_by(work->bytes / bandwidth, BOUND_MEMORY);
}

static ModelledTime longer(ModelledTime time, double seconds, CostBound bound) {
  return seconds > time.seconds ? seconds_by(seconds, bound) : time;
}

/* An instruction that is not in the table and is not a clone of one that is, such as a copy, or the
 * conditional or barrier that protects a clone, costs its bytes. */
static Cost timed_cost(const Module *module, const CostTable *table, InstId id) {
  Cost cost;
  InstId known = cost_known_inst(module, table, id);
  if (cost_of_known(module, table, id, &cost)) return cost;
  if (known == NO_ID) return (Cost){.bytes = cost_default_bytes(module, id)};
  cost = table->of[known];
  cost.bytes -= table->unneeded_bytes[known];
  return cost;
}

/* What XLA estimates of an instruction, for work that passes the device's memory. */
static void set_estimates(const CostTable *table, InstId known, InstWork *work) {
  if (known == NO_ID) return;
  if (table->estimated_cycles && table->estimated_cycles[known] >= 0) {
    work->cycles = (double)table->estimated_cycles[known];
  }
  if (table->estimated_seconds && table->estimated_seconds[known] >= 0) {
    work->estimated_seconds = table->estimated_seconds[known];
  }
}

/* `with_units`: the units are needed, too. */
static InstWork work_of(const Module *module, const CostTable *table, InstId id, bool with_units) {
  bool is_idle = runs_nothing((Opcode)inst_get(module, id)->opcode);
  if (table->link_seconds && id < table->num_insts && table->link_seconds[id] >= 0) {
    double seconds = table->link_seconds[id];
    if (seconds == 0 && is_idle) return (InstWork){.kind = WORK_NONE};
    return (InstWork){.kind = WORK_STALL, .stall_seconds = seconds};
  }
  if (is_idle) return (InstWork){.kind = WORK_NONE};
  Cost cost = timed_cost(module, table, id);
  if (cost.flops == 0 && cost.transcendentals == 0 && cost.bytes == 0) {
    return (InstWork){.kind = WORK_NONE};
  }
  InstId known = cost_known_inst(module, table, id);
  ElementType matrix = known == NO_ID ? NUM_TYPES : (ElementType)table->matrix_types[known];
  InstWork work = {.kind = WORK_KERNEL,
                   .type = matrix == NUM_TYPES ? vector_type(module, id) : matrix,
                   .is_matrix = matrix != NUM_TYPES,
                   .flops = (double)cost.flops,
                   .transcendentals = (double)cost.transcendentals};
  set_transfer(module, id, cost.bytes, &work);
  if (work.route == ROUTE_MEMORY) {
    work.blocks = known == NO_ID ? 0 : (double)table->kernel_blocks[known];
    set_estimates(table, known, &work);
    if (with_units) work.units = units_of_inst(module, table, id);
  }
  return work;
}

InstWork cost_work(const Module *module, const CostTable *table, InstId id) {
  return work_of(module, table, id, true);
}

static CostBound bound_of_units(UnitBound bound) {
  switch (bound) {
    case UNITS_KERNEL: return BOUND_LAUNCH;
    case UNITS_MEMORY: return BOUND_MEMORY;
    case UNITS_MATRIX:
    case UNITS_VECTOR: return BOUND_COMPUTE;
    case UNITS_NOTHING: break;
  }
  return BOUND_NOTHING;
}

CostUnits work_units(const InstWork *work, const DeviceProfile *profile) {
  CostUnits units = work->units;
  if (!work->is_matrix) return units;
  double part = profile->flops[TYPE_BF16] / profile->flops[work->type];
  units.of[UNIT_PRODUCT_MACS] *= (float)part;
  units.of[UNIT_PRODUCT_WIDE] *= (float)part;
  return units;
}

static ModelledTime unit_time(const InstWork *work, const DeviceProfile *profile) {
  UnitBound bound;
  CostUnits units = work_units(work, profile);
  double cycles = units_cycles(&units, &profile->cycles, &bound);
  return seconds_by(cycles / profile->clock, bound_of_units(bound));
}

static ModelledTime roofline_time(const InstWork *work, const DeviceProfile *profile) {
  double peak = work->is_matrix ? profile->flops[work->type] : profile->vector_flops[work->type];
  ModelledTime time = transfer_time(work, profile);
  double serial = work->is_matrix ? fmin(time.seconds, work->flops / peak) : 0;
  time = longer(time, work->flops / peak, BOUND_COMPUTE);
  time = longer(time, work->transcendentals / profile->transcendentals, BOUND_TRANSCENDENTALS);
  double start = profile->kernel_seconds + (work->is_matrix ? profile->product_seconds : 0);
  if (start > time.seconds) time.bound = BOUND_LAUNCH;
  time.seconds += start + serial * profile->product_serial;
  return time;
}

/* The seconds that XLA estimates, if the profile is of a device whose estimates these are; else a
 * negative number. */
static double estimate_of(const InstWork *work, const DeviceProfile *profile) {
  if (work->cycles > 0 && profile->clock > 0) return work->cycles / profile->clock;
  if (work->estimated_seconds > 0 && profile->product_seconds > 0) {
    return work->estimated_seconds + profile->kernel_seconds;
  }
  return -1;
}

ModelledTime work_time(const InstWork *work, const DeviceProfile *profile) {
  if (work->kind == WORK_NONE) return (ModelledTime){0};
  if (work->kind == WORK_STALL) return seconds_by(work->stall_seconds, BOUND_LINK);
  bool counts_units = profile->has_units && work->route == ROUTE_MEMORY;
  ModelledTime time = counts_units ? unit_time(work, profile) : roofline_time(work, profile);
  double estimate = estimate_of(work, profile);
  if (estimate >= 0) {
    time.seconds = estimate;
    time.source = TIME_ESTIMATED;
    if (time.bound == BOUND_NOTHING) time.bound = BOUND_LAUNCH;
  }
  return time;
}

/* What is measured replaces the time, but not what bounds it. What waits for a link waits, whatever
 * the copy itself took. */
ModelledTime cost_time(const Module *module, const CostTable *table, const DeviceProfile *profile,
                       InstId id) {
  InstWork work = work_of(module, table, id, profile->has_units);
  ModelledTime time = work_time(&work, profile);
  if (work.kind != WORK_KERNEL) return time;
  InstId known = table->measured_seconds ? cost_known_inst(module, table, id) : NO_ID;
  if (known != NO_ID && table->measured_seconds[known] >= 0) {
    time.seconds = table->measured_seconds[known];
    time.source = TIME_MEASURED;
    if (time.bound == BOUND_NOTHING) time.bound = BOUND_LAUNCH;
  } else if (profile->scale > 0) {
    time.seconds *= profile->scale;
  }
  return time;
}

double cost_seconds(const Module *module, const CostTable *table, const DeviceProfile *profile,
                    InstId id) {
  return cost_time(module, table, profile, id).seconds;
}
