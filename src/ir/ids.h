/* Dense 32-bit ids and spans of text. Ids index arrays of the module; pointers between instructions
 * do not exist, so a module can be copied with memcpy. */
#ifndef REMAT_HLO_IR_IDS_H
#define REMAT_HLO_IR_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t InstId;  /* instruction */
typedef uint32_t CompId;  /* computation */
typedef uint32_t ShapeId; /* interned shape */

#define NO_ID UINT32_MAX

/* Ids that somebody else holds. */
typedef struct IdSpan {
  const uint32_t *ids;
  uint32_t len;
} IdSpan;

/* Bytes [begin, end) of the module's text. Files beyond 4 GiB are refused. */
typedef struct Span {
  uint32_t begin;
  uint32_t end;
} Span;

/* Text that need not end in NUL and is owned by somebody else. */
typedef struct Str {
  const char *data;
  uint32_t len;
} Str;

#define STR(literal) ((Str){(literal), (uint32_t)(sizeof(literal) - 1)})

static inline Str str_make(const char *data, size_t len) {
  return (Str){data, (uint32_t)len};
}

/* memcmp() == 0 without a call: names are short. Words may overlap at the end. */
static inline bool bytes_equal(const char *a, const char *b, uint32_t len) {
  uint64_t word_a, word_b;
  if (len < 8) {
    uint64_t difference = 0;
    for (uint32_t i = 0; i < len; i++)
      difference |= (uint64_t)(a[i] ^ b[i]);
    return difference == 0;
  }
  for (uint32_t i = 0; i + 8 < len; i += 8) {
    memcpy(&word_a, a + i, 8);
    memcpy(&word_b, b + i, 8);
    if (word_a != word_b) return false;
  }
  memcpy(&word_a, a + len - 8, 8);
  memcpy(&word_b, b + len - 8, 8);
  return word_a == word_b;
}

static inline bool str_equal(Str a, Str b) {
  return a.len == b.len && bytes_equal(a.data, b.data, a.len);
}

static inline bool str_begins_with(Str text, const char *word) {
  size_t len = strlen(word);
  return text.len >= len && memcmp(text.data, word, len) == 0;
}

static inline bool str_contains(Str text, const char *word) {
  size_t len = strlen(word);
  for (size_t i = 0; i + len <= text.len; i++) {
    if (memcmp(text.data + i, word, len) == 0) return true;
  }
  return false;
}

static inline bool str_is(Str a, const char *text) {
  return a.len == strlen(text) && memcmp(a.data, text, a.len) == 0;
}

/* Byte order, as std::string's operator<: XLA breaks ties by name this way. */
static inline int str_compare(Str a, Str b) {
  uint32_t len = a.len < b.len ? a.len : b.len;
  int order = len ? memcmp(a.data, b.data, len) : 0;
  if (order) return order;
  return (a.len > b.len) - (a.len < b.len);
}

#endif
