/* Reads the wire format of protocol buffers, field by field, without copying. For messages of which
 * a few fields are needed and whose other fields may be anything (emit/proto has those that are
 * read and written whole). */
#ifndef REMAT_HLO_TEXT_WIRE_H
#define REMAT_HLO_TEXT_WIRE_H

#include "ir/ids.h"

typedef struct Wire {
  const uint8_t *at, *end;
  bool has_failed;
} Wire;

typedef struct WireField {
  uint32_t number;
  uint64_t value; /* of a varint or a fixed number, by its bits */
  Str bytes;      /* of a string, bytes or message */
  bool has_bytes;
} WireField;

static inline Wire wire_of(Str bytes) {
  const uint8_t *data = (const uint8_t *)bytes.data;
  return (Wire){.at = data, .end = data + bytes.len};
}

static inline uint64_t wire_varint(Wire *wire) {
  uint64_t value = 0;
  for (unsigned shift = 0; wire->at < wire->end && shift < 64; shift += 7) {
    uint8_t byte = *wire->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
  wire->has_failed = true;
  return 0;
}

static inline uint64_t wire_fixed(Wire *wire, unsigned size) {
  uint64_t value = 0;
  if ((size_t)(wire->end - wire->at) < size) {
    wire->has_failed = true;
    return 0;
  }
  for (unsigned i = 0; i < size; i++)
    value |= (uint64_t)*wire->at++ << (8 * i);
  return value;
}

/* Reads the next field. False at the end, and where the bytes are no message. */
static inline bool wire_next(Wire *wire, WireField *field) {
  enum { VARINT, FIXED_64, BYTES, FIXED_32 = 5 };
  if (wire->has_failed || wire->at == wire->end) return false;
  uint64_t tag = wire_varint(wire), length;
  *field = (WireField){.number = (uint32_t)(tag >> 3)};
  switch (tag & 7) {
    case VARINT: field->value = wire_varint(wire); break;
    case FIXED_64: field->value = wire_fixed(wire, 8); break;
    case FIXED_32: field->value = wire_fixed(wire, 4); break;
    case BYTES:
      length = wire_varint(wire);
      if (length > (uint64_t)(wire->end - wire->at) || length > UINT32_MAX) {
        wire->has_failed = true;
      } else {
        field->bytes = (Str){(const char *)wire->at, (uint32_t)length};
        field->has_bytes = true;
        wire->at += length;
      }
      break;
    default: wire->has_failed = true;
  }
  if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX) wire->has_failed = true;
  return !wire->has_failed;
}

#endif
