#include "remat/job/drive.h"

static bool is_wanted(const Drive *drive, const Move *move) {
  unsigned found = drive->best->is_met ? MOVE_FOR_MET : MOVE_FOR_MISSED;
  unsigned asked = move->needs & (MOVE_FOR_MET | MOVE_FOR_MISSED);
  if (asked && !(asked & found)) return false;
  return drive->has_budget || !(move->needs & MOVE_FOR_BUDGET);
}

void drive(const Drive *drive, const Move *moves, size_t num_moves) {
  for (size_t i = 0; i < num_moves; i++) {
    const Move *move = &moves[i];
    if (!is_wanted(drive, move)) continue;
    if (move->is_of_use && !move->is_of_use(drive->of)) continue;
    for (uint32_t number = 0; move->most == 0 || number < move->most; number++) {
      if (!is_wanted(drive, move)) break;
      if (drive->can_go_on && !drive->can_go_on(drive->of)) break;
      if (!move->try_next(drive->of, number)) break;
    }
  }
}
