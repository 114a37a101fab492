/* zone.c - time zones: java.time's fixed offsets, and TZif files (RFC 8536, versions 1 to 3).
 *
 * A zone is one sorted list of transitions. The rule in a file's footer, which holds after the last
 * stored transition, is written out for 400 years when the zone is opened; the Gregorian calendar
 * repeats itself exactly after that time (146,097 days are 20,871 weeks), so later instants are
 * moved back by a multiple of it.
 */
#include "base/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/civil.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo/"
#define MAX_NAME_BYTES 128
#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_JAVA_OFFSET (18 * 3600) /* of java.time.ZoneOffset */
#define MAX_FILE_OFFSET (26 * 3600) /* RFC 8536: less than 26 hours; also covers negative ones */
#define DAY 86400
#define CYCLE_YEARS 400
#define CYCLE_SECONDS (INT64_C(146097) * DAY)

typedef struct transition {
  int64_t at;     /* UTC seconds */
  int32_t offset; /* that holds from then on */
} transition;

struct tn_zone {
  char *name;
  transition *list; /* ascending */
  size_t count;
  int32_t first_offset; /* before the first transition */
  bool repeats;         /* from repeat_end on, the 400 years before it come again and again */
  int64_t repeat_end;   /* midnight of a January 1st, as UTC seconds and as local ones */
};

/* ------------------------------------------------------------------ offsets as ZoneOffset.of */

static bool two_digits(const char *p, int32_t *out) {
  if (!tn_is_digit((uint8_t)p[0]) || !tn_is_digit((uint8_t)p[1])) {
    return false;
  }
  *out = (p[0] - '0') * 10 + (p[1] - '0');
  return true;
}

/* Z, +h, +hh, +hh:mm, +hhmm, +hh:mm:ss, +hhmmss; up to 18 hours. */
static bool parse_offset(const char *text, int32_t *out) {
  size_t n = strlen(text);
  char digits[7] = "000000";
  int32_t h = 0, m = 0, s = 0, total;
  if (strcmp(text, "Z") == 0) {
    *out = 0;
    return true;
  }
  if (n < 2 || (text[0] != '+' && text[0] != '-')) {
    return false;
  }
  if (n == 2) {
    digits[1] = text[1];
  } else if (n == 3 || n == 5 || n == 7) {
    memcpy(digits, text + 1, n - 1);
  } else if ((n == 6 || n == 9) && text[3] == ':' && (n == 6 || text[6] == ':')) {
    memcpy(digits, text + 1, 2);
    memcpy(digits + 2, text + 4, 2);
    if (n == 9) {
      memcpy(digits + 4, text + 7, 2);
    }
  } else {
    return false;
  }
  if (!two_digits(digits, &h) || !two_digits(digits + 2, &m) || !two_digits(digits + 4, &s) ||
      m > 59 || s > 59) {
    return false;
  }
  total = h * 3600 + m * 60 + s;
  *out = text[0] == '-' ? -total : total;
  return total <= MAX_JAVA_OFFSET;
}

/* The forms of ZoneId.of that need no file. */
static bool parse_fixed(const char *name, int32_t *out) {
  static const char *const prefixes[] = {"UTC", "GMT", "UT"};
  for (size_t i = 0; i < TN_COUNT(prefixes); i++) {
    size_t n = strlen(prefixes[i]);
    if (strncmp(name, prefixes[i], n) == 0) {
      if (name[n] == '\0') {
        *out = 0;
        return true;
      }
      if (name[n] == '+' || name[n] == '-') {
        return parse_offset(name + n, out);
      }
    }
  }
  return parse_offset(name, out);
}

/* ------------------------------------------------------------------ the footer's rule */

typedef enum day_kind { JULIAN_NO_LEAP, JULIAN, MONTH_WEEK_DAY } day_kind;

typedef struct rule_date {
  day_kind kind;
  int32_t month, week, day; /* month and week for MONTH_WEEK_DAY only */
  int32_t seconds;          /* local time of the change; may be negative or past a day */
} rule_date;

typedef struct tz_rule {
  int32_t standard, daylight; /* offsets */
  bool has_daylight;
  rule_date start, end; /* of daylight saving time */
} tz_rule;

typedef struct cursor {
  const char *at, *end;
} cursor;

static bool skip_char(cursor *c, char wanted) {
  if (c->at < c->end && *c->at == wanted) {
    c->at++;
    return true;
  }
  return false;
}

