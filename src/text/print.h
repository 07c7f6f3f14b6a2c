/* Prints a module as HLO text. */
#ifndef REMAT_HLO_TEXT_PRINT_H
#define REMAT_HLO_TEXT_PRINT_H

#include "ir/schedule.h"
#include "ir/writer.h"

typedef enum PrintOrder {
  PRINT_AS_READ,     /* the header as read, instructions in the order of the text */
  PRINT_SCHEDULED,   /* is_scheduled=true, instructions in the order of the schedule */
  PRINT_UNSCHEDULED, /* not scheduled; the schedule only determines the order of the lines */
} PrintOrder;

/* Writes the module. Lines that were not changed since the module was read are written byte for
 * byte. `schedule` is NULL for PRINT_AS_READ. The time is linear. */
void text_print(const Module *module, const Schedule *schedule, PrintOrder order, Writer *out,
                Arena *scratch);

/* A hash of the text with PRINT_SCHEDULED: modules with the same hash print the same. */
uint64_t text_hash(const Module *module, const Schedule *schedule, Arena *scratch);

#endif
