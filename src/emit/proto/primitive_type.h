/* The numbers of element types in messages: PrimitiveType in xla/xla_data.proto. */
#ifndef REMAT_HLO_EMIT_PROTO_PRIMITIVE_TYPE_H
#define REMAT_HLO_EMIT_PROTO_PRIMITIVE_TYPE_H

#include "ir/shape.h"

enum { PRIMITIVE_TYPE_TUPLE = 13 };

/* Returns 0 for NUM_TYPES. */
int32_t primitive_type_of(ElementType type);

/* Returns NUM_TYPES if it is not the number of an element type. */
ElementType primitive_type_read(int32_t number);

#endif
