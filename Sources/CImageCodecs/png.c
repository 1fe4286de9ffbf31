// libpng returns by longjmp: a `session` holds all state that must survive a jump, and no local variable does.
#include "color.h"
#include "common.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

enum { HEADER_BYTES = 24, LARGEST_SIDE = 0x7FFFFFFF, MOST_CHUNK_BYTES = VITRINE_COLOR_MOST_BYTES };

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
  vitrine_color *color;
  uint8_t *row;  // of 16 bits a channel, before its conversion
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

// The descriptions of colors that libpng reads. Only the first of them that the file has counts, and libpng itself
// would leave out a profile behind the chunk sRGB or behind invalid primaries.
typedef enum { NO_COLORS, PROFILE_ONLY, ALL_COLORS } color_chunks;

// Skips texts, which can expand to a thousand times their size in the file, and which no caller needs.
static void skip_ancillary(png_structp png, color_chunks colors) {
  static const png_byte names[] =
      "sBIT\0bKGD\0eXIf\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sCAL\0sPLT\0tEXt\0tIME\0zTXt\0cHRM\0gAMA\0sRGB\0iCCP";
  int count = sizeof names / 5;
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names,
                              colors == NO_COLORS ? count : colors == PROFILE_ONLY ? count - 1 : count - 4);
}

static void read_header(session *self, uint32_t width, uint32_t height, color_chunks colors) {
  self->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, self, on_error, on_warning, self, allocate, release);
  require_made(self);
  png_set_user_limits(self->png, width, height);
  png_set_chunk_malloc_max(self->png, MOST_CHUNK_BYTES);
  png_set_chunk_cache_max(self->png, 16);
  skip_ancillary(self->png, colors);
  png_set_read_fn(self->png, self, read_bytes);
  png_read_info(self->png, self->info);
}

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// The description of colors ---------------------------------------------------------------------------------------

uint32_t vitrine_png_checksum(const uint8_t *bytes, size_t count) { return (uint32_t)crc32_z(0, bytes, count); }

typedef struct {
  const uint8_t *codes;  // the content of the chunk cICP, which old versions of libpng do not know, or NULL
  bool has_profile;
} color_scan;

// Walks over the chunks before palette and pixels.
static color_scan scan_colors(const uint8_t *bytes, size_t count) {
  color_scan scan = {0};
  for (size_t at = 8; at <= count && count - at >= 16;) {
    const uint8_t *chunk = bytes + at;
    size_t length = big_endian(chunk);
    if (memcmp(chunk + 4, "IDAT", 4) == 0 || memcmp(chunk + 4, "PLTE", 4) == 0) break;
    if (memcmp(chunk + 4, "iCCP", 4) == 0) scan.has_profile = true;
    if (memcmp(chunk + 4, "cICP", 4) == 0 && length == 4 && !scan.codes &&
        vitrine_png_checksum(chunk + 4, 8) == big_endian(chunk + 12) && vitrine_color_knows(chunk + 8)) {
      scan.codes = chunk + 8;
    }
    at += length + 12;
  }
  return scan;
}

// The exponent of a file without primaries counts as sRGB's curve if it differs from it as little as libpng's own
// threshold for a correction, 5 percent. The encoding of sRGB is written as 45455.
static bool is_srgb_gamma(png_fixed_point gamma) { return gamma > 43180 && gamma < 47730; }

static bool are_srgb_points(const int32_t points[8]) {
  static const int32_t srgb[8] = {31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000};
  for (int index = 0; index < 8; index++) {
    if (abs(points[index] - srgb[index]) > 100) return false;
  }
  return true;
}

// Returns false if the file describes no other colors than sRGB's.
static bool read_points(session *self, vitrine_color_points *found) {
  png_fixed_point gamma = 0;
  int32_t *points = found->points;
  bool has_gamma = png_get_gAMA_fixed(self->png, self->info, &gamma) && gamma > 0;
  bool has_points = png_get_cHRM_fixed(self->png, self->info, points, points + 1, points + 2, points + 3, points + 4,
                                       points + 5, points + 6, points + 7);
  // Writers of sRGB give both for programs that do not know the chunk sRGB.
  if (has_points && are_srgb_points(points)) has_points = false;
  if (!has_points) memset(points, 0, sizeof found->points);
  if (has_gamma && (has_points || !is_srgb_gamma(gamma))) found->gamma = gamma;
  return has_points || found->gamma != 0;
}

