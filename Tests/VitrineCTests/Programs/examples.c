/* The examples of Docs/C.md, word for word, so that they compile as long as the header does. usage: examples FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitrine.h>

static void draw(const void *bytes, size_t byte_count) { (void)bytes, (void)byte_count; }

static vitrine_store *open_store(const char *folder) {
  vitrine_options options = {0};
  options.size = sizeof options;
  options.byte_budget = 512 << 20; /* the whole folder never takes more */
  options.wait_for_lock = 2000;

  vitrine_store *store;
  vitrine_error error;
  if (vitrine_open(folder, &options, &store, &error) != VITRINE_OK) {
    fprintf(stderr, "%s\n", error.text);
    return NULL;
  }
  return store;
}

static int put_picture(vitrine_store *store, const char *url, const void *jpeg, size_t jpeg_size, int64_t tomorrow) {
  vitrine_put_options put = {0};
  put.size = sizeof put;
  put.metadata = "image/jpeg";
  put.metadata_length = strlen("image/jpeg");
  put.expiration = tomorrow;
  put.durability = VITRINE_SYNCED;

  vitrine_error error;
  if (vitrine_put(store, url, strlen(url), NULL, 0, jpeg, jpeg_size, &put, &error) < 0) {
    fprintf(stderr, "%d: %s\n", (int)error.status, error.text);
    return -1;
  }
  return 0;
}

static void get_picture(vitrine_store *store, const char *url) {
  vitrine_value *value;
  if (vitrine_get(store, url, strlen(url), "square-60@2x", 12, &value, NULL) == VITRINE_OK) {
    draw(vitrine_value_bytes(value), vitrine_value_size(value));
    vitrine_value_release(value);
  }
}

static void draw_borrowed(void *context, const void *bytes, size_t byte_count) {
  size_t *drawn = context;
  draw(bytes, byte_count); /* valid until this function returns */
  *drawn += byte_count;
}

static size_t borrow_picture(vitrine_store *store, const char *url) {
  size_t drawn = 0;
  vitrine_borrow(store, url, strlen(url), NULL, 0, draw_borrowed, &drawn);
  return drawn;
}

static void get_pictures(vitrine_store *store) {
  vitrine_key keys[2] = {{"https://example.org/a.jpg", 25, NULL, 0}, {"https://example.org/b.jpg", 25, NULL, 0}};
  vitrine_value *values[2];
  if (vitrine_get_many(store, keys, 2, values, NULL) == VITRINE_OK) {
    for (int index = 0; index < 2; index++) {
      if (values[index]) draw(vitrine_value_bytes(values[index]), vitrine_value_size(values[index]));
      vitrine_value_release(values[index]);
    }
  }
}

static void put_once(vitrine_store *store, const char *url, const void *bytes, size_t byte_count) {
  vitrine_condition absent = {0};
  absent.size = sizeof absent;
  absent.kind = VITRINE_IF_ABSENT;
  vitrine_put_if(store, url, strlen(url), NULL, 0, bytes, byte_count, &absent, NULL, NULL);
}

static void change_together(vitrine_store *store) {
  vitrine_batch *batch;
  if (vitrine_batch_create(&batch, NULL) == VITRINE_OK) {
    vitrine_batch_put(batch, "new", 3, NULL, 0, "bytes", 5, NULL, NULL);
    vitrine_batch_remove(batch, "old", 3, NULL, 0, NULL);
    vitrine_write(store, batch, VITRINE_SYNCED, NULL);
    vitrine_batch_release(batch);
  }
}

static void list_entries(vitrine_store *store) {
  vitrine_cursor *cursor;
  vitrine_status status = vitrine_cursor_open(
    store, "https://example.org/", 20, NULL, 0, VITRINE_CURSOR_SORTED, &cursor, NULL);
  if (status == VITRINE_OK) {
    vitrine_entry entry = {0};
    entry.size = sizeof entry;
    while (vitrine_cursor_next(cursor, &entry) == VITRINE_OK) {
      printf("%.*s %.*s\n", (int)entry.url_length, entry.url, (int)entry.style_length, entry.style);
    }
    vitrine_cursor_release(cursor);
  }
}

static void close_store(vitrine_store *store) {
  vitrine_error error;
  if (vitrine_close(store, &error) != VITRINE_OK) {
    fprintf(stderr, "the last changes may not be durable: %s\n", error.text);
  }
  vitrine_store_release(store);
}

int main(int count, char **arguments) {
  static const char cat[] = "https://example.org/cat.jpg";
  vitrine_store *store = count == 2 ? open_store(arguments[1]) : NULL;
  if (!store) return 1;
  if (put_picture(store, cat, "jpeg", 4, INT64_C(4102444800000)) != 0) return 1;
  get_picture(store, cat);
  if (borrow_picture(store, cat) != 4) return 1;
  get_pictures(store);
  put_once(store, "once", "bytes", 5);
  change_together(store);
  list_entries(store);
  close_store(store);
  return 0;
}
