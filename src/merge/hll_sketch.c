/* hll_sketch.c - the stored forms of HLL sketches, little-endian:
 *
 *   0 u8 ints of the preamble   1 u8 1   2 u8 7   3 u8 lgK   4 u8 lg of the coupons' array
 *   5 u8 flags   6 u8 coupons of a list, or least value   7 u8 mode, and type << 2
 *
 *   list   preamble 2: coupons from 8 on
 *   set    preamble 3: 8 i32 coupons, which follow; all places when it is not compact
 *   array  preamble 10: 8 f64 estimate, 16 f64 kxq0, 24 f64 kxq1, 32 i32 slots at the least value,
 *          36 i32 exceptions; then the slots: HLL_4 a nibble over the least value, 15 an exception,
 *          HLL_6 6 bits, HLL_8 a byte; of HLL_4 exceptions, as pairs like coupons
 *
 * A coupon is value << 26 | slot, of which an array takes the lower lgK bits.
 */
#include "merge/hll_sketch.h"

#include "base/bytes.h"

#define FAMILY 7
#define MIN_LG_K 4
#define MAX_LG_K 21
#define LIST_PREAMBLE 2
#define SET_PREAMBLE 3
#define ARRAY_PREAMBLE 10
#define LG_LIST 3
#define LG_FIRST_SET 5
#define MIN_SET_LG_K 8 /* smaller ones go from a list to an array at once */
#define SLOT_BITS 26
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define MAX_VALUE 63
#define EXCEPTION 15 /* nibble of a slot whose value is among the exceptions */
#define IS_EXCEPTION 0xFF

enum { FLAG_EMPTY = 4, FLAG_COMPACT = 8, FLAG_OUT_OF_ORDER = 16, FLAG_REBUILD = 32 };
enum { HLL_4, HLL_6, HLL_8 };

/* ------------------------------------------------------------------ life */

void tn_hll_init(tn_hll *sketch, tn_mem *mem) {
  *sketch = (tn_hll){.mem = mem, .lg_k = MIN_LG_K};
}

void tn_hll_reset(tn_hll *sketch) {
  if (sketch->mem != NULL) {
    tn_free(sketch->mem, sketch->coupons);
    tn_free(sketch->mem, sketch->values);
    tn_hll_init(sketch, sketch->mem);
  }
}

static void move(tn_hll *to, tn_hll *from) {
  tn_mem *mem = from->mem;
  tn_hll_reset(to);
  *to = *from;
  tn_hll_init(from, mem);
}

