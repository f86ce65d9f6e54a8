#!/usr/bin/env python3
"""Judges the tests of the kernels: changes one place of a kernel at a time, and sees whether the suite
on the simulator notices.

    mutate_kernels.py --tests build/dev/bin/lanewise_simulator_tests [--only REGEX] [--list]

Each mutant is compiled with debug information and without optimisation into a folder of modules, which
the tests take instead of the built-in kernels (LANEWISE_TEST_KERNELS). The unchanged kernels must pass.
Prints one line for each mutant and a summary; exit status 1 when more than 5% survive.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import kernels

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What the judging tests run: enough to meet every line of the kernels.
FILTER = ("Sizes/ReduceSimulated.TiersStrategiesAddressings/0:Sizes/ReduceSimulated.SizesAroundEverything/1:"
          "Sizes/ReduceSimulated.HostileMachines/2:Sizes/ReduceSimulated.HostileMachines/4:"
          "ReduceSimulated.SmallWorkgroups")
TYPES = {"e32_a32", "e32_a32_i32", "a32", "a32_i32", "none"}
FILES = ["primitives/reduce/reduce_tiles.comp", "primitives/reduce/reduce_partials.comp",
         "kernels/workgroup/reduce_subgroup.glsl", "kernels/workgroup/reduce_barrier.glsl",
         "kernels/tile/partials.glsl", "kernels/tile/share.glsl", "kernels/tile/load.glsl",
         "kernels/tile/count_to_groups.comp", "kernels/subgroup/size.glsl", "kernels/item/select.glsl"]
# Mutants that change nothing that can be seen, with the reason.
EQUIVALENT = {
    "kernels/workgroup/reduce_subgroup.glsl:54: min dropped":
        "the steps beyond `width` combine nothing: their upper lanes hold no value",
}


def code_lines(text):
    """(number, line) of the lines that hold code: no comments, no directives."""
    for number, line in enumerate(text.split("\n")):
        code = line.split("//")[0]
        if code.strip() and not code.lstrip().startswith("#"):
            yield number, line, len(code)


def mutants(path):
    """(description, new text) of every mutant of a file."""
    text = (ROOT / path).read_text(encoding="ascii")
    lines = text.split("\n")

    def with_line(number, line):
        return "\n".join(lines[:number] + [line] + lines[number + 1:])

    for number, line, end in code_lines(text):
        code, rest = line[:end], line[end:]
        where = f"{path}:{number + 1}"

        def change(what, new):
            return f"{where}: {what}", with_line(number, new + rest)

        if re.search(r"\b(barrier|memoryBarrier\w*|subgroupBarrier)\(\);", code):
            yield change("barrier dropped", re.sub(r"\b(barrier|memoryBarrier\w*|subgroupBarrier)\(\);", ";", code))
        if re.search(r"gl_SubgroupID \* subgroup_size\(\) \+ gl_SubgroupInvocationID", code):
            yield change("vlane is the local index",
                         code.replace("gl_SubgroupID * subgroup_size() + gl_SubgroupInvocationID",
                                      "gl_LocalInvocationIndex"))
        # Guards: conditions that are always met. The condition may not span lines.
        for match in re.finditer(r"\b(?:if|while) \((.*)\)(?= |$|;)", code):
            if match[1].count("(") == match[1].count(")") and "kS" not in match[1]:
                yield change("guard removed",
                             code[:match.start(1)] + "true" + code[match.end(1):])
        for match in re.finditer(r" (<|<=|>|>=) ", code):
            other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[match[1]]
            yield change(f"{match[1]} becomes {other} (column {match.start(1)})",
                         code[:match.start(1)] + other + code[match.end(1):])
        for match in re.finditer(r" \+ 1u\b| - 1u\b", code):
            yield change(f"'{match[0].strip()}' dropped (column {match.start()})",
                         code[:match.start()] + code[match.end():])
        if (match := re.search(r"\[(k\w*Slots\w*)\];", code)) and "shared" in code:
            yield change("array shrunk", code.replace(f"[{match[1]}]", f"[{match[1]} / 2u]"))
        if match := re.search(r"\bmin\(([^(),]+), ([^()]+)\)", code):
            yield change("min dropped", code[:match.start()] + "(" + match[1] + ")" + code[match.end():])
        if re.search(r"\.(yzw|y|z|w)\b", code) and "allot" in code:
            yield change("ballot cut to 32 bits", re.sub(r"\.(yzw|y|z|w)\b", ".x", code))


def compile_kernels(sources, out, glslang):
    """The modules that the judging tests need, from a copy of the sources; an error text or None."""
    lists = [*sources.glob("kernels/*/*_kernels.txt"), *sources.glob("primitives/*/*_kernels.txt")]
    jobs = []
    for path in lists:
        for kernel in kernels.read_list(path):
            if not TYPES.intersection(kernel.name.split(".")):
                continue
            target = "vulkan1.3" if "subgroup" in kernel.name.split(".") else "vulkan1.1"
            jobs.append([glslang, "--quiet", "--target-env", target, "-S", "comp", "-g",
                         f"-I{sources / 'kernels'}", *[f"-D{define}" for define in kernel.defines],
                         "-o", str(out / f"{kernel.name}.spv"), str(kernel.source)])
    running = []
    failed = None
    for job in jobs + [None, None]:
        if job is not None:
            running.append(subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        if len(running) == 2 or (job is None and running):
            done = running.pop(0)
            output = done.communicate()[0]
            if done.returncode != 0:
                failed = failed or output
    return failed


def run_tests(tests, folder, test_filter):
    """None when all pass; otherwise the first line that says why not."""
    environment = dict(os.environ, LANEWISE_TEST_KERNELS=str(folder))
    command = [tests, f"--gtest_filter={test_filter}", "--gtest_brief=1", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "the tests did not end"
    if done.returncode == 0:
        return None
    told = [line for line in done.stdout.splitlines()
            if re.search(r"race|out_of_bounds|uninitialized|divergent|inactive|progress|expected|division|shift", line)]
    return (told or done.stdout.splitlines() or ["?"])[0]


def main():
    parser = argparse.ArgumentParser(description="Mutation test of the kernels; see the top of this file.")
    parser.add_argument("--tests", required=True)
    parser.add_argument("--glslang", default="glslangValidator")
    parser.add_argument("--only", default="", help="regular expression over the mutants' descriptions")
    parser.add_argument("--every", type=int, default=1, help="take each n-th mutant only")
    parser.add_argument("--filter", default=FILTER, help="of the judging tests")
    parser.add_argument("--list", action="store_true", help="name the mutants and do no more")
    options = parser.parse_args()

    chosen = [(path, what, text) for path in FILES if (ROOT / path).is_file()
              for what, text in mutants(path) if re.search(options.only, what)][::options.every]
    if options.list:
        print("\n".join(what for _, what, _ in chosen))
        return 0

    killed, survivors, stillborn = 0, [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources, out = folder / "sources", folder / "modules"
        out.mkdir()
        for part in ("kernels", "primitives"):
            for source in [*ROOT.glob(f"{part}/*/*.comp"), *ROOT.glob(f"{part}/*/*.glsl"),
                           *ROOT.glob(f"{part}/*/*_kernels.txt")]:
                copy = sources / source.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(source.read_bytes())
        if failed := compile_kernels(sources, out, options.glslang):
            sys.exit(f"the unchanged kernels do not compile: {failed}")
        if why := run_tests(options.tests, out, options.filter):
            sys.exit(f"the unchanged kernels fail: {why}")
        for path, what, text in chosen:
            original = (ROOT / path).read_text(encoding="ascii")
            (sources / path).write_text(text, encoding="ascii")
            if compile_kernels(sources, out, options.glslang):
                stillborn += 1
                print(f"no shader  {what}", flush=True)
            elif why := run_tests(options.tests, out, options.filter):
                killed += 1
                print(f"killed     {what}   by {why.strip()[:140]}", flush=True)
            elif what in EQUIVALENT:
                print(f"equivalent {what}: {EQUIVALENT[what]}", flush=True)
            else:
                survivors.append(what)
                print(f"SURVIVED   {what}", flush=True)
            (sources / path).write_text(original, encoding="ascii")
    total = killed + len(survivors)
    print(f"{killed} of {total} mutants killed, {stillborn} were no shaders")
    for what in survivors:
        print(f"survived: {what}")
    return 1 if total and len(survivors) > 0.05 * total else 0


if __name__ == "__main__":
    sys.exit(main())
