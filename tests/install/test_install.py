"""What is installed works where it is: the main job, device profiles, the manual page, completions, and the
library's example by pkg-config and by CMake. Nothing is looked for anywhere else."""

import gzip
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("REMAT_HLO_BUILD", ROOT / "build" / "release"))
COMPILER = os.environ.get("CC", "cc")
EXIT_SKIPPED = 77
TIMEOUT_SECONDS = 600
EXAMPLE_OUTPUT = "ROOT r = f32[1000] add(p, a)"
PACKAGER = "packager@example.org"


class InstallTest(unittest.TestCase):
    """What is true of an installed tree, whose prefix is self.prefix."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="install.")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.prefix = self.install()

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"there is no {program}")

    def run_program(self, *args, code=0, env=None):
        run = subprocess.run(
            list(map(str, args)),
            cwd=self.dir,
            env=os.environ | (env or {}),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        self.assertEqual(run.returncode, code, f"{args}\n{run.stdout[-4000:]}\n{run.stderr[-4000:]}")
        return run.stdout

    def find(self, pattern):
        """The one file of the tree that the pattern names."""
        found = sorted(path for path in self.prefix.rglob(pattern) if path.is_file())
        self.assertEqual(len(found), 1, (pattern, found))
        return found[0]

    # ---- the tool ----

    def test_main_job(self):
        tool = self.prefix / "bin" / "remat-hlo"
        sample = self.find("gpt_unrolled.after_optimizations.hlo")
        out = self.run_program(tool, sample, "--mem-limit=60%", "-o", "step.hlo", "--csv=step.csv")
        self.assertIn("met", out)
        self.assertIn("computes", self.run_program(tool, "verify", sample, "step.hlo"))
        self.assertIn("true", (self.dir / "step.csv").read_text())

    def test_profiles(self):
        tool = self.prefix / "bin" / "remat-hlo"
        profiles = self.prefix / "share" / "remat-hlo" / "profiles"
        built_in = sorted(path.stem for path in (ROOT / "share/remat-hlo/profiles").glob("*.json"))
        self.assertEqual(self.run_program(tool, "list", "--names=devices").split(), built_in)
        # What is beside the program is found, and goes before what is built in.
        text = (profiles / "cpu.json").read_text()
        (profiles / "own.json").write_text(text.replace('"cpu"', '"own"', 1))
        (profiles / "cpu.json").write_text("{")
        sample = self.find("*.hlo")
        self.run_program(tool, "cost", sample, "--device=own", "--quiet")
        self.run_program(tool, "cost", sample, "--device=cpu", "--quiet", code=3)
        # Without the folder, and as a copy alone, the program still has its own.
        shutil.rmtree(profiles)
        self.assertEqual(self.run_program(tool, "list", "--names=devices").split(), built_in)
        shutil.copy(tool, self.dir / "alone")
        self.run_program(self.dir / "alone", "cost", sample, "--device=cpu", "--quiet")

    def test_manual_page(self):
        self.need("man")
        page = self.find("remat-hlo.1*")
        shown = self.run_program("man", "-l", page, env={"MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
        self.assertIn("remat-hlo - schedule and rematerialize", shown)

    def test_completions(self):
        for shell, name in (("bash", "remat-hlo"), ("zsh", "_remat-hlo"), ("fish", "remat-hlo.fish")):
            files = [path for path in self.prefix.joinpath("share").glob(f"{shell}*/*/{name}")]
            self.assertEqual(len(files), 1, shell)
            if shutil.which(shell):
                self.run_program(shell, "-n", files[0])

    def test_documents(self):
        self.assertIn("Apache License", self.licence())
        if (BUILD / "generated" / "page_parts.c").exists():
            self.assertIn("Mike Bostock", self.notice())
        for page in self.prefix.joinpath("share/doc/remat-hlo").glob("*.md"):
            for link in re.findall(r"\]\(([^):#]+)\)", page.read_text()):
                if link != "remat-hlo.1":  # it is where man finds it
                    self.assertTrue((page.parent / link).exists(), (page.name, link))

    def test_nothing_of_the_machine(self):
        """An installed tree does not know where it was built or installed."""
        for path in self.prefix.rglob("*"):
            if not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            for folder in (str(ROOT), str(BUILD), str(self.prefix), "/usr/local"):
                self.assertNotIn(folder.encode(), data, path)

    # ---- the library ----

    def pc_folder(self):
        return self.find("remat-hlo.pc").parent

    def pkg_config(self, *args):
        env = {"PKG_CONFIG_PATH": str(self.pc_folder())}
        return shlex.split(self.run_program("pkg-config", *args, "remat-hlo", env=env))

    def library_folder(self):
        return self.find("libremat_hlo.a").parent

    def test_example_by_pkg_config(self):
        self.need("pkg-config")
        example = self.find("example.c")
        self.run_program(COMPILER, example, *self.pkg_config("--cflags", "--libs"), "-o", "shared")
        env = {"LD_LIBRARY_PATH": str(self.library_folder())}
        self.assertIn(EXAMPLE_OUTPUT, self.run_program("./shared", env=env))
        flags = [flag for flag in self.pkg_config("--cflags", "--libs", "--static") if flag != "-lremat_hlo"]
        self.run_program(COMPILER, example, self.library_folder() / "libremat_hlo.a", *flags, "-o", "static")
        self.assertIn(EXAMPLE_OUTPUT, self.run_program("./static"))

    def configure(self, folder, *args, code=0):
        return self.run_program("cmake", "-S", ROOT / "tests/install/program", "-B", folder,
                                f"-DCMAKE_C_COMPILER={COMPILER}", f"-DSOURCE={self.find('example.c')}",
                                f"-DCMAKE_PREFIX_PATH={self.prefix}", *args, code=code)

    def test_example_by_find_package(self):
        version = self.pkg_config("--modversion")[0]
        for kind in ("shared", "static"):
            self.configure(kind, f"-DKIND={kind}", f"-DWANTED={version}")
            self.run_program("cmake", "--build", kind)
            self.assertIn(EXAMPLE_OUTPUT, self.run_program(f"{kind}/program"))
            cache = (self.dir / kind / "CMakeCache.txt").read_text()
            self.assertIn(f"remat-hlo_DIR:PATH={self.prefix}", cache)
        major, minor, _ = version.split(".")
        self.configure("newer", f"-DWANTED={major}.{int(minor) + 1}", code=1)

    # ---- what packages have in other forms ----

    def licence(self):
        return (self.prefix / "share/doc/remat-hlo/LICENSE").read_text()

    def notice(self):
        return (self.prefix / "share/doc/remat-hlo/NOTICE").read_text()


class Prefix(InstallTest):
    """cmake --install, with a prefix that the build did not know, moved afterwards."""

    def install(self):
        self.run_program("cmake", "--install", BUILD, "--prefix", self.dir / "first")
        (self.dir / "first").rename(self.dir / "moved here")
        return self.dir / "moved here"


class PackageTest(InstallTest):
    """What cpack makes, once for all cases."""

    generator = None
    made = None

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="cpack.")

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    def packages(self, pattern):
        folder = pathlib.Path(self.made.name)
        if not any(folder.iterdir()):
            self.run_program("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", self.generator,
                             "-B", folder, env={"DEBEMAIL": PACKAGER})
        return sorted(folder.glob(pattern))


class Tarball(PackageTest):
    generator = "TGZ"

    def install(self):
        (package,) = self.packages("*.tar.gz")
        (self.dir / "unpacked").mkdir()
        self.run_program("tar", "-xzf", package, "-C", "unpacked")
        (folder,) = (self.dir / "unpacked").iterdir()
        self.assertEqual(folder.name, package.name.removesuffix(".tar.gz"))
        folder.rename(self.dir / "moved")
        return self.dir / "moved"


class Debian(PackageTest):
    generator = "DEB"

    def install(self):
        self.need("dpkg-deb", "dpkg-shlibdeps", "file")
        for package in self.packages("*.deb"):
            self.run_program("dpkg-deb", "-x", package, self.dir / "root")
        return self.dir / "root" / "usr"

    def licence(self):
        text = self.notice()
        self.assertIn("/usr/share/common-licenses/Apache-2.0", text)
        return text

    def notice(self):
        return (self.prefix / "share/doc/remat-hlo/copyright").read_text()

    def test_lintian(self):
        self.need("lintian")
        args = ["--allow-root"] if os.geteuid() == 0 else []
        self.run_program("lintian", *args, "--fail-on=error,warning", *self.packages("*.deb"))

    def test_packages(self):
        fields = {}
        for package in self.packages("*.deb"):
            control = self.run_program("dpkg-deb", "-f", package)
            field = dict(re.findall(r"^([A-Z][A-Za-z-]*): (.*)$", control, re.M))
            fields[field["Package"]] = field
            self.assertIn(PACKAGER, field["Maintainer"])
        library, tool, development = sorted(fields, key=lambda name: (name.endswith("dev"), name))
        self.assertEqual((tool, development), ("remat-hlo", "libremat-hlo-dev"))
        self.assertRegex(library, r"^libremat-hlo\d")
        # dpkg-shlibdeps knows what the programs are linked to.
        for name in (tool, library):
            self.assertIn("libc6 (>= ", fields[name]["Depends"])
            self.assertIn("libcjson1", fields[name]["Depends"])
        self.assertIn(f"{library} (= {fields[library]['Version']})", fields[development]["Depends"])

    def test_changelog(self):
        def installed(name):
            return gzip.decompress((self.prefix / "share/doc/remat-hlo" / name).read_bytes())

        self.assertEqual(installed("changelog.gz"), (ROOT / "CHANGELOG.md").read_bytes())
        self.assertRegex(installed("changelog.Debian.gz"), rb"\Aremat-hlo \(")


def main():
    """usage: test_install.py TOOL [CLASS...]"""
    if len(sys.argv) < 2:
        sys.exit(main.__doc__)
    sys.argv.pop(1)  # what is tested is what is installed
    if len(sys.argv) == 1:
        sys.argv += ["Prefix", "Tarball", "Debian"]
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(EXIT_SKIPPED if result.skipped else 0)


if __name__ == "__main__":
    main()
