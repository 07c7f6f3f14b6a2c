#include "emit/proto/message.h"

static void *take_memory(void *arena, size_t size) {
  return arena_alloc(arena, size);
}

/* What an arena gave is freed with it. */
static void keep_memory(void *arena, void *memory) {
  (void)arena;
  (void)memory;
}

void *message_read(const ProtobufCMessageDescriptor *type, Bytes data, Arena *out) {
  ProtobufCAllocator allocator = {take_memory, keep_memory, out};
  return protobuf_c_message_unpack(type, &allocator, data.len, data.data);
}

ModuleMessage *message_read_module(Bytes data, Arena *out) {
  return message_read(&remat_hlo__module__descriptor, data, out);
}

CompMessage *message_read_comp(Bytes data, Arena *out) {
  return message_read(&remat_hlo__computation__descriptor, data, out);
}

RematHlo__FrontendAttributes *message_read_attributes(Bytes data, Arena *out) {
  return message_read(&remat_hlo__frontend_attributes__descriptor, data, out);
}

Bytes message_write(const ProtobufCMessage *message, Arena *out) {
  size_t size = protobuf_c_message_get_packed_size(message);
  Bytes bytes = {.len = size, .data = arena_alloc(out, size)};
  protobuf_c_message_pack(message, bytes.data);
  return bytes;
}
