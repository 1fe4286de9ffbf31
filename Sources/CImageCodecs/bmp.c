// BMP and ICO. Their pixels are rows of plain numbers, and no small library for them is at hand in the package
// collections: those that read them (ImageMagick, GTK, Qt, SDL) bring whole systems of their own.
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { FILE_HEADER_BYTES = 14, RLE8 = 1, RLE4 = 2, BIT_FIELDS = 3, ALPHA_BIT_FIELDS = 6 };

// A bitmap, from its own header on.
typedef struct {
  const uint8_t *bytes;
  size_t count;
  size_t pixels;  // the offset of the first row
  uint32_t width;
  uint32_t height;
  uint32_t bits;  // of a pixel
  uint32_t compression;
  bool is_top_first;
  bool is_icon;  // a mask of transparent pixels follows
  uint32_t masks[4];  // of red, green, blue and alpha
  size_t colors;  // the offset of the first color
  uint32_t color_count;
  uint32_t color_size;  // in bytes
} bitmap;

static uint32_t little_endian(const uint8_t *bytes, int count) {
  uint32_t value = 0;
  for (int place = 0; place < count; place++) value |= (uint32_t)bytes[place] << (8 * place);
  return value;
}

static bool fail(vitrine_image_result *result, vitrine_image_status status, const char *reason) {
  vitrine_image_say(result, status, reason);
  return false;
}

// Headers ---------------------------------------------------------------------------------------------------------

static bool read_masks(bitmap *self, uint32_t header, vitrine_image_result *result) {
  bool is_given = self->compression == BIT_FIELDS || self->compression == ALPHA_BIT_FIELDS;
  if (self->bits == 16 && !is_given) {
    self->masks[0] = 0x7C00;
    self->masks[1] = 0x03E0;
    self->masks[2] = 0x001F;
  } else if (self->bits == 32 && !is_given) {
    self->masks[0] = 0xFF0000;
    self->masks[1] = 0xFF00;
    self->masks[2] = 0xFF;
    if (self->is_icon) self->masks[3] = 0xFF000000;
  } else if (is_given) {
    if (self->bits != 16 && self->bits != 32) return fail(result, VITRINE_IMAGE_CORRUPT, "masks without need");
    // The masks are part of newer headers, and follow the oldest one that has a compression.
    int count = self->compression == ALPHA_BIT_FIELDS || header >= 56 ? 4 : 3;
    if (self->count < 40 + (size_t)count * 4) return fail(result, VITRINE_IMAGE_TRUNCATED, "its masks are missing");
    for (int index = 0; index < count; index++) self->masks[index] = little_endian(self->bytes + 40 + index * 4, 4);
  }
  return true;
}

