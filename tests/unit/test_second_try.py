"""What scripts/test does with tests that failed, on small folders of tests that were made up for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sabotage.sabotage import ROOT

ONCE = """
from pathlib import Path
def test_{name}():
    mark = Path(__file__).with_suffix(".{name}")
    seen = mark.exists()
    mark.touch()
    assert seen, "the first {name}"
"""
NEVER = "def test_{name}():\n    assert False, 'never {name}'\n"
WELL = "def test_{name}():\n    pass\n"


def tried(folder: Path, *options: str) -> tuple[int, str]:
    """The exit code, and what was said. With workers, as scripts/test has them; without plugins that load slowly."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, str(ROOT / "scripts/second_try.py"), *("-p", "xdist", "-n", "2"), *options]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=quick, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def write(folder: Path, **tests: str) -> None:
    (folder / "test_it.py").write_text("".join(test.format(name=name) for name, test in tests.items()))


def test_what_passes_alone_is_named_at_the_very_end(tmp_path: Path) -> None:
    write(tmp_path, well=WELL, one=ONCE, other=ONCE)
    code, said = tried(tmp_path, "test_it.py")

    assert code == 0
    assert sorted(said.splitlines()[-2:]) == [
        "failed at first, passed alone: test_it.py::test_one",
        "failed at first, passed alone: test_it.py::test_other",
    ]
    assert "the first one" in said
    assert said.count("= 1 passed in ") == 2, "each alone"


def test_one_that_fails_twice_is_a_failure_whatever_the_others_do(tmp_path: Path) -> None:
    write(tmp_path, never=NEVER, one=ONCE)
    code, said = tried(tmp_path)

    assert code == 1
    assert sorted(said.splitlines()[-2:]) == [
        "failed at first, and failed alone: test_it.py::test_never",
        "failed at first, passed alone: test_it.py::test_one",
    ]


def test_more_than_three_have_no_second_try(tmp_path: Path) -> None:
    write(tmp_path, a=ONCE, b=ONCE, c=ONCE, d=ONCE)
    code, said = tried(tmp_path)

    assert code == 1
    assert "alone" not in said


@pytest.mark.parametrize("options", [("-x",), ("-x", "-n", "0")])
def test_a_suite_that_was_not_run_to_its_end_has_not_passed(tmp_path: Path, options: tuple[str, ...]) -> None:
    write(tmp_path, a=ONCE, b=ONCE, c=ONCE)
    code, said = tried(tmp_path, *options)

    assert code != 0
    assert "alone" not in said


def test_what_cannot_be_collected_has_no_second_try(tmp_path: Path) -> None:
    write(tmp_path, one=ONCE)
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name")
    code, said = tried(tmp_path)

    assert code != 0
    assert "alone" not in said


def test_fixtures_that_fail_and_workers_that_die_have_a_second_try_too(tmp_path: Path) -> None:
    fixture = ONCE.replace("def test_{name}", "import pytest\n@pytest.fixture\ndef fixture")
    uses = "def test_uses(fixture):\n    pass\n"
    dies = ONCE.replace("assert seen,", "import os\n    seen or os._exit(3)  #")
    write(tmp_path, of_fixture=fixture, uses=uses, dies=dies)
    code, said = tried(tmp_path)

    assert code == 0, said
    assert sorted(said.splitlines()[-2:]) == [
        "failed at first, passed alone: test_it.py::test_dies",
        "failed at first, passed alone: test_it.py::test_uses",
    ]


def test_the_options_are_the_same_and_odd_names_are_kept(tmp_path: Path) -> None:
    names = ["a b", "c' $HOME", "[::]"]
    head = f"import pytest\n@pytest.mark.parametrize('name', {names!r})\n"
    (tmp_path / "test_it.py").write_text(
        head + "def test_it(name, pytestconfig):\n"
        "    from pathlib import Path\n"
        "    mark = Path(__file__).with_name(name.encode().hex())\n"
        "    seen = mark.exists()\n"
        "    mark.touch()\n"
        "    assert seen\n"
        "    assert pytestconfig.option.markexpr == 'not slow'\n"
    )
    code, said = tried(tmp_path, "-m", "not slow", ".")

    assert code == 0, said
    assert said.count("failed at first, passed alone: ") == 3


def test_all_that_passes_at_first_says_nothing_more(tmp_path: Path) -> None:
    write(tmp_path, one=WELL)
    code, said = tried(tmp_path)

    assert code == 0
    assert "1 passed" in said.splitlines()[-1]
