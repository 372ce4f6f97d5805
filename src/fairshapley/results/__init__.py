"""The result of a run, and what is made of it: files, payouts, plots, reports."""
