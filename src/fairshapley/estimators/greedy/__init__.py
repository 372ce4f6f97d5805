"""The paper's greedy active estimation: proposals, selection, epochs."""
