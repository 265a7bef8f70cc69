"""What is known about a graph before any data: forbidden and required edges, tiers, roots and leaves."""

from daguerreotype.knowledge.resolved import KnowledgeError, Resolved
from daguerreotype.knowledge.statements import Knowledge

__all__ = ["Knowledge", "KnowledgeError", "Resolved"]
