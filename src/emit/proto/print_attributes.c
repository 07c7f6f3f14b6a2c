/* What an opcode has beside its operands, in the order in which XLA prints it: the attributes of
 * its class (PrintExtraAttributesImpl in xla/hlo/ir/hlo_instructions.cc), then what it calls. */
#include "emit/proto/print.h"

static void put_dimensions(TextBuffer *text, const InstText *inst) {
  print_key_ints(text, ", dimensions=", inst->dimensions, inst->n_dimensions);
}

/* An attribute that is one dimension. */
static int64_t only_dimension(Printer *printer, const InstText *inst) {
  if (inst->n_dimensions == 1) return inst->dimensions[0];
  print_refuse(printer, "an instruction has %zu dimensions", inst->n_dimensions);
  return 0;
}

static void put_flag(TextBuffer *text, const char *key, bool value) {
  if (value) text_put(text, key);
}

static void put_slices(Printer *printer, TextBuffer *text, const InstText *inst) {
  bool has_stride = false;
  for (size_t i = 0; i < inst->n_slice_dimensions; i++) {
    print_known(printer, &inst->slice_dimensions[i]->base);
    has_stride = has_stride || inst->slice_dimensions[i]->stride != 1;
  }
  text_put(text, ", slice={");
  for (size_t i = 0; i < inst->n_slice_dimensions; i++) {
    const RematHloText__SliceDims *dims = inst->slice_dimensions[i];
    print_key_int(text, i ? ", [" : "[", dims->start);
    print_key_int(text, ":", dims->limit);
    if (has_stride) print_key_int(text, ":", dims->stride);
    text_put_char(text, ']');
  }
  text_put_char(text, '}');
}

void print_output_aliases(Printer *printer, TextBuffer *text, const InstText *inst) {
  if (inst->n_output_operand_aliasing == 0) return;
  text_put(text, ", output_to_operand_aliasing={");
  for (size_t i = 0; i < inst->n_output_operand_aliasing; i++) {
    const RematHloText__OutputAlias *alias = inst->output_operand_aliasing[i];
    print_known(printer, &alias->base);
    print_key_ints(text, i ? ", " : "", alias->output_shape_index, alias->n_output_shape_index);
    print_key_int(text, ": (", alias->operand_index);
    print_key_ints(text, ", ", alias->operand_shape_index, alias->n_operand_shape_index);
    text_put_char(text, ')');
  }
  text_put_char(text, '}');
}

enum { NO_API_VERSION, FIRST_API_VERSION };

/* XLA prints all but the usual ones. XLA's parser has no word for a version that is not given. */
static void put_api_version(Printer *printer, TextBuffer *text, int32_t value) {
  if (value == NO_API_VERSION)
    text_put(text, ", api_version=API_VERSION_UNSPECIFIED");
  else if (value != FIRST_API_VERSION)
    print_word(printer, text, ", api_version=", ATTR_KIND_API_VERSION, value - FIRST_API_VERSION);
}

/* The order goes without saying where it is the one that the type has. */
static void put_comparison(Printer *printer, TextBuffer *text, const InstText *inst,
                           const LineText *line) {
  Str order = bytes_str(inst->comparison_order);
  text_put(text, ", direction=");
  print_name(printer, text, inst->comparison_direction);
  if (line->num_operands != 2) {
    print_refuse(printer, "a comparison of %u values", (unsigned)line->num_operands);
    return;
  }
  const LineText *operand = &printer->list.data[printer->edges.data[line->operands]];
  ElementType type = printer->shapes.list.data[operand->shape].type;
  bool is_float = type != NUM_TYPES && (type_info(type)->class == TYPE_CLASS_FLOAT ||
                                        type_info(type)->class == TYPE_CLASS_COMPLEX);
  if (order.len == 0 || str_is(order, is_float ? "PARTIAL" : "TOTAL")) return;
  if (!is_float || !str_is(order, "TOTAL")) print_refuse(printer, "the order of a comparison");
  text_put(text, ", order=TOTAL");
}

static void put_solve(Printer *printer, TextBuffer *text,
                      const RematHloText__TriangularSolve *options) {
  if (!options) return;
  print_known(printer, &options->base);
  put_flag(text, ", left_side=true", options->left_side);
  put_flag(text, ", lower=true", options->lower);
  put_flag(text, ", unit_diagonal=true", options->unit_diagonal);
  if (options->transpose_a)
    print_word(printer, text, ", transpose_a=", ATTR_KIND_TRANSPOSE, options->transpose_a);
}

