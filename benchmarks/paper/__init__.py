"""The pages of docs/paper: verdicts, and numbers in prose, from the files of results."""
