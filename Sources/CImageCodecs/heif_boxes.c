// The items of a HEIC file and their references, read before libheif follows them.
#ifdef VITRINE_MORE_FORMATS

#include "heif_boxes.h"

#include <string.h>

// The search of the type of each tile passes over all items, so both bounds limit its time.
enum { MOST_ITEMS = 4096, MOST_TILES = 1 << 16 };

typedef struct {
  uint32_t id, type;
} item;

typedef struct {
  const uint8_t *at, *end;
} span;

static uint32_t number(const uint8_t *p, int byte_count) {
  uint32_t value = 0;
  for (int i = 0; i < byte_count; i++) value = value << 8 | p[i];
  return value;
}

#define TYPE(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

// Takes the next box of `in`. Returns false at the end and for a box that does not fit.
static bool next(span *in, uint32_t *type, span *content) {
  size_t left = (size_t)(in->end - in->at);
  if (left < 8) return false;
  uint64_t size = number(in->at, 4);
  size_t header = 8;
  *type = number(in->at + 4, 4);
  if (size == 1) {
    if (left < 16) return false;
    size = (uint64_t)number(in->at + 8, 4) << 32 | number(in->at + 12, 4);
    header = 16;
  } else if (size == 0) {
    size = left;
  }
  if (size < header || size > left) return false;
  *content = (span){in->at + header, in->at + size};
  in->at += size;
  return true;
}

static bool find(span in, uint32_t wanted, span *content) {
  uint32_t type;
  while (next(&in, &type, content)) {
    if (type == wanted) return true;
  }
  return false;
}

static uint32_t type_of(const item *items, size_t count, uint32_t id) {
  for (size_t i = 0; i < count; i++) {
    if (items[i].id == id) return items[i].type;
  }
  return 0;
}

static bool read_items(span iinf, item *items, size_t *count) {
  if (iinf.end - iinf.at < 8) return false;
  iinf.at += iinf.at[0] == 0 ? 6 : 8;
  uint32_t type;
  span infe;
  *count = 0;
  while (next(&iinf, &type, &infe)) {
    if (type != TYPE('i', 'n', 'f', 'e') || infe.end - infe.at < 12) continue;
    int id_bytes = infe.at[0] >= 3 ? 4 : 2;
    if (infe.end - infe.at < 4 + id_bytes + 2 + 4) return false;
    item found = {number(infe.at + 4, id_bytes), number(infe.at + 6 + id_bytes, 4)};
    if (*count == MOST_ITEMS) return false;
    items[(*count)++] = found;
  }
  return true;
}

bool vitrine_heif_is_plain(const uint8_t *bytes, size_t count) {
  span file = {bytes, bytes + count}, meta, iinf, iref, reference;
  if (!find(file, TYPE('m', 'e', 't', 'a'), &meta) || meta.end - meta.at < 4) return true;
  meta.at += 4;
  if (!find(meta, TYPE('i', 'i', 'n', 'f'), &iinf)) return true;
  item items[MOST_ITEMS];
  size_t item_count;
  if (!read_items(iinf, items, &item_count)) return false;
  for (size_t i = 0; i < item_count; i++) {
    if (items[i].type == TYPE('i', 'd', 'e', 'n') || items[i].type == TYPE('i', 'o', 'v', 'l')) return false;
  }
  if (!find(meta, TYPE('i', 'r', 'e', 'f'), &iref) || iref.end - iref.at < 4) return true;
  int id_bytes = iref.at[0] == 0 ? 2 : 4;
  iref.at += 4;
  uint32_t type;
  size_t all_tiles = 0;
  while (next(&iref, &type, &reference)) {
    if (type != TYPE('d', 'i', 'm', 'g')) continue;
    size_t length = (size_t)(reference.end - reference.at);
    if (length < (size_t)id_bytes + 2) return false;
    uint32_t tile_count = number(reference.at + id_bytes, 2), first = 0;
    if (length < (size_t)id_bytes * (1 + (size_t)tile_count) + 2) return false;
    all_tiles += tile_count;
    if (all_tiles > MOST_TILES) return false;
    const uint8_t *tiles = reference.at + id_bytes + 2;
    bool is_repeated = tile_count > 1;
    for (uint32_t i = 0; i < tile_count; i++) {
      uint32_t id = number(tiles + (size_t)i * id_bytes, id_bytes);
      if (type_of(items, item_count, id) == TYPE('g', 'r', 'i', 'd')) return false;
      if (i == 0) first = id;
      is_repeated &= id == first;
    }
    // libheif would decode a repeated tile for each reference.
    if (is_repeated) return false;
  }
  return true;
}

#endif
