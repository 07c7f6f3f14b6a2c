#include "ir/parallel.h"

#include <stdlib.h>

#include "support.h"

enum { NUM_TASKS = 50, FAILING_TASK = 31, TOO_MANY_BYTES = 1 << 30 };

typedef struct Work {
  int *results[NUM_TASKS];
  uint32_t failing; /* the task that asks for too much; NUM_TASKS = none */
} Work;

static void square(void *context, uint32_t number, Arena *out, Arena *scratch) {
  Work *work = context;
  int *copy = arena_alloc(scratch, sizeof *copy);
  *copy = (int)(number * number);
  if (number == work->failing) (void)arena_alloc(scratch, TOO_MANY_BYTES);
  work->results[number] = arena_alloc(out, sizeof(int));
  *work->results[number] = *copy;
}

static const unsigned thread_counts[] = {0, 1, 2, 3, 8, 200};

START_TEST(each_task_is_done_once) {
  Arena *scratch = arena_new(NULL), *outs[NUM_TASKS];
  for (int i = 0; i < NUM_TASKS; i++)
    outs[i] = arena_new(NULL);
  Work work = {.failing = NUM_TASKS};
  run_tasks(thread_counts[_i], NUM_TASKS, square, &work, outs, scratch);
  for (int i = 0; i < NUM_TASKS; i++) {
    ck_assert_int_eq(*work.results[i], i * i);
    arena_free(outs[i]);
  }
  run_tasks(thread_counts[_i], 0, square, &work, outs, scratch);
  arena_free(scratch);
}
END_TEST

/* The arenas stay under their guard, wherever memory ran out, so that they are freed with it. */
START_TEST(lack_of_memory_is_the_callers) {
  ArenaGuard guard = {0};
  const ArenaOptions options = {.guard = &guard, .max_bytes = 1 << 30};
  Work *work = calloc(1, sizeof *work);
  work->failing = FAILING_TASK;
  if (setjmp(guard.jump) == 0) {
    Arena *scratch = arena_new(&options), *outs[NUM_TASKS];
    for (int i = 0; i < NUM_TASKS; i++)
      outs[i] = arena_new(&options);
    run_tasks(thread_counts[_i], NUM_TASKS, square, work, outs, scratch);
    ck_abort_msg("the lack of memory was lost");
  }
  ck_assert_uint_ge(guard.wanted_bytes, TOO_MANY_BYTES);
  arena_guard_free_all(&guard);
  ck_assert_ptr_null(guard.arenas);
  free(work);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parallel");
  TCase *tasks = tcase_create("tasks");
  tcase_add_loop_test(tasks, each_task_is_done_once, 0, 6);
  tcase_add_loop_test(tasks, lack_of_memory_is_the_callers, 0, 6);
  suite_add_tcase(suite, tasks);
  return run_suite(suite);
}
