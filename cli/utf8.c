/* utf8.c - characters and how many columns of a terminal they take. */
#include "utf8.h"

#include <stdbool.h>

#include "text.h"

size_t cli_utf8_length(const uint8_t *b, size_t n) {
  if (n == 0) {
    return 0;
  }
  if (b[0] < 0x80) {
    return 1;
  }
  if (b[0] >= 0xC2 && b[0] <= 0xDF) {
    return n >= 2 && (b[1] & 0xC0) == 0x80 ? 2 : 0;
  }
  if (b[0] >= 0xE0 && b[0] <= 0xEF) {
    uint8_t low = b[0] == 0xE0 ? 0xA0 : 0x80, high = b[0] == 0xED ? 0x9F : 0xBF;
    return n >= 3 && b[1] >= low && b[1] <= high && (b[2] & 0xC0) == 0x80 ? 3 : 0;
  }
  if (b[0] >= 0xF0 && b[0] <= 0xF4) {
    uint8_t low = b[0] == 0xF0 ? 0x90 : 0x80, high = b[0] == 0xF4 ? 0x8F : 0xBF;
    return n >= 4 && b[1] >= low && b[1] <= high && (b[2] & 0xC0) == 0x80 && (b[3] & 0xC0) == 0x80
               ? 4
               : 0;
  }
  return 0;
}

typedef struct char_range {
  uint32_t first, last;
} char_range;

static const char_range zero_width[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C},   {0x0941, 0x0948}, {0x0E31, 0x0E31},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF},   {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

static const char_range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26AA, 0x26AB},
    {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x2753, 0x2755},   {0x2757, 0x2757},
    {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},
    {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF},
    {0x1B000, 0x1B2FF}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E},
    {0x1F191, 0x1F19A}, {0x1F200, 0x1F265}, {0x1F300, 0x1F320}, {0x1F32D, 0x1F335},
    {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
    {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440},
    {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F567}, {0x1F595, 0x1F596},
    {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC},
    {0x1F6D0, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static bool is_within(uint32_t c, const char_range *ranges, size_t n) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (c > ranges[mid].last) {
      low = mid + 1;
    } else if (c < ranges[mid].first) {
      high = mid;
    } else {
      return true;
    }
  }
  return false;
}

/* The next character: its bytes, and its columns. */
static size_t step(const uint8_t *b, size_t n, size_t *columns) {
  size_t length = cli_utf8_length(b, n);
  uint32_t c;
  *columns = 1;
  if (length <= 1) {
    return 1;
  }
  c = length == 2 ? b[0] & 0x1Fu : length == 3 ? b[0] & 0x0Fu : b[0] & 0x07u;
  for (size_t i = 1; i < length; i++) {
    c = c << 6 | (b[i] & 0x3Fu);
  }
  if (is_within(c, zero_width, CLI_COUNT(zero_width))) {
    *columns = 0;
  } else if (is_within(c, double_width, CLI_COUNT(double_width))) {
    *columns = 2;
  }
  return length;
}

size_t cli_utf8_width(const void *bytes, size_t n) {
  size_t width;
  (void)cli_utf8_cut(bytes, n, SIZE_MAX, &width);
  return width;
}

size_t cli_utf8_cut(const void *bytes, size_t n, size_t width, size_t *taken) {
  const uint8_t *b = bytes;
  size_t at = 0, columns;
  *taken = 0;
  while (at < n) {
    size_t length = step(b + at, n - at, &columns);
    if (columns > width - *taken) {
      break;
    }
    *taken += columns;
    at += length;
  }
  return at;
}
