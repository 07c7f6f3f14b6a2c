/* Functions that scan many bytes at once for the end of a word or of a string. They use SSE2, which
 * every x86-64 processor has. Elsewhere they read eight bytes or one byte at a time. */
#ifndef REMAT_HLO_TEXT_SCAN_H
#define REMAT_HLO_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ir/chars.h"

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#define SCAN_SSE2 1
#endif

/* Returns true for the characters that may continue a word: letters, digits, `_`, `.` and `-`. */
static inline bool scan_is_word(char c) {
  return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '.' || c == '-';
}

#ifdef SCAN_SSE2
/* Returns a mask of the bytes that lie in low … high. The comparisons are signed, so bytes from
 * 0x80 on are below every `low`. */
static inline __m128i scan_between(__m128i bytes, char low, char high) {
  return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(low - 1))),
                       _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(high + 1))));
}
#endif

/* Returns the first offset from `pos` on whose byte does not continue a word, or `end`. */
static inline uint32_t scan_word(const char *text, uint32_t pos, uint32_t end) {
#ifdef SCAN_SSE2
  for (; end - pos >= 16; pos += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + pos));
    __m128i letters = scan_between(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 'z');
    /* The range '-' to '9' holds '-', '.', '/' and the digits. */
    __m128i others =
        _mm_andnot_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('/')), scan_between(bytes, '-', '9'));
    __m128i word =
        _mm_or_si128(_mm_or_si128(letters, others), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_')));
    unsigned stops = (unsigned)_mm_movemask_epi8(word) ^ 0xffffu;
    if (stops) return pos + (uint32_t)__builtin_ctz(stops);
  }
#endif
  while (pos < end && scan_is_word(text[pos]))
    pos++;
  return pos;
}

/* Returns the first offset from `pos` on whose byte in a string needs a decision: `quote`, a
 * backslash, or a byte of a multi-byte UTF-8 sequence. Returns `end` if there is none. */
static inline uint32_t scan_plain_string(const char *text, uint32_t pos, uint32_t end, char quote) {
#ifdef SCAN_SSE2
  for (; end - pos >= 16; pos += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + pos));
    __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(quote)),
                                _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    /* The top bit of a byte is also its sign bit, so no comparison is needed. */
    unsigned stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(ends, bytes));
    if (stops) return pos + (uint32_t)__builtin_ctz(stops);
  }
#else
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
  const uint64_t quotes = ones * (unsigned char)quote, backslashes = ones * '\\';
  for (; end - pos >= 8; pos += 8) {
    uint64_t word;
    memcpy(&word, text + pos, 8);
    uint64_t a = word ^ quotes, b = word ^ backslashes; /* a zero byte where they are equal */
    if ((((a - ones) & ~a) | ((b - ones) & ~b) | word) & tops) break;
  }
#endif
  while (pos < end && text[pos] != quote && text[pos] != '\\' && !(text[pos] & 0x80))
    pos++;
  return pos;
}

#endif
