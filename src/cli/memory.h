/* Small allocations of the program itself: cells of tables, keys of JSON, parts of messages. If one
 * of them fails, what would be written lacks something, so that the program ends instead, with exit
 * status 4. What the library needs, and what depends on the size of the input, is reported by
 * statuses. */
#ifndef REMAT_HLO_CLI_MEMORY_H
#define REMAT_HLO_CLI_MEMORY_H

/* Returns `memory`, unless that is NULL: then says that memory ran out, removes temporary files and
 * ends the program. */
void *memory_need(void *memory);

/* Makes cJSON allocate in this way. */
void memory_install(void);

#endif
