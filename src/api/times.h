/* What the public functions share about profiles. */
#ifndef REMAT_HLO_API_TIMES_H
#define REMAT_HLO_API_TIMES_H

#include "ir/times.h"
#include "remat_hlo.h"

const Times *times_of(const rh_times *times);

#endif
