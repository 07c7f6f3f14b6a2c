/* Plots peaks against added time, with a panel for each file and a line for each combination of
 * scheduler and algorithm. The front consists of the runs that no other run beats in both values.
 * O(runs^2) for a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/plot.h"
#include "memory.h"
#include "path.h"

enum {
  WIDTH = 560, /* of a panel */
  HEIGHT = 400,
  LEFT = 64,
  RIGHT = 24,
  TOP = 52,
  BOTTOM = 54,
  HEAD = 62, /* height above all panels, plus LEGEND_LINE for each line of the legend */
  LEGEND_LINE = 20,
  MARGIN = 20,
  EDGE = 9, /* distance from the edge of a panel to what is beyond its scale */
};

enum { DESCRIPTION_CHARS = 1024 };

typedef struct Panel {
  bool is_page; /* runs are described for the script of the page */
  const Comparison *comparison;
  const CompareFile *file;
  const CompareRow *first; /* the first of the runs that are done */
  double left, right, top, bottom;
  double min_bytes, max_bytes;   /* at the left, at the right */
  double min_share, max_share;   /* as a fraction of the time before; at the bottom, at the top */
  double most_bytes, most_share; /* what is above is drawn at the edge, with its value */
} Panel;

/* Some runs add hundredths of the time before, others several times as much. A square root scale
 * shows both. */
static double root_of(double share) {
  return copysign(sqrt(fabs(share)), share);
}

static double x_of(const Panel *panel, double bytes) {
  double share = (bytes - panel->min_bytes) / (panel->max_bytes - panel->min_bytes);
  return panel->left + share * (panel->right - panel->left);
}

static double y_of(const Panel *panel, double overhead) {
  double low = root_of(panel->min_share), high = root_of(panel->max_share);
  double share = (root_of(overhead) - low) / (high - low);
  return panel->bottom - share * (panel->bottom - panel->top);
}

static bool is_above(const Panel *panel, const CompareRun *run) {
  return run->row.overhead > panel->most_share;
}

static bool is_beyond(const Panel *panel, const CompareRun *run) {
  return (double)run->row.peak_after_bytes > panel->most_bytes;
}

static double run_x(const Panel *panel, const CompareRun *run) {
  return x_of(panel, fmin((double)run->row.peak_after_bytes, panel->most_bytes));
}

static double run_y(const Panel *panel, const CompareRun *run) {
  if (is_above(panel, run)) return panel->top + EDGE;
  return y_of(panel, run->row.overhead);
}

/* ---- axes ---- */

/* Returns a step of 1, 2 or 5 times a power of ten, such that there are at most `most` steps. */
static double round_step(double range, double most) {
  static const double digits[] = {1, 2, 5};
  double least = range / most, power = 1;
  while (power * 10 <= least)
    power *= 10;
  double parts = 1; /* below 1, a power is the quotient of 1 and one, which is rounded once */
  while (parts < 1e300 && power / parts > least)
    parts *= 10;
  for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
    if (digits[i] * power / parts >= least) return digits[i] * power / parts;
  }
  return 10 * power / parts;
}

/* Returns a step that is a round number of bytes, KiB, MiB or larger units. */
static double byte_step(double range, double most) {
  double unit = 1;
  while (range / unit >= 2048)
    unit *= 1024;
  double step = round_step(range / unit, most);
  return step * unit;
}

static void write_x_axis(const Panel *panel, Output *output) {
  double step = byte_step(panel->max_bytes - panel->min_bytes, 7);
  plot_line(output, "axis", panel->left, panel->bottom, panel->right, panel->bottom);
  for (double bytes = ceil(panel->min_bytes / step) * step; bytes <= panel->max_bytes;
       bytes += step) {
    char text[RH_FORMAT_CHARS];
    double x = x_of(panel, bytes);
    rh_format_bytes((int64_t)bytes, text);
    char *zeros = strstr(text, ".00 ");
    if (zeros) memmove(zeros, zeros + 3, strlen(zeros + 3) + 1);
    plot_line(output, "axis", x, panel->bottom, x, panel->bottom + 4);
    plot_label(output, "mark x", x, panel->bottom + 17, text);
  }
  plot_label(output, "dim x", (panel->left + panel->right) / 2, panel->bottom + 38,
             "peak reached; dotted: budgets");
}

