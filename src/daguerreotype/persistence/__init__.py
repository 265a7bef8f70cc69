"""Fitted learners in files that hold plain arrays and JSON, and can never run code."""
