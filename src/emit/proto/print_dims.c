/* Attributes that say what the dimensions of operands are. */
#include "emit/proto/print.h"

typedef RematHloText__Window Window;
typedef RematHloText__Window__Dimension WindowDim;
typedef RematHloText__ConvolutionDims ConvolutionDims;

/* The parts of a window, each of which is printed if a dimension differs from the default. */
typedef enum WindowPart {
  SIZE,
  STRIDE,
  PAD,
  LHS_DILATE,
  RHS_DILATE,
  REVERSAL,
  NUM_PARTS
} WindowPart;
static const char *const part_keys[] = {
    "size=", " stride=", " pad=", " lhs_dilate=", " rhs_dilate=", " rhs_reversal="};

static bool is_default(WindowPart part, const WindowDim *dim) {
  switch (part) {
    case STRIDE: return dim->stride == 1;
    case PAD: return dim->padding_low == 0 && dim->padding_high == 0;
    case LHS_DILATE: return dim->base_dilation == 1;
    case RHS_DILATE: return dim->window_dilation == 1;
    case REVERSAL: return !dim->window_reversal;
    default: return false;
  }
}

static void put_part(TextBuffer *text, WindowPart part, const WindowDim *dim) {
  switch (part) {
    case SIZE: text_put_int(text, dim->size); break;
    case STRIDE: text_put_int(text, dim->stride); break;
    case PAD:
      text_put_int(text, dim->padding_low);
      print_key_int(text, "_", dim->padding_high);
      break;
    case LHS_DILATE: text_put_int(text, dim->base_dilation); break;
    case RHS_DILATE: text_put_int(text, dim->window_dilation); break;
    default: text_put_char(text, dim->window_reversal ? '1' : '0');
  }
}

void print_window(Printer *printer, TextBuffer *text, const Window *window) {
  if (!window || window->n_dimensions == 0) return;
  print_known(printer, &window->base);
  text_put(text, ", window={");
  for (WindowPart part = SIZE; part < NUM_PARTS; part++) {
    bool is_left_out = true;
    for (size_t i = 0; i < window->n_dimensions; i++)
      is_left_out = is_left_out && is_default(part, window->dimensions[i]);
    if (is_left_out) continue;
    text_put(text, part_keys[part]);
    for (size_t i = 0; i < window->n_dimensions; i++) {
      print_known(printer, &window->dimensions[i]->base);
      if (i) text_put_char(text, 'x');
      put_part(text, part, window->dimensions[i]);
    }
  }
  text_put_char(text, '}');
}

/* Numbers of dimensions are single digits in the labels. */
enum { MAX_LABELS = 10 };

/* Writes the labels of one array, in which each dimension has one. */
static void put_labels(Printer *printer, TextBuffer *text, const char *words,
                       const int64_t places[2], const int64_t *spatial, size_t num_spatial) {
  char labels[MAX_LABELS] = {0};
  size_t rank = num_spatial + 2;
  bool is_known = rank <= MAX_LABELS;
  for (size_t i = 0; is_known && i < rank; i++) {
    int64_t place = i < 2 ? places[i] : spatial[i - 2];
    is_known = place >= 0 && (size_t)place < rank && labels[place] == 0;
    if (is_known) labels[place] = i < 2 ? words[i] : (char)('0' + (i - 2));
  }
  if (!is_known)
    print_refuse(printer, "a convolution has other dimensions than its labels can say");
  if (is_known) text_put_bytes(text, labels, (uint32_t)rank);
}

void print_dim_labels(Printer *printer, TextBuffer *text, const ConvolutionDims *dims) {
  if (!dims) {
    print_refuse(printer, "a convolution has no dimensions");
    return;
  }
  print_known(printer, &dims->base);
  text_put(text, ", dim_labels=");
  put_labels(printer, text, "bf",
             (int64_t[]){dims->input_batch_dimension, dims->input_feature_dimension},
             dims->input_spatial_dimensions, dims->n_input_spatial_dimensions);
  text_put_char(text, '_');
  put_labels(
      printer, text, "io",
      (int64_t[]){dims->kernel_input_feature_dimension, dims->kernel_output_feature_dimension},
      dims->kernel_spatial_dimensions, dims->n_kernel_spatial_dimensions);
  text_put(text, "->");
  put_labels(printer, text, "bf",
             (int64_t[]){dims->output_batch_dimension, dims->output_feature_dimension},
             dims->output_spatial_dimensions, dims->n_output_spatial_dimensions);
}

