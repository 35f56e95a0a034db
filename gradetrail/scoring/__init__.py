"""Grades stored answers in SQL, and in Python where SQL cannot; knows nothing of how they were asked for."""
