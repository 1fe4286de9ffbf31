// libpng returns by longjmp: a `session` holds all state that must survive a jump, and no local variable does.
#include "common.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

enum { HEADER_BYTES = 24, LARGEST_SIDE = 0x7FFFFFFF, MOST_CHUNK_BYTES = 1 << 20 };

typedef struct {
  png_structp png;
  png_infop info;
  jmp_buf way_out;
  vitrine_image_result *result;
  // Reading.
  const uint8_t *next;
  size_t left;
  uint64_t deadline;
  bool has_no_memory;
  // Writing.
  vitrine_image_buffer *buffer;
} session;

static void leave(session *self, vitrine_image_status status, const char *reason) {
  vitrine_image_say(self->result, status, reason);
  longjmp(self->way_out, 1);
}

static void on_error(png_structp png, png_const_charp reason) {
  session *self = png_get_error_ptr(png);
  leave(self, self->has_no_memory ? VITRINE_IMAGE_NO_MEMORY : VITRINE_IMAGE_CORRUPT, reason);
}

static void on_warning(png_structp png, png_const_charp reason) {
  (void)png;
  (void)reason;
}

static png_voidp allocate(png_structp png, png_alloc_size_t count) {
  void *memory = malloc(count);
  if (!memory) ((session *)png_get_mem_ptr(png))->has_no_memory = true;
  return memory;
}

static void release(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}

static void require_made(session *self) {
  if (self->png) self->info = png_create_info_struct(self->png);
  if (!self->info) leave(self, VITRINE_IMAGE_NO_MEMORY, "libpng's own");
}

// Decoding -------------------------------------------------------------------------------------------------------

static void check_time(session *self) {
  if (vitrine_image_is_late(self->deadline)) leave(self, VITRINE_IMAGE_TOO_LATE, "deadline");
}

static void read_bytes(png_structp png, png_bytep bytes, size_t count) {
  session *self = png_get_io_ptr(png);
  if (count > self->left) leave(self, VITRINE_IMAGE_TRUNCATED, "its end is missing");
  // Any number of empty chunks may precede a row, so the time is checked here too.
  check_time(self);
  memcpy(bytes, self->next, count);
  self->next += count;
  self->left -= count;
}

// Skips texts and profiles, which can expand to a thousand times their size in the file, and which no caller needs.
static void skip_ancillary(png_structp png) {
  static const png_byte names[] =
      "cHRM\0gAMA\0iCCP\0sBIT\0sRGB\0bKGD\0eXIf\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sCAL\0sPLT\0tEXt\0tIME\0zTXt";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

static void read_header(session *self, uint32_t width, uint32_t height) {
  self->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, self, on_error, on_warning, self, allocate, release);
  require_made(self);
  png_set_user_limits(self->png, width, height);
  png_set_chunk_malloc_max(self->png, MOST_CHUNK_BYTES);
  png_set_chunk_cache_max(self->png, 16);
  skip_ancillary(self->png);
  png_set_read_fn(self->png, self, read_bytes);
  png_read_info(self->png, self->info);
}

static void read_rows(session *self, vitrine_image_pixels pixels) {
  png_structp png = self->png;
  // Converts palettes, lower bit depths and tRNS to 8 bits; 16 bits to 8, rounded; gray to RGB; and adds missing
  // alpha.
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, self->info);
  if (png_get_image_width(png, self->info) != pixels.width || png_get_image_height(png, self->info) != pixels.height ||
      png_get_rowbytes(png, self->info) != (size_t)pixels.width * 4) {
    leave(self, VITRINE_IMAGE_CORRUPT, "its size has changed");
  }
  for (int pass = 0; pass < passes; pass++) {
    for (uint32_t y = 0; y < pixels.height; y++) {
      check_time(self);
      png_read_row(png, pixels.bytes + (size_t)y * pixels.bytes_per_row, NULL);
    }
  }
}

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void read_info(session *self, vitrine_image_info *info) {
  if (self->left >= HEADER_BYTES && memcmp(self->next + 12, "IHDR", 4) == 0) {
    info->width = big_endian(self->next + 16);
    info->height = big_endian(self->next + 20);
  }
  read_header(self, LARGEST_SIDE, LARGEST_SIDE);
  info->width = png_get_image_width(self->png, self->info);
  info->height = png_get_image_height(self->png, self->info);
  int color = png_get_color_type(self->png, self->info);
  info->bits = color == PNG_COLOR_TYPE_PALETTE ? 8 : png_get_bit_depth(self->png, self->info);
  info->has_alpha = color & PNG_COLOR_MASK_ALPHA || png_get_valid(self->png, self->info, PNG_INFO_tRNS);
  info->is_gray = !(color & PNG_COLOR_MASK_COLOR);
  info->is_progressive = png_get_interlace_type(self->png, self->info) != PNG_INTERLACE_NONE;
  info->is_lossless = true;
}

void vitrine_png_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  session self = {.result = result, .next = bytes, .left = count, .deadline = UINT64_MAX};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (setjmp(self.way_out) == 0) read_info(&self, info);
  png_destroy_read_struct(&self.png, &self.info, NULL);
}

void vitrine_png_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result) {
  session self = {.result = result, .next = bytes, .left = count, .deadline = vitrine_image_deadline(limits)};
  *result = (vitrine_image_result){0};
  if (setjmp(self.way_out) == 0) {
    read_header(&self, pixels.width, pixels.height);
    read_rows(&self, pixels);
  }
  png_destroy_read_struct(&self.png, &self.info, NULL);
}

// Encoding -------------------------------------------------------------------------------------------------------

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
  session *self = png_get_io_ptr(png);
  if (!vitrine_image_append(self->buffer, bytes, count)) leave(self, VITRINE_IMAGE_NO_MEMORY, "encoded bytes");
}

static void flush_nothing(png_structp png) { (void)png; }

static void write_rows(session *self, vitrine_image_pixels pixels, bool has_alpha) {
  self->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, self, on_error, on_warning, self, allocate, release);
  require_made(self);
  png_structp png = self->png;
  png_set_write_fn(png, self, write_bytes, flush_nothing);
  png_set_IHDR(png, self->info, pixels.width, pixels.height, 8,
               has_alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, self->info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(png, self->info);
  if (!has_alpha) png_set_filler(png, 0, PNG_FILLER_AFTER);
  for (uint32_t y = 0; y < pixels.height; y++) {
    png_write_row(png, pixels.bytes + (size_t)y * pixels.bytes_per_row);
  }
  png_write_end(png, NULL);
}

void vitrine_png_encode(vitrine_image_pixels pixels, bool has_alpha, vitrine_image_buffer *buffer,
                        vitrine_image_result *result) {
  session self = {.result = result, .buffer = buffer};
  *result = (vitrine_image_result){0};
  if (setjmp(self.way_out) == 0) write_rows(&self, pixels, has_alpha);
  png_destroy_write_struct(&self.png, &self.info);
}
