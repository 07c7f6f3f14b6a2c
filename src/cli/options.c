/* The option table, and the functions that parse options. */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef enum OptionKind {
  KIND_HEADING,
  KIND_FLAG,
  KIND_TEXT,
  KIND_TABLE,  /* a file, or stdout if no file follows */
  KIND_LINES,  /* a text; the option may be repeated, each time with one line */
  KIND_COUNT,  /* at least 1 */
  KIND_STEPS,  /* at least 1, with a larger maximum */
  KIND_WHOLE,  /* at least 0 */
  KIND_DIGIT,  /* 0 to 9 */
  KIND_NUMBER, /* a number that is not negative */
  KIND_BYTES,
  KIND_MEBIBYTES,
  KIND_BUDGET,
  KIND_TOLERANCE,
  KIND_SHARD,
  KIND_LIMIT,
  KIND_UNFUSE,
  KIND_UNFUSE_ALL, /* a flag */
  KIND_REMAT_MODES,
  /* the following kinds are one word of a list */
  KIND_LIMIT_COUNTS,
  KIND_INLINE_CALLS,
  KIND_COPIES,
  KIND_EMIT,
  KIND_PROTECT,
  KIND_DIAGNOSTICS,
  KIND_SHARD_BY,
  KIND_FRAMES,
} OptionKind;

typedef struct Option {
  const char *name; /* or the text of a heading */
  const char *argument;
  const char *help;
  size_t field;
  uint8_t width; /* of the field, in bytes */
  unsigned commands;
  char letter;
  uint8_t kind;
} Option;

static const Option table[] = {
#define HEADING(text) {.name = text, .kind = KIND_HEADING},
#define OPTION(name, letter, argument, kind, member, commands, help)                        \
  {name,     argument, help,       offsetof(Options, member), sizeof((Options *)0)->member, \
   commands, letter,   KIND_##kind},
#include "options.def"
};

enum { TABLE_LEN = sizeof table / sizeof *table };

const char *const limit_counts_words[] = {"temp", "temp+outputs", "total", NULL};
const char *const emit_words[] = {"scheduled", "unscheduled", NULL};
const char *const protect_words[] = {"auto",        "none",        "control-deps",
                                     "opt-barrier", "conditional", NULL};

/* Returns the words of an enumeration, in the order of its values. */
static const char *const *words_of(OptionKind kind) {
  static const char *const inline_calls[] = {"auto", "never", "always", NULL};
  static const char *const copies[] = {"auto", "inserted", "pending", NULL};
  static const char *const diagnostics[] = {"text", "json", NULL};
  static const char *const shard_by[] = {"hash", "size", NULL};
  static const char *const frames[] = {"innermost", "user", "outermost", NULL};
  switch (kind) {
    case KIND_LIMIT_COUNTS: return limit_counts_words;
    case KIND_INLINE_CALLS: return inline_calls;
    case KIND_COPIES: return copies;
    case KIND_EMIT: return emit_words;
    case KIND_PROTECT: return protect_words;
    case KIND_DIAGNOSTICS: return diagnostics;
    case KIND_SHARD_BY: return shard_by;
    case KIND_FRAMES: return frames;
    default: return NULL;
  }
}

/* The flags of Microsoft's tensorflow-rematerialization patch, and one flag of XLA. */
static const struct {
  const char *alias;
  const char *name;
} aliases[] = {
    {"xla-rematerialization-mem-limit", "mem-limit"},
    {"xla-rematerialization-scheduler", "scheduler"},
    {"xla-rematerialization-algorithm", "algorithm"},
    {"xla-rematerialization-small-node-limit", "small-node-limit"},
    {"xla-rematerialization-disable-cuda", "disable-cuda"},
    {"xla-rematerialization-dump-dot", "dump-dot"},
    {"xla-rematerialization-dump-memlog", "dump-memlog"},
    {"xla-multiheap-size-constraint-per-heap", "heap-limit"},
};

void options_init(Options *options) {
  *options = (Options){.remat = RH_REMAT_OPTIONS_INIT,
                       .schedule = RH_SCHEDULE_OPTIONS_INIT,
                       .dot = RH_DOT_OPTIONS_INIT,
                       .pack = RH_PACK_OPTIONS_INIT,
                       .limit_counts = -1,
                       .target = "auto",
                       .device = "auto",
                       .trip_count = 1,
                       .profile_name = "calibrated",
                       .max_peak_bytes = -1,
                       .min_peak_bytes = -1,
                       .tolerance = {BUDGET_PERCENT, 1000000},
                       .frames = RH_FRAMES_USER,
                       .top = 10,
                       .max_errors = 20};
}

/* Frees the texts of KIND_LINES. They are owned by the options, although the structs of the library
 * declare them as constant. */
static void free_lines(Options *options) {
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].kind == KIND_LINES) free(*(char **)(void *)((char *)options + table[i].field));
  }
}

