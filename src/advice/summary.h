/* Advice as a short text. */
#ifndef REMAT_HLO_ADVICE_SUMMARY_H
#define REMAT_HLO_ADVICE_SUMMARY_H

#include "ir/arena.h"
#include "remat_hlo.h"

/* The first line says what the plan reaches, or why there is none; each further line is a step of
 * the plan. No line ends the text. */
rh_text advice_summary(const rh_advice *advice, Arena *out);

#endif
