"""Experiments of the paper in their smallest form."""

import fairshapley_paper as paper


def tiny(name, folder, methods, *only, **options):
    """Run an experiment with some methods, on some of its scenarios or on all."""
    chosen = {"methods": methods, "only": only, "out": folder, "progress": False}
    return paper.run(name, size="tiny", **chosen, **options)