void options_free(Options *options) {
  free(options->files);
  free_lines(options);
  for (int i = 0; i < options->num_flag_texts; i++)
    free(options->flag_texts[i]);
}

/* ---- one option ---- */

/* Appends a line to a text, which is NULL at first. */
static bool append_line(const char *line, char **text) {
  size_t len = *text ? strlen(*text) + 1 : 0, more = strlen(line) + 1;
  if (more == 1) return false;
  char *longer = memory_need(realloc(*text, len + more));
  if (len) longer[len - 1] = '\n';
  memcpy(longer + len, line, more);
  *text = longer;
  return true;
}

static bool parse_bool(const char *value, bool *flag) {
  if (!value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0) {
    *flag = true;
  } else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0) {
    *flag = false;
  } else {
    return false;
  }
  return true;
}

/* Stores a count in a field of 4 or 8 bytes. */
static void store_count(int64_t count, size_t width, void *field) {
  if (width == sizeof(uint32_t)) {
    *(uint32_t *)field = (uint32_t)count;
  } else {
    *(int64_t *)field = count;
  }
}

static bool parse_whole(const char *value, int64_t min, int64_t max, size_t width, void *field) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (errno || end == value || *end || number < min || number > max) return false;
  store_count(number, width, field);
  return true;
}

static bool parse_number(const char *value, double *number) {
  char *end;
  errno = 0;
  *number = strtod(value, &end);
  return !errno && end != value && !*end && *number >= 0;
}

static bool parse_mebibytes(const char *value, int64_t *bytes) {
  char text[64];
  if (strlen(value) + 4 > sizeof text) return false;
  strcpy(text, value);
  size_t len = strlen(text);
  bool is_bare = len && strspn(text, "0123456789.") == len;
  return parse_size(is_bare ? strcat(text, "MiB") : text, bytes);
}

/* Parses a limit. As in the flags of XLA, -1 means that there is none. */
static bool parse_limit(const char *value, int64_t *bytes) {
  if (strcmp(value, "-1") != 0) return parse_size(value, bytes);
  *bytes = -1;
  return true;
}

typedef struct Word {
  const char *text; /* NULL at the end of the list */
  int bits;
} Word;

/* Parses words that are separated by commas. */
static bool parse_words(const char *value, const Word *words, int *bits) {
  *bits = 0;
  for (const char *p = value;; p++) {
    size_t len = strcspn(p, ",");
    const Word *word = words;
    while (word->text && !(strlen(word->text) == len && strncmp(p, word->text, len) == 0))
      word++;
    if (!word->text) return false;
    *bits |= word->bits;
    p += len;
    if (!*p) return true;
  }
}

static const Word unfuse_words[] = {{"loop", RH_UNFUSE_LOOP},     {"input", RH_UNFUSE_INPUT},
                                    {"output", RH_UNFUSE_OUTPUT}, {"all", RH_UNFUSE_ALL},
                                    {"shared", RH_UNFUSE_SHARED}, {NULL, 0}};

