"""What is built on `fs.estimate`: explanations, audits, curves, closed forms, a demonstration."""