static tarn_status make_coupons(tn_hll *sketch, tn_hll_mode mode, uint32_t lg, tarn_error *err) {
  sketch->mode = mode;
  sketch->lg_coupons = lg;
  sketch->n_coupons = 0;
  sketch->coupons = tn_calloc(sketch->mem, (size_t)1 << lg, sizeof(*sketch->coupons));
  return sketch->coupons != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status make_array(tn_hll *sketch, tarn_error *err) {
  sketch->mode = TN_HLL_ARRAY;
  sketch->kxq0 = (double)(1u << sketch->lg_k);
  sketch->kxq1 = sketch->estimate = 0;
  sketch->is_out_of_order = false;
  sketch->values = tn_calloc(sketch->mem, (size_t)1 << sketch->lg_k, 1);
  return sketch->values != NULL ? TARN_OK : tn_oom(err);
}

/* ------------------------------------------------------------------ estimates */

/* How many different items n coupons stand for: CouponMapping. */
static const double mapping_x[40] = {
    0,       1,       20,      400,     8000,    160000,  300000,  600000,  900000,  1200000,
    1500000, 1800000, 2100000, 2400000, 2700000, 3000000, 3300000, 3600000, 3900000, 4200000,
    4500000, 4800000, 5100000, 5400000, 5700000, 6000000, 6300000, 6600000, 6900000, 7200000,
    7500000, 7800000, 8100000, 8400000, 8700000, 9000000, 9300000, 9600000, 9900000, 10200000};
static const double mapping_y[40] = {
    0.0000000000000000,       1.0000000000000000,       20.0000009437402611,
    400.0003963713384110,     8000.1589294602090376,    160063.6067763759638183,
    300223.7071597663452849,  600895.5933856170158833,  902016.8065120954997838,
    1203588.4983199508860707, 1505611.8245524743106216, 1808087.9449319066479802,
    2111018.0231759352609515, 2414403.2270142501220107, 2718244.7282051891088486,
    3022543.7025524540804327, 3327301.3299219091422856, 3632518.7942584538832307,
    3938197.2836029687896371, 4244337.9901093561202288, 4550942.1100616492331028,
    4858010.8438911894336343, 5165545.3961938973516226, 5473546.9757476449012756,
    5782016.7955296505242586, 6090956.0727340159937739, 6400366.0287892958149314,
    6710247.8893762007355690, 7020602.8844453142955899, 7331432.2482349723577499,
    7642737.2192891482263803, 7954519.0404754765331745, 8266778.9590033423155546,
    8579518.2264420464634895, 8892738.0987390466034412, 9206439.8362383283674717,
    9520624.7036988288164139, 9835293.9703129194676876, 10150448.9097250290215015,
    10466090.8000503256917000};

/* The cubic through four points, as Lagrange has it. */
static double interpolate(const double *x, const double *y, double at) {
  double n0 = (at - x[1]) * (at - x[2]) * (at - x[3]);
  double n1 = (at - x[0]) * (at - x[2]) * (at - x[3]);
  double n2 = (at - x[0]) * (at - x[1]) * (at - x[3]);
  double n3 = (at - x[0]) * (at - x[1]) * (at - x[2]);
  double d0 = (x[0] - x[1]) * (x[0] - x[2]) * (x[0] - x[3]);
  double d1 = (x[1] - x[0]) * (x[1] - x[2]) * (x[1] - x[3]);
  double d2 = (x[2] - x[0]) * (x[2] - x[1]) * (x[2] - x[3]);
  double d3 = (x[3] - x[0]) * (x[3] - x[1]) * (x[3] - x[2]);
  double t0 = (y[0] * n0) / d0, t1 = (y[1] * n1) / d1;
  double t2 = (y[2] * n2) / d2, t3 = (y[3] * n3) / d3;
  return t0 + t1 + t2 + t3;
}

/* Coupons are fewer than the greatest x: 3/4 of 2^(lgK - 3) at most. */
static double estimate_of_coupons(uint32_t n_coupons) {
  double n = (double)n_coupons, estimate;
  size_t last = TN_COUNT(mapping_x) - 2, i = 0;
  while (i < last && mapping_x[i + 1] <= n) {
    i++;
  }
  i = i == 0 ? 0 : i == last ? last - 2 : i - 1;
  estimate = interpolate(mapping_x + i, mapping_y + i, n);
  return estimate > n ? estimate : n;
}

/* 2^-value: value is 0 to 63. */
static double inverse_power(uint32_t value) {
  return 1.0 / (double)(UINT64_C(1) << value);
}

static void add_power(tn_hll *sketch, uint32_t value, double sign) {
  *(value < 32 ? &sketch->kxq0 : &sketch->kxq1) += sign * inverse_power(value);
}

/* ------------------------------------------------------------------ coupons */

/* A coupon into an array. */
static void update_slot(tn_hll *sketch, uint32_t slot, uint32_t value) {
  uint8_t *to = &sketch->values[slot & ((1u << sketch->lg_k) - 1)];
  if (value > *to) {
    sketch->estimate += (double)(1u << sketch->lg_k) / (sketch->kxq0 + sketch->kxq1);
    add_power(sketch, *to, -1);
    add_power(sketch, value, 1);
    *to = (uint8_t)value;
  }
}

static tarn_status promote_to_array(tn_hll *sketch, tarn_error *err) {
  uint32_t *coupons = sketch->coupons, n_coupons = sketch->n_coupons;
  size_t n = (size_t)1 << sketch->lg_coupons;
  tarn_status st;
  sketch->coupons = NULL;
  st = make_array(sketch, err);
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    if (coupons[i] != 0) {
      update_slot(sketch, coupons[i] & SLOT_MASK, coupons[i] >> SLOT_BITS);
    }
  }
  sketch->estimate = estimate_of_coupons(n_coupons);
  tn_free(sketch->mem, coupons);
  return st;
}

/* The place of a coupon in a set, or the free one for it; NULL: there is none. */
static uint32_t *find_coupon(uint32_t *coupons, uint32_t lg, uint32_t coupon) {
  uint32_t mask = (1u << lg) - 1, first = coupon & mask, at = first;
  uint32_t stride = ((coupon & SLOT_MASK) >> lg) | 1;
  do {
    if (coupons[at] == 0 || coupons[at] == coupon) {
      return &coupons[at];
    }
    at = (at + stride) & mask;
  } while (at != first);
  return NULL;
}

