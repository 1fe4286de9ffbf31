/* Stores a picture, gets it, lists the store, and prints its statistics.
   usage: picture FOLDER [FILE]    without a file, a picture of 64 x 64 pixels is drawn */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitrine.h>

/* Ends the program with the text of an error. */
static void require(vitrine_status status, const vitrine_error *error) {
  if (status >= 0) return;
  fprintf(stderr, "picture: %s\n", error->text);
  exit(1);
}

/* Reads a file; returns NULL if that fails. */
static unsigned char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  unsigned char *bytes = NULL;
  long end;
  if (!file) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
    bytes = malloc((size_t)end);
    *length = bytes ? fread(bytes, 1, (size_t)end, file) : 0;
  }
  fclose(file);
  return bytes;
}

/* Draws a picture in the format PPM. */
static unsigned char *draw(size_t *length) {
  static const char head[] = "P6 64 64 255\n";
  const size_t head_length = sizeof head - 1;
  unsigned char *bytes = malloc(head_length + 64 * 64 * 3);
  size_t x, y;
  if (!bytes) return NULL;
  memcpy(bytes, head, head_length);
  for (y = 0; y < 64; y++) {
    for (x = 0; x < 64; x++) {
      unsigned char *pixel = bytes + head_length + (y * 64 + x) * 3;
      pixel[0] = (unsigned char)(x * 4);
      pixel[1] = (unsigned char)(y * 4);
      pixel[2] = (unsigned char)((x ^ y) * 4);
    }
  }
  *length = head_length + 64 * 64 * 3;
  return bytes;
}

int main(int count, char **arguments) {
  static const char url[] = "https://example.org/picture.ppm";
  const size_t url_length = sizeof url - 1;
  vitrine_options options = {0};
  vitrine_put_options put = {0};
  vitrine_store *store;
  vitrine_value *value;
  vitrine_cursor *cursor;
  vitrine_entry entry;
  vitrine_error error;
  char *json;
  size_t length = 0;
  unsigned char *picture;
  int is_equal;

  if (count < 2) {
    fprintf(stderr, "usage: picture FOLDER [FILE]\n");
    return 2;
  }
  picture = count > 2 ? read_file(arguments[2], &length) : draw(&length);
  if (!picture) {
    fprintf(stderr, "picture: there is no picture to store\n");
    return 1;
  }

  options.size = sizeof options;
  options.byte_budget = 64 << 20;
  require(vitrine_open(arguments[1], &options, &store, &error), &error);

  put.size = sizeof put;
  put.metadata = "image/x-portable-pixmap";
  put.metadata_length = strlen("image/x-portable-pixmap");
  require(vitrine_put(store, url, url_length, NULL, 0, picture, length, &put, &error), &error);

  require(vitrine_get(store, url, url_length, NULL, 0, &value, &error), &error);
  is_equal = value && vitrine_value_size(value) == length && !memcmp(vitrine_value_bytes(value), picture, length);
  printf("got %zu bytes, %s\n", vitrine_value_size(value), is_equal ? "equal to those put" : "not those put");
  vitrine_value_release(value);

  require(vitrine_cursor_open(store, NULL, 0, NULL, 0, VITRINE_CURSOR_SORTED, &cursor, &error), &error);
  entry.size = sizeof entry;
  while (vitrine_cursor_next(cursor, &entry) == VITRINE_OK) {
    printf(
      "%.*s %.*s %llu bytes, %.*s\n", (int)entry.url_length, entry.url, (int)entry.style_length, entry.style,
      (unsigned long long)entry.byte_count, (int)entry.metadata_length, (const char *)entry.metadata);
  }
  vitrine_cursor_release(cursor);

  require(vitrine_stat_json(store, &json, NULL, &error), &error);
  printf("%s\n", json);
  vitrine_text_release(json);

  require(vitrine_close(store, &error), &error);
  vitrine_store_release(store);
  free(picture);
  return is_equal ? 0 : 1;
}