static void put_channel(TextBuffer *text, const InstText *inst) {
  if (inst->channel_id > 0) print_key_int(text, ", channel_id=", inst->channel_id);
}

static void put_collective(Printer *printer, TextBuffer *text, const InstText *inst,
                           bool is_constrained) {
  put_channel(text, inst);
  print_replica_groups(printer, text, inst);
  put_flag(text, ", constrain_layout=true", is_constrained);
}

static void put_pairs(Printer *printer, TextBuffer *text, const InstText *inst) {
  put_channel(text, inst);
  text_put(text, ", source_target_pairs={");
  for (size_t i = 0; i < inst->n_source_target_pairs; i++) {
    const RematHloText__SourceTarget *pair = inst->source_target_pairs[i];
    print_known(printer, &pair->base);
    print_key_ints(text, i ? "," : "", (int64_t[]){pair->source, pair->target}, 2);
  }
  text_put_char(text, '}');
  if (inst->n_dynamic_slice_sizes) print_refuse(printer, "a permutation of slices");
}

static void put_groups_of_features(TextBuffer *text, const InstText *inst) {
  if (inst->feature_group_count > 1)
    print_key_int(text, ", feature_group_count=", inst->feature_group_count);
  if (inst->batch_group_count > 1)
    print_key_int(text, ", batch_group_count=", inst->batch_group_count);
}

static void put_layouts(Printer *printer, TextBuffer *text, const InstText *inst) {
  text_put(text, ", operand_layout_constraints={");
  for (size_t i = 0; i < inst->n_operand_shapes_with_layout; i++) {
    uint32_t shape = print_find_shape(printer, inst->operand_shapes_with_layout[i]);
    if (i) text_put(text, ", ");
    text_put_str(text, printer->shapes.list.data[shape].full);
  }
  text_put_char(text, '}');
}

static void put_custom_call(Printer *printer, TextBuffer *text, const InstText *inst) {
  if (inst->literal.len || (inst->window && inst->window->n_dimensions == 0))
    print_refuse(printer, "a custom-call with a literal or an empty window");
  print_window(printer, text, inst->window);
  if (inst->convolution_dimension_numbers)
    print_dim_labels(printer, text, inst->convolution_dimension_numbers);
  put_groups_of_features(text, inst);
  print_precision(printer, text, inst->precision_config, inst->n_operand_ids);
  if (inst->padding_type)
    print_word(printer, text, ", padding_type=", ATTR_KIND_PADDING_TYPE, inst->padding_type);
  text_put(text, ", custom_call_target=\"");
  print_escaped(text, inst->custom_call_target);
  text_put_char(text, '"');
  if (inst->constrain_layout) put_layouts(printer, text, inst);
  put_flag(text, ", custom_call_has_side_effect=true", inst->custom_call_has_side_effect);
  print_output_aliases(printer, text, inst);
  if (inst->custom_call_schedule)
    print_word(printer, text, ", schedule=", ATTR_KIND_CUSTOM_CALL_SCHEDULE,
               inst->custom_call_schedule);
  put_api_version(printer, text, inst->custom_call_api_version);
}

static void put_replication(Printer *printer, TextBuffer *text, const InstText *inst) {
  const RematHloText__ParameterReplication *replication = inst->parameter_replication;
  if (!replication) return;
  print_known(printer, &replication->base);
  size_t count = replication->n_replicated_at_leaf_buffers;
  if (count) text_put(text, ", parameter_replication={");
  for (size_t i = 0; i < count; i++) {
    if (i) text_put_char(text, ',');
    text_put(text, replication->replicated_at_leaf_buffers[i] ? "true" : "false");
  }
  if (count) text_put_char(text, '}');
}

/* ---- by opcode ---- */

Opcode print_find_opcode(Printer *printer, Bytes name) {
  uint32_t opcode;
  uint64_t hash = hash_str(bytes_str(name));
  for (IdProbe p = id_table_probe(&printer->opcodes, hash); id_probe_next(&p, &opcode);) {
    if (str_is(bytes_str(name), opcode_text((Opcode)opcode))) return (Opcode)opcode;
  }
  print_refuse(printer, "the opcode %.*s", (int)(name.len < 40 ? name.len : 40),
               (const char *)name.data);
  return NUM_OPCODES;
}