static bool read_header(bitmap *self, vitrine_image_result *result) {
  if (self->count < 12) return fail(result, VITRINE_IMAGE_TRUNCATED, "its header is missing");
  uint32_t header = little_endian(self->bytes, 4);
  if (header != 12 && (header < 40 || header > 124)) return fail(result, VITRINE_IMAGE_UNSUPPORTED, "of this header");
  if (self->count < header) return fail(result, VITRINE_IMAGE_TRUNCATED, "its header is missing");
  self->color_size = header == 12 ? 3 : 4;
  if (header == 12) {
    self->width = little_endian(self->bytes + 4, 2);
    self->height = little_endian(self->bytes + 6, 2);
    self->bits = little_endian(self->bytes + 10, 2);
  } else {
    self->width = little_endian(self->bytes + 4, 4);
    self->height = little_endian(self->bytes + 8, 4);
    self->bits = little_endian(self->bytes + 14, 2);
    self->compression = little_endian(self->bytes + 16, 4);
    self->color_count = little_endian(self->bytes + 32, 4);
    self->is_top_first = self->height > INT32_MAX;
    if (self->is_top_first) self->height = 0 - self->height;
  }
  if (self->is_icon) self->height /= 2;
  if (self->width == 0 || self->width > INT32_MAX || self->height == 0 || self->height > INT32_MAX) {
    return fail(result, VITRINE_IMAGE_CORRUPT, "no pixels");
  }
  bool is_run_length = (self->compression == RLE8 && self->bits == 8) || (self->compression == RLE4 && self->bits == 4);
  bool has_masks = self->compression == BIT_FIELDS || self->compression == ALPHA_BIT_FIELDS;
  if (self->compression != 0 && !is_run_length && !has_masks) {
    return fail(result, VITRINE_IMAGE_UNSUPPORTED, "of this compression");
  }
  self->colors = header;
  if (header == 40 && has_masks) self->colors += self->compression == ALPHA_BIT_FIELDS ? 16 : 12;
  switch (self->bits) {
    case 1: case 2: case 4: case 8:
      if (self->color_count == 0 || self->color_count > 1u << self->bits) self->color_count = 1u << self->bits;
      break;
    case 16: case 24: case 32:
      if (self->color_count > 256) self->color_count = 256;
      break;
    default: return fail(result, VITRINE_IMAGE_CORRUPT, "an impossible number of bits");
  }
  size_t end = self->colors + (size_t)self->color_count * self->color_size;
  if (self->pixels == 0) self->pixels = end;
  if (self->bits <= 8 && end > self->count) return fail(result, VITRINE_IMAGE_TRUNCATED, "its colors are missing");
  return read_masks(self, header, result);
}

static bool open_bmp(bitmap *self, const uint8_t *bytes, size_t count, vitrine_image_result *result) {
  *self = (bitmap){0};
  if (count < FILE_HEADER_BYTES + 12) return fail(result, VITRINE_IMAGE_TRUNCATED, "its header is missing");
  uint32_t pixels = little_endian(bytes + 10, 4);
  self->bytes = bytes + FILE_HEADER_BYTES;
  self->count = count - FILE_HEADER_BYTES;
  self->pixels = pixels > FILE_HEADER_BYTES ? pixels - FILE_HEADER_BYTES : 0;
  return read_header(self, result);
}

// Pixels ----------------------------------------------------------------------------------------------------------

static void put_color(const bitmap *self, uint32_t index, uint8_t *pixel) {
  memset(pixel, 0, 3);
  pixel[3] = 0xFF;
  if (index >= self->color_count) return;
  const uint8_t *color = self->bytes + self->colors + (size_t)index * self->color_size;
  pixel[0] = color[2];
  pixel[1] = color[1];
  pixel[2] = color[0];
}

// The part of a value under a mask, in the range of 0 to 255.
static uint8_t masked(uint32_t value, uint32_t mask) {
  if (mask == 0) return 0;
  uint32_t most = mask / (mask & (0 - mask));  // the largest part
  uint32_t part = (value & mask) / (mask & (0 - mask));
  return (uint8_t)(((uint64_t)part * 255 + most / 2) / most);
}

static void put_row(const bitmap *self, const uint8_t *from, uint8_t *row) {
  for (size_t x = 0; x < self->width; x++) {
    uint8_t *pixel = row + x * 4;
    if (self->bits <= 8) {
      unsigned place = (unsigned)(x * self->bits % 8);
      uint32_t index = (uint32_t)from[x * self->bits / 8] >> (8 - self->bits - place) & ((1u << self->bits) - 1);
      put_color(self, index, pixel);
    } else if (self->bits == 24) {
      const uint8_t *color = from + x * 3;
      pixel[0] = color[2];
      pixel[1] = color[1];
      pixel[2] = color[0];
      pixel[3] = 0xFF;
    } else {
      uint32_t value = little_endian(from + x * self->bits / 8, (int)self->bits / 8);
      for (int channel = 0; channel < 4; channel++) pixel[channel] = masked(value, self->masks[channel]);
      if (!self->masks[3]) pixel[3] = 0xFF;
    }
  }
}

static uint8_t *row_of(const bitmap *self, vitrine_image_pixels pixels, uint32_t y) {
  return pixels.bytes + (size_t)(self->is_top_first ? y : self->height - 1 - y) * pixels.bytes_per_row;
}

