#!/usr/bin/env python3
"""Compiles the kernels that a list names and turns them into C++ tables.

A list (primitives/reduce/reduce_kernels.txt) says which variants of which .comp files exist:

    # Comments and blank lines are skipped; a line ending in a backslash goes on in the next.
    axis element    = u32[ELEMENT=uint] | f32[ELEMENT=float USE_FLOAT]
    axis addressing = descriptor | device_address[USE_ADDRESSES]

    reduce_tiles.comp : subgroup.@element.@addressing : USE_SUBGROUPS
    reduce_tiles.comp : barrier.@element.@addressing

A kernel line is `source : variant : defines`. Source is relative to the list; defines are NAME or
NAME=VALUE, may be left out, and come on top of those of the axes. Each @axis in the variant takes
every token of that axis in turn, so that a line makes the product of its axes. The kernel's name is
the source's stem, a dot, and the variant: reduce_tiles.subgroup.u32.descriptor.

    custom reduce_tiles.comp : subgroup.custom.@addressing : LW_CUSTOM

A line that begins with `custom` names kernels of custom operators, which lanewise::jit compiles: the
token `custom` stands for the operator.

Every kernel is compiled for Vulkan 1.1 (SPIR-V 1.3). One with `subgroup` among its tokens is also
compiled for Vulkan 1.3 (SPIR-V 1.6), where the subgroup size that the shader reads is the true one.

  kernels.py stems LIST        the stems, one a line
  kernels.py names LIST        the kernels' names, one a line
  kernels.py build ...         compiles one stem; called by cmake/Kernels.cmake
  kernels.py sources ...       the sources and the custom kernels, for lanewise::jit; so, too
  kernels.py wgsl ...          the sources in WGSL and the kernels that there are of them; so, too

A kernel's twin in WGSL (reduce_tiles.wgsl beside reduce_tiles.comp) takes the same defines. It is not
compiled but assembled when a plan is at hand (src/wgsl/). WGSL has not what some defines ask for
(NOT_IN_WGSL): kernels with them have no twin.
"""

import argparse
import array
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import typing

TARGETS = {0x00010300: "vulkan1.1", 0x00010600: "vulkan1.3"}
# Everything inlined, values in registers, nothing dead. Not left to drivers: on an H200 (driver 580.159)
# a scan whose functions take arrays was a third slower without. No unrolling, which they all do, and
# which would make large modules of it. Names and specialisation constants survive.
OPTIMISATIONS = [
    "--merge-return", "--inline-entry-points-exhaustive", "--eliminate-dead-functions", "--private-to-local", "--eliminate-local-single-block",
    "--eliminate-local-single-store", "--eliminate-dead-code-aggressive", "--scalar-replacement=100",
    "--convert-local-access-chains", "--eliminate-local-single-block", "--eliminate-local-single-store",
    "--ssa-rewrite", "--eliminate-dead-code-aggressive", "--ccp", "--eliminate-dead-branches",
    "--merge-blocks", "--redundancy-elimination", "--simplify-instructions", "--vector-dce",
    "--cfg-cleanup", "--eliminate-dead-code-aggressive"]
NAME = r"[a-z][a-z0-9_]*"
INCLUDE = re.compile(r'^\s*(?://)?#\s*include\s+"([^"]+)"', re.MULTILINE)
NOT_IN_WGSL = {"LW_DEVICE_ADDRESS", "LW_ATOMIC64", "LW_ACCUMULATOR_FLOAT64"}


class Kernel(typing.NamedTuple):
    name: str
    source: pathlib.Path
    defines: tuple[str, ...]
    custom: bool = False

    def versions(self):
        both = "subgroup" in self.name.split(".")
        return (0x00010300, 0x00010600) if both else (0x00010300,)


class ListError(Exception):
    pass


def parse_defines(text):
    defines = text.split()
    for define in defines:
        if not re.fullmatch(r"[A-Za-z_]\w*(=\S*)?", define):
            raise ListError(f"not a define (NAME or NAME=VALUE): {define}")
    return tuple(defines)


def parse_axis(text):
    """'u32[A=1 B] | f32' -> [('u32', ('A=1', 'B')), ('f32', ())]"""
    choices = []
    for choice in text.split("|"):
        match = re.fullmatch(rf"\s*([a-z0-9_]+)\s*(?:\[(.*)\])?\s*", choice)
        if not match:
            raise ListError(f"not a token of an axis: {choice.strip()}")
        choices.append((match[1], parse_defines(match[2] or "")))
    return choices


def expand(stem, source, variant, defines, axes, custom):
    parts = []
    for part in variant.split("."):
        if part.startswith("@"):
            if part[1:] not in axes:
                raise ListError(f"no axis {part[1:]}")
            parts.append(axes[part[1:]])
        elif re.fullmatch(r"[a-z0-9_]+", part):
            parts.append([(part, ())])
        else:
            raise ListError(f"not a token: '{part}'")
    for choice in itertools.product(*parts):
        name = ".".join([stem] + [token for token, _ in choice])
        yield Kernel(name, source, sum((more for _, more in choice), defines), custom)


