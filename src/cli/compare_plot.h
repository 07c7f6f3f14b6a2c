/* Pieces of SVG that stand for runs: a colour is an algorithm, a shape and a dash a scheduler, so
 * that no two look alike to anybody. Lengths are pixels. */
#ifndef REMAT_HLO_CLI_COMPARE_PLOT_H
#define REMAT_HLO_CLI_COMPARE_PLOT_H

#include "compare.h"

/* Writes text that contains no markup of its own. */
void plot_print(Output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text as XML can hold it. */
void plot_escaped(Output *output, const char *text);

void plot_line(Output *output, const char *class, double x1, double y1, double x2, double y2);
void plot_label(Output *output, const char *class, double x, double y, const char *text);

/* The attribute that says how lines and markers of a run look. */
void plot_series_class(Output *output, const CompareRun *run);

/* A marker, hollow when the budget is not met, with `text` for who points at it. */
void plot_marker(Output *output, const CompareRun *run, double x, double y, const char *text);

/* The rules for all of them, light and dark. */
void plot_style(Output *output);

#endif
