// Decoding of JPEG.
#include "color.h"
#include "jpeg_attempt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// A scan of as few as ten bytes costs a pass over the whole picture. libjpeg-turbo's own fuzzers use this limit too.
enum { MOST_SCANS = 500 };

typedef struct {
  const JOCTET *bytes;  // in the file
  size_t count;
} profile_part;

typedef struct {
  vitrine_jpeg_attempt attempt;
  struct jpeg_decompress_struct jpeg;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  uint64_t deadline;
  profile_part parts[256];  // by their numbers, which begin with 1
  int part_count;  // as the parts say; -1 if they disagree
  JOCTET *profile;  // the parts together, if there are several
  vitrine_color *color;
} decoder;

static void source_nothing(j_decompress_ptr jpeg) { (void)jpeg; }

// A picture without its last two bytes is whole. The decoder detects other missing parts itself.
static boolean source_fill(j_decompress_ptr jpeg) {
  static const JOCTET end[2] = {0xFF, JPEG_EOI};
  vitrine_jpeg_attempt_of((j_common_ptr)jpeg)->has_ended = true;
  jpeg->src->next_input_byte = end;
  jpeg->src->bytes_in_buffer = 2;
  return TRUE;
}

static void source_skip(j_decompress_ptr jpeg, long count) {
  struct jpeg_source_mgr *source = jpeg->src;
  if (count <= 0) return;
  if ((size_t)count > source->bytes_in_buffer) {
    source_fill(jpeg);
  } else {
    source->next_input_byte += count;
    source->bytes_in_buffer -= (size_t)count;
  }
}

static void on_progress(j_common_ptr object) {
  j_decompress_ptr jpeg = (j_decompress_ptr)object;
  decoder *self = (decoder *)vitrine_jpeg_attempt_of(object);
  if (jpeg->input_scan_number > MOST_SCANS) vitrine_jpeg_leave(object, VITRINE_IMAGE_CORRUPT, "more than 500 scans");
  if (vitrine_image_is_late(self->deadline)) vitrine_jpeg_leave(object, VITRINE_IMAGE_TOO_LATE, "deadline");
}

// The profile -----------------------------------------------------------------------------------------------------

// Reads an APP2 segment: its length, which includes itself, and for a part of a profile a name, the part's number and
// the number of parts. Parts stay in the file. libjpeg's own reading copies segments before any limit is known.
static boolean read_app2(j_decompress_ptr jpeg) {
  static const char name[12] = "ICC_PROFILE";
  decoder *self = (decoder *)vitrine_jpeg_attempt_of((j_common_ptr)jpeg);
  struct jpeg_source_mgr *source = jpeg->src;
  const JOCTET *at = source->next_input_byte;
  if (source->bytes_in_buffer < 2) {
    source_fill(jpeg);
    return TRUE;
  }
  size_t length = (size_t)at[0] << 8 | at[1];
  if (length >= 16 && length <= source->bytes_in_buffer && memcmp(at + 2, name, sizeof name) == 0) {
    int number = at[14], count = at[15];
    bool is_right = number >= 1 && number <= count && !self->parts[number].bytes;
    if (!is_right || (self->part_count != 0 && self->part_count != count)) count = -1;
    self->part_count = self->part_count < 0 ? -1 : count;
    self->parts[number] = (profile_part){.bytes = at + 16, .count = length - 16};
  }
  source_skip(jpeg, length < 2 ? 2 : (long)length);
  return TRUE;
}

// Returns the whole profile, or one without bytes.
static vitrine_color_source assemble_profile(decoder *self) {
  vitrine_color_source source = {.kind = VITRINE_COLOR_PROFILE};
  size_t count = 0;
  for (int number = 1; number <= self->part_count; number++) {
    if (!self->parts[number].bytes) return source;
    count += self->parts[number].count;
  }
  if (count == 0 || count > VITRINE_COLOR_MOST_BYTES) return source;
  source.bytes = self->parts[1].bytes;
  if (self->part_count > 1) {
    self->profile = malloc(count);
    if (!self->profile) vitrine_jpeg_leave((j_common_ptr)&self->jpeg, VITRINE_IMAGE_NO_MEMORY, "a profile");
    size_t at = 0;
    for (int number = 1; number <= self->part_count; number++) {
      memcpy(self->profile + at, self->parts[number].bytes, self->parts[number].count);
      at += self->parts[number].count;
    }
    source.bytes = self->profile;
  }
  source.count = count;
  return source;
}

static void find_color(decoder *self) {
  vitrine_color_source source = assemble_profile(self);
  if (source.count == 0) return;
  vitrine_color_layout layout = VITRINE_COLOR_RGBA8;
  if (self->jpeg.num_components == 4) {
    layout = self->jpeg.saw_Adobe_marker ? VITRINE_COLOR_CMYK8_INVERTED : VITRINE_COLOR_CMYK8;
  } else if (self->jpeg.num_components == 1 && source.count > 20 && memcmp(source.bytes + 16, "GRAY", 4) == 0) {
    // Browsers also take a profile of three colors, and libjpeg gives three equal ones.
    layout = VITRINE_COLOR_GRAY8;
  }
  self->color = vitrine_color_take(source, layout);
}

// Pixels ----------------------------------------------------------------------------------------------------------

