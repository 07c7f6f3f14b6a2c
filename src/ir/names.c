#include "ir/names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static uint64_t hash_of(Str name) {
  return hash_name(HASH_SEED, name);
}

static uint32_t find_entry(const NameSet *names, Str name) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&names->table, hash_of(name)); id_probe_next(&probe, &id);) {
    if (str_equal(names->entries.data[id].name, name)) return id;
  }
  return NO_ID;
}

/* Returns the entry of a name, which is added if it is new. */
static uint32_t add_entry(NameSet *names, Str name) {
  uint32_t id = find_entry(names, name);
  if (id != NO_ID) return id;
  id = names->entries.len;
  *vec_push(names->arena, &names->entries) = (NameEntry){.name = name};
  id_table_add(&names->table, names->arena, hash_of(name), id);
  return id;
}

NameSet names_of_insts(const Module *module, Arena *out) {
  return (NameSet){.arena = out, .unread = module};
}

static void read_names(NameSet *names) {
  const Module *module = names->unread;
  if (!module) return;
  names->unread = NULL;
  vec_reserve(names->arena, &names->entries, module->insts.len);
  id_table_reserve(&names->table, names->arena, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (id + FETCH_AHEAD < module->insts.len)
      id_table_prefetch(&names->table, hash_of(inst_name(module, id + FETCH_AHEAD)));
    if (inst_get(module, id)->flags & INST_DEAD) continue;
    uint32_t entry = add_entry(names, inst_name(module, id));
    names->entries.data[entry].num_owners++;
  }
}

NameSet names_of_comps(const Module *module, Arena *out) {
  NameSet names = {.arena = out};
  for (CompId id = 0; id < module->comps.len; id++) {
    if (!(comp_get(module, id)->flags & COMP_DEAD)) add_entry(&names, comp_name(module, id));
  }
  return names;
}

bool name_is_ambiguous(NameSet *names, Str name) {
  read_names(names);
  uint32_t id = find_entry(names, name);
  return id != NO_ID && names->entries.data[id].num_owners > 1;
}

/* Splits a name at its last '.', if a number that fits follows it. `*stem` is the part before the
 * '.'. Returns false if the name does not end in such a number. */
static bool split_number(Str name, Str *stem, int64_t *number) {
  uint32_t dot = name.len;
  while (dot > 0 && name.data[dot - 1] != '.')
    dot--;
  if (dot < 2 || dot == name.len || name.len - dot > 18) return false;
  *number = 0;
  for (uint32_t i = dot; i < name.len; i++) {
    if (name.data[i] < '0' || name.data[i] > '9') return false;
    *number = *number * 10 + (name.data[i] - '0');
  }
  *stem = (Str){name.data, dot - 1};
  return true;
}

/* Joins `stem`, `middle`, and the number if it is not 0. Names can be longer than %.*s allows. */
static Str join(Arena *out, Str stem, const char *middle, int64_t number) {
  char tail[64];
  size_t tail_len = number ? (size_t)snprintf(tail, sizeof tail, "%s%" PRId64, middle, number)
                           : (size_t)snprintf(tail, sizeof tail, "%s", middle);
  char *text = arena_alloc(out, stem.len + tail_len + 1);
  memcpy(text, stem.data, stem.len);
  memcpy(text + stem.len, tail, tail_len + 1);
  return str_make(text, stem.len + tail_len);
}

static Str copy_name(NameSet *names, Str name) {
  return (Str){arena_strndup(names->arena, name.data, name.len), name.len};
}

Str name_unique(NameSet *names, Str wanted) {
  read_names(names);
  if (find_entry(names, wanted) == NO_ID) {
    Str name = copy_name(names, wanted);
    add_entry(names, name);
    return name;
  }
  Str stem = wanted;
  int64_t number = 0;
  split_number(wanted, &stem, &number);
  /* If the name of the stem is not in use, its entry only holds the counter. */
  uint32_t counter = find_entry(names, stem);
  if (counter == NO_ID) counter = add_entry(names, copy_name(names, stem));
  for (;;) {
    number = ++names->entries.data[counter].next_number;
    Str name = join(names->arena, stem, ".", number);
    if (find_entry(names, name) != NO_ID) continue;
    add_entry(names, name);
    return name;
  }
}

NameList names_save(const NameSet *names, Arena *out) {
  uint32_t len = names->entries.len;
  NameList list = {
      .unread = names->unread, .entries = arena_array(out, NameEntry, len), .len = len};
  if (len) memcpy(list.entries, names->entries.data, len * sizeof *list.entries);
  return list;
}

/* Names are never written twice, so equal ones of a set are at the same place. */
static bool has_list(const NameSet *names, const NameList *list) {
  if (names->unread != list->unread || names->entries.len != list->len) return false;
  for (uint32_t id = list->len; id-- > 0;) {
    if (names->entries.data[id].name.data != list->entries[id].name.data) return false;
  }
  return true;
}

void names_restore(NameSet *names, const NameList *list) {
  if (has_list(names, list)) return;
  names->unread = list->unread;
  vec_reserve(names->arena, &names->entries, list->len);
  names->entries.len = list->len;
  id_table_clear(&names->table);
  for (uint32_t id = 0; id < list->len; id++) {
    names->entries.data[id] = list->entries[id];
    names->entries.data[id].next_number =
        /* Names that are not in use any more may have advanced the counters. */
        0;
    id_table_add(&names->table, names->arena, hash_of(list->entries[id].name), id);
  }
}

/* Returns the number for the next `….suffix`, where `rest` is the part of a name after `.suffix`: 2
 * if it is empty, N+1 if it is the number N, and 0 for anything else. */
static int64_t next_number(Str rest) {
  if (rest.len == 0) return 2;
  if (rest.len > 18) return 0;
  int64_t number = 0;
  for (uint32_t i = 0; i < rest.len; i++) {
    if (rest.data[i] < '0' || rest.data[i] > '9') return 0;
    number = number * 10 + (rest.data[i] - '0');
  }
  return number + 1;
}

Str name_with_suffix(Str name, const char *suffix, Arena *out) {
  char dotted[32];
  uint32_t len = (uint32_t)snprintf(dotted, sizeof dotted, ".%s", suffix);
  assert(len < sizeof dotted && "suffixes are short words of our own");
  for (uint32_t begin = name.len; begin-- > 0;) { /* finds the last occurrence of `.suffix` */
    if (begin + len > name.len || memcmp(name.data + begin, dotted, len) != 0) continue;
    uint32_t end = begin + len;
    int64_t number = next_number((Str){name.data + end, name.len - end});
    if (number) return join(out, (Str){name.data, begin}, dotted, number);
    break;
  }
  return join(out, name, dotted, 0);
}