static const Word remat_mode_words[] = {{"recompute", RH_REMAT_RECOMPUTE},
                                        {"compress", RH_REMAT_COMPRESS},
                                        {"offload", RH_REMAT_OFFLOAD},
                                        {"narrow", RH_REMAT_NARROW},
                                        {NULL, 0}};

static bool parse_unfuse_all(const char *value, int *kinds) {
  bool flag;
  if (!parse_bool(value, &flag)) return false;
  *kinds = flag ? RH_UNFUSE_ALL : 0;
  return true;
}

static bool parse_word(const char *value, const char *const *words, int *index) {
  for (int i = 0; words[i]; i++) {
    if (strcmp(words[i], value) != 0) continue;
    *index = i;
    return true;
  }
  return false;
}

static bool needs_value(const Option *option) {
  return option->kind != KIND_FLAG && option->kind != KIND_UNFUSE_ALL;
}

static bool set_field(Options *options, const Option *option, const char *value) {
  void *field = (char *)options + option->field;
  switch (option->kind) {
    case KIND_FLAG: return parse_bool(value, field);
    case KIND_TEXT:
    case KIND_TABLE: *(const char **)field = value; return *value != 0;
    case KIND_LINES: return append_line(value, field);
    case KIND_COUNT: return parse_whole(value, 1, UINT32_MAX / 2, option->width, field);
    case KIND_STEPS: return parse_whole(value, 1, INT64_MAX, option->width, field);
    case KIND_WHOLE: return parse_whole(value, 0, UINT32_MAX / 2, option->width, field);
    case KIND_DIGIT: return parse_whole(value, 0, 9, option->width, field);
    case KIND_NUMBER: return parse_number(value, field);
    case KIND_BYTES: return parse_size(value, field);
    case KIND_MEBIBYTES: return parse_mebibytes(value, field);
    case KIND_BUDGET: return parse_budget(value, field);
    case KIND_TOLERANCE: return parse_tolerance(value, field);
    case KIND_SHARD: return parse_shard(value, field);
    case KIND_LIMIT: return parse_limit(value, field);
    case KIND_UNFUSE: return parse_words(value, unfuse_words, field);
    case KIND_REMAT_MODES: return parse_words(value, remat_mode_words, field);
    case KIND_UNFUSE_ALL: return parse_unfuse_all(value, field);
    default: return parse_word(value, words_of((OptionKind)option->kind), field);
  }
}

static const char *wanted_form(OptionKind kind) {
  switch (kind) {
    case KIND_FLAG:
    case KIND_UNFUSE_ALL: return "true or false";
    case KIND_TEXT:
    case KIND_TABLE:
    case KIND_LINES: return "a text that is not empty";
    case KIND_COUNT:
    case KIND_STEPS: return "a whole number from 1 on";
    case KIND_WHOLE: return "a whole number from 0 on";
    case KIND_DIGIT: return "a whole number from 0 to 9";
    case KIND_NUMBER: return "a number";
    case KIND_BYTES: return "a size such as 4096, 1.5GiB or 800MB";
    case KIND_MEBIBYTES: return "a number of MiB, or a size such as 512KiB";
    case KIND_BUDGET: return "a size such as 12GiB or 800MB, or 80%, r80% or min";
    case KIND_TOLERANCE: return "a share such as 1%, or a size such as 10MiB";
    case KIND_SHARD: return "I/N with I from 1 to N, at most 100000, such as 2/8";
    case KIND_LIMIT: return "a size such as 4096, 1.5GiB or 800MB, or -1";
    case KIND_UNFUSE: return "loop, input, output (several with commas) or all";
    case KIND_REMAT_MODES: return "recompute, compress, offload or narrow, several with commas";
    default: return NULL;
  }
}

