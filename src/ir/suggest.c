#include "ir/suggest.h"

#include <string.h>

#include "ir/chars.h"
#include "remat_hlo.h"

enum { MAX_WORD = 64 };

static size_t smallest(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_same(char a, char b) {
  return lower(a) == lower(b);
}

/* Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b` (optimal string alignment), ignoring case. Returns `limit` or more if there are at least
 * that many. */
static size_t distance(Str a, Str b, size_t limit) {
  size_t rows[3][MAX_WORD + 1];
  for (size_t j = 0; j <= b.len; j++)
    rows[0][j] = j;
  size_t least_above = 0;
  for (size_t i = 1; i <= a.len; i++) {
    size_t *row = rows[i % 3], *above = rows[(i - 1) % 3];
    size_t least = row[0] = i;
    for (size_t j = 1; j <= b.len; j++) {
      row[j] = smallest(above[j] + 1, row[j - 1] + 1,
                        above[j - 1] + !is_same(a.data[i - 1], b.data[j - 1]));
      bool is_swap = i > 1 && j > 1 && is_same(a.data[i - 1], b.data[j - 2]) &&
                     is_same(a.data[i - 2], b.data[j - 1]);
      if (is_swap && rows[(i - 2) % 3][j - 2] + 1 < row[j]) row[j] = rows[(i - 2) % 3][j - 2] + 1;
      if (row[j] < least) least = row[j];
    }
    if (least >= limit && least_above >= limit) return limit; /* later rows cannot be smaller */
    least_above = least;
  }
  return rows[a.len % 3][b.len];
}

static Suggestion suggest(Str word, size_t most_changes) {
  if (word.len > MAX_WORD) word.len = 0;
  return (Suggestion){.word = word, .changes = most_changes + 1};
}

Suggestion suggest_word(Str word) {
  return suggest(word, word.len / 3 + 1);
}

Suggestion suggest_name(Str name) {
  Suggestion suggestion = suggest(name, name.len / 3);
  suggestion.is_name = true;
  return suggestion;
}

/* Returns true for names such as `fusion.12` and `fusion.13`, or `p0` and `p11`. */
static bool differs_in_number_only(Str a, Str b) {
  uint32_t i = 0, k = 0;
  for (;;) {
    bool has_number = i < a.len && char_is_digit(a.data[i]);
    if (has_number != (k < b.len && char_is_digit(b.data[k]))) return false;
    while (i < a.len && char_is_digit(a.data[i]))
      i++;
    while (k < b.len && char_is_digit(b.data[k]))
      k++;
    if (i == a.len || k == b.len) return i == a.len && k == b.len;
    if (a.data[i++] != b.data[k++]) return false;
  }
}

void suggest_offer(Suggestion *suggestion, Str candidate) {
  Str word = suggestion->word;
  if (word.len == 0 || candidate.len > MAX_WORD) return;
  bool is_beginning =
      candidate.len > word.len && word.len >= 3 && memcmp(word.data, candidate.data, word.len) == 0;
  uint32_t longer = candidate.len > word.len ? candidate.len - word.len : word.len - candidate.len;
  if (!is_beginning && longer >= suggestion->changes) return;
  size_t changes = is_beginning ? 1 : distance(word, candidate, suggestion->changes + 1);
  bool is_equal = changes == suggestion->changes && suggestion->best.len;
  bool is_better =
      is_equal && (is_beginning ? candidate.len < suggestion->best.len
                                : candidate.len == word.len && suggestion->best.len < word.len);
  if (changes >= suggestion->changes && !is_better) return;
  if (suggestion->is_name && differs_in_number_only(word, candidate)) return;
  suggestion->best = candidate;
  suggestion->changes = changes;
}

const char *rh_closest_word(const char *word, const char *const *candidates, size_t count) {
  size_t length = strlen(word);
  if (length > MAX_WORD) return NULL;
  Suggestion suggestion = suggest_word(str_make(word, length));
  for (size_t i = 0; i < count; i++) {
    size_t candidate = strlen(candidates[i]);
    if (candidate <= MAX_WORD) suggest_offer(&suggestion, str_make(candidates[i], candidate));
  }
  return suggestion.best.data;
}
