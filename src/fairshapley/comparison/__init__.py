"""How good values are: audits and comparisons of methods, and curves of added players."""
