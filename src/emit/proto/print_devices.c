/* Which devices have which parts: shardings, and the groups of collectives. */
#include "emit/proto/print.h"

typedef RematHloText__Sharding Sharding;

/* OpSharding.Type in xla/xla_data.proto */
enum { REPLICATED, MAXIMAL, TUPLE, OTHER, MANUAL, UNKNOWN, UNREDUCED };

/* Dimensions that XLA would put together, or leave out, when it reads them. */
static bool is_canonical(const int64_t *dims, size_t count, const int32_t *perm,
                         size_t perm_count) {
  if (count == 0 || perm_count != count || count > UINT8_MAX) return false;
  uint8_t seen[UINT8_MAX] = {0};
  for (size_t i = 0; i < count; i++) {
    if (dims[i] <= 1 || perm[i] < 0 || (size_t)perm[i] >= count || seen[perm[i]]++) return false;
    if (i && perm[i] == perm[i - 1] + 1) return false;
  }
  return true;
}

static void put_iota(Printer *printer, TextBuffer *text, const int64_t *dims, size_t count,
                     const int32_t *perm, size_t perm_count) {
  if (!is_canonical(dims, count, perm, perm_count)) {
    print_refuse(printer, "a list of devices is not as XLA writes it");
    return;
  }
  text_put(text, "<=[");
  print_ints(text, dims, count);
  text_put_char(text, ']');
  if (count == 1) return;
  text_put(text, "T(");
  for (size_t i = 0; i < count; i++) {
    if (i) text_put_char(text, ',');
    text_put_int(text, perm[i]);
  }
  text_put_char(text, ')');
}

/* What HloSharding::PartialTile leaves as it is: groups that are in order. */
static bool has_sorted_groups(const Sharding *sharding) {
  size_t rank = sharding->n_tile_assignment_dimensions;
  int64_t size = sharding->tile_assignment_dimensions[rank - 1], num_elements = 1;
  for (size_t i = 0; i < rank; i++) {
    if (__builtin_mul_overflow(num_elements, sharding->tile_assignment_dimensions[i],
                               &num_elements))
      return false;
  }
  if (rank == 1 || size == num_elements || size <= 1) return false;
  size_t count = sharding->n_iota_reshape_dims;
  if (count == 1) return true; /* all devices are in order */
  if (count) {
    int32_t last =
        sharding->n_iota_transpose_perm == count ? sharding->iota_transpose_perm[count - 1] : -1;
    return last >= 0 && (size_t)last < count && sharding->iota_reshape_dims[last] == size;
  }
  for (size_t i = 1; i < sharding->n_tile_assignment_devices; i++) {
    if (i % (size_t)size &&
        sharding->tile_assignment_devices[i - 1] >= sharding->tile_assignment_devices[i])
      return false;
  }
  return true;
}

static void put_tiles(Printer *printer, TextBuffer *text, const Sharding *sharding) {
  if (sharding->n_tile_assignment_dimensions == 0 || sharding->n_last_tile_dims ||
      (!sharding->n_iota_reshape_dims && sharding->n_tile_assignment_devices < 2) ||
      (sharding->replicate_on_last_tile_dim && !has_sorted_groups(sharding))) {
    print_refuse(printer, "a sharding is not as XLA writes it");
    return;
  }
  text_put(text, "{devices=[");
  print_ints(text, sharding->tile_assignment_dimensions, sharding->n_tile_assignment_dimensions);
  text_put_char(text, ']');
  if (sharding->n_iota_reshape_dims)
    put_iota(printer, text, sharding->iota_reshape_dims, sharding->n_iota_reshape_dims,
             sharding->iota_transpose_perm, sharding->n_iota_transpose_perm);
  else
    print_ints(text, sharding->tile_assignment_devices, sharding->n_tile_assignment_devices);
  if (sharding->replicate_on_last_tile_dim) text_put(text, " last_tile_dim_replicate");
  text_put_char(text, '}');
}

static void put_named(Printer *printer, TextBuffer *text,
                      const RematHloText__NamedSharding *named) {
  bool is_alone = named->mesh.len == 0;
  print_known(printer, &named->base);
  for (size_t i = 0; i < named->n_dimensions; i++) {
    print_known(printer, &named->dimensions[i]->base);
    is_alone &= named->dimensions[i]->is_closed;
  }
  if (!is_alone) print_refuse(printer, "a sharding on a mesh");
  text_put(text, "{mesh[], ");
  if (named->n_dimensions == 0) text_put(text, "replicated");
  for (size_t i = 0; i < named->n_dimensions; i++)
    text_put(text, i ? ", {}" : "[{}");
  text_put(text, named->n_dimensions ? "]}" : "}");
}

static void put_leaf(Printer *printer, TextBuffer *text, const Sharding *sharding) {
  bool has_tiles = sharding->n_tile_assignment_dimensions || sharding->n_last_tile_dims ||
                   sharding->n_iota_reshape_dims || sharding->n_tuple_shardings;
  bool has_more = sharding->type != OTHER && has_tiles && sharding->type != MAXIMAL;
  if (has_more || (sharding->named && (sharding->type != REPLICATED || has_tiles)))
    print_refuse(printer, "a sharding has more than its type");
  if (sharding->named) {
    put_named(printer, text, sharding->named);
    return;
  }
  switch (sharding->type) {
    case REPLICATED: text_put(text, "{replicated}"); break;
    case MANUAL: text_put(text, "{manual}"); break;
    case UNKNOWN: text_put(text, "{unknown}"); break;
    case MAXIMAL:
      if (sharding->n_tile_assignment_devices != 1)
        print_refuse(printer, "a sharding of no device");
      text_put(text, "{maximal device=");
      print_ints(text, sharding->tile_assignment_devices, sharding->n_tile_assignment_devices);
      text_put_char(text, '}');
      break;
    case OTHER: put_tiles(printer, text, sharding); break;
    default: print_refuse(printer, "a sharding of type %d", (int)sharding->type);
  }
}

