#!/usr/bin/env python3
"""Writes src/column/float_powers.h: powers of ten for printing floating-point numbers.

For every decimal exponent k that a DOUBLE can have, g(k) = floor(10^-k / 2^r) + 1 with r such that g has 126 bits.
Usage: make_float_powers.py > src/column/float_powers.h
"""
from fractions import Fraction

K_MIN, K_MAX = -324, 292


def g(k):
    power = Fraction(10) ** -k
    bits = power.numerator.bit_length() - power.denominator.bit_length()
    while Fraction(2) ** bits > power:
        bits -= 1
    while Fraction(2) ** (bits + 1) <= power:
        bits += 1
    value = power / Fraction(2) ** (bits - 125)
    return value.numerator // value.denominator + 1


print("""/* float_powers.h - made by tools/make_float_powers.py: the 126 leading bits of 10^-k, rounded up.
 *
 * Entry k - FLOAT_POWERS_K_MIN holds the high and the low 64 bits. For float_text.c only.
 */
#ifndef TN_COLUMN_FLOAT_POWERS_H
#define TN_COLUMN_FLOAT_POWERS_H

#include <stdint.h>
""")
print(f"#define FLOAT_POWERS_K_MIN ({K_MIN})")
print(f"#define FLOAT_POWERS_K_MAX {K_MAX}\n")
print("/* clang-format off */")
print("static const uint64_t float_powers[][2] = {")
for k in range(K_MIN, K_MAX + 1):
    v = g(k)
    assert v.bit_length() == 126, k
    print(f"    {{0x{v >> 64:016x}, 0x{v & (2**64 - 1):016x}}},")
print("};\n/* clang-format on */\n\n#endif")