static bool parse_number(cursor *c, int32_t low, int32_t high, int32_t *out) {
  int32_t n = 0, digits = 0;
  while (c->at < c->end && tn_is_digit((uint8_t)*c->at) && digits < 4) {
    n = n * 10 + (*c->at++ - '0');
    digits++;
  }
  *out = n;
  return digits > 0 && n >= low && n <= high;
}

static bool skip_name(cursor *c) {
  const char *start = c->at;
  if (skip_char(c, '<')) {
    while (c->at < c->end && *c->at != '>') {
      c->at++;
    }
    return skip_char(c, '>');
  }
  while (c->at < c->end && tn_is_letter((uint8_t)*c->at)) {
    c->at++;
  }
  return c->at - start >= 3;
}

/* [+-]h[h][h][:mm[:ss]] */
static bool parse_time(cursor *c, int32_t max_hours, int32_t *out) {
  bool is_negative = skip_char(c, '-');
  int32_t h, m = 0, s = 0;
  if (!is_negative) {
    (void)skip_char(c, '+');
  }
  if (!parse_number(c, 0, max_hours, &h) ||
      (skip_char(c, ':') &&
       (!parse_number(c, 0, 59, &m) || (skip_char(c, ':') && !parse_number(c, 0, 59, &s))))) {
    return false;
  }
  *out = (h * 3600 + m * 60 + s) * (is_negative ? -1 : 1);
  return true;
}

static bool parse_rule_date(cursor *c, rule_date *out) {
  if (!skip_char(c, ',')) {
    return false;
  }
  if (skip_char(c, 'M')) {
    out->kind = MONTH_WEEK_DAY;
    if (!parse_number(c, 1, 12, &out->month) || !skip_char(c, '.') ||
        !parse_number(c, 1, 5, &out->week) || !skip_char(c, '.') ||
        !parse_number(c, 0, 6, &out->day)) {
      return false;
    }
  } else if (skip_char(c, 'J')) {
    out->kind = JULIAN_NO_LEAP;
    if (!parse_number(c, 1, 365, &out->day)) {
      return false;
    }
  } else {
    out->kind = JULIAN;
    if (!parse_number(c, 0, 365, &out->day)) {
      return false;
    }
  }
  out->seconds = 2 * 3600;
  return !skip_char(c, '/') || parse_time(c, 167, &out->seconds);
}

/* std offset [dst [offset] , start [/time] , end [/time]]; west is positive. */
static bool parse_rule(tn_slice text, tz_rule *out) {
  cursor c = {(const char *)text.data, (const char *)text.data + text.len};
  memset(out, 0, sizeof(*out));
  if (!skip_name(&c) || !parse_time(&c, 24, &out->standard)) {
    return false;
  }
  out->standard = -out->standard;
  if (c.at == c.end) {
    return true;
  }
  out->has_daylight = true;
  out->daylight = out->standard + 3600;
  if (!skip_name(&c)) {
    return false;
  }
  if (c.at < c.end && *c.at != ',') {
    if (!parse_time(&c, 24, &out->daylight)) {
      return false;
    }
    out->daylight = -out->daylight;
  }
  return parse_rule_date(&c, &out->start) && parse_rule_date(&c, &out->end) && c.at == c.end;
}

static int64_t year_of(int64_t utc_seconds) {
  int64_t year;
  int32_t month, day;
  tn_civil_from_days(tn_floor_div(utc_seconds, DAY), &year, &month, &day);
  return year;
}

/* The local second of a change, counted from 1970 as if local time were UTC. */
static int64_t rule_seconds(const rule_date *date, int64_t year) {
  int64_t day = tn_days_from_civil(year, 1, 1);
  if (date->kind == JULIAN) {
    day += date->day;
  } else if (date->kind == JULIAN_NO_LEAP) {
    day += date->day - 1 + (tn_is_leap_year(year) && date->day >= 60);
  } else {
    int64_t first = tn_days_from_civil(year, date->month, 1);
    int64_t weekday = (first % 7 + 11) % 7; /* 1970-01-01 was a Thursday */
    int64_t d = (date->day - weekday + 7) % 7 + (int64_t)(date->week - 1) * 7;
    day = first + (d >= tn_days_of_month(year, date->month) ? d - 7 : d);
  }
  return day * DAY + date->seconds;
}

/* ------------------------------------------------------------------ TZif files */

typedef struct tzif_header {
  uint32_t n_isut, n_isstd, n_leap, n_time, n_type, n_char;
} tzif_header;

#define TZIF_HEADER_BYTES 44u

