// SVG, by librsvg, which is loaded when it is first needed. It brings some 30 libraries with it, so only a decoder
// process should load it.
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#ifdef __APPLE__
static const char *const names[] = {
  "librsvg-2.2.dylib", "/opt/homebrew/lib/librsvg-2.2.dylib", "/usr/local/lib/librsvg-2.2.dylib",
};
#else
static const char *const names[] = {"librsvg-2.so.2"};
#endif

// --- The library -----------------------------------------------------------------------------------------------------

// These types are part of the stable interfaces of GLib, cairo and librsvg 2.52.
typedef struct {
  uint32_t domain;
  int code;
  char *message;
} glib_error;

typedef struct {
  double x, y, width, height;
} rectangle;

typedef struct {
  double value;
  int unit;
} length;

enum { UNIT_PIXEL = 1, UNIT_INCH = 4, UNIT_CENTIMETER, UNIT_MILLIMETER, UNIT_POINT, UNIT_PICA };
enum { FORMAT_ARGB32 = 0, STATUS_NO_MEMORY = 1 };

static const double dots_per_inch = 96;
static const double most_distortion = 1.02;

static struct {
  void *(*open)(const uint8_t *bytes, size_t count, glib_error **error);
  void (*set_resolution)(void *svg, double dots_per_inch);
  int (*size)(void *svg, double *width, double *height);
  void (*dimensions)(void *svg, int *has_width, length *width, int *has_height, length *height, int *has_view,
                     rectangle *view);
  int (*render)(void *svg, void *canvas, const rectangle *viewport, glib_error **error);
  void (*release)(void *object);
  void (*free_error)(glib_error *error);
  void *(*make_surface)(uint8_t *bytes, int format, int width, int height, int bytes_per_row);
  int (*surface_status)(void *surface);
  void (*flush_surface)(void *surface);
  void (*release_surface)(void *surface);
  void *(*make_canvas)(void *surface);
  int (*canvas_status)(void *canvas);
  void (*scale)(void *canvas, double x, double y);
  void (*move)(void *canvas, double x, double y);
  void (*release_canvas)(void *canvas);
  bool is_loaded;
} rsvg;

static bool find(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static void load(void) {
  void *library = NULL;
  // Its filters start a thread for each processor. The memory of so many threads exhausts the address space.
  setenv("RAYON_NUM_THREADS", "1", 1);
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) library = dlopen(names[i], RTLD_NOW);
  // A symbol is also looked for in the libraries that this one needs.
  rsvg.is_loaded = library && find(library, "rsvg_handle_new_from_data", &rsvg.open) &&
                   find(library, "rsvg_handle_set_dpi", &rsvg.set_resolution) &&
                   find(library, "rsvg_handle_get_intrinsic_size_in_pixels", &rsvg.size) &&
                   find(library, "rsvg_handle_get_intrinsic_dimensions", &rsvg.dimensions) &&
                   find(library, "rsvg_handle_render_document", &rsvg.render) &&
                   find(library, "g_object_unref", &rsvg.release) && find(library, "g_error_free", &rsvg.free_error) &&
                   find(library, "cairo_image_surface_create_for_data", &rsvg.make_surface) &&
                   find(library, "cairo_surface_status", &rsvg.surface_status) &&
                   find(library, "cairo_surface_flush", &rsvg.flush_surface) &&
                   find(library, "cairo_surface_destroy", &rsvg.release_surface) &&
                   find(library, "cairo_create", &rsvg.make_canvas) &&
                   find(library, "cairo_status", &rsvg.canvas_status) &&
                   find(library, "cairo_scale", &rsvg.scale) && find(library, "cairo_translate", &rsvg.move) &&
                   find(library, "cairo_destroy", &rsvg.release_canvas);
}

static bool is_loaded(vitrine_image_result *result) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!rsvg.is_loaded) vitrine_image_say(result, VITRINE_IMAGE_NO_LIBRARY, "librsvg is not installed");
  return rsvg.is_loaded;
}

// --- The header ------------------------------------------------------------------------------------------------------

// Returns the length in pixels; 0 if it depends on a font or on a page.
static double pixels_of(int is_there, length length) {
  if (!is_there) return 0;
  switch (length.unit) {
    case UNIT_PIXEL: return length.value;
    case UNIT_INCH: return length.value * dots_per_inch;
    case UNIT_CENTIMETER: return length.value * dots_per_inch / 2.54;
    case UNIT_MILLIMETER: return length.value * dots_per_inch / 25.4;
    case UNIT_POINT: return length.value * dots_per_inch / 72;
    case UNIT_PICA: return length.value * dots_per_inch / 6;
    default: return 0;
  }
}

// The size of a page that a browser gives to a picture without a size.
static const double page_width = 300, page_height = 150;

static void read_size(void *svg, double *width, double *height) {
  if (rsvg.size(svg, width, height)) return;
  int has_width, has_height, has_view;
  length across, down;
  rectangle view = {0};
  rsvg.dimensions(svg, &has_width, &across, &has_height, &down, &has_view, &view);
  *width = pixels_of(has_width, across);
  *height = pixels_of(has_height, down);
  if (*width > 0 && *height > 0) return;
  if (has_view && view.width > 0 && view.height > 0) {
    if (*width > 0) {
      *height = *width * view.height / view.width;
    } else if (*height > 0) {
      *width = *height * view.width / view.height;
    } else {
      *width = view.width;
      *height = view.height;
    }
    return;
  }
  if (*width <= 0) *width = page_width;
  if (*height <= 0) *height = page_height;
}

