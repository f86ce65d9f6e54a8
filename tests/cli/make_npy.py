#!/usr/bin/env python3
"""Writes a .npy file without NumPy: make_npy.py PATH TYPE VALUES [options].

TYPE is a NumPy type such as '<u4'. VALUES is a Python expression for a sequence.
"""
import argparse
import struct

LETTERS = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "f2": "e", "u4": "I", "i4": "i", "f4": "f",
           "u8": "Q", "i8": "q", "f8": "d", "b1": "?"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("type")
    parser.add_argument("values")
    parser.add_argument("--shape", help="as in the header, e.g. '(2, 3)'")
    parser.add_argument("--fortran", action="store_true")
    parser.add_argument("--version", type=int, default=1)
    parser.add_argument("--drop", type=int, default=0, help="bytes to leave out at the end")
    parser.add_argument("--header", help="the header's text itself")
    parser.add_argument("--magic", default="\\x93NUMPY")
    args = parser.parse_args()

    values = list(eval(args.values))
    order = ">" if args.type.startswith(">") else "<"
    data = struct.pack(f"{order}{len(values)}{LETTERS[args.type.lstrip('<>|=')]}", *values)
    shape = args.shape or f"({len(values)},)"
    header = args.header if args.header is not None else (f"{{'descr': '{args.type}', 'fortran_order': {args.fortran}, "
                             f"'shape': {shape}, }}")
    length_bytes = 2 if args.version == 1 else 4
    start = 8 + length_bytes
    padding = -(start + len(header) + 1) % 64
    header = header.encode() + b" " * padding + b"\n"
    magic = args.magic.encode().decode("unicode_escape").encode("latin-1")
    contents = (magic + bytes([args.version, 0]) + len(header).to_bytes(length_bytes, "little") +
                header + data)
    with open(args.path, "wb") as file:
        file.write(contents[:len(contents) - args.drop])


main()
