// The first frame of a GIF, by giflib.
#ifdef VITRINE_MORE_FORMATS

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

typedef struct {
  GifFileType *file;
  const uint8_t *next;
  size_t left;
  bool has_ended;  // giflib asked for more bytes than there are
  uint64_t deadline;
  vitrine_image_result *result;
  int transparent;  // the index of transparent pixels, or -1
  uint32_t width;  // of the canvas, which contains the first frame
  uint32_t height;
  uint8_t *row;
} session;

static int read_bytes(GifFileType *file, GifByteType *bytes, int count) {
  session *self = file->UserData;
  if (count < 0) return 0;
  if ((size_t)count > self->left) {
    self->has_ended = true;
    return 0;
  }
  memcpy(bytes, self->next, (size_t)count);
  self->next += count;
  self->left -= (size_t)count;
  return count;
}

static bool fail(session *self, int code) {
  if (code == D_GIF_ERR_NOT_ENOUGH_MEM) {
    vitrine_image_say(self->result, VITRINE_IMAGE_NO_MEMORY, "giflib's own");
  } else if (self->has_ended) {
    vitrine_image_say(self->result, VITRINE_IMAGE_TRUNCATED, "its end is missing");
  } else {
    const char *reason = GifErrorString(code);
    vitrine_image_say(self->result, VITRINE_IMAGE_CORRUPT, reason ? reason : "breaks the rules");
  }
  return false;
}

static bool is_late(session *self) {
  if (!vitrine_image_is_late(self->deadline)) return false;
  vitrine_image_say(self->result, VITRINE_IMAGE_TOO_LATE, "deadline");
  return true;
}

static bool skip_extension(session *self) {
  GifFileType *file = self->file;
  int code;
  GifByteType *block;
  if (DGifGetExtension(file, &code, &block) != GIF_OK) return fail(self, file->Error);
  while (block) {
    GraphicsControlBlock control;
    // A block begins with its length.
    if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      self->transparent = control.TransparentColor;
    }
    if (is_late(self)) return false;
    if (DGifGetExtensionNext(file, &block) != GIF_OK) return fail(self, file->Error);
  }
  return true;
}

// Reads up to the next frame. Returns false at the end, or after an error.
static bool find_frame(session *self) {
  GifFileType *file = self->file;
  while (!is_late(self)) {
    GifRecordType kind;
    if (DGifGetRecordType(file, &kind) != GIF_OK) return fail(self, file->Error);
    switch (kind) {
      case IMAGE_DESC_RECORD_TYPE:
        if (DGifGetImageHeader(file) != GIF_OK) return fail(self, file->Error);
        return true;
      case EXTENSION_RECORD_TYPE:
        if (!skip_extension(self)) return false;
        break;
      default: return false;
    }
  }
  return false;
}

// Opens the file, and reads up to the pixels of the first frame.
static bool begin(session *self) {
  int code = D_GIF_ERR_NOT_ENOUGH_MEM;
  self->transparent = -1;
  self->file = DGifOpen(self, read_bytes, &code);
  if (!self->file) return fail(self, code);
  if (!find_frame(self)) {
    vitrine_image_say(self->result, self->has_ended ? VITRINE_IMAGE_TRUNCATED : VITRINE_IMAGE_CORRUPT, "no frame");
    return false;
  }
  GifFileType *file = self->file;
  GifImageDesc *frame = &file->Image;
  if (frame->Width < 1 || frame->Height < 1 || frame->Left < 0 || frame->Top < 0) return fail(self, 0);
  // Browsers also enlarge a canvas that is smaller than the first frame.
  uint32_t right = (uint32_t)frame->Left + (uint32_t)frame->Width;
  uint32_t bottom = (uint32_t)frame->Top + (uint32_t)frame->Height;
  self->width = (uint32_t)file->SWidth > right ? (uint32_t)file->SWidth : right;
  self->height = (uint32_t)file->SHeight > bottom ? (uint32_t)file->SHeight : bottom;
  return true;
}