void print_dot_dims(Printer *printer, TextBuffer *text, const RematHloText__DotDims *dims) {
  if (!dims) {
    print_refuse(printer, "a dot has no dimensions");
    return;
  }
  print_known(printer, &dims->base);
  if (dims->n_lhs_batch_dimensions)
    print_key_ints(text, ", lhs_batch_dims=", dims->lhs_batch_dimensions,
                   dims->n_lhs_batch_dimensions);
  print_key_ints(text, ", lhs_contracting_dims=", dims->lhs_contracting_dimensions,
                 dims->n_lhs_contracting_dimensions);
  if (dims->n_rhs_batch_dimensions)
    print_key_ints(text, ", rhs_batch_dims=", dims->rhs_batch_dimensions,
                   dims->n_rhs_batch_dimensions);
  print_key_ints(text, ", rhs_contracting_dims=", dims->rhs_contracting_dimensions,
                 dims->n_rhs_contracting_dimensions);
}

void print_gather_dims(Printer *printer, TextBuffer *text, const RematHloText__GatherDims *dims) {
  if (!dims) {
    print_refuse(printer, "a gather has no dimensions");
    return;
  }
  print_known(printer, &dims->base);
  print_key_ints(text, ", offset_dims=", dims->offset_dims, dims->n_offset_dims);
  print_key_ints(text, ", collapsed_slice_dims=", dims->collapsed_slice_dims,
                 dims->n_collapsed_slice_dims);
  print_key_ints(text, ", start_index_map=", dims->start_index_map, dims->n_start_index_map);
  if (dims->n_operand_batching_dims)
    print_key_ints(text, ", operand_batching_dims=", dims->operand_batching_dims,
                   dims->n_operand_batching_dims);
  if (dims->n_start_indices_batching_dims)
    print_key_ints(text, ", start_indices_batching_dims=", dims->start_indices_batching_dims,
                   dims->n_start_indices_batching_dims);
  print_key_int(text, ", index_vector_dim=", dims->index_vector_dim);
}

void print_scatter_dims(Printer *printer, TextBuffer *text, const RematHloText__ScatterDims *dims) {
  if (!dims) {
    print_refuse(printer, "a scatter has no dimensions");
    return;
  }
  print_known(printer, &dims->base);
  print_key_ints(text, ", update_window_dims=", dims->update_window_dims,
                 dims->n_update_window_dims);
  print_key_ints(text, ", inserted_window_dims=", dims->inserted_window_dims,
                 dims->n_inserted_window_dims);
  print_key_ints(text, ", scatter_dims_to_operand_dims=", dims->scatter_dims_to_operand_dims,
                 dims->n_scatter_dims_to_operand_dims);
  if (dims->n_input_batching_dims)
    print_key_ints(text, ", input_batching_dims=", dims->input_batching_dims,
                   dims->n_input_batching_dims);
  if (dims->n_scatter_indices_batching_dims)
    print_key_ints(text, ", scatter_indices_batching_dims=", dims->scatter_indices_batching_dims,
                   dims->n_scatter_indices_batching_dims);
  print_key_int(text, ", index_vector_dim=", dims->index_vector_dim);
}

void print_padding(Printer *printer, TextBuffer *text, const RematHloText__PaddingConfig *padding) {
  if (!padding) {
    print_refuse(printer, "a pad has no padding");
    return;
  }
  print_known(printer, &padding->base);
  bool has_interior = false;
  for (size_t i = 0; i < padding->n_dimensions; i++)
    has_interior = has_interior || padding->dimensions[i]->interior_padding != 0;
  text_put(text, ", padding=");
  for (size_t i = 0; i < padding->n_dimensions; i++) {
    const RematHloText__PaddingConfig__Dimension *dim = padding->dimensions[i];
    print_known(printer, &dim->base);
    if (i) text_put_char(text, 'x');
    text_put_int(text, dim->edge_padding_low);
    print_key_int(text, "_", dim->edge_padding_high);
    if (has_interior) print_key_int(text, "_", dim->interior_padding);
  }
}

/* XLA makes the list as long as that of the operands. */
void print_precision(Printer *printer, TextBuffer *text, const RematHloText__Precision *precision,
                     size_t num_operands) {
  if (!precision) return;
  print_known(printer, &precision->base);
  bool is_default = true;
  size_t count = precision->n_operand_precision;
  for (size_t i = 0; i < count; i++) {
    is_default = is_default && precision->operand_precision[i] == 0;
  }
  if (!is_default && count != num_operands)
    print_refuse(printer, "there are other precisions than operands");
  for (size_t i = 0; i < count && !is_default; i++)
    print_word(printer, text, i ? "," : ", operand_precision={", ATTR_KIND_PRECISION,
               precision->operand_precision[i]);
  if (!is_default) text_put_char(text, '}');
  if (precision->algorithm)
    print_word(printer, text, ", algorithm=", ATTR_KIND_DOT_ALGORITHM, precision->algorithm);
}
