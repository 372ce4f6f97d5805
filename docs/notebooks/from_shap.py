# %% [markdown]
# # From shap
#
# The call is `fs.explain(model, rows, background)`. Values come with standard errors, and shap's plots take them.

# %%
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import fairshapley as fs

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X[:300], y[:300])
found = fs.explain(model, X[300:340], X[:100])
print(found)

# %% [markdown]
# One row: from the mean prediction of the background to the prediction of the row.

# %%
found.plot("waterfall", row=0)

# %% [markdown]
# All rows: a dot for each row and feature.

# %%
found.plot("beeswarm")

# %% [markdown]
# shap's own plots take `found.to_shap()`.

# %%
explanation = found.to_shap()
print(explanation.shape)
