#!/usr/bin/env python3
"""Writes small random compute shaders, whose results are fully defined, and compiles them.

  generate_shaders.py --out FOLDER --glslang PROGRAM --spirv-opt PROGRAM [--only NUMBER]

For the test that compares the simulator with drivers. FOLDER gets NNN_kind.comp and NNN_kind.spv, and
modules.txt, which names them without the ending, one a line. The number is the seed: a shader is the same on
every machine. With --only a single shader is written.

What keeps the results defined, so that any difference is somebody's fault:

- Every invocation has a `key` of its own and writes only what belongs to that key. In shaders with
  subgroup operations the key is made of subgroup and lane: no relation between lanes and local
  indices is relied on.
- Divisors are not 0, shift distances and bit fields stay inside of the word, indices inside of their
  arrays; `%` has no negative operands (Vulkan leaves their result open).
- Float variables hold multiples of 1/8 in [-16, 16): tame() brings every result back there, and all
  in between is exact, so that contraction and order change nothing. (`precise` would not do: it does
  not reach conditions and arguments.) Nothing depends on the sign of a zero, and there are no NaNs,
  infinities and subnormal numbers, which drivers may treat as they like.
- Functions of GLSL.std.450 that are not exact are rounded to whole numbers.
- Atomics on shared places are of one kind for each place, and what they return is used where the
  place is the invocation's own, or in a sum.
- Barriers stand in workgroup-uniform flow. So do memory semantics: lavapipe (Mesa 22.3) takes memory
  barriers and acquire or release atomics in other flow for control barriers.
- Subgroup operations stand in subgroup-uniform flow, or first in an arm that a uniform branch begins;
  only in the kind "nested" do they follow divergence inside of arms and loops, where all the lanes of
  an arm run together again: maximal reconvergence, which CPU drivers with masks have.
- The clustered operations are left out: no CPU driver has them.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

# How many shaders of each kind; the kinds take turns.
KINDS = {
    "integer": 30,
    "float": 26,
    "flow": 38,
    "composite": 26,
    "memory": 26,
    "atomic": 16,
    "subgroup": 36,
    "nested": 16,
    "wide": 12,  # 64-bit integers and floats, 8 and 16 bits: not on every driver
}
SUBGROUP_KINDS = ("subgroup", "nested")

# Passes that make values of variables (OpPhi and all) and keep the flow as it is: subgroup operations
# must not move.
SSA_PASSES = ["--inline-entry-points-exhaustive", "--eliminate-dead-functions",
              "--eliminate-local-single-block", "--eliminate-local-single-store",
              "--scalar-replacement", "--ssa-rewrite", "--eliminate-dead-code-aggressive"]

PRELUDE = """\
float tame(float x) {
    precise float q = floor(x * 8.0);
    precise float r = q - 256.0 * floor(q * 0.00390625);
    precise float t = (r - 128.0) * 0.125;
    return t;
}
vec2 tame(vec2 x) { return vec2(tame(x.x), tame(x.y)); }
vec3 tame(vec3 x) { return vec3(tame(x.x), tame(x.y), tame(x.z)); }
vec4 tame(vec4 x) { return vec4(tame(x.xy), tame(x.zw)); }
mat2 tame(mat2 x) { return mat2(tame(x[0]), tame(x[1])); }
mat3 tame(mat3 x) { return mat3(tame(x[0]), tame(x[1]), tame(x[2])); }
mat4 tame(mat4 x) { return mat4(tame(x[0]), tame(x[1]), tame(x[2]), tame(x[3])); }
mat2x3 tame(mat2x3 x) { return mat2x3(tame(x[0]), tame(x[1])); }
mat3x2 tame(mat3x2 x) { return mat3x2(tame(x[0]), tame(x[1]), tame(x[2])); }
"""


class Dice:
    """A generator of our own: Python's may change from version to version."""

    def __init__(self, seed):
        self.state = seed * 2654435761 + 12345
        for _ in range(4):
            self.below(2)

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def chance(self, percent):
        return self.below(100) < percent

    def pick(self, choices):
        return choices[self.below(len(choices))]


SCALARS = {"u": "uint", "i": "int", "f": "float", "b": "bool"}
VECTORS = {"u": "uvec", "i": "ivec", "f": "vec", "b": "bvec"}


def type_name(base, n):
    return SCALARS[base] if n == 1 else f"{VECTORS[base]}{n}"


