"""The manual page names every option, algorithm, scheduler, memory model and device, and its examples
work as they stand. Links of the pages lead to files that exist."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, tool = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
page = (root / "man" / "remat-hlo.1").read_text()
plain = re.sub(r"\\f[A-Z]", "", page).replace("\\-", "-")


def listed(*arguments):
    return subprocess.run([tool, "list", *arguments], capture_output=True, text=True,
                          check=True).stdout.split()


def check_names():
    missing = []
    commands = listed("--names=commands")
    for command in commands:
        missing += [option for option in listed(f"--options={command}")
                    if not re.search(re.escape(option.rstrip("=")) + r"\b", plain)]
    for what in ("schedulers", "algorithms", "models", "packings", "devices", "parameters", "rules"):
        missing += [name for name in listed(f"--names={what}")
                    if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", plain)]
    missing += [command for command in commands if f".B {command}" not in page]
    return [f"the manual page does not name {name}" for name in dict.fromkeys(missing)]


def check_examples():
    examples = re.findall(r"^\.EX\n(.*?)^\.EE", page, re.S | re.M)
    if len(examples) < 4:
        return ["the manual page has no examples"]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root / "hlo_samples", pathlib.Path(folder, "hlo_samples"))
        environment = dict(os.environ, PATH=f"{tool.parent}:{os.environ['PATH']}")
        for example in examples:
            run = subprocess.run(["bash", "-eo", "pipefail", "-c", example.replace("\\", "")],
                                 cwd=folder, env=environment, capture_output=True, text=True)
            if run.returncode:
                faults.append(f"exit status {run.returncode}:\n{example}{run.stderr}")
    return faults


def check_links():
    """Links of the pages to files of the tree."""
    faults = []
    for file in [*root.glob("*.md"), *root.glob("man/*.md"), *root.glob("hlo_samples/*.md")]:
        for link in re.findall(r"\]\(([^)#:\s]+)\)", file.read_text()):
            if not (file.parent / link).exists():
                faults.append(f"{file.relative_to(root)}: there is no {link}")
    pages = {path.name for path in root.glob("man/*.md")}
    named = set(re.findall(r"[\w-]+\.md", plain.partition(".SH SEE ALSO")[2]))
    return faults + [f"SEE ALSO does not name {name}" for name in sorted(pages - named)] + [
        f"SEE ALSO names {name}, which is not in man/" for name in sorted(named - pages)]


found = check_names() + check_links() + check_examples()
print("\n".join(found) or "the manual page and the pages beside it are right")
sys.exit(1 if found else 0)
