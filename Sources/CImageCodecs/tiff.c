// TIFF, by libtiff: the first picture of a file.
#ifdef VITRINE_MORE_FORMATS

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "color.h"
#include "common.h"

enum { MOST_HEADER_BYTES = 16 << 20, MOST_TAG_BYTES = 32 << 20 };

typedef struct {
  const uint8_t *bytes;
  size_t count;
  uint64_t at;
  bool has_ended;  // libtiff asked for more bytes than there are
  bool is_late;
  bool is_damaged;     // libtiff has warned that pixels are missing
  bool is_drawing;
  uint64_t tag_bytes;  // read in front of the pixels
  uint64_t deadline;
  vitrine_image_result *result;
  char message[160];  // the first of libtiff
  TIFF *file;
  TIFFRGBAImage image;
  bool has_image;
  uint32_t *pixels;
  vitrine_color *color;
} session;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t wanted) {
  session *self = handle;
  size_t left = self->at < self->count ? self->count - (size_t)self->at : 0;
  size_t count = wanted < 0 ? 0 : (size_t)wanted;
  if (vitrine_image_is_late(self->deadline)) {
    self->is_late = true;
    return 0;
  }
  if (count > left) {
    self->has_ended = true;
    count = left;
  }
  // libtiff keeps the value of each tag, and many tags may name the same bytes.
  if (!self->is_drawing) {
    self->tag_bytes += count;
    if (self->tag_bytes > MOST_TAG_BYTES) return 0;
  }
  if (count) memcpy(to, self->bytes + self->at, count);
  self->at += count;
  return (tmsize_t)count;
}

static tmsize_t write_nothing(thandle_t handle, void *from, tmsize_t count) {
  (void)handle;
  (void)from;
  (void)count;
  return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int origin) {
  session *self = handle;
  self->at = origin == SEEK_SET ? offset : origin == SEEK_CUR ? self->at + offset : self->count + offset;
  return self->at;
}

static toff_t size_of(thandle_t handle) { return ((session *)handle)->count; }

static int close_nothing(thandle_t handle) {
  (void)handle;
  return 0;
}

static int on_error(TIFF *file, void *user, const char *module, const char *format, va_list arguments) {
  session *self = user;
  (void)file;
  (void)module;
  if (!self->message[0]) vsnprintf(self->message, sizeof self->message, format, arguments);
  return 1;  // nothing is printed
}

static int on_warning(TIFF *file, void *user, const char *module, const char *format, va_list arguments) {
  session *self = user;
  (void)file;
  (void)module;
  (void)format;
  (void)arguments;
  // Some codecs only warn when the data of pixels ends.
  if (self->is_drawing) self->is_damaged = true;
  return 1;
}

static bool fail(session *self, vitrine_image_status status, const char *reason) {
  if (self->tag_bytes > MOST_TAG_BYTES) {
    vitrine_image_say(self->result, VITRINE_IMAGE_TOO_LARGE, "its tags");
  } else if (self->is_late) {
    vitrine_image_say(self->result, VITRINE_IMAGE_TOO_LATE, "deadline");
  } else if (self->has_ended) {
    vitrine_image_say(self->result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
  } else {
    vitrine_image_say(self->result, status, self->message[0] ? self->message : reason);
  }
  return false;
}

// Opens the file, and finds out how its first picture is stored. `most_bytes` bounds each allocation of libtiff.
static bool begin(session *self, size_t most_bytes) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options) {
    vitrine_image_say(self->result, VITRINE_IMAGE_NO_MEMORY, "libtiff's own");
    return false;
  }
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, most_bytes > (size_t)LONG_MAX ? LONG_MAX : (tmsize_t)most_bytes);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, self);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, self);
  // "m": the bytes are copied in pieces, not mapped.
  self->file = TIFFClientOpenExt("", "rm", self, read_bytes, write_nothing, seek, close_nothing, size_of, NULL, NULL,
                                 options);
  TIFFOpenOptionsFree(options);
  if (!self->file) return fail(self, VITRINE_IMAGE_CORRUPT, "no header");
  // libtiff goes on without the tags that it could not read.
  if (self->tag_bytes > MOST_TAG_BYTES) return fail(self, VITRINE_IMAGE_TOO_LARGE, "its tags");
  // Other codecs of libtiff take memory beyond its limit, or end the process.
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(self->file, TIFFTAG_COMPRESSION, &compression);
  switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_LZW:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_JPEG: break;
    default: vitrine_image_say(self->result, VITRINE_IMAGE_UNSUPPORTED, "its compression"); return false;
  }
  char reason[1024] = "";
  self->has_image = TIFFRGBAImageBegin(&self->image, self->file, 1, reason);
  if (!self->has_image) {
    self->message[0] = 0;
    return fail(self, VITRINE_IMAGE_UNSUPPORTED, reason);
  }
  return true;
}

