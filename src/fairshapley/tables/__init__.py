"""Tables: read CSV and Parquet files, turn columns into features, make a game of the rows."""

from fairshapley.tables.building import TabularGame, table_game
from fairshapley.tables.models import MODELS, make_model
from fairshapley.tables.preprocessing import Preprocessor
from fairshapley.tables.reading import read_table

__all__ = ["MODELS", "Preprocessor", "TabularGame", "make_model", "read_table", "table_game"]
