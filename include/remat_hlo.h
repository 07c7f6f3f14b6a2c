#ifndef REMAT_HLO_H
#define REMAT_HLO_H
#include <stddef.h>
#include <stdint.h>
typedef enum rh_status { RH_OK = 0, RH_NO = 1, RH_ERR_USAGE = 2, RH_ERR_INPUT = 3, RH_ERR_SYSTEM = 4 } rh_status;
typedef enum rh_severity { RH_SEVERITY_ERROR, RH_SEVERITY_WARNING, RH_SEVERITY_NOTE } rh_severity;
#define RH_NO_OFFSET SIZE_MAX
typedef struct rh_diag { rh_severity severity; const char *message; size_t offset; size_t opener_offset; } rh_diag;
typedef struct rh_diags rh_diags;
/* Takes bytes; returns 0, or anything else to stop. */
typedef int (*rh_write_fn)(void *context, const char *data, size_t length);
rh_diags *rh_diags_new(void);
void rh_diags_free(rh_diags *);
size_t rh_diags_len(const rh_diags *);
rh_diag rh_diags_get(const rh_diags *, size_t);
void rh_locate(const char *text, size_t length, size_t offset, size_t *line, size_t *column);
#endif
