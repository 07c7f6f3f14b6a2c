#include "emit/proto/primitive_type.h"

static const int8_t numbers[NUM_TYPES + 1] = {
    [TYPE_PRED] = 1,        [TYPE_S1] = 30,         [TYPE_S2] = 26,
    [TYPE_S4] = 21,         [TYPE_S8] = 2,          [TYPE_S16] = 3,
    [TYPE_S32] = 4,         [TYPE_S64] = 5,         [TYPE_U1] = 31,
    [TYPE_U2] = 27,         [TYPE_U4] = 22,         [TYPE_U8] = 6,
    [TYPE_U16] = 7,         [TYPE_U32] = 8,         [TYPE_U64] = 9,
    [TYPE_F4E2M1FN] = 32,   [TYPE_F6E2M3FN] = 36,   [TYPE_F6E3M2FN] = 35,
    [TYPE_F8E3M4] = 29,     [TYPE_F8E4M3] = 28,     [TYPE_F8E4M3B11FNUZ] = 23,
    [TYPE_F8E4M3FN] = 20,   [TYPE_F8E4M3FNUZ] = 25, [TYPE_F8E5M2] = 19,
    [TYPE_F8E5M2FNUZ] = 24, [TYPE_F8E8M0FNU] = 33,  [TYPE_BF16] = 16,
    [TYPE_F16] = 10,        [TYPE_F32] = 11,        [TYPE_F64] = 12,
    [TYPE_C64] = 15,        [TYPE_C128] = 18,       [TYPE_TOKEN] = 17,
    [TYPE_OPAQUE] = 14,
};

int32_t primitive_type_of(ElementType type) {
  return numbers[type];
}

ElementType primitive_type_read(int32_t number) {
  ElementType type = 0;
  while (type < NUM_TYPES && numbers[type] != number)
    type++;
  return type;
}