/* Operations on numbers, as far as they have attributes. Returns false for other opcodes. */
static bool put_of_numbers(Printer *printer, TextBuffer *text, Opcode opcode, const InstText *inst,
                           const LineText *line) {
  switch (opcode) {
    case OPCODE_COMPARE: put_comparison(printer, text, inst, line); break;
    case OPCODE_CONVOLUTION:
      print_window(printer, text, inst->window);
      print_dim_labels(printer, text, inst->convolution_dimension_numbers);
      put_groups_of_features(text, inst);
      print_precision(printer, text, inst->precision_config, inst->n_operand_ids);
      break;
    case OPCODE_DOT:
      print_dot_dims(printer, text, inst->dot_dimension_numbers);
      print_precision(printer, text, inst->precision_config, inst->n_operand_ids);
      break;
    case OPCODE_FFT:
      print_word(printer, text, ", fft_type=", ATTR_KIND_FFT_TYPE, inst->fft_type);
      print_key_ints(text, ", fft_length=", inst->fft_length, inst->n_fft_length);
      break;
    case OPCODE_REDUCE_PRECISION:
      print_key_int(text, ", exponent_bits=", inst->exponent_bits);
      print_key_int(text, ", mantissa_bits=", inst->mantissa_bits);
      break;
    case OPCODE_RNG:
      print_word(printer, text, ", distribution=", ATTR_KIND_RNG_DISTRIBUTION, inst->distribution);
      break;
    case OPCODE_RNG_BIT_GENERATOR:
      print_word(printer, text, ", algorithm=", ATTR_KIND_RNG_ALGORITHM, inst->rng_algorithm);
      break;
    case OPCODE_RNG_GET_AND_UPDATE_STATE: print_key_int(text, ", delta=", inst->delta); break;
    case OPCODE_TRIANGULAR_SOLVE: put_solve(printer, text, inst->triangular_solve_options); break;
    case OPCODE_CHOLESKY:
      if (!inst->cholesky_options) break;
      print_known(printer, &inst->cholesky_options->base);
      put_flag(text, ", lower=true", inst->cholesky_options->lower);
      break;
    default: return false;
  }
  return true;
}

/* Operations that move or pick elements. */
static bool put_of_elements(Printer *printer, TextBuffer *text, Opcode opcode,
                            const InstText *inst) {
  switch (opcode) {
    case OPCODE_BROADCAST:
    case OPCODE_CONCATENATE:
    case OPCODE_MAP:
    case OPCODE_REDUCE:
    case OPCODE_REVERSE:
    case OPCODE_TRANSPOSE: put_dimensions(text, inst); break;
    case OPCODE_SORT:
      put_dimensions(text, inst);
      put_flag(text, ", is_stable=true", inst->is_stable);
      break;
    case OPCODE_TOPK:
      print_key_int(text, ", k=", inst->k);
      text_put(text, inst->largest ? ", largest=true" : ", largest=false");
      text_put(text, inst->is_stable ? ", is_stable=true" : ", is_stable=false");
      break;
    case OPCODE_RESHAPE:
      if (inst->n_dimensions && inst->dimensions[0] != -1)
        print_key_int(text, ", inferred_dimension=", inst->dimensions[0]);
      break;
    case OPCODE_GET_DIMENSION_SIZE:
    case OPCODE_SET_DIMENSION_SIZE:
      only_dimension(printer, inst);
      put_dimensions(text, inst);
      break;
    case OPCODE_SLICE: put_slices(printer, text, inst); break;
    case OPCODE_DYNAMIC_SLICE:
      print_key_ints(text, ", dynamic_slice_sizes=", inst->dynamic_slice_sizes,
                     inst->n_dynamic_slice_sizes);
      break;
    case OPCODE_IOTA:
      print_key_int(text, ", iota_dimension=", only_dimension(printer, inst));
      break;
    case OPCODE_PAD: print_padding(printer, text, inst->padding_config); break;
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SELECT_AND_SCATTER: print_window(printer, text, inst->window); break;
    case OPCODE_GATHER:
      print_gather_dims(printer, text, inst->gather_dimension_numbers);
      print_key_ints(text, ", slice_sizes=", inst->gather_slice_sizes, inst->n_gather_slice_sizes);
      put_flag(text, ", indices_are_sorted=true", inst->indices_are_sorted);
      break;
    case OPCODE_SCATTER:
      print_scatter_dims(printer, text, inst->scatter_dimension_numbers);
      put_flag(text, ", indices_are_sorted=true", inst->indices_are_sorted);
      put_flag(text, ", unique_indices=true", inst->unique_indices);
      break;
    default: return false;
  }
  return true;
}

