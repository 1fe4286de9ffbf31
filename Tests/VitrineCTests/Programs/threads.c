/* Uses one store from many threads, and closes it meanwhile. usage: threads FOLDER */
#include <pthread.h>
#include <string.h>
#include <vitrine.h>

#include "check.h"

enum { THREADS = 6, STEPS = 300, KEYS = 8 };

struct work {
  vitrine_store *store;
  vitrine_value *kept[THREADS]; /* of each thread, released by the next one */
  pthread_barrier_t barrier;
};

struct worker {
  struct work *work;
  int index;
};

static void compare(void *context, const void *bytes, size_t byte_count) {
  const char *expected = context;
  size_t length = strlen(expected), offset;
  CHECK(byte_count == length * 50);
  for (offset = 0; offset < byte_count; offset += length) {
    CHECK(!memcmp((const char *)bytes + offset, expected, length));
  }
}

/* Every status but those of an open or of a closed store is a mistake. */
static int is_open(vitrine_status status) {
  CHECK(status >= 0 || status == VITRINE_ERROR_CLOSED);
  return status >= 0;
}

static void *run(void *context) {
  struct worker *worker = context;
  vitrine_store *store = worker->work->store;
  vitrine_value *value = NULL;
  int step, is_used = 1;
  for (step = 0; step < STEPS && is_used; step++) {
    char url[32], style[32], expected[80], bytes[80 * 50];
    size_t length;
    vitrine_cursor *cursor = NULL;
    vitrine_entry entry;
    int copy;
    sprintf(url, "url-%d", step % KEYS);
    sprintf(style, "style-%d", step % 40);
    length = (size_t)sprintf(expected, "%s/%s;", url, style);
    for (copy = 0; copy < 50; copy++) memcpy(bytes + (size_t)copy * length, expected, length);
    is_used = is_open(vitrine_put(store, url, strlen(url), style, strlen(style), bytes, length * 50, NULL, NULL)) &&
              is_open(vitrine_borrow(store, url, strlen(url), style, strlen(style), compare, expected)) &&
              is_open(vitrine_contains(store, url, strlen(url), style, strlen(style), NULL));
    if (vitrine_get(store, url, strlen(url), style, strlen(style), &value, NULL) == VITRINE_OK) {
      compare(expected, vitrine_value_bytes(value), vitrine_value_size(value));
      vitrine_value_release(value);
    }
    if (step % 50 == worker->index &&
        vitrine_cursor_open(store, url, strlen(url), NULL, 0, 1, &cursor, NULL) == VITRINE_OK) {
      entry.size = sizeof entry;
      while (vitrine_cursor_next(cursor, &entry) == VITRINE_OK) CHECK(!memcmp(entry.url, url, entry.url_length));
      vitrine_cursor_release(cursor);
    }
    if (step % 70 == worker->index) is_open(vitrine_remove(store, url, strlen(url), style, strlen(style), 0, NULL));
    if (worker->index == 0 && step == STEPS / 2) is_open(vitrine_compact(store, NULL, NULL, NULL, NULL));
  }
  pthread_barrier_wait(&worker->work->barrier);
  if (worker->index == 0) CHECK(vitrine_close(store, NULL) == VITRINE_OK);
  vitrine_value_release(worker->work->kept[(worker->index + 1) % THREADS]);
  is_open(vitrine_put(store, "a", 1, NULL, 0, "a", 1, NULL, NULL));
  return NULL;
}

int main(int count, char **arguments) {
  struct work work;
  struct worker workers[THREADS];
  pthread_t threads[THREADS];
  int index;
  CHECK(count == 2);
  CHECK(vitrine_open(arguments[1], NULL, &work.store, NULL) == VITRINE_OK);
  CHECK(vitrine_put(work.store, "kept", 4, NULL, 0, "kept", 4, NULL, NULL) == VITRINE_OK);
  CHECK(pthread_barrier_init(&work.barrier, NULL, THREADS) == 0);
  for (index = 0; index < THREADS; index++) {
    CHECK(vitrine_get(work.store, "kept", 4, NULL, 0, &work.kept[index], NULL) == VITRINE_OK);
  }
  for (index = 0; index < THREADS; index++) {
    workers[index].work = &work;
    workers[index].index = index;
    CHECK(pthread_create(&threads[index], NULL, run, &workers[index]) == 0);
  }
  for (index = 0; index < THREADS; index++) CHECK(pthread_join(threads[index], NULL) == 0);
  vitrine_store_release(work.store);
  puts("all promises kept");
  return 0;
}