static void end(session *self) {
  int code;
  if (self->file) DGifCloseFile(self->file, &code);
  free(self->row);
}

static bool covers_canvas(session *self) {
  return (uint32_t)self->file->Image.Width == self->width && (uint32_t)self->file->Image.Height == self->height;
}

// Whether another frame follows the first one. The data of the first are skipped.
static bool has_other_frame(session *self) {
  vitrine_image_result other = {0};
  self->result = &other;  // damage behind the first frame does not matter
  int size;
  GifByteType *block;
  if (DGifGetCode(self->file, &size, &block) != GIF_OK) return false;
  while (block) {
    if (DGifGetCodeNext(self->file, &block) != GIF_OK) return false;
  }
  return find_frame(self);
}

void vitrine_gif_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  session self = {.result = result, .next = bytes, .left = count, .deadline = UINT64_MAX};
  *info = (vitrine_image_info){0};
  *result = (vitrine_image_result){0};
  if (begin(&self)) {
    info->width = self.width;
    info->height = self.height;
    info->bits = 8;
    info->has_alpha = self.transparent >= 0 || !covers_canvas(&self);
    info->is_progressive = self.file->Image.Interlace;
    info->is_lossless = true;
    info->is_animated = has_other_frame(&self);
  }
  end(&self);
}

static void put_row(session *self, const ColorMapObject *map, uint8_t *pixels) {
  for (int x = 0; x < self->file->Image.Width; x++) {
    int index = self->row[x];
    // An index without a color is transparent, as in browsers.
    if (index == self->transparent || index >= map->ColorCount) continue;
    const GifColorType *color = &map->Colors[index];
    uint8_t *pixel = pixels + (size_t)x * 4;
    pixel[0] = color->Red;
    pixel[1] = color->Green;
    pixel[2] = color->Blue;
    pixel[3] = 0xFF;
  }
}

static void draw(session *self, vitrine_image_pixels pixels) {
  static const int starts[4] = {0, 4, 2, 1}, steps[4] = {8, 8, 4, 2};
  GifFileType *file = self->file;
  GifImageDesc *frame = &file->Image;
  const ColorMapObject *map = frame->ColorMap ? frame->ColorMap : file->SColorMap;
  if (self->width != pixels.width || self->height != pixels.height) {
    vitrine_image_say(self->result, VITRINE_IMAGE_CORRUPT, "its size has changed");
    return;
  }
  if (!map) {
    vitrine_image_say(self->result, VITRINE_IMAGE_CORRUPT, "no colors");
    return;
  }
  self->row = malloc((size_t)frame->Width);
  if (!self->row) {
    vitrine_image_say(self->result, VITRINE_IMAGE_NO_MEMORY, "a row");
    return;
  }
  bool is_opaque = self->transparent < 0 && covers_canvas(self);
  for (int pass = 0; pass < (frame->Interlace ? 4 : 1); pass++) {
    int step = frame->Interlace ? steps[pass] : 1;
    for (int y = frame->Interlace ? starts[pass] : 0; y < frame->Height; y += step) {
      if (is_late(self)) return;
      if (DGifGetLine(file, self->row, frame->Width) != GIF_OK) {
        fail(self, file->Error);
        return;
      }
      uint8_t *row = pixels.bytes + (size_t)(frame->Top + y) * pixels.bytes_per_row + (size_t)frame->Left * 4;
      put_row(self, map, row);
      // The header says that there is no transparency.
      for (int x = 0; is_opaque && x < frame->Width; x++) row[x * 4 + 3] = 0xFF;
    }
  }
}

void vitrine_gif_decode(const uint8_t *bytes, size_t count, vitrine_image_limits limits, vitrine_image_pixels pixels,
                        vitrine_image_result *result) {
  session self = {.result = result, .next = bytes, .left = count, .deadline = vitrine_image_deadline(limits)};
  *result = (vitrine_image_result){0};
  if (begin(&self)) draw(&self, pixels);
  end(&self);
}

#endif