static void write_share(const Panel *panel, double share, Output *output) {
  char text[32];
  double y = y_of(panel, share), percent = 100 * share;
  snprintf(text, sizeof text, "%+.3g %%", percent);
  plot_line(output, "grid", panel->left, y, panel->right, y);
  plot_label(output, "mark y", panel->left - 7, y + 4, share == 0 ? "0 %" : text);
}

/* Writes labels at 1, 2 and 5 times powers of ten, from `end` to 0, as long as there is room. */
static void write_shares(const Panel *panel, double end, Output *output) {
  enum { ROOM = 24 };
  static const double digits[] = {5, 2, 1};
  double last = end < 0 ? INFINITY : -INFINITY, zero = y_of(panel, 0);
  for (double power = 1e6; power > 1e-7; power /= 10) {
    for (int i = 0; i < 3; i++) {
      double share = copysign(digits[i] * power, end), y = y_of(panel, share);
      if (fabs(share) > fabs(end) || fabs(y - last) < ROOM || fabs(y - zero) < ROOM) continue;
      write_share(panel, share, output);
      last = y;
    }
  }
}

static void write_y_axis(const Panel *panel, Output *output) {
  write_shares(panel, panel->max_share, output);
  if (panel->min_share < 0) write_shares(panel, panel->min_share, output);
  if (panel->min_share <= 0) write_share(panel, 0, output);
  plot_label(output, "dim", panel->left - 44, panel->top - 22,
             "added modelled time, on a square-root scale");
}

static void write_budgets(const Panel *panel, Output *output) {
  enum { LABEL = 38 };
  const Comparison *comparison = panel->comparison;
  size_t per_budget = comparison->runs_per_file / comparison->grid.num_budgets;
  double last = -LABEL;
  for (size_t i = 0; i < comparison->runs_per_file; i += per_budget) {
    const CompareRun *run = NULL;
    for (size_t k = 0; k < per_budget && !run; k++)
      run = panel->file->runs[i + k].has_row ? &panel->file->runs[i + k] : NULL;
    if (!run || comparison->grid.limits[run->budget].kind == BUDGET_MIN) continue;
    double limit = (double)run->row.limit_bytes, x = x_of(panel, limit);
    if (limit < panel->min_bytes || limit > panel->max_bytes) continue;
    plot_line(output, "budget", x, panel->top, x, panel->bottom);
    if (fabs(x - last) < LABEL) continue;
    plot_label(output, "mark x", x, panel->top - 6, run->row.budget);
    last = x;
  }
}

/* ---- runs ---- */

static bool is_beaten(const Panel *panel, const CompareRun *run) {
  for (size_t i = 0; i < panel->comparison->runs_per_file; i++) {
    const CompareRun *other = &panel->file->runs[i];
    if (!other->has_row) continue;
    int64_t bytes = run->row.peak_after_bytes - other->row.peak_after_bytes;
    double time = run->row.overhead - other->row.overhead;
    bool is_equal = bytes == 0 && fabs(time) < 1e-9;
    if (is_equal ? other < run : bytes >= 0 && time > -1e-9) return true;
  }
  return false;
}

static int by_peak(const void *pa, const void *pb) {
  const CompareRun *a = *(const CompareRun *const *)pa, *b = *(const CompareRun *const *)pb;
  int64_t difference = a->row.peak_after_bytes - b->row.peak_after_bytes;
  if (difference) return difference < 0 ? -1 : 1;
  return (a > b) - (a < b);
}