static bool put_of_collectives(Printer *printer, TextBuffer *text, Opcode opcode,
                               const InstText *inst) {
  const char *global_ids = ", use_global_device_ids=true";
  switch (opcode) {
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_GATHER_START:
      only_dimension(printer, inst);
      put_collective(printer, text, inst, inst->constrain_layout);
      put_dimensions(text, inst);
      put_flag(text, global_ids, inst->use_global_device_ids);
      break;
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START:
      put_collective(printer, text, inst, inst->constrain_layout);
      put_flag(text, global_ids, inst->use_global_device_ids);
      break;
    case OPCODE_REDUCE_SCATTER:
      only_dimension(printer, inst);
      put_collective(printer, text, inst, inst->constrain_layout);
      put_flag(text, global_ids, inst->use_global_device_ids);
      put_dimensions(text, inst);
      break;
    case OPCODE_ALL_TO_ALL:
      put_collective(printer, text, inst, inst->constrain_layout);
      if (inst->n_dimensions) only_dimension(printer, inst);
      if (inst->n_dimensions) put_dimensions(text, inst);
      break;
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COLLECTIVE_PERMUTE_START: put_pairs(printer, text, inst); break;
    default: return false;
  }
  return true;
}

/* Operations that do no more than hand values on, or call a computation. */
static bool put_of_structure(Printer *printer, TextBuffer *text, Opcode opcode,
                             const InstText *inst, const LineText *line) {
  switch (opcode) {
    case OPCODE_PARAMETER: put_replication(printer, text, inst); break;
    case OPCODE_GET_TUPLE_ELEMENT: print_key_int(text, ", index=", inst->tuple_index); break;
    case OPCODE_FUSION:
      text_put(text, ", kind=");
      print_name(printer, text, inst->fusion_kind);
      print_output_aliases(printer, text, inst);
      break;
    case OPCODE_CUSTOM_CALL: put_custom_call(printer, text, inst); break;
    case OPCODE_ASYNC_START: print_async_start(printer, text, inst, line); break;
    case OPCODE_ASYNC_UPDATE: print_async_update(printer, text, inst); break;
    case OPCODE_COPY_START:
      if (inst->prefetch_case == REMAT_HLO_TEXT__INSTRUCTION__PREFETCH_CROSS_PROGRAM_PREFETCH_INDEX)
        print_key_int(text, ", cross_program_prefetch_index=", inst->cross_program_prefetch_index);
      break;
    case OPCODE_CALL:
      if (inst->n_output_operand_aliasing) print_refuse(printer, "a call with aliases");
      break;
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_AFTER_ALL:
    case OPCODE_ALL_GATHER_DONE:
    case OPCODE_ALL_REDUCE_DONE:
    case OPCODE_ASYNC_DONE:
    case OPCODE_BITCAST:
    case OPCODE_BITCAST_CONVERT:
    case OPCODE_COLLECTIVE_PERMUTE_DONE:
    case OPCODE_CONDITIONAL:
    case OPCODE_CONSTANT:
    case OPCODE_COPY_DONE:
    case OPCODE_DYNAMIC_RESHAPE:
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_OPT_BARRIER:
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID:
    case OPCODE_TUPLE:
    case OPCODE_WHILE: break;
    default: return false;
  }
  return true;
}

void print_attributes(Printer *printer, TextBuffer *text, const InstText *inst,
                      const LineText *line) {
  Opcode opcode = line->opcode;
  if (!put_of_structure(printer, text, opcode, inst, line) &&
      !put_of_numbers(printer, text, opcode, inst, line) &&
      !put_of_elements(printer, text, opcode, inst) &&
      !put_of_collectives(printer, text, opcode, inst) && !opcode_has(opcode, OPF_ELEMENTWISE)) {
    print_refuse(printer, "the opcode %s", opcode_text(opcode));
    return;
  }
  print_callees(printer, text, inst, line);
}
