"""Pages made from views; no arithmetic here."""