static bool read_header(tn_slice file, size_t at, uint8_t *version, tzif_header *out) {
  const uint8_t *p;
  if (file.len < at || file.len - at < TZIF_HEADER_BYTES) {
    return false;
  }
  p = file.data + at;
  *version = p[4];
  out->n_isut = tn_load_be32(p + 20);
  out->n_isstd = tn_load_be32(p + 24);
  out->n_leap = tn_load_be32(p + 28);
  out->n_time = tn_load_be32(p + 32);
  out->n_type = tn_load_be32(p + 36);
  out->n_char = tn_load_be32(p + 40);
  return memcmp(p, "TZif", 4) == 0;
}

/* Counts are at most 2^32, so the sum is far from overflow in 64 bits. */
static uint64_t block_bytes(const tzif_header *h, uint32_t time_bytes) {
  return (uint64_t)h->n_time * (time_bytes + 1) + (uint64_t)h->n_type * 6 + h->n_char +
         (uint64_t)h->n_leap * (time_bytes + 4) + h->n_isstd + h->n_isut;
}

/* Where the data block with the widest times is, and its footer. NULL, or what is wrong. */
static const char *find_block(tn_slice file, size_t *at, tzif_header *header, uint32_t *time_bytes,
                              tn_slice *footer) {
  uint8_t version;
  size_t end;
  *footer = tn_slice_of(NULL, 0);
  *at = 0;
  *time_bytes = 4;
  if (!read_header(file, 0, &version, header)) {
    return "no TZif header";
  }
  *at = TZIF_HEADER_BYTES;
  if (block_bytes(header, 4) > file.len - *at) {
    return "cut off";
  }
  if (version >= '2') {
    size_t second = *at + (size_t)block_bytes(header, 4);
    if (!read_header(file, second, &version, header)) {
      return "no second TZif header";
    }
    *at = second + TZIF_HEADER_BYTES;
    *time_bytes = 8;
    if (block_bytes(header, 8) > file.len - *at) {
      return "cut off";
    }
    end = *at + (size_t)block_bytes(header, 8);
    if (end < file.len) {
      const uint8_t *from = file.data + end + 1;
      const uint8_t *to = memchr(from, '\n', file.len - end - 1);
      if (file.data[end] != '\n' || to == NULL) {
        return "bad footer";
      }
      *footer = tn_slice_of(from, (size_t)(to - from));
    }
  }
  if (header->n_type == 0) {
    return "no time types";
  }
  return header->n_leap > 0 ? "leap seconds, which java.time does not have" : NULL;
}

static int64_t load_time(const uint8_t *p, uint32_t time_bytes) {
  return time_bytes == 8 ? (int64_t)tn_load_be64(p) : (int32_t)tn_load_be32(p);
}

/* Stored transitions into zone->list, which has room. NULL, or what is wrong. */
static const char *load_transitions(tn_zone *zone, const uint8_t *block, const tzif_header *h,
                                    uint32_t time_bytes) {
  const uint8_t *indexes = block + (size_t)h->n_time * time_bytes;
  const uint8_t *types = indexes + h->n_time;
  for (size_t i = 0; i < h->n_type; i++) {
    int32_t offset = (int32_t)tn_load_be32(types + i * 6);
    if (offset < -MAX_FILE_OFFSET || offset > MAX_FILE_OFFSET) {
      return "an offset of more than 26 hours";
    }
  }
  zone->first_offset = (int32_t)tn_load_be32(types); /* RFC 8536, 3.2: type 0 */
  for (size_t i = 0; i < h->n_time; i++) {
    transition *t = &zone->list[i];
    if (indexes[i] >= h->n_type) {
      return "an unknown time type";
    }
    t->at = load_time(block + i * time_bytes, time_bytes);
    t->offset = (int32_t)tn_load_be32(types + (size_t)indexes[i] * 6);
    if (i > 0 && t->at <= zone->list[i - 1].at) {
      return "transitions out of order";
    }
  }
  zone->count = h->n_time;
  return NULL;
}

/* Only transitions later than the ones that are there. */
static void add_transition(tn_zone *zone, int64_t at, int32_t offset) {
  if (zone->count == 0 || at > zone->list[zone->count - 1].at) {
    zone->list[zone->count].at = at;
    zone->list[zone->count].offset = offset;
    zone->count++;
  } else if (at == zone->list[zone->count - 1].at) {
    zone->list[zone->count - 1].offset = offset; /* daylight time all the year: end meets start */
  }
}

/* Write the rule out from the year of the last stored transition on. The list has room for two
 * transitions a year. One year more at each end: changes near January 1st belong to another year in
 * UTC than in local time. */