static const Sharding *read_sharding(Printer *printer, Bytes data) {
  return print_read(printer, &remat_hlo_text__sharding__descriptor, data, printer->scratch);
}

void print_sharding(Printer *printer, TextBuffer *text, Bytes data, bool is_of_tuple) {
  const Sharding *sharding = read_sharding(printer, data);
  if (!sharding) return;
  if (is_of_tuple != (sharding->type == TUPLE)) {
    print_refuse(printer, "a sharding of a tuple, or of none");
    return;
  }
  if (!is_of_tuple) {
    put_leaf(printer, text, sharding);
    return;
  }
  text_put_char(text, '{');
  for (size_t i = 0; i < sharding->n_tuple_shardings && !printer->refusal; i++) {
    const Sharding *element = read_sharding(printer, sharding->tuple_shardings[i]);
    print_separator(text, i);
    if (element) put_leaf(printer, text, element);
  }
  text_put_char(text, '}');
}

static void put_groups(Printer *printer, TextBuffer *text, RematHloText__ReplicaGroup **groups,
                       size_t count) {
  text_put_char(text, '{');
  for (size_t i = 0; i < count; i++) {
    print_known(printer, &groups[i]->base);
    print_key_ints(text, i ? "," : "", groups[i]->replica_ids, groups[i]->n_replica_ids);
  }
  text_put_char(text, '}');
}

/* A name is printed in quotes, without escapes. */
static void put_axis_name(Printer *printer, TextBuffer *text, Bytes name) {
  for (size_t i = 0; i < name.len; i++) {
    if (name.data[i] < 0x20 || name.data[i] == '\'' || name.data[i] == '\\')
      print_refuse(printer, "the name of an axis has characters that need escapes");
  }
  text_put_char(text, '\'');
  text_put_bytes(text, (const char *)name.data, (uint32_t)name.len);
  text_put_char(text, '\'');
}

static void put_mesh(Printer *printer, TextBuffer *text, const RematHloText__Mesh *mesh) {
  text_put(text, "mesh[");
  for (size_t i = 0; i < mesh->n_axes; i++) {
    print_known(printer, &mesh->axes[i]->base);
    if (i) text_put_char(text, ',');
    put_axis_name(printer, text, mesh->axes[i]->name);
    print_key_int(text, "=", mesh->axes[i]->size);
  }
  text_put_char(text, ']');
  if (mesh->n_device_ids == 0) return;
  text_put(text, ", device_ids=(");
  print_ints(text, mesh->device_ids, mesh->n_device_ids);
  text_put_char(text, ')');
}

static void put_axis(Printer *printer, TextBuffer *text, const RematHloText__Mesh *mesh,
                     const RematHloText__AxisRef *axis) {
  print_known(printer, &axis->base);
  if (axis->mesh_axis_index < 0 || (size_t)axis->mesh_axis_index >= mesh->n_axes) {
    print_refuse(printer, "a mesh has no such axis");
    return;
  }
  put_axis_name(printer, text, mesh->axes[axis->mesh_axis_index]->name);
  if (!axis->sub_axis_info) return;
  print_known(printer, &axis->sub_axis_info->base);
  print_key_int(text, ":(", axis->sub_axis_info->pre_size);
  print_key_int(text, ")", axis->sub_axis_info->size);
}

static void put_axes(Printer *printer, TextBuffer *text, const RematHloText__MeshDeviceList *list) {
  print_known(printer, &list->base);
  if (!list->mesh || list->mesh->n_axes == 0) {
    print_refuse(printer, "a mesh has no axes");
    return;
  }
  print_known(printer, &list->mesh->base);
  put_mesh(printer, text, list->mesh);
  text_put(text, " {");
  for (size_t i = 0; i < list->n_axes; i++) {
    if (i) text_put_char(text, ',');
    put_axis(printer, text, list->mesh, list->axes[i]);
  }
  text_put_char(text, '}');
}

static void put_iota_groups(Printer *printer, TextBuffer *text,
                            const RematHloText__IotaDeviceList *list) {
  int64_t sizes[] = {list->num_replica_groups, list->num_devices_per_group};
  print_known(printer, &list->base);
  text_put_char(text, '[');
  print_ints(text, sizes, 2);
  text_put_char(text, ']');
  put_iota(printer, text, list->iota_reshape_dims, list->n_iota_reshape_dims,
           list->iota_transpose_perm, list->n_iota_transpose_perm);
}

void print_replica_groups(Printer *printer, TextBuffer *text, const InstText *inst) {
  text_put(text, ", replica_groups=");
  switch (inst->device_list_case) {
    case REMAT_HLO_TEXT__INSTRUCTION__DEVICE_LIST_IOTA_COLLECTIVE_DEVICE_LIST:
      put_iota_groups(printer, text, inst->iota_collective_device_list);
      break;
    case REMAT_HLO_TEXT__INSTRUCTION__DEVICE_LIST_MESH_AXES_REPLICA_GROUP_LIST:
      put_axes(printer, text, inst->mesh_axes_replica_group_list);
      break;
    case REMAT_HLO_TEXT__INSTRUCTION__DEVICE_LIST_COLLECTIVE_DEVICE_LIST: {
      const RematHloText__DeviceList *list = inst->collective_device_list;
      print_known(printer, &list->base);
      put_groups(printer, text, list->replica_groups, list->n_replica_groups);
      if (inst->n_replica_groups) print_refuse(printer, "a collective has two lists of groups");
      break;
    }
    default: put_groups(printer, text, inst->replica_groups, inst->n_replica_groups);
  }
}
