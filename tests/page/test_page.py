#!/usr/bin/env python3
"""The pages of --html and of compare --pareto in Chromium. usage: test_page.py TOOL [FOLDER-FOR-SCREENSHOTS]

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

    def picture(self):
        """All pixels of the canvases, for comparisons."""
        self.browser.settle()
        return self.browser.run("memoryPage.state.panels.map(({ canvas }) => canvas.toDataURL()).join()")

    def choose(self, element, value):
        self.browser.run("""
            const element = document.getElementById(arguments[0]);
            element.value = arguments[1];
            element.dispatchEvent(new Event("change"));
            return 0""", element, value)
        self.browser.settle()

    def labels(self, panel=0):
        """What is written into the boxes and at the lines, with the room that it takes."""
        return self.browser.run("memoryPage.state.panels[arguments[0]].labels", panel)

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
        self.assertIn("arguments", self.text("legend"))
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

    def test_outline_goes_away(self):
        """With the pointer, and with what was under it."""
        self.open_step(400)
        x, y = self.place_of("gelu.20")
        self.browser.hover(5, 5)
        plain = self.picture()
        leave = {
            "to the head": lambda: self.browser.hover(5, 5),
            "to the margin": lambda: self.browser.hover(10, y),
            "to the list": lambda: self.browser.hover(1270, 790),
            "out of the window": lambda: self.browser.mouse("mouseMoved", -5, y),
            "another window": lambda: self.browser.run("window.dispatchEvent(new Event('blur')); return 0"),
        }
        for name, action in leave.items():
            with self.subTest(name):
                self.browser.hover(x, y)
                self.assertNotEqual(self.picture(), plain)
                self.assertFalse(self.is_hidden("tip"))
                action()
                self.assertEqual(self.picture(), plain)
                self.assertTrue(self.is_hidden("tip"))

    def test_outline_is_of_what_is_under_the_pointer(self):
        self.open_step(400)
        x, y = self.place_of("gelu.20")
        self.browser.hover(x, y)
        hovered = "memoryPage.state.hovered && memoryPage.state.hovered.index"
        first = self.browser.run(hovered)
        for key in "pt0":
            self.browser.key(key)
            self.browser.settle()
            under = self.browser.run("""
                const { panels, hovered } = memoryPage.state;
                const { scale, canvas } = panels[0];
                const frame = canvas.getBoundingClientRect();
                const box = hovered && hovered.index >= 0 ? memoryPage.boxOf(panels[0], hovered.index) : null;
                const x = arguments[0] - frame.left, y = arguments[1] - frame.top;
                return !box || (box.left - 5 <= x && x <= box.left + box.width + 5 &&
                  box.top - 5 <= y && y <= box.top + box.height + 5)""", x, y)
            self.assertTrue(under, key)
        self.assertEqual(self.browser.run(hovered), first)
        self.choose("layout", "stack")
        self.assertEqual(self.browser.run(hovered), -1)
        self.choose("layout", "boxes")
        self.browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.browser.mouse("mouseMoved", x + 9, y, button="left", buttons=1)
        self.browser.settle()
        self.assertIsNone(self.browser.run("memoryPage.state.hovered"))
        self.browser.mouse("mouseReleased", x + 9, y, button="left", clickCount=1)

    def test_labels_say_what_names_do_not(self):
        self.open("report", SAMPLE)
        texts = {label["text"] for label in self.labels()}
        self.assertIn("reduce_max dump_samples.py:357", texts)
        self.assertEqual([text for text in texts if "fusion" in text], [])
        self.browser.hover(*self.place_of("ynn_fusion.67"))
        self.assertTrue(self.text("tip").startswith("reduce_max dump_samples.py:357\nynn_fusion.67\n"))
        self.browser.key("/")
        self.type("ynn_fusion.67")
        self.assertIn("1 value,", self.text("found"))

    def test_labels_do_not_overlap(self):
        budget = "--mem-limit=80%", "--limit-counts=temp+outputs", "--memory-model=heap"
        for pages in (("report", SAMPLE), (SAMPLE, *budget), ("report", SAMPLE, "--max-peak=118MiB")):
            self.open(*pages)
            for width, key in ((1280, "0"), (1280, "p"), (1700, "t"), (480, "0")):
                self.browser.resize(width, 800)
                self.browser.settle()
                self.browser.key(key)
                self.browser.settle()
                for panel in range(self.browser.run("memoryPage.state.panels.length")):
                    labels = self.labels(panel)
                    self.assertGreater(len(labels), 0)
                    for i, a in enumerate(labels):
                        for b in labels[:i]:
                            overlaps = (a["left"] < b["right"] and b["left"] < a["right"] and
                                        a["top"] < b["bottom"] and b["top"] < a["bottom"])
                            self.assertFalse(overlaps, (pages, width, a, b))

    def test_further_memories_have_tracks(self):
        module = pathlib.Path(__file__).parents[1] / "golden" / "spaces" / "tracks.hlo"
        self.open("report", module, "--target=tpu")
        panels = self.browser.run("""
            return memoryPage.state.panels.map(({ title, row, view, totalBytes, canvas }) => {
                const { top, bottom } = canvas.getBoundingClientRect();
                return { title, row, x1: view.x1, high: view.y1 / totalBytes, top, bottom };
            });""")
        self.assertEqual([(panel["title"], panel["row"]) for panel in panels],
                         [("", 0), ("VMEM, S(1)", 1), ("SMEM, S(2)", 2), ("host, S(5)", 3)])
        for above, below in zip(panels, panels[1:]):
            self.assertLess(above["bottom"], below["top"])
        self.assertEqual({round(panel["high"], 2) for panel in panels}, {1.09})
        self.shoot("tracks")
        self.browser.key("x")  # zooms the schedule of all, and no memory
        self.browser.settle()
        zoomed = self.browser.run("return memoryPage.state.panels.map(({ view }) => [view.x0, view.x1])")
        self.assertEqual(len({tuple(view) for view in zoomed}), 1)
        self.assertLess(zoomed[0][1] - zoomed[0][0], panels[0]["x1"])
        self.browser.hover(*self.place_of("joined", 1))
        self.assertIn("joined", self.text("tip"))

    def test_labels_leave_the_line_of_live_bytes_free(self):
        self.open("report", SAMPLE)
        crossed = self.browser.run("""
            const panel = memoryPage.state.panels[0];
            const { scale, plot } = panel;
            return panel.labels.filter((label) => label.index !== undefined).filter((label) => {
              for (let x = label.left; x <= label.right; x++) {
                const y = scale.y(panel.live[Math.floor(scale.position(x))]);
                if (label.top < y && y < label.bottom) return true;
              }
              return false;
            })""")
        self.assertEqual(crossed, [])

    def test_colours_begin_with_the_scopes_that_separate(self):
        self.open("report", SAMPLE)
        self.assertEqual(self.browser.run("document.getElementById('group').value"), "scope")
        self.assertFalse(self.is_hidden("depth-label"))
        for wanted in ("dot_general", "reduce_max", "params['blocks'][0]", "all others"):
            self.assertIn(wanted, self.text("legend"))
        self.assertNotEqual(self.pixel_of("ynn_fusion.67"), self.pixel_of("ynn_fusion.62"))
        self.open("report", self.write("m.hlo", "HloModule m, is_scheduled=true\nENTRY e {\n"
                                       "  p = f32[999] parameter(0)\n  ROOT n = f32[999] negate(p)\n}\n"))
        self.assertEqual(self.browser.run("document.getElementById('group').value"), "category")
        self.assertIn("output", self.text("legend"))

    def test_list_of_the_peak(self):
        self.open("report", SAMPLE)
        self.assertFalse(self.is_hidden("peak"))
        rows = self.browser.run("""
            const panel = memoryPage.state.panels[0];
            return [...document.querySelectorAll("#peak li button")].map(({ dataset, innerText }) =>
              [Number(dataset.index), panel.bytes[dataset.index], innerText])""")
        self.assertEqual([row[1] for row in rows], sorted((row[1] for row in rows), reverse=True))
        live = self.browser.run("""
            const { count, begin, end, peakPosition } = memoryPage.state.panels[0];
            return Array.from({ length: count }, (_, i) => i)
              .filter((i) => begin[i] <= peakPosition && peakPosition < end[i])""")
        self.assertEqual(sorted(row[0] for row in rows), live)
        self.assertIn("reduce_max dump_samples.py:357", rows[0][2])
        self.assertIn(f"{len(rows)} values at position 145; 2.42 MiB is kept for outputs", self.text("peak"))
        self.browser.key("+")
        self.browser.key("+")
        self.browser.key("+")
        small = len(rows) - 1
        self.browser.run("document.querySelectorAll('#peak li button')[arguments[0]].click(); return 0", small)
        self.browser.settle()
        self.assertEqual(self.browser.run("memoryPage.state.selected.index"), rows[small][0])
        self.assertEqual(self.browser.run("document.querySelectorAll('#peak [aria-current]').length"), 1)
        box = self.browser.run("""
            const { panels, selected } = memoryPage.state;
            const { plot, canvas } = panels[0];
            const box = memoryPage.boxOf(panels[0], selected.index);
            return [box.left + box.width - plot.left, plot.left + plot.width - box.left,
                    box.top + box.height - plot.top, plot.top + plot.height - box.top]""")
        self.assertGreater(min(box), 0)
        self.shoot("list")
        self.browser.key("l")
        self.assertTrue(self.is_hidden("peak"))

    def test_list_of_two(self):
        self.open(SAMPLE, "--mem-limit=80%", "--limit-counts=total", "--memory-model=heap")
        self.browser.key("l")
        sums = []
        for side in (0, 1):
            self.browser.run("document.querySelectorAll('#peak .sides button')[arguments[0]].click(); return 0", side)
            sums.append(float(self.browser.run("document.querySelector('#peak h2 span').innerText").split()[0]))
        self.assertGreater(sums[0], sums[1])
        self.browser.run("document.querySelector('#peak li button').click(); return 0")
        self.assertEqual(self.browser.run("memoryPage.state.selected.panel.index"), 1)

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

    def test_click_shows_the_call_stack(self):
        golden = pathlib.Path(__file__).parents[1] / "golden/frames/input.hlo"
        self.open("report", golden)
        self.browser.click(*self.place_of("update"))
        details = self.text("details")
        self.assertIn("called from: 2 frames", details)
        self.assertLess(details.index("train.py:38 in <module>"), details.index("update.py:42 in apply_updates"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('#details .library').length"), 1)
        self.browser.key("Escape")
        self.browser.click(*self.place_of("added"))
        self.assertIn("(from /opt/company/shared/layers.py:7)", self.text("details"))
        self.shoot("stack")

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
                             ("scope", "block_")):
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
        self.assertRegex(self.text("tip"), r"arguments\n30.50 MiB, \d+.\d % of what lives\n41 values\nposition")
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
        self.assertRegex(self.text("figures"), r"119\.56 MiB of memory before, 9\d\.\d\d MiB after")
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


class Pareto(PageTest):
    """The page of compare --pareto."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.dir / "pareto.html"
        subprocess.run([cls.tool, "compare", SAMPLE, "--schedulers=input,default", "--algorithms=standard,path",
                        f"--pareto={cls.page}", "--quiet"], check=True, timeout=240)

    def setUp(self):
        super().setUp()
        self.browser.open(self.page)
        self.browser.settle()

    def place_of_run(self, algorithm, scheduler):
        return self.browser.run("""
            const mark = [...document.querySelectorAll("[data-run]")].findLast(({ dataset }) =>
              dataset.run.startsWith(`${arguments[0]}\\nscheduler: ${arguments[1]}\\n`));
            const { x, y, width, height } = mark.getBoundingClientRect();
            return [x + width / 2, y + height / 2]""", algorithm, scheduler)

    def faded(self):
        return self.browser.run("document.querySelectorAll('.marker.faded').length")

    def test_hover(self):
        self.browser.hover(*self.place_of_run("path", "input"))
        for wanted in ("path\nscheduler: input\nbudget: ", "\npeak: ", "MiB", "\nadded time: ", "recomputed: "):
            self.assertIn(wanted, self.text("tip"))
        self.assertGreater(self.faded(), 0)
        self.shoot("pareto-hover")
        self.browser.hover(1270, 790)
        self.assertTrue(self.is_hidden("tip"))
        self.assertEqual(self.faded(), 0)

    def test_legend(self):
        self.browser.run("document.querySelector('.entry').dispatchEvent(new Event('click')); return 0")
        self.assertGreater(self.faded(), 0)
        self.browser.hover(*self.place_of_run("path", "default"))
        self.assertNotIn("path", self.text("tip"))
        self.browser.run("document.querySelector('.entry').dispatchEvent(new Event('click')); return 0")
        self.browser.hover(1270, 790)
        self.assertEqual(self.faded(), 0)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    browser.need_selenium()
    PageTest.tool = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1 and not sys.argv[1].startswith(("Page", "Pareto")):
        PageTest.shots = sys.argv.pop(1)
        pathlib.Path(PageTest.shots).mkdir(parents=True, exist_ok=True)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
