#!/usr/bin/env python3
"""Fails when a case of the conformance tests ran on none of the devices that share them out: all those
that it fell to have skipped it. Called by ctest after them.

  coverage.py FOLDER DEVICE...   FOLDER has gtest's report of every device, DEVICE.json
"""

import collections
import json
import pathlib
import sys


def main():
    folder, devices = pathlib.Path(sys.argv[1]), sys.argv[2:]
    ran_on = collections.defaultdict(list)
    for device in devices:
        path = folder / f"{device}.json"
        if not path.is_file():
            sys.exit(f"coverage: no report of {device}: run conformance@{device} first")
        for suite in json.loads(path.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                # Devices differ in rows of a matrix; that it ran at all is looked at.
                name = f"{suite['name']}.{case['name'].split('/')[0]}"
                ran = ran_on[name]
                if case["result"] == "COMPLETED" and device not in ran:
                    ran.append(device)
    lost = sorted(name for name, ran in ran_on.items() if not ran)
    for name in lost:
        print(f"coverage: {name} ran on no device")
    if lost or not ran_on:
        sys.exit(f"coverage: {len(lost)} of {len(ran_on)} cases ran nowhere")
    mean = sum(map(len, ran_on.values())) / len(ran_on)
    alone = sum(len(ran) == 1 for ran in ran_on.values())
    print(f"{len(ran_on)} cases, each on {mean:.1f} devices of {len(devices)} on average; {alone} on one alone")


if __name__ == "__main__":
    main()
