#!/usr/bin/env python3
"""Prints what the failed tests of a ctest run said, the end of it, from the JUnit file that ctest wrote.

    ctest --output-junit results.xml || scripts/print_failures.py results.xml
"""
import sys
import xml.etree.ElementTree

LINES = 40  # of each test: where GoogleTest says what it expected

for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.get("status") != "fail":
        continue
    print(f"\n== {case.get('name')}")
    print("\n".join((case.findtext("system-out") or "").rstrip().splitlines()[-LINES:]))