/* Draws the front in steps, because a run that meets a budget meets every larger one, too. */
static void write_front(const Panel *panel, const CompareRun **runs, size_t count, Output *output) {
  plot_print(output, "<path class=\"front\" d=\"");
  for (size_t i = 0; i < count; i++) {
    double x = run_x(panel, runs[i]), y = run_y(panel, runs[i]);
    if (i) plot_print(output, "H%.1fV%.1f", x, y);
    if (!i) plot_print(output, "M%.1f %.1f", x, y);
  }
  if (count) plot_print(output, "H%.1f", panel->right);
  plot_print(output, "\"/>\n");
}

static void write_series(const Panel *panel, size_t kind, const CompareRun **runs, Output *output) {
  const Comparison *comparison = panel->comparison;
  const CompareGrid *grid = &comparison->grid;
  size_t count = 0, num_kinds = grid->num_schedulers * grid->num_algorithms;
  for (size_t i = kind; i < comparison->runs_per_file; i += num_kinds) {
    if (panel->file->runs[i].has_row) runs[count++] = &panel->file->runs[i];
  }
  if (count == 0) return;
  qsort(runs, count, sizeof *runs, by_peak);
  plot_print(output, "<polyline ");
  plot_series_class(output, runs[0]);
  plot_print(output, " points=\"");
  for (size_t i = 0; i < count; i++)
    plot_print(output, "%s%.1f,%.1f", i ? " " : "", run_x(panel, runs[i]), run_y(panel, runs[i]));
  plot_print(output, "\"/>\n");
}

/* What the page shows for a run, a line for each fact. */
static void describe_run(const CompareRun *run, char text[DESCRIPTION_CHARS]) {
  char after[RH_FORMAT_CHARS], before[RH_FORMAT_CHARS], limit[RH_FORMAT_CHARS];
  const CompareRow *row = &run->row;
  rh_format_bytes(row->peak_after_bytes, after);
  rh_format_bytes(row->peak_before_bytes, before);
  rh_format_bytes(row->limit_bytes, limit);
  double share = row->peak_before_bytes
                     ? (double)row->peak_after_bytes / (double)row->peak_before_bytes - 1
                     : 0;
  char wanted[RH_FORMAT_CHARS + 16] = ""; /* `min` has no limit that could be missed */
  if (row->limit_bytes > 0)
    snprintf(wanted, sizeof wanted, ", %s, %s", limit, row->met ? "met" : "not met");
  bool has_settings = row->settings && row->settings[0];
  snprintf(text, DESCRIPTION_CHARS,
           "%s\nscheduler: %s\nbudget: %s%s\npeak: %s (%+.1f %% of %s)\n"
           "added time: %+.4g ms (%+.2f %%)\nrecomputed: %lld, moved: %lld%s%s",
           row->algorithm, row->scheduler, row->budget, wanted, after, shown_percent(share, 1),
           before, 1e3 * row->added_seconds, shown_percent(row->overhead, 2),
           (long long)row->rematerialized, (long long)row->moved,
           has_settings ? "\nsettings: " : "", has_settings ? row->settings : "");
}

static void write_marker(const Panel *panel, const CompareRun *run, Output *output) {
  char bytes[RH_FORMAT_CHARS], text[DESCRIPTION_CHARS];
  const CompareRow *row = &run->row;
  if (panel->is_page) {
    describe_run(run, text);
    plot_marker(output, run, run_x(panel, run), run_y(panel, run), text, true);
    return;
  }
  rh_format_bytes(row->peak_after_bytes, bytes);
  snprintf(text, sizeof text, "%s, %s, %s: %s, %+.1f %%, %s", row->budget, row->scheduler,
           row->algorithm, bytes, shown_percent(row->overhead, 1), row->met ? "met" : "not met");
  plot_marker(output, run, run_x(panel, run), run_y(panel, run), text, false);
}

typedef struct Place {
  double x, y;
} Place;

/* Marks the runs that are beyond the scale with arrows, and writes their values. A value for which
 * there is no room is only shown to the pointer. */
