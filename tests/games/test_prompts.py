"""The parts of a prompt: asked once each, with what stands for a part, priced, awaited, shown."""

import asyncio

import pytest

import fairshapley as fs
from fairshapley.results.report import report_html

PASSAGES = {
    "news": "the bridge was closed in march",
    "report": "ice damaged two <pillars>",
    "blog": "i love bridges",
    "copy": "the bridge was closed in march",
}


def score(answer):
    return 2.0 * ("march" in answer) + 1.0 * ("ice" in answer) - 0.5 * ("love" in answer)


def prompt_game(**options):
    asked = []

    def ask(parts):
        asked.append(parts)
        return " | ".join(parts)

    return fs.games.PromptGame(PASSAGES, ask, score, **options), asked


def test_a_prompt_is_asked_once():
    game, asked = prompt_game()
    result = fs.exact(game)
    assert result.values == pytest.approx([1.0, 1.0, -0.5, 1.0])
    assert len(asked) == len(set(asked)) == len(game.answers) < 16  # two passages are the same
    other = fs.games.PromptGame(PASSAGES, lambda parts: 1 / 0, len, answers=game.answers)
    assert fs.exact(other)["blog"] > 0


@pytest.mark.parametrize(
    ("missing", "stands"), [("[removed]", "[removed]"), (lambda part: "x" * len(part), "x" * 14)]
)
def test_something_stands_for_a_missing_part(missing, stands):
    game, asked = prompt_game(missing=missing)
    assert fs.exact(game).values == pytest.approx([1.0, 1.0, -0.5, 1.0])
    assert all(len(parts) == 4 for parts in asked)
    assert any(stands in parts for parts in asked)


def test_parts_have_prices_and_are_awaited():
    calls = []

    async def ask(parts):
        calls.append(parts)
        await asyncio.sleep(0)
        return " ".join(parts)

    def price(parts):
        return 1.0 + sum(map(len, parts)) / 4

    game = fs.games.PromptGame(PASSAGES, ask, score, price=price, price_unit="tokens")
    result = fs.exact(game)
    assert result["report"] == pytest.approx(1.0)
    assert f"{result.run.cost:.4g} tokens" in str(result)
    assert result.run.cost == pytest.approx(16 + 8 * sum(map(len, PASSAGES.values())) / 4)


def test_answers_are_no_part_of_the_fingerprint(tmp_path):
    game, asked = prompt_game(key="passages")
    options = {"budget": 16, "journal": tmp_path / "j.db"}
    first = fs.estimate(game, **options)
    made = len(asked)
    fresh, again = prompt_game(key="passages")
    assert fs.games.fingerprint(fresh) == fs.games.fingerprint(game)
    second = fs.estimate(fresh, **options)
    assert second.values.tobytes() == first.values.tobytes()
    assert (len(again), len(asked)) == (0, made)
    assert fs.verify(second, journal=tmp_path / "j.db").holds


def test_a_heat_map_shows_the_texts():
    result = fs.exact(prompt_game()[0])
    for page in (result._repr_html_(), report_html(result)):
        assert "ice damaged two &lt;pillars&gt;</span>" in page
        assert "rgba(229,57,53,0.35)" in page
        assert "blog: " in page
    assert fs.Result.from_dict(result.to_dict()).game.texts == tuple(PASSAGES.values())
    assert "rgba" not in fs.exact(fs.games.Airport([1.0, 2.0]))._repr_html_()
