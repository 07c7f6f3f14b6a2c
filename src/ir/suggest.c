/* "Did you mean": the closest of a list of words (optimal string alignment distance). */
#include <string.h>

#include "remat_hlo.h"

enum { MAX_WORD = 64 };

static size_t smallest(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len) {
  size_t rows[3][MAX_WORD + 1];
  for (size_t j = 0; j <= b_len; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap && rows[(i - 2) % 3][j - 2] + 1 < row[j]) row[j] = rows[(i - 2) % 3][j - 2] + 1;
    }
  }
  return rows[a_len % 3][b_len];
}

const char *rh_closest_word(const char *word, const char *const *candidates, size_t count) {
  size_t len = strlen(word);
  if (len == 0 || len > MAX_WORD) return NULL;
  const char *best = NULL;
  size_t best_distance = len / 3 + 1; /* more changes than this are another word */
  for (size_t i = 0; i < count; i++) {
    size_t other = strlen(candidates[i]);
    if (other > MAX_WORD) continue;
    size_t changes = distance(word, len, candidates[i], other);
    bool is_beginning = other > len && len >= 3 && strncmp(word, candidates[i], len) == 0;
    if (is_beginning) changes = 1;
    if (changes < best_distance || (!best && changes == best_distance)) {
      best = candidates[i];
      best_distance = changes;
    }
  }
  return best;
}
