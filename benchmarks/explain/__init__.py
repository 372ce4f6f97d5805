"""Explanations beside shap and shapiq: errors at equal model rows, times, and what is certified."""
