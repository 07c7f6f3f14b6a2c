#!/usr/bin/env python3
"""The pages of --html in Chromium. usage: test_page.py TOOL [FOLDER-FOR-SCREENSHOTS]

Exits with 77 where Chromium, its driver or Selenium are missing."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
from browser import Browser
from training_step import training_step

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "hlo_samples" / "gpt_unrolled.after_optimizations.hlo"
ALT, SHIFT = 1, 8
HOSTILE = """HloModule m, is_scheduled=true

ENTRY e {
  p = f32[1024]{0} parameter(0), metadata={op_name="</script><script>bad()</script><!--"}
  a = f32[1024]{0} negate(p), metadata={op_name="<img src=x onerror=bad()>\\377\\000\\342\\200\\250"}
  b = f32[1024]{0} negate(a), metadata={op_name="]]>&amp;'\\"" source_file="<b>.py" source_line=3}
  ROOT r = f32[1024]{0} add(a, b)
}
"""


class PageTest(unittest.TestCase):
    tool = None
    shots = None

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.driver.quit)
        directory = tempfile.TemporaryDirectory(prefix="page.")
        cls.addClassCleanup(directory.cleanup)
        cls.dir = pathlib.Path(directory.name)

    def setUp(self):
        self.browser.resize(1280, 800)
        self.browser.set_scheme("light")

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])

    # ---- pages ----

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def open(self, *arguments):
        page = self.dir / "page.html"
        subprocess.run([self.tool, *map(str, arguments), f"--html={page}", "--quiet"], check=True,
                       timeout=240)
        self.browser.open(page)
        self.browser.settle()

    def open_step(self, num_values):
        self.open("report", self.write("step.hlo", training_step(num_values)))

    def shoot(self, name):
        if self.shots:
            self.browser.screenshot(pathlib.Path(self.shots, f"{name}.png"))

    # ---- what is on it ----

    def view(self):
        return self.browser.run("memoryPage.state.view")

    def place_of(self, name, panel=0):
        """The middle of a box on the screen."""
        return self.browser.run("""
            const panel = memoryPage.state.panels[arguments[1]];
            const box = memoryPage.boxOf(panel, panel.indexOf(arguments[0]));
            const frame = panel.canvas.getBoundingClientRect();
            return [frame.left + box.left + box.width / 2, frame.top + box.top + box.height / 2];
            """, name, panel)

    def pixel_at(self, x, y):
        """A colour of the first canvas, through another one: reading it would make Chromium warn."""
        return self.browser.run("""
            const [x, y] = arguments;
            const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            copy.drawImage(memoryPage.state.panels[0].canvas, x, y, 1, 1, 0, 0, 1, 1);
            return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
            """, x, y)

    def pixel_of(self, name):
        """The colour in a box, near its upper right corner, where no name is."""
        return self.pixel_at(*self.browser.run("""
            const panel = memoryPage.state.panels[0];
            const box = memoryPage.boxOf(panel, panel.indexOf(arguments[0]));
            return [box.left + box.width - 6, box.top + 5];
            """, name))

    def text(self, element):
        return self.browser.run("document.getElementById(arguments[0]).innerText", element)

    def is_hidden(self, element):
        return self.browser.run("document.getElementById(arguments[0]).hidden", element)

    def selected(self):
        return self.browser.run("""
            const chosen = memoryPage.state.selected;
            return chosen && chosen.panel.text("name", chosen.index);
            """)

    def type(self, text):
        for key in text:
            self.browser.key(key)


class Page(PageTest):
    def test_it_loads(self):
        self.open_step(20)
        self.assertIn("jit_step_20", self.text("title"))
        self.assertIn("6.50 MiB of memory for 22 values", self.text("figures"))
        self.assertIn("parameter", self.text("legend"))
        self.assertEqual(self.browser.run("memoryPage.timing.numDrawn > 15"), True)
        self.shoot("20")

    def test_hover_tells_of_a_value(self):
        self.open_step(20)
        self.browser.hover(*self.place_of("gelu.1"))
        tip = self.text("tip")
        for wanted in ("gelu.1", "1.50 MiB", "f32[512,", "tanh", "model.py:21",
                       "jit(step)/jvp(block_0)/layer_1/mlp/gelu", "positions"):
            self.assertIn(wanted, tip)
        self.assertIn("at position", self.text("legend"))
        self.shoot("hover")
        self.browser.hover(5, 5)
        self.assertTrue(self.is_hidden("tip"))

    def test_hover_tells_of_a_position(self):
        self.open_step(20)
        x, _ = self.place_of("norm.0")
        _, y = self.place_of("dw.1")
        self.browser.hover(x - 100, y - 8)
        self.assertRegex(self.text("tip"), r"position \d+\n.*\n.*MiB live")

    def test_wheel_zooms(self):
        self.open_step(2000)
        x, y = self.place_of("gelu.100")
        before = self.view()
        self.browser.wheel(x, y, -300)
        after = self.view()
        for low, high in (("x0", "x1"), ("y0", "y1")):
            self.assertLess(after[high] - after[low], 0.8 * (before[high] - before[low]))
        moved = self.place_of("gelu.100")
        self.assertAlmostEqual(moved[0], x, delta=1)
        self.assertAlmostEqual(moved[1], y, delta=1)
        self.shoot("zoomed")
        for modifiers, still in ((SHIFT, "y"), (ALT, "x")):
            before = self.view()
            self.browser.wheel(x, y, -200, modifiers)
            after = self.view()
            for axis in "xy":
                span = [view[axis + "1"] - view[axis + "0"] for view in (before, after)]
                if axis == still:
                    self.assertAlmostEqual(span[1] / span[0], 1)
                else:
                    self.assertLess(span[1], 0.95 * span[0])
        self.browser.wheel(x, y, 5000)
        self.browser.wheel(x, y, 5000)
        self.assertEqual((self.view()["x0"], self.view()["y0"]), (0, 0))

    def test_drag_moves(self):
        self.open_step(2000)
        x, y = self.place_of("gelu.100")
        self.browser.wheel(x, y, -800)
        x, y = self.place_of("gelu.100")
        self.browser.drag(x, y, -60, 40)
        moved = self.place_of("gelu.100")
        self.assertAlmostEqual(moved[0], x - 60, delta=2)
        self.assertAlmostEqual(moved[1], y + 40, delta=2)
        self.assertIsNone(self.selected())

    def test_wheel_that_ends_in_a_drag(self):
        """D3 lets a wheel's gesture end 150 ms after it has stopped."""
        self.open_step(2000)
        x, y = self.place_of("gelu.100")
        self.browser.wheel(x, y, -800)
        x, y = self.place_of("gelu.100")
        self.browser.drag(x, y, -60, 40, pause=0.08)
        moved = self.place_of("gelu.100")
        self.assertAlmostEqual(moved[0], x - 60, delta=2)
        self.assertAlmostEqual(moved[1], y + 40, delta=2)

    def test_keys(self):
        self.open_step(2000)
        whole = self.view()
        self.browser.key("+")
        zoomed = self.view()
        self.assertLess(zoomed["x1"] - zoomed["x0"], whole["x1"] - whole["x0"])
        for key, axis, sign in (("ArrowRight", "x0", 1), ("ArrowLeft", "x0", -1), ("ArrowUp", "y0", 1),
                                ("ArrowDown", "y0", -1)):
            before = self.view()[axis]
            self.browser.key(key)
            self.assertGreater(sign * (self.view()[axis] - before), 0, key)
        for key, axis, still in (("x", "x", "y"), ("y", "y", "x")):
            before = self.view()
            self.browser.key(key)
            after = self.view()
            self.assertLess(after[axis + "1"] - after[axis + "0"], before[axis + "1"] - before[axis + "0"])
            self.assertEqual(after[still + "1"], before[still + "1"])
            self.browser.key(key.upper(), SHIFT)
            self.assertAlmostEqual(self.view()[axis + "1"], before[axis + "1"], delta=1)
        self.browser.key("0")
        self.assertEqual(self.view(), whole)
        self.browser.key("t")
        self.assertGreater(self.view()["y0"], 0)
        self.browser.key("p")
        self.assertLess(self.view()["x1"] - self.view()["x0"], 0.1 * whole["x1"])
        self.browser.key("-")
        self.browser.key("?")
        self.assertTrue(self.browser.run("document.getElementById('help').open"))
        self.shoot("help")
        self.browser.run("document.getElementById('show-licence').click(); return 0")
        self.assertIn("Redistribution", self.text("licence-text"))
        self.browser.key("Escape")

    def test_click_shows_producers_and_users(self):
        self.open_step(20)
        self.browser.click(*self.place_of("gelu.1"))
        self.assertEqual(self.selected(), "gelu.1")
        details = self.text("details")
        for wanted in ("made from: 1", "expand.1", "read by", "shrink.1", "dexpand.1"):
            self.assertIn(wanted, details)
        self.shoot("clicked")
        self.browser.run("""
            [...document.querySelectorAll("#details .values button")]
              .find((button) => button.innerText.includes("expand.1")).click();
            return 0""")
        self.assertEqual(self.selected(), "expand.1")
        self.browser.key("Escape")
        self.assertIsNone(self.selected())
        self.assertTrue(self.is_hidden("details"))

    def test_double_click_zooms_to_a_box(self):
        self.open_step(2000)
        whole = self.view()
        self.browser.click(*self.place_of("gelu.100"), count=2)
        self.browser.settle()
        view = self.view()
        self.assertLess(view["x1"] - view["x0"], whole["x1"] - whole["x0"])
        self.assertLess(view["y1"] - view["y0"], 0.2 * (whole["y1"] - whole["y0"]))

    def test_search(self):
        self.open_step(2000)
        self.browser.key("/")
        self.type("layer_7/ tanh")
        self.assertIn("1 value,", self.text("found"))
        self.browser.key("Enter")
        self.assertEqual(self.selected(), "gelu.7")
        self.assertIn("1 of 1 value", self.text("found"))
        self.browser.key("Escape")
        self.assertEqual(self.text("found"), "")
        self.browser.run("document.getElementById('search').blur(); return 0")
        self.browser.key("/")
        self.type("model.py:31")
        self.assertIn("200 values", self.text("found"))
        self.shoot("search")
        for wanted in ("norm.0", "norm.1"):
            self.browser.key("Enter")
            self.assertEqual(self.selected(), wanted)
        self.browser.key("Enter", SHIFT)
        self.assertEqual(self.selected(), "norm.0")

    def test_groups(self):
        self.open_step(400)
        change = """
            const group = document.getElementById("group");
            group.value = arguments[0];
            group.dispatchEvent(new Event("change"));
            return 0"""
        for kind, wanted in (("opcode", "tanh"), ("file", "model.py:21"), ("computation", "main"),
                             ("scope", "step/block_")):
            self.browser.run(change, kind)
            self.browser.settle()
            self.assertIn(wanted, self.text("legend"), kind)
            self.shoot(f"by-{kind}")
        self.browser.run(change, "category")
        self.browser.settle()
        self.assertIn("temporary", self.text("legend"))

    def test_sums(self):
        self.open_step(400)
        change = """
            const layout = document.getElementById("layout");
            layout.value = arguments[0];
            layout.dispatchEvent(new Event("change"));
            return 0"""
        self.browser.run(change, "stack")
        self.browser.settle()
        sums = self.browser.run("""
            const panel = memoryPage.state.panels[0];
            const over = [...panel.stacked].map((bytes, k) => panel.live[k] - bytes);
            return [Math.min(...over), Math.max(...over), panel.stacked[panel.peakPosition]]""")
        self.assertGreaterEqual(sums[0], 0)
        self.assertGreater(sums[2], 0)
        self.browser.hover(600, 700)
        self.assertRegex(self.text("tip"), r"parameter\n30.50 MiB, \d+.\d % of what lives\n41 values\nposition")
        self.shoot("sums")
        self.browser.run("""
            const group = document.getElementById("group");
            group.value = "scope";
            group.dispatchEvent(new Event("change"));
            return 0""")
        self.browser.wheel(600, 500, -100)
        self.shoot("sums-by-scope")
        self.browser.run(change, "boxes")
        self.browser.settle()
        self.browser.click(*self.place_of("gelu.1"))
        self.assertEqual(self.selected(), "gelu.1")

    def test_legend_shows_one_group_alone(self):
        self.open_step(20)
        before = self.pixel_of("w.1")
        self.browser.run("document.querySelector('#legend button').click(); return 0")
        self.browser.settle()
        self.assertNotEqual(self.pixel_of("w.1"), before)
        self.shoot("isolated")
        self.browser.key("Escape")
        self.assertEqual(self.pixel_of("w.1"), before)

    def test_dark(self):
        self.open_step(2000)
        paper = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.browser.run(paper), "rgb(255, 255, 255)")
        self.assertEqual(self.pixel_at(1, 1), [255, 255, 255])
        self.browser.set_scheme("dark")
        self.browser.settle()
        self.assertEqual(self.browser.run(paper), "rgb(13, 17, 23)")
        self.assertEqual(self.pixel_at(1, 1), [13, 17, 23])
        self.shoot("dark")

    def test_sizes_of_the_window(self):
        self.open(SAMPLE, "--mem-limit=80%", "--limit-counts=total", "--memory-model=heap")
        for width, height, ratio in ((1600, 900, 1), (1000, 800, 1), (1280, 800, 2), (500, 700, 1)):
            self.browser.resize(width, height, ratio)
            self.browser.settle()
            self.browser.settle()
            wide = self.browser.run("document.documentElement.scrollWidth")
            self.assertLessEqual(wide, width)
            sizes = self.browser.run("""
                return memoryPage.state.panels.map(({ canvas, plot }) =>
                  [canvas.width, canvas.getBoundingClientRect().width, plot.width])""")
            for pixels, length, plot in sizes:
                self.assertAlmostEqual(pixels, length * ratio, delta=ratio)
                self.assertGreater(plot, 100)
            self.shoot(f"pair-{width}-{ratio}")

    def test_pair_moves_together(self):
        self.open(SAMPLE, "--mem-limit=80%", "--limit-counts=total", "--memory-model=heap")
        self.browser.resize(1600, 900)
        self.browser.settle()
        self.assertIn("119.56 MiB of memory before, 95.60 MiB after", self.text("figures"))
        self.assertIn("budget 95.65 MiB", self.text("figures"))
        self.assertIn("rematerialized", self.text("legend"))
        name = "ynn_fusion.67"
        self.browser.wheel(*self.place_of(name, 1), -300)
        places = [self.place_of(name, panel) for panel in (0, 1)]
        self.assertAlmostEqual(places[0][1], places[1][1], delta=30)
        self.browser.click(*self.place_of(name, 1))
        self.assertEqual(self.selected(), name)
        self.shoot("pair-selected")

    def test_hostile_texts(self):
        self.open("report", self.write("m.hlo", HOSTILE))
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.browser.hover(*self.place_of("p"))
        self.assertIn("</script><script>bad()</script><!--", self.text("tip"))
        self.browser.click(*self.place_of("a"))
        self.assertIn("<img src=x onerror=bad()>\ufffd\ufffd", self.text("details"))
        before = self.write("<b>&quot;.hlo", HOSTILE)
        self.open("report", before, self.write("</script>.hlo".replace("/", "_"), HOSTILE))
        self.assertIn("<b>&quot;.hlo", self.browser.run("document.querySelector('h2').innerText"))

    def test_nothing_to_show(self):
        self.open("report", self.write("m.hlo", "HloModule m, is_scheduled=true\n"
                                       "ENTRY e {\n  ROOT t = () tuple()\n}\n"))
        self.assertIn("0 B of memory for 0 values", self.text("figures"))
        self.browser.wheel(600, 500, -300)
        self.browser.click(600, 500)
        for key in "0tp+-":
            self.browser.key(key)

    def test_fifty_thousand_values(self):
        self.open_step(50000)
        timing = self.browser.run("""
            const { view } = memoryPage.state;
            const frames = [];
            for (let i = 0; i < 30; i++) {
              memoryPage.drawNow();
              frames.push(memoryPage.timing.drawMs);
            }
            frames.sort((a, b) => a - b);
            return { load: memoryPage.timing.loadMs, median: frames[15], most: frames[29],
                     count: memoryPage.state.panels[0].count };
            """)
        self.assertGreater(timing["count"], 50000)
        print(f"50,000 values: shown after {timing['load']:.0f} ms, a frame {timing['median']:.1f} ms, "
              f"at most {timing['most']:.1f} ms")
        self.assertLess(timing["median"], 2000)
        self.shoot("50000")
        self.browser.hover(*self.place_of("gelu.2000"))
        self.assertFalse(self.is_hidden("tip"))
        self.browser.key("/")
        self.type("gelu.2000")
        self.browser.key("Enter")
        self.assertEqual(self.selected(), "gelu.2000")
        self.shoot("50000-found")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    browser.need_selenium()
    PageTest.tool = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1 and not sys.argv[1].startswith("Page"):
        PageTest.shots = sys.argv.pop(1)
        pathlib.Path(PageTest.shots).mkdir(parents=True, exist_ok=True)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
