#include "color.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "color_deep.h"
#include "color_profile.h"

enum { MOST_KEPT = 16, MOST_KEPT_BYTES = 8 << 20 };

// A conversion, with the source that it was made from. Only the references change after it was made.
struct vitrine_color {
  vitrine_color_kind kind;
  vitrine_color_layout layout;
  uint8_t *bytes;
  size_t count;
  cmsContext context;
  // Both NULL if the colors are sRGB, or the source is ignored.
  cmsHTRANSFORM transform;
  vitrine_color_deep *deep;
  uint8_t of_gray[256][3];  // the colors of gray pixels of 8 bits
  unsigned references;  // guarded by `lock`
};

// Making ----------------------------------------------------------------------------------------------------------

static cmsUInt32Number format_of(vitrine_color_layout layout) {
  switch (layout) {
    case VITRINE_COLOR_GRAY8: return TYPE_GRAY_8;
    case VITRINE_COLOR_RGBA16: return TYPE_RGBA_16_SE;
    case VITRINE_COLOR_GRAYA16:
      return COLORSPACE_SH(PT_GRAY) | EXTRA_SH(1) | CHANNELS_SH(1) | BYTES_SH(2) | ENDIAN16_SH(1);
    case VITRINE_COLOR_CMYK8: return TYPE_CMYK_8;
    case VITRINE_COLOR_CMYK8_INVERTED: return TYPE_CMYK_8_REV;
    default: return TYPE_RGBA_8;
  }
}

static void make_transform(vitrine_color *color) {
  vitrine_color_source source = {color->kind, color->bytes, color->count};
  // A context of its own has no handlers that other code of the process has installed.
  color->context = cmsCreateContext(NULL, NULL);
  if (!color->context) return;
  cmsHPROFILE from = vitrine_color_profile(color->context, source, color->layout);
  // Making a transform takes milliseconds, and most profiles are sRGB's.
  cmsHPROFILE to = from && !vitrine_color_is_srgb(from) ? cmsCreate_sRGBProfileTHR(color->context) : NULL;
  bool is_deep = color->layout == VITRINE_COLOR_RGBA16 || color->layout == VITRINE_COLOR_GRAYA16;
  if (to && is_deep) color->deep = vitrine_color_deep_make(from, color->layout);
  if (to && !color->deep) {
    cmsUInt32Number result = color->layout == VITRINE_COLOR_GRAY8 ? TYPE_RGB_8 : TYPE_RGBA_8;
    cmsUInt32Number flags = is_deep ? cmsFLAGS_COPY_ALPHA : 0;
    // LittleCMS samples a gray curve at 33 places, which is too coarse for shadows. Of 8 bits, 256 grays are converted.
    if (color->layout == VITRINE_COLOR_GRAY8 || color->layout == VITRINE_COLOR_GRAYA16) flags |= cmsFLAGS_NOOPTIMIZE;
    color->transform = cmsCreateTransformTHR(color->context, from, format_of(color->layout), to, result,
                                             INTENT_PERCEPTUAL, flags);
  }
  if (to) cmsCloseProfile(to);
  if (from) cmsCloseProfile(from);
}

static void drop_transform(vitrine_color *color) {
  if (color->transform) cmsDeleteTransform(color->transform);
  if (color->context) cmsDeleteContext(color->context);
  color->transform = NULL;
  color->context = NULL;
}

static void fill_grays(vitrine_color *color) {
  uint8_t grays[256];
  bool is_same = true;
  for (int value = 0; value < 256; value++) grays[value] = (uint8_t)value;
  cmsDoTransform(color->transform, grays, color->of_gray, 256);
  for (int value = 0; value < 256; value++) {
    for (int channel = 0; channel < 3; channel++) is_same &= abs(color->of_gray[value][channel] - value) <= 1;
  }
  if (is_same) drop_transform(color);
}

static void discard(vitrine_color *color) {
  drop_transform(color);
  free(color->deep);
  free(color->bytes);
  free(color);
}