def read_list(path, custom=False):
    """The kernels of a list that are compiled at build time, or those of custom operators, sorted by name."""
    axes, kernels = {}, {}
    lines = path.read_text(encoding="ascii").replace("\\\n", " ").splitlines()
    for line in lines:
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            if axis := re.fullmatch(rf"axis\s+({NAME})\s*=(.*)", line):
                axes[axis[1]] = parse_axis(axis[2])
                continue
            is_custom = line.startswith("custom ")
            fields = [field.strip() for field in line.removeprefix("custom ").split(":")]
            if len(fields) not in (2, 3):
                raise ListError("not `source : variant : defines`")
            source = path.parent / fields[0]
            if source.suffix != ".comp" or not source.is_file():
                raise ListError(f"no kernel file {source}")
            defines = parse_defines("".join(fields[2:]))
            if is_custom != ("custom" in fields[1].split(".")):
                raise ListError("`custom` is to stand before the line and among its tokens")
            for kernel in expand(source.stem, source, fields[1], defines, axes, is_custom):
                if kernel.name in kernels:
                    raise ListError(f"{kernel.name} is listed twice")
                kernels[kernel.name] = kernel
        except ListError as error:
            raise ListError(f"{path}: {error}\n  in: {line}") from None
    return [kernels[name] for name in sorted(kernels) if kernels[name].custom == custom]


def included_files(source, folders, seen=None):
    """source and everything that it includes, in any variant."""
    seen = {} if seen is None else seen
    if source not in seen:
        seen[source] = True
        for name in INCLUDE.findall(source.read_text(encoding="ascii")):
            for folder in (source.parent, *folders):
                if (folder / name).is_file():
                    included_files((folder / name).resolve(), folders, seen)
                    break
    return list(seen)


