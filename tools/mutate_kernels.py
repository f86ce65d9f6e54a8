#!/usr/bin/env python3
"""Judges the tests of the kernels: changes one place of a kernel at a time, and sees whether the suite
on the simulator notices.

    mutate_kernels.py --tests build/dev/bin/lanewise_conformance_tests [--only REGEX] [--list]

Each mutant is compiled without optimisation into a folder of modules, which the tests take instead of
their built-in twins (LANEWISE_TEST_KERNELS; kernels of custom operators are made of the mutated sources,
LANEWISE_TEST_SOURCES), on one simulated device after the other until a test fails. The unchanged kernels must pass. Prints one line for each mutant and a summary; exit status 1
when more than 5% survive.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import kernels

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Full and partial subgroups, lanes and schedules in and out of order; the quickest first.
DEVICES = ["simulator32", "simulator64_hostile", "simulator16_partial", "simulator8_striped"]
# Mutants that change nothing that can be seen, with the reason. By file, change and line of code; the
# change with its column where the line has two.
EQUIVALENT = {
    ("kernels/item/accumulator.glsl", "< becomes <=", "bool index_less(Index a, Index b) { return a < b; }"):
        "two accumulators with one index are the same item",
    ("kernels/item/order.glsl", ">= becomes >", "} else if (magnitude >= 0x0400u) {"):
        "of the smallest normal number the branch for denormals makes the same",
    ("kernels/item/order.glsl", ">= becomes >", "} else if (magnitude >= 0x00800000u) {"):
        "of the smallest normal number the branch for denormals makes the same",
    ("kernels/item/words64.glsl", "< becomes <= (column 47)",
     "bool less64(uvec2 a, uvec2 b) { return mix(a.y < b.y, a.x < b.x, a.y == b.y); }"):
        "where the high words are equal the low ones decide",
    ("primitives/reduce/reduce_tiles.comp", "< becomes <=",
     "[[unroll]] for (uint word = 0u; word < 4u; ++word) {"):
        "a fifth word holds no item of a cut vector: the guard inside leaves it out",
    ("primitives/histogram/histogram_tiles.comp", "guard removed", "} else if (total != 0u) {"):
        "adding nothing takes time alone",
    ("primitives/histogram/histogram_tiles.comp", "guard removed", "if (part.cut != 0u) {"):
        "of no items no vector is whole, and none is cut",
    ("primitives/reduce/reduce_tiles.comp", "<= becomes <", "if (groups <= most_partials_of_subgroup()) {"):
        "the workgroup combines the same tree",
    ("primitives/reduce/reduce_tiles.comp", "guard removed", "if (holds) {"):
        "lanes without an item combine what nobody looks at",
    ("kernels/tile/share.glsl", "min dropped", "uint first = min(group * share.tiles_per_group, share.tiles);"):
        "a workgroup that runs has a tile, or it is the first",
    ("kernels/tile/share.glsl", "< becomes <=", "bool cut = missing != 0u && first < end && end == share.tiles;"):
        "a workgroup that runs has a tile, or there is no item",
    ("kernels/workgroup/reduce_barrier.glsl", "> becomes >=",
     "for (uint width = kWorkgroupSize; width > 1u; width /= kReduceRadix) {"):
        "one value alone goes through workgroup memory once more, for which there is room",
    ("kernels/workgroup/reduce_barrier.glsl", "< becomes <=",
     "if (vlane < width) sh_reduce[region + vlane + vlane / kReduceRadix] = value;"):
        "one slot more, which the next level writes before it reads",
    ("kernels/workgroup/reduce_barrier.glsl", "guard removed", "if (first < lanes) {"):
        "the guards inside leave out lanes without a value",
    ("kernels/workgroup/reduce_barrier.glsl", "< becomes <=", "if (first < lanes) {"):
        "the guards inside leave out lanes without a value",
    ("kernels/workgroup/reduce_barrier.glsl", "< becomes <=",
     "if (first + i < lanes) values[i] = sh_reduce[slot + i];"):
        "one slot more is read, which nobody combines",
    ("kernels/workgroup/reduce_subgroup.glsl", "> becomes >=", "while (width > size) {"):
        "one value alone goes through workgroup memory once more, for which there is room",
    ("kernels/workgroup/reduce_subgroup.glsl", "min dropped",
     "value = subgroup_reduce(value, vlane, lanes, min(size, width));"):
        "steps more, of lanes without a value",
    ("kernels/workgroup/reduce_barrier.glsl", "'- 1u' dropped",
     "(kWorkgroupSize + kReduceSmallestSize - 1u) / kReduceSmallestSize;"):
        "workgroup memory for one subgroup more, which is not there",
    ("kernels/workgroup/scan_barrier.glsl", "'- 1u' dropped",
     "const uint kScanSubgroups = (kWorkgroupSize + kScanSmallestSize - 1u) / kScanSmallestSize;"):
        "workgroup memory for one subgroup more, which is not there",
    ("kernels/tile/partials.glsl", "< becomes <=",
     "for (uint first = vlane + kWorkgroupSize; first < groups; first += batch * kWorkgroupSize) {"):
        "a batch that begins past the end combines nothing: the guard inside leaves it out",
    ("kernels/tile/look_back.glsl", "< becomes <=",
     "bool second = ticket - base[1] < ticket - base[0];"):
        "the bases are one only before the first use, and the epochs with them",
    ("kernels/tile/look_back.glsl", "guard removed", "if (again) {"):
        "words of tiles that a use does not have may be cleared after any use",
    ("kernels/tile/row_sums.glsl", "< becomes <=",
     "[[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {"):
        "an item past the vector is not there, so it is the identity",
    ("kernels/workgroup/scan_barrier.glsl", "barrier dropped", "if (turn != 0u) barrier();"):
        "at first each invocation writes the slots that it alone read last; the levels above come after a barrier",
    ("kernels/workgroup/scan_barrier.glsl", "guard removed", "if (turn != 0u) barrier();"):
        "the barrier goes with it, as above",
    ("kernels/workgroup/scan_barrier.glsl", "'- 1u' dropped", "eights[i] = sh_scan[first + min(i, count - 1u)];"):
        "values past the count are not used, and there is room to read them",
    ("kernels/workgroup/scan_barrier.glsl", "min dropped", "eights[i] = sh_scan[first + min(i, count - 1u)];"):
        "values past the count are not used, and there is room to read them",
    ("kernels/workgroup/scan_subgroup.glsl", "< becomes <=",
     "[[unroll]] for (uint apart = 1u; apart < width; apart *= 2u) {"):
        "a step more, for lanes that do not matter",
    ("kernels/workgroup/scan_subgroup.glsl", "guard removed", "if (subgroups > 1u) {"):
        "one subgroup alone puts the identity before its values",
    ("kernels/workgroup/scan_subgroup.glsl", "> becomes >=", "if (subgroups > 1u) {"):
        "one subgroup alone puts the identity before its values",
    ("kernels/workgroup/look_back.glsl", "< becomes <=", "while (next != 0u && looks < kPatience) {"):
        "a look more",
    ("kernels/tile/move_kept.glsl", "guard removed",
     "if (kItemsDecide || kMovesItems) load_tile(tile, vlane, false, vectors);"):
        "items that nobody looks at are read",
    ("kernels/tile/move_kept.glsl", "< becomes <=", "if (keeps || (kMovesRest && j < there)) {"):
        "what is not there goes behind all that is, where nobody reads and where there is room",
    ("primitives/select/select_append.comp", "min dropped",
     "uint first = min(group * share.tiles_per_group, share.tiles);"):
        "a workgroup that runs has a tile, or it is the first",
    ("primitives/select/select_tiles.comp", "min dropped",
     "uint first = min(group * share.tiles_per_group, share.tiles);"):
        "a workgroup that runs has a tile, or it is the first",
    ("primitives/select/select_lookback.comp", "guard removed",
     "if (vlane == 0u && publishes && t != 0u) publish(t, epoch, kFlagSum, total);"):
        "all lanes publish the same, once more or before the first tile's prefix",
    ("primitives/scan/scan_lookback.comp", "< becomes <=", "bool publishes = kAhead == 0u || t < kAhead;"):
        "one tile's sum is published twice",
    ("primitives/scan/scan_lookback.comp", "guard removed",
     "if (vlane == 0u) publish(t, epoch, kFlagPrefix, combine(before, total));"):
        "every lane publishes the same prefix",
    ("primitives/scan/scan_lookback.comp", "guard removed",
     "if (vlane == 0u && publishes && t != 0u) publish(t, epoch, kFlagSum, total);"):
        "every lane publishes the same sum, before the tile's prefix",
    ("primitives/scan/scan_sums.comp", "guard removed", "if (group + 1u < share.groups) {"):
        "the last workgroup's partial has room, and nobody looks at it",
    ("primitives/scan/scan_sums.comp", "< becomes <=", "if (group + 1u < share.groups) {"):
        "the last workgroup's partial has room, and nobody looks at it",
    ("primitives/scan/scan_sums.comp", "'+ 1u' dropped", "if (group + 1u < share.groups) {"):
        "the last workgroup's partial has room, and nobody looks at it",
    ("primitives/scan/scan_tiles.comp", "'- 1u' dropped",
     "partials[row] = accumulator_select(i < group, load_partial(min(i, group - 1u)),"):
        "a partial more has room and is not selected",
    ("primitives/scan/scan_tiles.comp", "min dropped",
     "uint first = min(group * share.tiles_per_group, share.tiles);"):
        "a workgroup that runs has a tile, or it is the first",
    ("kernels/tile/rows.glsl", "< becomes <=",
     "[[unroll]] for (uint word = 0u; word < LW_VECTOR_WORDS; ++word) {"):
        "a fifth word holds no item of a cut vector: the guard inside leaves it out",
    ("kernels/tile/scan_results.glsl", "< becomes <=",
     "[[unroll]] for (uint word = 0u; word < kResultWordsPerVector; ++word) {"):
        "one word more belongs to no item of a cut vector: the guard inside leaves it out",
    ("kernels/workgroup/bitonic_barrier.glsl", ">= becomes >",
     "const uint kLaneBits = kWorkgroupSize >= 1024u ? 10u : kWorkgroupSize >= 512u ? 9u : kWorkgroupSize >= 256u ? 8u"):
        "another window at first and last, the same in both",
    ("kernels/workgroup/bitonic_barrier.glsl", ">= becomes >",
     ": kWorkgroupSize >= 128u ? 7u : kWorkgroupSize >= 64u ? 6u : kWorkgroupSize >= 32u ? 5u"):
        "another window at first and last, the same in both",
    ("kernels/workgroup/bitonic_barrier.glsl", ">= becomes >",
     ": kWorkgroupSize >= 16u ? 4u : kWorkgroupSize >= 8u ? 3u : 2u;"):
        "another window at first and last, the same in both",
    ("kernels/workgroup/bitonic_barrier.glsl", "< becomes <=",
     "bool less = a_low < b_low;"):
        "where numbers stay behind, records with equal keys are the same",
    ("kernels/workgroup/bitonic_barrier.glsl", "guard removed",
     "if (kNumbers != 0u) less = a_low == b_low ? a_number < b_number : less;"):
        "where numbers stay behind, records with equal keys are the same",
    ("kernels/workgroup/bitonic_barrier.glsl", "< becomes <=",
     "if (kNumbers != 0u) less = a_low == b_low ? a_number < b_number : less;"):
        "no two records have one number",
    ("kernels/workgroup/bitonic_barrier.glsl", "< becomes <=",
     "less = a_high == b_high ? less : a_high < b_high;"):
        "where the high words are equal the low ones decide",
    ("kernels/workgroup/bitonic_barrier.glsl", "guard removed",
     "if (kNumbers != 0u) {"):
        "numbers that stay behind are looked at by nobody",
    ("kernels/workgroup/bitonic_barrier.glsl", "> becomes >=",
     "while (bits > near) {"):
        "a window more than it takes",
    ("kernels/workgroup/bitonic_barrier.glsl", "guard removed",
     "if (base != 0u) workgroup_bitonic_move(vlane, base, 0u, keys, numbers);"):
        "a move to where the records are",
    ("kernels/workgroup/bitonic_subgroup.glsl", "guard removed",
     "if (kNumbers != 0u) number = subgroupShuffle(number, lane ^ apart);"):
        "numbers that stay behind are looked at by nobody",
    ("primitives/sort/sort_bitonic.comp", "< becomes <=",
     "if (kWriteKeys != 0u && kKeyBits < 32u) barrier();"):
        "a barrier more",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "guard removed",
     "if (batch.segments > 1u) tags[k] |= segment_number(batch, place) << kSegmentShift;"):
        "one segment has the number 0",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "> becomes >=",
     "if (batch.segments > 1u) tags[k] |= segment_number(batch, place) << kSegmentShift;"):
        "one segment has the number 0",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "'- 1u' dropped",
     "uint segment_bits = uint(findMSB(min(batch.segments, items) - 1u) + 1);"):
        "a round more, of digits that are all zero",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "min dropped",
     "uint segment_bits = uint(findMSB(min(batch.segments, items) - 1u) + 1);"):
        "a round more, of digits that are all zero",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "< becomes <=",
     "if (ranks[k] < items) sh_words[ranks[k]] = tags[k];"):
        "no rank is the number of items",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "< becomes <=",
     "if (ranks[k] < items) sh_words[ranks[k]] = load_number(source, begin, i);"):
        "no rank is the number of items",
    ("primitives/segmented_sort/segmented_sort_tiles.comp", "<= becomes <", "bool together = all.items <= kTileItems;"):
        "two batches of a full tile give the same as one",
}


def code_lines(text):
    """(number, line) of the lines that hold code: no comments, no directives."""
    for number, line in enumerate(text.split("\n")):
        code = line.split("//")[0]
        if code.strip() and not code.lstrip().startswith("#"):
            yield number, line, len(code)


def closing(code, start):
    """Where the parenthesis closes that was opened before `start`; None where that is in another line."""
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return None


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
        for match in re.finditer(r"\b(?:if|while) \(", code):
            end_of_condition = closing(code, match.end())
            if end_of_condition is not None and "kS" not in code[match.end():end_of_condition]:
                yield change("guard removed", code[:match.end()] + "true" + code[end_of_condition:])
        for match in re.finditer(r" (<|<=|>|>=) ", code):
            other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[match[1]]
            yield change(f"{match[1]} becomes {other} (column {match.start(1)})",
                         code[:match.start(1)] + other + code[match.end(1):])
        for match in re.finditer(r" \+ 1u\b| - 1u\b", code):
            yield change(f"'{match[0].strip()}' dropped (column {match.start()})",
                         code[:match.start()] + code[match.end():])
        if re.search(r" \+ carry\b", code):
            yield change("carry dropped", code.replace(" + carry", ""))
        if (match := re.search(r"\[(k\w*Slots\w*)\];", code)) and "shared" in code:
            yield change("array shrunk", code.replace(f"[{match[1]}]", f"[{match[1]} / 2u]"))
        if match := re.search(r"\bmin\(([^(),]+), ([^()]+)\)", code):
            yield change("min dropped", code[:match.start()] + "(" + match[1] + ")" + code[match.end():])
        if re.search(r"\.(yzw|y|z|w)\b", code) and "allot" in code:
            yield change("ballot cut to 32 bits", re.sub(r"\.(yzw|y|z|w)\b", ".x", code))


def equivalence(path, what):
    """Why a mutant changes nothing that can be seen; None for one that should."""
    where, change = what.split(": ", 1)
    number = int(where.rsplit(":", 1)[1])
    code = (ROOT / path).read_text(encoding="ascii").split("\n")[number - 1].strip()
    return EQUIVALENT.get((path, change, code)) or EQUIVALENT.get((path, change.split(" (column")[0], code))


class Workshop:
    """A copy of the kernels' sources, with the modules made of them."""

    def __init__(self, folder, options):
        self.options = options
        self.sources, self.modules, self.originals = folder / "sources", folder / "modules", folder / "originals"
        self.modules.mkdir(parents=True)
        self.made_of = {}  # kernel -> the files that it is made of
        for part in ("kernels", "primitives"):
            for pattern in ("*.comp", "*.glsl", "*_kernels.txt"):
                for source in ROOT.glob(f"{part}/*/{pattern}"):
                    copy = self.sources / source.relative_to(ROOT)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, copy)
        lists = [*self.sources.glob("kernels/*/*_kernels.txt"), *self.sources.glob("primitives/*/*_kernels.txt")]
        self.kernels = [kernel for path in lists
                        for kernel in [*kernels.read_list(path), *self.examples_of_custom_kernels(path)]
                        if re.search(options.kernels, kernel.name)]

    @staticmethod
    def examples_of_custom_kernels(path):
        """They show whether a mutant is a shader at all; the tests compile their own."""
        for kernel in kernels.read_list(path, custom=True):
            for order in ("0", "1"):
                name = kernel.name.replace(".custom.", f".custom{order}.")
                yield kernel._replace(name=name, defines=(*kernel.defines, f"LW_ORDERED={order}"))

    def compile(self, changed=None):
        """The modules of all kernels, or of those that the changed file is part of; an error text or None."""
        for kernel in self.kernels_with(changed):
            target = "vulkan1.3" if "subgroup" in kernel.name.split(".") else "vulkan1.1"
            module = self.modules / f"{kernel.name}.spv"
            depfile = self.modules / "depfile"
            done = subprocess.run(
                [self.options.glslang, "--quiet", "--target-env", target, "-S", "comp", "-g", "--depfile",
                 str(depfile), f"-I{self.sources / 'kernels'}", *[f"-D{define}" for define in kernel.defines],
                 "-o", str(module), str(kernel.source)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                return done.stdout
            if changed is None:
                parts = depfile.read_text().split(":", 1)[1].split()
                self.made_of[kernel.name] = {
                    str(pathlib.Path(part).resolve().relative_to(self.sources.resolve())) for part in parts}
        if changed is None:
            shutil.copytree(self.modules, self.originals)
        return None

    def kernels_with(self, changed):
        return [kernel for kernel in self.kernels if changed is None or changed in self.made_of[kernel.name]]

    def why_noticed(self):
        """None when all tests pass; otherwise the first line that says why not."""
        for device in self.options.devices.split(","):
            environment = dict(os.environ, LANEWISE_TEST_KERNELS=str(self.modules),
                               LANEWISE_TEST_SOURCES=str(self.sources), LANEWISE_TEST_DEVICE=device)
            command = [self.options.tests, "--gtest_brief=1", "--gtest_fail_fast"]
            if self.options.filter:
                command.append(f"--gtest_filter={self.options.filter}")
            try:
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=600)
            except subprocess.TimeoutExpired:
                return f"{device}: the tests did not end"
            if done.returncode == 0:
                continue
            lines = done.stdout.splitlines()
            told = [line for line in lines if re.search(
                r"race|out_of_bounds|uninitialized|divergent|inactive|progress|misaligned|expected|written|"
                r"division|shift", line)]
            return f"{device}: {(told or lines or ['?'])[0].strip()}"
        return None

    def judge(self, path, text):
        """"killed" by what, "SURVIVED", or "no shader"."""
        original = (self.sources / path).read_text(encoding="ascii")
        (self.sources / path).write_text(text, encoding="ascii")
        try:
            if self.compile(path):
                return "no shader", ""
            why = self.why_noticed()
            return ("killed", why) if why else ("SURVIVED", "")
        finally:
            (self.sources / path).write_text(original, encoding="ascii")
            for kernel in self.kernels_with(path):
                shutil.copyfile(self.originals / f"{kernel.name}.spv", self.modules / f"{kernel.name}.spv")


def main():
    parser = argparse.ArgumentParser(description="Mutation test of the kernels; see the top of this file.")
    parser.add_argument("--tests", required=True)
    parser.add_argument("--glslang", default="glslangValidator")
    parser.add_argument("--only", default="", help="regular expression over the mutants' descriptions")
    parser.add_argument("--every", type=int, default=1, help="take each n-th mutant only")
    parser.add_argument("--filter", default="", help="of the judging tests")
    parser.add_argument("--devices", default=",".join(DEVICES), help="the machines, one after the other")
    parser.add_argument("--kernels", default=r"\.descriptor$",
                        help="regular expression over the kernels that are mutated; the rest stays built in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="name the mutants and do no more")
    options = parser.parse_args()

    files = sorted(str(path.relative_to(ROOT)) for part in ("kernels", "primitives")
                   for pattern in ("*.comp", "*.glsl") for path in ROOT.glob(f"{part}/*/{pattern}"))
    chosen = [(path, what, text) for path in files for what, text in mutants(path)
              if re.search(options.only, what)][::options.every]
    if options.list:
        print("\n".join(what for _, what, _ in chosen))
        return 0

    killed, survivors, stillborn, equivalent = 0, [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        workshops = []
        for job in range(max(1, options.jobs)):
            workshop = Workshop(pathlib.Path(name) / str(job), options)
            if failed := workshop.compile():
                sys.exit(f"the unchanged kernels do not compile: {failed}")
            workshops.append(workshop)
        if why := workshops[0].why_noticed():
            sys.exit(f"the unchanged kernels fail: {why}")
        # Files that no kernel is made of cannot be judged by running kernels.
        used = set().union(*workshops[0].made_of.values())
        with concurrent.futures.ThreadPoolExecutor(len(workshops)) as pool:
            def judged(mutant):
                workshop = workshops.pop()
                try:
                    return workshop.judge(mutant[0], mutant[2])
                finally:
                    workshops.append(workshop)
            chosen = [mutant for mutant in chosen if mutant[0] in used]
            for path, what, _ in chosen:
                if (reason := equivalence(path, what)) is not None:
                    equivalent += 1
                    print(f"equivalent {what}: {reason}", flush=True)
            chosen = [mutant for mutant in chosen if equivalence(mutant[0], mutant[1]) is None]
            for (path, what, _), (verdict, why) in zip(chosen, pool.map(judged, chosen)):
                if verdict == "no shader":
                    stillborn += 1
                    print(f"no shader  {what}", flush=True)
                elif verdict == "killed":
                    killed += 1
                    print(f"killed     {what}   by {why[:160]}", flush=True)
                else:
                    survivors.append(what)
                    print(f"SURVIVED   {what}", flush=True)
    total = killed + len(survivors)
    print(f"{killed} of {total} mutants killed; {equivalent} more change nothing that can be seen, "
          f"{stillborn} were no shaders")
    for what in survivors:
        print(f"survived: {what}")
    return 1 if total and len(survivors) > 0.05 * total else 0


if __name__ == "__main__":
    sys.exit(main())
