/* Memory that runs out when a test says so. The program is linked with --wrap for each function
 * that allocates, so that the library's own calls come here; cJSON's come by its hooks. */
#ifndef REMAT_HLO_TESTS_API_REFUSE_H
#define REMAT_HLO_TESTS_API_REFUSE_H

#include <stdbool.h>

/* From now on so many requests are granted and the next is refused; with `for_good` all behind it
 * too. */
void refuse_after(long num_granted, bool for_good);

/* Grants all again. Whether any was refused. */
bool refuse_end(void);

/* Blocks that were allocated and are not freed. */
long refuse_num_blocks(void);

#endif
