"""Tables: read CSV and Parquet files, turn columns into features, make a game of the rows."""

from fairshapley.tabular.building import TabularGame, table_game
from fairshapley.tabular.models import MODELS, make_model
from fairshapley.tabular.preprocessing import Preprocessor
from fairshapley.tabular.reading import read_table

__all__ = ["MODELS", "Preprocessor", "TabularGame", "make_model", "read_table", "table_game"]