// Returns NULL if memory is short.
static vitrine_color *make(vitrine_color_source source, vitrine_color_layout layout) {
  vitrine_color *color = calloc(1, sizeof *color);
  if (!color) return NULL;
  color->kind = source.kind;
  color->layout = layout;
  color->count = source.count;
  color->references = 1;
  color->bytes = malloc(source.count ? source.count : 1);
  if (!color->bytes) {
    free(color);
    return NULL;
  }
  memcpy(color->bytes, source.bytes, source.count);
  make_transform(color);
  if (color->transform && layout == VITRINE_COLOR_GRAY8) fill_grays(color);
  if (!color->transform) drop_transform(color);
  return color;
}

// Keeping ---------------------------------------------------------------------------------------------------------

// The conversions used last, the newest first. They are compared by all bytes of their sources, so no forged digest
// can give one picture the colors of another. Guarded by `lock`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vitrine_color *kept[MOST_KEPT];
static int kept_count;

static void release_locked(vitrine_color *color) {
  if (--color->references == 0) discard(color);
}

static void put_first(vitrine_color *color, int from) {
  memmove(kept + 1, kept, (size_t)from * sizeof *kept);
  kept[0] = color;
}

static vitrine_color *find(vitrine_color_source source, vitrine_color_layout layout) {
  vitrine_color *found = NULL;
  pthread_mutex_lock(&lock);
  for (int index = 0; index < kept_count && !found; index++) {
    vitrine_color *color = kept[index];
    if (color->kind != source.kind || color->layout != layout || color->count != source.count) continue;
    if (memcmp(color->bytes, source.bytes, source.count) != 0) continue;
    found = color;
    found->references++;
    put_first(found, index);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void keep(vitrine_color *color) {
  pthread_mutex_lock(&lock);
  if (kept_count == MOST_KEPT) release_locked(kept[--kept_count]);
  put_first(color, kept_count++);
  color->references++;
  size_t byte_count = 0;
  for (int index = 0; index < kept_count; index++) byte_count += kept[index]->count;
  while (byte_count > MOST_KEPT_BYTES && kept_count > 1) {
    byte_count -= kept[kept_count - 1]->count;
    release_locked(kept[--kept_count]);
  }
  pthread_mutex_unlock(&lock);
}

vitrine_color *vitrine_color_take(vitrine_color_source source, vitrine_color_layout layout) {
  if (source.count == 0 || source.count > VITRINE_COLOR_MOST_BYTES) return NULL;
  vitrine_color *color = find(source, layout);
  if (!color) {
    // Made without the lock: two threads may make the same one, and both are right.
    color = make(source, layout);
    if (!color) return NULL;
    keep(color);
  }
  if (color->transform || color->deep) return color;
  vitrine_color_release(color);
  return NULL;
}

void vitrine_color_release(vitrine_color *color) {
  if (!color) return;
  pthread_mutex_lock(&lock);
  release_locked(color);
  pthread_mutex_unlock(&lock);
}

// Converting ------------------------------------------------------------------------------------------------------

void vitrine_color_convert(const vitrine_color *color, const uint8_t *from, uint8_t *to, uint32_t width) {
  switch (color->layout) {
    case VITRINE_COLOR_GRAY8:
      for (size_t x = 0; x < width; x++) {
        const uint8_t *gray = color->of_gray[from[x * 4]];
        uint8_t alpha = from[x * 4 + 3];
        memcpy(to + x * 4, gray, 3);
        to[x * 4 + 3] = alpha;
      }
      return;
    case VITRINE_COLOR_CMYK8:
    case VITRINE_COLOR_CMYK8_INVERTED:
      cmsDoTransform(color->transform, from, to, width);
      for (size_t x = 0; x < width; x++) to[x * 4 + 3] = 0xFF;
      return;
    case VITRINE_COLOR_RGBA8:
      if (from != to) memcpy(to, from, (size_t)width * 4);
      cmsDoTransform(color->transform, to, to, width);
      return;
    case VITRINE_COLOR_RGBA16:
    case VITRINE_COLOR_GRAYA16:
      if (color->deep) {
        vitrine_color_deep_convert(color->deep, from, to, width);
      } else {
        cmsDoTransform(color->transform, from, to, width);
      }
      return;
  }
}
