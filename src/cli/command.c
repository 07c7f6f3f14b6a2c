#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Command {
  const char *name;
  unsigned bit;
  rh_status (*run)(const Options *);
  size_t min_files, max_files;
  const char *usage;
  const char *summary;
  const char *about; /* text for the help of the subcommand */
} Command;

static const Command commands[] = {
    {"remat", FOR_REMAT, cmd_remat, 1, SIZE_MAX, "[remat] FILE... [OPTION...]",
     "schedule, rematerialize under --mem-limit, write HLO, graphs and logs",
     "Schedules the HLO text in FILE, recomputes values instead of keeping them until its peak "
     "fits\n"
     "--mem-limit, and writes the result. `-` is stdin. Without a limit it only reports.\n"},
    {"report", FOR_REPORT, cmd_report, 1, 2, "report FILE|DIR|BEFORE AFTER [OPTION...]",
     "show where the memory goes, or what changed about it",
     "Shows the peak of the HLO text in FILE, the values that live at the peak, and their sums by\n"
     "source line, by scope, by category and by opcode. For two files it shows what changed "
     "between\n"
     "them. For a folder of dumps it lists all modules in it, and in its folders, by their "
     "peaks.\n"},
    {"advise", FOR_ADVISE, cmd_advise, 1, 1, "advise FILE|DIR [OPTION...]",
     "say what to change in the program so that it takes less memory",
     "Simulates changes of the program that the HLO text in FILE was made from: checkpoints,\n"
     "donation, computation in pieces. It shows those that lower the peak, each with its place in\n"
     "the program and the peak after it, and the least set that meets --mem-limit. For a folder "
     "of\n"
     "dumps it takes the module with the largest peak. Exits with 1 if no advice meets the "
     "limit.\n"},
    {"compare", FOR_COMPARE, cmd_compare, 1, SIZE_MAX, "compare FILE|DIR... [OPTION...]",
     "run every algorithm with every scheduler and budget, and compare",
     "Rematerializes the HLO text in each FILE by every algorithm, in the order of every "
     "scheduler,\n"
     "under every budget, on all processors, and shows the peak that each run reached and what "
     "the\n"
     "run costs. DIR is a folder of dumps: all modules in it, and in its folders, are compared. "
     "With\n"
     "--merge each FILE is a log of --json, and all are shown as one comparison.\n"},
    {"verify", FOR_VERIFY, cmd_verify, 2, 2, "verify BEFORE AFTER [OPTION...]",
     "show that AFTER computes what BEFORE computes",
     "Exits with 0 if AFTER is shown to compute, bit for bit as HLO defines it, what BEFORE\n"
     "computes: the same values, and the same side effects in the same order. Else exits with "
     "1.\n"},
    {"check", FOR_CHECK, cmd_check, 1, SIZE_MAX, "check FILE|DIR... [OPTION...]",
     "parse and validate modules, and bound their peaks",
     "Reads each FILE as XLA would and looks for what XLA's verifier would refuse. Findings are\n"
     "warnings; a module that contradicts itself is an error. The peak can be bounded by a size "
     "or\n"
     "by the peak of an earlier run: the exit status is 1 when it is larger. DIR is a folder of "
     "dumps:\n"
     "all of it is validated, and bounds hold for each of its modules.\n"},
    {"print", FOR_PRINT, cmd_print, 1, 1, "print FILE [OPTION...]",
     "write the module as it is held in memory",
     "Reads FILE and writes the same text again, byte for byte.\n"},
    {"fmt", FOR_FMT, cmd_fmt, 1, 1, "fmt FILE [OPTION...]", "lay the text out as XLA prints it",
     "Reads FILE and writes it as XLA's printer lays text out. Names, numbers, the order and the\n"
     "comments before the module stay, so that XLA reads the same module.\n"},
    {"pack", FOR_PACK, cmd_pack, 1, 1, "pack FILE.csv [OPTION...]",
     "find offsets for buffers whose live ranges are given",
     "Reads live ranges (CSV: id,lower,upper,size) and writes them with a column `offset`, which\n"
     "says where each buffer lies in one memory, so that no two overlap and the highest end is "
     "low.\n"},
    {"cost", FOR_COST, cmd_cost, 1, 1, "cost FILE [OPTION...]",
     "show where the time goes, as a device profile models it",
     "Shows the flops, transcendentals, bytes and modelled seconds of the HLO text in FILE by\n"
     "opcode, by source line, by scope and by instruction, and what bounds them. What runs in a "
     "loop\n"
     "is multiplied by the trip count.\n"},
    {"calibrate", FOR_CALIBRATE, cmd_calibrate, 1, 1, "calibrate FILE.json|DIR [OPTION...]",
     "fit a device profile to measured times, or to estimates of XLA:TPU",
     "Reads measured times of modules (JSON: {\"runs\": [{\"module\": PATH, \"seconds\": S}, "
     "...]}),\n"
     "fits a device profile to them, which starts from that of --device, writes it, and shows how\n"
     "far the modelled times are off before and after, and for programs that were held out. For a\n"
     "folder, it is fitted to what XLA:TPU estimates of each instruction in the HLO texts in "
     "it.\n"},
    {"list", FOR_LIST, cmd_list, 0, 0, "list [OPTION...]",
     "list schedulers, algorithms, memory models, packings, targets, devices and parameters",
     "Lists what the options --scheduler, --algorithm, --memory-model, --packing, --target, "
     "--device\n"
     "and --set can name.\n"},
};

enum { NUM_COMMANDS = sizeof commands / sizeof *commands };

static const Command *find_command(const char *name) {
  for (size_t i = 0; i < NUM_COMMANDS; i++) {
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  }
  return NULL;
}