def run(kernel, command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{kernel.name}: {' '.join(command)}\n{done.stdout.rstrip()}")
    if "WARNING:" in done.stdout:
        print(f"{kernel.name}:\n{done.stdout.rstrip()}", file=sys.stderr)


def compile_module(kernel, version, options):
    """Words of the module; its file stays beside the C++ for people and tools to look at."""
    target = TARGETS[version]
    module = str(options.out / f"{kernel.name}.{target}.spv")
    run(kernel, [options.glslang, "--target-env", target, "-S", "comp"]
        + [f"-I{folder}" for folder in options.include]
        + [f"-D{define}" for define in kernel.defines]
        + ["-o", module, str(kernel.source)])
    run(kernel, [options.spirv_opt, f"--target-env={target}", *OPTIMISATIONS, module, "-o", module])
    run(kernel, [options.spirv_val, "--target-env", target, module])
    words = array.array("I", pathlib.Path(module).read_bytes())
    if words[1] != version:
        raise RuntimeError(f"{kernel.name}: SPIR-V {words[1]:#010x} came out for {target}")
    return words


def write_if_changed(path, text):
    if not path.is_file() or path.read_text(encoding="ascii") != text:
        path.write_text(text, encoding="ascii")


def write_tables(stem, modules, out):
    """STEM.cpp defines the words; STEM.inc lists them, for the catalogue to declare and to tabulate."""
    code = ["// Generated by tools/kernels.py.", "#include <cstdint>", "",
            "namespace lanewise::detail {", ""]
    rows = ["// Generated by tools/kernels.py."]
    for index, (kernel, version, words) in enumerate(modules):
        symbol = f"k_{stem}_{index}"
        code.append(f"// {kernel.name}, {TARGETS[version]}")
        code.append(f"extern const std::uint32_t {symbol}[{len(words)}];")
        code.append(f"const std::uint32_t {symbol}[{len(words)}] = {{")
        code += [",".join(map(str, words[i:i + 16])) + "," for i in range(0, len(words), 16)]
        code.append("};")
        rows.append(f'LANEWISE_KERNEL("{kernel.name}", {version:#010x}, {symbol}, {len(words)})')
    code += ["", "}  // namespace lanewise::detail"]
    write_if_changed(out / f"{stem}.cpp", "\n".join(code) + "\n")
    write_if_changed(out / f"{stem}.inc", "\n".join(rows) + "\n")


def build(options):
    kernels = [k for k in read_list(options.list) if k.source.stem == options.stem]
    options.out.mkdir(parents=True, exist_ok=True)

    source = kernels[0].source
    used = [options.list, pathlib.Path(__file__).resolve()]
    used += included_files(source.resolve(), options.include)
    outputs = f"{options.out / options.stem}.cpp {options.out / options.stem}.inc"
    depfile = options.out / f"{options.stem}.d"
    depfile.write_text(f"{outputs}: {' '.join(map(str, used))}\n")

    jobs = [(kernel, version) for kernel in kernels for version in kernel.versions()]
    failures, modules = [], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pending = [pool.submit(compile_module, *job, options) for job in jobs]
        for (kernel, version), result in zip(jobs, pending):
            try:
                modules.append((kernel, version, result.result()))
            except RuntimeError as error:
                failures.append(str(error))
    if failures:
        shown = "\n\n".join(failures[:3])
        sys.exit(f"{shown}\n{len(failures)} of {len(jobs)} modules of {options.stem} failed")
    write_tables(options.stem, modules, options.out)


def named_files(kernel_files, folders):
    """Every file that kernels are made of, by the name under which others include it."""
    files = {}
    for source in {path.resolve() for path in kernel_files}:
        for path in included_files(source, folders):
            folder = next((f.resolve() for f in folders if path.is_relative_to(f.resolve())), path.parent)
            # A kernel goes by its file alone: the pass is the file.
            files[path.name if path == source else str(path.relative_to(folder))] = path
    return files


def source_rows(macro, files):
    return [f'{macro}("{name}", R"lanewise({files[name].read_text(encoding="ascii")})lanewise")'
            for name in sorted(files)]


def sources(options):
    """Writes kernel_sources.inc: every file that a custom kernel is made of, under the name by which kernels
    include it, and the custom kernels; and kernel_interface.inc: a number that changes with them."""
    kernels = [kernel for path in options.lists for kernel in read_list(path, custom=True)]
    files = named_files((kernel.source for kernel in kernels), options.include)
    rows = ["// Generated by tools/kernels.py.", *source_rows("LANEWISE_SOURCE", files)]
    rows += [f'LANEWISE_CUSTOM_KERNEL("{kernel.name}", "{kernel.source.name}", "{" ".join(kernel.defines)}")'
             for kernel in kernels]
    rows += [f'LANEWISE_OPTIMISATION("{flag}")' for flag in OPTIMISATIONS]
    options.out.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
    write_if_changed(options.out / "kernel_sources.inc", "\n".join(rows) + "\n")
    write_if_changed(options.out / "kernel_interface.inc", f"0x{digest}\n")
    used = [*options.lists, pathlib.Path(__file__).resolve(), *files.values()]
    outputs = f"{options.out / 'kernel_sources.inc'} {options.out / 'kernel_interface.inc'}"
    (options.out / "kernel_sources.d").write_text(f"{outputs}: {' '.join(map(str, used))}\n")


def twin(kernel):
    """The kernel's source in WGSL; None where it has none."""
    source = kernel.source.with_suffix(".wgsl")
    names = {define.split("=")[0] for define in kernel.defines}
    return source if source.is_file() and not names & NOT_IN_WGSL else None


def wgsl(options):
    """Writes wgsl_sources.inc: every .wgsl file that kernels are made of, under the name by which others
    include it, and the kernels, both sorted by name."""
    kernels = {kernel.name: kernel for path in options.lists for custom in (False, True)
               for kernel in read_list(path, custom) if twin(kernel)}
    files = named_files((twin(kernel) for kernel in kernels.values()), options.include)
    rows = ["// Generated by tools/kernels.py.", *source_rows("LANEWISE_WGSL_SOURCE", files)]
    rows += [f'LANEWISE_WGSL_KERNEL("{name}", "{twin(kernels[name]).name}", "{" ".join(kernels[name].defines)}")'
             for name in sorted(kernels)]
    options.out.mkdir(parents=True, exist_ok=True)
    write_if_changed(options.out / "wgsl_sources.inc", "\n".join(rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Compiles kernels; see the top of this file.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("stems", "names"):
        verbs.add_parser(verb).add_argument("list", type=pathlib.Path)
    builder = verbs.add_parser("build")
    builder.add_argument("--list", type=pathlib.Path, required=True)
    builder.add_argument("--stem", required=True)
    builder.add_argument("--include", type=pathlib.Path, action="append", default=[])
    builder.add_argument("--out", type=pathlib.Path, required=True)
    for tool in ("glslang", "spirv-opt", "spirv-val"):
        builder.add_argument(f"--{tool}", required=True)
    for verb in ("sources", "wgsl"):
        embedder = verbs.add_parser(verb)
        embedder.add_argument("--include", type=pathlib.Path, action="append", default=[])
        embedder.add_argument("--out", type=pathlib.Path, required=True)
        embedder.add_argument("lists", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    try:
        if options.verb == "build":
            build(options)
        elif options.verb == "sources":
            sources(options)
        elif options.verb == "wgsl":
            wgsl(options)
        elif options.verb == "names":
            print("\n".join(kernel.name for kernel in read_list(options.list)))
        else:
            print("\n".join(sorted({kernel.source.stem for kernel in read_list(options.list)})))
    except (ListError, OSError, UnicodeError) as error:
        sys.exit(f"kernels.py: {error}")


if __name__ == "__main__":
    main()
