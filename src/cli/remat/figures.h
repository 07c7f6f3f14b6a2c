/* The figures of `remat` as CSV. */
#ifndef REMAT_HLO_CLI_REMAT_FIGURES_H
#define REMAT_HLO_CLI_REMAT_FIGURES_H

#include "remat/run.h"
#include "rows.h"

/* Begins the file of --csv, if there is to be one. Call rows_close() in any case. */
rh_status remat_csv_open(const Options *options, Rows *rows);

/* Adds the line of an input. */
void remat_csv_add(Rows *rows, const RematRun *job);

#endif