unsigned command_bit(const char *name) {
  const Command *command = find_command(name);
  return command ? command->bit : 0;
}

const char *command_name(size_t index, const char **summary) {
  if (index >= NUM_COMMANDS) return NULL;
  *summary = commands[index].summary;
  return commands[index].name;
}

static void print_help(const Command *command, FILE *out) {
  fprintf(out, "usage: remat-hlo %s\n\n%s", command->usage, command->about);
  options_print_help(command->bit, out);
}

static const char usage[] =
    "usage: remat-hlo FILE [--mem-limit=SIZE] [-o OUT] [OPTION...]\n"
    "       remat-hlo COMMAND ...\n";

static void print_commands(FILE *out) {
  for (size_t i = 0; i < NUM_COMMANDS; i++) {
    fprintf(out, "  %-9s  %s\n", commands[i].name, commands[i].summary);
  }
}

/* Prints what a command line without arguments shows. */
static void print_usage(FILE *out) {
  fputs(usage, out);
  print_commands(out);
  fputs("\nremat-hlo --help shows all options, remat-hlo COMMAND --help those of a command.\n",
        out);
}

/* Prints the output of `remat-hlo --help`: all commands, then the options of the first. */
static void print_overview(FILE *out) {
  fputs(usage, out);
  fputs(
      "Reads HLO text as XLA dumps it (--xla_dump_to, --xla_dump_hlo_as_text), schedules it,\n"
      "rematerializes it under a memory budget and writes HLO again.\n\nCommands:\n",
      out);
  print_commands(out);
  fputs(
      "\nEach command has its own --help. If the first argument is a file, the command is remat.\n"
      "Its options are:\n",
      out);
  options_print_help(FOR_REMAT, out);
  fputs(
      "\nExit status: 0 done; 1 the answer is no (the budget is not met, the modules are not\n"
      "equivalent, the peak is too large); 2 wrong usage; 3 bad input; 4 a system error, or a "
      "fault\n"
      "of our own. The manual page remat-hlo(1) has more.\n",
      out);
}

static rh_status fail_command(const char *name) {
  const char *names[NUM_COMMANDS];
  for (size_t i = 0; i < NUM_COMMANDS; i++)
    names[i] = commands[i].name;
  const char *meant = rh_closest_word(name, names, NUM_COMMANDS);
  fprintf(stderr, "remat-hlo: error: '%s' is neither a file nor a command", name);
  if (meant) fprintf(stderr, "; did you mean '%s'?", meant);
  fputs("\n", stderr);
  return RH_ERR_USAGE;
}

/* Checks that stdin is read only once: the first reader would leave nothing for the others. */
static rh_status check_stdin(const Options *options) {
  size_t num_stdin = options->baseline && strcmp(options->baseline, "-") == 0;
  for (size_t i = 0; i < options->num_files; i++)
    num_stdin += strcmp(options->files[i], "-") == 0;
  if (num_stdin <= 1) return RH_OK;
  fputs("remat-hlo: error: only one input can come from stdin\n", stderr);
  return RH_ERR_USAGE;
}

static rh_status check_files(const Command *command, const Options *options) {
  size_t num_files = options->num_files;
  if (num_files >= command->min_files && num_files <= command->max_files) {
    return check_stdin(options);
  }
  const char *what = command->max_files == 0   ? "takes no files"
                     : command->max_files == 1 ? "takes one file"
                     : command->min_files == 2 ? "takes two files, before and after"
                     : command->max_files == 2 ? "takes one file, or two: before and after"
                                               : "needs a file";
  fprintf(stderr, "remat-hlo: error: %s %s\nusage: remat-hlo %s\n", command->name, what,
          command->usage);
  return RH_ERR_USAGE;
}

/* Reads the environment before the command line, so that the command line overrides it. */
static rh_status read_environment(Options *options, unsigned command) {
  static const char *const sources[] = {"XLA_FLAGS", "REMAT_HLO_FLAGS"};
  for (size_t i = 0; i < 2; i++) {
    const char *flags = getenv(sources[i]);
    if (!flags) continue;
    rh_status status = options_parse_flags(options, command, flags, sources[i], i == 0);
    if (status != RH_OK) return status;
  }
  return RH_OK;
}

static rh_status read_options(Options *options, const Command *command, int argc, char **argv) {
  rh_status status = options_parse(options, command->bit, argc, argv);
  if (status != RH_OK || !options->xla_flags_env) return status;
  options_free(options);
  options_init(options);
  status = read_environment(options, command->bit);
  return status == RH_OK ? options_parse(options, command->bit, argc, argv) : status;
}

static rh_status run(const Command *command, bool is_named, int argc, char **argv) {
  Options options;
  options_init(&options);
  rh_status status = read_options(&options, command, argc, argv);
  if (status != RH_OK) {
    fprintf(stderr, "try 'remat-hlo %s%s--help'\n", is_named ? command->name : "",
            is_named ? " " : "");
  } else if (options.version) {
    printf("remat-hlo %s\n", rh_version());
  } else if (options.help && is_named) {
    print_help(command, stdout);
  } else if (options.help) {
    print_overview(stdout);
  } else {
    status = check_files(command, &options);
    if (status == RH_OK) status = command->run(&options);
  }
  options_free(&options);
  return status;
}

rh_status command_run(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return RH_ERR_USAGE;
  }
  const Command *command = find_command(argv[1]);
  if (command) return run(command, true, argc - 1, argv + 1);
  if (argv[1][0] != '-' && !strpbrk(argv[1], "./") && access(argv[1], F_OK) != 0) {
    return fail_command(argv[1]);
  }
  return run(&commands[0], false, argc, argv);
}
