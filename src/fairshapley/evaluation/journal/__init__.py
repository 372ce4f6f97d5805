"""The journal: every utility of a run in one SQLite file."""

from fairshapley.evaluation.journal.records import GameRecord, Journal, RunRecord, RunStatus

__all__ = ["GameRecord", "Journal", "RunRecord", "RunStatus"]