static void write_clipped(const Panel *panel, Output *output) {
  enum { MAX_VALUES = 16, ROOM = 52, LINE = 14, BELOW = 19 };
  Place places[MAX_VALUES];
  size_t num_places = 0;
  for (size_t i = 0; i < panel->comparison->runs_per_file; i++) {
    const CompareRun *run = &panel->file->runs[i];
    bool above = run->has_row && is_above(panel, run);
    if (!above && !(run->has_row && is_beyond(panel, run))) continue;
    Place place = {run_x(panel, run), run_y(panel, run)};
    plot_print(output, "<path class=\"arrow\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/>\n",
               place.x, place.y, above ? "M-4-7 0-12 4-7Z" : "M7-4 12 0 7 4Z");
    bool has_room = num_places < MAX_VALUES;
    for (size_t k = 0; k < num_places && has_room; k++)
      has_room = fabs(place.x - places[k].x) >= ROOM || fabs(place.y - places[k].y) >= LINE;
    if (!has_room) continue;
    places[num_places++] = place;
    char text[64];
    if (above) snprintf(text, sizeof text, "%+.0f %%", 100 * run->row.overhead);
    if (!above) rh_format_bytes(run->row.peak_after_bytes, text);
    bool is_right = place.x > panel->right - ROOM / 2;
    plot_label(output, is_right ? "mark y clipped" : "mark x clipped",
               is_right ? panel->right : place.x, place.y + BELOW, text);
  }
}

static void write_runs(const Panel *panel, Output *output) {
  const CompareGrid *grid = &panel->comparison->grid;
  size_t num_runs = panel->comparison->runs_per_file, num_front = 0;
  const CompareRun **front = memory_need(calloc(2 * num_runs + 1, sizeof *front));
  for (size_t i = 0; i < num_runs; i++) {
    const CompareRun *run = &panel->file->runs[i];
    if (run->has_row && !is_beaten(panel, run)) front[num_front++] = run;
  }
  qsort(front, num_front, sizeof *front, by_peak);
  write_front(panel, front, num_front, output);
  for (size_t kind = 0; kind < grid->num_schedulers * grid->num_algorithms; kind++)
    write_series(panel, kind, front + num_runs, output);
  for (size_t i = 0; i < num_runs; i++) {
    if (panel->file->runs[i].has_row) write_marker(panel, &panel->file->runs[i], output);
  }
  for (size_t i = 0; i < num_front; i++) {
    plot_print(output, "<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>\n",
               run_x(panel, front[i]), run_y(panel, front[i]));
  }
  write_clipped(panel, output);
  free(front);
}

/* ---- a panel ---- */

static int by_value(const void *pa, const void *pb) {
  double a = *(const double *)pa, b = *(const double *)pb;
  return (a > b) - (a < b);
}

/* Returns the added time up to which runs are within the scale, so that a few extreme ones do not
 * squeeze the others. If three quarters of the runs would have less than 40 % of the height, the
 * runs above the widest gap over these are beyond the scale. Returns INFINITY if there are none. */
static double most_share_of(const Panel *panel) {
  enum { LEAST_RUNS = 4 };
  static const double least_share = 0.05, squeezed = 0.4;
  size_t num_runs = panel->comparison->runs_per_file, count = 0;
  double *shares = memory_need(calloc(num_runs + 1, sizeof *shares)), most = INFINITY, widest = 1;
  for (size_t i = 0; i < num_runs; i++) {
    if (panel->file->runs[i].has_row) shares[count++] = panel->file->runs[i].row.overhead;
  }
  qsort(shares, count, sizeof *shares, by_value);
  size_t quartile = count < LEAST_RUNS ? count : 3 * (count - 1) / 4;
  double low = count ? root_of(fmin(shares[0], 0)) : 0;
  for (size_t i = quartile + 1; i < count; i++) {
    double below = fmax(shares[i - 1], least_share), height = root_of(shares[count - 1]) - low;
    double gap = (root_of(shares[i]) - low) / (root_of(below) - low);
    bool is_squeezed = root_of(fmax(shares[quartile], least_share)) - low < squeezed * height;
    if (!is_squeezed || gap <= widest) continue;
    widest = gap;
    most = below;
  }
  free(shares);
  return most;
}