// The order is that of the PNG specification, third edition: cICP, iCCP, sRGB, then gAMA and cHRM. libpng has checked
// that a profile fits the color type. Behind a profile that is ignored, nothing else counts.
static void find_color(session *self, const uint8_t *codes) {
  int depth = png_get_bit_depth(self->png, self->info);
  bool is_gray = !(png_get_color_type(self->png, self->info) & PNG_COLOR_MASK_COLOR);
  vitrine_color_layout layout = depth == 16 ? is_gray ? VITRINE_COLOR_GRAYA16 : VITRINE_COLOR_RGBA16
                                : is_gray   ? VITRINE_COLOR_GRAY8
                                            : VITRINE_COLOR_RGBA8;
  vitrine_color_points points = {0};
  png_charp name;
  png_bytep profile;
  png_uint_32 profile_count;
  int other;
  if (codes) {
    self->color = vitrine_color_take((vitrine_color_source){VITRINE_COLOR_CODES, codes, 4}, layout);
  } else if (png_get_iCCP(self->png, self->info, &name, &other, &profile, &profile_count)) {
    self->color = vitrine_color_take((vitrine_color_source){VITRINE_COLOR_PROFILE, profile, profile_count}, layout);
  } else if (!png_get_sRGB(self->png, self->info, &other) && read_points(self, &points)) {
    vitrine_color_source source = {VITRINE_COLOR_POINTS, (const uint8_t *)&points, sizeof points};
    self->color = vitrine_color_take(source, layout);
  }
}

// Pixels ----------------------------------------------------------------------------------------------------------

static void require_rows(session *self, vitrine_image_pixels pixels, size_t bytes_per_pixel) {
  if (png_get_image_width(self->png, self->info) != pixels.width ||
      png_get_image_height(self->png, self->info) != pixels.height ||
      png_get_rowbytes(self->png, self->info) != pixels.width * bytes_per_pixel) {
    leave(self, VITRINE_IMAGE_CORRUPT, "its size has changed");
  }
}

// Converts rows of 16 bits from their full precision. The rows of an interlaced picture's passes come as stored, with
// the pixels of one pass only.
static void convert_deep_rows(session *self, vitrine_image_pixels pixels) {
  png_structp png = self->png;
  bool is_gray = !(png_get_color_type(png, self->info) & PNG_COLOR_MASK_COLOR);
  bool is_interlaced = png_get_interlace_type(png, self->info) != PNG_INTERLACE_NONE;
  png_set_expand(png);
  png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
  png_read_update_info(png, self->info);
  require_rows(self, pixels, is_gray ? 4 : 8);
  self->row = malloc((size_t)pixels.width * 12);
  if (!self->row) leave(self, VITRINE_IMAGE_NO_MEMORY, "a row");
  uint8_t *converted = self->row + (size_t)pixels.width * 8;
  for (int pass = 0; pass < (is_interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1); pass++) {
    uint32_t left = is_interlaced ? PNG_PASS_START_COL(pass) : 0, top = is_interlaced ? PNG_PASS_START_ROW(pass) : 0;
    uint32_t across = is_interlaced ? PNG_PASS_COL_OFFSET(pass) : 1;
    uint32_t down = is_interlaced ? PNG_PASS_ROW_OFFSET(pass) : 1;
    if (left >= pixels.width) continue;
    uint32_t width = (pixels.width - left + across - 1) / across;
    for (uint32_t y = top; y < pixels.height; y += down) {
      check_time(self);
      png_read_row(png, self->row, NULL);
      vitrine_color_convert(self->color, self->row, converted, width);
      uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
      for (uint32_t x = 0; x < width; x++) memcpy(row + (size_t)(left + x * across) * 4, converted + (size_t)x * 4, 4);
    }
  }
}

static void read_rows(session *self, vitrine_image_pixels pixels) {
  png_structp png = self->png;
  if (self->color && png_get_bit_depth(png, self->info) == 16) {
    convert_deep_rows(self, pixels);
    return;
  }
  // Converts palettes, lower bit depths and tRNS to 8 bits; 16 bits to 8, rounded; gray to RGB; and adds missing
  // alpha.
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, self->info);
  require_rows(self, pixels, 4);
  for (int pass = 0; pass < passes; pass++) {
    for (uint32_t y = 0; y < pixels.height; y++) {
      uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
      check_time(self);
      png_read_row(png, row, NULL);
      // The last pass gives each row its last pixels.
      if (self->color && pass == passes - 1) vitrine_color_convert(self->color, row, row, pixels.width);
    }
  }
}

static void read_info(session *self, vitrine_image_info *info) {
  if (self->left >= HEADER_BYTES && memcmp(self->next + 12, "IHDR", 4) == 0) {
    info->width = big_endian(self->next + 16);
    info->height = big_endian(self->next + 20);
  }
  read_header(self, LARGEST_SIDE, LARGEST_SIDE, NO_COLORS);
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
    color_scan scan = scan_colors(bytes, count);
    read_header(&self, pixels.width, pixels.height,
                scan.codes ? NO_COLORS : scan.has_profile ? PROFILE_ONLY : ALL_COLORS);
    find_color(&self, scan.codes);
    read_rows(&self, pixels);
  }
  png_destroy_read_struct(&self.png, &self.info, NULL);
  vitrine_color_release(self.color);
  free(self.row);
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
