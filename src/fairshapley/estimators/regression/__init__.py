"""Methods that regress utilities on the players."""
