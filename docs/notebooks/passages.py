# %% [markdown]
# # Which passages does an answer rest on?
#
# A system answers a question from five retrieved passages. We ask how much each passage adds to the score of the answer. The score here is
# the share of needed facts that the passages contain; in your system it is a call of a language model.

# %%
import fairshapley as fs

passages = {
    "annual report": "revenue grew by 12 percent in 2024",
    "press release": "the firm grew; revenue was up 12 percent",
    "interview": "growth came from the new plant in Leeds",
    "old article": "in 2019 the firm had 300 employees",
    "footnote": "the Leeds plant opened in March 2024",
}
needed = ("12 percent", "Leeds", "2024")


def score(group):
    """The share of the needed facts in the passages of a group."""
    text = " ".join(passages[name] for name in group)
    return sum(fact in text for fact in needed) / len(needed)


result = fs.estimate(score, players=list(passages), seed=0)
print(result)

# %% [markdown]
# The values add up to the score of all passages minus that of none. Two passages with the same fact share its worth, and the old article
# adds nothing.

# %%
result.plot()

# %% [markdown]
# Calls of a service cost time and money. `engine="threads:16"` keeps sixteen calls in flight, `fs.Budget(cost=5.0)` limits what they cost,
# and `journal="run.db"` keeps every answer, so that an interrupted run continues where it stopped.

# %%
again = fs.estimate(score, players=list(passages), seed=0, engine="threads:4")
print(again["annual report"])
