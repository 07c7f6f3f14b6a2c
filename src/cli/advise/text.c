/* Prints advice for people. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/job.h"
#include "memory.h"

static void print_bytes(int64_t bytes, FILE *out) {
  char text[RH_FORMAT_CHARS];
  rh_format_bytes(bytes, text);
  fputs(text, out);
}

static void print_head(const AdviseJob *job, FILE *out) {
  const rh_advice *advice = job->advice;
  fprintf(out, "%s: %.*s takes ", job->loaded.input.path, (int)advice->module.length,
          advice->module.data);
  print_bytes(advice->counted_bytes, out);
  if (advice->limit_bytes != INT64_MAX) {
    fputs(", and the limit is ", out);
    print_bytes(advice->limit_bytes, out);
  }
  fputs("\n\n", out);
}

/* Writes each line of a text after `indent` columns. */
static void print_lines(rh_text text, int indent, FILE *out) {
  const char *at = text.data, *end = text.data + text.length;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end;
    fprintf(out, "%*s%.*s\n", indent, "", (int)(stop - at), at);
    at = stop + 1;
  }
}

static void print_figures(const rh_remedy *remedy, int indent, FILE *out) {
  fprintf(out, "%*s", indent, "");
  print_bytes(remedy->counted_bytes, out);
  fputs(" (-", out);
  print_bytes(remedy->saved_bytes, out);
  fprintf(out, "), %+.1f %% of modelled time, confidence %s, temporaries usually within %.0f %%\n",
          shown_percent(remedy->added_fraction, 1), remedy->confidence, 100 * remedy->usual_error);
  char *source = source_text(remedy->peak_source_file, remedy->peak_source_line);
  if (source) fprintf(out, "%*sthe peak is then at %s\n", indent, "", source);
  free(source);
}

static void print_remedy(const rh_remedy *remedy, size_t number, FILE *out) {
  enum { INDENT = 4 };
  fprintf(out, "%s%2zu. %.*s\n", number > 1 ? "\n" : "", number, (int)remedy->title.length,
          remedy->title.data);
  print_lines(remedy->code, INDENT + 2, out);
  print_figures(remedy, INDENT, out);
  print_lines(remedy->explanation, INDENT, out);
}

static bool is_text(rh_text a, rh_text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Whether two changes are one, with another number of pieces. */
static bool is_same_change(const rh_remedy *a, const rh_remedy *b) {
  return a->num_chunks > 0 && b->num_chunks > 0 && strcmp(a->kind, b->kind) == 0 &&
         a->source_line == b->source_line && is_text(a->source_file, b->source_file) &&
         is_text(a->function, b->function) && is_text(a->scope, b->scope) &&
         is_text(a->argument, b->argument) && is_text(a->policy, b->policy);
}

/* Whether a change is another one than what the plan begins with. */
static bool is_other(const rh_advice *advice, const rh_remedy *remedy) {
  return !advice->num_plan || !is_text(advice->plan[0]->title, remedy->title);
}

/* Whether it is shown with an earlier change. */
static bool is_shown_before(const rh_advice *advice, size_t number) {
  bool is_shown = false;
  for (size_t i = 0; i < number && !is_shown; i++)
    is_shown = is_other(advice, advice->remedies[i]) &&
               is_same_change(advice->remedies[i], advice->remedies[number]);
  return is_shown;
}

/* What the same change comes to with other numbers of pieces. */
static void print_other_numbers(const rh_advice *advice, size_t number, FILE *out) {
  const rh_remedy *shown = advice->remedies[number];
  bool is_first = true;
  for (size_t i = number + 1; i < advice->num_remedies; i++) {
    const rh_remedy *remedy = advice->remedies[i];
    if (!is_other(advice, remedy) || !is_same_change(shown, remedy)) continue;
    fprintf(out, is_first ? "    with %" PRId64 " instead: " : ", %" PRId64 ": ",
            remedy->num_chunks);
    print_bytes(remedy->counted_bytes, out);
    is_first = false;
  }
  if (!is_first) fputc('\n', out);
}

/* The changes, each alone, but the one that the plan begins with. */
static void print_others(const AdviseJob *job, const Terminal *terminal, size_t top) {
  const rh_advice *advice = job->advice;
  size_t number = 0;
  for (size_t i = 0; i < advice->num_remedies; i++) {
    const rh_remedy *remedy = advice->remedies[i];
    if (!is_other(advice, remedy) || is_shown_before(advice, i)) continue;
    if (number == 0)
      terminal_heading(terminal, advice->num_plan
                                     ? "each other change alone, on the module as it is"
                                     : "each change alone, on the module as it is");
    if (number++ >= top) continue;
    print_remedy(remedy, number, terminal->out);
    print_other_numbers(advice, i, terminal->out);
  }
  if (number > top) fprintf(terminal->out, "\n(%zu more; --top shows them)\n", number - top);
}

void advise_print(const AdviseJob *job, const Terminal *terminal) {
  FILE *out = terminal->out;
  const rh_advice *advice = job->advice;
  size_t top = job->options->top > 0 ? (size_t)job->options->top : 0;
  print_head(job, out);
  print_lines(advice->summary, 0, out);
  if (advice->num_plan) {
    terminal_heading(terminal, "the plan, each change after those before it");
    for (size_t i = 0; i < advice->num_plan; i++)
      print_remedy(advice->plan[i], i + 1, out);
  }
  print_others(job, terminal, top);
}
