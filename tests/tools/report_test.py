"""Tests of `sinter report`: a page is whole HTML without markup from the plan's text, needs no network, and its script runs.

usage: report_test.py FOLDER_OF_TOOLS
"""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1))
VOID = {"meta"}
PROGRAM = """
sinter.variable @w : tensor<8x8xf32> = uniform(-0.5, 0.5) seed 1 trainable
func.func @predict(%x: tensor<4x8xf32> {sinter.input = "<b>x</b>"}, %w: tensor<8x8xf32> {sinter.variable = @w})
    -> (tensor<4x8xf32> {sinter.output = "y"}) {
  %h = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %t = sinter.tanh %h : tensor<4x8xf32>
  %y = sinter.matmul %t, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
"""


class Page(html.parser.HTMLParser):
    """Collects the tags and the text, and notes a tag that another one's end closes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.faults, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another tag")

    def handle_data(self, data):
        self.text += data


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = pathlib.Path(self.folder.name)
        (path / "two_layers.mlir").write_text(PROGRAM)
        self.plan, self.page = path / "two_layers.plan", path / "two_layers.html"
        self.run_tool("sinter-compile", path / "two_layers.mlir", "-o", self.plan)

    def run_tool(self, tool, *arguments, code=0):
        done = subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def made(self, *options):
        self.run_tool("sinter", "report", self.plan, "-o", self.page, *options)
        return self.page.read_text(encoding="utf-8")

    def test_is_whole_and_has_what_the_plan_has(self):
        for options in [(), ("--measure", "--repeat", "2")]:
            text = self.made(*options)
            page = Page(text)
            self.assertEqual(page.faults, [])
            for part in ["Function predict", "matmul 4x8x8", "two_layers.mlir:5", "Memory over the steps", "1 variables, 256 B",
                         "Inputs: <b>x</b>: f32[4,8]."]:
                self.assertIn(part, page.text)
            self.assertNotIn("b", [tag for tag, _ in page.tags])
            titles = text.count("<title>") - 1  # The values of the memory map; the page has a title too.
            self.assertGreaterEqual(titles, 2)
        self.assertIn("medians over 2 runs", page.text)
        self.assertIn("of the limit", page.text)

    def test_needs_no_network(self):
        for tag, attributes in Page(self.made()).tags:
            self.assertNotIn(tag, ["link", "img", "iframe"])
            self.assertFalse({"src", "href"} & attributes.keys(), tag)

    def test_names_a_missing_folder_before_it_runs_anything(self):
        error = self.run_tool("sinter", "report", self.plan, "-o", self.folder.name + "/none/r.html", "--measure", code=2)
        self.assertIn("there is no folder", error)
        self.assertFalse(self.page.exists())

    def test_runs_in_a_browser(self):
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        if browser is None:
            self.skipTest("there is no Chromium")
        self.made()
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"file://{self.page}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            self.skipTest("Chromium does not end here")
        if done.returncode != 0 and "<body" not in done.stdout:
            self.skipTest("Chromium does not start here: " + done.stderr[-300:])
        self.assertIn('data-ready="yes"', done.stdout)


if __name__ == "__main__":
    unittest.main()
