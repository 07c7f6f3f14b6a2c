#!/usr/bin/env python3
"""The lower bound against what the tool itself reaches. usage: test_bound.py TOOL [CLASS...]"""

import json
import tool
from tool import GOLDEN, SAMPLES

WITHIN = {"--unfuse=all": "fusions", "--inline-calls=always": "calls"}


class BoundTest(tool.ToolTest):
    def lowest(self, path, *options):
        """The summary of the lowest result that is found with little effort, None if the input is not
        for that."""
        result = self.run_tool(str(path), "--mem-limit=min", "--small-node-limit=0", "--effort=0",
                               "--remat-collectives", "--json=-", "--quiet", *options)
        return json.loads(result.out) if result.code == 0 else None

    def check(self, path, algorithms):
        """No result is below its own bound. One that is below the bound of the input as it is was made of
        what that bound takes as it is."""
        plain = self.lowest(path, "--algorithm=search")
        if plain is None:
            return 0
        for algorithm in algorithms:
            for option in (None, *WITHIN):
                found = self.lowest(path, f"--algorithm={algorithm}", *([option] if option else []))
                with self.subTest(path=path, algorithm=algorithm, option=option):
                    self.assertGreaterEqual(found["peak_after_bytes"], found["lower_bound_bytes"])
                    if found["peak_after_bytes"] < plain["lower_bound_bytes"]:
                        self.assertIn(WITHIN.get(option), plain["lower_bound_within"])
        return 1


class BoundOfGoldens(BoundTest):
    def test_bound(self):
        paths = sorted(GOLDEN.glob("*/*.hlo"))
        self.assertGreater(sum(self.check(path, ("search", "auto")) for path in paths), 40)

    def test_calls(self):
        """A loop in a call that XLA:CPU compiles alone stays there, and the bound says so. In another call
        it is rewritten, to less than that."""
        path = GOLDEN / "hardly" / "loop_in_call.hlo"
        alone = self.lowest(path)
        self.assertEqual(alone["lower_bound_within"], ["calls"])
        text = path.read_text().replace(', frontend_attributes={xla_cpu_small_call="true"}', "")
        opened = self.lowest(self.write("opened.hlo", text))
        self.assertLess(opened["peak_after_bytes"], alone["lower_bound_bytes"])
        self.assertEqual(opened["lower_bound_within"], [])


class BoundOfSamples(BoundTest):
    def test_bound(self):
        paths = sorted(SAMPLES.glob("*.hlo"))
        self.assertEqual(sum(self.check(path, ("search",)) for path in paths), len(paths))


if __name__ == "__main__":
    tool.main()