static void read_header(decoder *self, const uint8_t *bytes, size_t count, vitrine_image_info *info) {
  j_decompress_ptr jpeg = &self->jpeg;
  jpeg_create_decompress(jpeg);
  jpeg_set_marker_processor(jpeg, JPEG_APP0 + 2, read_app2);
  self->source = (struct jpeg_source_mgr){
      .next_input_byte = bytes,
      .bytes_in_buffer = count,
      .init_source = source_nothing,
      .fill_input_buffer = source_fill,
      .skip_input_data = source_skip,
      .resync_to_restart = jpeg_resync_to_restart,
      .term_source = source_nothing,
  };
  jpeg->src = &self->source;
  jpeg_read_header(jpeg, TRUE);
  if (self->attempt.has_ended) {
    vitrine_jpeg_leave((j_common_ptr)jpeg, VITRINE_IMAGE_TRUNCATED, "its header ends too soon");
  }
  int channels = jpeg->num_components;
  if (channels != 1 && channels != 3 && channels != 4) {
    vitrine_jpeg_leave((j_common_ptr)jpeg, VITRINE_IMAGE_UNSUPPORTED, "neither gray, nor three colors, nor four");
  }
  if (!info) return;
  info->bits = (uint32_t)jpeg->data_precision;
  info->is_gray = channels == 1;
  info->is_cmyk = channels == 4;
  info->is_progressive = jpeg->progressive_mode;
}

// Converts four inks to three lights, in place, for a picture without a profile. Files with Adobe's marker store the
// share of bare paper; others store the share of ink.
static void print_row(uint8_t *row, uint32_t width, bool is_inverted) {
  uint8_t flip = is_inverted ? 0 : 0xFF;
  for (uint32_t x = 0; x < width; x++, row += 4) {
    uint32_t black = row[3] ^ flip;
    for (int channel = 0; channel < 3; channel++) {
      row[channel] = (uint8_t)(((uint32_t)(row[channel] ^ flip) * black + 127) / 255);
    }
    row[3] = 0xFF;
  }
}

// Whether the bytes ended before the picture was complete. For a single sequential scan libjpeg warns instead.
static bool is_cut_off(j_decompress_ptr jpeg) {
  if (!vitrine_jpeg_attempt_of((j_common_ptr)jpeg)->has_ended) return false;
  if (jpeg->arith_code) return true;  // an arithmetic decoder reads zeros forever
  if (!jpeg_has_multiple_scans(jpeg)) return false;
  if (!jpeg->progressive_mode) {
    // libjpeg sets the table of a channel at its first scan, and warns of a scan that is cut off.
    for (int channel = 0; channel < jpeg->num_components; channel++) {
      if (!jpeg->comp_info[channel].quant_table) return true;
    }
    return false;
  }
  if (!jpeg->coef_bits) return true;
  for (int channel = 0; channel < jpeg->num_components; channel++) {
    for (int index = 0; index < DCTSIZE2; index++) {
      if (jpeg->coef_bits[channel][index] != 0) return true;
    }
  }
  return false;
}

static void read_rows(decoder *self, uint32_t eighths, vitrine_image_limits limits, vitrine_image_pixels pixels) {
  j_decompress_ptr jpeg = &self->jpeg;
  j_common_ptr object = (j_common_ptr)jpeg;
  // Coefficients of all scans are kept in arrays. Their size is checked before they are allocated.
  jpeg->mem->max_memory_to_use = limits.working_bytes < 1 ? 1 : (long)(limits.working_bytes & LONG_MAX);
  jpeg->scale_num = eighths;
  jpeg->scale_denom = 8;
  bool is_cmyk = jpeg->num_components == 4;
  jpeg->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
  jpeg_calc_output_dimensions(jpeg);
  if (jpeg->output_width != pixels.width || jpeg->output_height != pixels.height) {
    vitrine_jpeg_leave(object, VITRINE_IMAGE_CORRUPT, "its size has changed");
  }
  self->progress.progress_monitor = on_progress;
  jpeg->progress = &self->progress;
  on_progress(object);
  jpeg_start_decompress(jpeg);
  if (is_cut_off(jpeg)) vitrine_jpeg_leave(object, VITRINE_IMAGE_TRUNCATED, "scans are missing");
  find_color(self);
  while (jpeg->output_scanline < jpeg->output_height) {
    on_progress(object);
    JSAMPROW row = pixels.bytes + (size_t)jpeg->output_scanline * pixels.bytes_per_row;
    jpeg_read_scanlines(jpeg, &row, 1);
    if (self->color) {
      vitrine_color_convert(self->color, row, row, pixels.width);
    } else if (is_cmyk) {
      print_row(row, pixels.width, jpeg->saw_Adobe_marker);
    }
  }
  if (is_cut_off(jpeg)) vitrine_jpeg_leave(object, VITRINE_IMAGE_TRUNCATED, "its end is missing");
}

void vitrine_jpeg_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  decoder self = {0};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  vitrine_jpeg_prepare(&self.attempt, result);
  self.jpeg.err = &self.attempt.errors;
  self.jpeg.client_data = &self;
  if (setjmp(self.attempt.way_out) == 0) read_header(&self, bytes, count, info);
  // After the input is exhausted, libjpeg reads an inserted end of the picture, even in place of a size.
  if (!self.attempt.has_ended) {
    info->width = self.jpeg.image_width;
    info->height = self.jpeg.image_height;
  }
  jpeg_destroy_decompress(&self.jpeg);
}

void vitrine_jpeg_decode(const uint8_t *bytes, size_t count, uint32_t eighths, vitrine_image_limits limits,
                         vitrine_image_pixels pixels, vitrine_image_result *result) {
  decoder self = {0};
  *result = (vitrine_image_result){0};
  vitrine_jpeg_prepare(&self.attempt, result);
  self.deadline = vitrine_image_deadline(limits);
  self.jpeg.err = &self.attempt.errors;
  self.jpeg.client_data = &self;
  if (setjmp(self.attempt.way_out) == 0) {
    read_header(&self, bytes, count, NULL);
    read_rows(&self, eighths, limits, pixels);
  }
  jpeg_destroy_decompress(&self.jpeg);
  vitrine_color_release(self.color);
  free(self.profile);
}