static tarn_status grow_set(tn_hll *sketch, tarn_error *err) {
  uint32_t *old = sketch->coupons, n = sketch->n_coupons, lg = sketch->lg_coupons;
  tarn_status st;
  sketch->coupons = NULL;
  st = make_coupons(sketch, TN_HLL_SET, lg + 1, err);
  for (size_t i = 0; i < (size_t)1 << lg && st == TARN_OK; i++) {
    if (old[i] != 0) {
      *find_coupon(sketch->coupons, lg + 1, old[i]) = old[i]; /* half of the places are free */
    }
  }
  sketch->n_coupons = n;
  tn_free(sketch->mem, old);
  return st;
}

static tarn_status add_to_set(tn_hll *sketch, uint32_t coupon, tarn_error *err) {
  uint32_t *place = find_coupon(sketch->coupons, sketch->lg_coupons, coupon);
  if (place == NULL) {
    return tn_fail(err, TARN_E_CORRUPT, "HLL sketch: a set of coupons without a free place");
  }
  if (*place == coupon) {
    return TARN_OK;
  }
  *place = coupon;
  sketch->n_coupons++;
  if (4 * (uint64_t)sketch->n_coupons > 3 * (UINT64_C(1) << sketch->lg_coupons)) {
    return sketch->lg_coupons >= sketch->lg_k - 3 ? promote_to_array(sketch, err)
                                                  : grow_set(sketch, err);
  }
  return TARN_OK;
}

static tarn_status promote_to_set(tn_hll *sketch, tarn_error *err) {
  uint32_t list[1u << LG_LIST];
  memcpy(list, sketch->coupons, sizeof(list));
  tn_free(sketch->mem, sketch->coupons);
  sketch->coupons = NULL;
  TN_TRY(make_coupons(sketch, TN_HLL_SET, LG_FIRST_SET, err));
  for (size_t i = 0; i < TN_COUNT(list); i++) {
    TN_TRY(add_to_set(sketch, list[i], err));
  }
  return TARN_OK;
}

static tarn_status add_to_list(tn_hll *sketch, uint32_t coupon, tarn_error *err) {
  for (uint32_t i = 0; i < sketch->n_coupons; i++) {
    if (sketch->coupons[i] == coupon) {
      return TARN_OK;
    }
  }
  sketch->coupons[sketch->n_coupons++] = coupon;
  if (sketch->n_coupons < 1u << LG_LIST) {
    return TARN_OK;
  }
  return sketch->lg_k < MIN_SET_LG_K ? promote_to_array(sketch, err) : promote_to_set(sketch, err);
}

static tarn_status add_coupon(tn_hll *sketch, uint32_t coupon, tarn_error *err) {
  if (coupon >> SLOT_BITS == 0) {
    return TARN_OK; /* no value */
  }
  switch (sketch->mode) {
    case TN_HLL_LIST:
      return add_to_list(sketch, coupon, err);
    case TN_HLL_SET:
      return add_to_set(sketch, coupon, err);
    default:
      update_slot(sketch, coupon & SLOT_MASK, coupon >> SLOT_BITS);
      return TARN_OK;
  }
}

/* ------------------------------------------------------------------ decode */

static tarn_status corrupt(tarn_error *err, const char *what, size_t n_bytes) {
  return tn_fail(err, TARN_E_CORRUPT, "HLL sketch of %zu bytes: %s", n_bytes, what);
}

static tarn_status decode_list(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t n = bytes.data[6];
  if (n >= 1u << LG_LIST || bytes.len < 8 + 4 * (size_t)n) {
    return corrupt(err, "not a list of coupons", bytes.len);
  }
  TN_TRY(make_coupons(sketch, TN_HLL_LIST, LG_LIST, err));
  memcpy(sketch->coupons, bytes.data + 8, 4 * (size_t)n);
  sketch->n_coupons = n;
  for (uint32_t i = 0; i < n; i++) {
    if (sketch->coupons[i] >> SLOT_BITS == 0) {
      return corrupt(err, "a coupon without a value", bytes.len);
    }
  }
  return TARN_OK;
}

