"""The first layers in one kernel, in Triton's interpreter, against torch's own layers."""

import pytest

torch = pytest.importorskip("torch")
first_layer = pytest.importorskip("fairshapley.games.federated._first_layer", exc_type=ImportError)
nn = torch.nn


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
@pytest.mark.parametrize(("side", "kernel", "pool", "channels"), [(12, 3, 2, 20), (11, 5, 3, 8)])
def test_the_kernel_computes_what_the_layers_do(activation, side, kernel, pool, channels):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, channels, kernel), nn.MaxPool2d(pool), activation(), nn.Flatten()
    ).requires_grad_(False)
    fused = first_layer.with_first_layer(model)
    assert fused.state_dict().keys() == model.state_dict().keys()
    images = torch.randn(7, 1, side, side)
    expected, found = model(images), fused(images)
    assert found.shape == expected.shape
    # Single precision: sums of at most 25 products in another order.
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_an_overflow_shows():
    """A model whose numbers overflow has no utility: it must not become one with finite outputs."""
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten())
    model.requires_grad_(False)
    model[0].weight.fill_(torch.nan)
    assert first_layer.with_first_layer(model)(torch.ones(1, 1, 6, 6)).isnan().all()


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Tanh()),
        (nn.Conv2d(1, 4, 3, padding=1), nn.MaxPool2d(2), nn.Tanh()),
        (nn.Conv2d(1, 4, 3, stride=2), nn.MaxPool2d(2), nn.Tanh()),
        (nn.Conv2d(1, 4, 3, bias=False), nn.MaxPool2d(2), nn.Tanh()),
        (nn.Conv2d(1, 4, (3, 2)), nn.MaxPool2d(2), nn.Tanh()),
        (nn.Conv2d(1, 4, 3), nn.MaxPool2d(2, stride=1), nn.Tanh()),
        (nn.Conv2d(1, 4, 3), nn.MaxPool2d(2, ceil_mode=True), nn.Tanh()),
        (nn.Conv2d(1, 4, 3), nn.MaxPool2d(2, padding=1), nn.Tanh()),
        (nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.GELU()),
        (nn.Conv2d(1, 4, 3), nn.Tanh(), nn.MaxPool2d(2)),
    ],
)
def test_other_layers_stay_as_they_are(layers):
    assert first_layer.with_first_layer(nn.Sequential(*layers, nn.Flatten())) is None
