/* The layout of the structs of vitrine.h on 64-bit systems. A changed line breaks programs that are already compiled.
   Fields are only added, and only at the end. */
#include "vitrine.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "the size of " #type)
#define FIELD(type, field, at) _Static_assert(offsetof(type, field) == (at), "the offset of " #type "." #field)

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the interface is for 64-bit systems");

SIZE(vitrine_error, 512);
FIELD(vitrine_error, text, 16);

SIZE(vitrine_options, 96);
FIELD(vitrine_options, size, 0);
FIELD(vitrine_options, byte_budget, 8);
FIELD(vitrine_options, wait_for_lock, 64);
FIELD(vitrine_options, durability, 72);
FIELD(vitrine_options, flags, 92);

SIZE(vitrine_put_options, 88);
FIELD(vitrine_put_options, metadata, 8);
FIELD(vitrine_put_options, expiration, 24);
FIELD(vitrine_put_options, source, 40);
FIELD(vitrine_put_options, source_kind, 56);
FIELD(vitrine_put_options, width, 72);
FIELD(vitrine_put_options, pixel_format, 84);

SIZE(vitrine_key, 32);
FIELD(vitrine_key, style, 16);

SIZE(vitrine_value_info, 96);
FIELD(vitrine_value_info, bytes, 8);
FIELD(vitrine_value_info, metadata, 24);
FIELD(vitrine_value_info, digest_high, 40);
FIELD(vitrine_value_info, expiration, 64);
FIELD(vitrine_value_info, encoding, 72);
FIELD(vitrine_value_info, pixel_format, 92);

SIZE(vitrine_entry, 144);
FIELD(vitrine_entry, url, 8);
FIELD(vitrine_entry, metadata, 40);
FIELD(vitrine_entry, byte_count, 56);
FIELD(vitrine_entry, written, 88);
FIELD(vitrine_entry, last_used, 112);
FIELD(vitrine_entry, encoding, 120);
FIELD(vitrine_entry, pixel_format, 140);

SIZE(vitrine_compaction, 56);
FIELD(vitrine_compaction, seconds, 40);
FIELD(vitrine_compaction, is_erased, 52);

SIZE(vitrine_verification, 40);
FIELD(vitrine_verification, lost, 32);

SIZE(vitrine_problem, 72);
FIELD(vitrine_problem, reason, 24);
FIELD(vitrine_problem, is_lost, 64);

SIZE(vitrine_stat, 216);
FIELD(vitrine_stat, entries, 8);
FIELD(vitrine_stat, disk_free_bytes, 88);
FIELD(vitrine_stat, last_checkpoint, 144);
FIELD(vitrine_stat, write_amplification, 152);
FIELD(vitrine_stat, open_kind, 184);
FIELD(vitrine_stat, segments, 200);
FIELD(vitrine_stat, pinned_entries, 208);
