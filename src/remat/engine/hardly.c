#include "remat/engine/hardly.h"

bool hardly_helps(const HardlyFigures *figures) {
  const int64_t parts = 10; /* of what is asked for, one of which is worth having */
  int64_t before = figures->before_bytes, after = figures->after_bytes;
  int64_t limit = figures->limit_bytes, freed = before - after;
  if (limit <= 0 || after <= limit || before <= 0 || figures->before_seconds <= 0) return false;
  bool is_little = freed < (before - limit) / parts;
  double saved = (double)freed / (double)before;
  double added = figures->after_seconds / figures->before_seconds - 1;
  return is_little && added > 0 && added > saved;
}
