#!/usr/bin/env python3
"""Times the C library's memcpy on two threads, the limit of memory-bound workloads. usage: memcpy.py"""
import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor

import workloads as W
from measure import THREADS, report, run_cases, time_ms, uniform


def memcpy():
    source = uniform(1, (W.MEMCPY_ELEMENTS,))
    target = source + 1
    part = source.nbytes // THREADS
    copy = ctypes.CDLL(None).memcpy  # ctypes releases the interpreter lock during the call.
    copy.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    copy.restype = ctypes.c_void_p
    with ThreadPoolExecutor(THREADS) as pool:
        def call():
            halves = [pool.submit(copy, target.ctypes.data + i * part, source.ctypes.data + i * part, part)
                      for i in range(THREADS)]
            for half in halves:
                half.result()
        timing = time_ms(call)
    report("memcpy_f32", "libc", f"{THREADS} threads", 2 * source.nbytes, **timing)


run_cases({"memcpy_f32": memcpy}, sys.argv[1:], "libc")
