/* The words of a remedy that is a checkpoint around a function or scope. */
#include "advice/present_checkpoint.h"
#include "advice/scope_study.h"
#include "emit/human.h"

static Str kept(const Study *study, Str raw) {
  Str text = human_unescape(raw, study->advisor->out);
  return (Str){arena_strndup(study->advisor->out, text.data, text.len), text.len};
}

static const char *times_text(const Study *study, const Proposal *proposal) {
  uint32_t count = proposal->layers->num_instances;
  if (count == 1) return "";
  if (count == 2 && proposal->every == 1) return ", both of them";
  if (proposal->every == 1) return arena_printf(study->advisor->out, ", all %u of them", count);
  return arena_printf(study->advisor->out, ", every %u%s of %u", proposal->every,
                      proposal->every == 2   ? "nd"
                      : proposal->every == 3 ? "rd"
                                             : "th",
                      count);
}

/* What goes behind the line of code: at which calls, and in place of what. */
static const char *note_text(const Study *study, const Proposal *proposal,
                             PresentCheckpoint present) {
  const char *note = study->inside == INSIDE_THE_ONLY ? "  # in place of the one around everything"
                                                      : present_note(present);
  if (proposal->every == 1) return note;
  const char *what = proposal->layers->is_step ? "step" : "call";
  return arena_printf(study->advisor->out,
                      "  # at %s 0, %u, … of %u%s%s; the other %ss stay as they are", what,
                      proposal->every, proposal->layers->num_instances, note[0] ? ", " : "",
                      note[0] ? note + sizeof "  # " - 1 : "", what);
}

/* Where the function is called or, of a scope, the first line in it. */
static SourcePlace place_of(const Study *study, const Layers *layers) {
  if (layers->is_step)
    return (SourcePlace){.file = kept(study, layers->place.file), .line = layers->place.line};
  if (layers->place.file.len) {
    SourcePlace place = present_place(study->advisor->module, layers->function, layers->place);
    return (SourcePlace){.file = kept(study, place.file), .line = place.line};
  }
  for (SchedPos pos = 0; pos <= study->forward.end; pos++) {
    if (layers->instance_of[pos] == NO_ID) continue;
    SourcePlace place = advisor_place(study->advisor, study->forward.sequence.ids[pos]);
    if (place.file.len) return place;
  }
  return (SourcePlace){0};
}

/* Why what is there does not help; empty if nothing is. */
static const char *explain_present(const Study *study, PresentCheckpoint present) {
  static const char at_once[] =
      " The checkpoint that is there computes all that is inside it again at once, before its "
      "backward part begins, so that all of it lives together.";
  switch (study->inside) {
    case INSIDE_THE_ONLY: return at_once;
    case INSIDE_ONE:
      return arena_printf(study->advisor->out, "%s These come inside it, or it is cut.", at_once);
    default: return present_explanation(present);
  }
}

static const char *policy_title(const Study *study, const Proposal *proposal) {
  switch (proposal->policy) {
    case POLICY_DOTS: return ", which keeps matrix products";
    case POLICY_WEIGHT_DOTS: return ", which keeps products with weights";
    case POLICY_NAMES: return policy_names_title(proposal->lines, study->advisor->out);
    default: return "";
  }
}

static const char *subject_text(const Study *study, const Layers *layers, Str function, Str scope) {
  Arena *out = study->advisor->out;
  if (!function.len)
    return arena_printf(out, "what is in the scope `%.*s`", (int)scope.len, scope.data);
  if (!layers->is_step)
    return arena_printf(out, "the function `%.*s`", (int)function.len, function.data);
  if (layers->first_line == layers->last_line)
    return arena_printf(out, "the step of the loop in `%.*s`", (int)function.len, function.data);
  return arena_printf(out, "the step of the loop in `%.*s`, lines %d to %d,", (int)function.len,
                      function.data, layers->first_line, layers->last_line);
}

