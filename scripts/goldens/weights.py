"""Random weights that keep every part of the block alive: norms near 1, unit-sized activations, real biases."""
import zlib

import torch


def randomize(model: torch.nn.Module, name: str) -> None:
    """Norms 1 + 0.1 N, biases 0.1 N, matrices 0.7 / sqrt(columns) N; seeded by the model's name."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    with torch.no_grad():
        for parameter_name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter_name.endswith("norm.weight"):
                value = 1 + 0.1 * noise
            elif parameter_name.endswith(".bias"):
                value = 0.1 * noise
            else:
                value = 0.7 / parameter.shape[-1] ** 0.5 * noise
            parameter.copy_(value)
