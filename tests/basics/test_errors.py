"""Errors have fields, from which Python and the shell make their sentences."""

import pickle

import pytest

import fairshapley as fs
from fairshapley import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.FairShapleyError)
]


def in_shell(name, value):
    if name == "base":
        raise LookupError(name)
    return f"--{name.replace('_', '-')} {value or ''}".strip()


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_the_way_from_a_worker(kind):
    error = kind("must be 0", parameter="seed", received=-1, remedy="give {seed:0}")
    same = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert str(same) == str(error) == "seed must be 0, not -1: give seed=0"
    assert (same.parameter, same.received, same.remedy) == ("seed", -1, ("give {seed:0}",))
    assert str(kind("no more than a message")) == "no more than a message"


def test_the_shell_leaves_out_what_it_cannot_do():
    error = fs.InputError(
        "some rows are too few",
        remedy=("give others with {base}", "give {empty_value:0.5}"),
    )
    assert str(error) == "some rows are too few: give others with base=, or give empty_value=0.5"
    assert error.worded(in_shell) == "some rows are too few: give --empty-value 0.5"


def test_names_from_the_data_are_no_parameters():
    error = fs.InputError("column '{seed}' is twice", remedy="name it {another way}")
    assert str(error) == "column '{seed}' is twice: name it {another way}"


def test_checks_say_what_they_received():
    with pytest.raises(fs.InputError) as caught:
        fs.Fair(epsilon1=-2, delta=0.1)
    assert (caught.value.parameter, caught.value.received) == ("epsilon1", -2)