static rh_status fail_value(const Option *option, const char *value) {
  fprintf(stderr, "remat-hlo: error: --%s takes ", option->name);
  if (wanted_form((OptionKind)option->kind)) {
    fputs(wanted_form((OptionKind)option->kind), stderr);
  } else {
    const char *const *words = words_of((OptionKind)option->kind);
    for (int i = 0; words[i]; i++) {
      fprintf(stderr, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
  }
  fprintf(stderr, ", not '%s'\n", value ? value : "");
  return RH_ERR_USAGE;
}

/* Sets a flag of that patch that is not an alias of one of our options. Returns true if `name` is
 * such a flag. */
static bool set_patch_flag(Options *options, const char *name, const char *value, bool *is_valid) {
  bool flag = true;
  *is_valid = true;
  if (strcmp(name, "xla-use-hlo-rematerialization") == 0) {
    *is_valid = parse_bool(value, &flag);
    if (!flag) options->remat.algorithm = "none";
    return true;
  }
  /* In the patch these flags are switches; here they take a path as well. */
  if (strcmp(name, "xla-rematerialization-dump-dot") == 0 && parse_bool(value, &flag)) {
    options->dump_dot = flag ? "." : NULL;
    return true;
  }
  if (strcmp(name, "xla-rematerialization-dump-memlog") == 0 && parse_bool(value, &flag)) {
    options->dump_memlog = flag ? "./" : NULL;
    return true;
  }
  return false;
}

/* ---- settings ---- */

/* Returns the value of an option with one number, of any kind. */
static double number_of(const Options *options, const Option *option) {
  const void *field = (const char *)options + option->field;
  if (option->kind == KIND_NUMBER) return *(const double *)field;
  if (option->width == sizeof(bool)) return *(const bool *)field;
  if (option->width == sizeof(uint32_t)) return *(const uint32_t *)field;
  return (double)*(const int64_t *)field;
}

static void print_name(const Option *option, FILE *out) {
  fputc(' ', out);
  for (const char *p = option->name; *p; p++)
    fputc(*p == '-' ? '_' : *p, out);
  fputc('=', out);
}

static void print_lines(const Option *option, const char *lines, FILE *out) {
  while (lines && *lines) {
    int len = (int)strcspn(lines, "\n");
    print_name(option, out);
    fprintf(out, "%.*s", len, lines);
    lines += len + (lines[len] == '\n');
  }
}

static void print_lines_of(const Options *options, const Option *option, FILE *out) {
  const void *field = (const char *)options + option->field;
  print_lines(option, *(char *const *)field, out);
}

void options_print_settings(const Options *options, FILE *out) {
  Options usual;
  options_init(&usual);
  for (size_t i = 0; i < TABLE_LEN; i++) {
    const Option *option = &table[i];
    if (!(option->commands & NOTED) || option->kind == KIND_LINES) continue;
    double number = number_of(options, option);
    if (number == number_of(&usual, option)) continue;
    print_name(option, out);
    fprintf(out, "%.17g", number);
  }
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].commands & NOTED && table[i].kind == KIND_LINES)
      print_lines_of(options, &table[i], out);
  }
}

/* ---- finding options ---- */

enum { MAX_NAME = 128 };

/* Replaces underscores by hyphens, because both are accepted. */
static void normalize(const char *name, size_t len, char normal[MAX_NAME]) {
  if (len >= MAX_NAME) len = MAX_NAME - 1;
  for (size_t i = 0; i < len; i++)
    normal[i] = name[i] == '_' ? '-' : name[i];
  normal[len] = 0;
}

static const Option *find_option(unsigned command, const char *name) {
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (strcmp(aliases[i].alias, name) == 0) name = aliases[i].name;
  }
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].kind != KIND_HEADING && table[i].commands & command &&
        strcmp(table[i].name, name) == 0) {
      return &table[i];
    }
  }
  return NULL;
}