/* The ranges extend from the lower bound to the peak before, and to any run outside of them that is
 * not extreme. Extreme peaks are further above the peak before than that is above the lower bound.
 */
static void find_ranges(Panel *panel) {
  const CompareRow *first = panel->first;
  double low = (double)first->lower_bound_bytes, high = (double)first->peak_before_bytes;
  double least = 0, most = 0;
  bool has_above = false, has_beyond = false;
  panel->most_share = most_share_of(panel);
  panel->most_bytes = high + fmax(high - low, 1);
  for (size_t i = 0; i < panel->comparison->runs_per_file; i++) {
    const CompareRun *run = &panel->file->runs[i];
    if (!run->has_row) continue;
    low = fmin(low, (double)run->row.peak_after_bytes);
    if (!is_beyond(panel, run)) high = fmax(high, (double)run->row.peak_after_bytes);
    least = fmin(least, run->row.overhead);
    if (!is_above(panel, run)) most = fmax(most, run->row.overhead);
    has_above |= is_above(panel, run);
    has_beyond |= is_beyond(panel, run);
  }
  double bytes = fmax(high - low, 1);
  double root = fmax(root_of(most) - root_of(least), 0.1);
  panel->min_bytes = fmax(low - 0.03 * bytes, 0);
  panel->max_bytes = high + (has_beyond ? 0.1 : 0.03) * bytes;
  if (has_beyond) panel->most_bytes = high + 0.07 * bytes;
  double bottom = root_of(least) - 0.05 * root,
         top = root_of(least) + (has_above ? 1.12 : 1.06) * root;
  panel->min_share = bottom * fabs(bottom);
  panel->max_share = top * fabs(top);
}

/* Writes the title, which is the file name. A long name loses its beginning, because its end
 * identifies the file best. */
static void write_title(const Panel *panel, Output *output) {
  enum { MAX_CHARS = 68 };
  const char *path = panel->first->input, *name = path_base(path);
  size_t len = strlen(name);
  if (len > MAX_CHARS) name += len - MAX_CHARS;
  plot_label(output, "strong", panel->left - 44, panel->top - 40, name);
}

static void write_mark(const Panel *panel, double bytes, const char *text, Output *output) {
  double x = x_of(panel, bytes);
  bool is_left = x < (panel->left + panel->right) / 2;
  plot_line(output, "bound", x, panel->top, x, panel->bottom);
  plot_print(output,
             "<text class=\"mark\" transform=\"translate(%.1f %.1f) rotate(-90)\">%s</text>\n",
             is_left ? x + 12 : x - 5, panel->top + 112, text);
}

static void write_panel(const Comparison *comparison, const CompareFile *file,
                        const CompareRow *first, size_t index, double head, bool is_page,
                        Output *output) {
  double left = (double)(index % 2) * WIDTH, top = head + (double)(index / 2) * HEIGHT;
  Panel panel = {.is_page = is_page,
                 .comparison = comparison,
                 .file = file,
                 .first = first,
                 .left = left + LEFT,
                 .right = left + WIDTH - RIGHT,
                 .top = top + TOP,
                 .bottom = top + HEIGHT - BOTTOM};
  find_ranges(&panel);
  write_title(&panel, output);
  write_y_axis(&panel, output);
  write_budgets(&panel, output);
  write_mark(&panel, (double)first->lower_bound_bytes, "lower bound", output);
  write_mark(&panel, (double)first->peak_before_bytes, "peak before", output);
  write_x_axis(&panel, output);
  write_runs(&panel, output);
}

/* ---- the whole plot ---- */

typedef struct Legend {
  Output *output; /* NULL if the legend is only measured */
  double x, y, width;
} Legend;

