// Encoding of JPEG.
#include "jpeg_attempt.h"

typedef struct {
  vitrine_jpeg_attempt attempt;
  struct jpeg_compress_struct jpeg;
  struct jpeg_destination_mgr destination;
  vitrine_image_buffer *buffer;
  JOCTET piece[8192];
} encoder;

static void destination_begin(j_compress_ptr jpeg) {
  encoder *self = (encoder *)vitrine_jpeg_attempt_of((j_common_ptr)jpeg);
  self->destination.next_output_byte = self->piece;
  self->destination.free_in_buffer = sizeof self->piece;
}

static void destination_take(j_compress_ptr jpeg, size_t count) {
  encoder *self = (encoder *)vitrine_jpeg_attempt_of((j_common_ptr)jpeg);
  if (!vitrine_image_append(self->buffer, self->piece, count)) {
    vitrine_jpeg_leave((j_common_ptr)jpeg, VITRINE_IMAGE_NO_MEMORY, "encoded bytes");
  }
}

// libjpeg calls this when the piece is full, and expects the whole piece to be consumed.
static boolean destination_empty(j_compress_ptr jpeg) {
  destination_take(jpeg, sizeof((encoder *)0)->piece);
  destination_begin(jpeg);
  return TRUE;
}

static void destination_end(j_compress_ptr jpeg) {
  destination_take(jpeg, sizeof((encoder *)0)->piece - jpeg->dest->free_in_buffer);
}

static void write_rows(encoder *self, vitrine_image_pixels pixels, int quality) {
  j_compress_ptr jpeg = &self->jpeg;
  jpeg_create_compress(jpeg);
  self->destination = (struct jpeg_destination_mgr){
      .init_destination = destination_begin,
      .empty_output_buffer = destination_empty,
      .term_destination = destination_end,
  };
  jpeg->dest = &self->destination;
  jpeg->image_width = pixels.width;
  jpeg->image_height = pixels.height;
  jpeg->input_components = 4;
  jpeg->in_color_space = JCS_EXT_RGBA;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, quality, TRUE);
  // Such a quality should also keep the colors of thin lines.
  if (quality > 90) jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(jpeg, TRUE);
  while (jpeg->next_scanline < jpeg->image_height) {
    JSAMPROW row = pixels.bytes + (size_t)jpeg->next_scanline * pixels.bytes_per_row;
    jpeg_write_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_compress(jpeg);
}

void vitrine_jpeg_encode(vitrine_image_pixels pixels, int quality, vitrine_image_buffer *buffer,
                         vitrine_image_result *result) {
  encoder self = {0};
  *result = (vitrine_image_result){0};
  vitrine_jpeg_prepare(&self.attempt, result);
  self.buffer = buffer;
  self.jpeg.err = &self.attempt.errors;
  self.jpeg.client_data = &self;
  if (setjmp(self.attempt.way_out) == 0) write_rows(&self, pixels, quality);
  jpeg_destroy_compress(&self.jpeg);
}