static const Option *find_letter(unsigned command, char letter) {
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].kind != KIND_HEADING && table[i].commands & command && table[i].letter == letter) {
      return &table[i];
    }
  }
  return NULL;
}

static rh_status fail_unknown(unsigned command, const char *given, const char *name) {
  const char *names[TABLE_LEN];
  size_t count = 0;
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].kind != KIND_HEADING && table[i].commands & command) {
      names[count++] = table[i].name;
    }
  }
  const char *meant = rh_closest_word(name, names, count);
  fprintf(stderr, "remat-hlo: error: there is no option '%s'", given);
  if (meant) fprintf(stderr, "; did you mean '--%s'?", meant);
  fputs("\n", stderr);
  return RH_ERR_USAGE;
}

/* ---- the command line ---- */

typedef struct Args {
  char **argv;
  int argc;
  int next;
} Args;

/* Returns whether an argument is an option or missing; `-` alone is a file. */
static bool is_no_value(const Args *rest) {
  const char *next = rest && rest->next < rest->argc ? rest->argv[rest->next] : "--";
  return next[0] == '-' && next[1];
}

static rh_status set_option(Options *options, const Option *option, const char *value, Args *rest) {
  if (option->kind == KIND_TABLE && !value && is_no_value(rest)) value = "-";
  if (needs_value(option) && !value) {
    if (rest && rest->next < rest->argc) {
      value = rest->argv[rest->next++];
    } else {
      fprintf(stderr, "remat-hlo: error: --%s needs a value: %s\n", option->name, option->argument);
      return RH_ERR_USAGE;
    }
  }
  return set_field(options, option, value) ? RH_OK : fail_value(option, value);
}

/* Parses `name=value` or `name`, without the leading hyphens. */
static rh_status parse_long(Options *options, unsigned command, const char *given, const char *text,
                            Args *rest) {
  char name[MAX_NAME];
  size_t len = strcspn(text, "=");
  const char *value = text[len] ? text + len + 1 : NULL;
  normalize(text, len, name);
  bool is_valid;
  if (command == FOR_REMAT && set_patch_flag(options, name, value, &is_valid)) {
    if (is_valid) return RH_OK;
    fprintf(stderr, "remat-hlo: error: '%s' takes true or false\n", given);
    return RH_ERR_USAGE;
  }
  const Option *option = find_option(command, name);
  if (!option) return fail_unknown(command, given, name);
  return set_option(options, option, value, rest);
}

/* Parses `-o FILE`, `-oFILE` or `-nq`. */
static rh_status parse_letters(Options *options, unsigned command, const char *given, Args *rest) {
  for (const char *p = given + 1; *p; p++) {
    const Option *option = find_letter(command, *p);
    if (!option) return fail_unknown(command, given, given);
    if (needs_value(option)) return set_option(options, option, p[1] ? p + 1 : NULL, rest);
    rh_status status = set_option(options, option, NULL, rest);
    if (status != RH_OK) return status;
  }
  return RH_OK;
}

rh_status options_parse(Options *options, unsigned command, int argc, char **argv) {
  options->files = memory_need(calloc((size_t)argc + 1, sizeof *options->files));
  Args args = {.argv = argv, .argc = argc, .next = 1};
  bool only_files = false;
  while (args.next < argc) {
    char *arg = argv[args.next++];
    rh_status status = RH_OK;
    if (only_files || arg[0] != '-' || arg[1] == 0) {
      options->files[options->num_files++] = arg;
    } else if (strcmp(arg, "--") == 0) {
      only_files = true;
    } else if (arg[1] == '-') {
      status = parse_long(options, command, arg, arg + 2, &args);
    } else {
      status = parse_letters(options, command, arg, &args);
    }
    if (status != RH_OK) return status;
  }
  return RH_OK;
}

