"""What the shells complete, asked of the shells themselves."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess

import tool
from tool import ToolTest

SCRIPTS = tool.ROOT / "scripts" / "completion"

# A widget that completes as Tab does, and writes down what it had to offer.
ZSH_SETUP = """
fpath=({dir}/functions $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {{
  local -a hits
  if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\\ * ]]; then
    builtin compadd -A hits "$@"
    (( $#hits )) && print -rl -- $hits >>{dir}/hits
  fi
  builtin compadd "$@"
}}
capture() {{ _main_complete; print >{dir}/done }}
zle -C capture complete-word capture
bindkey '^T' capture
PROMPT='ready> '
"""


class ShellTest:
    """What each shell has to do, in the words of complete(). No test itself, but a part of one for each."""

    shell = None

    def setUp(self):
        super().setUp()
        if not shutil.which(self.shell):
            self.skipTest(f"there is no {self.shell}")
        self.path_of_tool = str(pathlib.Path(self.tool).parent)
        self.start_shell()

    def start_shell(self):
        pass

    def environment(self, extra):
        env = super().environment(extra)
        env.update(PATH=f"{self.path_of_tool}:{env['PATH']}", HOME=str(self.dir), LC_ALL="C.UTF-8")
        return env

    def run_shell(self, *args):
        run = subprocess.run(
            [self.shell, *args],
            cwd=self.dir,
            env=self.environment(None),
            capture_output=True,
            text=True,
            timeout=tool.TIMEOUT_SECONDS,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""), args)
        return run.stdout

    def test_every_option(self):
        for command in self.expect(0, "list", "--names=commands").out.split():
            options = self.expect(0, "list", f"--options={command}").out.split()
            self.assertIn("--help", options)
            self.assertEqual(sorted(set(self.complete(command, "--"))), sorted(set(options)), command)

    def test_values(self):
        for words, expected in (
            (("comp",), ["compare"]),
            (("compare", "--bud"), ["--budgets="]),
            (("compare", "--schedulers=input,df"), ["dfs"]),
            (("compare", "--algorithms", "standardc"), ["standardcompress"]),
            (("remat", "--scheduler=df"), ["dfs"]),
            (("x.hlo", "-a", "path-"), ["path-compat"]),
            (("x.hlo", "--protect=c"), ["conditional", "control-deps"]),
            (("x.hlo", "--remat-mode=narrow,of"), ["offload"]),
            (("x.hlo", "--set=engine.att"), ["engine.attempts="]),
            (("list", "--names=al"), ["algorithms"]),
            (("list", "--options=ve"), ["verify"]),
        ):
            # Shells differ in how much of what stands before it they repeat.
            found = [re.sub(r"^.*[=,](?=.)", "", word) for word in self.complete(*words)]
            self.assertEqual(sorted(found), expected, words)

    def test_files(self):
        self.write("step.hlo", "")
        for words in (
            ("ste",),
            ("report", "ste"),
            ("step.hlo", "-o", "ste"),
            ("step.hlo", "--output=ste"),
        ):
            found = [word.split("=")[-1] for word in self.complete(*words)]
            self.assertEqual(found, ["step.hlo"], words)


class CompletionOfBash(ShellTest, ToolTest):
    shell = "bash"

    def complete(self, *words):
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_remat_hlo 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        completion = SCRIPTS / "remat-hlo.bash"
        return self.run_shell("-c", script, "bash", completion, self.tool, *words).split()


class CompletionOfFish(ShellTest, ToolTest):
    shell = "fish"

    def complete(self, *words):
        script = 'source $argv[1]; complete -C "$argv[2]"'
        line = " ".join(("remat-hlo", *words))
        out = self.run_shell("--no-config", "-c", script, SCRIPTS / "remat-hlo.fish", line)
        return [line.split("\t")[0] for line in out.splitlines()]


class CompletionOfZsh(ShellTest, ToolTest):
    shell = "zsh"

    def start_shell(self):
        (self.dir / "functions").mkdir()
        (self.dir / "functions" / "_remat-hlo").symlink_to(SCRIPTS / "remat-hlo.zsh")
        self.write(".zshrc", ZSH_SETUP.format(dir=self.dir))
        env = self.environment(None) | {"ZDOTDIR": str(self.dir), "TERM": "dumb"}
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execvpe("zsh", ["zsh", "-d", "-i"], env)
        self.pid = pid
        self.shown = b""
        self.wait_for(lambda: b"ready> " in self.read_terminal(), "zsh does not begin")
        self.addCleanup(self.end_shell)

    def end_shell(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def read_terminal(self):
        while select.select([self.terminal], [], [], 0)[0]:
            self.shown += os.read(self.terminal, 65536)
        return self.shown

    def complete(self, *words):
        for name in ("hits", "done"):
            self.path(name).unlink(missing_ok=True)
        os.write(self.terminal, " ".join(("remat-hlo", *words)).encode() + b"\x14")
        self.wait_for(lambda: self.read_terminal() and self.path("done").exists(), "zsh does not complete")
        os.write(self.terminal, b"\x15")  # an empty line again
        return self.read("hits").split("\n")[:-1] if self.path("hits").exists() else []


if __name__ == "__main__":
    tool.main()
