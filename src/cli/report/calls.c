/* Prints the call stacks of what lives at the peak: `report --stack`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report/job.h"

/* The values that were traced in one place, called in one way. */
typedef struct CallStack {
  int64_t frame; /* the innermost one */
  int64_t bytes;
  uint64_t num_values;
} CallStack;

static int by_bytes_then_frame(const void *pa, const void *pb) {
  const CallStack *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Sums the values by their innermost frames. The last element has those without a stack. */
static CallStack *sum_stacks(const rh_report *report) {
  CallStack *stacks = memory_need(calloc(report->num_frames + 1, sizeof *stacks));
  for (size_t i = 0; i <= report->num_frames; i++)
    stacks[i].frame = (int64_t)i;
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    CallStack *stack = &stacks[value->frame < 0 ? (int64_t)report->num_frames : value->frame];
    stack->bytes += value->bytes;
    stack->num_values++;
  }
  return stacks;
}

static void print_sizes(const CallStack *stack, const rh_report *report, FILE *out) {
  char bytes[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  int64_t peak = report->memory->peak_bytes;
  rh_format_bytes(stack->bytes, bytes);
  rh_format_count(stack->num_values, count);
  fprintf(out, "\n  %s, %.1f %%, %s value%s", bytes,
          peak > 0 ? 100.0 * (double)stack->bytes / (double)peak : 0, count,
          stack->num_values == 1 ? "" : "s");
}

static void print_frame(const rh_frame *frame, const Terminal *terminal) {
  enum { INDENT = 4 };
  char *source = source_text(frame->file, frame->line);
  const char *place = source ? source : "(no file)";
  size_t room = strlen(place) + frame->function.length + 32;
  char *text = memory_need(malloc(room));
  snprintf(text, room, "%s%s%.*s%s", place, frame->function.length ? " in " : "",
           (int)frame->function.length, frame->function.data,
           frame->is_library ? " (library)" : "");
  terminal_source(terminal, INDENT, text);
  free(text);
  free(source);
}

/* Prints the outermost frame first, as Python does. */
static void print_frames(const rh_report *report, int64_t innermost, const Terminal *terminal) {
  size_t depth = 0;
  for (int64_t at = innermost; at >= 0; at = report->frames[at]->parent)
    depth++;
  int64_t *frames = memory_need(calloc(depth + 1, sizeof *frames));
  size_t i = depth;
  for (int64_t at = innermost; at >= 0; at = report->frames[at]->parent)
    frames[--i] = at;
  for (i = 0; i < depth; i++)
    print_frame(report->frames[frames[i]], terminal);
  free(frames);
}

void report_print_calls(const rh_report *report, size_t top, const Terminal *terminal) {
  CallStack *stacks = sum_stacks(report);
  CallStack none = stacks[report->num_frames], rest = {0};
  size_t num_stacks = 0, num_rest = 0;
  qsort(stacks, report->num_frames, sizeof *stacks, by_bytes_then_frame);
  terminal_heading(terminal, "the call stacks of what is live at the peak");
  for (size_t i = 0; i < report->num_frames && stacks[i].num_values; i++) {
    if (num_stacks++ >= top) {
      num_rest++;
      rest.bytes += stacks[i].bytes;
      rest.num_values += stacks[i].num_values;
      continue;
    }
    print_sizes(&stacks[i], report, terminal->out);
    fputc('\n', terminal->out);
    print_frames(report, stacks[i].frame, terminal);
  }
  if (num_rest) {
    print_sizes(&rest, report, terminal->out);
    fprintf(terminal->out, " (%zu more)\n", num_rest);
  }
  if (none.num_values) {
    print_sizes(&none, report, terminal->out);
    fputs(" without a stack\n", terminal->out);
  }
  free(stacks);
}
