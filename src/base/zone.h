/* zone.h - time zones without global state: fixed offsets and TZif files.
 *
 * Text forms as java.time.ZoneId takes them: "UTC", "Z", "GMT", "+08:00", "+8", "UTC+8",
 * "GMT-03:30", and IANA names ("Asia/Shanghai"), which are looked up under /usr/share/zoneinfo.
 */
#ifndef TN_BASE_ZONE_H
#define TN_BASE_ZONE_H

#include "base/mem.h"
#include "base/slice.h"

typedef struct tn_zone tn_zone; /* immutable, shared freely */

/* out: owned by the caller. Errors: INVALID (no such zone), CORRUPT (a bad TZif file), NOMEM. */
TN_CHECKED tarn_status tn_zone_open(tn_mem *mem, const char *name, tn_zone **out, tarn_error *err);
/* The same from the bytes of a TZif file (untrusted); name is for tn_zone_name and messages. */
TN_CHECKED tarn_status tn_zone_decode(tn_mem *mem, tn_slice file, const char *name, tn_zone **out,
                                      tarn_error *err);
void tn_zone_free(tn_mem *mem, tn_zone *zone);
const char *tn_zone_name(const tn_zone *zone);

/* Seconds to add to UTC at this instant (seconds since 1970). */
int32_t tn_zone_offset_at(const tn_zone *zone, int64_t utc_seconds);
/* The instant of a local date-time, by java.time's rule (LocalDateTime.atZone): in a gap the
 * time moves forward by the gap's length; in an overlap the earlier offset holds. */
int64_t tn_zone_local_to_utc(const tn_zone *zone, int64_t local_seconds);

#endif
