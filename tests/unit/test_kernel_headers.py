# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two header packages become one tree of links."""

from __future__ import annotations

from pathlib import Path

from netclone_host.kernel.kernel_headers import merge


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_directory_of_one_package_is_a_link(tmp_path: Path) -> None:
    write(tmp_path / "a/include/generated/x.h", "x")
    merge(tmp_path / "a/include", tmp_path / "tree/include")
    assert (tmp_path / "tree/include").is_symlink()
    assert (tmp_path / "tree/include/generated/x.h").read_text() == "x"


def test_a_directory_of_both_holds_the_files_of_both(tmp_path: Path) -> None:
    write(tmp_path / "arch/include/generated/x.h", "arch")
    write(tmp_path / "arch/include/both/1.h", "arch 1")
    write(tmp_path / "common/include/linux/y.h", "common")
    write(tmp_path / "common/include/both/1.h", "common 1")
    write(tmp_path / "common/include/both/2.h", "common 2")
    for part in ("arch", "common"):
        merge(tmp_path / part / "include", tmp_path / "tree/include")
    tree = tmp_path / "tree/include"
    assert (tree / "generated/x.h").read_text() == "arch"
    assert (tree / "linux/y.h").read_text() == "common"
    assert (tree / "both/1.h").read_text() == "arch 1"
    assert (tree / "both/2.h").read_text() == "common 2"
    assert sorted(path.name for path in (tmp_path / "arch/include/both").iterdir()) == ["1.h"]