/* Makes room for an entry of `num_chars` characters, on the next line if this one is full. */
static void place_entry(Legend *legend, size_t num_chars) {
  double needed = 52 + 6.8 * (double)num_chars;
  if (legend->x > MARGIN && legend->x + needed > legend->width - MARGIN) {
    legend->x = MARGIN;
    legend->y += LEGEND_LINE;
  }
}

static void end_entry(Legend *legend, const char *text) {
  if (legend->output) plot_label(legend->output, "dim", legend->x + 34, legend->y + 4, text);
  legend->x += 52 + 6.8 * (double)strlen(text);
}

static void write_legend(const Comparison *comparison, Legend *legend) {
  const CompareGrid *grid = &comparison->grid;
  Output *output = legend->output;
  for (size_t s = 0; s < grid->num_schedulers; s++) {
    for (size_t a = 0; a < grid->num_algorithms; a++) {
      const CompareRun look = {.scheduler = s, .algorithm = a};
      char text[128];
      if (!compare_has_runs(comparison, s, a)) continue;
      snprintf(text, sizeof text, "%s, %s", grid->schedulers[s], grid->algorithms[a]);
      place_entry(legend, strlen(text));
      if (output) {
        plot_print(output, "<g class=\"entry\" data-kind=\"%zu.%zu\"><path ", s, a);
        plot_series_class(output, &look);
        plot_print(output, " d=\"M%.1f %.1fh28\"/>\n", legend->x, legend->y);
        plot_marker(output, &look, legend->x + 14, legend->y, NULL, false);
      }
      end_entry(legend, text);
      if (output) plot_print(output, "</g>\n");
    }
  }
  place_entry(legend, strlen("hollow: not met"));
  if (output) {
    const CompareRun look = {.has_row = true};
    plot_marker(output, &look, legend->x + 14, legend->y, NULL, false);
  }
  end_entry(legend, "hollow: not met");
  place_entry(legend, strlen("Pareto front"));
  if (output) {
    plot_print(output, "<path class=\"front\" d=\"M%.1f %.1fh20\"/>", legend->x + 4, legend->y);
    plot_print(output, "<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>\n", legend->x + 14,
               legend->y);
  }
  end_entry(legend, "Pareto front");
}

static void write_head(const Comparison *comparison, Output *output) {
  const Options *options = comparison->options;
  char text[256];
  plot_label(output, "title", MARGIN, 28, "Rematerialization: memory against time");
  snprintf(text, sizeof text, "memory model %s, device %s", options->remat.memory_model,
           comparison->device);
  plot_label(output, "dim", MARGIN, 47, text);
}

void compare_write_pareto(const Comparison *comparison, bool is_page, Output *output) {
  size_t num_panels = 0;
  for (size_t i = 0; i < comparison->num_files; i++)
    num_panels += compare_first_row(comparison, &comparison->files[i]) != NULL;
  size_t num_columns = num_panels > 1 ? 2 : 1, num_rows = (num_panels + 1) / 2;
  Legend legend = {.x = MARGIN, .y = HEAD + 8, .width = (double)num_columns * WIDTH};
  write_legend(comparison, &legend);
  double head = legend.y + LEGEND_LINE;
  legend = (Legend){.output = output, .x = MARGIN, .y = HEAD + 8, .width = legend.width};
  double height = head + (double)num_rows * HEIGHT;
  if (is_page) plot_page_begin(output);
  plot_print(output,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
             "height=\"%.0f\" role=\"img\">\n",
             legend.width, height, legend.width, height);
  plot_style(output);
  plot_print(output, "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n");
  write_head(comparison, output);
  write_legend(comparison, &legend);
  size_t index = 0;
  for (size_t i = 0; i < comparison->num_files; i++) {
    const CompareRow *first = compare_first_row(comparison, &comparison->files[i]);
    if (first)
      write_panel(comparison, &comparison->files[i], first, index++, head, is_page, output);
  }
  plot_print(output, "</svg>\n");
  if (is_page) plot_page_end(output);
}