#define RULE_YEARS (CYCLE_YEARS + 2)
static const char *load_rule(tn_zone *zone, const tz_rule *rule) {
  const int64_t year_1 = tn_days_from_civil(1, 1, 1) * DAY,
                year_9999 = tn_days_from_civil(9999, 1, 1) * DAY;
  int64_t last = zone->count > 0 ? zone->list[zone->count - 1].at : 0;
  int64_t first_year;
  if (!rule->has_daylight) {
    if (zone->count == 0) {
      zone->first_offset = rule->standard;
    }
    return NULL; /* the last stored transition has led to it */
  }
  if (last > year_9999) {
    return "a rule that starts after the year 9999";
  }
  first_year = last < year_1 ? 1 : year_of(last);
  for (int64_t year = first_year; year < first_year + RULE_YEARS; year++) {
    int64_t start = rule_seconds(&rule->start, year) - rule->standard;
    int64_t end = rule_seconds(&rule->end, year) - rule->daylight;
    if (start < end) {
      add_transition(zone, start, rule->daylight);
      add_transition(zone, end, rule->standard);
    } else {
      add_transition(zone, end, rule->standard);
      add_transition(zone, start, rule->daylight);
    }
  }
  zone->repeats = true;
  zone->repeat_end = tn_days_from_civil(first_year + CYCLE_YEARS + 1, 1, 1) * DAY;
  return NULL;
}

static tarn_status load_file(tn_mem *mem, tn_zone *zone, tn_slice file, const char *path,
                             tarn_error *err) {
  tzif_header header;
  tn_slice footer;
  tz_rule rule;
  uint32_t time_bytes;
  size_t at;
  const char *wrong = find_block(file, &at, &header, &time_bytes, &footer);
  if (wrong != NULL) {
    return tn_fail(err, TARN_E_CORRUPT, "time zone file %s: %s", path, wrong);
  }
  zone->list = tn_calloc(mem, (size_t)header.n_time + 2 * RULE_YEARS, sizeof(*zone->list));
  if (zone->list == NULL) {
    return tn_oom(err);
  }
  wrong = load_transitions(zone, file.data + at, &header, time_bytes);
  if (wrong == NULL && footer.len > 0) {
    wrong = parse_rule(footer, &rule) ? load_rule(zone, &rule) : "a bad rule in the footer";
  }
  return wrong == NULL ? TARN_OK
                       : tn_fail(err, TARN_E_CORRUPT, "time zone file %s: %s", path, wrong);
}

/* Names as ZoneRegion takes them, of files below the directory, without "right/" (leap seconds). */
static bool is_region_name(const char *name) {
  size_t n = strlen(name);
  if (n < 2 || n > MAX_NAME_BYTES || strncmp(name, "right/", 6) == 0) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    char c = name[i];
    bool is_other = tn_is_digit((uint8_t)c) || strchr("/._+-", c) != NULL;
    if (!tn_is_letter((uint8_t)c) && (i == 0 || !is_other || (c == '.' && name[i - 1] == '.'))) {
      return false;
    }
  }
  return true;
}

static tarn_status read_zone_file(const char *path, const char *name, tn_buf *out,
                                  tarn_error *err) {
  tarn_status st = TARN_OK;
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return errno == ENOENT || errno == ENOTDIR
               ? tn_fail(err, TARN_E_INVALID,
                         "no such time zone: %s (not under " ZONE_DIRECTORY ")", name)
               : tn_fail_errno(err, errno, "open time zone file %s", path);
  }
  if (fstat(fd, &info) != 0) {
    TN_TRY_TO(done, tn_fail_errno(err, errno, "stat time zone file %s", path));
  }
  if (!S_ISREG(info.st_mode)) {
    TN_TRY_TO(done, tn_fail(err, TARN_E_INVALID,
                            "no such time zone: %s (not under " ZONE_DIRECTORY ")", name));
  }
  for (;;) {
    ssize_t n;
    TN_TRY_TO(done, tn_buf_reserve(out, 4096, err));
    n = read(fd, out->data + out->len, out->capacity - out->len);
    if (n < 0 && errno != EINTR) {
      TN_TRY_TO(done, tn_fail_errno(err, errno, "read time zone file %s", path));
    } else if (n == 0) {
      break;
    } else if (n > 0) {
      out->len += (size_t)n;
    }
  }
done:
  close(fd);
  return st;
}