/* A set that is not compact: its places as they are. */
static tarn_status decode_places(tn_hll *sketch, tn_slice bytes, uint32_t n, tarn_error *err) {
  uint32_t lg = bytes.data[4], found = 0;
  if (lg < LG_FIRST_SET || lg > sketch->lg_k - 3 || bytes.len < 12 + ((size_t)4 << lg)) {
    return corrupt(err, "not the places of a set of coupons", bytes.len);
  }
  TN_TRY(make_coupons(sketch, TN_HLL_SET, lg, err));
  memcpy(sketch->coupons, bytes.data + 12, (size_t)4 << lg);
  sketch->n_coupons = n;
  for (size_t i = 0; i < (size_t)1 << lg; i++) {
    uint32_t coupon = sketch->coupons[i];
    found += coupon != 0;
    if (coupon != 0 && coupon >> SLOT_BITS == 0) {
      return corrupt(err, "a coupon without a value", bytes.len);
    }
    if (coupon != 0 && find_coupon(sketch->coupons, lg, coupon) != &sketch->coupons[i]) {
      return corrupt(err, "a coupon that is not in its place", bytes.len);
    }
  }
  return found == n && 4 * (uint64_t)n <= UINT64_C(3) << lg
             ? TARN_OK
             : corrupt(err, "another number of coupons than is told", bytes.len);
}

static tarn_status decode_set(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t n = tn_load_le32(bytes.data + 8);
  if (sketch->lg_k < MIN_SET_LG_K || 4 * (uint64_t)n > UINT64_C(3) << (sketch->lg_k - 3)) {
    return corrupt(err, "not a number of coupons", bytes.len);
  }
  if ((bytes.data[5] & FLAG_COMPACT) == 0) {
    return decode_places(sketch, bytes, n, err);
  }
  if (n > (bytes.len - 12) / 4) {
    return corrupt(err, "coupons are cut off", bytes.len);
  }
  TN_TRY(make_coupons(sketch, TN_HLL_SET, LG_FIRST_SET, err));
  for (uint32_t i = 0; i < n; i++) {
    uint32_t coupon = tn_load_le32(bytes.data + 12 + 4 * (size_t)i);
    if (coupon >> SLOT_BITS == 0) {
      return corrupt(err, "a coupon without a value", bytes.len);
    }
    TN_TRY(add_to_set(sketch, coupon, err));
  }
  return TARN_OK;
}

/* The values of the slots; those of exceptions are IS_EXCEPTION. */
static tarn_status decode_slots(tn_hll *sketch, tn_slice bytes, uint32_t type, tarn_error *err) {
  size_t n = (size_t)1 << sketch->lg_k;
  size_t n_bytes = type == HLL_4 ? n / 2 : type == HLL_6 ? n * 3 / 4 + 1 : n;
  const uint8_t *from = bytes.data + 4 * ARRAY_PREAMBLE;
  uint32_t least = bytes.data[6];
  if (bytes.len - 4 * ARRAY_PREAMBLE < n_bytes) {
    return corrupt(err, "slots are cut off", bytes.len);
  }
  if (type == HLL_4 && least > MAX_VALUE) {
    return corrupt(err, "a least value beyond 63", bytes.len);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t value = from[type == HLL_4 ? i / 2 : type == HLL_6 ? i * 6 / 8 : i];
    if (type == HLL_4) {
      value = (value >> (i % 2 * 4)) & 15;
      value = value == EXCEPTION ? IS_EXCEPTION : value + least;
    } else if (type == HLL_6) {
      value = (tn_load_le16(from + i * 6 / 8) >> (i * 6 % 8)) & MAX_VALUE;
    }
    if (value > MAX_VALUE && (type != HLL_4 || value != IS_EXCEPTION)) {
      return corrupt(err, "a value beyond 63", bytes.len);
    }
    sketch->values[i] = (uint8_t)value;
  }
  return TARN_OK;
}

static tarn_status decode_exceptions(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  size_t k = (size_t)1 << sketch->lg_k, at = 4 * ARRAY_PREAMBLE + k / 2;
  bool is_compact = (bytes.data[5] & FLAG_COMPACT) != 0;
  uint64_t n = tn_load_le32(bytes.data + 36);
  if (n > 0 && !is_compact) {
    n = bytes.data[4] < 32 ? UINT64_C(1) << bytes.data[4] : UINT64_MAX;
  }
  if (n > (bytes.len - at) / 4) {
    return corrupt(err, "exceptions are cut off", bytes.len);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t pair = tn_load_le32(bytes.data + at + 4 * i);
    uint8_t *value = &sketch->values[pair & SLOT_MASK & (k - 1)];
    if (pair == 0 && !is_compact) {
      continue;
    }
    if (*value != IS_EXCEPTION) {
      return corrupt(err, "an exception of a slot that is none", bytes.len);
    }
    *value = (uint8_t)(pair >> SLOT_BITS);
  }
  for (size_t i = 0; i < k; i++) {
    if (sketch->values[i] > MAX_VALUE) {
      return corrupt(err, "a slot without its exception", bytes.len);
    }
  }
  return TARN_OK;
}

