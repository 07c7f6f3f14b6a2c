/* Dense 32-bit ids, and spans of text. An id is an index into an array of the module. Instructions
 * do not point to each other, so a module can be copied with memcpy. */
#ifndef REMAT_HLO_IR_IDS_H
#define REMAT_HLO_IR_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t InstId;  /* instruction */
typedef uint32_t CompId;  /* computation */
typedef uint32_t ShapeId; /* interned shape */

#define NO_ID UINT32_MAX

/* A list of ids that is owned elsewhere. */
typedef struct IdSpan {
  const uint32_t *ids;
  uint32_t len;
} IdSpan;

/* Bytes [begin, end) of the module's text. Files larger than 4 GiB are rejected. */
typedef struct Span {
  uint32_t begin;
  uint32_t end;
} Span;

/* A text that need not end in NUL and that is owned elsewhere. */
typedef struct Str {
  const char *data;
  uint32_t len;
} Str;

#define STR(literal) ((Str){(literal), (uint32_t)(sizeof(literal) - 1)})

static inline Str str_make(const char *data, size_t len) {
  return (Str){data, (uint32_t)len};
}

/* The same as memcmp() == 0, but without a call, because names are short. The last word that is
 * compared may overlap the one before it. */
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

/* Compares by bytes, like std::string's operator<, because XLA breaks ties by name in this way. */
static inline int str_compare(Str a, Str b) {
  uint32_t len = a.len < b.len ? a.len : b.len;
  int order = len ? memcmp(a.data, b.data, len) : 0;
  if (order) return order;
  return (a.len > b.len) - (a.len < b.len);
}

#endif
