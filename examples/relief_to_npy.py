#!/usr/bin/env python3
"""Turns ETOPO5, the relief of the Earth on a grid of 5 minutes of arc, into .npy files.

    relief_to_npy.py etopo5.cdf FOLDER

writes heights in metres, 4320 x 2161 of them from 90 S to 90 N, as one dimension:
    FOLDER/relief_f32.npy, FOLDER/relief_i16.npy
and prints how the index of a height becomes a place. ETOPO5 is a work of the United States'
National Geophysical Data Center; Debian has it in the package ferret-datasets. The file is NetCDF in
its classic format, of which this reads what that file uses. Needs no NumPy.
"""

import array
import os
import pathlib
import struct
import sys

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
BYTES_OF = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}  # by NetCDF type: byte char short int float double


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError("the file is truncated")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self):
        return struct.unpack(">I", self.take(4))[0]

    def padded(self, count):
        taken = self.take(count)
        self.take(-count % 4)
        return taken

    def name(self):
        return self.padded(self.number()).decode("ascii")

    def list_of(self, tag, read_one):
        found, count = self.number(), self.number()
        if (found, count) == (0, 0):
            return []
        if found != tag:
            raise ValueError("the header is damaged")
        return [read_one() for _ in range(count)]

    def attribute(self):
        name, kind, count = self.name(), self.number(), self.number()
        return name, self.padded(count * BYTES_OF[kind])

    def variable(self):
        name = self.name()
        shape = [self.number() for _ in range(self.number())]
        self.list_of(ATTRIBUTE, self.attribute)
        kind, _, begin = self.number(), self.number(), self.number()
        return name, (shape, kind, begin)


def read_relief(path):
    """Heights as an array of floats, rows from south to north, and the longitude of each row's start."""
    reader = Reader(path.read_bytes())
    if reader.take(4) != b"CDF\x01":
        raise ValueError("not a NetCDF file of the classic format")
    reader.number()  # records, of which there are none
    dimensions = reader.list_of(DIMENSION, lambda: (reader.name(), reader.number()))
    reader.list_of(ATTRIBUTE, reader.attribute)
    variables = dict(reader.list_of(VARIABLE, reader.variable))

    def values(name, typecode):
        shape, _, begin = variables[name]
        count = 1
        for dimension in shape:
            count *= dimensions[dimension][1]
        reader.at = begin
        items = array.array(typecode, reader.take(count * array.array(typecode).itemsize))
        if sys.byteorder == "little":
            items.byteswap()
        return items

    longitudes, latitudes = values("ETOPO05_X", "d"), values("ETOPO05_Y", "d")
    if latitudes[0] > latitudes[-1]:
        raise ValueError("the rows do not run from south to north")
    return values("ROSE", "f"), longitudes, latitudes


def write_npy(path, descr, items):
    if sys.byteorder == "big" and items.itemsize > 1:
        items = array.array(items.typecode, items)
        items.byteswap()
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len(items)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    beside = path.with_suffix(".partial")
    with beside.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("ascii"))
        items.tofile(file)
    os.replace(beside, path)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: relief_to_npy.py etopo5.cdf FOLDER")
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        heights, longitudes, latitudes = read_relief(source)
    except (KeyError, ValueError, OSError, UnicodeError) as error:
        sys.exit(f"relief_to_npy.py: {source}: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    write_npy(folder / "relief_f32.npy", "<f4", heights)
    write_npy(folder / "relief_i16.npy", "<i2", array.array("h", map(int, heights)))
    print(f"{len(heights)} heights: longitude {longitudes[0]} + (index % {len(longitudes)}) / 12, "
          f"latitude {latitudes[0]} + (index / {len(longitudes)}) / 12")


if __name__ == "__main__":
    main()
