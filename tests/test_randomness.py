import pytest

import fairshapley as fs
from fairshapley.randomness import root_seed, round_generator, side_generator


def test_rounds_have_streams_of_their_own():
    draws = {round_generator(3, index).random() for index in range(100)}
    draws |= {round_generator(4, index).random() for index in range(100)}
    draws |= {side_generator(3, purpose).random() for purpose in ("verify", "other")}
    assert len(draws) == 202


def test_fresh_seeds_differ():
    assert root_seed(None) != root_seed(None)


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(fs.InputError, match="seed"):
        root_seed(seed)
