"""Is torch there? If not, what must be installed? The one place from which gradient-trained edges take torch."""

try:
    import torch as torch
except ImportError as error:
    raise ImportError(
        "edges='linear' and edges='mlp' are trained by gradient and need torch. "
        "Run: pip install 'daguerreotype[torch]'"
    ) from error
