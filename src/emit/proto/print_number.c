/* Numbers as XLA writes them in literals (RoundTripFpToString in xla/util.cc): with as many digits
 * as every number of the type keeps, or else with as many as tell all of them apart. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/proto/print.h"

enum { ROOM = 40 };

/* printf and strtod go by the locale, HLO has a point. */
static void put_text(TextBuffer *text, const char *number, int length) {
  for (int i = 0; i < length; i++) {
    char c = number[i];
    bool is_of_number = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+';
    text_put_char(text, is_of_number ? c : '.');
  }
}

/* What a NaN holds, unless it is that which most operations give. */
static void put_payload(TextBuffer *text, uint64_t bits, int num_bits) {
  uint64_t payload = bits & ((UINT64_C(1) << num_bits) - 1);
  if (payload == UINT64_C(1) << (num_bits - 1)) return;
  char room[ROOM];
  snprintf(room, sizeof room, "(0x%" PRIx64 ")", payload);
  text_put(text, room);
}

static void put_nan(TextBuffer *text, bool is_negative, uint64_t bits, int num_bits) {
  text_put(text, is_negative ? "-nan" : "nan");
  put_payload(text, bits, num_bits);
}

/* Returns whether it was a whole number of at most 6 digits, whose text needs no rounding. */
static bool put_small_int(TextBuffer *text, double value) {
  if (!(value > -1000000 && value < 1000000)) return false;
  int32_t whole = (int32_t)value;
  if (whole != value || (whole == 0 && signbit(value))) return false;
  text_put_int(text, whole);
  return true;
}

void print_float(TextBuffer *text, float value) {
  char room[ROOM];
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (put_small_int(text, (double)value)) return;
  if (isnan(value)) {
    put_nan(text, bits >> 31, bits, 23);
    return;
  }
  int length = snprintf(room, sizeof room, "%.6g", (double)value);
  if (strtof(room, NULL) != value) length = snprintf(room, sizeof room, "%.9g", (double)value);
  put_text(text, room, length);
}

void print_double(TextBuffer *text, double value) {
  char room[ROOM];
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (put_small_int(text, value)) return;
  if (isnan(value)) {
    put_nan(text, bits >> 63, bits, 52);
    return;
  }
  int length = snprintf(room, sizeof room, "%.15g", value);
  if (strtod(room, NULL) != value) length = snprintf(room, sizeof room, "%.17g", value);
  put_text(text, room, length);
}

void print_bf16(TextBuffer *text, uint16_t bits) {
  char room[ROOM];
  float value;
  uint32_t wide = (uint32_t)bits << 16;
  memcpy(&value, &wide, sizeof value);
  if (isnan(value)) {
    put_nan(text, bits >> 15, bits, 7);
    return;
  }
  put_text(text, room, snprintf(room, sizeof room, "%.4g", (double)value));
}

static double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double mantissa = bits & 1023;
  double size = exponent == 0    ? ldexp(mantissa, -24)
                : exponent == 31 ? (double)INFINITY
                                 : ldexp(mantissa + 1024, exponent - 25);
  return bits >> 15 ? -size : size;
}

void print_f16(TextBuffer *text, uint16_t bits) {
  char room[ROOM];
  if ((bits & 0x7c00) == 0x7c00 && bits & 1023) {
    put_nan(text, bits >> 15, bits, 10);
    return;
  }
  put_text(text, room, snprintf(room, sizeof room, "%.5g", half_value(bits)));
}
