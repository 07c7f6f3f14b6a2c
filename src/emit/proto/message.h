/* The messages of hlo.proto, read into an arena and written from it. protobuf-c keeps the fields
 * that it does not know, so a message that is read and written again loses nothing.
 *
 * Only what is copied is shared: a message may be copied as a struct, and its fields replaced. */
#ifndef REMAT_HLO_EMIT_PROTO_MESSAGE_H
#define REMAT_HLO_EMIT_PROTO_MESSAGE_H

#include "hlo.pb-c.h"
#include "ir/arena.h"
#include "ir/ids.h"

typedef RematHlo__Instruction InstMessage;
typedef RematHlo__Computation CompMessage;
typedef RematHlo__Module ModuleMessage;
typedef ProtobufCBinaryData Bytes;

/* Each returns NULL if the bytes are not such a message. It lies in `out`. */
void *message_read(const ProtobufCMessageDescriptor *type, Bytes data, Arena *out);
ModuleMessage *message_read_module(Bytes data, Arena *out);
CompMessage *message_read_comp(Bytes data, Arena *out);
RematHlo__FrontendAttributes *message_read_attributes(Bytes data, Arena *out);

/* Returns the bytes of a message, in `out`. */
Bytes message_write(const ProtobufCMessage *message, Arena *out);

static inline Bytes bytes_of(Str text) {
  return (Bytes){.len = text.len, .data = (uint8_t *)(uintptr_t)text.data};
}

static inline Str bytes_str(Bytes bytes) {
  return (Str){(const char *)bytes.data, (uint32_t)bytes.len};
}

#endif
