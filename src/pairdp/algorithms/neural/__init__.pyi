from .embedding_descent import EmbeddingDescent as EmbeddingDescent
from .network import Network as Network
from .neural_descent import NeuralDescent as NeuralDescent
from .torch_module import TorchModule as TorchModule
