#ifndef VITRINE_HEIF_BOXES_H
#define VITRINE_HEIF_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether a HEIC file has only coded pictures and grids of them, each of tiles that are no grid. libheif would follow
// other references without an end, or decode one picture as often as it is named. Files that break the rules in other
// ways are left to libheif.
bool vitrine_heif_is_plain(const uint8_t *bytes, size_t count);

#endif
