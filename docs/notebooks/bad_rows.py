# %% [markdown]
# # Which labels are wrong?
#
# We make forty labels of a table wrong, ask which rows look mislabelled, and train a model without them.

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairshapley as fs

cancer = load_breast_cancer(as_frame=True)
features, truth = cancer.data.iloc[:, :10], cancer.target
rows = np.random.default_rng(0).permutation(len(truth))[:300]
labels = truth.iloc[rows].to_numpy().copy()
wrong = np.arange(40)
labels[wrong] = 1 - labels[wrong]

# %%
found = fs.suspects(features.iloc[rows], labels, checked=False)
print(found)

# %% [markdown]
# The first suspects, with the probability that the label is wrong and the label it should probably have:

# %%
found.to_frame(most=8)

# %%
review = found.review()
print(f"{np.isin(review, wrong).sum()} of {len(review)} rows to review were made wrong")

# %% [markdown]
# Look at the rows before you leave them out. Here we know the truth, and compare the models on rows that nobody changed.

# %%
unseen = np.setdiff1d(np.arange(len(truth)), rows)
model = make_pipeline(StandardScaler(), LogisticRegression())
for name, kept in (("all rows", np.arange(300)), ("without", np.setdiff1d(np.arange(300), review))):
    model.fit(features.iloc[rows[kept]], labels[kept])
    print(f"{name}: accuracy {model.score(features.iloc[unseen], truth.iloc[unseen]):.3f}")