static bool is_ours(const char *name) {
  return strncmp(name, "xla-rematerialization-", 22) == 0 ||
         strcmp(name, "xla-use-hlo-rematerialization") == 0 ||
         strcmp(name, "xla-multiheap-size-constraint-per-heap") == 0;
}

rh_status options_parse_flags(Options *options, unsigned command, const char *flags,
                              const char *source, bool is_shared) {
  char *text = memory_need(strdup(flags));
  options->flag_texts[options->num_flag_texts++] = text; /* the options point into it */
  rh_status status = RH_OK;
  for (char *p = text; *p && status == RH_OK;) {
    p += strspn(p, " \t\n\r");
    char *flag = p;
    p += strcspn(p, " \t\n\r");
    if (*p) *p++ = 0;
    char name[MAX_NAME];
    const char *bare = flag + strspn(flag, "-");
    normalize(bare, strcspn(bare, "="), name);
    if (!*flag || (is_shared && !is_ours(name))) continue;
    status = parse_long(options, command, flag, bare, NULL);
    if (status != RH_OK) fprintf(stderr, "remat-hlo: note: that flag is in %s\n", source);
  }
  return status;
}

/* ---- help ---- */

/* Writes a text in lines of at most 80 columns. All lines but the first are indented. */
static void print_wrapped(const char *text, int indent, FILE *out) {
  int column = indent;
  while (*text) {
    int len = (int)strcspn(text, " ");
    if (column + 1 + len > 79 && column > indent) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    }
    fprintf(out, "%s%.*s", column > indent ? " " : "", len, text);
    column += len + (column > indent);
    text += len + (text[len] == ' ');
  }
  fputc('\n', out);
}

static bool has_options(size_t heading, unsigned command) {
  for (size_t i = heading + 1; i < TABLE_LEN && table[i].kind != KIND_HEADING; i++) {
    if (table[i].commands & command) return true;
  }
  return false;
}

void options_print_help(unsigned command, FILE *out) {
  for (size_t i = 0; i < TABLE_LEN; i++) {
    const Option *option = &table[i];
    if (option->kind == KIND_HEADING) {
      if (has_options(i, command)) fprintf(out, "\n%s:\n", option->name);
      continue;
    }
    if (!(option->commands & command)) continue;
    char left[64];
    snprintf(left, sizeof left, "%s%c%s --%s%s%s", option->letter ? "-" : " ",
             option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
             option->argument ? "=" : "", option->argument ? option->argument : "");
    fprintf(out, "  %-30s", left);
    if (strlen(left) >= 30) fprintf(out, "\n%32s", "");
    print_wrapped(option->help, 32, out);
  }
}

void options_print_names(unsigned command, bool with_help, FILE *out) {
  for (size_t i = 0; i < TABLE_LEN; i++) {
    if (table[i].kind == KIND_HEADING || !(table[i].commands & command)) continue;
    fprintf(out, "--%s%s", table[i].name, table[i].argument ? "=" : "");
    if (with_help) fprintf(out, "\t%s", table[i].help);
    fputc('\n', out);
  }
}

const char *options_find_name(const char *given) {
  bool is_letter = given[0] == '-' && given[1] != '-' && given[1] && !given[2];
  char name[MAX_NAME];
  const char *bare = given + strspn(given, "-");
  normalize(bare, strcspn(bare, "="), name);
  const Option *option = is_letter ? find_letter(FOR_ALL, given[1]) : find_option(FOR_ALL, name);
  return option ? option->name : NULL;
}

void options_print_words(const char *name, FILE *out) {
  const Option *option = find_option(FOR_ALL, name);
  const char *const *words = words_of((OptionKind)option->kind);
  const Word *list = option->kind == KIND_UNFUSE        ? unfuse_words
                     : option->kind == KIND_REMAT_MODES ? remat_mode_words
                                                        : NULL;
  for (; words && *words; words++)
    fprintf(out, "%s\n", *words);
  for (; list && list->text; list++)
    fprintf(out, "%s\n", list->text);
}
