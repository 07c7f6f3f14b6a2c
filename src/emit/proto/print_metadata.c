/* What instructions have beside what they compute: metadata and frontend attributes. */
#include "emit/proto/print.h"

typedef RematHloText__Metadata Metadata;
typedef RematHloText__FrontendAttributes__Entry Attribute;

static void put_key(TextBuffer *text, bool *is_first, const char *key) {
  if (!*is_first) text_put_char(text, ' ');
  *is_first = false;
  text_put(text, key);
}

static void put_text(TextBuffer *text, bool *is_first, const char *key, Bytes value) {
  if (value.len == 0) return;
  put_key(text, is_first, key);
  text_put_char(text, '"');
  print_escaped(text, value);
  text_put_char(text, '"');
}

static void put_number(TextBuffer *text, bool *is_first, const char *key, int32_t value) {
  if (value == 0) return;
  put_key(text, is_first, key);
  text_put_int(text, value);
}

/* XLA prints the name for the scheduler without escapes. */
static void check_plain(Printer *printer, Bytes value) {
  for (size_t i = 0; i < value.len; i++) {
    if (value.data[i] < 0x20 || value.data[i] == '"' || value.data[i] == '\\')
      print_refuse(printer, "a scheduling_name has characters that need escapes");
  }
}

/* OpMetadataToString */
static void put_fields(Printer *printer, TextBuffer *text, const Metadata *metadata) {
  bool is_first = true;
  put_text(text, &is_first, "op_type=", metadata->op_type);
  put_text(text, &is_first, "op_name=", metadata->op_name);
  put_text(text, &is_first, "source_file=", metadata->source_file);
  put_number(text, &is_first, "source_line=", metadata->source_line);
  put_number(text, &is_first, "source_end_line=", metadata->source_end_line);
  put_number(text, &is_first, "source_column=", metadata->source_column);
  put_number(text, &is_first, "source_end_column=", metadata->source_end_column);
  put_text(text, &is_first, "deduplicated_name=", metadata->deduplicated_name);
  check_plain(printer, metadata->scheduling_name);
  put_text(text, &is_first, "scheduling_name=", metadata->scheduling_name);
  if (metadata->stack_frame_id) put_key(text, &is_first, "stack_frame_id=");
}

static void read_metadata(Printer *printer, MetadataText *made) {
  const Metadata *metadata =
      print_read(printer, &remat_hlo_text__metadata__descriptor, made->bytes, printer->scratch);
  if (!metadata ||
      (!metadata->op_type.len && !metadata->op_name.len && !metadata->source_file.len &&
       !metadata->scheduling_name.len && !metadata->stack_frame_id))
    return;
  TextBuffer text = {.arena = printer->arena};
  text_put(&text, ", metadata={");
  put_fields(printer, &text, metadata);
  made->head = text_str(&text);
  made->tail = STR("}");
  made->frame = metadata->stack_frame_id;
}

static const MetadataText *find(Printer *printer, Bytes data) {
  MetadataTexts *known = &printer->metadata;
  uint64_t hash = hash_str(bytes_str(data));
  uint32_t index;
  for (IdProbe p = id_table_probe(&known->table, hash); id_probe_next(&p, &index);) {
    if (str_equal(bytes_str(known->list.data[index].bytes), bytes_str(data)))
      return &known->list.data[index];
  }
  MetadataText made = {.bytes = print_keep(printer, data)};
  read_metadata(printer, &made);
  index = known->list.len;
  *vec_push(printer->arena, &known->list) = made;
  id_table_add(&known->table, printer->arena, hash, index);
  return &known->list.data[index];
}

void print_metadata(Printer *printer, TextBuffer *text, Bytes data, LineText *line) {
  if (data.len == 0) return;
  const MetadataText *metadata = find(printer, data);
  text_put_str(text, metadata->head);
  if (metadata->frame) {
    line->frame = metadata->frame;
    line->frame_at = text->chars.len;
  }
  text_put_str(text, metadata->tail);
}

/* XLA has them in a map, and prints them by name. */
static void sort_attributes(Printer *printer, Attribute **list, size_t count) {
  if (count > UINT8_MAX) print_refuse(printer, "there are %zu frontend attributes", count);
  for (size_t i = 1; i < count && !printer->refusal; i++) {
    for (size_t k = i; k > 0; k--) {
      int order = str_compare(bytes_str(list[k - 1]->key), bytes_str(list[k]->key));
      if (order == 0) print_refuse(printer, "a frontend attribute is there twice");
      if (order <= 0) break;
      Attribute *moved = list[k];
      list[k] = list[k - 1];
      list[k - 1] = moved;
    }
  }
}

void print_frontend_attributes(Printer *printer, TextBuffer *text, const char *prefix, Bytes data) {
  if (data.len == 0) return;
  const RematHloText__FrontendAttributes *attributes =
      print_read(printer, &remat_hlo_text__frontend_attributes__descriptor, data, printer->scratch);
  if (!attributes || attributes->n_map == 0) return;
  sort_attributes(printer, attributes->map, attributes->n_map);
  text_put(text, prefix);
  text_put_char(text, '{');
  for (size_t i = 0; i < attributes->n_map && !printer->refusal; i++) {
    const Attribute *attribute = attributes->map[i];
    print_known(printer, &attribute->base);
    if (i) text_put_char(text, ',');
    text_put_bytes(text, (const char *)attribute->key.data, (uint32_t)attribute->key.len);
    text_put_char(text, '=');
    print_config(printer, text, attribute->value);
  }
  text_put_char(text, '}');
}