static size_t stored_row_bytes(const bitmap *self, uint32_t bits) {
  return ((size_t)self->width * bits + 31) / 32 * 4;
}

static bool draw_plain(const bitmap *self, uint64_t deadline, vitrine_image_pixels pixels,
                       vitrine_image_result *result) {
  size_t stored = stored_row_bytes(self, self->bits), used = ((size_t)self->width * self->bits + 7) / 8;
  if (self->pixels > self->count) return fail(result, VITRINE_IMAGE_TRUNCATED, "its pixels are missing");
  size_t left = self->count - self->pixels;
  for (uint32_t y = 0; y < self->height; y++) {
    if (vitrine_image_is_late(deadline)) return fail(result, VITRINE_IMAGE_TOO_LATE, "deadline");
    if (left < used) return fail(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
    put_row(self, self->bytes + self->count - left, row_of(self, pixels, y));
    left -= left < stored ? left : stored;
  }
  return true;
}

// Runs of pixels: a count and an index (or two of 4 bits in turn), or after a zero the end of a row (0), the end (1),
// a step to the right and on (2), or a number of single indexes.
static bool draw_runs(const bitmap *self, uint64_t deadline, vitrine_image_pixels pixels,
                      vitrine_image_result *result) {
  bool is_half = self->compression == RLE4;
  for (uint32_t y = 0; y < self->height; y++) {
    for (uint32_t x = 0; x < self->width; x++) put_color(self, 0, row_of(self, pixels, y) + (size_t)x * 4);
  }
  uint32_t x = 0, y = 0;
  for (size_t at = self->pixels; y < self->height;) {
    if (at > self->count || self->count - at < 2) return fail(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
    if (vitrine_image_is_late(deadline)) return fail(result, VITRINE_IMAGE_TOO_LATE, "deadline");
    uint32_t count = self->bytes[at], value = self->bytes[at + 1];
    const uint8_t *single = NULL;
    at += 2;
    if (count == 0 && value == 0) {
      x = 0;
      y++;
      continue;
    }
    if (count == 0 && value == 1) return true;
    if (count == 0 && value == 2) {
      if (self->count - at < 2) return fail(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
      x += self->bytes[at];
      y += self->bytes[at + 1];
      at += 2;
      if (x > self->width) x = self->width;
      continue;
    }
    if (count == 0) {
      count = value;
      size_t byte_count = is_half ? ((size_t)count + 1) / 2 : count;
      if (self->count - at < byte_count) return fail(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
      single = self->bytes + at;
      at += byte_count + (byte_count & 1);
    }
    for (uint32_t index = 0; index < count && x < self->width; index++, x++) {
      uint32_t pair = single ? single[is_half ? index / 2 : index] : value;
      uint32_t color = !is_half ? pair : index % 2 == 0 ? pair >> 4 : pair & 15;
      put_color(self, color, row_of(self, pixels, y) + (size_t)x * 4);
    }
  }
  return true;
}

static bool draw(const bitmap *self, uint64_t deadline, vitrine_image_pixels pixels, vitrine_image_result *result) {
  if (self->width != pixels.width || self->height != pixels.height) {
    return fail(result, VITRINE_IMAGE_CORRUPT, "its size has changed");
  }
  bool has_runs = self->compression == RLE8 || self->compression == RLE4;
  return has_runs ? draw_runs(self, deadline, pixels, result) : draw_plain(self, deadline, pixels, result);
}

void vitrine_bmp_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  bitmap self;
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (!open_bmp(&self, bytes, count, result)) return;
  info->width = self.width;
  info->height = self.height;
  info->bits = 8;
  info->has_alpha = self.masks[3] != 0;
  info->is_lossless = true;
}

void vitrine_bmp_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result) {
  bitmap self;
  *result = (vitrine_image_result){0};
  uint64_t deadline = vitrine_image_deadline(limits);
  if (open_bmp(&self, bytes, count, result)) draw(&self, deadline, pixels, result);
}

// ICO -------------------------------------------------------------------------------------------------------------

// The entry with most pixels, and among those the one with most bits.
static bool find_icon(const uint8_t **bytes, size_t *count, vitrine_image_result *result) {
  const uint8_t *file = *bytes;
  if (*count < 6) return fail(result, VITRINE_IMAGE_TRUNCATED, "its header is missing");
  uint32_t entry_count = little_endian(file + 4, 2), best_size = 0, best_bits = 0;
  size_t offset = 0, length = 0;
  if (entry_count == 0) return fail(result, VITRINE_IMAGE_CORRUPT, "no pictures");
  if (*count < 6 + (size_t)entry_count * 16) return fail(result, VITRINE_IMAGE_TRUNCATED, "its entries are missing");
  for (uint32_t index = 0; index < entry_count; index++) {
    const uint8_t *entry = file + 6 + (size_t)index * 16;
    uint32_t size = (entry[0] ? entry[0] : 256u) * (entry[1] ? entry[1] : 256u), bits = little_endian(entry + 6, 2);
    if (size < best_size || (size == best_size && bits <= best_bits && best_size != 0)) continue;
    best_size = size;
    best_bits = bits;
    length = little_endian(entry + 8, 4);
    offset = little_endian(entry + 12, 4);
  }
  if (offset > *count || length > *count - offset) return fail(result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
  *bytes += offset;
  *count = length;
  return true;
}

static bool is_png(const uint8_t *bytes, size_t count) {
  return count >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0;
}

void vitrine_ico_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (!find_icon(&bytes, &count, result)) return;
  if (is_png(bytes, count)) {
    vitrine_png_info(bytes, count, info, result);
    return;
  }
  bitmap self = {.bytes = bytes, .count = count, .is_icon = true};
  if (!read_header(&self, result)) return;
  info->width = self.width;
  info->height = self.height;
  info->bits = 8;
  info->has_alpha = true;
  info->is_lossless = true;
}

// Alpha is that of the pixels. If they have none, pixels whose bit of the mask is set are transparent.
static bool apply_mask(const bitmap *self, vitrine_image_pixels pixels, vitrine_image_result *result) {
  bool has_alpha = false;
  for (uint32_t y = 0; self->masks[3] && y < self->height && !has_alpha; y++) {
    for (uint32_t x = 0; x < self->width && !has_alpha; x++) {
      has_alpha = row_of(self, pixels, y)[(size_t)x * 4 + 3] != 0;
    }
  }
  if (has_alpha) return true;
  size_t stored = stored_row_bytes(self, 1), used = ((size_t)self->width + 7) / 8;
  size_t at = self->pixels + stored_row_bytes(self, self->bits) * self->height;
  for (uint32_t y = 0; y < self->height; y++, at += stored) {
    if (at > self->count || self->count - at < used) {
      return fail(result, VITRINE_IMAGE_TRUNCATED, "its mask is missing");
    }
    for (uint32_t x = 0; x < self->width; x++) {
      bool is_clear = self->bytes[at + x / 8] >> (7 - x % 8) & 1;
      row_of(self, pixels, y)[(size_t)x * 4 + 3] = is_clear ? 0 : 0xFF;
    }
  }
  return true;
}

void vitrine_ico_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result) {
  *result = (vitrine_image_result){0};
  if (!find_icon(&bytes, &count, result)) return;
  if (is_png(bytes, count)) {
    vitrine_png_decode(bytes, count, limits, pixels, result);
    return;
  }
  bitmap self = {.bytes = bytes, .count = count, .is_icon = true};
  uint64_t deadline = vitrine_image_deadline(limits);
  if (!read_header(&self, result)) return;
  if (self.compression == RLE8 || self.compression == RLE4) {
    fail(result, VITRINE_IMAGE_UNSUPPORTED, "of this compression");
    return;
  }
  if (draw(&self, deadline, pixels, result)) apply_mask(&self, pixels, result);
}