static uint32_t whole_pixels(double side) {
  return side >= INT32_MAX ? INT32_MAX : side <= 1 ? 1 : (uint32_t)ceil(side);
}

// Returns NULL with a result if the bytes are no picture.
static void *open_svg(const uint8_t *bytes, size_t count, double *width, double *height, vitrine_image_result *result) {
  if (!is_loaded(result)) return NULL;
  glib_error *error = NULL;
  void *svg = rsvg.open(bytes, count, &error);
  if (!svg) {
    vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, error && error->message ? error->message : "not a picture");
    if (error) rsvg.free_error(error);
    return NULL;
  }
  rsvg.set_resolution(svg, dots_per_inch);
  read_size(svg, width, height);
  if (*width > 0 && *height > 0) return svg;
  vitrine_image_say(result, VITRINE_IMAGE_CORRUPT, "a side is not above 0");
  rsvg.release(svg);
  return NULL;
}

void vitrine_svg_info(const uint8_t *bytes, size_t count, vitrine_image_info *info, vitrine_image_result *result) {
  double width = 0, height = 0;
  void *svg = open_svg(bytes, count, &width, &height, result);
  if (!svg) return;
  rsvg.release(svg);
  info->width = whole_pixels(width);
  info->height = whole_pixels(height);
  info->bits = 8;
  info->has_alpha = true;
  info->is_lossless = true;
}

// --- Pixels ----------------------------------------------------------------------------------------------------------

// Cairo's pixels are numbers of 32 bits: alpha, and colors that are multiplied by it.
static void make_straight(vitrine_image_pixels pixels) {
  for (uint32_t y = 0; y < pixels.height; y++) {
    uint8_t *row = pixels.bytes + y * pixels.bytes_per_row;
    for (uint32_t x = 0; x < pixels.width; x++, row += 4) {
      uint32_t pixel;
      memcpy(&pixel, row, sizeof pixel);
      uint32_t alpha = pixel >> 24;
      for (int channel = 0; channel < 3; channel++) {
        uint32_t color = pixel >> (16 - 8 * channel) & 0xFF;
        if (alpha) color = (color * 255 + alpha / 2) / alpha;
        row[channel] = (uint8_t)(color > 255 ? 255 : color);
      }
      row[3] = (uint8_t)alpha;
    }
  }
}

// Scales the drawing to the pixels. Sides of whole pixels change its proportions, which is invisible in a large picture. In
// a small one, the drawing keeps its proportions, in the middle of the pixels.
static void set_scale(void *canvas, double width, double height, vitrine_image_pixels pixels) {
  double across = pixels.width / width, down = pixels.height / height;
  if (across > down * most_distortion || down > across * most_distortion) {
    double scale = across < down ? across : down;
    rsvg.move(canvas, (pixels.width - width * scale) / 2, (pixels.height - height * scale) / 2);
    across = down = scale;
  }
  rsvg.scale(canvas, across, down);
}

// Cairo's status tells of its own shortage only. A larger picture of the same file may fail although this file is whole.
static vitrine_image_status status_of_failure(void *canvas, const char *reason) {
  bool is_short = rsvg.canvas_status(canvas) == STATUS_NO_MEMORY || (reason && strstr(reason, "emory"));
  return is_short ? VITRINE_IMAGE_NO_MEMORY : VITRINE_IMAGE_CORRUPT;
}

static void draw(void *svg, void *canvas, double width, double height, vitrine_image_pixels pixels,
                 vitrine_image_result *result) {
  set_scale(canvas, width, height, pixels);
  rectangle viewport = {0, 0, width, height};
  glib_error *error = NULL;
  if (!rsvg.render(svg, canvas, &viewport, &error)) {
    const char *reason = error ? error->message : NULL;
    vitrine_image_say(result, status_of_failure(canvas, reason), reason ? reason : "cannot be drawn");
  }
  if (error) rsvg.free_error(error);
  if (rsvg.canvas_status(canvas)) {
    vitrine_image_say(result, status_of_failure(canvas, NULL), "cairo cannot draw it");
  }
}

void vitrine_svg_decode(const uint8_t *bytes, size_t count, vitrine_image_pixels pixels, vitrine_image_result *result) {
  double width = 0, height = 0;
  void *svg = open_svg(bytes, count, &width, &height, result);
  if (!svg) return;
  if (pixels.width > INT16_MAX || pixels.height > INT16_MAX || pixels.bytes_per_row > INT32_MAX) {
    vitrine_image_say(result, VITRINE_IMAGE_TOO_LARGE, "above the limits of cairo");
  } else {
    void *surface = rsvg.make_surface(pixels.bytes, FORMAT_ARGB32, (int)pixels.width, (int)pixels.height,
                                      (int)pixels.bytes_per_row);
    void *canvas = rsvg.make_canvas(surface);
    if (rsvg.surface_status(surface)) {
      vitrine_image_say(result, VITRINE_IMAGE_NO_MEMORY, "cairo's own");
    } else {
      draw(svg, canvas, width, height, pixels, result);
    }
    rsvg.release_canvas(canvas);
    rsvg.flush_surface(surface);
    rsvg.release_surface(surface);
    make_straight(pixels);
  }
  rsvg.release(svg);
}
