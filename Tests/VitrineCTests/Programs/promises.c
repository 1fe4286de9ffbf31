/* Checks the promises of vitrine.h. usage: promises FOLDER. The status is 0 if all are kept. */
#include <pthread.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vitrine.h>

#include "check.h"

static const char *const cat = "https://example.org/cat.jpg";

static vitrine_store *open_store(const char *folder, uint32_t flags) {
  vitrine_options options = {0};
  vitrine_store *store = NULL;
  vitrine_error error;
  options.size = sizeof options;
  options.byte_budget = 64 << 20;
  options.flags = flags;
  if (vitrine_open(folder, &options, &store, &error) != VITRINE_OK) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
  return store;
}

static vitrine_status put_text(vitrine_store *store, const char *url, const char *style, const char *text) {
  return vitrine_put(store, url, strlen(url), style, style ? strlen(style) : 0, text, strlen(text), NULL, NULL);
}

/* --- Putting and getting --- */

static void values_return_the_bytes_that_were_put(vitrine_store *store) {
  vitrine_put_options options = {0};
  vitrine_value *value = NULL;
  vitrine_value_info info;
  options.size = sizeof options;
  options.metadata = "image/jpeg";
  options.metadata_length = 10;
  options.expiration = INT64_C(4102444800000);
  CHECK(vitrine_put(store, cat, strlen(cat), NULL, 0, "jpeg", 4, &options, NULL) == VITRINE_OK);
  CHECK(vitrine_get(store, cat, strlen(cat), "original", 8, &value, NULL) == VITRINE_OK);
  memset(&info, 0xFF, sizeof info);
  info.size = sizeof info;
  CHECK(vitrine_value_get_info(value, &info) == VITRINE_OK);
  CHECK(info.size == sizeof info && info.byte_count == 4 && !memcmp(info.bytes, "jpeg", 4));
  CHECK(info.metadata_length == 10 && !memcmp(info.metadata, "image/jpeg", 10));
  CHECK(info.expiration == options.expiration && info.written > 0 && info.width == 0 && !info.is_copy);
  CHECK(vitrine_value_bytes(value) == info.bytes && vitrine_value_size(value) == 4);
  CHECK(vitrine_value_is_damaged(value) == 0);
  CHECK(vitrine_remove(store, cat, strlen(cat), NULL, 0, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_remove(store, cat, strlen(cat), NULL, 0, 0, NULL) == VITRINE_NOT_FOUND);
  CHECK(!memcmp(vitrine_value_bytes(value), "jpeg", 4));
  vitrine_value_release(value);
  CHECK(vitrine_get(store, cat, strlen(cat), NULL, 0, &value, NULL) == VITRINE_NOT_FOUND && !value);
}

static void an_empty_value_has_a_pointer(vitrine_store *store) {
  vitrine_value *value = NULL;
  CHECK(vitrine_put(store, NULL, 0, NULL, 0, NULL, 0, NULL, NULL) == VITRINE_OK);
  CHECK(vitrine_get(store, NULL, 0, NULL, 0, &value, NULL) == VITRINE_OK);
  CHECK(vitrine_value_bytes(value) && vitrine_value_size(value) == 0);
  vitrine_value_release(value);
}

static void a_larger_struct_of_a_later_header_is_accepted(vitrine_store *store) {
  struct {
    vitrine_stat known;
    unsigned char later[32];
  } stat;
  struct {
    vitrine_put_options known;
    uint64_t later;
  } options;
  size_t index;
  memset(&stat, 0xFF, sizeof stat);
  stat.known.size = sizeof stat;
  CHECK(vitrine_get_stat(store, &stat.known, NULL) == VITRINE_OK && stat.known.size == sizeof stat);
  for (index = 0; index < sizeof stat.later; index++) CHECK(stat.later[index] == 0);
  memset(&options, 0, sizeof options);
  options.known.size = sizeof options;
  CHECK(vitrine_put(store, "a", 1, NULL, 0, "a", 1, &options.known, NULL) == VITRINE_OK);
  options.later = 1;
  CHECK(vitrine_put(store, "a", 1, NULL, 0, "a", 1, &options.known, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
}

struct seen {
  size_t calls, bytes;
  const void *last;
};

static void see(void *context, const void *bytes, size_t byte_count) {
  struct seen *seen = context;
  seen->calls += 1;
  seen->bytes += byte_count;
  seen->last = bytes;
}

static void see_many(void *context, size_t index, const void *bytes, size_t byte_count) {
  struct seen *seen = context;
  CHECK(index == seen->calls);
  seen->calls += 1;
  seen->bytes += byte_count;
  CHECK((bytes == NULL) == (index == 1));
}

static void borrows_call_the_function_once_for_a_hit(vitrine_store *store) {
  struct seen seen = {0, 0, NULL};
  int index;
  CHECK(put_text(store, "b", "small", "borrowed") == VITRINE_OK);
  CHECK(vitrine_borrow(store, "b", 1, "small", 5, see, &seen) == VITRINE_OK);
  CHECK(seen.calls == 1 && seen.bytes == 8 && seen.last);
  CHECK(vitrine_borrow(store, "b", 1, "other", 5, see, &seen) == VITRINE_NOT_FOUND && seen.calls == 1);
  CHECK(vitrine_borrow(store, "b", 1, "no style", 8, see, &seen) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_borrow(store, "b", 1, "small", 5, NULL, &seen) == VITRINE_ERROR_INVALID_ARGUMENT);
  /* More styles than the store keeps in its table. */
  for (index = 0; index < 400; index++) {
    char style[32];
    sprintf(style, "square-%d@2x", index);
    CHECK(put_text(store, "b", style, style) == VITRINE_OK);
    seen.bytes = 0;
    CHECK(vitrine_borrow(store, "b", 1, style, strlen(style), see, &seen) == VITRINE_OK);
    CHECK(seen.bytes == strlen(style));
  }
}

static void many_keys_are_answered_in_their_order(vitrine_store *store) {
  vitrine_key keys[3] = {{"b", 1, "small", 5}, {"absent", 6, NULL, 0}, {"b", 1, "square-0@2x", 11}};
  vitrine_value *values[3];
  struct seen seen = {0, 0, NULL};
  CHECK(vitrine_get_many(store, keys, 3, values, NULL) == VITRINE_OK);
  CHECK(vitrine_value_size(values[0]) == 8 && !values[1] && vitrine_value_size(values[2]) == 11);
  vitrine_value_release(values[0]);
  vitrine_value_release(values[2]);
  CHECK(vitrine_borrow_many(store, keys, 3, see_many, &seen, NULL) == VITRINE_OK);
  CHECK(seen.calls == 3 && seen.bytes == 19);
  keys[2].style = "no style";
  keys[2].style_length = 8;
  values[0] = (vitrine_value *)&seen;
  CHECK(vitrine_get_many(store, keys, 3, values, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(!values[0] && !values[1] && !values[2]);
  CHECK(vitrine_get_many(store, NULL, 0, NULL, NULL) == VITRINE_OK);
  CHECK(vitrine_get_many(store, NULL, 1, values, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get_many(store, keys, SIZE_MAX, values, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
}

static void ranges_are_cut_at_the_end_of_the_value(vitrine_store *store) {
  char buffer[16];
  size_t copied = 9;
  uint64_t size = 9;
  CHECK(put_text(store, "r", NULL, "0123456789") == VITRINE_OK);
  CHECK(vitrine_read(store, "r", 1, NULL, 0, 7, buffer, sizeof buffer, &copied, &size, NULL) == VITRINE_OK);
  CHECK(copied == 3 && size == 10 && !memcmp(buffer, "789", 3));
  CHECK(vitrine_read(store, "r", 1, NULL, 0, UINT64_MAX, buffer, sizeof buffer, &copied, &size, NULL) == VITRINE_OK);
  CHECK(copied == 0 && size == 10);
  CHECK(vitrine_read(store, "r", 1, NULL, 0, 2, NULL, 0, NULL, NULL, NULL) == VITRINE_OK);
  CHECK(vitrine_read(store, "r", 1, NULL, 0, 0, NULL, 1, &copied, &size, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_read(store, "absent", 6, NULL, 0, 0, buffer, 1, &copied, &size, NULL) == VITRINE_NOT_FOUND);
  CHECK(copied == 0 && size == 0);
}

/* --- Changes --- */

static void a_batch_makes_its_changes_together(vitrine_store *store) {
  vitrine_batch *batch = NULL;
  CHECK(vitrine_batch_create(&batch, NULL) == VITRINE_OK && vitrine_batch_count(batch) == 0);
  CHECK(vitrine_batch_put(batch, "c", 1, NULL, 0, "one", 3, NULL, NULL) == VITRINE_OK);
  CHECK(vitrine_batch_put(batch, "d", 1, NULL, 0, "two", 3, NULL, NULL) == VITRINE_OK);
  CHECK(vitrine_batch_remove(batch, "c", 1, NULL, 0, NULL) == VITRINE_OK && vitrine_batch_count(batch) == 3);
  CHECK(vitrine_write(store, batch, VITRINE_SYNCED, NULL) == VITRINE_OK);
  CHECK(vitrine_contains(store, "c", 1, NULL, 0, NULL) == VITRINE_NOT_FOUND);
  CHECK(vitrine_contains(store, "d", 1, NULL, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_batch_clear(batch) == VITRINE_OK && vitrine_batch_count(batch) == 0);
  CHECK(vitrine_write(store, batch, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_batch_put(batch, "d", 1, NULL, 0, "x", SIZE_MAX, NULL, NULL) == VITRINE_ERROR_TOO_LARGE);
  vitrine_batch_release(batch);
}

static void entries_change_without_their_bytes(vitrine_store *store) {
  vitrine_entry entry;
  int32_t reason = 0;
  CHECK(put_text(store, "e", NULL, "text") == VITRINE_OK);
  CHECK(vitrine_set_metadata(store, "e", 1, NULL, 0, "m", 1, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_set_expiration(store, "e", 1, NULL, 0, INT64_C(4102444800000), 0, NULL) == VITRINE_OK);
  CHECK(vitrine_set_pinned(store, "e", 1, NULL, 0, 1, VITRINE_SYNCED, NULL) == VITRINE_OK);
  entry.size = sizeof entry;
  CHECK(vitrine_lookup(store, "e", 1, NULL, 0, &entry, &reason, NULL) == VITRINE_OK);
  CHECK(entry.flags & VITRINE_ENTRY_PINNED && entry.metadata_length == 1 && entry.byte_count == 4);
  CHECK(entry.expiration == INT64_C(4102444800000) && entry.style_length == 8 && !memcmp(entry.style, "original", 8));
  CHECK(vitrine_set_pinned(store, "e", 1, NULL, 0, 0, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_lookup(store, "e", 1, NULL, 0, &entry, NULL, NULL) == VITRINE_OK);
  CHECK(!(entry.flags & VITRINE_ENTRY_PINNED));
  CHECK(vitrine_set_pinned(store, "e", 1, NULL, 0, 2, 0, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_set_expiration(store, "e", 1, NULL, 0, 1, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_lookup(store, "e", 1, NULL, 0, NULL, &reason, NULL) == VITRINE_NOT_FOUND);
  CHECK(reason == VITRINE_MISS_EXPIRED);
  CHECK(vitrine_set_metadata(store, "absent", 6, NULL, 0, NULL, 0, 0, NULL) == VITRINE_NOT_FOUND);
}

static void a_bitmap_keeps_its_layout(vitrine_store *store) {
  vitrine_put_options options = {0};
  vitrine_value *value = NULL;
  vitrine_value_info info;
  unsigned char pixels[4 * 3 * 2];
  memset(pixels, 7, sizeof pixels);
  options.size = sizeof options;
  options.width = 3;
  options.height = 2;
  options.pixel_format = VITRINE_BGRA8888;
  CHECK(vitrine_put(store, "p", 1, NULL, 0, pixels, sizeof pixels, &options, NULL) == VITRINE_OK);
  CHECK(vitrine_get(store, "p", 1, NULL, 0, &value, NULL) == VITRINE_OK);
  info.size = sizeof info;
  CHECK(vitrine_value_get_info(value, &info) == VITRINE_OK && info.encoding == VITRINE_ENCODING_BITMAP);
  CHECK(info.width == 3 && info.height == 2 && info.bytes_per_row == 12 && info.pixel_format == VITRINE_BGRA8888);
  CHECK((uintptr_t)info.bytes % 64 == 0);
  vitrine_value_release(value);
  options.height = 3;
  CHECK(vitrine_put(store, "p", 1, NULL, 0, pixels, sizeof pixels, &options, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
}

static void removals_count_entries(vitrine_store *store) {
  uint64_t removed = 9;
  CHECK(put_text(store, "u/1", "s", "x") == VITRINE_OK && put_text(store, "u/1", NULL, "y") == VITRINE_OK);
  CHECK(put_text(store, "u/2", "s", "x") == VITRINE_OK && put_text(store, "v/1", "s", "x") == VITRINE_OK);
  CHECK(vitrine_remove_url(store, "u/1", 3, 0, &removed, NULL) == VITRINE_OK && removed == 2);
  CHECK(vitrine_remove_prefix(store, "u/", 2, 0, &removed, NULL) == VITRINE_OK && removed == 1);
  CHECK(vitrine_remove_style(store, "s", 1, 0, &removed, NULL) == VITRINE_OK && removed == 1);
  CHECK(vitrine_remove_style(store, "s", 1, 7, &removed, NULL) == VITRINE_ERROR_INVALID_ARGUMENT && removed == 0);
}

static void a_cursor_returns_its_entries_in_order(vitrine_store *store) {
  vitrine_cursor *cursor = NULL;
  vitrine_entry entry;
  int index;
  for (index = 0; index < 100; index++) {
    char url[32];
    sprintf(url, "list/%02d", 99 - index);
    CHECK(put_text(store, url, "row", url) == VITRINE_OK);
  }
  CHECK(vitrine_cursor_open(store, "list/", 5, "row", 3, VITRINE_CURSOR_SORTED, &cursor, NULL) == VITRINE_OK);
  CHECK(vitrine_remove_prefix(store, "list/", 5, 0, NULL, NULL) == VITRINE_OK);
  entry.size = sizeof entry;
  for (index = 0; index < 100; index++) {
    char url[32];
    sprintf(url, "list/%02d", index);
    CHECK(vitrine_cursor_remaining(cursor) == (size_t)(100 - index));
    CHECK(vitrine_cursor_next(cursor, &entry) == VITRINE_OK);
    CHECK(entry.url_length == 7 && !memcmp(entry.url, url, 7) && entry.style_length == 3 && entry.byte_count == 7);
  }
  CHECK(vitrine_cursor_next(cursor, &entry) == VITRINE_END && vitrine_cursor_next(cursor, &entry) == VITRINE_END);
  entry.size = 7;
  vitrine_cursor_release(cursor);
  CHECK(vitrine_cursor_open(store, NULL, 0, NULL, 0, 2, &cursor, NULL) == VITRINE_ERROR_INVALID_ARGUMENT && !cursor);
}

static int32_t count_two(void *context, const vitrine_entry *entry) {
  vitrine_store *store = ((vitrine_store **)context)[0];
  size_t *count = ((size_t **)context)[1];
  CHECK(entry->size >= sizeof *entry && entry->url_length == 6 && !memcmp(entry->url, "each/", 5));
  CHECK(entry->style_length == 3 && !memcmp(entry->style, "row", 3) && entry->metadata && entry->byte_count == 6);
  CHECK(vitrine_contains(store, entry->url, entry->url_length, entry->style, entry->style_length, NULL) == VITRINE_OK);
  *count += 1;
  return *count < 2;
}

static void an_enumeration_ends_on_request(vitrine_store *store) {
  size_t count = 0;
  void *context[2];
  int index;
  context[0] = store;
  context[1] = &count;
  for (index = 0; index < 3; index++) {
    char url[32];
    sprintf(url, "each/%d", index);
    CHECK(put_text(store, url, "row", url) == VITRINE_OK && put_text(store, url, NULL, "other") == VITRINE_OK);
  }
  CHECK(vitrine_for_each(store, "each/", 5, "row", 3, count_two, context, NULL) == VITRINE_OK && count == 2);
  CHECK(vitrine_for_each(store, "none/", 5, NULL, 0, count_two, context, NULL) == VITRINE_OK && count == 2);
  CHECK(vitrine_for_each(store, NULL, 0, NULL, 0, NULL, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
}

/* --- Upkeep --- */

static int32_t stop(void *context, uint64_t done, uint64_t total) {
  *(int *)context += 1;
  return done > total;
}

static void count_problem(void *context, const vitrine_problem *problem) {
  CHECK(problem->size >= sizeof *problem && problem->file && problem->reason);
  *(int *)context += 1;
}

static void upkeep_reports(vitrine_store *store) {
  vitrine_compaction compaction;
  vitrine_verification verification;
  vitrine_stat stat;
  char *text = NULL;
  size_t length = 0;
  int calls = 0;
  CHECK(vitrine_flush(store, NULL) == VITRINE_OK);
  compaction.size = sizeof compaction;
  CHECK(vitrine_compact(store, &compaction, NULL, NULL, NULL) == VITRINE_OK && compaction.is_erased);
  CHECK(vitrine_compact(store, NULL, stop, &calls, NULL) == VITRINE_OK);
  compaction.size = 1;
  CHECK(vitrine_compact(store, &compaction, NULL, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  calls = 0;
  verification.size = sizeof verification;
  CHECK(vitrine_verify(store, &verification, count_problem, &calls, NULL) == VITRINE_OK);
  CHECK(verification.records > 0 && verification.bytes > 0 && !verification.damaged && !verification.lost && !calls);
  stat.size = sizeof stat;
  CHECK(vitrine_get_stat(store, &stat, NULL) == VITRINE_OK && stat.entries > 0 && stat.budget_bytes == 64 << 20);
  CHECK(stat.open_kind == VITRINE_CREATED && stat.policy == VITRINE_S3FIFO);
  CHECK(stat.format_version == vitrine_format_version());
  CHECK(vitrine_stat_json(store, &text, &length, NULL) == VITRINE_OK);
  CHECK(strlen(text) == length && text[0] == '{' && text[length - 1] == '}' && strstr(text, "\"entries\": "));
  vitrine_text_release(text);
  CHECK(vitrine_set_budgets(store, 32 << 20, 100000, VITRINE_NONE, NULL) == VITRINE_OK);
  CHECK(vitrine_get_stat(store, &stat, NULL) == VITRINE_OK);
  CHECK(stat.budget_bytes == 32 << 20 && stat.budget_entries == 100000);
  CHECK(vitrine_refresh(store, &calls, NULL) == VITRINE_OK && calls == 0);
}

/* --- Mistakes --- */

static void mistakes_are_errors(vitrine_store *store) {
  vitrine_error error;
  vitrine_value *value = (vitrine_value *)&error;
  vitrine_batch *batch = NULL;
  vitrine_options options = {0};
  vitrine_store *other = NULL;
  vitrine_stat stat;
  static char longest[65537];
  uint64_t memory[4] = {1, 2, 3, 4};
  vitrine_store *foreign = (vitrine_store *)(void *)memory;
  CHECK(vitrine_get(NULL, "a", 1, NULL, 0, &value, &error) == VITRINE_ERROR_BAD_HANDLE && !value);
  CHECK(error.status == VITRINE_ERROR_BAD_HANDLE && strlen(error.text) > 0);
  CHECK(vitrine_get(foreign, "a", 1, NULL, 0, &value, NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_flush((vitrine_store *)(void *)((char *)memory + 1), NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_batch_create(&batch, NULL) == VITRINE_OK);
  CHECK(vitrine_flush((vitrine_store *)(void *)batch, NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_write((vitrine_store *)(void *)batch, batch, 0, NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_write(store, (vitrine_batch *)(void *)store, 0, NULL) == VITRINE_ERROR_BAD_HANDLE);
  vitrine_value_release((vitrine_value *)(void *)batch);
  CHECK(vitrine_batch_count(batch) == 0 && vitrine_batch_clear(batch) == VITRINE_OK);
  vitrine_batch_release(batch);
  CHECK(vitrine_get(store, NULL, 1, NULL, 0, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, "a", 1, NULL, 1, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, "a", 1, "", 0, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, "a", 1, "a b", 3, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, "a", SIZE_MAX, NULL, 0, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, "a", 1, NULL, 0, NULL, &error) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get(store, longest, sizeof longest, NULL, 0, &value, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_put(store, longest, sizeof longest, NULL, 0, "a", 1, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_put(store, "a", 1, NULL, 0, NULL, 1, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_put(store, "a", 1, NULL, 0, "a", ((size_t)1 << 30) + 1, NULL, NULL) == VITRINE_ERROR_TOO_LARGE);
  CHECK(vitrine_put(store, "a", 1, NULL, 0, "a", SIZE_MAX, NULL, NULL) == VITRINE_ERROR_TOO_LARGE);
  CHECK(vitrine_value_bytes(NULL) == NULL && vitrine_value_size(NULL) == 0);
  CHECK(vitrine_value_is_damaged(NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_value_get_info(NULL, NULL) == VITRINE_ERROR_BAD_HANDLE);
  CHECK(vitrine_cursor_next(NULL, NULL) == VITRINE_ERROR_BAD_HANDLE && vitrine_cursor_remaining(NULL) == 0);
  CHECK(vitrine_borrow(NULL, "a", 1, NULL, 0, see, NULL) == VITRINE_ERROR_BAD_HANDLE);
  stat.size = 0;
  CHECK(vitrine_get_stat(store, &stat, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_get_stat(store, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_open(NULL, NULL, &other, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  CHECK(vitrine_open("", NULL, NULL, NULL) == VITRINE_ERROR_INVALID_ARGUMENT);
  options.size = sizeof options;
  options.flags = 1u << 31;
  CHECK(vitrine_open("/nowhere", &options, &other, &error) == VITRINE_ERROR_INVALID_ARGUMENT && !other);
  options.flags = VITRINE_OPEN_EXISTING;
  CHECK(vitrine_open("/nowhere/at/all", &options, &other, &error) == VITRINE_ERROR_NO_SUCH_STORE);
  CHECK(strstr(error.text, "/nowhere/at/all"));
  options.compression_level = 99;
  CHECK(vitrine_open("/nowhere/at/all", &options, &other, &error) < 0 && !other);
  vitrine_store_release(NULL);
  vitrine_value_release(NULL);
  vitrine_batch_release(NULL);
  vitrine_cursor_release(NULL);
  vitrine_text_release(NULL);
}

static void a_second_writer_meets_the_lock(const char *folder) {
  vitrine_store *other = NULL;
  vitrine_error error;
  CHECK(vitrine_open(folder, NULL, &other, &error) == VITRINE_ERROR_LOCKED && !other);
  CHECK(error.status == VITRINE_ERROR_LOCKED && error.process_id > 0);
}

static void *release_on_another_thread(void *value) {
  CHECK(!memcmp(vitrine_value_bytes((vitrine_value *)value), "kept", 4));
  vitrine_value_release((vitrine_value *)value);
  return NULL;
}

static void a_closed_store_answers_closed(vitrine_store *store) {
  vitrine_value *value = NULL, *other = NULL;
  pthread_t thread;
  struct seen seen = {0, 0, NULL};
  CHECK(put_text(store, "k", NULL, "kept") == VITRINE_OK);
  CHECK(vitrine_get(store, "k", 1, NULL, 0, &value, NULL) == VITRINE_OK);
  CHECK(vitrine_close(store, NULL) == VITRINE_OK && vitrine_close(store, NULL) == VITRINE_OK);
  CHECK(vitrine_get(store, "k", 1, NULL, 0, &other, NULL) == VITRINE_ERROR_CLOSED && !other);
  CHECK(vitrine_borrow(store, "k", 1, NULL, 0, see, &seen) == VITRINE_ERROR_CLOSED && seen.calls == 0);
  CHECK(put_text(store, "k", NULL, "new") == VITRINE_ERROR_CLOSED);
  CHECK(vitrine_flush(store, NULL) == VITRINE_ERROR_CLOSED);
  vitrine_store_release(store);
  CHECK(pthread_create(&thread, NULL, release_on_another_thread, value) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void a_forked_child_cannot_change_the_store(vitrine_store *store) {
  int status = 0;
  pid_t child;
  vitrine_value *value = NULL;
  CHECK(put_text(store, "g", NULL, "held") == VITRINE_OK);
  CHECK(vitrine_get(store, "g", 1, NULL, 0, &value, NULL) == VITRINE_OK);
  child = fork();
  if (child == 0) {
    vitrine_error error;
    vitrine_value *other = NULL;
    CHECK(vitrine_put(store, "f", 1, NULL, 0, "f", 1, NULL, &error) == VITRINE_ERROR_CLOSED);
    CHECK(error.status == VITRINE_ERROR_CLOSED);
    CHECK(vitrine_get(store, "g", 1, NULL, 0, &other, NULL) == VITRINE_ERROR_CLOSED && !other);
    CHECK(vitrine_stat_json(store, (char **)&other, NULL, NULL) == VITRINE_ERROR_CLOSED);
    CHECK(vitrine_close(store, NULL) == VITRINE_ERROR_CLOSED);
    CHECK(!memcmp(vitrine_value_bytes(value), "held", 4));
    vitrine_value_release(value);
    vitrine_store_release(store);
    _exit(0);
  }
  vitrine_value_release(value);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(put_text(store, "f", NULL, "f") == VITRINE_OK);
}

static void a_snapshot_refuses_changes(const char *folder) {
  vitrine_store *reader = open_store(folder, VITRINE_OPEN_READ_ONLY);
  vitrine_error error;
  CHECK(vitrine_contains(reader, "k", 1, NULL, 0, NULL) == VITRINE_OK);
  CHECK(vitrine_put(reader, "k", 1, NULL, 0, "x", 1, NULL, &error) == VITRINE_ERROR_READ_ONLY);
  CHECK(vitrine_remove_all(reader, 0, NULL) == VITRINE_ERROR_READ_ONLY);
  vitrine_store_release(reader);
}

int main(int count, char **arguments) {
  vitrine_store *store;
  char version[32];
  CHECK(count == 2);
  sprintf(version, "%d.%d.%d", VITRINE_VERSION_MAJOR, VITRINE_VERSION_MINOR, VITRINE_VERSION_PATCH);
  CHECK(!strcmp(vitrine_version(), version));
  CHECK(!strcmp(vitrine_status_text(VITRINE_ERROR_NO_SPACE), "no space"));
  CHECK(vitrine_guard_bus_errors(NULL) == VITRINE_OK);
  store = open_store(arguments[1], 0);
  values_return_the_bytes_that_were_put(store);
  an_empty_value_has_a_pointer(store);
  a_larger_struct_of_a_later_header_is_accepted(store);
  borrows_call_the_function_once_for_a_hit(store);
  many_keys_are_answered_in_their_order(store);
  ranges_are_cut_at_the_end_of_the_value(store);
  a_batch_makes_its_changes_together(store);
  entries_change_without_their_bytes(store);
  a_bitmap_keeps_its_layout(store);
  removals_count_entries(store);
  a_cursor_returns_its_entries_in_order(store);
  an_enumeration_ends_on_request(store);
  upkeep_reports(store);
  mistakes_are_errors(store);
  a_second_writer_meets_the_lock(arguments[1]);
  a_forked_child_cannot_change_the_store(store);
  a_closed_store_answers_closed(store);
  a_snapshot_refuses_changes(arguments[1]);
  store = open_store(arguments[1], 0);
  CHECK(vitrine_remove_all(store, VITRINE_SYNCED, NULL) == VITRINE_OK);
  CHECK(vitrine_contains(store, "k", 1, NULL, 0, NULL) == VITRINE_NOT_FOUND);
  vitrine_store_release(store);
  puts("all promises kept");
  return 0;
}
