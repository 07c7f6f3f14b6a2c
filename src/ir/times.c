#include "ir/times.h"

#include <string.h>

#include "ir/chars.h"

const TimedModule *times_find_module(const Times *times, Str name) {
  for (uint32_t i = 0; times && i < times->num_modules; i++) {
    if (str_equal(times->modules[i].name, name)) return &times->modules[i];
  }
  return NULL;
}

static const TimedInst *find_exactly(const TimedModule *module, Str name) {
  uint32_t low = 0, high = module->num_insts;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = str_compare(module->insts[middle].name, name);
    if (order == 0) return &module->insts[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

/* The name without its last `.remat` and the digits and points behind that; the same if it has
 * none. */
static Str without_suffix(Str name) {
  static const char SUFFIX[] = ".remat";
  uint32_t len = (uint32_t)strlen(SUFFIX), end = name.len;
  while (end > 0 && (char_is_digit(name.data[end - 1]) || name.data[end - 1] == '.'))
    end--;
  bool has_suffix = end >= len && memcmp(name.data + end - len, SUFFIX, len) == 0;
  return has_suffix ? (Str){name.data, end - len} : name;
}

double times_find(const TimedModule *module, Str name) {
  for (;;) {
    const TimedInst *found = find_exactly(module, name);
    if (found) return found->seconds;
    Str shorter = without_suffix(name);
    if (shorter.len == name.len) return -1;
    name = shorter;
  }
}
