#!/usr/bin/env python3
"""Compares a .npy file with what is expected, without NumPy: read_npy.py PATH TYPE VALUES [GIVEN].

TYPE is the file's type, such as '<u4'. VALUES is a Python expression for a sequence, of tuples where
the array has two dimensions; GIVEN is code that it stands on. All values must be equal (NaN equals NaN). Prints the first difference; status 1 where
there is one.
"""
import ast
import struct
import sys

LETTERS = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "f2": "e", "u4": "I", "i4": "i", "f4": "f",
           "u8": "Q", "i8": "q", "f8": "d"}


def main():
    path, kind, expression = sys.argv[1:4]
    names = {}
    exec("\n".join(sys.argv[4:]), names)
    expected = list(eval(expression, names))
    shape = (len(expected),)
    if expected and isinstance(expected[0], tuple):
        shape += (len(expected[0]),)
        expected = [value for row in expected for value in row]
    with open(path, "rb") as file:
        contents = file.read()
    if contents[:8] != b"\x93NUMPY\x01\x00":
        sys.exit(f"{path}: no .npy file of version 1.0")
    start = 10 + int.from_bytes(contents[8:10], "little")
    if start % 64 != 0:
        sys.exit(f"{path}: its data is not aligned to 64 bytes")
    header = ast.literal_eval(contents[10:start].decode("ascii"))
    wanted = {"descr": kind, "fortran_order": False, "shape": shape}
    if header != wanted:
        sys.exit(f"{path}: its header is {header}, not {wanted}")
    letter = LETTERS[kind.lstrip("<>|=")]
    if len(contents) - start != len(expected) * struct.calcsize("<" + letter):
        sys.exit(f"{path}: {len(contents) - start} bytes of data for {len(expected)} values")
    values = struct.unpack(f"<{len(expected)}{letter}", contents[start:])
    for index, (value, other) in enumerate(zip(values, expected)):
        if value != other and not (value != value and other != other):
            sys.exit(f"{path}: value {index} is {value!r}, not {other!r}")


main()
