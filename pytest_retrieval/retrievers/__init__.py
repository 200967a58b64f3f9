"""Retrievers worth comparing with, and the one way in which any retriever is called."""
