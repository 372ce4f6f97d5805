"""What the command line knows of a run is kept with its result, wherever that goes."""

import hashlib

import fairshapley as fs
from tests.cli.files import passed


def test_the_command_and_the_hashes_of_its_files_are_kept(folder):
    (folder / "train.csv").rename(folder / "my rows.csv")
    options = ("--target", "label", "--test", "test.csv", "--group-by", "supplier", "--quiet")
    files = ("--out", "v.json", "--journal", "run.db")
    passed("value", "my rows.csv", *options, *files)
    saved = fs.Result.load("v.json")
    assert saved.run.command == f"fairshapley value 'my rows.csv' {' '.join((*options, *files))}"
    contents = [(folder / name).read_bytes() for name in ("my rows.csv", "test.csv")]
    assert [file[:2] for file in saved.run.inputs] == [
        ("my rows.csv", hashlib.sha256(contents[0]).hexdigest()),
        ("test.csv", hashlib.sha256(contents[1]).hexdigest()),
    ]
    assert [file.size for file in saved.run.inputs] == [len(content) for content in contents]
    assert saved.game.unit == "accuracy on 30 test rows"
    # The journal holds the very same result, notes and pairs included.
    assert fs.resume("run.db").to_dict() == saved.to_dict()
    passed("value", "my rows.csv", *options, "--method", "exact", "--out", "e.json")
    assert len(fs.Result.load("e.json").run.inputs) == 2