/* The sums as Union.checkRebuildCurMinNumKxQ has them. */
static void rebuild_sums(tn_hll *sketch) {
  size_t k = (size_t)1 << sketch->lg_k;
  sketch->kxq0 = (double)k;
  sketch->kxq1 = 0;
  for (size_t i = 0; i < k; i++) {
    if (sketch->values[i] > 0) {
      *(sketch->values[i] < 32 ? &sketch->kxq0 : &sketch->kxq1) +=
          inverse_power(sketch->values[i]) - 1.0;
    }
  }
}

/* All types are kept as HLL_8: of the others that is a conversion, which makes the sums anew
 * (Conversions.convertToHll8). */
static tarn_status decode_array(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  uint32_t type = bytes.data[7] >> 2 & 3;
  size_t k = (size_t)1 << sketch->lg_k;
  if (type > HLL_8) {
    return corrupt(err, "not a type", bytes.len);
  }
  TN_TRY(make_array(sketch, err));
  TN_TRY(decode_slots(sketch, bytes, type, err));
  if (type == HLL_4) {
    TN_TRY(decode_exceptions(sketch, bytes, err));
  }
  sketch->is_out_of_order = (bytes.data[5] & FLAG_OUT_OF_ORDER) != 0;
  sketch->estimate = tn_load_f64(bytes.data + 8);
  if (type != HLL_8) {
    for (size_t i = 0; i < k; i++) {
      if (sketch->values[i] > 0) {
        add_power(sketch, 0, -1);
        add_power(sketch, sketch->values[i], 1);
      }
    }
  } else if ((bytes.data[5] & FLAG_REBUILD) != 0) {
    rebuild_sums(sketch);
  } else {
    sketch->kxq0 = tn_load_f64(bytes.data + 16);
    sketch->kxq1 = tn_load_f64(bytes.data + 24);
  }
  return TARN_OK;
}

static tarn_status decode(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  static const uint32_t preambles[4] = {LIST_PREAMBLE, SET_PREAMBLE, ARRAY_PREAMBLE, UINT32_MAX};
  uint32_t preamble, mode;
  if (bytes.len < 8) {
    return corrupt(err, "no preamble", bytes.len);
  }
  preamble = bytes.data[0] & 0x3F;
  mode = bytes.data[7] & 3;
  if (bytes.data[1] != 1 || bytes.data[2] != FAMILY || preamble != preambles[mode] ||
      bytes.len < 4 * (size_t)preamble) {
    return corrupt(err, "not its preamble", bytes.len);
  }
  sketch->lg_k = bytes.data[3];
  if (sketch->lg_k < MIN_LG_K || sketch->lg_k > MAX_LG_K) {
    return corrupt(err, "lgK is not 4 to 21", bytes.len);
  }
  return mode == TN_HLL_LIST  ? decode_list(sketch, bytes, err)
         : mode == TN_HLL_SET ? decode_set(sketch, bytes, err)
                              : decode_array(sketch, bytes, err);
}

tarn_status tn_hll_decode(tn_hll *sketch, tn_slice bytes, tarn_error *err) {
  tarn_status st;
  tn_hll_reset(sketch);
  st = decode(sketch, bytes, err);
  if (st != TARN_OK) {
    tn_hll_reset(sketch);
  }
  return st;
}

/* ------------------------------------------------------------------ unite */

/* The coupons of `from` in the order of their places. */
static tarn_status add_coupons(tn_hll *to, const tn_hll *from, tarn_error *err) {
  for (size_t i = 0; i < (size_t)1 << from->lg_coupons; i++) {
    TN_TRY(add_coupon(to, from->coupons[i], err));
  }
  return TARN_OK;
}