static void end(session *self) {
  if (self->has_image) TIFFRGBAImageEnd(&self->image);
  if (self->file) TIFFClose(self->file);
  free(self->pixels);
  vitrine_color_release(self->color);
}

void vitrine_tiff_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  session self = {.bytes = bytes, .count = count, .deadline = UINT64_MAX, .result = result};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (begin(&self, MOST_HEADER_BYTES)) {
    uint16_t orientation = 1;
    TIFFGetFieldDefaulted(self.file, TIFFTAG_ORIENTATION, &orientation);
    info->width = self.image.width;
    info->height = self.image.height;
    info->bits = self.image.bitspersample >= 1 && self.image.bitspersample <= 16 ? self.image.bitspersample : 8;
    info->has_alpha = self.image.alpha != 0;
    info->is_gray =
        self.image.photometric == PHOTOMETRIC_MINISBLACK || self.image.photometric == PHOTOMETRIC_MINISWHITE;
    info->is_cmyk = self.image.photometric == PHOTOMETRIC_SEPARATED;
    info->orientation = orientation >= 1 && orientation <= 8 ? (uint8_t)orientation : 1;
  }
  end(&self);
}

// The profile of inks is ignored: libtiff gives three lights.
static void find_color(session *self) {
  uint32_t count = 0;
  void *bytes = NULL;
  if (self->image.photometric == PHOTOMETRIC_SEPARATED) return;
  if (!TIFFGetField(self->file, TIFFTAG_ICCPROFILE, &count, &bytes) || !bytes) return;
  vitrine_color_source source = {VITRINE_COLOR_PROFILE, bytes, count};
  bool has_one_light =
      self->image.photometric == PHOTOMETRIC_MINISBLACK || self->image.photometric == PHOTOMETRIC_MINISWHITE;
  bool is_gray = has_one_light && count > 20 && memcmp(source.bytes + 16, "GRAY", 4) == 0;
  self->color = vitrine_color_take(source, is_gray ? VITRINE_COLOR_GRAY8 : VITRINE_COLOR_RGBA8);
}

// libtiff multiplies colors by alpha.
static uint8_t straight(uint32_t value, uint32_t alpha) {
  if (alpha == 255) return (uint8_t)value;
  uint32_t result = alpha ? (value * 255 + alpha / 2) / alpha : 0;
  return result > 255 ? 255 : (uint8_t)result;
}

static void draw(session *self, vitrine_image_pixels pixels) {
  TIFFRGBAImage *image = &self->image;
  if (image->width != pixels.width || image->height != pixels.height) {
    vitrine_image_say(self->result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    return;
  }
  // As stored, without a turn.
  image->req_orientation = image->orientation;
  self->pixels = calloc((size_t)pixels.width * pixels.height, 4);
  if (!self->pixels) {
    vitrine_image_say(self->result, VITRINE_IMAGE_NO_MEMORY, "pixels");
    return;
  }
  self->is_drawing = true;
  bool is_whole = TIFFRGBAImageGet(image, self->pixels, pixels.width, pixels.height) && !self->is_damaged;
  self->is_drawing = false;
  if (!is_whole || self->is_late) {
    fail(self, VITRINE_IMAGE_CORRUPT, "breaks the rules");
    return;
  }
  find_color(self);
  for (uint32_t y = 0; y < pixels.height; y++) {
    const uint32_t *from = self->pixels + (size_t)y * pixels.width;
    uint8_t *row = pixels.bytes + (size_t)y * pixels.bytes_per_row;
    if (vitrine_image_is_late(self->deadline)) {
      vitrine_image_say(self->result, VITRINE_IMAGE_TOO_LATE, "deadline");
      return;
    }
    for (size_t x = 0; x < pixels.width; x++) {
      uint32_t alpha = image->alpha ? TIFFGetA(from[x]) : 255;
      row[x * 4] = straight(TIFFGetR(from[x]), alpha);
      row[x * 4 + 1] = straight(TIFFGetG(from[x]), alpha);
      row[x * 4 + 2] = straight(TIFFGetB(from[x]), alpha);
      row[x * 4 + 3] = (uint8_t)alpha;
    }
    if (self->color) vitrine_color_convert(self->color, row, row, pixels.width);
  }
}

void vitrine_tiff_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                         vitrine_image_result *result) {
  session self = {.bytes = bytes, .count = count, .deadline = vitrine_image_deadline(limits), .result = result};
  *result = (vitrine_image_result){0};
  if (begin(&self, limits.working_bytes < MOST_HEADER_BYTES ? MOST_HEADER_BYTES : limits.working_bytes)) {
    draw(&self, pixels);
  }
  end(&self);
}

#endif