class Shader:
    def __init__(self, number, kind):
        self.dice = Dice(number)
        self.number = number
        self.kind = kind
        self.subgroups = kind in SUBGROUP_KINDS
        self.lines = []
        self.indent = 1
        self.names = 0
        self.variables = {}  # (base, n) -> names that may be assigned
        self.constants = {}  # (base, n) -> names that may only be read
        self.functions = []
        self.loops = 0
        self.in_function = False
        d = self.dice
        self.w = d.pick([32, 64])
        if kind in SUBGROUP_KINDS:
            self.shape = (self.w, 1, 1)
        else:
            self.shape = d.pick({32: [(32, 1, 1), (8, 4, 1), (2, 4, 4)],
                                 64: [(64, 1, 1), (8, 8, 1), (4, 4, 4), (16, 2, 2)]}[self.w])

    # --- text ---

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def open(self, text):
        self.line(text + " {")
        self.indent += 1

    def close(self, text="}"):
        self.indent -= 1
        self.line(text)

    def name(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    # --- variables ---

    def declare(self, base, n, value=None):
        name = self.name(base if n == 1 else f"{base}v")
        precise = "precise " if base == "f" else ""
        self.line(f"{precise}{type_name(base, n)} {name} = {value or self.seeded(base, n)};")
        self.variables.setdefault((base, n), []).append(name)
        return name

    def word(self):
        return f"words[(key * {self.dice.below(61) * 2 + 1}u + {self.dice.below(1000)}u) & 1023u]"

    def seeded(self, base, n):
        """A value made of the input."""
        if n > 1:
            return f"{type_name(base, n)}({', '.join(self.seeded(base, 1) for _ in range(n))})"
        word = self.word()
        if base == "u":
            return word if self.dice.chance(60) else f"({word} & 63u)"
        if base == "i":
            return f"int({word})" if self.dice.chance(50) else f"(int({word} & 127u) - 64)"
        if base == "f":
            return f"(float(int({word} & 255u) - 128) * 0.125)"
        return f"(({word} & {1 << self.dice.below(12)}u) != 0u)"

    def variable(self, base, n):
        return self.dice.pick(self.variables[(base, n)])

    # --- expressions ---

    def literal(self, base):
        d = self.dice
        if base == "u":
            return d.pick(["0u", "1u", "0x80000000u", "0xffffffffu", f"{d.below(100)}u",
                           f"{d.below(2**31)}u"])
        if base == "i":
            return d.pick(["0", "1", "(-1)", "0x7fffffff", f"{d.below(100)}", f"(-{d.below(100)})",
                           f"{d.below(2**31)}"])
        if base == "f":
            return d.pick(["0.0", "1.0", "(-1.0)", "0.5", "(-2.5)", f"{d.below(120) * 0.125}",
                           f"(-{d.below(120) * 0.125})"])
        return d.pick(["true", "false"])

    def leaf(self, base, n):
        d = self.dice
        if d.chance(12):
            return f"{type_name(base, n)}({self.literal(base)})" if n > 1 else self.literal(base)
        readable = self.variables.get((base, n), []) + self.constants.get((base, n), [])
        larger = [v for m in (2, 3, 4) for v in self.variables.get((base, m), [])]
        if larger and (not readable or d.chance(25)):
            vector = d.pick(larger)
            letters = "xyzw"[:self.size_of(base, vector)]
            return f"{vector}.{''.join(d.pick(letters) for _ in range(n))}"
        if readable:
            return d.pick(readable)
        return f"{type_name(base, n)}({self.leaf(base, 1)})" if n > 1 else self.literal(base)

    def size_of(self, base, name):
        return next(m for m in (2, 3, 4) if name in self.variables.get((base, m), []))

    def expression(self, base, n=1, depth=2):
        if depth <= 0:
            return self.leaf(base, n)
        return getattr(self, f"expression_{base}")(n, depth - 1)

    def select(self, base, n, depth):
        """A choice by condition, in one of its forms."""
        a, b = self.expression(base, n, depth), self.expression(base, n, depth)
        if self.dice.chance(50):
            return f"({self.expression('b', 1, depth)} ? {a} : {b})"
        return f"mix({a}, {b}, {self.expression('b', n, depth)})"

    def expression_u(self, n, depth):
        d = self.dice
        t = type_name("u", n)
        a = self.expression("u", n, depth)
        b = self.expression("u", n, depth)
        choice = d.below(27)
        if choice < 6:
            return f"({a} {'+-*&|^'[choice]} {b})"
        if choice == 6:
            return f"({a} {d.pick('/%')} ({b} | {t}(1u)))"
        if choice == 7:
            return f"({a} << ({b} & {t}(31u)))"
        if choice == 8:
            return f"({a} >> ({b} & {t}(31u)))"
        if choice == 9:
            return f"{d.pick(['min', 'max'])}({a}, {b})"
        if choice == 10:
            c = self.leaf("u", n)
            return f"clamp({a}, min({b}, {c}), max({b}, {c}))"
        if choice == 11:
            return f"(~{a})"
        if choice == 12:
            return f"bitfieldReverse({a})"
        if choice == 13:
            return f"{t}({d.pick(['bitCount', 'findLSB', 'findMSB'])}({a}))"
        if choice == 14:
            return f"bitfieldExtract({a}, {self.field()})"
        if choice == 15:
            return f"bitfieldInsert({a}, {b}, {self.field()})"
        if choice in (16, 17):
            return f"{t}({self.expression('i', n, depth)})"
        if choice == 18:
            return f"{t}({self.expression('b', n, depth)})"
        if choice == 19:
            return f"{t}(abs({self.expression('f', n, min(depth, 1))}))"
        if choice in (20, 21):
            return self.select("u", n, depth)
        if choice == 22 and n == 1:
            m = d.pick([2, 4])
            return f"{self.leaf('u', m)}[{self.expression('u', 1, depth)} & {m - 1}u]"
        if choice == 23:
            return f"floatBitsToUint(abs({self.leaf('f', n)}) + 1.0)"
        if choice == 24 and n == 1:
            return self.packed()
        if choice == 25 and n > 1:
            return f"{t}({', '.join(self.expression('u', 1, depth - 1) for _ in range(n))})"
        return f"({a} - {b})"

    def field(self):
        """Offset and bits of a bit field."""
        d = self.dice
        form = d.below(4)
        if form == 0:
            return d.pick(["0, 32", "0, 31", "31, 1", "5, 0", "8, 8", "16, 16"])
        if form == 1:
            return f"int({self.leaf('u', 1)} & 15u), {d.below(17)}"
        return f"int({self.leaf('u', 1)} & 15u), int({self.leaf('u', 1)} & 15u)"

    def packed(self):
        """Floats packed in a word: exactly representable ones, or far from where rounding turns."""
        d = self.dice
        if d.chance(30):
            sign = d.pick(["", "-"])
            return f"packHalf2x16({sign}(abs({self.leaf('f', 2)}) + 1.0))"
        form, count = d.pick([("Unorm4x8", 4), ("Snorm4x8", 4), ("Unorm2x16", 2), ("Snorm2x16", 2)])
        values = [d.pick(["0.0", "0.25", "0.75", "1.0", "1.5", "-0.25", "-0.75", "-1.0", "-2.0"])
                  for _ in range(count)]
        values[0] = f"({self.leaf('b', 1)} ? 0.25 : -1.0)"
        return f"pack{form}(vec{count}({', '.join(values)}))"

    def expression_i(self, n, depth):
        d = self.dice
        t = type_name("i", n)
        a = self.expression("i", n, depth)
        b = self.expression("i", n, depth)
        choice = d.below(24)
        if choice < 6:
            return f"({a} {'+-*&|^'[choice]} {b})"
        if choice == 6:
            return f"({a} / (({b} & {t}(15)) + {t}(1)))"
        if choice == 7:
            return f"(({a} & {t}(0x7fffffff)) % (({b} & {t}(15)) + {t}(1)))"
        if choice == 8:
            return f"({a} {d.pick(['<<', '>>'])} ({b} & {t}(31)))"
        if choice == 9:
            return f"{d.pick(['min', 'max'])}({a}, {b})"
        if choice == 10:
            c = self.leaf("i", n)
            return f"clamp({a}, min({b}, {c}), max({b}, {c}))"
        if choice == 11:
            return f"({d.pick('-~')}{a})"
        if choice == 12:
            return f"{d.pick(['abs', 'sign'])}({a})"
        if choice == 13:
            return f"{d.pick(['bitCount', 'findLSB', 'findMSB', 'bitfieldReverse'])}({a})"
        if choice == 14:
            return f"bitfieldExtract({a}, {self.field()})"
        if choice == 15:
            return f"bitfieldInsert({a}, {b}, {self.field()})"
        if choice in (16, 17):
            return f"{t}({self.expression('u', n, depth)})"
        if choice == 18:
            return f"{t}({self.expression('b', n, depth)})"
        if choice == 19:
            return f"{t}({self.expression('f', n, min(depth, 1))})"
        if choice in (20, 21):
            return self.select("i", n, depth)
        if choice == 22 and n == 1:
            m = d.pick([2, 4])
            return f"{self.leaf('i', m)}[{self.expression('i', 1, depth)} & {m - 1}]"
        return f"({a} + {b})"

    def expression_f(self, n, depth):
        d = self.dice
        t = type_name("f", n)
        # Exact: factors are leaves, of 8 bits; what is made of them needs less than 24.
        depth = min(depth, 1)
        a = self.expression("f", n, depth)
        b = self.expression("f", n, depth)
        x, y, z = self.leaf("f", n), self.leaf("f", n), self.leaf("f", n)
        choice = d.below(32)
        if choice < 4:
            return f"({a} {'+-'[choice % 2]} {b})"
        if choice < 6:
            return f"({x} * {y})"
        if choice == 6:
            return f"(-{a})"
        if choice in (7, 8):
            return f"{d.pick(['abs', 'sign', 'floor', 'ceil', 'trunc', 'fract'])}({a})"
        if choice == 9:
            return f"{d.pick(['min', 'max'])}({a}, {b})"
        if choice == 10:
            return f"clamp({a}, min({x}, {y}), max({x}, {y}))"
        if choice == 11:
            return f"mix({x}, {y}, {t}({d.pick(['0.0', '0.25', '0.5', '1.0'])}))"
        if choice == 12:
            return f"step({a}, {b})"
        if choice == 13:
            return f"roundEven({a})"
        if choice == 14:
            return f"round(floor({a}) + 0.25)"
        if choice == 15:
            return f"fma({x}, {y}, {z})"
        if choice == 16:
            return f"({a} / {d.pick(['2.0', '0.5', '-4.0'])})"
        if choice == 17:
            return f"mod({a}, {d.pick(['2.0', '4.0', '0.5'])})"
        if choice == 18:
            return f"{t}({self.expression('i', n, 1)} & {type_name('i', n)}(15))"
        if choice == 19:
            return f"{t}({self.expression('u', n, 1)} & {type_name('u', n)}(15u))"
        if choice == 20:
            return f"{t}({self.expression('b', n, depth)})"
        if choice in (21, 22):
            return self.select("f", n, depth)
        if choice == 23:
            e = f"({self.leaf('i', n)} & {type_name('i', n)}(7)) - {type_name('i', n)}(3)"
            return f"ldexp({x}, {e})"
        if choice == 24:
            k = f"float({self.leaf('i', 1)} & 7)"
            whole = d.pick([f"sqrt({k} * {k})", f"roundEven(exp2({k}))", f"roundEven(log2(exp2({k})))",
                            f"length(vec2(3.0, 4.0) * {k})",
                            f"distance(vec2({k}, 1.0), vec2({k} + 3.0, 5.0))",
                            f"roundEven(inversesqrt(0.015625 + 0.0 * {k}) * {k})",
                            f"roundEven(pow(2.0, {k}))", f"roundEven(8.0 * smoothstep(0.0, 8.0, {k}))"])
            return f"{t}({whole})" if n > 1 else whole
        if choice == 25:
            return f"uintBitsToFloat(floatBitsToUint(abs({a}) + 1.0))"
        if choice == 26 and n == 2:
            return "unpackHalf2x16(packHalf2x16(" + x + "))"
        if choice == 27 and n == 2:
            return f"roundEven(65535.0 * unpackUnorm2x16({self.leaf('u', 1)})) * 0.125"
        if choice == 28 and n == 4:
            return d.pick([f"roundEven(255.0 * unpackUnorm4x8({self.leaf('u', 1)}))",
                           f"roundEven(127.0 * unpackSnorm4x8({self.leaf('u', 1)}))"])
        if choice == 29 and n == 1:
            m = d.pick([2, 3, 4])
            return f"dot({self.leaf('f', m)}, {self.leaf('f', m)})"
        if choice == 29 and n == 3:
            return f"cross({x}, {y})"
        if choice == 30 and n > 1:
            axis = f"{t}({', '.join(['0.0'] * (n - 1) + [d.pick(['1.0', '-1.0'])])})"
            one = f"(0.0 * {x}.x + 1.0)"  # which the compiler does not fold
            return d.pick([f"reflect({x}, {axis})", f"faceforward({x}, {y}, {axis})",
                           f"roundEven(normalize({axis} * {one}))",
                           f"roundEven(refract({axis} * {one}, -{axis}, 0.5))"])
        if choice == 31 and n == 1:
            m = d.pick([2, 4])
            return f"{self.leaf('f', m)}[{self.leaf('u', 1)} & {m - 1}u]"
        return f"({a} + {b})"

    def expression_b(self, n, depth):
        d = self.dice
        if n > 1:
            base = d.pick("uif")
            a, b = self.expression(base, n, depth), self.expression(base, n, depth)
            choice = d.below(9)
            if choice < 6:
                function = ["lessThan", "lessThanEqual", "greaterThan", "greaterThanEqual", "equal",
                            "notEqual"][choice]
                return f"{function}({a}, {b})"
            if choice == 6:
                return f"not({self.expression('b', n, depth)})"
            if choice == 7:
                return f"{d.pick(['equal', 'notEqual'])}({self.leaf('b', n)}, {self.expression('b', n, depth)})"
            return f"{type_name('b', n)}({self.expression(d.pick('uif'), n, depth)})"
        choice = d.below(20)
        if choice < 10:
            base = d.pick("uif")
            a, b = self.expression(base, 1, depth), self.expression(base, 1, depth)
            return f"({a} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {b})"
        a, b = self.expression("b", 1, depth), self.expression("b", 1, depth)
        if choice < 13:
            return f"({a} {['&&', '||', '^^'][choice - 10]} {b})"
        if choice == 13:
            return f"(!{a})"
        if choice == 14:
            return f"({a} {d.pick(['==', '!='])} {b})"
        if choice == 15:
            return f"{d.pick(['any', 'all'])}({self.expression('b', d.pick([2, 3, 4]), depth)})"
        if choice == 16:
            base, m = d.pick("uif"), d.pick([2, 3, 4])
            return f"({self.leaf(base, m)} {d.pick(['==', '!='])} {self.leaf(base, m)})"
        if choice == 17:
            return f"({d.pick(['isnan', 'isinf'])}({self.leaf('f', 1)}) || {a})"
        if choice == 18:
            return f"bool({self.expression(d.pick('uif'), 1, depth)})"
        return self.select("b", 1, depth)

    def bit(self):
        """A condition that holds for some invocations."""
        return f"({self.leaf('u', 1)} & {1 << self.dice.below(6)}u) {self.dice.pick(['==', '!='])} 0u"

    # --- statements that work in any flow ---

    def assign(self, depth=3):
        base, n = self.dice.pick(sorted(self.variables))
        target = self.variable(base, n)
        value = self.expression(base, n, depth)
        if base == "f":
            value = f"tame({value})"
        if base in "ui" and self.dice.chance(25):
            operator = self.dice.pick(["+", "-", "*", "^", "&", "|"])
            self.line(f"{target} {operator}= {value};")
        elif n in (2, 4) and self.dice.chance(20):
            scalar = self.expression(base, 1, depth - 1)
            scalar = f"tame({scalar})" if base == "f" else scalar
            self.line(f"{target}[{self.leaf('u', 1)} & {n - 1}u] = {scalar};")
        elif n > 1 and self.dice.chance(20):
            letters = self.dice.pick(["yx", "xy"])
            part = self.expression(base, 2, depth - 1)
            part = f"tame({part})" if base == "f" else part
            self.line(f"{target}.{letters} = {part};")
        else:
            self.line(f"{target} = {value};")

    def two_results(self):
        d = self.dice
        u, v = self.name("u"), self.name("u")
        i, j = self.name("i"), self.name("i")
        a, b = self.expression("u"), self.expression("u")
        form = d.below(6)
        if form == 0:
            self.line(f"uint {v};")
            self.line(f"uint {u} = uaddCarry({a}, {b}, {v});")
        elif form == 1:
            self.line(f"uint {v};")
            self.line(f"uint {u} = usubBorrow({a}, {b}, {v});")
        elif form == 2:
            self.line(f"uint {u}, {v};")
            self.line(f"umulExtended({a}, {b}, {u}, {v});")
        elif form == 3:
            self.line(f"int {i}, {j};")
            self.line(f"imulExtended({self.expression('i')}, {self.expression('i')}, {i}, {j});")
            u, v = f"uint({i})", f"uint({j})"
        elif form == 4:
            f = self.name("f")
            self.line(f"int {i};")
            self.line(f"precise float {f} = frexp({self.leaf('f', 1)}, {i});")
            u, v = f"uint(int({f} * 256.0))", f"uint({i})"
        else:
            f, g = self.name("f"), self.name("f")
            self.line(f"precise float {g};")
            self.line(f"precise float {f} = modf({self.leaf('f', 1)}, {g});")
            u, v = f"uint(int({f} * 8.0))", f"uint(int({g}))"
        target = self.variable("u", 1)
        self.line(f"{target} = {target} * 3u + ({u} ^ ({v} << 7u));")

    def branch(self, depth):
        self.open(f"if ({self.bit() if self.dice.chance(60) else self.expression('b', 1, 2)})")
        self.statements(1 + self.dice.below(3), depth - 1)
        if self.dice.chance(60):
            self.close("} else {")
            self.indent += 1
            self.statements(1 + self.dice.below(2), depth - 1)
        self.close()

    def escape(self, switch=False):
        d = self.dice
        # In a switch, `break` would be the switch's own.
        words = ["continue"] if switch or self.switches else ["break", "continue"]
        if self.in_function and d.chance(35):
            self.open(f"if ({self.bit()})")
            self.line(f"return {self.leaf(*self.returns)};")
            self.close()
        else:
            self.line(f"if ({self.bit()}) {d.pick(words)};")

    switches = 0  # around the place, inside of the innermost loop

    def loop(self, depth):
        d = self.dice
        counter, limit = self.name("u"), self.name("u")
        self.line(f"const uint {limit} = {self.leaf('u', 1)} & {d.pick([3, 7])}u;")
        form = d.below(3)
        if form == 0:
            self.open(f"for (uint {counter} = 0u; {counter} < {limit}; ++{counter})")
        elif form == 1:
            self.line(f"uint {counter} = 0u;")
            self.open(f"while ({counter} < {limit} && {counter} < 9u)")
            self.line(f"++{counter};")
        else:
            # No do-while: lavapipe (Mesa 22.3) gives wrong vectors for
            #     do { ++n; w = tame(w * 1.5); } while (n < limit);
            # where computing by hand, SwiftShader and the simulator agree.
            self.line(f"uint {counter} = 0u;")
            self.open("while (true)")
            self.line(f"if ({counter} >= {limit}) break;")
            self.line(f"++{counter};")
        self.constants.setdefault(("u", 1), []).append(counter)
        outer, self.switches = self.switches, 0
        self.loops += 1
        self.statements(1 + d.below(2), depth - 1)
        if d.chance(60):
            self.escape()
        self.statements(1 + d.below(2), depth - 1)
        if d.chance(35):
            self.escape()
            self.statements(1, 0)
        self.loops -= 1
        self.switches = outer
        self.constants[("u", 1)].remove(counter)
        self.close()

    def switch(self, depth):
        d = self.dice
        signed = d.chance(40)
        value = f"int({self.leaf('u', 1)} & 7u) - 2" if signed else f"{self.leaf('u', 1)} & 7u"
        self.open(f"switch ({value})")
        self.switches += 1
        labels = list(range(-2, 6)) if signed else list(range(8))
        default_at = d.below(4)
        for i in range(2 + d.below(3)):
            self.line(f"case {labels.pop(d.below(len(labels)))}{'' if signed else 'u'}:")
            if labels and d.chance(30):
                self.line(f"case {labels.pop(d.below(len(labels)))}{'' if signed else 'u'}:")
            if i == default_at:
                self.line("default:")
            self.indent += 1
            self.statements(1 + d.below(2), depth - 1)
            if self.loops and d.chance(20):
                self.escape(switch=True)
            if d.chance(70):  # else falls through
                self.line("break;")
            self.indent -= 1
        self.line("case 99:" if signed else "case 99u:")
        self.indent += 1
        self.statements(1, 0)
        self.line("break;")
        self.indent -= 1
        self.switches -= 1
        self.close()

    def call(self):
        name, (base, n), parameters = self.dice.pick(self.functions)
        taken = []
        arguments = []
        for how, b, m in parameters:
            if how == "in":
                value = self.expression(b, m, 2)
                arguments.append(f"tame({value})" if b == "f" else value)
                continue
            free = [v for v in self.variables.get((b, m), []) if v not in taken]
            if not free:
                return self.assign()
            taken.append(self.dice.pick(free))
            arguments.append(taken[-1])
        free = [v for v in self.variables.get((base, n), []) if v not in taken]
        if not free:
            return self.assign()
        self.line(f"{self.dice.pick(free)} = {name}({', '.join(arguments)});")

    def statements(self, count, depth):
        for _ in range(count):
            self.statement(depth)

    # Weights of statements by kind.
    PLAIN = {"integer": (8, 1, 1, 0, 4, 1), "float": (8, 1, 1, 1, 2, 1), "flow": (3, 5, 4, 3, 1, 3)}

    def statement(self, depth):
        assign, branch, loop, switch, two, call = self.PLAIN.get(self.kind, (6, 2, 1, 1, 1, 1))
        if depth <= 0:
            branch = loop = switch = 0
        # Loops in loops, through calls too, would take long.
        deepest = 1 if self.in_function else 2
        if not self.functions or self.loops >= deepest:
            call = 0
        if self.loops >= deepest:
            loop = 0
        choice = self.dice.below(assign + branch + loop + switch + two + call)
        for weight, make in ((assign, self.assign), (branch, lambda: self.branch(depth)),
                             (loop, lambda: self.loop(depth)), (switch, lambda: self.switch(depth)),
                             (two, self.two_results), (call, self.call)):
            if choice < weight:
                return make()
            choice -= weight

    # --- functions ---

    def function(self):
        d = self.dice
        name = self.name("function")
        outer = self.variables, self.constants, self.lines
        self.variables, self.constants, self.lines = {}, {}, []
        self.returns = (d.pick("uuif"), d.pick([1, 1, 2]))
        parameters, texts = [], []
        for _ in range(1 + d.below(3)):
            how = d.pick(["in", "in", "inout", "out"])
            base, n = d.pick("uif"), d.pick([1, 1, 2, 3])
            parameter = self.name("p")
            parameters.append((how, base, n))
            precise = "precise " if base == "f" and how != "in" else ""
            texts.append(f"{precise}{how} {type_name(base, n)} {parameter}")
            if how == "out":
                value = self.literal(base)
                self.line(f"{parameter} = {type_name(base, n)}({value});")
            self.variables.setdefault((base, n), []).append(parameter)
        self.in_function = True
        for base in "uif":
            self.declare(base, 1, self.expression(base, 1, 1) if base != "f" else
                         f"tame({self.expression('f', 1, 1)})")
        self.declare("b", 1, self.expression("b", 1, 1))
        if self.returns not in self.variables:
            self.declare(*self.returns, f"{type_name(*self.returns)}({self.literal(self.returns[0])})")
        self.statements(1 + d.below(3), 2)
        if d.chance(50):
            self.open(f"if ({self.bit()})")
            self.statements(1, 0)
            self.line(f"return {self.variable(*self.returns)};")
            self.close()
            self.statements(1, 1)
        self.in_function = False
        body = self.lines + [f"    return {self.variable(*self.returns)};"]
        self.variables, self.constants, self.lines = outer
        self.functions.append((name, self.returns, parameters))
        head = f"{type_name(*self.returns)} {name}({', '.join(texts)}) {{"
        self.function_texts += [head] + body + ["}"]

    # --- composites ---

    def composites_declare(self):
        self.line("Part part;")
        self.line("Whole whole;")
        for name in ("part", "whole.part", "whole.parts[0]", "whole.parts[1]", "whole.parts[2]"):
            self.part_fill(name)
        self.line(f"whole.tail = {self.seeded('u', 3)};")
        self.line(f"whole.m = tame(mat2x3({self.seeded('f', 3)}, {self.seeded('f', 3)}));")
        self.line("uint array_u[8];")
        self.line("vec2 array_f[4];")
        self.line("for (uint i = 0u; i < 8u; ++i) array_u[i] = words[(key * 8u + i) & 1023u];")
        self.line("for (uint i = 0u; i < 4u; ++i) "
                  "array_f[i] = vec2(float(words[(key + i) & 1023u] & 127u) * 0.125, float(i));")
        self.line(f"mat2 m2 = mat2({self.seeded('f', 2)}, {self.seeded('f', 2)});")
        self.line(f"mat3 m3 = mat3({', '.join(self.seeded('f', 3) for _ in range(3))});")
        self.line(f"mat4 m4 = mat4({', '.join(self.seeded('f', 4) for _ in range(4))});")

    def part_fill(self, name):
        self.line(f"{name} = Part({self.seeded('u', 1)}, {self.seeded('f', 2)}, {self.seeded('i', 3)}, "
                  f"float[3]({', '.join(self.seeded('f', 1) for _ in range(3))}));")

    def a_part(self):
        third = f"whole.parts[{self.leaf('u', 1)} % 3u]"
        return self.dice.pick(["part", "whole.part", third, "whole.parts[1]"])

    def composite(self):
        d = self.dice
        u, i, f = self.variable("u", 1), self.variable("i", 1), self.variable("f", 1)
        choice = d.below(18)
        if choice == 0:
            self.line(f"{self.a_part()} = {self.a_part()};")
        elif choice == 1:
            self.line(f"{self.a_part()}.b = tame({self.expression('f', 2, 2)});")
        elif choice == 2:
            self.line(f"{self.a_part()}.d[{self.leaf('u', 1)} % 3u] = tame({self.expression('f', 1, 2)});")
        elif choice == 3:
            self.line(f"{self.a_part()}.c.{d.pick('xyz')} = {self.expression('i', 1, 2)};")
        elif choice == 4:
            self.line(f"{u} = {self.a_part()}.a ^ uint({self.a_part()}.c[{self.leaf('u', 1)} % 3u]);")
        elif choice == 5:
            self.line(f"{f} = tame({self.a_part()}.d[{self.leaf('u', 1)} % 3u] + {self.a_part()}.b.y);")
        elif choice == 6:
            self.line(f"if ({self.a_part()} == {self.a_part()}) {u} += 17u;")
        elif choice == 7:
            self.line(f"array_u[{self.leaf('u', 1)} & 7u] = {self.expression('u', 1, 2)};")
        elif choice == 8:
            self.line(f"{u} = array_u[{self.leaf('u', 1)} & 7u] + array_u[{d.below(8)}];")
        elif choice == 9:
            self.line(f"array_f[{self.leaf('u', 1)} & 3u][{self.leaf('u', 1)} & 1u] = "
                      f"tame({self.expression('f', 1, 2)});")
        elif choice == 10:
            self.line(f"{f} = tame(dot(array_f[{self.leaf('u', 1)} & 3u], {self.leaf('f', 2)}));")
        elif choice == 11:
            m, n = d.pick([("m2", 2), ("m3", 3), ("m4", 4)])
            self.line(f"{m} = " + d.pick([
                f"tame({m} * {m})", f"tame({m} + {m})", f"tame({m} * {self.leaf('f', 1)})",
                f"transpose({m})", f"tame(outerProduct({self.leaf('f', n)}, {self.leaf('f', n)}))",
                f"tame(matrixCompMult({m}, {m}))", f"-{m}", f"tame({m} - transpose({m}))",
                f"mat{n}({f})"]) + ";")
        elif choice == 12:
            m, n = d.pick([("m2", 2), ("m3", 3), ("m4", 4)])
            self.line(f"{m}[{self.leaf('u', 1)} % {n}u][{self.leaf('u', 1)} % {n}u] = "
                      f"tame({self.expression('f', 1, 2)});")
        elif choice == 13:
            n = d.pick([2, 3, 4])
            if ("f", n) in self.variables:
                v = self.variable("f", n)
                self.line(f"{v} = tame({d.pick([f'm{n} * {v}', f'{v} * m{n}', f'm{n}[{self.leaf(chr(117), 1)} % {n}u]'])});")
        elif choice == 14:
            self.line(d.pick([
                f"whole.m = tame(whole.m * m2);", f"whole.m = transpose(transpose(whole.m));",
                f"whole.m[{self.leaf('u', 1)} & 1u] = tame(m3 * whole.m[1]);",
                f"{f} = tame(dot(whole.m * array_f[1], whole.m[0]) * 0.0);",
                f"m2 = tame(transpose(whole.m) * whole.m);"]))
        elif choice == 15:
            n = d.pick([2, 3, 4])
            values = [f"float({self.leaf('i', 1)} & 3)" for _ in range(n * n)]
            self.line(f"{f} = tame(roundEven(determinant(mat{n}({', '.join(values)}))));")
        elif choice == 16:  # determinant 1: the inverse is whole
            n = d.pick([2, 3])
            values = ["1.0" if row == column else "0.0" if row > column else
                      f"float({self.leaf('i', 1)} & 3)" for row in range(n) for column in range(n)]
            self.line(f"m{n} = tame(inverse(mat{n}({', '.join(values)})));")
        else:
            self.line(f"whole.parts[{self.leaf('u', 1)} % 3u] = Part({u}, {self.leaf('f', 2)}, "
                      f"{self.expression('i', 3, 1)}, float[3]({f}, {self.leaf('f', 1)}, 0.5));")
        if d.chance(15):
            self.line(f"{i} += int(array_u.length());")

    def composites_put(self):
        self.open("for (uint i = 0u; i < 3u; ++i)")
        self.line("put(whole.parts[i].a);")
        self.line("put(uint(int(whole.parts[i].d[i] * 8.0)));")
        self.line("put(uint(whole.parts[i].c[i]));")
        self.close()
        self.line("put(part.a ^ uint(part.c.x));")
        self.line("put(uint(int(whole.part.b.x * 8.0)));")
        self.line("for (uint i = 0u; i < 8u; ++i) put(array_u[i]);")
        for n in (2, 3, 4):
            self.line(f"for (uint i = 0u; i < {n}u; ++i) "
                      f"for (uint j = 0u; j < {n}u; ++j) put(uint(int(m{n}[i][j] * 8.0)));")
        self.line("for (uint i = 0u; i < 2u; ++i) "
                  "for (uint j = 0u; j < 3u; ++j) put(uint(int(whole.m[i][j] * 8.0)));")

    # --- memory ---

    def exchange(self):
        """Values go from invocation to invocation; in workgroup-uniform flow."""
        d = self.dice
        w = self.w
        u = self.variable("u", 1)
        other = d.pick([f"(at + {d.below(w)}u) & {w - 1}u", f"at ^ {d.below(w)}u", f"{w - 1}u - at"])
        form = d.below(8)
        if form == 0:
            self.line(f"sh_u[at] = {self.expression('u')};")
            self.line("barrier();")
            self.line(f"{u} = {u} * 5u + sh_u[{other}];")
        elif form == 1:
            f = self.variable("f", 1)
            self.line(f"sh_v[at] = vec3({self.leaf('f', 3)});")
            self.line("barrier();")
            self.line(f"{f} = tame({f} + sh_v[{other}].{d.pick('xyz')});")
        elif form == 2:
            i = self.variable("i", 1)
            self.line(f"sh_s[at].a = {self.expression('u')};")
            self.line(f"sh_s[at].c[at & 3u] = {self.expression('i', 1, 2)};")
            self.line("memoryBarrierShared();")
            self.line("barrier();")
            self.line(f"{i} = {i} + int(sh_s[{other}].a) - sh_s[at].c[at & 3u];")
        elif form == 3:
            n = self.name("u")
            self.line(f"sh_u[at] = {self.expression('u')};")
            self.line("barrier();")
            self.open(f"for (uint {n} = {w // 2}u; {n} > 0u; {n} >>= 1u)")
            self.line(f"if (at < {n}) sh_u[at] {d.pick(['+=', '^='])} sh_u[at + {n}];")
            self.line("barrier();")
            self.close()
            self.line(f"{u} += sh_u[0];")
        elif form == 4:
            self.line(f"scratch[key] = {self.expression('u')};")
            self.line("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, "
                      "gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);")
            self.line(f"{u} ^= scratch[first + ({other})];")
            self.line("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, "
                      "gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);")
        elif form == 5:
            n = self.name("u")
            count = d.pick(["2u + (group & 1u)", "steps", "3u"])
            self.open(f"for (uint {n} = 0u; {n} < {count}; ++{n})")
            self.line(f"sh_u[at] = {u} + {n};")
            self.line("barrier();")
            self.line(f"{u} ^= sh_u[{other}] >> ({n} & 7u);")
            self.line("barrier();")
            self.close()
        elif form == 6:
            self.open(f"if ({d.pick(['(group & 1u) == 0u', 'steps > 1u', 'table.amount[1].x > 0u'])})")
            self.line(f"sh_u[at] = {self.expression('u')};")
            self.line("barrier();")
            self.line(f"{u} += sh_u[{other}];")
            self.close()
        else:  # through one lane; the bits of the others
            self.line(f"if (at == {d.below(w)}u) sh_one = {self.expression('u')};")
            self.line("barrier();")
            self.line(f"{u} ^= sh_one;")
        self.line("barrier();")

    def layout(self):
        d = self.dice
        u, i, f = self.variable("u", 1), self.variable("i", 1), self.variable("f", 1)
        j = self.leaf("u", 1)
        self.line(d.pick([
            f"{u} += table.amount[{j} & 3u].x + table.amount[1].y;",
            f"{f} = tame(table.m[{j} & 1u].z + table.scale);",
            f"{f} = tame(dot(table.m * vec2(1.0, 2.0), table.offset));",
            f"{i} += int(table.offset.y * 8.0) + int(steps);",
            f"record[key].m[{j} & 1u][{self.leaf('u', 1)} % 3u] = tame({self.expression('f', 1, 2)});",
            f"record[key].m = tame(mat2x3({self.leaf('f', 3)}, {self.leaf('f', 3)}));",
            f"record[key].v = tame({self.expression('f', 3, 2)});",
            f"record[key].inner[{j} & 1u].p = {self.expression('u', 1, 2)};",
            f"record[key].inner[{j} & 1u] = Inner({u}, tame({self.expression('f', 2, 1)}));",
            f"{f} = tame(record[key].m[{j} & 1u].y);",
            f"{f} = tame(record[key].v.z + record[key].inner[{j} & 1u].q.x);",
            f"{u} ^= record[key].inner[0].p + uint(record.length());",
            f"Inner inner_{self.names} = record[key].inner[{j} & 1u]; {u} += inner_{self.names}.p;",
            f"{i} -= int(words.length()) + weight.x;",
        ]))
        self.names += 1

    # --- atomics ---

    def atomic(self):
        d = self.dice
        u, i = self.variable("u", 1), self.variable("i", 1)
        form = d.below(12)
        value = self.expression("u", 1, 1)
        place = d.below(12)
        function = ["Add", "Min", "Max", "And", "Or", "Xor"][place % 6]
        if form < 4:
            self.line(f"atomic{function}(totals[{place}], {value});")
        elif form < 6:
            self.line(f"atomic{function}(itotals[{place}], {self.expression('i', 1, 1)});")
        elif form < 8:
            self.line(f"atomic{function}(sh_totals[{place}], {value});")
        elif form == 8:
            function = d.pick(["Add", "Min", "Max", "And", "Or", "Xor", "Exchange"])
            where = d.pick(["scratch[key]", "sh_own[at]"])
            self.line(f"{u} = {u} + atomic{function}({where}, {value});")
        elif form == 9:
            self.line(f"{u} ^= atomicCompSwap(sh_own[at], {d.pick(['seen', value])}, {u});")
        elif form == 10:
            self.line(d.pick([
                "atomicStore(scratch[key], " + value + ", gl_ScopeDevice, 0, 0);",
                f"{u} += atomicLoad(scratch[key], gl_ScopeDevice, 0, 0);",
                f"{u} += atomicLoad(sh_own[at], gl_ScopeWorkgroup, 0, 0);"]))
        else:  # tickets: which one an invocation draws is open, their sum is not
            self.line(f"atomicAdd(totals[14], atomicAdd(sh_tickets, 1u));")
        if form == 5:
            self.line(f"{i} ^= {i} >> 3;")

    def atomics_step(self):
        self.line("barrier();")
        self.line(f"seen = sh_own[at];")
        u = self.variable("u", 1)
        self.line(f"{u} += sh_totals[{self.dice.below(12)}] + sh_tickets;")
        self.line("barrier();")

    # --- subgroups ---

    def some(self, bases="uif", sizes=(1, 1, 2, 3, 4)):
        base, n = self.dice.pick(bases), self.dice.pick(sizes)
        return base, n

    def subgroup_value(self, base, n):
        """A value of variables alone: expressions may hold flow of their own."""
        return self.plain(base, n)

    def plain(self, base, n):
        names = self.variables.get((base, n))
        if names:
            return self.dice.pick(names)
        return f"{type_name(base, n)}({self.variable(base, 1)})"

    def subgroup_operation(self, converged):
        """`converged`: all lanes of the subgroup are here."""
        d = self.dice
        base, n = self.some()
        t = type_name(base, n)
        value = self.subgroup_value(base, n)
        r = self.name("r")
        choice = d.below(22)
        float_sum = base == "f"
        if choice < 7:
            form = d.pick(["", "Inclusive", "Exclusive"])
            op = d.pick(["Add", "Min", "Max"] if float_sum else
                        ["Add", "Mul", "Min", "Max", "And", "Or", "Xor"])
            if float_sum and op != "Add" and form == "Exclusive":
                # The first lane gets an infinity: a comparison takes it away.
                limit = "min" if op == "Min" else "max"
                self.line(f"{t} {r} = {limit}(subgroupExclusive{op}({value}), {t}({value}));")
            else:
                self.line(f"{t} {r} = subgroup{form}{op}({value});")
            self.take(base, n, r)
        elif choice == 7:
            form = d.pick(["", "Inclusive", "Exclusive"])
            self.line(f"bool {r} = subgroup{form}{d.pick(['And', 'Or', 'Xor'])}({self.plain('b', 1)});")
            self.take("b", 1, r)
        elif choice == 8:  # powers of two: no rounding
            form = d.pick(["", "Inclusive", "Exclusive"])
            self.line(f"precise float {r} = "
                      f"subgroup{form}Mul({self.plain('b', 1)} ? 2.0 : {d.pick(['0.5', '-1.0'])});")
            self.take("f", 1, r)
        elif choice == 9:
            b = self.plain("b", 1)
            self.line(f"bool {r} = {d.pick(['subgroupAll', 'subgroupAny'])}({b});")
            self.take("b", 1, r)
        elif choice == 10:
            # Scalars: of vectors SwiftShader (Chromium 156) compares the last component alone.
            values = [f"({self.plain('u', 1)} & 1u)", f"(({self.plain('i', 1)}) & 1)",
                      f"floor({self.plain('f', 1)} * 0.0625)", self.plain("b", 1)]
            self.line(f"bool {r} = subgroupAllEqual({d.pick(values)});")
            self.take("b", 1, r)
        elif choice == 11:
            self.line(f"uvec4 {r} = subgroupBallot({self.plain('b', 1)});")
            self.take("u", 4, r)
        elif choice in (12, 13):
            ballot = self.name("r")
            self.line(f"uvec4 {ballot} = subgroupBallot({self.plain('b', 1)});")
            self.line(f"uint {r} = " + d.pick([
                f"subgroupBallotBitCount({ballot})", f"subgroupBallotInclusiveBitCount({ballot})",
                f"subgroupBallotExclusiveBitCount({ballot})",
                f"(any(notEqual({ballot}, uvec4(0u))) ? subgroupBallotFindLSB({ballot}) : 77u)",
                f"(any(notEqual({ballot}, uvec4(0u))) ? subgroupBallotFindMSB({ballot}) : 78u)",
                f"uint(subgroupBallotBitExtract({ballot}, {self.plain('u', 1)} & (size - 1u)))",
                f"uint(subgroupInverseBallot({ballot})) + "
                f"2u * uint(subgroupBallotBitExtract({ballot}, lane))",
                f"bitCount({ballot} & gl_SubgroupLtMask).x + {ballot}.x",
            ]) + ";" if converged else
                f"uint {r} = subgroupBallotBitCount({ballot}) * 3u + subgroupBallotExclusiveBitCount({ballot});")
            self.take("u", 1, r)
        elif choice == 14:
            # No floats: LLVM 15 under lavapipe (Mesa 22.3) aborts with "Cannot select".
            base, n = self.some("uib", (1, 1, 2))
            self.line(f"{type_name(base, n)} {r} = subgroupBroadcastFirst({self.plain(base, n)});")
            self.take(base, n, r)
        elif choice == 15:
            self.line(f"uint {r} = subgroupElect() ? 5u : 9u;")
            self.take("u", 1, r)
        elif not converged:
            # Among the lanes of an arm: from the lowest or highest of them.
            ballot, lane = self.name("r"), self.name("r")
            self.line(f"uvec4 {ballot} = subgroupBallot(true);")
            self.line(f"uint {lane} = {d.pick(['subgroupBallotFindLSB', 'subgroupBallotFindMSB'])}({ballot});")
            self.line(f"{t} {r} = subgroupShuffle({value}, {lane});")
            self.take(base, n, r)
        elif choice == 16:
            self.line(f"{t} {r} = subgroupBroadcast({value}, {d.below(4)}u);")
            self.take(base, n, r)
        elif choice in (17, 18):
            lane = d.pick([f"{self.plain('u', 1)} & (size - 1u)", "size - 1u - lane",
                           f"(lane + {d.below(4)}u) & (size - 1u)"])
            self.line(f"{t} {r} = subgroupShuffle({value}, {lane});")
            self.take(base, n, r)
        elif choice == 19:
            self.line(f"{t} {r} = subgroupShuffleXor({value}, {d.pick(['1u', '2u', '3u', 'size >> 1'])});")
            self.take(base, n, r)
        elif choice == 20:
            distance = d.pick([1, 2, 3])
            up = d.chance(50)
            inside = f"lane >= {distance}u" if up else f"lane + {distance}u < size"
            self.line(f"{t} {r} = subgroupShuffle{'Up' if up else 'Down'}({value}, {distance}u);")
            self.line(f"{r} = {inside} ? {r} : {t}({self.literal(base)});")
            self.take(base, n, r)
        else:
            self.line(f"{t} {r} = " + d.pick([f"subgroupQuadBroadcast({value}, {d.below(4)}u);",
                                              f"subgroupQuadSwapHorizontal({value});",
                                              f"subgroupQuadSwapVertical({value});",
                                              f"subgroupQuadSwapDiagonal({value});"]))
            self.take(base, n, r)

    def take(self, base, n, r):
        """The result goes into a variable."""
        if (base, n) not in self.variables:
            u = self.variable("u", 1)
            part = {"u": f"{r}.y", "i": f"uint({r}.y)", "f": f"uint(int(floor({r}.y)))",
                    "b": f"uint({r}.y)"}[base]
            self.line(f"{u} = {u} * 3u + {part};")
            return
        v = self.variable(base, n)
        if base == "f":
            self.line(f"{v} = tame({v} + {r});")
        elif base == "b":
            self.line(f"{v} = {v} {'!=' if n == 1 else '='} {r};" if n == 1 else f"{v} = {r};")
        else:
            self.line(f"{v} = {v} * {type_name(base, n)}(3) + {r};")

    def subgroup_step(self):
        """At the top of main, where all lanes are together."""
        d = self.dice
        form = d.below(10)
        if form < 5:
            self.subgroup_operation(True)
        elif form < 7:  # an arm by lanes: operations come first, then anything
            self.open(f"if ({self.bit()})")
            for _ in range(1 + d.below(2)):
                self.subgroup_operation(False)
            if d.chance(50):
                self.statements(1, 1)
            if d.chance(60):
                self.close("} else {")
                self.indent += 1
                self.subgroup_operation(False)
            self.close()
        elif form == 7:  # whole subgroups take an arm
            self.open(f"if ({d.pick(['(gl_SubgroupID & 1u) == 0u', 'steps > 1u', '(group & 1u) == 1u'])})")
            self.subgroup_operation(True)
            self.subgroup_operation(True)
            self.close()
        elif form == 8:  # a loop that the subgroup goes through together
            n = self.name("u")
            self.open(f"for (uint {n} = 0u; {n} < {d.pick(['2u', 'gl_SubgroupID + 1u', 'steps'])}; ++{n})")
            self.subgroup_operation(True)
            self.close()
        else:  # a loop until all are done
            u, n = self.variable("u", 1), self.name("u")
            self.open(f"for (uint {n} = 0u; {n} < 6u; ++{n})")
            self.line(f"bool done{n} = subgroupAll(({u} & 3u) == 0u);")
            self.line(f"if (done{n}) break;")
            self.line(f"{u} = ({u} & 3u) == 0u ? {u} : {u} + 1u;")
            self.close()

    def nested_step(self):
        d = self.dice
        form = d.below(4)
        if form == 0:  # after divergence inside of an arm
            self.open(f"if ({self.bit()})")
            self.branch(1)
            self.subgroup_operation(False)
            self.open(f"if ({self.bit()})")
            self.subgroup_operation(False)
            self.close("} else {")
            self.indent += 1
            self.assign()
            self.subgroup_operation(False)
            self.close()
            self.subgroup_operation(False)
            self.close()
        elif form == 1:  # in a loop with trips by lane
            n, limit = self.name("u"), self.name("u")
            self.line(f"const uint {limit} = {self.variable('u', 1)} & 3u;")
            self.open(f"for (uint {n} = 0u; {n} <= {limit}; ++{n})")
            self.subgroup_operation(False)
            if d.chance(60):
                self.line(f"if ({self.bit()}) {d.pick(['break', 'continue'])};")
                self.subgroup_operation(False)
            self.close()
        elif form == 2:  # in the arms of a switch
            self.open(f"switch ({self.variable('u', 1)} & 3u)")
            for label in ("case 0u:", "case 1u:", "default:"):
                self.line(label)
                self.indent += 1
                self.subgroup_block()
                self.line("break;")
                self.indent -= 1
            self.close()
        else:  # each different value once: the lanes that have it leave together
            u, n, first = self.variable("u", 1), self.name("u"), self.name("u")
            self.open(f"for (uint {n} = 0u; {n} < 16u; ++{n})")
            self.line(f"uint {first} = subgroupBroadcastFirst({u} & 7u);")
            self.open(f"if ({first} == ({u} & 7u))")
            self.line(f"{u} = {u} * 9u + subgroupBallotBitCount(subgroupBallot(true)) + {n};")
            self.line("break;")
            self.close()
            self.close()

    def subgroup_block(self):
        self.line("{")
        self.indent += 1
        self.subgroup_operation(False)
        self.indent -= 1
        self.line("}")

    # --- wide and narrow types ---

    def wide(self):
        d = self.dice
        u, i, f = self.variable("u", 1), self.variable("i", 1), self.variable("f", 1)
        form = self.wide_form
        if form == "int64":
            a, b = d.pick(["l0", "l1", "l2"]), d.pick(["l0", "l1", "l2"])
            s, r = d.pick(["k0", "k1"]), d.pick(["k0", "k1"])
            self.line(d.pick([
                f"{a} = {a} {d.pick('+-*&|^')} {b};", f"{a} = {a} {d.pick('/%')} ({b} | 1ul);",
                f"{a} = {a} {d.pick(['<<', '>>'])} int({b} & 63ul);",
                f"{s} = {s} {d.pick('+-*&|^')} {r};", f"{s} = {s} / ((({r}) & 15l) + 1l);",
                f"{s} = {s} {d.pick(['<<', '>>'])} int({r} & 63l);",
                f"{a} = {d.pick(['min', 'max'])}({a}, {b});", f"{s} = {d.pick(['min', 'max'])}({s}, {r});",
                f"{s} = {d.pick(['abs', 'sign'])}({s});", f"{a} = uint64_t({s});", f"{s} = int64_t({a});",
                f"{a} = uint64_t({u}) * uint64_t({self.leaf('u', 1)});", f"{s} = int64_t({i});",
                f"{u} = uint({a} >> 32);", f"{i} = int({s});", f"{a} = packUint2x32({self.leaf('u', 2)});",
                f"{self.variable('u', 2)} = unpackUint2x32({a});", f"{s} = {d.pick('-~')}{s};",
                f"if ({a} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {b}) {u} += 3u;",
                f"if ({s} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {r}) {u} ^= 5u;",
                f"{f} = tame(float({s} & 127l) * 0.125);", f"{a} = u64vec2({a}, {b})[{u} & 1u];",
                f"{s} = int64_t({f} * 8.0);",
            ]))
        elif form == "float64":
            a, b = d.pick(["d0", "d1"]), d.pick(["d0", "d1"])
            self.line(d.pick([
                f"{a} = tame64({a} {d.pick('+-*')} {b});", f"{a} = double({f});", f"{f} = float({a});",
                f"{a} = tame64({d.pick(['floor', 'ceil', 'trunc', 'fract', 'abs', 'sign'])}({a} * 1.5lf));",
                f"{a} = {d.pick(['min', 'max'])}({a}, {b});", f"{i} = int({a});", f"{a} = double({i} & 15);",
                f"{a} = tame64(fma({a}, {b}, {b}));", f"{a} = tame64(dot(dvec2({a}, {b}), dvec2({b}, 1.0lf)));",
                f"if ({a} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {b}) {u} += 3u;",
                f"{u} ^= unpackDouble2x32(abs({a}) + 1.0lf).y;",
                f"{a} = tame64(packDouble2x32(unpackDouble2x32(abs({a}) + 1.0lf)));",
                f"{a} = tame64(dmat2({a}, {b}, 1.0lf, 2.0lf) * dvec2({b}, 1.0lf)).x;".replace(
                    "tame64(dmat2", "(dmat2").replace(")).x", ")).x"),
                f"{a} = tame64({a});",
            ]))
        else:
            a, b, s = d.pick(["s0", "s1"]), d.pick(["s0", "s1"]), d.pick(["c0", "c1"])
            t = "uint16_t"
            self.line(d.pick([
                f"{a} = {t}({a} {d.pick('+-*&|^')} {b});", f"{a} = {t}({a} / ({b} | {t}(1)));",
                f"{a} = {t}({u});", f"{u} += uint({a});", f"{s} = int8_t({i});", f"{i} ^= int({s});",
                f"{s} = int8_t({s} {d.pick('+-*&|^')} c1);", f"{s} = -{s};", f"{a} = {t}({s});",
                f"{s} = int8_t({a});", f"{a} = {d.pick(['min', 'max'])}({a}, {b});",
                f"{u} += uint(int16_t({s}) * int16_t({a} & {t}(15)));",
                f"{a} = {t}({a} << {t}({u} & 15u));", f"{a} = {t}({a} >> {t}({u} & 15u));",
                f"if ({s} {d.pick(['<', '<=', '>', '>=', '==', '!='])} c1) {u} += 3u;",
                f"if ({a} {d.pick(['<', '<=', '>', '>=', '==', '!='])} {b}) {u} ^= 3u;",
                f"{s} = {d.pick(['abs', 'sign'])}({s});",
            ]))

    # --- the whole ---

    def text(self):
        d = self.dice
        kind = self.kind
        self.wide_form = ["int64", "float64", "narrow"][self.number % 3]
        self.function_texts = []
        functions = {"flow": 2, "integer": 1, "float": 1, "composite": 1}.get(kind, 0)
        for _ in range(functions):
            self.function()

        for base in "uif":
            for n in (1, 1, d.pick([2, 3, 4]), 2):
                self.declare(base, n)
        self.declare("b", 1)
        self.declare("b", d.pick([2, 3, 4]))
        if kind in ("memory", "flow", "integer", "float"):
            self.constants[("u", 1)] = ["steps", "key"] + (["kept"] if kind == "integer" else [])
            self.constants[("i", 1)] = ["bias"]
        size = {"flow": 5, "memory": 4, "atomic": 4, "subgroup": 3, "nested": 2}.get(kind, 10)
        if kind == "composite":
            self.composites_declare()
        if kind == "memory":
            self.line("record[key] = Record(vec3(1.0), mat2x3(0.5), 7u, Inner[2](Inner(1u, vec2(0.0)), "
                      "Inner(2u, vec2(0.25))));")
        if kind == "wide":
            self.wide_declare()
        if kind == "atomic":
            self.line("sh_own[at] = words[key & 1023u];")
            self.line("if (at < 12u) sh_totals[at] = words[at] & 0xffffu;")
            self.line("if (at == 0u) sh_tickets = 0u;")
            self.line("uint seen = 0u;")
            self.line("barrier();")

        for step in range(size):
            if kind == "composite" and d.chance(70):
                self.composite()
                self.composite()
                if d.chance(30):
                    self.open(f"if ({self.bit()})")
                    self.composite()
                    self.close()
            elif kind == "memory":
                self.exchange()
                self.layout()
                self.open(f"if ({self.bit()})")
                self.layout()
                self.close()
                self.statement(1)
            elif kind == "atomic":
                self.atomic()
                self.open(f"if ({self.bit()})")
                self.atomic()
                self.close()
                self.statement(1)
                self.open(f"for (uint i{step} = 0u; i{step} < ({self.leaf('u', 1)} & 3u); ++i{step})")
                self.line(f"atomicAdd(totals[12], i{step} + {self.leaf('u', 1)});")
                self.close()
                if step % 2 == 1:
                    self.atomics_step()
            elif kind in SUBGROUP_KINDS:
                for _ in range(2):
                    self.subgroup_step()
                if kind == "nested":
                    self.nested_step()
                self.statement(1)
            elif kind == "wide":
                for _ in range(3):
                    self.wide()
                self.open(f"if ({self.bit()})")
                self.wide()
                self.close()
                self.statement(1)
            else:
                self.statement(3)
                self.assign()

        if kind == "composite":
            self.composites_put()
        if kind == "wide":
            self.wide_put()
        if kind == "atomic":
            self.line("barrier();")
            self.line("put(sh_own[at]);")
            self.line("put(sh_totals[at % 12u]);")
        for (base, n), names in sorted(self.variables.items()):
            for name in names:
                for part in ([""] if n == 1 else [f".{c}" for c in "xyzw"[:n]]):
                    value = f"{name}{part}"
                    self.line(f"put({dict(u=value, i=f'uint({value})', f=f'uint(int({value} * 8.0))', b=f'uint({value})')[base]});")
        return "\n".join(self.head() + ["void main() {"] + self.start() + self.lines + ["}", ""])

    def wide_declare(self):
        if self.wide_form == "int64":
            for name in ("l0", "l1", "l2"):
                self.line(f"uint64_t {name} = packUint2x32({self.seeded('u', 2)});")
            for name in ("k0", "k1"):
                self.line(f"int64_t {name} = int64_t(packUint2x32({self.seeded('u', 2)}));")
        elif self.wide_form == "float64":
            for name in ("d0", "d1"):
                self.line(f"precise double {name} = double({self.seeded('f', 1)});")
        else:
            for name in ("s0", "s1"):
                self.line(f"uint16_t {name} = uint16_t({self.seeded('u', 1)});")
            for name in ("c0", "c1"):
                self.line(f"int8_t {name} = int8_t({self.seeded('i', 1)});")

    def wide_put(self):
        if self.wide_form == "int64":
            for name in ("l0", "l1", "l2", "k0", "k1"):
                self.line(f"put(uint({name}));")
                self.line(f"put(uint({name} >> 32));")
        elif self.wide_form == "float64":
            for name in ("d0", "d1"):
                self.line(f"put(uint(int({name} * 8.0lf)));")
        else:
            for name in ("s0", "s1", "c0", "c1"):
                self.line(f"put(uint({name}));")

    def head(self):
        kind = self.kind
        lines = [f"// Shader {self.number}, {kind}; made by generate_shaders.py.", "#version 460",
                 "#extension GL_KHR_memory_scope_semantics : require"]
        if self.subgroups:
            lines += [f"#extension GL_KHR_shader_subgroup_{name} : require" for name in (
                "basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "quad")]
        if kind == "wide":
            lines.append("#extension GL_EXT_shader_explicit_arithmetic_types : require")
        x, y, z = self.shape
        lines += [f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;",
                  "layout(constant_id = 3) const int kBias = 5;",
                  "layout(constant_id = 4) const uint kKept = 9u;",
                  "const uint kMade = (kKept * 6u + 2u) & 0xffu;",
                  "layout(set = 0, binding = 0, std430) readonly buffer Words { uint words[]; };",
                  "layout(set = 0, binding = 1, std430) buffer Results { uint results[]; };"]
        if kind in ("memory", "flow", "integer", "float", "subgroup", "nested"):
            lines.append("layout(push_constant) uniform Push { uint steps; int bias; ivec2 weight; };")
        if kind in ("memory", "atomic"):
            lines += ["layout(set = 0, binding = 2, std430) buffer Scratch { uint scratch[]; };"]
        if kind == "memory":
            order = self.dice.pick(["row_major", "column_major"])
            other = self.dice.pick(["row_major", "column_major"])
            lines += [
                "struct Inner { uint p; vec2 q; };",
                f"layout(set = 0, binding = 3, std140, {order}) uniform Table {{",
                "    vec3 offset; float scale; mat2x3 m; uvec2 amount[4];",
                "} table;",
                "struct Record { vec3 v; mat2x3 m; uint n; Inner inner[2]; };",
                f"layout(set = 0, binding = 4, std430, {other}) buffer Records {{ Record record[]; }};",
                f"shared uint sh_u[{self.w}];", f"shared vec3 sh_v[{self.w}];",
                "struct Cell { uint a; ivec4 c; };", f"shared Cell sh_s[{self.w}];", "shared uint sh_one;"]
        if kind == "atomic":
            lines += ["layout(set = 0, binding = 5, std430) buffer Totals { uint totals[16]; int itotals[16]; };",
                      f"shared uint sh_own[{self.w}];", "shared uint sh_totals[12];", "shared uint sh_tickets;"]
        if kind == "composite":
            lines += ["struct Part { uint a; vec2 b; ivec3 c; float d[3]; };",
                      "struct Whole { Part part; Part parts[3]; uvec3 tail; mat2x3 m; };"]
        # Module-scope variables: what an invocation has of its own.
        lines += ["uint key;", "uint at;", "uint group;", "uint first;", "uint cursor;", "uint kept;",
                  "uint lane;", "uint size;",
                  "void put(uint value) { results[cursor++] = value; }", PRELUDE]
        if kind == "wide" and self.wide_form == "float64":
            lines += ["double tame64(double x) {", "    precise double q = floor(x * 8.0lf);",
                      "    precise double r = q - 256.0lf * floor(q * 0.00390625lf);",
                      "    precise double t = (r - 128.0lf) * 0.125lf;", "    return t;", "}"]
        return lines + self.function_texts

    def start(self):
        if self.subgroups:
            at = "gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID"
        else:
            at = "gl_LocalInvocationIndex"
        lines = [f"    at = {at};",
                 "    group = gl_WorkGroupID.x + gl_NumWorkGroups.x * gl_WorkGroupID.y;",
                 f"    first = group * {self.w}u;", "    key = first + at;",
                 "    cursor = key * 128u;", "    kept = kMade + uint(kBias);"]
        if self.subgroups:
            lines += ["    lane = gl_SubgroupInvocationID;", "    size = gl_SubgroupSize;",
                      "    put(gl_NumSubgroups * 1000u + gl_SubgroupSize);",
                      "    put(gl_SubgroupEqMask.x ^ gl_SubgroupGeMask.x * 3u ^ gl_SubgroupGtMask.x * 5u ^ "
                      "gl_SubgroupLeMask.x * 7u ^ gl_SubgroupLtMask.x * 11u);"]
        else:
            lines += ["    put(gl_LocalInvocationID.x + gl_LocalInvocationID.y * 100u + "
                      "gl_LocalInvocationID.z * 10000u);",
                      "    put(gl_GlobalInvocationID.x * 3u + gl_GlobalInvocationID.y * 1000u + "
                      "gl_GlobalInvocationID.z + gl_WorkGroupSize.y);"]
        return lines


def plan():
    """The kinds in turn, mixed evenly: [(number, kind)]."""
    total = sum(KINDS.values())
    ordered = sorted((i / count + order / 1000, kind)
                     for order, (kind, count) in enumerate(KINDS.items()) for i in range(count))
    assert len(ordered) == total
    return list(enumerate(kind for _, kind in ordered))


def make(number, kind, options):
    """Writes and compiles one; returns its name."""
    stem = f"{number:03}_{kind}"
    source = options.out / f"{stem}.comp"
    module = options.out / f"{stem}.spv"
    source.write_text(Shader(number, kind).text(), encoding="ascii")
    # SPIR-V 1.3 and 1.6 differ: interfaces, copies between layouts, selections of composites.
    target = "vulkan1.3" if number % 3 == 0 else "vulkan1.1"
    run([options.glslang, "--quiet", "--target-env", target, "-g", "-o", str(module), str(source)])
    passes = SSA_PASSES if number % 3 == 1 else []
    if number % 9 == 2 and kind not in SUBGROUP_KINDS:
        passes = ["-O"]
    if passes:
        run([options.spirv_opt, f"--target-env={target}", *passes, str(module), "-o", str(module)])
    return stem


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--glslang", required=True)
    parser.add_argument("--spirv-opt", required=True)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    shaders = [(number, kind) for number, kind in plan() if options.only in (None, number)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        names = list(pool.map(lambda shader: make(*shader, options), shaders))
    if options.only is None:
        for old in options.out.iterdir():  # of a plan before
            if old.suffix in (".comp", ".spv") and old.stem not in names:
                old.unlink()
        (options.out / "modules.txt").write_text("".join(f"{name}\n" for name in names),
                                                 encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
