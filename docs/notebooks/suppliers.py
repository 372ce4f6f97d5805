# %% [markdown]
# # What is each supplier worth?
#
# Eight suppliers sold rows for a model. One sent the rows of another again, and the labels of one are random. We value all of them, check
# what is certain, and divide a sum of money.

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import fairshapley as fs

wine = load_wine(as_frame=True)
table = wine.data.iloc[:, :6].assign(cultivar=wine.target).sample(frac=1, random_state=0)
train, test = table[:96].copy(), table[96:]
train["supplier"] = np.repeat(["Ann", "Bob", "Cyd", "Dan", "Eve", "Flo", "Gus", "Hal"], 12)

copied = train[train["supplier"] == "Ann"].assign(supplier="Hal")
train = pd.concat([train[train["supplier"] != "Hal"], copied])
guessed = train["supplier"] == "Gus"
train.loc[guessed, "cultivar"] = np.random.default_rng(0).integers(0, 3, guessed.sum())

# %% [markdown]
# `fs.table_game` turns a table into a game. Its players are the suppliers, and the utility of a group is the accuracy of a model that is
# trained on the rows of the group.

# %%
made = fs.table_game(train, "cultivar", test=test, group_by="supplier")
result = fs.estimate(made.game, seed=0)
print(result)

# %%
result.plot()

# %% [markdown]
# Copies are named, since whoever sends rows twice takes money from the others.

# %%
for warning in result.warnings:
    print(warning)

# %%
payout = result.payout(10_000)
payout.plot()

# %% [markdown]
# A report is one HTML file that works offline: `result.report("suppliers.html", pool=10_000)`.
