/* SVG elements that represent runs. The colour shows the algorithm; the shape and the dash pattern
 * show the scheduler, so that every reader can tell the runs apart. Lengths are in pixels. */
#ifndef REMAT_HLO_CLI_COMPARE_PLOT_H
#define REMAT_HLO_CLI_COMPARE_PLOT_H

#include "compare/job.h"

/* Writes formatted text that contains no markup of its own. */
void plot_print(Output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a text with the escapes that XML needs. */
void plot_escaped(Output *output, const char *text);

void plot_line(Output *output, const char *class, double x1, double y1, double x2, double y2);
void plot_label(Output *output, const char *class, double x, double y, const char *text);

/* Writes the attribute that defines how the lines and markers of a run look. */
void plot_series_class(Output *output, const CompareRun *run);

/* Writes a marker, which is hollow if the budget is not met. `text` is shown when the pointer is on
 * it: by the script of the page, line by line, or by the program that shows the SVG. NULL = nothing
 * is shown. */
void plot_marker(Output *output, const CompareRun *run, double x, double y, const char *text,
                 bool is_page);

/* Write what is around the SVG in a page: it describes the runs under the pointer, and a click on
 * the legend shows some of them alone. */
void plot_page_begin(Output *output);
void plot_page_end(Output *output);

/* Writes the style rules for all elements, for light and dark backgrounds. */
void plot_style(Output *output);

#endif
