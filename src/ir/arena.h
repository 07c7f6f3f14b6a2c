/* Arenas: memory that is allocated piece by piece and freed together.
 *
 * The program uses two lifetimes: that of a module's arena (graph, names, results), and that of a
 * scratch arena per call, which a pass resets at its only exit. A parameter called `out` or
 * `scratch` says which one is meant. Nothing outside arena.c calls malloc.
 *
 *   ArenaMark mark = arena_mark(scratch);
 *   uint32_t *pending = arena_array(scratch, uint32_t, num_insts);
 *   sched->order = arena_array(out, InstId, num_insts);    lives as long as `out`
 *   arena_reset(scratch, mark);                            frees `pending`
 *
 * No pass checks whether an allocation succeeds. If an arena cannot get memory, it jumps to the
 * guard under which it was made. The code there frees every arena that was made since the guard was
 * opened, and returns an error (api/call.h; each public function opens a guard). Resources other
 * than memory belong to an arena and are released with it. If an arena without a guard cannot get
 * memory, the program ends. */
#ifndef REMAT_HLO_IR_ARENA_H
#define REMAT_HLO_IR_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

/* The place where execution continues when memory runs out. `jump` is set by setjmp, and all other
 * fields are zero at first. A guard and the arenas under it are used by one thread. */
typedef struct ArenaGuard {
  jmp_buf jump;
  Arena *arenas;       /* the arenas made under it that are not freed yet, newest first */
  size_t wanted_bytes; /* the size that could not be allocated, for the message */
  size_t limit_bytes;  /* ArenaOptions.max_bytes of the arena that asked for it */
} ArenaGuard;

typedef struct ArenaOptions {
  size_t max_bytes;  /* 0 = no limit */
  ArenaGuard *guard; /* NULL = the program ends when memory runs out */
} ArenaOptions;

/* A state of an arena to which it can be reset. It is valid until the arena is reset to an earlier
 * mark. */
typedef struct ArenaMark {
  void *chunk;
  char *next;
  void *owned;
  uint64_t num_blocks_ever;
} ArenaMark;

/* Returns a new, empty arena. `options` may be NULL, which means the defaults. */
Arena *arena_new(const ArenaOptions *options);
void arena_free(Arena *arena);

/* Returns the options that the arena was made with, from which a similar arena can be made. */
const ArenaOptions *arena_options(const Arena *arena);

/* Frees all arenas under the guard, after a jump. Their order does not matter. */
void arena_guard_free_all(ArenaGuard *guard);

/* Removes all arenas from the guard. Those that are not freed are results, which the caller
 * keeps. */
void arena_guard_release_all(ArenaGuard *guard);

/* Makes an arena that existed before jump to another guard, or to none if `guard` is NULL, and
 * returns its previous guard. The new guard does not free the arena. After a jump, the arena is as
 * it was before the request that failed. */
ArenaGuard *arena_swap_guard(Arena *arena, ArenaGuard *guard);

/* Acts as if the arena had failed to allocate memory, for other functions that have run out of
 * memory. */
_Noreturn void arena_fail(Arena *arena, size_t wanted_bytes);

/* Registers a resource other than arena memory, which is released with the arena. Returns a
 * pointer, at first to NULL, to which the caller assigns the resource. When the arena is freed, or
 * reset to an earlier mark, `release` is called with the resource unless it is NULL. The newest
 * resource is released first, and the arena's memory is still valid then. */
void **arena_own(Arena *arena, void (*release)(void *thing));

/* Returns `bytes` of uninitialized memory, aligned for any object. The result is never NULL, even
 * for 0 bytes. */
void *arena_alloc(Arena *arena, size_t bytes);
void *arena_zalloc(Arena *arena, size_t bytes);

/* Enlarges a block that arena_alloc or arena_grow returned, like realloc, and keeps its contents.
 * The old block may be wasted until the arena is freed; if sizes double, the waste is smaller than
 * the final size. */
void *arena_grow(Arena *arena, void *old, size_t old_bytes, size_t new_bytes);

enum { CACHE_LINE_BYTES = 64 }; /* on x86-64 and most of AArch64 */

/* Allocates memory for the next requests in one piece, including large requests. It is for callers
 * that know roughly how much they need, for several arrays at once. The first of them begins a
 * cache line. Unused memory is not touched. */
void arena_reserve(Arena *arena, size_t bytes);

/* Returns a NUL-terminated copy. */
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

ArenaMark arena_mark(const Arena *arena);
void arena_reset(Arena *arena, ArenaMark mark);

/* Returns the bytes that the arena currently holds from the system. */
size_t arena_bytes(const Arena *arena);

/* Returns `count * size`. If the product overflows, that is treated as running out of memory. */
size_t arena_array_bytes(Arena *arena, size_t count, size_t size);

#define arena_array(arena, type, count) \
  ((type *)arena_alloc((arena), arena_array_bytes((arena), (count), sizeof(type))))
#define arena_zarray(arena, type, count) \
  ((type *)arena_zalloc((arena), arena_array_bytes((arena), (count), sizeof(type))))

#endif
