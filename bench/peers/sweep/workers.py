"""Programs that answer commands about draws, one line each: sinter_bench_sweep --serve, torch_worker.py, jax_worker.py."""
import contextlib
import json
import queue
import subprocess
import threading
import time

MOST_SECONDS = {"compile": 90, "prepare": 45, "time": 20, "drop": 20}  # A program that takes longer is ended.
START_SECONDS = 90


class Worker:
    """One program. A program that ends or takes too long is an error of its draw, and the next draw has a new one."""

    def __init__(self, command, environment, greets):
        self.command, self.environment, self.greets = command, environment, greets
        self.process, self.answers, self.greeting = None, None, {}

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.answers, self.last_words = queue.Queue(), []
        threading.Thread(target=self.read, args=(self.process, self.answers), daemon=True).start()
        threading.Thread(target=self.listen, args=(self.process, self.last_words), daemon=True).start()
        if self.greets:
            self.greeting = self.wait_for_answer(START_SECONDS) or {}

    @staticmethod
    def read(process, answers):
        for line in process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                answers.put(json.loads(line))
        answers.put(None)

    @staticmethod
    def listen(process, last_words):
        for line in process.stderr:
            last_words.append(line.strip())
            del last_words[:-5]

    def wait_for_answer(self, seconds):
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def ask(self, command, draw):
        """Returns the program's answer, a dictionary with "error" if there is none."""
        if self.process is None or self.process.poll() is not None:
            if command == "drop":
                return {}
            self.start()
        begin = time.monotonic()
        try:
            self.process.stdin.write(f"{command} {draw['id']}\n")
            self.process.stdin.flush()
            result = self.wait_for_answer(MOST_SECONDS[command])
        except OSError:
            result = None
        if result is None:
            seconds = time.monotonic() - begin
            self.end()
            words = " ".join(self.last_words)[-300:]
            result = {"error": f"{command}: the program ended or gave no answer in {seconds:.0f} s: {words}"}
        elif is_lost(result.get("error", "")):
            self.end()
        return result

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def is_lost(error):
    """True if the error is one of the device, after which no call of the process works."""
    return any(words in error for words in ("CUDA error", "AcceleratorError", "CUDA_ERROR", "illegal memory"))


def each(tasks, workers):
    """Calls work(worker, task) for tasks (work, task): each worker takes the next task when it is free."""
    waiting = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def loop(worker):
        while True:
            try:
                work, task = waiting.get_nowait()
            except queue.Empty:
                return
            work(worker, task)

    threads = [threading.Thread(target=loop, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
