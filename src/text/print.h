/* A module back to HLO text. */
#ifndef REMAT_HLO_TEXT_PRINT_H
#define REMAT_HLO_TEXT_PRINT_H

#include "ir/schedule.h"
#include "ir/writer.h"

typedef enum PrintOrder {
  PRINT_AS_READ,     /* the header as it is, instructions in the order of the text */
  PRINT_SCHEDULED,   /* is_scheduled=true, instructions in the order of the schedule */
  PRINT_UNSCHEDULED, /* not scheduled; the schedule only gives the order of the lines */
} PrintOrder;

/* Writes the module. What was not changed since it was read comes out byte for byte; `schedule` is
 * NULL for PRINT_AS_READ. Linear. */
void text_print(const Module *module, const Schedule *schedule, PrintOrder order, Writer *out,
                Arena *scratch);

#endif
