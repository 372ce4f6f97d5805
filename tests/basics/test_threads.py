"""Threads of BLAS: one for small products, and the others given back."""

from contextlib import ExitStack

from threadpoolctl import ThreadpoolController

from fairshapley._basics.threads import one_thread_if_small


def test_small_factors_use_one_thread_and_give_the_others_back():
    """Two threads inside at once, the first leaves first; above the limit nothing changes."""
    controller = ThreadpoolController().select(user_api="blas")
    before = [library["num_threads"] for library in controller.info()]
    with ExitStack() as outer:
        inner = ExitStack()
        inner.enter_context(one_thread_if_small(10))
        outer.enter_context(one_thread_if_small(10))
        inner.close()
        assert {library["num_threads"] for library in controller.info()} == {1}
    assert [library["num_threads"] for library in controller.info()] == before
    with one_thread_if_small(1_000_000):
        assert [library["num_threads"] for library in controller.info()] == before
