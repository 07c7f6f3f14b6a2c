#include "compare/plot.h"

#include <stdarg.h>
#include <string.h>

#include "messages.h"

/* The colours of Okabe and Ito, which colour-blind people can distinguish, too. Dark backgrounds
 * use lighter colours of the same hues. */
static const struct {
  const char *light, *dark;
} colors[] = {{"#0072b2", "#6cb8f0"}, {"#d55e00", "#ff9a5c"}, {"#007a58", "#3fcfa5"},
              {"#b0568a", "#eaa3cd"}, {"#8a6d00", "#f0c43c"}, {"#555", "#ccc"},
              {"#3fa7dd", "#b5e2ff"}, {"#5b3f9e", "#a894f0"}, {"#a3123a", "#ff8fa8"},
              {"#00797d", "#6fd9dc"}, {"#7a4b2a", "#d9a679"}, {"#7f8f00", "#c9dc3a"}};

static const char *const dashes[] = {"none", "7 4", "2 3", "9 3 2 3"};

enum {
  NUM_COLORS = sizeof colors / sizeof *colors,
  NUM_DASHES = sizeof dashes / sizeof *dashes,
};

void plot_print(Output *output, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (length > 0) {
    output_write(output, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  }
}

static const char *escape_of(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\n': return "&#10;";
    default: return (unsigned char)c < ' ' || c == 0x7f ? "?" : NULL;
  }
}

void plot_escaped(Output *output, const char *text) {
  const char *end = text + strlen(text);
  while (text < end) {
    size_t length = utf8_length(text, end);
    const char *escape = length == 0 ? "?" : length == 1 ? escape_of(*text) : NULL;
    output_write(output, escape ? escape : text, escape ? strlen(escape) : length);
    text += length ? length : 1;
  }
}

void plot_line(Output *output, const char *class, double x1, double y1, double x2, double y2) {
  plot_print(output, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
             class, x1, y1, x2, y2);
}

void plot_label(Output *output, const char *class, double x, double y, const char *text) {
  plot_print(output, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
  plot_escaped(output, text);
  plot_print(output, "</text>\n");
}

void plot_series_class(Output *output, const CompareRun *run) {
  plot_print(output, "class=\"series a%zu s%zu\" data-kind=\"%zu.%zu\"",
             run->algorithm % NUM_COLORS, run->scheduler % NUM_DASHES, run->scheduler,
             run->algorithm);
}

void plot_marker(Output *output, const CompareRun *run, double x, double y, const char *text,
                 bool is_page) {
  static const char *const shapes[NUM_DASHES] = {
      "<circle class=\"%s\" r=\"4.2\"/>", "<path class=\"%s\" d=\"M-4-4H4V4H-4Z\"/>",
      "<path class=\"%s\" d=\"M0-5.2 4.8 3.6H-4.8Z\"/>",
      "<path class=\"%s\" d=\"M0-5.6 5.6 0 0 5.6-5.6 0Z\"/>"};
  const char *shape = shapes[run->scheduler % NUM_DASHES], *name = strstr(shape, "%s");
  plot_print(output, "<g class=\"marker a%zu\" transform=\"translate(%.1f %.1f)\"",
             run->algorithm % NUM_COLORS, x, y);
  if (text && is_page) {
    plot_print(output, " data-run=\"");
    plot_escaped(output, text);
    plot_print(output, "\"");
  }
  plot_print(output, " data-kind=\"%zu.%zu\">", run->scheduler, run->algorithm);
  output_write(output, shape, (size_t)(name - shape));
  plot_print(output, run->row.met || !run->has_row ? "met" : "open");
  output_write(output, name + 2, strlen(name + 2));
  if (text && !is_page) {
    plot_print(output, "<title>");
    plot_escaped(output, text);
    plot_print(output, "</title>");
  }
  plot_print(output, "</g>\n");
}

void plot_style(Output *output) {
  plot_print(output,
             "<style>\n"
             "text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',Helvetica,sans-serif;"
             "font-size:12px;fill:#24292f}\n"
             ".paper{fill:#fff}.title{font-size:17px;font-weight:600}.strong{font-weight:600}\n"
             ".dim,.mark{fill:#57606a}.mark{font-size:11px}.y{text-anchor:end}"
             ".x{text-anchor:middle}\n"
             ".grid{stroke:#d0d7de;stroke-width:.75}.axis{stroke:#8c959f;fill:none}\n"
             ".budget{stroke:#8c959f;stroke-dasharray:1 4}\n"
             ".bound{stroke:#24292f;stroke-dasharray:5 3}\n");
  plot_print(output,
             ".front{fill:none;stroke:#ffd43b;stroke-opacity:.75;stroke-width:9;"
             "stroke-linejoin:round;stroke-linecap:round}\n"
             ".ring{fill:none;stroke:#24292f;stroke-width:1.3}\n"
             ".series{fill:none;stroke-width:1.6;stroke-linejoin:round}\n"
             ".arrow{fill:#24292f}.clipped{stroke:#fff;stroke-width:3px;paint-order:stroke}\n"
             ".marker{stroke-width:1.8}.met{fill:currentColor;stroke:currentColor}"
             ".open{fill:#fff;stroke:currentColor}\n");
  for (size_t i = 0; i < NUM_COLORS; i++)
    plot_print(output, ".a%zu{color:%s;stroke:%s}", i, colors[i].light, colors[i].light);
  plot_print(output, "\n");
  for (size_t i = 0; i < NUM_DASHES; i++)
    plot_print(output, ".s%zu{stroke-dasharray:%s}", i, dashes[i]);
  plot_print(output,
             "\n@media (prefers-color-scheme:dark){\n"
             "text{fill:#e6edf3}.paper{fill:#0d1117}.dim,.mark{fill:#9da7b3}\n"
             ".grid{stroke:#30363d}.axis,.budget{stroke:#6e7681}.bound,.ring{stroke:#e6edf3}\n"
             ".arrow{fill:#e6edf3}.clipped{stroke:#0d1117}\n"
             ".front{stroke:#8a6d00}.open{fill:#0d1117}\n");
  for (size_t i = 0; i < NUM_COLORS; i++)
    plot_print(output, ".a%zu{color:%s;stroke:%s}", i, colors[i].dark, colors[i].dark);
  plot_print(output, "\n}\n</style>\n");
}