/* The line that makes a checkpoint. The step of a loop becomes a function first. */
static const char *code_text(const Study *study, const Layers *layers, Str function, Str scope,
                             const char *policy) {
  static const char step[] = "step";
  const Advisor *advisor = study->advisor;
  Framework framework = advisor->framework;
  if (!layers->is_step)
    return framework_checkpoint(advisor->module, framework, function, scope, policy, advisor->out);
  const char *call = framework_checkpoint(
      advisor->module, framework, str_make(step, sizeof step - 1), (Str){0}, policy, advisor->out);
  const char *lines =
      layers->first_line == layers->last_line
          ? arena_printf(advisor->out, "line %d", layers->first_line)
          : arena_printf(advisor->out, "lines %d to %d", layers->first_line, layers->last_line);
  return arena_printf(
      advisor->out,
      "def step(x, w): …  # %s; x is what the loop changes, w what it goes through\n"
      "x = %s%s",
      lines, call, framework == FRAMEWORK_PYTORCH ? "" : "(x, w)");
}

/* What is to be done where a function is not called as often as it seems. */
static const char *explain_steps(const Study *study, const Proposal *proposal,
                                 PresentCheckpoint present) {
  const Layers *layers = proposal->layers;
  bool is_open = !layers->is_step && layers->first_line > 0 && layers->num_instances > 1;
  if (!is_open || present != PRESENT_NONE) return "";
  return arena_printf(study->advisor->out,
                      " If the function is called once and has a loop of %u steps, put the step of "
                      "that loop under a checkpoint instead.",
                      layers->num_instances);
}

void scope_write_remedy(const Study *study, const Proposal *proposal, rh_remedy *remedy) {
  static const char *const where[] = {"", ", in place of the one around everything",
                                      ", inside the one that is there"};
  Advisor *advisor = study->advisor;
  const Layers *layers = proposal->layers;
  SourcePlace place = place_of(study, layers);
  PresentCheckpoint present =
      study->inside ? PRESENT_NONE : present_checkpoint(advisor, study->forward.sequence, layers);
  Str function = kept(study, layers->function), scope = kept(study, layers->scope);
  const char *policy = policy_name(proposal->policy), *names = "";
  const char *what = subject_text(study, layers, function, scope);
  advisor_set_place(remedy, place);
  /* What the checkpoint that is there keeps and computes again is known by names only. */
  if (present == PRESENT_SAVES || study->inside) remedy->confidence = "medium";
  /* Of a module that is called several times in one scope, nothing tells the calls apart. */
  bool is_of_library = framework_library(advisor->module) != LIBRARY_NONE;
  if (!function.len && is_of_library) remedy->confidence = "medium";
  remedy->function = text_of_str(function);
  remedy->scope = text_of_str(scope);
  remedy->first_line = layers->first_line;
  remedy->last_line = layers->last_line;
  remedy->is_step = layers->is_step;
  if (policy) remedy->policy = advice_text(advisor->out, "%s", policy);
  remedy->title =
      advice_text(advisor->out, "%s: put %s under a checkpoint%s%s%s%s",
                  advisor_where(advisor, place), what, times_text(study, proposal),
                  policy_title(study, proposal), where[study->inside], present_title(present));
  if (proposal->policy == POLICY_NAMES) {
    names = policy_names_code(proposal->lines, function, advisor->out);
    policy = policy_names_call(proposal->lines, function, advisor->out);
  }
  remedy->code =
      advice_text(advisor->out, "%s%s%s", names, code_text(study, layers, function, scope, policy),
                  note_text(study, proposal, present));
  remedy->explanation = advice_text(
      advisor->out,
      "The backward part reads %s that %s made, and that waits for it%s. Under a checkpoint the "
      "inputs wait instead, and the backward part computes the rest again, one repetition at a "
      "time.%s%s",
      human_bytes(remedy->bytes_at_peak).text, function.len ? "it" : "the scope",
      study->inside ? "" : " since the forward part", explain_present(study, present),
      explain_steps(study, proposal, present));
}
