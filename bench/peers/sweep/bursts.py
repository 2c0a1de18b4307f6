"""How the peers' workers time a call: in bursts, as sinter_bench_sweep's, which end with the only wait."""
import statistics
import time

BURST_SECONDS, MOST_RUNS, LEAST_BURSTS = 0.01, 1000, 5


def time_ms(call, wait, seconds):
    """Returns the median time of a call. `wait` gets the last call's result and returns when it is there."""
    def burst(runs):
        begin = time.perf_counter()
        for _ in range(runs):
            last = call()
        wait(last)
        return time.perf_counter() - begin
    burst(1)
    runs = int(min(max(BURST_SECONDS / burst(1), 1), MOST_RUNS))
    for _ in range(3):
        burst(runs)
    times, begin = [], time.perf_counter()
    while len(times) < LEAST_BURSTS or time.perf_counter() - begin < seconds:
        times.append(burst(runs) / runs * 1e3)
    return statistics.median(times)
