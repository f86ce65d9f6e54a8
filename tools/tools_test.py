#!/usr/bin/env python3
"""Tests of the tools beside it: what they promise to notice is broken on purpose."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import kernels

TOOLS = pathlib.Path(__file__).resolve().parent


class Tree(unittest.TestCase):
    """A temporary tree of files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class KernelList(Tree):
    def read(self, text):
        self.write("a_b.comp", "")
        return kernels.read_list(self.write("a_kernels.txt", text))

    def test_axes_multiply(self):
        found = self.read("axis size = e8[E=8] | e32[E=32 WIDE]\n"
                          "axis how = one | two[TWO] \\\n  | three\n"
                          "# a comment\n"
                          "a_b.comp : subgroup.@size.@how : USE_SUBGROUPS\n"
                          "a_b.comp : barrier.@size\n")
        self.assertEqual([kernel.name for kernel in found],
                         ["a_b.barrier.e32", "a_b.barrier.e8",
                          "a_b.subgroup.e32.one", "a_b.subgroup.e32.three", "a_b.subgroup.e32.two",
                          "a_b.subgroup.e8.one", "a_b.subgroup.e8.three", "a_b.subgroup.e8.two"])
        self.assertEqual(found[4].defines, ("USE_SUBGROUPS", "E=32", "WIDE", "TWO"))
        self.assertEqual(found[4].versions(), (0x00010300, 0x00010600))
        self.assertEqual(found[0].versions(), (0x00010300,))

    def test_faults_are_named(self):
        for text, message in {
                "a_b.comp : x.@nothing": "no axis nothing",
                "a_b.comp : x\na_b.comp : x": "listed twice",
                "gone.comp : x": "no kernel file",
                "a_b.comp : x : 1BAD": "not a define",
                "a_b.comp : X": "not a token",
                "axis a = B!": "not a token of an axis",
                "a_b.comp": "not `source : variant : defines`"}.items():
            with self.subTest(text), self.assertRaisesRegex(kernels.ListError, message):
                self.read(text)

    def test_includes_are_followed(self):
        root = self.write("p/a.comp", '#include "near.glsl"\n  # include "tile/far.glsl"\n')
        near = self.write("p/near.glsl", '#include "tile/far.glsl"\n')
        far = self.write("k/tile/far.glsl", '#include "far.glsl"\n')
        found = kernels.included_files(root, [self.root / "k"])
        self.assertEqual(set(found), {root, near, far})

    def test_twins(self):
        for name in ("a.comp", "a.wgsl", "b.comp"):
            self.write(name, "")
        self.write("k.txt", "a.comp : x\na.comp : y : LW_DEVICE_ADDRESS\na.comp : z : LW_ATOMIC64=1\nb.comp : x\n")
        twins = {k.name: kernels.twin(k) for k in kernels.read_list(self.root / "k.txt")}
        self.assertEqual(twins["a.x"], self.root / "a.wgsl")
        self.assertEqual([name for name, twin in twins.items() if twin], ["a.x"])

    def test_wgsl_includes_are_followed(self):
        self.write("a.wgsl", '//#include "b.wgsl"\n')
        self.write("b.wgsl", "")
        found = kernels.included_files(self.root / "a.wgsl", [self.root])
        self.assertEqual({path.name for path in found}, {"a.wgsl", "b.wgsl"})


class CheckTree(Tree):
    GLSL = "#define LW_INPUT_BINDING 0\nLW_BUFFER(result, 1, writeonly)\n"
    WGSL = ("@group(0) @binding(0) var<storage, read> input: array<u32>;\n"
            "@group(0) @binding(1) var<storage, read_write> result: array<u32>;\n")

    def setUp(self):
        super().setUp()
        shutil.copy(TOOLS.parent / ".clang-format", self.root)
        self.write("primitives/sum/sum_tiles.comp", self.GLSL)
        self.write("primitives/sum/sum_kernels.txt", "sum_tiles.comp : barrier\n")
        self.write("primitives/sum/sum_plan.cpp", 'const char* k_pass = "sum_tiles";\n')
        self.write("primitives/sum/sum_test.cpp", 'const char* k_pass = "sum_tiles";\n')
        self.write("include/lanewise/vulkan.hpp", "#include <vulkan/vulkan_core.h>\n")

    def check(self, *expected):
        done = subprocess.run([sys.executable, TOOLS / "check_tree", self.root],
                              capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        found = done.stdout.splitlines()
        self.assertEqual(len(found), len(expected), done.stdout)
        for line, text in zip(found, expected):
            self.assertIn(text, line)
        self.assertEqual(done.returncode, 1 if expected else 0)

    def test_sound(self):
        self.check()

    def test_pass_without_plan(self):
        self.write("primitives/sum/sum_plan.cpp", 'const char* k_pass = "sum_tiles_";\n')
        self.check("no plan names the pass sum_tiles")

    def test_pass_without_test(self):
        (self.root / "primitives/sum/sum_test.cpp").unlink()
        self.check("no test names the pass sum_tiles")

    def test_pass_not_built(self):
        self.write("primitives/sum/sum_kernels.txt", "")
        self.check("in no list of kernels")

    def test_gpu_header_in_a_planner(self):
        self.write("primitives/sum/sum_plan.hpp", "#include <vulkan/vulkan.h>\n")
        self.check("sum_plan.hpp: includes vulkan/vulkan.h")

    def test_gpu_header_in_a_contract(self):
        self.write("include/lanewise/plan.hpp", '#include "lanewise/vulkan.hpp"\n')
        self.check("plan.hpp: includes lanewise/vulkan.hpp")

    def test_not_ascii(self):
        self.write("primitives/sum/sum_plan.hpp", "// n \u2265 0\n")
        self.check("sum_plan.hpp:1: not ASCII")

    def test_missing_twin(self):
        self.write("kernels/tile/share.glsl", "")
        self.write("kernels/tile/share.wgsl", "")
        self.check("sum_tiles.comp: has no sum_tiles.wgsl")

    def test_twin_with_other_bindings(self):
        self.write("primitives/sum/sum_tiles.wgsl", self.WGSL)
        self.check()
        self.write("primitives/sum/sum_tiles.wgsl", self.WGSL.replace("result", "output"))
        self.check("sum_tiles.comp: bindings")
        # Two texts of one binding, of which an assembler takes one.
        self.write("primitives/sum/sum_tiles.wgsl", self.WGSL + self.WGSL.replace("read>", "read_write>"))
        self.check()

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_not_formatted(self):
        self.write("primitives/sum/sum_plan.hpp", "int  x ;\n")
        self.check("sum_plan.hpp: not formatted")


if __name__ == "__main__":
    unittest.main()