/* An array with fewer slots. */
static tarn_status downsample(tn_hll *sketch, uint32_t lg_k, tarn_error *err) {
  tn_hll made;
  tarn_status st;
  tn_hll_init(&made, sketch->mem);
  made.lg_k = lg_k;
  st = make_array(&made, err);
  for (size_t i = 0; i < (size_t)1 << sketch->lg_k && st == TARN_OK; i++) {
    if (sketch->values[i] > 0) {
      update_slot(&made, (uint32_t)i, sketch->values[i]);
    }
  }
  made.estimate = sketch->estimate;
  made.is_out_of_order = sketch->is_out_of_order;
  if (st == TARN_OK) {
    move(sketch, &made);
  }
  tn_hll_reset(&made);
  return st;
}

/* The greater value of each slot. Nothing looks at the sums of such a union: they are made anew
 * when it is written. */
static tarn_status unite_arrays(tn_hll *base, const tn_hll *other, tarn_error *err) {
  size_t mask;
  if (other->lg_k < base->lg_k) {
    TN_TRY(downsample(base, other->lg_k, err));
  }
  mask = ((size_t)1 << base->lg_k) - 1;
  for (size_t i = 0; i < (size_t)1 << other->lg_k; i++) {
    if (other->values[i] > base->values[i & mask]) {
      base->values[i & mask] = other->values[i];
    }
  }
  base->is_out_of_order = true;
  base->estimate = 0;
  return TARN_OK;
}

tarn_status tn_hll_unite(tn_hll *base, tn_hll *other, tarn_error *err) {
  bool is_empty = base->mode != TN_HLL_ARRAY && base->n_coupons == 0;
  uint32_t max_lg_k = base->lg_k;
  if (other->mode != TN_HLL_ARRAY) {
    if (other->n_coupons == 0) {
      return TARN_OK;
    }
    if (other->mode == TN_HLL_SET && is_empty && other->lg_k == base->lg_k) {
      move(base, other);
      return TARN_OK;
    }
    return add_coupons(base, other, err);
  }
  if (base->mode == TN_HLL_ARRAY) {
    return unite_arrays(base, other, err);
  }
  /* The coupons of the base go into the array. */
  if (other->lg_k > max_lg_k) {
    TN_TRY(downsample(other, max_lg_k, err));
  }
  TN_TRY(add_coupons(other, base, err));
  move(base, other);
  return TARN_OK;
}

/* ------------------------------------------------------------------ encode */

static tarn_status encode_coupons(const tn_hll *sketch, tn_buf *out, tarn_error *err) {
  bool is_list = sketch->mode == TN_HLL_LIST;
  uint8_t head[12] = {is_list ? LIST_PREAMBLE : SET_PREAMBLE, 1, FAMILY, (uint8_t)sketch->lg_k,
                      (uint8_t)sketch->lg_coupons};
  head[5] = (uint8_t)(FLAG_COMPACT | (sketch->n_coupons == 0 ? FLAG_EMPTY : 0));
  head[6] = is_list ? (uint8_t)sketch->n_coupons : 0;
  head[7] = (uint8_t)sketch->mode;
  tn_store_le32(head + 8, sketch->n_coupons);
  TN_TRY(tn_buf_append(out, head, is_list ? 8 : 12, err));
  for (size_t i = 0; i < (size_t)1 << sketch->lg_coupons; i++) {
    if (sketch->coupons[i] != 0) {
      TN_TRY(tn_buf_append(out, &sketch->coupons[i], 4, err));
    }
  }
  return TARN_OK;
}

/* Exceptions in the order of Java's hash table of them (HeapAuxHashMap). */
typedef struct exceptions {
  tn_mem *mem;
  uint32_t *pairs;
  uint32_t lg, n;
} exceptions;

static uint32_t *find_exception(uint32_t *pairs, uint32_t lg, uint32_t slot) {
  uint32_t mask = (1u << lg) - 1, at = slot & mask, stride = (slot >> lg) | 1;
  while (pairs[at] != 0) { /* a quarter of the places is free; strides are odd */
    at = (at + stride) & mask;
  }
  return &pairs[at];
}

static tarn_status grow_exceptions(exceptions *e, uint32_t slot_mask, tarn_error *err) {
  uint32_t *grown = tn_calloc(e->mem, (size_t)2 << e->lg, sizeof(*grown));
  if (grown == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < (size_t)1 << e->lg && e->pairs != NULL; i++) {
    if (e->pairs[i] != 0) {
      *find_exception(grown, e->lg + 1, e->pairs[i] & slot_mask) = e->pairs[i];
    }
  }
  tn_free(e->mem, e->pairs);
  e->pairs = grown;
  e->lg++;
  return TARN_OK;
}