static tarn_status open_region(tn_mem *mem, tn_zone *zone, tarn_error *err) {
  char path[sizeof(ZONE_DIRECTORY) + MAX_NAME_BYTES];
  tarn_status st = TARN_OK;
  tn_buf file;
  if (!is_region_name(zone->name)) {
    return tn_fail(err, TARN_E_INVALID, "no such time zone: %s", zone->name);
  }
  memcpy(path, ZONE_DIRECTORY, sizeof(ZONE_DIRECTORY) - 1);
  memcpy(path + sizeof(ZONE_DIRECTORY) - 1, zone->name, strlen(zone->name) + 1);
  tn_buf_init(&file, mem, MAX_FILE_BYTES);
  TN_TRY_TO(done, read_zone_file(path, zone->name, &file, err));
  if (file.len < 4 || memcmp(file.data, "TZif", 4) != 0) {
    TN_TRY_TO(done, tn_fail(err, TARN_E_INVALID, "no such time zone: %s (%s is something else)",
                            zone->name, path));
  }
  TN_TRY_TO(done, load_file(mem, zone, tn_buf_slice(&file), path, err));
done:
  tn_buf_reset(&file);
  return st;
}

/* ------------------------------------------------------------------ the zone */

static tarn_status create_zone(tn_mem *mem, const char *name, tn_zone **out, tarn_error *err) {
  tn_zone *zone = tn_calloc(mem, 1, sizeof(*zone));
  *out = zone;
  if (zone == NULL || (zone->name = tn_strdup(mem, name)) == NULL) {
    tn_free(mem, zone);
    *out = NULL;
    return tn_oom(err);
  }
  return TARN_OK;
}

tarn_status tn_zone_open(tn_mem *mem, const char *name, tn_zone **out, tarn_error *err) {
  tarn_status st;
  TN_TRY(create_zone(mem, name, out, err));
  if (parse_fixed(name, &(*out)->first_offset)) {
    return TARN_OK;
  }
  st = open_region(mem, *out, err);
  if (st != TARN_OK) {
    tn_zone_free(mem, *out);
    *out = NULL;
  }
  return st;
}

tarn_status tn_zone_decode(tn_mem *mem, tn_slice file, const char *name, tn_zone **out,
                           tarn_error *err) {
  tarn_status st;
  TN_TRY(create_zone(mem, name, out, err));
  st = load_file(mem, *out, file, name, err);
  if (st != TARN_OK) {
    tn_zone_free(mem, *out);
    *out = NULL;
  }
  return st;
}

void tn_zone_free(tn_mem *mem, tn_zone *zone) {
  if (zone != NULL) {
    tn_free(mem, zone->list);
    tn_free(mem, zone->name);
    tn_free(mem, zone);
  }
}

const char *tn_zone_name(const tn_zone *zone) {
  return zone->name;
}

/* Into the 400 years that are written out; the same for UTC and local seconds. */
static int64_t fold(const tn_zone *zone, int64_t seconds) {
  if (zone->repeats && seconds >= zone->repeat_end) {
    uint64_t past = (uint64_t)seconds - (uint64_t)zone->repeat_end;
    return zone->repeat_end - CYCLE_SECONDS + (int64_t)(past % (uint64_t)CYCLE_SECONDS);
  }
  return seconds;
}

/* How many transitions are at or before this instant. */
static size_t count_until(const tn_zone *zone, int64_t utc_seconds) {
  size_t low = 0, high = zone->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (zone->list[mid].at <= utc_seconds) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

static int32_t offset_after(const tn_zone *zone, size_t n_transitions) {
  return n_transitions > 0 ? zone->list[n_transitions - 1].offset : zone->first_offset;
}

int32_t tn_zone_offset_at(const tn_zone *zone, int64_t utc_seconds) {
  return offset_after(zone, count_until(zone, fold(zone, utc_seconds)));
}

/* At a change from offset a to b at the instant t, local times in [t + a, t + b) do not exist and
 * those in [t + b, t + a) exist twice. Both kinds take offset a: in the gap that moves the time
 * forward by the gap, in the overlap it is the earlier offset. So b starts at t + max(a, b). */
int64_t tn_zone_local_to_utc(const tn_zone *zone, int64_t local_seconds) {
  int64_t local = fold(zone, local_seconds), latest;
  size_t n;
  if (__builtin_add_overflow(local, MAX_FILE_OFFSET, &latest)) {
    latest = INT64_MAX;
  }
  for (n = count_until(zone, latest); n > 0; n--) {
    int32_t before = offset_after(zone, n - 1), after = zone->list[n - 1].offset;
    int64_t from = zone->list[n - 1].at, starts;
    if (__builtin_add_overflow(from, before > after ? before : after, &starts)) {
      starts = from;
    }
    if (local >= starts) {
      break;
    }
  }
  return (int64_t)((uint64_t)local_seconds - (uint64_t)(int64_t)offset_after(zone, n));
}
