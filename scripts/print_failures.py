#!/usr/bin/env python3
"""Prints the last lines of each failed test of a ctest run, from ctest's JUnit file.

    ctest --output-junit results.xml || scripts/print_failures.py results.xml
"""
import sys
import xml.etree.ElementTree

LINES = 40  # Last lines per test; GoogleTest prints the expected values there.

for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.get("status") != "fail":
        continue
    print(f"\n== {case.get('name')}")
    print("\n".join((case.findtext("system-out") or "").rstrip().splitlines()[-LINES:]))