static tarn_status add_exception(exceptions *e, uint32_t lg_k, uint32_t slot, uint32_t value,
                                 tarn_error *err) {
  static const uint8_t first_lg[MAX_LG_K + 1] = {0, 2, 2, 2, 2, 2, 2, 3,  3,  3,  4,
                                                 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  if (e->pairs == NULL) {
    e->lg = first_lg[lg_k] - 1u;
    TN_TRY(grow_exceptions(e, 0, err));
  }
  *find_exception(e->pairs, e->lg, slot) = value << SLOT_BITS | slot;
  e->n++;
  return 4 * (uint64_t)e->n > UINT64_C(3) << e->lg ? grow_exceptions(e, (1u << lg_k) - 1, err)
                                                   : TARN_OK;
}

/* Nibbles over the least value, and what they cannot hold. */
static tarn_status make_nibbles(const tn_hll *sketch, uint32_t least, uint8_t *nibbles,
                                exceptions *e, tarn_error *err) {
  for (uint32_t i = 0; i < 1u << sketch->lg_k; i++) {
    uint32_t value = sketch->values[i], nibble = value - least;
    if (value == 0) {
      continue;
    }
    if (nibble >= EXCEPTION) {
      nibble = EXCEPTION;
      TN_TRY(add_exception(e, sketch->lg_k, i, value, err));
    }
    nibbles[i / 2] |= (uint8_t)(nibble << (i % 2 * 4));
  }
  return TARN_OK;
}

/* The sums as converting to HLL_4 makes them: value by value, from those of no values. */
static void store_sums(const tn_hll *sketch, uint8_t *head) {
  tn_hll sums = {.kxq0 = (double)(1u << sketch->lg_k)};
  for (size_t i = 0; i < (size_t)1 << sketch->lg_k; i++) {
    if (sketch->values[i] > 0) {
      add_power(&sums, 0, -1);
      add_power(&sums, sketch->values[i], 1);
    }
  }
  memcpy(head + 16, &sums.kxq0, 8);
  memcpy(head + 24, &sums.kxq1, 8);
}

static tarn_status encode_array(const tn_hll *sketch, tn_buf *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  size_t k = (size_t)1 << sketch->lg_k;
  uint32_t least = MAX_VALUE, n_least = 0;
  uint8_t head[4 * ARRAY_PREAMBLE] = {ARRAY_PREAMBLE, 1, FAMILY, (uint8_t)sketch->lg_k};
  exceptions e = {.mem = sketch->mem};
  size_t at = out->len;
  for (size_t i = 0; i < k; i++) {
    n_least = sketch->values[i] < least ? 0 : n_least;
    least = sketch->values[i] < least ? sketch->values[i] : least;
    n_least += sketch->values[i] == least;
  }
  TN_TRY(tn_buf_reserve(out, sizeof(head) + k / 2, err));
  memset(out->data + at, 0, sizeof(head) + k / 2);
  TN_TRY_TO(done, make_nibbles(sketch, least, out->data + at + sizeof(head), &e, err));
  head[4] = e.n > 0 ? (uint8_t)e.lg : 0;
  head[5] = (uint8_t)(FLAG_COMPACT | (sketch->is_out_of_order ? FLAG_OUT_OF_ORDER : 0));
  head[6] = (uint8_t)least;
  head[7] = (uint8_t)TN_HLL_ARRAY;
  memcpy(head + 8, &sketch->estimate, 8);
  store_sums(sketch, head);
  tn_store_le32(head + 32, n_least);
  tn_store_le32(head + 36, e.n);
  memcpy(out->data + at, head, sizeof(head));
  out->len += sizeof(head) + k / 2;
  for (size_t i = 0; e.n > 0 && i < (size_t)1 << e.lg; i++) {
    if (e.pairs[i] != 0) {
      TN_TRY_TO(done, tn_buf_append(out, &e.pairs[i], 4, err));
    }
  }
done:
  tn_free(e.mem, e.pairs);
  return st;
}

tarn_status tn_hll_encode(const tn_hll *sketch, tn_buf *out, tarn_error *err) {
  return sketch->mode == TN_HLL_ARRAY ? encode_array(sketch, out, err)
                                      : encode_coupons(sketch, out, err);
}
